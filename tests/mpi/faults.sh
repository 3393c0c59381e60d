#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A fault is reported once, by rank 0, and ends all ranks.
#
#     faults.sh RECKON MPIRUN
set -eu
. "$(dirname "$0")/common.sh"

# expect MESSAGE COMMAND...: three ranks fail with this, told once.
expect()
{
    message=$1
    shift
    status=0
    ranks 3 "$@" >out 2>log || status=$?
    [ "$status" -eq 2 ] || fail "$*: exit $status: $(cat log)"
    [ "$(grep -c -- "$message" log)" -eq 1 ] || fail "$*: $(cat log)"
}

expect 'reckon sweep: ' sweep
expect 'reckon sweep: missing.json' sweep missing.json
sed 's/"top": 2/"top": 0/' grid.json >wrong.json
expect 'top: expected an integer from 1' sweep wrong.json
expect 'reckon plan: ' plan --model llama3-70b --system dgx-h100-superpod
expect 'no system "h1000"' plan --model llama3-70b --system h1000 --accelerators 8 --global-batch 8
expect 'reckon calculon' calculon llm-optimal-execution gpt3-175B 8 8 float16 nothing out.json

# A rank whose file system has other documents, or none, is named.
cat >reckon.sh <<END
#!/bin/sh
[ "\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-0}}" = 0 ] || cd elsewhere
exec "$reckon" "\$@"
END
chmod +x reckon.sh
mkdir elsewhere
status=0
"$mpirun" -n 2 ./reckon.sh sweep grid.json -o "$folder/out.csv" 2>log || status=$?
[ "$status" -eq 2 ] && grep -q 'rank 1: .*grid.json' log || fail "a missing file: $(cat log)"
sed 's/3072/3073/' grid.json >elsewhere/grid.json
status=0
"$mpirun" -n 2 ./reckon.sh sweep grid.json -o "$folder/out.csv" 2>log || status=$?
[ "$status" -eq 2 ] && grep -q 'rank 1 reads other documents' log || fail "another file: $(cat log)"

# Processes of another MPI, or of an srun that does not know this one, do not see each other.
if "$mpirun" --version | grep -q 'Open MPI'; then
    status=0
    PMI_RANK=1 PMI_SIZE=2 "$reckon" sweep grid.json >out 2>log || status=$?
    [ "$status" -eq 2 ] && grep -q 'one of 2 processes' log || fail "alone: exit $status: $(cat log)"
    [ ! -s out ] || fail "a process that sees no others works alone"
fi

# Nothing of it is in the way of the next run.
ranks 2 sweep grid.json -o out.csv 2>log || fail "$(cat log)"
