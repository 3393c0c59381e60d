#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds examples/jobs.c as a stranger does, and compares its figures with the command's.

    examples.py BUILD RUNS.csv

Installs the build folder below a temporary folder, compiles the program with what pkg-config says,
runs it, and asks the installed `reckon` each of its command lines with --json.  Figures have to be
equal to the last digit.  Exit status 77 (skipped) where meson, pkg-config or cc is missing.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
JOBS = 20
VOLATILE = {"performance", "processor_time_s", "wall_time_s"}


def look_up(answer, path):
    for step in path.split("/"):
        answer = answer[int(step) if isinstance(answer, list) else step]
    return answer


def strip(answer):
    """An answer without what differs from run to run."""
    if isinstance(answer, dict):
        return {key: strip(value) for key, value in answer.items() if key not in VOLATILE}
    return [strip(item) for item in answer] if isinstance(answer, list) else answer


def compare(job, answer):
    if "answer" in job:
        return [] if strip(job["answer"]) == strip(answer) else ["another answer"]
    faults = []
    for path, value in job["figures"].items():
        try:
            expected = look_up(answer, path)
        except (KeyError, IndexError):
            expected = None
        if value != expected:
            faults.append(f"{path}: the program has {value!r}, the command {expected!r}")
    return faults


def install(build, prefix):
    """Installs below `prefix`, and has pkg-config look there."""
    subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir",
                    prefix], check=True, stdout=subprocess.DEVNULL)
    packages = next(prefix.rglob("libreckon.pc")).parent
    environment = dict(os.environ, PKG_CONFIG_PATH=str(packages),
                       PKG_CONFIG_SYSROOT_DIR=str(prefix))
    environment["LD_LIBRARY_PATH"] = str(next(prefix.rglob("libreckon.so")).parent)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libreckon"], env=environment,
                           check=True, capture_output=True, text=True).stdout.split()
    return environment, flags


def main():
    build, runs = pathlib.Path(sys.argv[1]), sys.argv[2]
    compiler = os.environ.get("CC", "cc").split()
    if not all(map(shutil.which, ("meson", "pkg-config", compiler[0]))):
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        prefix = pathlib.Path(scratch) / "installed"
        environment, flags = install(build, prefix)
        program = pathlib.Path(scratch) / "jobs"
        subprocess.run([*compiler, "-std=c17", "-Wall", "-Wextra", "-Werror", "-o", program,
                        ROOT / "examples/jobs.c", *flags], check=True)
        output = subprocess.run([program, runs], check=True, capture_output=True, text=True,
                                env=environment).stdout
        jobs, reading = [], json.JSONDecoder()
        while output.strip():
            job, end = reading.raw_decode(output.lstrip())
            output = output.lstrip()[end:]
            jobs.append(job)
        reckon = next(path for path in prefix.rglob("reckon") if path.parent.name == "bin")
        faults = [] if len(jobs) == JOBS else [f"{len(jobs)} jobs, not {JOBS}"]
        for job in jobs:
            answer = subprocess.run([reckon, *job["command"], "--json"], capture_output=True,
                                    text=True, env=environment)
            where = " ".join(job["command"])
            if answer.returncode > 1:
                faults.append(f"{where}: {answer.stderr}")
            else:
                faults += [f"{where}: {fault}" for fault in compare(job, json.loads(answer.stdout))]
    print("\n".join(faults) or f"{JOBS} jobs, "
          f"{sum(len(job.get('figures', [])) for job in jobs)} figures and "
          f"{sum('answer' in job for job in jobs)} answers are the command's")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
