#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What techniques of training on Ascend clusters are worth, by the reckon model: docs/ascend.md.

    tools/ascend.py BUILD/reckon > docs/ascend.md

Every row estimates a step (or a collective) without and with one technique, on nodes of Ascend
910B2, on a CloudMatrix of Ascend 910C and on nodes of H800.
"""

import json
import subprocess
import sys
import tempfile

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

# Links beside those of the first tier, GB/s of an accelerator each way.
SIDES = {
    "atlas-800t-a2": [("RoCE", 25, 40, "NIC of 200 Gb/s")],
    "cloudmatrix-384": [("RoCE", 50, 40, "NIC of 400 Gb/s; CANN AnyPath uses HCCS, SIO and RoCE together "
                         "(hiascend.com, tech article of 2025-04-28)")],
    "deepseek-v3-h800": [("PCIe", 25, 30, "half of PCIe 5 x16, which the NIC shares"),
                         ("NDR", 25, 40, "FlexLink, arXiv 2510.15882")],
}


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

    def ways(self, system, ranks, size):
        answer = self.ask("comm", "all-reduce", "--system", system, "--ranks", str(ranks),
                          "--bytes", str(size), "--algorithm", "all")
        return {c["algorithm"]: c["seconds"] for c in answer["collectives"]}

    def with_sides(self, system, folder):
        """The document of a system whose innermost tier has links beside its own."""
        document = json.loads(subprocess.run([self.program, "show", "--json", system],
                                             capture_output=True, text=True, check=True).stdout)
        accelerator = json.loads(subprocess.run(
            [self.program, "show", "--json", document["accelerator"]],
            capture_output=True, text=True, check=True).stdout)
        tiers = document.setdefault("tiers", accelerator["tiers"])
        tier = tiers[0]
        if "as" in tier:
            base = next(t for t in accelerator["tiers"] if t["name"] == tier["as"])
            tier = {**base, **{key: value for key, value in tier.items() if key != "as"}}
        tier["side_links"] = [{"name": name, "bandwidth_GBps": rate, "efficiency": 0.9,
                               "latency_us": latency, "source": source}
                              for name, rate, latency, source in SIDES[system]]
        document["tiers"][0] = tier
        path = f"{folder}/{system}.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
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


def collectives(reckon):
    print("## All-reduce over servers: one level after the other, or both at once\n")
    print("64 ranks. By levels: reduce-scatter inside, ring between, all-gather inside. At once: HCCL's")
    print("pipeline where servers are meshes (910B2), a ring for every NIC where they are switches (H800).")
    print("The 64 ranks of the CloudMatrix share one UB switch and have no levels.\n")
    head("size")
    for size in (1, 16, 256, 1024):
        cells = []
        for system, _ in CLUSTERS:
            ways = reckon.ways(system, 64, size * MiB)
            at_once = ways.get("concurrent", ways.get("flat-ring"))
            cells.append(f"{shown(ways['ring'])} → {shown(at_once)} ({gain(ways['ring'], at_once)})"
                         if at_once else shown(ways["ring"]))
        row(f"{size} MiB", cells)


def techniques(reckon, folder):
    print("\n## A step without and with a technique\n")
    head("technique")
    plain = [*DENSE, "--recompute", "selective"]
    sides = [reckon.step(reckon.with_sides(system, folder), *plain) for system, _ in CLUSTERS]
    compare("TP traffic over the links of the tier → and side links (1)",
            [reckon.step(system, *plain) for system, _ in CLUSTERS], sides)
    compare("TP, gradients and parameters exposed → hidden (1)",
            *steps(reckon, [*plain, "--overlap", "none"], [*plain, "--overlap", "tp,grad,param,pp"]))
    compare("all-to-all of experts exposed → all of it hidden (2)",
            [reckon.step(system, *EXPERTS) for system, _ in CLUSTERS],
            [reckon.step(system, *EXPERTS, without="ep_comm") for system, _ in CLUSTERS])
    compare("kernels launched one by one → layers as graphs (3)",
            *steps(reckon, SMALL, [*SMALL, "--graph-capture"]))
    compare("kernels launched one by one → the step as one graph, sunk to the device (3)",
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
    print("3. GPT-2 small on 8 accelerators, one sequence of 512 tokens a microbatch: the host launches kernels")
    print("   more slowly than they run. No measurement says what graphs of layers save with mindspeed, so its")
    print("   document (`graph_share`) saves nothing; a sunk graph has no launches left, an upper limit.")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    reckon = Reckon(sys.argv[1])
    print("# What techniques are worth on Ascend clusters\n")
    print("Written by `tools/ascend.py BUILD/reckon`; estimates of the reckon model, not measurements.")
    print("The documents of Ascend machines mark what in them is uncertain (`reckon show ascend-910b2`).\n")
    collectives(reckon)
    with tempfile.TemporaryDirectory() as folder:
        techniques(reckon, folder)
    print("\nSide links of an accelerator, each way:\n")
    for system, name in CLUSTERS:
        print(f"- {name}: " + ", ".join(f"{link} {rate} GB/s ({source})"
                                        for link, rate, _, source in SIDES[system]))
    print("\nWhat they add is an upper limit: they are taken to be idle, and where PCIe and the NIC share an")
    print("uplink, the two have to add up to it.")


if __name__ == "__main__":
    main()
