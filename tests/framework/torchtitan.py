# SPDX-License-Identifier: Apache-2.0
"""Reads configurations for torchtitan, and asks its rules.

Two versions: 0.2.2 (TOML), and main of 2026-08-21 (a Python function); see data/README.md.
"""

import ast
import json
import re

from megatron import DATA, Names, Wrong, read_lines, require

with open(DATA / "torchtitan_keys.json", encoding="utf-8") as file:
    KEYS = json.load(file)


# ---- keys ---------------------------------------------------------------------------------------


def check_value(key, kind, value):
    """Kinds: int, bool, str, [choices], list (of strings), lists (of lists of strings)."""
    if isinstance(kind, list):
        require(value in kind, f"{key} = {value!r}, not one of {kind}")
        return
    right = {
        "int": lambda v: isinstance(v, int) and not isinstance(v, bool),
        "bool": lambda v: isinstance(v, bool),
        "str": lambda v: isinstance(v, str),
        "list": lambda v: isinstance(v, list) and all(isinstance(i, str) for i in v),
        "any": lambda v: True,
        "lists": lambda v: isinstance(v, list) and all(
            isinstance(i, list) and all(isinstance(k, str) for k in i) for i in v),
    }[kind]
    require(right(value), f"{key} = {value!r} is no {kind}")


