#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the symbols of the library.

    symbols.py NM SHARED STATIC INCLUDE

The shared library exports what the headers below INCLUDE declare RK_API, and nothing else.  Every
global symbol of the static library begins with rk_, so that it can be linked into any program.
Names that begin with an underscore belong to the compiler.
"""

import pathlib
import re
import subprocess
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
# "RK_API const char *rk_version(void);": the name is what stands before "(", "[" or ";".
DECLARATION = re.compile(r"\bRK_API\s+(?!_)[^;(\[]*?\b(\w+)\s*(?:\(|\[|;)")


def list_declared(include):
    names = set()
    for header in sorted(include.rglob("*.h")):
        text = COMMENT.sub(" ", header.read_text())
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        names.update(DECLARATION.findall(text))
    return names


def list_defined(nm, option, library):
    lines = subprocess.run([nm, option, "--defined-only", library], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    fields = [line.split() for line in lines]
    names = {field[2] for field in fields if len(field) == 3}
    return {name for name in names if not name.startswith("_")}


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    nm, shared, static, include = sys.argv[1:]
    declared = list_declared(pathlib.Path(include))
    exported = list_defined(nm, "-D", shared)
    members = list_defined(nm, "-g", static)
    faults = [f"{name} is declared RK_API, but not exported" for name in declared - exported]
    faults += [f"{name} is exported, but no header declares it" for name in exported - declared]
    faults += [f"{name} has no rk_ prefix" for name in members if not name.startswith("rk_")]
    if not declared or not declared <= members:
        faults.append(f"{static} lacks functions of the headers")
    for fault in sorted(faults):
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
