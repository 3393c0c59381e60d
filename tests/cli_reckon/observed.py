#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The options that `validate --options` lists for a run predict its step and its memory.

    observed.py RECKON

tests/request/rows.c compares all rows through the library; this runs some of them as commands.
"""
import json
import os
import subprocess
import sys

RECKON = sys.argv[1]
EVERY = 80


def ask(*words):
    done = subprocess.run([RECKON, *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"reckon {' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def check_verdicts():
    """Runs that ran out of memory, and were said to, are counted in all scores and in one group."""
    answer = ask("validate", "--json", "--runs", os.path.join(os.path.dirname(__file__), "runs.csv"))
    wanted = sum(row.get("ran_out_of_memory") is True and row["fits"] == "no" for row in answer["rows"])
    for scores in (answer["all"], answer["groups"]):
        found = sum(score.get("out_of_memory", {}).get("ran_out_said_not_to_fit", 0) for score in scores)
        if found != wanted or wanted == 0:
            sys.exit(f"out of memory: {found} of {wanted} runs")


def main():
    check_verdicts()
    compared = 0
    for extent in ("whole", "stated"):
        rows = ask("validate", "--json", "--options", extent)["rows"]
        for row in [row for row in rows if "step_s" in row][::EVERY]:
            answer = ask("estimate", "--json", *row["options"])
            estimate, origins = answer["estimate"], answer["provenance"]
            found = (estimate["step_s"], estimate["memory_needed_bytes"])
            if found != (row["step_s"], row["memory_needed_bytes"]):
                sys.exit(f"{row['id']}, {extent}: {found}, not {row['step_s']}, {row['memory_needed_bytes']}")
            if origins["tp"] != "stated" and extent == "whole":
                sys.exit(f"{row['id']}: tp is {origins['tp']}, and an option states it")
            if "searched" in origins.values():
                sys.exit(f"{row['id']}, {extent}: nothing is searched, but {origins}")
            compared += 1
    if compared < 30:
        sys.exit(f"compared {compared} runs only")


main()
