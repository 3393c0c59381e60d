#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""On a terminal the recommendation is green and what is tight is yellow, and nowhere else.

    colors.py RECKON

Each answer on a terminal is, without its colours, bold titles and rules, the answer in a pipe.
"""

import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

RECKON = os.path.abspath(sys.argv[1])
LINES, COLUMNS = 24, 80
BEST, TIGHT, END = "\033[1;32m", "\033[1;33m", "\033[0m"
# Question, texts that are green and texts that are yellow, each as the beginning of the coloured text.
QUESTIONS = [
    ("plan llama3-70b 64xh100", ["TP 8 with SP", "recompute none", "fastest"], []),
    ("plan llama3-70b 64xh100 -v", ["64 accelerators: TP 8"], []),
    ("plan llama3-8b 8xh100 --seq 32k --risk 50", ["TP ", "recompute ", "fastest"], ["risk of running out"]),
    ("plan llama3-70b 4xh100", [], ["Nothing fits.", "does not fit: ", "risk of running out > 99 %"]),
    ("estimate llama3-8b 8xh100", ["TP ", "recompute "], []),
    ("estimate llama3-70b 4xh100 --tp 4 --zero 1 --recompute none --cp 1 --pp 1 --micro-batch 1", [],
     ["does not fit: ", "risk of running out > 99 %"]),
    ("fit qwen3-8b rtx4090 --seq 5120", ["16 accelerators", "TP 1", "recompute full", "yes"], ["thrashes: "]),
    ("fit llama3-70b 8xh100", ["offload optimizer"], ["Nothing fits.", "does not fit: ", "risk of running out > 99 %"]),
    ("fit llama3-70b 4xh100 --tp 4 --zero 3", None, ["Nothing fits.", "does not fit: ", "risk of running out > 99 %"]),
    ("run llama3-70b 512xh100 --tokens 1T", ["TP 8 with SP", "recompute none"], []),
    ("run llama3-70b h100 --tokens 1T --deadline 90d", ["fastest", "smallest"], ["beyond a limit"]),
    ("explain llama3-8b 16xh100", ["TP 1", "recompute none", "matrix rate"], []),
    ("shape llama3-8b 8xh100", ["1"], []),
    ("design llama3-8b h100 --prices small.json -b 512 --tokens 1T --days 60", ["TP ", "recompute ", "$"], []),
]
SMALL = """{"name": "small", "currency": "$", "processor": 19000, "source": "assumed", "axes": [
 {"key": "processors", "values": [64, 128, 256]}]}"""


def on_terminal(folder, words, **environment):
    """What a command writes to a terminal."""
    main, other = pty.openpty()
    with subprocess.Popen([RECKON, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=other,
                          stderr=subprocess.DEVNULL,
                          env={**os.environ, "TERM": "xterm", "COLUMNS": str(COLUMNS), **environment}):
        os.close(other)
        pieces = []
        try:
            while piece := os.read(main, 65536):
                pieces.append(piece)
        except OSError:  # Linux: the command has ended
            pass
    os.close(main)
    return b"".join(pieces).decode().replace("\r\n", "\n")


def in_pipe(folder, words):
    return subprocess.run([RECKON, *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=dict(os.environ, TERM="xterm", COLUMNS=str(COLUMNS)), check=False).stdout


def differ(colored, wanted):
    """Whether the coloured texts do not begin as wanted, in this order; None: whatever."""
    return wanted is not None and (len(colored) != len(wanted) or
                                   any(not a.startswith(b) for a, b in zip(colored, wanted)))


def check(folder, question, best, tight):
    screen, plain = on_terminal(folder, question.split()), in_pipe(folder, question.split())
    faults = []
    for code, wanted in ((BEST, best), (TIGHT, tight)):
        colored = re.findall(re.escape(code) + "(.*?)" + re.escape(END), screen, re.DOTALL)
        if differ(colored, wanted):
            faults.append(f"{colored}, not {wanted}")
    bare = re.sub("\033\\[[0-9;]*m", "", screen).replace("─", "-")
    mask = re.compile(r".* of processor time.*")
    if mask.sub("", bare) != mask.sub("", plain):
        faults.append("differs from the answer in a pipe")
    faults += [f"{len(line)} columns: {line}" for line in bare.split("\n") if len(line) > COLUMNS]
    if bare.count("\n") > LINES and "-v" not in question.split():
        faults.append(f"{bare.count(chr(10))} lines")
    return [f"reckon {question}: {fault}" for fault in faults]


def check_plain(folder):
    """No colour in a file, with NO_COLOR, on a terminal that has none, and in JSON and CSV."""
    words = ["fit", "qwen3-8b", "rtx4090"]
    on_terminal(folder, [*words, "-o", "answer"])
    texts = {"a file": (pathlib.Path(folder) / "answer").read_text(encoding="utf-8"),
             "a pipe": in_pipe(folder, words),
             "NO_COLOR": on_terminal(folder, words, NO_COLOR="1"),
             "TERM=dumb": on_terminal(folder, words, TERM="dumb"),
             "--json": on_terminal(folder, [*words, "--json"]),
             "--csv": on_terminal(folder, [*words, "--csv"])}
    return [f"{where} has colours" for where, text in texts.items() if not text or re.search("[\x01-\x08\x1b]", text)]


def main():
    os.environ.pop("NO_COLOR", None)
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "small.json").write_text(SMALL, encoding="utf-8")
        faults = [fault for question in QUESTIONS for fault in check(folder, *question)]
        faults += check_plain(folder)
    print("\n".join(faults) or f"{len(QUESTIONS)} questions")
    return len(faults) > 0


sys.exit(main())
