#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each key of an accelerator, a system and a stack changes.

    document_keys.py [--renew]

RECKON_LIBRARY names the shared library.  The documents of keys/ have every key.  Each is removed, doubled, halved or
turned over, and given values that cannot be; keys.txt has the steps and the memory of the strategies below then, summed
with weights, or the whole refusal, or nothing where the answer is as before.
"""

import copy
import difflib
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python"))
from reckon import ReckonError  # pylint: disable=wrong-import-position
from reckon.predictor import Predictor  # pylint: disable=wrong-import-position

ANSWERS = HERE / "keys.txt"
PLAIN = {"tp": 1, "pp": 1, "cp": 1, "micro_batch": 1, "zero": 1, "global_batch": 64, "accelerators": 64}
STRATEGIES = {
    "llama3-8b": [
        {"tp": 2, "pp": 2, "overlap": "grad,param", "recompute": "selective"},
        {"tp": 4, "sequence_parallel": True, "overlap": "tp", "precision": "fp8", "cross_entropy": "fused"},
        {"zero": 3, "offload": "optimizer", "recompute": "full", "seq": 2048},
        {"zero": 3, "lora_rank": 16, "qlora": True, "optimizer": "adamw-8bit"},
        {"cp": 2, "zero": 2, "precision": "fp16", "seq": 16384},
        {"tp": 2, "precision": "fp4", "graph_capture": True},
        {"tp": 8, "precision": "mxfp8"},
        {"precision": "fp32", "attention": "unfused", "seq": 1024},
        {"precision": "tf32", "zero": 0, "optimizer": "sgd"},
        {"attention": "flash_attention_2"}, {"attention": "cudnn"},
        {"attention": "cudnn_fp8", "precision": "fp8"}, {"attention": "cudnn_mxfp8", "precision": "mxfp8"},
        {"precision": "int8"},
    ],
    "gpt3-13b": [{"tp": 8, "attention": "unfused", "recompute": "none", "pp": 4, "vp": 5}],
    "mixtral-8x7b": [{"ep": 8, "overlap": "grad,moe"},
                     {"ep": 8, "tp": 2, "precision": "fp8", "capacity_factor": 1.25, "graph_capture": True}],
    "gpt-oss-20b": [{"ep": 4}],
    str(HERE.parent / "model" / "hf" / "kimi-k3.json"): [{"ep": 64, "recompute": "full", "accelerators": 1024, "global_batch": 1024}],
    "deepseek-v3.2": [{"ep": 64, "tp": 1, "pp": 1, "recompute": "full"}],
    "qwen3-next-80b-a3b": [{"ep": 16, "recompute": "full"}],
    "falcon-h1-34b": [{"tp": 2, "optimizer": "dist-muon"}],
}


def answer(documents):
    """Sums of steps and memory, or the first refusal of a document; and the refusals of strategies."""
    step, memory, count, refusals = 0.0, 0.0, 0, set()
    sharded = documents["stack"].get("family") in ("torchtitan", "huggingface")
    base = {**PLAIN, "zero": 3} if sharded else PLAIN
    for model, strategies in STRATEGIES.items():
        try:
            predict = Predictor(model, documents["system"], stack=documents["stack"])
        except ReckonError as error:
            return str(error).replace("JSON text: ", ""), set()
        for strategy in strategies:
            count += 1
            try:
                found = predict(**{**base, **strategy})
            except ReckonError as error:
                refusals.add(str(error))
                continue
            step += count * found.step_s
            memory += count * found.memory_needed_bytes
    return f"{step:.9g} {memory:.9g}", refusals


def leaves(value, path=()):
    """The paths of all values that are neither objects nor lists of them, and of these too."""
    if path:
        yield path, value
    for key, member in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from leaves(member, path + (key,))


def others(value):
    """Other values of a key."""
    if isinstance(value, bool):
        return [not value, 1]
    if isinstance(value, (int, float)):
        return [value * 2, 0, -1, "x"] + [value / 2] * (value <= 1)
    return ["x", 3]


def changed(document, path, value=None):
    """The document with another value, or without the key; objects on the way are made."""
    document = copy.deepcopy(document)
    place = document
    for key in path[:-1]:
        place = place.setdefault(key, {}) if isinstance(place, dict) else place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return document


def compare(name, base, at, changes):
    """Lines of the changes, (path, value), that the answer notices."""
    before, refused = answer(base)
    yield "; ".join([f"{name} as it is: {before}", *sorted(refused)])
    for path, value in changes:
        found, refusals = answer({**base, at: changed(base[at], path, value)})
        if (found, refusals) != (before, refused):
            yield "; ".join([f"{name} {'.'.join(map(str, path))} = {json.dumps(value)}: {found}",
                             *sorted(refusals - refused)])


def lines():
    accelerator, system, stack = (json.loads((HERE / "keys" / f"{name}.json").read_text(encoding="utf-8"))
                                  for name in ("accelerator", "system", "stack"))
    node = {"name": "node", "accelerator": accelerator}
    for name, at, base in (("accelerator", "system", {"system": node, "stack": stack}),
                           ("system", "system", {"system": system, "stack": stack}),
                           ("stack", "stack", {"system": node, "stack": stack})):
        yield from compare(name, base, at, [(path, other) for path, value in leaves(base[at])
                                            for other in [None, *others(value)]])
    # Keys that others hide: alone in a stack of each family, and machines under a plain stack.
    groups = ("rates", "traffic", "host", "communication", "step", "memory")
    for family in ("megatron", "torchtitan", "huggingface", "deepspeed"):
        plain = {"system": node, "stack": {"name": "plain", "family": family, "year": 2026,"generations": ["hopper"],
                                           "attention_kernel": "flash_attention_2",
                                           **{group: {} for group in groups}}}
        yield from compare(family, plain, "stack", [(path, value) for group in groups
                                                    for path, value in leaves(stack[group], (group,))
                                                    if not isinstance(value, dict)])
    plain["stack"].update(family="megatron", attention_kernel="cudnn")
    yield from compare("plain", plain, "system", [(path, 2 * value) for path, value in leaves(node)
                                                  if isinstance(value, (int, float))] +
                       [(("accelerator", "compute", "vector_overlap"), 0.5)])


def main():
    found = [line + "\n" for line in lines()]
    if sys.argv[1:] == ["--renew"]:
        ANSWERS.write_text("".join(found), encoding="utf-8")
        return 0
    differ = list(difflib.unified_diff(ANSWERS.read_text(encoding="utf-8").splitlines(True), found, "keys.txt", "now", n=0))
    sys.stdout.writelines(differ)
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
