#!/bin/bash
# what scripts compute with: numbers in turn, parts of paths, formats, variables that go again
cd /data/runs 2>/dev/null || cd /
cd /
HERE=$(pwd)
OUT=$(dirname /data/out/model.json)
PLAIN=$(dirname model.json)
TOP=$(realpath /usr)
SIZES=$(seq 2 2 8)
DOWN=$(seq 3 -1 1)
FEW=$(seq 3)
NAME=$(printf '%s-%d%%' tp 8)
PAIRS=$(printf '%s\n' a b)
GONE=1; unset GONE
LIST=(4 5 6); INDEX=1
false && BROKEN=yes
python train.py "$HERE" "$OUT" "$PLAIN" "$TOP" $SIZES $DOWN $FEW "$NAME" $PAIRS "${GONE:-none}" $((LIST[INDEX] + LIST[2])) "${BROKEN:-no}"
