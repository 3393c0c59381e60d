#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks answers and requests against docs/schema.

    schema.py RECKON SCHEMAS

Exit status 77 (skipped) without the module jsonschema.
"""

import json
import pathlib
import subprocess
import sys

RUNS = pathlib.Path(__file__).resolve().parent.parent / "cli_reckon/runs.csv"
SMALL = ["--model", "llama3-8b", "--system", "h100-sxm"]
CALCULON = ["--model", "megatron-126M", "--system", "a100_80g", "-p", "4", "-b", "8"]
# The definition of the schema, and a command line that it describes.
ANSWERS = [
    ("plan", ["plan", *SMALL, "--accelerators", "8", "--global-batch", "64", "--top", "2"]),
    ("plan", ["plan", *SMALL, "--accelerators", "8", "--global-batch", "64", "--bounded"]),
    ("estimate_answer", ["estimate", *SMALL, "--tp", "2"]),
    ("estimate_answer", ["estimate", *SMALL, "--tp", "2", "--precision", "fp8", "--explain"]),
    ("estimate_answer", ["estimate", "--model", "llama3-70b", "--system", "h100-sxm",
                         "--accelerators", "2", "--global-batch", "2"]),
    ("fit", ["fit", *SMALL, "--accelerators", "8", "--global-batch", "64"]),
    ("fit", ["fit", "--model", "llama3-70b", "--system", "h100-sxm", "--dp", "8"]),
    ("run", ["run", *SMALL, "--dp", "8", "--tokens", "1T"]),
    ("comm", ["comm", "--system", "h100-sxm"]),
    ("comm", ["comm", "--system", "dgx-h100-superpod", "--ranks", "64", "--algorithm", "all"]),
    ("explain", ["explain", *CALCULON]),
    ("validate", ["validate", "--runs", str(RUNS)]),
]
REQUESTS = [
    ({"model": "llama3-8b", "tp": [4, 8], "explain": True, "max_memory": 79.5}, True),
    ({"model": {"name": "own"}, "stack": None}, True),
    ({"Model": "llama3-8b"}, False),
    ({"tp": [[1], [2]]}, False),
    ([], False),
]


def main():
    try:
        import jsonschema
    except ImportError:
        sys.exit(77)
    reckon, schemas = sys.argv[1], pathlib.Path(sys.argv[2])
    answer = json.loads((schemas / "answer.schema.json").read_text())
    request = json.loads((schemas / "request.schema.json").read_text())
    for schema in (answer, request):
        jsonschema.Draft202012Validator.check_schema(schema)
    faults = []
    for name, command in ANSWERS:
        text = subprocess.run([reckon, *command, "--json"], capture_output=True, text=True)
        if text.returncode > 1:
            faults.append(f"{' '.join(command)}: {text.stderr}")
            continue
        found = json.loads(text.stdout)
        if next(iter(found)) != "schema_version":
            faults.append(f"{' '.join(command)}: schema_version is not the first member")
        checker = jsonschema.Draft202012Validator(
            {"$ref": f"#/$defs/{name}", "$defs": answer["$defs"]})
        faults += [f"{' '.join(command)}: {fault.json_path}: {fault.message[:300]}"
                   for fault in checker.iter_errors(found)]
        # what is wrong is found
        if checker.is_valid({key: found[key] for key in found if key != "schema_version"}):
            faults.append(f"{name}: an answer without schema_version passes")
    checker = jsonschema.Draft202012Validator(request)
    faults += [f"{asked}: valid is not {valid}" for asked, valid in REQUESTS
               if checker.is_valid(asked) != valid]
    print("\n".join(faults) or f"{len(ANSWERS)} answers and {len(REQUESTS)} requests")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
