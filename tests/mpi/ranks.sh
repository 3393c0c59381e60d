#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# However many ranks share a sweep or a search, the result is the same, byte for byte.
#
#     ranks.sh RECKON MPIRUN
set -eu
. "$(dirname "$0")/common.sh"

# The same sweep by both methods, a plan by both, and the published command line.  Ranks share an
# exhaustive search, so one process makes one, too.
cat >plans.json <<'END'
{"model": "llama3-70b", "system": "dgx-h100-superpod", "global_batch": 256, "top": 2,
 "axes": [{"key": "accelerators", "values": [32, 128]},
          {"key": "strategy.recompute", "values": ["none", "full"]}]}
END
search()
{
    "$@" sweep grid.json -o grid.csv --pareto time,cost &&
        "$@" sweep grid.json -o whole.csv --threads 1 &&
        "$@" sweep plans.json -o plans.csv --threads 1 &&
        "$@" plan --model mixtral-8x7b --system dgx-h100-superpod --accelerators 256 \
            --global-batch 512 --exhaustive --json -o plan.json --threads 1 || return 1
    "$@" plan --model llama3-70b --system dgx-h100-superpod --accelerators 1 --global-batch 8 \
        --json -o none.json --threads 1 || [ $? -eq 1 ] || return 1
    "$@" plan --model llama3.1-405b --system h100-sxm --accelerators 4096 \
        --global-batch 1024 --json -o usual.json --threads 1 || return 1
    "$@" plan --model seed-1T --system h100-80g-off512g50-nvl8 --processors 512 --batch 768 \
        --datatype float8 --json -o calculon.json --threads 1 &&
        "$@" calculon llm-optimal-execution gpt3-175B 256 96 float16 a100_80g loe.json -t 3 -c 1 \
            >calculon.log || return 1
    # how long it took is the one thing that may differ
    cat grid.csv whole.csv plans.csv plan.json none.json usual.json calculon.json loe.json >all || return 1
    grep -v -e processor_time_s -e wall_time_s all
    rm -f -- *.csv plan.json none.json usual.json calculon.json loe.json
}

search "$reckon" >expected 2>log || fail "one process: $(cat log)"
[ "$(grep -c '^[0-9]*,512,' expected)" -ge 6 ] || fail "the sweep finds next to nothing"
[ "$(grep -c '^[0-9]*,128,full,' expected)" -eq 2 ] || fail "the sweep of plans finds nothing"
# Nobody waits for MPI to start where rank 0 works alone.
ranks 2 plan llama3-70b 64xh100 -b 128 --tp 8 >usual 2>log && [ ! -s log ] || fail "MPI started: $(cat log)"
[ "$(grep -c '^best ' usual)" -eq 1 ] || fail "two ranks say: $(cat usual)"
for count in 1 2 3 4; do
    run()
    {
        ranks "$count" "$@"
    }
    search run >found 2>log || fail "$count ranks: $(cat log)"
    cmp expected found || fail "$count ranks find something else than one process"
    [ "$count" -eq 1 ] || grep -q 'processor time by rank: .*%.*%' log || fail "no report: $(cat log)"
done
