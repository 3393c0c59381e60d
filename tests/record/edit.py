# SPDX-License-Identifier: Apache-2.0
"""Edits of input files, for questions of the kind "edit".

    edit grid.json axes.0.values=[1,2] let- -- sweep grid.json ;; plot figure.json

Words before "--" are files, each with its edits; behind it are commands, with ";;" between them, in
the same folder.  "json COMMAND @FILE" calls rk_answer_request with the text of that file.  Of JSON files:

    PLACE=JSON  set a member or element    PLACE-  leave it out
    PLACE*      repeat an element          PLACE~  swap an element with the next one

PLACE is as "axes.0.values".  Of other files the same with a line, "L3" being the third, and its
text; of a table also with a cell, "R2:seq=4096" ("R0" is the header).  In all files OLD=>NEW
replaces a text where it comes first.
"""

import csv
import io
import json
import re


def edit_text(text, change):
    """A text with "OLD=>NEW"."""
    old, new = change.split("=>", 1)
    if old not in text:
        raise ValueError(f"no '{old}' to replace")
    return text.replace(old, new, 1)


def change_list(items, index, sign, value):
    if sign == "-":
        del items[index]
    elif sign == "*":
        items.insert(index, items[index])
    elif sign == "~":
        items[index], items[index + 1] = items[index + 1], items[index]
    elif index == len(items):
        items.append(value)
    else:
        items[index] = value


def edit_json(text, change):
    place, sign, value = re.fullmatch(r"([^=*~]*?)(=|-|\*|~)(.*)", change, re.S).groups()
    *path, last = place.split(".")
    whole = here = json.loads(text)
    for key in path:
        here = here[int(key)] if isinstance(here, list) else here[key]
    value = json.loads(value) if sign == "=" else None
    if isinstance(here, list):
        change_list(here, int(last), sign, value)
    elif sign == "-":
        del here[last]
    else:
        here[last] = value
    return json.dumps(whole)


def edit_line(text, change):
    lines = text.split("\n")
    number, sign, value = re.fullmatch(r"L([0-9]+)(=|-|\*|~)(.*)", change, re.S).groups()
    change_list(lines, int(number) - 1, sign, value)
    return "\n".join(lines)


def edit_cell(text, change):
    rows = list(csv.reader(io.StringIO(text)))
    number, column, value = re.fullmatch(r"R([0-9]+):([^=]*)=(.*)", change, re.S).groups()
    rows[int(number)][rows[0].index(column)] = value
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def edit(name, text, change):
    """The text of a file after one change."""
    if "=>" in change:
        return edit_text(text, change)
    if re.match(r"L[0-9]+[-=*~]", change):
        return edit_line(text, change)
    return (edit_json if name.endswith(".json") else edit_cell)(text, change)


def read_edits(words, inputs):
    """Name -> content of the files that are edited, and the commands."""
    cut = words.index("--")
    edited, name, commands = {}, None, [[]]
    for word in words[:cut]:
        if word in inputs:
            name = word
            edited[name] = inputs[name].decode()
        else:
            edited[name] = edit(name, edited[name], word)
    for word in words[cut + 1:]:
        if word == ";;":
            commands.append([])
        else:
            commands[-1].append(word)
    return {name: text.encode() for name, text in edited.items()}, commands
