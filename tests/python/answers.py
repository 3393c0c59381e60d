#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every field of an answer of the Python package beside the member of the command's JSON, and pages beside its pages.

    answers.py RECKON        RECKON_LIBRARY names the shared library
"""

import dataclasses
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/python")]

import jobs  # noqa: E402
import reckon  # noqa: E402
from reckon import _pictures, results  # noqa: E402

PROGRAM = sys.argv.pop(1)
ASKED = {"model": "llama3-8b", "system": "h100-sxm", "accelerators": 8, "global_batch": 64}
COMM = {"system": "h100-sxm", "ranks": 8, "bytes": "1Mi"}
WORDS = "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --lr 3 --sing 1".split()


def command(name, **options):
    return jobs.without_clocks(jobs.ask_command(PROGRAM, name, options.pop("model", None), options.pop("system", None),
                                                options))


class Fields(unittest.TestCase):
    def check(self, answer, raw, *other):
        """Fields are the members of `raw`, but those that the test looks at apart; all have a value."""
        for field in dataclasses.fields(answer):
            if field.name not in ("raw", *other):
                self.assertIn(field.name, raw)
                self.assertEqual(getattr(answer, field.name), raw[field.name], field.name)
        if hasattr(answer, "raw"):
            self.assertEqual(answer.raw, raw)
            self.assertNotIn("raw=", repr(answer))
            self.assertEqual(answer, dataclasses.replace(answer, raw={}))

    def check_choice(self, choice, raw):
        self.check(choice, raw, "strategy", "estimate", "interval")
        self.check(choice.strategy, raw["strategy"])
        self.check(choice.estimate, raw["estimate"])
        self.check(choice.interval, raw["interval"])
        row, = choice.rows()
        self.assertEqual(row["interval.runs"], raw["interval"]["runs"])
        self.assertEqual(choice._repr_html_(), results._table(results._shown([row])))

    def test_plan(self):
        answer, raw = reckon.plan(**ASKED), command("plan", **ASKED)
        self.assertEqual(jobs.without_clocks(answer.to_dict()), raw)
        for choice, members in zip(answer, raw["strategies"]):
            self.check_choice(choice, members)
            row, = choice.rows()
            self.assertEqual((row["label"], row["slowdown"]), (members["label"], members["slowdown"]))
        self.assertEqual(answer.rows(), [row for choice in answer for row in choice.rows()])
        self.assertEqual(answer._repr_html_(), results._table(results._shown(answer.rows())))
        self.assertNotIn("raw=", repr(answer))
        self.assertEqual(answer, results.Plan(answer.choices, {}))

    def test_estimate(self):
        answer, raw = reckon.estimate(tp=2, **ASKED), command("estimate", tp=2, **ASKED)
        self.assertEqual(jobs.without_clocks(answer.raw), raw)
        self.check_choice(answer, answer.raw)
        self.assertEqual((answer.label, answer.slowdown), (None, None))

    def test_fit(self):
        asked = {"model": "llama3-8b", "system": "rtx-4090", "seq": 4096}
        answer, raw = reckon.fit(**asked), command("fit", **asked)
        self.check_choice(answer.choice, answer.raw)
        self.assertEqual(jobs.without_clocks(answer.raw), raw)
        self.assertEqual((answer.fits, answer.fewest_accelerators), (raw["fits"], raw["fewest_accelerators"]))
        self.assertEqual(answer.rows(), answer.choice.rows())
        self.assertEqual(answer._repr_html_(), answer.choice._repr_html_())
        self.assertEqual(answer, results.Fit(answer.fits, answer.choice, {}))
        self.assertNotIn("raw=", repr(answer))
        for row, cure in zip(answer.cures, raw["cures"], strict=True):
            for key in ("memory_needed_bytes", "step_s", "fits"):
                self.assertEqual(row[key], cure["estimate"][key])
            self.assertEqual((row["cure"], row["options"]), (cure["cure"], cure["options"]))
        self.assertEqual(answer.cures.raw, answer.raw)
        nothing = results.Fit(False, None, {})
        self.assertEqual((nothing.rows(), nothing._repr_html_(), len(nothing.cures)), ([], "<p>empty</p>", 0))

    def test_run(self):
        asked = {"tokens": "1T", "price": 2, "tp": 8, **ASKED}
        answer, raw = reckon.run(**asked), command("run", **asked)
        self.assertEqual(jobs.without_clocks(answer.raw), raw)
        self.check_choice(answer.choice, answer.raw)
        self.check(dataclasses.replace(answer, raw=raw["run"]), raw["run"], "choice", "simulated")
        self.assertNotIn("raw=", repr(answer))
        self.assertEqual(answer.values, raw["run"])
        spreads = {key: spread for key, spread in raw["run"]["simulated"].items() if isinstance(spread, dict)}
        self.assertEqual(list(answer.simulated), list(spreads))
        for key, spread in spreads.items():
            self.check(answer.simulated[key], spread)
        with mock.patch.object(results, "draw_parts") as draw:
            answer.plot()
        parts, total, title = draw.call_args.args
        self.assertEqual(parts, {key: raw["run"][key + "_s"] for key in (
            "training", "checkpoints", "lost", "restarts", "planned", "start")})
        self.assertEqual((total, title), (raw["run"]["total_s"], f"run of {raw['run']['total_s'] / 86400:.4g} days"))
        self.assertIsNone(results.run_of({}).days)

    def test_clusters(self):
        asked = {"model": "llama3-8b", "system": "h100", "tokens": "1T", "deadline": "60d"}
        answer, raw = reckon.run(**asked), command("run", **asked)
        self.assertEqual(jobs.without_clocks(answer.raw), raw)
        self.assertEqual(answer.clusters.raw, answer.raw)
        self.assertEqual((answer.clusters.rows(), answer.choice, answer.total_s), (raw["clusters"], None, None))

    def test_tables(self):
        """Their rows are a list of the answer, and `raw` is all of it."""
        prices = {"name": "two sizes", "currency": "$", "processor": 19000, "source": "assumed",
                  "axes": [{"key": "processors", "values": [8, 16]}]}
        design = {"model": "llama3-8b", "system": "h100-sxm", "global_batch": 64}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "prices.json"
            path.write_text(reckon._library.to_json("prices", prices), encoding="utf-8")
            cases = [
                (reckon.explain(tp=8, **ASKED), command("explain", tp=8, **ASKED), "numbers"),
                (reckon.shape(blocks=32, heads=32, **ASKED), command("shape", blocks=32, heads=32, **ASKED), "shapes"),
                (reckon.design(prices=path, **design), command("design", prices=path, **design), "front"),
                (reckon.comm(**COMM), command("comm", **COMM), "collectives"),
            ]
        for answer, raw, key in cases:
            self.assertEqual(jobs.without_clocks(answer.raw), raw)
            self.assertEqual(answer.items, answer.raw[key])
            self.assertEqual((answer.rows(), list(answer), answer[0]), (answer.items, answer.items, answer.items[0]))
            self.assertGreater(len(answer), 0)
            self.assertNotIn("raw=", repr(answer))
            self.assertEqual(answer, dataclasses.replace(answer, raw={}))
        comm = cases[-1][0]
        self.assertEqual((comm.system, comm.ranks), (comm.raw["system"], comm.raw["ranks"]))
        self.assertEqual(reckon.comm(system="16xh100", bytes="1Mi").ranks, 16)
        for collective, raw in zip(comm.collectives, comm.items, strict=True):
            self.check(collective, raw, *({"algorithm"} - set(raw)))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "comm.svg"
            subprocess.run([PROGRAM, "comm", "h100-sxm", "--ranks", "8", "--bytes", "1Mi", "--plot", path], check=True,
                           stdout=subprocess.DEVNULL)
            self.assertIn(comm.plot().svg, path.read_text(encoding="utf-8"))

    def test_validate(self):
        path = ROOT / "tests/cli_reckon/runs.csv"
        answer, raw = reckon.validate(path, by="stack"), command("validate", runs=path, by="stack")
        self.assertEqual(answer.raw, raw)
        seen = set()
        for run, row in zip(answer.runs, raw["rows"], strict=True):
            absent = {field.name for field in dataclasses.fields(run)} - set(row)
            self.check(run, row, *absent)
            self.assertEqual({getattr(run, name) for name in absent - {"raw"}} - {None}, set())
            seen |= set(row)
        self.assertEqual({field.name for field in dataclasses.fields(reckon.MeasuredRun)} - seen, {"raw"})
        self.assertEqual((answer.groups, answer.score), (raw["groups"], raw["all"][0]))
        self.assertIs(answer.plot(), answer.picture)
        self.assertEqual(answer, dataclasses.replace(answer, picture=None))

    def test_sweep(self):
        grid = {key: value for key, value in ASKED.items() if key != "accelerators"}
        grid["axes"] = [{"key": "accelerators", "values": [8, 16]}]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "grid.json"
            path.write_text(json.dumps(grid), encoding="utf-8")
            done = subprocess.run([PROGRAM, "sweep", path], capture_output=True, check=True)
        answer = reckon.sweep(grid)
        self.assertEqual(answer.raw["csv"], done.stdout.decode())
        self.assertEqual(answer.items, reckon._read_csv(done.stdout.decode()))
        self.assertEqual([row["accelerators"] for row in answer], [8, 16])
        self.assertEqual({type(row["accelerators"]) for row in answer}, {int})

    def test_convert(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.sh"
            path.write_text(" ".join(WORDS), encoding="utf-8")
            done = subprocess.run([PROGRAM, "convert", "--json", path], capture_output=True, check=True)
            raw, from_file = json.loads(done.stdout), reckon.from_file(path)
        self.assertEqual((from_file.raw, from_file.source), (raw, path))
        answer = reckon.convert(WORDS)
        self.assertEqual((answer.reader, answer.keys, answer.source), (raw["reader"], raw["keys"], WORDS))
        self.assertEqual(answer.facts, {name: fact["value"] for name, fact in raw["facts"].items()})
        self.assertEqual(answer.items, [{"field": name, **fact} for name, fact in raw["facts"].items()])
        self.assertNotIn("source=", repr(answer))

    def test_timeline(self):
        asked = {**ASKED, "tp": 2, "pp": 4, "global_batch": 8}
        answer = reckon.timeline(**asked)
        self.assertEqual(answer.raw, command("timeline", **asked))
        self.assertEqual(answer.to_dict(), answer.trace)
        for name in ("trace", "picture", "operations"):
            self.assertNotIn(name + "=", repr(answer))
        self.assertEqual((answer._repr_html_(), answer._repr_svg_()), (answer.picture.svg, answer.picture.svg))
        with tempfile.TemporaryDirectory() as folder:
            svg, table = (pathlib.Path(folder) / name for name in ("answer.svg", "answer.csv"))
            words = [f"--{key.replace('_', '-')}={value}" for key, value in asked.items()]
            for path in (svg, table):
                subprocess.run([PROGRAM, "timeline", *words, "-o", path], check=True, stdout=subprocess.DEVNULL)
            self.assertIn(answer.picture.svg, svg.read_text(encoding="utf-8"))
            self.assertEqual(answer.operations, reckon._read_csv(table.read_text(encoding="utf-8")))

    def test_documents(self):
        recipe = ROOT / "data/calibrations/gemm-ada.json"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.csv"
            fitted, rows = reckon.calibrate(recipe, quick=True, rows=path), reckon._read_csv(path.read_text("utf-8"))
        for answer, raw in ((reckon.show("h100-sxm"), self.document("show", "h100-sxm")),
                            (fitted, self.document("calibrate", recipe, "--quick"))):
            self.assertEqual(jobs.without_clocks(answer), jobs.without_clocks(raw))
        self.assertTrue(all(math.isfinite(row["error"]) for row in rows))
        self.assertEqual({row["error_by_the_others"] for row in rows}, {None})  # a quick fit has none
        for kind in ("megatron", "megatron-slurm"):
            self.assertEqual(reckon.emit(kind=kind, tp=2, **ASKED), self.launch(kind, tp=2, **ASKED))
        self.assertEqual(reckon.emit(tp=2, **ASKED), self.launch("megatron", tp=2, **ASKED))
        listed = subprocess.run([PROGRAM, "list", "models"], capture_output=True, check=True).stdout.decode()
        for name in reckon.catalogue("models"):
            self.assertIn(name, listed)
        self.assertIn(reckon.version(), subprocess.run([PROGRAM, "--version"], capture_output=True).stdout.decode())
        self.assertEqual(reckon.__version__, reckon.version())

    def document(self, *words):
        return json.loads(subprocess.run([PROGRAM, *words, "--json"], capture_output=True, check=True).stdout)

    def launch(self, kind, **options):
        words = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
        done = subprocess.run([PROGRAM, "estimate", *words, "--emit", kind], capture_output=True, check=True)
        return done.stdout.decode()

    def test_frames(self):
        """Rows with nested names joined, and without pandas what to install."""
        pandas = types.SimpleNamespace(DataFrame=lambda rows: ("frame", rows))
        table = results.Table([{"a": {"b": 1}, "c": [2]}], {})
        with mock.patch.dict(sys.modules, pandas=pandas):
            self.assertEqual(table.to_frame(), ("frame", [{"a.b": 1}]))
        with mock.patch.dict(sys.modules, pandas=None):
            with self.assertRaisesRegex(ImportError, r"^to_frame\(\) needs pandas: pip install pandas$"):
                table.to_frame()
        with self.assertRaises(NotImplementedError):
            results.Result().rows()


class Asked(unittest.TestCase):
    """Each function hands all that it was given to the command of its name."""

    def test_progress(self):
        def report(*_):
            pass

        launch = results.launch_of("run.sh", {})
        cases = {"plan": ((launch, "s"), {"seq": 1}), "estimate": ((launch, "s"), {"seq": 1}),
                 "fit": ((launch, "s"), {"seq": 1}), "run": ((launch, "s"), {"seq": 1}),
                 "explain": ((launch, "s"), {"seq": 1}), "shape": ((launch, "s"), {"seq": 1}),
                 "timeline": ((launch, "s"), {"seq": 1}), "emit": ((launch, "s"), {"seq": 1}),
                 "design": ((launch, "s"), {"seq": 1, "prices": "p"}), "comm": (("s",), {"seq": 1}),
                 "validate": (("r",), {"seq": 1}), "sweep": (("g",), {"seq": 1}), "calibrate": (("r",), {"seq": 1}),
                 "convert": (("run.sh",), {"seq": 1})}
        others = {"comm": {"system": "s"}, "validate": {"runs": "r"}, "sweep": {"grid": "g"}, "design": {"prices": "p"},
                  "calibrate": {"recipe": "r"}, "convert": {"from": "run.sh"}, "emit": {"emit": "megatron"}}
        for name, (arguments, options) in cases.items():
            with mock.patch.object(reckon, "run_command", side_effect=InterruptedError) as run:
                with self.assertRaises(InterruptedError):
                    getattr(reckon, name)(*arguments, progress=report, **options)
            asked = {"seq": 1, **others.get(name, {})}
            if arguments[0] is launch:
                asked.update(launch="run.sh", system="s")
            if name not in ("sweep", "emit"):
                asked["json"] = True
            self.assertEqual(run.call_args.args, ("estimate" if name == "emit" else name, asked, report))

    def test_writers(self):
        """Options for files have methods in place."""
        for call in (reckon.plan, reckon.fit, reckon.emit):
            for key, method in (("json", "to_dict()"), ("csv", "to_frame()"), ("output", "report().save(path)")):
                with self.assertRaises(reckon.ReckonError) as caught:
                    call("llama3-8b", "8xh100", **{key: True})
                self.assertEqual(str(caught.exception),
                                 f"{call.__name__}() has no keyword {key}; its result has {method}")
        with self.assertRaisesRegex(reckon.ReckonError, "sweep.. has no keyword csv"):
            reckon.sweep({}, csv=True)


class Pages(unittest.TestCase):
    def test_report(self):
        """The page that the command writes, around the same answer."""
        answer = reckon.comm(**COMM)
        with tempfile.TemporaryDirectory() as folder:
            here, there = (pathlib.Path(folder) / name for name in ("here.html", "there.html"))
            answer.report().save(here)
            subprocess.run([PROGRAM, "comm", "h100-sxm", "--ranks", "8", "--bytes", "1Mi", "-o", there], check=True,
                           stdout=subprocess.DEVNULL)
            pages = [path.read_text(encoding="utf-8") for path in (here, there)]
        answers, questions = zip(*(re.findall('(?s)id="(?:answer|question)">(.*?)</script>', page) for page in pages))
        self.assertEqual(json.loads(answers[0]), answer.raw)
        self.assertEqual(*(re.sub('(?s)(id="(?:answer|question)">).*?</script>', r"\1", page) for page in pages))
        self.assertEqual(questions[0], "{}")  # of which a report has "Run it again"
        self.assertIn("&quot;h100-sxm&quot;", answer.report()._repr_html_())
        self.assertTrue(answer.report()._repr_html_().endswith("></iframe>"))
        self.assertEqual((repr(answer.report()), repr(answer.plot())), ("Report()", "Picture()"))

    def test_files_are_unicode(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "picture.svg"
            for written in (_pictures.Picture("<svg>µ</svg>"), _pictures.Report("<p>µ</p>")):
                written.save(str(path))
                self.assertIn("µ", path.read_text(encoding="utf-8"))

    def test_parts(self):
        """All that is said of bars: a part below a thousandth is left out."""
        with mock.patch.object(_pictures, "draw") as draw:
            _pictures.draw_parts({"a": 0.1, "b_c": 99.8, "d": 0.100001}, 100, "title")
        rows, figure = draw.call_args.args
        self.assertEqual([row["part"] for row in rows], ["b c", "d"])
        self.assertEqual(figure, {
            "kind": "bar", "title": "title", "x": {"value": "part", "title": ""}, "labels": True,
            "width": "two columns",
            "y": {"value": "share", "title": "share of the time, %", "zero": True, "decimals": 1}})

    def test_points(self):
        rows = [{"x": 1, "y": 5.0}, {"x": 20, "y": 101}, {"x": "3", "y": 1}, {"y": 7}]
        with mock.patch.object(_pictures, "draw") as draw:
            results.Sweep(rows, {}).plot("x", "y")
        points, figure = draw.call_args.args
        self.assertEqual(points, [{"x": 1, "y": 5.0}, {"x": 20, "y": 101}])
        self.assertEqual(figure, {"kind": "scatter", "x": {"value": "x", "title": "x", "log": False},
                                  "y": {"value": "y", "title": "y", "log": True}})
        with mock.patch.object(_pictures, "draw") as draw:
            _pictures.draw_points([{"x": 0, "y": -1}, {"x": 21, "y": 1}], "x", "y")
        self.assertEqual([draw.call_args.args[1][axis]["log"] for axis in "xy"], [False, False])
        with self.assertRaisesRegex(LookupError, "^no row has a number in both 'x' and 'z'$"):
            _pictures.draw_points(rows, "x", "z")

    def test_step(self):
        choice = reckon.estimate(tp=2, **ASKED)
        with mock.patch.object(results, "draw_parts") as draw:
            choice.estimate.plot()
        step = choice.raw["estimate"]
        draw.assert_called_with(step["time_s"], step["step_s"], f"step of {step['step_s']:.4g} s")

    def test_draw(self):
        """The figure of a table, as `reckon plot` draws it."""
        rows = [{"x": 1, "y": 2}, {"x": 2, "y": 3}]
        figure = {"kind": "scatter", "x": {"value": "x", "title": "µs"}, "y": {"value": "y", "title": "y"}}
        svg = _pictures.draw(rows, figure).svg
        self.assertTrue(svg.startswith("<svg"))
        self.assertIn("µs", svg)


class Reasons(unittest.TestCase):
    def test_answers_do_not_change(self):
        for module in (reckon, _pictures, results):
            for kind in vars(module).values():
                if dataclasses.is_dataclass(kind):
                    self.assertTrue(kind.__dataclass_params__.frozen, kind)

    def test_shortage(self):
        """Each kind of answer that says why nothing fits."""
        gib = 2.0**30
        estimate = {"memory_needed_bytes": 80 * gib, "memory_usable_bytes": 79 * gib, "worst_stage": 3}
        short = {"missing_bytes": 2 * gib}
        words = ("no strategy fits: the nearest needs 80.00 GiB on stage 3, 2.00 GiB over the 79.00 GiB available")
        cases = [
            ({"reason": "because"}, "because"),
            ({"reason": "because", "estimate": estimate, "shortage": short}, words),
            ({"nearest": {"estimate": estimate, "shortage": short}}, words),
            ({"nearest": {"estimate": estimate, "shortage": short}, "fewest_accelerators": 5},
             words + "; strategies fit on 5 accelerators"),
            ({"shortfall": {"least_memory": {"memory_bytes": 90 * gib}}, "system": {"memory_bytes": 80 * gib}},
             "no strategy fits: the nearest needs 90.00 GiB of the 80.00 GiB available"),
            ({"shortfall": {"least_memory": None}}, "no strategy fits"),
            ({"estimate": estimate}, "no strategy fits"),
            ({"estimate": {}, "shortage": short}, "no strategy fits"),
            ({}, "no strategy fits"),
        ]
        for raw, text in cases:
            self.assertEqual(results.shortage_of(raw), text)

    def test_cells(self):
        for key in ("mfu", "hfu", "out_of_memory_risk", "goodput", "gain"):
            self.assertEqual(results._cell(key, 0.25), "25.0%")
        self.assertEqual((results._cell("mfu", 1), results._cell("a_bytes", 2)), ("1", "2"))
        self.assertEqual(results._table([{"a": 1, "b": None}]),
                         "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
                         "<tbody><tr><td>1</td><td></td></tr></tbody></table>")
        self.assertEqual(reckon._read_csv("a,b,c\n1,1.5,x\n,true,false\n"),
                         [{"a": 1, "b": 1.5, "c": "x"}, {"a": None, "b": True, "c": False}])

    def test_shown(self):
        """A notebook shows these columns of a strategy, in this order."""
        row, = results._shown([{**{name: 0 for name in reversed(results._SHOWN)}, "other": 1}])
        self.assertEqual(tuple(row), results._SHOWN)
        estimate = reckon.estimate(tp=2, **ASKED)
        self.assertEqual(set(results._SHOWN) - set(estimate.rows()[0]), {"label"})


if __name__ == "__main__":
    unittest.main()
