# SPDX-License-Identifier: Apache-2.0
# What the tests of MPI share.  Arguments: RECKON MPIRUN.

reckon=$(realpath "$1")
mpirun=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Open MPI on any machine: as root, with more ranks than cores, without other machines.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_plm=isolated

fail()
{
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# ranks N COMMAND...: reckon on N ranks, one thread each.
ranks()
{
    count=$1
    shift
    "$mpirun" -n "$count" "$reckon" "$@"
}

# A sweep of a dozen searches of all sizes: small ones go together, large ones are cut.
cat >grid.json <<'END'
{"application": "gpt3-175B", "system": "h100-80g-off512g50-nvl8", "datatype": "float8",
 "top": 2, "columns": ["tensor_par", "pipeline_par", "data_par", "sample_rate", "total_time",
                       {"cost": "processors * total_time"}],
 "result_constraints": ["pipeline_par < 64"],
 "axes": [{"key": "processors", "values": [64, 512, 4096]},
          {"key": "batch", "values": [16, 192, 3072]},
          {"key": "system.mem1.GiB", "values": [80, 1]}]}
END
