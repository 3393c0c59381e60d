#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every accelerator, instance and slice that people name answers, or is refused with what is missing.

    machines.py RECKON MACHINES.CSV

The table has names and their numbers of accelerators, by the source in the last column; where the
number is empty, no source states what an estimate needs.
"""

import csv
import json
import os
import subprocess
import sys

RECKON = os.path.abspath(sys.argv[1])
FIXED = ["--tp", "1", "--cp", "1", "--pp", "1", "--micro-batch", "1", "--recompute", "full"]


def fault(asked, count):
    """What is wrong with the answer, or None."""
    done = subprocess.run([RECKON, "estimate", "llama3-8b", asked, *FIXED, "--global-batch",
                           count or "8", "--json"], text=True,
                          encoding="utf-8", stdin=subprocess.DEVNULL, capture_output=True,
                          check=False)
    if not count:
        said = f"the catalogue has no {asked.partition('x')[2]}: "
        return None if done.returncode == 2 and said in done.stderr else done.stderr
    if done.returncode not in (0, 1):  # 1: it does not fit, which is an answer
        return done.stderr.strip()
    answer = json.loads(done.stdout)
    strategy = answer.get("strategy") or answer["nearest"]["strategy"]
    found = strategy["accelerators"]
    return None if found == int(count) else f"{found} accelerators, not {count}"


def main():
    with open(sys.argv[2], encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    wrong = [(row["asked"], said) for row in rows
             if (said := fault(row["asked"], row["accelerators"]))]
    for asked, said in wrong:
        print(f"{asked}: {said}")
    return 1 if wrong or len(rows) < 400 else 0


sys.exit(main())
