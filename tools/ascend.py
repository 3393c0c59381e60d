#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What techniques of training on Ascend clusters are worth, by the reckon model: docs/ascend.md.

    tools/ascend.py BUILD/reckon > docs/ascend.md

Every row estimates a step (or a collective) without and with one technique, on nodes of Ascend
910B2, on a CloudMatrix of Ascend 910C, whose ranks are dies, and on nodes of H800.
"""

import json
import subprocess
import sys
import tempfile

# Groups that span levels: 8 nodes, two supernodes.
LEVELS = (("atlas-800t-a2", "910B2, 8 nodes of 8", 64), ("cloudmatrix-384", "910C, 2 supernodes of 768", 1536),
          ("deepseek-v3-h800", "H800, 8 nodes of 8", 64))
CLUSTERS = (("atlas-800t-a2", "910B2"), ("cloudmatrix-384", "910C"), ("deepseek-v3-h800", "H800"))
DENSE = ["--model", "llama3-70b", "-p", "64", "-b", "128", "--tp", "8", "--pp", "4",
         "--micro-batch", "1", "--cp", "1", "--vp", "1", "--ep", "1", "--etp", "1", "--zero", "1"]
SMALL = ["--model", "gpt2-small", "-p", "8", "-b", "64", "--seq", "512", "--tp", "1", "--pp", "1",
         "--micro-batch", "1", "--cp", "1", "--vp", "1", "--ep", "1", "--etp", "1", "--zero", "1",
         "--recompute", "none"]
EXPERTS = ["--model", "qwen3-30b-a3b", "-p", "64", "-b", "512", "--seq", "4096", "--tp", "1", "--pp", "2",
           "--vp", "2", "--ep", "16", "--micro-batch", "1", "--cp", "1", "--etp", "1", "--zero", "1",
           "--recompute", "selective"]
MiB = 1 << 20

class Reckon:
    def __init__(self, program):
        self.program = program

    def ask(self, *arguments):
        done = subprocess.run([self.program, *arguments, "--json"], capture_output=True, text=True)
        if not done.stdout.startswith("{"):
            return None
        return json.loads(done.stdout)

    def step(self, system, *arguments, without=None):
        """Seconds of a step, less a part of it; None where it does not fit or is not legal."""
        answer = self.ask("estimate", "--system", system, *arguments)
        if not answer or not answer["estimate"]["fits"]:
            return None
        estimate = answer["estimate"]
        return estimate["step_s"] - (estimate["time_s"][without] if without else 0)

    def ways(self, system, ranks, size, *more):
        """Seconds and chunks of each way to run an all-reduce."""
        answer = self.ask("comm", "all-reduce", "--system", system, "--ranks", str(ranks),
                          "--bytes", str(size), "--algorithm", "all", *more)
        return {c["algorithm"]: (c["seconds"], c.get("chunks", 1)) for c in answer["collectives"]}

    def document(self, name):
        return json.loads(subprocess.run([self.program, "show", "--json", name],
                                         capture_output=True, text=True, check=True).stdout)

    def stack_with_graphs(self, system, folder):
        """The stack of a system, if its graphs of layers save as many launches as Megatron's."""
        name = self.ask("estimate", "--system", system, *SMALL)["request"]["stack"]
        stack = self.document(name)
        stack["host"]["graph_share"] = self.document("megatron-2025")["host"]["graph_share"]
        path = f"{folder}/{name}.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(stack, file)
        return path


def shown(seconds):
    if seconds is None:
        return "does not fit"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def gain(before, after):
    if before is None or after is None:
        return "–"
    return f"{100 * (before / after - 1):+.1f} %"


def row(name, cells):
    print(f"| {name} | " + " | ".join(cells) + " |")


def compare(name, before, after):
    """A row of a step without and with, for each cluster."""
    row(name, [f"{shown(b)} → {shown(a)} ({gain(b, a)})" for b, a in zip(before, after)])


def steps(reckon, without, with_it):
    return ([reckon.step(system, *without) for system, _ in CLUSTERS],
            [reckon.step(system, *with_it) for system, _ in CLUSTERS])


def head(first):
    row(first, [name for _, name in CLUSTERS])
    print("|---" * (len(CLUSTERS) + 1) + "|")


