#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces open in Perfetto and chrome://tracing.

    trace.py RECKON

Checks what the trace event format and Perfetto's JSON importer ask for: complete slices with a
duration, no partial overlap on a thread, threads whose number is used once in the file, flows with a
start and an end that lie inside slices, counters with numbers under the same keys, and a name for
every process and thread.  Format: docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU;
importer: src/trace_processor/importers/json of google/perfetto.
"""

import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile

RECKON = os.path.abspath(sys.argv[1])
JOBS = (
    "llama3-8b 8xh100 --tp 2 --pp 4 --vp 1 --global-batch 8",
    "llama3-8b 16xh100 --pp 4 --vp 2 --global-batch 16",
    "llama3-8b 16xh100 --pp 4 --schedule zb-v --framework any --global-batch 32",
    "llama3-8b 16xh100 --pp 4 --schedule dualpipe --framework any --global-batch 32",
    "mixtral-8x7b 32xh100 --ep 8 --pp 2 --cp 2 --global-batch 32",
    "llama3-8b 8xh100 --zero 3 --pp 1 --global-batch 8",
    "gpt3-small 16xdgx-h100-superpod --pp 4 --tp 1 --vp 3 --overlap pp --micro-batch 1 --global-batch 64 "
    "--set network_GBps=0.01",  # messages longer than passes
)
LETTERS = {"X", "M", "C", "s", "f"}
failures = []


def fail(job, what):
    failures.append(f"{job}: {what}")


def check_slices(job, events):
    """Slices of a thread follow one another or lie inside one another."""
    threads = collections.defaultdict(list)
    for event in events:
        start, length = event.get("ts"), event.get("dur")
        if not isinstance(start, (int, float)) or not isinstance(length, (int, float)) or length < 0:
            fail(job, f"a slice without times: {event}")
            continue
        threads[event["pid"], event["tid"]].append((start, -length, event["name"]))
    for thread, slices in threads.items():
        open_ends = []
        for start, length, name in sorted(slices):
            while open_ends and open_ends[-1] <= start + 1e-6:
                open_ends.pop()
            if open_ends and start - length > open_ends[-1] + 1e-3:
                fail(job, f"{name} on {thread} overlaps the slice before it")
            open_ends.append(start - length)
    return threads


def check_passes(job, events):
    """The name of a pass says its kind, microbatch and virtual stage, if a rank has several."""
    passes = collections.defaultdict(set)
    for event in events:
        if "microbatch" in event.get("args", {}):
            of = (event["cat"], event["args"]["microbatch"], event["args"]["chunk"])
            passes[event["pid"], event["name"]].add(of)
    for (_, name), of in passes.items():
        if len(of) != 1:
            fail(job, f"{name} is {sorted(of)}")


def check_flows(job, events, threads):
    """A flow is (category, name, id): it starts once and ends once, inside slices."""
    ends = collections.defaultdict(list)
    for event in events:
        ends[event.get("cat"), event["name"], str(event["id"])].append(event)
        inside = [s for s in threads[event["pid"], event["tid"]]
                  if s[0] - 1e-6 <= event["ts"] <= s[0] - s[1] + 1e-6]
        if not inside:
            fail(job, f"no slice under the end of a flow: {event}")
        if (event.get("bp") == "e") != (event["ph"] == "f"):
            fail(job, f"the end of a flow, and it alone, binds to the slice that encloses it: {event}")
    for flow, two in ends.items():
        if sorted(event["ph"] for event in two) != ["f", "s"]:
            fail(job, f"flow {flow} has {len(two)} ends")
        elif max(two, key=lambda e: e["ph"] == "f")["ts"] + 1e-6 < min(e["ts"] for e in two):
            fail(job, f"flow {flow} ends before it starts")


def check_counters(job, events):
    keys = {}
    for event in events:
        values = event["args"]
        if keys.setdefault((event["pid"], event["name"]), set(values)) != set(values):
            fail(job, f"the keys of counter {event['name']} change")
        if not values or any(not isinstance(v, (int, float)) or v < 0 for v in values.values()):
            fail(job, f"a counter without numbers: {event}")


def check_names(job, events, threads):
    processes = {e["pid"] for e in events if e["name"] == "process_name" and e["args"]["name"]}
    named = {(e["pid"], e["tid"]) for e in events
             if e["name"] == "thread_name" and e["args"]["name"]}
    numbers = collections.Counter(thread for _, thread in threads)
    if set(threads) - named or {process for process, _ in threads} - processes:
        fail(job, "a process or thread without a name")
    if any(count > 1 for count in numbers.values()):
        fail(job, "a thread number is used in two processes")
    if min(processes) < 1:
        fail(job, "processes are numbered from 1")


def check(job, path):
    subprocess.run([RECKON, "timeline", *job.split(), "-o", path], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        trace = json.load(file, parse_constant=lambda text: fail(job, f"{text} is not JSON"))
    by_kind = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        by_kind[event["ph"]].append(event)
    if set(by_kind) - LETTERS:
        fail(job, f"unknown events {set(by_kind) - LETTERS}")
    threads = check_slices(job, by_kind["X"])
    check_passes(job, by_kind["X"])
    check_flows(job, by_kind["s"] + by_kind["f"], threads)
    check_counters(job, by_kind["C"])
    check_names(job, by_kind["M"], threads)
    if not by_kind["X"] or not by_kind["C"] or ("--pp 1" not in job and not by_kind["s"]):
        fail(job, "no slices, counters or flows")


def check_communication(folder):
    """The slowest rank communicates as long as the estimate says; with split passes longer."""
    job = "llama3-8b 16xh100 --pp 2 --tp 4 --vp 1 --schedule zb-h1 --framework any --global-batch 16"
    path = os.path.join(folder, "split.json")
    for command in (f"timeline {job} -o {path}", f"estimate {job} --json"):
        ran = subprocess.run([RECKON, *command.split()], check=True, capture_output=True, text=True)
    wanted = json.loads(ran.stdout)["estimate"]["time_s"]["tp_comm"]
    seconds = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for event in json.load(file)["traceEvents"]:
            if event.get("cat") == "communication":
                seconds[event["pid"]] += event["dur"] / 1e6
    if not abs(max(seconds.values()) - wanted) <= 1e-3 * wanted:
        fail(job, f"{dict(seconds)} s of communication, not {wanted}")


def check_nothing_fits(folder):
    """What does not fit has no trace, picture or table: a line on stderr, and JSON that says so."""
    job = "llama3-70b 8xh100 --global-batch 64"
    for command, ending in (("timeline", ".json"), ("timeline", ".svg"), ("timeline", ".csv"),
                            ("estimate --emit megatron", ".sh"), ("plan --emit megatron", ".sh")):
        path = os.path.join(folder, "nothing" + ending)
        words = command.split()
        ran = subprocess.run([RECKON, words[0], *job.split(), *words[1:], "-o", path],
                             capture_output=True, text=True)
        where = f"{command} -o nothing{ending}"
        if ran.returncode != 1 or ran.stdout or "no strategy fits" not in ran.stderr \
                or ran.stderr.count("\n") != 1:
            fail(where, f"exit status {ran.returncode}, {ran.stdout!r}, {ran.stderr!r}")
        if os.path.exists(path) != (ending == ".json"):
            fail(where, "a file without an answer, or none")
        elif ending == ".json":
            with open(path, encoding="utf-8") as file:
                answer = json.load(file)
            if answer["fits"] is not False or "shortage" not in answer["nearest"]:
                fail(where, "an answer that does not say why nothing fits")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for i, job in enumerate(JOBS):
            check(job, os.path.join(folder, "trace.json" + (".gz" if i == 1 else "")))
        check_communication(folder)
        check_nothing_fits(folder)
    print("\n".join(failures[:20]))
    return 1 if failures else 0


sys.exit(main())
