# SPDX-License-Identifier: Apache-2.0
"""What draw.py draws from: jobs, values of options, launch lines, wrong inputs."""

# (kinds, what a question has, what it may have besides): jobs that fit, small ones.
SCENES = [
    ("dense small", {"model": "llama3-8b", "system": "h100", "accelerators": "8/16",
                     "global_batch": "64"},
     {"tp": "2", "cp": "1", "micro_batch": "1", "zero": "1", "recompute": "none"}),
    ("dense", {"model": "llama3-8b", "system": "dgx-h100-superpod", "accelerators": "8/32",
               "global_batch": "128"}, {"tp": "2", "zero": "1", "seq": "8k"}),
    ("dense", {"model": "qwen3-8b", "system": "gb200-nvl72", "accelerators": "8/72",
               "global_batch": "144"}, {"tp": "1", "micro_batch": "1", "precision": "mxfp8"}),
    ("pipe thin", {"model": "llama3-8b", "system": "h100-sxm", "accelerators": "16", "global_batch": "64"},
     {"tp": "2", "pp": "4", "cp": "1", "micro_batch": "1", "zero": "1", "framework": "megatron"}),
    ("pipe big", {"model": "llama3-70b", "system": "h100", "accelerators": "64",
                  "global_batch": "128"},
     {"tp": "8", "pp": "4", "cp": "1", "micro_batch": "1", "zero": "1"}),
    ("pipe big", {"model": "llama3.1-405b", "system": "h100-roce-24k", "accelerators": "1024",
                  "global_batch": "512"},
     {"tp": "8", "pp": "16", "cp": "1", "micro_batch": "1", "zero": "1", "recompute": "full"}),
    ("moe", {"model": "qwen3-30b-a3b", "system": "h100-sxm", "accelerators": "16",
             "global_batch": "64"}, {"tp": "1", "pp": "1", "ep": "8", "micro_batch": "1", "zero": "1"}),
    ("moe pipe", {"model": "mixtral-8x7b", "system": "dgx-h100-superpod", "accelerators": "64",
                  "global_batch": "128"},
     {"tp": "2", "pp": "4", "ep": "8", "cp": "1", "micro_batch": "1", "zero": "1"}),
    ("moe", {"model": "deepseek-v2-lite", "system": "h800", "accelerators": "16",
             "global_batch": "64"}, {"tp": "1", "pp": "1", "ep": "8", "micro_batch": "1"}),
    ("moe mtp pipe", {"model": "deepseek-v3", "system": "deepseek-v3-h800", "accelerators": "256",
                      "global_batch": "512", "tp": "1", "ep": "32"},
     {"pp": "8", "cp": "1", "micro_batch": "1", "zero": "1", "recompute": "full"}),
    ("hybrid", {"model": "nemotron-3-nano-30b", "system": "h100", "accelerators": "32",
                "global_batch": "64"},
     {"tp": "1", "pp": "1", "ep": "8", "cp": "1", "micro_batch": "1", "seq": "8192"}),
    ("hybrid", {"model": "qwen3-next-80b-a3b", "system": "b200", "accelerators": "32",
                "global_batch": "64", "tp": "1"}, {"pp": "1", "ep": "16", "micro_batch": "1"}),
    ("dense a100", {"model": "llama2-7b", "system": "a100", "accelerators": "8/16",
                    "global_batch": "64"}, {"tp": "2", "micro_batch": "1", "recompute": "none"}),
    ("dense titan", {"model": "llama3-8b", "system": "h100", "accelerators": "16",
                     "global_batch": "64", "framework": "torchtitan"}, {"tp": "2", "micro_batch": "1"}),
    ("dense deepspeed", {"model": "llama3-8b", "system": "a100", "accelerators": "16",
                         "global_batch": "64", "framework": "deepspeed"},
     {"zero": "3", "micro_batch": "1"}),
    ("dense tpu", {"model": "gemma2-9b", "system": "tpu-v5p", "accelerators": "16",
                   "global_batch": "64", "framework": "maxtext"}, {"tp": "1", "micro_batch": "1"}),
    ("dense ascend", {"model": "llama2-7b", "system": "ascend-910b3", "accelerators": "16",
                      "global_batch": "64"}, {"tp": "2", "micro_batch": "1", "framework": "mindspeed"}),
    ("dense amd", {"model": "llama3-8b", "system": "mi300x", "accelerators": "8",
                   "global_batch": "64", "framework": "primus"}, {"tp": "1", "micro_batch": "1"}),
    ("dense trainium", {"model": "llama2-7b", "system": "trainium1", "accelerators": "16/32",
                        "global_batch": "64", "framework": "neuronx"}, {"tp": "8", "micro_batch": "1"}),
    ("dense any", {"model": "gemma3-4b", "system": "h200", "accelerators": "8",
                   "global_batch": "32", "framework": "any"}, {"tp": "2", "micro_batch": "1"}),
    ("side", {"model": "llama3-8b", "system": "side_links.json", "accelerators": "16",
              "global_batch": "32"}, {"tp": "8", "cp": "1", "micro_batch": "1"}),
    ("dense", {"model": "dense.json", "system": "cluster.json", "accelerators": "8/16",
               "global_batch": "64"}, {"tp": "2", "pp": "1", "cp": "1"}),
    ("dense", {"model": "hf_gemma.json", "system": "b200", "accelerators": "8", "global_batch": "64"},
     {"tp": "2", "pp": "1"}),
    ("moe", {"model": "hf_dbrx.json", "system": "h200", "accelerators": "64", "global_batch": "64"},
     {"tp": "2", "pp": "4", "ep": "8", "cp": "1", "micro_batch": "1"}),
    ("lora", {"model": "llama2-70b", "system": "h200-sxm", "accelerators": "8", "global_batch": "8"},
     {"tp": "4", "cp": "1", "micro_batch": "1"}),
    ("fp8", {"model": "llama3-8b", "system": "h100", "accelerators": "8", "global_batch": "64",
             "precision": "fp8"}, {"tp": "1", "cp": "1", "micro_batch": "1", "recompute": "none"}),
    ("fp8", {"model": "llama3-8b", "system": "b200", "accelerators": "8", "global_batch": "64",
             "precision": "mxfp8"}, {"tp": "1", "cp": "1", "micro_batch": "1"}),
    ("tight", {"model": "llama3-70b", "system": "h100", "accelerators": "8/16",
               "global_batch": "16"}, {"tp": "8", "pp": "1", "zero": "1", "micro_batch": "1"}),
]

