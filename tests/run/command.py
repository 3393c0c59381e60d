#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`reckon run` on random options, against the second implementation (second.py).

What the command makes of its options and of the documents of rates, prices and tiers is computed
here once more from the documents; parameters, the estimate of the step and its parts are taken
from the answer.

    command.py RECKON DATA [--cases N] [--seed N]
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys

import second
from second import DAY, HOUR

LAYOUTS = {
    "llama3-8b": [(8, 64, "--tp 1"), (64, 512, "--tp 2"), (256, 1024, "--tp 1")],
    "llama3-70b": [(64, 256, "--tp 8 --pp 2"), (512, 1024, "--tp 8 --pp 4")],
    "mixtral-8x7b": [(64, 512, "--tp 2 --ep 8")],
}
SYSTEMS = ("h100-sxm", "a100-sxm-80gb", "dgx-h100-superpod")


def document(data, kind, name):
    return json.loads((data / kind / (name + ".json")).read_text())


def reliability(data):
    """The published rate per accelerator and s, and what else its document says."""
    d = document(data, "reliability", "published")
    rates = [c["interruptions"] / (c["accelerators"] * c["days"] * DAY) for c in d["clusters"]
             if c.get("counted", True)]
    d["rate"] = math.prod(rates) ** (1 / len(rates))
    events = sum(c["events"] for c in d["components"])

    def share(key, usual):
        return sum(c["events"] for c in d["components"] if c.get(key, usual)) / events

    d["hangs"], d["hardware"] = share("hang", False), share("hardware", True)
    d["one_node"], d["silent"] = share("one_node", True), share("silent", False)
    return d


class Asked:
    """Random options, and the run that they mean."""

    def __init__(self, cases, data):
        self.cases, self.data, self.random = cases, data, cases.random
        self.model = self.random.choice(list(LAYOUTS))
        self.n, self.batch, layout = self.random.choice(LAYOUTS[self.model])
        self.system = self.random.choice(SYSTEMS)
        self.options = ["--model", self.model, "--system", self.system, "-p", str(self.n), "-b",
                        str(self.batch), "--seq", "8192", "--micro-batch", "1", "--zero", "1",
                        "--cp", "1", "--recompute", "full", "--simulate", "0", "--json"]
        self.options += layout.split()
        if "--pp" not in layout:
            self.options += ["--pp", "1"]
        self.given = {}
        self.draw()

    def number(self, option, low, high, chance=0.5):
        """An option with a number that may be given."""
        if self.random.random() < chance:
            self.given[option] = float("%.5g" % self.cases.between(low, high))
            self.options += ["--" + option, repr(self.given[option])]
        return self.given.get(option)

    def pair(self, option, first, second_):
        if self.random.random() < 0.3:
            a, b = (float("%.4g" % self.cases.between(*r)) for r in (first, second_))
            self.given[option] = (a, b)
            self.options += ["--" + option, "%r:%r" % (a, b)]

    def choice(self, option, values, chance=0.4):
        if self.random.random() < chance:
            self.given[option] = self.random.choice(values)
            self.options += ["--" + option, self.given[option]]

    def draw(self):
        self.number("tokens", 1e10, 1e14, 1)
        if self.number("step-time", 1, 100) is None:
            self.number("mfu", 5, 60)
        for option, low, high in (
                ("failures", 0.01, 20), ("restart", 0.1, 60), ("start", 0.1, 60),
                ("silent-corruption", 1, 3000), ("storage", 0.5, 1e4),
                ("checkpoint-every", 1, 600), ("stragglers", 0.1, 5), ("price", 0.5, 10),
                ("power", 300, 2000), ("idle-power", 50, 600), ("pue", 1, 2), ("carbon", 10, 900),
                ("token-bytes", 1, 8)):
            self.number(option, low, high, 0.4)
        self.pair("maintenance", (0.1, 20), (5, 60))
        self.pair("slow-devices", (1e-3, 1), (1, 30))
        if "price" not in self.given:
            self.choice("prices", ["published"])
        if "stragglers" in self.given and self.random.random() < 0.5:
            self.given["barriers"] = self.random.randint(1, 200)
            self.options += ["--barriers", str(self.given["barriers"])]
        if "storage" not in self.given:
            self.choice("checkpoint-tier", ["parallel-fs", "object-store"])
        if "checkpoint-every" in self.given:  # the best of two levels is compared by second.py
            self.choice("near-checkpoint", ["host", "peer-host", "nvme"])
        if self.random.random() < 0.3:
            self.given["async"] = True
            self.options.append("--async-checkpoint")
        if self.random.random() < 0.4:
            self.given["spares"] = self.random.randint(0, 20)
            self.options += ["--spares", str(self.given["spares"])]

    def tier_s(self, name, checkpoint, per_node):
        tier = next(t for t in document(self.data, "storage", "published")["tiers"]
                    if t["name"] == name)
        sharers = {"accelerator": self.n, "node": math.ceil(self.n / per_node), "system": 1}
        seconds = checkpoint / (tier["GBps"] * 1e9 * sharers[tier["per"]])
        return seconds + tier.get("latency_s", 0), tier["survives"]

    def step(self, estimate):
        """Of all workers, and of one of them."""
        step = estimate["step_s"]
        if "step-time" in self.given:
            step = self.given["step-time"]
        elif "mfu" in self.given:
            step = estimate["step_s"] * estimate["mfu"] * 100 / self.given["mfu"]
        noise = self.given.get("stragglers", 0) / 100
        barriers = self.given.get("barriers", 1)
        waiting = 1 + math.sqrt(barriers) * noise * second.kappa(self.n)
        share, slower = (v / 100 for v in self.given.get("slow-devices", (0, 0)))
        return step * waiting * (1 + slower * (1 - (1 - share) ** self.n))

    def power(self, estimate, step, prices):
        """W per accelerator in training and while it waits."""
        board = document(self.data, "accelerators", self.accelerator)["compute"]["power_W"]
        node, idle = board * prices["node_power"], board * prices["idle_power"]
        parts = estimate["time_s"]
        busy = sum(parts[k] for k in ("linear", "attention", "expert", "memory_bound", "cast",
                                      "head", "recompute", "optimizer"))
        training = idle + (node - idle) * min(1, busy / step)
        training = self.given.get("power", training)
        return training, self.given.get("idle-power", min(training, idle))

    def meant(self, answer):
        """The members of rk_training."""
        g, r = self.given, reliability(self.data)
        strategy, estimate = answer["strategy"], answer["estimate"]
        self.accelerator = answer["system"]["accelerator"]
        prices = document(self.data, "prices", "published")
        bytes_each = (strategy["weight_bytes_per_parameter"] +
                      strategy["optimizer_bytes_per_parameter"])
        checkpoint = bytes_each * answer["model"]["parameters"]
        step = self.step(estimate)
        t = dict.fromkeys(second.RUN, 0.0)
        stall = r["hangs"] * r["hang_s"] + (1 - r["hangs"]) * r["detect_s"]
        stall += r["standby_restart_s" if g.get("spares", 0) > 0 else "restart_s"]
        t.update({
            "tokens": g["tokens"], "tokens_per_step": self.batch * 8192, "step": step,
            "accelerators": self.n, "checkpoint": checkpoint,
            "failure_rate": g["failures"] / 1000 / DAY if "failures" in g else r["rate"],
            "restart": 60 * g["restart"] if "restart" in g else stall,
            "start": 60 * g["start"] if "start" in g else r["start_s"],
            "storage": g["storage"] * 1e9 if "storage" in g else 0.122e9 * self.n,
            "interval": 60 * g.get("checkpoint-every", 0),
            "silent_share": r["silent"], "silent": 60 * g.get("silent-corruption", 0),
            "planned_share": 0 if "failures" in g else r["planned_share"],
            "spares": g.get("spares", 0) * r["accelerators_per_node"],
            "pue": g.get("pue", prices["pue"]), "price": g.get("price", 0),
            "carbon": g.get("carbon", prices["carbon_g_per_kWh"] if "prices" in g else 0),
        })
        t["power"], t["idle_power"] = self.power(estimate, step, prices)
        if "prices" in g:
            t["price"] = next(h["price"] for h in prices["hours"]
                              if h["accelerator"] == self.accelerator)
        if "maintenance" in g:
            t["window"], t["window_every"] = g["maintenance"][0] * HOUR, g["maintenance"][1] * DAY
        if "async" in g:
            link = document(self.data, "accelerators", self.accelerator)["host"]
            t["host"] = link["bandwidth_GBps"] * 1e9 * link["efficiency"]
        if "checkpoint-tier" in g:
            t["storage"] = checkpoint / self.tier_s(g["checkpoint-tier"], checkpoint,
                                                    r["accelerators_per_node"])[0]
        if "near-checkpoint" in g:
            seconds, survives = self.tier_s(g["near-checkpoint"], checkpoint,
                                            r["accelerators_per_node"])
            t["near_write"] = t["near_read"] = seconds
            t["near_share"] = r["one_node"] if survives == "node" else 1 - r["hardware"]
        return t


