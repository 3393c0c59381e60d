#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of Megatron-LM that reckon writes mean the strategy that they were written for.

    pasted.py RECKON

Each strategy is emitted and its arguments are given back, once without a model, which the flags
describe, and once with it, which has to give the same answer.  The line may contain options of reckon,
and --from reads the line as the same job.
"""

import json
import os
import re
import shlex
import subprocess
import sys

RECKON = os.path.abspath(sys.argv[1])

# A model, a machine, and a strategy in which the search has nothing left to choose.
CASES = [
    "llama3-8b 16xh100 -b 64 --tp 2 --pp 2 --vp 4 --zero 1 --recompute full",
    "llama3-8b 16xh100 -b 64 --tp 2 --pp 2 --vp 1 --zero 1 --recompute full --recompute-layers 3",
    "llama3-8b 16xh100 -b 64 --tp 2 --pp 2 --vp 4 --zero 1 --recompute selective"
    " --recompute-modules core_attn,mlp",
    "llama3-8b 16xh100 -b 64 --tp 2 --pp 2 --vp 1 --zero 0 --recompute none",
    "llama3-8b 16xh100 -b 64 --tp 2 --pp 1 --zero 2 --recompute none",
    "llama3-8b 16xh100 -b 64 --tp 2 --pp 1 --zero 3 --recompute none",
    "qwen3-4b 8xh100 -b 64 --tp 1 --pp 1 --zero 1 --recompute none --seq 4096",
    "gpt3-13b 16xh100 -b 64 --tp 2 --pp 2 --vp 1 --zero 1 --recompute none",
    "gpt-oss-20b 16xh100 -b 64 --tp 1 --pp 1 --ep 8 --zero 1 --recompute none",
    "qwen3-30b-a3b 16xh100 -b 64 --tp 1 --pp 1 --ep 8 --zero 1 --recompute full --seq 4096",
    "deepseek-v2-lite 16xh100 -b 64 --tp 1 --pp 1 --ep 8 --zero 1 --recompute full --seq 4096",
]
OPEN = "--cp 1 --micro-batch 1 --order tp-cp-dp-pp"  # no argument stands for the usual ones
FIELDS = ("tp", "pp", "vp", "ep", "dp", "zero", "micro_batch", "global_batch", "recompute",
          "recompute_layers", "recompute_modules", "precision")


def ask(words):
    done = subprocess.run([RECKON, "estimate", *words], text=True, encoding="utf-8",
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None, done.stderr


def arguments(script):
    """The script that torchrun starts, and its arguments."""
    text = script.replace("\\\n", " ").replace('"$PRETRAIN"', "pretrain_mamba.py")
    line = next(l for l in text.splitlines() if l.startswith("torchrun"))
    words = shlex.split(line.replace('"$@"', ""))
    return words[next(i for i, w in enumerate(words) if w.startswith("pretrain_")):]


def check(case):
    model, machine, *rest = case.split()
    asked = [model, machine, *rest, *OPEN.split()]
    script, error = ask([*asked, "--emit", "megatron"])
    answer, _ = ask([*asked, "--json"])
    if not script or not answer:
        return [f"{case}: {error.strip()}"]
    answer = json.loads(answer)
    line = arguments(script)
    faults = []
    for named in ([], ["--model", model]):
        system = re.sub("^[0-9]+x", "", machine)
        count = str(answer["strategy"]["accelerators"])
        own = [*named, "--system", system, "--gpus", count, "--json", *OPEN.split(), "--vp",
               str(answer["strategy"]["vp"])]
        found, error = ask(["torchrun", *line, *own])
        read, _ = ask(["--from", shlex.join(["torchrun", *line]), *own])
        quoted, _ = ask([shlex.join(["torchrun", *line]), *own])
        name = f"{case}{' with its model' if named else ''}"
        if not found:
            faults.append(f"{name}: {error.strip()}")
            continue
        found = json.loads(found)
        if not read or json.loads(read)["estimate"] != found["estimate"]:
            faults.append(f"{name}: --from reads the line as another job")
        if quoted != read:
            faults.append(f"{name}: as one word the line is another job")
        faults += [f"{name}: {field} {found['strategy'][field]}, not {answer['strategy'][field]}"
                   for field in FIELDS if found["strategy"][field] != answer["strategy"][field]]
        if named and found["model"]["parameters"] != answer["model"]["parameters"]:
            faults.append(f"{name}: {found['model']['parameters']} parameters")
    return faults


def main():
    faults = [fault for case in CASES for fault in check(case)]
    print("\n".join(faults))
    return 1 if faults else 0


sys.exit(main())
