#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers fit on one screen: each has at most 24 lines of 80 columns.

    screen.py RECKON FOLDER

Each answer says what was asked and assumed, and what is recommended; -v says more.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

RECKON = os.path.abspath(sys.argv[1])
LINES, COLUMNS = 24, 80
QUESTIONS = """
plan llama3-70b 64xh100
plan llama3-8b 8xh100 --seq 32k
plan llama3.1-405b 16384xh100-roce-24k -b 2048
plan deepseek-v3 2048xh800 --pp 16 --ep 64 --tp 1
plan mixtral-8x7b 256xh100
plan qwen3-235b-a22b 512xgb200
plan llama3-70b 64xh100 --set nvlink.size=64 --set memory=192GiB --set hbm=8TB/s
plan llama3-70b 64xb200 --precision fp8
plan llama3-8b 64xtpu-v5p
plan gpt3-175b 1024xa100 -b 1536
plan llama3.1-405b 8xh100
plan llama3-8b 8xh100 -n 5
plan llama3-8b 1xh200 --lora-rank 16
estimate llama3-70b 64xh100 --tp 4 --pp 4
estimate llama3-8b 8xh100
estimate llama3-8b 8xh100 -b 64
estimate deepseek-v3 2048xh800 --pp 16 --ep 64 --tp 1
estimate llama3-8b 8xb200 --precision fp8
estimate llama3-70b 4xh100 --tp 4
estimate llama3-8b 16xmi300x
estimate mixtral-8x7b 64xh100 --ep 8
estimate nemotron-h-56b 64xh100
estimate llama3-70b 8xh100 --framework huggingface
estimate llama3-8b 1xrtx-4090 --qlora --lora-rank 16
fit llama3-70b 8xh100
fit llama3-70b 64xh100
fit llama3-8b 64xh100 --seq 128k
fit llama3.1-405b 16xh100
fit llama3-70b 4xh100 --tp 4 --zero 3
fit deepseek-v3 128xh800
fit llama3-8b 1xrtx-4090
fit qwen3-8b rtx4090
fit qwen3-8b rtx4090 --micro-batch 4
fit llama3-70b h100
fit llama3-8b rtx4090 --lora-rank 16
fit llama3-8b rtx4090 --qlora --lora-rank 16
fit llama3-8b tpu-v5p
fit qwen3-8b 16xrtx4090 --framework huggingface --zero 3 --seq 4096 -b 16
run llama3-70b 512xh100 --tokens 1T
run llama3.1-405b 16384xh100-roce-24k -b 2048 --tokens 15.6T --price 2.5
run llama3-8b 64xh100 --tokens 1T --mfu 40
run llama3-8b 64xh100 --loss 2.2
run mixtral-8x7b 256xh100 --tokens 2T --prices cloud-2026
run llama3-70b h100 --tokens 1T --deadline 90d
run llama3-70b h100,a100 --tokens 1T --deadline 90d
run llama3-70b 4xh100 --tokens 1T
run llama3.1-405b 1024xgb300 --tokens 5T --prices cloud-2026 --precision mxfp8 --set memory=384GiB --set nvlink.size=144
run llama3-70b h100 --tokens 15T --deadline 1d
run llama3-70b --tokens 15T --budget 5M --system h100,b200 --prices cloud-2026
plan llama3-8b 2x4090
plan qwen3-235b-a22b --nodes 128 dgx-h100 -b 4M --tp 4 --pp 16
timeline qwen3-1.7b 2xrtx4090 --pp 2 --seq 2048 -b 8
timeline llama3-8b 32xh100 --pp 4
timeline llama3-70b 64xh100 --pp 8
timeline deepseek-v3 2048xh800 --pp 16 --ep 64 --tp 1
timeline llama3-70b 4xh100
explain llama3-8b 16xh100
explain llama3-70b 64xh100 --change 20
explain llama3.1-405b 8xh100
shape llama3-8b 8xh100
shape llama3-70b 64xh100 --tolerance 5
design llama3-8b h100 --prices small.json -b 512 --tokens 1T --days 60
design llama3-8b h100 --prices small.json -b 512
comm all-reduce h100 --ranks 64
comm h100 --bytes 1Gi
comm all-reduce 8xh100 --with all-gather
comm all-to-all 64xgb200 --bytes 16Mi
validate
validate --runs check_2
validate --runs check --only torchtitan
convert launch.sh
estimate launch.sh 8xh100
plan launch.sh h100
""".strip().split("\n")
SMALL = """{"name": "small", "currency": "$", "processor": 19000, "source": "assumed", "axes": [
 {"key": "processors", "values": [64, 128, 256]},
 {"key": "memory_GiB", "values": [60, 80], "price_per_unit": 15},
 {"key": "domain", "values": [8, 16], "prices": [0, 800]}]}"""
