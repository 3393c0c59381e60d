#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What estimates say of the measured collectives of data/collectives, which nothing is fitted to.

    tools/collectives.py BUILD/reckon
    tools/collectives.py --floor         what the best curve that never falls with the size leaves below 1 MB
    tools/collectives.py --exchange-share   exchange_share of NDR InfiniBand by the rows of nodes with eight rails

A line for each machine of the catalogue, collective and number of ranks: rows of 1 MB and more, the
median error without sign, and the median with it.
"""

import collections
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "data/collectives/measured.csv"
# What a system of the table is called there, and in the catalogue; ranks of an innermost domain.
MACHINES = (
    ("A100 (8 per node", "a100-sxm-80gb", 8), ("B300, NVLink", "b300-sxm", 8),
    ("Sophia settings 2", "dgx-a100-superpod", 8), ("8 rails", "dgx-h100-superpod", 8),
    ("SHARP", "dgx-h100-superpod", 8), ("virtual machines", "dgx-h100-superpod", 8),
    ("GB200, NVL72 one rack", "gb200-nvl72-pod", 72), ("x2 racks + Quantum", "gb200-nvl72-pod", 72),
    ("GB300, NVL72", "gb300-nvl72-pod", 72), ("EFA 3", "h100-p5-efa", 8),
    ("NVLink/NVSwitch, one node", "h100-sxm", 8), ("MI300X", "mi300x", 8), ("MI355X", "mi355x", 8),
)


def measured():
    """Rows by machine, collective, ranks and domains; whole domains only."""
    groups = collections.defaultdict(list)
    with open(TABLE, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for name, system, domain in MACHINES:
                if name in row["system"]:
                    ranks, domains = int(row["ranks"]), int(row["domains"])
                    if float(row["bytes"]) >= 1e6 and (domains == 1 or ranks == domains * domain):
                        groups[system, name, row["op"], ranks].append(
                            (int(float(row["bytes"])), float(row["us"])))
                    break
    return groups


def predicted(reckon, system, op, ranks, sizes):
    """Microseconds by size."""
    found = {}
    for first in range(0, len(sizes), 30):
        few = ",".join(str(size) for size in sizes[first:first + 30])
        done = subprocess.run([reckon, "comm", op, "--system", system, "--ranks", str(ranks), "--bytes", few,
                               "--csv"], capture_output=True, text=True, check=True)
        for row in csv.DictReader(done.stdout.splitlines()):
            found[int(float(row["bytes"]))] = float(row["us"])
    return found


def rising(values):
    """The sequence that never falls and is nearest to the values in the mean square."""
    blocks = []
    for value in values:
        blocks.append((value, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (last, m), (before, n) = blocks.pop(), blocks.pop()
            blocks.append(((before * n + last * m) / (n + m), n + m))
    return [value for value, count in blocks for _ in range(count)]


def floor():
    """What a function of the size that never falls leaves, fitted to every number of ranks by itself."""
    curves = collections.defaultdict(list)
    with open(TABLE, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            curves[row["system"], row["op"], row["ranks"], row["domains"]].append(
                (float(row["bytes"]), math.log(float(row["us"]))))
    errors = sorted(abs(math.expm1(fit - time)) for rows in curves.values()
                    for (size, time), fit in zip(sorted(rows), rising([time for _, time in sorted(rows)]))
                    if size < 1e6)
    print(f"Below 1 MB {len(errors)} rows: 90th percentile {100 * errors[math.ceil(0.9 * len(errors)) - 1]:.0f} %, "
          f"{sum(error > 0.35 for error in errors)} over 35 %.")


def exchange_share():
    """The share of the bandwidth of rings with which estimates take as long as each large row of all-to-all."""
    node = json.loads((ROOT / "data/accelerators/h100-sxm.json").read_text(encoding="utf-8"))
    tier = next(tier for tier in node["tiers"] if tier["kind"] == "fabric")
    rate = tier["bandwidth_GBps"] * 1e9 * tier["efficiency"]
    nics, shares = [], []
    with open(TABLE, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            size, ranks, domains = float(row["bytes"]), int(row["ranks"]), int(row["domains"])
            if row["op"] == "all_to_all" and "8 rails" in row["system"] and size >= 1e9:
                moved, seconds = size * (domains - 1) / domains, float(row["us"]) * 1e-6
                ramp = math.sqrt(tier["half_MB"] * 1e6 * moved)
                latency = tier["latency_us"] + (3 + math.log2(ranks) / 2) * tier["step_latency_us"]
                nics.append(moved / seconds / (tier["bandwidth_GBps"] * 1e9))
                shares.append((moved + ramp) / (seconds - latency * 1e-6) / rate)
    print(f"{len(shares)} rows: {min(nics):.2f} to {max(nics):.2f} of the NIC; exchange_share {min(shares):.3f} to "
          f"{max(shares):.3f}, median {statistics.median(shares):.3f}.")


def main():
    if sys.argv[1:] == ["--exchange-share"]:
        exchange_share()
        return
    if sys.argv[1:] == ["--floor"]:
        floor()
        return
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("| machine | collective | ranks | rows | median error, % | bias, % |")
    print("|---|---|--:|--:|--:|--:|")
    everything = []
    for (system, name, op, ranks), rows in sorted(measured().items()):
        times = predicted(sys.argv[1], system, op, ranks, sorted({size for size, _ in rows}))
        errors = [times[size] / us - 1 for size, us in rows]
        everything += [abs(error) for error in errors if op != "send"]
        print(f"| {system}: {name} | {op} | {ranks} | {len(rows)} | "
              f"{100 * statistics.median(map(abs, errors)):.0f} | {100 * statistics.median(errors):+.0f} |")
    everything.sort()
    print(f"\nAll {len(everything)} rows but those of send: median {100 * statistics.median(everything):.1f} %, "
          f"90th percentile {100 * everything[int(0.9 * len(everything))]:.0f} %.")


if __name__ == "__main__":
    main()
