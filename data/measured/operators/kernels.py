#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost models of grouped GEMMs, context-parallel attention, and dispatch and combine of experts.

    kernels.py >KERNELS.md

Fits at most four constants to the rows of a library on an accelerator, on all shapes but every fifth by a
hash, and writes the errors on those that are held out. Each constant belongs to a known amount of work:

    grouped GEMM       max(FLOPs / r + bytes / b, groups l)     FLOPs of whole tiles of 128; r_w in place of r
                                                                for weight gradients; a launch takes l
    attention of a     FLOPs / r + FLOPs' / r' + exchanged / x + queries / q
    context-parallel                                            forward and backward; keys and values that ranks
    rank                                                        pass on; queries, outputs and their gradients
    dispatch, combine  bytes (1 / wire + copies / c) + elements / (cores s) + bytes ranks n
                                                                with the cores of the kernel stated; copies: 1
                                                                through the PyTorch interface
                       bytes (1 / wire + 1 / network) + elements / s + bytes ranks n
                                                                otherwise; network: rows across machines

Of dispatch and combine, wire, c and network are expected where data sheets have them, as if by a tenth of a row:
what few rows leave open stays there.

Libraries with fewer than five rows to fit are listed without an error.
"""

import collections
import csv
import hashlib
import math
import os
import statistics

HERE = os.path.dirname(os.path.abspath(__file__))
HELD_OUT = 5
ROWS_LEAST = 5
EXPECTED = 0.1  # rows that a data sheet counts as


def rows_of(name):
    with open(os.path.join(HERE, name), newline="") as file:
        return list(csv.DictReader(file))


def is_held_out(row, shape):
    text = repr([row[key] for key in shape])
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % HELD_OUT == 0


# ---- fitting --------------------------------------------------------------------------------

def simplex(loss, start, steps=1500):
    """Nelder and Mead's search; returns the constants."""
    n = len(start)
    points = [list(start)] + [[1.3 * v if i == j else v for j, v in enumerate(start)] for i in range(n)]
    points = [(loss(p), p) for p in points]
    for _ in range(steps):
        points.sort(key=lambda point: point[0])
        centre = [sum(p[i] for _, p in points[:-1]) / n for i in range(n)]
        worst = points[-1][1]

        def at(factor):
            p = [c + factor * (c - w) for c, w in zip(centre, worst)]
            return loss(p), p
        once = at(1)
        if once[0] < points[0][0]:
            points[-1] = min(once, at(2))
        elif once[0] < points[-2][0]:
            points[-1] = once
        else:
            half = at(-0.5)
            if half[0] < points[-1][0]:
                points[-1] = half
            else:
                best = points[0][1]
                shrunk = [[(b + v) / 2 for b, v in zip(best, p)] for _, p in points[1:]]
                points = points[:1] + [(loss(p), p) for p in shrunk]
    return min(points)


def fit(predict, rows, starts, expected=()):
    """Constants above 0 with small errors, of which large ones count less than their square."""
    def loss(constants):
        if min(constants) <= 1e-9:
            return 1e9
        errors = sum(min(abs(math.log(predict(constants, row) / row["value"])), 0.5) ** 1.3
                     for row in rows)
        return errors + EXPECTED * sum(abs(math.log(constant / sheet)) ** 1.3
                                       for constant, sheet in zip(constants, expected))
    return min(simplex(loss, start) for start in starts)[1]


# ---- grouped GEMM ---------------------------------------------------------------------------

def grouped_work(row):
    """TFLOP and TB."""
    groups, m, n, k, out = (float(row[key]) for key in ("groups", "m", "n", "k", "out_bytes"))
    z = 2 if row["precision"] == "bf16" else 1
    if row["pass"] == "fwd+bwd":
        flops, size = 6 * m * n * k, (3 * z + 2) * (m * k + k * n + m * n)
        if z == 1:  # operands are cast from bf16, along rows and columns
            size += 4 * (m * k + m * n + k * n)
    else:
        tiles = math.ceil(m / 128) * 128 * math.ceil(n / 128) * 128
        flops, size = 2 * tiles * k, z * (m * k + k * n) + out * m * n
    return groups * flops / 1e12, groups * size / 1e12


def grouped_seconds(constants, row):
    rate, bandwidth, launch, weights = list(constants) + [0, constants[0]][len(constants) - 2:]
    flops, size = row["work"]
    rate = weights if row["pass"] == "wgrad" else rate
    return max(flops / rate + size / bandwidth, float(row["groups"]) * launch * 1e-6)


def grouped_constants(rows):
    """Launches where the library starts a kernel for every group; r_w where rows are many."""
    if rows[0]["library"] != "TransformerEngine":
        return [[rate, 5.0] for rate in (300.0, 1000.0, 2000.0)]
    count = 4 if len(rows) > 40 else 3
    return [[rate, 5.0, launch, 0.9 * rate][:count]
            for rate in (300.0, 1000.0) for launch in (1.0, 8.0, 15.0)]


def grouped_rows():
    rows = rows_of("grouped_gemm.csv")
    for row in rows:
        row.update(value=float(row["us"]) * 1e-6, work=grouped_work(row))
    return [row for row in rows if "with launches" not in row["library"]]


# ---- attention of context-parallel ranks ----------------------------------------------------

