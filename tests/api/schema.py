#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks requests and answers against their schemas.

    schema.py RECKON PRINT_SCHEMAS ROOT

Every option is as options.txt says: its values, its other names and the commands that have it.
PRINT_SCHEMAS prints the schemas of requests, which the library makes from the option tables.
Requests that a schema passes are run, and their answers checked; those that it refuses the command
refuses too, by exit status 2.  Exit status 77 (skipped) without the module jsonschema.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys

EMULATOR = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))  # of a machine of another kind
SMALL = {"model": "llama3-8b", "system": "h100-sxm"}
SPACE = {**SMALL, "accelerators": 8, "global_batch": 64}
CALCULON = {"model": "megatron-126M", "system": "a100_80g", "processors": 4, "batch": 8}
# Command, definition of its answer, request.
ANSWERS = [
    ("plan", "plan", {**SPACE, "top": 2}),
    ("plan", "plan", {**SPACE, "bounded": True, "tp": [1, 2], "zero": 1, "max-memory": 79.5}),
    ("plan", "plan", {**SPACE, "schedule": None, "recompute": ["none", "full"], "gbs": None}),
    ("estimate", "estimate_answer", {**SMALL, "tp": 2}),
    ("estimate", "estimate_answer", {**SMALL, "tp": 2, "precision": "fp8", "explain": True}),
    ("estimate", "estimate_answer", {**SMALL, "tp": 2, "operators": True}),
    ("estimate", "estimate_answer", {"model": "llama3-70b", "system": "h100-sxm",
                                     "accelerators": 2, "global_batch": 2}),
    ("fit", "fit", SPACE),
    ("fit", "fit", {"model": "llama3-70b", "system": "h100-sxm", "dp": 8}),
    ("run", "run", {**SMALL, "dp": 8, "tokens": "1T"}),
    ("run", "run", {**SMALL, "dp": 8, "tokens": 1e12, "price": 2.5, "failures": 0}),
    ("run", "run", {**SMALL, "dp": 8, "tokens": "1T", "mfu": 0.4}),
    ("run", "run", {**SMALL, "dp": 8, "loss": 2.1}),
    ("run", "run", {**SMALL, "dp": 8, "tokens": "1T", "mfu": "40%"}),
    ("run", "run", {**SMALL, "tokens": "1T", "deadline": "30d", "simulate": 10}),
    ("timeline", "timeline", {**SMALL, "pp": 2, "dp": 4, "global_batch": 16}),
    ("timeline", "timeline", {"model": "llama3-70b", "system": "h100-sxm", "accelerators": 8,
                              "global_batch": 64}),
    ("comm", "comm", {"system": "h100-sxm"}),
    ("comm", "comm", {"system": "dgx-h100-superpod", "ranks": 64, "algorithm": "all"}),
    ("explain", "explain", SPACE),
    ("explain.calculon", "explain", CALCULON),
    ("design", "design", {**SMALL, "global_batch": 64, "prices": {
        "name": "two", "currency": "$", "processor": 100, "life_days": 1000,
        "axes": [{"key": "processors", "values": [8, 16]},
                 {"key": "memory_GiB", "values": [80, 160], "price_per_unit": 1}]}}),
    ("shape", "shape", {**SPACE, "blocks": [32, 36], "tolerance": 5}),
    ("validate", "validate", {"runs": "RUNS", "by": ["accelerator"]}),
    ("validate", "validate", {"runs": {"rows": [
        {"id": "a", "layers": 16, "hidden": 2048, "heads": 32, "vocab": 131072, "seq": 4096,
         "accelerator": "H100", "n_accel": 8, "tp": 2, "dp": 4, "gbs": 32, "mbs": 4,
         "framework": "megatron-core", "step_time_s": 1.5}]}}),
    ("calibrate", "calibrate", {"recipe": "RECIPE", "quick": True}),
]
REFUSED = [
    ("plan", {**SPACE, "Model": "llama3-8b"}),
    ("plan", {**SPACE, "colour": "red"}),
    ("plan", {**SPACE, "tp": [[1], [2]]}),
    ("plan", {**SPACE, "tp": 0}),
    ("plan", {**SPACE, "zero": 4}),
    ("plan", {**SPACE, "recompute": ["some"]}),
    ("estimate", {**SMALL, "precision": "fp7"}),
    ("run", {**SMALL, "tokens": 0}),
    ("run", {**SMALL, "tokens": "1T", "mfu": 140}),
    ("run", {**SMALL, "tokens": "1T", "mfu": "40k"}),
    ("run", {**SMALL, "tokens": "many"}),
    ("run", {**SMALL, "tokens": 1e12, "spares": -1}),
    ("shape", {**SPACE, "tolerance": 51}),
    ("validate", {"runs": "RUNS", "split": "both"}),
    ("calibrate", {"quick": True}),
]


