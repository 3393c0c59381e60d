#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every figure of an answer has one name, in C, JSON, CSV, run tables and Python.

    names.py RECKON INCLUDE PYTHON PAGE

PAGE lists them all (docs/figures.md).
"""
import ast
import csv
import io
import json
import pathlib
import re
import subprocess
import sys

# Members of C that are groups or texts of JSON, or that it gives per token.
GROUPS = {
    "time_s": "time_s", "memory_part_bytes": "memory_of_worst_stage.parts_bytes",
    "comparable_runs": "interval.runs", "comparable_models": "interval.models",
    "comparable_text": "interval.comparable", "model_flops": "flops_per_token",
    "hardware_flops": "executed_flops_per_token", "bf16_step_s": None,
    "nvme_bytes": None,  # where something is on disks
}
# Columns of 'validate' that an estimate lacks: what was measured, and how the row is compared.
OF_ROWS = {
    "file", "row", "id", "source", "model", "system", "accelerator", "stack", "nodes", "moe", "seq", "step_measured_s",
    "step_error", "null_step_s", "flops_per_s", "mfu_measured", "memory_bytes", "memory_measured_bytes", "memory_error",
    "ran_out_of_memory", "assumed", "left_out",
}


# Of the answers with a struct of their own: the struct, the question, the object of the JSON answer that has its
# figures, the class of Python (None: Python has the JSON object), and members of C that the answer calls otherwise
# or, as None, has no figure for.
PRICES = str(pathlib.Path(__file__).resolve().parent.parent / "record/files/prices.json")
JOB = ("llama3-8b", "--tp", "1", "--pp", "1", "--cp", "1", "--micro-batch", "1", "--zero", "1", "-b", "64")
ANSWERS = [
    ("rk_operator_facts", ("estimate", *JOB, "8xh100", "--operators"), "operators.0", None, {}),
    ("rk_number_worth", ("explain", *JOB, "8xh100"), "numbers.0", None, {}),
    ("rk_machine_facts", ("design", *JOB, "h100", "--prices", PRICES, "--tokens", "1T"), "front.0", None,
     {"cheapest": None, "run_cost": None}),
    ("rk_shape_facts", ("shape", *JOB, "8xh100", "--heads", "32", "--blocks", "32"), "shapes.0", None, {}),
    ("rk_run_outcome_facts",
     ("run", *JOB, "8xh100", "--tokens", "1T", "--simulate", "9", "--price", "2", "--reliability", "published"), "run", "Run",
     {"found": None, "accelerators": None, "simulated_runs": "simulated.runs", "unfinished_runs": "simulated.unfinished",
      "simulated_total_s": "simulated.total_s", "simulated_goodput": "simulated.goodput",
      "simulated_interruptions": "simulated.interruptions", "simulated_cost": "simulated.cost"}),
    ("rk_validation_row", ("validate", "--only", "hf_playbook-0001"), "rows.0", "MeasuredRun",
     {"thrashes": "fits", "unsure": "fits", "predicted": "left_out"}),
    ("rk_collective_timing", ("comm", "h100-sxm", "-p", "8", "--bytes", "1MB"), "collectives.0", "Collective",
     {"ranks": None, "ranks_of_innermost_domain": None}),
]
# Members of JSON objects that are no figures of their own, and columns of CSV that join some.
OBJECTS = {"strategy", "estimate", "interval", "numbers", "shape", "raw", "choice", "simulated", "clusters", "op", "changes",
           "old_runs", "old_sequences_per_s", "ranks", "ranks_per_node"}


def ask(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def members(header, struct):
    """Names of the members of a public struct."""
    body = re.search(r"typedef struct " + struct + r" \{\n(.*?)\n\} " + struct, header, re.S)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    return re.findall(r"(\w+)(?:\[\w+\])?;", body)


def flat(tree, path=""):
    """Scalars of nested groups, as "group.name"."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from flat(value, f"{path}{key}.")
        else:
            yield path + key


def in_csv(name):
    """The column of a JSON name: groups of figures are spelled out."""
    group, _, own = name.rpartition(".")
    return {"": own, "time_s": f"{own}_s", "sent_bytes_per_step": f"{own}_sent_bytes",
            "memory_of_worst_stage.parts_bytes": f"{own}_bytes"}[group]


def fields(path, kind):
    """Annotated names of a class of a Python module."""
    with open(path, encoding="utf-8") as text:
        tree = ast.parse(text.read())
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind).body
    return [node.target.id for node in body if isinstance(node, ast.AnnAssign)]


def at(tree, path):
    """The object at a path of names and indices."""
    for step in path.split("."):
        tree = tree[int(step) if step.isdigit() else step]
    return tree


