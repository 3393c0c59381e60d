#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No cell of a CSV table is a formula that a spreadsheet would run.

    cells.py RECKON

Names that a user gives go into tables as text: runs, documents, tiers.  Of every table the cells
that begin with = + - @, a tab or a line end are numbers.
"""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile

RECKON = os.path.abspath(sys.argv[1])
EVIL = ["=HYPERLINK(1)", "+1+cmd", "-2+3", "@SUM(1)", "\tx", "=1,2", '=\"a\"', "-", "a=b", "-5"]
RUN = {"layers": 16, "hidden": 2048, "heads": 32, "vocab": 131072, "seq": 4096,
       "accelerator": "H100", "n_accel": 8, "tp": 2, "dp": 4, "gbs": 32, "mbs": 4,
       "framework": "megatron-core", "step_time_s": 1.5}
failures = []


def ask(words, folder):
    done = subprocess.run([RECKON, *words], capture_output=True, text=True, encoding="utf-8",
                          cwd=folder, check=False)
    if done.returncode > 1:
        failures.append(f"{words}: {done.stderr}")
    return done.stdout


def is_number(text):
    try:
        float(text)
        return text[0] not in "\t\r\n"
    except ValueError:
        return False


def check(where, text):
    rows = list(csv.reader(io.StringIO(text, newline="")))
    bad = [cell for row in rows for cell in row if cell[:1] in tuple("=+-@\t\r\n")
           and not is_number(cell)]
    if bad or len(rows) < 2 or len({len(row) for row in rows}) != 1:
        failures.append(f"{where}: {bad}, {len(rows)} rows")
    return [cell for row in rows for cell in row]


def main():
    with tempfile.TemporaryDirectory() as folder:
        runs = os.path.join(folder, "runs.csv")
        with open(runs, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, ["id", *RUN])
            writer.writeheader()
            writer.writerows({"id": name, **RUN} for name in EVIL)
        cells = check("validate --csv", ask(["validate", "--runs", runs, "--csv"], folder))
        for name in EVIL:
            kept = name if is_number(name) or name == "a=b" else "'" + name
            if kept not in cells:
                failures.append(f"the run {name!r} is not in the table as {kept!r}")
        system = json.loads(ask(["show", "--json", "dgx-h100-superpod"], folder))
        for i, tier in enumerate(system["tiers"]):
            tier["name"] = f"=tier{i}"
        with open(os.path.join(folder, "=x.json"), "w", encoding="utf-8") as file:
            json.dump(system, file)
        for words in (["run", "--model", "llama3-8b", "--tokens", "1T", "--deadline", "60d",
                       "--system", "=x.json:64", "--csv"],
                      ["comm", "all-reduce", "--system", "=x.json", "--ranks", "16", "--bytes",
                       "1Mi", "--explain", "--csv"],
                      ["comm", "all-reduce", "--system", "=x.json", "--ranks", "16", "--csv"],
                      ["estimate", "llama3-8b", "--system", "=x.json", "--gpus", "8", "--tp", "2",
                       "--operators", "--csv"],
                      ["plan", "llama3-8b", "8xh100", "-b", "64", "--csv"],
                      ["timeline", "llama3-8b", "8xh100", "-b", "64", "--csv"],
                      ["explain", "llama3-8b", "8xh100", "-b", "64", "--csv"]):
            check(" ".join(words), ask(words, folder))
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
