#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the configurations of a folder, and compares what `reckon convert` makes of them.

    configs.py RECKON FOLDER [--write]

FOLDER/expected.json has for each file its reader, the value of every fact, the keys that are not
priced and the unknown ones, or a part of the error.  --write renews it: look at each difference.
Every reader refuses a line whose configuration is there and broken.
"""

import json
import os
import subprocess
import sys

BROKEN = """axolotl train {}
llamafactory-cli train {}
trl sft --config {} --model_name_or_path Qwen/Qwen3-0.6B
accelerate launch --config_file {} run_clm.py --model_name_or_path Qwen/Qwen3-0.6B --output_dir o
torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file {}
tune run --nproc_per_node 8 full_finetune_distributed --config {}
deepspeed run_clm.py --model_name_or_path Qwen/Qwen3-0.6B --output_dir o --deepspeed {}
megatron sft --config {} --model Qwen/Qwen3-0.6B
python3 -m MaxText.train {}
composer train.py {}
python run_train.py --config-file {}
python3 ./deepy.py train.py {}
python3 megatron_gpt_pretraining.py --config-name {}
torchrun primus/train.py --config {}""".splitlines()


def check_broken(program, folder):
    wrong = 0
    for line in BROKEN:
        done = subprocess.run([program, "convert", "-"], cwd=folder, input=line.format("broken.yaml"),
                              capture_output=True, text=True, timeout=60)
        if done.returncode != 2 or "broken.yaml:3:2: no YAML" not in done.stderr:
            wrong += 1
            print(f"{line}: exit {done.returncode}: {done.stderr}")
    return wrong


def read(program, folder, name):
    done = subprocess.run([program, "convert", name, "--json"], cwd=folder, capture_output=True,
                          text=True, timeout=60)
    if done.returncode:
        return {"error": done.stderr.strip().replace("reckon convert: ", "")}
    answer = json.loads(done.stdout)
    return {"reader": answer["reader"],
            "facts": {name: fact["value"] for name, fact in sorted(answer["facts"].items())},
            "not_priced": sorted(key["key"] for key in answer["keys"]["not_priced"]),
            "unknown": sorted(key["key"] for key in answer["keys"]["unknown"])}


def main():
    program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    path = os.path.join(folder, "expected.json")
    names = sorted(name for name in os.listdir(folder) if name != "expected.json")
    found = {name: read(program, folder, name) for name in names}
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
            file.write("\n")
        return
    with open(path, encoding="utf-8") as file:
        expected = json.load(file)
    wrong = check_broken(program, folder)
    for name in sorted(set(found) | set(expected)):
        have, want = found.get(name, {}), expected.get(name, {})
        for part in sorted(set(have) | set(want)):
            if have.get(part) != want.get(part):
                wrong += 1
                print(f"{name}: {part}:\n  expected {want.get(part)}\n  found    {have.get(part)}")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
