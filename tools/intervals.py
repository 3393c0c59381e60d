#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What intervals of estimates are made of, and whether they hold for sources that nobody has seen.

    tools/intervals.py RECKON [--write]

For every source that constants of stacks were fitted to, those stacks are fitted anew without its rows;
where no rows are left, the constants go back to the start of their recipe. The errors that each source
has with the constants of the others are data/runs/residuals.json (--write): the runs of somebody who
asks for an estimate were not fitted to either.

Then every source is left out of these residuals in turn, and the intervals made of the others are
compared with its runs, both splits. Prints a table of Markdown; exit status 1 where less than 70 % of
the runs of a source lie inside, on average, or residuals.json is out of date.
"""
import csv
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
TABLES = ["fit", "fit_2", "fit_3", "check", "check_2", "check_3"]
RESIDUALS = DATA / "runs" / "residuals.json"
ROWS_LEAST = 3
INSIDE_LEAST = 70  # %


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def recipes():
    """Those that fit stacks to runs, in their order."""
    for name in (DATA / "calibrations" / "ORDER").read_text().split():
        recipe = json.loads((DATA / "calibrations" / f"{name}.json").read_text())
        if recipe["data"][0]["kind"] == "runs":
            yield recipe


def listed(value):
    return value if isinstance(value, list) else [value]


def parts_of(recipe):
    return {part for data in recipe["data"] for part in listed(data["where"]["part"])}


def reset(recipe, folder):
    """Puts the constants of a recipe back to their start."""
    documents = {path.stem: path for path in (folder / pathlib.Path(p).name for p in listed(recipe["documents"]))}
    for constant in recipe["constants"]:
        for name in listed(constant.get("documents", list(documents))):
            document = json.loads(documents[name].read_text())
            for key in listed(constant["key"]):
                part, place, field = re.fullmatch(r"(\w+)(?:\[(\d+)\])?\.(\w+)", key).groups()
                group = document.get(part)
                group = group[int(place)] if group and place else group
                if isinstance(group, dict) and field in group:
                    group[field] = constant["start"]
            documents[name].write_text(json.dumps(document))


def refit(reckon, source, folder):
    """Documents of stacks and machines that were fitted without a source, as files of `folder`."""
    rows = folder / "rows.csv"
    write(rows, [row for row in read(DATA / "runs" / "fit.csv") if row["part"] != source])
    found = {}
    for recipe in recipes():
        if source not in parts_of(recipe):
            continue
        paths = [(DATA / "calibrations" / path).resolve() for path in listed(recipe["documents"])]
        for path in paths:
            if path.name not in found:
                (folder / path.name).write_text(path.read_text())
                found[path.name] = path.parent.name
        if parts_of(recipe) == {source}:
            reset(recipe, folder)
            continue
        recipe["documents"] = [path.name for path in paths]
        for data in recipe["data"]:
            data["file"] = "rows.csv"
        (folder / "recipe.json").write_text(json.dumps(recipe))
        subprocess.run([reckon, "calibrate", "recipe.json", "--quick", "--write", "-o", "report"],
                       check=True, cwd=folder)
    return found


def validate(reckon, rows, folder, *options):
    write(folder / "asked.csv", rows)
    subprocess.run([reckon, "validate", "--runs", "asked.csv", "--csv", "-o", "answer.csv", *options],
                   check=True, cwd=folder)
    return read(folder / "answer.csv")


def without_own(reckon, rows, folder):
    """The rows that are predicted, with the documents that were fitted without their sources."""
    fitted = set().union(*map(parts_of, recipes()))
    shipped = validate(reckon, rows, folder)
    changed = [dict(row) for row in rows]
    for number, source in enumerate(sorted(fitted)):
        place = folder / f"s{number}"
        place.mkdir()
        found = refit(reckon, source, place)
        for row, answer in zip(changed, shipped):
            for column, kind in (("stack", "stacks"), ("system", "systems")):
                name = answer[column] + ".json"
                if row["part"] == source and answer["step_s"] and found.get(name) == kind:
                    row[column] = f"s{number}/{name}"
    return [row for row, answer in zip(changed, shipped) if answer["step_error"]]


def write_residuals(reckon, rows, folder, path):
    validate(reckon, [row for row in rows if row["split"] == "fit"], folder, "--residuals", path)


def are_kept(reckon, rows, folder):
    """Whether data/runs/residuals.json holds what --write would write."""
    made = folder / "made.json"
    write_residuals(reckon, rows, folder, os.fspath(made))
    if made.read_bytes() == RESIDUALS.read_bytes():
        return True
    print("data/runs/residuals.json is out of date; renew it: tools/accuracy.sh build", file=sys.stderr)
    return False


def half_width(answer):
    """Of the interval: half of the ratio of its ends in logarithms, as a share."""
    return (float(answer["step_p90_s"]) / float(answer["step_p10_s"])) ** 0.5 - 1


def held(answer):
    return float(answer["step_p10_s"]) <= float(answer["step_measured_s"]) <= float(answer["step_p90_s"])


def judge(reckon, rows, folder):
    """Source -> its runs that have intervals, made without the source."""
    found = {}
    for source in sorted({row["part"] for row in rows}):
        others, own = ([row for row in rows if (row["part"] == source) == is_own] for is_own in (False, True))
        write_residuals(reckon, others, folder, "others.json")
        answers = validate(reckon, own, folder, "--intervals", "others.json")
        found[source] = [answer for answer in answers
                         if answer["step_error"] and answer["step_p10_s"] and float(answer["step_p10_s"]) > 0]
    return {source: answers for source, answers in found.items() if len(answers) >= ROWS_LEAST}


def share(answers):
    return 100 * statistics.mean(map(held, answers))


def print_table(found):
    print("| source left out | runs | median error, % | inside, % | median half-width, % |")
    print("|---|--:|--:|--:|--:|")
    for source, answers in found.items():
        error = 100 * statistics.median(abs(float(a["step_error"])) for a in answers)
        width = 100 * statistics.median(map(half_width, answers))
        print(f"| {source} | {len(answers)} | {error:.1f} | {share(answers):.0f} | {width:.0f} |")
    everything = [answer for answers in found.values() for answer in answers]
    means = statistics.mean(map(share, found.values()))
    width = 100 * statistics.median(map(half_width, everything))
    print(f"| **mean of these sources** | | | **{means:.0f}** | |")
    print(f"| all runs | {len(everything)} | | {share(everything):.0f} | {width:.0f} |")
    return means >= INSIDE_LEAST


def main():
    reckon = str(pathlib.Path(sys.argv[1]).resolve())
    rows = [row for name in TABLES for row in read(DATA / "runs" / f"{name}.csv")]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    rows = [{column: row.get(column, "") for column in columns} for row in rows]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        rows = without_own(reckon, rows, folder)
        if "--write" in sys.argv[2:]:
            write_residuals(reckon, rows, folder, os.fspath(RESIDUALS))
        kept = are_kept(reckon, rows, folder)
        return 0 if print_table(judge(reckon, rows, folder)) and kept else 1


if __name__ == "__main__":
    sys.exit(main())
