#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two ranks share a large search, and a sweep, fairly: each has 45 to 55 % of the processor time.
#
#     balance.sh RECKON MPIRUN
set -eu
. "$(dirname "$0")/common.sh"

# share NAME COMMAND...: what rank 0 has of the processor time, in %.  A machine that is busy with
# other things may favour a rank once, but not always.
share()
{
    name=$1
    shift
    for attempt in 1 2 3 4; do
        ranks 2 "$@" --threads 1 >out 2>log || fail "$name: $(cat log)"
        sed -n "s/.*processor time by rank: /$name, attempt $attempt: /p" log
        percent=$(sed -n 's/.*by rank: [0-9.]* s (\([0-9.]*\) %).*/\1/p' log)
        if awk -v x="$percent" 'BEGIN { exit !(x >= 45 && x <= 55) }'; then
            return
        fi
    done
    fail "$name: rank 0 has $percent % of the processor time"
}

share "a search" plan --model deepseek-v3 --system h100-roce-24k --accelerators 2048 \
    --global-batch 3840 --exhaustive
sed 's/\[16, 192, 3072\]/[3072, 3073, 3074, 3075, 3076, 3077, 3078]/' grid.json >large.json
share "a sweep" sweep large.json -o large.csv
