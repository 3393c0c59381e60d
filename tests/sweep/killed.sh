#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A sweep is killed at twenty random moments, by either method, and resumed each time: the table and
# the database come out as those of a run without interruption.  (resume.c does so inside.)
#
#     killed.sh RECKON
set -eu

reckon=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail()
{
    echo "killed.sh: $*" >&2
    exit 1
}

# Both take a few tenths of a second.
cat >calculon.json <<'END'
{"application": "gpt3-175B", "system": "a100_80g", "datatype": "float16", "top": 3,
 "columns": ["tensor_par", "pipeline_par", "sample_rate", {"cost": "processors / sample_rate"}],
 "result_constraints": ["cost < 80"],
 "axes": [{"key": "processors", "from": 64, "to": 512, "factor": 2},
          {"key": "batch", "values": [64, 256]},
          {"key": "system.mem1.GiB", "values": [80, 20, 1]}]}
END
cat >reckon.json <<'END'
{"model": "llama3-70b", "system": "h100-sxm", "search": "bounded", "top": 3, "global_batch": 256,
 "axes": [{"key": "accelerators", "values": [16, 64, 256]},
          {"key": "strategy.recompute", "values": ["none", "selective", "full"]},
          {"key": "system.tiers[0].size", "values": [8, 16]}]}
END

# What the database holds, to the last digit, in the order in which it lies there.
content()
{
    if command -v sqlite3 >/dev/null; then
        sqlite3 "$1" .dump
    fi
}

now()
{
    date +%s%N
}

for sweep in calculon reckon; do
    rm -f whole.csv whole.db
    started=$(now)
    "$reckon" sweep "$sweep.json" -o whole.csv --sqlite whole.db --threads 2
    took=$((($(now) - started) / 1000)) # us
    content whole.db >whole.sql
    random=$(date +%N | sed 's/^0*//')
    kills=0
    again=0
    attempts=0
    echo "$sweep: $took us a run, seed $random"
    while [ "$kills" -lt 10 ]; do
        attempts=$((attempts + 1))
        [ "$attempts" -le 200 ] || fail "$sweep: the kill comes too late every time"
        random=$(((random * 1103515245 + 12345) % 2147483648))
        moment=$(awk -v r="$random" -v t="$took" 'BEGIN { printf "%.6f", r / 2147483648 * t / 1e6 }')
        status=0
        # The shell waits for the process itself, so that its lock is gone with it.
        "$reckon" sweep "$sweep.json" -o found.csv --sqlite found.db --threads 2 --resume 2>log &
        sleep "$moment"
        kill -KILL $! 2>/dev/null || :
        wait $! || status=$?
        if [ "$status" -eq 137 ]; then
            kills=$((kills + 1))
            # Every other kill hits the run that resumes the one before.
            [ $((kills % 2)) -eq 0 ] || continue
        elif [ "$status" -ne 0 ]; then
            fail "$sweep: exit $status: $(cat log)"
        fi
        if [ -e found.db ]; then
            again=$((again + 1))
        fi
        "$reckon" sweep "$sweep.json" -o found.csv --sqlite found.db --threads 1 --resume
        cmp whole.csv found.csv || fail "$sweep: killed after $moment s: another table"
        content found.db | cmp - whole.sql || fail "$sweep: killed after $moment s: another database"
        rm -f found.csv found.db
    done
    [ "$again" -gt 0 ] || fail "$sweep: no kill came after the database was there"
    echo "$sweep: $kills kills in $attempts runs"
done
