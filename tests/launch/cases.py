#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches that were read wrongly once, and what is right: cases.py RECKON.

Facts of public launch files and bug reports of Megatron-LM and its relatives; docs/launch.md lists
their sources, and those that are no question of reading or pricing a launch.
"""

import json
import subprocess
import sys
import tempfile

LLAMA = ("--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
         "--group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 "
         "--swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
         "--untie-embeddings-and-output-weights --vocab-size 128256 --bf16 "
         "--micro-batch-size 1 --global-batch-size 128 --use-distributed-optimizer ")
LLAMA_70B = (LLAMA.replace("--num-layers 32", "--num-layers 80").replace("4096 --ffn", "8192 --ffn")
             .replace("14336", "28672").replace("heads 32", "heads 64"))
QWEN_MOE = ("--num-layers 48 --hidden-size 2048 --ffn-hidden-size 6144 --num-attention-heads 32 "
            "--group-query-attention --num-query-groups 4 --kv-channels 128 --qk-layernorm "
            "--seq-length 4096 --max-position-embeddings 4096 --swiglu --normalization RMSNorm "
            "--position-embedding-type rope --disable-bias-linear --untie-embeddings-and-output-weights "
            "--num-experts 128 --moe-ffn-hidden-size 768 --moe-router-topk 8 --micro-batch-size 1 "
            "--global-batch-size 512 --expert-model-parallel-size 8 --expert-tensor-parallel-size 1 "
            "--bf16 --use-distributed-optimizer ")
DEEPSEEK = ("--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 "
            "--multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 "
            "--qk-pos-emb-head-dim 64 --v-head-dim 128 --qk-layernorm --num-experts 256 "
            "--moe-layer-freq ([0]*3+[1]*58) --moe-ffn-hidden-size 2048 "
            "--moe-shared-expert-intermediate-size 2048 --moe-router-topk 8 --swiglu "
            "--normalization RMSNorm --position-embedding-type rope --disable-bias-linear "
            "--untie-embeddings-and-output-weights --vocab-size 129280 --seq-length 4096 "
            "--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 8192 "
            "--pipeline-model-parallel-size 16 --expert-model-parallel-size 64 --bf16 "
            "--decoder-first-pipeline-num-layers 4 --decoder-last-pipeline-num-layers 1")
PRETRAIN = "torchrun --nnodes {} --nproc_per_node 8 pretrain_gpt.py "
FOUR, EIGHT = "h100 " + PRETRAIN.format(4), "h100 " + PRETRAIN.format(8)
GPT2 = ("--num-layers 36 --hidden-size 1280 --num-attention-heads 20 --seq-length 1024 "
        "--max-position-embeddings 1024 --micro-batch-size 4 --global-batch-size 16 --fp16 --swiglu "
        "--use-distributed-optimizer")
ON_V3 = ("deepseek-v3 1024xh100 -b 16384 --micro-batch 1 --tp 2 --pp 8 --vp 4 --ep 64 --etp 1 --cp 1 "
         "--recompute selective --recompute-modules mla_up,mlp --overlap tp,pp ")
SPLIT = "--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --sequence-parallel "
SWIFT = ("16xa800 megatron sft --model Qwen/Qwen3-30B-A3B --tensor_model_parallel_size 2 "
         "--expert_model_parallel_size 8 --micro_batch_size 1 --global_batch_size 16 "
         "--recompute_granularity full --recompute_method uniform --recompute_num_layers 1 "
         "--max_length 8192 --packing true --sequence_parallel true --bf16 true")
VERL = ("qwen3-30b-a3b 32xh200 python3 -m verl.trainer.main_ppo "
        "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 "
        "actor_rollout_ref.actor.megatron.expert_model_parallel_size=8")
OFFLOADS = {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4, "bf16": {"enabled": True},
            "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"},
                                  "offload_param": {"device": "cpu"}}}
FSDP2 = {"modules": {"pre_trainer": {"framework": "megatron", "model": "llama3_70B.yaml", "overrides": {
    "use_torch_fsdp2": True, "micro_batch_size": 2, "global_batch_size": 16, "seq_length": 8192,
    "recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": 80,
    "cross_entropy_loss_fusion": True, "cross_entropy_fusion_impl": "te",
    "use_distributed_optimizer": False, "bf16": True}}}}

# Name, command, what fields of the answer hold; a command instead: the same step and memory.
CASES = (
    ("megatron-01", FOUR + LLAMA + "--tokenizer-type Llama3Tokenizer", FOUR + LLAMA),
    ("megatron-02", FOUR + LLAMA + "--qk-layernorm", {"model.parameters": 8030269440}),
    ("megatron-03", EIGHT + LLAMA_70B + SPLIT + "--recompute-granularity full --recompute-method uniform "
     "--recompute-num-layers 1", EIGHT + LLAMA_70B + SPLIT + "--recompute full"),
    ("megatron-04", EIGHT + LLAMA_70B + SPLIT,
     {"strategy.vp": 1, "strategy.cp": 1, "strategy.recompute": "none", "strategy.overlap": "none"}),
    ("megatron-05", "v100 " + PRETRAIN.format(1).replace("8", "1") + GPT2,
     {"strategy.attention": "unfused", "estimate.fits": False}),
    ("megatron-06", FOUR + QWEN_MOE + "--recompute-granularity selective --recompute-modules layernorm moe_act",
     {"strategy.recompute_modules": "norm+act"}),
    ("megatron-07", EIGHT + QWEN_MOE + "--overlap-moe-expert-parallel-comm", {"strategy.overlap": "moe"}),
    ("megatron-08", FOUR + LLAMA + "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params",
     {"strategy.zero": 3}),
    ("megatron-08", FOUR + LLAMA + "--use-torch-fsdp2", {"strategy.zero": 3}),
    ("megatron-09", EIGHT + QWEN_MOE + "--optimizer-cpu-offload", {"strategy.offload": "optimizer"}),
    ("megatron-12", ON_V3 + "--pipeline-model-parallel-layout Et|(tt|)*30mL", ON_V3 + "--layout 1,2*30,0"),
    ("megatron-13", "h100 python -m torch.distributed.run --nnodes 4 --nproc_per_node 8 pretrain_gpt.py "
     + LLAMA, {"strategy.accelerators": 32, "strategy.dp": 32}),
    ("megatron-13", "h100 srun -N 4 --gpus-per-node=8 python pretrain_gpt.py " + LLAMA,
     {"strategy.accelerators": 32, "strategy.dp": 32}),
    ("megatron-15", "h100 " + PRETRAIN.format(128) + DEEPSEEK,
     {"model.parameters": 671026419200 - 58 * 256}),  # without the bias of experts
    ("megatron-17", "llama2-13b 8xa100 --seq 4096 --deepspeed {ds}", {"strategy.offload": "optimizer+weights+gradients"}),
    ("megatron-19", "llama2-13b a100 deepspeed --num_nodes 4 --num_gpus 8 train.py --deepspeed --zero 2 "
     "--seq 4096", {"strategy.accelerators": 32}),
    ("megatron-27", SWIFT, {"strategy.tp": 2, "strategy.ep": 8, "strategy.recompute": "full",
                            "strategy.micro_batch": 1, "strategy.seq_tokens": 8192}),
    ("megatron-28", VERL, {"strategy.tp": 4, "strategy.ep": 8}),
    ("megatron-29", "mi300x --accelerators 8 --from {fsdp2}",
     {"strategy.zero": 3, "strategy.gradient_bytes_per_parameter": 2, "estimate.fits": True}),
    ("megatron-30", "--model llama3-8b 8xh100 torchrun pretrain_gpt.py --num-layers 80 "
     "--tensor-model-parallel-size 2", "contradicts"),
    ("megatron-31", EIGHT + QWEN_MOE + "--tokenizer-type HuggingFaceTokenizer --tokenizer-model Qwen/Qwen3-30B-A3B",
     {"model.parameters": 30531074048}),
    ("megatron-33", FOUR + LLAMA + "--tensor-model-parallel-size 4 --sequence-parallel",
     {"strategy.overlap": "none"}),
    ("megatron-38", "llama3-8b 8xh100 --offload optimizer", {"strategy.offload": "optimizer"}),
)
SAME = ("step_s", "memory_total_bytes")


def ask(program, words):
    return subprocess.run([program, "estimate", *words, "--json"], capture_output=True, text=True,
                          timeout=120)


def faults(program, words, wanted, places):
    done = ask(program, words)
    if isinstance(wanted, str) and done.returncode == 2:
        return [] if wanted in done.stderr else [done.stderr.strip()]
    if done.returncode == 2:
        return [done.stderr.strip()]
    answer = json.loads(done.stdout)
    if isinstance(wanted, str):
        other = json.loads(ask(program, [w.format(**places) for w in wanted.split()]).stdout)
        return [f"{name}: {other['estimate'][name]} expected, {answer['estimate'][name]} found"
                for name in SAME if other["estimate"][name] != answer["estimate"][name]]
    wrong = []
    for name, value in wanted.items():
        part, field = name.split(".")
        if answer[part].get(field) != value:
            wrong.append(f"{name}: {value} expected, {answer[part].get(field)} found")
    return wrong


def main():
    program, wrong = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as folder:
        places = {"ds": f"{folder}/ds.json", "fsdp2": f"{folder}/fsdp2.json"}
        for name, document in (("ds", OFFLOADS), ("fsdp2", {"config": FSDP2})):
            with open(places[name], "w", encoding="utf-8") as file:
                json.dump(document, file)
        for name, command, wanted in CASES:
            for fault in faults(program, [w.format(**places) for w in command.split()], wanted, places):
                wrong += 1
                print(f"{name}: {fault}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
