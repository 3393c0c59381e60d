#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table that docs/accuracy.md opens with: the median error of each source on split check, the
same with all names and free text removed, and on split fit by constants that were fitted without it;
below, the first two of the sources of check_3, to whose kind of runs nothing is fitted.

    tools/sources-out.py RECKON

Nothing is fitted to most sources, so that their error is that of a source left out.  Sources that
share no fitted stack or machine with another are listed apart: nothing but the start of a recipe is left without
them.
"""
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNS = ROOT / "data" / "runs"
LEAST = 3  # rows of a source
NAMES = ["id", "source", "commit_or_version", "unread"]
APART = ["bigscience", "hf_playbook", "llm_foundry", "megatron_lm"]
RECIPES = ["stacks-hopper", "stacks-blackwell", "stacks-experts", "stacks-eager-2023"]


def median(errors):
    return 100 * statistics.median(abs(error) for error in errors)


def compared(reckon, tables, folder):
    """Errors by part, functional runs apart, of tables that are predicted as they are given."""
    out = pathlib.Path(folder) / "errors.csv"
    subprocess.run([reckon, "validate", "--runs", ",".join(map(str, tables)), "--csv", "-o", out],
                   check=True)
    errors = {}
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    parts = {}
    for table in tables:
        with open(table, newline="") as file:
            for number, row in enumerate(csv.DictReader(file), 1):
                functional = row.get("group", "").endswith(", functional")
                parts[str(table), str(number)] = row["group"] if functional else row["part"]
    for row in rows:
        if row["step_error"]:
            errors.setdefault(parts[row["file"], row["row"]], []).append(float(row["step_error"]))
    return errors


def blanked(table, folder):
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    copy = pathlib.Path(folder) / table.name
    with open(copy, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        for row in rows:
            writer.writerow({name: "" if name in NAMES else cell for name, cell in row.items()})
    return copy


def left_out(reckon, folder):
    """Errors of rows to fit, by part, under constants that were fitted without the part."""
    errors = {}
    for name in RECIPES:
        recipe = json.loads((ROOT / "data" / "calibrations" / f"{name}.json").read_text())
        documents = recipe["documents"]
        documents = [documents] if isinstance(documents, str) else documents
        recipe["documents"] = [str((ROOT / "data" / "calibrations" / path).resolve())
                               for path in documents]
        for data in recipe["data"]:
            data["file"] = str((ROOT / "data" / "calibrations" / data["file"]).resolve())
            data["leave_out"] = ["part"]
            data["group_by"] = ["part"] + [key for key in data["group_by"] if key != "part"]
        copy, rows = pathlib.Path(folder) / f"{name}.json", pathlib.Path(folder) / f"{name}.csv"
        copy.write_text(json.dumps(recipe))
        subprocess.run([reckon, "calibrate", copy, "--rows", rows, "-o",
                        pathlib.Path(folder) / "report"], check=True)
        with open(rows, newline="") as file:
            for row in csv.DictReader(file):
                if row["held_out"] == "false":
                    part = row["row"].rsplit("-", 1)[0]
                    errors.setdefault(part, []).append(float(row["error_by_the_others"]))
    return errors


def with_and_without_names(reckon, names, folder):
    tables = [RUNS / f"{name}.csv" for name in names]
    return (compared(reckon, tables, folder),
            compared(reckon, [blanked(table, folder) for table in tables], folder))


def print_means(title, columns):
    print(f"| **{title}** | | " +
          " | ".join(f"**{statistics.mean(column):.1f}**" if column else "" for column in columns) + " |")


def main():
    reckon = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        check, bare = with_and_without_names(reckon, ["check", "check_2"], folder)
        people, bare_people = with_and_without_names(reckon, ["check_3"], folder)
        others = left_out(reckon, folder)
    print("| source | rows of check | median, % | names removed | fitted without it |")
    print("|---|--:|--:|--:|--:|")
    columns = [[], [], []]
    for part in sorted(part for part in check if len(check[part]) >= LEAST):
        without = check[part] if part not in others and part not in APART else others.get(part)
        cells = []
        for column, errors in zip(columns, (check[part], bare[part], without)):
            column += [median(errors)] if errors else []
            cells.append(f"{median(errors):.1f}" if errors else "apart")
        print(f"| {part} | {len(check[part])} | {' | '.join(cells)} |")
    print_means("mean of these sources", columns)
    columns = [[], [], []]
    for part in sorted(part for part in people if len(people[part]) >= LEAST):
        for column, errors in zip(columns, (people[part], bare_people[part])):
            column.append(median(errors))
        print(f"| {part} | {len(people[part])} | {columns[0][-1]:.1f} | {columns[1][-1]:.1f} | |")
    print_means("mean of these, of what people run", columns)
    sys.exit(0 if check == bare and people == bare_people else "names change predictions")


if __name__ == "__main__":
    main()
