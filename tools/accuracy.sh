#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures accuracy anew after a change of the model or of a document: the residuals that intervals
# are made of (split fit, every source by stacks that were fitted without it; of memory, with the
# labels of runs that ran out of it), the values in
# data/runs/figures.json that a test holds, and docs/accuracy.md with its plot.
#
#     tools/accuracy.sh [BUILD]
set -eu

cd "$(dirname "$0")/.."
build=${1:-build}
reckon=$build/reckon
fit=data/runs/fit.csv,data/runs/fit_2.csv
all=$fit,data/runs/check.csv,data/runs/check_2.csv,data/runs/oom_fit.csv,data/runs/oom_check.csv
export NO_COLOR=1 COLUMNS=160

ninja -C "$build" --quiet reckon
tools/intervals.py "$reckon" --write >"$build/intervals.md"
ninja -C "$build" --quiet reckon
"$reckon" validate --runs "$fit,data/runs/oom_fit.csv" --split fit \
    --memory-residuals data/runs/memory_residuals.json -o /dev/null
ninja -C "$build" --quiet reckon
"$reckon" validate --runs "$all" --figures data/runs/figures.json --json -o "$build/figures.json" ||
    test $? -eq 1
mv "$build/figures.json" data/runs/figures.json
tools/accuracy-page.sh "$reckon"
