#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the catalogue has of a vendor, what of it is assumed, and how far off measured rows are.

    tools/vendors.py RECKON [PAGE...]     default: all pages of docs/vendors

A page is named by its vendor, as in docs/vendors/amd.md.
"""
import csv
import io
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNS = ",".join(f"data/runs/{name}.csv" for name in ("fit", "fit_2", "check", "check_2"))

# Title and text of each page, without the figures of its tables.
PAGES = {
    "amd": ("AMD", """\
Measured: the best matmul of MI300X and MI325X in 16 bits (ml-engineering), all-reduces inside a node of MI300X, the
best kernel of each GEMM on MI300X in 8 bits and on MI355X in 16, 8 and 4 bits (aiter), hipBLASLt in 8 bits on MI325X and
MI355X, and AITER's attention on MI355X. The 8-bit rates in training are fitted to rows of MLPerf that are marked fit;
with hipBLASLt's and aiter's own the rows of check are 4.1 % off in the median instead of 3.5 %.
Assumed: attention of the other accelerators, that of MI355X by their best matmul; MI300A, as the part of the same die by
units; MI455X, as announced.

Mixtures of experts that wait for the host several times a layer, as Primus does unless tuned (fused loss, DeepEP, no
synchronisation), are up to 62 % slower than predicted with small microbatches."""),
    "ascend": ("Huawei Ascend", """\
A rank is a die: `ascend-910c` is one of the two in a package (`ascend-910c-package`), and a node of Atlas A3 has 16.
`a3` is that die, `atlas-800t-a3` a node, `atlas-900-a3` (CloudMatrix 384) a supernode.

Measured: GEMMs in 16 bits and in fp32 of a 910B whose edition is not printed (FlagPerf). Fitted to the rows of MindSpeed
that are marked fit: HCCS inside a node. Assumed: attention, other links beyond their nominal rates, and the peaks of the
editions, which are recalled. 950DT is announced. [ascend.md](../ascend.md)
says what techniques are worth on these machines."""),
    "tpu": ("Google TPU", """\
Numbers in names of slices count TensorCores: `v5p-128` and `tpu7x-128` are 64 chips, `v5e-128` and `v6e-128` are 128.
`2xv5e-256` are two slices, and `2xtpu-v4-pod` two pods, joined by the data-centre network alone.

v5e and v5p have no fp8 engine: 8 bits are int8 there, and fp8 is refused. Measured: attention of v5p, memory of v7.
Assumed: GEMM efficiency, from large matmuls of v6e and v7; the data-centre network."""),
    "trainium": ("AWS Trainium", """\
`trainium1-core` is a NeuronCore, which logs of Neuron count; the other documents are chips. Nodes are tori of 16 chips;
UltraServers join four nodes by rings (Trainium 2) or have three levels of switches (Trainium 3).

Measured: all-reduces of two cores of Trainium 1 (nccom-test). GEMMs of Trainium 1 are fitted to the rows that are marked
fit; without them, at the generic 0.7, the rows of check are 3.6 % off in the median. No kernel was timed: peaks, memory,
hosts and the other links are AWS's, every other efficiency is a generic default."""),
    "gaudi": ("Intel Gaudi", """\
Measured: matmuls of Gaudi 2, the best one of Gaudi 3 (ml-engineering). Training in bf16 reaches 0.6 of them on Gaudi 2 and
a third on Gaudi 3, by rows marked fit. Assumed: attention, a third of the matrix rate; fp8 on Gaudi 3, twice bf16; and
that vector cores hide all memory-bound operators of a layer beside the matrix units. The first Gaudi has no document: no
source states its rates. The bias of split `fit` comes from a row of LoRA, which would need more than the peak of the
chip ([residuals.md](../residuals.md))."""),
    "cards": ("Consumer and workstation cards", """\
Measured: GEMMs and attention of L40S and of the server edition of RTX PRO 6000 (tables of aiconfigurator: short bursts,
attention of inference, forward alone); GEMMs of RTX 4090 are fitted to rows of fsdp_qlora that are marked fit. GeForce cards and L40 sum in fp32 at half the rate of their workstation siblings;
their shape constants are the sibling's at that rate, which is assumed, and so are the memory that a driver
leaves, and the host. Boards joined by PCIe share the switches of the host; bridges between two are not counted."""),
    "others": ("Other vendors", """\
Documents from published or recalled figures; every efficiency is assumed, save the GEMMs, memory and links of BI-V150,
which are measured (FlagPerf) while its peaks are not printed. Accelerators without a document, because a fact is missing,
are in `data/aliases/missing.csv`; the message about such a name says which fact."""),
}


