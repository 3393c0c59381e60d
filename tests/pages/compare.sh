#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares pages of docs/ with what the script that makes them writes today, but for processor time.
#
#     compare.sh ROOT RECKON RENEW SCRIPT PAGE          the script prints the page
#     compare.sh --to ROOT RECKON RENEW SCRIPT PAGE...  it takes the files to write as arguments
#
# RENEW is the command that makes the pages again, for the message.
set -eu

to=
if [ "$1" = --to ]; then
    to=yes
    shift
fi
root=$1
reckon=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
renew=$3
script=$4
shift 4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mask='
s/[0-9.e+-]+ s of processor time/# s of processor time/
s/time, [0-9.e+-]+ million strategies/time, # million strategies/
s/[0-9.]+ s of processor/# s of processor/
'

# The name of a page in the scratch folder.
copy()
{
    echo "$scratch/$(basename "$1")"
}

cd "$root"
if [ -n "$to" ]; then
    made=
    for page; do
        made="$made $(copy "$page")"
    done
    # shellcheck disable=SC2086
    "$script" "$reckon" $made
else
    "$script" "$reckon" >"$(copy "$1")"
fi
status=0
for page; do
    sed -E "$mask" "$page" >"$scratch/kept"
    sed -E "$mask" "$(copy "$page")" | diff -u --label "$page" --label "$page, made now" \
        "$scratch/kept" - || {
        echo "$page is out of date; renew it: $renew" >&2
        status=1
    }
done
exit $status
