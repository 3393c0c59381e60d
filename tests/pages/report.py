#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the reports that commands write to files ending in .html.

The answer in a report is the one of --json, digit by digit; names cannot end its script; it is
below 1 MB and names no other file or address.  Where Chromium is installed, every report is opened:
the page has a row or a card for each strategy and no error.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

QUESTIONS = {
    "plan": ["plan", "llama3-70b", "64xh100"],
    "estimate": ["estimate", "deepseek-v3", "512xh100", "--tp", "1", "--pp", "16", "--ep", "32",
                 "--changes"],
    "fit": ["fit", "llama3-70b", "8xh100", "--recompute", "none"],
    "run": ["run", "llama3-8b", "64xh100", "--tokens", "1T", "--price", "2"],
    "comm": ["comm", "all-reduce", "16xh100"],
    "explain": ["explain", "llama3-8b", "8xh100"],
}


def answer_of(page):
    text = re.search(r'<script type="application/json" id="answer">(.*?)</script>', page, re.S)
    answer = json.loads(text[1])
    answer.pop("performance", None)
    return answer


def check(program, name, words, folder):
    path = folder / f"{name}.html"
    written = subprocess.run([program, *words, "-o", str(path)], capture_output=True, text=True)
    asked = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    page = path.read_text(encoding="utf-8")
    expected = json.loads(asked.stdout)
    expected.pop("performance", None)
    if written.returncode != asked.returncode:
        yield f"{name}: exit status {written.returncode}, {asked.returncode} with --json"
    if answer_of(page) != expected:
        yield f"{name}: the answer in the page is not that of --json"
    if len(page) > 1_000_000:
        yield f"{name}: {len(page)} bytes"
    if re.search(r"""(src|href)\s*=|https?://|@import|url\(""", page):
        yield f"{name}: the page names another file"
    browser = shutil.which("chromium")
    if browser:
        shown = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
             f"--user-data-dir={folder}/browser", path.as_uri()],
            capture_output=True, text=True, timeout=120).stdout
        shown = shown.partition("<main")[2].partition("</main>")[0]
        if "The answer in full" not in shown or "NaN" in shown or "undefined" in shown:
            yield f"{name}: the page does not show the answer"
        rows = len(expected.get("strategies", []))
        if rows > 1 and shown.count('class="choice"') != rows:
            yield f"{name}: {shown.count('class=')} rows for {rows} strategies"


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        faults = [fault for key, words in QUESTIONS.items()
                  for fault in check(program, key, words, folder)]
        model = subprocess.run([program, "show", "--json", "llama3-8b"], capture_output=True,
                               text=True, check=True).stdout
        document = json.loads(model) | {"name": "</script><b>x"}
        (folder / "model.json").write_text(json.dumps(document))
        faults += check(program, "hostile",
                        ["plan", str(folder / "model.json"), "8xh100"], folder)
    print("\n".join(faults) or f"{len(QUESTIONS) + 1} reports")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())
