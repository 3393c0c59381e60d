#!/bin/bash
# A launch whose configuration is in the script: nothing of it is run.
#SBATCH --nodes=4
TP=${1:-2}
cat <<EOF > /tmp/neox.json
{"model_parallel_size": $TP}
EOF
ARGS=(--nproc_per_node 8 --nnodes "$SLURM_NNODES")
srun torchrun "${ARGS[@]}" deepy.py train.py --tokens $(cat tokens.txt)
