#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the Python package loads the library, lays out its structs, and calls it in threads."""

import array
import ctypes
import gc
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import types
import unittest
import warnings
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

import reckon  # noqa: E402
from reckon import _calls, _library, _words, predictor  # noqa: E402

ASKED = {"global_batch": 64, "micro_batch": 1, "tp": 2, "pp": 1, "cp": 1, "vp": 1, "zero": 1, "recompute": "none"}


class Loading(unittest.TestCase):
    def candidates(self, environment, inside=False, asked=None, named=None):
        """The libraries that are tried where pkg-config answers `asked` (None: it is missing), the linker `named`."""
        done = types.SimpleNamespace(returncode=1 if asked == "" else 0, stdout=f"{asked}\n")
        with mock.patch.dict(os.environ, environment, clear=True), \
                mock.patch.object(pathlib.Path, "exists", return_value=inside), \
                mock.patch("shutil.which", return_value=asked), \
                mock.patch("subprocess.run", return_value=done) as run, \
                mock.patch("ctypes.util.find_library", return_value=named) as find:
            found = _library._candidates()
        if run.called:
            self.assertEqual(run.call_args.args, (["pkg-config", "--variable=libdir", "libreckon"],))
            self.assertEqual(run.call_args.kwargs, {"capture_output": True, "encoding": "utf-8"})
        if find.called:
            find.assert_called_with("reckon")
        return found

    def test_candidates(self):
        inside, last = str(pathlib.Path(_library.__file__).parent / "libreckon.so"), "libreckon.so.1"
        self.assertEqual(self.candidates({"RECKON_LIBRARY": "x"}, True, "/lib", "y"), ["x"])
        self.assertEqual(self.candidates({}), [last])
        self.assertEqual(self.candidates({}, True, "/lib"), [inside, last])
        self.assertEqual(self.candidates({}, False, "/lib", "y"), ["/lib/libreckon.so.1", "y", last])
        self.assertEqual(self.candidates({}, named="y"), ["y", last])
        with mock.patch("shutil.which", return_value="pkg-config") as which:
            with mock.patch.object(pathlib.Path, "exists", return_value=False), mock.patch.dict(os.environ, clear=True):
                with mock.patch("subprocess.run", return_value=types.SimpleNamespace(returncode=1, stdout="/x\n")):
                    self.assertNotIn("/x/libreckon.so.1", _library._candidates())
        self.assertEqual(which.call_args_list[0], mock.call("pkg-config"))

    def test_first_that_loads(self):
        def load(name):
            if name != "b":
                raise OSError(f"no {name}")
            return name

        with mock.patch.object(ctypes, "CDLL", side_effect=load):
            with mock.patch.object(_library, "_candidates", return_value=["a", "b", "c"]):
                self.assertEqual(_library._load(), "b")
            with mock.patch.object(_library, "_candidates", return_value=["a", "c"]):
                with self.assertRaisesRegex(ImportError, r"^libreckon is not installed: run 'make install' in the source tree, "
                        r"or set RECKON_LIBRARY to the path of libreckon[.]so \(a: no a; c: no c\)$"):
                    _library._load()

    @unittest.skipIf(ctypes.sizeof(ctypes.c_void_p) != 8, "the record is of machines of 64 bits")
    def test_layouts(self):
        """Structs are laid out as the compiler does, whose layouts are tests/api/layout.txt."""
        layouts, name = {}, ""
        for line in (ROOT / "tests/api/layout.txt").read_text(encoding="utf-8").splitlines():
            if line.startswith("struct "):
                _, name, size = line.split()
                layouts[name] = {"": int(size)}
            elif line.startswith("    ") and name:
                member, *numbers = line.split()
                layouts[name][member] = tuple(map(int, numbers))
        kinds = {"rk_error": _library.Error, "rk_job_progress": _library._Progress, "rk_job_control": _library._Control,
                 "rk_setup_choice": predictor._Choice, "rk_prediction": predictor._Prediction}
        joined = {"sent_bytes": "tensor_sent_bytes", "interval_s": "step_p10_s", "comparable": "comparable_runs"}
        for name, kind in kinds.items():
            layout = layouts[name]
            for member, of, *_ in kind._fields_:
                offset, size = layout[joined.get(member, member)]
                field = getattr(kind, member)
                self.assertEqual((field.offset, ctypes.sizeof(of)), (offset, ctypes.sizeof(of)), f"{name}.{member}")
                if member not in joined:
                    self.assertEqual(field.size, size, f"{name}.{member}")
            self.assertLessEqual(ctypes.sizeof(kind), layout[""])
        self.assertEqual(ctypes.sizeof(_library.Error), layouts["rk_error"][""])  # which the library fills
        self.assertGreaterEqual(predictor._STRATEGY_BYTES, layouts["rk_strategy"][""])


