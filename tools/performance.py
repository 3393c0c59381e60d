#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long questions take, and writes docs/performance.md.

    performance.py BUILD

Processor time is user and system time of the process on one thread, the least of three runs.  Instructions are those recorded in
tests/record/instructions.txt.
"""

import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
sys.path.append(str(ROOT / "tests" / "record"))
sys.path.append(str(ROOT / "python"))

import instructions  # noqa: E402

MODELS = ["llama3-70b", "llama3.1-405b", "mixtral-8x22b", "qwen3-235b-a22b", "qwen3-next-80b-a3b", "deepseek-v3",
          "nemotron-3-super"]
SIZES = {256: 1024, 1024: 2048, 16384: 8192, 1048576: 1048576}  # accelerators, global batch
# Seconds that are the aim, and sizes: frameworks that take longer are asked at one.
FRAMEWORKS = {"megatron": (0.5, SIZES), "torchtitan": (0.7, {1024: 2048}), "any": (1.0, {1024: 2048})}
FIVE = "h100-sxm:{0},b200-sxm:{0},h200-sxm:{0},mi300x:{0},gb200-nvl72:{1}"

# Questions that are slow for their kind (nothing fits on 64 H100), and those that search many times: the aim in s.
OTHERS = {
    "plan qwen3-235b-a22b 1024xh100 -b 2048 --seq 1048576": 1,
    "plan deepseek-v3 1024xh100 -b 720720": 1,
    "plan deepseek-v3 64xh100 -b 256": 0.5,
    "plan deepseek-v3 64xh100 -b 256 --framework any": 1,
    "explain llama3-70b 1024xh100 -b 2048": 0.5,
    "explain deepseek-v3 1024xh100 -b 2048": 1,
    "explain llama3-70b 1024xh100 -b 2048 --framework any": 0.5,
    "shape --model llama3-70b --system h100-sxm --accelerators 1024 --global-batch 2048": 0.5,
    "shape --model deepseek-v3 --system h100-sxm --accelerators 1024 --global-batch 2048": 1,
    f"run qwen3-235b-a22b --system {FIVE.format(16384, 16416)} --tokens 36T --deadline 90d": 2,
    f"run deepseek-v3 --system {FIVE.format(4096, 4104)} --tokens 14.8T --deadline 90d": 2,
    "design --model llama3-70b --system h100-sxm --batch 1024 --prices example --tokens 15T --days 60": 1.5,
    "sweep plans.json -o plans.csv": 5,
    "estimate llama3-70b 64xh100 -b 128 --tp 8 --pp 4 --micro-batch 1 --vp 1": 0.003,
    "estimate llama3-70b 64xh100": None,
}
PLANS = {"model": "llama3-70b", "system": "h100-sxm",
         "axes": [{"key": "accelerators", "values": [64, 128, 256, 512, 1024]},
                  {"key": "seq", "values": [4096, 8192, 16384, 32768]},
                  {"key": "global_batch", "values": [256, 512, 1024, 2048, 4096]},
                  {"key": "max_memory", "values": [40, 45, 50, 55, 60, 64, 68, 70, 72, 75]}]}
RANKED = "plan deepseek-v3 4096xh100 -b 4096 -n 5"


def run_once(command, folder):
    """Processor seconds and MB of a command."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: exit status {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def measure(command, folder):
    """The least of three runs: what else the machine does only adds."""
    return min(run_once(command, folder) for _ in range(3))


def cell(seconds, aim):
    """Seconds, bold where they miss the aim."""
    text = f"{seconds:.2f}" if seconds >= 0.1 else f"{seconds:.3f}"
    return f"**{text}**" if aim and seconds > aim else text


def write_plans(reckon, folder, out):
    for framework, (aim, sizes) in FRAMEWORKS.items():
        title = "any framework" if framework == "any" else framework
        out.append(f"\n## Plans by the rules of {title}\n\nAim: {aim} s. `reckon plan MODEL Nxh100 -b BATCH "
                   f"--framework {framework} -t 1`, alternatives included.\n")
        out.append("| N, BATCH | " + " | ".join(f"{n:,}, {batch:,}" for n, batch in sizes.items()) + " |")
        out.append("|---|" + "---|" * len(sizes))
        for model in MODELS:
            row = []
            for n, batch in sizes.items():
                seconds, _ = measure([reckon, "plan", model, f"{n}xh100", "-b", str(batch), "--framework", framework,
                                      "-t", "1"], folder)
                row.append(cell(seconds, aim))
            out.append(f"| {model} | " + " | ".join(row) + " |")


