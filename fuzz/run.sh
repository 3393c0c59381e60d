#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target for SECONDS each, from the documents of data/ and fuzz/seeds.
#
#     fuzz/run.sh SECONDS [BUILD]
#
# What breaks a target is left in BUILD as crash-*, leak-* or timeout-*; put it into fuzz/seeds
# once it is repaired.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: $0 SECONDS [BUILD]" >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
build=${2:-$root/build-fuzz}

if [ ! -f "$build/build.ninja" ]; then
    CC=clang meson setup -Dfuzz=true "$build" "$root"
fi

# fuzz TARGET SECONDS SEEDS...
fuzz()
{
    target=$1
    seconds=$2
    shift 2
    ninja -C "$build" "fuzz/fuzz_$target"
    mkdir -p "$build/corpus/$target"
    "$build/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -print_final_stats=1 \
        -dict="$root/fuzz/documents.dict" -artifact_prefix="$build/" \
        "$build/corpus/$target" "$@"
}

calculon=$root/data/calculon
seeds=$root/fuzz/seeds
fuzz json "$1" "$seeds/json" "$seeds/execution" "$calculon/applications"
fuzz application "$1" "$calculon/applications"
fuzz evaluate "$1" "$seeds/evaluate"
fuzz execution "$1" "$seeds/execution"
fuzz expression "$1" "$seeds/expression"
fuzz measured "$1" "$seeds/measured"
fuzz model "$1" "$root/data/models" "$root/tests/model/hf"
fuzz recipe "$1" "$seeds/recipe" "$root/data/calibrations"
fuzz runs "$1" "$seeds/runs"
fuzz study "$1" "$seeds/study"
fuzz sweep "$1" "$seeds/sweep"
fuzz system "$1" "$calculon/systems"
