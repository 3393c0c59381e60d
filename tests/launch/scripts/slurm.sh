#!/bin/bash
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=8 --partition=gpu
#SBATCH --gres=gpu:h100:8
export GPUS_PER_NODE=8
OPTIONS=" \
    --tensor-model-parallel-size 8 \
    --micro-batch-size 1 \
    "
cmd="torchrun --nproc_per_node $GPUS_PER_NODE --nnodes 8 pretrain_gpt.py $OPTIONS"
mkdir -p logs && srun -l --output=logs/%x.log sh -c "${cmd}" &
wait
echo "done"
