#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the two implementations of the reckon model on random cases.

    run.py [--evaluate PROGRAM] [--cases N] [--seed S]      all parts of N cases
    run.py --case I [--seed S] [--show]                     one case, and all that differs

Exit status: 0 no difference, 1 differences, 2 the comparison could not run.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

import cases  # noqa: E402
from reference import collectives, documents, kernels, models, steps, strategies  # noqa: E402

RELATIVE = 1e-9  # of a value
ROUNDING = 1e-12  # of the sum that a part was taken out of
ATTEMPTS = 60  # to find a legal case

BLOCK_FIELDS = ("weight_seconds", "apart_sums", "apart_launches", "flops_forward",
                "flops_backward", "flops_recompute", "saved", "late", "unsaved",
                "transient", "wgrad_buffers", "dense", "whole", "experts", "low_dense", "low_experts", "adapters")
RATES = ("step", "model_flops", "hardware_flops", "mfu", "hfu", "tokens_per_second", "host_bytes")


class Evaluator:
    """The first implementation, a process that answers line by line."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, case):
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"run.py: the evaluator ended on {json.dumps(case)}")
        return json.loads(line)


# ---- the second implementation ----------------------------------------------------------------

class Catalogue:
    """Documents by name, each read once: systems with measured tables take time."""

    def __init__(self):
        self.systems = {}

    def system(self, system):
        if not isinstance(system, str):
            return documents.system_of(system)
        if system not in self.systems:
            self.systems[system] = documents.load_system(system)
        return self.systems[system]


def estimate(case, catalogue):
    model, stack = (documents.load(folder, value) if isinstance(value, str) else value
                    for folder, value in (("models", case["model"]), ("stacks", case["stack"])))
    model, stack = documents.model_of(model), documents.stack_of(stack)
    system = catalogue.system(case["system"])
    strategy = strategies.strategy_of(case["strategy"], model)
    found = steps.estimate(model, system, stack, strategy, case["convention"])
    return found, model, system, strategy


# ---- comparison -----------------------------------------------------------------------------

class Comparison:
    """Collects what differs, as (path, first, second)."""

    def __init__(self):
        self.differences, self.compared = [], 0

    def number(self, path, first, second, whole=0.0):
        self.compared += 1
        if second is None:
            return
        allowed = max(RELATIVE * max(abs(first), abs(second)), ROUNDING * abs(whole))
        if not abs(first - second) <= allowed:
            self.differences.append((path, first, second))

    def equal(self, path, first, second):
        self.compared += 1
        if first != second:
            self.differences.append((path, first, second))

    def parts(self, path, first, second, whole=None):
        self.equal(path + " names", sorted(first), sorted(second))
        whole = sum(abs(value) for value in first.values()) if whole is None else whole
        for name in first:
            self.number(f"{path}: {name}", first[name], second[name], whole)

    def block(self, path, first, second):
        for parts in ("forward", "backward", "sent_forward", "sent_backward"):
            self.parts(f"{path} {parts}", first[parts], getattr(second, parts))
        held = first["saved"] + first["unsaved"]
        wholes = {"saved": held, "unsaved": held, "weight_seconds": sum(first["backward"].values()),
                  "apart_launches": sum(first["backward"].values())}
        for name in BLOCK_FIELDS:
            self.number(f"{path} {name}", first[name], getattr(second, name), wholes.get(name, 0))


def compare_model(c, answer, model, strategy):
    p = models.model_parameters(model)
    for name, value in answer["parameters"].items():
        c.equal(f"parameters {name}", value, getattr(p, name))
    for key, frozen in (("flops", False), ("frozen_flops", True)):
        for name, value in answer[key].items():
            c.number(f"{key} {name}", value,
                     models.flops_per_token(model, strategy.seq, name, frozen))


def compare_blocks(c, answer, model, blocks):
    for index, (usual, checkpointed) in answer["layers"].items():
        layer = (model.layers + model.module)[int(index)]
        c.block(f"layer {index}", usual, blocks.layer(layer, False))
        c.block(f"layer {index} checkpointed", checkpointed, blocks.layer(layer, True))
    c.block("embedding", answer["embedding"], blocks.embedding)
    c.block("head", answer["head"], blocks.head)
    if "mtp" in answer:
        c.block("mtp", answer["mtp"], blocks.mtp)


def probe_seconds(probe, system):
    """A single kernel or collective."""
    a, p = system.accelerator, probe
    if "gemm" in p:
        work = (p["M"], p["N"], p["K"], p["accumulate"])
        if p["grouped"]:
            return kernels.grouped_gemm(a, p["gemm"], p["batch"], *work)
        return kernels.gemm(a, p["gemm"], *work, batch=p["batch"])
    if "attention" in p:
        return kernels.attention(a, p["flops"], p["seq"], p["heads"], p["size"], p["group"],
                                 p["share"], p["backward"])
    if "flash" in p:
        return kernels.flash(a, p["flash"], p["heads"], p["group"], p["queries"], p["keys"],
                             p["qk"], p["v"], p["window"], p["causal"], p["ordered"], p["backward"], p["sustained"])
    group = strategies.place_parts(system, p["size"], p["stride"], p["count"], p["apart"])
    return collectives.seconds_of(system, p["collective"], p["bytes"], group)


def compare(case, answer, found, model, system, strategy):
    c = Comparison()
    compare_model(c, answer, model, strategy)
    c.equal("layout by weight", answer["layout_by_weight"],
            strategies.layout_by_weight(model, strategies.stage_count(strategy)))
    for probe, seconds in zip(case["probes"], answer["probes"]):
        c.number(f"probe {json.dumps(probe)}", seconds, probe_seconds(probe, system))
    has_experts = any(layer.experts for layer in model.layers)
    for kind, placed in answer["groups"].items():
        if kind.startswith("expert") and not has_experts:
            continue  # replicas that divide all data ranks need not divide those of no experts
        group = strategies.group_of(system, strategy, kind)
        c.equal(f"group {kind}", placed, [group.size, *group.within])
    compare_blocks(c, answer, model, found.blocks)
    c.parts("step", answer["part"], found.part, answer["step"])
    c.parts("sent", answer["volumes"], found.volumes)
    for name in RATES:
        c.number(name, answer[name], getattr(found, name))
    for name in ("fits", "thrashes"):
        c.equal(name, answer[name], getattr(found, name))
    c.equal("ranks", len(answer["memories"]), len(found.memories))
    for rank, (first, second) in enumerate(zip(answer["memories"], found.memories)):
        c.parts(f"memory of rank {rank}", first["part"], second.part, first["total"])
        for name in ("allocated", "reserved", "total", "late"):
            c.number(f"memory of rank {rank}: {name}", first[name], getattr(second, name),
                     first["total"])
    return c


# ---- cases ----------------------------------------------------------------------------------

def legal_case(seed, index, evaluator, scratch, refused):
    """The first legal one of the cases of an index, and its answer."""
    rng = random.Random(f"{seed}:{index}")
    for _ in range(ATTEMPTS):
        case = cases.random_case(rng, scratch)
        answer = evaluator.ask(case)
        if "illegal" not in answer and "error" not in answer:
            return case, answer
        refused[answer.get("illegal") or answer["error"]] += 1
    return None, None


def report(seed, index, case, differences, show):
    print(f"case {index} (--seed {seed}) differs in {len(differences)} places")
    for path, first, second in differences if show else differences[:6]:
        relative = ""
        if isinstance(first, float) and first:
            relative = f"  ({second / first - 1:+.2e})"
        print(f"  {path}: {first!r} in C, {second!r} in Python{relative}")
    if show:
        print(json.dumps(case, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evaluate", default=os.path.join(
        HERE, "..", "..", "build", "tests", "reference", "reference_evaluate"))
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="index of the first case")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--case", type=int, help="one case, with all that differs")
    parser.add_argument("--show", action="store_true", help="print the cases that differ")
    parser.add_argument("--refused", action="store_true", help="print which rules refused cases")
    options = parser.parse_args()
    evaluator, catalogue, refused = Evaluator(options.evaluate), Catalogue(), Counter()
    one = options.case is not None
    indices = [options.case] if one else range(options.first, options.first + options.cases)
    evaluated = compared = different = 0
    with tempfile.TemporaryDirectory() as scratch:
        for index in indices:
            case, answer = legal_case(options.seed, index, evaluator, scratch, refused)
            if case is None:
                continue
            c = compare(case, answer, *estimate(case, catalogue))
            evaluated += 1
            compared += c.compared
            if c.differences:
                different += 1
                report(options.seed, index, case, c.differences, one or options.show)
    if options.refused:
        for rule, count in refused.most_common():
            print(f"{count:7} {rule}")
    print(f"{evaluated} cases, {compared} values compared, {different} cases differ")
    if not one and evaluated < 0.95 * len(indices):
        sys.exit("run.py: too few of the random cases are legal")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
