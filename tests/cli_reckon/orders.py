#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stated option is an order: the strategy of an answer has its value, or the answer refuses it by
name.  Every option of a strategy, for every command that searches and every framework, on the command
line, in JSON requests and in DeepSpeed configurations; then random pairs of options.

    orders.py RECKON [EVERY [PAIRS]]    every EVERYth case (23), and PAIRS pairs of options (100)

RECKON_LIBRARY names the shared library, for the JSON requests.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "python"))
import reckon  # noqa: E402

VAGUE = {"size", "use", "no", "per", "kind", "bytes", "global"}  # words that name no option
DENSE, MOE = "llama3-8b", "mixtral-8x7b"
COMMANDS = {"plan": {"top": 3}, "estimate": {}, "fit": {}, "run": {"tokens": "10B"}, "explain": {}}
FRAMEWORKS = {
    "any": "h100", "megatron": "h100", "torchtitan": "h100", "deepspeed": "h100",
    "mindspeed": "ascend-910b", "maxtext": "tpu-v5p", "neuronx": "trainium1", "primus": "mi300x",
}


def cases():
    """(options, what the strategy then says, model), for each value that is tried."""
    def each(option, values, key=None, model=DENSE, other=lambda value: {}):
        return [({option: v}, {key or option.replace("-", "_"): v, **other(v)}, model)
                for v in values]

    orders = ["tp-cp-dp-pp", "tp-cp-pp-dp"]
    fp8 = {"precision": "fp8"}
    found = []
    for degree in ("tp", "pp", "cp", "dp", "vp", "micro-batch"):
        found += each(degree, (1, 2, 4))
    found += each("ep", (1, 2, 4, 8), model=MOE) + each("etp", (1, 2), model=MOE)
    found += each("zero", (0, 1, 2, 3)) + each("hsdp", (1, 2, 4), "hsdp_replicas")
    found += [({"fsdp": True}, {"zero": 3}, DENSE),
              ({"use-distributed-optimizer": True}, {"zero": 1}, DENSE),
              ({"sequence-parallel": True}, {"sp": True}, DENSE),
              ({"no-sp": True}, {"sp": False}, DENSE)]
    found += each("cp-kind", ("ring", "all-gather", "ulysses"))
    found += each("order", orders, "rank_order") + each("order", orders, "rank_order", MOE)
    found += each("schedule", ("gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipe",
                               "v-half", "v-min"))
    found += each("first-stage-layers", (6, 8)) + each("last-stage-layers", (6, 8))
    found += [({"layout": "16,16"}, {"layout": "16*2"}, DENSE),
              ({"layout": "8*4"}, {"layout": "8*4"}, DENSE)]
    found += each("count-embedding", (True,)) + each("count-head", (True,))
    found += each("recompute", ("none", "selective"))
    found += each("recompute", ("full",), other=lambda v: {"recompute_layers": 0})
    found += each("recompute-modules", ("core_attn", "norm", "act", "mlp"),
                  other=lambda v: {"recompute": "selective"})
    found += each("recompute-modules", ("moe",), model=MOE)
    found += each("recompute-layers", (2, 4), other=lambda v: {"recompute": "full"})
    found += each("offload", ("none", "optimizer", "activations", "weights"))
    found += [({"offload": "optimizer", "offload-share": 0.25}, {"offload_share": 0.25}, DENSE)]
    found += [({"offload": "nvme-optimizer,nvme-weights"},
               {"offload": "optimizer+weights+nvme-optimizer+nvme-weights"}, DENSE)]
    found += [({"offload": "optimizer,activations"}, {"offload": "optimizer+activations"}, DENSE)]
    found += each("precision", ("bf16", "fp16", "fp8", "fp32", "tf32"))
    found += [({**fp8, "fp8-recipe": v}, {"recipe": v}, DENSE)
              for v in ("tensorwise", "delayed", "blockwise", "mxfp8")]
    found += [({**fp8, "fp8-param-gather": True}, {"low_precision_weights": True}, DENSE),
              ({**fp8, "fp8-activation-input": True}, {"fp8_activation_input": True}, DENSE)]
    found += [({"gradients": v}, {"reduce_bytes_per_parameter": size}, DENSE)
              for v, size in (("fp32", 4), ("bf16", 2))]
    found += each("optimizer", ("adamw", "adam-8bit", "adamw-8bit", "adafactor", "sgd", "muon",
                                "dist-muon"))
    found += each("attention", ("flash", "unfused", "cudnn", "flash_attention_2",
                                "flash_attention_3"))
    found += [({"overlap": v}, {"overlap": v.replace(",", "+")}, DENSE)
              for v in ("none", "tp", "grad", "param", "pp", "tp,grad")]
    found += each("overlap", ("moe",), model=MOE)
    found += each("graph-capture", (True,)) + each("graph-step", (True,))
    found += each("capacity-factor", (1.5,), model=MOE) + each("imbalance", (1.5,), model=MOE)
    found += each("lora-rank", (16,), "adapter_rank")
    found += [({"lora-rank": 16, "lora-modules": "mlp"}, {"adapter_modules": "mlp"}, DENSE),
              ({"lora-rank": 16, "qlora": True}, {"nf4_weights": True}, DENSE)]
    found += [({"weights": v}, {"weight_bytes_per_parameter": size}, DENSE)
              for v, size in (("fp32", 4), ("bf16", 2))]
    found += [({"optimizer-impl": v}, {"foreach_update": v == "foreach"}, DENSE)
              for v in ("foreach", "fused")]
    found += [({"optimizer-in-backward": True}, {"step_in_backward": True}, DENSE),
              ({"offload": "optimizer,gradients"}, {"offload": "optimizer+gradients"}, DENSE),
              ({"cross-entropy": "chunked", "loss-chunk": 256}, {"loss_chunk_tokens": 256}, DENSE)]
    found += each("cross-entropy", ("full", "fused", "chunked"))
    found += [({"lora-rank": 16, "frozen-weights": v}, {"quantised_weights": v}, DENSE)
              for v in ("nf4", "nf4_plain", "int4", "int8")]
    found += each("global-batch", (64,)) + each("seq", (4096,), "seq_tokens")
    found += each("document-tokens", (1024,))
    return found


