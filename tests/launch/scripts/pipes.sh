# SPDX-License-Identifier: Apache-2.0
# Compound commands in pipelines.
true | { torchrun a.py; }
printf '%s\n' x y |   while read -r v; do torchrun "$v.py"; done
true |
	if true; then torchrun c.py; fi
echo "1 2" | ( read -r a b; torchrun d.py --n "$b" --m "$a" )
echo z |& case z in z) torchrun e.py ;; esac
! true | { ! torchrun f.py; }
{ torchrun g.py; } 2>&1 | tee log
for i in 1 2; do torchrun "h$i.py"; done | cat
f() { torchrun i.py "$@"; }
true | f 1
  ( torchrun j.py )   | cat
[[ a == a ]] | torchrun k.py
(( 1 )) && true | until true; do torchrun never.py; done
cat <<OUTER >/dev/null; eval "$(printf 'cat <<INNER >/dev/null\ntorchrun no.py\nINNER\ntorchrun within.py')"
torchrun neither.py
OUTER
torchrun behind.py
