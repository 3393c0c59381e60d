#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Python package makes of answers: cells, rows, pictures, words and reasons."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import reckon  # noqa: E402
from reckon import _library, _pictures, _words, results  # noqa: E402

MODEL, SYSTEM = "llama3-8b", "h100-sxm"


class Places(unittest.TestCase):
    def test_where_the_library_is_looked_for(self):
        with mock.patch.dict("os.environ", RECKON_LIBRARY=""), mock.patch("shutil.which", return_value=None):
            for found, places in (("libx.so", ["libx.so", "libreckon.so.1"]), (None, ["libreckon.so.1"])):
                with mock.patch("ctypes.util.find_library", return_value=found), \
                        mock.patch("pathlib.Path.exists", return_value=False):
                    self.assertEqual(_library._candidates(), places)


class Rows(unittest.TestCase):
    def test_cells(self):
        cells = {("memory_bytes", 2.0**30): "1.00 GiB", ("mfu", 0.5): "50.0%", ("step_s", 1.23456): "1.235",
                 ("label", None): "", ("tp", 8): "8", ("left_bytes", -2.0**29): "-0.50 GiB"}
        for (key, value), text in cells.items():
            self.assertEqual(results._cell(key, value), text)
        self.assertIn("<td>&lt;b&gt;</td>", results._table([{"a": "<b>"}]))
        self.assertIn("<th>&lt;i&gt;</th>", results._table([{"<i>": 1}]))
        self.assertEqual(results._table([]), "<p>empty</p>")

    def test_names_are_joined(self):
        self.assertEqual(results._flat({"a": {"b": {"c": 1}, "d": [2]}, "e": 3}), {"a.b.c": 1, "e": 3})

    def test_a_notebook_leaves_out_figures_inside(self):
        rows = results.Table([{"key": 1, "estimate": {"mfu": 0.5}, "strategy": {"tp": 8}}], {})
        self.assertIn("<th>key</th>", rows._repr_html_())
        for inside in ("estimate.mfu", "strategy.tp"):
            self.assertNotIn(inside, rows._repr_html_())

    def test_choices(self):
        plan = reckon.plan(MODEL, SYSTEM, accelerators=8, global_batch=64)
        choice = plan.choices[1]
        self.assertEqual(choice.estimate.raw, choice.raw["estimate"])
        self.assertEqual(choice.interval.step_p90_s, choice.raw["interval"]["step_p90_s"])
        self.assertEqual(choice.stages, choice.raw["stages"])
        row = choice.rows()[0]
        self.assertEqual((row["label"], row["slowdown"]), (choice.label, choice.slowdown))
        bare = {key: choice.raw[key] for key in ("strategy", "estimate")}
        both = reckon.results.plan_of({"strategies": [bare, {"label": "none"}]})
        self.assertEqual((len(both), both.best.interval, both.best.label), (1, None, None))

    def test_cures(self):
        estimate = {"memory_needed_bytes": 1.0, "step_s": 2.0, "fits": False}
        cure = {"cure": "LoRA", "options": "--lora-rank 16", "estimate": estimate, "fewest_accelerators": 0}
        self.assertIsNone(results._cure_row(cure)["fewest_accelerators"])
        self.assertEqual(results._cure_row({**cure, "fewest_accelerators": 3})["fewest_accelerators"], 3)

    def test_words_of_cures(self):
        """As the table of `fit` has them: what fits on one accelerator alone, tight or easily."""
        asked = {"model": MODEL, "system": "rtx-4090", "seq": 4096}
        lines = _library.run_command("fit", asked).text.splitlines()
        words = {"fits": "yes", "tight": "tight", "not": "no"}
        cures = reckon.fit(**asked).cures
        for row in cures:
            kind = "not" if not row["fits"] else "fits" if row["fewest_accelerators"] == 1 else "tight"
            line, = (line for line in lines if line.startswith((row["options"] or row["cure"]) + "  "))
            self.assertEqual(line.split()[-2], words[kind], line)
        self.assertTrue(any(row["fits"] and row["fewest_accelerators"] > 1 for row in cures))

    def test_cures_of_what_is_open(self):
        """A choice that the question names leaves out the cures that would change it, and no others."""
        def names(**given):
            return {row["cure"] for row in reckon.fit(MODEL, "rtx-4090", seq=4096, **given).cures}

        narrow, host = "AdamW in 8 bits", "AdamW on the host"
        for given, gone in (({"optimizer": "muon"}, {narrow}), ({"weights": "bf16"}, {narrow}),
                            ({"cross_entropy": "chunked"}, {"fused loss"}), ({"offload": "optimizer"}, {host}),
                            ({"recompute": "full"}, {"as asked, nothing recomputed", "checkpoints of layers"}),
                            ({"lora_rank": 8}, {"LoRA", narrow, host}),
                            ({"lora_rank": 8, "qlora": True}, {"LoRA", "QLoRA", narrow, host})):
            self.assertEqual(names() - names(**given), gone, given)

    def test_launch(self):
        launch = reckon.convert("torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2".split())
        self.assertEqual((launch.facts["tp"], launch.facts["processes"]), (2, 8))

    def test_score(self):
        validation = results.Validation(items=[], raw={"all": [{"step": 1}, {"step": 2}]})
        self.assertEqual(validation.score, {"step": 1})
        self.assertEqual(results.Validation(items=[], raw={}).score, {})

    def test_nothing_to_draw(self):
        row = {"id": "a", "model": "llama3-8b", "seq": 8192, "accelerator": "H100", "n_accel": 8, "tp": 8,
               "gbs": 32, "mbs": 1, "framework": "megatron-core", "peak_mem_gib": 40}
        validation = reckon.validate([row])
        self.assertIsNotNone(validation.runs[0].step_s)
        self.assertIsNone(validation.picture)

    def test_cells_of_tables(self):
        cells = {"": None, "true": True, "false": False, "8": 8, "0.5": 0.5, "1f1b": "1f1b"}
        for text, value in cells.items():
            self.assertEqual(reckon._read_cell(text), value)


