#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes docs/run.md: whole runs, with what reckon says today.
#
#     tools/run.sh [RECKON] >docs/run.md
set -eu

reckon=${1:-build/reckon}
export NO_COLOR=1 COLUMNS=100

. "$(dirname "$0")/show.sh"

llama="--model llama3.1-405b --system h100-roce-24k --accelerators 16384 --global-batch 2048
    --tokens 15.6T --price 2.5"
deepseek="--model deepseek-v3 --system deepseek-v3-h800 --accelerators 2048 --global-batch 15360
    --tokens 14.8T --framework any --tp 1 --cp 1 --pp 16 --ep 64 --micro-batch 1 --zero 1
    --schedule dualpipe --mtp-before-head --overlap grad,param,pp,moe
    --precision fp8 --fp8-recipe blockwise --fp8-param-gather --fp8-activation-input
    --moments bf16 --recompute selective --recompute-modules norm,act,mla_up"

# Of an answer to `run`, what is about the run and not about a step.
of_run()
{
    sed '/^model /,/^$/d; /^step /,/^$/d'
}

# Of an answer to `estimate`, the rules of thumb.
rules()
{
    awk '/^```/ {print; next}
        /^\$ / {command = 1}
        command {print; command = /\\$/; next}
        /^rules / {shown = 1}
        /^$/ {shown = 0}
        shown {print}'
}

# Accelerator-hours of a run in millions, with the 10th and 90th percentile.
hours()
{
    "$reckon" run "$@" --csv | awk -F, '
        NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i}
        NR == 2 {
            each = $at["accelerator_hours"] / $at["total_s"] / 1e6
            printf "%.3g M | %.3g to %.3g M\n", each * $at["total_s"], each * $at["total_p10_s"],
                each * $at["total_p90_s"]
        }'
}

row()
{
    echo "| $1 | $2 | $(cat) |"
}

# The share of a run, in percent, in which it advances.
goodput()
{
    "$reckon" run "$@" --csv | awk -F, '
        NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i}
        NR == 2 {printf "%.1f", 100 * $at["goodput"]}'
}

