#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twenty jobs through the Python package and through the command, equal to the last digit.

    jobs.py RECKON        RECKON_LIBRARY names the shared library
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import reckon  # noqa: E402

JOBS = [
    ("plan", "llama3-8b", "h100-sxm", dict(accelerators=8, global_batch=64)),
    ("plan", "llama3-70b", "h100-sxm", dict(accelerators=64, global_batch=512, top=3)),
    ("plan", "llama3.1-405b", "h100-roce-24k", dict(accelerators=16384, global_batch=2048)),
    ("plan", "mixtral-8x7b", "a100-sxm-80gb", dict(accelerators=64, global_batch=256, tp=[1, 2, 4])),
    ("plan", "seed-1T", "h100-80g-off512g50-nvl8",
     dict(processors=512, batch=512, datatype="float8")),
    ("plan", "llama3-70b", "b200-sxm", dict(accelerators=64, global_batch=512, precision="fp8")),
    ("estimate", "llama3-8b", "h100-sxm", dict(accelerators=8, tp=2, global_batch=64)),
    ("estimate", "llama3-70b", "h100-sxm",
     dict(accelerators=64, tp=8, pp=2, global_batch=128, explain=True)),
    ("estimate", "gpt3-175b", "a100-sxm-80gb", dict(accelerators=1024, tp=8, pp=8, global_batch=1536)),
    ("estimate", "deepseek-v3", "h100-sxm",
     dict(accelerators=2048, pp=16, ep=64, global_batch=15360, precision="fp8")),
    ("fit", "llama3-8b", "h100-sxm", dict(accelerators=8, global_batch=64)),
    ("fit", "llama3-70b", "h100-sxm", dict(accelerators=16, global_batch=128)),
    ("fit", "llama3.1-405b", "h100-sxm", dict(accelerators=16, global_batch=16)),
    ("run", "llama3-8b", "h100-sxm", dict(accelerators=64, global_batch=512, tokens="1T")),
    ("run", "llama3.1-405b", "h100-roce-24k",
     dict(accelerators=16384, global_batch=2048, tokens="15.6T", price=2.5)),
    ("comm", None, "h100-sxm", dict(ranks=16, bytes="1Mi,1Gi")),
    ("comm", None, "dgx-h100-superpod", dict(ranks=64)),
    ("timeline", "llama3-8b", "h100-sxm", dict(accelerators=8, tp=2, pp=4, global_batch=8)),
    ("explain", "llama3-8b", "h100-sxm", dict(accelerators=16, global_batch=64)),
    ("shape", "llama3-8b", "h100-sxm", dict(accelerators=8, global_batch=64, blocks=[24, 32])),
]


def without_clocks(value):
    """The answer without what differs from run to run."""
    if isinstance(value, dict):
        volatile = ("performance", "processor_time_s", "wall_time_s")
        return {k: without_clocks(v) for k, v in value.items() if k not in volatile}
    return [without_clocks(v) for v in value] if isinstance(value, list) else value


def ask_command(program, name, model, system, options):
    words = [program, name, "--json"]
    for key, value in {"model": model, "system": system, **options}.items():
        if value is True:
            words.append("--" + key)
        elif value is not None:
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            words += ["--" + key.replace("_", "-"), text]
    done = subprocess.run(words, capture_output=True, encoding="utf-8")
    if done.returncode > 1:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def ask_package(name, model, system, options):
    if name == "comm":
        return reckon.comm(system, **options).raw
    if name == "timeline":
        return reckon.timeline(model, system, **options).trace
    function = getattr(reckon, name, None)
    if function is None:
        answer = reckon.run_command(
            name, {"model": model, "system": system, "json": True, **options})
        return json.loads(answer.text)
    return function(model, system, **options).raw


def main():
    program, wrong = sys.argv[1], 0
    for name, model, system, options in JOBS:
        here = without_clocks(ask_package(name, model, system, options))
        there = without_clocks(ask_command(program, name, model, system, options))
        if here != there:
            print(f"{name} {model} {system} {options}: the answers differ")
            wrong += 1
    print(f"{len(JOBS)} jobs, {wrong} differ")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
