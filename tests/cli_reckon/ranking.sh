#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One ranking: the first rows are the same however many are asked for, by either search, on any
# number of threads, and `reckon explain` starts from the first of them.
#
#     ranking.sh RECKON
set -eu

reckon=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
count=0

# plan ROWS OPTION...: the first rows, without what the search took.
plan()
{
    rows=$1
    shift
    "$reckon" plan "$@" --csv | sed 1d | head -n "$rows"
}

same()
{
    cmp -s "$folder/first" "$folder/other" || {
        echo "ranking.sh: $1: another ranking of $question" >&2
        exit 1
    }
}

ask()
{
    question="$*"
    count=$((count + 1))
    plan 1 "$@" -n 50 --exhaustive >"$folder/first"
    plan 1 "$@" -n 1 --exhaustive -t 1 >"$folder/other" && same "-n 1"
    plan 1 "$@" -n 1 --bounded -t 2 >"$folder/other" && same "--bounded -n 1"
    plan 5 "$@" -n 50 --exhaustive -t 3 >"$folder/first"
    plan 5 "$@" -n 5 >"$folder/other" && same "-n 5"
    plan 5 "$@" -n 5 --bounded -t 1 >"$folder/other" && same "--bounded -n 5"
    "$reckon" plan "$@" -n 1 --json | sed -n 's/^ *"step_s": *\([^,]*\).*/\1/p' | head -n 1 \
        >"$folder/first"
    "$reckon" explain "$@" --json | sed -n 's/^ *"step_s": *\([^,]*\).*/\1/p' | head -n 1 \
        >"$folder/other"
    test -s "$folder/first" && same "explain"
}

ask --model gemma2-9b --system b200-sxm -p 256 -b 32 --cp 1
ask --model llama3-8b --system h100-sxm -p 8 -b 64
ask --model llama3-8b --system dgx-a100-superpod -p 64 -b 128 --framework torchtitan
ask --model llama3-70b --system h100-sxm -p 64 -b 256
ask --model llama3-70b --system dgx-h100-superpod -p 512 -b 1024 --seq 4096
ask --model gemma2-27b --system h100-sxm -p 128 -b 96
ask --model mixtral-8x7b --system h100-sxm -p 32 -b 128 --tp 1,2,4
ask --model qwen3-30b-a3b --system h100-sxm -p 32 -b 256 --seq 4096 --micro-batch 1,2
ask --model gpt3-175b --system selene -p 512 -b 1536
ask --model llama3.1-405b --system h100-roce-24k -p 2048 -b 512 --tp 8
ask --model llama2-13b --system h100-sxm -p 48 -b 96
ask --model qwen2.5-32b --system h100-sxm -p 96 -b 192 --schedule 1f1b,interleaved
ask --model llama3-70b --system h100-sxm -p 64 -b 256 --framework any --pp 4,8 --tp 4,8
test "$count" -eq 13
