#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the questions of a file, and compares fields of the answers.

    questions.py RECKON QUESTIONS

"$" a command; "---" a file in its folder, whose text follows up to the next mark; ">" values of the
answer in JSON, from its strategy, request or model; "!" part of the message that refuses it.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile

from documented import text_of, write_files


def read_questions(path):
    """Yields (line number, command, files, values, parts of a refusal)."""
    question, name = None, None
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            mark, rest = text[:2], text[2:].rstrip("\n")
            if mark == "$ ":
                if question:
                    yield question
                question, name = (number, rest, {}, {}, []), None
            elif text.startswith("--- "):
                name = text[4:].strip()
                question[2][name] = ""
            elif mark == "> ":
                question[3].update(value.split("=", 1) for value in rest.split("; "))
                name = None
            elif mark == "! ":
                question[4].append(rest)
                name = None
            elif name:
                question[2][name] += text
    if question:
        yield question


def faults(program, command, files, values, refusals):
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder, files)
        verb, *words = shlex.split(command)
        done = subprocess.run([program, verb, "--json", *words], cwd=folder, capture_output=True,
                              text=True, timeout=60, check=False)
    if refusals:
        return [f"refused with {part!r} expected: {done.stderr.strip()}" for part in refusals
                if done.returncode != 2 or part not in done.stderr]
    if done.returncode == 2:
        return [done.stderr.strip()]
    answer = json.loads(done.stdout)
    found = {"fits": answer["estimate"]["fits"], **answer["model"], **answer["request"],
             **answer["strategy"]}
    return [f"{name}: {value} expected, {found.get(name)} found"
            for name, value in values.items() if text_of(found.get(name)) != value]


def main():
    program, questions = os.path.abspath(sys.argv[1]), sys.argv[2]
    count = failed = 0
    for number, command, files, values, refusals in read_questions(questions):
        count += 1
        for fault in faults(program, command, files, values, refusals):
            print(f"{questions}:{number}: {fault}")
            failed += 1
    print(f"{count} questions, {failed} faults")
    sys.exit(failed > 0 or count == 0)


if __name__ == "__main__":
    main()
