#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sweeps by the reckon model say at every point what `reckon plan` and `reckon estimate` say there.
#
#     reckon.sh RECKON
set -eu

reckon=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail()
{
    echo "reckon.sh: $*" >&2
    exit 1
}

# from_rank FILE: the columns of a CSV table from "rank" on, without the header.
from_rank()
{
    awk -F, 'NR == 1 { for (first = 1; $first != "rank"; first++) { } next }
             { row = $first; for (i = first + 1; i <= NF; i++) { row = row "," $i } print row }' "$1"
}

# A search: the command ranks from 1, a sweep from 0.
cat >search.json <<'END'
{"model": "llama3-8b", "system": "dgx-h100-superpod", "top": 3,
 "let": {"sequences": 4}, "set": {"global_batch": "sequences * accelerators"},
 "strategy": {"tp": [1, 2, 4], "recompute": ["none", "full"], "zero": 1,
              "order": ["tp-cp-dp-pp", "tp-cp-pp-dp"]},
 "axes": [{"key": "accelerators", "values": [8, 16]},
          {"keys": ["system.tiers[0].bandwidth_GBps", "sequences"], "values": [[450, 4], [225, 8]]}]}
END
"$reckon" sweep search.json -o search.csv
"$reckon" sweep search.json --threads 1 | cmp - search.csv || fail "threads change the table"
for point in 8,32 16,64; do
    "$reckon" plan --model llama3-8b --system dgx-h100-superpod --tp 1,2,4 \
        --recompute none,full --zero 1 --order tp-cp-dp-pp,tp-cp-pp-dp --top 3 --csv \
        --accelerators "${point%,*}" --global-batch "${point#*,}" >plan.csv
    from_rank plan.csv
done | awk -F, -v OFS=, '{ $1 = $1 - 1; print }' >expected
awk -F, 'NR == 1 || $3 == 450' search.csv >some.csv
from_rank some.csv | cmp - expected || fail "a sweep finds other strategies than reckon plan"

# A strategy of which only the axes tell something.
cat >axes.json <<'END'
{"model": "llama3-8b", "system": "dgx-h100-superpod", "accelerators": 8, "global_batch": 32,
 "axes": [{"key": "strategy.tp", "values": [1, 2]}]}
END
"$reckon" sweep axes.json -o axes.csv
for tp in 1 2; do
    "$reckon" plan --model llama3-8b --system dgx-h100-superpod --tp "$tp" --top 1 --csv \
        --accelerators 8 --global-batch 32 | tail -n 1 | cut -d , -f 2-
done >expected
from_rank axes.csv | cut -d , -f 2- | cmp - expected || fail "axes alone tell another strategy"

# Counts as on the command line.
sweep_seq()
{
    echo '{"model": "llama3-8b", "system": "8xh100", "global_batch": 32,
           "axes": [{"key": "seq", "values": ['"$1"']}]}' >counts.json
    "$reckon" sweep counts.json -o counts.csv
    from_rank counts.csv
}
sweep_seq '4096, 8192' >digits
sweep_seq '"4k", "8k"' | cmp - digits || fail "4k is not 4096"

# A number before the system, of accelerators or of its nodes.
sed 's/"dgx-h100-superpod", "accelerators": 8/"1xdgx-h100-superpod"/' axes.json >counted.json
"$reckon" sweep counted.json | cmp - axes.csv || fail "1xdgx-h100-superpod is not 8 accelerators"

# A bounded search finds the same.
sed 's/{"model"/{"search": "bounded", "model"/' search.json >bounded.json
"$reckon" sweep bounded.json -o bounded.csv
from_rank search.csv >expected
from_rank bounded.csv | cmp - expected || fail "a bounded search finds other strategies"

