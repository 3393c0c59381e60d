#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Built without MPI, reckon does not do the work of all ranks in each, but says what is missing.
#
#     none.sh RECKON
set -eu

reckon=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail()
{
    echo "none.sh: $*" >&2
    exit 1
}

cat >grid.json <<'END'
{"application": "megatron-126M", "system": "a100_80g", "batch": 4, "datatype": "float16",
 "axes": [{"key": "processors", "values": [1, 2]}]}
END
"$reckon" sweep grid.json -o alone.csv
# mpirun -n 1, and as srun of Open MPI starts one
OMPI_COMM_WORLD_SIZE=1 "$reckon" sweep grid.json | cmp - alone.csv || fail "one process alone"
for started in OMPI_COMM_WORLD_SIZE=2 'PMI_RANK=1 PMI_SIZE=2' 'PMIX_RANK=0 SLURM_NTASKS=2'; do
    status=0
    # shellcheck disable=SC2086
    env $started "$reckon" sweep grid.json >out 2>log || status=$?
    [ "$status" -eq 2 ] && [ ! -s out ] || fail "$started: exit $status"
    grep -q 'built without MPI.*2 processes' log || fail "$started: $(cat log)"
done
