#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build tool: writes the accelerators of data/accelerators whose attention kernels are measured as a C
table, so that others can be predicted by the nearest of them.

    flash_table.py FOLDER OUTPUT DEPFILE

defines what lib/system/flash_lent.h declares.  An accelerator on which a pass
of a kernel is timed and the other is not has the same ratio to cudnn in both.
"""
import json
import sys
from math import log
from pathlib import Path

LIBRARIES = {"cudnn": "RK_FLASH_CUDNN", "cudnn_fp8": "RK_FLASH_CUDNN_FP8",
             "cudnn_mxfp8": "RK_FLASH_CUDNN_MXFP8", "flash_attention_2": "RK_FLASH_2",
             "flash_attention_3": "RK_FLASH_3", "aiter": "RK_FLASH_AITER"}
PRECISIONS = {"bf16": "RK_BF16", "fp8": "RK_FP8", "fp4": "RK_FP4"}
PASSES = ("forward_tflops", "backward_tflops")


def ratios(document, library):
    """Rates of a kernel over those of cudnn, forward and backward."""
    usual, rates = document["flash"]["cudnn"], document["flash"][library]
    found = [rates[key] / usual[key] if key in rates else None for key in PASSES]
    return [one or found[0] or found[1] for one in found]


def complete(document):
    usual = document["flash"]["cudnn"]
    for library, rates in document["flash"].items():
        rates |= {key: usual[key] * ratio for key, ratio in zip(PASSES, ratios(document, library))}
        for key in ("prologue_keys", "softmax_elements"):
            rates.setdefault(key, usual.get(key, 0))


def distance(a, b):
    """As in lib/system/flash_lent.c."""
    pairs = [(a["attention"][key], b["attention"][key]) for key in PASSES]
    pairs += [(a["gemm"][key]["tflops"], b["gemm"][key]["tflops"]) for key in PRECISIONS
              if key in a["gemm"] and key in b["gemm"]]
    return sum(abs(log(x / y)) for x, y in pairs)


def apart(documents):
    """The most by which kernels of an accelerator differ, as a logarithm."""
    return max(abs(log(x)) for d in documents for library in d["flash"] for x in ratios(d, library))


def lent_error(documents, library):
    """The most by which a kernel, over cudnn, differs from that of the nearest other accelerator of its
    generation; of kernels that no two have, the most by which kernels differ."""
    errors = []
    for own in documents:
        others = [d for d in documents if d is not own and library in d["flash"]
                  and d["generation"] == own["generation"]]
        if library in own["flash"] and others:
            near = min(others, key=lambda other: distance(own, other))
            errors += [abs(log(x / y)) for x, y in zip(ratios(own, library), ratios(near, library))]
    return max(errors) if errors else apart(documents)


def entry(document):
    compute, memory, attention = (document[key] for key in ("compute", "memory", "attention"))
    members = [f".name = {json.dumps(document['name'])}",
               f".generation = RK_GENERATION_{document['generation'].upper()}",
               f".cores = {compute['cores']}", f".kernel_seconds = {compute['kernel_us']!r} * 1e-6",
               f".memory_bandwidth = {memory['bandwidth_GBps']!r} * 1e9",
               f".memory_efficiency = {memory['efficiency']!r}",
               f".attention_forward = {attention['forward_tflops']!r} * 1e12",
               f".attention_backward = {attention['backward_tflops']!r} * 1e12"]
    members += [f".gemm[{PRECISIONS[key]}].peak = {engine['tflops']!r} * 1e12"
                for key, engine in document["gemm"].items() if key in PRECISIONS]
    members += [f".flash[{LIBRARIES[library]}] = {{.forward = {rates['forward_tflops']!r} * 1e12, "
                f".backward = {rates['backward_tflops']!r} * 1e12, "
                f".prologue = {rates['prologue_keys']!r}, .softmax = {rates['softmax_elements']!r}}}"
                for library, rates in document["flash"].items()]
    return "    {" + ",\n     ".join(members) + "},\n"


def main(folder, output, depfile):
    paths = sorted(Path(folder).glob("*.json"))
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    documents = [d for d in documents if "cudnn" in d.get("flash", {})]
    Path(depfile).write_text(f"{output}: {' '.join(map(str, [folder, *paths]))}\n", encoding="utf-8")
    errors = {library: lent_error(documents, library) for library in LIBRARIES}
    differ = apart(documents)
    for document in documents:
        complete(document)
    with open(output, "w", encoding="utf-8") as out:
        out.write('#include "system/flash_lent.h"\n\nconst rk_accelerator rk_flash_lenders[] = {\n')
        out.writelines(entry(document) for document in documents)
        out.write(f"}};\nconst size_t rk_flash_lender_count = {len(documents)};\n\n"
                  "const double rk_flash_lent_errors[] = {\n")
        out.writelines(f"    [{LIBRARIES[key]}] = {error!r},\n" for key, error in errors.items())
        out.write(f"}};\nconst double rk_flash_apart = {differ!r};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
