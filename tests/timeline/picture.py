#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of timelines show what their trace says: times along the axis, pairs, and memory.

    picture.py RECKON
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

RECKON = os.path.abspath(sys.argv[1])
JOBS = (
    "llama3-8b 16xh100 --pp 4 --schedule dualpipe --framework any --global-batch 16",
    "llama3-8b 16xh100 --pp 4 --vp 2 --tp 2 --global-batch 128",
    "mixtral-8x7b 32xh100 --ep 8 --pp 2 --cp 2 --global-batch 32",
)
LEFT, WIDTH, ROW, MEMORY = 64, 968, 20, 16
UNITS = {"s": 1, "ms": 1e-3, "µs": 1e-6}
failures = []


def near(job, what, found, wanted, apart):
    if not abs(found - wanted) <= apart:
        failures.append(f"{job}: {what}: {found}, not {wanted}")


def write(job, path):
    subprocess.run([RECKON, "timeline", *job.split(), "-o", path], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_axis(job, svg, step):
    """Ticks of the first panel stand where their times are, to the end; all panels are inside the picture."""
    texts = [(float(x), float(y), text) for x, y, text in
             re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', svg)]
    axes = sorted((y, text) for _, y, text in texts if text in UNITS)
    ticks = [(x, float(text)) for x, y, text in texts if y == axes[0][0] and text not in UNITS]
    for x, value in ticks:
        near(job, f"tick {value}", x, LEFT + WIDTH * value * UNITS[axes[0][1]] / step, 0.02)
    places = sorted(x for x, _ in ticks)
    if LEFT + WIDTH - places[-1] > 1.01 * (places[1] - places[0]):
        failures.append(f"{job}: the ticks end at {places[-1]}")
    if len(ticks) < 4 or len(axes) != 1 + ("The beginning, enlarged" in svg):
        failures.append(f"{job}: {len(ticks)} ticks, {len(axes)} axes")
    height = float(re.search(r' height="(\d+)"', svg).group(1))
    if max(y for _, y, _ in texts) > height:
        failures.append(f"{job}: a text below the picture")


def check_pairs(job, svg):
    """Of two passes at once the forward takes the upper half."""
    rows = [float(y) for y in re.findall(r'<rect x="64" y="([\d.]+)" width="968" height="20"', svg)]
    halves = collections.defaultdict(set)
    for colour, path in re.findall(r'<path stroke="(#\w+)" stroke-width="10" d="([^"]*)"', svg):
        for y in re.findall(r"M[\d.]+ ([\d.]+)", path):
            halves[colour].add(min(float(y) - row for row in rows if row <= float(y)))
    if halves and (halves["#2f55c4"] != {5.0} or halves["#2b863d"] != {15.0}):
        failures.append(f"{job}: halves of rows: {dict(halves)}")
    return bool(halves)


def check_boxes(job, svg, trace):
    """Every pass and all of its communication begins a box in the row of its rank, and has its number if it is wide."""
    scale = WIDTH / trace["otherData"]["step_us"]
    rows = [float(y) for y in re.findall(r'<rect x="64" y="([\d.]+)" width="968" height="20"', svg)]
    begun = {(row, round(float(x), 1)) for path in re.findall(r'<path stroke="#\w+" stroke-width="\d+" d="([^"]*)"', svg)
             for x, y in re.findall(r"M([\d.]+) ([\d.]+)h", path) for row in rows if row < float(y) < row + ROW}
    numbers = collections.Counter(re.findall(r">(\d+)</text>", svg.split("The beginning, enlarged")[0]))
    lost = 0
    for event in trace["traceEvents"]:
        if event["ph"] != "X" or event["cat"] not in ("forward", "backward", "weight", "communication"):
            continue
        row, left = rows[event["pid"] - 1], LEFT + event["ts"] * scale
        lost += event["dur"] > 0 and not any((row, round(left + apart, 1)) in begun for apart in (-0.06, 0, 0.06))
        if "microbatch" in event.get("args", {}) and event["dur"] * scale > 20:
            numbers[str(event["args"]["microbatch"])] -= 1
    if lost or min(numbers.values(), default=0) < 0:
        failures.append(f"{job}: {lost} passes are not drawn, numbers {numbers}")


def check_memory(job, svg, trace):
    """Boxes of what stays, and the most of each rank."""
    static, most = {}, collections.Counter()
    for event in trace["traceEvents"]:
        if event["ph"] == "C":
            values = event["args"]
            static.setdefault(event["pid"], values["static"])
            most[event["pid"]] = max(most[event["pid"]], sum(values.values()))
    boxes = re.findall(r'<rect x="64" y="[\d.]+" width="968" height="([\d.]+)" fill="#d5d8de"', svg)
    labels = re.findall(r">([\d.]+) GiB</text>", svg)
    for rank, box, label in zip(sorted(static), boxes, labels):
        near(job, f"memory of rank {rank}", float(label), most[rank], 6e-3 * most[rank])
        near(job, f"box of rank {rank}", float(box), MEMORY * static[rank] / max(most.values()), 0.02)
    for area in re.findall(r'<path fill="#8b93a3" d="([^"]*)"', svg):
        if not re.fullmatch(r"M64 [\d.]+(H[\d.]+V[\d.]+)+z", area) or re.findall(r"H([\d.]+)", area)[-1] != "1032":
            failures.append(f"{job}: the area {area[:20]}...{area[-40:]} does not end at the right")
    if len(boxes) < len(static):
        failures.append(f"{job}: {len(boxes)} boxes of {len(static)} ranks")


def main():
    paired = False
    with tempfile.TemporaryDirectory() as folder:
        for job in JOBS:
            svg = write(job, os.path.join(folder, "a.svg"))
            trace = json.loads(write(job, os.path.join(folder, "a.json")))
            check_axis(job, svg, trace["otherData"]["step_us"] / 1e6)
            check_memory(job, svg, trace)
            check_boxes(job, svg, trace)
            paired = check_pairs(job, svg) or paired
    if not paired:
        failures.append("no picture has pairs")
    print("\n".join(failures[:20]))
    return 1 if failures else 0


sys.exit(main())
