#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Documents: the whole message that a wrong one gets, and a digest of the answer that an accepted one gets.

    documents.py RECKON TABLE            compares with the table
    documents.py RECKON TABLE --renew    writes the messages that the program gives

"=== COMMAND" begins a kind of document and asks with FILE in place of the document, "< " is a correct one: JSON, or
"show NAME" of the catalogue.  Each line below changes it, "PATH = JSON" or "-PATH" with "; " between, and after
" | " is the message, behind the code of the error where that is not "invalid", or "= " and a digest of what is said
and written, whose numbers count to six digits.  RECKON is the command that shows codes (../error_code.c).
RK_TEST_SCALE=0.3 asks every third; RK_TEST_DIGESTS=0, for machines that round in another way
or have no NLopt, compares no digests.
"""

import concurrent.futures
import copy
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


def change(document, edits):
    """The document with the edits of a line, or the text that the line has in its place."""
    if edits.startswith("text "):
        return json.loads(edits[5:])
    document = {"": copy.deepcopy(document)}
    for edit in edits.split("; ") if edits != "as it is" else []:
        path, _, value = edit.lstrip("-").partition(" = ")
        steps = ["", *re.findall(r"[^.\[\]]+", path)]
        place = document
        for step in steps[:-1]:
            place = place[int(step) if isinstance(place, list) else step]
        last = int(steps[-1]) if isinstance(place, list) else steps[-1]
        if edit.startswith("-"):
            del place[last]
        else:
            place[last] = json.loads(value)
    return document[""]


TIMES = re.compile(r".*processor.time.*|Calculation rate.*|.*wall_time_s.*|[0-9.]+ million strategies.*")
VERSION = re.compile(r'reckon"?:? "?[0-9]+[.][0-9]+[.][0-9]+')
REAL = re.compile(r"[0-9]+[.][0-9]{5,}(e[-+][0-9]+)?")


CODES = {"1": "(memory) ", "2": "(io) ", "3": "(syntax) ", "4": "", "5": "(limit) ", "6": "(stopped) "}
MORE = "point,rank,n,ms,part,on\n" + "".join(
    f"{i},{i % 2},{2 ** (i // 3)},{'' if i == 7 else round(1000 / (i + 1), 3)},{part},{i // 2 % 2}\n"
    for i, part in enumerate(["a x", '"b, ""x"""', "c x"] * 4))


# What a recipe may name: a document, and GEMMs that took twice what 312 TFLOP/s make of them.
MACHINE = pathlib.Path(__file__).resolve().parents[2] / "data/accelerators/a100-sxm-80gb.json"
GEMMS = "accelerator,library,clock,precision,module,grouped,batch,m,n,k,accumulate_bytes,us,split\n" + "".join(
    f"machine,x,burst,bf16,0,0,1,{m},{n},{k},0,{m * n * k / 78e6:.2f},{'check' if m + k == 6144 else 'fit'}\n"
    for m in (1024, 2048, 4096) for n in (2048, 4096) for k in (2048, 4096))


def digest(done, folder, written):
    """Of the status, what was said and the texts written, without times; numbers to six digits."""
    parts = [str(done.returncode), done.stdout, done.stderr]
    for name in sorted(written):
        data = (pathlib.Path(folder) / name).read_bytes()
        parts += [name, "" if data.startswith((b"SQLite", b"\x1f\x8b")) else data.decode(errors="replace")]
    parts = [VERSION.sub("reckon", part) for part in parts]
    text = REAL.sub(lambda found: f"{float(found.group()):.6g}", TIMES.sub("", "\n".join(parts)))
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def ask(program, words, document):
    """The message, without the name of the file, or the digest of an answer."""
    with tempfile.TemporaryDirectory() as folder:
        words = [word.replace("FILE", "x" if "FILE." in word else "x.json") for word in shlex.split(words)]
        path = os.path.join(folder, next((word for word in words if word.startswith("x.")), "x.json"))
        with open(path, "w", encoding="utf-8") as file:
            file.write(document if isinstance(document, str) else json.dumps(document))
        with open(os.path.join(folder, "rows.csv"), "w", encoding="utf-8") as file:
            file.write("size,rate,model\n1,2.5,a\n8,3.5,b\n8,4.5,b\n")
        with open(os.path.join(folder, "more.csv"), "w", encoding="utf-8") as file:
            file.write(MORE)
        if words[0] == "calibrate":
            pathlib.Path(folder, "machine.json").write_bytes(MACHINE.read_bytes())
            pathlib.Path(folder, "gemm.csv").write_text(GEMMS, encoding="utf-8")
        given = {name: pathlib.Path(folder, name).read_bytes() for name in os.listdir(folder)}
        done = subprocess.run([program, *words], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL,
                              text=True, timeout=60, check=False,
                              env=dict(os.environ, NO_COLOR="1", COLUMNS="80"))
        written = {name for name in os.listdir(folder) if given.get(name) != pathlib.Path(folder, name).read_bytes()}
        if done.returncode in (0, 1):
            return f"= {digest(done, folder, written)}"
    said = done.stderr.strip() if done.returncode == 2 else f"exit {done.returncode}"
    if said and (done.stdout or written or "\n" in said):
        said += f" ({len(done.stdout)} characters and {len(written)} files written)"
    code = re.search(r"error (\d) at .*?\): ", said)
    said = re.sub(r"^reckon [a-z]*:? ?", "", said.replace(code[0], "", 1) if code else said)
    return (CODES[code[1]] if code else "") + re.sub(r"^x\.\w+: ", "", said)


def answer(program, lines):
    """The lines as they should be."""
    jobs, words, document = [], "", None
    for line in lines:
        edits = line.partition(" | ")[0].rstrip(" |")
        if line.startswith("=== "):
            words = line[4:]
        elif line.startswith("< show "):
            done = subprocess.run([program, "show", line[7:], "--json"], capture_output=True, text=True, check=True)
            document = json.loads(done.stdout)
        elif line.startswith("< "):
            document = json.loads(line[2:])
        elif line.startswith("$ "):
            jobs.append((edits, edits[2:], {}))
            continue
        elif edits and not line.startswith("#"):
            jobs.append((edits, words, change(document, edits)))
            continue
        jobs.append((line, None, None))
    every = max(1, round(1 / float(os.environ.get("RK_TEST_SCALE", 1))))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda number, job, line: job[0] if job[1] is None else line if number % every else
                             f"{job[0]} | {ask(program, *job[1:])}".rstrip(), range(len(jobs)), jobs, lines))


def main():
    program, table = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    lines = table.read_text(encoding="utf-8").splitlines()
    found = answer(program, lines)
    if sys.argv[3:] == ["--renew"]:
        table.write_text("\n".join(found) + "\n", encoding="utf-8")
        return
    digests = os.environ.get("RK_TEST_DIGESTS") != "0"
    differ = [(number, line, now) for number, (line, now) in enumerate(zip(lines, found), 1)
              if line != now and (digests or " | = " not in line or " | = " not in now and "NLopt" not in now)]
    for number, line, now in differ:
        print(f"{table}:{number}: expected: {line}\n    found: {now}")
    print(f"{len(lines)} lines, {len(differ)} differ")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
