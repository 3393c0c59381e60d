#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks for peaks of FSDP2 as torchtitan uses it, which were measured on one H100 (PyTorch 2.11).

    torchtitan.py RECKON TABLE

Each row of TABLE (data/measured/torchtitan/h100.csv) becomes a configuration of torchtitan.
Allocated memory must agree within 1 %, reserved memory within 4.5 %; without recomputation within 4 %,
as the model that was measured repeats keys and values for the heads of queries, and keeps these.
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

ALLOCATED, RESERVED, REPEATED = 0.01, 0.045, 0.04


def launch_of(row):
    """The configuration, in TOML."""
    parts = [part for part in row["compile"].split("+") if part != "false"]
    mode = {"operators": "selective"}.get(row["recompute"], row["recompute"])
    return f"""[training]
local_batch_size = {row["batch"]}
seq_len = {row["sequence"]}
[parallelism]
data_parallel_shard_degree = -1
[activation_checkpoint]
mode = "{mode}"
selective_ac_option = "op"
[compile]
enable = {str(bool(parts)).lower()}
components = {json.dumps(parts)}
"""


def main():
    reckon, table = sys.argv[1:]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        launch, model = pathlib.Path(folder) / "job.toml", pathlib.Path(folder) / "model.json"
        for row in csv.DictReader(open(table, encoding="utf-8")):
            launch.write_text(launch_of(row))
            shown = subprocess.run([reckon, "show", row["model"], "--json"], capture_output=True, check=True)
            document = json.loads(shown.stdout)
            document.pop("published_parameters", None)
            document["layers"] = int(row["layers"])
            model.write_text(json.dumps(document))
            ranks, batch = int(row["ranks"]), int(row["batch"])
            done = subprocess.run([reckon, "estimate", model, f"{ranks}xh100", "--from", launch, "-b",
                                   str(ranks * batch), "--json"], capture_output=True, check=True)
            answer = json.loads(done.stdout)["estimate"]
            for name, most in (("allocated", ALLOCATED), ("reserved", RESERVED)):
                error = answer[f"memory_{name}_bytes"] / float(row[f"{name}_bytes"]) - 1
                print(f"{row['id']} {row['recompute']:9} {row['compile']:10} {name} {100 * error:+.1f} %")
                if abs(error) > (REPEATED if row["recompute"] == "none" else most):
                    failed.append(f"{row['id']}: {name} memory is {100 * error:+.1f} % off")
    print("\n".join(failed))
    sys.exit(1 if failed else 0)


main()