# So does a search that remembers what it found with another memory, and one that evaluates all.
# Some layouts fit no memory but the last, whatever is sharded.
for case in '79, 40, 30, 24, 20, 16|' '16, 20, 24, 30, 40, 79|' \
    '16, 20, 24, 30, 40, 79|"strategy": {"zero": 1, "offload": "none"},'; do
    cat >memory.json <<END
{"model": "llama3-8b", "system": "dgx-h100-superpod", "global_batch": 32, ${case#*|}
 "axes": [{"key": "accelerators", "values": [8, 16]}, {"key": "max_memory", "values": [${case%|*}]}]}
END
    sed 's/{"model"/{"search": "exhaustive", "model"/' memory.json >all.json
    "$reckon" sweep memory.json --threads 1 -o memory.csv
    "$reckon" sweep memory.json --threads 3 | cmp - memory.csv || fail "threads change what is found"
    "$reckon" sweep all.json -o all.csv
    from_rank all.csv >expected
    [ "$(sort -u expected | wc -l)" -gt 6 ] || fail "memory changes nothing"
    from_rank memory.csv | cmp - expected || fail "what was found before changes what is found"
done

# An estimate: what is refused, and what does not fit, is reported.
cat >estimate.json <<'END'
{"model": "llama3-70b", "system": "dgx-h100-superpod", "task": "estimate", "accelerators": 64,
 "global_batch": 128, "strategy": {"pp": 2, "micro_batch": 1, "layout": "40,40"},
 "axes": [{"key": "strategy.tp", "values": [4, 8, 48]},
          {"key": "strategy.recompute", "values": ["none", "full"]}]}
END
"$reckon" sweep estimate.json -o estimate.csv
for tp in 4 8; do
    for recompute in none full; do
        status=0
        "$reckon" estimate --model llama3-70b --system dgx-h100-superpod --accelerators 64 \
            --global-batch 128 --pp 2 --micro-batch 1 --layout 40,40 --tp "$tp" \
            --cp 1 --zero 1 --recompute "$recompute" --csv >one.csv || status=$?
        from_rank one.csv
    done
done | awk -F'"' -v OFS='"' '{ sub(/^[0-9]*/, ""); print }' >expected
[ -s expected ] || fail "reckon estimate writes no table"
grep -v 'the rule' estimate.csv >legal.csv
from_rank legal.csv | awk '{ sub(/^[0-9]*/, ""); print }' | cmp - expected ||
    fail "a sweep estimates something else than reckon estimate"
[ "$(grep -c 'the rule accelerators % (tp\*cp\*pp)' estimate.csv)" -eq 2 ] ||
    fail "nobody says why a strategy is refused"
grep -q 'needs .* GiB of ' estimate.csv || fail "nobody says what does not fit"

# Measured tables of a machine are found beside its document, wherever the command runs.
mkdir machines
printf 'op,ranks,bytes,us\nall_gather,8,134217728,9000\n' >machines/nccl.csv
cat >machines/slow.json <<'END'
{"name": "slow", "accelerator": "h100-sxm", "measured": {"collective": {"file": "nccl.csv"}}}
END
cat >machines/sweep.json <<'END'
{"model": "llama3-70b", "accelerators": 64, "global_batch": 128, "top": 1,
 "strategy": {"tp": 8, "pp": 2, "micro_batch": 1, "recompute": "full"},
 "axes": [{"key": "system", "values": ["slow.json", "h100-sxm"]}]}
END
"$reckon" sweep machines/sweep.json -o measured.csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") at = i }
         NR > 1 { step[NR] = $at } END { exit !(step[2] > 1.05 * step[3] && step[3] > 0) }' \
    measured.csv || fail "measured tables change nothing: $(cat measured.csv)"

# So is the file of an accelerator that a cluster names.
mkdir machines/chips
"$reckon" show h100-sxm --json >machines/chips/chip.json
cat >machines/chips/cluster.json <<'END'
{"name": "cluster", "accelerator": "chip.json", "tiers": [{"as": "NVLink4"}, {"as": "NDR InfiniBand"}]}
END
sed 's|slow.json|chips/cluster.json|' machines/sweep.json >machines/nested.json
"$reckon" sweep machines/nested.json -o nested.csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "step_s") at = i }
         NR > 1 { step[NR] = $at } END { exit !(step[2] == step[3] && step[3] > 0) }' \
    nested.csv || fail "an accelerator beside its cluster is another: $(cat nested.csv)"
"$reckon" estimate --model llama3-8b --system machines/chips/cluster.json --accelerators 8 \
    --global-batch 64 --zero 3 --recompute full >nested.txt || fail "an accelerator is not found beside its cluster"

# A fault is reported with its place.
expect()
{
    if echo "$1" >wrong.json && "$reckon" sweep wrong.json >out 2>err; then
        fail "accepted: $1"
    fi
    grep -qF -- "$2" err || fail "$1: $(cat err)"
}
start='"model": "llama3-8b", "system": "dgx-h100-superpod", "global_batch": 8, "accelerators": 8'
expect "{$start, \"strategy\": {\"tpp\": 2}}" 'strategy.tpp: unknown; did you mean "tp"?'
expect "{$start, \"strategy\": {\"tp\": 0}}" 'strategy.tp: expected an integer from 1'
expect "{$start, \"strategy\": {\"tp\": [2, \"x\"]}}" 'strategy.tp[1]: expected an integer from 1'
expect "{$start, \"strategy\": {\"recompute\": \"fulll\"}}" 'did you mean "full"?'
expect "{$start, \"strategy\": {\"fsdp\": 1}}" 'strategy.fsdp: expected true or false'
expect "{$start, \"strategy\": {\"dp\": 3}}" 'make dp 8 or a divisor of it, not 3'
expect "{$start, \"strategy\": {\"pp\": 2, \"layout\": \"16,16\"}}" '--layout belongs to one strategy'
expect "{$start, \"framework\": 3}" 'framework: expected one of'
expect "{$start, \"strateggy\": {}}" 'did you mean "strategy"?'
expect "{$start, \"top\": 5000}" 'top: at most 1000'
expect "{$start, \"axes\": [{\"key\": \"model\", \"values\": [\"llama3-8\"]}]}" 'axes[0]'
expect "{$start, \"axes\": [{\"key\": \"strategy.tpp\", \"values\": [1]}]}" 'did you mean "tp"?'
