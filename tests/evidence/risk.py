#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Risks of running out of memory come true as often as they say, on runs that they were not made of.

    risk.py RECKON RUNS...

RUNS are folders of tables: of each, all rows of sources that report runs out of memory.  Rows of split fit, which the
built-in distribution is made of, get theirs without their model on their machine.  A folder that is not there is
skipped.
"""
import csv
import json
import pathlib
import subprocess
import sys

BIN = 60  # runs, at least
OFF = 0.12
IMPOSSIBLE = 0.99
TABLES = ("fit", "fit_2", "check", "check_2", "oom_fit", "oom_check", "megatron", "torch")


def ask(reckon, folder, *options):
    tables = [str(path) for name in TABLES for path in [folder / f"{name}.csv"] if path.exists()]
    done = subprocess.run([reckon, "validate", "--runs", ",".join(tables), *options], check=True, capture_output=True,
                          text=True)
    return done.stdout


def labelled(reckon, folder):
    rows = [row for row in csv.DictReader(ask(reckon, folder, "--csv").splitlines()) if row["memory_needed_bytes"]]
    failing = {row["source"] for row in rows if row["ran_out_of_memory"] == "true"}
    return sorted((float(row["out_of_memory_risk"]), row["ran_out_of_memory"] == "true", row["fits"])
                  for row in rows if row["source"] in failing)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def check_rows(name, rows):
    brier = mean((risk - failed) ** 2 for risk, failed, _ in rows)
    verdicts = mean((fits in ("no", "unknown")) != failed for _, failed, fits in rows)
    impossible = mean(risk >= IMPOSSIBLE for risk, failed, _ in rows if not failed)
    count = len(rows) // BIN
    bins = [rows[i * len(rows) // count:(i + 1) * len(rows) // count] for i in range(count)]
    off = max(abs(mean(risk for risk, _, _ in part) - mean(failed for _, failed, _ in part)) for part in bins)
    print(f"{name}: {len(rows)} rows, Brier score {brier:.4f}, {verdicts:.4f} of the verdicts, worst of {count} bins "
          f"off by {off:.3f}, {100 * impossible:.2f} % of what ran called impossible")
    return brier < verdicts and off <= OFF and impossible <= 0.005


def check_choices(name, reckon, folder):
    choice = json.loads(ask(reckon, folder, "--json"))["all"][0]["first_choice"]
    print(f"{name}: of {choice['jobs']} first choices {choice['ran_out_of_memory']} ran out of memory")
    return choice["ran_out_of_memory"] <= 0.1 * choice["jobs"]


def main():
    reckon, folders = sys.argv[1], [pathlib.Path(name) for name in sys.argv[2:]]
    good = True
    for folder in folders:
        if not folder.is_dir():
            print(f"{folder}: not there, skipped")
            continue
        rows = labelled(reckon, folder)
        good &= check_rows(folder.name, rows) and check_choices(folder.name, reckon, folder)
    return 0 if good else "risk.py: risks are off"


if __name__ == "__main__":
    sys.exit(main())
