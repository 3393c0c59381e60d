#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every JSON document that reckon writes is JSON: it has no Infinity and no NaN.

    strict.py RECKON

Shows the whole catalogue, configurations of Hugging Face with numbers that only Python knows, and
answers in which a number has no bound.
"""

import json
import os
import subprocess
import sys
import tempfile

RECKON = os.path.abspath(sys.argv[1])
CONFIG = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
          "num_attention_heads": 32, "num_hidden_layers": 32, "vocab_size": 32000,
          "max_position_embeddings": 4096, "time_step_limit": [0.0, float("inf")],
          "scale": float("-inf"), "note": "Infinity, NaN", "norm": float("nan")}
ANSWERS = """
run llama3-8b 8xh100 --tokens 1T -b 64 --mtbf 1h --restart 2h
run llama3-8b 8xh100 --tokens 1T -b 64
run llama3-70b --tokens 1T --deadline 1d --system h100-sxm:64
validate --runs check --split fit
comm all-reduce h100 --ranks 1
plan llama3-70b 8xh100 -b 64
explain llama3-8b 8xh100 -b 64
""".strip().split("\n")
failures = []


def refuse(word):
    raise ValueError(f"{word} is not JSON")


def ask(words):
    return subprocess.run([RECKON, *words], capture_output=True, text=True, encoding="utf-8",
                          check=False)


def check(words):
    done = ask(words)
    where = " ".join(words)
    if done.returncode > 1:
        return None  # what is refused writes no document
    try:
        return json.loads(done.stdout, parse_constant=refuse)
    except ValueError as fault:
        failures.append(f"{where}: {fault}")
        return None


def main():
    shown = 0
    for kind, entries in json.loads(ask(["list", "--json"]).stdout).items():
        if isinstance(entries, list) and kind != "runs":
            for entry in entries:
                shown += check(["show", "--json", entry["name"]]) is not None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(CONFIG, file)
        document = check(["show", "--json", path]) or {}
        if document.get("time_step_limit") != [0, None] or document.get("norm", 0) is not None \
                or document.get("note") != CONFIG["note"]:
            failures.append(f"a configuration of Hugging Face is shown as {document}")
    answers = [words for words in ANSWERS if check([*words.split(), "--json"]) is not None]
    if shown < 250 or len(answers) < 5:
        failures.append(f"{shown} documents shown, answers of {answers}")
    print("\n".join(failures))
    return 1 if failures else 0


sys.exit(main())
