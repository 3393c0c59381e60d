# SPDX-License-Identifier: Apache-2.0
"""Reads the arguments of a Megatron-LM script as Megatron-LM does, and asks its rules.

Arguments and rules are those of commit d98e8a64 (2026-08-22), kept in data/; see data/README.md.
"""

import argparse
import json
import math
import pathlib
import re

DATA = pathlib.Path(__file__).resolve().parent / "data"


class Wrong(Exception):
    """A launch file that the framework would refuse, or that says something else."""


def read_lines(name):
    with open(DATA / name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


# ---- arguments --------------------------------------------------------------------------------


def read_expression(text):
    """moe_freq_type and its kin: an integer, or a list such as ([0]*3+[1]*58)."""
    if not re.fullmatch(r"[\[\]()0-9,*+ ]+", text):
        raise argparse.ArgumentTypeError(f"not a list of layers: {text}")
    return eval(text, {"__builtins__": {}})  # digits, brackets, + and * only


TYPES = {
    "int": int,
    "float": float,
    "tuple_type": read_expression,
    "moe_freq_type": read_expression,
    "la_freq_type": read_expression,
    "no_rope_freq_type": read_expression,
}

# The members of an enumeration that is a type of an argument.
CHOICES = {
    "AttnBackend": ["flash", "fused", "unfused", "local", "auto"],
    "_parse_cuda_graph_modules_arg": ["attn", "mlp", "moe", "moe_router", "moe_preprocess", "mamba"],
}


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Wrong(message)


def make_parser():
    parser = Parser(prog="pretrain_gpt.py", add_help=False, allow_abbrev=False)
    for row in read_lines("megatron_args.jsonl"):
        default = row.get("default")
        if isinstance(default, str) and re.fullmatch(r"[\d* ]+", default):
            default = eval(default, {"__builtins__": {}})  # such as 1024 * 1024
        elif isinstance(default, str) and re.search(r"[:.(]", default):  # code
            default = {"factory:list": [], "AttnBackend.auto": "auto"}.get(default)
        kind = row.get("type")
        options = {"dest": row["dest"], "default": default}
        action = row.get("action")
        if action in ("store_true", "store_false"):
            options["action"] = action
        elif action == "argparse.BooleanOptionalAction":
            options["action"] = argparse.BooleanOptionalAction
        else:
            choices = CHOICES.get(kind, row.get("choices"))
            if isinstance(choices, list):
                options["choices"] = choices
            if kind in TYPES:
                options["type"] = TYPES[kind]
            nargs = row.get("nargs")
            if nargs is not None:
                options["nargs"] = int(nargs) if str(nargs).isdigit() else nargs
        parser.add_argument(*row["flags"], **options)
    return parser


PARSER = make_parser()


def parse(words):
    """The namespace of the arguments; Wrong for one that does not exist or has a wrong value."""
    seen = set()
    for word in words:
        if word.startswith("--"):
            name = word.split("=")[0]
            if name in seen:
                raise Wrong(f"{name} is given twice")
            seen.add(name)
    return PARSER.parse_args(words)


# ---- the pattern of a hybrid -----------------------------------------------------------------


def read_pattern(text):
    """The blocks of every stage, and of every module of MTP, by the letters of hybrid models."""
    main, *modules = text.split("/")
    if not re.fullmatch(r"[MG*D+\-E|]+", main) or not all(re.fullmatch(r"[*+ED\-MG]+", m)
                                                         for m in modules):
        raise Wrong(f"hybrid pattern {text}")
    if "*" in main and ("D" in main or "+" in main):
        raise Wrong(f"hybrid pattern {text} has two kinds of attention")
    return main.split("|"), modules


# ---- the pipeline layout ------------------------------------------------------------------------


def read_layout(text):
    """Stages as strings of E t m L, by the grammar of PipelineParallelLayerLayout."""
    text = text.replace(",", "").replace(" ", "")
    text = re.sub(r"\(([^()]*)\)\*(\d+)", lambda m: m.group(1) * int(m.group(2)), text)
    text = re.sub(r"([EtmL|])\*(\d+)", lambda m: m.group(1) * int(m.group(2)), text)
    if not re.fullmatch(r"[EtmL|]+", text):
        raise Wrong(f"pipeline layout {text}")
    return text.split("|")


def check_layout(a):
    stages = read_layout(a.pipeline_model_parallel_layout)
    flat = "".join(stages)
    pp = a.pipeline_model_parallel_size
    mtp = a.mtp_num_layers or 0
    require(len(stages) % pp == 0, f"layout has {len(stages)} stages for pp {pp}")
    require(stages[0].startswith("E") and flat.count("E") == 1, "layout: one E, first")
    require(stages[-1].endswith("L") and flat.count("L") == 1, "layout: one L, last")
    require(flat.count("t") == a.num_layers, f"layout has {flat.count('t')} layers")
    require(flat.count("m") == mtp, f"layout has {flat.count('m')} MTP layers")
    holders = [i for i, stage in enumerate(stages) if "m" in stage]
    require(len(holders) <= 1, "layout: all m in one stage")
    for i in holders:
        require("t" not in "".join(stages)[flat.index("m"):], "layout: m before t")
        require(pp == 1 or i % pp != 0, "layout: m on rank 0")
        require(i // pp == len(stages) // pp - 1, "layout: m in an early virtual stage")


def require(condition, words):
    if not condition:
        raise Wrong(words)


# ---- what Megatron-LM derives --------------------------------------------------------------------


class Names(dict):
    """A dictionary whose entries are attributes too."""

    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class Case:
    """Arguments with what validate_args and core_transformer_config_from_args make of them."""

    def __init__(self, args, world, environment, arch):
        self.world, self.environment, self.arch = world, environment, arch
        self.args = a = Names(vars(args))
        pp = a.pipeline_model_parallel_size
        a.world_size = world
        a.rank = 0
        self.total = a.tensor_model_parallel_size * pp * a.context_parallel_size
        a.data_parallel_size = world // self.total
        a.transformer_pipeline_model_parallel_size = pp
        a.gtp_weight_remat_size = a.expert_gtp_weight_remat_size = 1
        if a.global_batch_size is None:
            a.global_batch_size = a.micro_batch_size * a.data_parallel_size
        self.explicit_batch = args.global_batch_size is not None
        a.eval_global_batch_size = a.eval_global_batch_size or a.global_batch_size
        a.eval_micro_batch_size = a.eval_micro_batch_size or a.micro_batch_size
        if a.expert_tensor_parallel_size is None:
            a.expert_tensor_parallel_size = a.tensor_model_parallel_size
        self.stages = None
        self.segments, self.modules = (None, []) if a.hybrid_layer_pattern is None else read_pattern(
            a.hybrid_layer_pattern)
        if self.segments:
            blocks = sum(map(len, self.segments))
            require(a.num_layers in (None, blocks), f"the pattern has {blocks} layers")
            a.num_layers = blocks
            require(len(self.modules) == (a.mtp_num_layers or 0), "modules of the pattern")
        a.virtual_pipeline_model_parallel_size = self.virtual_stages()
        if a.recompute_activations:
            a.recompute_granularity = "selective"
        a.recompute_modules = a.recompute_modules or ["core_attn"]
        a.params_dtype = "torch.float16" if a.fp16 else "torch.bfloat16" if a.bf16 else "torch.float32"
        if a.bf16 and not a.grad_reduce_in_bf16:
            a.accumulate_allreduce_grads_in_fp32 = True
        a.main_grads_dtype = "torch.float32" if a.main_grads_dtype == "fp32" else "torch.bfloat16"
        a.use_dist_ckpt = True
        a.hybrid_override_pattern = a.get("hybrid_override_pattern")
        if a.use_megatron_fsdp and a.megatron_fsdp_version == 1:
            a.use_distributed_optimizer = True
        a.batch_size = a.warmup = a.model_parallel_size = None
        if a.tensor_model_parallel_size == 1:
            a.sequence_parallel = False
        a.rope_type = a.rope_type or ("yarn" if a.multi_latent_attention else "rope")
        if a.use_rotary_position_embeddings:
            a.position_embedding_type = "rope"
        self.config = self.transformer_config()

    def virtual_stages(self):
        a = self.args
        pp = a.pipeline_model_parallel_size
        if self.segments:
            return len(self.segments) // pp if len(self.segments) > pp else None
        if a.pipeline_model_parallel_layout is not None:
            self.stages = len(read_layout(a.pipeline_model_parallel_layout))
            return self.stages // pp if self.stages > pp else None
        if a.num_virtual_stages_per_pipeline_rank is not None:
            return a.num_virtual_stages_per_pipeline_rank
        if a.num_layers_per_virtual_pipeline_stage is not None:
            return self.units() // pp // a.num_layers_per_virtual_pipeline_stage
        return None

    def units(self):
        """Layers, and the ends of the model where they count as such."""
        a = self.args
        return ((a.num_layers or 0) + bool(a.account_for_embedding_in_pipeline_split)
                + bool(a.account_for_loss_in_pipeline_split))

    def transformer_config(self):
        a = self.args
        c = Names(a)
        c.num_moe_experts = a.num_experts
        c.gated_linear_unit = a.swiglu or a.quick_geglu
        c.activation_func = ("silu" if a.swiglu else "quick_gelu" if a.quick_geglu
                             else "squared_relu" if a.squared_relu else "gelu")
        c.bias_activation_fusion = (a.bias_swiglu_fusion if a.swiglu
                                    else a.bias_gelu_fusion and a.add_bias_linear and not a.quick_geglu)
        c.num_query_groups = a.num_query_groups if a.group_query_attention else a.num_attention_heads
        c.num_layers_in_first_pipeline_stage = a.decoder_first_pipeline_num_layers
        c.num_layers_in_last_pipeline_stage = a.decoder_last_pipeline_num_layers
        c.pipeline_dtype = a.params_dtype
        c.fp8_param, c.fp4_param = a.fp8_param_gather, a.fp4_param_gather
        c.cpu_offloading = a.cpu_offloading_num_layers > 0
        c.moe_shared_expert_overlap = a.moe_shared_expert_overlap
        c.batch_p2p_comm = not a.overlap_p2p_comm
        c.variable_seq_lengths = False
        if len(a.cp_comm_type) == 1:
            c.cp_comm_type = a.cp_comm_type[0]
        for name in ("moe_router_load_balancing_type", "moe_aux_loss_coeff"):
            if isinstance(c[name], list) and len(c[name]) == 1:
                c[name] = c[name][0]
        c.fp8_quantizer_factory = c.fp4_quantizer_factory = None
        return c


# ---- rules ---------------------------------------------------------------------------------------


def environment_of(case):
    return Names(environ=case.environment, getenv=case.environment.get)


def names_of(case):
    """What the expressions of the rules refer to."""
    always = lambda *_: True
    a, c = case.args, case.config
    pp, vpp = a.pipeline_model_parallel_size, a.virtual_pipeline_model_parallel_size
    first, last = a.decoder_first_pipeline_num_layers, a.decoder_last_pipeline_num_layers
    middle = pp - (first is not None) - (last is not None)
    rest = (a.num_layers or 0) - (first or 0) - (last or 0)
    own = first is not None or last is not None
    per_rank = (rest if own else case.units()) // max(middle, 1)
    torch = Names(float32="torch.float32", bfloat16="torch.bfloat16", float16="torch.float16",
                  distributed=Names(is_initialized=always), is_grad_enabled=always)
    etp = a.expert_tensor_parallel_size
    names = {
        "args": a, "self": c, "os": environment_of(case), "torch": torch,
        "getattr": lambda o, k, d=None: o.get(k, d), "isinstance": isinstance, "len": len,
        "list": list, "int": int, "str": str, "bool": bool, "any": any, "all": all, "set": set,
        "prod": math.prod, "math": math, "np": Names(prod=math.prod),
        "is_torch_min_version": always, "is_te_min_version": always,
        "is_flashinfer_min_version": always, "get_device_arch_version": lambda: case.arch,
        "dc": (case.arch, 0), "HAVE_PACKAGING": True,
        "AttnBackend": Names({n: n for n in CHOICES["AttnBackend"]}),
        "Fp8Recipe": Names({n: n for n in ("tensorwise", "delayed", "mxfp8", "blockwise", "custom")}),
        "Fp4Recipe": Names(nvfp4="nvfp4", custom="custom"),
        "CudaGraphModule": Names({n: n for n in CHOICES["_parse_cuda_graph_modules_arg"]}),
        "F": Names(gelu="gelu", silu="silu", relu="relu"), "quick_gelu": "quick_gelu",
        "is_gated_delta_net_variant": lambda name: name in ("gdn", "gdn2", "gated_delta_net"),
        "fused_permute": 1, "fused_permute_with_probs": 1, "fused_sort_chunks_by_index": 1,
        "fused_sort_chunks_by_index_with_probs": 1, "fused_unpermute": 1,
        "fused_apply_rotary_pos_emb": 1, "fused_apply_rotary_pos_emb_thd": 1,
        # locals of the functions that hold the rules
        "total_model_size": case.total, "num_stages": case.stages,
        "has_pipes": bool(case.segments) and len(case.segments) > 1,
        "hybrid_pipeline_segments": len(case.segments or []), "tp_cp_size":
        a.tensor_model_parallel_size * a.context_parallel_size,
        "cp_comm_types": c.cp_comm_type if isinstance(c.cp_comm_type, list) else [c.cp_comm_type],
        "num_layers": rest if own else case.units(), "pipeline_parallel_size": middle,
        "num_layers_per_pipeline_stage": per_rank, "num_layers_per_pipeline_rank": per_rank,
        "num_layers_per_middle_pipeline_rank": per_rank, "detected_vpp_size": vpp,
        "is_global_batch_size_explicitly_specified": case.explicit_batch,
        "use_data_path": False, "use_per_split_data_path": False, "is_mixed_model": False,
        "supported_position_types": ["rope", "none", "yarn"],
        "any_conflict": any((own, a.account_for_embedding_in_pipeline_split,
                             a.account_for_loss_in_pipeline_split)),
        "invalid_modules": set(a.recompute_modules) - {
            "core_attn", "moe_act", "layernorm", "mla_up_proj", "mlp", "moe", "shared_experts",
            "gdn_norm_out", "mhc"},
        "full_cudagraph": c.cuda_graph_impl == "full_iteration",
        "load_balancing_type": c.moe_router_load_balancing_type,
        # parameters of initialize_model_parallel
        "use_sharp": a.use_sharp, "sharp_enabled_group": None, "world_size": case.world,
        "model_size": case.total, "order": "tp-cp-ep-pp-dp" if a.use_tp_pp_dp_mapping
        else "tp-cp-ep-dp-pp", "pipeline_model_parallel_size": pp,
        "virtual_pipeline_model_parallel_size": vpp,
        "context_parallel_size": a.context_parallel_size,
        "expert_tensor_model_pipeline_parallel_size": etp * a.expert_model_parallel_size * pp,
        "expert_data_parallel_size": case.world // (etp * a.expert_model_parallel_size * pp),
        "data_parallel_size": a.data_parallel_size, "gtp_remat_size": 1, "expert_gtp_remat_size": 1,
        "num_distributed_optimizer_instances": a.num_distributed_optimizer_instances,
        "hybrid_context_parallel": a.hybrid_context_parallel,
        "hierarchical_context_parallel_sizes": a.hierarchical_context_parallel_sizes,
        "pipeline_model_parallel_comm_backend": a.pipeline_model_parallel_comm_backend,
        "__builtins__": {},
    }
    return names


LATENT_FROM = 3300  # MLATransformerConfig.__post_init__ of transformer_config.py

RULES = [
    (row, [compile(when, row["at"], "eval") for when in row["when"]],
     compile(row["must"], row["at"], "eval") if "must" in row else None)
    for row in read_lines("megatron_rules.jsonl")
]


def ask_rules(case):
    """Asks every rule; returns where rules stand that refer to what is not known here."""
    names = names_of(case)
    unknown = []
    for row, when, must in RULES:
        file, line = row["at"].rsplit(":", 1)
        if file.endswith("/transformer_config.py") and int(line) > LATENT_FROM and not (
                case.args.multi_latent_attention):
            continue
        try:
            if not all(eval(condition, names) for condition in when):
                continue
            held = must is not None and eval(must, names)
        except (NameError, KeyError, AttributeError, TypeError):
            unknown.append(row["at"])
            continue
        if not held:
            raise Wrong(f"{row['at']}: {' and '.join(row['when'])}: {row.get('must', 'refused')}")
    return unknown


def check_more(case):
    """What Megatron-LM checks elsewhere (num_microbatches_calculator.py, schedules.py:1155-1175,
    pipeline_parallel_layer_layout.py, the split of sequences and heads)."""
    a, c = case.args, case.config
    tp, cp, pp = a.tensor_model_parallel_size, a.context_parallel_size, a.pipeline_model_parallel_size
    each = a.micro_batch_size * a.data_parallel_size
    require(each > 0 and a.global_batch_size % each == 0,
            f"batch {a.global_batch_size} over {a.micro_batch_size} x {a.data_parallel_size}")
    if a.pipeline_model_parallel_layout is not None:
        check_layout(a)
    if a.virtual_pipeline_model_parallel_size is not None:
        batches = a.global_batch_size // each
        group = a.microbatch_group_size_per_vp_stage or pp
        require(pp <= group <= batches and (batches % group == 0 or batches % group >= pp),
                f"{batches} microbatches in groups of {group} over pp {pp}")
    if a.sequence_parallel:
        require(a.seq_length % (tp * cp) == 0, "sequence over tp x cp")
    if cp > 1 and "a2a" in a.cp_comm_type:
        require(a.num_attention_heads // tp % cp == 0, "heads over tp x cp")
    for width in (a.ffn_hidden_size, a.moe_shared_expert_intermediate_size):
        require((width or tp) % tp == 0, f"width {width} over tp {tp}")
    if a.num_experts:
        require(c.moe_ffn_hidden_size % a.expert_tensor_parallel_size == 0, "experts over etp")
    check_mixers(case)
    for name in ("moe_layer_freq", "window_attn_skip_freq", "linear_attention_freq"):
        if isinstance(a[name], list):
            require(len(a[name]) == a.num_layers, f"{name} has {len(a[name])} layers")


def check_mixers(case):
    """Heads and groups of Mamba-2 over tp and cp (mamba_mixer.py, mamba_context_parallel.py)."""
    a = case.args
    tp, cp, low = a.tensor_model_parallel_size, a.context_parallel_size, a.fp8 is not None
    if case.segments is None or "M" not in "".join(case.segments):
        return
    heads = a.mamba_num_heads or 2 * a.hidden_size // a.mamba_head_dim
    groups = a.mamba_num_groups
    require(heads % tp == 0 and groups % tp == 0 and heads % groups == 0, "heads of Mamba over tp")
    require(heads // tp % cp == 0, "heads of Mamba over cp")
    require(groups // tp % cp == 0 or cp % (groups // tp) == 0, "groups of Mamba over cp")
    made = (2 * heads * a.mamba_head_dim + 2 * groups * a.mamba_state_dim + heads) // tp
    require(not low or made % 16 == 0, "input projection of Mamba in fp8")


def mixers_of(case):
    """A letter for the mixer of every layer: M, G, *, +, D; none where it is a network alone."""
    a = case.args
    if case.segments:
        return "".join(case.segments)
    attention = ("D" if a.experimental_attention_variant == "dsa"
                 else "+" if a.multi_latent_attention else "*")
    freq = a.linear_attention_freq
    if freq is None or a.experimental_attention_variant not in ("gdn", "gated_delta_net"):
        return attention * a.num_layers
    if isinstance(freq, int):
        freq = [int((i + 1) % freq != 0) for i in range(a.num_layers)]
    return "".join("G" if linear else attention for linear in freq)


# ---- the strategy and the model, read back --------------------------------------------------------


def stages_of(case):
    """Layers of every stage in the order of the model."""
    a = case.args
    pp, vpp = a.pipeline_model_parallel_size, a.virtual_pipeline_model_parallel_size or 1
    if case.segments and len(case.segments) > 1:
        return [len(stage) for stage in case.segments]
    if a.pipeline_model_parallel_layout is not None:
        return [stage.count("t") for stage in read_layout(a.pipeline_model_parallel_layout)]
    first, last = a.decoder_first_pipeline_num_layers, a.decoder_last_pipeline_num_layers
    if first is not None or last is not None:
        middle = pp - (first is not None) - (last is not None)
        each = (a.num_layers - (first or 0) - (last or 0)) // middle
        ranks = ([first] if first is not None else []) + [each] * middle + (
            [last] if last is not None else [])
        return [layers // vpp for _ in range(vpp) for layers in ranks]
    stages = [case.units() // (pp * vpp)] * (pp * vpp)
    stages[0] -= bool(a.account_for_embedding_in_pipeline_split)
    stages[-1] -= bool(a.account_for_loss_in_pipeline_split)
    return stages


def sharding_of(a):
    if a.use_megatron_fsdp:
        return {"optim": 1, "optim_grads": 2, "optim_grads_params": 3}[
            a.data_parallel_sharding_strategy]
    return int(a.use_distributed_optimizer)


def recompute_of(a):
    if a.recompute_granularity == "selective":
        return "selective " + " ".join(sorted(a.recompute_modules))
    if a.recompute_granularity == "full":
        return "full" + (f" {a.recompute_num_layers}" if a.recompute_method == "block" else "")
    return "none"


def precision_of(a):
    if (a.fp8 or a.fp4) and not a.bf16:
        return "low precision without bf16"
    if a.fp8:
        return "fp8 " + a.fp8_recipe + (" weights" if a.fp8_param_gather else "")
    if a.fp4:
        return "fp4" + (" weights" if a.fp4_param_gather else "")
    return "fp16" if a.fp16 else "bf16" if a.bf16 else "fp32"


def strategy_of(case):
    a = case.args
    kinds = {"p2p": "ring", "allgather": "all-gather", "a2a": "ulysses", "a2a+p2p": "both"}
    moe = a.num_experts is not None
    overlaps = {"tp": a.tp_comm_overlap, "grad": a.overlap_grad_reduce,
                "param": a.overlap_param_gather, "moe": a.overlap_moe_expert_parallel_comm}
    return {
        "tp": a.tensor_model_parallel_size,
        "sp": a.sequence_parallel,
        "cp": a.context_parallel_size,
        "cp-kind": kinds[a.cp_comm_type[0]] if a.context_parallel_size > 1 else None,
        "pp": a.pipeline_model_parallel_size,
        "vp": a.virtual_pipeline_model_parallel_size or 1,
        "dp": a.data_parallel_size,
        "ep": a.expert_model_parallel_size,
        "etp": a.expert_tensor_parallel_size if moe else 1,
        "micro-batch": a.micro_batch_size,
        "global-batch": a.global_batch_size,
        "seq": a.seq_length,
        "zero": sharding_of(a),
        "hsdp": a.num_distributed_optimizer_instances,
        "order": "tp-cp-pp-dp" if a.use_tp_pp_dp_mapping else "tp-cp-dp-pp",
        "recompute": recompute_of(a),
        "precision": precision_of(a),
        "overlap": sorted(name for name, on in overlaps.items() if on),
        # those of fp16 are summed in 16 bits, as wide as bf16
        "gradients": "bf16" if a.grad_reduce_in_bf16 or (a.fp16 and not a.accumulate_allreduce_grads_in_fp32)
        else "fp32",
        "moments": a.exp_avg_dtype if a.use_precision_aware_optimizer else "fp32",
        "offload": bool(a.optimizer_cpu_offload),
        "graphs": a.cuda_graph_impl,
        "capacity-factor": a.moe_expert_capacity_factor,
        "attention": "unfused" if a.attention_backend == "unfused" else "flash",
        "stages": stages_of(case),
    }


def model_of(case):
    a, c = case.args, case.config
    moe, latent = a.num_experts is not None, a.multi_latent_attention
    layers = [int(letter == "E") for letter in "".join(case.segments)] if case.segments else (
        a.moe_layer_freq) if isinstance(a.moe_layer_freq, list) else [
        int(i % a.moe_layer_freq == 0) for i in range(a.num_layers)]
    windows = a.window_attn_skip_freq
    if a.window_size is not None and windows is None:
        windows = [1] * a.num_layers
    model = {
        "hidden": a.hidden_size, "layers": a.num_layers, "vocab": a.vocab_size,
        "heads": a.num_attention_heads, "kv_heads": a.num_attention_heads if latent else c.num_query_groups,
        "head_size": None if latent else a.kv_channels,
        "tied": not a.untie_embeddings_and_output_weights,
        "moe": layers if moe else [0] * a.num_layers,
        "ffn": None if moe and all(layers) else a.ffn_hidden_size,
        "gated": c.gated_linear_unit, "clamped": a.quick_geglu,
        "norm": a.normalization, "norm_epsilon": a.layernorm_epsilon,
        "bias_qkv": a.add_bias_linear or a.add_qkv_bias, "bias_out": a.add_bias_linear,
        "qk_norm": a.qk_layernorm, "sinks": a.softmax_type == "learnable",
        "window": [a.window_size[0] + 1 if w else 0 for w in windows] if windows else
        [0] * a.num_layers,
        "positions": a.position_embedding_type, "mtp_layers": a.mtp_num_layers or 0,
        "rope_base": None if a.position_embedding_type == "learned_absolute" else a.rotary_base,
        "dropout": (a.hidden_dropout, a.attention_dropout),
        "mixers": mixers_of(case), "modules": case.modules, "latent_experts": a.moe_latent_size,
        "mamba": None if "M" not in mixers_of(case) else (
            a.mamba_num_heads, a.mamba_head_dim, a.mamba_num_groups, a.mamba_state_dim),
        "delta": None if "G" not in mixers_of(case) else (
            a.linear_num_value_heads, a.linear_num_key_heads, a.linear_key_head_dim,
            a.linear_value_head_dim, a.linear_conv_kernel_dim),
        "index": None if a.experimental_attention_variant != "dsa" else (
            a.dsa_indexer_n_heads, a.dsa_indexer_head_dim, a.dsa_indexer_topk),
        "output_gate": a.attention_output_gate,
    }
    if latent:
        model["latent"] = (a.q_lora_rank, a.kv_lora_rank, a.qk_head_dim, a.qk_pos_emb_head_dim,
                           a.v_head_dim)
    if moe:
        model["experts"] = {
            "experts": a.num_experts, "top_k": a.moe_router_topk, "width": a.moe_ffn_hidden_size,
            "shared": a.moe_shared_expert_intermediate_size or 0,
            "shared_gate": a.moe_shared_expert_gate,
            "groups": (a.moe_router_num_groups, a.moe_router_group_topk),
            "score": a.moe_router_score_function, "bias": a.moe_router_enable_expert_bias,
            "raw": a.moe_router_pre_softmax, "scale": a.moe_router_topk_scaling_factor or 1,
        }
    return model