def flatten(table, path=""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flatten(value, path + key + ".")
        else:
            yield path + key, value


def read_toml(text):
    import tomllib
    return dict(flatten(tomllib.loads(text)))


def read_python(text):
    """The assignments of a configuration function; its value for classes is their name."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    require(len(functions) == 1, "one function")
    body = functions[0].body
    require(ast.unparse(body[-1]) == "return config", "the function returns config")
    base = body[0]
    require(isinstance(base, ast.Assign) and isinstance(base.value, ast.Call), "a base")
    keys = {"base": base.value.func.id}
    for node in body[1:-1]:
        target = ast.unparse(node.targets[0])
        require(target.startswith("config."), f"{target} is set")
        key = target[len("config."):]
        require(key not in keys, f"{key} is set twice")
        value = node.value
        keys[key] = (value.func.value.id if isinstance(value, ast.Call)
                     else ast.literal_eval(value))
    return keys


def settings_of(version, given):
    """All keys: defaults, and what is given; Wrong for one that the version has not."""
    known = KEYS[version]
    settings = {key: entry["default"] for key, entry in known.items()}
    for key, value in given.items():
        require(key in known, f"torchtitan {version} has no {key}")
        check_value(key, known[key]["kind"], value)
        settings[key] = value
    return settings


# ---- stages -------------------------------------------------------------------------------------


def stages_of(s, layers):
    """Modules of every stage, as pipeline_parallel.py generates or takes them."""
    pp = s["parallelism.pipeline_parallel_degree"]
    listed = s["parallelism.module_fqns_per_model_part"]
    single = s["parallelism.pipeline_parallel_schedule"] in ("1F1B", "GPipe")
    if pp == 1:
        return [["tok_embeddings"] + [f"layers.{i}" for i in range(layers)] + ["norm", "output"]]
    first = s["parallelism.pipeline_parallel_first_stage_less_layers"]
    last = s["parallelism.pipeline_parallel_last_stage_less_layers"]
    each = s["parallelism.pipeline_parallel_layers_per_stage"]
    units = layers + first + last
    count = pp * (1 if single else 2)
    if each is not None:
        count = -(-units // each)
        require(count % pp == 0, f"{count} virtual stages over pp {pp}")
        require((count // pp == 1) if single else (count // pp >= 2),
                f"{count // pp} stages per rank for the schedule")
    if listed is not None:
        require(len(listed) % pp == 0, f"{len(listed)} parts over pp {pp}")
        require(not single or len(listed) == pp, "one part per rank for the schedule")
        return listed
    require(count <= units, "more stages than layers")
    base, more = divmod(units, count)
    require(first <= base and last <= base, "the ends outweigh a stage")
    stages, at = [], 0
    for i in range(count):
        held = base + (i < more) - (first if i == 0 else 0) - (last if i == count - 1 else 0)
        stages.append((["tok_embeddings"] if i == 0 else [])
                      + [f"layers.{k}" for k in range(at, at + held)]
                      + (["norm", "output"] if i == count - 1 else []))
        at += held
    return stages


def check_stages(stages, layers):
    """Every module once, in the order of the model, and no stage without modules."""
    flat = [module for stage in stages for module in stage]
    wanted = ["tok_embeddings"] + [f"layers.{i}" for i in range(layers)] + ["norm", "output"]
    require(flat == wanted, "stages do not hold every module once, in order")
    require(all(stages), "a stage has no modules")


# ---- rules --------------------------------------------------------------------------------------

SINGLE = ("1F1B", "GPipe")
HAS_FSDP = "(dp_shard > 1 or cp > 1)"

# Rules that are not written as an expression, by version and place: when, must.
WORDED = {
    ("0.2.2", "models/llama3/infra/parallelize.py:151"):
        (f"not {HAS_FSDP} and dp_replicate > 1", "world == dp_replicate"),
    ("0.2.2", "models/llama4/infra/parallelize.py:219"):
        ("dp_shard == 1 and cp == 1 and ep == 1 and dp_replicate > 1", "world == dp_replicate"),
    ("0.2.2", "models/deepseek_v3/infra/parallelize.py:69"): ("False", "True"),  # the flavor's
    ("0.2.2", "models/deepseek_v3/infra/parallelize.py:85"):
        ("tp > 1 and name == 'deepseek_v3'", "not (float8 and tensorwise)"),
    ("0.2.2", "models/llama3/model/args.py:61"): ("False", "True"),
    ("0.2.2", "distributed/pipeline_parallel.py:63"): ("pp > 1", "n_layers > 0"),
    ("0.2.2", "distributed/pipeline_parallel.py:86"):
        ("pp > 1 and layers_per_stage is not None", "virtual_stages % pp == 0"),
    ("0.2.2", "distributed/pipeline_parallel.py:97"):
        ("pp > 1 and layers_per_stage is not None and single", "virtual_stages // pp == 1"),
    ("0.2.2", "distributed/pipeline_parallel.py:105"):
        ("pp > 1 and layers_per_stage is not None and not single", "virtual_stages // pp >= 2"),
    ("0.2.2", "distributed/pipeline_parallel.py:270"):
        ("pp > 1 and not listed", "num_stages <= n_layers + first_less + last_less"),
    ("0.2.2", "distributed/pipeline_parallel.py:290"):
        ("pp > 1 and not listed", "first_less <= (n_layers + first_less + last_less) // num_stages"),
    ("0.2.2", "distributed/pipeline_parallel.py:294"):
        ("pp > 1 and not listed", "last_less <= (n_layers + first_less + last_less) // num_stages"),
    ("0.2.2", "distributed/pipeline_parallel.py:176"): ("False", "True"),  # no CSV is written
    ("0.2.2", "distributed/pipeline_parallel.py:222"): ("False", "True"),
    ("0.2.2", "distributed/activation_checkpoint.py:180"):
        ("mode == 'selective'", "ac_option == 'op' or ac_option.isdigit() and int(ac_option) > 0"),
    ("0.2.2", "distributed/expert_parallel.py:278"):
        ("ep > 1 and etp == 1 and tp > 1", "tokens_per_rank % tp == 0"),
    ("0.2.2", "distributed/context_parallel.py:70"): ("False", "True"),
    ("0.2.2", "distributed/context_parallel.py:197"): ("False", "True"),
    ("0.2.2", "distributed/context_parallel.py:208"): ("False", "True"),  # no balancer is written
    ("0.2.2", "components/quantization/float8.py:42"): ("float8", "sm >= 8.9"),
    ("0.2.2", "components/quantization/float8.py:66"):
        ("float8 and float8_recipe is not None", "not float8_gather"),
    ("0.2.2", "components/quantization/float8.py:185"): ("False", "True"),  # no grouped products
    ("0.2.2", "components/quantization/float8.py:193"): ("False", "True"),
    ("0.2.2", "components/quantization/float8.py:196"): ("False", "True"),
    ("0.2.2", "components/quantization/mx.py:42"): ("mx", "sm >= 10.0"),
    ("0.2.2", "components/quantization/mx.py:50"):
        ("mx", "not ('model' in compile.components and compile.enable and tp > 1)"),
    ("0.2.2", "components/quantization/mx.py:112"): ("False", "True"),
    ("0.2.2", "components/quantization/__init__.py:51"): ("True", "not (float8 and mx)"),
    ("0.2.2", "train.py:220"): ("False", "True"),  # all of its models have pipelines
    ("main", "config/configs.py:60"):
        ("True", "train_step_tokens == -1 or train_step_tokens > 0"),
    ("main", "config/configs.py:277"): ("False", "True"),
    ("main", "trainer.py:138"): ("False", "True"),
    ("main", "trainer.py:162"): ("False", "True"),
    ("main", "trainer.py:173"): ("not training.disable_cuda_graphs", "pp == 1"),
    ("main", "trainer.py:192"): ("not training.disable_cuda_graphs", "ep == 1"),
    ("main", "trainer.py:303"):
        ("True", "microbatch_tokens % ((tp if sequence_parallel else 1) * "
                 "(2 * cp if cp > 1 else 1)) == 0"),
    ("main", "trainer.py:420"):
        ("True", "train_step_tokens % (microbatch_tokens * (num_pp_microbatches if pp > 1 else 1) "
                 "* dp_replicate * dp_shard) == 0"),
    ("main", "trainer.py:433"): ("False", "True"),
    ("main", "models/common/decoder.py:169"): ("tied", "pp == 1"),
    ("main", "models/common/decoder.py:179"): ("False", "True"),  # the flavor's; noted
    ("main", "models/common/decoder.py:205"): ("experts > 0", "experts % ep == 0"),
    ("main", "models/common/decoder.py:221"): ("False", "True"),
    ("main", "distributed/context_parallel/api.py:153"): ("False", "True"),
    ("main", "distributed/context_parallel/api.py:159"): ("False", "True"),
    ("main", "distributed/pipeline_parallel.py:234"):
        ("pp > 1 and layers_per_stage is not None", "virtual_stages % pp == 0"),
    ("main", "distributed/pipeline_parallel.py:245"):
        ("pp > 1 and layers_per_stage is not None and single", "virtual_stages // pp == 1"),
    ("main", "distributed/pipeline_parallel.py:253"):
        ("pp > 1 and layers_per_stage is not None and not single", "virtual_stages // pp >= 2"),
    ("main", "distributed/pipeline_parallel.py:312"):
        ("pp > 1", "schedule in ('1F1B', 'GPipe', 'Interleaved1F1B', 'ZBVZeroBubble', 'DualPipeV', "
                   "'LoopedBFS', 'InterleavedZeroBubble')"),
    ("main", "distributed/pipeline_parallel.py:393"):
        ("pp > 1 and not listed", "num_stages <= n_layers + first_less + last_less"),
    ("main", "distributed/pipeline_parallel.py:413"):
        ("pp > 1 and not listed", "first_less <= (n_layers + first_less + last_less) // num_stages"),
    ("main", "distributed/pipeline_parallel.py:417"):
        ("pp > 1 and not listed", "last_less <= (n_layers + first_less + last_less) // num_stages"),
    ("main", "models/common/moe.py:254"): ("False", "True"),
    ("main", "models/common/moe.py:259"): ("False", "True"),
}
# Converters and dispatchers of main are named in the model's own configuration, which is not ours.
NOT_WRITTEN = ("components/quantization/", "models/common/token_dispatcher.py",
               "components/optimizer/")


def is_not_written(row):
    return row["version"] == "main" and row["at"].startswith(NOT_WRITTEN)


def names_of(version, s, place):
    """What the rules refer to, from all keys and from where the run is to take place."""
    def group(name):
        prefix = name + "."
        return Names({k[len(prefix):]: v for k, v in s.items() if k.startswith(prefix)})

    p = group("parallelism")
    pp, tp, cp = (p[k + "_degree"] for k in ("pipeline_parallel", "tensor_parallel",
                                              "context_parallel"))
    names = {
        "pp": pp, "tp": tp, "cp": cp, "ep": p.expert_parallel_degree,
        "etp": s.get("parallelism.expert_tensor_parallel_degree", 1),
        "dp_replicate": p.data_parallel_replicate_degree,
        "dp_shard": p.data_parallel_shard_degree, "world": place["world"], "sm": place["sm"],
        "min": min, "int": int, "training": group("training"), "parallelism": p,
        "compile": group("compile"), "optimizer": Names(
            early_step_in_backward=False, implementation="fused", name="AdamW"),
        "single": p.pipeline_parallel_schedule in SINGLE,
        "schedule": p.pipeline_parallel_schedule,
        "pipeline_parallel_microbatch_size":
            s.get("parallelism.pipeline_parallel_microbatch_size"),
        "fsdp_reshard_after_forward": p.fsdp_reshard_after_forward,
        "layers_per_stage": p.pipeline_parallel_layers_per_stage,
        "first_less": p.pipeline_parallel_first_stage_less_layers,
        "last_less": p.pipeline_parallel_last_stage_less_layers,
        "first_stage_less_layers": p.pipeline_parallel_first_stage_less_layers,
        "last_stage_less_layers": p.pipeline_parallel_last_stage_less_layers,
        "listed": p.module_fqns_per_model_part is not None,
        "n_layers": place["layers"], "num_stages": len(stages_of(s, place["layers"])),
        "tied": place["tied"], "experts": place["experts"], "n_heads": place["heads"],
        "n_kv_heads": place["kv_heads"], "__builtins__": {},
    }
    each = names["layers_per_stage"]
    names["virtual_stages"] = -(-(place["layers"] + names["first_less"] + names["last_less"])
                                // (each or 1))
    names["stages_per_rank"] = names["num_stages"] // pp
    if version == "0.2.2":
        converters = s["model.converters"]
        names.update({
            "mode": s["activation_checkpoint.mode"], "name": s["model.name"],
            "activation_checkpoint": group("activation_checkpoint"),
            "ac_option": s["activation_checkpoint.selective_ac_option"],
            "float8": any("float8" in c for c in converters),
            "mx": any(c.endswith("mx") for c in converters),
            "float8_recipe": s["quantize.linear.float8.recipe_name"],
            "tensorwise": s["quantize.linear.float8.recipe_name"] in (None, "tensorwise"),
            "float8_gather": s["quantize.linear.float8.enable_fsdp_float8_all_gather"],
            "local_batch_size": s["training.local_batch_size"],
            "global_batch_size": s["training.global_batch_size"],
            "tokens_per_rank": s["training.local_batch_size"] * s["training.seq_len"] // cp,
            "n_microbatches": s["training.local_batch_size"]
            // (names["pipeline_parallel_microbatch_size"] or 1),
        })
    else:
        names.update({
            "microbatch_tokens": s["training.num_tokens_per_microbatch_per_dp_rank"],
            "train_step_tokens": s["training.num_tokens_per_train_step"],
            "num_pp_microbatches": p.num_pp_microbatches,
            "sequence_parallel": p.enable_sequence_parallel,
            "context_parallel_load_balancer": p.context_parallel_load_balancer,
            "debug": Names(spmd_typechecking=False),
        })
    return names


def ask_rules(version, s, place):
    """Asks every rule of a version; returns how many were asked, and those not understood."""
    names = names_of(version, s, place)
    asked, unknown = 0, []
    ranks, experts = (names["dp_shard"] * names["cp"] * names["tp"], names["ep"] * names["etp"])
    require(ranks % experts == 0, f"the mesh of experts: {ranks} ranks for {experts}")
    for row in read_rules(version):
        if row["kind"] in ("warn", "derive") or is_not_written(row):
            continue
        when, must = WORDED.get((version, row["at"]), (None, row["must"]))
        conditions = [when] if when else row["when"]
        try:
            applies = all(eval(condition, names) for condition in conditions)
            held = not applies or eval(must, names)
        except (NameError, SyntaxError, KeyError, TypeError):
            unknown.append(row["at"])
            continue
        asked += 1
        if not held:
            raise Wrong(f"torchtitan {version} {row['at']}: {row['means']}")
    return asked, unknown


def read_rules(version):
    return [row for row in RULES if row["version"] == version]


RULES = read_lines("torchtitan_rules.jsonl")


# ---- the strategy, read back ----------------------------------------------------------------------


def strategy_of(version, s, layers):
    p = {k.split(".", 1)[1]: v for k, v in s.items() if k.startswith("parallelism.")}
    pp = p["pipeline_parallel_degree"]
    dp = p["data_parallel_replicate_degree"] * p["data_parallel_shard_degree"]
    sharded = p["data_parallel_shard_degree"] > 1 or p["context_parallel_degree"] > 1
    stages = stages_of(s, layers)
    single = p["pipeline_parallel_schedule"] in SINGLE
    strategy = {
        "tp": p["tensor_parallel_degree"], "cp": p["context_parallel_degree"], "pp": pp, "dp": dp,
        "vp": 1 if single or p["pipeline_parallel_schedule"] == "ZBVZeroBubble"
        else len(stages) // pp,
        "ep": p["expert_parallel_degree"],
        "etp": p.get("expert_tensor_parallel_degree", 1),
        "schedule": p["pipeline_parallel_schedule"] if pp > 1 else "1F1B",
        "zero": {"always": 3, "never": 2}[p["fsdp_reshard_after_forward"]] if sharded else None,
        "hsdp": p["data_parallel_replicate_degree"],
        "stages": [sum(m.startswith("layers.") for m in stage) for stage in stages],
        "modules": stages,
    }
    if version == "0.2.2":
        local = s["training.local_batch_size"]
        strategy.update({
            "micro-batch": p["pipeline_parallel_microbatch_size"] if pp > 1 else local,
            "global-batch": s["training.global_batch_size"], "seq": s["training.seq_len"],
            "tp-overlap": p["enable_async_tensor_parallel"],
            "recompute": {"none": "none", "full": "full", "selective": "selective operators"}[
                s["activation_checkpoint.mode"]],
            "precision": precision_of(s),
            "cp-kind": {"allgather": "all-gather", "alltoall": "ring"}[
                p["context_parallel_rotate_method"]],
        })
        require(pp == 1 or local == strategy["global-batch"] // dp, "batch of a rank")
    else:
        seq = s["training.max_context_length"]
        tokens = s["training.num_tokens_per_microbatch_per_dp_rank"]
        require(tokens % seq == 0 and s["training.num_tokens_per_train_step"] % seq == 0, "tokens")
        strategy.update({
            "micro-batch": tokens // seq,
            "global-batch": s["training.num_tokens_per_train_step"] // seq, "seq": seq,
            "tp-overlap": s["compile.enable_async_tensor_parallel"],
            "recompute": {None: "none", "FullAC": "full", "SelectiveAC": "selective operators"}[
                s["activation_checkpoint"]],
            "precision": {"bfloat16": "bf16", "float32": "fp32"}[
                s["training.mixed_precision_param"]],
        })
        if pp > 1:
            require(p["num_pp_microbatches"] * strategy["micro-batch"] * dp
                    == strategy["global-batch"], "microbatches")
    return strategy


def precision_of(s):
    converters = s["model.converters"]
    if any(c.endswith("mx") for c in converters):
        return "mxfp8"
    if any("float8" in c for c in converters):
        return "fp8"
    return {"bfloat16": "bf16", "float32": "fp32"}[s["training.mixed_precision_param"]]
