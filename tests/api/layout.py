#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes and offsets of the public structs and values of the public enums, against a record.

    layout.py [--record] INCLUDE COMPILER...

A program that was built with an older header passes its own, shorter structs, so members are only
ever added at the end, and values of enums never change.  A change of layout.txt shows whether that
is so; --record renews it.  Layouts are those of 64-bit machines (LP64); elsewhere this is skipped.
"""

import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

RECORD = pathlib.Path(__file__).resolve().parent / "layout.txt"
SKIPPED = 77  # what meson takes for it


def headers(include):
    names = sorted(path.name for path in (include / "reckon").glob("*.h"))
    return "".join(f"#include <reckon/{name}>\n" for name in names)


def members_of(body):
    """The names of the members of a struct, those of anonymous unions too."""
    body = re.sub(r"\bunion\s*\{([^{}]*)\}\s*;", r"\1", body)
    for member in filter(str.strip, body.split(";")):
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", member)
        if pointer:
            yield pointer[1]
            continue
        for part in re.sub(r"\[[^\]]*\]", "", member).split(","):
            yield re.findall(r"\w+", part)[-1]


def blocks(text, kind):
    """(name, body) of every struct or enum whose name begins with rk_; anonymous ones have ""."""
    for match in re.finditer(kind + r"\s*(rk_\w+)?\s*\{", text):
        depth, at = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        yield match[1] or "", text[match.end():at - 1]


def program(text, include):
    lines = [headers(include), "#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{\n"]
    for name, body in blocks(text, "struct"):
        if not name:
            continue
        lines.append(f'    printf("struct {name} %zu\\n", sizeof(struct {name}));\n')
        for member in members_of(body):
            lines.append(f'    printf("    {member} %zu %zu\\n", offsetof(struct {name}, {member}), '
                         f"sizeof(((struct {name} *)0)->{member}));\n")
    for name, body in blocks(text, "enum"):
        values = [part.split("=")[0].strip() for part in body.split(",") if part.strip()]
        if not all(value.startswith("RK_") for value in values):
            continue
        implicit = [part.strip() for part in body.split(",") if part.strip() and "=" not in part
                    and not part.strip().endswith("_COUNT") and name != "rk_schedule_kind"]
        if implicit:
            sys.exit(f"enum {name}: give {', '.join(implicit)} a number, which later versions keep")
        lines.append(f'    printf("enum {name}\\n");\n')
        lines += [f'    printf("    {value} %d\\n", (int){value});\n' for value in values]
    return "".join(lines) + "    return 0;\n}\n"


def layout(include, compiler):
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder) / "layout.c", pathlib.Path(folder) / "layout"
        source.write_text(headers(include))
        command = [*compiler, f"-I{include}"]
        text = subprocess.run([*command, "-E", "-P", source], check=True, capture_output=True,
                              text=True).stdout
        source.write_text(program(text, include))
        subprocess.run([*command, source, "-o", binary], check=True)
        return subprocess.run([binary], check=True, capture_output=True, text=True).stdout


def main():
    arguments = [word for word in sys.argv[1:] if word != "--record"]
    if sys.maxsize < 2**32:
        return SKIPPED
    found = layout(pathlib.Path(arguments[0]).resolve(), arguments[1:])
    if "--record" in sys.argv:
        RECORD.write_text(found)
        return 0
    recorded = RECORD.read_text()
    sys.stdout.writelines(difflib.unified_diff(recorded.splitlines(True), found.splitlines(True),
                                               "layout.txt", "the headers"))
    if found != recorded:
        print("the public structs or enums have changed: programs that were built before still "
              "work only if members were added at the end; then renew the record with --record")
    return found != recorded


if __name__ == "__main__":
    sys.exit(main())
