#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers of a system that --set changes are those of a document with the same numbers.

    what_if.py RECKON
"""

import json
import os
import subprocess
import sys
import tempfile

RECKON = os.path.abspath(sys.argv[1])
JOB = ["--tp", "4", "--pp", "2", "--cp", "1", "--vp", "1", "--micro-batch", "1", "--zero", "1",
       "--recompute", "none", "--schedule", "1f1b", "-b", "128", "--json"]
GIB = 2**30


def ask(*words):
    done = subprocess.run([RECKON, *words], capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(f"reckon {' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def change(document, group, key, value):
    part = document["tiers"][int(group)] if group.isdigit() else document[group]
    part[key] = value


CASES = [  # --set, the same in the document, and the member what_if
    ("nvlink.size=16", [("0", "size", 16)], {"domain": 16}),
    ("nvlink4.bandwidth=900GB/s", [("0", "bandwidth_GBps", 900)], {"tier0_GBps": 900}),
    ("tier1.bandwidth=800Gb/s", [("1", "bandwidth_GBps", 100)], {"tier1_GBps": 100}),
    ("infiniband.bandwidth=0.1TB/s,hbm=8TB/s",
     [("1", "bandwidth_GBps", 100), ("memory", "bandwidth_GBps", 8000)],
     {"tier1_GBps": 100, "memory_GBps": 8000}),
    ("memory=192GiB", [("memory", "usable_GiB", 192), ("memory", "capacity_GB", 210)],
     {"memory_GiB": 192}),
    ("host_memory=1TiB,host_link=128GB/s",
     [("host", "capacity_GiB", 1024), ("host", "bandwidth_GBps", 128)],
     {"offload_GiB": 1024, "offload_GBps": 128}),
]


def main():
    wrong = []
    plain = ask("estimate", "llama3-8b", "64xh100-sxm", *JOB)
    for given, numbers, said in CASES:
        document = ask("show", "h100-sxm", "--json")
        for number in numbers:
            change(document, *number)
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump(document, file)
        words = [word for item in given.split(",") for word in ("--set", item)]
        here = ask("estimate", "llama3-8b", "64xh100-sxm", *JOB, *words)
        there = ask("estimate", "llama3-8b", "64x" + file.name, *JOB)
        os.unlink(file.name)
        for key in ("step_s", "memory_total_bytes", "memory_usable_bytes", "host_memory_bytes"):
            if abs(here["estimate"][key] - there["estimate"][key]) > 1e-12 * there["estimate"][key]:
                wrong.append(f"{given}: {key} {here['estimate'][key]}, not {there['estimate'][key]}")
        if here["estimate"] == plain["estimate"] and "host" not in given:
            wrong.append(f"{given}: nothing changes")
        found = {key: entry["value"] for key, entry in here["request"]["what_if"].items()}
        if {key: round(value, 9) for key, value in found.items()} != said:
            wrong.append(f"{given}: what_if is {found}, not {said}")
    rates = ask("estimate", "llama3-8b", "64xh100-sxm", *JOB, "--set", "hbm=8TB/s")
    if "rates assumed" not in rates["interval"]["comparable"]:
        wrong.append(f"other rates are compared with {rates['interval']['comparable']}")
    wide = ask("comm", "h100", "--op", "all_reduce", "--bytes", "1Gi", "--ranks", "16", "--json",
               "--set", "nvlink.size=16")
    narrow = ask("comm", "h100", "--op", "all_reduce", "--bytes", "1Gi", "--ranks", "16", "--json")
    if not wide["collectives"][0]["seconds"] < narrow["collectives"][0]["seconds"]:
        wrong.append("a domain of 16 does not help an all-reduce of 16")
    for number in ask("explain", "llama3-8b", "64xh100-sxm", *JOB)["numbers"]:
        changed = ask("estimate", "llama3-8b", "64xh100-sxm", *JOB, "--set", f"{number['key']}={number['to']}")
        if abs(changed["estimate"]["step_s"] - number["old_step_s"]) > 1e-9 * number["old_step_s"]:
            wrong.append(f"--set {number['key']}={number['to']}: {changed['estimate']['step_s']} s, by explain "
                         f"{number['old_step_s']}")
    fitting = [ask("plan", "llama3-70b", "64xh100", "--json", "-n", "1", "--set", f"memory={size}GiB")
               ["strategies"][0]["estimate"]["step_s"] for size in (80, 141, 192)]
    if not fitting[0] > fitting[1] > fitting[2]:
        wrong.append(f"more memory does not help: {fitting}")
    print("\n".join(wrong) or f"{len(CASES)} systems")
    return len(wrong) > 0


sys.exit(main())
