#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the changes which `reckon estimate --changes` lists keep their promise.

A launch line of Megatron-LM is priced; each change is applied to the line as the flags that the
answer names, and the line that results must have the step and the memory that were promised.
Changes are sorted, each makes the step faster or leaner, and a line with all of overlap, sharding
and no recomputation has fewer of them than one without.
"""

import json
import subprocess
import sys

MODEL = """pretrain_gpt.py --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672
    --num-attention-heads 64 --group-query-attention --num-query-groups 8 --swiglu
    --seq-length 4096 --max-position-embeddings 4096 --position-embedding-type rope
    --untie-embeddings-and-output-weights --vocab-size 131072 --disable-bias-linear
    --normalization RMSNorm --micro-batch-size 1 --global-batch-size 512 --bf16""".split()
EXPERTS = """pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336
    --num-attention-heads 32 --group-query-attention --num-query-groups 8 --swiglu
    --seq-length 4096 --max-position-embeddings 4096 --position-embedding-type rope
    --untie-embeddings-and-output-weights --vocab-size 32768 --disable-bias-linear
    --normalization RMSNorm --micro-batch-size 1 --global-batch-size 256 --bf16
    --num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 14336 --moe-grouped-gemm""".split()
LINES = [
    MODEL + """--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4
        --use-distributed-optimizer --recompute-granularity full --recompute-method uniform
        --recompute-num-layers 1""".split(),
    MODEL + """--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4
        --num-virtual-stages-per-pipeline-rank 5 --sequence-parallel --use-distributed-optimizer
        --overlap-grad-reduce --overlap-param-gather --tp-comm-overlap""".split(),
    EXPERTS + """--tensor-model-parallel-size 2 --expert-model-parallel-size 8 --sequence-parallel
        --use-distributed-optimizer --expert-tensor-parallel-size 1""".split(),
]


def ask(program, line):
    done = subprocess.run([program, "estimate", "64xh100", "--from", "-", "--json"],
                          input=" ".join(line), capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit(f"{' '.join(line)}: {done.stderr}")
    return json.loads(done.stdout)


def apply(line, flags):
    """The line with flags set, or left out where they are "without" it; None: no flags."""
    line = list(line)
    for change in flags.split(", "):
        without = change.startswith("without ")
        words = change.removeprefix("without ").split()
        if not words[0].startswith("--"):
            return None
        if words[0] in line:
            start = end = line.index(words[0])
            while end + 1 < len(line) and not line[end + 1].startswith("--"):
                end += 1
            del line[start:end + 1]
        elif without:
            return None
        line += [] if without else words
    return line


def main():
    program, faults, counts, applied = sys.argv[1], [], [], 0
    for line in LINES:
        answer = ask(program, line)
        counts.append(len(answer["changes"]))
        step, memory = answer["estimate"]["step_s"], answer["estimate"]["memory_total_bytes"]
        faster = [c for c in answer["changes"] if c["step_s"] < 0.995 * step]
        if sorted(faster, key=lambda c: c["step_s"]) != answer["changes"][:len(faster)]:
            faults.append("changes are not sorted by time")
        for change in answer["changes"]:
            if change["step_s"] >= 0.995 * step and change["memory_total_bytes"] >= 0.97 * memory:
                faults.append(f"{change['change']} gains nothing")
            changed = apply(line, change["flags"])
            if changed is None:
                continue
            applied += 1
            then = ask(program, changed)["estimate"]
            for key in ("step_s", "memory_total_bytes"):
                if abs(then[key] / change[key] - 1) > 1e-9:
                    faults.append(f"{change['flags']}: {key} {then[key]}, {change[key]} promised")
    if counts[1] >= counts[0]:
        faults.append(f"{counts[1]} changes for a tuned line, {counts[0]} for one that is not")
    if applied < 15:
        faults.append(f"only {applied} changes could be applied")
    print("\n".join(faults) or f"{applied} changes keep their promise")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())
