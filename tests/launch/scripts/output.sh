#!/bin/bash
# output and input: widths of printf, names of files, lines that read splits, blanks or not
python 1 "$(printf '%5s|' x)" "$(printf '%03d' 7)" "$(printf '%-4s|' ab)" "$(printf '%04d' -7)" "$(printf '%2d|' 123)" "$(printf 'node%02d ' 1 2 10)" "$(printf '%s' )" "$(printf '%-3d|' 5)" "$(printf '%4d|' -5)" "$(printf '%s-%s\n' a b c)"
read -r X Y <<< "1  2   3  "; IFS=, read -r P Q <<< "a,b,c"; read -ra L <<< "  x  y z "; IFS=: read -ra M <<< "a:b::c"; read -r Z <<< "  lead "; read -r E1 E2 <<< "one"; read -r Z2 <<< ""; IFS= read -r Z3 <<< "  kept "; IFS=, read -ra W <<< "a, b ,c"
python 2 "$X" "$Y" "$P" "$Q" "${L[@]}" ${#L[@]} "${M[@]}" ${#M[@]} "[$Z]" "[$E1]" "[$E2]" "[$Z2]" "${W[@]}"
python 3 "$(basename .sh .sh)" "$(basename run.sh .sh)" "$(basename run.sh n.sh)" "$(basename /a/b/)"
printf 'a 1\nb  2\n' | while read -r n g; do python 4 "$n" "$g"; done
cat <<EOF | { read -r a b; python 5 "$a" "$b"; read -r a; python 5 "$a"; read -r a || python 5 end; }
one $X "two"
	next
EOF
python 6 "[$Z3]"
