#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads and prices every launch of documented.txt.

    documented.py RECKON CASES

`reckon convert` has to state the facts of each case and know all its keys, and
`reckon estimate --from` has to give the answer: priced, does not fit, or the sentence that names
what is missing.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile

Case = collections.namedtuple("Case", "line file machine texts facts not_priced answer")


def read_cases(path):
    case, name = None, ""
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            mark, rest = text[:2], text[2:].strip()
            if text.startswith("=== "):
                if case:
                    yield case
                name, machine = text[4:].split()
                case = Case(number, name, machine, {name: ""}, {}, [], [])
            elif not case:
                continue
            elif text.startswith("--- "):
                name = text[4:].strip()
                case.texts[name] = ""
            elif mark == "> " and not case.answer:
                case.facts.update(fact.split("=", 1) for fact in rest.split("; "))
                name = None
            elif mark == "? " and not case.answer:
                case.not_priced.append(rest)
                name = None
            elif mark == "= ":
                case.answer.append(rest)
            elif name and not case.answer:
                case.texts[name] += text
    if case:
        yield case


def run(arguments, folder):
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=60,
                          check=False)


def write_files(folder, texts):
    for name, text in texts.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def text_of(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def reading_faults(program, case, folder):
    """Facts of a case that `reckon convert` does not state."""
    if not case.facts and not case.not_priced:
        return
    done = run([program, "convert", case.file, "--json"], folder)
    if done.returncode:
        yield done.stderr.strip()
        return
    answer = json.loads(done.stdout)
    facts = {name: text_of(fact["value"]) for name, fact in answer["facts"].items()}
    facts["reader"] = answer["reader"]
    for name, value in case.facts.items():
        if facts.get(name) != value:
            yield f"{name}: {value} expected, {facts.get(name)} found"
    not_priced = {key["key"] for key in answer["keys"]["not_priced"]}
    yield from (f"{key} is not among what is not priced" for key in case.not_priced
                if key not in not_priced)
    yield from (f"{key['key']} is unknown" for key in answer["keys"]["unknown"])


def answer_faults(program, case, folder):
    """Whether `reckon estimate --from` answers as the case says."""
    done = run([program, "estimate", "--from", case.file, case.machine, "--json"], folder)
    found = {0: "priced", 1: "does not fit"}.get(done.returncode, done.stderr.strip())
    expected = case.answer[0] if case.answer else "nothing"
    if found != expected and (done.returncode != 2 or expected not in found):
        yield f"{expected!r} expected: {found}"


def main():
    program, cases = os.path.abspath(sys.argv[1]), sys.argv[2]
    wanted = sys.argv[3:]
    count = failed = 0
    for case in read_cases(cases):
        if wanted and case.file not in wanted:
            continue
        count += 1
        with tempfile.TemporaryDirectory() as folder:
            write_files(folder, case.texts)
            for faults in (reading_faults, answer_faults):
                for fault in faults(program, case, folder):
                    print(f"{cases}:{case.line}: {case.file}: {fault}")
                    failed += 1
    print(f"{count} launches, {failed} faults")
    sys.exit(failed > 0 or count == 0)


if __name__ == "__main__":
    main()
