#!/bin/bash
# A launch script of Megatron-LM, read by --from.
TP=2
GPUS_PER_NODE=8
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes 1 pretrain_gpt.py \
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
    --group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm \
    --untie-embeddings-and-output-weights --position-embedding-type rope --vocab-size 128256 \
    --seq-length 8192 --max-position-embeddings 8192 \
    --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size 1 --sequence-parallel \
    --micro-batch-size 1 --global-batch-size 32 --bf16 --use-distributed-optimizer