# What a question needs besides its job, by command.
BASE = {
    "run": [{"tokens": "10G", "simulate": "20"}, {"tokens": "1T", "simulate": "20"},
            {"steps": "1000", "simulate": "10"}, {"loss": "2.1", "simulate": "0"}],
    "design": [{"prices": "prices.json", "pp": "1", "zero": "1", "micro_batch": "1"},
               {"prices": "prices_net.json", "pp": "1", "zero": "1", "micro_batch": "1"}],
    "shape": [{"tolerance": "5", "blocks": "32,36", "zero": "1", "micro_batch": "1", "pp": "1"},
              {"tolerance": "4", "heads": "32", "head_multiple": "16", "zero": "1", "pp": "1"}],
    "explain": [{"zero": "1", "micro_batch": "1"}],
    "comm": [{"system": s, "collective": o, "ranks": r, "bytes": b} for s, o, r, b in (
        ("h100", "all-reduce", "8", "1Mi,1Gi"), ("dgx-h100-superpod", "all-gather", "64", "64Mi"),
        ("selene", "all-reduce,reduce-scatter", "16", "1Ki..4Ki"),
        ("gb200-nvl72-pod", "all-to-all", "128", "1Gi"), ("tpu-v5e", "all-gather", "16", "34MB"),
        ("mi300x", "broadcast", "8", "256Mi"), ("frontier", "all_reduce", "64", "128Mi"),
        ("atlas-800t-a2", "reduce-scatter", "32", "1Mi..8Mi"), ("h100-p5-efa", "send", "2", "4Mi"),
        ("deepseek-v3-h800", "all-reduce", "8", "1Gi"), ("cluster.json", "scatter,gather", "16", "2M"),
        ("a100", "reduce", "16", "1G"), ("tpu-v5p-pod", "all_to_all", "64", "16Mi"))],
    "sweep": [{"grid": g} for g in ("grid_plan.json", "grid_estimate.json", "grid_calculon.json")],
    "plot": [{"document": "figure.json"}, {"document": "figure.json", "results": "rows.csv"}],
    "validate": [{"runs": "runs.csv"}, {"runs": "own_runs.csv"}, {"runs": "runs.csv,own_runs.csv"},
                 {"runs": "check_2", "only": "torchtitan"}, {"runs": "check_2", "only": "zero bubble"},
                 {"runs": "check", "only": "GB300"}, {"runs": "check_2", "only": "bigscience-00"}],
    "calibrate": [{"recipe": "recipe.json", "quick": True}, {"recipe": "recipe_one.json"}],
    "list": [{"what": w} for w in ("models", "systems", "accelerators", "stacks", "calculon-models",
                                   "calculon-systems", "runs", "aliases")] + [{}],
    "show": [{"name": n} for n in (
        "llama3-8b", "deepseek-v3", "dbrx", "h100-sxm", "dgx-h100-superpod", "nemo-2024", "tpu-v5p",
        "frontier", "megatron-2025", "gpt3-175B", "a100_80g", "dense.json", "cluster.json",
        "hf_gemma.json", "exe.json", "qwen3-next-80b-a3b", "deepseek-v3.2", "gb300-nvl72",
        "nemotron-3-nano-30b", "mixtral-8x7b", "maxtext-tpu", "side_links.json", "megatron-1T")],
}
CALCULON_JOBS = [
    {"model": m, "system": s, "processors": p, "batch": b} for m, s, p, b in (
        ("megatron-126M", "a100_80g", "4", "8"), ("megatron-5B", "a100_80g", "8", "8"),
        ("megatron-22B", "h100-80g-off512g50-nvl8", "16", "16"),
        ("gpt3-13B", "h100-120g-off0g0-nvl8", "8", "16"),
        ("megatron-126M", "big-nvl72", "16", "16"), ("gpt3-175B", "h100-3tier", "64", "64"))]
CALCULON_BASE = {
    "plan": CALCULON_JOBS, "explain": CALCULON_JOBS,
    "design": [{**{k: v for k, v in job.items() if k != "processors"}, "prices": "prices.json"}
               for job in CALCULON_JOBS[:5]],
    "shape": [{"parameters": p, "system": s, "processors": n, "batch": b} for p, s, n, b in (
        ("1G", "a100_80g", "4", "4"), ("5G", "h100_80g_nvl8", "8", "8"),
        ("13B", "h100-120g-off0g0-nvl8", "8", "16"))],
}

