#!/bin/bash
# values: alternatives, parts, replacements, arrays, quotes, braces, commands in backticks
set -- one 'two words' three
python at "$@" $# "$*" "${@:2}" "${@:2:1}" ${1} ${#1} "${2}" "${12}" "$12" "${@: -1}"
python none "${NONE[@]}" "$NONE" x"${NONE[@]}"y ${NONE-a} ${NONE:-b} "${NONE+c}" "${NONE:+d}"
E= V=abcABC; L=(a 'b c' d); declare -A D=([k]=v [l]=w)
python empty "${E-a}" "${E:-b}" "${E+c}" "${E:+d}" "${V-a}" "${V:-b}" "${V+c}" "${V:+d}" "${L[@]:-x}" "${L[1]:-y}" "${L[7]:-z}" "${L[7]-z}"
python set "${S:=made}" "$S" ${T=x y} "$T" "${E:=now}" "$E"
python quoted "${V:-'q'}" "${GONE:-'q'}" ${GONE:-"a b"} ${GONE:-a b} "${GONE:-$V}" ${GONE:+x} ${V:+"p q"}
python strip "${V#a}" "${V#*b}" "${V##*[A-Z]}" "${V%C}" "${V%%[A-Z]*}" "${V#x}" "${V%x}" "${V#abcABC}" "${V#'a'}" "${V%"BC"}"
python part "${V:1}" "${V:1:2}" "${V: -2}" "${V: -2:1}" "${V:0:-1}" "${V:9}" "${V:2:0}" "${V:6}" "${V:1:99}" "${V: -99}"
python replace "${V/b/X}" "${V//[a-c]/_}" "${V/#a/Y}" "${V/%C/Z}" "${V/b}" "${V//b/}" "${V/#b/Y}" "${V/%B/Z}" "${V/a\/b/x}" "${V/bc/\/}" "${V/nothing/x}" "${V//?/.}" "${V/*/all}"
W='a/b/c a*b'
python slash "${W//\//-}" "${W/a\*b/star}" "${W%%/*}" "${W##*/}"
python case "${V^}" "${V^^}" "${V,}" "${V,,}" "${L[@]^^}" "${E^^}"
python length ${#V} ${#L[@]} ${#L} ${#L[1]} ${#D[@]} ${#} ${#NONE} ${#NONE[@]} ${#*} ${#@}
python keys ${!L[@]} ${!D[k]} 
N=V; python indirect "${!N}" "${!N:-x}" "${!N:1:2}" "${!N#a}"
python list "${L[@]}" "${L[*]}" "${L[-1]}" "${L[0]}" $L "${L}" "${L[@]:1}" "${L[@]:1:1}" "${L[@]: -1}" "${L[@]#b}" "${L[@]/b/B}" x"${L[@]}"y "${L[1 + 1]}" "${L[$((1))]}" "${L[@]:9}" "${L[@]:0:9}"
IFS=,; J="${L[*]}"; unset IFS
L[5]=far; python sparse "${L[@]}" ${!L[@]} ${#L[@]} "${L[5]}" "${L[4]}"
L+=(tail); python append "${L[-1]}" ${#L[@]}
K=([2]=two after [9]=far); python indexed "${K[@]}" ${!K[@]}
unset L; python unset "${L[@]}" ${#L[@]} "${L-gone}"
D[k]+=more; D["a b"]=blank; python assoc "${D[k]}" "${D[a b]}" "${D["a b"]}" "${D[none]-n}" ${#D[@]}
X=1; X+=2; X+=$V; python add $X
python dollars '$V' "\$V" \$V "a\\b" 'a\b' "a\b" $'t\tn\\q\'' "$" "a$" $ "\`" "\"" "$(echo '$V')" "`echo "$V"`" `echo \$V` "${V}$" "a'b" 'a"b' "x \
y"
python special "$?" "${?}" 
python words a"b"'c'$V""d ''  "" "" e\ f 'g h' $E $NONE i
python subst "$(echo a; echo b)" $(echo a; echo b) "$(echo 'x  y')" $(echo 'x  y') "$(printf 'a\n\n')" pre$(echo -n z)post "$(echo "$(echo "deep $(echo er)")")" $(echo $((1 + 2))) "$(true)" x$(true)y $(true)
python brace {a,b}{1,2} {1..3} {3..1} {1..7..3} {7..1..2} x{,y}z {a} {} "{a,b}" {a..c}x pre{1..2}post \{a,b\} {1..2}{3..4} a{b,c}d,{e,f} ${V}{1,2}
python tilde "~" a~ 
python comment a#b '#c' # not this
python long a \
  b \
  c
python pad {08..11} {1..03} {-01..1} {a..e..2} {c..A..40} {1..a} {x..y}{01..02} "$V"{1,2} a"b "{1,2} $(echo z){1,2} {1..2..0} {5..1..-2} {1..} {..2} {1..2..x} {0..9..99} '{1,2}' a\ {1,2}
D=/a/b; python ticks `dirname \`dirname $D\`` "`echo \"q $D\"`" `echo '\\'x` `echo a\\\\b` `printf '%s ' "x y" z`
python operand "${GONE:-'a b'}" "${GONE:-"c d"}" "${GONE:-e\"f}" "${GONE:+'x'}" ${V:+'x y'} "${V:+"$V" '$V'}" "${GONE:-}" "${GONE-a"b"c}"
