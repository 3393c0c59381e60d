#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A full disk and a limit on the size of files are named, with the file that there is no room for.

    full.py RECKON

/dev/full takes nothing: every kind of output, small and larger than buffers, ends with exit status
2 and one line.  A file that outgrows RLIMIT_FSIZE ends so too, and leaves nothing behind.  Exit status 77 (skipped)
where there is no /dev/full.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile

RECKON = os.path.abspath(sys.argv[1])
FULL = "/dev/full"
GRID = {"application": "gpt3-175B", "system": "h100-80g-off512g50-nvl8", "batch": 1536,
        "datatype": "float8", "top": 40,
        "axes": [{"key": "processors", "from": 64, "to": 1024, "step": 64}]}
PLAN = "plan llama3-8b 8xh100 -b 64"
FILES = (f"{PLAN} -o", f"{PLAN} -n 500 --json -o", f"{PLAN} --csv -o", f"{PLAN} --emit megatron -o",
         "timeline llama3-8b 8xh100 -b 64 --json -o", "timeline llama3-8b 8xh100 -b 64 --csv -o",
         "validate --runs check --split fit --csv -o", "explain llama3-8b 8xh100 -b 64 --csv -o",
         "run llama3-8b 8xh100 --tokens 1T -b 64 --timeline", "comm all-reduce h100 --csv -o",
         "sweep GRID -o", "sweep GRID --sqlite")
SCREENS = (PLAN, f"{PLAN} -n 500 --json", f"{PLAN} -n 500 --csv", "list", "show --json h100-sxm",
           "sweep GRID -o -", "help", "plan --help")
failures = []


def check(words, named, screen=FULL, reason="No space left on device", limit=None):
    with open(screen, "w", encoding="utf-8") as full:
        done = subprocess.run([RECKON, *words], stdout=full, stderr=subprocess.PIPE, text=True,
                              encoding="utf-8", check=False, preexec_fn=limit)
    lines = done.stderr.splitlines()
    if done.returncode != 2 or len(lines) != 1 or named not in lines[0] or reason not in lines[0]:
        failures.append(f"{' '.join(words)}: exit status {done.returncode}, {done.stderr!r}")


def main():
    if not os.path.exists(FULL):
        return 77
    with tempfile.TemporaryDirectory() as folder:
        grid = os.path.join(folder, "grid.json")
        with open(grid, "w", encoding="utf-8") as file:
            json.dump(GRID, file)
        for command in FILES:
            if "--sqlite" not in command or not lacks_sqlite():
                check([*command.replace("GRID", grid).split(), FULL], FULL)
        for command in SCREENS:
            check(command.replace("GRID", grid).split(), "standard output")
        check_limit(folder, grid)
    print("\n".join(failures))
    return 1 if failures else 0


def check_limit(folder, grid):
    """A process that writes beyond its limit gets SIGXFSZ."""
    path = os.path.join(folder, "small")
    before = sorted(os.listdir(folder))

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))  # more than a file of gcov

    for command in (f"{PLAN} -n 500 --json -o", "sweep GRID --sqlite"):
        if "--sqlite" not in command or not lacks_sqlite():
            reason = "disk I/O error" if "--sqlite" in command else "too large"
            check([*command.replace("GRID", grid).split(), path], path, os.devnull, reason, limit)
    check(f"{PLAN} -n 500 --json".split(), "standard output", path, "too large", limit)
    os.remove(path)
    if sorted(os.listdir(folder)) != before:
        failures.append(f"left behind: {os.listdir(folder)}")


def lacks_sqlite():
    """Whether the program is built without SQLite."""
    done = subprocess.run([RECKON, "sweep", "/dev/null", "--sqlite", "/dev/null"], text=True,
                          capture_output=True, check=False)
    return "without SQLite" in done.stderr


sys.exit(main())