class Jobs(unittest.TestCase):
    def test_errors(self):
        with self.assertRaisesRegex(reckon.ReckonError, "^reckon has no command 'sing'$"):
            _library.run_command("sing", {})
        with self.assertRaisesRegex(reckon.ReckonError, "^reckon has no command 'sing'$"):
            reckon.schema("sing")
        for value, words in ((object(), "launch: expected a number, a text, a list, a path or a mapping, not object"),
                             (float("inf"), "launch: neither NaN nor infinite is a value")):
            with self.assertRaises(reckon.ReckonError) as caught:
                reckon.convert([value])
            self.assertEqual(str(caught.exception), words)
        for value, plain in (({1}, [1]), (range(2), [0, 1]), (frozenset([3]), [3]), (pathlib.Path("a"), "a")):
            self.assertEqual(json.loads(_library.to_json("x", value)), plain)

    def test_requests(self):
        """None is as if absent; a request names what is wrong in it."""
        self.assertEqual(json.loads(_library._request_of({"a": 1, "b": {2}})), {"a": 1, "b": [2]})
        with self.assertRaisesRegex(reckon.ReckonError, "^b: "):
            _library._request_of({"a": 1, "b": object(), "c": 2})
        asked = {"model": "llama3-8b", "system": "8xh100", "tp": 8, "pp": None, "set": {"memory": "90GiB"}}
        with mock.patch.object(_library, "_run_job") as run:
            _library.run_command("plan", {**asked, "launch": ["a"], "method": "calculon"})
        name, resolve, request, _ = run.call_args.args
        request = json.loads(request)
        self.assertEqual((name, resolve), ("plan", [b"calculon", b"llama3-8b", b"8xh100"]))
        self.assertTrue(request.pop("launch").endswith("launch.json"))
        self.assertEqual(request, {"model": "llama3-8b", "system": "8xh100", "tp": 8, "set": "memory=90GiB",
                                   "method": "calculon"})
        self.assertEqual([_library._encode(value) for value in (pathlib.Path("a/b"), "\ud800", {"a": 1}, None)],
                         [b"a/b", b"?", None, None])

    def test_words_of_a_launch(self):
        with _library.launch_as_file(["a", 1]) as path:
            self.assertEqual(json.loads(path.read_text(encoding="utf-8")), {"argv": ["a", 1]})
        self.assertFalse(path.exists())
        with _library.launch_as_file("run.sh") as path:
            self.assertEqual(path, "run.sh")

    def test_messages_that_are_no_utf8(self):
        error = _library.Error(code=4, message=b"caf\xe9")
        with self.assertRaisesRegex(reckon.ReckonError, "caf\ufffd"):
            _library.check(4, error)
        _library.check(0, error)

    def test_names(self):
        """All names of the stub, and no other, are those of `from reckon import *`."""
        stub = (ROOT / "python/reckon/__init__.pyi").read_text(encoding="utf-8")
        names = re.findall(r"^(?:def|class) ([A-Za-z]\w*)|^from [.]\w+ import (\w+) as", stub, re.M)
        stated = {defined or imported for defined, imported in names}
        self.assertEqual(stated - {"ProgressCallback", "Words"}, set(reckon.__all__))
        for name in reckon.__all__:
            self.assertTrue(hasattr(reckon, name), name)

    def test_systems_of_predictors(self):
        """Of what is no system, the message in words of Python, with a number or without one."""
        for system in ("abacus", "8xabacus"):
            with self.assertRaises(reckon.ReckonError) as caught:
                reckon.Predictor("llama3-8b", system)
            self.assertEqual(str(caught.exception), 'the catalogue has no system "abacus"; reckon.catalogue("systems") '
                             'and reckon.catalogue("accelerators") show the names, and a file\'s name ends in .json or '
                             '.json.gz')
        with self.assertRaisesRegex(reckon.ReckonError, '^JSON text: the key "name" is missing: expected a text$'):
            reckon.Predictor("llama3-8b", {"as": "8x*:-"})

    def test_errors_of_nothing(self):
        error = reckon.NothingFitsError("why", {"a": 1}, {"model": "x"})
        self.assertEqual((str(error), error.reason, error.raw, error.args), ("why", "why", {"a": 1},
                                                                             ("why", {"a": 1}, {"model": "x"})))
        self.assertEqual((error.accelerators, error.changes), (None, []))
        self.assertEqual(reckon.NothingFitsError("", {"fewest_accelerators": 8}, {}).accelerators, 8)
        for listed, changes in (([1], [1]), ({}, []), (None, [])):
            with mock.patch.object(_library, "fit_of", return_value={"shortage": {"changes": listed}}) as fit:
                self.assertEqual(error.changes, changes)
            fit.assert_called_with({"model": "x"})

    def test_jobs_are_freed(self):
        """Whatever becomes of them."""
        for options in ({"system": "h100-sxm", "bytes": 1024}, {"system": "abacus"}, {"sing": 1}):
            with mock.patch.object(_library.library, "rk_job_free") as free:
                try:
                    _library.run_command("comm", options)
                except reckon.ReckonError:
                    pass
            self.assertTrue(free.called, options)
        with mock.patch.object(_library.library, "rk_free") as free:
            _library.command_schema("plan")
        self.assertTrue(free.called)

    def test_words(self):
        members = {"a_b": {"$ref": "#/properties/c"}, "c": {"enum": ["d"]}, "e": {"items": {"enum": ["f"]}}}
        cases = {
            "unknown option --x-y; 'reckon plan --help' lists the options":
                'plan() has no keyword x-y; reckon.schema("plan") lists them',
            "unknown option -x": "plan() has no keyword x",
            "'reckon list models' has them": 'reckon.catalogue("models") has them',
            "'reckon list gpu-names'": 'reckon.catalogue("gpu-names")',
            "'reckon fit a-b 8x.c'": 'reckon.fit("a-b", "8x.c")',
            "ask 'reckon comm'": "ask reckon.comm()",
            "--a-b d": 'a_b="d"', "--c d": 'c="d"', "--e f": 'e="f"', "--e 12": "e=12", "--e g": "e g",
            "--unknown f": "unknown f", "--from x": "launch x", "a--b": "a--b", "a-b --c": "a-b c",
        }
        for message, words in cases.items():
            self.assertEqual(_words.in_words_of_python("plan", message, members), words)


