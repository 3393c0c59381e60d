#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No command writes a file that it reads: it fails, and the file is what it was.
#
#     overwrite.sh RECKON
set -eu

reckon=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
cd "$scratch"

"$reckon" show --json llama3-8b >model.json
"$reckon" show --json h100-sxm >machine.json
cp "$here/ds_config.json" "$here/own-runs.csv" "$here/figures.json" .
printf '{"name": "rack", "accelerator": "machine.json"}\n' >rack.json
cat >grid.json <<END
{"model": "./model.json", "system": "h100-sxm", "task": "estimate", "accelerators": 8,
 "global_batch": 64, "strategy": {"tp": 8}, "columns": ["step_s"],
 "axes": [{"key": "strategy.micro_batch", "values": [1, 2]}]}
END
ln -s model.json soft.json
ln model.json hard.json
mkdir before
cp -- *.json *.csv before

failures=0
# refused FILE ARGUMENT...: the command fails with status 2, says why, and FILE is as it was.
refused()
{
    file=$1
    shift
    status=0
    "$reckon" "$@" >out.txt 2>err.txt </dev/null || status=$?
    if test "$status" -ne 2 || ! grep -q 'which is an input' err.txt || ! cmp -s "$file" "before/$file"; then
        echo "reckon $*: status $status, $(cat err.txt)"
        cp "before/$file" "$file"
        failures=1
    fi
}

question='8xh100 -b 64 --tp 1'
# shellcheck disable=SC2086
{
    for command in estimate plan fit; do
        refused model.json $command ./model.json $question -o model.json
    done
    refused model.json estimate soft.json $question -o model.json
    refused soft.json estimate model.json $question --json -o soft.json
    refused hard.json estimate model.json $question --json -o "$scratch/hard.json"
    refused machine.json estimate llama3-8b 8x./machine.json -b 64 --tp 1 -o machine.json
    refused ds_config.json estimate llama3-8b 8xh100 --deepspeed ds_config.json -o ds_config.json
    refused model.json run ./model.json 8xh100 -b 64 --tokens 1B -o model.json
    refused model.json run ./model.json 8xh100 -b 64 --tokens 1B --timeline model.json
    refused model.json timeline ./model.json $question -o model.json
    refused model.json explain ./model.json $question -o model.json
}
refused grid.json sweep grid.json -o grid.json
refused grid.json sweep grid.json --sqlite grid.json
refused model.json sweep grid.json -o model.json
refused own-runs.csv validate --runs own-runs.csv -o own-runs.csv
refused own-runs.csv validate --runs check,own-runs.csv --csv -o own-runs.csv
refused own-runs.csv validate --runs own-runs.csv --plot own-runs.csv
refused own-runs.csv validate --runs own-runs.csv --residuals own-runs.csv
refused figures.json validate --runs own-runs.csv --figures figures.json --json -o figures.json
refused machine.json comm all-reduce --system ./machine.json --ranks 8 -o machine.json

# What is no input may be replaced.
"$reckon" estimate ./model.json 8xh100 -b 64 --tp 1 -o answer.txt
"$reckon" estimate ./model.json 8xh100 -b 64 --tp 1 -o answer.txt
"$reckon" estimate ./model.json 8xh100 -b 64 --tp 1 -o answer.txt -o answer.txt
test -s answer.txt
exit $failures
