#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes docs/codesign.md: what to buy and what to train, asked with `reckon explain`, `design` and
# `shape`.
#
#     tools/codesign.sh [RECKON] >docs/codesign.md
set -eu

reckon=${1:-build/reckon}
export NO_COLOR=1 COLUMNS=120
. "$(dirname "$0")/show.sh"

cat <<'TEXT'
# Co-design

Three commands turn the search around: not "which strategy for this model on this machine", but which
number of the machine is worth something, which machine to buy, and in which shape to build the
model. Each searches for the best strategy again for every variant, so that a machine is never judged
by a strategy that was made for another one; the searches are [bounded](search.md), so that hundreds
of billions of strategies take seconds. This page is made by `tools/codesign.sh`; the commands can be
typed as they are.

## What is a number of the machine worth? `reckon explain`

Every number gets 10 % better by itself, and the best strategy is searched again. "Old strategy" is the gain
with the strategy of before.

TEXT
show explain --model gpt3-175B --system a100_80g --processors 1024 --batch 1536
cat <<'TEXT'

A faster network between nodes gains ten times as much as with the old strategy: the pipeline can
go. The loss on a cheaper machine, with every number 25 % worse:

TEXT
show explain --model gpt3-175B --system a100_80g --processors 1024 --batch 1536 --change -25
cat <<'TEXT'

The reckon model also knows kernels, launches and host memory:

TEXT
show explain -v --model llama3-70b --system a100-sxm-40gb --accelerators 64 --global-batch 256
cat <<'TEXT'

## Which machine is the cheapest that is fast enough? `reckon design`

`--prices` names a document with the numbers of the machine that vary and what they cost. The
catalogue has one example. Its prices are assumptions to show the command, not offers:

```json
TEXT
cat "$(dirname "$0")/../data/prices/example.json"
cat <<'TEXT'
```

| key | value | |
| --- | --- | --- |
| `processor` | price of a processor with everything that no axis prices | required |
| `currency` | what is written before amounts | default `"$"` |
| `life_days` | days over which a machine is paid off: gives the cost of a run | default: not reported |
| `axes` | the numbers that vary, 1 to 12, which multiply to at most 1,000,000 machines | required |

An axis has a `key`, its `values` (1 to 64), and the price of one processor with each value: either
`price_per_unit`, or a list of `prices`, or nothing. Keys are `processors` (without prices: all are
paid for), and the numbers that `reckon explain` lists, with their units: `matrix_TFLOPps`,
`vector_TFLOPps`, `memory_GBps`, `memory_GiB`, `offload_GBps`, `offload_GiB`, `domain` (processors of
the fastest network), and of the network tiers from the innermost `tier0_GBps`, `tier0_us`,
`tier1_GBps`... Other numbers stay as in the system.

A trillion parameters, 15 trillion tokens, 200 days:

TEXT
show design --model seed-1T --system h100-80g-off512g50-nvl8 --batch 3072 --prices example \
    --tokens 15T --days 200
cat <<'TEXT'

The reckon model answers the same for the models of today, with the options of `reckon plan`. 70
billion parameters, 15 trillion tokens, 60 days, where an axis of offload memory also allows offload:

TEXT
show design -v --model llama3-70b --system h100-sxm --batch 1024 --prices example --tokens 15T --days 60
cat <<'TEXT'

The target can also be a step of the whole batch (`--step`) or a rate (`--tokens-per-second`); with
several, all have to be met. `--csv` writes all machines, those that do not run too.

## Which shape of a model trains best? `reckon shape`

Models of nearly as many parameters can be few wide blocks or many narrow ones. Wide ones compute
more efficiently; how many strategies a shape has depends on the divisors of its blocks, heads and
hidden size. By the Calculon methodology:

TEXT
show shape --parameters 1T --system h100-80g-off512g50-nvl8 --processors 4096 --batch 3072 \
    --seq 8192 --head-size 128,192 --top 8
cat <<'TEXT'

There is offload memory on this machine, and the best strategies need no pipeline: then the number of
blocks matters little. Without it pipelines have to divide the blocks. Two models of 1.04 trillion
parameters, one with 256 blocks and one with 254:

TEXT
show shape --parameters 1.05T --tolerance 5 --blocks 254,256 --heads 256 --head-size 72 --seq 8192 \
    --system h100-80g-off0g0-nvl8 --processors 4096 --batch 3072
cat <<'TEXT'

and the best shapes of that size there, of all that are not too flat or too deep:

TEXT
show shape --parameters 1.04T --system h100-80g-off0g0-nvl8 --processors 4096 --batch 3072 \
    --seq 8192 --head-size 128,192 --top 8
cat <<'TEXT'

The reckon model varies the model that it is given: kinds of layers, keys and values, experts,
vocabulary and the ratios of widths stay, and as many parameters are wanted as it has. Would Llama 3
70B have been faster in another shape?

TEXT
show shape -v --model llama3-70b --system h100-sxm --accelerators 256 --global-batch 1024 --tolerance 3 \
    --top 8