VALUES = {
    "": {
        "max_memory": ["40", "60", "70GB", "75", "79.5", "64GiB"],
        "stack": ["megatron-2025", "nemo-2024", "nemo-2025", "torchtitan", "megatron-2024", "nanotron",
                  "deepspeed-hopper", "fsdp-llm-foundry-hopper"],
        "nodes": ["1", "2", "4"], "gpus_per_node": ["4", "8"], "accelerators": ["8", "16", "32"],
        "model": ["llama3-8b", "qwen3-8b", "dense.json", "gemma2-9b", "hf_gemma.json"],
        "system": ["h100", "b200-sxm", "cluster.json", "a100-sxm-80gb", "h200", "selene"],
        "global_batch": ["32", "64", "128", "256"], "micro_batch": ["1", "2", "1,2", "4"],
        "accumulation": ["1", "4", "8"], "seq": ["2048", "4k", "8192", "16k", "32Ki"],
        "document_tokens": ["1024", "2k", "4096"], "tp": ["1", "2", "4", "2,4", "8"],
        "pp": ["1", "2", "4", "1,2"], "cp": ["1", "2", "1,2", "4"], "ep": ["2", "4", "8", "4,8"],
        "etp": ["1", "2", "1,2"], "dp": ["2", "4", "8"], "zero": ["0", "1", "2", "3", "1,3"],
        "hsdp": ["2", "4"], "vp": ["1", "2", "4", "1,2"], "vp_layers": ["2", "4"],
        "first_stage_layers": ["6", "7", "8"], "last_stage_layers": ["5", "7", "8"],
        "layout": ["7,9,9,7", "8*4", "7,9*2,7", "9,8,8,7"], "mtp_layers": ["1", "2"],
        "recompute_layers": ["1", "2", "4"],
        "recompute_modules": ["core_attn", "norm", "act", "norm,act", "mlp", "moe,norm", "mla_up",
                              "layernorm", "moe-act", "core-attn,norm"],
        "recompute": ["none", "selective", "full", "none,full", "none,selective,full"],
        "offload": ["none", "optimizer", "activations", "weights", "optimizer,weights",
                    "none,optimizer"],
        "overlap": ["none", "tp", "grad,param", "tp,grad,param,pp", "moe", "tp,pp"],
        "schedule": ["gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipe", "v-half",
                     "v-min", "1f1b,interleaved"],
        "cp_kind": ["ring", "all-gather", "ulysses", "ring,ulysses"],
        "order": ["tp-cp-dp-pp", "tp-cp-pp-dp", "tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp",
                  "tp-cp-dp-pp,tp-cp-pp-dp"],
        "offload_share": ["0.25", "0.5", "1"],
        "capacity_factor": ["1", "1.25", "2"], "imbalance": ["1", "1.1", "1.5", "2"],
        "lora_rank": ["8", "16", "64"], "lora_modules": ["attention", "mlp", "attention,mlp"],
        "output": ["OUT.txt", "OUT.json"], "top": ["1", "2", "5", "10"],
        "dp_servers": ["1", "2", "4"], "dp_every": ["10", "100", "500"], "sites": ["2", "4"],
        "site_GBps": ["1.25", "12.5", "50"], "staleness_price": ["0", "0.01", "0.05"],
        "threads": ["1", "2"],
        "tokens": ["1G", "10G", "300B", "1T", "15T"], "steps": ["500", "10000", "1M"],
        "loss": ["1.9", "2.1", "2.4"],
        "phases": ["8192:100G", "8192:1T:64,32768:10G:16", "4096:10G,8192:2G"],
        "batch_ramp": ["16:1G", "32:5G:4", "16:2G:3"],
        "law": ["chinchilla", "chinchilla-refit", "kaplan", "chinchilla-4-digits"],
        "reference_batch": ["1M", "4M", "500k"], "batch_law": ["power-lines", "kaplan"],
        "mfu": ["35", "40", "52.5"], "step_time": ["1.5", "6", "30"],
        "deadline": ["30d", "100d", "400d"], "budget": ["100k", "1M", "10M"],
        "max_power": ["50kW", "100kW", "1MW"], "reliability": ["published"],
        "failures": ["0", "1", "5", "20"], "restart": ["5", "30", "60"], "start": ["5", "20"],
        "silent_corruption": ["60", "600"], "maintenance": ["4:30", "8:30", "2:7"],
        "spares": ["0", "1", "2"], "stragglers": ["1", "2.5", "5"], "barriers": ["1", "10", "100"],
        "slow_devices": ["0.1:10", "0.5:10", "1:5"], "storage": ["1", "2", "40"],
        "checkpoint_every": ["1", "10", "30", "120"],
        "checkpoint_tier": ["parallel-fs", "object-store"],
        "near_checkpoint": ["peer-host", "host", "nvme"], "storage_tiers": ["published"],
        "token_bytes": ["2", "4"], "simulate": ["0", "10", "100"], "seed": ["1", "2", "77"],
        "timeline": ["OUT.csv"], "prices": ["published", "cloud-2026"],
        "price": ["2", "2.5", "0.9"], "purchase": ["25k", "40000"], "life": ["3", "4", "5"],
        "power": ["700", "1000", "1200"], "idle_power": ["200", "400"], "pue": ["1.05", "1.25"],
        "carbon": ["57", "400"], "change": ["5", "10", "-20", "100"],
        "step": ["0.5", "3", "10"], "tokens_per_second": ["10k", "50k", "100000"],
        "days": ["30", "100", "1000"], "parameters": ["8B", "8.03G", "7G"],
        "tolerance": ["1", "3", "5"], "blocks": ["32", "30,32", "28,32,36"],
        "heads": ["32", "24,32", "40"], "head_multiple": ["8", "16"], "aspect_min": ["32", "64", "100"],
        "aspect_max": ["150", "200", "256"], "head_size": ["128", "64,128", "96"],
        "feedforward": ["2.67", "3.5", "4"], "method": ["reckon"],
        "processors": ["4", "8", "16"], "batch": ["4", "8", "16"],
    },
    "run": {"output": ["OUT.txt"]},
    "timeline": {"output": ["OUT.svg", "OUT.json", "OUT.csv"]},
    "design": {"prices": ["prices.json", "prices_net.json"], "days": ["100", "1000"], "tokens": ["10G", "1T"]},
    "design.calculon": {"prices": ["prices.json", "prices_calculon.json"], "tokens": ["10G", "1T"],
                        "method": ["calculon"], "days": ["100", "10000"],
                        "model": ["megatron-126M", "megatron-5B"],
                        "system": ["a100_80g", "h100_80g_nvl8"]},
    "plan.calculon": {"method": ["calculon"], "model": ["megatron-126M", "gpt3-13B"],
                      "system": ["a100_80g", "h100_80g_nvl8"]},
    "explain.calculon": {"method": ["calculon"], "model": ["megatron-126M", "megatron-5B"],
                         "system": ["a100_80g", "h100_80g_nvl8"]},
    "shape.calculon": {"method": ["calculon"], "parameters": ["1G", "2.5G", "5G"],
                       "system": ["a100_80g", "h100_80g_nvl8"], "blocks": ["24", "24,32"],
                       "heads": ["16", "16,24"], "feedforward": ["3", "4"]},
    "comm": {"collective": ["all-reduce", "all-gather,reduce-scatter", "send"],
             "system": ["h100", "selene", "cluster.json", "perlmutter", "gaudi3", "trainium2"],
             "ranks": ["2", "4", "8", "16", "64"], "stride": ["1", "2", "8"],
             "slice": ["4x4", "16", "2x4"], "placement": ["8,8", "8,8,6,2", "4,4"],
             "op": ["all_reduce", "all-gather,all-to-all", "broadcast"],
             "bytes": ["1Ki", "1Mi,1Gi", "1Mi..64Mi", "34MB"],
             "algorithm": ["best", "all", "nccl", "ring", "tree", "in-network", "direct",
                           "halving-doubling", "hierarchical"],
             "chunks": ["0", "1", "4", "16"], "sharing": ["1", "2", "4"],
             "with_ranks": ["4", "8"], "with_stride": ["1", "8"], "with_bytes": ["1Mi", "256Mi"],
             "fabric_share": ["0.6", "0.75", "0.9"], "servers": ["0", "2", "8"],
             "compute_ms": ["50", "200"], "every": ["5", "100"], "plot": ["OUT.svg"],
             "fit": ["nccl.txt"], "domains": ["2"]},
    "sweep": {"output": ["OUT.csv", "OUT.csv.gz"], "sqlite": ["OUT.db"],
              "grid": ["grid_plan.json", "grid_estimate.json", "grid_calculon.json"],
              "pareto": ["time,memory", "time", "max:rate,memory", "rate"], "lost_after": ["10", "60"]},
    "plot": {"document": ["figure.json"], "results": ["rows.csv"], "output": ["OUT.svg"],
             "figure": ["figure"]},
    "validate": {"runs": ["runs.csv", "own_runs.csv", "published"],
                 "only": ["hf_playbook", "llama", "torchtitan", "H100"],
                 "by": ["accelerator", "source,kind", "precision", "nodes,tensor", "utilisation"],
                 "sources": ["defaults.json"], "residuals": ["OUT.json"], "intervals": ["residuals.json"],
                 "figures": ["figures.json"], "plot": ["OUT.svg"], "output": ["OUT.txt"]},
    "calibrate": {"recipe": ["recipe.json", "recipe_one.json"], "output": ["OUT.txt"],
                  "rows": ["OUT.csv"]},
    "show": {"name": ["llama3-8b", "h100-sxm", "nemo-2024"]},
    "calculon": {"log": ["-", "OUT.log"], "command": [
        "lpc megatron-126M", "lpc gpt3-175B -a 20", "llm app.json exe.json sys.json -", "lv", "v",
        "llm app.json exe.json sys.json OUT.json -l", "llm megatron-126M peers_exe.json a100_80g - -p OUT.json.gz",
        "loe megatron-126M 2 4 float16 a100_80g OUT.json -c 1", "version",
        "loe megatron-126M 4 4 float16 a100_80g OUT.csv.gz -t 2 -c 1",
        "loe megatron-5B 8 8 float16 a100_80g OUT.json -c 1 -f both -m --no-tp-overlap",
        "loe megatron-126M 4 8 float16 a100_80g OUT.json -c 1 --bounded --no-dp-overlap -t 3 -l",
        "lae megatron-126M 2 1 float16 a100_80g OUT.csv -c 1 -n", "lae megatron-126M 2 1 float16 a100_80g OUT.csv -d",
        "llm-parameter-calculator turing-530B", "llm-validation",
        "llm-optimal-execution megatron-126M 2 4 float8 h100_80g_nvl8 OUT.json -c 1 -n"]},
}
BASE["calculon"] = [{"command": command} for command in VALUES["calculon"]["command"]]

