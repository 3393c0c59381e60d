#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches that `reckon plan --emit megatron` writes are read back as the same job: step and memory
are those of the plan, to the last digit.

    emitted_megatron.py RECKON [COUNT [SEED]]

The strategies are random ones of dense models, mixtures, latent attention and hybrids.  A question
whose plan finds nothing, or that no launch of the framework can say, counts for nothing; half of
them must count.  PP communication is not asked to overlap, which Megatron-LM does only with virtual
stages.
"""

import json
import random
import subprocess
import sys
import tempfile

DENSE = ("llama3-8b", "llama2-7b", "gpt3-13b", "qwen3-8b", "qwen3-14b", "qwen2.5-7b", "llama3-70b")
MIXTURES = ("qwen3-30b-a3b", "mixtral-8x7b", "deepseek-v2-lite", "gpt-oss-20b", "nemotron-3-nano-30b")
SYSTEMS = ("h100", "a100", "b200", "h200")
OPTIONS = (
    ("--tp", (1, 2, 4, 8)), ("--cp", (1, 1, 2)), ("--zero", (0, 1)), ("--micro-batch", (1, 2, 4)),
    ("--seq", (2048, 4096, 8192)), ("--precision", ("bf16", "fp8")),
    ("--recompute", ("none", "selective", "full", "full --recompute-layers 2", "full --recompute-layers 4")),
    ("--pp", (1, 2, 4, "2 --vp 2", "4 --vp 2")), ("--offload", ("none", "none", "none", "optimizer")),
)
SAME = ("step_s", "memory_total_bytes", "memory_allocated_bytes")


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=300)


def draw(source):
    mixture = source.random() < 0.5
    words = [source.choice(MIXTURES if mixture else DENSE),
             f"{source.choice((16, 32, 64))}x{source.choice(SYSTEMS)}",
             "--global-batch", str(source.choice((64, 128, 256))), "--framework", "megatron",
             "--overlap", source.choice(("tp,grad,param", "none"))]
    for option, values in OPTIONS + ((("--ep", (1, 2, 4, 8)),) if mixture else ()):
        if source.random() < 0.5:
            words += [option, *str(source.choice(values)).split()]
    return words


def differences(program, words):
    """What is read otherwise than it was written; None where nothing was written."""
    plan = run(program, "plan", *words, "--json")
    script = run(program, "plan", *words, "--emit", "megatron")
    if plan.returncode or script.returncode:
        return None
    wanted = json.loads(plan.stdout)["strategies"][0]
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script.stdout)
        file.flush()
        read = run(program, "estimate", words[1], "--from", file.name, "--json")
    if read.returncode:
        return [read.stderr.strip() or f"exit {read.returncode}"]
    found = json.loads(read.stdout)
    wrong = [f"{name} {wanted['estimate'][name]!r} written, {found['estimate'][name]!r} read"
             for name in SAME if wanted["estimate"].get(name) != found["estimate"].get(name)]
    return wrong and wrong + [f"{name} {value!r} written, {found['strategy'].get(name)!r} read"
                              for name, value in wanted["strategy"].items()
                              if found["strategy"].get(name) != value]


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    source = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    held = wrong = 0
    for _ in range(count):
        words = draw(source)
        found = differences(program, words)
        if found:
            wrong += 1
            print(f"plan {' '.join(words)} --emit megatron:")
            print("".join(f"    {line}\n" for line in found), end="")
        held += found == []
    print(f"{held} of {count} are read as they were written, {wrong} are not")
    sys.exit(wrong > 0 or held < count // 2)


if __name__ == "__main__":
    main()
