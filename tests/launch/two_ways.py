#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flags of Megatron-LM are the same job as options of reckon, in a line and in a launch that --from takes.

    two_ways.py RECKON [JOBS [SEED]]

Each way has its own reader. Random jobs have to get the same strategy and the same parameters by both; kernels that a
launch states and a question leaves open are not compared.
"""

import json
import random
import subprocess
import sys
import tempfile

from cases import LLAMA, QWEN_MOE

PROCESSES = 64
DENSE = LLAMA.replace("--vocab-size 128256", "--vocab-size 131072").replace("--use-distributed-optimizer ", "")
MOE = QWEN_MOE.replace("--expert-model-parallel-size 8 --expert-tensor-parallel-size 1 ", "--vocab-size 131072 ") \
    .replace("--use-distributed-optimizer ", "").replace("512", "128")


def draw(chance):
    """The flags of a job, with a layout that fits 64 ranks and 32 or 48 layers."""
    moe = chance.random() < 0.4
    tp, pp, cp = chance.choice([1, 2, 4, 8]), chance.choice([1, 2, 4]), chance.choice([1, 1, 2])
    flags = [f"--tensor-model-parallel-size {tp}", f"--pipeline-model-parallel-size {pp}", f"--context-parallel-size {cp}"]
    some = lambda *choices: flags.append(chance.choice(choices))
    if moe:
        ep = chance.choice([1, 2, 4, 8])
        flags += [f"--expert-model-parallel-size {ep}", "--expert-tensor-parallel-size 1"]
        some("", "--moe-grouped-gemm", "--moe-token-dispatcher-type alltoall", "--moe-permute-fusion")
        some("", "--moe-layer-freq ([0]*4+[1]*44)", "--moe-shared-expert-intermediate-size 768", "--moe-router-topk 4")
    if tp > 1:
        some("", "--sequence-parallel")
    if cp > 1:
        some("", "--cp-comm-type a2a", "--cp-comm-type all_gather", "--cp-comm-type p2p")
    if pp > 1:
        some("", "--num-layers-per-virtual-pipeline-stage 2", "--num-virtual-stages-per-pipeline-rank 2",
             "" if moe else "--pipeline-model-parallel-layout " + "|".join(["E" + "t" * (32 // pp)] + ["t" * (32 // pp)] * (pp - 2) +
                                                          ["t" * (32 // pp) + "L"]))
    some("", "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
         "--recompute-granularity full --recompute-method block --recompute-num-layers 3",
         "--recompute-granularity selective", "--recompute-granularity selective --recompute-modules core_attn mlp",
         "--recompute-granularity selective --recompute-modules layernorm moe_act" if moe else "--recompute-activations")
    some("", "--use-distributed-optimizer", "--use-torch-fsdp2" if pp == 1 and not moe else "--use-distributed-optimizer")
    if "--use-distributed-optimizer" in flags:
        some("", "--overlap-grad-reduce", "--overlap-grad-reduce --overlap-param-gather")
        some("", "", "--optimizer-cpu-offload")
    some("", "--micro-batch-size 2", "--global-batch-size 256", "--seq-length 4096")
    return PROCESSES // 8, (MOE if moe else DENSE) + " ".join(filter(None, flags))


def ask(program, words):
    done = subprocess.run([program, "estimate", *words, "--json"], capture_output=True, text=True, timeout=120,
                          check=False)
    if done.returncode > 1:
        return done.stderr.strip()
    answer = json.loads(done.stdout)
    return {**answer["strategy"], "parameters": answer["model"]["parameters"]}


def main():
    program, jobs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 30
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    wrong = priced = 0
    for _ in range(jobs):
        nodes, flags = draw(chance)
        launch = f"torchrun --nnodes {nodes} --nproc_per_node 8 pretrain_gpt.py {flags}"
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"argv": launch.split()}, file)
            file.flush()
            read = ask(program, ["--from", file.name, "h100"])
        typed = ask(program, ["h100", "--accelerators", str(PROCESSES), *flags.split()])
        if isinstance(read, str) != isinstance(typed, str):
            print(f"{flags}\n  launch: {read}\n  line: {typed}")
            wrong += 1
        elif not isinstance(read, str):
            priced += 1
            apart = {key: (read[key], typed.get(key)) for key in read if read[key] != typed.get(key)}
            wrong += bool(apart)
            if apart:
                print(f"{flags}\n  (launch, line): {apart}")
    print(f"{jobs} jobs, {priced} priced, {wrong} differ")
    sys.exit(wrong > 0 or priced < jobs / 2)


if __name__ == "__main__":
    main()
