#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does a few points of every study again and looks for them in its table.
#
#     points.sh RECKON STUDIES
set -eu

reckon=$1
studies=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cp -R "$studies" "$scratch/studies"

# Numbers end after eight decimals, where mathematical libraries begin to differ.
short()
{
    sed -E 's/([0-9]\.[0-9]{8})[0-9]+/\1/g' "$1"
}

# again SWEEP CONSTRAINT: the points of a sweep that meet the constraint
again()
{
    few=$scratch/studies/${1%/*}/few
    sed "1s/{/{\"point_constraints\": [\"$2\"],/" "$studies/$1.sweep.json" >"$few.json"
    "$reckon" sweep "$few.json" -o "$few.csv"
    short "$studies/$1.csv" >"$scratch/table"
    short "$few.csv" >"$scratch/rows"
    if grep -vxFf "$scratch/table" "$scratch/rows"; then
        echo "points.sh: $1: these rows are not in the table; 'make studies' renews it" >&2
        exit 1
    fi
    test "$(wc -l <"$few.csv")" -gt 1
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
again today/attention "seq == 4096"
again today/blocks "model.layers == 254"
again today/capacity "model.layers == 128"
again today/experts "system.tiers[0].size == 8 \&\& model.layers == 61 \&\& model.vocab < 150000"
again today/scaling "accelerators == 24576"

# Table I.
"$scratch/studies/run.sh" "$reckon" validation >"$scratch/log"
cmp "$studies/validation/table.csv" "$scratch/studies/validation/table.csv"

# No study is left out above.
for sweep in "$studies"/*/*.sweep.json; do
    name=${sweep#"$studies"/}
    grep -q "^again ${name%.sweep.json} " "$0"
done
