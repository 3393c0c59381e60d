#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package: answers, errors, progress and interruption."""

import json
import pathlib
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import reckon  # noqa: E402

HUGE = {"hidden": 5040, "feedforward": 5040, "seq_size": 64, "attn_heads": 5040, "attn_size": 1,
        "num_blocks": 5040}


class Package(unittest.TestCase):
    def test_plan_is_sorted(self):
        plan = reckon.plan("llama3-8b", "h100-sxm", accelerators=8, global_batch=64, top=4)
        steps = [choice.estimate.step_s for choice in plan.choices]
        self.assertEqual(len(steps), 4)
        self.assertEqual(steps, sorted(steps))
        self.assertIs(plan.best, plan.choices[0])
        self.assertIsNone(plan.best.label)
        self.assertEqual(plan.rows()[0]["step_s"], steps[0])
        self.assertIn("<table>", plan._repr_html_())

    def test_alternatives_are_distinct(self):
        plan = reckon.plan("llama3-8b", "h100-sxm", accelerators=8, global_batch=64)
        ranked = reckon.plan("llama3-8b", "h100-sxm", accelerators=8, global_batch=64, top=1)
        slowdowns = [choice.slowdown for choice in plan.choices]
        self.assertEqual(plan.best.strategy, ranked.best.strategy)
        self.assertEqual(plan.best.label, "fastest")
        self.assertEqual(slowdowns[0], 1)
        self.assertEqual(slowdowns, sorted(slowdowns))
        self.assertLessEqual(slowdowns[-1], 1.5)
        self.assertGreater(len(plan.choices), 2)
        self.assertEqual(len({choice.label for choice in plan.choices}), len(plan.choices))

    def test_parts_add_up(self):
        choice = reckon.estimate("llama3-8b", "h100-sxm", accelerators=8, tp=2, global_batch=64)
        self.assertAlmostEqual(sum(choice.estimate.time_s.values()) / choice.estimate.step_s, 1)
        self.assertTrue(choice.estimate.plot().svg.startswith("<svg"))

    def test_number_before_the_system(self):
        options = {"tp": 2, "global_batch": 64}
        apart = reckon.estimate("llama3-8b", "dgx-h100-superpod", accelerators=16, **options)
        for system in ("16xh100", "2xdgx-h100-superpod"):
            choice = reckon.estimate("llama3-8b", system, **options)
            self.assertEqual(choice.strategy.accelerators, apart.strategy.accelerators, system)
        with self.assertRaisesRegex(reckon.ReckonError, "8x8xh100 has two numbers"):
            reckon.estimate("llama3-8b", "8x8xh100", **options)

    def test_nothing_fits(self):
        plan = reckon.plan("llama3.1-405b", "h100-sxm", accelerators=8, global_batch=8)
        self.assertEqual(plan.choices, [])
        with self.assertRaises(LookupError):
            plan.best
        fit = reckon.fit("llama3.1-405b", "h100-sxm", accelerators=8, global_batch=8)
        self.assertFalse(fit.fits)

    def test_errors_say_what_to_do(self):
        cases = [
            (dict(model="llama3-70", system="h100-sxm"), "did you mean"),
            (dict(model="llama3-8b", system="h100-sxm", tp="x"), "--tp needs a whole number"),
            (dict(model="llama3-8b", system="h100-sxm", tpp=2), "unknown option --tpp"),
            (dict(model="llama3-8b", system="h100-sxm", tp=[[1]]), "expected a number"),
        ]
        for options, words in cases:
            with self.assertRaises(reckon.ReckonError) as caught:
                reckon.plan(accelerators=8, global_batch=64, **options)
            self.assertIn(words, str(caught.exception))

    def test_progress_stops_a_search(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "huge.json"
        path.write_text(json.dumps(HUGE))
        seen = []

        def stop(what, done, total):
            seen.append((what, done, total))
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            reckon.plan(path, "h100-3tier", processors=55440, batch=720720, progress=stop)
        self.assertEqual(seen[0][0], "strategies")

    def test_threads(self):
        """Jobs run side by side: the lock of the interpreter is released."""
        answers = [None] * 4

        def ask(index):
            plan = reckon.plan("llama3-8b", "h100-sxm", accelerators=8, global_batch=64, top=1)
            answers[index] = plan.best.estimate.step_s

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(answers))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(answers)), 1)

    def test_timeline(self):
        timeline = reckon.timeline("llama3-8b", "h100-sxm", accelerators=8, tp=2, pp=4,
                                   global_batch=8)
        self.assertIn("traceEvents", timeline.trace)
        self.assertIn("<svg", timeline.picture.svg)
        self.assertEqual(timeline.plot(), timeline.picture)
        self.assertEqual({row["rank"] for row in timeline.rows()}, {0, 1, 2, 3})
        self.assertLess(timeline.rows()[0]["start_s"], timeline.rows()[0]["end_s"])

    def test_sweep(self):
        grid = {"application": "megatron-22B", "system": "a100_80g", "batch": 4,
                "datatype": "float16", "axes": [{"key": "processors", "values": [4, 8]}]}
        sweep = reckon.sweep(grid)
        self.assertEqual({row["processors"] for row in sweep.rows()}, {4, 8})
        self.assertIsInstance(sweep[0]["sample_rate"], float)
        self.assertIn("<circle", sweep.plot("processors", "sample_rate").svg)
        with self.assertRaises(LookupError):
            sweep.plot("processors", "colour")

    def test_run(self):
        run = reckon.run("llama3-8b", "h100-sxm", accelerators=8, global_batch=64, tokens="1T",
                         price=2)
        parts = (run.training_s, run.checkpoints_s, run.lost_s, run.restarts_s, run.planned_s,
                 run.start_s)
        self.assertAlmostEqual(sum(parts) / run.total_s, 1)
        self.assertAlmostEqual(run.cost, 2 * run.accelerator_hours)
        self.assertEqual(run.days, run.values["total_s"] / 86400)
        self.assertLess(run.simulated["cost"].p10, run.simulated["cost"].p90)
        self.assertTrue(run.plot().svg.startswith("<svg"))
        self.assertIn("<table>", run._repr_html_())
        nothing = reckon.run("llama3.1-405b", "h100-sxm", accelerators=8, global_batch=8,
                             tokens="1T")
        self.assertIsNone(nothing.choice)
        self.assertIsNone(nothing.days)

    def test_comm(self):
        comm = reckon.comm("h100-sxm", ranks=8, bytes="1Mi,1Gi")
        self.assertEqual((comm.system, comm.ranks), ("h100-sxm", 8))
        self.assertEqual(comm.collectives[0].seconds, comm[0]["seconds"])
        self.assertIn("<svg", comm.plot().svg)

    def test_validate(self):
        rows = [{"id": "a", "layers": 16, "hidden": 2048, "heads": 32, "vocab": 131072,
                 "seq": 4096, "accelerator": "H100", "n_accel": 8, "tp": 2, "dp": 4, "gbs": 32,
                 "mbs": 4, "framework": "megatron-core", "step_time_s": 1.5}]
        validation = reckon.validate(rows)
        measured = validation.runs[0]
        self.assertAlmostEqual(measured.step_error, measured.step_s / 1.5 - 1)
        self.assertEqual(validation.score["step"]["runs"], 1)
        self.assertIn("<svg", validation.plot().svg)
        one = reckon.validate(ROOT / "tests/cli_reckon/runs.csv", by="stack")
        self.assertGreater(len(one), 3)
        self.assertTrue(any(group["group"] == "nanotron" for group in one.groups))
        missing = reckon.validate([dict(rows[0], accelerator="abacus")])
        self.assertIsNotNone(missing.runs[0].left_out)
        with self.assertRaises(LookupError):
            missing.plot()

    def test_schema(self):
        schema = reckon.schema("plan")
        self.assertIn("global_batch", schema["properties"])
        self.assertIn("datatype", reckon.schema("plan", "calculon")["properties"])
        with self.assertRaises(reckon.ReckonError):
            reckon.schema("sing")

    def test_frames(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("no pandas")
        frame = reckon.comm("h100-sxm", bytes="1Gi").to_frame()
        self.assertEqual(list(frame["bytes"]), [2**30] * len(frame))

    def test_catalogue(self):
        self.assertIn("llama3-8b", reckon.catalogue("models"))
        self.assertIn("h100-sxm", reckon.catalogue("accelerators"))


if __name__ == "__main__":
    unittest.main()
