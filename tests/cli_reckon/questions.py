#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Public questions "does it fit" and "how many": questions.csv has them with their confirmed answers
and sources, questions.txt the options of each.  At least RIGHT of them must get the confirmed answer.

    questions.py RECKON
"""
import csv
import json
import pathlib
import shlex
import subprocess
import sys

RIGHT = 15
HERE = pathlib.Path(__file__).parent
RUN = "--tp 1 --pp 1 --cp 1 --recompute full --micro-batch 1"


def options(text):
    """The options of a line; the last one where an option is given twice, once by RUN."""
    words, kept = shlex.split(text.replace("RUN", RUN)), {}
    if words[0].endswith(".json"):
        words[0] = str(HERE / words[0])
    if "torchrun" in words:
        return words
    place = 0
    while place < len(words):
        option = words[place].startswith("-")
        alone = place + 1 == len(words) or words[place + 1].startswith("--") or not option
        value = [] if alone else [words[place + 1]]
        kept[words[place]] = [words[place]] + value
        place += 1 + len(value)
    return sum(kept.values(), [])


def answer(reckon, text):
    run = subprocess.run([reckon, "fit", *options(text), "--json"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode not in (0, 1):
        sys.exit(f"{text}\n{run.stderr}")
    return json.loads(run.stdout)


def is_right(check, found):
    name, *values = check.split()
    estimate = found["estimate"]
    figures = {
        "memory": estimate["memory_total_bytes"] / 2**30,
        "host": estimate["host_memory_bytes"] * found["strategy"]["accelerators"] / 1e9,
        "step": estimate["step_s"],
    }
    if name == "fits":
        return not found["fits"]
    if name == "runs":
        return found["fits"] or estimate["thrashes"]
    if name == "fewest":
        return found["fewest_accelerators"] == int(values[0])
    return float(values[0]) <= figures[name] <= float(values[1])


def main():
    reckon = sys.argv[1]
    with open(HERE / "questions.csv", newline="") as file:
        questions = {row["id"]: row for row in csv.DictReader(file)}
    wrong, asked = {}, set()
    for line in (HERE / "questions.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, check, text = line.split("|")
        asked.add(name)
        found = answer(reckon, text)
        if not is_right(check, found):
            need = found["estimate"]["memory_total_bytes"] / 2**30
            wrong.setdefault(name, []).append(f"{check}: {need:.1f} GiB, {text}")
    assert asked == set(questions), "a question without a line, or a line without a question"
    for name, lines in wrong.items():
        print(name, questions[name]["question"], "-", questions[name]["outcome"])
        print("\n".join("    " + line for line in lines))
    right = len(questions) - len(wrong)
    print(f"{right} of {len(questions)} right")
    sys.exit(0 if right >= RIGHT else 1)


if __name__ == "__main__":
    main()
