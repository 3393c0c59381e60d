#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command runs on a stack of 128 KiB.

    stack.py RECKON

Large objects belong on the heap: threads of other programs may have small stacks.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile

RECKON = os.path.abspath(sys.argv[1])
STACK = 128 << 10
GRID = {"method": "reckon", "model": "llama3-8b", "system": "h100-sxm", "global_batch": 64,
        "axes": [{"key": "accelerators", "values": [8, 16]}]}
COMMANDS = """
plan llama3-8b 8xh100 -b 64
plan llama3-70b 8xh100 -b 64
plan llama3-8b 8xh100 -b 64 --csv
plan llama3-70b 64xh100 -b 512 --framework torchtitan --emit torchtitan
plan nemotron-h-56b 64xh100 -b 512 --emit megatron
plan --method calculon --model gpt3-175B --system a100_80g -p 2 -b 128
estimate llama3-8b 8xh100 --tp 2 --explain --operators
estimate deepseek-v3 512xh100 --pp 8 --ep 64 --tp 1 --json
fit llama3-70b 8xh100
fit llama3-70b 8xh100 --tp 8
run llama3-8b 8xh100 --tokens 1T -b 64
run --model llama3-8b --tokens 1T --deadline 60d --system h100-sxm:64
timeline llama3-8b 8xh100 -b 64 --pp 2
timeline llama3-8b 8xh100 -b 64 --pp 2 -o FOLDER/t.svg
comm all-reduce h100 --ranks 64 --algorithm all --explain
comm all-reduce h100 --plot FOLDER/c.svg
list
show llama3-8b
show a100_80g
explain llama3-8b 8xh100 -b 64
design --model llama3-8b --system h100-sxm -b 64 --prices example
shape llama3-8b 8xh100 -b 64 --blocks 32,36 --tolerance 5
validate --runs RUNS --json
validate --runs RUNS --plot FOLDER/v.svg
sweep FOLDER/grid.json
""".strip().split("\n")
failures = []


def limit():
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))


def main():
    runs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runs.csv")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "grid.json"), "w", encoding="utf-8") as file:
            json.dump(GRID, file)
        for command in COMMANDS:
            words = command.replace("FOLDER", folder).replace("RUNS", runs).split()
            done = subprocess.run([RECKON, *words], capture_output=True, text=True,
                                  encoding="utf-8", preexec_fn=limit, check=False)
            if done.returncode not in (0, 1):
                failures.append(f"{command}: exit status {done.returncode}, {done.stderr}")
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
