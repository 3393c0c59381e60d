#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the reports that commands write to files ending in .html.

The answer in a report is the one of --json, digit by digit; names cannot end its script; it is
below 1 MB and names no other file or address; its elements are closed in order.  Where Chromium is
installed, reports are opened: the page has a row for each strategy, every digit of its step, and no
error.

    report.py RECKON [COUNT]     COUNT: asks random questions too, and opens every tenth report
"""

import html.parser
import json
import pathlib
import random
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


VOID = {"meta", "link", "br", "hr", "img", "input"}
HOSTILE = "</script><b>x"


class Elements(html.parser.HTMLParser):
    """Faults of a page: elements closed out of order, duplicate attributes and ids."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.faults = [], set(), []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        own = dict(attributes).get("id")
        if len(set(names)) < len(names) or (own and own in self.ids):
            self.faults.append(f"<{tag}> has a duplicate attribute or id")
        self.ids.add(own)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes another element")


def faults_of_elements(page):
    elements = Elements()
    elements.feed(page)
    elements.close()
    return elements.faults + [f"<{tag}> is never closed" for tag in elements.open]


def random_questions(count, folder, catalogue):
    """Questions, most of them with an answer; some have a name that would end the script."""
    draw = random.Random(count)
    document = json.loads(catalogue["document"]) | {"name": HOSTILE}
    (folder / "hostile.json").write_text(json.dumps(document))
    for i in range(count):
        model = draw.choice([str(folder / "hostile.json"), *catalogue["models"]])
        words = [model, f"{draw.choice([8, 16, 64, 256])}x{draw.choice(catalogue['systems'])}"]
        for option, values in [("--tp", [1, 2, 4, 8]), ("--pp", [1, 2, 4]), ("--seq", [2048, 8192]),
                               ("-b", [64, 256]), ("--recompute", ["none", "full"])]:
            if draw.random() < 0.3:
                words += [option, str(draw.choice(values))]
        command = draw.choice(["plan", "estimate", "fit", "run"])
        yield f"question-{i}", [command, *words, *(["--tokens", "1T"] if command == "run" else [])]


def answer_of(page):
    text = re.search(r'<script type="application/json" id="answer">(.*?)</script>', page, re.S)
    answer = json.loads(text[1])
    answer.pop("performance", None)
    return answer


def check(program, name, words, folder, opened=True):
    path = folder / f"{name}.html"
    written = subprocess.run([program, *words, "-o", str(path)], capture_output=True, text=True)
    asked = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    if asked.returncode == 2:
        if written.stderr != asked.stderr:
            yield f"{name}: {written.stderr.strip()}, with --json {asked.stderr.strip()}"
        return
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
    yield from (f"{name}: {fault}" for fault in faults_of_elements(page))
    browser = shutil.which("chromium")
    if browser and opened:
        shown = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
             f"--user-data-dir={folder}/browser", path.as_uri()],
            capture_output=True, text=True, timeout=120).stdout
        shown = shown.partition("<main")[2].partition("</main>")[0]
        if "The answer in full" not in shown or "NaN" in shown or "undefined" in shown:
            yield f"{name}: the page does not show the answer"
        rows = len(expected.get("strategies", []))
        if rows > 1 and shown.count('class="choice') != rows:
            yield f"{name}: not {rows} rows for the strategies"
        steps = [choice["estimate"]["step_s"] for choice in expected.get("strategies", [])]
        yield from (f"{name}: the page lacks the step of {step} s" for step in steps
                    if f'title="{step}"' not in shown)
        if "<b>x" in shown:
            yield f"{name}: a name became an element"


def names_of(program, kind):
    listed = subprocess.run([program, "list", kind, "--json"], capture_output=True, text=True, check=True)
    return [entry["name"] for entry in json.loads(listed.stdout)[kind]]


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        catalogue = {kind: names_of(program, kind) for kind in ["models", "systems"]}
        catalogue["document"] = subprocess.run([program, "show", "--json", "llama3-8b"],
                                               capture_output=True, text=True, check=True).stdout
        asked = list(random_questions(count, folder, catalogue))
        faults = [fault for key, words in QUESTIONS.items()
                  for fault in check(program, key, words, folder)]
        faults += check(program, "hostile", ["plan", str(folder / "hostile.json"), "8xh100"], folder)
        faults += [fault for i, (key, words) in enumerate(asked)
                   for fault in check(program, key, words, folder, i % 10 == 0)]
    print("\n".join(faults) or f"{len(QUESTIONS) + 1 + count} reports")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())
