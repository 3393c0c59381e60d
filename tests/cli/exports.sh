#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that a shared library exports the functions that a header marks RK_API, and nothing else.
#
#     exports.sh NM LIBRARY HEADER
set -eu

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" -D --defined-only "$2" | awk '{print $3}' | sort >"$scratch/exported"
tr '\n' ' ' <"$3" | grep -oE 'RK_API [^(;]*\(' | grep -oE 'rk_[a-z0-9_]+\($' | tr -d '(' |
    sort >"$scratch/declared"
test -s "$scratch/declared"
diff -u "$scratch/declared" "$scratch/exported"
