#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command gives the same answer to a question.

    commands.py RECKON TEST_ASK [FIRST COUNT]

TEST_ASK prints random questions that have an answer.  The best strategy of `plan -n 1` is that of
`plan -n 5`, `plan --bounded`, `explain`, `run`, `fit`, `timeline` and `sweep`; and `estimate`, given
all of that strategy, takes as long.  A question that gives all of a strategy but, say, the modules of
selective recompute is answered by `run`, `fit` and `timeline` for the defaults of these.
"""

import csv
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile

ENV = dict(os.environ, NO_COLOR="1")


SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1}


def ask(reckon, *words):
    """Standard output of a command that must find an answer."""
    done = subprocess.run([reckon, *words], env=ENV, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode} of reckon {' '.join(words)}\n"
                             f"{done.stderr}")
    return done.stdout


def first_row(text):
    return next(csv.DictReader(io.StringIO(text)))


def options_of(s):
    """The options of `reckon estimate` that say all of a strategy."""
    words = []
    for option, key in (("tp", "tp"), ("cp", "cp"), ("pp", "pp"), ("vp", "vp"), ("ep", "ep"),
                        ("etp", "etp"), ("micro-batch", "micro_batch"), ("zero", "zero"),
                        ("schedule", "schedule"), ("recompute", "recompute"),
                        ("order", "rank_order")):
        words += [f"--{option}", str(s[key])]
    if s["recompute"] == "selective":
        words += ["--recompute-modules", s["recompute_modules"].replace("+", ",")]
    for option, key in (("recompute-layers", "recompute_layers"),
                        ("first-stage-layers", "first_stage_layers"),
                        ("last-stage-layers", "last_stage_layers")):
        if s[key] > 0:
            words += [f"--{option}", str(s[key])]
    if s["hsdp_replicas"] > 1:
        words += ["--hsdp", str(s["hsdp_replicas"])]
    if s["cp"] > 1:
        words += ["--cp-kind", s["cp_kind"]]
    words += ["--count-embedding"] if s["count_embedding"] else []
    words += ["--count-head"] if s["count_head"] else []
    words += ["--offload", s["offload"].replace("+", ",")]
    return words


def without_choices(question):
    """The words of a question that leave nothing of a strategy open."""
    words, kept = question.split(), []
    chosen = ("--tp", "--cp", "--pp", "--ep", "--micro-batch", "--zero", "--recompute", "--offload")
    for name, value in zip(words[::2], words[1::2]):
        kept += [] if name in chosen else [name, value]
    return kept


def sweep_document(question):
    """The same question as a document of a sweep of one point."""
    words = question.split()
    given = {name[2:].replace("-", "_"): value for name, value in zip(words[::2], words[1::2])}
    document = {"model": given["model"], "system": given["system"], "top": 1,
                "accelerators": int(given["accelerators"]),
                "axes": [{"key": "global_batch", "values": [int(given["global_batch"])]}]}
    if "framework" in given:
        document["framework"] = given["framework"]
    strategy = {}
    for name in ("tp", "cp", "pp", "ep", "micro_batch", "zero"):
        if name in given:
            values = [int(value) for value in given[name].split(",")]
            strategy[name] = values if len(values) > 1 else values[0]
    for name in ("recompute", "offload"):
        if name in given:
            values = given[name].split(",")
            strategy[name] = values if len(values) > 1 else values[0]
    if "seq" in given:
        document["seq"] = int(given["seq"])
    if "precision" in given:
        strategy["precision"] = given["precision"]
    if strategy:
        document["strategy"] = strategy
    return document


def is_strategy(words):
    """Whether a question gives all that makes a strategy, which is then estimated, not searched."""
    needed = ("--tp", "--cp", "--pp", "--micro-batch", "--zero", "--recompute")
    return all(option in words for option in needed)


def answers(reckon, question, folder):
    """Pairs of a command and the seconds of the step that it found."""
    words = question.split()
    plan = json.loads(ask(reckon, "plan", *words, "-n", "1", "--json"))
    best = plan["strategies"][0]
    yield "plan -n 1", best["estimate"]["step_s"]
    for extra in (["-n", "5"], ["-n", "1", "--bounded"], ["-n", "5", "--bounded", "-t", "2"]):
        found = json.loads(ask(reckon, "plan", *words, *extra, "--json"))
        yield "plan " + " ".join(extra), found["strategies"][0]["estimate"]["step_s"]
    yield "plan --csv", float(first_row(ask(reckon, "plan", *words, "-n", "1", "--csv"))["step_s"])
    yield "explain", json.loads(ask(reckon, "explain", *words, "--json"))["best"]["step_s"]
    if not is_strategy(words):
        found = json.loads(ask(reckon, "run", *words, "--tokens", "1T", "--json"))
        yield "run", found["estimate"]["step_s"]
        yield "fit", json.loads(ask(reckon, "fit", *words, "--json"))["estimate"]["step_s"]
        text = ask(reckon, "timeline", *words)
        line = next(line for line in text.splitlines() if line.startswith("step "))
        yield "timeline", float(line.split()[1]) * SECONDS[line.split()[2].rstrip(",")]
    path = os.path.join(folder, "sweep.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(sweep_document(question), file)
    yield "sweep", float(first_row(ask(reckon, "sweep", path))["step_s"])
    if "--framework any" in question:
        return  # each of its strategies has the states of its framework, which no option names
    whole = without_choices(question) + options_of(best["strategy"])
    yield "estimate", json.loads(ask(reckon, "estimate", *whole, "--json"))["estimate"]["step_s"]


def main():
    reckon, test_ask = sys.argv[1:3]
    first, count = sys.argv[3:5] if len(sys.argv) > 4 else ("0", "8")
    reckon, test_ask = os.path.abspath(reckon), os.path.abspath(test_ask)
    wrapper = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))  # on a machine of another kind
    listed = subprocess.run([*wrapper, test_ask, "--print", first, count], env=ENV, text=True, check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    wrong = asked = 0
    with tempfile.TemporaryDirectory() as folder:
        for question in listed.stdout.splitlines():
            asked += 1
            wanted = None
            try:
                for command, step in answers(reckon, question, folder):
                    wanted = step if wanted is None else wanted
                    # a timeline prints five digits
                    room = (1e-4 if command == "timeline" else 1e-9) * wanted
                    if abs(step - wanted) > room:
                        print(f"{command} {question}: {step!r} s instead of {wanted!r}")
                        wrong += 1
            except AssertionError as error:
                print(f"{question}: {error}")
                wrong += 1
    print(f"{asked} questions, {wrong} differences")
    return 1 if wrong or not asked else 0


if __name__ == "__main__":
    sys.exit(main())
