#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figure of `reckon validate` has a colour for each series, and names the rest.

    plot.py RECKON RUNS.csv...
"""

import os
import re
import subprocess
import sys
import tempfile

COLORS = 7  # RK_PLOT_COLORS


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "errors.svg")
        subprocess.run([sys.argv[1], "validate", "--runs", ",".join(sys.argv[2:]), "--by", "source",
                        "--plot", path, "-o", os.devnull], check=False)
        with open(path, encoding="utf-8") as file:
            picture = file.read()
    named = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    names = named[:named.index("predicted = measured")]
    wrong = []
    if not 2 <= len(names) <= COLORS:
        wrong.append(f"{len(names)} series of {COLORS} colours: {names}")
    if not any(re.fullmatch(r"\d+ others", name) for name in names):
        wrong.append(f"nothing stands for the other sources: {names}")
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