def parallel_rows():
    """Rates only are printed of masks by document: those of whole sequences have times."""
    rows = [row for row in rows_of("context_parallel.csv") if row["us"]]
    for row in rows:
        back = row["pass"] == "bwd"
        flops = float(row["tflops"]) * float(row["us"]) * 1e-6
        tokens = float(row["tokens"]) * (2 if back else 1) * 4 * float(row["head_size"]) / 1e12
        row.update(value=float(row["us"]) * 1e-6,
                   work=[0 if back else flops, flops if back else 0,
                         tokens * float(row["kv_heads"]) * (float(row["ranks"]) - 1),
                         tokens * float(row["heads"])])
    return rows


def sum_seconds(constants, row):
    return sum(work / constant for work, constant in zip(row["work"], constants))


# ---- dispatch and combine -------------------------------------------------------------------

BYTES = {"bfloat16": 2, "fp8": 1 + 4 / 128, "int8": 1 + 4 / 128}
ONE_MACHINE = ("NVL72", "HCCS")


# GB/s one way of all links of an accelerator to its domain, by data sheets, and of its NIC of 400 Gb/s.
LINKS = {"H100": 450, "H200": 450, "H20": 450, "SM90": 450, "H800": 200, "B200": 900, "GB200": 900, "SM100": 900,
         "MI300X": 448, "MI355X": 537.6, "Ascend 910C": 392}
NIC = 50


def dispatch_expected(rows):
    link = LINKS[rows[0]["accelerator"]]
    return [link, link if all(row["cores"] for row in rows) else NIC]


def dispatch_starts(rows):
    link = dispatch_expected(rows)[0]
    return [[wire, second, 50.0, 10.0] for wire in (link, link / 3) for second in (50.0, 300.0, 1000.0)]


def dispatch_rows():
    """Times of a gigabyte."""
    rows = rows_of("dispatch.csv")
    for row in rows:
        elements, ranks = 1 / BYTES[row["precision"]], float(row["ranks"])
        across = float(row["nodes"] or 1) > 1 and not any(name in row["fabric"] for name in ONE_MACHINE)
        inside = "xGMI" in row["counted"] or "NVLink" in row["counted"]
        if row["cores"]:
            work = [1, row["scope"] == "torch API", elements / float(row["cores"]), ranks / 1e3]
        else:
            work = [1, across and not inside, elements, ranks / 1e3]
        row.update(value=1 / float(row["GBps"]), work=[float(w) for w in work])
    return rows


# ---- tables ---------------------------------------------------------------------------------

TABLES = [
    ("Grouped GEMM", grouped_rows, grouped_seconds, grouped_constants, ("accelerator", "library", "precision"),
     ("groups", "m", "n", "k", "pass", "out_bytes"), "pass", None),
    ("Attention of context-parallel ranks", parallel_rows, sum_seconds,
     lambda rows: [[rate, rate, 0.1, 0.1] for rate in (300.0, 1000.0)], ("accelerator", "method"),
     ("pass", "mask", "ranks", "tokens"), "pass", None),
    ("Dispatch and combine", dispatch_rows, sum_seconds,
     dispatch_starts, ("accelerator", "library"),
     ("op", "precision", "scope", "ranks", "nodes", "cores", "fabric"), "op", dispatch_expected),
]


def median(errors):
    return "%.1f" % (100 * statistics.median(map(abs, errors))) if errors else "-"


def high(errors):
    sizes = sorted(map(abs, errors))
    return "%.1f" % (100 * sizes[int(0.9 * len(sizes))]) if sizes else "-"


def print_table(title, rows, predict, starts, keys, shape, split, expected):
    groups, out_of, all_out, all_fit = collections.defaultdict(list), collections.defaultdict(list), [], []
    for row in rows:
        groups[tuple(row[key] for key in keys)].append(row)
    print(f"\n## {title}\n")
    print("| accelerator | library | constants | rows held out | held out | rows fitted | fitted |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for name, group in sorted(groups.items()):
        fitted = [row for row in group if not is_held_out(row, shape)]
        held = [row for row in group if is_held_out(row, shape)]
        label = " | ".join((name[0], ", ".join(name[1:])))
        if len(fitted) < ROWS_LEAST:
            print(f"| {label} | too few rows | {len(held)} | - | {len(fitted)} | - |")
            continue
        constants = fit(predict, fitted, starts(group), expected(group) if expected else ())
        out = [predict(constants, row) / row["value"] - 1 for row in held]
        into = [predict(constants, row) / row["value"] - 1 for row in fitted]
        for row, error in zip(held, out):
            out_of[row[split]].append(error)
        all_out, all_fit = all_out + out, all_fit + into
        values = " ".join("%.3g" % c if c < 1e6 else "-" for c in constants)
        print(f"| {label} | {values} | {len(out)} | {median(out)} | {len(into)} | {median(into)} |")
    print(f"| **all** | | | {len(all_out)} | **{median(all_out)}** | {len(all_fit)} | {median(all_fit)} |")
    parts = [f"{name} {median(errors)} ({len(errors)})" for name, errors in sorted(out_of.items())]
    print(f"\nHeld out, in %: {', '.join(parts)}; nine in ten below {high(all_out)}.")


def main():
    print("# Grouped GEMM, context-parallel attention, dispatch and combine: errors of the cost models\n")
    print("Written by `data/measured/operators/kernels.py`. Median absolute errors in %; every fifth shape is")
    print("held out. Constants in the order of the formulas of the script, in TFLOP/s, TB/s and microseconds;")
    print("for dispatch and combine in GB/s.")
    for title, rows, *rest in TABLES:
        print_table(title, rows(), *rest)


main()
