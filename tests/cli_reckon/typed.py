#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people type means what typed.txt says.

    typed.py RECKON TYPED.TXT

The numbers of both command lines are compared: the strategy and estimate, or the collectives.
"""

import json
import os
import subprocess
import sys

RECKON = os.path.abspath(sys.argv[1])
FOLDER = os.path.dirname(os.path.abspath(sys.argv[2]))  # of the files that the table names


def ask(line):
    done = subprocess.run([RECKON, *line.split(), "--json"], text=True, encoding="utf-8",
                          stdin=subprocess.DEVNULL, cwd=FOLDER, capture_output=True, check=False)
    if done.returncode != 0:
        return f"exit status {done.returncode}: {done.stderr.strip()}"
    answer = json.loads(done.stdout)
    keys = {"strategy", "strategies", "estimate", "collectives"} & set(answer)
    return {key: answer[key] for key in keys} if keys else "no answer in the document"


def main():
    count, wrong = 0, 0
    with open(sys.argv[2], encoding="utf-8") as lines:
        for line in lines:
            typed, arrow, meant = line.strip().partition(" => ")
            if not arrow:
                continue
            count += 1
            answer, wanted = ask(typed), ask(meant)
            if isinstance(answer, str) or answer != wanted:
                wrong += 1
                print(f"reckon {typed}\n    is not: reckon {meant}")
                print(f"    {answer}" if isinstance(answer, str) else "    other numbers")
    return 1 if wrong or count < 15 else 0


sys.exit(main())
