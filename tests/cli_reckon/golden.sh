#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares what the reckon commands print with what they are known to print, numbers included.
#
#     golden.sh RECKON CASE.golden [--update]
#
# The first line of a case is the arguments after "$ reckon", as a shell reads them; the exit
# status, standard output and standard error follow.  Processor time and rates, which differ from
# run to run, stand as #, and numbers end after eight decimals, where mathematical libraries begin
# to differ.  --update writes the case; read the difference before you keep it: a number that you
# cannot explain is a fault.
set -eu

reckon=$1
case_file=$2
update=${3:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

command=$(sed -n '1s/^\$ reckon //p' "$case_file")
status=0
NO_COLOR=1 COLUMNS=80 sh -c "\"$reckon\" $command" >"$scratch/out" 2>"$scratch/err" \
    </dev/null || status=$?

mask='
s/[0-9.e+-]+ s of processor time/# s of processor time/
s/time, [0-9.e+-]+ million strategies/time, # million strategies/
s/"(processor|wall)_time_s": ?[-+.e0-9]+/"\1_time_s": #/
s/^reckon [0-9]+\.[0-9]+\.[0-9]+$/reckon #/
s/"reckon": ?"[0-9.]+"/"reckon": "#"/
s/([0-9]\.[0-9]{8})[0-9]+/\1/g
s/\<[0-9.]+e-1[0-9]\>/0/g
'
{
    printf '$ reckon %s\n' "$command"
    printf -- '--- exit status %s\n--- standard output\n' "$status"
    sed -E "$mask" "$scratch/out"
    printf -- '--- standard error\n'
    cat "$scratch/err"
} >"$scratch/now"

if [ "$update" = --update ]; then
    cp "$scratch/now" "$case_file"
else
    diff -u "$case_file" "$scratch/now"
fi
