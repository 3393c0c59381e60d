#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention to picked keys executes more than attention to all of them in sequences of up to about 17,000 tokens.

    picked.py RECKON

The planner and the estimate say so there, and are silent beyond.
"""

import subprocess
import sys

COMMANDS = [["plan", "deepseek-v3.2", "1024xgb200", "--risk", "50"],
            ["estimate", "deepseek-v3.2", "1024xgb200", "--tp", "1", "--pp", "16", "--ep", "32", "--cp", "1"]]


def main():
    for command in COMMANDS:
        for seq, slower in ((4096, True), (8192, True), (32768, False)):
            done = subprocess.run([sys.argv[1], *command, "--seq", str(seq)], capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit("picked.py: %s: %s" % (" ".join(command), done.stderr))
            if ("slower than dense attention" in done.stdout) != slower:
                sys.exit("picked.py: %s at %d tokens: expected %s\n%s" % (
                    " ".join(command), seq, "a warning" if slower else "none", done.stdout))


main()
