#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layouts of mixtures in the measured order, and what natural routing costs.

    mixtures.py PROGRAM TABLE.csv

Sources of the rows: yanring/Megatron-MoE-ModelZoo at e865051, best_practice/qwen3/readme.md (235B); the verification
cards and performance notes of NVIDIA-NeMo/Megatron-Bridge at 067f987d (30B).
"""

import json
import subprocess
import sys

LAYOUTS = ("deepep", "overlapped", "fsdp", "all-to-all", "small-experts")


def main():
    program, table = sys.argv[1:]
    run = subprocess.run([program, "validate", "--runs", table, "--json"], capture_output=True, text=True, check=True)
    rows = {row["id"]: row for row in json.loads(run.stdout)["rows"]}
    step = {name: row["step_s"] for name, row in rows.items()}
    faults = []

    def expect(holds, text):
        faults.extend([] if holds else [text])

    slowest = max(LAYOUTS, key=step.get)
    expect(slowest == "small-experts", f"slowest is {slowest}, not TP 4 with 16 experts on a rank")
    expect(min(LAYOUTS, key=step.get) == "overlapped", "overlapped all-to-all is not the fastest")
    expect(step["fsdp"] < step["deepep"], "FSDP, which ties for the fastest, is slower than the pipeline without overlap")
    for size in ("16k", "30b"):
        measured = rows[size + "-natural"]["step_measured_s"] / rows[size + "-forced"]["step_measured_s"]
        ratio = step[size + "-natural"] / step[size + "-forced"]
        expect(abs(ratio / measured - 1) < 0.06,
               f"natural routing of {size} takes {ratio:.2f} times as long, measured {measured:.2f}")
    print("\n".join(faults))
    return bool(faults)


sys.exit(main())
