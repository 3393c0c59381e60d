#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares a page of docs/ with what the script that makes it writes today, but for processor time.
#
#     compare.sh ROOT SCRIPT PAGE RECKON
set -eu

root=$1
script=$2
page=$3
reckon=$(cd "$(dirname "$4")" && pwd)/$(basename "$4")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mask='
s/[0-9.e+-]+ s of processor time/# s of processor time/
s/time, [0-9.e+-]+ million strategies/time, # million strategies/
s/[0-9.]+ s of processor/# s of processor/
'
cd "$root"
"$script" "$reckon" | sed -E "$mask" >"$scratch/made"
sed -E "$mask" "$page" >"$scratch/kept"
diff -u "$scratch/kept" "$scratch/made" || {
    echo "make the page again: $script build/reckon >$page" >&2
    exit 1
}