# What an option needs to have a meaning; "scene": a job of this kind.
NEEDS = {
    "ep": {"scene": "moe"}, "etp": {"scene": "moe", "ep": "8"}, "capacity_factor": {"scene": "moe"},
    "hsdp": {"zero": "3", "tp": "1", "scene": "dense"}, "no_sp": {"tp": "2"},
    "sequence_parallel": {"tp": "2"}, "cp_kind": {"cp": "2", "seq": "16k", "scene": "dense"},
    "schedule": {"scene": "pipe", "pp": "4", "framework": "any"}, "vp": {"scene": "pipe", "pp": "4"},
    "vp_layers": {"scene": "thin", "pp": "4"}, "layout": {"scene": "thin", "pp": "4", "vp": "1"},
    "first_stage_layers": {"scene": "thin", "pp": "4"},
    "last_stage_layers": {"scene": "thin", "pp": "4"},
    "count_embedding": {"scene": "pipe", "pp": "2"}, "count_head": {"scene": "pipe", "pp": "2"},
    "order": {"scene": "pipe"}, "mtp_layers": {"scene": "mtp"}, "no_mtp": {"scene": "mtp"},
    "mtp_before_head": {"scene": "mtp"}, "recompute_layers": {"recompute": "full"},
    "recompute_modules": {"recompute": "selective"}, "fp8_recipe": {"scene": "fp8", "precision": "fp8"},
    "fp8_param_gather": {"scene": "fp8"}, "fp8_activation_input": {"scene": "fp8"},
    "lora_rank": {"scene": "lora"}, "qlora": {"scene": "lora", "lora_rank": "16"},
    "frozen_weights": {"scene": "lora", "lora_rank": "16"}, "loss_chunk": {"cross_entropy": "chunked"},
    "offload_share": {"offload": "optimizer"},
    "lora_modules": {"scene": "lora", "lora_rank": "16"}, "side_links": {"scene": "side", "system": "side_links.json"},
    "dp_servers": {"dp_sync": True}, "dp_every": {"dp_sync": True},
    "sites": {"dp_sync": True, "site_GBps": "12.5"}, "site_GBps": {"dp_sync": True, "sites": "4"},
    "staleness_price": {"dp_sync": True, "servers": "2", "compute_ms": "100", "text": True},
    "graph_step": {"graph_capture": True}, "accelerators": {"scene": "dense"},
    "framework": {"scene": "dense"}, "stack": {"scene": "dense"}, "seq": {"scene": "dense"},
    "with_ranks": {"with": "all-gather"}, "with_stride": {"with": "all-to-all", "with_ranks": "8"},
    "with_bytes": {"with": "reduce-scatter"}, "compute_ms": {"servers": "2", "text": True},
    "every": {"servers": "2", "text": True}, "servers": {"text": True}, "plot": {"text": True}, "domains": {"fit": "nccl.txt"}, "purchase": {"life": "4"},
    "life": {"purchase": "30000"}, "barriers": {"stragglers": "2"}, "seed": {"simulate": "50"},
    "slice": {"system": "tpu-v5e"}, "days": {"tokens": "1T"}, "max_power": {"scene": "small", "pp": "1", "cp": "1", "zero": "1", "micro_batch": "1"},
    "deadline": {"scene": "small", "pp": "1", "cp": "1", "zero": "1", "micro_batch": "1"}, "budget": {"scene": "small", "price": "2.5", "pp": "1", "cp": "1", "zero": "1", "micro_batch": "1"},
    "law": {"loss": "2.2"}, "batch_ramp": {"global_batch": "128", "tokens": "20G"},
    "idle_power": {"power": "900"}, "emit": {"scene": "dense"}, "resume": {"sqlite": "OUT.db"},
    "imbalance": {"scene": "moe", "collective": "all-to-all"}, "moments": {"scene": "dense"}, "hybrid": {"scene": "hybrid"},
}
# The same for one command.
NEEDS_OF = {
    "design": {"accelerators": {"prices": "prices_fixed.json"}, "nodes": {"prices": "prices_fixed.json"},
               "gpus_per_node": {"prices": "prices_fixed.json", "accelerators": "16"},
               "dp": {"prices": "prices_fixed.json", "accelerators": "16"}},
    "validate": {"whole": {"runs": "published"}, "figures": {"runs": "runs.csv"}},
    "design.calculon": {"processors": {"prices": "prices_fixed.json"}},
}
# The options that an option replaces: it is drawn without them.
REPLACES = {
    "nodes": ["accelerators"], "accumulation": ["global_batch"], "fsdp": ["zero"],
    "use_distributed_optimizer": ["zero"], "use_tp_pp_dp_mapping": ["order"], "vp_layers": ["vp"],
    "layout": ["vp"], "steps": ["tokens", "loss"], "loss": ["tokens", "steps"],
    "tokens": ["steps", "loss"], "phases": ["tokens", "steps", "loss"], "placement": ["ranks"],
    "prices": [], "slice": ["ranks"], "fit": ["collective", "ranks", "bytes", "system"], "op": ["collective"],
    "dp": ["pp", "ep", "cp"], "gpus_per_node": [], "model": ["tp", "pp", "ep", "cp"],
    "system": ["precision", "framework"], "framework": ["framework"], "emit": ["framework"],
    "csv": ["json"], "output": [], "algorithm": [], "law": ["tokens", "steps"],
    "deadline": ["accelerators"], "budget": ["accelerators"], "max_power": ["accelerators"],
    "mfu": [], "parameters": ["blocks"], "whole": ["only"], "figures": ["only"],
}

