#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of a few questions with Valgrind, and compares them with the recorded ones.

    instructions.py BUILD COMPILER            compare with instructions.txt
    instructions.py BUILD COMPILER --renew    record

COMPILER is the compiler with its version and the build type.  Counts of another compiler, or of a
processor with other instructions, cannot be compared: exit status 77, as without Valgrind.  Exit
status 1: a question executes 3 % more than recorded.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RECORD = HERE / "instructions.txt"
LIMIT = 0.03
QUESTIONS = {
    "estimate-8b": "estimate llama3-8b 8xh100 -b 64 --tp 2 --json",
    "estimate-70b": "estimate llama3-70b 64xh100 -b 128 --tp 8 --pp 4 --micro-batch 1 --json",
    "estimate-405b": "estimate llama3.1-405b 1024xh100-roce-24k -b 512 --tp 8 --pp 16 --cp 1 --vp 1 --count-embedding --count-head "
                     "--micro-batch 1 --zero 1 --recompute full --json",
    "estimate-deepseek-v3": "estimate deepseek-v3 256xh100 -b 1024 --tp 1 --pp 8 --layout 7,8*6,6 --ep 32 --cp 1 "
                            "--micro-batch 1 --zero 1 --recompute full --json",
    "plan-405b": "plan llama3.1-405b 1024xh100-roce-24k -b 512 --tp 8 -t 1 --json",
    "plan-qwen3-235b": "plan qwen3-235b-a22b 128xh100 -b 512 --tp 4 --micro-batch 1 -t 1 --json",
    "plan-deepseek-v3": "plan deepseek-v3 256xh100 -b 1024 --tp 1 --micro-batch 1 -t 1 --json",
    "plan-divisors": "plan deepseek-v3 1024xh100 -b 5040 -t 1 --json",  # a batch with sixty
    "plan-torchtitan": "plan llama3-70b 64xh100 -b 128 --framework torchtitan --tp 8 --micro-batch 1 "
                       "-t 1 --json",
    "plan-nothing-fits": "plan mixtral-8x22b 8xh100 -b 64 --framework any -t 1 --json",
    "plan-calculon": "plan --model seed-1T --system h100-80g-off512g50-nvl8 --processors 1024 "
                     "--batch 768 --datatype float8 -t 1 --json",
    "explain-70b": "explain llama3-70b 32xh100 -b 64 --tp 8 -t 1 --json",
    "run-70b": "run llama3-70b 64xh100 -b 128 --tp 8 --tokens 1T -t 1 --json",
    "validate": "validate --runs check_2 --only torchtitan --json",
}


def count(reckon, line):
    """Instructions that a question executes."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", reckon, *line.split()],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, cwd="/", text=True, capture_output=True,
        check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode not in (0, 1) or not found:  # 1: nothing fits
        raise SystemExit(f"reckon {line}: exit status {done.returncode}\n{done.stderr}")
    return int(found.group(1))


def processor():
    """The vector instructions that the C library and the kernels choose by under Valgrind."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = next((line for line in file if line.startswith("flags")), "").split()
    return "+".join(flag for flag in ("avx2", "fma") if flag in flags) or "scalar"


def write(compiler, counts):
    lines = ["# Instructions of the questions of instructions.py; renew: see README.md",
             f"compiler {compiler}", *(f"{name} {number}" for name, number in counts.items())]
    RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read():
    lines = [line.split(" ", 1) for line in RECORD.read_text(encoding="utf-8").splitlines()[1:]]
    return lines[0][1], {name: int(number) for name, number in lines[1:]}


def main():
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("build", type=pathlib.Path)
    reader.add_argument("compiler")
    reader.add_argument("--renew", action="store_true")
    given = reader.parse_args()
    compiler = f"{given.compiler}-{processor()}"
    if not shutil.which("valgrind"):
        print("Valgrind is missing (apt-get install valgrind): nothing is counted")
        return 77
    if not given.renew and read()[0] != compiler:
        print(f"recorded with {read()[0]}, this is {compiler}: nothing is compared")
        return 77
    reckon = str((given.build / "reckon").resolve())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = dict(zip(QUESTIONS, pool.map(lambda line: count(reckon, line),
                                              QUESTIONS.values())))
    if given.renew:
        write(compiler, counts)
        return 0
    recorded, more, less = read()[1], [], []
    for name, number in counts.items():
        change = number / recorded[name] - 1 if name in recorded else 0
        print(f"{name:22} {number:14,} {100 * change:+7.2f} %")
        if change > LIMIT or name not in recorded:
            more.append(name)
        if change < -LIMIT:
            less.append(name)
    if less:
        print(f"Fewer instructions: {', '.join(less)}.  Record them, so that they stay that few: "
              "ninja -C build renew-instructions")
    if more:
        print(f"More instructions than recorded, by over {100 * LIMIT:.0f} %: {', '.join(more)}.\n"
              "Find them: valgrind --tool=callgrind build/reckon ..., then callgrind_annotate on the\n"
              "output, before and after the change.  If the work is needed, say so in the commit and\n"
              "record the counts: ninja -C build renew-instructions; see tests/record/README.md")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
