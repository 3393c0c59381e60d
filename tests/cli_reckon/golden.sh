#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares the shape of what the reckon commands say with what it is known to be: numbers stand as
# #, since they move with the model, and blanks and rules, which move with them, are single.  What
# goes to standard error is compared as it is.
#
#     golden.sh RECKON CASE.golden [--update]
#
# The first line of a case is the arguments after "$ reckon", as a shell reads them.
set -eu

reckon=$1
case_file=$2
update=${3:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

command=$(sed -n '1s/^\$ reckon //p' "$case_file")
status=0
NO_COLOR=1 sh -c "\"$reckon\" $command" >"$scratch/out" 2>"$scratch/err" </dev/null || status=$?
{
    printf '$ reckon %s\n' "$command"
    printf -- '--- exit status %s\n--- standard output\n' "$status"
    sed -E 's/(^|[ (,:])[-+]?[0-9]+(,[0-9]{3})*(\.[0-9]+)?(e[-+]?[0-9]+)?\>/\1#/g
            s/--+/--/g; s/([^ ]) +/\1 /g' \
        "$scratch/out"
    printf -- '--- standard error\n'
    cat "$scratch/err"
} >"$scratch/now"

if [ "$update" = --update ]; then
    cp "$scratch/now" "$case_file"
else
    diff -u "$case_file" "$scratch/now"
fi
