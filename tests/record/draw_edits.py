#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws questions of the kind "edit": wrong and extreme values in documents, tables, launches, options.

    draw_edits.py BUILD COUNT [SEED] >>questions.txt

A question is kept when its answer is one that no question before it has had.  Bounds are those that
the program names when a number is out of them ("from 0 to 1000"): numbers at the bounds and just
outside are drawn as often as others.
"""

import collections
import json
import pathlib
import re
import resource
import shlex
import sys

import ask
from draw import Draw
from draw_edits_values import COMMANDS, OPTIONS, PLAIN, SPECIAL, TABLES, WORDS

SLOW_S = 0.05
NUMBERS = [0, 1, 2, 3, -1, 0.5, 1e-9, 1e6, 2**31, 2**53, 2**63, 1e30, "1", "", "x", None, True, [], {}]
CELLS = ["", "0", "1", "2", "-1", "0.5", "1e9", "1e30", "x", "true", "none", " 8", "8 ", "8.0", "nan"]


def leaves(value, place=""):
    """(place, value) of everything in a document, without the whole."""
    items = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        here = f"{place}.{key}" if place else str(key)
        yield here, item
        yield from leaves(item, here)


class Source:
    """A file, and the commands that read it."""

    def __init__(self, name, text, commands, draw):
        self.name, self.text, self.commands, self.draw = name, text, commands, draw
        self.bounds = {}  # place -> numbers and words at the edge

    def ask(self, change, command):
        return " ".join(map(shlex.quote, (self.name, *change, "--"))) + " " + command

    def edges(self, place, value, command):
        """What the program says that it expects at a place."""
        if place not in self.bounds:
            wrong = -1e300 if isinstance(value, (int, float)) else "?"
            text = ask.answer_whole(self.ask([f"{place}={json.dumps(wrong)}"], command))
            self.bounds[place] = edges_of(text)
        return self.bounds[place]

    def change(self, command):
        """One edit."""
        draw = self.draw
        if draw.chance(0.06):
            return f"{draw.pick(self.text.split())}=>{draw.pick(SPECIAL)}"
        if not self.name.endswith(".json"):
            return self.change_text()
        place, value = draw.pick(list(leaves(json.loads(self.text))))
        under = place.rpartition(".")[0]
        inside = place.rpartition(".")[2].isdigit()
        way = draw.below(10)
        if way == 0:
            return f"{place}-"
        if way == 1 and inside:
            return place + draw.pick("*~")
        if way == 1:
            return f"{under}.zz=1".lstrip(".")
        if isinstance(value, (dict, list)):
            return f"{place}={draw.pick(['[]', '{}', '0', 'null', '[0]', '1'])}"
        edges = self.edges(place, value, command)
        if edges and draw.chance(0.7):
            return f"{place}={json.dumps(draw.pick(edges))}"
        if isinstance(value, bool):
            return f"{place}={json.dumps(draw.pick([not value, 1, 'x']))}"
        if isinstance(value, (int, float)) and draw.chance(0.6):
            return f"{place}={json.dumps(draw.pick([2 * value, value + 1, value - 1, value / 2, 3 * value, -value]))}"
        others = [item for _, item in leaves(json.loads(self.text)) if isinstance(item, str)]
        pool = others if isinstance(value, str) and others and draw.chance(0.6) else NUMBERS
        return f"{place}={json.dumps(draw.pick(pool))}"

    def change_text(self):
        draw = self.draw
        lines = self.text.rstrip("\n").split("\n")
        number = 1 + draw.below(len(lines))
        way = draw.below(10)
        if self.name.endswith(".csv") and way < 7:
            cells = [line.split(",") for line in lines]
            row, column = 1 + draw.below(len(lines) - 1), draw.below(len(cells[0]))
            pool = CELLS if draw.chance(0.6) else [line[column] for line in cells[1:]]
            if draw.chance(0.1):
                row, pool = 0, ["", "zz", draw.pick(cells[0])]
            return f"R{row}:{cells[0][column]}={draw.pick(pool)}"
        if way < 2 and number < len(lines):
            return f"L{number}{draw.pick('*~-')}"
        if way == 3:
            return f"L{number}-"
        words = re.findall(r"[\w.-]+", lines[number - 1])
        word = draw.pick(words or ["x"])
        if not words:
            return f"L{number}-"
        if re.fullmatch(r"[0-9]+", word):
            value = int(word)
            new = draw.pick([0, 1, -1, value + 1, value - 1, 2 * value, f"{value}.5", "", "x", 2**63])
        elif draw.chance(0.3):
            new = draw.pick(SPECIAL)
        elif word.lower() in ("true", "false"):
            new = draw.pick(["true", "false", "null", "1", ""])
        else:
            new = draw.pick([word + "x", "", "1", draw.pick(re.findall(r"[\w.-]+", self.text))])
        return f"{word}=>{new}"

    def next(self):
        command = self.draw.pick(self.commands)
        count = self.draw.pick([1, 1, 1, 1, 2, 2, 3])
        return self.ask([self.change(command) for _ in range(count)], command)


def edges_of(text):
    """The numbers and words at the edge of what a message accepts."""
    edges = []
    for low, high in re.findall(r"from (-?[0-9.e+-]+) to ([0-9.e+-]+)", text):
        try:
            low, high = float(low.rstrip(".")), float(high.rstrip("."))
        except ValueError:
            continue
        low, high = (int(x) if x == int(x) else x for x in (low, high))
        edges += [low, high, low - 1, high + 1, low + 1, high - 1, high * 1.000001]
    words = re.findall(r"(?:one of|expected|is not|: |or|,) \"?([a-z][\w-]+)\"?(?=,| or|;|$)", text)
    return edges + words[:12]


class Options:
    """The options of a command, added to a request that is whole without them."""

    def __init__(self, name, command, method, draw):
        self.name, self.command, self.draw = name, command, draw
        import reckon  # pylint: disable=import-outside-toplevel
        self.about = {key: about for key, about in reckon.schema(command, method)["properties"].items()
                      if "$ref" not in about and key not in ("threads", "output", "json", "csv", "mpi")}
        self.bounds = {}

    def ask(self, given):
        changes = [f"{name}={json.dumps(value)}" for name, value in given.items()]
        return " ".join(map(shlex.quote, [self.name, *changes, "--", "json", self.command,
                                          "@" + self.name]))

    def edges(self, option):
        if option not in self.bounds:
            found = []
            for wrong in (-10**15, "?"):
                found += edges_of(ask.answer_whole(self.ask({option: wrong})))
            self.bounds[option] = found + (self.about[option].get("enum") or [])
        return self.bounds[option]

    def value(self, option):
        draw, about = self.draw, self.about[option]
        types = about.get("type", [])
        if "boolean" in types:
            return draw.pick([True, True, False])
        edges = self.edges(option)
        if edges and draw.chance(0.6):
            return draw.pick(edges)
        value = draw.pick([0, 1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 0.5, 1.5, 100, 4096, -1, "", "x", "1k", "50%"])
        if "array" in types and draw.chance(0.5):
            return draw.pick([[value], [value, value], [value, 2, 4], [2, 1], [], [4, 2, 1]])
        return value

    def next(self):
        names = [self.draw.pick(list(self.about)) for _ in range(self.draw.pick([1, 1, 2, 2, 3, 4]))]
        return self.ask({name: self.value(name) for name in names})


class Words:
    """Command lines from templates with "{|a|b|}"."""

    def __init__(self, templates, draw):
        self.templates, self.draw = templates, draw

    def next(self):
        text = self.draw.pick(self.templates)
        while "{|" in text:
            before, _, rest = text.partition("{|")
            group, _, after = rest.partition("|}")
            text = before + self.draw.pick(group.split("|")) + after
        return "-- " + text


class Expressions:
    """Expressions of a grid."""

    def __init__(self, draw):
        self.draw, self.name = draw, "e_expr.json"

    def expression(self, depth):
        draw, one = self.draw, lambda: self.expression(depth - 1)
        if depth == 0 or draw.chance(0.15):
            return draw.pick(["a", "a", "batch", "processors", "0", "1", "2", "0.5", "1e3", "-3", "datatype",
                              "'float16'", "application.hidden", "system.mem1.GiB", "b", ""][:-1 - draw.below(3)])
        way = draw.below(12)
        if way < 4:
            return f"{one()} {draw.pick('+-*/%^')} {one()}"
        if way < 6:
            return f"{one()} {draw.pick(['<', '<=', '>', '>=', '==', '!=', '&&', 'or', '||', 'and'])} {one()}"
        if way < 8:
            return f"({one()})"
        if way == 8:
            return draw.pick(["-", "not ", "!", "+"]) + one()
        name, count = draw.pick([("min", 2), ("max", 3), ("pow", 2), ("sqrt", 1), ("log2", 1), ("abs", 1),
                                 ("round", 1), ("round", 2), ("floor", 2), ("ceil", 1), ("if", 3), ("min", 1),
                                 ("pow", 1), ("f", 1), ("max", 0)])
        return f"{name}({', '.join(one() for _ in range(count))})"

    def next(self):
        place = self.draw.pick(["let.e", "let.e", "let.e", "point_constraints.0", "set.batch"])
        change = f"{place}={json.dumps(self.expression(3))}"
        if "." in place and not place.startswith("let"):
            top, _, key = place.partition(".")
            change = f"{top}=" + json.dumps([json.loads(change.partition("=")[2])] if key == "0"
                                            else {key: json.loads(change.partition("=")[2])})
        return f"e_expr.json {shlex.quote(change)} -- sweep e_expr.json"


def main():
    build, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    draw = Draw(int(sys.argv[3]) if len(sys.argv) > 3 else 43)
    ask.TIMEOUT_S = 5
    files = pathlib.Path(__file__).resolve().parent / "files"
    ask.begin(build, files)
    sources = []  # (share, source)
    for name, share, commands in (*COMMANDS, *TABLES, *PLAIN):
        sources.append((share, Source(name, (files / name).read_text(), commands, draw)))
    sources += [(share, Options(name, command, method, draw))
                for name, command, share, method in OPTIONS]
    sources.append((60, Expressions(draw)))
    sources.append((WORDS[0], Words(WORDS[1], draw)))
    shares = [source for share, source in sources for _ in range(share)]
    seen, kept, statuses = set(), 0, collections.Counter()
    messages, number = collections.Counter(), 0
    while kept < count and number < 12 * count:
        number += 1
        source = draw.pick(shares)
        try:
            rest = source.next()
            before = seconds_used()
            answer = ask.answer(("edit", rest))
            used = seconds_used() - before
        except (ValueError, IndexError, KeyError, TypeError, AttributeError):
            continue  # an edit that does not fit what another has left
        except ask.subprocess.TimeoutExpired:
            sys.stderr.write(f"timeout: {rest}\n")
            continue
        status, digests, _, error = answer
        if any(part.startswith("-") for part in status.split(",")):
            sys.stderr.write(f"{status}: {rest}\n")
        # A message that differs in its values only is another one twice.
        refused = status.strip("01,") != ""
        shape = (getattr(source, "name", ""), getattr(source, "command", ""), re.sub(r"[0-9]+|'[^']*'|\"[^\"]*\"", "#", error)[:60])
        if refused and statuses[True] > 0.5 * kept + 9:
            continue
        if digests["all"] in seen or used > SLOW_S or (error and messages[shape] >= 4) or len(rest) > 420:
            continue
        seen.add(digests["all"])
        messages[shape] += 1
        statuses[refused] += 1
        kept += 1
        print(f"e{kept:04d} edit {rest}", flush=True)
    sys.stderr.write(f"{number} drawn, {kept} kept, {statuses[True]} of them refused\n")


def seconds_used():
    return sum(u.ru_utime + u.ru_stime for u in
               (resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)))


if __name__ == "__main__":
    main()
