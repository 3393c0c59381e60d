#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the code cells of a notebook in their order; whatever a cell raises is a failure.

    notebook.py NOTEBOOK.ipynb

A cell that ends in an expression is shown as a notebook shows it, by its HTML or its SVG.
"""

import ast
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "python"))  # where the package is not installed


def run_cell(source, names):
    """Runs a cell, and renders the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = ast.Module(body=tree.body[:-1] if last else tree.body, type_ignores=[])
    exec(compile(body, "cell", "exec"), names)
    if last:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        for render in ("_repr_svg_", "_repr_html_"):
            if hasattr(value, render):
                assert getattr(value, render)().startswith("<")


def main():
    cells = json.loads(pathlib.Path(sys.argv[1]).read_text())["cells"]
    names, count = {}, 0
    for cell in cells:
        if cell["cell_type"] == "code":
            run_cell("".join(cell["source"]), names)
            count += 1
    print(f"{count} cells")
    return count == 0


if __name__ == "__main__":
    sys.exit(main())
