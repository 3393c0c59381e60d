#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rule of thumb for memory counts one replica of a model, and so does what it is compared with.

    replica.py RECKON

However the model is laid out, one replica has the same states, those of the bytes per parameter
that `estimate` says; more replicas change neither side of the comparison.
"""

import json
import os
import re
import subprocess
import sys

RECKON = os.path.abspath(sys.argv[1])
LAYOUTS = {
    "llama3-8b 8xh100": ("--tp 2", "--tp 8", "--tp 2 --pp 2", "--tp 1 --zero 3", "--tp 2 --zero 0",
                         "--tp 2 --pp 2 --cp 2 --vp 2"),
    "mixtral-8x7b 64xh100": ("--ep 8 --tp 1", "--ep 8 --tp 1 --pp 2", "--ep 4 --tp 2 --zero 0"),
}
GROWING = "llama3-8b {}xh100 --tp 2 --cp 1 --pp 1 --micro-batch 1 --recompute none --zero 0"
failures = []


def ask(job, *more):
    return subprocess.run([RECKON, "estimate", *job.split(), *more], capture_output=True, text=True,
                          encoding="utf-8", check=False).stdout


def scaling_of(job):
    answer = json.loads(ask(job, "--json"))
    return answer["scaling"], answer


def check_layouts(job, layouts):
    for layout in layouts:
        scaling, answer = scaling_of(f"{job} {layout}")
        where = f"{job} {layout}"
        found = re.search(r"states of ([\d.]+) \+ ([\d.]+) \+ ([\d.]+) bytes",
                          " ".join(ask(f"{job} {layout}", "-v").split()))
        wanted = sum(map(float, found.groups())) * answer["model"]["parameters"]
        if abs(scaling["replica_states_bytes"] - wanted) > 1e-3 * wanted:
            failures.append(f"{where}: states of {scaling['replica_states_bytes']}, not {wanted}")
        if not scaling["replica_states_bytes"] < scaling["replica_memory_bytes"]:
            failures.append(f"{where}: a replica of {scaling['replica_memory_bytes']} bytes")


def check_replicas():
    """Replicas that share nothing: all of them hold as many times as much."""
    two = scaling_of(GROWING.format(4))[0]
    for replicas in (4, 8):
        many = scaling_of(GROWING.format(2 * replicas))[0]
        for key in ("replica_accelerators", "replica_states_bytes", "replica_memory_bytes"):
            if many[key] != two[key]:
                failures.append(f"{replicas} replicas: {key} is {many[key]}, not {two[key]}")
        if abs(many["memory_predicted_bytes"] / many["replica_memory_bytes"] / replicas - 1) > 0.02:
            failures.append(f"{replicas} replicas hold {many['memory_predicted_bytes']} bytes")


def main():
    for job, layouts in LAYOUTS.items():
        check_layouts(job, layouts)
    check_replicas()
    text = " ".join(ask("llama3-8b 8xh100 --tp 2", "--explain").split())
    if not re.search(r"GB for one replica; predicted \d+ GB, of which \d+ GB are states", text):
        failures.append("the rule of thumb does not say what it counts")
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
