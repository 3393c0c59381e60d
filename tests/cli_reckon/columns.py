#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What commands print for people are the numbers of their documents, in the units of their titles.

    columns.py RECKON
"""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile

GIB = 2.0**30
SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1}
RECKON = os.path.abspath(sys.argv[1])
failures = []


def ask(*words):
    done = subprocess.run([RECKON, *words], env=dict(os.environ, NO_COLOR="1"), text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"reckon {' '.join(words)}: {done.stderr}")
    return done.stdout


def near(what, found, wanted, room=1e-9):
    """Notes a difference; the room is relative, or absolute where it is a text of digits."""
    if isinstance(found, str):
        digits = len(found.partition(".")[2])
        found, room = float(found.replace(",", "")), 0.51 * 10.0**-digits
    else:
        room *= abs(wanted)
    if not abs(found - wanted) <= room:
        failures.append(f"{what}: {found} instead of {wanted}")


def row_of(text, title):
    """The words of the row of a table that begins with a title."""
    line = next(line for line in text.splitlines() if line.startswith(title + " "))
    return line[len(title):].split()


def check_estimate(what, answer, peak):
    """An estimate agrees with itself."""
    s, e = answer["strategy"], answer["estimate"]
    ranks = s["tp"] * s["cp"] * s["pp"] * s["dp"]
    near(f"{what}: accelerators", s["accelerators"], ranks)
    near(f"{what}: microbatches", s["microbatches"] * s["micro_batch"] * s["dp"],
         s["global_batch"])
    near(f"{what}: tokens/s", e["tokens_per_s"] * e["step_s"], s["global_batch"] * s["seq_tokens"])
    near(f"{what}: tokens/s/GPU", e["tokens_per_s_per_accelerator"] * ranks, e["tokens_per_s"])
    near(f"{what}: MFU", e["mfu"] * peak, e["tflops_per_accelerator"] * 1e12)
    near(f"{what}: HFU", e["hfu"] * peak, e["hardware_tflops_per_accelerator"] * 1e12)
    near(f"{what}: step", sum(e["time_s"].values()), e["step_s"])
    near(f"{what}: memory", sum(e["memory_of_worst_stage"]["parts_bytes"].values()),
         e["memory_total_bytes"])


def check_plan():
    question = ("plan", "--model", "llama3-8b", "--system", "dgx-h100-superpod", "-p", "64", "-b",
                "64", "--recompute", "full", "-n", "2")
    text, document = ask(*question, "-v"), json.loads(ask(*question, "--json"))
    peak = document["system"]["bf16_peak_flops_per_s"]
    for i, answer in enumerate(document["strategies"]):
        check_estimate(f"plan, {i + 1}", answer, peak)
        e = answer["estimate"]
        if not e["hfu"] > 1.01 * e["mfu"]:
            failures.append(f"plan, {i + 1}: full recomputation does not show in HFU")
        value, unit = row_of(text, "step")[2 * i:2 * i + 2]
        near(f"plan, {i + 1}, step", value, e["step_s"] / SECONDS[unit])
        for title, wanted in (("tokens/s/GPU", e["tokens_per_s_per_accelerator"]),
                              ("TFLOP/s/GPU", e["tflops_per_accelerator"]),
                              ("MFU, %", 100 * e["mfu"]),
                              ("memory, GiB", e["memory_total_bytes"] / GIB)):
            near(f"plan, {i + 1}, {title}", row_of(text, title)[i], wanted)
    e = document["strategies"][0]["estimate"]
    found = re.search(r"step +([\d.]+) (µs|ms|s); ([\d,]+) tokens/s, "
                      r"([\d.]+) tokens/s/GPU, ([\d.]+) TF", text)
    near("summary, step", found[1], e["step_s"] / SECONDS[found[2]])
    for words, wanted in zip(found.groups()[2:], (e["tokens_per_s"],
                                              e["tokens_per_s_per_accelerator"],
                                              e["tflops_per_accelerator"])):
        near("summary", words, wanted)
    found = re.search(r"MFU ([\d.]+) %, HFU ([\d.]+) % of", text)
    near("summary, MFU", found[1], 100 * e["mfu"])
    near("summary, HFU", found[2], 100 * e["hfu"])
    found = re.search(r"fits: ([\d.]+) of ([\d.]+) GiB", text)
    near("summary, memory", found[1], e["memory_total_bytes"] / GIB)
    near("summary, memory available", found[2], e["memory_usable_bytes"] / GIB)
    near("communication of data", row_of(text, "data")[1],
         e["sent_bytes_per_step"]["data"] / GIB)


def check_stages():
    question = ("fit", "--model", "llama3-70b", "--system", "dgx-h100-superpod", "-p", "64", "-b",
                "64", "--tp", "4", "--pp", "4", "--cp", "1", "--micro-batch", "1", "--zero", "1",
                "--recompute", "none", "--vp", "1")
    text, document = ask(*question, "-v"), json.loads(ask(*question, "--json"))
    check_estimate("fit", document, document["system"]["bf16_peak_flops_per_s"])
    rows = [line.split() for line in text.splitlines() if re.match(r"\d ", line)]
    for row, stage in zip(rows, document["stages"]):
        usable = document["estimate"]["memory_usable_bytes"]
        near("stage, left in JSON", stage["left_bytes"], usable - stage["total_bytes"])
        for words, wanted in zip(row[-4:], (stage["allocated_bytes"], stage["reserved_bytes"],
                                            stage["total_bytes"], stage["left_bytes"])):
            near("stage", words, wanted / GIB)
    if len(rows) != 4:
        failures.append(f"fit: {len(rows)} stages")


def check_list():
    for line in ask("list", "accelerators").split("\n\n")[0].splitlines()[2:]:
        name, memory, rate = line.split()[:3]
        document = json.loads(ask("show", name, "--json"))["memory"]
        near(f"{name}, memory", memory, document["usable_GiB"], 1e-5)
        near(f"{name}, bandwidth", rate, document["bandwidth_GBps"])


def check_comm():
    question = ("comm", "--system", "dgx-h100-superpod", "--ranks", "16", "--bytes", "1Mi,1Gi")
    text, document = ask(*question), json.loads(ask(*question, "--json"))
    lines = ask(*question, "--csv").splitlines()[1:]
    factors = {"all_reduce": 2 * 15 / 16, "broadcast": 1, "reduce": 1, "send": 1}
    rows = [line.split() for line in text.splitlines() if re.match(r"[a-z_]+ +[a-z-]+ +[\d,]+ +[\d.]+ ", line)]
    if not len(rows) == len(lines) == len(document["collectives"]) >= 12:
        failures.append(f"comm: {len(rows)}, {len(lines)}, {len(document['collectives'])} rows")
    for c, line, row in zip(document["collectives"], lines, rows):
        what = f"comm, {c['op']}"
        near(f"{what}, seconds", float(line.split(",")[4]), c["seconds"])
        near(f"{what}, bandwidth", c["algorithm_bytes_per_s"] * c["seconds"], c["bytes"])
        near(f"{what}, bus", c["bus_bytes_per_s"],
             c["algorithm_bytes_per_s"] * factors.get(c["op"], 15 / 16))
        near(f"{what}, time", row[3], c["seconds"] / SECONDS[row[4]])
        for words, wanted in zip(row[5:], (c["algorithm_bytes_per_s"] / 1e9,
                                           c["bus_bytes_per_s"] / 1e9)):
            near(what, words, wanted)


def check_checkpoint():
    """A checkpoint holds weights and optimizer states of MTP modules as of the other layers."""
    document = json.loads(ask("show", "deepseek-v3", "--json"))
    layers, h = document["layers"], document["hidden"]
    sizes = {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        for count, mtp in ((layers, 0), (layers - 1, 0), (layers, 1)):
            short = {key: value for key, value in document.items() if "published" not in key}
            short.update(layers=count, mtp_layers=mtp)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(short, file)
            found = ask("run", "--model", path, "--system", "deepseek-v3-h800", "-p", "2048", "-b",
                        "4096", "--tp", "1", "--pp", "1", "--cp", "1", "--ep", "64", "--zero", "3",
                        "--micro-batch", "1", "--recompute", "full", "--framework", "any",
                        "--tokens", "1T", "--json")
            sizes[count, mtp] = json.loads(found)["run"]["checkpoint_bytes"]
    layer = sizes[layers, 0] - sizes[layers - 1, 0]
    near("checkpoint of MTP", sizes[layers, 1] - sizes[layers, 0],
         layer + (2 + 12) * (2 * h * h + 3 * h))


def check_whole_runs():
    """Whole runs agree with themselves, and the sentence below counts what the table says."""
    text = ask("validate", "--whole")
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines()
            if re.match(r"\| [^|]+ \| \d+: TP ", line)]
    counted = [row for row in rows if not re.search("not counted|^-$", row[11])]
    within = [row for row in counted if "off" not in row[11]]
    for name, layout, measured, step, *figures, fits, error in rows:
        if figures[1] != "-":
            near(f"{name}: hours", float(figures[3]) * 1e3,
                 float(figures[1]) * 24 * int(layout.split(":")[0]), 1e-3)
        target, percent = error.split()[0], error.partition(" ")[2].split(" %")[0]
        asked = {"step": (measured, step), "days": figures[0:2], "hours": figures[2:4]}
        if target in asked:
            published, predicted = (float(word) for word in asked[target])
            if abs(predicted / published - 1 - float(percent) / 100) > 0.0061:
                failures.append(f"{name}: {error}, and {predicted} for {published}")
        if fits not in ("fits", "**no**") or not float(step) > 0:
            failures.append(f"{name}: {fits}, step {step}")
    said = " ".join(text.split())
    for words in (f"{len(within)} of {len(counted)} confirmed runs",
                  f"{sum(row[10] == 'fits' for row in rows)} of"):
        if words not in said:
            failures.append(f"validate --whole does not say '{words}'")
    if len(rows) < 20:
        failures.append(f"validate --whole predicts {len(rows)} runs")


def check_calibration():
    """The errors of the rows make the sums of a calibration's report."""
    recipe = os.path.join(os.path.dirname(os.path.abspath(__file__)), "calibrate", "recipe.json")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        done = subprocess.run([RECKON, "calibrate", recipe, "--quick", "-t", "1", "--json", "--rows",
                               path], capture_output=True, text=True, check=False)
        if "without NLopt" in done.stderr:
            return
        report = json.loads(done.stdout)
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    for part, held_out in (("fitted", "false"), ("held_out", "true")):
        errors = [float(row["error"]) for row in rows if row["held_out"] == held_out]
        near(f"{part}: rows", len(errors), report[part]["rows"])
        near(f"{part}: mean", sum(map(abs, errors)) / len(errors), report[part]["mean"], 1e-12)
        near(f"{part}: bias", sum(errors) / len(errors), report[part]["bias"], 1e-9)


