#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No flag that costs something is passed over: it is used, not priced or unknown.

    costs.py RECKON FLAGS

FLAGS has a table for each framework, made by reading its source: flag, type, default and class.
Each flag of a class that costs is added to a launch of its framework, and `reckon convert` must not
call it without cost, unless it says why in a note.
Skipped where the tables are missing; the project's own are data/launch_flags.
"""

import concurrent.futures
import csv
import json
import os
import subprocess
import sys
import tempfile

WITHOUT_COST = {"no-cost", "data", "launcher"}
MODEL = ["--model_name_or_path", "Qwen/Qwen3-0.6B", "--output_dir", "o"]
# Of each table: the reader, and the launch that a flag is added to (words, or a configuration).
LAUNCHES = {
    "accelerate-launch": ("trl", ["accelerate", "launch", None, "sft.py"] + MODEL),
    "accelerate-yaml": ("accelerate", {"compute_environment": "LOCAL_MACHINE",
                                       "distributed_type": "FSDP", "num_processes": 8}),
    "axolotl": ("axolotl", {"base_model": "Qwen/Qwen3-0.6B"}),
    "deepspeed-json": ("deepspeed-json", {"train_micro_batch_size_per_gpu": 1,
                                          "zero_optimization": {"stage": 3}}),
    "hf-trainer": ("hf-trainer", ["python", "run_clm.py"] + MODEL),
    "llama-factory": ("llama-factory", {"model_name_or_path": "Qwen/Qwen3-0.6B", "stage": "sft",
                                        "finetuning_type": "full"}),
    "llm-foundry": ("llm-foundry", {"max_seq_len": 2048, "global_train_batch_size": 8,
                                    "model": {"name": "mpt_causal_lm"}}),
    "maxtext": ("maxtext", ["python3", "-m", "MaxText.train", "base.yml", None]),
    "ms-swift": ("ms-swift", ["swift", "sft", "--model", "Qwen/Qwen3-0.6B"]),
    "nanotron": ("nanotron", {"parallelism": {"dp": 1, "tp": 1, "pp": 1},
                              "tokens": {"micro_batch_size": 1, "sequence_length": 8},
                              "model": {"model_config": {"hidden_size": 64}}}),
    "olmo-core": ("olmo-core", {"train_module": {"rank_microbatch_size": 4096}}),
    "peft-lora": ("hf-trainer", ["python", "train.py", "--use_peft_lora", "True"] + MODEL),
    "torchtitan-0.2": ("torchtitan", {"model": {"name": "llama3", "flavor": "8B"}}),
    "torchtitan-main": ("torchtitan", {"model": {"name": "llama3", "flavor": "8B"},
                                       "training": {"max_context_length": 2048}}),
    "torchtune": ("torchtune", {"model": {"_component_": "torchtune.models.llama3.llama3_8b"}}),
    "trl": ("trl", ["trl", "sft"] + MODEL),
}


def values_of(row):
    """Values of a flag, of which one at least is not what is priced anyway."""
    kind = row["type"]
    if kind.startswith("bool"):
        return True, False
    if kind.startswith("int"):
        return 3, 5
    if kind.startswith("float"):
        return 0.37, 0.73
    return (["another"],) if kind.startswith("list") else ("another",)


def with_value(config, path, value):
    """A copy of a configuration with the value of a dotted key."""
    copy = json.loads(json.dumps(config))
    place = copy
    *outer, last = path.split(".")
    for name in outer:
        if not isinstance(place.get(name), dict):
            place[name] = {}
        place = place[name]
    place[last] = value
    return copy


def launch_of(table, row, flag, value):
    reader, base = LAUNCHES[table]
    if isinstance(base, dict):
        return {"framework": reader, "config": with_value(base, flag.lstrip("-"), value)}
    text = " ".join(value) if isinstance(value, list) else str(value)
    name = flag.lstrip("-")
    words = [f"{name}={text}"] if table == "maxtext" else \
        ["--" + name] if row["type"].startswith("bool-switch") else ["--" + name, text]
    at = base.index(None) if None in base else len(base)
    return {"framework": reader, "argv": base[:at] + words + base[at + 1:]}


def passed_over(program, table, row, flag):
    """The fault of `reckon convert` at all values of a flag; None: it is right at one."""
    faults = [fault_at(program, table, row, flag, value) for value in values_of(row)]
    return None if None in faults else faults[0]


def fault_at(program, table, row, flag, value):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(launch_of(table, row, flag, value), file)
        file.flush()
        done = subprocess.run([program, "convert", file.name, "--json"], capture_output=True,
                              text=True, timeout=60, check=False)
    if done.returncode:
        return None if done.returncode == 2 else f"exit status {done.returncode}"
    keys = json.loads(done.stdout)["keys"]
    name = flag.lstrip("-").replace("-", "_")

    def same(key):
        other = key["key"].lstrip("-").replace("-", "_")
        return other == name or other.endswith("." + name) or name.endswith("." + other)

    if any(same(key) for use in ("used", "not_priced", "unknown") for key in keys[use]):
        return None
    silent = [key for key in keys["no_cost"] if same(key)]
    if silent and all("note" in key for key in silent):
        return None
    return "without cost" if silent else "dropped"


def main():
    program, folder = sys.argv[1:3]
    wanted = sys.argv[3:] or LAUNCHES
    if not os.path.isdir(folder):
        sys.exit(77)  # skipped: the tables are not part of the project
    questions = []
    for table in wanted:
        with open(os.path.join(folder, table + ".csv"), encoding="utf-8") as file:
            for row in csv.DictReader(file):
                flag = row["flag"].split()
                costs = row["class"] not in WITHOUT_COST and "megatron" not in row["unread"]
                if flag and costs and "*" not in flag[0]:
                    questions.append((table, row, flag[0]))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda question: passed_over(program, *question), questions)
        for (table, row, flag), fault in zip(questions, answers):
            if fault:
                failed += 1
                print(f"{table}: {flag} ({row['class']}): {fault}; {row['means']}")
    print(f"{len(questions)} flags that cost, {failed} passed over")
    sys.exit(failed > 0 or not questions)


if __name__ == "__main__":
    main()
