#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is read from launches of public repositories: every fact, the use of every key, and the job.

    collected.py RECKON                    compares with collected.txt
    collected.py RECKON --renew READINGS   writes it, and what that program records of readings.txt

RECKON_LIBRARY names the shared library, which reads the launches: 7,500 processes would take most of the time.

A line of collected.jsonl is a launch, `id` the repository and the file that it is from.  Each is read as it is, with
each key that it shares with no launch before it removed and with other values, and with each key of `added` (key,
value, and 1 where the job is compared too).  A line of collected.txt has the
facts in clear (of a change those that differ), digests of what else is written, and the step and memory; of the values
in EDGES digests alone.
"""

import argparse
import concurrent.futures
import copy
import difflib
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))
from reckon import ReckonError  # pylint: disable=wrong-import-position
from reckon._library import run_command  # pylint: disable=wrong-import-position
from corpus import READERS  # pylint: disable=wrong-import-position
from key_costs import variants

ANSWERS = HERE / "collected.txt"
CHANGES_MOST = 3  # of a key
EDGES = ("0", "1", "-1", "x")


def digest(value):
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def shorten(message):
    """A refusal: how it begins, and a digest of the whole."""
    return f"{message.strip()[:70]}... {digest(message)}"


def run(program, words, path):
    """Exit status, answer (None: refused), and the text of the answer or of the message."""
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=60,
                          env=dict(os.environ, NO_COLOR="1", COLUMNS="80"))
    if done.returncode not in (0, 1):
        return done.returncode, None, done.stderr.replace(path, "FILE")
    return done.returncode, json.loads(done.stdout) if "--json" in words else None, done.stdout.replace(path, "FILE")


def convert(path, **options):
    """(None, the text of the answer), or the message of `reckon convert` and None."""
    try:
        return None, run_command("convert", {"from": path, **options}).text
    except ReckonError as error:
        return f"reckon convert: {error}".replace(path, "FILE"), None


def facts_of(answer):
    """name -> value, with where it is from."""
    return {name: f"{fact['value']}" + {"stated": "", "derived": "~"}.get(fact["origin"], "*") +
            (f"<{fact['by']}" if fact.get("by") else "") for name, fact in answer["facts"].items()}


def clear(facts):
    """Facts as text, without the document of a model, which is in digests only."""
    return " ".join(f"{name}={value}" for name, value in facts.items() if name != "model.document")


def add_key(record, key, value):
    """The launch with another key; a switch has no value."""
    if "argv" in record:
        pairs = sum("=" in word and not word.startswith("-") for word in record["argv"])
        words = [f"{key}={value}"] if 2 * pairs > len(record["argv"]) / 2 else [f"--{key}"] + [value] * (value != "")
        return {**record, "argv": record["argv"] + words}
    config = copy.deepcopy(record["config"])
    tree, *path = config, *key.split(".")
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = json.loads(value) if re.fullmatch(r"-?[0-9.]+|true|false", value) else value
    return {**record, "config": config}


class Launch:
    """A launch in a file, and the questions to it."""

    def __init__(self, program, row):
        self.program, self.row = program, row
        self.record = {key: row[key] for key in ("argv", "config", "world", "release") if key in row}
        self.given = {"framework": READERS.get(row["framework"], row["framework"])}
        self.lines = []

    def read(self, record):
        """(facts, keys), or the message of a refusal."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(record, file)
            file.flush()
            message, text = convert(file.name, json=True)
        answer = json.loads(text or "{}")
        return message or (facts_of(answer), answer["keys"])

    def predict(self, record):
        """The job and its step, as text."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(record, file)
            file.flush()
            words = ["estimate", "--from", file.name, *self.row["on"].split(), "--json"]
            status, answer, text = run(self.program, words, file.name)
        if not answer:
            return shorten(text)
        step = answer.get("estimate", {})
        parts = {part: answer.get(part) for part in ("request", "model", "provenance", "missing")}
        parts["request"].pop("model", None)  # a file of any name
        strategy = json.dumps(answer.get("strategy"))
        return (f"{status} step={step.get('step_s', 0):.9g} memory={step.get('memory_total_bytes', 0):.9g} "
                f"strategy:{digest(strategy)} " +
                " ".join(f"{part}:{digest(value)}" for part, value in parts.items()))

    def write_text(self, record):
        """The whole answer as text."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(record, file)
            file.flush()
            return convert(file.name, verbose=True)[1].replace(file.name, "FILE")

    def say(self, what, *parts):
        self.lines.append("\t".join([what, *parts]).replace("\n", " "))

    def ask(self, keys):
        """All lines of this launch; `keys` are those to change."""
        found = self.read(self.record)
        self.say(self.row["id"], shorten(found) if isinstance(found, str) else digest([found[0], found[1]]))
        record = {**self.record, **self.given}
        whole = self.read(record)
        if isinstance(whole, str):
            self.say("  refused", shorten(whole))
            return self.lines
        facts, uses = whole
        self.say("  facts", clear(facts), digest(facts))
        self.say("  keys", digest(uses), digest(self.write_text(record)))
        self.say("  job", self.predict(record))
        for use in ("used", "not_priced"):
            for key in uses[use]:
                if key["key"] in keys:
                    changed = list(variants(record, key))[:CHANGES_MOST]
                    for number, other in enumerate(changed):
                        self.change(f"{key['key']} {number}", whole, other, number == min(1, len(changed) - 1))
                    if "value" in key:
                        self.say(f"  {key['key']} at {' '.join(EDGES)}",
                                 " ".join(digest(self.read(other)) for other in list(variants(record, key, EDGES))[1:]))
        for key, value, *predicts in self.row.get("added", []):
            self.change(f"+{key} {value}", whole, add_key(record, key, value), bool(predicts))
        return self.lines

    def change(self, name, whole, record, predicts):
        """What differs in a changed launch, and the job if it `predicts`."""
        found = self.read(record)
        if isinstance(found, str):
            self.say("  " + name, shorten(found))
            return
        moved = {fact: found[0].get(fact, "-") for fact in {**whole[0], **found[0]}
                 if found[0].get(fact) != whole[0].get(fact)}
        self.say("  " + name, clear(moved), digest([moved, found[1]]),
                 *([self.predict(record)] if moved and predicts else []))