def ask(reckon, *words):
    done = subprocess.run([reckon, *words], text=True, encoding="utf-8", stdin=subprocess.DEVNULL,
                          capture_output=True, cwd=ROOT, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return done.stdout


def page_of(document):
    generation = document["generation"]
    if document["line"] in ("b60", "iluvatar", "mtt"):
        return "others"
    if generation.startswith("cdna"):
        return "amd"
    if generation in PAGES:
        return generation
    inside = document["tiers"][0]
    return "cards" if inside["name"] in ("PCIe", "ConnectX-7") else None  # servers of NVIDIA: accuracy.md


def value(group, key, digits=4):
    doubtful = key in group.get("uncertain", ())
    return f"{'~' if doubtful else ''}{group[key]:.{digits}g}"


def tiers(document):
    parts = []
    for tier in document["tiers"]:
        size = f" {tier['size']} x" if "size" in tier else ""
        parts.append(f"{tier['name']}{size} {value(tier, 'bandwidth_GBps')}")
    return "; ".join(parts)


def facts(documents):
    yield "| accelerator | 16 bits, TFLOP/s | GEMMs reach | attention, TFLOP/s | memory, GB/s | links, GB/s one way |"
    yield "|---|--:|--:|--:|--:|---|"
    for document in documents:
        engine = document["gemm"].get("bf16") or document["gemm"]["fp16"]
        yield (f"| {document['name']} | {value(engine, 'tflops')} | {value(engine, 'efficiency')} | "
               f"{value(document['attention'], 'forward_tflops')} | "
               f"{value(document['memory'], 'bandwidth_GBps')} | {tiers(document)} |")


def summary(rows):
    errors = [float(row["step_error"]) for row in rows]
    inside = [float(row["step_p10_s"]) <= float(row["step_measured_s"]) <= float(row["step_p90_s"])
              for row in rows if row["step_p10_s"]]
    null = [abs(float(row["null_step_s"]) / float(row["step_measured_s"]) - 1)
            for row in rows if row["null_step_s"]]
    part = [f"{len(rows)}", f"{100 * statistics.median(map(abs, errors)):.1f}",
            f"{100 * statistics.mean(errors):+.1f}",
            f"{100 * statistics.mean(inside):.0f}" if inside else "",
            f"{100 * statistics.median(null):.1f}" if null else ""]
    return " | ".join(part)


def errors(documents, runs):
    names = {document["name"] for document in documents}
    groups = {}
    for row in runs:
        if row["accelerator"] in names and row["step_error"]:
            split = "fit" if "/fit" in row["file"] else "check"
            groups.setdefault((row["accelerator"], split), []).append(row)
    if not groups:
        yield "The tables of measured runs have no step time on such an accelerator."
        return
    yield "| accelerator | split | rows | median error, % | bias, % | within the interval, % | null model, % |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for (name, split), rows in sorted(groups.items()):
        yield f"| {name} | {split} | {summary(rows)} |"


def write(page, name, documents, runs):
    title, text = PAGES[name]
    lines = [f"# {title}", "",
             "Written by `tools/vendors.py` from what `reckon show` and `reckon validate` print.", "", text, "",
             "## Figures and their state", "",
             "`~`: assumed, derived, recalled, or measured under conditions other than training. Such an efficiency",
             "widens the interval of estimates. Each document names the source of each figure: `reckon show NAME`.",
             "", *facts(documents), "",
             "## Measured rows", "",
             "Step times of the tables in `data/runs`, and the error of the null model, one utilisation for each accelerator",
             "by the rows of split `fit`. Nothing is fitted to `check`.", "",
             *errors(documents, runs), ""]
    pathlib.Path(page).write_text("\n".join(lines), encoding="utf-8")


def main():
    reckon = str(pathlib.Path(sys.argv[1]).resolve())
    pages = sys.argv[2:] or [str(ROOT / "docs" / "vendors" / f"{name}.md") for name in PAGES]
    listed = json.loads(ask(reckon, "list", "accelerators", "--json"))["accelerators"]
    documents = [json.loads(ask(reckon, "show", "--json", entry["name"])) for entry in listed]
    runs = list(csv.DictReader(io.StringIO(ask(reckon, "validate", "--runs", RUNS, "--csv"))))
    for page in pages:
        name = pathlib.Path(page).stem
        write(page, name, [d for d in documents if page_of(d) == name], runs)


main()
