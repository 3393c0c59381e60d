#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of whole runs that follow from others of the same answer, in JSON and CSV.

    figures.py RECKON
"""

import csv
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

RECKON = os.path.abspath(sys.argv.pop(1))
RUN = "run llama3-8b 8xh100 --tp 1 --pp 1 --cp 1 --zero 1 --recompute full --micro-batch 1 "


def ask(words, cwd=None):
    return subprocess.run([RECKON, *words.split()], cwd=cwd, check=True, capture_output=True,
                          text=True).stdout


def run(words, cwd=None):
    return json.loads(ask(RUN + words + " --json", cwd))["run"]


class Figures(unittest.TestCase):
    def near(self, found, wanted, apart=1e-12):
        self.assertLessEqual(abs(found - wanted), apart * abs(wanted))

    def test_step_law(self):
        """The power of two of sequences nearest to 0.58 tokens^0.571 tokens, by the Step Law."""
        for tokens in (1e7, 6e7, 3e8, 3e10):
            batch = run(f"--tokens {tokens:.0f}")["step_law_global_batch"]
            wanted = max(1, 0.58 * tokens**0.571 / 8192)
            self.assertEqual(batch, 2 ** round(math.log2(wanted)))

    def test_phases(self):
        answer = run("--phases 8k:1.01G:64,16k:500M:32")
        for phase, tokens in zip(answer["phases"], (1.01e9, 5e8)):
            self.assertEqual(phase["tokens"], tokens)
            steps = math.ceil(tokens / (phase["seq_tokens"] * phase["global_batch"]))
            self.near(phase["training_s"], steps * phase["step_s"])
        self.near(sum(phase["training_s"] for phase in answer["phases"]), answer["training_s"])

    def test_ramp(self):
        """A stated step is that of the whole batch: smaller batches take less."""
        plain = run("-b 64 --tokens 1G --batch-ramp 16:500M:3")
        stated = run("-b 64 --tokens 1G --batch-ramp 16:500M:3 --step-time 2")
        self.assertEqual([phase["global_batch"] for phase in plain["phases"]], [16, 32, 48, 64])
        self.near(stated["phases"][-1]["step_s"], 2)
        for phase, other in zip(plain["phases"], stated["phases"]):
            self.near(other["step_s"], 2 * phase["step_s"] / plain["phases"][-1]["step_s"])

    def test_tiers(self):
        tiers = [{"name": "small", "GBps": 10, "per": "accelerator", "latency_s": 0.1, "source": "assumed",
                  "survives": "node", "capacity_GB": 1},
                 {"name": "large", "GBps": 10, "per": "system", "latency_s": 1, "source": "assumed",
                  "survives": "system"}]
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "tiers.json"), "w", encoding="utf-8") as file:
                json.dump({"name": "two", "description": "", "source": "assumed", "tiers": tiers}, file)
            small, large = run("-b 64 --tokens 1T --compare-tiers --storage-tiers tiers.json", folder)["tiers"]
        self.assertEqual((small["holds"], large["holds"]), (False, True))
        self.assertEqual([small[key] for key in ("interval_s", "goodput", "total_s")], [None] * 3)
        self.assertEqual(large["survived_share"], 1)
        self.near(large["restart_s"] - small["restart_s"], large["copy_s"] - small["copy_s"], 1e-9)

    def test_percentiles(self):
        """Cells of what was not simulated are empty."""
        for runs, empty in (("0", True), ("50", False)):
            row, = csv.DictReader(io.StringIO(ask(RUN + f"-b 64 --tokens 1T --simulate {runs} --csv")))
            simulated = [row[key] for key in row if key.startswith(("total", "goodput")) and key[-4:-2] == "_p"]
            self.assertEqual([cell == "" for cell in simulated], [empty] * len(simulated), row)
            self.assertTrue(simulated)

    def test_costs(self):
        answer = run("-b 64 --tokens 1T --purchase 43800 --life 5")
        self.near(answer["price_per_hour"], 1)
        self.near(answer["cost"], answer["accelerator_hours"], 1e-9)
        by_mfu = run("-b 64 --tokens 1T --mfu 40")
        self.near(by_mfu["mfu"], 0.4, 1e-9)
        self.near(by_mfu["data_bytes_per_s"], by_mfu["data_bytes"] / 1e12 * 64 * 8192 / by_mfu["step_s"])

    def test_power_of_spares(self):
        """Spare nodes draw power too: four of them next to clusters of whole nodes of eight."""
        asked = "run llama3-8b h100 --tokens 1T --deadline 60d --json --spares "
        without, with_spares = (json.loads(ask(asked + spares))["clusters"] for spares in ("0", "4"))
        each = {row["accelerators"]: row["power_W"] / row["accelerators"] for row in without}
        self.assertGreater(len(with_spares), 1)
        for row in with_spares:
            self.near(row["power_W"], (row["accelerators"] + 32) * each[row["accelerators"]])


if __name__ == "__main__":
    unittest.main()
