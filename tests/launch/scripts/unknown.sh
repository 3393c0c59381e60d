#!/bin/bash
# outputs that only a machine knows stay whole, as they stand here
A="--a $(nproc --all) b"
torchrun one.py $A
B="--b `hostname -s` c"; torchrun two.py $B
L=($(lscpu -p) d); torchrun three.py ${L[@]} ${#L[@]}
for i in $A; do torchrun five.py $i; done
set -- $A; torchrun six.py $# "$2"
torchrun seven.py $(nproc --all)
torchrun eight.py "x$(nproc)y" $((2 * 3)) $(( $(nproc) * 2 ))
E=$(nproc --all | head -1); torchrun nine.py $E ${E:-f} ${E%x}
torchrun seq "$(seq)" "$(seq 1 2 3 4)" "$(seq 1 0 3)" "$(seq 3 1)" "$(seq 2)" "$(seq 1 2 5)" "$(seq 2 3)"
torchrun expr "$(expr 1 +)" "$(expr 1 + 2)"
torchrun wc "$(echo a b | wc -w)" "$(echo a | wc)" "$(wc -l)" "$(echo a | wc -l -w)" "$(echo a b | wc -l)"
torchrun tr "$(echo abc | tr ab xy)" "$(echo abc | tr -d b)" "$(echo abc | tr b x)" "$(echo abc | tr a-z A-Z)" "$(echo ABC | tr '[:upper:]' '[:lower:]')" "$(echo abc | tr b)" "$(tr a b)"
torchrun arithmetic $((1 +)) $((2 / 0)) $((2 % 0)) $((1 2)) $(( )) $((1 ? 2)) $((08)) $((9223372036854775807 + 1))
X=1; shift x; shift -1; shift 9; torchrun shift $#
