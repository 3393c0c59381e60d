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
