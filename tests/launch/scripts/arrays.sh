#!/bin/bash
# arrays: slices, keys, appends, elements by arithmetic, an associative one
STEPS=(1 2 "3 4" 5)
STEPS[6]=seven
declare -A WIDTH=([small]=1024 [large]=8192)
WIDTH[medium]=4096
X=1 WIDTH[very large]=16384
 WIDTH[very large]+=0
SIZES=(small medium large)
GPT=(
    --num-layers 24   # depth
    # --num-layers 48
    --hidden-size ${WIDTH[${SIZES[1]}]}
    --data-path "a b" 'c d'
)
GPT+=(--bf16)
EMPTY=()
torchrun --nproc_per_node 8 train.py "${GPT[@]}" "${EMPTY[@]}" --count ${#GPT[@]} ${#STEPS[@]} \
    "${STEPS[@]:1:2}" ${STEPS[$((1 + 1))]} "${STEPS[-1]}" "${!STEPS[@]}" "${GPT[*]:0:2}"
LAST=(a b c)
LAST[-1]=x
LAST+=(y)
BIG=9223372036854775807
((BIG++))
torchrun train.py "${LAST[@]}" "${LAST[2]}" "${!LAST[@]}" $BIG ${WIDTH[very large]}
