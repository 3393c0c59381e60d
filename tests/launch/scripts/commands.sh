#!/bin/bash
# commands: functions, loops, choices, lists, pipes, subshells, arguments, what leaves what
f() { python f "$@"; return 3; python never; }
f a; python status $?
function g { local X=in; python g $X $1; h; }
function h () { python h $X; X=changed; }
X=out; g 1; python after $X
k() ( python sub; )
k
i=0; while [ $i -lt 5 ]; do i=$((i + 1)); [ $i -eq 2 ] && continue; [ $i -eq 4 ] && break; python while $i; done
until [ $i -le 2 ]; do i=$((i - 1)); python until $i; done
for a in 1 2; do for b in x y z; do [ $b = y ] && continue 2; python nest $a $b; done; done
for a in 1 2; do for b in x y z; do [ $b = y ] && break 2; python nest2 $a $b; done; done
for a; do python noargs $a; done
set -- p q; for a; do python args $a; done; for a do python args2 $a; done
for a in "$@" r {1..2} $(echo s t); do python in $a; done
for a in ; do python empty; done
case abc in a) python no;; a*|b*) python yes;; *) python no;; esac
case abc in (abc) python paren;; esac
case x in a) ;; x) ;; *) python no;; esac
case "a b" in "a b") python quoted;; esac
case $i in [0-9]) python digit $i ;; esac
case y in
  a)
    python no ;;
  y)
    python lines
    python more
    ;;
esac
if false; then python no; elif true; then python elif; else python no; fi
if false; then python no; elif false; then python no; else python else; fi
if ! false; then python not; fi
true && python and || python no; false && python no || python or; true || python no; false || python or2
! true; python bang $?
{ python group; python group2; }; (python paren); python scope $X
(exit 3); python exit $?
x=$(exit 4); python subexit "$x"; x=$(q() { exit 2; }; q; echo no); python subexit2 "$x"
y=$(f q | cat >/dev/null; echo 5); python y $y
echo a | while read -r l; do python piped $l; done
echo "a b" | { read -r p q; python pq $p $q; }
printf 'l1\nl2\n' | wc -l | { read -r n; python wc $n; }
eval "python eval $X" ; eval 'for q in 1 2; do python ev $q; done'
export EX=1 EY="a b" ; python export $EX "$EY"
declare -i DI=5; declare -x DX=6; declare -a DA=(1 2); readonly RO=7; typeset TY=8; python decl $DI $DX "${DA[@]}" $RO $TY
m() { declare D=local; local a=1 b c=$1; b=2; python m $D $a $b $c; }; m 9; python noleak "$D" "$a$c"
shift; python shift $1 $#; shift 5; python shift5 $? $#; shift 0; python s0 $#
set -e; set -u; set +u; python setopts "$@"; set -euo pipefail; python setopts2 "$@"; set +e +u; set +o pipefail
set c d; python plain "$@"; set -- ; python clear $#
set -- -x y; python minus "$@"
python bg & wait; python after
:; : ${DEF:=dv}; python def $DEF
trap 'python trap' USR1; ulimit -n 5 2>/dev/null; umask 22; shopt -s nullglob; shopt -u nullglob
alias ll=ls
python a;python b ; python c&&python d
if true; then
  # comment
  python in-if # trailing
fi
while false; do python no; done
select_() { python s; }; select_
z=1 ; z=2 z2=3; python z $z $z2
true | false; python pipe $?
n=0; while true; do n=$((n+1)); if [ $n -gt 3 ]; then break; fi; done; python n $n
r() { if [ $1 -gt 0 ]; then python r $1; r $(($1 - 1)); fi; }; r 2
[ 1 = 1 ] && { python br1; } || { python br2; }
for i in 1 2 3; do case $i in 2) continue;; esac; python cc $i; done
ret() { for i in 1 2; do return 5; done; python no; }; ret; python ret $?
exit 0
python never
