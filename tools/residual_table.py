#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build tool: writes a document of residuals as a C table, so that no command has to read it.

    residual_table.py DOCUMENT OUTPUT

defines rk_residuals_built_in or, of memory, rk_memory_residuals_built_in (lib/residual/interval.h), which
equals what rk_residuals_load reads.
"""
import json
import sys

TENSOR = {"none": "RK_TENSOR_NONE", "in a node": "RK_TENSOR_INSIDE",
          "across nodes": "RK_TENSOR_ACROSS"}
SHARDING = {"none": "RK_SHARD_NONE", "optimizer": "RK_SHARD_OPTIMIZER", "gradients": "RK_SHARD_GRADIENTS",
            "all": "RK_SHARD_ALL"}
FLAGS = {"moe": "moe", "several_nodes": "several", "low_precision": "low",
         "adapters": "frozen", "untuned": "untuned", "assumed": "assumed", "uncertain": "uncertain"}
TEXTS = {"source": "source", "model": "model", "stack": "key.stack", "family": "key.family",
         "product": "key.product", "line": "key.line"}


def errors(value):
    """Of each kind of runs: an object in the order of rk_residual_kind, or one number for all."""
    values = value.values() if isinstance(value, dict) else [value] * 3
    return "{" + ", ".join(map(repr, values)) + "}"


def member(cell, key):
    """A member of rk_residual_cell; a text is as quoted in C as in JSON."""
    if key in TEXTS:
        return f".{TEXTS[key]} = {json.dumps(cell[key])}"
    if key in FLAGS:
        return f".key.{FLAGS[key]} = {str(cell[key]).lower()}"
    if key == "tensor":
        return f".key.tensor = {TENSOR[cell[key]]}"
    if key == "sharding":
        return f".key.sharding = {SHARDING[cell[key]]}"
    sys.exit(f"residual_table.py: cells have no member '{key}'")


def rows_of(cells):
    groups, first = {}, 0
    for i, cell in enumerate(cells):
        peer = groups.setdefault((cell["source"], cell["model"], cell["line"]), i)
        members = [member(cell, key) for key in cell if key != "ratios"]
        members += [f".peer = {peer}", f".first = {first}", f".count = {len(cell['ratios'])}"]
        yield "    {" + ", ".join(members) + "},\n"
        first += len(cell["ratios"])


def main(document, output):
    with open(document, encoding="utf-8") as text:
        residuals = json.load(text)
    cells = residuals["cells"]
    of_memory = residuals["name"] == "memory_residuals"
    name = "rk_memory_residuals_built_in" if of_memory else "rk_residuals_built_in"
    ratios = [ratio for cell in cells for ratio in cell["ratios"]]
    with open(output, "w", encoding="utf-8") as out:
        out.write('#include "residual/interval.h"\n\nstatic const rk_residual_cell cells[] = {\n')
        out.writelines(rows_of(cells))
        out.write("};\n\nstatic const double ratios[] = {\n")
        out.writelines(f"    {ratio!r},\n" for ratio in map(float, ratios))
        out.write(f"}};\n\nconst rk_residuals {name} = {{\n    .of_memory = {str(of_memory).lower()},\n"
                  f"    .cells = cells, .cell_count = {len(cells)}, .ratios = ratios,\n"
                  f"    .ratio_count = {len(ratios)},\n"
                  f"    .source_error = {errors(residuals['source_error'])},\n"
                  f"    .pair_error = {errors(residuals['pair_error'])}}};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
