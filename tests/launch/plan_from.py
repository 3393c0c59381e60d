#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`reckon plan --from` shows the layout of the launch as `reckon estimate --from` prices it, and the
flags that it prints make the best strategy of the launch: plan_from.py RECKON."""

import json
import subprocess
import sys
import tempfile

DENSE = ("torchrun --nnodes {nodes} --nproc-per-node 8 pretrain_gpt.py --num-layers {layers} "
         "--hidden-size {hidden} --ffn-hidden-size {ffn} --num-attention-heads {heads} "
         "--group-query-attention --num-query-groups 8 --seq-length 4096 --swiglu "
         "--max-position-embeddings 4096 --normalization RMSNorm --position-embedding-type rope "
         "--disable-bias-linear --untie-embeddings-and-output-weights --vocab-size 131072 --bf16 "
         "--hidden-dropout 0 --attention-dropout 0 --global-batch-size 128 ")
SMALL = DENSE.format(nodes=2, layers=32, hidden=4096, ffn=14336, heads=32)
LARGE = DENSE.format(nodes=8, layers=80, hidden=8192, ffn=28672, heads=64)
EXPERTS = ("--num-experts 8 --moe-router-topk 2 --moe-grouped-gemm --moe-permute-fusion "
           "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep ")
LINES = (
    SMALL + "--micro-batch-size 1 --tensor-model-parallel-size 8 --sequence-parallel",
    SMALL + "--micro-batch-size 1",  # does not fit
    LARGE + "--micro-batch-size 1 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 "
            "--num-layers-per-virtual-pipeline-stage 5 --sequence-parallel "
            "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 "
            "--use-distributed-optimizer --cross-entropy-loss-fusion --cross-entropy-fusion-impl te",
    SMALL + EXPERTS + "--micro-batch-size 1 --expert-model-parallel-size 8 "
                      "--tensor-model-parallel-size 2 --sequence-parallel --use-distributed-optimizer",
)
SAME = ("step_s", "memory_total_bytes")
SECTIONS = ("python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B "
            "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 data.train_batch_size=64 "
            "actor_rollout_ref.actor.megatron.expert_model_parallel_size=4 "
            "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 trainer.nnodes=4 trainer.n_gpus_per_node=8 "
            "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.rollout.tensor_model_parallel_size=2")


def run(program, verb, line, *words):
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(line)
        file.flush()
        done = subprocess.run([program, verb, "--from", file.name, "h100", "--json", *words],
                              capture_output=True, text=True, timeout=300)
    return json.loads(done.stdout) if done.stdout else sys.exit(f"{verb} --from: {done.stderr}")


def changed(line, remove, new):
    """The line without some flags and their values, and with others after it."""
    names = {word for word in remove.split() + new.split() if word.startswith("--")}
    words, drops = [], False
    for word in line.split():
        drops = word in names if word.startswith("--") else drops
        words += [] if drops else [word]
    return " ".join(words) + " " + new


def main():
    program, wrong = sys.argv[1], 0
    for line in LINES:
        plan = run(program, "plan", line)
        now = run(program, "estimate", line)["estimate"]
        launched, best = plan["launched"], plan["strategies"][0]["estimate"]
        made = run(program, "estimate", changed(line, launched["remove"], launched["set"]))["estimate"]
        for what, a, b in (("the launch", now, launched["estimate"]), ("the plan", best, made)):
            for name in SAME:
                if a[name] != b[name]:
                    wrong += 1
                    print(f"{line}\n  set {launched['set']}\n  remove {launched['remove']}\n"
                          f"  {name} of {what}: {a[name]} and {b[name]}")
        if not launched["set"] or best["step_s"] >= now["step_s"] and now["fits"]:
            wrong += 1
            print(f"{line}: {launched['set']!r} gains nothing")
    line = LINES[0]
    for room, words in (("plan", ()), ("nothing that fits", ("--max-memory", "1"))):
        launched = run(program, "plan", line, *words)["launched"]["estimate"]
        now = run(program, "estimate", line, *words)["estimate"]
        if any(launched[name] != now[name] for name in now):
            wrong += 1
            print(f"{line}: the launch beside {room} is not as estimated")
    for change in run(program, "estimate", SECTIONS)["changes"]:  # in the section that the launch has
        name = change.get("flags", "").split("=")[0]
        if name.endswith("_parallel_size") and name.rpartition(".")[0] != "actor_rollout_ref.actor.megatron":
            wrong += 1
            print(f"{name} is not where the launch has it")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
