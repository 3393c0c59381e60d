#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target for SECONDS each, from the documents of data/ and fuzz/seeds.
#
#     fuzz/run.sh SECONDS [BUILD]
#     fuzz/run.sh RUNSx [BUILD]     for a number of executions instead: 5000x
#
# What breaks a target is left in BUILD as crash-*, leak-* or timeout-*; put it into fuzz/seeds
# once it is repaired.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: $0 SECONDS [BUILD]" >&2
    exit 2
fi
limit=-max_total_time
amount=$1
case $amount in
    *x) limit=-runs amount=${amount%x} ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
build=${2:-$root/build-fuzz}

if [ ! -f "$build/build.ninja" ]; then
    CC=clang meson setup -Dfuzz=true "$build" "$root"
fi

# fuzz TARGET AMOUNT SEEDS...
fuzz()
{
    target=$1
    amount=$2
    shift 2
    ninja -C "$build" "fuzz/fuzz_$target"
    mkdir -p "$build/corpus/$target"
    "$build/fuzz/fuzz_$target" "$limit=$amount" -timeout=10 -print_final_stats=1 \
        -dict="$root/fuzz/documents.dict" -artifact_prefix="$build/" \
        "$build/corpus/$target" "$@"
}

calculon=$root/data/calculon
seeds=$root/fuzz/seeds
fuzz json "$amount" "$seeds/json" "$seeds/execution" "$calculon/applications"
fuzz application "$amount" "$calculon/applications"
fuzz database "$amount" "$seeds/database"
fuzz evaluate "$amount" "$seeds/evaluate"
fuzz execution "$amount" "$seeds/execution"
fuzz expression "$amount" "$seeds/expression"
fuzz launch "$amount" "$seeds/launch"
fuzz machine "$amount" "$root/data/accelerators" "$root/data/systems"
fuzz measured "$amount" "$seeds/measured"
fuzz model "$amount" "$root/data/models" "$root/tests/model/hf"
fuzz options "$amount" "$seeds/options"
fuzz price "$amount" "$root/data/prices"
fuzz recipe "$amount" "$seeds/recipe" "$root/data/calibrations"
fuzz runs "$amount" "$seeds/runs"
fuzz sources "$amount" "$seeds/sources"
fuzz stack "$amount" "$root/data/stacks"
fuzz study "$amount" "$seeds/study"
fuzz sweep "$amount" "$seeds/sweep"
fuzz system "$amount" "$calculon/systems"
fuzz toml "$amount" "$seeds/toml"
fuzz typed "$amount" "$seeds/typed"
fuzz yaml "$amount" "$seeds/yaml"
