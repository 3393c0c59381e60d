#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Configurations that `reckon plan --emit torchtitan` writes are read back as the same strategy and step.

    emitted.py RECKON
"""

import json
import subprocess
import sys
import tempfile

QUESTIONS = (
    "llama3-70b 64xh100", "llama3-8b 16xh100 --pp 2", "llama3-8b 32xh100 --tp 4 --hsdp 2",
    "llama3-8b 16xh100 --cp 4 --seq 65536 --global-batch 16", "deepseek-v2-lite 32xh100 --ep 8",
    "llama3.1-405b 512xh100 --tp 8 --pp 4 --vp 2 --precision fp8",
    "llama3-8b 64xh100 --tp 2 --pp 4 --vp 2 --micro-batch 2 -b 256 --zero 2 --seq 4096",
)
SAME = {"tp": "tp", "pp": "pp", "cp": "cp", "ep": "ep", "dp": "dp", "zero": "zero",
        "micro_batch": "micro_batch", "global_batch": "global_batch", "seq": "seq_tokens",
        "processes": "accelerators"}


def run(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"reckon {' '.join(words)}: {done.stderr}")
    return done.stdout


def main():
    program, wrong = sys.argv[1], 0
    for question in QUESTIONS:
        words = ["plan", *question.split(), "--framework", "torchtitan"]
        plan = json.loads(run(program, *words, "--json"))["strategies"][0]
        strategy, step = plan["strategy"], plan["estimate"]["step_s"]
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(run(program, *words, "--emit", "torchtitan"))
            file.flush()
            answer = json.loads(run(program, "convert", file.name, "--json"))
            again = json.loads(run(program, "estimate", "--from", file.name, question.split()[1], "--json"))
        facts = {name: fact["value"] for name, fact in answer["facts"].items()}
        wanted = {field: strategy[member] for field, member in SAME.items()}
        wanted["vp"] = strategy["vp"] if strategy["pp"] > 1 else 1
        wanted["hsdp"] = strategy["hsdp_replicas"] if strategy["zero"] else 1
        if strategy["pp"] > 1:
            wanted["schedule"] = strategy["schedule"]
        wanted["recompute.granularity"] = strategy["recompute"]
        for field, value in wanted.items():
            if facts.get(field) != value:
                wrong += 1
                print(f"{question}: {field}: {value} written, {facts.get(field)} read")
        if abs(again["estimate"]["step_s"] / step - 1) > 1e-9:
            wrong += 1
            print(f"{question}: {step} s written, {again['estimate']['step_s']} s read")
        for use in ("not_priced", "unknown"):
            for key in answer["keys"][use]:
                wrong += 1
                print(f"{question}: {key['key']}: {use}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
