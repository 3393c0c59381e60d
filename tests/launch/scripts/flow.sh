#!/bin/bash
# conditions, loops, functions with local variables, options of the script itself
set -eu
MODE=${1:-pretrain}
GPUS=8 TP=2
usage() { echo "usage: $0 MODE"; exit 1; }
degree() {
    local TP=$1 name=${2:-tp}
    case "$name" in
        tp | TP) echo $((TP * 2)) ;;
        [p-q]p) echo "$TP" ;;
        *) return 1 ;;
    esac
}
if [[ "$MODE" == pre* && ( $TP -gt 1 || -n "" ) ]]; then
    FLAGS="--sequence-parallel"
elif [ "$MODE" = sft ]; then
    FLAGS="--lora"
else
    usage
fi
[[ $MODE =~ ^pre[a-z]+$ ]] && FLAGS="$FLAGS --matched" || FLAGS="$FLAGS --not-matched"
if ! [ -z "$FLAGS" -a "$TP" -eq 2 ]; then FLAGS+=" --some"; fi
i=0 TOTAL=0
while (( i < 5 )); do
    i=$((i + 1))
    (( i == 2 )) && continue
    if (( i > 4 )); then break; fi
    TOTAL=$((TOTAL + i))
done
for ((j = 0; j < 3; j++)); do LIST="${LIST:-} $j"; done
until [ $j -ge 6 ]; do ((j += 2)); done
for name in tp pp; do FLAGS="$FLAGS --$name $(degree $TP $name)"; done
last() { echo first; }
last() { echo "$1 again"; }
torchrun --nproc_per_node $GPUS train.py --last $(last time) $FLAGS --total $TOTAL --list $LIST --j $j --tp-outside $TP
i=3
if false; then for ((i = 7; i < 9; i++)); do true; done; fi
torchrun train.py --i $i
