#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What configurations of frameworks on Megatron core, and of gpt-neox, mean: megatron_core.py RECKON."""

import json
import subprocess
import sys
import tempfile

NEMO1 = {"trainer": {"num_nodes": 2, "devices": 8, "precision": "bf16-mixed"},
         "model": {"micro_batch_size": 2, "global_batch_size": 64, "tensor_model_parallel_size": 4,
                   "pipeline_model_parallel_size": 2, "virtual_pipeline_model_parallel_size": 4,
                   "encoder_seq_length": 2048, "num_layers": 32, "hidden_size": 1024,
                   "num_attention_heads": 16, "megatron_amp_O2": True, "sequence_parallel": True,
                   "activation": "gelu", "overlap_p2p_comm": True, "ub_tp_comm_overlap": True,
                   "optim": {"name": "distributed_fused_adam", "overlap_param_sync": True}}}
PRIMUS = {"modules": {"pre_trainer": {"framework": "megatron", "model": "llama3.1_8B.yaml", "overrides": {
    "micro_batch_size": 2, "global_batch_size": 128, "seq_length": 8192,
    "tensor_model_parallel_size": 2, "overlap_grad_reduce": True, "overlap_param_gather": True,
    "fp8": "hybrid", "recompute_granularity": "full", "recompute_method": "block",
    "recompute_num_layers": 3, "use_torch_fsdp2": False}}}}
NEOX = {"pipe-parallel-size": 2, "model-parallel-size": 2, "num-layers": 24, "hidden-size": 1024,
        "num-attention-heads": 16, "seq-length": 2048, "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 8, "fp16": {"enabled": True}, "checkpoint-activations": True,
        "zero_optimization": {"stage": 1, "overlap_comm": True}, "no-weight-tying": True,
        "attention-config": [[["flash"], 24]]}

LINE = ("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 "
        "--seq-length 2048 --micro-batch-size 1 --global-batch-size 64 --bf16 --vocab-size 50000").split()
NANO = {"model": {"make_vocab_size_divisible_by": 64, "model_config": {
            "is_llama_config": True, "hidden_size": 2048, "num_attention_heads": 32, "num_hidden_layers": 22,
            "intermediate_size": 5632, "vocab_size": 50257}},
        "parallelism": {"dp": 4, "pp": 2, "tp": 2}, "tokens": {"sequence_length": 4096, "micro_batch_size": 2}}


def changed(tree, path, value):
    """A copy of a tree with another value at "a.b.c"."""
    tree = json.loads(json.dumps(tree))
    *way, last = path.split(".")
    at = tree
    for name in way:
        at = at.setdefault(name, {})
    at[last] = value
    return tree


