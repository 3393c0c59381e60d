#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Public runs and names of machines that were once far off or not known.

    vendor_cases.py RECKON TABLE

TABLE is data/runs/fit_3.csv, for the sweep of microbatches on MI355X (AMD-AGI/Primus at fd1eeabb).  LoRA on one card:
torchtune's README and surogate's benchmark page, which state neither batch nor rank.
"""
import csv
import io
import json
import subprocess
import sys

SWEEP, PLAIN, TUNED = "primus-v2lite-mi355x-mbs", ("1", "2", "4", "8", "12"), ("12-launch", "14")
SWEEP_STEP, SWEEP_MEMORY = 0.22, 0.28
# Model, card, year, facts, measured tokens/s, how far off the step may be.
TORCHTUNE = "trainer=torchtune;loss=linear-ce-chunked:8"
CARDS = (
    ("llama3.1-8b", "rtx-4090", 2025, TORCHTUNE, 3083, 0.20),
    ("llama3.1-8b", "rtx-4090", 2025, TORCHTUNE + ";frozen_dtype=nf4", 2413, 0.05),
    ("qwen3-8b", "rtx-5090", 2026, "", 3500, 0.27),
    ("qwen3-8b", "rtx-5090", 2026, "frozen_dtype=nf4", 3400, 0.31),
    ("qwen3-8b", "h100-sxm", 2026, "", 8900, 0.31),
    ("qwen3-32b", "h100-sxm", 2026, "", 2600, 0.37),
    ("qwen3-0.6b", "h100-sxm", 2026, "", 21300, 0.20),
)
# What people call machines, and how many accelerators that is.
NAMES = {"1xrtx-3090": 1, "1x3090": 1, "1xa6000": 1, "1xrtx-pro-6000": 1, "1xa40": 1, "1xt4": 1, "1xl4": 1,
         "1xv100-16gb": 1, "1xh100-nvl": 1, "1xh20-141gb": 1, "1xgb10": 1, "v5p-128": 64, "v6e-256": 256,
         "v5e-256": 256, "trn1.32xlarge": 16, "trn2.48xlarge": 16, "p4d.24xlarge": 8, "p5.48xlarge": 8,
         "p5en.48xlarge": 8}


def ask(reckon, *words):
    done = subprocess.run([reckon, *words], text=True, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def sweep_faults(reckon, table):
    rows = csv.DictReader(io.StringIO(ask(reckon, "validate", "--runs", table, "--only", SWEEP, "--csv")))
    rows = {row["id"].removeprefix(SWEEP): row for row in rows}
    speed = {name: float(row["tokens_per_s"]) for name, row in rows.items()}
    for name in PLAIN + TUNED:
        for key, most in (("step_error", SWEEP_STEP), ("memory_error", SWEEP_MEMORY)):
            if rows[name][key] and abs(float(rows[name][key])) > most:
                yield f"{SWEEP}{name}: {key} is {rows[name][key]}"
    if sorted(PLAIN, key=speed.get) != list(PLAIN):
        yield "throughput does not grow with the microbatch"
    if min(speed[name] for name in TUNED) < max(speed[name] for name in PLAIN):
        yield "tuned runs are not faster than plain ones"


def lora(reckon, model, card, year, facts):
    stated = f"task=lora,framework=fsdp,lora_rank=8,lora_modules=attention+mlp,recompute=full,year={year}"
    stated += f",facts={facts}" if facts else ""
    return json.loads(ask(reckon, "estimate", model, f"1x{card}", "--seq", "2048", "--micro-batch", "2", "-b", "16",
                          "--complete", "observed", "--set", stated, "--json"))["estimate"]


def kernel_faults(reckon):
    """Liger fuses norms and rotations, Cut Cross-Entropy the loss alone; AutoGPTQ of 2023 unpacks slowly."""
    step = {facts: lora(reckon, "llama3.1-8b", "a100-sxm-80gb", year, facts)["step_s"] for year, facts in (
        (2025, "loss=cut cross entropy"), (2025, "loss=liger-fused"), (2025, "frozen_dtype=gptq4"),
        (2023, "frozen_dtype=gptq4;loss=plain"))}
    if not 0.9 < step["loss=liger-fused"] / step["loss=cut cross entropy"] < 0.99:
        yield f"kernels of Liger: {step}"
    if not 1.1 < step["frozen_dtype=gptq4;loss=plain"] / step["frozen_dtype=gptq4"] < 1.8:
        yield f"GPTQ of 2023: {step}"


def card_faults(reckon):
    for model, card, year, facts, measured, most in CARDS:
        answer = lora(reckon, model, card, year, facts)
        error = answer["step_s"] / (16 * 2048 / measured) - 1
        if abs(error) > most or not answer["fits"]:
            yield f"{model} on {card} ({facts}): step {error:+.2f}, fits: {answer['fits']}"


def name_faults(reckon):
    for name, count in NAMES.items():
        answer = json.loads(ask(reckon, "estimate", "gpt2-small", name, "--seq", "1024", "-b", "512", "--json"))
        found = answer["strategy"]["accelerators"]
        if found != count:
            yield f"{name}: {found} accelerators, not {count}"


def main():
    reckon, table = sys.argv[1:]
    faults = [*sweep_faults(reckon, table), *kernel_faults(reckon), *card_faults(reckon), *name_faults(reckon)]
    print("\n".join(faults))
    return bool(faults)


sys.exit(main())
