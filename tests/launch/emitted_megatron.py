#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches that `reckon plan --emit megatron` writes are read back as the same job: step and memory
are those of the plan, to the last digit.

    emitted_megatron.py RECKON [COUNT [SEED]]

The strategies are random ones of dense models (with QK norm, too), mixtures, latent attention and
hybrids, with all kinds of recomputation and offload.  COUNT of them are compared: a question whose
plan finds nothing, or that no launch of the framework can say, is replaced by another.  PP
communication is not asked to overlap, which Megatron-LM does only with virtual stages.

Megatron-LM has no adapters: every tenth strategy trains LoRA, and is written here as a line of
ms-swift's Megatron mode, which is read back likewise.
"""

import json
import random
import subprocess
import sys
import tempfile

DENSE = ("llama3-8b", "llama2-7b", "gpt3-13b", "qwen3-8b", "qwen3-14b", "qwen2.5-7b", "llama3-70b")
MIXTURES = ("qwen3-30b-a3b", "mixtral-8x7b", "deepseek-v2-lite", "gpt-oss-20b", "nemotron-3-nano-30b")
SYSTEMS = ("h100", "a100", "b200", "h200")
OPTIONS = (
    ("--tp", (1, 2, 4, 8)), ("--cp", (1, 1, 2)), ("--zero", (0, 1)), ("--micro-batch", (1, 2, 4)),
    ("--seq", (2048, 4096, 8192)), ("--precision", ("bf16", "fp8", "fp16", "fp16 --gradients fp32")),
    ("--recompute", ("none", "selective", "full", "full --recompute-layers 2", "full --recompute-layers 4",
                     "selective --recompute-modules norm,act", "selective --recompute-modules core_attn")),
    ("--pp", (1, 2, 4, "2 --vp 2", "4 --vp 2")), ("--offload", ("none", "none", "none", "optimizer")),
)
SAME = ("step_s", "memory_total_bytes", "memory_allocated_bytes")


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=300)


# Models that ms-swift names by hub ids of the catalogue.
TUNED = {"llama3-8b": "meta-llama/Meta-Llama-3-8B", "qwen3-8b": "Qwen/Qwen3-8B",
         "qwen3-14b": "Qwen/Qwen3-14B", "qwen2.5-7b": "Qwen/Qwen2.5-7B",
         "qwen3-30b-a3b": "Qwen/Qwen3-30B-A3B"}
MODULES = {"attention": "linear_qkv linear_proj", "attention,mlp": "all-linear"}


def draw_tuned(source):
    """A question of LoRA, and what of the line the answer does not say."""
    model, modules = source.choice(list(TUNED)), source.choice(list(MODULES))
    expert = model == "qwen3-30b-a3b"
    words = [model, f"{source.choice((8, 16))}xh100", "--global-batch", str(source.choice((16, 64))),
             "--framework", "megatron", "--overlap", source.choice(("tp,grad,param", "none")),
             "--lora-rank", str(source.choice((8, 16, 64))), "--lora-modules", modules,
             "--seq", str(source.choice((2048, 4096))), "--zero", source.choice(("0", "1")),
             "--cp", "1", "--vp", "1", "--etp", "1", "--offload", "none", "--precision", "bf16",
             "--set", ("dispatcher=alltoall,permute_fusion=true," if expert else "") + "loss_fusion=fused"]
    for option, values in (("--tp", (1, 2, 4)), ("--pp", (1, 2)),
                           ("--recompute", ("none", "selective --recompute-modules core_attn", "full",
                                            "full --recompute-layers 4"))):
        words += [option, *str(source.choice(values)).split()]
    return words + (["--ep", str(source.choice((2, 4, 8)))] if expert else ["--ep", "1"])


def swift_line(words, s):
    """The line of ms-swift that trains a strategy."""
    asked = dict(zip(words[2::2], words[3::2]))
    flags = {
        "model": TUNED[words[0]], "tuner_type": "lora", "lora_rank": asked["--lora-rank"],
        "target_modules": MODULES[asked["--lora-modules"]], "torch_dtype": "bfloat16",
        "tensor_model_parallel_size": s["tp"], "pipeline_model_parallel_size": s["pp"],
        "sequence_parallel": str(s["sp"]).lower(), "expert_model_parallel_size": s["ep"],
        "micro_batch_size": s["micro_batch"], "global_batch_size": s["global_batch"],
        "max_length": s["seq_tokens"], "packing": "true",
        "use_distributed_optimizer": str(s["zero"] == 1).lower(),
        "cross_entropy_fusion_impl": "te", "moe_permute_fusion": "true",
        "recompute_granularity": s["recompute"],
        "tp_comm_overlap": str("tp" in s["overlap"]).lower(),
        "overlap_grad_reduce": str("grad" in s["overlap"]).lower(),
        "overlap_param_gather": str("param" in s["overlap"]).lower(),
    }
    for side in ("first", "last"):
        if s[f"{side}_stage_layers"] > 0:
            flags[f"decoder_{side}_pipeline_num_layers"] = s[f"{side}_stage_layers"]
    if s["recompute"] == "full":
        block = s["recompute_layers"] > 0
        flags["recompute_method"] = "block" if block else "uniform"
        flags["recompute_num_layers"] = s["recompute_layers"] or 1
    return f"NPROC_PER_NODE={words[1].split('x')[0]} megatron sft " + " ".join(
        f"--{name} {value}" for name, value in flags.items()) + "\n"


def draw(source):
    mixture = source.random() < 0.5
    words = [source.choice(MIXTURES if mixture else DENSE),
             f"{source.choice((16, 32, 64))}x{source.choice(SYSTEMS)}",
             "--global-batch", str(source.choice((64, 128, 256))), "--framework", "megatron",
             "--overlap", source.choice(("tp,grad,param", "none"))]
    for option, values in OPTIONS + ((("--ep", (1, 2, 4, 8)),) if mixture else ()):
        if source.random() < 0.5:
            words += [option, *str(source.choice(values)).split()]
    return words


def differences(program, words):
    """What is read otherwise than it was written; None where nothing was written."""
    plan = run(program, "plan", *words, "--json")
    if plan.returncode:
        return None
    wanted = json.loads(plan.stdout)["strategies"][0]
    if "--lora-rank" in words:
        script = swift_line(words, wanted["strategy"])
    else:
        emitted = run(program, "plan", *words, "--emit", "megatron")
        if emitted.returncode:
            return None
        script = emitted.stdout
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        read = run(program, "estimate", words[1], "--from", file.name, "--json")
    if read.returncode:
        return [read.stderr.strip() or f"exit {read.returncode}"]
    found = json.loads(read.stdout)
    wrong = [f"{name} {wanted['estimate'][name]!r} written, {found['estimate'][name]!r} read"
             for name in SAME if wanted["estimate"].get(name) != found["estimate"].get(name)]
    return wrong and wrong + [f"{name} {value!r} written, {found['strategy'].get(name)!r} read"
                              for name, value in wanted["strategy"].items()
                              if found["strategy"].get(name) != value]


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    source = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    held = wrong = asked = 0
    while held + wrong < count and asked < 4 * count:
        tuned = (held + wrong) % 10 == 9
        words = draw_tuned(source) if tuned else draw(source)
        found = differences(program, words)
        asked += 1
        if found:
            wrong += 1
            print(f"plan {' '.join(words)}{'' if tuned else ' --emit megatron'}:")
            print("".join(f"    {line}\n" for line in found), end="")
        held += found == []
    print(f"{held} of {count} are read as they were written, {wrong} are not; {asked} asked")
    sys.exit(wrong > 0 or held < count)


if __name__ == "__main__":
    main()
