#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/crossover.md: from which sequence length on other attention pays in training.

    tools/crossover.py [RECKON] >docs/crossover.md
    tools/crossover.py RECKON --check PAGE      the numbers of the page, within 15 %
"""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
LENGTHS = [2048, 4096, 8192, 16384, 32768, 65536, 131072]
SYSTEMS = [("Hopper", "h100-sxm"), ("Blackwell", "gb200-nvl72")]
TOKENS = 2**24  # of a step

# Kimi-Linear-48B-A3B, configuration of the released weights: every fourth layer, and the last, is latent attention.
KIMI = {
    "name": "kimi-linear-48b-a3b", "hidden": 2304, "layers": 27, "vocab": 163840, "seq": 8192, "tied": False, "heads": 32,
    "kv_rank": 512, "nope_size": 128, "rope_size": 64, "value_size": 128, "ffn": 9216, "state_heads": 32,
    "state_value_size": 128, "conv_width": 4, "chunk": 64, "experts": 256, "top_k": 8, "expert_ffn": 1024,
    "shared_experts": 1, "shared_ffn": 1024, "router": "sigmoid",
    "types": [{"mixer": "kimi_delta", "feed_forward": "dense"}, {"mixer": "kimi_delta", "feed_forward": "experts"},
              {"mixer": "latent", "feed_forward": "experts"}],
    "pattern": [0] + [2 if i % 4 == 3 or i == 26 else 1 for i in range(1, 27)],
}
LATENT = {"types": [{"mixer": "latent", "feed_forward": "dense"}, {"mixer": "latent", "feed_forward": "experts"}],
          "pattern": [0] + 26 * [1]}

DENSE = {"mixer": "grouped", "feed_forward": "experts"}
PAIRS = [
    # title, model, how the dense twin differs, accelerators, strategy; with --cp, all of a sequence is on a group
    ("Gated DeltaNet: Qwen3-Next 80B, 36 of 48 layers linear", "qwen3-next-80b-a3b",
     {"types": [DENSE], "pattern": [0]}, 128, ["--tp", "1", "--pp", "1", "--ep", "16"]),
    ("Kimi delta attention: Kimi-Linear 48B, 20 of 27 layers linear", KIMI, LATENT, 128,
     ["--tp", "8", "--cp", "1", "--pp", "1", "--ep", "16"]),
    ("Indexed attention: DeepSeek-V3.2 against DeepSeek-V3", "deepseek-v3.2",
     "deepseek-v3", 1024, ["--tp", "1", "--pp", "16", "--ep", "32",
                                          "--first-stage-layers", "3", "--last-stage-layers", "2"]),
    ("Block-sparse attention: MiniMax-M3, 57 of 60 layers sparse", "minimax-m3",
     {"types": [{"feed_forward": "dense"}, {"feed_forward": "experts"}]}, 512,
     ["--tp", "1", "--pp", "4", "--ep", "32"]),
]


def estimate(reckon, model, system, accelerators, strategy, seq):
    cp = max(1, seq // 16384)
    kind = ["--cp-kind", "all-gather"] if cp > 1 else []
    split = [] if "--cp" in strategy else ["--cp", str(cp), *kind]
    batch = max(1, (16384 if split else LENGTHS[-1]) // seq)
    command = [reckon, "estimate", "--model", model, "--system", system, "-p", str(accelerators), *split, "-b",
               str(TOKENS // seq), "--seq", str(seq), "--micro-batch", str(batch), "--recompute", "full", "--zero", "1",
               "--schedule", "1f1b", "--json", *strategy]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout:
        sys.exit("crossover.py: " + " ".join(command) + "\n" + done.stderr)
    answer = json.loads(done.stdout)["estimate"]
    return answer["step_s"], answer["time_s"]


def written(document, scratch):
    path = os.path.join(scratch, document["name"].replace(" ", "-") + ".json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return path


def twins_of(model, dense, scratch):
    """The model and its dense twin, as names or files."""
    if isinstance(dense, str):
        return model, dense
    document = model
    if isinstance(model, str):
        with open(os.path.join(ROOT, "data", "models", model + ".json"), encoding="utf-8") as file:
            document = json.load(file)
    else:
        model = written(document, scratch)
    sizes = {key: value for key, value in document.items()
             if not key.startswith("state_") and key not in ("conv_width", "chunk")}  # the twin has no states
    return model, written({**sizes, **dense, "name": document["name"] + " dense"}, scratch)


def crossing(rows):
    """The length at which the ratio of dense to other time passes 1, between rows of lengths."""
    before = None
    for seq, ratio in rows:
        if ratio >= 1:
            if before is None:
                return "below %d tokens" % seq
            low, was = before
            share = (1 - was) / (ratio - was)
            return "about %d thousand tokens" % round(low * (seq / low) ** share / 1000)
        before = seq, ratio
    return "none up to %d tokens" % LENGTHS[-1]


def section(reckon, pair, scratch):
    title, model, dense, accelerators, strategy = pair
    model, twin = twins_of(model, dense, scratch)
    print("## %s\n" % title)
    for name, system in SYSTEMS:
        rows = []
        print("%s (%s), %d accelerators, %s:\n" % (name, system, accelerators, " ".join(strategy)))
        print("| tokens | dense, s | other, s | attention in other | dense over other |")
        print("| ---: | ---: | ---: | ---: | ---: |")
        for seq in LENGTHS:
            all_keys, _ = estimate(reckon, twin, system, accelerators, strategy, seq)
            other, parts = estimate(reckon, model, system, accelerators, strategy, seq)
            rows.append((seq, all_keys / other))
            print("| %d | %.2f | %.2f | %.0f %% | %.2f |" % (
                seq, all_keys, other, 100 * parts["attention"] / other, all_keys / other))
        print("\nA step is faster from: %s.\n" % crossing(rows))


def write(reckon):
    reckon = reckon or os.path.join(ROOT, "build", "reckon")
    print("""# Where other attention pays

