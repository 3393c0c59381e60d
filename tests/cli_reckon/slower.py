#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `plan` says about why a strategy is slower than the best one is the whole difference.

    slower.py RECKON

The parts on a line add up to the difference on it, digit by digit, and both are those of the JSON
answer.
"""

import decimal
import json
import os
import re
import subprocess
import sys

RECKON = os.path.abspath(sys.argv[1])
JOBS = """
llama3-8b 8xh100 -b 64
llama3-8b 64xh100 -b 256 -n 10
llama3-70b 64xh100 -b 512
llama3-70b 64xa100 -b 128 --framework torchtitan
mixtral-8x7b 64xh100 -b 512 -n 8
mixtral-8x7b 64xgb200 -b 512 --framework any
qwen3-30b-a3b 64xh100 -b 512
gemma3-27b 128xh100 -b 512 -n 6
gpt3-175b 512xa100 -b 1536
deepseek-v2-lite 64xh100 -b 256
nemotron-h-56b 64xb200 -b 256
llama3-8b 8xv100 -b 64 --precision fp16
""".strip().split("\n")
UNITS = {"µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
NUMBER = r"([-+][0-9.]+) (µs|ms|s|min|h)"
TAIL = re.compile(rf"^(\d+)[^:]* slower than 1, {NUMBER}: (.*)$")
failures = []


def ask(job, *more):
    done = subprocess.run([RECKON, "plan", *job.split(), *more], capture_output=True, text=True,
                          encoding="utf-8", env=dict(os.environ, COLUMNS="2000"), check=True)
    return done.stdout


def check_line(job, found, strategies):
    place, whole, unit, text = found.groups()
    parts = re.findall(rf"([^,]+) {NUMBER}(?:, |$)", text)
    total = sum(decimal.Decimal(number) for _, number, _ in parts)
    where = f"{job}: {found.group(0)}"
    if not parts or ", ".join(f"{n} {d} {u}" for n, d, u in parts) != text:
        failures.append(f"{where}: not a list of parts")
    if total != decimal.Decimal(whole) or {unit} != {u for _, _, u in parts}:
        failures.append(f"{where}: the parts are {total}")
    last = UNITS[unit] * 10.0 ** decimal.Decimal(whole).as_tuple().exponent
    more = strategies[int(place) - 1]["estimate"]["step_s"] - strategies[0]["estimate"]["step_s"]
    if abs(float(whole) * UNITS[unit] - more) > 0.51 * last:
        failures.append(f"{where}: the step is {more} s longer")


def main():
    checked = 0
    for job in JOBS:
        strategies = json.loads(ask(job, "--json"))["strategies"]
        for line in ask(job, "-v").replace(":\n    ", ": ").split("\n"):
            found = TAIL.match(line)
            if found:
                check_line(job, found, strategies)
                checked += 1
            elif " slower than 1" in line and ":" in line:
                failures.append(f"{job}: {line}: no difference")
    print("\n".join(failures[:20]))
    return 1 if failures or checked < 40 else 0


sys.exit(main())