# Launch lines as people paste them.
_MEGATRON = ("torchrun --nproc_per_node=8 --nnodes={|1|2|4|} pretrain_gpt.py --num-layers {|24|32|} --hidden-size 4096 "
             "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --ffn-hidden-size 14336 "
             "--seq-length {|4096|8192|} --max-position-embeddings 8192 --swiglu --disable-bias-linear "
             "--untie-embeddings-and-output-weights --use-rotary-position-embeddings --vocab-size {|32000|128256|} "
             "--micro-batch-size {|1|2|} --global-batch-size {|64|128|} --tensor-model-parallel-size {|1|2|4|} "
             "{|--pipeline-model-parallel-size 2|--sequence-parallel|--cp-comm-type p2p --context-parallel-size 2"
             "|--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2|} "
             "{|--bf16|--fp16|--bf16 --fp8-format hybrid|--bf16 --fp8-format e4m3 --fp8-recipe blockwise|} "
             "{|--recompute-activations|--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
             "|--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather|--use-flash-attn|} "
             "{|--lr 3e-4 --train-iters 1000|--qk-layernorm|--add-qkv-bias|--kv-channels 128|--no-gradient-accumulation-fusion|}")
_MOE = ("torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 16 --hidden-size 2048 --num-attention-heads 16 "
        "--seq-length 4096 --max-position-embeddings 4096 --padded-vocab-size 32064 --swiglu --num-experts {|8|16|} "
        "--moe-router-topk {|2|4|} --moe-ffn-hidden-size 1408 {|--moe-shared-expert-intermediate-size 2816|--bf16|} "
        "--expert-model-parallel-size {|4|8|} --micro-batch-size 1 --global-batch-size 64 "
        "{|--tensor-model-parallel-size 2|--expert-tensor-parallel-size 1|--moe-expert-capacity-factor 1.25|} --bf16")