From which sequence length on linear attention and attention to picked keys train faster than softmax attention
over all keys, with %d million tokens a step, BF16, full recomputation, and 16,384 tokens of a microbatch on a
rank: several short sequences, or a part of a long one by context parallelism (by tensor parallelism for Kimi
delta attention, which no framework splits over context ranks). Each pair of models differs in its attention
alone: the same layers, the same strategy, the same tokens. Written by `tools/crossover.py`.

DeepSeek sparse attention runs in absorbed form, in training too: all heads share one key of 576 elements, and
a pair of query and key costs 3.4 times the arithmetic of keys that are made for every head. With its indexer
it needs more arithmetic than dense latent attention in sequences of up to about 17,000 tokens, on any
machine. Delta rules have no such price, but their kernels reach 5 to 10 %% of the matrix engine: short
sequences lose, by Kimi's vector of decays more than by the one decay of Gated DeltaNet.
""" % (TOKENS // 2**20))
    with tempfile.TemporaryDirectory() as scratch:
        for pair in PAIRS:
            section(reckon, pair, scratch)


def check(reckon, page):
    """Fails where a number of the page has moved by more than 15 % and by more than 5."""
    made = io.StringIO()
    with contextlib.redirect_stdout(made):
        write(reckon)
    number = re.compile(r"\d+(?:\.\d+)?")
    with open(page, encoding="utf-8") as file:
        lines = file.read().splitlines()
    fresh = made.getvalue().splitlines()
    if len(lines) != len(fresh):
        sys.exit("crossover.py: %s is out of date; renew it: tools/crossover.py build/reckon "
                 ">docs/crossover.md" % page)
    for old, new in zip(lines, fresh):
        far = number.sub("#", old) != number.sub("#", new) or any(
            abs(float(a) - float(b)) > max(0.15 * float(b), 5 if float(b) > 1 else 0.1)
            for a, b in zip(number.findall(old), number.findall(new)))
        if far:
            sys.exit("crossover.py: %s is out of date:\n- %s\n+ %s" % (page, old, new))


if "--check" in sys.argv:
    check(sys.argv[1], sys.argv[3])
else:
    write(sys.argv[1] if len(sys.argv) > 1 else None)