def hierarchical(reckon):
    print("## Hierarchical all-reduce: serial, pipelined, concurrent\n")
    print("Reduce-scatter inside a node or supernode, a ring between, all-gather inside. *Serial*: one phase")
    print("after the other. *Pipelined*: the tensor is cut into chunks, and the links inside work on one chunk")
    print("while the NICs work on another; the fastest number of chunks is in brackets. A chunk is priced as a")
    print("collective of its own, so small tensors gain nothing. *Concurrent*: HCCL's pipeline, which hands each chunk")
    print("that arrives from the next server to the ranks of the own server over their mesh; switches have no such")
    print("form. *One ring*: a ring through all ranks for each NIC, which needs a switch inside.\n")
    print("| cluster | size | serial | pipelined | concurrent | one ring |")
    print("|---|---|---|---|---|---|")
    for system, name, ranks in LEVELS:
        for size in (1, 16, 256, 1024):
            serial = reckon.ways(system, ranks, size * MiB, "--chunks", "1")["ring"][0]
            ways = reckon.ways(system, ranks, size * MiB, "--chunks", "0")
            whole = reckon.ways(system, ranks, size * MiB)
            cells = [f"{shown(ways['ring'][0])} ({ways['ring'][1]}; {gain(serial, ways['ring'][0])})"]
            for way in ("concurrent", "flat-ring"):
                seconds = whole.get(way, (None,))[0]
                cells.append(f"{shown(seconds)} ({gain(serial, seconds)})" if seconds else "–")
            row(name, [f"{size} MiB", shown(serial), *cells])
    print("\nOn H800 one ring is slow for small tensors: its 126 steps go through all 64 ranks at the latency of")
    print("the NICs, where the ring between nodes has 14. At 1 GiB it moves 1.97 of the tensor over the 8 NICs of a")
    print("node, the hierarchical form 1.75, but it keeps NVLink and NICs at work together without chunks. On 910B2")
    print("the mesh and the NICs take about as long as each other, so both at once nearly halve the time. Between two")
    print("supernodes the NICs of 768 dies each carry 1/768 of the tensor: UB needs almost all of the time, and overlap gains")
    print("nothing.")
    print("\nThe 64 ranks of the table below are in one supernode of 910C, which has no levels: an all-reduce takes")
    print(", ".join(f"{shown(reckon.ways('cloudmatrix-384', 64, size * MiB)['ring'][0])} of {size} MiB"
                    for size in (1, 16, 256, 1024)) + " there.")


def techniques(reckon, folder):
    print("\n## A step without and with a technique\n")
    head("technique")
    plain = [*DENSE, "--recompute", "selective"]
    compare("TP traffic over HCCS, UB or NVLink → split over it and the side links (1)",
            *steps(reckon, plain, [*plain, "--side-links"]))
    compare("TP, gradients and parameters exposed → hidden (1)",
            *steps(reckon, [*plain, "--overlap", "none"], [*plain, "--overlap", "tp,grad,param,pp"]))
    compare("all-to-all of experts exposed → hidden (2)",
            [reckon.step(system, *EXPERTS) for system, _ in CLUSTERS],
            [reckon.step(system, *EXPERTS, without="ep_comm") for system, _ in CLUSTERS])
    graphs = [reckon.step(system, *SMALL, "--graph-capture", "--stack",
                          reckon.stack_with_graphs(system, folder)) for system, _ in CLUSTERS]
    compare("kernels launched one by one → a graph for each layer (3)",
            [reckon.step(system, *SMALL) for system, _ in CLUSTERS], graphs)
    compare("kernels launched one by one → the step as one graph, sunk to the device (4)",
            *steps(reckon, SMALL, [*SMALL, "--graph-step"]))
    compare("attention unfused → fused as flash attention (1)",
            *steps(reckon, [*DENSE, "--attention", "unfused", "--recompute", "full"],
                   [*DENSE, "--attention", "flash", "--recompute", "full"]))
    compare("recompute full → selective (1)",
            *steps(reckon, [*DENSE, "--recompute", "full"], [*DENSE, "--recompute", "selective"]))
    compare("recompute selective → none (1)",
            *steps(reckon, [*DENSE, "--recompute", "selective"], [*DENSE, "--recompute", "none"]))
    print("\n1. Llama 3 70B on 64 accelerators, TP 8, PP 4, batch 128, micro-batch 1.")
    print("2. Qwen3 30B-A3B on 64 accelerators, EP 16, PP 2, VP 2, batch 512 of 4,096 tokens: an upper limit.")
    print("   The estimate itself hides no all-to-all on these stacks (mindspeed; on H800 megatron-2025).")
    print("3. GPT-2 small on 8 accelerators, one sequence of 512 tokens in a micro-batch: the host launches kernels")
    print("   more slowly than they run. The graphs leave 42 % of the launches, as in the stacks of Megatron;")
    print("   on Ascend that is an assumption: no measurement is at hand, and the mindspeed stack itself saves nothing.")
    print("4. The same; nothing is left to launch, an upper limit.")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    reckon = Reckon(sys.argv[1])
    print("# What techniques are worth on Ascend clusters\n")
    print("Written by `tools/ascend.py BUILD/reckon`; estimates of the reckon model, not measurements.")
    print("The documents of Ascend machines mark what in them is uncertain (`reckon show ascend-910b2`).\n")
    hierarchical(reckon)
    with tempfile.TemporaryDirectory() as folder:
        techniques(reckon, folder)
    print("\nSide links of an accelerator, each way (`--side-links`):\n")
    for system, name in CLUSTERS:
        for side in reckon.document(system)["tiers"][0]["side_links"]:
            print(f"- {name}: {side['name']}, {side['bandwidth_GBps']:g} GB/s. {side['source']}")
    print("\nTheir gain is an upper limit: they are taken to be idle. Where PCIe and the NIC share an uplink,")
    print("the two add up to it.")


if __name__ == "__main__":
    main()
