#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of the kernels of libraries, as `reckon calibrate` computes them.

    report.py RECKON >RESULTS.md

Every figure is that of the C library with the shipped documents: constants that belong to a document are
not moved, those of tables ("data.*") are.
"""

import collections
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RECIPES = os.path.join(HERE, "../../calibrations")
FLASH = ("flash-gb200", "flash-gb300", "flash-hopper")
NAMES = {"cudnn": "cuDNN, 16 bits", "cudnn_fp8": "cuDNN, FP8", "cudnn_mxfp8": "cuDNN, MXFP8",
         "flash_attention_2": "shares of context-parallel ranks"}


def errors_of(reckon, recipe, tables=None):
    """(name of the row, held out, error) of every row of a recipe; `tables`: instead of its own."""
    path = os.path.join(RECIPES, recipe + ".json")
    with open(path) as file:
        document = json.load(file)
    document["constants"] = [c for c in document["constants"] if c["key"].startswith("data.")]
    document["constants"] = document["constants"] or [
        {"key": "data.droop", "start": 0, "min": 0, "max": 1e-9, "meaning": "not used"}]
    document["data"] = tables or document["data"]
    document["starts"] = 0
    with tempfile.TemporaryDirectory(dir=RECIPES) as folder:
        rows, inner = os.path.join(folder, "rows.csv"), os.path.join(folder, "recipe.json")
        for table in document["data"]:
            table["file"] = os.path.join(RECIPES, table["file"])
        document["documents"] = [os.path.join(RECIPES, name) for name in document["documents"]]
        with open(inner, "w") as file:
            json.dump(document, file)
        subprocess.run([reckon, "calibrate", inner, "--quick", "--threads", "1", "--rows", rows],
                       check=True, stdout=subprocess.DEVNULL)
        with open(rows, newline="") as file:
            return [(row["row"], row["held_out"] == "true", float(row["error"]))
                    for row in csv.DictReader(file)]


def median(errors):
    return "%.1f" % (100 * statistics.median(map(abs, errors))) if errors else "-"


def print_table(title, groups):
    """groups: name -> ([errors held out], [errors fitted])."""
    print(f"\n## {title}\n")
    print("| kernel | accelerator | pass | rows held out | held out | 90 % below | mean | fitted |")
    print("| --- | --- | --- | --: | --: | --: | --: | --: |")
    for (kernel, accelerator, name), (out, fitted) in sorted(groups.items()):
        print_line(kernel, accelerator, name, out, fitted)
    everything = [e for pair in groups.values() for e in pair[0]]
    print_line("**all**", "", "", everything, [e for pair in groups.values() for e in pair[1]])


def print_line(kernel, accelerator, name, out, fitted):
    sizes = sorted(map(abs, out))
    high = "%.1f" % (100 * sizes[int(0.9 * len(sizes))]) if sizes else "-"
    mean = "%+.1f" % (100 * statistics.mean(out)) if out else "-"
    print(f"| {kernel} | {accelerator} | {name} | {len(out)} | {median(out)} | {high} | {mean} | "
          f"{median(fitted)} |")


def flash_groups(rows):
    groups = collections.defaultdict(lambda: ([], []))
    for name, held, error in rows:
        accelerator, library, direction = name.split()[:3]
        groups[(NAMES[library], accelerator, direction)][0 if held else 1].append(error)
    return groups


def main():
    reckon = sys.argv[1]
    print("# Kernels of libraries: errors of the models\n")
    print("Written by `data/measured/operators/report.py`, from `reckon calibrate` with the shipped documents.")
    print("Absolute errors in %, medians unless the column says otherwise; every fifth shape is held out.")
    rows = [row for recipe in FLASH for row in errors_of(reckon, recipe)]
    cudnn = [row for row in rows if " cudnn" in row[0]]
    print_table("Attention of cuDNN", flash_groups(cudnn))
    print_table("Attention of context-parallel ranks",
                flash_groups([row for row in rows if " cudnn" not in row[0]]))
    where = {"library": {"contains": "cudnn"}, "timed": ["events", "derived"]}
    other = [{"kind": "flash", "file": "../measured/operators/attention.csv.gz", "where": where,
              "group_by": ["accelerator", "library", "pass"]}]
    rest = [(name, True, error) for recipe in FLASH for name, _, error in
            errors_of(reckon, recipe, other)]
    print_table("cuDNN with launches in the time, or of unknown version: nothing but B200's is fitted",
                flash_groups(rest))


main()
