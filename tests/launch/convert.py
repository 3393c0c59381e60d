#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `reckon convert` prints of lines of the Megatron family.

    convert.py RECKON
"""

import json
import os
import subprocess
import sys
import tempfile

RECKON = os.path.abspath(sys.argv[1])
LINE = ("torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 "
        "--seq-length 2048 --micro-batch-size 2 --global-batch-size 64 --bf16 ")
VERL = ("python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-8B "
        "actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.top_p=1 critic.strategy=fsdp ")

# A line, and texts that the answer has.
SHOWN = [
    (LINE, ["a launch of megatron-lm", "micro-batch-size, line 1", "framework default"]),
    (LINE + "--no-such 1", ["Unknown:\n  no-such\n"]),
    (LINE + "--no-such\x1b[31m 1", ["Unknown:\n  no-such?[31m\n"]),
    (VERL.replace("Qwen/Qwen3-8B", "a" + 30 * "é"), ["  a" + 18 * "é" + "...\n"]),
    (LINE + "--deterministic-mode", ["Not priced:\n  deterministic-mode: deterministic kernels"]),
    (VERL, ["actor_rollout_ref.rollout.name and 1 more: generation is not priced",
            "critic.strategy: the critic is not priced"]),
]
REFUSED = [
    (LINE.replace("pretrain_gpt", "pretrain_t5"), "trains an encoder with a decoder, which is not priced"),
    ("echo hello", "not a launch of a framework that is known"),
]


def run(line, *options):
    return subprocess.run([RECKON, "convert", "-", "-v", *options], input=line, capture_output=True, text=True, timeout=60)


failures = []
for line, texts in SHOWN:
    answer = run(line)
    failures += [f"{line}: no {text!r} in\n{answer.stdout}{answer.stderr}" for text in texts
                 if text not in answer.stdout]
    keys = json.loads(run(line, "--json").stdout)["keys"]
    names = [key["key"] for use in keys.values() for key in use]
    failures += [f"{line}: {word} is lost" for word in line.split() if word.startswith("--")
                 and word[2:] not in names and word != "--nproc-per-node"]
for line, text in REFUSED:
    answer = run(line)
    if answer.returncode != 2 or text not in answer.stderr:
        failures.append(f"{line}: {answer.returncode}, {answer.stderr}")

# Words behind the name of a script are its own; a name may have a blank.
with tempfile.TemporaryDirectory() as folder:
    for name in ("run.sh", "my run.sh"):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + LINE + "--tensor-model-parallel-size ${1:-2}\n")
    for path, tp in (("run.sh", 2), ("run.sh 4", 4), ("my run.sh", 2)):
        done = subprocess.run([RECKON, "convert", path, "--json"], cwd=folder, capture_output=True, text=True, timeout=60)
        if done.returncode or json.loads(done.stdout)["facts"]["tp"]["value"] != tp:
            failures.append(f"{path}: TP {tp} expected: {done.stdout[:200]}{done.stderr}")

# A model of facts: two dense layers before six with experts.
MIXED = ("run_name: x\nbase_num_decoder_layers: 8\nbase_emb_dim: 1024\nbase_mlp_dim: 4096\nbase_moe_mlp_dim: 512\n"
         "base_num_query_heads: 8\nbase_num_kv_heads: 8\nhead_dim: 128\nvocab_size: 32000\nnum_experts: 16\n"
         "num_experts_per_tok: 2\nfirst_num_dense_layers: 2\nmax_target_length: 2048\nper_device_batch_size: 1\n")
done = subprocess.run([RECKON, "estimate", "--from", "-", "8xh100", "--json"], input=MIXED, capture_output=True,
                      text=True, timeout=60)
shared = 2 * 32000 * 1024 + 17 * 1024 + 8 * 4 * 1024 * 1024 + 2 * 3 * 1024 * 4096 + 6 * 16 * 1024
wanted = {"parameters": shared + 6 * 16 * 3 * 1024 * 512, "active_parameters": shared + 6 * 2 * 3 * 1024 * 512}
if done.returncode or any(json.loads(done.stdout)["model"][key] != value for key, value in wanted.items()):
    failures.append(f"{wanted} expected: {done.stdout[:600]}{done.stderr}")

print("\n".join(failures))
sys.exit(1 if failures else 0)
