#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `plan` prints of its best strategy, given as options, predicts the same step and memory; what `explain` and
`design` print of theirs, the same step.

    printed.py RECKON
"""

import json
import re
import subprocess
import sys

JOBS = """
llama3-70b 16xh20 -b 256 --lora-rank 64 --seq 4096
gemma3-27b 256xgh200 -b 4096 --seq 8192 --framework megatron
llama3-70b 128xtrainium2 -b 256 --lora-rank 8
mixtral-8x7b 256xh100 -b 256 --seq 32768
mixtral-8x7b 64xv100 -b 128 --lora-rank 64
llama3-8b 8xh100 --framework any
qwen3-30b-a3b 32xh100 --framework any
llama3-8b 8xv100 -b 64 --framework any
"""
ASKED = ["--model", "llama3-8b", "-b", "2048", "--framework", "any"]
# What is printed, and the option that it means.
WORDS = (
    (r"\bTP (\d+)", "--tp"), (r"\bTP (?!1,)\d+(),", "--no-sp"), (r"\bCP (\d+)", "--cp"), (r"CP by ([\w-]+)", "--cp-kind"),
    (r"\bPP (\d+)", "--pp"), (r"\bVP (\d+)", "--vp"), (r"\bEP (\d+)", "--ep"), (r"ETP (\d+)", "--etp"),
    (r"\bDP (\d+)", "--dp"), (r"ZeRO-(\d)", "--zero"), (r"HSDP (\d+)", "--hsdp"),
    (r"micro-batch (\d+)", "--micro-batch"), (r"recompute (\w+)", "--recompute"),
    (r"recompute \w+ \(([\w+]+)\)", "--recompute-modules"), (r"of (\d+) layers per stage", "--recompute-layers"),
    (r"(\d+) layers? on the first rank", "--first-stage-layers"),
    (r"(\d+) layers? on the last rank", "--last-stage-layers"), (r"rank order ([\w-]+)", "--order"),
    (r"()(?:embedding as layer|embedding and head as layers)", "--count-embedding"),
    (r"()head as layer", "--count-head"),
    (r"overlap ([\w+]+)", "--overlap"), (r"weights in (\w+)", "--weights"), (r"gradients in (16) bits", "--gradients"),
)


def ask(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


def options(text):
    """Those of the lines from "best"; degrees that are 1 are not printed."""
    best = " ".join(re.search(r"^best +(.*?)\n(?! )", text, re.DOTALL | re.MULTILINE)[1].split())
    given = {"--cp": "1", "--pp": "1", "--vp": "1", "--ep": "1", "--etp": "1"}
    for pattern, option in WORDS:
        found = re.search(pattern, best)
        if found:
            given[option] = found[1].replace("+", ",")
    if "--gradients" in given:
        given["--gradients"] = "bf16"  # of 16 bits, of fp16, too
    if given["--pp"] != "1":
        given["--schedule"] = next(word for word in best.split(", ") if word in ("1f1b", "interleaved", "zb-v"))
    return [word for pair in given.items() for word in pair if word]


def compare(question, system, step_of):
    """The printed strategy of `question` on a system as words has the step of its answer."""
    step = step_of(json.loads(ask(sys.argv[1], *question, "--json")))
    words = [*ASKED, *system, *options(ask(sys.argv[1], *question))]
    again = json.loads(ask(sys.argv[1], "estimate", *words, "--json"))["estimate"]["step_s"]
    if abs(again / step - 1) > 1e-9:
        sys.exit(f"estimate {' '.join(words)}: step_s is {again}, of {question[0]} {step}")


def main():
    for job in JOBS.split("\n")[1:-1]:
        words = [*job.split(), *options(ask(sys.argv[1], "plan", *job.split()))]
        best = json.loads(ask(sys.argv[1], "plan", *job.split(), "--json"))["strategies"][0]["estimate"]
        again = json.loads(ask(sys.argv[1], "estimate", *words, "--json"))["estimate"]
        for key in ("step_s", "memory_needed_bytes"):
            if abs(again[key] / best[key] - 1) > 1e-9:
                sys.exit(f"estimate {' '.join(words)}: {key} is {again[key]}, of the plan {best[key]}")
    compare(["explain", *ASKED, "8xh100"], ["8xh100"], lambda answer: answer["best"]["step_s"])
    machines = ["--system", "h100", "--prices", "example", "--tokens-per-second", "1M"]
    found = json.loads(ask(sys.argv[1], "design", *ASKED, *machines, "--json"))["cheapest"]
    numbers = found["numbers"]  # the domain is that of the system, and nothing is offloaded
    system = [f"{found['accelerators']}xh100", "--set",
              f"memory={numbers['memory_GiB']}GiB,infiniband.bandwidth={numbers['tier1_GBps']}GB/s"]
    compare(["design", *ASKED, *machines], system, lambda answer: answer["cheapest"]["step_s"])


if __name__ == "__main__":
    main()
