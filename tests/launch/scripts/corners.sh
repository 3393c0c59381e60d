#!/bin/bash
# corners of a shell: ranges and classes in patterns, redirections to commands, what leaves a function or a loop
match() { case $1 in $2) torchrun yes "$1" "$2" ;; *) torchrun no "$1" "$2" ;; esac; }
match b '[a-c]'; match a '[a-c]'; match c '[a-c]'; match d '[a-c]'; match - '[a-]'; match a '[a-]'; match b '[a-]'
match ']' '[]x]'; match x '[]x]'; match y '[]x]'; match d '[!a-c]'; match b '[!a-c]'; match e '[a-ce]'; match f '[a-ce]'
match - '[a-c-e]'; match d '[a-c-e]'; match 5 '[[:digit:]x]'; match x '[[:digit:]x]'; match y '[[:digit:]x]'
match A '[[:upper:]]'; match a '[[:upper:]]'; match a '[[:lower:]-]'; match - '[[:lower:]-]'; match ' ' '[[:space:]]'
match _ '[[:alnum:]_]'; match . '[[:punct:]]'; match ab '?[b]'; match ab '[a]?b'; match abc 'a*[c]'; match '[' '[['; match 'a*' 'a\*'; match ab 'a\*'
match '' '*'; match '' '?'; match abcabc '*abc'; match aab '*a*b'; match aabc '*a*b'

first() { return 3; torchrun never; }
first; torchrun status $?
second() { for i in 1 2 3; do [ $i = 2 ] && return; torchrun turn $i; done; torchrun never; }
second; torchrun after $?
third() { false; return; }
third; torchrun kept $?
(exit 4); torchrun sub $?
X=$(echo a; exit 5; echo b); torchrun captured "$X"
for i in 1 2 3; do for j in 1 2 3; do [ $j = 2 ] && continue 2; torchrun $i $j; done; done
for i in 1 2; do for j in 1 2; do [ $j = 2 ] && break 2; torchrun out $i $j; done; done
for i in 1 2 3; do [ $i = 1 ] && continue; [ $i = 3 ] && break; torchrun loop $i; done
while :; do torchrun once; break 9; done
until true; do torchrun never; done
for i in 1 2; do (break); (continue); torchrun subshell $i; done
fourth() { (return 5); torchrun returned $?; }
fourth
for i in 1 2; do while break; do torchrun never; done; torchrun condition $i; done

spaced ( ) { torchrun spaced "$@"; }
spaced a 'b c'
function worded { torchrun worded $# "${@:2}"; }
worded a b c
function both() { torchrun both "$*"; }
both a b
{ torchrun group; } > /dev/null
( cd / && torchrun subshell )

N=outer
locals() { local N=inner M; M=2; O=3; torchrun $N $M $O; }
locals; torchrun $N "$M" $O
unset_it() { local N=inner; unset N; torchrun "[$N]"; }
unset_it; torchrun $N
nested() { local N=a; deeper; torchrun $N; }
deeper() { N=b; torchrun $N; }
nested; torchrun $N

torchrun to > >(cat >/dev/null) 2> >(cat >/dev/null) --more 1
torchrun from < <(echo x) --more 2
torchrun errors 2>&1 --more 3
torchrun both &>/dev/null --more 4
torchrun clobber >|/dev/null --more 5
torchrun append >> /dev/null --more 6
torchrun closed 2>/dev/null <<< "text" --more 7
>/dev/null torchrun before --more 8
if false; then
torchrun <<END
not $(torchrun run)
END
cat <<'END'
not run
END
fi
Y=$(cat <<END
one $N
two \$N
END
)
torchrun "$Y"
Z=$(cat <<-'END'
	tab $N
	END
)
torchrun "$Z"
[[ a \
  == a ]] && torchrun continued
[[ ( a == b || a == a ) && ! a == c ]] && torchrun grouped
[[ -n $N && -z $NONE ]] && torchrun lengths
[[ 10 -gt 9 && 10 > 9 ]] || torchrun as texts
[ a = a -a b = b ] && torchrun and
[ a = b -o b = b ] && torchrun or
[ ! a = b ] && torchrun not
[ "" ] || torchrun empty
[ x ] && torchrun one-word
test -n "" || torchrun test-n
torchrun $(seq 3) - $(seq 2 4) - $(seq 5 -2 1) - $(seq 3 1)
torchrun $(basename /a/b.sh .sh) $(basename /a/b/) $(basename b) $(basename /a/.txt .txt) $(dirname /a/b) $(dirname b) $(dirname /a/b/) $(dirname /a)
torchrun 'a'"b"'c'\d"e\$f\"g\\h\i" 'x'
torchrun "${N:-d}" "${NONE:-d e}" ${NONE:-d e} "${NONE-d}" "${N:+s}" "${NONE:+s}" "${#N}" "${N:1:2}" "${N: -2}" "${N^^}" "${N^}"
torchrun "${N/u/U}" "${N//[ou]/_}" "${N/#o/O}" "${N/%r/R}" "${N#o}" "${N##*t}" "${N%r}" "${N%%t*}"
torchrun "$(printf '%q-%s' a b)" "`echo "a b"`" "`echo ')' "}"`"
for i in 1 2; do for j in 1 2; do (exit 2); break; done; torchrun inner $i; done
for i in 1 2; do for j in 1 2; do (exit 2); continue; done; torchrun inner $i; done
fourth() { (exit 4); return; }
fourth; torchrun kept $?
cat > /tmp/reckon-corners-test.sh <<'EOF'
torchrun inner $# "$@"
EOF
bash /tmp/reckon-corners-test.sh a b
bash -x -e /tmp/reckon-corners-test.sh c
sh /tmp/reckon-corners-test.sh
exit
(torchrun never)
torchrun never
