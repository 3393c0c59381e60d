#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C stops every call of the Python package at once, and leaves everything as it was."""

import pathlib
import signal
import statistics
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Calls that take many seconds.
LARGE = 'model="deepseek-v3", system="h100-sxm", accelerators=2048, global_batch=15360, threads=1'
CALLS = {
    "plan": f"reckon.plan({LARGE}, exhaustive=True)",
    "explain": f'reckon.explain({LARGE}, framework="any")',
    "run": 'reckon.run("llama3-8b", "h100-sxm", accelerators=64, global_batch=512, tokens="120T", '
           "simulate=1000000, threads=1)",
    "sweep": 'reckon.sweep({"model": "llama3-70b", "system": "h100-sxm", "global_batch": 1024, '
             '"search": "exhaustive", '
             '"axes": [{"key": "accelerators", "values": [256, 512, 1024, 2048, 4096]}, '
             '{"key": "seq", "values": [1024, 2048, 3072, 4096, 6144, 8192, 12288, 16384]}]}, threads=1)',
    "timeline": f'reckon.timeline({LARGE}, framework="any")',
    "progress": f"reckon.plan({LARGE}, exhaustive=True, progress=lambda *seen: None)",
}

HEAD = f"""
import signal, sys, threading, time
sys.path.insert(0, {str(ROOT / "python")!r})
import reckon
before = signal.getsignal(signal.SIGINT)
"""

ONE = HEAD + """
print("ready", flush=True)
try:
    {call}
    print("finished", flush=True)
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
assert signal.getsignal(signal.SIGINT) is before
fitting = reckon.fit("llama3-8b", "h100-sxm", accelerators=8, global_batch=64)
assert fitting.fits
until = time.monotonic() + 20
while reckon._calls._calls and time.monotonic() < until:
    time.sleep(0.02)
print(len(reckon._calls._calls), flush=True)
"""

# The main thread waits, as in a pool; its workers are in the library.
POOL = HEAD + """
import concurrent.futures
def work():
    try:
        return {call}
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
try:
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(work) for _ in range(2)]
        print("ready", flush=True)
        futures[0].result()
    print("finished", flush=True)
except KeyboardInterrupt:
    print("main", flush=True)
assert signal.getsignal(signal.SIGINT) is before
"""

# The main thread is in the library too.
BOTH = HEAD + """
def work():
    try:
        {call}
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
thread = threading.Thread(target=work)
thread.start()
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    pass
thread.join()
print("main", flush=True)
"""

# The work of another thread ends with an error as soon as the main thread stops it.
ENDS = HEAD + """
from reckon._calls import Call, _calls
def work(report):
    while report():
        time.sleep(0.0001)
    raise RuntimeError("stopped")
def call():
    try:
        Call(work, None).run()
    except BaseException as exception:
        print(type(exception).__name__, flush=True)
for _ in range(20):
    thread = threading.Thread(target=call)
    thread.start()
    while not _calls:
        time.sleep(0.001)
    for running in list(_calls):
        running._interrupted = running._stopped = True
    thread.join()
"""


def interrupt(script, delay_s):
    """Runs a script, sends it a real SIGINT; the lines that follow, and when it was sent."""
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    try:
        ready = child.stdout.readline()
        assert ready == "ready\n", ready + child.stderr.read()
        time.sleep(delay_s)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, errors = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 0, (child.returncode, out, errors)
    return out.split(), sent


class Interrupt(unittest.TestCase):
    def check_times(self, times):
        self.assertLess(statistics.median(times), 0.2, times)
        self.assertLess(max(times), 1, times)  # on a busy machine

    def test_calls(self):
        for name, call in CALLS.items():
            with self.subTest(call=name):
                times = []
                for delay_s in (0.02, 0.25, 0.5):
                    lines, sent = interrupt(ONE.format(call=call), delay_s)
                    self.assertNotIn("finished", lines)
                    times.append(float(lines[0]) - sent)
                    self.assertEqual(lines[1], "0")  # the library has stopped, too
                self.check_times(times)

    def test_workers(self):
        for script, count in ((POOL, 2), (BOTH, 1)):
            for delay_s in (0.4, 1.5, 4):  # on a busy machine a worker may not have begun
                lines, sent = interrupt(script.format(call=CALLS["plan"]), delay_s)
                if len(lines) == count + 1:
                    break
            self.assertNotIn("finished", lines)
            self.assertEqual(lines[-1], "main")
            self.assertEqual(len(lines), count + 1)
            self.check_times([float(line) - sent for line in lines[:count]])

    def test_stopped(self):
        """A call that is interrupted says so, not with which error its work has stopped."""
        child = subprocess.run([sys.executable, "-c", ENDS], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(child.stdout.split(), ["KeyboardInterrupt"] * 20)

    def test_exit(self):
        """A script that does not catch it ends at once, by the signal."""
        script = HEAD + f'print("ready", flush=True)\n{CALLS["plan"]}\n'
        child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=30)
        self.assertEqual(child.returncode, -signal.SIGINT)
        self.assertIn("KeyboardInterrupt", errors)


if __name__ == "__main__":
    unittest.main()
