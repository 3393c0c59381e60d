#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks what every answer of the reckon commands promises, whatever its numbers are: parts add up,
# in print and in full; the three commands agree; the exit status says whether it fits.
#
#     consistency.sh RECKON
set -eu

reckon=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export NO_COLOR=1

fail()
{
    echo "$*" >&2
    exit 1
}

# The printed parts of the table that starts with $2 add up to its last row but $3, to the digit.
check_table()
{
    awk -v start="$2" -v total="$3" -v column="$4" '
        index($0, start) == 1 {inside = 1; next}
        inside && /^$/ {exit}
        inside && index($0, total " ") == 1 {
            split($0, words, /  +/); seen = 1
            if (sum - words[column] > 1e-6 || words[column] - sum > 1e-6) {
                printf "%s: %.4f, not %s\n", total, sum, words[column]; exit 1
            }
            exit
        }
        inside && !/^-/ && !/^(allocated|reserved) / {split($0, words, /  +/); sum += words[column]}
        END {if (!seen) {print start ": no " total; exit 1}}' "$1" || fail "$1: $2"
}

# The columns of a CSV file that match $2 add up to the column $3.
check_columns()
{
    awk -F, -v parts="$2" -v whole="$3" '
        NR == 1 {for (i = 1; i <= NF; i++) name[i] = $i; next}
        {
            sum = 0
            for (i = 1; i <= NF; i++) {
                if (name[i] == whole) total = $i
                else if (name[i] ~ parts) sum += $i
            }
            if (total == "" || sum - total > 1e-9 * total || total - sum > 1e-9 * total) {
                printf "row %d: %s is %.17g, its parts %.17g\n", NR, whole, total, sum; exit 1
            }
        }
        END {exit NR < 2}' "$1" || fail "$1: $3"
}

strategies='
--model llama3-8b --system dgx-h100-superpod --gpus 8 --tp 1 --global-batch 64
--model llama3-8b --system a100-sxm-80gb --gpus 32 --tp 2 --pp 4 --vp 2 --global-batch 64
--model gpt3-175b --system dgx-a100-superpod --gpus 512 --tp 8 --pp 8 --vp 3 --global-batch 256 --recompute full
--model deepseek-v3 --system deepseek-v3-h800 --gpus 512 --tp 2 --pp 16 --ep 16 --global-batch 512 --first-stage-layers 3 --last-stage-layers 2 --precision fp8
--model mixtral-8x7b --system hgx-b200-400g --gpus 64 --ep 8 --zero 3 --global-batch 128
--model llama3-8b --system h100-sxm --gpus 16 --pp 4 --schedule zb-v --framework any --global-batch 64
--model llama3-8b --system h100-sxm --gpus 16 --pp 4 --schedule dualpipe --framework any --global-batch 64
--model llama3-8b --system h200-sxm --gpus 64 --cp 8 --seq 131072 --global-batch 64 --offload optimizer'
echo "$strategies" | while read -r strategy; do
    test -n "$strategy" || continue
    status=0
    # shellcheck disable=SC2086
    "$reckon" estimate $strategy -v >"$scratch/text" || status=$?
    # shellcheck disable=SC2086
    "$reckon" estimate $strategy --csv >"$scratch/csv" || test $? = "$status"
    check_table "$scratch/text" 'time of a step' step 2
    check_table "$scratch/text" 'time of a step' step 3
    check_table "$scratch/text" 'memory of stage' total 2
    times=$(head -1 "$scratch/csv" | tr , '\n' | sed -n '/^linear_s$/,/^fixed_s$/p' | paste -sd '|')
    bytes=$(head -1 "$scratch/csv" | tr , '\n' | sed -n '/^weights_bytes$/,/^context_bytes$/p' |
        paste -sd '|')
    check_columns "$scratch/csv" "^($times)\$" step_s
    check_columns "$scratch/csv" "^($bytes)\$" memory_total_bytes
    case $status in
    0) grep -q '^memory    fits: ' "$scratch/text" || fail "$strategy: exit 0" ;;
    1) grep -q '^memory    does not fit: ' "$scratch/text" || fail "$strategy: exit 1" ;;
    *) fail "$strategy: exit $status" ;;
    esac
    # fit says the same of the same strategy, and what it would change does fit
    same=0
    # shellcheck disable=SC2086
    "$reckon" fit $strategy -v >"$scratch/fit" || same=$?
    test $same = $status || fail "$strategy: estimate exits with $status, fit with $same"
    grep '^memory  ' "$scratch/text" >"$scratch/said"
    grep '^memory  ' "$scratch/fit" | diff "$scratch/said" -
done

# The best of a plan is what estimate says of it, and no other strategy of the list is faster.
plan='--model llama3-8b --system dgx-h100-superpod --gpus 8 --global-batch 64'
# shellcheck disable=SC2086
"$reckon" plan $plan --top 20 --csv >"$scratch/plan"
awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "step_s") step = i; next}
         $step < last {exit 1} {last = $step} END {exit NR != 21}' "$scratch/plan" ||
    fail "plan: not in order"
