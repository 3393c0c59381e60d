#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers, arrays and frames of the real numpy and pandas.  Exit status 77 (skipped) without them."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

try:
    import numpy
    import pandas
except ImportError:
    sys.exit(77)

import reckon  # noqa: E402

ASKED = ("llama3-8b", "h100-sxm")


class Arrays(unittest.TestCase):
    def test_scalars(self):
        plain = reckon.plan(*ASKED, accelerators=8, global_batch=64, tp=[1, 2], max_memory=70.5, exhaustive=True)
        for whole in (numpy.int64, numpy.int32, numpy.uint16, numpy.int8):
            other = reckon.plan(*ASKED, accelerators=whole(8), global_batch=whole(64), tp=numpy.array([1, 2]),
                                max_memory=numpy.float32(70.5), exhaustive=numpy.bool_(True))
            self.assertEqual(plain.best.strategy, other.best.strategy, whole)
        days = [reckon.run(*ASKED, accelerators=8, global_batch=64, tokens=tokens).days
                for tokens in (numpy.float64(1e12), "1T")]
        self.assertEqual(*days)

    def test_wrong_values(self):
        for tp in (numpy.float64("nan"), numpy.array([1.5]), numpy.array([[1]]), numpy.array(["x"])):
            with self.assertRaises(reckon.ReckonError, msg=repr(tp)) as caught:
                reckon.plan(*ASKED, accelerators=8, global_batch=64, tp=tp)
            self.assertIn("tp", str(caught.exception))

    def test_columns(self):
        """Arrays and columns of a frame are strategies, a row each; the figures are arrays."""
        predict = reckon.Predictor("llama3-8b", "8xh100", global_batch=64)
        table = pandas.DataFrame({"tp": [1, 2, 3], "micro_batch": [1, 1, 1]})
        alone = [predict(tp=tp, micro_batch=1) for tp in (1, 2)]
        for columns in ({name: table[name] for name in table}, {name: table[name].to_numpy() for name in table}):
            many = predict.all(**columns)
            self.assertIsInstance(many.step_s, numpy.ndarray)
            self.assertEqual(list(many.step_s[:2]), [one.step_s for one in alone])
            self.assertTrue(numpy.isnan(many.step_s[2]) and numpy.isnan(many.memory_needed_bytes[2]))
            self.assertEqual((many.fits.dtype, list(many.fits)), (bool, [one.fits for one in alone] + [False]))
        table["step_s"] = many.step_s
        self.assertEqual(table["step_s"].idxmin(), int(numpy.nanargmin(many.step_s)))

    def test_frames(self):
        """Every figure of the JSON answer, with a type to compute with."""
        plan = reckon.plan(*ASKED, accelerators=8, global_batch=64)
        frame = plan.to_frame()
        self.assertEqual(len(frame), len(plan.choices))
        self.assertEqual(list(frame["step_s"]), [choice.estimate.step_s for choice in plan.choices])
        self.assertEqual((frame["step_s"].dtype, frame["tp"].dtype, frame["fits"].dtype), (float, int, bool))
        parts = [name for name in frame if name.startswith("time_s.")]
        self.assertTrue(numpy.allclose(frame[parts].sum(axis=1), frame["step_s"]))
        comm = reckon.comm("h100-sxm", bytes="1Gi").to_frame()
        self.assertEqual(list(comm["bytes"]), [2**30] * len(comm))
        clusters = reckon.run("llama3-8b", "h100", tokens="1T", deadline="60d").to_frame()
        self.assertTrue(clusters["days"].is_monotonic_increasing)

    def test_rows_of_a_frame(self):
        rows = pandas.DataFrame([{"id": "a", "model": "llama3-8b", "accelerator": "H100", "n_accel": 8, "seq": 8192,
                                  "gbs": 64, "step_time_s": 6.5}])
        validation = reckon.validate(rows.to_dict("records"))
        self.assertEqual(validation.runs[0].step_measured_s, 6.5)


if __name__ == "__main__":
    unittest.main()