LAUNCHES = [("cli", f"{{|estimate|fit|estimate|plan|}} {{|h100|a100|b200|}} {_MEGATRON} --json"),
            ("cli", f"estimate {{|h100|a100|}} {_MEGATRON} --json"),
            ("cli", f"run h100 {_MEGATRON} --tokens {{|10G|1T|}} --simulate 10 --json"),
            ("cli", f"estimate {{|h100|h200|}} {_MOE} --json")] + [("cli", line) for line in (
    "estimate llama3-8b 16xh100 --training.local_batch_size {|1|2|} --parallelism.tensor_parallel_degree {|1|2|4|} "
    "--activation_checkpoint.mode {|none|selective|full|} --json",
    "estimate llama3-8b 16xh100 --parallelism.data_parallel_shard_degree -1 --training.seq_len {|4096|8192|} "
    "{|--parallelism.context_parallel_degree 2|--parallelism.data_parallel_replicate_degree 2|--compile|} --json",
    "estimate llama3-8b 16xh100 --parallelism.pipeline_parallel_degree={|2|4|} "
    "--parallelism.pipeline_parallel_schedule={|1F1B|GPipe|Interleaved1F1B|} --training.global_batch_size 64 --json",
    "estimate torchrun --nproc_per_node=8 train.py llama3-8b {|h100|a100|} --gpus 8 --seqlen {|2048|4096|} --json",
    "estimate deepspeed train.py llama3-8b 8x{|h100|a100|} --zero_stage {|1|2|3|} --train_micro_batch_size_per_gpu {|1|2|} --json",
    "estimate llama3-8b 8xh100 --per_device_train_batch_size {|1|2|} --gradient_checkpointing True "
    "--gradient_accumulation_steps {|4|8|} {|--bf16|--fp16|--tf32|} --json",
    "estimate accelerate launch train.py llama3-8b 8xh100 --mixed_precision {|bf16|fp16|fp8|} --json",
    "estimate llama3-8b 8xh100 --sharding_strategy {|SHARD_GRAD_OP|FULL_SHARD|NO_SHARD|} --max_seq_length {|2048|4096|} --json",
    "estimate llama3-8b 8xh100 --deepspeed --deepspeed_config {|ds_zero1.json|ds_zero2.json|ds_zero3.json|} --json",
    "estimate {|llama3-8b|llama2-7b|qwen3-8b|} 8x{|h100|a100|} --deepspeed {|ds_zero1.json|ds_zero2.json|ds_zero3.json|} "
    "{|--zero 2|--bf16|--offload optimizer|--seq 2048|} --json",
    "{|fit|plan|} llama3-8b 8x{|h100|a100|} --deepspeed {|ds_zero1.json|ds_zero2.json|ds_zero3.json|} --json",
    "estimate --{|gpu|gpu-type|hardware|cluster|machine|} h100 --{|num-gpus|n-gpus|ngpus|world-size|} 8 "
    "--{|model-name|model-name-or-path|} llama3-8b --{|tensor-parallel-size|tensor-parallel|tp-size|} 2 --json",
    "estimate llama3-8b 16xh100 --{|pipeline-parallel-size|pipeline-parallel|pp-size|} 2 "
    "--{|context-parallel|cp-size|} 2 --{|sequence-length|context-length|max-seq-len|max-length|block-size|} 8192 --json",
    "estimate mixtral-8x7b 16xh100 --{|expert-parallel-size|expert-parallel|ep-size|} 8 --{|data-parallel|dp-size|} 8 --json",
    "estimate llama3-8b 8xh100 --{|dtype|torch-dtype|} {|bf16|float8|fp16|} --{|activation-checkpointing|recomputation|} "
    "{|none|full|selective|} --train-batch-size 64 --json",
    "estimate llama3-8b 8xh100 {|--cpu-offload|--no-recompute|--fp8|--zero1|--zero2|--zero3|--activation-checkpointing|} "
    "--attn-implementation {|sdpa|eager|flash_attention_2|} --json",
    "run llama3-8b 8xh100 --tokens 1G --simulate 10 --{|cost-per-gpu-hour|price-per-gpu-hour|} 2 --json",
    "estimate deepseek-v2-lite 16xh100 --parallelism.expert_parallel_degree {|4|8|} "
    "--parallelism.expert_tensor_parallel_degree 1 --framework torchtitan --json",
)]

