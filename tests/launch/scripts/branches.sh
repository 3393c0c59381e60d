#!/bin/bash
# each branch of a choice in turn, those behind it passed over; choices within choices, and in loops and functions
pick() {
    local R=none
    if [ "$1" -eq 1 ]; then
        R=first
    elif [ "$1" -eq 2 ]; then
        R=second
    elif [ "$1" -eq 3 ]; then
        R=third
    else
        R=other
    fi
    echo $R
}
for N in 1 2 3 4; do python train.py --n $N --pick $(pick $N); done
for N in 1 2 3 4 5; do
    A= B=
    if [ $N = 1 ]; then A=1; elif [ $N = 2 ]; then A=2; B=$((B + 1)); elif [ $N = 3 ] || [ $N = 1 ]; then A=3; else A=+; fi
    if (( N < 4 )); then
        if (( N < 2 )); then B+=a; elif (( N < 3 )); then B+=b; else B+=c; fi
    elif (( N < 5 )); then
        B+=d
        if false; then B+=x; elif false; then B+=y; fi
    else
        if true; then :; elif B+=never; then B+=z; else B+=w; fi
    fi
    python train.py --n $N --a $A --b "$B"
done
if false; then python train.py no; elif false; then python train.py no; fi; python train.py --status $?
if false; then python train.py no; elif true; then python train.py yes; else python train.py no; fi
if true; then python train.py yes; elif false; then python train.py no; else python train.py no; fi
if true; then python train.py yes; elif true; then python train.py no; elif false; then python train.py no; else python train.py no; fi
if true; then false; elif false; then python train.py no; else python train.py no; fi; python train.py --status $?
if true; then false; elif true; then python train.py no; elif true; then python train.py no; fi; python train.py --status $?
if false; then python train.py no; elif true; then false; elif false; then python train.py no; else python train.py no; fi; python train.py --status $?
case a in a) false ;; b) python train.py no ;; *) python train.py no ;; esac; python train.py --status $?
if ! false; then if false; then python train.py no; else python train.py inner; fi; else python train.py no; fi
false; while false; do :; done; python train.py --status $?
false; until true; do :; done; python train.py --status $?
false; for ((I = 1; I < 1; I++)); do :; done; python train.py --status $?
for X in 1; do false; done; python train.py --status $?
N=0; while (( N++ < 1 )); do false; done; python train.py --status $?
false; for X in; do :; done; python train.py --status $?
false; case a in b) ;; esac; python train.py --status $?
case a in a) false ;; esac; python train.py --status $?
case a in b) : ;& a) false ;& c) true ;; esac; python train.py --status $?
if true; then false; fi; python train.py --status $?
if false; then :; else false; fi; python train.py --status $?
f() { if false; then :; fi; }; f && python train.py --function
C=0
if C=1; [ $C -eq 0 ]; then C=2; elif C=$((C + 10)); [ $C -eq 11 ]; then C=$((C + 100)); elif C=$((C + 1000)); true; then C=7; fi
python train.py --c $C
for WORD in a ab b "" "a b" '*' 7 -x; do
    case "$WORD" in
        a) R=a ;;
        a*b | b) R=ab ;;
        "") R=empty ;;
        [0-9]) R=digit ;&
        -?) R="${R}fall" ;;
        \*) R=star ;;
    esac
    case $WORD in b) ;; *) R+=. ;; esac
    case $WORD in a*) R+=1 ;;& *b) R+=2 ;;& *) R+=3 ;; esac
    python train.py --word "$WORD" $R
done
true && true && R=1 || R=2; python train.py --and $R
true && false && R=1 || R=2; python train.py --and $R
false || false || R=3; python train.py --or $R
false && R=4 || true && R=5; python train.py --both $R
true || R=6 && R=7; python train.py --both $R
! true && R=8 || R=9; python train.py --not $R
{ false; true; } && R=10; python train.py --group $R
early() { if [ $1 = 0 ]; then return 3; elif [ $1 = 1 ]; then return; else false; fi; }
early 0; python train.py --return $?
early 1; python train.py --return $?
early 2; python train.py --return $?
while true; do
    N=$((N + 1))
    if (( N % 2 )); then continue; elif (( N > 9 )); then break; else R=$N; fi
    python train.py --loop $R
done
for I in 1 2 3; do for J in 1 2 3; do
    if (( J == 2 )); then continue 2; elif (( I == 3 )); then break 2; else python train.py --i $I --j $J; fi
done; done
until (( --N < 6 )); do if (( N == 8 )); then python train.py --n 8; else :; fi; done
for ((I = 0; I < 3; I++)); do case $I in 0) continue ;; 1) python train.py --one ;; *) break ;; esac; done
python train.py --end $I $N
