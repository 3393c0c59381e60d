#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package: answers, errors, progress and interruption."""

import decimal
import fractions
import json
import pathlib
import pickle
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
        self.assertEqual(len(plan), 4)
        self.assertEqual([choice.estimate.step_s for choice in plan], steps)
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
        """One exception says so in every call, with the reason and what would help."""
        asked = dict(model="llama3-70b", system="h100-sxm", accelerators=4, global_batch=4)
        grid = {"model": "llama3-70b", "system": "h100-sxm", "global_batch": 4,
                "axes": [{"key": "accelerators", "values": [2, 4]}]}
        calls = {
            "plan": lambda: reckon.plan(**asked),
            "estimate": lambda: reckon.estimate(**asked),
            "run": lambda: reckon.run(tokens="1T", **asked),
            "timeline": lambda: reckon.timeline(**asked),
            "explain": lambda: reckon.explain(**asked),
            "shape": lambda: reckon.shape(**asked),
            "emit": lambda: reckon.emit(**asked),
        }
        for name, call in calls.items():
            with self.subTest(call=name), self.assertRaises(reckon.NothingFitsError) as caught:
                call()
            error = pickle.loads(pickle.dumps(caught.exception))
            self.assertIsInstance(error, LookupError)
            self.assertIn("GiB over the 79.10 GiB available", error.reason, name)
            self.assertIn(error.accelerators, (24, 32), name)
            self.assertIn("offload optimizer", error.changes[0]["change"], name)
            self.assertTrue(error.changes[0]["estimate"]["fits"], name)
        with self.assertRaises(reckon.NothingFitsError) as caught:
            reckon.sweep(grid)
        self.assertEqual(caught.exception.changes, [])
        self.assertIn("point,", caught.exception.raw["csv"])
        grid["axes"][0]["values"] = [4, 64]
        self.assertEqual([row["step_s"] is None for row in reckon.sweep(grid)], [True, False])
        with self.assertRaises(reckon.NothingFitsError) as caught:
            reckon.plan("seed-1T", "h100-80g-off512g50-nvl8", processors=8, batch=8,
                        datatype="float8")
        self.assertIn("1422.53 GiB of the 80.00 GiB", caught.exception.reason)
        prices = {"name": "small", "currency": "$", "processor": 1, "source": "assumed",
                  "axes": [{"key": "processors", "values": [2, 4]}]}
        with self.assertRaisesRegex(reckon.NothingFitsError, "no machine of the axes"):
            reckon.design("llama3-70b", "h100-sxm", prices=prices, global_batch=64)
        with self.assertRaises(reckon.NothingFitsError) as caught:
            reckon.run("llama3-70b", "h100-sxm", tokens="15T", deadline="2d")
        self.assertIn("no cluster meets the limits", str(caught.exception))

    def test_number_of_accelerators(self):
        """Where it is the question, `fit` has the fewest, and what people try to need fewer."""
        fit = reckon.fit("qwen3-8b", "rtx-4090", sequence=4096)
        self.assertEqual(fit.choice.strategy.accelerators, fit.fewest_accelerators)
        cures = {row["options"]: row for row in fit.cures}
        self.assertLess(cures["--qlora"]["fewest_accelerators"], fit.fewest_accelerators)
        for row in fit.cures:
            self.assertEqual(row["fits"], row["fewest_accelerators"] == 1)
        self.assertIn("<table>", fit.cures._repr_html_())
        self.assertIn("memory_needed_bytes", fit._repr_html_())
        self.assertEqual(len(reckon.fit("qwen3-8b", "2xrtx-4090").cures), 0)

    def test_clusters(self):
        run = reckon.run("llama3-8b", "h100", tokens="1T", deadline="60d")
        self.assertGreater(len(run.clusters), 2)
        self.assertEqual(run.rows(), run.clusters.rows())
        self.assertIn("<circle", run.plot().svg)
        self.assertLess(run.clusters[0]["days"], run.clusters[1]["days"])

    def test_what_does_not_fit_is_an_answer(self):
        """Of fit, and of an estimate whose strategy is given in full."""
        fit = reckon.fit("llama3.1-405b", "h100-sxm", accelerators=8, global_batch=8)
        self.assertFalse(fit.fits)
        given = reckon.estimate("llama3-70b", "h100-sxm", accelerators=4, tp=4, cp=1, pp=1, vp=1,
                                micro_batch=1, zero=0, recompute="none", global_batch=4)
        self.assertFalse(given.estimate.fits)
        self.assertGreater(given.estimate.memory_total_bytes, given.estimate.memory_usable_bytes)

    def test_numbers_of_any_type(self):
        """Whatever has __index__ or __float__ is a number, as those of numpy are."""

        class Whole:
            def __init__(self, value):
                self.value = value

            def __index__(self):
                return self.value

        class Scalar:
            """As a scalar of numpy: numpy.bool_ has __float__, but means true or false."""
            shape = ()

            def __init__(self, value):
                self.value = value

            def item(self):
                return self.value

        class Array:
            shape = (2,)

            def tolist(self):
                return [1, 2]

        plain = reckon.plan("llama3-8b", "h100-sxm", accelerators=8, global_batch=64, tp=[1, 2],
                            max_memory=70.5, exhaustive=True)
        other = reckon.plan("llama3-8b", "h100-sxm", accelerators=Whole(8), global_batch=Scalar(64),
                            tp=Array(), max_memory=fractions.Fraction(141, 2),
                            exhaustive=Scalar(True))
        self.assertEqual(plain.best.strategy, other.best.strategy)
        for tp in ({Whole(1): 2}, object(), float("nan"), [decimal.Decimal("inf")]):
            with self.assertRaises(reckon.ReckonError) as caught:
                reckon.plan("llama3-8b", "h100-sxm", accelerators=8, global_batch=64, tp=tp)
            self.assertIn("tp: ", str(caught.exception))
        rows = [{"id": "a", "model": "llama3-8b", "accelerator": "H100", "n_accel": Whole(8),
                 "seq": 8192, "gbs": Scalar(64), "step_time_s": decimal.Decimal("6.5")}]
        self.assertEqual(reckon.validate(rows).runs[0].step_measured_s, 6.5)

    def test_shape(self):
        shapes = reckon.shape("llama3-8b", "h100-sxm", accelerators=8, global_batch=64, blocks=32,
                              heads=32)
        self.assertEqual(shapes[0]["shape"]["hidden"], 4096)
        self.assertGreater(shapes[0]["step_s"], 0)

    def test_design(self):
        prices = {"name": "two sizes", "currency": "$", "processor": 19000, "source": "assumed",
                  "axes": [{"key": "processors", "values": [8, 16]}]}
        machines = reckon.design("llama3-8b", "h100-sxm", prices=prices, global_batch=64)
        prices = [machine["cost"] for machine in machines.rows()]
        self.assertGreater(len(prices), 1)
        self.assertEqual(prices, sorted(prices))

    def test_emit(self):
        asked = {"accelerators": 8, "tp": 2, "global_batch": 64}
        script = reckon.emit("llama3-8b", "h100-sxm", **asked)
        self.assertIn("--tensor-model-parallel-size 2", script)
        self.assertIn("[parallelism]", reckon.emit(
            "llama3-8b", "h100-sxm", kind="torchtitan", framework="torchtitan", **asked))
        with self.assertRaises(reckon.NothingFitsError):
            reckon.emit("llama3-70b", "h100-sxm", accelerators=1, global_batch=1)

    def test_show(self):
        self.assertEqual(reckon.show("llama3-8b")["layers"], 32)

    def test_convert(self):
        words = "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2".split()
        launch = reckon.convert(words)
        self.assertEqual(launch.reader, "megatron-lm")
        self.assertIn("tp", launch.facts)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.sh"
            path.write_text(" ".join(words))
            self.assertEqual(reckon.convert(path).facts, launch.facts)
        with self.assertRaises(reckon.ReckonError):
            reckon.convert(["cat", "x"])

    def test_explain(self):
        explanation = reckon.explain("llama3-8b", "h100-sxm", accelerators=8, global_batch=64)
        gains = [row["gain"] for row in explanation.rows() if row["runs"]]
        self.assertEqual(gains, sorted(gains, reverse=True))
        self.assertGreater(gains[0], 0.01)

    def test_errors_say_what_to_do(self):
        cases = [
            (dict(model="llama3-70", system="h100-sxm"), "did you mean"),
            (dict(model="llama3-8b", system="h100-sxm", tp="x"), "tp needs a whole number"),
            (dict(model="llama3-8b", system="h100-sxm", tpp=2), "plan() has no keyword tpp; did you mean tp?"),
            (dict(model="llama3-8b", system="h100-sxm", tp=[[1]]), "expected a number"),
            (dict(model="llama3-8b", system="h100-sxm", zero=0, hsdp=2), "and zero=0 shards nothing"),
            (dict(model="llama3-8b", system="h100-sxm", overlap="tp,none"), 'overlap="none" excludes'),
            (dict(model="llama3-8b", system="h100-sxm", batch_size=1), "did you mean global_batch or micro_batch?"),
            (dict(model="llama3-8b", system="h100-sxm", foo=1), 'reckon.schema("plan") lists them'),
            (dict(model="llama3-8b", system="h100-sxm", output="x"), "plan() has no keyword output"),
            (dict(model="llama", system="h100-sxm"), 'there are llama-13b'),
        ]
        for options, words in cases:
            with self.assertRaises(reckon.ReckonError) as caught:
                reckon.plan(accelerators=8, global_batch=64, **options)
            self.assertIn(words, str(caught.exception))
            self.assertNotRegex(str(caught.exception), r"--\w|'reckon ")

    def test_predictor(self):
        predict = reckon.Predictor("llama3-70b", "64xh100", global_batch=128, cp=1, vp=1, zero=1)
        fields = dict(tp=8, pp=2, micro_batch=1, recompute="none")
        choice = reckon.estimate("llama3-70b", "64xh100", global_batch=128, cp=1, vp=1, zero=1, **fields)
        one = predict(**fields)
        self.assertEqual(one.step_s, choice.estimate.step_s)
        self.assertEqual(one.memory_total_bytes, choice.estimate.memory_total_bytes)
        self.assertEqual(one.memory_needed_bytes, choice.estimate.memory_needed_bytes)
        self.assertEqual((one.fits, one.mfu), (choice.estimate.fits, choice.estimate.mfu))
        many = predict.all(tp=[8, 3, 4], pp=range(2, 5), micro_batch=1, recompute="none")
        self.assertEqual(len(many), 3)
        self.assertEqual((many.step_s[0], many.memory_needed_bytes[0]), (one.step_s, one.memory_needed_bytes))
        late = reckon.Predictor("qwen3-8b", "16xrtx-4090", framework="huggingface", seq=5120, global_batch=16)
        column = late.all(zero=[3], recompute="full", micro_batch=1)
        late = late(zero=3, recompute="full", micro_batch=1)
        for name in ("step_s", "memory_total_bytes", "memory_needed_bytes", "mfu", "tokens_per_s", "fits"):
            self.assertEqual(getattr(column, name)[0], getattr(late, name), name)
        self.assertLess(late.memory_needed_bytes, late.memory_usable_bytes)
        self.assertGreater(late.memory_bytes, late.usable_bytes)
        self.assertTrue(late.fits)
        self.assertTrue(many.step_s[1] != many.step_s[1])  # NaN
        self.assertIn("not a multiple", many.reason[1])
        self.assertEqual([many.fits[1], many.reason[2]], [False, None])
        for wrong, words in ((dict(tpp=2), "Predictor.. has no keyword tpp; did you mean tp?"), (dict(tp=3), "not a multiple"),
                             (dict(tp=[1, 2]), "")):
            with self.assertRaisesRegex(reckon.ReckonError, words.replace("?", "[?]")):
                predict(**wrong)
        for wrong in (dict(tp=[1, 2], pp=[1]), dict(tp=1)):
            with self.assertRaises(reckon.ReckonError):
                predict.all(**wrong)
        with self.assertRaisesRegex(reckon.ReckonError, "leave out one"):
            reckon.Predictor("llama3-70b", "64xh100", accelerators=8)
        document = reckon.Predictor(reckon.show("llama3-70b"), "h100-sxm", accelerators=64,
                                    global_batch=128, cp=1, vp=1, zero=1)
        self.assertEqual(document(**fields).step_s, one.step_s)

    def test_rows_have_every_figure(self):
        """Under the names of the JSON answer; parts have the name of what they are part of."""

        def leaves(members, before=""):
            for key, value in members.items():
                if isinstance(value, dict):
                    yield from leaves(value, f"{before}{key}.")
                elif not isinstance(value, list):
                    yield before + key, value

        asked = dict(accelerators=8, global_batch=64)
        plan = reckon.plan("llama3-8b", "h100-sxm", **asked)
        for row, raw in zip(plan.rows(), plan.raw["strategies"]):
            for key, value in [*leaves(raw["estimate"]), *leaves(raw["strategy"])]:
                self.assertEqual(row[key], value, key)
        self.assertIn("time_s.linear", plan.rows()[0])
        self.assertIn("interval.step_p90_s", plan.rows()[0])
        run = reckon.run("llama3-8b", "h100-sxm", tokens="1T", **asked)
        self.assertEqual(run.rows()[0], dict(leaves(run.raw["run"])))

    def test_what_if(self):
        asked = dict(accelerators=64, global_batch=512, top=1)
        plan = reckon.plan("llama3-70b", "h100-sxm", set={"memory": "192GiB", "nvlink.size": 16}, **asked)
        text = reckon.plan("llama3-70b", "h100-sxm", set="memory=192GiB,nvlink.size=16", **asked)
        self.assertEqual(plan.best.estimate, text.best.estimate)
        self.assertEqual(plan.raw["request"]["what_if"]["domain"]["value"], 16)
        comm = reckon.comm("dgx-h100-superpod", op="all_reduce", ranks=16, set={"nvlink.size": 16})
        self.assertIn("<svg", comm.plot().svg)
        with self.assertRaises(reckon.NothingFitsError) as caught:
            reckon.plan("llama3-70b", "8xh100", set={"memory": "40GiB"})
        self.assertIn("shortage", caught.exception.raw["nearest"])
        self.assertGreater(len(caught.exception.changes), 0)

    def test_pictures_of_the_command(self):
        plan = reckon.plan("llama3-8b", "h100-sxm", accelerators=8, global_batch=64)
        page = plan.report().page
        self.assertIn("prefers-color-scheme: dark", page)
        answer = page.split('id="answer">')[1].split("</script>")[0]
        self.assertEqual(json.loads(answer), plan.raw)
        self.assertIn("<iframe srcdoc=", plan.report()._repr_html_())
        self.assertIn("linear", plan.best.estimate.plot()._repr_svg_())

    def test_launches(self):
        script = ("torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 "
                  "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
                  "--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 "
                  "--bf16 --vocab-size 32000")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.sh"
            path.write_text(script)
            launch = reckon.from_file(path)
            choice = reckon.estimate(launch, "h100-sxm")
            self.assertEqual(reckon.fit(launch, "h100-sxm", tp=4).raw["strategy"]["tp"], 4)
            self.assertIn("<svg", reckon.timeline(launch, "h100-sxm").picture.svg)
        self.assertEqual((choice.strategy.tp, choice.strategy.accelerators), (2, 8))
        words = reckon.estimate(reckon.convert(script.split()), "h100-sxm")
        self.assertEqual(words.estimate, choice.estimate)

    def test_launches_that_do_not_fit(self):
        script = ("torchrun --nproc_per_node 1 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
                  "--num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 "
                  "--micro-batch-size 1 --global-batch-size 64 --bf16 --vocab-size 32000")
        launch = reckon.convert(script.split())
        for function in (reckon.plan, reckon.timeline, reckon.shape):
            with self.subTest(function=function), self.assertRaises(reckon.NothingFitsError) as caught:
                function(launch, "h100-sxm")
            self.assertIn("over the 79.10 GiB available", caught.exception.reason)

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
        asked = {"accelerators": 8, "global_batch": 64, "tokens": "1T", "tp": 8}
        plain = reckon.run("llama3-8b", "h100-sxm", **asked)
        share = plain.choice.estimate.mfu
        for mfu in (share, 100 * share, "%.17g%%" % (100 * share)):
            again = reckon.run("llama3-8b", "h100-sxm", mfu=mfu, **asked)
            self.assertAlmostEqual(again.days / plain.days, 1)
            self.assertAlmostEqual(again.raw["run"]["mfu"], share)
            self.assertEqual(again.raw["run"]["step_source"], "stated")
        self.assertEqual(plain.raw["run"]["step_source"], "predicted")
        with self.assertRaises(reckon.ReckonError):
            reckon.run("llama3-8b", "h100-sxm", mfu=140, **asked)

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

    def test_catalogue(self):
        self.assertIn("llama3-8b", reckon.catalogue("models"))
        self.assertIn("h100-sxm", reckon.catalogue("accelerators"))
        with self.assertRaisesRegex(reckon.ReckonError, "its kinds are .*accelerators"):
            reckon.catalogue("gpus")


if __name__ == "__main__":
    unittest.main()