# Other commands, and words in other orders.
WORDS = [("cli", line) for line in (
    "help", "version", "help {|plan|estimate|fit|run|comm|explain|design|shape|sweep|timeline|plot|validate|calibrate|list|show|calculon|}",
    "{|plan|estimate|fit|run|explain|design|shape|timeline|} --help-all", "{|plan|explain|design|shape|} --method calculon --help",
    "calculon {|llm|loe|lae|lpc|lv|} --help", "__complete {|plan|estimate|run|comm|validate|sweep|} --",
    "__complete {|plan|estimate|} --{|framework|precision|schedule|stack|model|} {|m|f|n|l|}",
    "estimate {|h100 llama3-8b 8|8xh100 llama3-8b|llama3-8b h100 8|meta-llama/Llama-3.1-8B 8xh100|} --tp 2 --json",
    "estimate Qwen/Qwen2.5-72B-Instruct NVIDIA-H100-80GB-HBM3 --gpus 32 --tp {|4|8|} --json",
    "comm {|h100 allreduce|allreduce,AllGather 64xh100 --size 1G|all_reduce 8xdgx-h100|reduce 8xa100|} --json",
    "plan {|h100 llama3-8b 16 --seq 4k|llama3-8b 2xdgx-h100|qwen3-8b 8xmi300x|} --micro-batch 1 --json",
    "estimate llama3-8b 8xh100 --framework {|fsdp|megatron-lm|nemo|torchtitan|deepspeed|maxtext|primus|} --json",
    "estimate llama3-8b 8x{|a100|h100|h200|b200|gb200|mi300x|mi355x|gaudi3|tpu-v5p|tpu-v6e|trainium2|ascend-910c|} --json",
    "fit {|llama3-70b|mixtral-8x7b|gemma3-27b|falcon-40b|nemotron-3-nano-30b|} {|4|8|16|}x{|a100|h100|b200|} -b 16 --json",
    "estimate {|gpt-j-6b|bloom-7b1|gemma-7b|gemma3-12b|starcoder2-15b|deepseek-7b|falcon-7b|yi-34b|apertus-8b|} 16xh100 -b 64 --json",
    "estimate {|falcon-h1-34b|deepseek-v3.2|deepseek-v4-flash|glm-4.5-air|qwen3.6-35b-a3b|dots-llm1|arctic-480b|} "
    "256x{|h100|b200|} -b 512 --tp 1 --pp 1 --micro-batch 1 --zero 3 --json",
    "run --model llama3-8b --system {|h100-sxm:64,b200-sxm:32|h100:128|a100:256|} --tokens 100G -b 256 --deadline {|30d|60d|} "
    "--tp 1 --pp 1 --cp 1 --micro-batch 1 --zero 1 --simulate 10 --price 2 --json",
)] + [("python", line) for line in (
    'schema {"command": "{|plan|estimate|fit|run|comm|explain|design|shape|sweep|timeline|validate|calibrate|list|show|}"}',
    'schema {"command": "{|plan|explain|design|shape|}", "method": "calculon"}',
    'catalogue {"kind": "{|models|systems|stacks|accelerators|calculon/systems|calculon/applications|prices|runs|}"}',
    'validate {"runs": [{"id": "a", "layers": 16, "hidden": 2048, "heads": 32, "vocab": 131072, "seq": 4096, '
    '"accelerator": "{|H100|A100|}", "n_accel": 8, "tp": {|1|2|}, "dp": 4, "gbs": 32, "mbs": {|1|2|4|}, '
    '"framework": "megatron-core", "step_time_s": 1.5}]}',
    'estimate {"model": {"name": "own", "hidden": {|2048|4096|}, "layers": 16, "vocab": 32000, "seq": 4096, "heads": 32, '
    '"kv_heads": 8, "ffn": 8192}, "system": "h100", "accelerators": 8, "global_batch": 64, "tp": {|1|2|}}',
)] + [("json", line) for line in (
    'list {"what": "{|models|systems|stacks|runs|aliases|}"}', 'show {"name": "{|llama3-8b|h100-sxm|nemo-2024|dbrx|}"}',
    'list {}', 'sweep {"grid": {"model": "llama3-8b", "system": "h100-sxm", "accelerators": 8, "global_batch": 16, '
    '"task": "estimate", "strategy": {"pp": 1, "zero": 1, "micro_batch": 1}, "axes": [{"key": "strategy.tp", "values": [1, {|2|4|}]}]}}',
    'design {"model": "llama3-8b", "system": "h100-sxm", "global_batch": 64, "tp": {|1|2|}, "zero": 1, "prices": {"name": "two", '
    '"currency": "$", "processor": 100, "life_days": 1000, "axes": [{"key": "processors", "values": [8, 16]}]}}',
)]

