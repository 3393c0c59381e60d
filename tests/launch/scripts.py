#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the commands that reckon reads from shell scripts with those that bash starts.

    scripts.py SHELL_COMMANDS FOLDER...

NAME.argv, next to NAME.sh, has a JSON list of words on a line for each command, without the variables of the
allocator.  A folder that is not
there is passed over; without any the test is skipped.  Scripts that are too long are to end, too.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

EMULATOR = shlex.split(os.environ.get("MESON_EXE_WRAPPER", ""))  # of a machine of another kind
ALLOCATOR = re.compile(r"PYTORCH_(CUDA_|HIP_)?ALLOC_CONF=")


def commands_of(program, path, *arguments):
    done = subprocess.run([*EMULATOR, program, path, *arguments], capture_output=True, text=True, timeout=60)
    if done.returncode:
        sys.exit(f"{path}: exit status {done.returncode}: {done.stderr}")
    return [[word for word in json.loads(line) if not ALLOCATOR.match(word)] for line in done.stdout.splitlines()]


def compare(program, script):
    wanted = [json.loads(line) for line in script.with_suffix(".argv").read_text().splitlines()]
    found = commands_of(program, script)
    for i in range(max(len(wanted), len(found))):
        a = wanted[i] if i < len(wanted) else None
        b = found[i] if i < len(found) else None
        if a != b:
            print(f"{script}: command {i + 1}:\n  bash   {a}\n  reckon {b}")
    return wanted == found


def same_with_carriage_returns(program, script):
    """Whether a script means the same where its lines end in a carriage return and a line feed."""
    with tempfile.TemporaryDirectory() as folder:
        for file in script.with_name("settings.inc"), script:
            pathlib.Path(folder, file.name).write_text(file.read_text(), newline="\r\n")
        found = commands_of(program, pathlib.Path(folder, script.name))
    bare = [[word.replace("\r", "") for word in command] for command in found]
    if bare != commands_of(program, script):
        print(f"{script} with carriage returns: {bare}")
        return False
    return True


def long_scripts():
    """Texts that a careless reader needs minutes or gigabytes for."""
    line = 'A="$A --flag-{} {}"\n'
    yield "1 MB of assignments", "".join(f'X{i}="value {i} $X{i - 1:d}"\n'[:40] for i in range(28000))
    yield "doubling", "X=aaaaaaaaaaaaaaaa\nfor i in {1..100}; do X=$X$X; done\ntorchrun a.py $X\n"
    yield "endless loop", "while true; do X=1; done\ntorchrun a.py\n"
    yield "endless recursion", "f() { f; f; }\nf\ntorchrun a.py\n"
    yield "deep", "(" * 100000 + "\n" + '"${X:-' * 100000
    yield "deep arithmetic", "A=$((" + "(" * 100000 + "\n"
    yield "endless sums", "X='Y + 1'; Y='X + 1'\ntorchrun a.py $((X)) $((Y))\n"
    yield "deep operands", "torchrun a.py " + '${X:-' * 100000
    yield "many appends", "".join(line.format(i, i) for i in range(3000)) + "torchrun a.py $A\n"
    yield "open quote", 'torchrun a.py "' + "x $(" * 1000
    yield "longest match", "X=" + "a" * 100000 + "b\n" + "torchrun a.py ${X##*b} ${X%%b*}\n" * 50
    yield "replacements", "X=" + "a" * 4000 + "\n" + "torchrun a.py ${X//a*b/}\n" * 50
    yield "defined again", "for i in {1..4000}; do f() { :; }; g() { :; }; h() { :; }; x; y; z; done\ntorchrun a.py\n"
    yield "regex", '[[ ' + "a" * 250 + " =~ " + "a*" * 30 + "b ]] && torchrun a.py\n"


def check_long(program):
    failed = False
    for name, text in long_scripts():
        with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
            file.write(text)
            file.flush()
            start = time.monotonic()
            commands_of(program, file.name)
            took = time.monotonic() - start
        if took > 5:
            print(f"{name}: {took:.1f} s")
            failed = True
    return failed


def main():
    program, folders = sys.argv[1], [pathlib.Path(f) for f in sys.argv[2:]]
    scripts = [s for f in folders if f.is_dir() for s in sorted(f.glob("*.sh"))]
    scripts = [s for s in scripts if s.with_suffix(".argv").exists()]
    if not scripts:
        sys.exit(77)
    wrong = [s for s in scripts if not compare(program, s)]
    failed = check_long(program)
    failed |= not same_with_carriage_returns(program, next(s for s in scripts if s.name == "here.sh"))
    print(f"{len(scripts) - len(wrong)} of {len(scripts)} scripts")
    sys.exit(bool(wrong or failed))


if __name__ == "__main__":
    main()