def strategies(answer):
    """The strategies of an answer, but for those of the changes that it proposes."""
    found = []
    if isinstance(answer, dict):
        strategy = answer.get("strategy")
        if isinstance(strategy, dict) and "tp" in strategy:
            found.append(strategy)
        for key, value in answer.items():
            if key not in ("changes", "shortage", "remedies", "numbers", "fewest"):
                found += strategies(value)
    elif isinstance(answer, list):
        for value in answer:
            found += strategies(value)
    return found


def by_command_line(program, command, request):
    words = [program, command, "--json"]
    for key, value in request.items():
        words += ["--" + key] + ([] if value is True else [str(value)])
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode > 1:
        return None, done.stderr
    return json.loads(done.stdout), done.stderr


def by_request(program, command, request):
    members = {key.replace("-", "_"): value for key, value in request.items()}
    for key in ("offload", "overlap"):
        if "," in str(members.get(key, "")):
            members[key] = members[key].split(",")
    try:
        answer = reckon.run_command(command, {**members, "json": True})
    except reckon.ReckonError as error:
        return None, str(error)
    return json.loads(answer.text), ""


def by_deepspeed(program, command, request):
    """What a configuration of DeepSpeed says, in one."""
    request, config = dict(request), {}
    sharding = {}
    if "zero" in request:
        sharding["stage"] = request.pop("zero")
    for part in str(request.pop("offload", "")).split(","):
        member = {"optimizer": "offload_optimizer", "weights": "offload_param"}.get(part.removeprefix("nvme-"))
        if member:
            sharding[member] = {"device": "nvme" if part.startswith("nvme-") else "cpu"}
    if sharding:
        config["zero_optimization"] = sharding
    if request.get("precision") in ("bf16", "fp16"):
        config[request.pop("precision")] = {"enabled": True}
    for key, member in (("global-batch", "train_batch_size"),
                        ("micro-batch", "train_micro_batch_size_per_gpu")):
        if key in request:
            config[member] = request.pop(key)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ds_config.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        return by_command_line(program, command, {**request, "deepspeed": path})


def with_gradients(offload):
    """DeepSpeed steps an offloaded optimizer on the host, where gradients go, too."""
    names = ["optimizer", "activations", "weights", "gradients", "nvme-optimizer", "nvme-weights"]
    said = offload.split("+") + ["gradients"] * ("optimizer" in offload)
    return "+".join(name for name in names if name in said) or offload


def find_fault(ask, program, command, framework, options, expected, model):
    """What is wrong with an answer; None: nothing."""
    request = {"model": model, "system": FRAMEWORKS[framework], "accelerators": 8,
               "framework": framework, "global-batch": 32, **COMMANDS[command], **options}
    answer, message = ask(program, command, request)
    asked = f"{ask.__name__}: {command} {request}"
    if answer is None:
        words = {w for key in (*options, *expected) for w in re.split("[-_]", key)}
        named = re.search(r"\b(%s)" % "|".join(words - VAGUE), message.lower())
        return None if named else f"{asked}: refused without the option's name: {message.strip()}"
    for strategy in strategies(answer):
        for key, value in expected.items():
            value = with_gradients(value) if key == "offload" and ask is by_deepspeed else value
            if strategy.get(key) != value:
                return f"{asked}: answered with {key} {strategy.get(key)}"
    return None


def main():
    program = sys.argv[1]
    every = int(sys.argv[2]) if len(sys.argv) > 2 else 23
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    tried = cases()
    jobs = [(ask, program, command, framework, *case)
            for case in tried for framework in FRAMEWORKS for command in COMMANDS
            for ask in (by_command_line, by_request)][::every]
    jobs += [(by_deepspeed, program, command, "deepspeed", *case)
             for case in tried for command in COMMANDS
             if case[0].keys() & {"zero", "offload", "precision", "micro-batch"} and
             "activations" not in str(case[0].values())][::every]
    state = 1
    while pairs > 0:
        drawn = []
        for choices in (tried, tried, list(COMMANDS), list(FRAMEWORKS)):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            drawn.append(choices[(state >> 33) % len(choices)])
        (a, a_says, model), (b, b_says, other), command, framework = drawn
        if model == other and not a.keys() & b.keys() and not a_says.keys() & b_says.keys():
            jobs.append((by_command_line, program, command, framework, {**a, **b},
                         {**a_says, **b_says}, model))
            pairs -= 1
    with ThreadPoolExecutor(2) as pool:
        faults = [f for f in pool.map(lambda job: find_fault(*job), jobs) if f]
    print("\n".join(faults[:40]))
    print(f"{len(jobs)} answers, {len(faults)} with another value than was stated")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())