def write_others(reckon, folder, out):
    out.append("\n## Other questions\n\n| question, `-t 1` | s | aim | MB |\n|---|---|---|---|")
    (folder / "plans.json").write_text(json.dumps(PLANS), encoding="utf-8")
    for question, aim in OTHERS.items():
        threads = [] if question.startswith("estimate") else ["--threads", "1"]
        seconds, megabytes = measure([reckon, *question.split(), *threads], folder)
        out.append(f"| `{question}` | {cell(seconds, aim)} | {aim or ''} | {megabytes} |")
    out.append("\n`plans.json` is\n\n```json\n" + json.dumps(PLANS) + "\n```")


def milliseconds(call):
    """Processor time of a call, of the best of twenty rounds: other work on the machine takes longer than one."""
    rounds = []
    for _ in range(20):
        start = time.process_time()
        for _ in range(40):
            call()
        rounds.append((time.process_time() - start) / 40)
    return 1e3 * min(rounds)


def answer_request(request):
    """A function that asks the library to answer a request of `estimate`, as a program in C does."""
    import reckon._library as lib  # pylint: disable=import-outside-toplevel
    control = lib._Control(size=ctypes.sizeof(lib._Control), documents=lib._documents)  # pylint: disable=protected-access
    response, error = ctypes.c_void_p(), lib.Error()

    def ask():
        status = lib.library.rk_answer_request(b"estimate", request, ctypes.byref(control), ctypes.byref(response),
                                               ctypes.byref(error))
        lib.check(status, error)
        lib.library.rk_free(response)

    return ask


def write_calls(build, out):
    """Per call, in C and Python, and what a strategy costs."""
    table = subprocess.run([build / "bench" / "bench"], capture_output=True, text=True, check=True).stdout
    os.environ["RECKON_LIBRARY"] = str(build / "lib" / "libreckon.so")
    predictor = subprocess.run([ROOT / "bench" / "predictor.py"], capture_output=True, text=True, check=True).stdout
    import reckon  # pylint: disable=import-outside-toplevel
    question = {"global_batch": 128, "tp": 8, "pp": 4, "micro_batch": 1, "vp": 1}
    request = json.dumps({"model": "llama3-70b", "system": "64xh100", **question})
    answer = milliseconds(lambda: reckon.estimate("llama3-70b", "64xh100", **question))
    response = milliseconds(answer_request(request.encode()))
    out.append("\n## Calls\n\n`build/bench/bench`: exhaustive searches, with the Calculon methodology "
               "and with the reckon\nmodel; `us/best` is one estimate in C (aim: 3 dense, 8 DeepSeek-V3).\n")
    out.append("```text\n" + table.rstrip() + "\n```\n")
    out.append(f"Python: `bench/predictor.py` (aim: 20 µs a strategy from arrays) says {predictor.strip()}; "
               f"`reckon.estimate`\nof one strategy, with its objects, {answer:.2f} ms. `rk_answer_request` with the same question, from "
               f"JSON to JSON:\n{response:.2f} ms (aim: 0.3).")


def write_ranks(reckon, folder, out):
    out.append("\n## Threads and ranks\n\nSeconds on the wall.\n\n| command | s |\n|---|---|")
    ranks = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    for search in ([], ["--exhaustive"]):
        for before, threads in (([], "1"), ([], "2"), (ranks, "1")):
            command = [*before, reckon, *RANKED.split(), *search, "-t", threads]
            rounds = []
            try:
                for _ in range(3):
                    start = time.monotonic()
                    subprocess.run(command, cwd=folder, capture_output=True, check=True)
                    rounds.append(time.monotonic() - start)
            except FileNotFoundError:
                continue
            shown = " ".join(["mpirun -n 2"] * bool(before) + ["reckon", RANKED, *search, "-t", threads])
            out.append(f"| `{shown}` | {min(rounds):.2f} |")


def write_instructions(out):
    compiler, counts = instructions.read()
    out.append(f"\n## Instructions\n\nOf the questions of `tests/record/instructions.py`, which the test `instructions` "
               f"compares; {compiler}.\n\n| question | millions |\n|---|---|")
    for name, line in instructions.QUESTIONS.items():
        out.append(f"| `{line}` | {counts[name] / 1e6:,.0f} |")


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*: (.*)", file.read(), re.MULTILINE)
    return f"{found.group(1) if found else 'an unknown processor'}, {os.cpu_count()} cores"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    reckon = str(build / "reckon")
    load = os.getloadavg()[0]
    out = ["# Performance\n",
           "<!-- written by tools/performance.py -->",
           f"Processor time in seconds on one thread of {machine()}, the least of three runs, with a load of {load:.0f} when it began; "
           "bold\nwhere it misses the aim. `make performance` measures again. [search.md](search.md) says how searches work."]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_plans(reckon, folder, out)
        write_others(reckon, folder, out)
        write_calls(build, out)
        write_ranks(reckon, folder, out)
    write_instructions(out)
    PAGE.write_text("\n".join(out) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
