#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does a few points of every study again and looks for them, to the last digit, in its table.
#
#     points.sh RECKON STUDIES
set -eu

reckon=$1
studies=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# again SWEEP CONSTRAINT: the points of a sweep that meet the constraint
again()
{
    sed "1s/{/{\"point_constraints\": [\"$2\"],/" "$studies/$1.sweep.json" >"$scratch/few.json"
    "$reckon" sweep "$scratch/few.json" -o "$scratch/few.csv"
    if grep -vxFf "$studies/$1.csv" "$scratch/few.csv"; then
        echo "points.sh: $1: these rows are not in the table" >&2
        exit 1
    fi
    test "$(wc -l <"$scratch/few.csv")" -gt 1
}

again memory/memory "application.num_blocks == 480 \&\& system.mem1.GiB == 120"
again model-shapes/shapes "application.num_blocks == 480 \&\& application.attn_size > 256"
again model-shapes/table "application.num_blocks == 160"
again offload/offload "application.num_blocks == 256 \&\& system.mem2.GiB == 512"
again scale/scale "application.num_blocks == 128 \&\& system.mem2.GiB == 256"
again strong-scaling/scaling "processors == 13312"
again two-models/blocks "application.num_blocks == 254"
again two-models/counts "application.num_blocks == 256"
again two-models/eleven "system.mem1.GiB == 80 \&\& system.mem2.GiB == 512"
again two-models/speed "system.mem1.GiB == 112 \&\& system.mem2.GiB == 0"

# Table I.
cp -R "$studies" "$scratch/studies"
"$scratch/studies/run.sh" "$reckon" validation >"$scratch/log"
cmp "$studies/validation/table.csv" "$scratch/studies/validation/table.csv"

# No study is left out above.  Today's moves with the calibration of the reckon model: only its
# sweeps are checked.
for sweep in "$studies"/*/*.sweep.json; do
    name=${sweep#"$studies"/}
    case $name in
    today/*)
        "$reckon" sweep "$sweep" --dry-run >"$scratch/count"
        continue
        ;;
    esac
    grep -q "^again ${name%.sweep.json} " "$0"
done
