#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the fast tests for seeded faults.

    run.py --check                    every fault of faults.txt can be placed in the sources
    run.py FOLDER [--only NAME,...]   build them into one program, run the tests for each

The sources are copied to FOLDER/source, where each expression of faults.txt becomes

    (rk_mutant(7) ? (faulty) : (original))

and RK_MUTANT=7 in the environment chooses the seventh; in files of Python,
((faulty) if rk_mutant.on(7) else (original)).  First all tests run without a fault, which
records how long each takes and which of these expressions it reaches.  Then those that reach a fault
are asked for it; one that fails, or takes ten times as long, catches it, and the others are not
asked.  FOLDER/caught.json remembers which test caught what: it is asked first the next time.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LEAST_SHARE = 0.95

HEADER = """\
/* Chooses one of the seeded faults, the number in RK_MUTANT; RK_MUTANT_REACHED gets all reached. */
#ifndef RK_MUTANT_H
#define RK_MUTANT_H
#include <stdio.h>
#include <stdlib.h>
static int rk_mutant_chosen;
static unsigned char rk_mutant_reached[1024];
__attribute__((constructor)) static void rk_mutant_choose(void)
{
    const char *text = getenv("RK_MUTANT");
    rk_mutant_chosen = text ? atoi(text) : 0;
}
__attribute__((destructor)) static void rk_mutant_report(void)
{
    const char *path = getenv("RK_MUTANT_REACHED");
    FILE *file = path ? fopen(path, "a") : NULL;
    for (int i = 0; file && i < 1024; i++) {
        if (rk_mutant_reached[i]) {
            fprintf(file, "%d\\n", i);
        }
    }
    if (file) {
        fclose(file);
    }
}
#define rk_mutant(number) (rk_mutant_reached[number] = 1, rk_mutant_chosen == (number))
#endif
#line 1
"""


PYTHON_MODULE = """\
import atexit, os
chosen, reached, path = int(os.environ.get("RK_MUTANT", 0)), set(), os.environ.get("RK_MUTANT_REACHED")
def on(number):
    reached.add(number)
    return number == chosen
@atexit.register
def report():
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(f"{number}\\n" for number in reached)
"""


class Fault:
    """One entry of faults.txt."""

    def __init__(self, number, name, words):
        self.number, self.name, self.words = number, name, words
        self.file = self.context = self.faulty = ""

    def pattern(self):
        """A regular expression with three groups: before, the expression, behind."""
        parts = self.context.split("@")
        if len(parts) != 3:
            raise SystemExit(f"{self.name}: mark one expression with @...@")
        return "".join("(" + spaced(part) + ")" for part in parts)


def spaced(text):
    """The text with any blanks and line ends where it has some."""
    words = [re.escape(word) for word in text.split()]
    start = r"\s*" if text[:1].isspace() else ""
    end = r"\s*" if text[-1:].isspace() else ""
    return start + r"\s+".join(words) + end if words else (r"\s+" if text else "")


def read_faults(path):
    faults, field = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        kind, rest = line[:2], line[2:].strip()
        if kind == "==":
            name, _, words = rest.partition("  ")
            faults.append(Fault(len(faults) + 1, name, words.strip()))
        elif kind == "in":
            faults[-1].file = rest
        elif kind == "- ":
            faults[-1].context, field = rest, "context"
        elif kind == "+ ":
            faults[-1].faulty, field = rest, "faulty"
        elif kind == "  " and field:
            setattr(faults[-1], field, getattr(faults[-1], field) + " " + rest)
        else:
            raise SystemExit(f"{path}:{number}: cannot read this line: {line}")
    names = [fault.name for fault in faults]
    for name in names:
        if names.count(name) > 1:
            raise SystemExit(f"{path}: two faults are called {name}")
    return faults


