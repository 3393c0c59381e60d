#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole answers of every command: the text, and digests of the members of JSON, the columns of CSV and pictures.

    answers.py [--renew]

RECKON_LIBRARY names the shared library, which answers in this process.  A line ">>> COMMAND OPTION=VALUE ... : FORMAT ..."
of answers.txt asks, whose values are texts or JSON objects; what follows it is the answer.  Text stands as it is but for the time that it took; numbers of JSON
and CSV count to eight digits.
"""

import csv
import difflib
import hashlib
import io
import json
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))
from reckon import ReckonError  # pylint: disable=wrong-import-position
from reckon._library import run_command  # pylint: disable=wrong-import-position

ANSWERS = HERE / "answers.txt"
VOLATILE = {"processor_time_s", "wall_time_s", "reckon"}
TIMES = re.compile(r"[-0-9.e+]+ s of processor time.*|[0-9.]+ million strategies.*")


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:6]


def rounded(value):
    """A JSON value without what differs from run to run."""
    if isinstance(value, dict):
        return {key: rounded(member) for key, member in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [rounded(member) for member in value]
    return float(f"{value:.8g}") if isinstance(value, float) else value


def number(cell):
    try:
        return f"{float(cell):.8g}"
    except ValueError:
        return cell


def members(value, depth):
    """name:digest of the members of an object, those of objects in it too."""
    for key, member in value.items():
        if isinstance(member, dict) and depth > 0:
            yield from (f"{key}.{inner}" for inner in members(member, depth - 1))
        elif key not in VOLATILE:
            yield f"{key}:{digest(rounded(member))}"


def shown(text, form):
    if form == "json":
        return [" ".join(members(json.loads(text), 1))]
    if form == "csv":
        rows = list(csv.reader(io.StringIO(text)))
        width = max(map(len, rows), default=0)
        columns = ([number(row[i]) for row in rows if i < len(row)] for i in range(width))
        return [f"{len(rows)} rows", " ".join(f"{column[0]}:{digest(column[1:])}" for column in columns)]
    return [TIMES.sub("#", line).rstrip() for line in text.splitlines()]


def drawn(command, given):
    """The texts of the picture that a command draws, and a digest of all of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.svg")
        run_command(command, {**given, "plot" if command in ("comm", "validate") else "output": path})
        text = pathlib.Path(path).read_text(encoding="utf-8")
    return [" | ".join(re.findall(r"<text[^>]*>([^<]*)<", text)), f"{len(text.splitlines())} lines {digest(text)}"]


def answer(question):
    words, _, forms = question.partition(" : ")
    command, *options = words.split()
    given = dict(option.split("=", 1) if "=" in option else (option, True) for option in options)
    given = {name: json.loads(value) if str(value)[:1] == "{" else value for name, value in given.items()}
    for form in forms.split():
        yield f"-- {form}"
        try:
            if form == "svg":
                yield from drawn(command, given)
                continue
            yield from shown(run_command(command, {**given, **({form: True} if form != "text" and command != "sweep" else {})}).text, form)
        except ReckonError as error:
            yield f"refused: {error}"


def main():
    os.chdir(HERE)
    os.environ.update(NO_COLOR="1", COLUMNS="100")
    lines = ANSWERS.read_text(encoding="utf-8").splitlines()
    found = lines[:1]
    for line in lines:
        if line.startswith(">>> "):
            found += [line, *answer(line[4:]), ""]
    if sys.argv[1:] == ["--renew"]:
        ANSWERS.write_text("\n".join(found) + "\n", encoding="utf-8")
        return 0
    differ = list(difflib.unified_diff(lines, found, "answers.txt", "now", n=1, lineterm=""))
    print("\n".join(differ))
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
