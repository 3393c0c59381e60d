#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A rank that is ended in the middle loses nothing: mpirun ends the others, and --resume goes on; or
# it lets them live, and they do the rest.
#
#     lost.sh RECKON MPIRUN
set -eu
. "$(dirname "$0")/common.sh"

# Enough work for a few seconds, in many points.
sed 's/"values": \[16, 192, 3072\]/"from": 3000, "to": 3072, "step": 4/' grid.json >long.json
"$reckon" sweep long.json -o expected.csv --sqlite expected.db

# kill_rank RANK PID: ends that rank of the mpirun with that process ID.
kill_rank()
{
    for child in $(cat "/proc/$2/task/$2/children"); do
        if tr '\0' '\n' <"/proc/$child/environ" | grep -q "^\(OMPI_COMM_WORLD\|PMI\)_RANK=$1\$"; then
            kill -9 "$child"
            return
        fi
    done
    fail "there is no rank $1"
}

# sweep_and_kill OPTIONS...: three ranks, of which one is killed once some points are finished.
sweep_and_kill()
{
    rm -f found.db found.csv
    "$mpirun" "$@" -n 3 "$reckon" sweep long.json -o found.csv --sqlite found.db --threads 1 \
        --lost-after 2 >out 2>log &
    run=$!
    while lines=$(cat found.csv 2>/dev/null | wc -l) && [ "$lines" -le 6 ] && kill -0 "$run"; do
        sleep 0.05
    done
    kill_rank "$victim" "$run"
    status=0
    wait "$run" || status=$?
}

for victim in 1 0; do
    sweep_and_kill
    [ "$status" -ne 0 ] || fail "rank $victim was killed, and nobody noticed"
    "$reckon" sweep long.json --sqlite found.db --resume --dry-run >missing
    there=$(sed -n 's/^missing  *\([0-9]*\).*/\1/p' missing)
    echo "rank $victim killed: ${there:-all} points were missing"
    "$mpirun" -n 2 "$reckon" sweep long.json -o found.csv --sqlite found.db --resume --threads 1 \
        2>log || fail "$(cat log)"
    cmp expected.csv found.csv || fail "after --resume the table is another one"
done

# Open MPI can let the others live.
"$mpirun" --help recovery >/dev/null 2>&1 || true
if ! "$mpirun" --version | grep -q 'Open MPI'; then
    exit 0
fi
victim=1
sweep_and_kill --enable-recovery
grep -q 'rank 1 is lost; the others repeat its points: [0-9]' log || fail "nobody tells: $(cat log)"
cmp expected.csv found.csv || fail "without rank 1 the table is another one"
