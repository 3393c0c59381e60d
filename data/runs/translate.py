#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Translates tables of measured runs, worded as their sources word them, into columns of facts.

    data/runs/translate.py [--check] [IN.csv OUT.csv]

Without files: every table of data/runs/worded into data/runs. --check writes nothing and fails where
a table would change. What the words mean is in worded/wording.json; what the columns mean, in
docs/columns.md; cells of worded tables that are in those columns stay. Nothing here knows a measured value, and
nothing guesses: what a row does not say is for data/runs/defaults.json, which every user gets.
"""
import csv
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent

# Columns of the result, in order. Those of the second list exist where a rule sets them.
IDENTITY = ["id", "part", "source", "commit_or_version"]
COPIED = [
    "model", "layers", "hidden", "ffn", "heads", "kv_heads", "head_dim", "vocab", "seq",
    "moe_experts", "moe_topk", "moe_ffn", "shared_experts", "accelerator", "n_accel",
    "gpus_per_node", "year", "task", "tp", "pp", "vpp", "cp", "ep", "etp", "dp", "mbs", "gbs",
    "seq_parallel", "outcome", "step_time_s", "tokens_per_s_per_gpu", "tflops_per_gpu", "mfu",
    "peak_mem_gib", "tier", "split",
]
FACTS = [
    "framework", "framework_version", "stack", "system", "network_GBps", "network_state",
    "architecture", "mixer", "sharding", "recompute", "recompute_modules", "recompute_every", "offload_activations", "offload_layers", "precision",
    "fp8_recipe", "fp8_cast", "schedule", "stage_layers", "layer_chunks", "replicas", "shard_ranks", "cp_kind",
    "rank_order", "parallel_block", "capacity_factor", "dispatcher", "routing", "kernels", "flash_attention", "attention_kernel", "compile",
    "scan_layers", "chunk_overlap", "fused_activation", "dropout", "loss_fusion", "launch_blocking", "tp_overlap", "grad_overlap", "param_overlap",
    "moe_overlap", "graph_capture", "graph_step", "graph_modules", "weight_bytes", "gradient_bytes",
    "optimizer_bytes", "gather_bytes", "reduce_bytes", "memory_kind", "memory_decimal",
    "flop_convention", "composed", "group", "inferred", "unread",
]
SELDOM = {"graph_modules", "loss_fusion"}  # columns of those tables only that have a cell in them
# Wordings whose translation has another name.
WORDED = {"zero_or_fsdp": "sharding", "recompute": "recompute", "precision": "precision"}


def matches_one(wanted, cell):
    if isinstance(wanted, str):
        return wanted.lower() in cell.lower() if wanted else cell == ""
    try:
        return abs(float(cell) - wanted) < 1e-9
    except ValueError:
        return False


def matches_cell(wanted, cell):
    if isinstance(wanted, dict):
        return all(matches_one(one, cell) for one in wanted["all"])
    return any(matches_one(one, cell) for one in (wanted if isinstance(wanted, list) else [wanted]))


def matches(rule, row):
    for key, wanted in rule["if"].items():
        if not matches_cell(wanted, row.get(key, "")):
            return False
    return True


def texts(wanted):
    for one in wanted["all"] if isinstance(wanted, dict) else wanted if isinstance(wanted, list) else [wanted]:
        if isinstance(one, str) and one:
            yield one.lower()


def cell_of(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return "+".join(value) if isinstance(value, list) else str(value)


def tidy(cell):
    """80.0 -> 80"""
    return cell[:-2] if cell.endswith(".0") and cell[:-2].isdigit() else cell


def unread(row, used):
    """Pieces of the wording in which no rule read anything."""
    pieces = []
    for column in ("other_flags", "recompute", "zero_or_fsdp", "precision"):
        for piece in row.get(column, "").replace("|", ";").split(";"):
            piece = piece.strip()
            if piece and not any(text in piece.lower() for text in used.get(column, ())):
                pieces.append(piece)
    return "; ".join(pieces)


def restate_degrees(out, notes):
    """Degrees of a file that is not the run's: the log's accumulation steps contradict them.

    Data parallelism follows from the log; how the other ranks were used, and sequence
    parallelism with them, is left open.
    """
    steps = re.search(r"log gradient_accumulation_steps=(\d+)", notes)
    if "gbs==dp*mbs*ga=False" not in notes or not steps or not out["mbs"] or not out["gbs"]:
        return
    ranks, parts = int(out["n_accel"]), int(out["mbs"]) * int(steps.group(1))
    dp = int(out["gbs"]) // parts
    if dp * parts == int(out["gbs"]) and ranks % max(dp, 1) == 0:
        out.update(dp=str(dp), tp="", cp="", seq_parallel="")


def count_layers(out):
    """7/9/9/9, the embedding and the head counted with the layers of their stages -> 6+9+9+8"""
    stages = [int(stage) for stage in out.get("stage_layers", "").split("/") if stage]
    if stages:
        stages[0] -= 1
        stages[-1] -= 1
    out["stage_layers"] = "+".join(map(str, stages)) if len(stages) > 1 else ""


def translate(row, rules):
    out = {name: tidy(row.get(name, "")) for name in IDENTITY + COPIED}
    out["seq_parallel"] = {"True": "true", "False": "false"}.get(out["seq_parallel"], "")
    restate_degrees(out, row.get("notes", ""))
    if out["task"] == "pretrain":
        out["task"] = ""
    if out["mbs"] and float(out["mbs"]) < 1:  # of a device, where several share a sequence
        out["mbs"] = tidy(str(round(float(out["mbs"]) * float(out["cp"] or 1) * float(out["tp"] or 1))))
    used = {}
    for rule in rules:
        if not matches(rule, row):
            continue
        for key, wanted in rule["if"].items():
            used.setdefault(key, set()).update(texts(wanted))
        for key, value in rule.get("set", {}).items():
            out[key] = cell_of(value)
        for key, (column, pattern) in rule.get("take", {}).items():
            out[key] = re.search(pattern, row[column]).group(1)
    out.update({name: row[name] for name in FACTS if row.get(name) and name not in WORDED.values()})
    count_layers(out)
    out["unread"] = unread(row, used)
    return out


def translated(path, rules):
    with open(path, newline="", encoding="utf-8") as file:
        rows = [translate(row, rules) for row in csv.DictReader(file)]
    names = [name for name in IDENTITY + COPIED + FACTS
             if name not in SELDOM or any(row.get(name) for row in rows)]
    for row in rows:
        strange = set(row) - set(names) - SELDOM
        if strange:
            sys.exit(f"{path}: no column {', '.join(sorted(strange))}: name it in FACTS")
    text = [",".join(names)]
    for row in rows:
        cells = []
        for name in names:
            cell = row.get(name, "")
            quote = any(c in cell for c in ',"\n')
            cells.append('"' + cell.replace('"', '""') + '"' if quote else cell)
        text.append(",".join(cells))
    return "\n".join(text) + "\n"


def main():
    arguments = [one for one in sys.argv[1:] if one != "--check"]
    with open(HERE / "worded" / "wording.json", encoding="utf-8") as file:
        rules = json.load(file)["rules"]
    if len(arguments) not in (0, 2):
        sys.exit(__doc__.strip())
    pairs = [arguments] if arguments else [
        (path, HERE / path.name) for path in sorted((HERE / "worded").glob("*.csv"))]
    stale = []
    for source, target in pairs:
        text = translated(source, rules)
        target = pathlib.Path(target)
        if "--check" not in sys.argv:
            target.write_text(text, encoding="utf-8")
        elif not target.exists() or target.read_text(encoding="utf-8") != text:
            stale.append(str(target))
    if stale:
        sys.exit("out of date, run translate.py: " + ", ".join(stale))


if __name__ == "__main__":
    main()
