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
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
root=$(cd "$(dirname "$0")/.." && pwd)
build=${2:-$root/build-fuzz}

calculon=$root/data/calculon
seeds=$root/fuzz/seeds
# What is fuzzed, and the files and folders it starts from.
targets="
    json $seeds/json $seeds/execution $calculon/applications
    application $calculon/applications
    database $seeds/database
    evaluate $seeds/evaluate
    execution $seeds/execution
    expression $seeds/expression
    launch $seeds/launch
    machine $root/data/accelerators $root/data/systems
    measured $seeds/measured
    model $root/data/models $root/tests/model/hf
    options $seeds/options
    price $root/data/prices
    recipe $seeds/recipe $root/data/calibrations
    runs $seeds/runs
    sources $seeds/sources
    stack $root/data/stacks
    study $seeds/study
    sweep $seeds/sweep
    system $calculon/systems
    toml $seeds/toml
    typed $seeds/typed
    yaml $seeds/yaml
"

if [ ! -f "$build/build.ninja" ]; then
    CC=clang CC_LD=lld meson setup -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false \
        --buildtype=debugoptimized "$build" "$root"
fi
# shellcheck disable=SC2046
ninja -C "$build" --quiet $(echo "$targets" | sed -nE 's|^ +([a-z]+) .*|fuzz/fuzz_\1|p')

# A target prints its counts; one that breaks, its whole log.
export amount build limit root
echo "$targets" | sed '/^ *$/d' | xargs -P "$(getconf _NPROCESSORS_ONLN)" -L 1 sh -c '
    target=$1
    shift
    mkdir -p "$build/corpus/$target"
    "$build/fuzz/fuzz_$target" "$limit=$amount" -timeout=10 -print_final_stats=1 \
        -dict="$root/fuzz/documents.dict" -artifact_prefix="$build/" \
        "$build/corpus/$target" "$@" >"$build/$target.log" 2>&1 || {
        cat "$build/$target.log"
        echo "fuzz_$target broke"
        exit 1
    }
    echo "fuzz_$target: $(sed -n "s/^stat::number_of_executed_units: *//p" "$build/$target.log") executions"
' fuzz
