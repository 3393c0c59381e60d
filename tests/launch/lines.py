#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every line of lines.txt with `reckon convert -` and compares what it states.

    lines.py RECKON LINES
"""

import json
import subprocess
import sys


def read_cases(path):
    """Yields (line number, line, lines of expectations)."""
    case = None
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            mark, rest = text[:1], text[2:].rstrip("\n")
            if mark == "$":
                if case:
                    yield case
                case = (number, rest, [])
            elif mark in (">", "?", "!"):
                case[2].append((mark, rest))
            elif mark not in ("#", "\n"):
                sys.exit(f"{path}:{number}: neither a line nor an expectation")
    if case:
        yield case


def text_of(value):
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) \
        else str(value)


def faults(done, expectations):
    """What a line lacks of what is expected."""
    answer = json.loads(done.stdout) if done.returncode == 0 else None
    for mark, rest in expectations:
        if mark == "!":
            if done.returncode != 2 or rest not in done.stderr:
                yield f"refused with {rest!r} expected: {done.stderr.strip() or 'it was read'}"
        elif answer is None:
            yield done.stderr.strip()
        elif mark == "?":
            if rest not in [key["key"] for key in answer["keys"]["not_priced"]]:
                yield f"{rest} is not among what is not priced"
        else:
            facts = {name: text_of(fact["value"]) for name, fact in answer["facts"].items()}
            facts["reader"] = answer["reader"]
            for fact in rest.split("; "):
                name, value = fact.split("=", 1)
                if facts.get(name) != value:
                    yield f"{name}: {value} expected, {facts.get(name)} found"
            for key in answer["keys"]["unknown"]:
                yield f"{key['key']} is unknown"


def main():
    program, lines = sys.argv[1:]
    failed = count = 0
    for number, line, expectations in read_cases(lines):
        done = subprocess.run([program, "convert", "-", "--json"], input=line + "\n",
                              capture_output=True, text=True, timeout=60, check=False)
        count += 1
        for fault in faults(done, expectations):
            print(f"{lines}:{number}: {fault}")
            failed += 1
    print(f"{count} lines, {failed} faults")
    sys.exit(failed > 0 or count == 0)


if __name__ == "__main__":
    main()
