#!/bin/bash
# what printf, arithmetic, arrays and parameters make of rare operands
torchrun $(printf '%s-%s\n' a b c) "$(printf '%5s|%-5s|%05d|%d|%i|%u' ab cd 42 7 8 9)"
torchrun "$(printf '%q' plain)" "$(printf '%s')" "$(printf 'no\n')" "$(printf '%3d,%-3d' 5 5)"
torchrun $((7 / 2)) $((-7 / 2)) $((7 % 3)) $((-7 % 3)) $((2 ** 10)) $((1 << 4)) $((256 >> 2)) $((6 & 3)) $((6 | 3)) $((6 ^ 3)) $((~5)) $((!5)) $((!0))
torchrun $((3 > 2)) $((3 < 2)) $((3 >= 3)) $((3 <= 2)) $((3 == 3)) $((3 != 3)) $((1 && 0)) $((1 || 0)) $((0 && 1 / 0)) $((1 || 1 / 0)) $((2 > 1 ? 10 : 20)) $((0 ? 10 : 20))
A=5; torchrun $((A++)) $A $((++A)) $A $((A--)) $A $((--A)) $A $((A += 3)) $((A -= 1)) $((A *= 2)) $((A /= 3)) $((A %= 3)) $((A = 9, A + 1))
torchrun $((0x10)) $((010)) $((2#101)) $((16#ff)) $((36#z)) $((- -3)) $((2 + 3 * 4 - 1)) $(((2 + 3) * 4)) $((-2 ** 2)) $((2 ** 3 ** 2)) $((100 - 10 - 1)) $((100 / 10 / 2))
B=A; torchrun $((B)) ${!B}
L=(one 'two three' four); torchrun "${L[@]}" - ${L[@]} - "${L[*]}" - ${#L[@]} ${#L[1]} "${L[1]}" "${L[-1]}" ${L[0]} $L "${!L[@]}" "${L[@]:1}" "${L[@]:0:2}" "${L[@]/o/0}" "${L[@]#t}"
L+=(five); L[9]=ten; L[1]=new; torchrun "${L[@]}" - ${#L[@]} - "${!L[@]}"
declare -A D=([x]=1 [y]=2); torchrun "${D[x]}" "${D[y]}" ${#D[@]} "${D[none]:-none}"
IFS=, read -r X Y Z <<< "1,2,3,4"; torchrun $X $Y $Z
read -r X Y <<< "  one   two three  "; torchrun "$X" "$Y"; read -ra W <<< "p q r"; torchrun "${W[@]}" ${#W[@]}
set -- a "b c" d; torchrun $# "$@" - $* - "$*" - $1 "$2" "${@:2}" "${@:2:1}" "${*:2}" "${@: -1}" "${10:-ten}"; shift; torchrun $# "$1"; shift 2; torchrun $# "${1-none}"
P=/a/b.c/d.tar.gz; torchrun ${P##*/} ${P%/*} ${P%.*} ${P%%.*} ${P#*.} ${P##*.} ${P/b/X} ${P//\//_} ${P/#\/a/Z} ${P/%gz/bz} ${P/none/x} ${#P} ${P:3} ${P:3:3} ${P: -2} ${P:0:-3} ${P:(-5):2}
V=word; torchrun ${V^} ${V^^} ${V,} ${V,,} ; V=WORD; torchrun ${V,} ${V,,}
torchrun {1..5} {5..1..2} {a..e} {01..03} a{b,c}d {x,y}{1,2} {one} {1..} '{1,2}' "{1,2}" {-1..1} {,x}y
case abc in a|b) torchrun 1 ;; a*) torchrun 2 ;; *c) torchrun 3 ;; *) torchrun 4 ;; esac; case x in (y) torchrun 5 ;; (x|z) torchrun 6 ;& (w) torchrun 7 ;; (*) torchrun 8 ;; esac
[[ abc == a* && abc != b* && abc == "abc" && ! abc == "a*" && abc =~ b && abc =~ ^a.c$ && -z "" ]] && torchrun matched; [[ 1 -lt 2 && 2 -le 2 && 3 -ne 4 && 5 -eq 5 && 5 -ge 5 && 6 -gt 5 ]] && torchrun numbers
[ -f / ] || torchrun no file; [ -f /none ] || torchrun none; [ -n "$V" ] && torchrun set; [ -z "$NONE" ] && torchrun unset; [ "$V" != word ] && torchrun differs; [[ -v V ]] && torchrun known; [[ -v NONE ]] || torchrun unknown
for ((i = 0; i < 3; i++)); do torchrun c $i; done; for i; do torchrun never; done; for i in $(seq 2); do torchrun s $i; done; i=0; while ((i < 2)); do torchrun w $((i++)); done; until [ $i -ge 4 ]; do torchrun u $i; let i+=1; done
torchrun $(echo -n a b; echo c) `echo back` $(echo "q  r") "$(echo "q  r")" $(expr 3 + 4) $(expr 6 / 2) $(echo a b c | wc -w) $(echo abc | tr a-z A-Z)
export E=1 F="2 3"; torchrun $E "$F"; readonly H=5; torchrun $H; declare -r K=9; torchrun $K; typeset U=8; torchrun $U
true && torchrun t || torchrun f; false && torchrun t || torchrun f; ! true || torchrun n; if ! false; then torchrun y; elif true; then torchrun z; else torchrun e; fi; if false; then :; elif true; then torchrun z; fi
eval 'torchrun evaluated $V'; eval "Q=\$V"; torchrun "$Q"; : ${DEF:=given}; torchrun $DEF
bash -c 'torchrun command $E'; bash -e -u -c 'torchrun options'; echo 'torchrun piped' | bash; bash <<END
torchrun here $E
END
command torchrun command; time torchrun timed; ( torchrun sub ) ; { torchrun group; } ; torchrun background & wait
cd /usr; torchrun $PWD; cd lib; torchrun $PWD; (cd /; torchrun $PWD); torchrun $PWD
exec torchrun last
