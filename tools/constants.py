#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every constant that is fitted to measured runs, with the rows that identify it.

    constants.py RECKON            writes the table into docs/calibration.md
    constants.py RECKON --check    exit status 1 if the table there differs, a fitted constant of a stack
                                   is in no recipe, or a constant is identified by no row

A row identifies a constant if its predicted time changes by more than NOISE when the constant takes its
neutral value and everything else stays as shipped.  The neutral value is the one with which the constant
has no effect: 1 for a share of a rate, 0 for a time, a count or an exposed share.
"""
import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CALIBRATIONS = ROOT / "data" / "calibrations"
PAGE = ROOT / "docs" / "calibration.md"
NOISE = 0.01  # equal runs of the tables differ by about as much
NEUTRAL_ONE = ("_share", "efficiency")
BEGIN, END = "<!-- constants.py: begin -->\n", "<!-- constants.py: end -->\n"


def as_list(value):
    return value if isinstance(value, list) else [value]


def recipes():
    """Recipes that fit to runs, in their order."""
    for name in (CALIBRATIONS / "ORDER").read_text().split():
        recipe = json.loads((CALIBRATIONS / f"{name}.json").read_text())
        if any(data["kind"] == "runs" for data in recipe["data"]):
            recipe["documents"] = [str((CALIBRATIONS / d).resolve())
                                   for d in as_list(recipe["documents"])]
            for data in recipe["data"]:
                data["file"] = str((CALIBRATIONS / data["file"]).resolve())
            yield name, recipe


def document_names(recipe, constant):
    every = [pathlib.Path(d).stem for d in recipe["documents"]]
    return [n for n in every if n in as_list(constant.get("documents", every))]


def shipped(recipe, constant):
    """The value of a constant in the documents, which share it."""
    key, name = as_list(constant["key"])[0], document_names(recipe, constant)[0]
    path = next(d for d in recipe["documents"] if pathlib.Path(d).stem == name)
    value = json.loads(pathlib.Path(path).read_text())
    for part in re.findall(r"\w+", key):
        value = value[int(part)] if part.isdigit() else value[part]
    return value


def errors_with(reckon, recipe, constant, value, folder):
    """log(predicted / measured) of every row to fit, with a constant held at a value."""
    width = 1e-9 * max(1, abs(value))
    low, high = (value, value + width) if value == 0 else (value - width, value)
    held = dict(recipe, constants=[dict(constant, start=value, min=low, max=high)])
    path, rows = folder / "recipe.json", folder / "rows.csv"
    path.write_text(json.dumps(held))
    subprocess.run([reckon, "calibrate", path, "--quick", "--rows", rows, "-o", folder / "report"],
                   check=True)
    with open(rows, newline="", encoding="utf-8") as table:
        return {row["row"]: math.log1p(float(row["error"])) for row in csv.DictReader(table)
                if row["held_out"] == "false"}


def neutral(constant):
    return 1 if as_list(constant["key"])[0].endswith(NEUTRAL_ONE) else 0


def changes(reckon, recipe, constant, folder):
    """Rows by how much the neutral value changes them, most first."""
    value = shipped(recipe, constant)
    as_shipped = errors_with(reckon, recipe, constant, value, folder)
    without = errors_with(reckon, recipe, constant, neutral(constant), folder)
    moved = {row: abs(without[row] - error) for row, error in as_shipped.items()}
    return value, sorted(moved.items(), key=lambda item: (-round(item[1], 4), item[0]))


def entries(reckon):
    with tempfile.TemporaryDirectory() as scratch:
        for name, recipe in recipes():
            for constant in recipe["constants"]:
                if as_list(constant["key"])[0].startswith("data."):
                    continue
                value, moved = changes(reckon, recipe, constant, pathlib.Path(scratch))
                yield {"recipe": name, "keys": as_list(constant["key"]), "value": value,
                       "documents": document_names(recipe, constant), "neutral": neutral(constant),
                       "rows": len(moved), "by": [m for m in moved if m[1] > NOISE]}


def table(found):
    yield "| recipe | constant | value | neutral | documents | rows | identified by | most by |\n"
    yield "|---|---|--:|--:|---|--:|--:|---|\n"
    for e in found:
        keys = ", ".join(f"`{key}`" for key in e["keys"])
        most = ", ".join(f"{row} ({100 * change:.1f} %)" for row, change in e["by"][:3])
        yield (f"| `{e['recipe']}` | {keys} | {e['value']:g} | {e['neutral']} | "
               f"{', '.join(e['documents'])} | {e['rows']} | {len(e['by'])} | {most} |\n")


def unlisted(found):
    """Numbers of stacks whose provenance says that they were fitted, and that no recipe has."""
    listed = {(d, key) for e in found for d in e["documents"] for key in e["keys"]}
    for path in sorted((ROOT / "data" / "stacks").glob("*.json")):
        for group, members in json.loads(path.read_text()).items():
            if isinstance(members, dict):
                for key in re.findall(r"(\w+) [0-9.e-]+ \+-", members.get("provenance", "")):
                    if (path.stem, f"{group}.{key}") not in listed:
                        yield f"{path.stem}: {group}.{key} is fitted, but in no recipe"


def main():
    reckon = pathlib.Path(sys.argv[1]).resolve()
    found = list(entries(reckon))
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    new = (before + BEGIN + f"{len(found)} constants:\n\n" + "".join(table(found)) + END + after)
    wrong = list(unlisted(found))
    wrong += [f"{e['recipe']}: no row identifies {e['keys'][0]}" for e in found if not e["by"]]
    if sys.argv[2:] == ["--check"]:
        if page != new:
            wrong.append("docs/calibration.md: run tools/constants.py build/reckon")
    else:
        PAGE.write_text(new)
    print("\n".join(wrong) or f"{len(found)} constants, each identified by a row")
    sys.exit(1 if wrong else 0)


main()