def place(faults, text, file):
    """Puts the faults of a file into its text.  Returns the text and what cannot be placed."""
    form = ('((%s) if rk_mutant.on(%d) else (%s))' if file.endswith(".py")
            else "(rk_mutant(%d) ? (%s) : (%s))")
    spots, lost = [], []
    for fault in faults:
        found = list(re.finditer(fault.pattern(), text))
        if len(found) == 1:
            spots.append((found[0].start(2), found[0].end(2), fault))
        else:
            lost.append(f"{file}: {fault.name}: its context stands there {len(found)} times")
    spots.sort(key=lambda spot: spot[0], reverse=True)
    past = len(text)
    for start, end, fault in spots:
        if end > past:
            lost.append(f"{file}: {fault.name}: overlaps another fault")
            continue
        words = ((fault.faulty, fault.number, text[start:end]) if file.endswith(".py")
                 else (fault.number, fault.faulty, text[start:end]))
        text = text[:start] + form % words + text[end:]
        past = start
    return text, lost


def place_all(faults):
    """The changed files by name, and what cannot be placed."""
    texts, lost = {}, []
    for file in sorted({fault.file for fault in faults}):
        of_file = [fault for fault in faults if fault.file == file]
        path = ROOT / file
        if not path.is_file():
            lost += [f"{file}: {fault.name}: there is no such file" for fault in of_file]
            continue
        texts[file], missing = place(of_file, path.read_text(), file)
        future = "from __future__ import annotations"
        features = "".join(re.findall(r"^#define _\w+_SOURCE\b.*\n", texts[file], re.MULTILINE))
        texts[file] = (texts[file].replace(future, future + "; import rk_mutant")
                       if file.endswith(".py") else
                       features + '#include "rk_mutant.h"\n#line 1\n' + texts[file])
        lost += missing
    return texts, lost


# ---- the build -------------------------------------------------------------------------------


