#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each name that a reader of launches knows is in a case of its framework.

    names.py

Names are the texts without blanks in lib/launch: flags, keys, values of enumerations, and fields and values that are
stated.  Cases are those of readings.txt, of other tests, and the collected launches with what is read from them.  A
name in none of them could be misspelt, and no test would fail.
"""

import csv
import json
import pathlib
import re
import sys

from corpus import READERS

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|^[ \t]*#[^\n]*|\'(?:[^\'\\]|\\.)*\'|(?:"(?:[^"\\\n]|\\.)*"\s*)+', re.S | re.M)
READER = re.compile(r"^ +\.name = \"([^\" ]+)\",$", re.M)
NAME = re.compile(r"\"([A-Za-z][\w.+-]*\w)\"\s*")


def plain(text):
    return text.lower().replace("-", "_")


def names_of(source):
    """The names of a source, with the lines where they stand first; no letters that are looked for one by one."""
    found, line, past = {}, 1, 0
    for match in TEXT.finditer(source):
        line, past = line + source.count("\n", past, match.start()), match.start()
        name = NAME.fullmatch(match[0])
        if name and not re.search(r"(str(chr|c?spn)\((\w+, )?|\.framework = )$", source[past - 30:past]):
            found.setdefault(name[1], line)
    return found


def dotted_of(text):
    """The keys within the braces of JSON and of YAML's flows, with those that hold them."""
    holders, last = [], ""
    for word in re.findall(r"[\w.-]+(?=\"?: )|[{}]", text):
        if word == "{":
            holders.append(last)
        elif word == "}":
            holders = holders[:-1]
        else:
            last = word
            yield ".".join([*filter(None, holders), word])


class Cases:
    """The words in the cases of each reader, and under "" those of any."""

    def __init__(self):
        self.words = {"": set()}
        self.texts = {}

    def add(self, reader, text):
        words = {plain(word) for part in [text, *dotted_of(text)] for word in re.findall(r"[\w.+-]+", part)}
        self.words.setdefault(reader, set()).update(words)
        self.words[""].update(words)

    def have(self, reader, name):
        """Whether a word, or a part of one behind a dot or an underscore, begins with a name."""
        if reader not in self.texts:
            self.texts[reader] = " " + " ".join(sorted(self.words.get(reader, ())))
        text, name = self.texts[reader], plain(name)
        at = text.find(name)
        while at > 0 and text[at - 1].isalnum():
            at = text.find(name, at + 1)
        return at > 0


def read_cases():
    cases, reader, launch, frameworks = Cases(), "", "", {}
    for line in (HERE / "readings.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            reader, launch = line[2:].split(": ", 1)
            reader = reader.split("/")[0]
        elif " -> " in line and not line.startswith("# "):
            text, expected = line.split(" -> ")
            cases.add(reader, f"{launch.replace('@', text)} {reader} {expected}".replace("\\n", " "))
    for line in (HERE / "collected.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        frameworks[row["id"]] = READERS.get(row["framework"], row["framework"])
        cases.add(frameworks[row["id"]], json.dumps(row))
    for line in (HERE / "collected.txt").read_text(encoding="utf-8").splitlines():
        reader = frameworks.get(line.split("\t")[0], reader)
        cases.add(reader, line)
    others = [path for folder in (HERE, HERE / "configs", HERE / "scripts") for path in folder.iterdir()]
    for path in others:
        if path.is_file() and path.stem not in ("readings", "readings_recorded", "collected"):
            cases.add("", path.read_text(encoding="utf-8"))
    return cases


def main():
    cases, missing, count = read_cases(), [], 0
    known = {path.stem for path in (ROOT / "data").rglob("*")}  # tables, and their words
    for path in (ROOT / "data" / "launch_flags").glob("*.csv"):
        known.update(re.findall(r"[\w-]+", path.read_text(encoding="utf-8").split("\n", 1)[0]))
        with path.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        known.update(word for row in rows for column in ("class", "type") for word in (row.get(column) or "").split())
        missing += [f"{path.name}: {row['flag']} turns off, so a reader has to state its field {row['field']}"
                    for row in rows if "turns off" in (row.get("type") or "") and row.get("field")]
    for path in sorted((ROOT / "lib" / "launch").glob("*.c")):
        source = path.read_text(encoding="utf-8")
        readers = READER.findall(source) or [""]
        names = names_of(source)
        count += len(names)
        missing += [f"lib/launch/{path.name}:{line}: {name} is in no case of {', '.join(readers) or 'a test'}"
                    for name, line in names.items()
                    if name not in known and not any(cases.have(reader, name) for reader in readers + ["no reader"])]
    print("\n".join(missing))
    print(f"{count} names, {len(missing)} in no case")
    sys.exit(bool(missing) or not count)


if __name__ == "__main__":
    main()
