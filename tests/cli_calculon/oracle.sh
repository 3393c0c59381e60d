#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every recorded search of the published tool: counts, best rate and ranked list.
# usage: oracle.sh RECKON COMPARE_JSON REFERENCE_DIRECTORY; exit 77 (skipped) without the latter.
set -u

# absolute PATH
absolute() { echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"; }

reckon=$(absolute "$1") compare=$(absolute "$2") reference=$3

[ -d "$reference/search" ] || { echo "no reference searches at $reference"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$reference" || exit 1

failed=0 searches=0
for command in search/*.cmd; do
    name=$(basename "$command" .cmd)
    searches=$((searches + 1))
    # -c of the recording goes: the answer must not depend on the number of threads.
    arguments=$(sed -e "s|OUT|$work/actual.json|" -e 's|-c [0-9]*||' "$command")
    rm -f "$work/actual.json"
    # shellcheck disable=SC2086 # the recorded words have no blanks of their own
    if ! "$reckon" calculon $arguments > "$work/log" 2> "$work/errors"; then
        echo "$name: failed"
        cat "$work/errors"
        failed=1
        continue
    fi
    grep -v -e '^Calculation rate' -e '^Output' "$work/log" > "$work/actual.txt"
    grep -v -e '^Calculation rate' "search/$name.txt" > "$work/expected.txt"
    gzip -dc "search/$name.json.gz" > "$work/expected.json"
    if ! diff "$work/expected.txt" "$work/actual.txt" ||
        ! "$compare" "$work/expected.json" "$work/actual.json"; then
        echo "$name: differs"
        failed=1
    fi
done
[ "$searches" -gt 0 ] || { echo "no searches in $reference"; failed=1; }
echo "$searches searches compared"
exit "$failed"
