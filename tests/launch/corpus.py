#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `reckon convert` makes of collected launches with the jobs that they mean.

    corpus.py RECKON CORPUS [--framework NAME,...] [--given] [--list FIELD] [--least SHARE]

A line of CORPUS is a launch: {"id", "framework", "argv" and/or "config", "world", "expected",
"unsure"}.  A launch is read if there are facts, or a sentence that says why not.  Fields that
`unsure` names are not judged.  --given names the framework to the reader in place of letting it be
recognised; --list prints every launch in which FIELD differs ("all": any, "unread": what is refused).
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

# Names of the corpus that the facts have by another.
NAMES = {
    "mbs": "micro_batch", "gbs": "global_batch", "states.exp-avg-dtype": "states.exp_avg",
    "states.exp-avg-sq-dtype": "states.exp_avg_sq",
    "states.main-params-dtype": "states.main_params", "recompute_modules": "recompute.modules",
    "fp8.all_gather": "fp8.param_gather",
}
# Fields outside the training job: generation and reference models of reinforcement learning.
LEFT_OUT = re.compile(r"rollout\.|colocate$|offload_between_phases$|reference_model$|model_copies$|"
                      r"actor_engine$|model\.params|ep_effective$|local_batch$|mesh\.")
READERS = {"ms-swift (megatron)": "ms-swift-megatron", "primus (torchtitan)": "primus-torchtitan",
           "deepspeed": "deepspeed-json"}
GROUPS = {
    "world": ("dp", "global_batch", "accumulation"), "model": ("model.",), "vocab": ("model.vocab",),
    "shape": ("model.",), "states": ("states.",), "recompute": ("recompute.",), "fp8": ("fp8.",),
    "gbs": ("global_batch", "accumulation"), "mbs": ("micro_batch", "accumulation"),
    "batch": ("micro_batch", "global_batch", "accumulation"), "sequence": ("seq",),
    "dp": ("dp", "accumulation", "global_batch"), "ffn": ("model.ffn",),
    "precision": ("precision", "weights_loaded_as"),
}


def flatten(tree, start=""):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{start}{key}.")
        else:
            yield start + key, value


def unsure_fields(notes):
    """Beginnings of the names of fields that are not to be judged."""
    starts = []
    for note in notes:
        if re.match(r"(rlhf|rl|dpo|grpo|reward|stage|distillation|engine|needs|model, batch)", note):
            starts += ["micro_batch", "global_batch", "accumulation", "seq", "model.", "loss"]
        for word in re.split(r",\s*", re.sub(r"\(.*", "", note)):
            word = re.sub(r"[^\w.\-]", "", word.split(" ")[0] if word else "")
            starts += GROUPS.get(word, (NAMES.get(word, word),) if word else ())
    return tuple(starts)


def text_of(value):
    """A value as it is compared: lists sorted, words in lower case, a note in brackets left out."""
    if value is None:
        return "open"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "+".join(sorted(text_of(v) for v in value)) or "none"
    text = str(value).strip().lower()
    try:
        return f"{float(text):.10g}"
    except ValueError:
        pass
    text = re.sub(r"\s*\(.*\)|,.*", "", text)
    text = re.sub(r"^llama3$", "all-gather", text)
    text = re.sub(r"^every (\d+)th layer in full$", r"\1", text)
    for old, new in ((" messages", ""), ("16 bits", "bf16"), ("standard", "alltoall"),
                     ("bfloat16", "bf16"), ("float32", "fp32"), ("float16", "fp16"), ("_", "-")):
        text = text.replace(old, new)
    return "+".join(sorted(text.split("+")))


def read_launch(program, row, given):
    record = {key: row[key] for key in ("argv", "config", "world", "release") if key in row}
    if given:
        record["framework"] = READERS.get(row["framework"], row["framework"])
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(record, file)
        file.flush()
        done = subprocess.run([program, "convert", file.name, "--json"], capture_output=True,
                              text=True, timeout=60)
    if done.returncode < 0 or done.returncode > 2:
        return row, None, f"crashed: {done.returncode}"
    if done.returncode:
        return row, None, done.stderr.strip()
    return row, json.loads(done.stdout), ""


def differences(row, answer):
    """Of every judged field: name, expected, found."""
    facts = {name: fact["value"] for name, fact in answer["facts"].items()}
    unsure = unsure_fields(row["unsure"])
    for field, value in flatten(row["expected"]):
        name = NAMES.get(field, field)
        if LEFT_OUT.match(field) or (unsure and name.startswith(unsure)):
            continue
        found = facts.get(name)
        if isinstance(value, list) and isinstance(found, str) and found.startswith("["):
            found = json.loads(found)
        yield name, text_of(value), text_of(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("corpus")
    parser.add_argument("--framework")
    parser.add_argument("--given", action="store_true")
    parser.add_argument("--list")
    parser.add_argument("--least", type=float, default=0)
    arguments = parser.parse_args()
    if not os.path.exists(arguments.corpus):
        sys.exit(77)  # skipped: the collection is not part of the project
    with open(arguments.corpus, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    names = arguments.framework.split(",") if arguments.framework else []
    rows = [r for r in rows if not names or r["framework"] in names]
    tally = collections.defaultdict(lambda: {"rows": 0, "read": 0, "right": 0, "fields": 0,
                                             "wrong": collections.Counter()})
    crashed = False
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for row, answer, message in pool.map(
                lambda r: read_launch(arguments.program, r, arguments.given), rows):
            t = tally[row["framework"]]
            t["rows"] += 1
            crashed |= message.startswith("crashed")
            # A sentence that names what is missing or not priced counts as read.
            t["read"] += answer is not None or ("not a launch of" not in message and
                                                "crashed" not in message)
            if answer is None:
                if arguments.list in ("all", "unread"):
                    print(f"{row['id']}: {message}")
                continue
            for name, wanted, found in differences(row, answer):
                t["fields"] += 1
                t["right"] += wanted == found
                if wanted != found:
                    t["wrong"][name] += 1
                    if arguments.list in ("all", name):
                        print(f"{row['id']}: {name}: {wanted} expected, {found} found")
    failed = crashed or not rows
    for name, t in sorted(tally.items()):
        share = t["right"] / t["fields"] if t["fields"] else 0
        worst = ", ".join(f"{k} {v}" for k, v in t["wrong"].most_common(8))
        print(f"{name:22s} {t['read']:4d} of {t['rows']:4d} read, {100 * share:5.1f} % of "
              f"{t['fields']:5d} fields; {worst}")
        failed |= t["rows"] >= 10 and share < arguments.least
    rows = sum(t["rows"] for t in tally.values())
    read = sum(t["read"] for t in tally.values())
    fields = sum(t["fields"] for t in tally.values())
    right = sum(t["right"] for t in tally.values())
    print(f"all: {read} of {rows} read, {100 * right / max(fields, 1):.1f} % of {fields} fields")
    sys.exit(failed)


if __name__ == "__main__":
    main()
