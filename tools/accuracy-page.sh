#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the second half of docs/accuracy.md anew; tools/accuracy.sh calls this.
#
#     tools/accuracy-page.sh RECKON [PAGE MACHINES KINDS]     where to write; default: docs/accuracy.md,
#                                     docs/accuracy-machines.svg, docs/accuracy-kinds.svg
set -eu

reckon=$1
all=data/runs/fit.csv,data/runs/fit_2.csv,data/runs/check.csv,data/runs/check_2.csv
all=$all,data/runs/oom_fit.csv,data/runs/oom_check.csv

# The tables of a comparison: show FIRST LAST OPTIONS..., of those that are apart by empty lines.
show()
{
    first=$1
    last=$2
    shift 2
    echo '```'
    "$reckon" validate -v --runs "$all" "$@" |
        awk -v first="$first" -v last="$last" '
            BEGIN {part = 1}
            /^$/ {part++; open = 1; next}
            part >= first && part <= last {if (open && seen) print ""; open = 0; seen = 1; print}'
    echo '```'
}

page=docs/accuracy.md
export NO_COLOR=1 COLUMNS=160
"$reckon" validate -v --runs "$all" --by accelerator --plot "${3:-docs/accuracy-machines.svg}" -o /dev/null
"$reckon" validate -v --runs "$all" --by kind --plot "${4:-docs/accuracy-kinds.svg}" -o /dev/null
mark='<!-- What follows is made by tools/accuracy.sh. -->'
new=$(mktemp)
trap 'rm -f "$new"' EXIT
exec >"$new"
table=$(mktemp)
trap 'rm -f "$new" "$table"' EXIT
tools/sources-out.py "$reckon" >"$table"
awk -v mark="$mark" -v table="$table" '
    /^\| source \| rows of check/ {while ((getline line < table) > 0) print line; skip = 1}
    skip && !/^\|/ {skip = 0}
    !skip {print}
    $0 == mark {exit}' "$page"
cat <<'TEXT'

## What it is judged by

Split `check`; `was` is what the test holds, with its margin.

TEXT
echo '```'
"$reckon" validate --runs "$all" --figures data/runs/figures.json || test $? -eq 1
echo '```'
cat <<'TEXT'

Every row that a step time is predicted for, of both splits, by machine and by kind of model:

![Predicted against measured step times by machine, and their errors](accuracy-machines.svg)

![The same by kind of model](accuracy-kinds.svg)

## Step time

Next to the errors: the rank correlation of predicted and measured utilisation (Spearman's), the
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

## Models that nothing was fitted to

Rows of NVIDIA's tables to fit on, each by constants that were fitted without all rows of its model
(`reckon calibrate`, *each group by the others*); without the rows that a recipe names as
contradicting others.

| models | rows | mean, % | median | 90 % | target of the last |
|---|--:|--:|--:|--:|--:|
TEXT
tools/left-out.sh "$reckon" || test $? -eq 1
cat <<'TEXT'

## Memory, the first choice, and running out of memory

The peak of memory in the sense of each source (allocated, reserved, or of the device); how much
slower the strategy that is ranked first, within a risk of 10 %, is than the best of its job; whether
runs of the H100 sweep that did and did not run out of memory are distinguished; and whether their
[risks](memory-risk.md) come true, in bins of 60 runs in order of risk.

TEXT
show 3 99 --split check --by source
cat <<'TEXT'

Split `fit`:

TEXT
show 3 99 --split fit --by source
cat <<'TEXT'

## What is left out, and what is assumed

TEXT
show 1 1
cp "$new" "${2:-$page}"