class Pictures(unittest.TestCase):
    def drawn(self, call):
        """The rows and the figure that a picture is made of."""
        with mock.patch.object(_pictures, "draw") as draw:
            call()
        return draw.call_args.args

    def test_parts(self):
        rows, figure = self.drawn(lambda: _pictures.draw_parts({"a_b": 1.0, "c": 3.0, "d": 1e-9}, 4.0, "title"))
        self.assertEqual(rows, [{"part": "c", "seconds": 3.0, "share": 75.0},
                                {"part": "a b", "seconds": 1.0, "share": 25.0}])
        self.assertEqual(figure["y"], {"value": "share", "title": "share of the time, %", "zero": True, "decimals": 1})
        self.assertEqual((figure["kind"], figure["title"], figure["labels"]), ("bar", "title", True))

    def test_points(self):
        rows = [{"x": 1, "y": 1.0}, {"x": 2, "y": 100.0}, {"x": True, "y": 1}, {"x": 3, "y": None}]
        points, figure = self.drawn(lambda: _pictures.draw_points(rows, "x", "y"))
        self.assertEqual(points, rows[:2])
        self.assertEqual((figure["x"]["log"], figure["y"]["log"]), (False, True))

    def test_rows_with_other_keys(self):
        figure = {"kind": "scatter", "x": {"value": "x"}, "y": {"value": "y"}}
        svg = _pictures.draw([{"x": 1, "y": 2}, {"x": 2, "y": 3, "more": 1}], figure).svg
        self.assertEqual(svg.count("<circle"), 2)

    def test_runs(self):
        run = reckon.run(MODEL, SYSTEM, accelerators=8, global_batch=64, tp=1, tokens="100B")
        rows, _ = self.drawn(run.plot)
        self.assertEqual(rows[0]["part"], "training")
        clusters = [{"days": 1.0, "cost": 2.0, "accelerator_hours": 3.0}]
        for cluster, key in ((clusters[0], "cost"), ({**clusters[0], "cost": None}, "accelerator_hours")):
            rows, _ = self.drawn(results.run_of({"clusters": [cluster]}).plot)
            self.assertEqual(rows[0]["y"], cluster[key])

    def test_report(self):
        page = _pictures.report_of({"text": "</script><b>"}).page
        self.assertNotIn("</script><b>", page)
        self.assertIn("\\u003c/script>", page)

    def test_timeline_is_saved(self):
        picture = _pictures.Picture("<svg/>")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace.json"
            results.Timeline({"traceEvents": [1]}, picture).save(str(path))
            self.assertEqual(json.loads(path.read_text(encoding="utf-8")), {"traceEvents": [1]})


