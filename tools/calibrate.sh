#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fits the constants of the shipped documents to the measurements in data/: the accelerators to
# operators, then the stacks, which build on them, to runs.
#
#     tools/calibrate.sh BUILD [RECIPE...]     by default all of data/calibrations/ORDER
#
# Each line of ORDER is a recipe; what a recipe reads, those before it have written.  Reports are
# left in BUILD/calibrations.
set -eu

build=$1
shift
folder=$(cd "$(dirname "$0")/../data/calibrations" && pwd)
mkdir -p "$build/calibrations"
# The names have no blanks.
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(cat "$folder/ORDER")
for recipe; do
    ninja -C "$build" reckon >/dev/null # the program holds the documents that were just written
    "$build/reckon" calibrate --write "$folder/$recipe.json" -o "$build/calibrations/$recipe.txt"
    sed -n -e "s/^\(fitted\|held out, fitted\) /$recipe: \1 /p" "$build/calibrations/$recipe.txt"
done
