#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the code cells of notebooks in their order, and compares what they show with the stored outputs.

    notebook.py NOTEBOOK.ipynb... [--update]

--update stores the outputs. A cell that raises is a failure. Outputs are those of Jupyter, of which the
plain text of what has a richer form is left out.
"""

import ast
import contextlib
import io
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "python"))  # where the package is not installed
RICH = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def lines_of(text):
    return text.splitlines(keepends=True)


def show(value):
    """The forms of a value, as a notebook stores them."""
    forms = {kind: getattr(value, name)() for kind, name in RICH.items() if hasattr(value, name)}
    return {kind: lines_of(text) for kind, text in (forms or {"text/plain": repr(value)}).items()}


def run_cell(source, names, number):
    """Runs a cell; returns what it prints and the value of its last expression, as outputs."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value, printed = None, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if last:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines_of(printed.getvalue())})
    if value is not None:
        outputs.append({"data": show(value), "execution_count": number, "metadata": {},
                        "output_type": "execute_result"})
    return outputs


def bare(outputs):
    """Outputs without the plain text of what has a richer form."""
    kept = []
    for output in json.loads(json.dumps(outputs)):
        data = output.get("data", {})
        if len(data) > 1:
            data.pop("text/plain", None)
        kept.append({key: value for key, value in output.items() if key != "execution_count"})
    return kept


def check(path, update):
    """Returns the cells that show something else than is stored; updates them if asked to."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names, faults = {}, []
    for number, cell in enumerate(cells, 1):
        outputs = run_cell("".join(cell["source"]), names, number)
        if bare(outputs) != bare(cell["outputs"]):
            faults.append(f"{path.name}: cell {number} shows {outputs}, not {cell['outputs']}"[:2000])
        cell.update(outputs=outputs, execution_count=number)
    if update:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return []
    return faults if any(cell["outputs"] for cell in cells) else [f"{path.name}: no outputs"]


def main():
    paths = [pathlib.Path(word) for word in sys.argv[1:] if word != "--update"]
    faults = [fault for path in paths for fault in check(path, "--update" in sys.argv)]
    print("\n".join(faults) or f"{len(paths)} notebooks")
    return bool(faults) or not paths


if __name__ == "__main__":
    sys.exit(main())