def check_answer(reckon, headers, python, struct, words, path, kind, others):
    """Faults of an answer with a struct of its own."""
    shown = at(json.loads(ask(reckon, *words, "--json")), path)
    columns = set(next(csv.reader(io.StringIO(ask(reckon, *words, "--csv")))))
    keys = set(shown) | {name.rpartition(".")[0] or name for name in flat(shown)} | set(flat(shown))
    for name in members(headers, struct):
        other = others.get(name, name)
        if other and other not in keys | columns:
            yield f"{struct}.{name} has another name in JSON and CSV"
    own = set(members(headers, struct)) | {name for name in others.values() if name}
    spreads = {f"{name}_p{share}{unit}" for name, unit in (("total", "_s"), ("goodput", "")) for share in (10, 50, 90)}
    degrees = set(shown.get("strategy", {})) | set(shown.get("numbers", {}))
    for name in sorted(columns - own - keys - OBJECTS - degrees - spreads):
        yield f"the column {name} of {words[0]} has another name in C and JSON"
    for name in fields(f"{python}/results.py", kind) if kind else ():
        if name not in keys | columns | OBJECTS:
            yield f"Python's {kind}.{name} has another name in JSON"


def check_page(rows, names, struct, others):
    """Whether the row of a struct on the page has its figures, and no other name."""
    row = re.search(r"^\|.*`" + struct + r"` \| (.*) \|$", rows, re.M)
    told = set(re.findall(r"`([\w.]+)`", row[1])) if row else set()
    if told != {others.get(name, name) for name in names} - {None}:
        yield f"the page's row of {struct} should be: " + ", ".join(
            f"`{others.get(name, name)}`" for name in names if others.get(name, name))


def main(reckon, include, python, page):
    faults = []
    question = [reckon, "estimate", "8xh100", "--model", "llama3-8b"]
    answer = json.loads(ask(*question, "--json"))
    figures = set(flat(answer["estimate"])) | {f"interval.{key}" for key in answer["interval"]}
    columns = next(csv.reader(io.StringIO(ask(*question, "--csv"))))
    with open(f"{include}/reckon/predict.h", encoding="utf-8") as text:
        header = text.read()

    spelled = {in_csv(name) for name in figures if not name.startswith("interval.")}
    known = spelled | {"step_p10_s", "step_p90_s"}
    for name in sorted(spelled - set(columns) - {"flops_per_token", "executed_flops_per_token"}):
        faults.append(f"CSV lacks {name}")
    for name in members(header, "rk_prediction"):
        other = GROUPS.get(name, name)
        found = other is None or other in known | figures or any(f.startswith(f"{other}.") for f in figures)
        if not found:
            faults.append(f"rk_prediction.{name} has another name in JSON")
    for name in members(header, "rk_stage_use"):
        if name not in answer["stages"][0] and name != "memory_part_bytes":
            faults.append(f"rk_stage_use.{name} has another name in JSON")
    for name in fields(f"{python}/predictor.py", "Prediction") + fields(f"{python}/results.py", "Estimate"):
        if name not in known | set(answer["estimate"]) | {"raw"}:
            faults.append(f"Python's {name} has another name in JSON")
    rows = ask(reckon, "validate", "--only", "hf_playbook-0001", "--csv")
    for name in next(csv.reader(io.StringIO(rows))):
        if name not in known | set(columns) | OF_ROWS:
            faults.append(f"the column {name} of validate has another name in estimates")
    collective = [reckon, "comm", "h100-sxm", "-p", "8", "--bytes", "1MB"]
    timings = json.loads(ask(*collective, "--json"))["collectives"][0]
    for name in next(csv.reader(io.StringIO(ask(*collective, "--csv")))):
        if name not in set(timings) | {"ranks", "ranks_per_node"}:
            faults.append(f"the column {name} of comm has another name in JSON")
    headers = header
    for name in ("codesign", "run", "evidence"):
        with open(f"{include}/reckon/{name}.h", encoding="utf-8") as text:
            headers += text.read()
    with open(page, encoding="utf-8") as text:
        estimates, _, rest = text.read().partition("## Other answers")
    for answer_of in ANSWERS:
        faults += check_answer(reckon, headers, python, *answer_of)
        faults += check_page(rest, members(headers, answer_of[0]), answer_of[0], answer_of[4])
    listed = set(re.findall(r"`(\w+)`", estimates))
    spoken = {name.rpartition(".")[2] for name in figures if not name.startswith("interval.")} | {"step_p10_s", "step_p90_s"}
    faults += [f"{page} lacks {name}" for name in sorted(spoken - listed)]
    groups = {"validate", "estimate", "interval", "rk_prediction", "time_s", "sent_bytes_per_step", "memory_part_bytes",
              "Estimate", "Predictor"}
    faults += [f"{page} has {name}, which no answer has" for name in sorted(listed - spoken - groups - set(columns))]
    print("\n".join(faults + [f"{len(figures)} figures, {len(faults)} with other names"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
