#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows that documents of accelerators name as fitted to are in split fit.

    named_rows.py DATA [TABLE.csv...]    tables beyond those of DATA/runs, where they exist

A source says "fitted to the steps of mlperf_lora-0051, -0091 and fsdp_qlora-014 to -019".
"""
import csv
import json
import pathlib
import re
import sys

NAMED = re.compile(r"fitted to the steps of ((?:[\w-]+(?:, | and | to )?)+)")
ONE = re.compile(r"(to )?([a-z]\w*)?-(\d{3,4})")


def splits(tables):
    return {row["id"]: row.get("split", "") for table in tables if table.exists()
            for row in csv.DictReader(table.open(encoding="utf-8", newline=""))}


def rows_of(text):
    for list_of_rows in NAMED.findall(text):
        part, last = None, None
        for up_to, name, number in ONE.findall(list_of_rows):
            part = name or part
            first = last + 1 if up_to else int(number)
            last = int(number)
            yield from (f"{part}-{i:0{len(number)}}" for i in range(first, last + 1))


def sources(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from [inner] if key == "source" else sources(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from sources(inner)


def main():
    data = pathlib.Path(sys.argv[1])
    every = splits([*sorted((data / "runs").glob("*.csv")), *map(pathlib.Path, sys.argv[2:])])
    faults, named = [], 0
    for path in sorted((data / "accelerators").glob("*.json")):
        for text in sources(json.loads(path.read_text(encoding="utf-8"))):
            for row in rows_of(text):
                named += 1
                if every.get(row, "fit") != "fit":
                    faults.append(f"{path.name}: {row} is in split {every[row]}")
    print(f"{named} rows are named, {len(faults)} of them not marked fit", *faults, sep="\n")
    sys.exit(1 if faults or not named else 0)


main()
