#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost models of the kernels of linear attention, sparse attention and hyper-connections.

    fit.py >RESULTS.md
    fit.py --write       the constants of delta rules into ../../accelerators
    fit.py --check       fails where these documents hold others

Fits at most four constants per accelerator and kernel to the tables beside this script, on all shapes but
every fifth by a hash, and writes the errors on those that are held out. Each constant multiplies a known
amount of work; a time is the sum:

    gated delta rule, Kimi delta attention   a + b s + c B s n d + e B s         s tokens, B sequences, n heads of d
    MLA, DSA, block-sparse and V4 modules    a + b B s n + c B s + e S           FLOPs S of attention, and half of those
                                             of index scores, which kernels run in 8 bits; n heads of a rank
    index scores, picked keys, choice        a + b W (+ e B s)                   W FLOPs, or scores
    hyper-connections                        a + c T h + e T                     T tokens
"""

import collections
import csv
import gzip
import hashlib
import os
import re
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HELD_OUT = 5


def rows_of(name):
    path = os.path.join(HERE, name)
    opened = gzip.open(path, "rt", newline="") if name.endswith(".gz") else open(path, newline="")
    with opened as file:
        return list(csv.DictReader(file))


def solve(matrix, vector):
    """Least squares by normal equations, Gaussian elimination."""
    n = len(matrix[0])
    a = [[sum(row[i] * row[j] for row in matrix) for j in range(n)]
         + [sum(row[i] * y for row, y in zip(matrix, vector))] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(a[k][i]))
        a[i], a[pivot] = a[pivot], a[i]
        if abs(a[i][i]) < 1e-12:
            return None
        for k in range(n):
            if k != i:
                factor = a[k][i] / a[i][i]
                a[k] = [x - factor * y for x, y in zip(a[k], a[i])]
    return [a[i][n] / a[i][i] for i in range(n)]


def fit(samples):
    """Constants of at least 0 with small median relative error: reweighted least squares."""
    used = list(range(len(samples[0][0])))
    while used:
        weights, found = [1.0] * len(samples), None
        for _ in range(12):
            matrix = [[w * f[i] / y for i in used] for (f, y), w in zip(samples, weights)]
            found = solve(matrix, weights)
            if found is None:
                break
            errors = [abs(sum(k * f[i] for k, i in zip(found, used)) / y - 1) for f, y in samples]
            weights = [1 / max(e, 0.02) ** 0.5 for e in errors]
        if found is not None and min(found) >= 0:
            return dict(zip(used, found))
        used.pop(found.index(min(found)) if found else len(used) - 1)
    return {}


def number(row, key):
    return float(row[key] or 0)


def delta(row):
    B, s, n, d = (number(row, k) for k in ("batch", "seq", "v_heads", "v_dim"))
    return [1, s / 1e3, B * s * n * d / 1e6, B * s / 1e3]


SHAPES = {  # latent of keys, elements without and with position, of a value, index heads, kept keys
    "V3": (512, 128, 64, 128, 64, 2048), "GLM": (512, 192, 64, 256, 32, 2048),
    "Flash": (0, 512, 0, 512, 64, 512), "V4-Pro": (0, 512, 0, 512, 64, 1024),
    "MiniMax": (0, 128, 0, 128, 4, 2176),
}


def module(row):
    """Heads and tokens for the projections, attention with index scores."""
    key = next(k for k in ("V4-Pro", "Flash", "GLM", "MiniMax", "V3") if k in row["model"])
    kv, nope, rope, v, n_index, k = SHAPES[key]
    B, s, n = number(row, "batch"), number(row, "seq"), number(row, "heads_local")
    ratio, seen, op = number(row, "compress_ratio"), (s + 1) / 2, row["op"]
    if key in ("Flash", "V4-Pro"):
        picked = 128 + (min(k, s / ratio) if ratio == 4 else s / (2 * ratio))
        core, index = n * picked * 4 * nope, s / (2 * ratio) * 2 * n_index * 128 if ratio == 4 else 0
    elif key == "MiniMax":
        core, index = n * min(seen, k) * 4 * nope, seen * 2 * n_index * 128
    else:
        sparse = not op.startswith("mla") and "dense_mha" not in row["kernel"]
        core = n * min(k, s) * 2 * (2 * kv + rope) if sparse else n * seen * 2 * (nope + rope + v)
        index = seen * 2 * n_index * 129 if sparse and "skip" not in op else 0
    return [1, B * s * n / 1e6, B * s / 1e3, B * s * (core + index / 2) / 1e12]


def sparse_kernel(row):
    B, s, n = number(row, "batch"), number(row, "seq"), number(row, "heads_local")
    if row["op"] == "dsa_sparse_attention_kernel":
        return [1, B * s * n * 2048 * 2 * 1088 / 1e12]
    return [1, B * s * (s + 1) / 2 * 32 * 2 * 129 / 1e12, B * s / 1e3]


def connection(row):
    T, h = number(row, "tokens"), number(row, "hidden")
    return [1, T * h / 1e6, T / 1e3]


TABLES = [
    ("gated delta rule", "linear_attention.csv.gz", lambda r: r["op"] == "gated_delta_rule", delta,
     ("accelerator", "software", "kernel")),
    ("Kimi delta attention", "linear_attention.csv.gz", lambda r: r["op"] == "kimi_delta_attention",
     delta, ("accelerator", "software", "kernel")),
    ("sparse MLA, kernels", "sparse_mla.csv.gz", lambda r: r["op"].endswith("_kernel"),
     sparse_kernel, ("accelerator", "software", "op")),
    ("sparse MLA, modules", "sparse_mla.csv.gz", lambda r: r["op"].endswith(("module", "indexer")),
     module, ("accelerator", "software", "op", "kernel")),
    ("MLA, wide EP", "sparse_mla.csv.gz", lambda r: r["op"] == "mla_attention_wideep", module,
     ("accelerator", "software", "kernel")),
    ("hyper-connections", "hyper_connections.csv", lambda r: True, connection,
     ("accelerator", "software", "op", "kernel")),
]


def held_out(key, features):
    text = "|".join(key) + "|" + ",".join("%.9g" % f for f in features)
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % HELD_OUT == 0


def judge(rows, features, columns):
    """Errors of held-out rows, and of those that the constants come from, by accelerator."""
    groups, errors = collections.defaultdict(list), collections.defaultdict(lambda: ([], []))
    for row in rows:
        groups[tuple(row[c] for c in columns)].append((features(row), number(row, "latency_us")))
    for key, samples in groups.items():
        kept = [s for s in samples if not held_out(key, s[0])]
        constants = fit(kept) if len(kept) >= 8 else {}
        for sample in samples if constants else []:
            predicted = sum(k * sample[0][i] for i, k in constants.items())
            errors[key[0]][0 if held_out(key, sample[0]) else 1].append(
                abs(predicted / sample[1] - 1))
    return errors


def main():
    print("# Kernels of linear and sparse attention: errors of the cost models\n")
    print("Written by `data/measured/layers/fit.py`. Median absolute error in %; every fifth shape is held out.\n")
    print("| table | accelerator | rows held out | held out | fitted |")
    print("| --- | --- | ---: | ---: | ---: |")
    for title, name, chosen, features, columns in TABLES:
        errors = judge([r for r in rows_of(name) if chosen(r)], features, columns)
        everything = [e for pair in errors.values() for e in pair[0]]
        for accelerator in sorted(errors):
            out, fitted = errors[accelerator]
            print("| %s | %s | %d | %.1f | %.1f |" % (
                title, accelerator, len(out), 100 * statistics.median(out) if out else 0,
                100 * statistics.median(fitted)))
        print("| **%s** | all | %d | **%.1f** | %.1f |" % (
            title, len(everything), 100 * statistics.median(everything),
            100 * statistics.median([e for pair in errors.values() for e in pair[1]])))


# What estimates take: flash-linear-attention's kernels, which training runs, as the software names whose
# timings of them are the most regular; a + b s + c B s n d. A head of d = 128 with chunks of 64 executes
# 6 d^2 + 10 C d + C^2 FLOPs a token.
RULES = [("gated", "gated_delta_rule", "trtllm"), ("kimi", "kimi_delta_attention", "sglang")]
FLOPS = 6 * 128 ** 2 + 10 * 64 * 128 + 64 ** 2
MACHINES = {"B200": ["b200-sxm"], "B300": ["b300-sxm"], "GB200": ["gb200-nvl72"], "GB300": ["gb300-nvl72"],
            "H100-SXM5": ["h100-sxm", "h800-sxm"], "H200-SXM": ["h200-sxm", "gh200"]}
SAME_CHIP = {"h800-sxm": "As the H100, which is the same chip: ", "gh200": "As the H200, which is the same chip: "}


def three(rows, accelerator, op, software):
    """Constants of a rule, errors of the shapes held out, and how many rows there are."""
    chosen = [(delta(r)[:3], number(r, "latency_us")) for r in rows
              if r["accelerator"] == accelerator and r["op"] == op and r["software"].startswith(software)]
    out = [s for s in chosen if held_out((accelerator, op), s[0])]
    constants = fit([s for s in chosen if not held_out((accelerator, op), s[0])])
    errors = [abs(sum(k * s[0][i] for i, k in constants.items()) / s[1] - 1) for s in out]
    return constants, 100 * statistics.median(errors), len(chosen), len(out)


def delta_block(rows, accelerator, name):
    """The text of `delta` in an accelerator."""
    lines = []
    for rule, op, software in RULES:
        constants, error, count, out = three(rows, accelerator, op, software)
        assert len(constants) == 3, (accelerator, rule)
        lines.append("""    "%s": {
      "tflops": %.3g,
      "token_ns": %.3g,
      "launch_us": %.3g,
      "source": "%sdata/measured/layers/fit.py: %d rows, median error %.1f%% on %d held out."
    }""" % (rule, FLOPS / 128 / constants[2], constants[1], constants[0], SAME_CHIP.get(name, ""), count,
            error, out))
    return '  "delta": {\n%s\n  },\n' % ",\n".join(lines)


def documents(check):
    rows = rows_of("linear_attention.csv.gz")
    stale = []
    for accelerator, names in MACHINES.items():
        for name in names:
            path = os.path.join(HERE, "..", "..", "accelerators", name + ".json")
            with open(path) as file:
                old = file.read()
            bare = re.sub(r'  "delta": \{.*?\n  \},\n', "", old, flags=re.S)
            new = bare.replace('  "memory": {\n', delta_block(rows, accelerator, name) + '  "memory": {\n', 1)
            if new != old:
                stale.append(name)
            if not check:
                with open(path, "w") as file:
                    file.write(new)
    if check and stale:
        sys.exit("constants of delta rules differ in %s: run data/measured/layers/fit.py --write" % ", ".join(stale))


if len(sys.argv) > 1:
    documents(sys.argv[1] == "--check")
else:
    main()
