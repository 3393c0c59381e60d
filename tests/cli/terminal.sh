#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2086 # the words of a command stand in one variable
# The command on a terminal (drawn lines, a progress line that is gone at the end, Ctrl-C) and in a
# pipe (plain ASCII).  Skipped where script(1) finds no terminal.
#
#     terminal.sh RECKON
set -eu

reckon=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
script -qec true /dev/null </dev/null >/dev/null 2>&1 || exit 77
plan="plan --model megatron-22B --system a100_80g -p 8 -b 4 --datatype float16"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail()
{
    echo "terminal.sh: $1" >&2
    exit 1
}

# on_terminal COMMAND: runs it on a terminal of its own, which $scratch/screen records.
on_terminal()
{
    TERM=xterm script -qec "$1" "$scratch/screen" </dev/null >/dev/null
}

bold=$(printf '\033[1m')
clear=$(printf '\033\\[K') # as a pattern
unset NO_COLOR
on_terminal "$reckon $plan"
grep -qF "$bold" "$scratch/screen" || fail "no bold titles on a terminal"
NO_COLOR=1 on_terminal "$reckon $plan"
grep -qF "$bold" "$scratch/screen" && fail "bold titles in spite of NO_COLOR"

$reckon $plan >"$scratch/piped" 2>"$scratch/errors"
LC_ALL=C grep -q '[^ -~]' "$scratch/piped" && fail "not plain ASCII in a pipe"
test -s "$scratch/errors" && fail "standard error is not empty"

# A search that lasts: the progress line comes and goes, and a signal ends it at once.
cat >"$scratch/huge.json" <<'END'
{"hidden": 5040, "feedforward": 5040, "seq_size": 4, "attn_heads": 5040, "attn_size": 1,
 "num_blocks": 55440}
END
huge="plan --model $scratch/huge.json --system h100-3tier -p 55440 -b 698377680 -t 1"
stopped=0
on_terminal "timeout -s INT --preserve-status 2 $reckon $huge -o $scratch/answer" || stopped=$?
test "$stopped" -eq 130 || fail "exit status $stopped after Ctrl-C, not 130"
grep -q 'strategies/s, .* left' "$scratch/screen" || fail "no progress line on a terminal"
LC_ALL=C grep -q "left$clear.$clear" "$scratch/screen" || fail "the line is not cleared"
test -z "$(find "$scratch" -name "answer*")" || fail "Ctrl-C left an output file"

stopped=0
timeout -s TERM --preserve-status 2 $reckon $huge >"$scratch/piped" 2>"$scratch/errors" || stopped=$?
test "$stopped" -eq 143 || fail "exit status $stopped after SIGTERM, not 143"
test -s "$scratch/errors" && fail "a progress line in a pipe"
test -s "$scratch/piped" && fail "an answer after a signal"

# A sweep besides says how many points are done, and what was begun when it is stopped.
cat >"$scratch/sweep.json" <<'END'
{"application": "huge.json", "system": "h100-3tier", "batch": 698377680, "datatype": "float16",
 "axes": [{"key": "processors", "values": [1, 2, 55440]}]}
END
stopped=0
seconds=${MESON_EXE_WRAPPER:+20} # emulated machines need longer to begin the second point
on_terminal "timeout -s INT --preserve-status ${seconds:-3} $reckon sweep $scratch/sweep.json -t 1 -o $scratch/csv" ||
    stopped=$?
test "$stopped" -eq 130 || fail "a sweep: exit status $stopped after Ctrl-C, not 130"
grep -q 'strategies/s, .* left.*[0-9] of 3 points done' "$scratch/screen" ||
    fail "a sweep: no progress line on a terminal"
grep -q 'stopped; points begun and not finished: 2' "$scratch/screen" ||
    fail "a sweep: nobody says what was begun"
exit 0
