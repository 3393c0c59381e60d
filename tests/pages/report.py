#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the reports that commands write to files ending in .html.

The answer in a report is the one of --json, digit by digit; so are those to its command line and to its
request, asked again; names cannot end its script; it is below 1 MB and names no other file or address; its
elements are closed in order.  Where Chromium is installed, reports are opened: the page has a row for each
strategy, every digit of its step, a drawing of it, and no error.

    report.py RECKON [COUNT]     COUNT: asks random questions too, and opens every tenth report
"""

import html
import html.parser
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

QUESTIONS = {
    "plan": ["plan", "llama3-70b", "64xh100"],
    "estimate": ["estimate", "deepseek-v3", "512xh100", "--tp", "1", "--pp", "16", "--ep", "32",
                 "--changes"],
    "fit": ["fit", "llama3-70b", "8xh100", "--recompute", "none"],
    "nothing": ["plan", "llama3-70b", "8xh100"],
    "run": ["run", "llama3-8b", "64xh100", "--tokens", "1T", "--price", "2"],
    "comm": ["comm", "all-reduce", "16xh100"],
    "explain": ["explain", "llama3-8b", "8xh100"],
}

LAUNCH = ["--num-layers", "32", "--hidden-size", "4096", "--num-attention-heads", "32", "--seq-length", "4096",
          "--micro-batch-size", "1", "--global-batch-size", "128", "--tensor-model-parallel-size", "2", "--bf16"]
SCRIPT = "#!/bin/bash\nTP=2\ntorchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py \\\n  " + " ".join(LAUNCH)

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"
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


def part_of(page, name):
    """What a place of the page holds; None: it is empty."""
    value = json.loads(re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.S)[1])
    return None if value == {name: "here"} else value


def answer_to(program, command, request):
    """The answer of the library to a request; None: it is not built."""
    library = pathlib.Path(program).resolve().parent / "lib" / "libreckon.so"
    if not library.exists() or "libasan" in os.environ.get("LD_PRELOAD", ""):
        return None
    script = ("import json, sys\nfrom reckon._library import run_command\n"
              "print(run_command(sys.argv[1], {**json.load(sys.stdin), 'json': True}).text)")
    asked = subprocess.run(
        [sys.executable, "-c", script, command], input=json.dumps(request), capture_output=True, text=True,
        env={**os.environ, "RECKON_LIBRARY": str(library), "PYTHONPATH": str(PYTHON)})
    if "undefined symbol: __" in asked.stderr:  # of a sanitizer: Python cannot load such a library
        return None
    return json.loads(asked.stdout) if asked.returncode == 0 else {"error": asked.stderr}


def faults_again(program, name, page, expected, has_request):
    """The question in a page, asked again, has the same answer."""
    asked = part_of(page, "question")
    again = subprocess.run(f"{shlex.quote(program)} {asked['command']} --json {asked['words']}", shell=True,
                           capture_output=True, text=True, stdin=subprocess.DEVNULL)
    answer = json.loads(again.stdout) if again.returncode < 2 else {"error": again.stderr}
    answer.pop("performance", None)
    if answer != expected:
        yield f"{name}: another answer to '{asked['words']}' {answer.get('error', '')}"
    if has_request != ("request" in asked):
        yield f"{name}: {'no' if has_request else 'a'} request"
    answer = answer_to(program, asked["command"], asked["request"]) if "request" in asked else None
    if answer is not None:
        for part in ["performance", "request"]:  # where a file is a document
            answer.pop(part, None)
        if answer != {key: value for key, value in expected.items() if key != "request"}:
            yield f"{name}: another answer to the request {asked['request']} {answer.get('error', '')}"


def shown_by_chromium(path, folder):
    """The page that the report becomes; None: Chromium is not installed."""
    browser = shutil.which("chromium")
    shown = browser and subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
         f"--user-data-dir={folder}/browser", path.as_uri()],
        capture_output=True, text=True, timeout=120).stdout
    return shown and shown.partition("<main")[2].partition("</main>")[0]


def check_input(program, folder):
    """The command of a launch from standard input has the launch: a shell runs it again."""
    path = folder / "input.html"
    subprocess.run([program, "estimate", "--from", "-", "h100", "-o", str(path)], input=SCRIPT, text=True, check=True)
    shown = shown_by_chromium(path, folder)
    if not shown:
        return
    line = html.unescape(re.search(r'aria-label="Command line">(.*?)</pre>', shown, re.S)[1])
    line = line.replace("reckon estimate", f"{shlex.quote(program)} estimate --json", 1)
    again = subprocess.run(line, shell=True, capture_output=True, text=True)
    if again.returncode != 0 or json.loads(again.stdout)["estimate"] != answer_of(path.read_text())["estimate"]:
        yield f"input: another answer to {line}"


def check(program, name, words, folder, opened=True, has_request=True):
    path = folder / f"{name}.html"
    written = subprocess.run([program, words[0], "-o", str(path), *words[1:]], capture_output=True, text=True)
    asked = subprocess.run([program, words[0], "--json", *words[1:]], capture_output=True, text=True)
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
    if re.search(r"""(src|href)\s*=|https?://(?!www\.w3\.org/2000/svg)|@import|url\(""", page):
        yield f"{name}: the page names another file"
    yield from (f"{name}: {fault}" for fault in faults_of_elements(page))
    yield from faults_again(program, name, page, expected, has_request)
    steps = expected.get("strategies", [expected] if "estimate" in expected else [])
    drawings = part_of(page, "drawings") or []
    if len(drawings) != len(steps) and words[0] != "fit":
        yield f"{name}: {len(drawings)} drawings of {len(steps)} steps"
    if any(drawing and not drawing.startswith("<svg ") for drawing in drawings):
        yield f"{name}: a drawing is no picture"
    if name in QUESTIONS and None in drawings:
        yield f"{name}: a step is not drawn"
    shown = shown_by_chromium(path, folder) if opened else None
    if shown is not None:
        if "The answer in full" not in shown or "NaN" in shown or "undefined" in shown:
            yield f"{name}: the page does not show the answer"
        if drawings and drawings[0] and shown.count("<svg ") != 1:
            yield f"{name}: the page does not show a drawing"
        rows = len(expected.get("strategies", []))
        if rows > 1 and shown.count('class="choice') != rows:
            yield f"{name}: not {rows} rows for the strategies"
        steps = [choice["estimate"]["step_s"] for choice in expected.get("strategies", [])]
        yield from (f"{name}: the page lacks the step of {step} s" for step in steps
                    if f'title="{step}"' not in shown)
        total = expected.get("run", {}).get("simulated", {}).get("total_s")
        if total and f'title="{total["p10"]} to {total["p90"]} s"' not in shown:
            yield f"{name}: the page lacks the time of 80 % of the simulated runs"
        if ("shortage" in expected or "nearest" in expected) and "GiB too much" not in shown:
            yield f"{name}: the page does not say what is missing"
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
        (folder / "run.sh").write_text(SCRIPT)
        line = ["estimate", "64xh100", "torchrun", "--nproc_per_node", "8", "--nnodes", "8", "pretrain_gpt.py", *LAUNCH]
        faults += check_input(program, folder)
        faults += check(program, "script", ["estimate", "--from", str(folder / "run.sh"), "h100"], folder)
        faults += check(program, "launch", ["plan", "--from", str(folder / "run.sh"), "h100"], folder)
        faults += check(program, "line", line, folder, has_request=False)
        faults += check(program, "flags", ["estimate", "h100", *LAUNCH, "-p", "32"], folder, has_request=False)
        faults += check(program, "hostile", ["plan", str(folder / "hostile.json"), "8xh100"], folder)
        faults += [fault for i, (key, words) in enumerate(asked)
                   for fault in check(program, key, words, folder, i % 10 == 0)]
    print("\n".join(faults) or f"{len(QUESTIONS) + 5 + count} reports")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())