KEYS = {"steps": "steps", "total": "total_s", "training": "training_s",
        "checkpoints": "checkpoints_s", "lost": "lost_s", "restarts": "restarts_s",
        "planned": "planned_s", "start": "start_s", "goodput": "goodput",
        "goodput_first": "goodput_first_order", "mtbf": "mtbf_s", "failures": "failures",
        "interval": "checkpoint_interval_s", "far_every": "near_copies_per_checkpoint",
        "writing": "checkpoint_write_s", "blocking": "checkpoint_blocking_s",
        "accelerator_hours": "accelerator_hours", "cost": "cost", "energy": "energy_J",
        "carbon": "carbon_kg"}


def compare(asked, answer):
    """None, or what differs."""
    result = second.training(asked.meant(answer))
    if result is None:
        return "refused here"
    for name, key in KEYS.items():
        known, found = result[name], answer["run"][key] or 0
        floor = 1e-3 * result["total"] if key in ("lost_s", "restarts_s", "checkpoints_s") else 0
        if abs(known - found) > 1e-6 * max(abs(known), abs(found), floor):
            return "%s is %.9g here, %.9g there" % (key, known, found)
    each = asked.given.get("token-bytes", 2 if answer["run"]["tokens"] < 0 else 4)
    if asked.model == "mixtral-8x7b" and "token-bytes" not in asked.given:
        each = 2  # a vocabulary of 32,000
    if abs(answer["run"]["data_bytes"] / (each * asked.given["tokens"]) - 1) > 1e-9:
        return "data_bytes"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reckon")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    cases = second.Cases(args.seed)
    failed = refused = 0
    for _ in range(args.cases):
        asked = Asked(cases, args.data)
        out = subprocess.run([args.reckon, "run"] + asked.options, capture_output=True, text=True,
                             check=False)
        if out.returncode == 2:
            refused += 1
            if not any(s in out.stderr for s in ("does not advance", "to write, the next",
                                                 "leave no time", "no hour of")):
                print(out.stderr, " ".join(asked.options))
                failed += 1
            continue
        what = compare(asked, json.loads(out.stdout))
        if what:
            failed += 1
            print("%s\n    reckon run %s" % (what, " ".join(asked.options)))
    print("%d runs, %d of them refused; %d differ" % (args.cases, refused, failed))
    return 1 if failed or refused * 2 > args.cases else 0


if __name__ == "__main__":
    sys.exit(main())
