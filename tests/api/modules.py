#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the modules of the library depend on those below them only.

    modules.py [--nm NM --archive LIBRARY] [--arrows MOST]

The order of the modules is that of lib/meson.build, lowest first.  A file may include headers of
its own module, of those below it, and of include/.  Two files of lib/, or two of cli/, never have
the same name.  With --archive, the objects of the static library are asked as well: none uses a
symbol that a module above it defines, whatever header declares it.

An arrow goes from a module to another that it uses, by a header or a symbol.  None goes upwards,
and there are at most ARROWS_MAX.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ARROWS_MAX = 190
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
# What nm -A prints: "libreckon.a:io_json.c.o:0000000000000000 T rk_json_load".
SYMBOL = re.compile(r"[^:]*:(?P<object>[^:]+):\s*[0-9a-f]*\s+(?P<kind>\w) (?P<name>\S+)")


def read_order(root):
    """The modules as lib/meson.build lists them."""
    text = (root / "lib/meson.build").read_text()
    return re.findall(r"^subdir\('(\w+)'\)", text, re.M)


def sources(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in (".c", ".h"))


def check_names(root):
    for tree in ("lib", "cli"):
        first = {}
        for path in sources(root / tree):
            other = first.setdefault(path.name, path)
            if other != path:
                yield f"{path.relative_to(root)} has the name of {other.relative_to(root)}"


def check_includes(root, order, arrows):
    level = {module: i for i, module in enumerate(order)}
    for path in sources(root / "lib"):
        where = path.relative_to(root)
        module = where.parts[1]
        if module not in level:
            yield f"{where}: lib/meson.build does not list module {module}"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            other = match[1].split("/")[0]
            if other == "reckon":
                continue
            if other not in level:
                yield f"{where}:{number}: {match[1]} is a header of no module"
                continue
            arrows.add((module, other))
            if level[other] > level[module]:
                yield f"{where}:{number}: {match[1]} belongs to a module above {module}"


def modules_of_objects(root, order):
    """Object names begin with the module (io_json.c.o), but for those of a library of their own."""
    found = {"catalogue.c.o": "io", "residual_residual_table.c.o": "residual",
             "residual_memory_residual_table.c.o": "residual",
             "system_flash_table.c.o": "system"}
    for path in (root / "lib").glob("*/*.c"):
        module = path.parent.name
        if module in order:
            found[f"{module}_{path.name}.o"] = module
            found.setdefault(f"{path.name}.o", module)
    return found


def check_symbols(root, order, nm, archive, arrows):
    level = {module: i for i, module in enumerate(order)}
    modules = modules_of_objects(root, order)
    defined, used = {}, []
    lines = subprocess.run([nm, "-A", archive], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        match = SYMBOL.match(line)
        if not match:
            continue
        name = pathlib.PurePath(match["object"]).name
        name = re.sub(r"^meson-generated_(?:\.\._)*(?:data_)?", "", name)
        if name not in modules:
            yield f"{archive}: {name} is no source of lib/"
        elif match["kind"] == "U":
            used.append((modules[name], name, match["name"]))
        elif match["kind"].isupper():
            defined[match["name"]] = modules[name]
    if not any(name in defined for _, _, name in used):
        yield f"{archive}: no object uses another"
    for module, name, symbol in used:
        other = defined.get(symbol, module)
        arrows.add((module, other))
        if level[other] > level[module]:
            yield f"{name}: uses {symbol} of {other}, which is above {module}"


def check_arrows(order, arrows, most):
    between = {(module, other) for module, other in arrows if module != other}
    if len(between) <= most:
        return
    yield f"{len(between)} arrows between modules, {most} at most: let a module use fewer others"
    for module in order:
        used = [other for other in order if (module, other) in between]
        yield f"  {module} uses {len(used)}: {' '.join(used)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--nm")
    parser.add_argument("--archive")
    parser.add_argument("--arrows", type=int, default=ARROWS_MAX, help="most that are allowed")
    arguments = parser.parse_args()
    order = read_order(arguments.root)
    if "base" not in order:
        sys.exit("modules.py: lib/meson.build lists no modules")
    arrows = set()
    faults = [*check_names(arguments.root), *check_includes(arguments.root, order, arrows)]
    if arguments.archive:
        faults += check_symbols(arguments.root, order, arguments.nm, arguments.archive, arrows)
    faults += check_arrows(order, arrows, arguments.arrows)
    for fault in dict.fromkeys(faults):
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
