#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes python/reckon/__init__.pyi: every function with its options as typed keywords.

    tools/python_stub.py [--check]

The options are those of the commands, by the schemas of their requests, so that a type checker and
an editor know each of them.  --check compares the file with what would be written.  RECKON_LIBRARY
names the library.
"""

import ast
import keyword
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/reckon"
sys.path.insert(0, str(PACKAGE.parent))
import reckon  # noqa: E402

HEADER = '''\
# SPDX-License-Identifier: Apache-2.0
# Written by tools/python_stub.py from the options of the commands; not edited by hand.
from __future__ import annotations

import os
from typing import (
    Any, Dict, Iterable, Literal, Mapping, Optional, Sequence, SupportsFloat, SupportsIndex, Union,
)

from ._library import NothingFitsError as NothingFitsError
from ._library import ProgressCallback as ProgressCallback
from ._library import ReckonError as ReckonError
from ._library import catalogue as catalogue
from ._library import print_progress as print_progress
from ._library import version as version
'''
ALIASES = '''\

Document = Union[str, "os.PathLike[str]", Mapping[str, Any]]
Count = Union[str, SupportsIndex, None]
Counts = Union[Count, Sequence[Union[str, SupportsIndex]]]
Number = Union[str, SupportsFloat, SupportsIndex, None]
Numbers = Union[Number, Sequence[Union[str, SupportsFloat, SupportsIndex]]]
Path = Union[str, "os.PathLike[str]", None]
Facts = Union[str, Mapping[str, Any], None]
Words = Union[str, "os.PathLike[str]", Sequence[str]]
'''
# Options that the functions set themselves.
OWN = {"json", "csv", "help", "output", "emit", "verbose"}


def name_type(member):
    """The annotation of an option by its schema."""
    kinds = member.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "enum" in member:
        return f"Optional[Literal[{', '.join(repr(v) for v in member['enum'] if v)}]]"
    items = member.get("items", {})
    if "array" in kinds and "enum" in items:
        return "Union[str, Sequence[str], None]"
    if "array" in kinds:
        return "Counts" if "integer" in kinds else "Numbers"
    if "object" in kinds:
        return "Optional[Document]"
    if "boolean" in kinds:
        return "Optional[bool]"
    if "integer" in kinds:
        return "Count"
    return "Number" if kinds[0] == "number" else "Path"


def keywords_of(command, own):
    """Options as keywords, under every name that is an identifier."""
    members = reckon.schema(command)["properties"]
    for name, member in sorted(members.items()):
        target = member.get("$ref", "").rsplit("/", 1)[-1] or name
        if name.isidentifier() and not keyword.iskeyword(name) and target not in OWN | own:
            kind = "Facts" if name == "set" else name_type(members[target])
            yield f"    {name}: {kind} = ...,\n"


# The command whose options a function takes, where it has another name.
COMMANDS = {"emit": "estimate"}


def write_function(node):
    """A function of the package; one that takes **options has them written out."""
    arguments = node.args
    own = {a.arg for a in arguments.args + arguments.kwonlyargs} | {"from", "name"}
    text = f"def {node.name}(\n"
    first_default = len(arguments.args) - len(arguments.defaults)
    for i, argument in enumerate(arguments.args):
        text += f"    {argument.arg}: {ast.unparse(argument.annotation)}"
        text += ",\n" if i < first_default else " = ...,\n"
    if arguments.kwonlyargs:
        text += "    *,\n"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        text += f"    {argument.arg}: {ast.unparse(argument.annotation)}"
        text += ",\n" if default is None else " = ...,\n"
    if arguments.kwarg:
        text += "".join(keywords_of(COMMANDS.get(node.name, node.name), own))
    return text + f") -> {ast.unparse(node.returns)}: ...\n"


# Options of `estimate` that choose documents, or what is searched and written.
NOT_OF_PREDICTOR = {"model", "system", "from", "reader", "set", "complete", "explain", "operators", "changes",
                    "max-memory", "max_memory", "threads", "top", "bounded", "exhaustive", "layout",
                    "gpus_per_node", "method"}


def write_predictor():
    """The class Predictor, whose calls take the fields of a strategy."""
    fields = "".join("    " + line for line in keywords_of("estimate", NOT_OF_PREDICTOR))
    setup = {"framework", "stack", "mfu_convention"}
    choices = "".join("    " + line for line in keywords_of("estimate", NOT_OF_PREDICTOR - setup))
    rows = "".join(f"        {line.split(':')[0].strip()}: Column = ...,\n"
                   for line in keywords_of("estimate", NOT_OF_PREDICTOR | setup))
    return (
        "\nColumn = Union[Count, Number, bool, Iterable[Union[str, SupportsFloat, SupportsIndex]]]\n\n"
        "class Predictor:\n"
        "    def __init__(\n        self,\n        model: Document,\n        system: Document,\n"
        f"        *,\n        max_memory_bytes: float = ...,\n{choices}    ) -> None: ...\n"
        f"    def __call__(\n        self,\n        *,\n{fields}    ) -> Prediction: ...\n"
        f"    def all(\n        self,\n        *,\n{rows}    ) -> Predictions: ...\n")


def write_stub():
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    text = HEADER
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module in ("_pictures", "predictor", "results"):
            text += "".join(f"from .{node.module} import {n.name} as {n.name}\n" for n in node.names
                            if n.name[0].isupper() and n.name != "Predictor")
    text += ALIASES + write_predictor()
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name[0] != "_"]
    for node in functions:
        text += "\n" + write_function(node)
    return text + "\n__version__: str\n"


def main():
    path = PACKAGE / "__init__.pyi"
    text = write_stub()
    if "--check" not in sys.argv[1:]:
        path.write_text(text, encoding="utf-8")
        return 0
    if path.read_text(encoding="utf-8") != text:
        print(f"{path}: out of date; run tools/python_stub.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
