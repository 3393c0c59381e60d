#!/bin/bash
# integers: precedence, comparison, a choice, assignments, bases, names without a dollar
NODES=4; GPUS=8; TP=2; PP=2
WORLD=$((NODES*GPUS))
let "DP = WORLD / (TP * PP)"
ACC=$(( 1024 / DP / 2 ))
X=5; Y=$((X++ + ++X)); Z=$(( (X<<2) % 7 ))
python train.py $WORLD $DP $ACC $X $Y $Z $((2**10)) $((0x10 + 010)) $((-7 / 2)) $((-7 % 3)) \
    $((X > 5 ? X : 5)) $((X == 7 && Y != 3)) $((1 || 0)) $((!X)) $((~5)) $((6 & 3 | 8 ^ 1)) \
    $((2**3**2)) $(expr 3 \* 4 + 1) $((X = 3, X * 2)) $(( $X * ${GPUS} ))
python train.py $((++ X)) $((X)) $((-- X)) $((- - 3)) $((16#fF)) $((2#101 + 36#z)) $(( ( 1 + 2 ) * ~ 3 )) $((X ++ + 1)) $((! 0))