def ask_all(program, rows):
    """The lines of all launches."""
    met, jobs = set(), []
    for row in rows:  # which keys are new in which launch
        launch = Launch(program, row)
        whole = launch.read({**launch.record, **launch.given})
        names = set()
        if not isinstance(whole, str):
            names = {key["key"] for use in ("used", "not_priced") for key in whole[1][use]}
            names = {name for name in names if (row["framework"], name) not in met}
            met |= {(row["framework"], name) for name in names}
        jobs.append((launch, names))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [line for lines in pool.map(lambda job: job[0].ask(job[1]), jobs) for line in lines]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--renew")
    arguments = parser.parse_args()
    with (HERE / "collected.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    lines = ask_all(arguments.program, rows)
    if arguments.renew:
        ANSWERS.write_text("\n".join(lines) + "\n", encoding="utf-8")
        with (HERE / "readings_recorded.txt").open("wb") as file:
            subprocess.run([arguments.renew, HERE / "readings.txt"], stdout=file, check=True)
        return
    recorded = ANSWERS.read_text(encoding="utf-8").splitlines()
    differing = list(difflib.unified_diff(recorded, lines, "collected.txt", "now", n=1, lineterm=""))
    print("\n".join(differing[:80]))
    print(f"{len(rows)} launches, {len(lines)} answers, {sum(line[0] == '+' for line in differing[2:])} differ"
          + ("; where that is meant, ninja -C build renew-launches" if differing else ""))
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
