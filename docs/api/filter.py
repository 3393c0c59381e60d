#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Doxygen reads of a header: comments of C become those of Doxygen.

    filter.py HEADER

A comment that starts a line documents what follows it, one behind a declaration documents that.
In a struct, a comment on a line of its own documents all names up to the next blank line, and a
declaration of several names gives each of them its comment.  The first comment of a header is about
the file.
"""

import re
import sys

BLOCK = re.compile(r"^( *)/\*(?!\*)( |$)")
ALONE = re.compile(r"^ +/\* (.*) \*/$")
BEHIND = re.compile(r"^(.*\S) */\*(?!\*) (.*)$")
NAMES = r"\w[\w\[\]]*(?:, \w[\w\[\]]*)*"
DECLARATION = re.compile(rf"^( +)((?:(?:const|unsigned|struct|long) )*\w+ \*?)({NAMES});(?: */\*\*< (.*))?$")


def document(line, group):
    """Gives each name of a declaration its own comment, or that of its group."""
    match = DECLARATION.match(line)
    if not match:
        return line
    indent, kind, names, own = match.groups()
    text = own or (group and group + " */")
    if not text or "*/" not in text:
        return line
    return indent + " ".join(f"{kind}{name}; /**< {text}" for name in names.split(", "))


def convert(text):
    lines, about_file, group = [], True, None
    for line in text.splitlines():
        alone = ALONE.match(line)
        if line.startswith(("/* SPDX", "/* ----")):
            line = ""
        elif alone:
            group = alone[1]
            line = f"/** {group} */"
        elif BLOCK.match(line):
            rest = line[BLOCK.match(line).end():]
            line = f"/** @file\n * {rest}" if about_file else BLOCK.sub(r"\1/**\2", line)
            about_file = False
        elif not line.startswith("#") and not line.lstrip().startswith("*"):
            line = document(BEHIND.sub(r"\1 /**< \2", line), group)
            if group and "/**<" in line and lines[-1] == f"/** {group} */":
                lines.pop()
            group = group if line and "}" not in line else None
        lines.append(line)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        sys.stdout.write(convert(header.read()))
