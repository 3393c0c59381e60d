#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the fast tests execute, by module: `make coverage` builds for gcov, runs them, and writes docs/coverage.md.

    coverage.py BUILD [PAGE]     prints the page; PAGE is the one of before

Fails where a function of the modules in WATCHED never runs, or where fewer of a module's branches run than PAGE says.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WATCHED = ("launch", "request", "timeline", "method", "answer", "api", "estimate", "layer", "schedule", "search")
SLACK = 0.005  # threads count now more, now less

HEAD = """\
# Coverage

What the fast tests execute, of the lines, the branches and the functions of each module, as gcov counts them: assertions
are off, and failed allocations are part of the tests. `make coverage` writes this page, and fails where a function
of the modules in bold never runs or where a module loses branches.

| module | lines | branches | functions |
|---|--:|--:|--:|
"""


class Source:
    """Counts of a file: of lines, of branches (line, index), of functions (line, name)."""

    def __init__(self):
        self.lines, self.branches = collections.Counter(), collections.Counter()
        self.functions = collections.Counter()


def read(build, notes):
    """The report of gcov on an object."""
    shown = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", notes], cwd=build,
                           check=True, capture_output=True)
    return json.loads(shown.stdout)


def add(sources, build, report):
    for file in report["files"]:
        path = pathlib.Path(os.path.normpath(build / file["file"]))
        if not path.is_relative_to(ROOT / "lib"):
            continue
        source = sources[path.relative_to(ROOT).as_posix()]
        for line in file["lines"]:
            number = line["line_number"]
            source.lines[number] += line["count"]
            for i, branch in enumerate(line["branches"]):
                source.branches[number, i] += branch["count"]
        for function in file["functions"]:
            source.functions[function["start_line"], function["name"]] += function["execution_count"]


def share(counts):
    total = len(counts)
    return sum(1 for count in counts.values() if count) / total if total else 1.0


def merged(sources, kind):
    return {(file, key): count for file, source in sources.items() for key, count in getattr(source, kind).items()}


def shares_of(page):
    """The shares of branches of an earlier page."""
    rows = re.findall(r"^\| \**(\w+)\** \| [\d.]+ % \| ([\d.]+) %", page, re.M)
    return {room: float(branches) / 100 for room, branches in rows}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    before = shares_of(pathlib.Path(sys.argv[2]).read_text()) if len(sys.argv) > 2 else {}
    notes = sorted((build / "lib").glob("librk_*.a.p/*.gcno"))
    sources = collections.defaultdict(Source)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for report in pool.map(lambda path: read(build, path), notes):
            add(sources, build, report)
    rooms = collections.defaultdict(dict)
    for file, source in sources.items():
        rooms[file.split("/")[1]][file] = source
    rows, idle = [], []
    faults = [f"{room} in WATCHED is no module" for room in WATCHED if room not in rooms]
    for room, files in sorted(rooms.items()):
        lines, branches, functions = (merged(files, kind) for kind in ("lines", "branches", "functions"))
        name = f"**{room}**" if room in WATCHED else room
        never = sorted(f"{file}:{line} {function}" for (file, (line, function)), count in functions.items() if not count)
        rows.append(f"| {name} | {share(lines):.1%} | {share(branches):.1%} | {share(functions):.1%} |"
                    .replace("%", " %"))
        idle += never
        if room in WATCHED:
            faults += [f"never runs: {function}" for function in never]
        least = before.get(room, 0) - SLACK
        if share(branches) < least:
            faults.append(f"{room}: {share(branches):.1%} of the branches run, at least {least:.1%} did")
    everything = [merged(sources, kind) for kind in ("lines", "branches", "functions")]
    rows.append(("| all |" + " |".join(f" {share(counts):.1%}" for counts in everything) + " |").replace("%", " %"))
    print(HEAD + "\n".join(rows) + "\n\n## Functions that never run\n")
    print("\n".join(f"- `{function}`" for function in idle) or "None.")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
