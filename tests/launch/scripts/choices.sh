#!/bin/bash
# comparisons of numbers and of texts; a choice assigns only what it chooses
A=3; B=4
[ 3 -le 3 ] && EQUAL=yes || EQUAL=no
[ 4 -le 3 ] && LESS=yes || LESS=no
[ 3 -ge 3 ] && MORE=yes || MORE=no
[[ abc < abd ]] && BEFORE=yes || BEFORE=no
[[ abd > abc ]] && BEHIND=yes || BEHIND=no
C=$((A ? (B = 5) : (A = 6)))
D=$((0 ? (B = 7) : (A = 8)))
python train.py $EQUAL $LESS $MORE $BEFORE $BEHIND $A $B $C $D
