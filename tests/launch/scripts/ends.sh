#!/bin/bash
# Ends of expansions, nested quotes, here-documents in odd places, and formats.
N=5 M=-3 E= S='a b  c' P=/a/b.tar.gz L=(x 'y z' '' w)
python 1 "${N:-${M:-"q r"}}" "${E:-${X:-"q r"}}" ${E:-"a b" c} "${E:+x}" "${N:+${S}}"
python 2 ${#S} ${#L[@]} ${#L[1]} "${L[@]:1:2}" "${L[@]:2}" "${S:2}" "${S:1:3}" "${S: -2}" "${S:(-3):2}" "${S:0:-1}"
python 3 "${P##*/}" "${P%%.*}" "${P%.*}" "${P#*/}" "${P/b/c}" "${P//a/A}" "${P/#\/a/z}" "${P/%gz/xz}" "${P^^}" "${P,,}" "${P^}"
python 4 $((N+M)) $((-N)) $((!N)) $((~N)) $((+M)) $((N++ + ++N)) $N $((N-- - --N)) $N $((-+-N))
python 5 $((N?M:1)) $((N>M&&M<0)) $((N<M||0)) $((N==5)) $((N!=5)) $((1,2,3)) $((N<<2)) $((N>>1)) $((N**2)) $((N%3)) $((2**3**0))
A=(1 2 3); A[1]=7; A[5]=9; A+=(4 5)
python 6 "${A[@]}" "${#A[@]}" "${!A[@]}" "${A[-1]}" "${A[1+1]}" $((A[1]+A[2]))
declare -A D=([one]=1 [two]=2); D[three]=3
python 7 "${D[one]}" "${D[two]}" "${D[three]}" "${#D[@]}" "${D[four]:-none}"
python 8 "$(printf '%d %i %u %s|%5s|%-5s|%05d|%%' 3 4 5 six a b 42)"
python 9 "$(printf '%s-' a b c)" "$(printf '%s=%d;' k 1 l 2)" "$(printf 'x\ty\\n')" "$(printf %s)"
python 11 "$(basename /a/b.sh .sh)" "$(basename b/)" "$(dirname /a/b/c)" "$(dirname c)" "$(dirname /)" "$(basename /)"
f() { local N=9 Z; Z=$1; N=$((N+1)); python 12 "$N" "$Z" "$#" "$@" "$*"; G=$N; return 3; }
f a 'b c' ''; python 13 $? $N "$G" "${Z-unset}"
g() { for i in 1 2 3; do [ $i = 2 ] && continue; [ $i = 3 ] && break; python 14 $i; done; return; python no; }
g; python 15 $?
h() { shift; python 16 "$@"; shift 2; python 17 "$#" "$@"; set -- p q; python 18 "$1" "$2"; }
h 1 2 3 4
for ((i=0, j=5; i<j; i+=2, j--)); do python 19 $i $j; done
i=0; while [ $i -lt 3 ]; do i=$((i+1)); [ $i -eq 2 ] && continue; python 20 $i; done
i=3; until ((i==0)); do ((i--)); python 21 $i; done
for o in {0..1}; do for p in a b c; do [ $p = b ] && continue 2; python 22 $o $p; done; python no; done
for o in 0 1; do for p in a b c; do [ $p = b ] && break 2; python 23 $o $p; done; python no; done
case $S in a) python no;; 'a b'*|z) python 24 a;; *) python no;; esac
case x in (y) python no ;; [w-z]) python 26 ;; *) python no; esac
case "" in '') python 28;; esac
[[ $S == a* && $P != *.zip ]] && python 29 || python no
[[ -n $S && ( -z $E || $N -gt 9 ) ]] && python 31
[[ ! -e /nowhere && a < b && b > a && 10 -ge 10 && 9 -le 9 ]] && python 32
[ -n "$S" -a -z "$E" ] && python 33; [ a != b -o a = b ] && python 34; [ ! a = b ] && python 35
test -z "$E" && python 36; [ "$N" ] && python 37; [ ] || python 38; [ "$E" ] || python 39; [ ! ] && python 40
if false; then python no; elif [ $N = 5 ]; then python 41; else python no; fi
if ! grep -q x /nowhere 2>/dev/null; then python 42; fi
true && { python 43; false; } || python 44; (exit 2); python 45 $?
! true || python no; ! false && python 46
cat > /dev/null <<EOF
python no $N
EOF
read -r a b <<< "1 2 3"; python 47 "$a" "$b"
IFS=, read -r a b c <<< "1,2,3,4"; python 48 "$a" "$b" "$c"
IFS=: read -ra Q <<< "x:y:z"; python 49 "${Q[@]}" "${#Q[@]}"
T=$(cat <<EOF
line $N
  "quoted" \$N \\ 'x'
EOF
); python 50 "$T"
T=$(cat <<'EOF'
line $N `x`
EOF
); python 51 "$T"
T=$(cat <<-EOF
	tab $N
	EOF
); python 52 "$T"
python 53 a\ b "a\"b\$c\`d\\e\f" 'a\b' $'a\tb\'' a"b"'c'$N
python 54 {a,b}{1,2} {1..3} {3..1} {01..03} {a..c} {1..9..4} x{,y}z {a} "{a,b}"
python 55 "~" a~
python 56 "$@" $# ${1-none} ${10-ten} ${*:-star}
eval "python 57 \$N '$S'"
c="python 58"; $c x; c='python 59 "a b"'; eval $c
export V1=3 V2; V3=4 python 60 $V1 ${V2-unset}
readonly R=8; python 61 $R; unset V1; python 62 ${V1-unset}; python 63 "${A[@]}" "${!A[@]}"
: ${NEW:=made} ${N:=no}; python 64 $NEW $N
python 65 `echo a \`echo b\`` $(echo $(echo c) "d  e") "$(echo "x  y")" $(echo "x  y")
python 66 "${S// /_}" "${S/ /}" "${S//[ab]/X}" "${L[@]/y/Y}" "${L[@]%z}" "${L[*]}" "${S//}"
let N=N+1 M=M*2; python 68 $N $M; ((N+=2, M-=1)); python 69 $N $M
python 71 $((0x1f + 010 + 2#11 + 36#z)) $(( N > 3 ? N < 9 ? 1 : 2 : 3 )) $(( (1 + 2) * -(3 - 4) )) $((1 ? 2 : (3)))
x=1; x+=2; python 72 $x
python 75 --a=$N --b="$S" --c='d e' --f=$((1+1)) --g=$(echo h) --i=${P%.gz}
set -- one "two three" four; python 76 "$#" "$2" "${@:2}" "${@:1:2}" "${*:2:1}" "${@: -1}"; shift; python 77 "$@"
python 80 "$((N=7))" $N "${L[N-6]}" "${S:N-6:2}" "${S:$((N-6)):2}"
select_() { echo "$1" | tr a-z A-Z; }; python 81 "$(select_ abc)"
python 82 "$(wc -w <<< 'a b c')" "$(printf 'a\nb\n' | wc -l)"
{ python 84; python 85; } > /dev/null; (python 86; cd /) && python 87
function k { python 88 "$1"; }; k v; k() { python 89 "$1"; }; k w
python 90 a;python 91 b
python 92 \
   continued "over
lines" # a comment
python 93 # another; python no
python 94 'it'"'"'s' "" '' x""y $E "$E"
[ -z "${UNSET:-}" ] && python 95; [[ -v N ]] && python 96; [[ -v UNSET ]] || python 97
exit 0
python no