MODULE = "modules.pre_trainer.overrides."
# name, record, facts; None: open
CASES = [
    ("nemo1", {"config": NEMO1},
     {"nodes": 2, "gpus_per_node": 8, "tp": 4, "pp": 2, "vp": 4, "dp": 2, "micro_batch": 2,
      "accumulation": 16, "zero": 1, "sp": "true", "precision": "bf16", "model.ffn": 4096,
      "model.kv_heads": 16, "model.gated": "false", "model.tied": "true",
      "overlap": "tp+grad+param+pp", "recompute.granularity": "none", "loss": "unfused"}),
    ("nemo1", {"config": changed(NEMO1, "model.optim.name", "fused_adam")},
     {"zero": 0, "overlap": "tp+pp"}),
    ("nemo1", {"config": changed(NEMO1, "model.tensor_model_parallel_size", 1)},
     {"sp": "false", "overlap": "grad+param+pp"}),
    ("nemo1", {"config": changed(NEMO1, "model.fp8", True)},
     {"fp8.format": "hybrid", "fp8.recipe": "delayed"}),
    ("nemo1", {"config": changed(NEMO1, "model.tokenizer", {"type": "GPT2BPETokenizer"})},
     {"model.vocab_unpadded": 50257, "model.vocab": 50688}),
    ("nemo1", {"config": changed(NEMO1, "model.peft",
                                 {"peft_scheme": "lora", "lora_tuning": {"adapter_dim": 16}})},
     {"lora": 16}),
    ("nemo1", {"config": changed(NEMO1, "model.encoder.num_layers", 4)}, "an encoder and a decoder"),
    ("none", {"config": {"colour": "red"}}, "not a launch of a framework that is known"),
    ("nemo2", {"argv": ["nemo", "llm", "pretrain", "--factory", "llama3_8b(num_nodes=2)",
                        "trainer.strategy.tensor_model_parallel_size=2", "data.seq_length=4096",
                        "trainer.plugins=bf16_with_fp8_current_scaling_mixed"]},
     {"tp": 2, "seq": 4096, "zero": 1, "gradients": "fp32", "model.layers": 32, "lora": "none",
      "fp8.recipe": "tensorwise", "overlap": "grad+param"}),
    ("nemo2", {"argv": ["nemo", "llm", "pretrain", "--factory", "llama3_70b"]},
     {"tp": 4, "pp": 4, "vp": 5, "cp": 2, "sp": "true", "nodes": 1, "global_batch": 512, "micro_batch": 1,
      "seq": 8192}),
    ("nemo2", {"argv": ["nemo", "llm", "pretrain", "--factory", "mixtral_8x7b(num_nodes=4)",
                        "trainer.strategy.virtual_pipeline_model_parallel_size=4",
                        "data.global_batch_size=256"]},
     {"tp": 1, "pp": 4, "vp": 4, "ep": 8, "sp": "false", "nodes": 4, "gpus_per_node": 8,
      "global_batch": 256, "seq": 4096}),
    ("nemo2", {"argv": ["nemo", "llm", "pretrain", "--factory", "llama3_70b",
                        "trainer.strategy.tensor_model_parallel_size=1"]},
     {"tp": 1, "pp": 4, "sp": "false"}),
    ("nemo2", {"argv": ["nemo", "llm", "finetune", "--factory", "llama31_8b"]},
     {"lora": 8, "model.hidden": 4096, "model.name": "llama3.1-8b"}),
    ("nemo2", {"argv": ["nemo", "llm", "finetune", "--factory", "llama3_70b_16k", "peft=none"]},
     {"lora": "none", "model.layers": 80}),
    ("megatron-bridge", {"config": {"precision": "MXFP8", "tensor_model_parallel_size": 2,
                                    "pipeline_model_parallel_size": 1, "micro_batch_size": 1,
                                    "expert_model_parallel_size": 8, "global_batch_size": 256},
                         "world": {"processes": 64}},
     {"tp": 2, "ep": 8, "dp": 32, "accumulation": 8, "fp8.recipe": "mxfp8", "gradients": "bf16",
      "zero": 1}),
    ("primus", {"config": PRIMUS},
     {"tp": 2, "sp": "true", "zero": 1, "overlap": "grad+param", "fp8.recipe": "delayed",
      "gradients": "fp32", "recompute.layers": 3, "recompute.method": "block", "model.layers": 32,
      "model.tied": "false", "model.vocab": 128256, "etp": None}),
    ("primus", {"config": changed(PRIMUS, MODULE + "use_torch_fsdp2", True)},
     {"zero": 3, "gradients": "bf16"}),
    ("primus", {"config": changed(PRIMUS, MODULE + "lora", {"enabled": True, "dim": 16})},
     {"lora": 16}),
    ("primus", {"config": changed(changed(PRIMUS, MODULE + "pipeline_model_parallel_layout",
                                          "Et*3|(tt|)*6tL"),
                                  MODULE + "pipeline_model_parallel_size", 4)},
     {"vp": 2, "model.layout": "Et*3|(tt|)*6tL"}),
    ("primus", {"config": changed(PRIMUS, "modules.pre_trainer.model", "mixtral_8x7B_v0.1.yaml")},
     {"model.experts": 8, "etp": 1, "dispatcher": "alltoall"}),
    ("gpt-neox", {"config": changed(NEOX, "fp16", {"enabled": True, "type": "bfloat16"})},
     {"precision": "bf16"}),
    ("gpt-neox", {"config": NEOX, "world": {"nodes": 1, "gpus_per_node": 8}},
     {"tp": 2, "pp": 2, "dp": 2, "global_batch": 64, "precision": "fp16", "zero": 1,
      "overlap": "grad", "recompute.granularity": "full", "attention": "flash",
      "model.tied": "false", "model.ffn": 4096, "model.vocab": 50432}),
    ("gpt-neox", {"config": changed(NEOX, "use-bnb-optimizer", True) |
                  {"optimizer": {"type": "Adam"}}}, {"optimizer": "adam-8bit"}),
    ("gpt-neox", {"config": changed(NEOX, "zero_optimization", {"stage": 3})},
     {"zero": 3, "overlap": "grad+param"}),
    ("gpt-neox", {"config": changed(NEOX, "tokenizer-type", "HFTokenizer")}, {"model.vocab": None}),
    # defaults of releases
    ("megatron-lm", {"argv": LINE, "release": "core_v0.5.0"}, {"attention": "unfused"}),
    ("megatron-lm", {"argv": LINE, "release": "core_v0.6.0"}, {"attention": "auto"}),
    # padded to multiples; absurd ones say nothing
    ("nanotron", {"framework": "nanotron", "config": NANO}, {"model.vocab": 50304}),
    *(("nanotron", {"framework": "nanotron", "config": changed(NANO, "model." + key, 1000000)}, {"model.vocab": None})
      for key in ("make_vocab_size_divisible_by", "model_config.pad_vocab_size_multiple")),
]


def read(reckon, record):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(record, file)
        file.flush()
        return subprocess.run([reckon, "convert", file.name, "--json"], capture_output=True,
                              text=True, timeout=60)


def main():
    wrong = 0
    for name, record, wanted in CASES:
        done = read(sys.argv[1], record)
        if isinstance(wanted, str):
            if done.returncode != 2 or wanted not in done.stderr:
                wrong += 1
                print(f"{name}: {wanted!r} expected, {done.stderr!r} found")
            continue
        answer = json.loads(done.stdout) if done.returncode == 0 else {"reader": done.stderr}
        if answer["reader"] != name:
            wrong += 1
            print(f"{name}: read as {answer['reader']}")
            continue
        facts = {field: fact["value"] for field, fact in answer["facts"].items()}
        for field, value in wanted.items():
            found = facts.get(field)
            found = str(found).lower() if isinstance(found, bool) else found
            if found != value:
                wrong += 1
                print(f"{name}: {field}: {value} expected, {found} found")
    print(f"{len(CASES)} cases, {wrong} differences")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