# Wrong inputs: what is said of them is an answer too.
WRONG = [("cli", line) for line in (
    "{|pln|study x.json|--foo|help foo|calculon|calculon foo|calculon llm|estimat|}", "{|plan|estimate|fit|run|timeline|explain|design|shape|comm|sweep|plot|calibrate|show|}",
    "{|plan|estimate|run|} llama3-70b", "plan {|llama3-9b|lama3-8b|gpt5|} 8xh100", "estimate llama3-8b 8x{|h1000|hh100|h100-sxn|}",
    "estimate llama3-8b 8xh100 --tp {|3|0|-1|two|1.5|16|}", "estimate llama3-8b 8xh100 --{|tpp|batchsize|zeros|recomputation-kind|fsdp2|} 2",
    "estimate llama3-8b 8xh100 --precision {|fp7|int8|mxfp8|nvfp4|}", "estimate llama3-8b 8xh100 --offload {|optimiser|all|disk|}",
    "estimate llama3-8b 8xh100 --schedule {|1f2b|zb|dualpipe --pp 2|}", "run llama3-8b 8xh100 {|--tokens|--tokens 0|--tokens many|--phases 8192,4T|}",
    "estimate llama3-8b 8xh100 --layout {|7,9|1*40|a,b|} --pp 4", "comm --system selene --op {|al_reduce|all-reduced|} ",
    "comm {|--ranks 8|--system selene --json --csv|all-reduce --system selene --algorithm rings|all-reduce h100 -b 4Mi..1Mi|}",
    "estimate llama3-8b 8xh100 {|--json --csv|--fp8-recipe delayed|--seq 0|--dp 3 --tp 2|--ep 8|--max-memory -1|}",
    "estimate {|rows.csv|nothing.json|figure.json|} 8xh100", "show {|no-such-thing|rows.csv|figure.json|}", "list {|modles|everything|}",
    "validate --runs {|nothing.csv|rows.csv|}", "validate --by {|colour|source,kind,tier|}", "sweep {|nothing.json|figure.json|}",
    "plot {|nothing.json|grid_plan.json|}", "calibrate {|nothing.json|figure.json|}", "estimate llama3-8b 8xh100 --deepspeed {|figure.json|nothing.json|}",
    "estimate llama3-8b 8xh100 --{|batch-tokens 4M|epochs 3|days 3|batch-size 4|hours 24|num-train-epochs 1|}",
    "plan --method {|calculon --model llama3-8b --system a100_80g -p 8 -b 8|reckon --model gpt3-175B --system h100 -p 8 -b 8|other llama3-8b 8xh100|}",
    "estimate llama3-70b 8xh100 --tp 8 --pp 1 --cp 1 --micro-batch 1 --zero 1 --recompute none -b {|8|16|}",
)] + [("json", line) for line in (
    'plan {|{"model": "llama3-8b"}|{"Model": "llama3-8b"}|[]|{|{"model": "llama3-8b", "system": "h100", "accelerators": "eight"}|}',
    'estimate {"model": "llama3-8b", "system": "h100", {|"tp": 0|"tp": [[1]]|"zero": 4|"colour": "red"|"precision": "fp7"|"tp": true|}}',
    'run {"model": "llama3-8b", "system": "h100", "accelerators": 8, {|"tokens": 0|"tokens": "many"|"spares": -1|"tokens": -1|}}',
    '{|nothing|Plan|}  {"model": "llama3-8b"}',
)] + [("python", line) for line in (
    'plan {"model": "llama3-8b", "system": "h100", {|"accelerators": 0|"acelerators": 8|"accelerators": 8, "tp": 16|}}',
    'estimate {"model": {|"llama3-9b"|{"hidden": 3}|7|}, "system": "h100", "accelerators": 8}',
    'estimate {"model": "llama3-70b", "system": "h100", "accelerators": 8, "tp": 8, "pp": 1, "zero": 1, "global_batch": {|8|16|}}',
)]

# Typed functions.
_JOB = ("{|llama3-8b h100-sxm|llama3-8b dgx-h100-superpod|qwen3-8b b200-sxm|llama2-7b a100-sxm-80gb|qwen3-30b-a3b h100-sxm"
        "|gemma2-9b tpu-v5p|dense.json cluster.json|deepseek-v2-lite h800-sxm|llama3-8b mi300x|}")
_SPACE = ("accelerators={|8|16|} global_batch={|32|64|} tp={|1|2|1,2|4|} zero={|1|3|1,2|} micro_batch={|1|1,2|} "
          "{|pp=1|pp=1,2|pp=2 vp=1|cp=1|recomputes=1|recomputes=4|top=3|bounded=1|exhaustive=1|} "
          "{|framework=megatron|framework=torchtitan|framework=any|max_memory_bytes=6e10|mfu_convention=palm|stack=megatron-2024|top=2|}")
_ONE = ("'options={\"tp\": {|1|2|4|}, \"dp\": {|2|4|8|}, \"global_batch\": {|32|64|}{|, \"zero\": 3|, \"recompute\": \"full\"|"
        ", \"micro_batch\": 2|, \"pp\": 2|, \"precision\": \"fp8\"|, \"offload\": \"optimizer\"|, \"seq\": 4096|, \"lora_rank\": 16|}}' "
        "{|framework=megatron|framework=torchtitan|framework=any|mfu_convention=full|max_memory_bytes=7e10|}")
TYPED = [f"{{|step|estimate|estimate|}} {_JOB} {_ONE}", f"check {_JOB} {_ONE} {{|tp_times=3|pp_times=7|tp_times=2|}}",
         f"{{|plan|fit|}} {_JOB} {_SPACE}", f"{{|operators|timeline|}} {_JOB} {_SPACE}",
         f"launch {{|llama3-8b h100-sxm|qwen3-8b h100-sxm|}} accelerators=8 global_batch=64 tp={{|1|2|}} zero=1 micro_batch=1 "
         "{|launch=megatron framework=megatron|launch=megatron-slurm framework=megatron|launch=torchtitan framework=torchtitan"
         "|launch=torchtitan-python framework=torchtitan|}",
         f"run {_JOB} {_SPACE} {{|tokens=1e10|steps=1000|loss=2.1|tokens=1e12 price_per_hour=2.5|tokens=1e11 prices=published"
         "|tokens=1e12 spares=1 failures=3|tokens=1e11 near_checkpoint=peer-host|}",
         f"explain {_JOB} {_SPACE} change={{|0.1|-0.2|1|}}",
         "comm llama3-8b {|h100-sxm|selene|dgx-h100-superpod|tpu-v5p-pod|mi300x|frontier|} op={|all_reduce|all_gather|reduce_scatter|all_to_all|broadcast|} "
         "ranks={|0|2|8|16|} stride={|1|8|} bytes={|65536|1048576|1073741824|}"]
