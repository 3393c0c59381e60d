#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks for training steps of transformers that were measured on one H200.

    transformers.py RECKON TABLE

Each row of TABLE (data/measured/transformers/h200.csv) becomes a launch line, as a user has it.  The
peak of allocated memory must agree within 1.7 %, and steps whose kernels keep the device busy within
35 %; hosts differ by more than that.
"""

import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ALLOCATED, STEP, MEDIAN_STEP = 0.017, 0.35, 0.15


def model_of(reckon, row, folder):
    """The model, or a document of it with another vocabulary and fewer layers."""
    if not row["vocabulary"]:
        return row["model"]
    shown = subprocess.run([reckon, "show", row["model"], "--json"], capture_output=True, check=True)
    document = json.loads(shown.stdout)
    document.pop("published_parameters", None)
    document["vocab"] = int(row["vocabulary"])
    document["layers"] = int(row["layers"] or document["layers"])
    path = pathlib.Path(folder) / (row["id"] + ".json")
    path.write_text(json.dumps(document))
    return str(path)


def launch_of(row):
    line = ["python", "sft.py" if row["lora_rank"] else "run_clm.py", "--bf16", "True",
            "--dtype", {"fp32": "float32", "bf16": "bfloat16"}[row["weights"]],
            "--per_device_train_batch_size", row["batch"], "--optim", row["optimizer"],
            "--gradient_accumulation_steps", row["accumulation"],
            "--gradient_checkpointing", row["checkpointing"].capitalize(),
            "--attn_implementation", row["attention"], "--torch_compile", row["compile"].capitalize()]
    if not row["lora_rank"]:
        return " ".join(line + ["--do_train", "--block_size", row["sequence"]])
    return " ".join(line + ["--max_length", row["sequence"], "--packing", "True", "--loss_type", "nll",
                            "--use_peft", "True", "--lora_dropout", "0", "--lora_r", row["lora_rank"],
                            "--lora_target_modules", *row["lora_modules"].split("+")])


def main():
    reckon, table = sys.argv[1:]
    rows = list(csv.DictReader(open(table, encoding="utf-8")))
    assert len(rows) > 50, len(rows)
    failed, memory, held, steps = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            line = pathlib.Path(folder) / "launch.sh"
            line.write_text(launch_of(row) + "\n")
            loop = ["--set", "expert_loop=true"] if row["experts"] == "eager" else []
            done = subprocess.run([reckon, "estimate", model_of(reckon, row, folder), "1xh200", "--from",
                                   str(line), "--json", *loop], capture_output=True, text=True)
            if done.returncode:
                failed.append(f"{row['id']}: {done.stderr.strip()}")
                continue
            answer = json.loads(done.stdout)["estimate"]
            error = answer["memory_allocated_bytes"] / float(row["allocated_bytes"]) - 1
            step = answer["step_s"] / float(row["step_s"]) - 1
            print(f"{row['id']} {row['model']:14} memory {100 * error:+6.1f} %  step {100 * step:+6.1f} %")
            if abs(error) > ALLOCATED:
                failed.append(f"{row['id']}: memory is {100 * error:+.1f} % off")
            memory.append(abs(error))
            held += [abs(error)] if row["split"] == "held" else []
            busy = float(row["kernels_s"] or 0) > 0.9 * float(row["step_s"])
            if busy and row["attention"] == "sdpa" and abs(step) > STEP:
                failed.append(f"{row['id']}: the step is {100 * step:+.1f} % off")
            steps.append(abs(step))
    print(f"memory: median {100 * statistics.median(memory):.2f} % of {len(memory)} rows, of {len(held)} "
          f"that nothing was made with {100 * statistics.median(held):.2f} %; steps: median "
          f"{100 * statistics.median(steps):.1f} %")
    if statistics.median(memory) > 0.005 or statistics.median(steps) > MEDIAN_STEP:
        failed.append("the median is too large")
    print("\n".join(failed))
    sys.exit(1 if failed else 0)


main()
