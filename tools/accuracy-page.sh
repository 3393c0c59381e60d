#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes docs/accuracy.md; see tools/accuracy.sh, which calls this.
#
#     tools/accuracy-page.sh RECKON >docs/accuracy.md
set -eu

reckon=$1
all=data/runs/fit.csv,data/runs/check.csv,data/runs/oom_fit.csv,data/runs/oom_check.csv

# The tables of a comparison: show FIRST LAST OPTIONS..., of those that are apart by empty lines.
show()
{
    first=$1
    last=$2
    shift 2
    echo '```'
    "$reckon" validate --runs "$all" "$@" |
        awk -v first="$first" -v last="$last" '
            BEGIN {part = 1}
            /^$/ {part++; open = 1; next}
            part >= first && part <= last {if (open && seen) print ""; open = 0; seen = 1; print}'
    echo '```'
}

cat <<'TEXT'
# How close the reckon model comes

Predicted against measured, run by run, on public training runs of two dozen collections
(`data/runs/README.md` names them). The error is predicted over measured, less one, without sign;
bias is its mean with sign. Rows of one source, model and accelerator stand in one split: constants
are fitted on `fit`, `check` is for looking. This page, its plots and the values that a test holds
are made by `tools/accuracy.sh`; `reckon validate --runs data/runs/check.csv --rows` prints every run.

No constant belongs to a source, a model or a band: what is known of a source (which stack, which
machine, facts of its software) stands in `data/runs/sources.json` with a reason for each line.

## What it is judged by

Split `check`; `was` is what the test holds, with its margin.

TEXT
echo '```'
"$reckon" validate --runs "$all" --figures data/runs/figures.json || test $? -eq 1
echo '```'
cat <<'TEXT'

![Predicted against measured step times of split check, and their errors](accuracy-check.svg)

## Step time

Beside the errors: the rank correlation of predicted and measured utilisation (Spearman's), the
errors of the null model (one constant utilisation for each accelerator, from the fit rows), and the
share of runs that lie within the interval of their estimate.

TEXT
show 2 2 --split check
for by in nodes accelerator precision tensor schedule utilisation,kind; do
    echo
    show 2 2 --split check --by "$by"
done
cat <<'TEXT'

The rows that constants are fitted on:

TEXT
show 2 2 --split fit
cat <<'TEXT'

![Predicted against measured step times of split fit, and their errors](accuracy-fit.svg)

## Memory, the first choice, and running out of memory

The peak of memory in the sense of each source (allocated, reserved, or of the device); how much
slower the strategy that is ranked first is than the best of its job; and whether runs of the H100
sweep that did and did not run out of memory are told apart.

TEXT
show 3 99 --split check --by source
cat <<'TEXT'

Split `fit`:

TEXT
show 3 99 --split fit --by source
cat <<'TEXT'

## Intervals

`reckon estimate`, `fit` and `plan` give the 10th to 90th percentile of measured over predicted
among comparable runs: same stack, accelerator, dense or MoE, placement of tensor parallelism,
number of nodes and width of formats, and less of that where there are fewer than 12 runs or 3
models. Runs of one model, source and generation of accelerators err together, so each such group
weighs the same, and the percentiles are spread until four in five groups lie within the intervals
made of the others. Coverage stands in the tables above: on `check` of intervals made from `fit`, on
`fit` of intervals made without the group of the run.

## Operators

`tests/system` prices measured GEMMs, attention and collectives that were not used for fitting and
fails beyond its limits: bf16 GEMMs with all sizes of at least 512 on A100, H100, H200 and
Blackwell, attention forward and backward, collectives within a node.

## What is left out, and what is assumed

TEXT
show 1 1
