#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A model type that the catalogue lacks, added by a file beside config.json, without a compiler: the addition
# model-type of the drill, with the count that its test expects.
#
#     model_type.sh RECKON
set -eu
patch_file=$(dirname "$0")/additions/model-type.patch
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Prints a file that the patch adds.
added()
{
    awk -v file="+++ b/$1" '/^diff / {inside = 0} inside && /^[+]/ {print substr($0, 2)} $0 == file {inside = 1}' \
        "$patch_file"
}

added tests/model/hf/drilled-350m.json >"$scratch/config.json"
wanted=$(sed -nE 's/^[+] +[{]"drilled-350m", ([0-9]+),.*/\1/p' "$patch_file")
if "$1" show "$scratch" 2>/dev/null; then
    echo "the catalogue has this model type already: the drill needs another"
    exit 1
fi
added data/architectures/drilled.json >"$scratch/architecture.json"
"$1" estimate "$scratch" 8xh100 --global-batch 64 --json >"$scratch/answer.json"
if ! grep -q "\"parameters\": $wanted," "$scratch/answer.json"; then
    echo "expected $wanted parameters, found $(grep '"parameters"' "$scratch/answer.json")"
    exit 1
fi
