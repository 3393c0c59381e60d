#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The smallest cluster that `reckon run --deadline` finds is the smallest: runs on all smaller ones,
each predicted by itself with the default batch, take longer.

    smallest.py RECKON
"""
import json
import subprocess
import sys

MODEL, SYSTEM, NODE = "llama3-8b", "h100-sxm", 8


def run(*words):
    done = subprocess.run([sys.argv[1], "run", MODEL, "--system", SYSTEM, "--json", *words],
                          stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout)


def days(tokens, accelerators):
    answer = run("--tokens", tokens, "--accelerators", str(accelerators), "--simulate", "0")
    return answer["run"]["total_s"] / 86400


def check(tokens, deadline):
    clusters = run("--tokens", tokens, "--deadline", f"{deadline}d")["clusters"]
    found = next(c for c in clusters if c["smallest"])
    size = found["accelerators"]
    alone = days(tokens, size)
    assert abs(found["days"] / alone - 1) < 1e-9, (found["days"], alone)
    assert alone <= deadline, (size, alone)
    for smaller in range(NODE, size, NODE):
        assert days(tokens, smaller) > deadline, (size, smaller)
    return size


sizes = [check("1T", 20), check("1T", 12.5), check("500B", 9)]
assert len(set(sizes)) == 3, sizes
