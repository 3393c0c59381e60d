#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what a Predictor of the Python package takes: one call, and strategies from arrays.

    predictor.py [--check]

Processor time, the least of five rounds.  --check fails where one call takes more than 100 µs, or fewer than
20,000 strategies a second come from arrays.
"""

import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "python"))  # where it is not installed

import reckon  # noqa: E402

CALLS, PAIRS = 500, 2500


def least_s(work):
    """The least processor time of five rounds."""
    rounds = []
    for _ in range(5):
        start = time.process_time()
        work()
        rounds.append(time.process_time() - start)
    return min(rounds)


def main():
    predict = reckon.Predictor("llama3-70b", "64xh100", global_batch=128, micro_batch=1)
    call_s = least_s(lambda: [predict(tp=8, pp=2) for _ in range(CALLS)]) / CALLS
    rate = 2 * PAIRS / least_s(lambda: predict.all(tp=[8, 4] * PAIRS, pp=[2, 4] * PAIRS))
    print(f"one call: {1e6 * call_s:.0f} µs; from arrays: {rate:,.0f} strategies/s")
    return "--check" in sys.argv and not (call_s <= 100e-6 and rate >= 20000)


sys.exit(main())