# The options above are words.
# shellcheck disable=SC2086
{
cat <<'TEXT'
# A whole run

This page is made by `tools/run.sh`; the commands can be typed as they are.

`reckon run` goes from a step to a run: `lib/run`, equations of Young (1974) and Daly (2006).

TEXT
show run -v $llama | of_run
echo
cat <<'TEXT'
The percentiles come from simulated runs ([method](method/runs.md)): each draws its step time from the
interval of the estimate and its rate of interruptions from the spread between published clusters.
`--seed` repeats them, `--simulate 10000` refines them, `--timeline FILE.csv` writes progress, interruptions and
the checkpoints so far of the median run. `assumed` lists the three assumptions that move the answer most, each with
its range and the days at both ends.

28 published rows of 19 runs, predicted from their published layouts, are in
[published-runs.md](published-runs.md).

## How long

`--tokens 15T`, `--steps 1M`, or `--loss 2.1`: nats per token, by the scaling law of `--law` (`chinchilla-refit`,
`chinchilla`, `chinchilla-4-digits`, `kaplan`, or a document). A loss below the lowest of the runs that a law rests on
is refused, and what other laws of the same text say is listed. With `--reference-batch 4M` a larger batch needs more
tokens for the same loss, by the critical batch of `--batch-law` (`power-lines`, `kaplan`, `step-law`).

`--mfu 40%` (or 40, or 0.4) and `--step-time 12` set the step; the answer prints the step and the MFU that it took, as
stated, and the predicted ones.

Sequences and batches that change on the way are phases: `--phases 8k:14.8T,128k:800G:128` estimates, or searches,
the strategy of each; as in `--seq`, 8k is 8,192. `--batch-ramp 512:250G:4` raises the batch to `--global-batch` over
the first 250 G tokens, in four equal steps (eight without a number). It keeps the layout of the whole batch, and
uses the next batch that this layout can have. Tokens of less than one step are refused: `--tokens 15` is most likely
15T.

`data` says what the tokens take, 2 bytes each, or 4 for vocabularies above 65,500 (`--token-bytes`), and at
which rate training reads them. The job starts with ten minutes (`--start`), and reads the weights.

## Stops

`--failures 0.5` and `--restart 10` replace the published rate and stall, `--reliability FILE` all.
`--maintenance 8:30` stops the run for eight hours every 30 days, and it restarts after each. With
`--silent-corruption 600` wrong results (6 of the 419 interruptions of Llama 3) are noticed after ten hours of
training, which are lost; without it they count as crashes. `--stragglers 1` lets steps of workers deviate by 1 %
(by chance, over `--barriers`), `--slow-devices 0.01:10` makes one accelerator in 10,000 slower by 10 % for good.
Both are off unless asked for: steps of real runs, on which the estimate is calibrated, have theirs.

## Where to save

`--checkpoint-tier object-store` saves there in place of `--storage`, and `--compare-tiers` lists the
figures of the run with every tier: time to save, time to restart from it, best interval, goodput.

`--near-checkpoint peer-host` adds copies in the memory of another host between the checkpoints in storage: most
interruptions hit one node, and training goes on from the copy. The tiers, with bandwidth, latency, capacity and
what they survive, are in `data/storage/published.json` or in `--storage-tiers`; the best interval and the
best number of copies per checkpoint in storage are searched. `--spares 40` lets nodes stand by, whose hours and
idle power are paid; the page says how many suffice 99 % of the time.

## Which cluster

`--deadline 30d`, `--budget 10M` and `--max-power 20MW` turn the question round: over the systems of `--system`,
each with a limit if wanted, the number of accelerators is searched, and with it the strategy; so none is given.

TEXT
show run -v --model llama3-70b --tokens 15T --deadline 30d --system h100-sxm:16384,b200-sxm:8192 --price 2
echo
cat <<'TEXT'
The table lists days with their 90th percentile, accelerator-hours, cost and power; `*` marks the Pareto front of
days and cost, and the last column the smallest, cheapest and fastest cluster that meets all limits. Without prices
none is the cheapest, and the front is of days and hours for each kind of accelerator by itself: an hour of one is not
worth an hour of another. With a deadline the smallest is searched for: every number of nodes up to 64, beyond that in
steps of 1/64 to 1/32 of the size, as long as its accelerators need not be 1.25 times as fast as in the clusters
about the first guess. If the deadline needs fewer accelerators than the model fits on, the smallest are the
fewest that it fits on. `--csv` and `--json` write the same. Three systems take two seconds of processor time.

Every command assumes the same batch where `--global-batch` is not given: about 4 M tokens, rounded so that the
data-parallel ranks divide it, and sequences of the model's length without `--seq`. Both are listed as assumed, in
text and JSON. A run of many tokens can take larger batches: `run` also says which batch the law `step-law` finds best
for its tokens, 2,048 sequences of 8,192 for 15 T tokens.

`reckon plot` draws the front, and the timeline of a run:

    $ reckon run ... --csv -o clusters.csv
    $ cat front.json
    {"table": "clusters.csv",
     "figure": {"kind": "scatter", "x": {"value": "cost / 1e6", "title": "cost, M$"},
                "y": {"value": "days", "title": "days"}, "by": {"value": "system"}}}
    $ reckon plot front.json -o front.svg

    $ reckon run ... --timeline timeline.csv
    $ cat timeline.json
    {"table": "timeline.csv",
     "figure": {"x": {"value": "hours / 24", "title": "days"}, "y": {"value": "100 * done", "title": "done, %"},
                "series": [{"plain": true}]}}
    $ reckon plot timeline.json -o timeline.svg

## Prices

`--purchase 40k --life 4` pays a machine off in place of a price per hour. `--prices published` reads hours, PUE,
node power and carbon from a document ([documents](method/documents.md)), each with its date and source, and
`--prices cloud-2026` later prices of clouds; `--price`, `--pue`, `--power`, `--idle-power` and `--carbon` override
it, and a file of your own replaces it.

Power goes by utilization ([method](method/runs.md)): boards draw idle power while they wait for messages, in
bubbles and in restarts. `--power` sets what an accelerator draws while it trains, its share of the node included.

## Two whole runs, planned

Two whole runs whose accelerator-hours were published:

| run | published | predicted | 10th to 90th percentile |
|---|--:|--:|--:|
TEXT
hours $llama | row 'Llama 3.1 405B, 15.6 T tokens, 16,384 H100 (Meta'"'"'s model card)' '30.84 M'
hours $deepseek | row 'DeepSeek-V3, 14.8 T tokens, 2,048 H800 (its report)' '2.66 M'
echo
cat <<'TEXT'
The first ramped its batch up and ended with long sequences, which this one does not. The second is
stated as its report describes it; that the multi-token module is alone on the last stage is assumed:

TEXT
show run -v $deepseek | of_run
echo
cat <<'TEXT'
## What is computed

    T    = steps * step                          time of the steps, by the estimate
    M    = 1 / (failures * accelerators)         time between interruptions of the run
    size = parameters * (weights that learn + states of the optimizer)    14 bytes with Adam and bf16
    W    = size / storage                        to write a checkpoint, and to read one
    C    = W, or with --async-checkpoint size / accelerators / host link  what training waits
    tau  = sqrt(2 C M) (1 + sqrt(C/2M)/3 + C/18M) - C                     Daly; M from C = 2 M on
    R    = restart + W

A run is T / tau segments of tau + C seconds. Failures come as a Poisson process and strike restarts
too, so that segments take `M (e^((tau+C)/M) - 1)` s of computing each, and restarts
`e^(R/M) - 1` times that:

    total = T / tau * M e^(R/M) (e^((tau+C)/M) - 1)

Written while training goes on, a checkpoint is at risk for W seconds more: R grows by W, which
counts as work done again. An interval is at least a step, and at least W. The same happens with
failures drawn at random, within the noise of 200,000 segments (`tests/run`).

Figures that are not given come from `data/reliability/published.json`: the geometric mean of published clusters,
0.59 interruptions a day per 1,000 accelerators with a spread of a factor of 2 to either side, and 11 minutes
from an interruption to the next step (4 with `--spares`). Storage is as for Llama 3 405B (arXiv 2407.21783),
TEXT
cat <<TEXT
2 TB/s for 16,384 H100 or 0.122 GB/s an accelerator. With these figures the goodput of that run is
$(goodput $llama) %, planned stops included; with its own rate, \`--failures 0.474 --restart 10\`, it is
$(goodput $llama --failures 0.474 --restart 10) %, and the report says more than 90 %.

TEXT
cat <<'TEXT'
Not part of a prediction: evaluations, manual restarts, and what is learnt from mistakes.

## Memory and scaling

`estimate`, `plan` and `run` show these with `-v`, `estimate` in full with `--explain`; `--json` has them as `scaling`:

TEXT
show estimate -v --model llama3-70b --system h100-sxm --accelerators 64 --global-batch 256 | rules
echo
cat <<'TEXT'
`T` tokens, `P` active parameters, `n` accelerators, `X` the FLOP/s that each executes; 8 with full recompute, else 6. The
last line is left out where the machine is itself the smallest that trains the model. With LoRA the rule is too high: it
counts gradients of frozen weights.

The rule of thumb for memory is 7 to 8 times the weights in fp32 (175B: 700 GB). It counts one replica of the
model, and so does the prediction next to it: its weights, gradients and optimizer states once, in any shards,
and the rest of the memory of the `TP x CP x PP` accelerators of a replica. With LoRA it is too high
as well: frozen weights have neither gradients nor states. All accelerators hold more, because every replica has
activations and buffers, and states that are not sharded. The rate of the
machine is `rate of an accelerator in the smallest part x accelerators x scale factor`. The smallest part has one
replica, or as many as the experts need; its scale factor is *weak* with its share of the batch, *strong* with
the whole batch.
TEXT
}
