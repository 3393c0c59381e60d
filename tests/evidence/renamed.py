#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No figure and no interval depends on how a document is called: every accelerator, system, stack and
model of the catalogue, copied under another name, answers as before.

    renamed.py RECKON
"""

import json
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

SYSTEMS = {"volta": "v100-sxm2-32gb", "ampere": "a100-sxm-80gb", "hopper": "h100-sxm",
           "blackwell": "b200-sxm", "ascend": "ascend-910b2", "tpu": "tpu-v5p",
           "trainium": "trainium1"}


def without_names(value):
    """The answer without what it says of the documents, for people."""
    if isinstance(value, dict):
        return {k: without_names(v) for k, v in value.items() if k != "comparable"}
    return [without_names(v) for v in value] if isinstance(value, list) else value


def ask(program, words):
    done = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    if done.returncode > 1:
        return done.stderr
    answer = without_names(json.loads(done.stdout))
    return {key: answer.get(key)
            for key in ("strategy", "estimate", "interval", "stages", "nearest", "fits")}


def document(program, name):
    shown = subprocess.run([program, "show", "--json", name], capture_output=True, text=True)
    return json.loads(shown.stdout)


def names(program, kind):
    listed = subprocess.run([program, "list", kind, "--json"], capture_output=True, text=True)
    return [item["name"] for item in json.loads(listed.stdout)[kind]]


def questions(program, folder):
    """(what is renamed, words before, words after)."""
    for kind in ("accelerators", "systems", "stacks", "models"):
        for name in names(program, kind):
            copy = {**document(program, name), "name": "anything-2099"}
            path = folder / f"{kind}-{name}.json"
            path.write_text(json.dumps(copy), encoding="utf-8")
            # a stack of another generation would be replaced by its family's, if asked by name
            system = SYSTEMS[copy["generations"][0]] if kind == "stacks" else "h100-sxm"
            asked = {"--model": "llama3-8b", "--system": system}
            option = {"stacks": "--stack", "models": "--model"}.get(kind, "--system")
            small = ["--accelerators", "16", "--global-batch", "32", "--micro-batch", "1", "--tp", "2"]
            before, after = dict(asked), dict(asked)
            before[option], after[option] = name, str(path)
            yield name, *(["estimate", *sum(([k, v] for k, v in words.items()), []), *small]
                          for words in (before, after))


def main():
    program, wrong, total, refused = sys.argv[1], 0, 0, 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        asked = list(questions(program, pathlib.Path(folder)))
        answers = pool.map(lambda q: [ask(program, words) for words in q[1:]], asked)
        for (name, before, _), (was, now) in zip(asked, answers):
            total += 1
            if isinstance(was, str) and isinstance(now, str):
                refused += 1  # under both names
                continue
            if was != now:
                wrong += 1
                print(f"{name}: renamed, {' '.join(before)} has another answer")
    print(f"{total} documents, {wrong} of which give another answer after renaming, {refused} refused")
    return wrong > 0 or total - refused < 150


if __name__ == "__main__":
    sys.exit(main())
