#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares what the command says with what it is known to say.
#
#     golden.sh RECKON CASE.golden [--update]
#
# The first line of a case is the arguments after "$ reckon", as a shell reads them; what follows
# is the exit status, standard output and standard error.  Times and rates, which differ from run
# to run, stand as #.  --update writes the file anew; read the difference before you keep it.
set -eu

absolute()
{
    printf '%s/%s' "$(cd "$(dirname "$1")" && pwd)" "$(basename "$1")"
}

reckon=$(absolute "$1")
case_file=$(absolute "$2")
update=${3:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

command=$(sed -n '1s/^\$ reckon //p' "$case_file")
cp "$(dirname "$case_file")"/*.json "$scratch"
cd "$scratch"
status=0
NO_COLOR=1 COLUMNS=80 sh -c "\"$reckon\" $command" >out 2>err </dev/null || status=$?

mask='
s/[0-9.]+ s of processor time/# s of processor time/
s/time, [0-9.]+ million strategies/time, # million strategies/
s/"(processor|wall)_time_s": [-+.e0-9]+/"\1_time_s": #/
s/^reckon [0-9]+\.[0-9]+\.[0-9]+$/reckon #/
'
{
    printf '$ reckon %s\n' "$command"
    printf -- '--- exit status %s\n--- standard output\n' "$status"
    sed -E "$mask" out
    printf -- '--- standard error\n'
    cat err
} >now

if [ "$update" = --update ]; then
    cp now "$case_file"
else
    diff -u "$case_file" now
fi
