#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# With some choices of a strategy given, estimate, fit, run and timeline are about the strategy that
# plan ranks first with the same choices, and report the same step.
#
#     pinned.sh RECKON [QUESTIONS [SEED]]
set -eu

reckon=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
questions=${2:-12}
seed=${3:-1}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export NO_COLOR=1

# Random questions: a model, a machine, and each option with some probability.
awk -v count="$questions" -v seed="$seed" '
    function pick(list, parts) {return parts[1 + int(rand() * split(list, parts, " "))]}
    function maybe(share, name, list) {if (rand() < share) line = line " --" name " " pick(list)}
    BEGIN {
        srand(seed)
        while (count-- > 0) {
            line = "--model " pick("llama3-8b llama3-8b mixtral-8x7b gemma2-9b")
            line = line " --system " pick("dgx-h100-superpod a100-sxm-80gb b200-sxm")
            line = line " -p " pick("8 16 32"); maybe(0.7, "global-batch", "32 64 96")
            maybe(0.5, "tp", "1 2 4 8"); maybe(0.4, "pp", "1 2 4"); maybe(0.3, "cp", "1 2")
            maybe(0.2, "dp", "1 2 4"); maybe(0.3, "micro-batch", "1 2")
            maybe(0.3, "zero", "0 1 3"); maybe(0.3, "recompute", "none selective full")
            maybe(0.1, "order", "tp-cp-pp-dp"); maybe(0.1, "max-memory", "20 40")
            if (rand() < 0.1) line = line " --no-sp"
            print line
        }
    }' >lines

fail()
{
    echo "$question: $*" >&2
    exit 1
}

found=0
while read -r question; do
    status=0
    # shellcheck disable=SC2086
    "$reckon" plan $question -n 1 --csv >plan 2>err || status=$?
    # shellcheck disable=SC2086
    for command in estimate fit; do
        now=0
        "$reckon" $command $question --csv >$command 2>err || now=$?
        # a rule that the given choices break is an error here, and no answer there
        [ "$now" -eq "$status" ] || { [ "$status" -eq 1 ] && [ "$now" -eq 2 ]; } ||
            fail "plan exits with $status, $command with $now"
        if [ "$status" -eq 0 ]; then
            cmp -s plan $command || fail "$command is not about the first strategy of plan"
        fi
    done
    [ "$status" -eq 0 ] || continue
    found=$((found + 1))
    # shellcheck disable=SC2086
    {
        "$reckon" estimate $question >estimate
        "$reckon" run $question --tokens 1B >run
        "$reckon" timeline $question >timeline
    }
    sed -n '/^strategy /,/^$/p; s/^step  *\([0-9.]* [µm]*s\).*/\1/p' estimate >expected
    for command in run timeline; do
        sed -n '/^strategy /,/^$/p; s/^step  *\([0-9.]* [µm]*s\).*/\1/p' $command | cmp -s - expected ||
            fail "$command shows another strategy or step than estimate"
    done
done <lines
[ "$found" -gt $((questions / 3)) ] || { echo "only $found answers" >&2; exit 1; }