def command_line(command, request):
    """A request as a command line."""
    words = [command.split(".")[0]]
    for name, value in request.items():
        name = "--" + name.replace("_", "-")
        if name == "--recipe":
            words.append(value)
        elif value is True:
            words.append(name)
        elif isinstance(value, dict):
            words += [name, json.dumps(value)]
        elif isinstance(value, list):
            words += [name, ",".join(json.dumps(v) if isinstance(v, list) else str(v)
                                     for v in value)]
        elif value is not None and value is not False:
            words += [name, str(value)]
    return words


def check_answer(checker, found):
    faults = [f"{fault.json_path}: {fault.message[:300]}" for fault in checker.iter_errors(found)]
    if "traceEvents" in found:
        return faults
    if next(iter(found)) != "schema_version":
        faults.append("schema_version is not the first member")
    # what is wrong is found
    if checker.is_valid({key: found[key] for key in found if key != "schema_version"}):
        faults.append("an answer without schema_version passes")
    return faults


def values_of(about):
    """The values of an option in words: types, range or choices."""
    bounds = about if "type" in about and "items" not in about else about.get("items", about)
    types = about.get("type", "one")
    words = [kind for kind in ([types] if isinstance(types, str) else types) if kind != "null"]
    text = "/".join(words) + (" share" if about.get("pattern", "").endswith("%?$") else "")
    text += "".join(f" {word} {bounds[key]}" for word, key in (
        ("from", "minimum"), ("above", "exclusiveMinimum"), ("to", "maximum")) if key in bounds)
    return text + (" of " + " ".join(filter(None, bounds["enum"])) if "enum" in bounds else "")


def compare_options(schemas, table):
    """What differs from the table of options, both ways."""
    found = {}
    for command, schema in schemas.items():
        for name, about in schema["properties"].items():
            if "$ref" not in about:
                others = " ".join(other for other, reference in schema["properties"].items()
                                  if reference.get("$ref") == f"#/properties/{name}")
                found.setdefault(f"{name} | {values_of(about)} | {others}", []).append(command)
    found = {f"{option} | {' '.join(commands)}" for option, commands in found.items()}
    listed = {line for line in table.read_text().splitlines() if line and not line.startswith("#")}
    return [*(f"options.txt has no line: {line}" for line in sorted(found - listed)),
            *(f"no option is: {line}" for line in sorted(listed - found))]


def main():
    reckon, printer, root = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    names = {"RUNS": str(root / "tests/cli_reckon/runs.csv"),
             "RECIPE": str(root / "data/calibrations/memory-ampere.json")}
    schemas = json.loads(subprocess.run([*EMULATOR, printer], check=True, capture_output=True,
                                        text=True).stdout)
    faults = compare_options(schemas, root / "tests/api/options.txt")
    if faults:
        print("\n".join(faults))
        sys.exit(1)
    try:
        import jsonschema
    except ImportError:
        sys.exit(77)
    answer = json.loads((root / "docs/schema/answer.schema.json").read_text())
    for schema in (answer, *schemas.values()):
        jsonschema.Draft202012Validator.check_schema(schema)
    for command, name, request in ANSWERS:
        given = {key: names.get(value, value) if isinstance(value, str) else value
                 for key, value in request.items()}
        where = f"{command} {json.dumps(request)[:200]}"
        faults += [f"{where}: {fault.json_path}: {fault.message[:300]}" for fault in
                   jsonschema.Draft202012Validator(schemas[command]).iter_errors(given)]
        text = subprocess.run([reckon, *command_line(command, given), "--json"],
                              capture_output=True, text=True)
        if text.returncode > 1 and "NLopt" in text.stderr:
            continue  # a library without it fits nothing
        if text.returncode > 1:
            faults.append(f"{where}: {text.stderr}")
            continue
        checker = jsonschema.Draft202012Validator(
            {"$ref": f"#/$defs/{name}", "$defs": answer["$defs"]})
        faults += [f"{where}: {fault}" for fault in check_answer(checker, json.loads(text.stdout))]
    for command, request in REFUSED:
        given = {key: names.get(value, value) if isinstance(value, str) else value
                 for key, value in request.items()}
        where = f"{command} {json.dumps(request)[:200]}"
        if jsonschema.Draft202012Validator(schemas[command]).is_valid(given):
            faults.append(f"{where}: the schema passes it")
        status = subprocess.run([reckon, *command_line(command, given), "--json"],
                                capture_output=True).returncode
        if status != 2:
            faults.append(f"{where}: exit status {status}, not 2")
    print("\n".join(faults) or f"{len(schemas)} schemas of requests, {len(ANSWERS)} answers and "
          f"{len(REFUSED)} requests that are refused")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
