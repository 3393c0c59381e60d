#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes docs/examples.md: five questions that people who train models ask, and what reckon says.
#
#     tools/examples.sh [RECKON] >docs/examples.md
set -eu

reckon=${1:-build/reckon}
export NO_COLOR=1 COLUMNS=100

. "$(dirname "$0")/show.sh"

cat <<'TEXT'
# Five questions

What `reckon` answers to five questions from practice. This page is made by `tools/examples.sh`; the
commands can be typed as they are.

## 1. A dense model of 8 billion parameters on one node

Llama 3 8B in bf16 on 8 H100, sequences of 8,192 tokens, 128 a step. Which strategy is the
fastest, and would one of my own be much slower?

TEXT
show plan --model llama3-8b --system dgx-h100-superpod --accelerators 8 --global-batch 128
cat <<'TEXT'

What limits it, and what would better hardware buy?

TEXT
show estimate --model llama3-8b --system dgx-h100-superpod --accelerators 8 --global-batch 128 \
    --zero 2 --explain
cat <<'TEXT'

And on the accelerators with 40 GB that are still around: does it fit?

TEXT
show fit --model llama3-8b --system a100-sxm-40gb --accelerators 8 --global-batch 128 --tp 1
cat <<'TEXT'

## 2. 70 billion parameters on 64 accelerators

TEXT
show plan --model llama3-70b --system dgx-h100-superpod --accelerators 64 --global-batch 128
cat <<'TEXT'

How few accelerators would do?

TEXT
show fit --model llama3-70b --system dgx-h100-superpod --accelerators 8 --global-batch 128
cat <<'TEXT'

## 3. 405 billion parameters on 16,384 accelerators

The run of Llama 3.1: sequences of 8,192 tokens, 2,048 a step, 16,384 H100 on the network
that Meta describes.

TEXT
show plan --model llama3.1-405b --system h100-roce-24k --accelerators 16384 --global-batch 2048
cat <<'TEXT'

The layout that was published, TP 8, CP 1, PP 16, DP 128, with recomputation of cheap activations, and what
it is bound by:

TEXT
show estimate --model llama3.1-405b --system h100-roce-24k --accelerators 16384 \
    --global-batch 2048 --tp 8 --pp 16 --vp 8 --count-embedding --count-head \
    --recompute selective --explain
cat <<'TEXT'

## 4. DeepSeek-V3 on 2,048 H800

A mixture of 256 experts in fp8: sequences of 4,096 tokens, 15,360 a step.

TEXT
show plan --model deepseek-v3 --system deepseek-v3-h800 --accelerators 2048 \
    --global-batch 15360 --precision fp8 --moments bf16
cat <<'TEXT'

With the schedule of its authors, DualPipe over 16 ranks, which Megatron-LM does not run. They also
keep the inputs of SwiGLU in fp8 and averages of the weights on the host, which is not counted here;
so what would have to go, were that all?

TEXT
show fit --model deepseek-v3 --system deepseek-v3-h800 --accelerators 2048 \
    --global-batch 15360 --precision fp8 --moments bf16 --framework any --pp 16 --ep 64 \
    --schedule dualpipe --recompute selective --recompute-modules norm,act,mla_up \
    --overlap grad,param,pp,moe
cat <<'TEXT'

## 5. A trillion parameters on GB200 NVL72

Kimi K2, 384 experts, on 8 racks of 72.

TEXT
show plan --model kimi-k2 --system gb200-nvl72-pod --accelerators 576 --global-batch 4608 \
    --precision fp8
