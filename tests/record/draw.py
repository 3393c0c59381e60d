#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the questions of questions.txt.  They were drawn once; later ones are added at the end.

    draw.py BUILD [COUNT [SEED]] >questions.txt

Random numbers are those of this file, so that the same program draws the same questions with any
Python.  A drawn question that the program refuses is kept one time in four, one that takes more
than half a second of processor time never.
"""

import collections
import json
import os
import pathlib
import resource
import shlex
import sys

import ask
from draw_values import (BASE, CALCULON_BASE, LAUNCHES, NEEDS, NEEDS_OF, REPLACES, SCENES, TYPED, VALUES,
                         WORDS, WRONG)
from interface import choices_of, read_forms, used_by

# Questions per thousand.
SHARE = {"plan": 118, "estimate": 160, "fit": 70, "run": 125, "explain": 62, "design": 70,
         "shape": 68, "timeline": 66, "comm": 72, "validate": 24, "sweep": 14, "calibrate": 10, "calculon": 14,
         "list": 4, "show": 12, "plot": 6, "plan.calculon": 14, "explain.calculon": 12,
         "design.calculon": 16, "shape.calculon": 18, "launch": 32, "wrong": 20, "words": 20,
         "c": 30}
DUE = {"estimate": 3, "plan": 3, "explain": 4, "design": 4, "shape": 4, "timeline": 4, "fit": 4,
       "run": 4}
PYTHON = ("plan", "estimate", "fit", "run", "comm", "timeline", "validate", "sweep")
SLOW_S = 0.5


class Draw:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return (z ^ z >> 31) % bound

    def chance(self, share):
        return self.below(1000) < 1000 * share

    def pick(self, items):
        return items[self.below(len(items))]


class Questions:
    def __init__(self, forms, draw):
        self.forms, self.draw = forms, draw
        self.uses = collections.Counter()   # (form, option)
        self.names = collections.Counter()  # (form, spelling)
        self.tries = collections.Counter()  # (form, option)
        self.values = collections.Counter()  # (form, option, value) of options that were due

    def value(self, form, option):
        about = form.options[option]
        if "boolean" in about.get("type", []):
            return True
        values = list(VALUES.get(form.name, {}).get(option, VALUES[""].get(option, [])))
        for choice in choices_of(about):
            if choice not in values and option != "method":
                values.append(choice)
        return min(values, key=lambda value: (self.values[form.name, option, value],
                                              self.draw.below(1000)))

    def due(self, form):
        """The options that were used least."""
        wanted = DUE.get(form.name, 2)
        order = sorted(form.options, key=lambda option: (
            min(8, self.uses[form.name, option]) + self.tries[form.name, option] // 12,
            self.draw.below(1000)))
        return order[:1 + self.draw.below(wanted)]

    def due_in(self, topic):
        """Whether an option of a form was used less than five times, and may still be."""
        form = self.forms[topic]
        return any(self.uses[topic, option] < 5 and self.tries[topic, option] < 60
                   for option in form.options) or self.draw.chance(0.1)

    def options(self, form):
        """The options of a question, in no particular order; the first ones make it whole."""
        command = form.name.split(".", maxsplit=1)[0]
        due = self.due(form)
        values = {option: self.value(form, option) for option in due}
        for option, value in values.items():
            self.tries[form.name, option] += 1
            self.values[form.name, option, value] += 1
        needs = {}
        for option in due:
            needs.update(NEEDS.get(option, {}))
            needs.update(NEEDS_OF.get(form.name, {}).get(option, {}))
        text = needs.pop("text", False)
        if form.name.endswith(".calculon"):
            base = dict(self.draw.pick(CALCULON_BASE[command]))
            needs.pop("scene", None)
            wanted = {**needs, **values}
        else:
            kinds = needs.pop("scene", None)
            scenes = [scene for scene in SCENES if not kinds or kinds in scene[0]]
            base = {}
            if command in ("plan", "estimate", "fit", "run", "explain", "design", "shape",
                           "timeline"):
                _, whole, pins = self.draw.pick(scenes)
                base = {**whole, **{key: value for key, value in pins.items()
                                    if self.draw.chance(0.7)}}
                base["accelerators"] = self.draw.pick(base["accelerators"].split("/"))
            base.update(self.draw.pick(BASE.get(command, [{}])))
            if command == "design":
                base.pop("accelerators", None)  # an axis of the prices
            wanted = {**needs, **values}
        for option in wanted:
            for other in REPLACES.get(option, ()):
                if other not in due:
                    base.pop(other, None)
        asked = {key: value for key, value in {**base, **wanted}.items() if key in form.options}
        if text:
            asked.pop("json", None)
            asked.pop("csv", None)
        elif not {"json", "csv", "output", "emit"} & set(asked) and self.draw.chance(0.72) \
                and "json" in form.options:
            asked["json"] = True
        return asked

    def spell(self, form, option):
        """The spelling that was used least, or the letter."""
        if option in form.letters and self.draw.chance(0.4):
            return "-" + form.letters[option]
        name = min(form.spellings[option], key=lambda name: self.names[form.name, name])
        if self.draw.chance(0.03):
            name = name.replace("-", "_")
        return "--" + name

    def command_line(self, form, asked):
        command = form.name.split(".", maxsplit=1)[0]
        words, asked = [command], dict(asked)
        for option in ("collective", "grid", "document", "results", "recipe", "what", "name",
                       "command"):
            if option in asked:
                words += shlex.split(str(asked.pop(option)))
        model, system = asked.get("model", ""), asked.get("system", "")
        if command != "comm" and model and system and "," not in system and ":" not in system \
                and not system.endswith(".json") and self.draw.chance(0.6):
            number = asked.get("accelerators")
            words.append(asked.pop("model"))
            if number and self.draw.chance(0.8):
                words.append(f"{asked.pop('accelerators')}x{asked.pop('system')}")
            else:
                words.append(asked.pop("system"))
        for option, value in asked.items():
            name = self.spell(form, option)
            if value is True:
                words.append(name)
            elif self.draw.chance(0.05) and name.startswith("--"):
                words.append(f"{name}={value}")
            else:
                words += [name, str(value)]
        return " ".join(word if word == shlex.quote(word) else shlex.quote(word) for word in words)

    def request(self, form, asked, names):
        """The same as JSON."""
        members = {}
        for option, value in asked.items():
            types = form.options[option].get("type", [])
            if isinstance(value, str):
                parts = value.split(",")
                parts = [int(part) if part.isdigit() else part for part in parts]
                if len(parts) > 1 and "array" in types:
                    value = parts
                elif isinstance(parts[0], int) and len(parts) == 1 and "integer" in types:
                    value = parts[0]
            name = option
            if names:
                name = self.spell(form, option).lstrip("-").replace("-", "_")
                name = option if len(name) == 1 else name
            members[name] = value
        return json.dumps(members)

    def next(self, topic):
        """(kind, rest)."""
        if topic == "c":
            return "c", self.typed()
        if topic in ("launch", "wrong", "words"):
            kind, rest = self.draw.pick({"launch": LAUNCHES, "wrong": WRONG, "words": WORDS}[topic])
            return kind, self.fill(rest)
        form = self.forms[topic]
        asked = self.options(form)
        way = self.draw.below(100)
        command = topic.split(".", maxsplit=1)[0]
        if way < 18 and topic not in ("calculon", "sweep", "plot"):
            asked.pop("json", None)
            asked.pop("csv", None)
            return "json", f"{command} {self.request(form, asked, True)}"
        if way < 35 and command in PYTHON and "." not in topic:
            for key in ("json", "csv", "output", "emit", "plot"):
                asked.pop(key, None)
            return "python", f"{command} {self.request(form, asked, False)}"
        return "cli", self.command_line(form, asked)

    def fill(self, template):
        """A template with one of every group "{a|b|c}"."""
        while "{|" in template:
            before, _, rest = template.partition("{|")
            group, _, after = rest.partition("|}")
            template = before + self.draw.pick(group.split("|")) + after
        return template

    def typed(self):
        return self.fill(self.draw.pick(TYPED))


def main():
    build = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
    draw = Draw(int(sys.argv[3]) if len(sys.argv) > 3 else 2026)
    forms = read_forms(build)
    questions = Questions(forms, draw)
    ask.TIMEOUT_S = 5
    ask.begin(build, pathlib.Path(__file__).resolve().parent / "files")
    topics = [topic for topic, share in SHARE.items() for _ in range(share)]
    seen, number, failures = set(), 0, collections.Counter()
    while number < count:
        topic = draw.pick(topics)
        if number > 0.8 * count and questions.forms.get(topic) and not questions.due_in(topic):
            continue
        kind, rest = questions.next(topic)
        if (kind, rest) in seen:
            continue
        before = [resource.getrusage(who) for who in
                  (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
        status, digests, _, error = ask.answer((kind, rest))
        after = [resource.getrusage(who) for who in
                 (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
        seconds = sum(b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime
                      for a, b in zip(before, after))
        good = status in ("0", "1")
        if os.environ.get("DRAW_SHOW") and not good and topic != "wrong":
            sys.stderr.write(f"{status} {rest[:150]}\n      {error}\n")
        if status in ("timeout", "exception") or int(status.startswith("-")) or seconds > SLOW_S:
            sys.stderr.write(f"{status}, {seconds:.1f} s: {kind} {rest}\n{error}\n")
            continue
        failures[topic, good] += 1
        if not good and topic != "wrong" and not draw.chance(0.25):
            continue
        seen.add((kind, rest))
        if good:
            uses = set(used_by(forms, kind, rest))
            questions.uses.update((form, option) for form, option, *_ in uses)
            questions.names.update((form, name) for form, _, name, _ in uses)
        number += 1
        print(f"q{number:04d} {kind} {rest}", flush=True)
    for topic in SHARE:
        sys.stderr.write(f"{topic}: {failures[topic, True]} answered, "
                         f"{failures[topic, False]} refused\n")


if __name__ == "__main__":
    main()