def check_row_names():
    """Rows of a calibration are named by their accelerator and what was measured."""
    data = os.path.join(os.path.dirname(os.path.abspath(__file__)), *2 * [".."], "data")
    for recipe, table, columns in (
            ("collective-nvlink3", "ops/collective.csv", "accelerator op ranks bytes"),
            ("attention-b300", "ops/attention.csv", "accelerator pass head_size heads batch seq"),
            ("memory-ampere", "ops/stream.csv", "accelerator op bytes")):
        with open(os.path.join(data, table), encoding="utf-8", newline="") as file:
            names = {" ".join(row[column] for column in columns.split())
                     for row in csv.DictReader(file)}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.csv")
            done = subprocess.run([RECKON, "calibrate", f"{data}/calibrations/{recipe}.json",
                                   "--quick", "-t", "1", "--rows", path],
                                  capture_output=True, text=True, check=False)
            if "without NLopt" in done.stderr:
                return
            with open(path, encoding="utf-8", newline="") as file:
                found = {row["row"] for row in csv.DictReader(file)}
        failures.extend(f"{recipe}: no row is {name}" for name in sorted(found - names))
        if len(found) < 10:
            failures.append(f"{recipe}: {len(found)} rows have names of their own")


def main():
    for check in (check_plan, check_stages, check_list, check_comm, check_checkpoint,
                  check_whole_runs, check_calibration, check_row_names):
        check()
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
