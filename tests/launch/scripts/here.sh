#!/bin/bash
# here-documents as files and as input, a file in the folder of the script, output of functions
. ./settings.inc
STAGE=2
cat > /dev/null <<'PLAIN'
torchrun never.py $STAGE
PLAIN
cat <<-EOF > /tmp/reckon-here-test.json
	{"zero_optimization": {"stage": $STAGE}, "path": "a \"quoted\" name"}
	EOF
read -r FIRST REST <<< "one two three"
NAMES=$(cat <<EOF
$FIRST,$REST
EOF
)
COUNT=$(echo "n1 n2 n3" | wc -w)
UPPER=$(echo bf16 | tr a-z A-Z)
BASE=$(basename /models/llama3-8b.bin .bin)
deepspeed --num_gpus 8 train.py --deepspeed_config /tmp/reckon-here-test.json --names "$NAMES" \
    --count $COUNT --dtype $UPPER --base $BASE --layers $LAYERS > /dev/null 2>&1
# the line of a here-document goes on in quotes, and over a newline behind a backslash
read -r FIRST REST <<EOF && GREETING="two
lines" && MORE=$(echo a
    echo b) \
    || exit # a comment that isn't closed
four five
EOF
torchrun train.py --first "$FIRST" --rest "$REST" --greeting "$GREETING" --more "$MORE"
