#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a type checker knows every option of the package.

The code of the notebooks passes mypy --strict; thirty misspelt options, values of no choice and
wrong types are each an error on their line.  Exit status 77 (skipped) without mypy.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WRONG = '''
plan(M, S, acelerators=64)
plan(M, S, global_bacth=512)
plan(M, S, tensor_parallel=8)
plan(M, S, schedul="1f1b")
plan(M, S, precision="bf61")
plan(M, S, framework="megatorn")
plan(M, S, fp8_recipe="delayd")
plan(M, S, tp={"a": 1})
plan(M, S, fsdp="yes")
plan(M, S, progres=None)
plan(S)
estimate(M, S, micro_bach=1)
estimate(M, S, offlod="optimizer")
estimate(M, S, recompte="full")
estimate(M, S, attention="flahs")
estimate(M, S, optimizer="adamx")
estimate(M, S, explain="please")
estimate(M, S, sequence=8192.5j)
fit(M, S, max_mem=64)
fit(M, S, gradients="fp61")
run(M, S, token="15T")
run(M, S, price_per_hour=2)
run(M, S, sparse=3)
explain(M, S, chnge=10)
comm(S, byts=1)
comm(S, colective="all_reduce")
design(M, S)
shape(M, S, block=32)
timeline(M, S, pipline=2)
sweep({}, resumee=True)
convert("run.sh", relese="0.9")
plan(M, S, output="x.json")
Predictor(M, S, acelerators=8)
Predictor(M, S)(tpp=8)
Predictor(M, S)(tp=8).step
Predictor(M, S).all(micro_bach=[1, 2])
'''.strip().splitlines()


def check(code):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "asked.py"
        path.write_text(code, encoding="utf-8")
        done = subprocess.run(
            ["mypy", "--strict", "--no-error-summary", "--cache-dir", folder, str(path)],
            capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(ROOT / "python")})
    return [line for line in done.stdout.splitlines() if "error:" in line]


def main():
    if not shutil.which("mypy"):
        return 77
    faults = []
    for path in sys.argv[1:]:
        cells = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        faults += [f"{path}: {error}" for error in check(code)]
    start = "import reckon\nM, S = 'llama3-8b', 'h100-sxm'\n"
    errors = check(start + "".join(f"reckon.{line}\n" for line in WRONG))
    found = {int(error.split(":")[1]) - 3 for error in errors if "asked.py" in error}
    faults += [f"not caught: {line}" for i, line in enumerate(WRONG) if i not in found]
    right = start + "reckon.plan(M, S, accelerators=64, tp=[4, 8], precision='fp8', gbs='1k')\n"
    right += "reckon.Predictor(M, S, gpus=64).all(tp=[4, 8], zero=1).step_s[0]\n"
    right += "reckon.plan(reckon.from_file('run.sh'), S).report().save('x.html')\n"
    faults += check(right)
    print("\n".join(faults) or f"{len(WRONG)} wrong calls are caught")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())
