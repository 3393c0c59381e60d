#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What estimate --explain says of a number is what the machine with that number would take.

    explained.py RECKON
"""

import copy
import json
import os
import subprocess
import sys
import tempfile

RECKON = os.path.abspath(sys.argv[1])
STRATEGY = ("llama3-8b -p 16 -b 32 --tp 2 --cp 2 --pp 2 --vp 1 --zero 1 --micro-batch 1 --recompute {} "
            "--offload {} --seq 8192")
PLACES = {"memory_bandwidth": ("memory", "bandwidth_GBps", "GB/s"), "launch": ("compute", "launch_us", "us"),
          "host_bandwidth": ("host", "bandwidth_GBps", "GB/s")}
failures = []


def ask(words, document):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "machine.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        done = subprocess.run([RECKON, "estimate", *words.split(), "--system", path, "--json"],
                              capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):  # 1: it does not fit
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def scale(group, keys, factor):
    for key in keys:
        group[key] *= factor


def better(document, item):
    """The machine with a number that is better, and the value and the unit of the number."""
    other, name = copy.deepcopy(document), item["number"]
    if name in PLACES:
        group, key, unit = PLACES[name]
        scale(other[group], [key], item["factor"])
        return other, document[group][key], unit
    if name == "matrix_peak":
        for engine in other["gemm"].values():
            scale(engine, ["tflops"], item["factor"])
        scale(other["attention"], ["forward_tflops", "backward_tflops"], item["factor"])
        return other, document["gemm"]["bf16"]["tflops"], "TFLOP/s"
    tier = other["tiers"][int(name[4])]
    key, unit = ("latency_us", "us") if name.endswith("latency") else ("bandwidth_GBps", "GB/s")
    value = tier[key]
    scale(tier, [key] + ["step_latency_us"] * (unit == "us"), item["factor"])
    return other, value, unit


def near(what, found, wanted):
    if not abs(found - wanted) <= 1e-10 * abs(wanted):
        failures.append(f"{what}: {found}, not {wanted}")


def check(words, document):
    answer = ask(words + " --explain", document)
    step = answer["estimate"]["step_s"]
    saved = [item["saved_s"] for item in answer["explanation"]]
    if saved != sorted(saved, reverse=True) or len(saved) != 5 + 2 * len(document["tiers"]):
        failures.append(f"{words}: saved {saved}")
    for item in answer["explanation"]:
        near(item["number"], item["saved_s"] + item["step_s"], step)
        if item["number"] != "memory_capacity":
            machine, value, unit = better(document, item)
            near(item["number"], item["step_s"], ask(words, machine)["estimate"]["step_s"])
            near(item["number"], item["value"], value)
            if item["unit"] != unit:
                failures.append(f"{item['number']} in {item['unit']}, not {unit}")


def check_memory(document):
    """More memory is worth what its fastest neighbour gains over the fastest that fits now."""
    words = ("llama3-8b -p 8 -b 64 --tp 1 --cp 1 --pp 1 --vp 1 --micro-batch 1 --recompute full --zero 3 "
             "--max-memory ")
    item, = (item for item in ask(words + "32.5 --explain", document)["explanation"]
             if item["number"] == "memory_capacity")
    fastest = []
    for limit in ("32.5", "35.75"):
        found = (ask(f"{words}{limit} --recompute-layers {layers}", document)["estimate"]
                 for layers in (28, 31))  # its neighbours
        fastest.append(min(estimate["step_s"] for estimate in found if estimate["fits"]))
    near("memory", item["saved_s"], fastest[0] - fastest[1])


def check_worse():
    """With half the memory the strategy of before does not run, with half of anything else it does."""
    done = subprocess.run([RECKON, "explain", "llama3-8b", "8xh100", "--change", "-50", "--json"], check=True,
                          capture_output=True)
    for number in json.loads(done.stdout)["numbers"]:
        runs = number["key"] != "memory_GiB"
        if number["old_runs"] != runs or (number["old_sequences_per_s"] > 0) != runs:
            failures.append(f"{number['key']}: old_runs {number['old_runs']}")


def main():
    shown = subprocess.run([RECKON, "show", "h100-sxm", "--json"], check=True, capture_output=True)
    document = json.loads(shown.stdout)
    document.pop("measured", None)
    for words in (STRATEGY.format("full", "optimizer"), STRATEGY.format("selective", "none")):
        check(words, document)
    check_memory(document)
    check_memory({**document, "host": {**document["host"], "capacity_GiB": 0}})  # nothing is offloaded
    check_worse()
    print("\n".join(failures[:20]))
    return len(failures) > 0


sys.exit(main())
