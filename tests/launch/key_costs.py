#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The class of every key of a launch is right: a used key moves the answer when it is removed or
changed, a key without cost does not, and each that is not priced is named in text and JSON.

    key_costs.py RECKON LAUNCHES [--sample N] [--framework NAME,...] [--list]

A line of LAUNCHES is a launch, as in corpus.py; without that file the repository's own are checked.  The
answer is the step, the memory, the strategy and where its fields come from, and the model; a refusal
is another answer.  Keys that are used and move nothing need a reason in REASONS.
"""

import argparse
import collections
import concurrent.futures
import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import cases
from corpus import READERS

# Names of keys, as patterns, that are used where nothing moves, and why.
TWICE = "another key says the same, and holds without this one"
REASONS = {
    "(use|no)-.*position-embeddings?|position-embedding-type": TWICE,
    "(.*[.])?(hidden|attention)[-_]dropout": "dropout is on or off by the other one",
    "(.*[.])?(bf16|fp16)([.]enabled)?|trainer.precision": "products are in 8 bits, or " + TWICE,
    "attention-output-gate|use-gated-attention|moe-enable-deepep|moe-token-dispatcher-type": TWICE,
    "config-name|model_engine|.*[.]actor[.]strategy": "names the engine, which other keys show too",
    "model.ffn_hidden_size": "an expression of what is the default",
    "trainer.num_(nodes|gpus_per_node)": "the name of an argument of the recipe",
    "model.fsdp_.*": "counts with FSDP alone",
    "tokenizer-type|tokenizer-name-or-path|model.tokenizer.type|patch-tokenizer-type":
        "its entries are not known, or those of the default",
    "no-pipeline-parallel|pipeline-model-parallel-size|zero-stage": TWICE,
    "make-vocab-size-divisible-by": "the vocabulary is a multiple of it, and of the default",
    "moe-router-group-topk": "counts where a dispatcher sends a node one copy of a token",
}


# Frameworks on Megatron core, and gpt-neox.
FAMILY = ("megatron-lm", "pai-megatron-patch", "mindspeed", "mindspeed-llm", "megatron-deepspeed",
          "megatron-bridge", "nemo1", "nemo2", "gpt-neox", "primus", "verl", "slime",
          "ms-swift (megatron)")

# Values of keys that are neither numbers nor switches.
TYPES = ("bf16", "fp32", "fp16")
WORDS = {
    "recompute_method": ("block", "uniform"), "checkpoint_method": ("block", "uniform"),
    "granularity": ("full", "selective"), "attention_backend": ("unfused", "flash"),
    "dispatcher_type": ("alltoall", "flex"), "transformer_impl": ("local", "transformer_engine"),
    "normalization": ("LayerNorm", "RMSNorm"), "position_embedding_type": ("learned_absolute", "rope"),
    "moe_layer_freq": ("2", "1"), "fusion_impl": ("te", "native"), "_dtype": TYPES,
    "sharding_strategy": ("optim", "no_shard", "optim_grads_params"), "optimizer": ("sgd", "adam", "muon"),
    "parallel_algo": ("ulysses_cp_algo", "megatron_cp_algo"), "cp_comm_type": ("a2a", "p2p", "all_gather"),
    "precision": ("32", "bf16"), "target_modules": ("linear_qkv",), "tuner_type": ("lora", "full"),
    "loss_compute_mode": ("chunk", "default"), "dropout": ("0.3", "0.0"), "fp8_format": ("e4m3", "hybrid"),
    "fp8_recipe": ("mxfp8", "delayed", "tensorwise", "blockwise"),
}


def ask(program, record, *words, form="--json"):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(record, file)
        file.flush()
        done = subprocess.run([program, "estimate", "--from", file.name, *words, *([form] if form else [])],
                              capture_output=True, text=True, timeout=60)
    if done.returncode < 0 or done.returncode > 2:
        sys.exit(f"estimate of {record} {words}: exit {done.returncode}: {done.stderr}")
    return done


def answer_of(program, record, words):
    """The parts of the answer that may move; the message of a refusal otherwise."""
    done = ask(program, record, *words)
    if done.returncode == 2:
        return re.sub(r"^reckon [a-z]+: \S+", "", done.stderr)
    answer = json.loads(done.stdout)
    return json.dumps([answer.get(part) for part in
                       ("estimate", "strategy", "provenance", "model", "missing")] +
                      [answer["request"].get("framework"), answer["request"].get("set"),
                       [(k["key"], k.get("note")) for use in ("not_priced",) for k in answer["launch"]["keys"][use]]], sort_keys=True)


# ---- a record without a key, or with another value of it -----------------------------------------


def spellings(name):
    return {name, name.replace("_", "-"), name.replace("-", "_")}


def find_word(argv, name):
    """The place of the word that gives a key, and whether its value is in the same word."""
    names = spellings(name)
    for i in range(len(argv) - 1, -1, -1):
        word = argv[i]
        plain = word.lstrip("-+")
        if word.startswith("-") and plain in names:
            return i, False
        head = plain.split("=", 1)[0]
        if "=" in plain and (head in names or any(head.endswith("." + n) for n in names)):
            return i, True
    return None, False


def find_member(tree, name):
    """The object that holds a key, by the dotted end of its path, and the member."""
    if not isinstance(tree, dict):
        return None
    for member, value in tree.items():
        if member == name:
            return tree, member
        if isinstance(value, dict):
            if name.startswith(member + "."):
                found = find_member(value, name[len(member) + 1:])
                if found:
                    return found
            found = find_member(value, name)
            if found:
                return found
    return None


def others(name, value):
    """Other values of a key that may be legal."""
    text = str(value)
    for end, words in WORDS.items():
        if re.sub("-", "_", name).endswith(end):
            return [w for w in words if w != text]
    if text.lower() in ("true", "false"):
        return ["true" if text.lower() == "false" else "false"]
    try:
        number = float(text)
    except ValueError:
        return []
    if number < 0:
        return ["2", "1"]
    if number == int(number) and "." not in text and "e" not in text.lower():
        return [str(n) for n in (2 * int(number), int(number) // 2, int(number) + 1,
                                64 * int(number)) if n != int(number)]
    return [str(2 * number), str(number / 2)]


def variants(record, key, values=None):
    """Records without the key, and with other values, or with those given."""
    name, value = key["key"], key.get("value")
    argv = record.get("argv", [])
    place, together = find_word(argv, name)
    if place is not None:
        words = len(str(value).split(" ")) if value is not None and not together else 0
        words = min(words, len(argv) - place - 1)
        rest = argv[:place] + argv[place + 1 + words:]
        before, _ = find_word(rest, name)
        while before is not None:  # a line may repeat a flag
            rest = rest[:before] + rest[before + (1 if together else 1 + words):]
            before, _ = find_word(rest, name)
        yield {**record, "argv": rest}
        for other in values or (others(name, value) if value is not None else ["false"]):
            given = [argv[place].split("=", 1)[0] + "=" + other] if together else [argv[place], other]
            yield {**record, "argv": argv[:place] + given + argv[place + 1 + words:]}
    elif "config" in record:
        changed = copy.deepcopy(record)
        found = find_member(changed["config"], name)
        if not found:
            return
        tree, member = found
        old = tree.pop(member)
        yield changed
        for other in values or others(name, old):
            changed = copy.deepcopy(record)
            tree, member = find_member(changed["config"], name)
            tree[member] = json.loads(other) if re.fullmatch(r"-?[0-9.]+|true|false", other) else other
            yield changed


# ---- one launch ----------------------------------------------------------------------------------


def words_for(program, record):
    """The machine, where the launch does not say it: as many as its degrees need."""
    done = ask(program, record, "h100")
    if done.returncode != 2:
        return ["h100"]
    if "how many accelerators" in done.stderr:
        for count in (8, 16, 64, 256, 1024):
            words = [f"{count}xh100"]
            done = ask(program, record, *words)
            if done.returncode != 2:
                return words
            found = re.search(r"nearest legal accelerators: (?:\d+ or )?(\d+)", done.stderr)
            if found:
                words = [f"{found.group(1)}xh100"]
                if ask(program, record, *words).returncode != 2:
                    return words
    return None


def check(program, row):
    """The faults of a launch, and how many keys were tried."""
    record = {key: row[key] for key in ("argv", "config", "release") if key in row}
    if row["framework"]:
        record["framework"] = READERS.get(row["framework"], row["framework"])
    words = words_for(program, record)
    if not words:
        return [], 0
    answer = json.loads(ask(program, record, *words).stdout)
    if "estimate" not in answer:  # nothing fits of what is open
        return [], 0
    keys = answer["launch"]["keys"]
    text = ask(program, record, *words, form="-v").stdout
    text = re.sub(r"\s+", "", text)
    before = answer_of(program, record, words)
    faults, asked = [], 0
    for key in keys["not_priced"]:
        if re.sub(r"\s+", "", key["key"]) not in text or not key.get("note"):
            faults.append(("not named", key["key"], key.get("note")))
    for key in keys["used"]:
        made = list(variants(record, key))
        asked += bool(made)
        if made and not any(answer_of(program, v, words) != before for v in made):
            faults.append(("moves nothing", key["key"], key.get("value")))
    named = {key["key"] for use in ("used", "not_priced") for key in keys[use]}
    for key in keys["no_cost"]:
        if key["key"] in named:  # given twice: the earlier one has no cost
            continue
        made = list(variants(record, key))[:1]
        asked += bool(made)
        if made and answer_of(program, made[0], words) != before:
            faults.append(("without cost, but moves", key["key"], key.get("value")))
    return faults, asked


def own_launches():
    """Launches of the repository itself."""
    world = cases.PRETRAIN.format(4)
    lines = [world + flags for flags in (cases.LLAMA, cases.QWEN_MOE, cases.DEEPSEEK)]
    lines.append(cases.SWIFT.split(" ", 1)[1])
    lines.append(cases.VERL.split(" ", 2)[2] + " actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B")
    for number, line in enumerate(lines):
        yield {"id": f"line {number + 1}", "framework": None, "argv": line.split()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("launches")
    parser.add_argument("--framework")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    rows = list(own_launches())
    if os.path.exists(arguments.launches):
        with open(arguments.launches, encoding="utf-8") as file:
            collected = [json.loads(line) for line in file]
        names = arguments.framework.split(",") if arguments.framework else FAMILY
        collected = [r for r in collected if r["framework"] in names]
        if arguments.sample:
            count = min(arguments.sample, len(collected))
            collected = random.Random(arguments.seed).sample(collected, count)
        rows += collected
    tally = collections.Counter()
    examples = {}
    asked = priced = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for row, (faults, count) in zip(rows, pool.map(lambda r: check(arguments.program, r), rows)):
            asked += count
            priced += count > 0
            for kind, name, value in faults:
                if kind == "moves nothing" and any(re.fullmatch(p, name) for p in REASONS):
                    continue
                tally[(row["framework"], kind, name)] += 1
                examples.setdefault((row["framework"], kind, name), f"{row['id']} {value}")
    for (framework, kind, name), count in sorted(tally.items(), key=str):
        print(f"{framework}: {name} {kind}: {count}, such as {examples[(framework, kind, name)]}")
    print(f"{asked} keys of {priced} launches tried, {sum(tally.values())} wrong")
    sys.exit(bool(tally))


if __name__ == "__main__":
    main()
