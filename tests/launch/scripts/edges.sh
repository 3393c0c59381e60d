#!/bin/bash
# Limits, defaults and what is not there: of parameters, numbers, patterns and commands.
A=(x y z) E=() S="a b c" N=7 empty=
declare -A M=([one]=1 [two]="2 3")
torchrun a.py 1 "${A[@]: -1}" "${A[@]:1}" "${A[@]:5}" "${A[@]:0:0}" "${A[@]:1:9}"
torchrun a.py 2 "${S:0:1}" "${S: -1}" "${S:2:-1}" "${S:9}" "${S:1:0}"
torchrun a.py 3 "${none-d}" "${none:-d}" "${empty-d}" "${empty:-d}" "${N+s}" "${N:+s}" "${none+s}" "${empty:+s}"
torchrun a.py 4 "${B:=7}" "$B" "${C=8}" "$C" "${empty:=9}" "$empty"
torchrun a.py 5 "${#A[@]}" "${#E[@]}" "${#S}" "${#A[1]}" "${!A[@]}" "${#M[@]}"
torchrun a.py 6 "${M[one]}" "${M[two]}" "${M[three]}" "${M[three]:-n}" ${M[two]}
torchrun a.py 7 "${A[-1]}" "${A[N-6]}" "${A[9]}" "${A[9]:-far}"
torchrun a.py 8 $((N%4)) $((N**2)) $((-N/2)) $((N<<2)) $((N>>1)) $((N&3)) $((N|8)) $((N^2)) $((~N)) $((!N))
torchrun a.py 9 $((N>6?1:2)) $((N>=7&&N<=7)) $((N!=7||0)) $((0x1F)) $((017)) $((2#101)) $((16#ff)) $((N==7))
torchrun a.py 10 $((N+=3)) $N $((N-=1)) $N $((N*=2)) $N $((N/=3)) $N $((N%=4)) $N
torchrun a.py 11 $((A[0])) $((N++)) $N $((--N)) $((N--)) $N $((++N)) $((M[one]+1))
torchrun a.py 12 $((1,2)) $(( (1+2)*3 )) $((1+2*3)) $((7-2-1)) $((2**3**2)) $((-2**2)) $((10%3*2)) $((1<2==1))
torchrun a.py 13 {1..3} {3..1} {1..7..3} {a..c} {01..03} {1..1} x{,y,z} {a,b}{1,2} {single} {1..b} {-1..1}
torchrun a.py 14 ${S#a } ${S##* } ${S% c} ${S%% *} ${S/b/X} ${S// /_} ${S/#a/Y} ${S/%c/Z} ${S/q/}
torchrun a.py 15 ${S^} ${S^^} "${A[@]^^}" "${A[@]/y/w}" "${A[@]#x}"
torchrun a.py 16 "$(seq 3)" $(seq 2 4) $(seq 5 -2 1) $(seq 3 1)
torchrun a.py 17 "$(basename /a/b.sh .sh)" "$(basename /a/b.sh)" "$(basename b.sh b.sh)" "$(dirname /a/b.sh)" "$(dirname b)"
torchrun a.py 18 "$(echo -n x)" "$(echo -e 'a\tb')" "$(echo -ne 'a\n')" "$(echo 'a\tb')" "$(printf '%s-%s' a b)" "$(printf '%03d' 7)" "$(printf '%s,' a b c)"
torchrun a.py 19 "$(echo abc | tr a-z A-Z)" "$(echo ABC | tr A-Z a-z)" "$(echo a-b | tr - _)" "$(echo a.b | tr -d .)" "$(echo aXb | tr '[:upper:]' '[:lower:]')"
torchrun a.py 20 "$(echo "$S" | wc -w)" "$(echo -e 'a\nb\\c\q')" "$(echo -nE 'a\n')" "$(echo -en '\ta' b)" "$(echo -x -n)" "$(echo - a)"
f() { local N=1 v; v=$1; torchrun a.py 21 "$N" "$v" "$#" "$@" "$*"; return 3; }
f p "q r"; torchrun a.py 22 $? $N "${v-unset}"
g() { shift; torchrun a.py 23 "$1" "$#"; shift 2; torchrun a.py 24 "$#" "${1-none}"; }
g 1 2 3 4
set -- one two three; shift; torchrun a.py 25 "$@" "$#" "${@:2}" "${@: -1}" "${*}"
for i in 1 2 3 4; do [ $i = 2 ] && continue; [ $i = 4 ] && break; torchrun a.py 26 $i; done
for ((i=0, j=5; i<j; i+=2, j--)); do torchrun a.py 27 $i $j; done
i=0; until [ $i -ge 2 ]; do torchrun a.py 28 $i; i=$((i+1)); done
i=3; while ((i > 1)); do ((i--)); done; torchrun a.py 29 $i
case $S in a) t=1;; a\ *) t=2;; *) t=3;; esac; torchrun a.py 30 $t
case abc in x|a?c) t=1;& y) t=2;; *) t=3;; esac; torchrun a.py 31 $t
case b in [a-c]) t=in;; [!a-c]) t=out;; esac; torchrun a.py 32 $t
case d in [a-c]) t=in;; [!a-c]) t=out;; esac; torchrun a.py 33 $t
[[ $S == a* ]] && torchrun a.py 34; [[ $S == "a*" ]] || torchrun a.py 35; [[ $S =~ ^a ]] && torchrun a.py 36
[[ -z $empty2 && -n $S ]] && torchrun a.py 37; [[ ! ( -z $S || a < b ) ]] || torchrun a.py 38; [[ b > a ]] && torchrun a.py 39
[ "$S" != x -a 3 -gt 2 ] && torchrun a.py 40; [ 2 -le 1 -o a = a ] && torchrun a.py 41; [ ! 1 -eq 2 ] && torchrun a.py 42
[[ -v S ]] && torchrun a.py 43; [[ -v nothing ]] || torchrun a.py 44; test 3 -ne 4 && torchrun a.py 45; [ x ] && torchrun a.py 46
[ ] || torchrun a.py 47; [ -n ] && torchrun a.py 48; [[ 07 -eq 7 ]] && torchrun a.py 49; [[ 2+3 -eq 5 ]] && torchrun a.py 50
if false; then t=1; elif true; then t=2; else t=3; fi; torchrun a.py 51 $t
if ! true; then t=1; else t=4; fi; torchrun a.py 52 $t
{ t=in; }; torchrun a.py 53 $t
t=$(t=inner; echo $t); torchrun a.py 54 $t
read -r p q <<< "first second third"; torchrun a.py 55 "$p" "$q"
IFS=, read -ra parts <<< "k,l,m"; torchrun a.py 56 "${#parts[@]}" "${parts[2]}"
A+=(w); A[6]=far; torchrun a.py 58 "${A[@]}" "${#A[@]}" "${!A[@]}"; unset A; torchrun a.py 59 "${A[@]}" "${A-gone}"; A=(x y)
S+=" d"; N=5; N+=1; torchrun a.py 60 "$S" $N; exec 3>&1; torchrun a.py 61
R=S; torchrun a.py 62 "${!R}"; unset R; torchrun a.py 63 "${R-gone}"
torchrun a.py 64 a\ b 'c d' "e\"f" $'g\th' "i"'j' k\
l "$(( 1 +
1 ))"
torchrun a.py 65 "${S:+${N:-x}}" "${none:-${empty3:-deep}}" "${none:-"q q"}" ${none:-q q}
torchrun a.py 66 --x="${A[*]}" --y=${A[0]} "--z=$(echo ${A[@]})"
cat <<END | while read -r l; do torchrun a.py 67 "$l"; done
$N one
two
END
torchrun a.py 68 "$(cat <<'END'
$N raw
END
)"
true && torchrun a.py 69 || torchrun a.py 70; false && torchrun a.py 71 || torchrun a.py 72
export V=1 U; V=2; torchrun a.py 73 $V; (exec torchrun a.py 74; torchrun a.py no)
command torchrun a.py 75; eval "torchrun a.py 76 \$N"; time torchrun a.py 77; exec torchrun a.py 78 ${S%"${S##*d}"}
torchrun a.py 79