def write_changed(path, data):
    """Leaves a file alone that is as it should be, so that it is not built again."""
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def copy_sources(texts, to):
    """Returns what identifies these sources."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            stdout=subprocess.PIPE, text=True).stdout.split("\n")
    wanted = {file for file in listed if file and (ROOT / file).is_file()}
    digest = hashlib.sha256()
    for file in sorted(wanted):
        data = texts[file].encode() if file in texts else (ROOT / file).read_bytes()
        digest.update(file.encode() + b"\0" + data)
        write_changed(to / file, data)
        shutil.copymode(ROOT / file, to / file)
    added = {"lib/rk_mutant.h": HEADER, "python/rk_mutant.py": PYTHON_MODULE}
    for name, text in added.items():
        write_changed(to / name, text.encode())
    for path in list(to.rglob("*")):
        name = path.relative_to(to).as_posix()
        if path.is_file() and name not in wanted and name not in added:
            path.unlink()
    return digest.hexdigest()


def build(folder, texts):
    source, built = folder / "source", folder / "build"
    digest = copy_sources(texts, source)
    if not (built / "build.ninja").is_file():
        subprocess.run(["meson", "setup", built, source, "-Dwerror=false", "-Dmpi=disabled"],
                       check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", built, "--quiet"], check=True)
    return built, digest


# ---- tests -----------------------------------------------------------------------------------


class Test:
    """A test of the build: how it is run, and how long it takes."""

    def __init__(self, described, built):
        self.name = described["suite"][0].split(":")[-1] + "/" + described["name"]
        self.command = described["cmd"]
        self.folder = described["workdir"] or built
        self.env = described["env"]
        self.seconds = 0.0
        self.reached = []

    def run(self, number, limit, **more):
        """Whether it passes with a fault, and the seconds of processor time that it takes."""
        env = dict(os.environ, **self.env, RK_MUTANT=str(number), **more)
        process = subprocess.Popen(self.command, cwd=self.folder, env=env, start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        timer = threading.Timer(limit, lambda: os.killpg(process.pid, signal.SIGKILL))
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode in (0, 77), usage.ru_utime + usage.ru_stime


def list_tests(built):
    """The fast tests of a build, but for those of scripts that ask nothing of the program."""
    shown = subprocess.run(["meson", "introspect", "--tests", built], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    left_out = ("slow", "nightly", "source")
    return [Test(test, built) for test in json.loads(shown)
            if not any(suite.endswith(left_out) for suite in test["suite"])
            and test["name"] != "python-typed"]


def run_all(tests, jobs, store, digest):
    """Runs all tests without a fault until each has passed, once for the same sources, and is timed."""
    known = json.loads(store.read_text()) if store.is_file() else {}
    seen = known["tests"] if known.get("sources") == digest else {}
    for test in tests:
        test.seconds, test.reached = seen.get(test.name, (0.0, []))
    def one(test):
        with tempfile.NamedTemporaryFile("r") as file:
            passed, test.seconds = test.run(0, 600, RK_MUTANT_REACHED=file.name)
            test.reached = sorted({int(line) for line in file})
        return passed
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        new = [test for test in tests if test.name not in seen]
        failed = [test for test, passed in zip(new, pool.map(one, new)) if not passed]
    failed = [test.name for test in failed if not one(test)]  # alone: some need time
    seen.update((test.name, (test.seconds, test.reached)) for test in new if test.name not in failed)
    store.write_text(json.dumps({"sources": digest, "tests": seen}) + "\n")
    if failed:
        raise SystemExit("these tests fail without any fault (the others will not run again): " + ", ".join(failed))


def ask(fault, tests, known, kills):
    """The name of a test that catches a fault, or None; and the processor time."""
    def order(test):
        return (test.name != known.get(fault.name),
                test.seconds / (1 + kills.get(test.name, 0)))
    spent = 0.0
    for test in sorted((test for test in tests if fault.number in test.reached), key=order):
        passed, seconds = test.run(fault.number, 10 * test.seconds + 60)
        spent += seconds
        if not passed:
            kills[test.name] = kills.get(test.name, 0) + 1
            return test.name, spent
    return None, spent


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help="for the build")
    parser.add_argument("--check", action="store_true", help="only see that faults can be placed")
    parser.add_argument("--faults", type=pathlib.Path, default=HERE / "faults.txt", metavar="FILE",
                        help="others than those of faults.txt")
    parser.add_argument("--only", metavar="NAME,...", help="these faults")
    parser.add_argument("--longest", type=float, default=1e9, metavar="SECONDS",
                        help="leave tests out that take more processor time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests side by side")
    args = parser.parse_args()
    faults = read_faults(args.faults)
    texts, lost = place_all(faults)
    if lost:
        raise SystemExit("\n".join(lost + [f"Bring {args.faults} up to date."]))
    if args.check:
        print(f"{len(faults)} faults can be placed")
        return 0
    if not args.folder:
        parser.error("give a folder for the build")
    folder = args.folder.resolve()
    built, digest = build(folder, texts)
    tests = list_tests(built)
    started = time.monotonic()
    run_all(tests, args.jobs, folder / "reached.json", digest)
    tests = [test for test in tests if test.seconds <= args.longest]
    print(f"{len(tests)} tests pass without a fault, "
          f"{sum(test.seconds for test in tests):.0f} s of processor time", flush=True)
    store = folder / "caught.json"
    known = json.loads(store.read_text()) if store.is_file() else {}
    kills = {}
    for name in known.values():
        kills[name] = kills.get(name, 0) + 1
    wanted = args.only.split(",") if args.only else [fault.name for fault in faults]
    asked = [fault for fault in faults if fault.name in wanted]
    missed, spent = [], 0.0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        running = {pool.submit(ask, fault, tests, known, kills): fault for fault in asked}
        for future in concurrent.futures.as_completed(running):
            fault, (test, seconds) = running[future], future.result()
            spent += seconds
            print(f"{fault.number:4}  {fault.name:24}  {seconds:6.2f} s  "
                  f"{test or 'NOT CAUGHT: ' + fault.words}", flush=True)
            if test:
                known[fault.name] = test
            else:
                known.pop(fault.name, None)
                missed.append(fault)
            store.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    caught = len(asked) - len(missed)
    print(f"caught {caught} of {len(asked)} faults, {100 * caught / len(asked):.1f} %, in "
          f"{time.monotonic() - started:.0f} s ({spent:.0f} s of processor time)")
    return 0 if caught >= LEAST_SHARE * len(asked) else 1


if __name__ == "__main__":
    sys.exit(main())
