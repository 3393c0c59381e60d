#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that the answer which README.md shows is what the command says, but for its speed.
#
#     readme.sh RECKON README
set -eu

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mask='s/[0-9.]+ s of processor time, [0-9.]+ million/# s of processor time, # million/'

# The block of text that starts with the command, which goes on while lines end in a backslash.
awk '/^```/ {inside = !inside; next} inside && /^\$ reckon / {shown = 1} shown && !inside {exit}
     shown' "$2" >"$scratch/block"
awk 'more || NR == 1 {more = /\\$/; sub(/\\$/, ""); sub(/^\$ reckon /, ""); print; next} {exit}' \
    "$scratch/block" >"$scratch/command"
test -s "$scratch/command"
tail -n +"$(($(wc -l <"$scratch/command") + 1))" "$scratch/block" | sed -E "$mask" >"$scratch/shown"
xargs "$1" <"$scratch/command" | sed -E "$mask" >"$scratch/said"
diff -u "$scratch/shown" "$scratch/said"