class Threads(unittest.TestCase):
    def served(self):
        return [thread for thread in threading.enumerate() if thread.name == "reckon"]

    def test_a_thread_is_used_again(self):
        reckon.comm("h100-sxm", bytes=1024)
        time.sleep(0.1)
        before = self.served()
        seen = {_calls.Call(lambda report: threading.current_thread(), None).run() for _ in range(3)}
        self.assertTrue(all(thread.daemon and thread.name == "reckon" for thread in seen))
        self.assertLessEqual(len(self.served()), len(before) + 1)
        self.assertEqual(_calls._calls, set())

    def test_work(self):
        """Its answer and its exceptions are the caller's; reports go to `progress` in the caller's thread."""
        seen = []
        call = _calls.Call(lambda report: [report(1, 2), report("x")],
                           lambda *values: seen.append((threading.current_thread(), values)))
        self.assertEqual(call.run(), [True, True])
        self.assertEqual(seen, [(threading.current_thread(), (1, 2)), (threading.current_thread(), ("x",))])
        with self.assertRaisesRegex(ZeroDivisionError, "zero"):
            _calls.Call(lambda report: 1 / 0, None).run()
        self.assertEqual(_calls.Call(lambda report: report(1), None).run(), True)
        silent = _calls.Call(lambda report: report(1), None)
        silent.run()
        self.assertTrue(silent._events.empty())

    def test_a_progress_that_raises(self):
        """The work is asked to stop, and the caller waits for it a little."""
        ended = threading.Event()

        def work(report):
            while report(0):
                time.sleep(0.001)
            ended.set()

        def stop(*_):
            raise ValueError("enough")

        with self.assertRaisesRegex(ValueError, "enough"):
            _calls.Call(work, stop).run()
        self.assertTrue(ended.wait(5))

    def test_no_thread(self):
        """Where none can start, the caller gets the reason, and the next call works."""
        with mock.patch.object(_calls, "_idle", []), \
                mock.patch.object(threading.Thread, "start", side_effect=RuntimeError):
            call = _calls.Call(lambda report: 1, None)
            with self.assertRaises(RuntimeError):
                call.run()
        self.assertNotIn(call, _calls._calls)
        self.assertFalse(call._running.locked())
        self.assertEqual(_calls.Call(lambda report: 1, None).run(), 1)

    def test_stop(self):
        call = _calls.Call(lambda report: 1, None)
        call._running.acquire()
        start = time.monotonic()
        call.stop(0.05)
        self.assertGreaterEqual(time.monotonic() - start, 0.05)
        self.assertFalse(call._report())
        self.assertTrue(call._running.locked())
        call._running.release()
        call.stop(5)
        self.assertFalse(call._running.locked())

    def test_the_interpreter_ends(self):
        """Every call is asked to stop before any is waited for."""
        calls = [_calls.Call(lambda report: 1, None) for _ in range(2)]
        with mock.patch.object(_calls, "_calls", set(calls)), mock.patch.object(_calls.Call, "stop") as stop:
            stop.side_effect = lambda wait_s: self.assertEqual([call._stopped for call in calls], [True, True])
            _calls._stop_all()
        self.assertEqual(stop.call_args_list, [mock.call(_calls._EXIT_S)] * 2)

    def test_interrupt_of_the_main_thread(self):
        """What it handles now, in either form of sys._current_exceptions, or what ended it."""
        interrupt, main = KeyboardInterrupt(), threading.main_thread()
        for handled, found in ((interrupt, interrupt), ((KeyboardInterrupt, interrupt, None), interrupt),
                               (ValueError(), None), (None, None)):
            with mock.patch.object(sys, "_current_exceptions", lambda: {main.ident: handled}, create=True):
                self.assertIs(_calls._interrupt_of_main(), found)
        dead = types.SimpleNamespace(is_alive=lambda: False, ident=0)
        for last, found in ((interrupt, interrupt), (ValueError(), None), (None, None)):
            with mock.patch.object(threading, "main_thread", return_value=dead), \
                    mock.patch.object(sys, "last_value", last, create=True):
                self.assertIs(_calls._interrupt_of_main(), found)

    def test_interrupted(self):
        """All calls stop when the main thread's does, and those of other threads when it handles an interrupt."""
        other = _calls.Call(lambda report: 1, None)
        with mock.patch.object(_calls, "_calls", {other}):
            def stop(*_):
                raise KeyboardInterrupt

            with self.assertRaises(KeyboardInterrupt):
                _calls.Call(lambda report: report(1), stop).run()
        self.assertTrue(other._stopped and other._interrupted)
        raised = queue.SimpleQueue()
        interrupts = [None, KeyboardInterrupt()]

        def work(report):
            while report():
                time.sleep(0.001)

        def ask(call):
            try:
                call.run()
            except KeyboardInterrupt:
                raised.put(True)

        with mock.patch.object(_calls, "_interrupt_of_main", lambda: interrupts.pop(0) if len(interrupts) > 1
                               else interrupts[0]):
            thread = threading.Thread(target=ask, args=(_calls.Call(work, None),))
            thread.start()
            self.assertTrue(raised.get(timeout=10))
            thread.join()
        alone = _calls.Call(work, None)
        alone._interrupted = True
        with self.assertRaises(KeyboardInterrupt):
            alone.run()

    def test_fork(self):
        """A child of a fork has none of the threads, and starts its own."""
        reckon.comm("h100-sxm", bytes=1024)
        time.sleep(0.1)
        self.assertTrue(_calls._idle)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
            child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(0 if len(reckon.comm("h100-sxm", bytes=1024)) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Predictors(unittest.TestCase):
    FIGURES = ("step_s", "memory_total_bytes", "memory_needed_bytes", "memory_usable_bytes", "fits", "mfu",
               "tokens_per_s")

    def test_figures(self):
        """Those of `estimate`, whatever is asked for."""
        stack = reckon.show("megatron-2024")
        cases = [({}, {}), ({"framework": "huggingface", "zero": 2}, {}), ({"stack": "megatron-2024"}, {}),
                 ({"stack": stack}, {}),
                 ({"mfu_convention": "palm"}, {}), ({"max_memory_bytes": 60 * 2.0**30}, {"max_memory": 60}),
                 ({"expandable_segments": True}, {}), ({"offload": "optimizer"}, {}), ({"precision": "fp8"}, {})]
        for options, instead in cases:
            others = {} if options.get("framework") else {"overlap": "grad"}
            others = {**ASKED, **others}
            alone = reckon.Predictor("llama3-8b", "8xh100", **{**others, **options})
            asked = {**{key: value for key, value in options.items() if key != "max_memory_bytes"}, **instead}
            whole = reckon.estimate("llama3-8b", "8xh100", **{**others, **asked}).estimate
            many = alone.all(micro_batch=[1, 1])
            for figure in self.FIGURES:
                self.assertEqual(getattr(alone(), figure), getattr(whole, figure), (options, figure))
                if figure != "memory_usable_bytes":
                    self.assertEqual(list(getattr(many, figure)), [getattr(whole, figure)] * 2, (options, figure))
            self.assertEqual((many.reason, len(many)), ([None, None], 2))

    def test_columns(self):
        predict = reckon.Predictor("llama3-8b", "8xh100", **ASKED)
        for column in ([1, 2], (1, 2), range(1, 3), array.array("i", [1, 2])):
            many = predict.all(tp=column)
            self.assertEqual(list(many.step_s), [predict(tp=1).step_s, predict(tp=2).step_s])
            self.assertIsInstance(many.step_s, array.array)
            self.assertEqual(many.fits, [predict(tp=1).fits, predict(tp=2).fits])
        wrong = predict.all(tp=[3])
        for figure in ("step_s", "memory_total_bytes", "memory_needed_bytes", "mfu", "tokens_per_s"):
            self.assertNotEqual(*(getattr(wrong, figure)[0],) * 2)  # NaN
        self.assertEqual(wrong.fits, [False])
        with self.assertRaisesRegex(reckon.ReckonError, r"^all\(\) needs a list or an array of at least one field, such as tp=\[4, 8\]$"):
            predict.all(tp=1)
        with self.assertRaisesRegex(reckon.ReckonError, "^arrays must have the same length: tp 2, pp 1$"):
            predict.all(tp=[1, 2], pp=[1])
        self.assertEqual([predictor._is_numpy(value) for value in ([1], 1)], [False, False])

    def test_old_names(self):
        one = reckon.Predictor("llama3-8b", "8xh100", **ASKED)()
        for old, new in (("memory_bytes", "memory_total_bytes"), ("usable_bytes", "memory_usable_bytes")):
            with self.assertWarnsRegex(DeprecationWarning, f"^{old} is called {new}$") as caught:
                self.assertEqual(getattr(one, old), getattr(one, new))
            self.assertEqual(caught.filename, __file__)
        with self.assertRaisesRegex(AttributeError, "^'Prediction' object has no attribute 'sing'$"):
            one.sing

    def test_systems(self):
        alone = reckon.Predictor("llama3-8b", "h100-sxm", accelerators=8, **ASKED)
        for system in ("8xh100", "1xdgx-h100-superpod", "h100-sxm:8"):
            try:
                reckon.estimate("llama3-8b", system, **ASKED)
            except reckon.ReckonError as error:
                with self.assertRaises(reckon.ReckonError) as caught:
                    reckon.Predictor("llama3-8b", system, **ASKED)
                self.assertIn(str(error).split(";")[0][:20], str(caught.exception))
                continue
            self.assertEqual(reckon.Predictor("llama3-8b", system, **ASKED)().step_s,
                             reckon.estimate("llama3-8b", system, **ASKED).estimate.step_s)
        self.assertEqual(reckon.Predictor("llama3-8b", "8xh100", accelerators=8, **ASKED)().step_s, alone().step_s)
        with self.assertRaisesRegex(reckon.ReckonError, "^'8xh100' is 8 accelerators, and accelerators=16: leave out one$"):
            reckon.Predictor("llama3-8b", "8xh100", accelerators=16)
        for system in ("abacus", "8xabacus", '{"name": "x"}', "{x"):
            with self.assertRaises(reckon.ReckonError):
                reckon.Predictor("llama3-8b", system)
        self.assertEqual(predictor._document("model", pathlib.Path("a")), b"a")
        self.assertEqual(json.loads(predictor._document("model", {"a": 1})), {"a": 1})
        documents = {"model": "llama3-8b", "system": "h100-sxm", "stack": "megatron-2024"}
        for name in documents:
            with self.assertRaisesRegex(reckon.ReckonError, f"^{name}: expected a number, a text, a list, a path or a mapping, not object$"):
                reckon.Predictor(**{**documents, name: object()})

    def test_handles_are_freed(self):
        freed = []
        kinds = ("model", "system", "stack", "setup")
        with mock.patch.multiple(predictor.library, **{
                f"rk_{kind}_free": mock.Mock(side_effect=lambda _, kind=kind: freed.append(kind)) for kind in kinds}):
            predict = reckon.Predictor("llama3-8b", "h100-sxm", stack="megatron-2024")
            self.assertEqual(freed, [])
            del predict
            gc.collect()
        self.assertEqual(sorted(freed), sorted(kinds))


class Progress(unittest.TestCase):
    def test_lines(self):
        """Each replaces the last, as long as it is on its way to somebody."""
        script = ("import reckon\n"
                  "reckon.print_progress('a', 1, 2)\n"
                  "import time; time.sleep(60)\n")
        child = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE,
                                 env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        try:
            self.assertEqual(os.read(child.stderr.fileno(), 100), b"\r1 a, 50 %\033[K")
        finally:
            child.kill()
            child.wait()
            child.stderr.close()


if __name__ == "__main__":
    unittest.main()