# shellcheck disable=SC2086
awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) name[i] = $i; next}
         NR > 1 {for (i = 1; i <= NF; i++) value[name[i]] = $i
                 printf "--tp %s --cp %s --pp %s --vp %s --micro-batch %s --zero %s --schedule %s",
                        value["tp"], value["cp"], value["pp"], value["vp"], value["micro_batch"],
                        value["zero"], value["schedule"]
                 printf " --recompute %s --overlap %s", value["recompute"], value["overlap"]
                 if (value["recompute"] == "selective")
                     printf " --recompute-modules %s", value["recompute_modules"]
                 if (value["recompute_layers"] > 0)
                     printf " --recompute-layers %s", value["recompute_layers"]
                 if (value["cp"] > 1) printf " --cp-kind %s", value["cp_kind"]
                 printf " --order %s", value["rank_order"]
                 if (value["count_head"] == "true") printf " --count-embedding --count-head"
                 print ""}' "$scratch/plan" | tr + , >"$scratch/again"
row=1
while read -r strategy; do
    row=$((row + 1))
    # shellcheck disable=SC2086
    "$reckon" estimate $plan $strategy --csv | tail -1 | cut -d, -f2- >"$scratch/one"
    sed -n "${row}p" "$scratch/plan" | cut -d, -f2- | diff - "$scratch/one"
done <"$scratch/again"

# What better hardware buys is never a loss, and told the most valuable first.
"$reckon" estimate --model llama3-70b --system dgx-h100-superpod --gpus 64 --tp 8 --pp 2 \
    --global-batch 128 --explain >"$scratch/text"
awk '/^if 10 % better/ {inside = 1; getline; next}
     inside && NF == 0 {exit}
     inside {if ($NF < 0 || (rows++ && $NF > last)) exit 1; last = $NF}
     END {exit rows < 9}' "$scratch/text" || fail "explain: not in order"

# Every machine of a design is as fast as a plan on it, but for what playing the schedule tells
# better; the cheapest that meets a target meets it.
cat >"$scratch/prices.json" <<'END'
{"processor": 100, "axes": [{"key": "processors", "values": [8, 16]},
                            {"key": "memory_GiB", "values": [40, 70], "price_per_unit": 1}]}
END
design="--model llama3-8b --system dgx-h100-superpod --global-batch 64 --prices $scratch/prices.json"
# shellcheck disable=SC2086
"$reckon" design $design --csv >"$scratch/designs"
test "$(wc -l <"$scratch/designs")" -eq 5 || fail "design: not four machines"
for machine in 8,40 8,70 16,40 16,70; do
    "$reckon" plan --model llama3-8b --system dgx-h100-superpod --global-batch 64 --top 1 --bounded \
        --gpus "${machine%,*}" --max-memory "${machine#*,}" --json >"$scratch/plan"
    step=$(sed -n 's/^ *"step_s": \([0-9.e+-]*\),*$/\1/p' "$scratch/plan" | head -1)
    awk -F, -v machine="$machine" -v step="$step" '
        NR == 1 {for (i = 1; i <= NF; i++) if ($i == "step_s") batch = i}
        $3 "," $4 == machine {found = $batch > 0.97 * step && $batch < 1.03 * step}
        END {exit !found}' "$scratch/designs" || fail "design: $machine is no $step s"
done
# shellcheck disable=SC2086
"$reckon" design $design --tokens-per-second 150k --json >"$scratch/text"
sed -n '/"cheapest"/,/"front"/s/^ *"tokens_per_s": \([0-9.]*\),$/\1/p' "$scratch/text" |
    awk '{met = $1 >= 150000} END {exit !met}' || fail "design: the target is not met"
status=0
# shellcheck disable=SC2086
"$reckon" design $design --tokens-per-second 1G >"$scratch/text" || status=$?
test $status -eq 1 || fail "design: an impossible target: exit $status"
grep -q '^No machine meets the target' "$scratch/text" || fail "design: nobody says so"

# A model with its own blocks and heads is as fast as it is, and as large.
"$reckon" shape --model llama3-8b --system dgx-h100-superpod --gpus 8 --global-batch 64 --blocks 32 \
    --heads 32 --csv >"$scratch/shapes"
test "$(wc -l <"$scratch/shapes")" -eq 2 || fail "shape: not one shape"
step=$("$reckon" plan $plan --top 1 --bounded --json | sed -n 's/^ *"step_s": \([0-9.e+-]*\),*$/\1/p' | head -1)
awk -F, -v step="$step" '
    NR == 1 {for (i = 1; i <= NF; i++) {if ($i == "step_s") at = i; if ($i == "hidden") hidden = i}}
    NR == 2 {good = $hidden == 4096 && $at > 0.97 * step && $at < 1.03 * step}
    END {exit !good}' "$scratch/shapes" || fail "shape: another step than $step s"