LAUNCH = """torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \\
    --tensor-model-parallel-size 2 --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 \\
    --bf16 --vocab-size 32000 --use-distributed-optimizer --sequence-parallel
"""
# Words in the answers of each command; of a tuple any one.
SAYS = {
    "plan": ["question", ("best", "Nothing fits"), ("risk", "Nothing fits", "calculon")],
    "estimate": ["question", ("strategy", "best"), "memory", ("risk", "calculon")],
    "fit": ["question", "memory", ("risk", "accelerators")],
    "run": [("assumed", "question", "run"), ("run", "Nothing fits", "system")],
    "timeline": ["question", ("rank", "Nothing fits")],
    "explain": ["question", ("better", "Nothing fits")],
    "shape": ["question", "rank"],
    "design": ["question", "cost"],
    "comm": ["system"],
    "validate": ["runs", "all"],
    "convert": [],
}


def ask(folder, question, *more):
    done = subprocess.run([RECKON, *question.split(), *more], text=True, encoding="utf-8", cwd=folder,
                          env=dict(os.environ, NO_COLOR="1", COLUMNS=str(COLUMNS)),
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode > 1 or (done.returncode == 0 and not done.stdout):
        return [f"exit status {done.returncode}: {done.stderr}"], True
    return done.stdout.splitlines(), False


def compare_memory(lines):
    """A strategy that fits needs at most the memory available, in the summary and in the table of cures."""
    wrong = [line for line in lines if (said := re.search(r"fits: ([\d.]+) of ([\d.]+) GiB", line))
             and float(said[1]) > float(said[2])]
    usable = re.search(r"([\d.]+) GiB usable", "\n".join(lines))
    for line in lines:
        row = re.match(r"\S.*\S  +([\d.]+)  +[\d.]+  (yes|no) ", line)
        if row and usable and (float(row[1]) <= float(usable[1])) != (row[2] == "yes"):
            wrong.append(line)
    return wrong


def check(folder, question):
    lines, failed = ask(folder, question)
    wrong = [lines[0]] if failed else []
    if len(lines) > LINES:
        wrong.append(f"{len(lines)} lines")
    wrong += [f"{len(line)} columns: {line}" for line in lines if len(line) > COLUMNS]
    text = "\n".join(lines)
    for words in SAYS[question.split()[0]]:
        if not any(word in text for word in ([words] if isinstance(words, str) else words)):
            wrong.append(f"does not say {words}")
    if any(" 1 accelerators" in line or " 1 sequences" in line for line in lines):
        wrong.append("a plural of one")
    wrong += [f"contradicts itself: {line}" for line in compare_memory(lines)]
    return [f"reckon {question}: {fault}" for fault in wrong]


def main():
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "small.json").write_text(SMALL, encoding="utf-8")
        (pathlib.Path(folder) / "launch.sh").write_text(LAUNCH, encoding="utf-8")
        faults = [fault for question in QUESTIONS for fault in check(folder, question)]
        for question in ("plan llama3-70b 64xh100", "run llama3-70b 512xh100 --tokens 1T"):
            if len(ask(folder, question, "-v")[0]) <= LINES:
                faults.append(f"reckon {question} -v says no more")
    print("\n".join(faults) or f"{len(QUESTIONS)} questions")
    return len(faults) > 0 or len(QUESTIONS) < 60


sys.exit(main())