class Words(unittest.TestCase):
    def test_progress(self):
        for done, total, text in ((50, 200, "\r50 strategies, 25 %\033[K"), (1000, 0, "\r1,000 strategies\033[K"),
                                  (200, 200, "\r200 strategies, 100 %\033[K\n")):
            with contextlib.redirect_stderr(io.StringIO()) as written:
                reckon.print_progress("strategies", done, total)
            self.assertEqual(written.getvalue(), text)

    def test_mappings_are_objects(self):
        asked = types.MappingProxyType({"hidden": 8, "layers": [types.MappingProxyType({"heads": 2})]})
        self.assertEqual(json.loads(_library.to_json("model", asked)), {"hidden": 8, "layers": [{"heads": 2}]})

    def test_options_are_keywords(self):
        members = {"zero": {"items": {"enum": []}}, "recompute": {"enum": ["full"]}}
        cases = {"--zero 1 needs --max-memory": "zero=1 needs max_memory", "--recompute full": 'recompute="full"',
                 "--recompute whole": "recompute whole", "give --from a file": "give launch a file"}
        for message, words in cases.items():
            self.assertEqual(_words.in_words_of_python("plan", message, members), words)

    def test_shortage(self):
        raw = {"estimate": {"memory_needed_bytes": 80 * 2.0**30, "memory_usable_bytes": 79 * 2.0**30,
                            "worst_stage": 3},
               "shortage": {"missing_bytes": 2.0**30}, "accelerators_that_fit": 16}
        self.assertEqual(results.shortage_of(raw),
                         "no strategy fits: the nearest needs 80.00 GiB on stage 3, 1.00 GiB over the "
                         "79.00 GiB available; strategies fit on 16 accelerators")
        error = reckon.NothingFitsError("reason", {"accelerators_that_fit": 16, "fewest_accelerators": 8}, {})
        self.assertEqual(error.accelerators, 16)

    def test_requests(self):
        for wrong in (float("nan"), float("inf")):
            with self.assertRaisesRegex(reckon.ReckonError, "^tp: neither NaN nor infinite is a value$"):
                _library.to_json("tp", wrong)
        for key in ("csv", "json", "output"):
            with self.assertRaisesRegex(reckon.ReckonError, rf"^plan\(\) has no keyword {key}; its result has "):
                reckon.plan(MODEL, SYSTEM, accelerators=8, **{key: True})
        found = _library.fit_of({"model": "llama3-70b", "system": SYSTEM, "accelerators": 1, "top": 3,
                                 "max-memory": 40, "tp": 1, "zero": 0, "pp": None})
        self.assertEqual(found["estimate"]["memory_usable_bytes"], 40 * 2.0**30)

    def test_answers_are_whole(self):
        text = _library.run_command("comm", {"system": SYSTEM, "bytes": 1024, "csv": True}).text
        self.assertTrue(text.endswith("\n"))
        self.assertEqual(len(text.splitlines()), len(reckon.comm(SYSTEM, bytes=1024)) + 1)


class Predictors(unittest.TestCase):
    def test_columns_replace_keywords(self):
        predict = reckon.Predictor(MODEL, "8xh100", tp=8, pp=1, global_batch=64, micro_batch=1)
        many = predict.all(tp=[1, 8])
        self.assertEqual(many.step_s[1], predict().step_s)
        self.assertEqual(many.step_s[0], predict(tp=1).step_s)
        alone = reckon.Predictor(MODEL, "8xh100")
        self.assertEqual(alone.all(accelerators=[8]).step_s[0], alone().step_s)
        with self.assertRaisesRegex(reckon.ReckonError, "same length: tp 2, pp 1"):
            predict.all(tp=[1, 8], pp=[1])
        for key, values in (("recompute", ["none", "full"]), ("no_sp", [True, False])):
            each, found = [predict(**{key: value}) for value in values], predict.all(**{key: values})
            self.assertEqual(list(found.memory_needed_bytes), [one.memory_needed_bytes for one in each], key)
            self.assertEqual(list(found.step_s), [one.step_s for one in each], key)
        full = predict.all(recompute=["none", "full"])
        self.assertLess(full.memory_needed_bytes[1], full.memory_needed_bytes[0])
        self.assertGreater(full.step_s[1], full.step_s[0])
        wrong = predict.all(tp=[3])
        self.assertTrue(all(figure != figure for figure in (wrong.mfu[0], wrong.memory_needed_bytes[0])))

    def test_limit_of_memory(self):
        predict = reckon.Predictor(MODEL, "8xh100", max_memory_bytes=2.0**30, global_batch=64, micro_batch=1, tp=8)
        self.assertEqual(predict().memory_usable_bytes, 2.0**30)
        self.assertFalse(predict().fits)


if __name__ == "__main__":
    unittest.main()
