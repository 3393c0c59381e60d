#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the recorded questions again and compares the answers with the recorded ones.

    record.py BUILD                   every question of questions.txt
    record.py BUILD --every 20        every 20th question
    record.py BUILD --show q0123      one question, and its whole answer
    record.py BUILD --list REASON     append the differences that are not listed to differences.csv
    record.py BUILD --renew           write all answers to answers.txt, and empty differences.csv

README.md describes the files.  Exit status 1: a difference that differences.csv does not list, or a
line of it without a difference.
"""

import argparse
import collections
import concurrent.futures
import csv
import os
import pathlib
import re
import resource
import shlex
import sys

import ask
from answer import differences, read_answers, write_answers

HERE = pathlib.Path(__file__).resolve().parent


def read_questions(path):
    """Identifier -> kind and the rest of the line."""
    questions = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, kind, rest = line.split(" ", 2)
            questions[name] = (kind, rest)
    return questions


def answer_all(build, questions, jobs, threads):
    """The answers to all questions, in their order."""
    with concurrent.futures.ProcessPoolExecutor(
            jobs, initializer=ask.begin, initargs=(build, HERE / "files", threads)) as pool:
        done = pool.map(ask.answer, questions.values(), chunksize=8)
        return dict(zip(questions, done))


# ---- differences -----------------------------------------------------------------------------------

def read_listed(path):
    """(question, member) -> reason."""
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["question"], row["member"]): row["reason"] for row in csv.DictReader(file)}


def write_listed(path, listed):
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["question", "member", "reason"])
        rows.writerows([*key, reason] for key, reason in sorted(listed.items()))


def words_of(kind, rest):
    """The command of a question, and the options that it uses."""
    if kind in ("json", "python"):
        command, request = rest.split(" ", 1)
        return command, {
            "--" + key.replace("_", "-") for key in re.findall(r'"(\w[\w-]*)":', request)}
    words = shlex.split(rest)
    if kind == "edit":
        words = words[words.index("--") + 1:]
    if kind == "c":
        return words[0], {word.split("=")[0] for word in words[3:]}
    return words[0], {word.split("=")[0].replace("_", "-")
                      for word in words[1:] if word.startswith("-")}


def print_one(name, question, changes):
    print(f"{name}: {ask.command_line(*question)}")
    for member, lines in changes.items():
        print(f"    {member}: " + ("; ".join(lines) or "differs"))


def spread_of_figures(found):
    """How far the figures of all differences moved, by the name of the figure."""
    moved = collections.defaultdict(list)
    for changes in found.values():
        for line in (line for lines in changes.values() for line in lines):
            percent = re.search(r"\(([-+][^ ]+) %\)$", line)
            if percent:
                moved[line.split(" ", 1)[0].rsplit(".", 1)[-1]].append(float(percent.group(1)))
    for figure, values in sorted(moved.items(), key=lambda item: -len(item[1]))[:12]:
        values.sort()
        yield f"{figure} {len(values)} ({values[0]:+.3g} to {values[-1]:+.3g} %, median " \
              f"{values[len(values) // 2]:+.3g} %)"


def print_summary(questions, found):
    """Counts by kind and command, by member, and the options that go with differences."""
    print(f"\n{len(found)} of {len(questions)} questions have differences that are not listed")
    asked, options, commands, members = (collections.Counter() for _ in range(4))
    for name, (kind, rest) in questions.items():
        command, used = words_of(kind, rest)
        asked.update(used)
        if name in found:
            options.update(used)
            commands[f"{kind} {command}"] += 1
            members.update(f"{command} {member}" for member in found[name])
    print("by command:   " + ", ".join(f"{c} {n}" for c, n in commands.most_common(20)))
    print("by member:    " + ", ".join(f"{m} {n}" for m, n in members.most_common(30)))
    print("by figure:    " + "; ".join(spread_of_figures(found)))
    share = len(found) / max(1, len(questions))
    frequent = sorted((n / asked[o], n, o) for o, n in options.items()
                      if n >= 2 and n > 1.5 * share * asked[o])
    print("by option:    " + ", ".join(f"{o} {n} of {asked[o]}" for _, n, o in frequent[::-1][:30]))


def compare(questions, recorded, answers, listed):
    """Differences that are not listed, by question and member, and lines of the list without one."""
    found, met = {}, set()
    for name, now in answers.items():
        changes = differences(recorded.get(name), now)
        here = {member for question, member in listed if question == name}
        met |= {(name, m) for m in here if m in changes or (m == "*" and changes)}
        rest = {} if "*" in here else {m: text for m, text in changes.items() if m not in here}
        if rest:
            found[name] = rest
    stale = [key for key in listed if key[0] not in questions
             or (key[0] in answers and key not in met)]
    return found, stale


def main():
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("build", type=pathlib.Path, help="build folder")
    reader.add_argument("--every", type=int, default=1, metavar="N", help="every Nth question only")
    reader.add_argument("--only", metavar="REGEX", help="only questions whose line matches")
    reader.add_argument("--show", metavar="ID", help="print one question and its whole answer")
    reader.add_argument("--list", metavar="REASON", help="append the differences to the list")
    reader.add_argument("--renew", action="store_true", help="record all answers")
    reader.add_argument("--threads", type=int, help="set the option 'threads' where it is free")
    reader.add_argument("--jobs", type=int, default=os.cpu_count(), help="questions at a time")
    reader.add_argument("--most", type=int, default=40, help="differences to print; default: 40")
    given = reader.parse_args()

    questions = read_questions(HERE / "questions.txt")
    if given.show:
        ask.begin(given.build, HERE / "files", given.threads, show=True)
        print(ask.command_line(*questions[given.show]))
        ask.answer(questions[given.show])
        return 0
    chosen = {name: q for index, (name, q) in enumerate(questions.items())
              if index % given.every == 0
              and (not given.only or re.search(given.only, f"{name} {q[0]} {q[1]}"))}
    answers = answer_all(given.build, chosen, given.jobs, given.threads)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(u.ru_utime + u.ru_stime for u in used)
    if given.renew:
        if len(chosen) < len(questions):
            reader.error("--renew records all questions: leave out --every and --only")
        write_answers(HERE / "answers.txt", answers)
        write_listed(HERE / "differences.csv", {})
        print(f"{len(answers)} answers recorded, {seconds:.0f} s of processor time")
        return 0

    listed = read_listed(HERE / "differences.csv")
    found, stale = compare(chosen if given.only or given.every > 1 else questions,
                           read_answers(HERE / "answers.txt"), answers,
                           {k: v for k, v in listed.items() if k[0] in chosen or
                            k[0] not in questions})
    if given.list:
        listed.update({(name, member): given.list for name in found for member in found[name]})
        write_listed(HERE / "differences.csv", listed)
        print(f"{sum(map(len, found.values()))} differences of {len(found)} questions listed")
        found = {}
    for name in list(found)[:given.most]:
        print_one(name, chosen[name], found[name])
    for question, member in stale:
        print(f"differences.csv: {question}, {member}: stale: the answers agree; delete the line")
    if found:
        print_summary(chosen, found)
        print("A difference that is meant is listed with its reason: record.py BUILD --list REASON "
              "[--only REGEX]; see tests/record/README.md")
    print(f"{len(chosen)} questions, {len(listed)} listed differences, "
          f"{seconds:.0f} s of processor time")
    return 1 if found or stale else 0


if __name__ == "__main__":
    sys.exit(main())
