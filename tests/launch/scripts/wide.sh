#!/bin/bash
# expansions, arithmetic, tests, patterns, loops, functions, quotes and here-documents, a line each
A=abcabc; python train.py ${A#a} ${A#*b} ${A##*b} ${A%c} ${A%b*} ${A%%b*} ${A/b/X} ${A//b/X} ${A/#a/Y} ${A/%c/Z} ${A//b} ${A:2} ${A:1:3} ${A: -2} ${A:0:-1} ${#A}
unset A; python train.py ${A:-x} ${A-y} "${A:+z}" "${A+w}"; A=; python train.py ${A:-x} "${A-y}" "${A:+z}" "${A+w}"; A=1; python train.py ${A:-x} ${A-y} ${A:+z} ${A+w}
python train.py ${B:=made} $B ${B:=again}
N=A; A=far; python train.py ${!N} "${!N}-x"
L=(one "two three" four); python train.py "${L[@]}" "${L[*]}" ${#L[@]} ${L[1]} ${L[-1]} "${L[@]:1}" "${L[@]:0:1}" ${!L[@]} ${#L[1]}
L=(a b); L+=(c); L[5]=f; L[0]+=x; python train.py "${L[@]}" "${!L[@]}" ${#L[@]}
declare -A M; M[tp]=8; M["p p"]=2; python train.py ${M[tp]} "${M[p p]}" ${#M[@]}
python train.py $((0x1f)) $((010)) $((2#101)) $((16#ff)) $((36#z))
A=3; B=A; python train.py $((B*2)) $((A+undefined))
python train.py $(expr 3 + 4) $(expr 10 / 3) $(expr 2 \* 3)
case abc in a) python train.py 1;; a*) python train.py 2;; esac; case b in a|b) python train.py 3;; *) python train.py 4;; esac; case x in [a-m]) python train.py 5;; [!a-m]) python train.py 6;; esac; case "" in "") python train.py 7;; esac; case "a*" in "a*") python train.py 8;; esac
for I in 1 2 3; do python train.py $I; done; for I in {1..3}; do python train.py i$I; done; for ((I=0; I<3; I++)); do python train.py j$I; done
I=0; while [ $I -lt 3 ]; do python train.py w$I; I=$((I+1)); done; until [ $I -eq 0 ]; do I=$((I-1)); done; python train.py $I
f() { python train.py "$1" $# "$@"; local V=in; W=out; return 3; }; V=top; f a "b c" d; python train.py $? $V $W
f() { shift; python train.py "$@"; shift 2; python train.py $#; set -- x y; python train.py "$*"; }; f 1 2 3 4; python train.py $#
function g { echo made; }; python train.py $(g) "$(g)x" `g`; python train.py "$(g; g)"
h() { echo $(( $1 * 2 )); }; python train.py $(h 21) $(h $(h 2))
set -- "a b" c; python train.py "$@"; python train.py $*; python train.py "$*"; python train.py $1 "$1" ${2} ${#} ${@:2} "${@:1:1}"; shift; python train.py "$1"
IFS=: read -r A B C <<< "x:y:z:w"; python train.py $A $B "$C"; read A <<< "p q"; python train.py "$A"
A="x  y"; python train.py $A "$A" '$A' "\$A" \$A "a'b" 'a"b' "a\"b" $'t\tn' a\ b "a
b"
cat <<EOF >/dev/null
x $A
EOF
A=$(cat <<EOF
h $((1+1))
EOF
); python train.py "$A"
A=$(cat <<'EOF'
h $((1+1))
EOF
); python train.py "$A"
python train.py a \
  b \
  c
A="one \
two"; python train.py "$A"
A=(
  a # comment
  b
); python train.py "${A[@]}" # end
V=1 python train.py in-env; python train.py ${V-none}; export V=2; env X=1 true; python train.py $V
eval 'python train.py evaluated'; A='python train.py "$B"'; B="q r"; eval $A; eval "C=$B"; 
: ${DEF:=dflt}; python train.py $DEF; : ignored; true; python train.py after
python train.py ${A:-$(echo sub)} ${U:-${V2:-deep}} "${U:-"q q"}" ${U:-a b}
A=/path/to/file.tar.gz; python train.py ${A##*/} ${A%/*} ${A%%.*} ${A##*.} ${A/to/TO} ${A//\//-}
A=aXbXc; python train.py ${A/X*/} ${A//[A-Z]/_} ${A//X/}
I=3; do_it() { while [ $# -gt 0 ]; do case $1 in --x) python train.py x $2; shift 2;; *) python train.py other $1; shift;; esac; done; }; do_it --x 1 y
if [[ "$UNSET" == "" ]]; then python train.py empty; fi; if [ -z "$UNSET" ]; then python train.py empty; fi; if [ -z ${UNSET+x} ]; then python train.py none; fi
ARGS=(--a 1 --b "2 3"); python train.py "${ARGS[@]}"; OPTS="--c 4 --d"; python train.py $OPTS; python train.py "${ARGS[@]}" $OPTS
A="--flag=a b"; python train.py "$A" ${A}; python train.py x"$A"y; python train.py ''; python train.py ""; python train.py "" x
if true; then if false; then python train.py 1; else python train.py 2; fi; else if true; then python train.py 3; fi; fi
for A in "x y" z; do python train.py "$A" $A; done; for A in; do python train.py never; done; for A in $UNSET; do python train.py never; done
python train.py "${UNSET[@]}" end; E=(); python train.py "${E[@]}" ${#E[@]} end; python train.py "${E[*]}" end
A=abc; python train.py ${A:1:1} ${A:(-1)} ${A:0:2}x ${A:5}end "${A:1}"; N=1; python train.py ${A:N} ${A:N:N}
A=$((3*4))x; python train.py $A ${A}y "$A-z" "${A}_"
python train.py \# "#" a#b # comment
python train.py '*' "*.nothing" \*; python train.py [ab] "a?b"
A=3; case $A in 1|2) python train.py low;; 3|4) python train.py mid;; esac; case $A$A in 33) python train.py both;; esac; case "x y" in x*) python train.py space;; esac
A=Hello; python train.py ${A^} ${A^^} ${A,} ${A,,}
L=(x.py y.py); python train.py "${L[@]%.py}" "${L[@]/y/Y}"
I=5; python train.py $((I++)) $I $((++I)) $((I--)) $((--I)) $((I+=3)) $((I-=1)) $((I*=2)) $((I/=3)) $((I%=3)) $I
python train.py $((1?2:3)) $((0?2:3)) $((1?0?4:5:6)) $((1,2,3)) $((-2**2)) $((-(3)))  $((5-2-1)) $((100/10/5))
python train.py "$(echo "a b")" $(echo "a b") $(echo -n x)y "$(printf '%s,' 1 2 3)" $(printf 'tp%d_%s.log' 7 x)
python train.py $(basename /a/b.py) $(basename /a/b.py .py) $(dirname /a/b/c) $(dirname x)
python train.py $(seq 3) $(seq 2 4) $(seq 1 2 6)
A=x B=y; python train.py $A$B; A=$B; python train.py $A; A+=z; python train.py $A; readonly R=1; export E=2; python train.py $R $E; declare D=3; typeset T=4; python train.py $D $T
x=5 y=7; python train.py $((x>y?x:y)) $(( x * y )) $((x*-1)) $(( (x+y)*2 - 1 ))
