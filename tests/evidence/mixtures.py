#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layouts of mixtures in the measured order, microbatches, formats, routing and frameworks of mixtures.

    mixtures.py PROGRAM TABLE.csv

Sources of the rows: yanring/Megatron-MoE-ModelZoo at e865051, best_practice/qwen3/readme.md (235B); the verification
cards and performance notes of NVIDIA-NeMo/Megatron-Bridge at 067f987d (30b, 20b, 8b, 120b); AMD-AGI/Primus at fd1eeabb
(sweep); torchtitan 1789 and NousResearch/torchtitan 19 (titan).
"""

import itertools
import json
import statistics
import subprocess
import sys

LAYOUTS = ("deepep", "overlapped", "fsdp", "all-to-all", "small-experts")
NATURAL = ("30b-natural", "20b-natural", "8b-dense", "120b-natural")
EQUAL = 1.03  # times that are taken to be the same

# Megatron-LM, pull request 5728: 240.5 and 242.9 TFLOP/s, equal within 1 %.
FORMATS = "qwen3-30b-a3b 32xh100 --seq 4096 --tp 1 --pp 1 --cp 1 --ep 8 --mbs 1 -b 256 --zero 1 --recompute none"
# Hugging Face under DeepSpeed, reported to run out of memory: no expert parallelism unless it is asked for.
WHOLE = "qwen3-30b-a3b 32xh100 --framework deepspeed --zero 2 --mbs 1 --accumulation 4 --seq 8192 --recompute full"


def main():
    program, table = sys.argv[1:]
    faults = []

    def ask(*arguments):
        run = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True)
        return json.loads(run.stdout)

    def expect(holds, text):
        faults.extend([] if holds else [text])

    rows = {row["id"]: row for row in ask("validate", "--runs", table)["rows"]}
    step = {name: row["step_s"] for name, row in rows.items()}
    measured = {name: row["step_measured_s"] for name, row in rows.items()}
    error = {name: abs(row["step_error"]) for name, row in rows.items()}
    for name in LAYOUTS:
        expect(error[name] < 0.15, f"{name} is {100 * rows[name]['step_error']:+.1f} % off")
    for one, other in itertools.permutations(LAYOUTS, 2):
        expect(measured[one] < EQUAL * measured[other] or step[one] * EQUAL > step[other],
               f"{one} is predicted faster than {other}, and was slower")
    for size in ("16k", "30b"):
        real = measured[size + "-natural"] / measured[size + "-forced"]
        ratio = step[size + "-natural"] / step[size + "-forced"]
        expect(abs(ratio / real - 1) < 0.06,
               f"natural routing of {size} takes {ratio:.2f} times as long, measured {real:.2f}")
    expect(statistics.median(error[name] for name in NATURAL) < 0.12, "natural routing is off")
    sweep = [name for name in rows if name.startswith("sweep-")]
    rate = [row["tokens_per_s"] for row in (rows[name] for name in sweep)]
    expect(rate == sorted(rate), "larger microbatches and DeepEP are not faster")
    expect(statistics.median(error[name] for name in sweep) < 0.12, "microbatches on MI355X are off")
    expect(step["titan-deepep"] < step["titan-alltoall"], "DeepEP is slower than all-to-all")
    titan = [name for name in rows if name.startswith("titan-")]
    expect(statistics.median(error[name] for name in titan) < 0.12, "torchtitan is off")

    wide, narrow = (ask("estimate", *FORMATS.split(), *format_.split())["estimate"]["step_s"] for format_ in
                    ("--precision bf16", "--precision fp8 --fp8-recipe blockwise"))
    expect(narrow < 1.25 * wide, f"8 bits take {narrow / wide:.2f} times as long as 16, measured 0.99")
    whole, split = ask("estimate", *WHOLE.split()), ask("estimate", *WHOLE.split(), "--ep", "8")
    expect(whole["strategy"]["ep"] == 1 and not whole["estimate"]["fits"], "DeepSpeed splits experts unasked")
    expect(split["strategy"]["ep"] == 8 and split["estimate"]["fits"], "DeepSpeed does not split experts")
    print("\n".join(faults))
    return bool(faults)


sys.exit(main())
