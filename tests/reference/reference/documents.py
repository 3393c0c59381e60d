# SPDX-License-Identifier: Apache-2.0
"""docs/method/documents.md: models, systems and stacks from their JSON documents."""

import copy
import csv
import json
import os
from types import SimpleNamespace as Record

US, MB, MIB, GB, GIB, TERA = 1e-6, 1e6, 2.0**20, 1e9, 2.0**30, 1e12
DATA = os.path.join(os.path.dirname(__file__), "..", "..", "..", "data")


def load(folder, name):
    """A document of the catalogue."""
    with open(os.path.join(DATA, folder, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


# ---- models ---------------------------------------------------------------------------------

LAYER_DEFAULTS = {
    "kv_heads": 0, "head_size": 0, "value_size": 0, "window": 0, "chunked": False,
    "qk_norm": "none", "bias_qkv": False, "bias_out": False, "sinks": False,
    "output_gate": False, "head_gate": False, "capped_scores": False, "kv_source": "own", "relative_positions": False,
    "q_rank": 0, "kv_rank": 0, "nope_size": 0, "rope_size": 0,
    "index_heads": 0, "index_size": 0, "index_keys": 0, "index_block": 0, "index_shared": False,
    "compress_ratio": 0, "out_rank": 0, "out_groups": 0,
    "mixer": "", "feed_forward": "", "heads": 0,
    "state_heads": 0, "state_key_heads": 0, "state_key_size": 0, "state_value_size": 0,
    "conv_width": 0, "conv_bias": False, "chunk": 0, "full_gate": False, "full_decay": False,
    "step_rank": 0, "inner_norms": False, "bare_output": False,
    "borrowed_block": False, "block_adapter_rank": 0, "attention_adapters": False,
    "ffn": 0, "gated": True, "clamped": False, "ffn_bias": False,
    "activation_scalars": 0,
    "experts": 0, "top_k": 0, "expert_ffn": 0, "expert_latent": 0, "shared_experts": 0, "shared_ffn": 0,
    "shared_gate": False, "router_bias": False, "expert_bias": False,
    "expert_groups": 0, "route_groups": 0, "router_scales": False, "zero_experts": 0,
    "shortcut": False,
}
EXPERT_FIELDS = ("experts", "top_k", "expert_ffn", "expert_latent", "shared_experts", "shared_ffn", "shared_gate",
                 "router_bias", "expert_bias", "expert_groups", "route_groups", "router_scales", "zero_experts", "shortcut")
MODEL_DEFAULTS = {
    "norm": "rms", "norms_per_layer": 2, "final_norm": True, "embedding_norm": False,
    "embedding_width": 0, "layer_embedding": 0, "layer_scalar": False,
    "head_bias": False, "alibi": False, "learned_positions": 0, "parallel_block": False, "mtp_layers": 0,
    "streams": 0, "wide_gain": False, "capped_logits": False,
}


def complete_layer(fields, hidden):
    """A layer with the defaults that follow from other fields, and its head sizes."""
    layer = Record(**{**LAYER_DEFAULTS, **fields})
    named = layer.feed_forward
    softmax = "latent" if layer.kv_rank > 0 else "grouped"
    softmax = "compressed" if layer.out_rank > 0 else softmax
    layer.mixer = layer.mixer or ("sparse_" if layer.out_rank == 0 and layer.index_keys > 0 else "") + softmax
    layer.sparse = layer.mixer.startswith("sparse_")
    layer.feed_forward = named or ("experts" if layer.experts > 0 else "dense")
    if named in ("dense", "none"):
        layer.experts = layer.top_k = 0
    if named in ("experts", "none") and layer.mixer != "shared":
        layer.ffn, layer.ffn_bias = 0, False
    layer.shared_ffn = layer.shared_ffn or layer.expert_ffn
    layer.latent = layer.mixer in ("latent", "sparse_latent")
    if layer.mixer in ("parallel", "shared"):
        layer.state_key_heads = layer.state_key_heads or layer.state_heads
    elif layer.mixer not in ("latent", "grouped", "sparse_latent", "sparse_grouped",
                             "compressed"):
        layer.heads = layer.kv_heads = layer.window = layer.d_qk = layer.d_v = 0
        layer.bias_out = layer.bias_qkv = False
        if layer.mixer == "convolution":
            layer.state_heads = layer.state_heads or hidden
        if layer.mixer == "mamba1":
            layer.state_heads = layer.state_heads or 2 * hidden
            layer.step_rank = layer.step_rank or -(-hidden // 16)
            layer.state_key_heads = layer.state_value_size = 1
        layer.state_key_heads = layer.state_key_heads or layer.state_heads
        layer.state_key_size = layer.state_key_size or layer.state_value_size
        return layer
    if layer.mixer == "shared":
        layer.bias_out = layer.bias_qkv = layer.ffn_bias = False
    layer.kv_heads = 1 if layer.mixer == "compressed" else layer.kv_heads or layer.heads
    if layer.latent:
        layer.d_qk = layer.nope_size + layer.rope_size
    else:
        width = 2 * hidden if layer.mixer == "shared" else hidden
        layer.head_size = layer.head_size or width // layer.heads
        layer.d_qk = layer.head_size
    layer.d_v = layer.value_size or layer.head_size
    layer.bias_out = layer.bias_out and layer.mixer != "compressed"
    return layer


def layers_by_rules(fields, document):
    pattern = document.get("window_pattern", "w")
    layers = []
    for i in range(document["layers"]):
        own = dict(fields)
        has_experts = (own.get("experts", 0) > 0 and i >= document.get("dense_first", 0)
                       and (i + 1) % document.get("moe_every", 1) == 0)
        if has_experts:
            own["ffn"] = 0
        else:
            own = {key: own[key] for key in own if key not in EXPERT_FIELDS}
        if pattern[i % len(pattern)] == "f":
            own["window"], own["chunked"] = 0, False
        layers.append(complete_layer(own, document["hidden"]))
    return layers


def model_of(document):
    """A model: its own fields, and `layers`, a list of layers."""
    fields = {key: document[key] for key in document if key in LAYER_DEFAULTS}
    model = Record(**{key: document.get(key, usual) for key, usual in MODEL_DEFAULTS.items()})
    model.hidden, model.vocab = document["hidden"], document["vocab"]
    model.seq, model.tied = document["seq"], document["tied"]
    if "types" in document:
        types = [complete_layer({**fields, **own}, model.hidden) for own in document["types"]]
        pattern = document["pattern"]
        model.layers = [types[pattern[i % len(pattern)]] for i in range(document["layers"])]
        model.module = [types[i] for i in document.get("mtp_pattern", ())] or model.layers[-1:]
    else:
        model.layers = layers_by_rules(fields, document)
        model.module = model.layers[-1:]
    return model


# ---- accelerators and systems ---------------------------------------------------------------

FORMATS = ("fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8")


def engine_of(fields):
    return Record(peak=fields["tflops"] * TERA, efficiency=fields.get("efficiency", 0.7),
                  feed=fields.get("feed", 2), prologue=fields.get("prologue", 100),
                  wave_share=fields.get("wave_share", 0.3))


def engines_of(group):
    engines = {name: engine_of(group[name]) for name in FORMATS if name in group}
    if "fp16" not in engines and "bf16" in engines:
        engines["fp16"] = engines["bf16"]
    elif "bf16" not in engines and "fp16" in engines:
        engines["bf16"] = engines["fp16"]
    return engines


SPARSE_DEFAULTS = {"core_share": 0.6, "head_tile": 64, "index_share": 0.35, "select_share": 0.3}


def accelerator_of(document):
    compute, attention = document["compute"], document["attention"]
    memory, host = document["memory"], document["host"]
    return Record(
        generation=document.get("generation", "none"),
        cores=compute["cores"],
        kernel=compute.get("kernel_us", 0) * US,
        launch=compute.get("launch_us", 0) * US,
        split=compute.get("split_us", 1) * US,
        gemm_droop=compute.get("droop_us", 1e3) * US,
        attention_droop=attention.get("droop_us", 1e4) * US,
        power=compute.get("power_W", 0),
        vector_overlap=compute.get("vector_overlap", 0),
        burst=compute.get("burst", 1),
        sustained=compute.get("sustained", 1),
        fp8_one_layout=compute.get("fp8_one_layout", False),
        gemm=engines_of(document["gemm"]),
        attention_forward=attention["forward_tflops"] * TERA,
        attention_backward=attention["backward_tflops"] * TERA,
        ramp=attention.get("ramp_tokens", 0),
        softmax=attention.get("softmax_elements", 0),
        flash={library: Record(forward=rates.get("forward_tflops", 0) * TERA,
                               backward=rates.get("backward_tflops", 0) * TERA,
                               prologue=rates.get("prologue_keys", 0),
                               softmax=rates.get("softmax_elements", 0))
               for library, rates in document.get("flash", {}).items()},
        sparse={**SPARSE_DEFAULTS, **{key: value for key, value in document.get("sparse", {}).items()
                                      if key in SPARSE_DEFAULTS}},
        delta={rule: Record(rate=rates.get("tflops", 0) * TERA, token=rates.get("token_ns", 0) * 1e-9,
                            launch=rates.get("launch_us", 0) * US)
               for rule, rates in document.get("delta", {}).items()},
        usable=memory["usable_GiB"] * GIB,
        memory_bandwidth=memory["bandwidth_GBps"] * GB,
        bandwidth=memory["bandwidth_GBps"] * GB * memory["efficiency"],
        host_bandwidth=host["bandwidth_GBps"] * GB * host["efficiency"],
        host_capacity=host.get("capacity_GiB", 0) * GIB,
        nvme_bandwidth=(host.get("nvme_GBps", 0) or 2) * GB,
        measured={},
    )


OPEN_SIZE = 2**20


def tier_of(fields, below):
    size = fields.get("size", 0)
    if size == 0:
        size = OPEN_SIZE // below * below if below < OPEN_SIZE else 2 * below
    return Record(
        kind=fields["kind"], size=size,
        bandwidth=fields["bandwidth_GBps"] * GB, planes=fields.get("planes", 1),
        efficiency=fields["efficiency"] * fields.get("flow_share", 1),
        latency=fields.get("latency_us", 0) * US,
        step_latency=fields.get("step_latency_us", 0) * US,
        chunk_wait=fields.get("chunk_us", 3.4) * US,
        message_start=fields.get("message_us", 1) * US,
        half=fields.get("half_MB", 0) * MB,
        exchange_share=fields.get("exchange_share", 1), serial=fields.get("serial", 0.5),
        in_network_reduce=fields.get("in_network_reduce", False),
        reduce_share=fields.get("reduce_share", 0),
        axes=fields.get("axes", 0), ring=fields.get("ring", 0),
        sides=[Record(bandwidth=side["bandwidth_GBps"] * GB * side["efficiency"],
                      latency=side.get("latency_us", 0) * US)
               for side in fields.get("side_links", []) if side.get("used", True)],
        fits={fit["op"]: Record(step=fit["step_us"] * US, chunk_step=fit["chunk_step_us"] * US,
                                share=fit["share"], inject_bytes=fit.get("inject_bytes", 0)) for fit in fields.get("fits", [])})


def tiers_of(documents, node):
    """The tiers of a list; `node`: the documents of the accelerator's own tiers."""
    tiers, below = [], 1
    for fields in documents:
        if "as" in fields:
            same = next(own for own in node if own["name"] == fields["as"])
            fields = {**same, **fields}
        tiers.append(tier_of(fields, below))
        below = tiers[-1].size
    return tiers


def limit_power(accelerator, watts):
    """The accelerator under another limit of board power."""
    power = accelerator.power
    if not 0 < watts < power:
        return
    factor = (max(watts - 0.28 * power, 0.02 * power) / (0.72 * power)) ** (1 / 3)
    for engine in {id(e): e for e in accelerator.gemm.values()}.values():
        engine.efficiency *= factor
    accelerator.attention_forward *= factor
    accelerator.attention_backward *= factor
    for rates in accelerator.flash.values():
        rates.forward *= factor
        rates.backward *= factor
    for rates in accelerator.delta.values():
        rates.rate *= factor
    accelerator.sparse = dict(accelerator.sparse)
    accelerator.sparse["core_share"] *= factor
    accelerator.sparse["index_share"] *= factor
    accelerator.power = watts


def read_table(table):
    """The rows of a measured table, as dictionaries of texts."""
    name, where = (table, {}) if isinstance(table, str) else (table["file"], table.get("where", {}))
    path = name if name.endswith(".csv") else os.path.join(DATA, "measured", name + ".csv")
    with open(path, encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file)
                if all(row.get(column) == text for column, text in where.items())]


def system_of(document):
    """A system: its accelerator and tiers, innermost first."""
    from reference import measured  # tables are compared with the model

    def add_tables(system, tables):
        for kind in ("gemm", "attention", "collective"):
            if kind in tables:
                system.accelerator.measured[kind] = measured.tables_of(
                    kind, read_table(tables[kind]), system)

    own = document.get("accelerator", document)
    if isinstance(own, str):
        own = load("accelerators", own)
    system = Record(accelerator=accelerator_of(own), tiers=tiers_of(own["tiers"], []))
    add_tables(system, own.get("measured", {}))
    if "accelerator" not in document:
        return system
    accelerator = system.accelerator = copy.deepcopy(system.accelerator)
    if "tiers" in document:
        system.tiers = tiers_of(document["tiers"], own["tiers"])
    if "power_W" in document:
        limit_power(accelerator, document["power_W"])
    if "host_capacity_GiB" in document:
        accelerator.host_capacity = document["host_capacity_GiB"] * GIB
    if "launch_us" in document:
        accelerator.launch = document["launch_us"] * US
    add_tables(system, document.get("measured", {}))
    return system


def load_system(name):
    """A system of the catalogue: an accelerator with its usual node, or a cluster."""
    is_accelerator = os.path.exists(os.path.join(DATA, "accelerators", name + ".json"))
    return system_of(load("accelerators" if is_accelerator else "systems", name))


# ---- stacks ---------------------------------------------------------------------------------

# Defaults in the units of the documents; a text: the default is that field.
STACK_DEFAULTS = {
    "rates": {
        "gemm_share": 1, "low_gemm_share": "gemm_share", "expert_gemm_share": 1,
        "scan_flop_share": 0.1, "scan_stream_share": 0.4,
        "delta_flop_share": 0.05, "delta_stream_share": 0.3,
        "attention_share": 1, "attention_backward_share": "attention_share", "stream_share": 1,
        "other_attention_share": 0, "attention_ramp_tokens": 0,
    },
    "traffic": {
        "norm_forward": 16, "norm_backward": 20, "activation_passes": 1,
        "clamped_passes": "activation_passes", "dropout_bytes": 0, "score_forward": 13,
        "score_backward": 19, "bias_bytes": 0, "loss_bytes": 8, "cast_passes": 1, "mx_cast_passes": "cast_passes",
        "fp4_cast_passes": "cast_passes", "unpack_passes": 1, "permute_passes": 1, "qk_passes": 1, "dispatch_bytes": 2,
        "accumulation_bytes": 0, "optimizer_bytes": 38, "foreach_bytes": 0, "division_bytes": 0,
    },
    "host": {
        "kernels_forward": 0, "kernels_backward": 0, "tp_kernels": 0, "moe_kernels_forward": 0,
        "moe_kernels_backward": 0, "exchange_kernels": 0, "expert_kernels": 0,
        "expert_cast_kernels": 0,
        "expert_backward_launches": 1,
        "capacity_launches": 1, "graph_share": 1, "launch_ratio": 1, "adapter_kernels": 4, "overlap_launches": 1,
        "router_seconds": 0, "expert_cast_seconds": 0, "waits_for_counts": False, "blocks_launches": False,
    },
    "communication": {
        "tp_forward_exposed": 1, "tp_backward_exposed": 1,
        "tp_reduce_exposed": "tp_backward_exposed", "tp_overlap_exposed": 1,
        "regather_exposed": 1, "dp_exposed": 0, "dp_window": 1, "contention": 0, "pp_exposed": 1,
        "send_seconds": 0, "exchange_cores": 0.15, "exchange_slowdown": 1.45, "dispatch_exposed": 0, "dispatch_GBps": 0,
        "norm_rings": 0, "norm_rings_whole": 0,
        "bucket_MiB": 0, "gather_MiB": 0, "bucket_Mparams": 0, "bucket_rank_Mparams": 0,
        "deduplicates": False, "routes_in_turn": False, "scatters_messages": False, "reduces_whole": False, "reduces_late": False,
        "scatters_last": False, "overlaps_chunks": False, "copies_shards": False, "copies_sequence": False,
        "gathers_cast": False, "ring_gathers": False, "gathers_tensors": False,
        "masks_tokens": False,
    },
    "step": {"step_seconds": 0, "adapter_seconds": "step_seconds", "host_GBps": 0, "scale_growth": 0},
    "memory": {
        "recompute_stops": False, "keeps_gathered": False, "keeps_activation": False, "gathered_share": 1,
        "activation_share": 1, "wgrad_bytes": 0, "logit_bytes": 2, "split_logit_bytes": "logit_bytes", "stale_logit_bytes": 0,
        "gathered_buffers": 0, "late_buffers": 0, "stage_tensors": 0, "optimizer_temporary": 0,
        "transposes_again": False, "frozen_inputs": 0, "wide_norms": False, "autocasts": False, "kept_outputs": 0,
        "quantised_inputs": 0, "adapter_dropout": False, "tiled_mlp": False, "sums_whole": False,
        "wide_softmax": False,
        "layer_tensors": 0, "inner_tensors": 0,
        "step_bytes": 0, "step_params": 0, "live_params": 0, "bucket_GiB": 0, "stale_logits": 0, "host_share": 0,
        "separate_blocks": False, "whole_experts": False, "keeps_root": False, "frees_gradients": False,
        "stream_pools": False, "drops_outputs": False,
        "communicator_GiB": 0,
        "thrash_seconds": 0, "context_GiB": 0, "workspace_GiB": 0, "fragmentation": 0,
        "stage_fragmentation": 0,
    },
}


def stack_of(document):
    stack = Record(attention_kernel=document.get("attention_kernel", "usual"),
                   generations=document.get("generations", ()))
    for group, defaults in STACK_DEFAULTS.items():
        given = document.get(group, {})
        for key, usual in defaults.items():
            value = given.get(key, usual)
            setattr(stack, key, getattr(stack, value) if isinstance(value, str) else value)
    stack.bucket_bytes = stack.bucket_MiB * MIB
    stack.gather_bytes = stack.gather_MiB * MIB
    stack.bucket_params = stack.bucket_Mparams * 1e6
    stack.bucket_rank_params = stack.bucket_rank_Mparams * 1e6
    stack.context_bytes = stack.context_GiB * GIB
    stack.workspace_bytes = stack.workspace_GiB * GIB
    return stack
