#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The ending of an output file decides its format: .json and .csv write what --json and --csv print,
# and .txt, .md and no ending the text.
#
#     endings.sh RECKON
set -eu

reckon=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# Numbers that differ from run to run.
masked()
{
    sed -E 's/[0-9.e+-]+ s of processor time.*//; s/"(processor|wall)_time_s": ?[-+.e0-9]+//' "$1"
}

# same FILE OPTION COMMAND...: what goes to the file is what the option prints.
same()
{
    file=$1
    option=$2
    shift 2
    rm -f "$file"
    # shellcheck disable=SC2086
    "$reckon" "$@" $option >printed
    "$reckon" "$@" -o "$file" >rest
    masked printed >expected
    masked "$file" >found
    if [ -s rest ] || ! cmp -s expected found; then
        echo "reckon $* -o $file is not what '$option' prints:" >&2
        head -3 "$file" >&2
        exit 1
    fi
}

for command in \
    'plan llama3-8b 8xh100 -b 64 --tp 1 --pp 1' \
    'plan --method calculon --model gpt3-13B --system a100_80g -p 8 -b 8' \
    'estimate llama3-8b 8xh100 -b 64 --tp 1 --pp 1' \
    'fit llama3-8b 8xh100 --tp 1 --pp 1' \
    'run llama3-8b 8xh100 -b 64 --tp 1 --pp 1 --tokens 1G' \
    'explain llama3-8b 8xh100 -b 64 --tp 1 --pp 1' \
    'comm all-reduce 64xdgx-h100-superpod' \
    'validate --runs check_2 --only torchtitan'; do
    for ending in .json .csv .txt .md ''; do
        case $ending in
        .json | .csv) option=--${ending#.} ;;
        *) option= ;;
        esac
        # shellcheck disable=SC2086
        same "x$ending" "$option" $command
    done
done

# Where nothing meets the question the exit status is 1, and the JSON says why.
printf '%s' '{"name": "small", "currency": "$", "processor": 1, "source": "assumed",
 "axes": [{"key": "processors", "values": [2, 4]}]}' >small.json
for command in \
    'plan llama3-70b 4xh100' \
    'plan llama3-70b 64xh100 --fp4' \
    'estimate llama3-70b 4xh100' \
    'fit llama3-70b 4xh100' \
    'run llama3-70b 4xh100 --tokens 1T' \
    'run llama3-70b --system h100:64 --tokens 15T --deadline 1d' \
    'explain llama3-70b 4xh100' \
    'shape llama3-70b 4xh100' \
    'design llama3-70b h100 --prices small.json -b 64' \
    'timeline llama3-70b 4xh100'; do
    status=0
    rm -f x.json
    # shellcheck disable=SC2086
    "$reckon" $command -o x.json >rest 2>said || status=$?
    if [ "$status" -ne 1 ] || [ -s rest ] || [ "$(wc -l <said)" -ne 1 ] ||
        ! grep -qE '"(reason|shortage|illegal)":' x.json; then
        echo "reckon $command -o x.json: exit status $status, and no reason" >&2
        exit 1
    fi
done
