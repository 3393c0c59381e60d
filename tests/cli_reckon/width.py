#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No line of text is wider than the page, and a wide page has the columns that a narrow one leaves out.

    width.py RECKON

Runs commands with COLUMNS=80 into a pipe, and some on narrow and wide pages.  Fails on wider lines.
"""

import os
import re
import subprocess
import sys

RECKON = os.path.abspath(sys.argv[1])
COMMANDS = """
estimate llama3-70b 64xh100 --tp 4 --pp 4
estimate deepseek-v3 2048xh800 --pp 16 --ep 64 --tp 1 --explain
estimate llama3-8b 8xb200 --precision fp8 --operators
estimate llama3-8b 8xh100 --tp 3
plan llama3-70b 64xh100
plan deepseek-v3 2048xh800 --pp 16 --ep 64 --tp 1
plan llama3.1-405b 8xh100
plan mixtral-8x7b 256xh100 -n 3
plan --method calculon --model megatron-22B --system a100_80g -p 8 -b 4 --datatype float16
fit llama3-70b 8xh100
fit llama3-8b 64xh100 --seq 128k
run llama3-70b 512xh100 --tokens 1T
run llama3.1-405b 16384xh100 --tokens 15.6T
timeline llama3-8b 32xh100 --pp 4
explain llama3-8b 16xh100
explain llama3.1-405b 8xh100
comm all-reduce h100 --ranks 64
comm all-gather --system atlas-800t-a2 --ranks 31 --bytes 1Mi..4Mi --algorithm best --explain
list
list models
list systems
list accelerators
list stacks
list runs
list aliases
list calculon-models
list calculon-systems
help
""".split("\n")
# Rows of lists on a page of 240 columns, by their cells.
ROWS = {
    "list accelerators": (
        ("accelerator", "memory, GiB", "GB/s", "matrix, TFLOP/s", "usual network, accelerators x GB/s"),
        ("h100-sxm", "79.1", "3352", "bf16 989.4, fp16 989.4, fp8 1979", "NVLink4: 8 x 450; NDR InfiniBand: 50"),
        ("tpu-v5p", "93", "2765", "bf16 459, fp16 459, int8 918", "ICI 3D torus: 8960 x 540; DCN: 6.25")),
    "list systems": (
        ("system", "accelerator", "network, accelerators x GB/s"),
        ("dgx-h100-superpod", "h100-sxm", "NVLink4: 8 x 450; NDR InfiniBand: 1024 x 50"),
        ("selene", "a100-sxm-80gb", "NVLink3: 8 x 300; HDR InfiniBand: 4480 x 25")),
}
failures = []


def ask(words, width):
    done = subprocess.run([RECKON, *words], env=dict(os.environ, NO_COLOR="1", COLUMNS=str(width)),
                          text=True, encoding="utf-8", stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    if done.returncode not in (0, 1) and "--tp 3" not in " ".join(words):
        raise SystemExit(f"reckon {' '.join(words)}: {done.stderr}")
    return done.stdout


def check(words, width):
    lines = ask(words, width).splitlines()
    for line in lines:
        if len(line) > width:
            failures.append(f"reckon {' '.join(words)}: {len(line)} of {width}: {line}")
    return len(lines)


def main():
    seen = 0
    for command in filter(None, COMMANDS):
        seen += check(command.split(), 80)
    for line in ask(["help"], 80).splitlines():
        if line.startswith("  ") and line.split()[0] not in ("help", "version", "calculon"):
            seen += check([line.split()[0], "--help"], 80)
            seen += check([line.split()[0], "--help-all"], 80)
    seen += check("plan llama3-70b 64xh100".split(), 60)
    seen += check("estimate llama3-70b 64xh100".split(), 100)
    for command, rows in ROWS.items():
        found = {tuple(re.split(" {2,}", line.strip())) for line in ask(command.split(), 240).splitlines()}
        failures.extend(f"reckon {command}: no row {row}" for row in rows if row not in found)
    if seen < 1000:
        failures.append(f"only {seen} lines")
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
