# SPDX-License-Identifier: Apache-2.0
"""Random cases: models, systems, stacks and strategies, some from the catalogue, some made up.

A case need not be legal: run.py asks for another one where the rules refuse it.
"""

import os
import random

from reference import collectives, kernels, strategies
from reference.documents import DATA, STACK_DEFAULTS, load, load_system, system_of

SCHEDULES = ("gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipe", "v-half",
             "v-min")
CONVENTIONS = ("megatron", "full", "palm", "torchtitan", "nanotron", "megatron-bridge")
MODULES = ("core_attention", "norm", "activation", "mla_up", "mlp", "moe", "mhc", "attn_proj")


def names_of(folder):
    return sorted(name[:-5] for name in os.listdir(os.path.join(DATA, folder))
                  if name.endswith(".json"))


CATALOGUE = {folder: names_of(folder) for folder in ("models", "stacks", "accelerators", "systems")}


def often(rng, share):
    return rng.random() < share


def without_some(rng, fields, names):
    """Leaves optional fields out at random, so that their defaults count."""
    return {key: value for key, value in fields.items() if key not in names or often(rng, 0.85)}


def between(rng, low, high):
    """A number between two, all magnitudes alike, with few digits of its own."""
    return float("%.4g" % (low * (high / low) ** rng.random()))


# ---- models ---------------------------------------------------------------------------------

def random_layer(rng, heads):
    """Fields of a layer besides its heads and FFN."""
    layer = {}
    if often(rng, 0.25):
        layer.update(kv_rank=rng.choice((256, 512)), q_rank=rng.choice((0, 768, 1536)),
                     nope_size=rng.choice((64, 128)), rope_size=rng.choice((32, 64)),
                     value_size=rng.choice((64, 128)))
    else:
        layer.update(kv_heads=rng.choice([n for n in (1, 2, 4, 8, heads) if heads % n == 0]),
                     head_size=rng.choice((64, 80, 96, 108, 128, 192, 256)),
                     qk_norm=rng.choice(("none", "none", "head", "full", "head_bias")))
        if often(rng, 0.2):
            layer["value_size"] = rng.choice((64, 96, 128))
        layer["relative_positions"] = often(rng, 0.1)
        layer["head_gate"] = often(rng, 0.1)
        layer["kv_source"] = rng.choice(("own",) * 6 + ("keys",))
    if often(rng, 0.3):
        layer.update(window=rng.choice((128, 512, 1000, 4096)), chunked=often(rng, 0.3))
    for flag in ("bias_qkv", "bias_out", "sinks", "output_gate", "ffn_bias", "capped_scores"):
        layer[flag] = often(rng, 0.2)
    layer["gated"], layer["clamped"] = often(rng, 0.7), often(rng, 0.2)
    layer["activation_scalars"] = 2 if not layer["gated"] and often(rng, 0.3) else 0
    return layer


def random_sparse(rng, heads):
    """Attention to picked keys, latent or grouped."""
    layer = random_layer(rng, heads)
    for field in ("window", "chunked"):
        layer.pop(field, None)
    layer.update(index_heads=rng.choice((4, 32)), index_size=rng.choice((64, 128)),
                 index_keys=rng.choice((512, 2048, 8192)), index_shared=often(rng, 0.3))
    return layer


def random_compressed(rng, heads):
    """Attention of DeepSeek-V4: a window and entries, picked or all."""
    layer = {"mixer": "compressed", "heads": heads, "head_size": rng.choice((128, 512)),
             "q_rank": rng.choice((512, 1024)), "window": 128, "out_rank": rng.choice((256, 1024)),
             "out_groups": rng.choice((4, 8)), "compress_ratio": rng.choice((0, 4, 128)),
             "sinks": often(rng, 0.5)}
    if layer["compress_ratio"] == 4:
        layer.update(index_heads=rng.choice((4, 32)), index_size=rng.choice((64, 128)),
                     index_keys=rng.choice((64, 512, 2048)))
    return layer


def random_mamba2(rng, heads):
    """Heads and groups that split over up to 8 tensor ranks."""
    groups = rng.choice((1, 8))
    fields = {"mixer": "mamba2", "state_heads": 4 * heads, "state_key_size": rng.choice((64, 128)),
              "state_value_size": rng.choice((32, 64)), "conv_width": rng.choice((0, 4)),
              "conv_bias": often(rng, 0.5), "chunk": rng.choice((64, 128, 256)),
              "bare_output": often(rng, 0.3)}
    if often(rng, 0.8):
        fields["state_key_heads"] = groups
    return fields


def random_parallel(rng, heads):
    """Grouped attention and Mamba-2 side by side."""
    return dict(random_mamba2(rng, heads), mixer="parallel", heads=heads,
                kv_heads=rng.choice((1, heads)), head_size=rng.choice((64, 128)))


def random_shared(rng, heads):
    """A block that layers share beside Mamba-2; it has its network within."""
    return dict(random_mamba2(rng, heads), mixer="shared", heads=heads, feed_forward="none",
                kv_heads=rng.choice((8, heads)), head_size=rng.choice((64, 128)),
                ffn=rng.choice((2048, 8192)), gated=often(rng, 0.7),
                borrowed_block=often(rng, 0.5), block_adapter_rank=rng.choice((0, 128)),
                attention_adapters=often(rng, 0.5))


def random_recurrence(rng, heads):
    """Any recurrence but Mamba-2; those that have no separate keys leave them out."""
    kind = rng.choice(("gated_delta", "kimi_delta", "lightning", "convolution", "mamba1"))
    fields = {"mixer": kind, "conv_width": 0 if kind == "lightning" else 4}
    if kind == "mamba1":
        fields.update(state_key_size=16, inner_norms=often(rng, 0.5), conv_bias=often(rng, 0.5))
        return dict(fields, state_heads=64 * heads, step_rank=rng.choice((64, 256)))
    if kind == "convolution":
        return dict(fields, conv_bias=often(rng, 0.3))
    fields.update(state_heads=4 * heads, state_value_size=rng.choice((64, 128)),
                  chunk=rng.choice((64, 256)))
    if kind == "gated_delta":
        fields.update(state_key_heads=heads, state_key_size=rng.choice((64, 128)),
                      conv_bias=often(rng, 0.3))
    if kind == "kimi_delta":
        fields.update(full_gate=often(rng, 0.5), full_decay=often(rng, 0.3))
    return fields


def random_part(rng, heads, dense, experts):
    """A layer of a hybrid: both parts, or one of them."""
    network = rng.choice((dict(dense, feed_forward="dense"), dict(experts, feed_forward="experts")))
    kind = rng.choice(("mixer", "network", "both"))
    if kind == "network":
        return dict(network, mixer="none")
    mixer = rng.choice((random_mamba2, random_recurrence, random_layer, random_sparse,
                        random_compressed, random_parallel, random_shared))(
        rng, heads)
    alone = kind != "both" or mixer.get("mixer") == "shared"
    return dict(mixer, **({"feed_forward": "none"} if alone else network))


def random_experts(rng):
    experts = rng.choice((8, 16, 64, 128, 256))
    fields = {"experts": experts, "top_k": rng.choice((1, 2, 4, 8)),
              "expert_ffn": rng.choice((512, 768, 1536, 2048)),
              "router_bias": often(rng, 0.3), "expert_bias": often(rng, 0.3)}
    if often(rng, 0.5):
        fields.update(shared_experts=rng.choice((1, 2)), shared_gate=often(rng, 0.5))
        if often(rng, 0.5):
            fields["shared_ffn"] = rng.choice((1024, 1408))
    fields["router_scales"] = often(rng, 0.1)
    fields["zero_experts"] = experts // 2 if often(rng, 0.15) else 0
    fields["shortcut"] = often(rng, 0.15)
    if often(rng, 0.2):
        fields["expert_latent"] = rng.choice((256, 1024))
    if often(rng, 0.3):
        fields.update(expert_groups=8, route_groups=rng.choice((2, 4, 8)), top_k=2)
    return fields


STACK_FIELDS = ("hidden", "layers", "vocab", "seq", "tied", "norm", "norms_per_layer", "final_norm",
                "parallel_block", "embedding_norm", "head_bias", "mtp_layers", "learned_positions",
                "embedding_width", "layer_embedding", "layer_scalar", "wide_gain", "capped_logits")


def random_model(rng):
    heads = rng.choice((8, 16, 32, 40, 64))
    model = {
        "heads": heads, "hidden": rng.choice((768, 1024, 2048, 2880, 4096, 7168)),
        "layers": rng.choice((4, 7, 12, 16, 24, 32, 48, 61)),
        "vocab": rng.choice((32000, 50257, 128256, 129280)),
        "seq": rng.choice((1024, 2048, 4096)), "tied": often(rng, 0.4),
        "norm": rng.choice(("rms", "layer", "layer_no_bias", "layer_no_weight")),
        "norms_per_layer": rng.choice((1, 2, 2, 2, 4)), "final_norm": often(rng, 0.8),
        "parallel_block": often(rng, 0.15), "embedding_norm": often(rng, 0.1),
        "wide_gain": often(rng, 0.2), "capped_logits": often(rng, 0.2),
        "head_bias": often(rng, 0.2), "alibi": often(rng, 0.1), "mtp_layers": rng.choice((0, 0, 0, 1, 2)),
    }
    if often(rng, 0.2):
        model["learned_positions"] = 2**20
    if often(rng, 0.1):
        model.update(embedding_width=512)
    if often(rng, 0.1):
        model.update(layer_embedding=rng.choice((64, 256)), layer_scalar=often(rng, 0.5))
    model.update(random_layer(rng, heads))
    dense, experts = {"ffn": rng.choice((2048, 4096, 11008, 14336))}, random_experts(rng)
    kind = rng.choice(("dense", "experts", "rules", "types", "hybrid"))
    if kind == "dense":
        model.update(dense)
    elif kind == "experts":
        model.update(experts)
    elif kind == "rules":
        model.update(experts, **dense, dense_first=rng.choice((1, 2)), moe_every=rng.choice((1, 2)))
    else:
        kinds = [random_part(rng, heads, dense, experts) if kind == "hybrid" else
                 dict(random_layer(rng, heads), **rng.choice((dense, experts)))
                 for _ in range(rng.choice((1, 2, 3)))]
        for field in ("window", "chunked", "kv_heads", "head_size", "value_size", "qk_norm",
                      "kv_rank", "q_rank", "nope_size", "rope_size", "relative_positions", "head_gate", "kv_source"):
            model.pop(field, None)
        first = kinds[0]
        if often(rng, 0.2) and "kv_heads" in first:
            kinds.append(dict(first, kv_source="borrowed"))
        model.update(types=kinds, pattern=[0] + [rng.randrange(len(kinds)) for _ in range(4)])
        if often(rng, 0.2):
            model["streams"] = rng.choice((2, 4))
    if "types" in model and model["mtp_layers"] and often(rng, 0.5):
        model["mtp_pattern"] = [rng.randrange(len(kinds)) for _ in range(rng.choice((1, 2)))]
    if kind not in ("types", "hybrid") and model.get("window") and often(rng, 0.5):
        model["window_pattern"] = rng.choice(("wf", "wwf", "fw"))
    return without_attention(random.Random(repr(model)), model, heads, dense)


def without_attention(rng, model, heads, dense):
    """In some cases the same stack of one recurrence: no key of attention, no list of types."""
    if not often(rng, 0.06):
        return model
    kept = {key: model[key] for key in STACK_FIELDS if key in model}
    mixer = rng.choice((random_mamba2, random_recurrence))(rng, heads)
    network = dense if often(rng, 0.5) else {"feed_forward": "none"}
    return dict(kept, **mixer, **network)


# ---- systems --------------------------------------------------------------------------------

def random_tier(rng, below, last):
    kind = rng.choice(("switch", "switch", "mesh", "torus", "fabric", "fabric", "dragonfly",
                       "cube_mesh" if not last else "switch"))
    tier = {
        "name": "tier of %d" % below, "kind": kind,
        "bandwidth_GBps": between(rng, 10, 1000), "efficiency": between(rng, 0.5, 1),
        "latency_us": between(rng, 1, 50), "step_latency_us": between(rng, 0.1, 10),
        "chunk_us": between(rng, 0.5, 20), "message_us": between(rng, 0.1, 5),
        "half_MB": between(rng, 0.1, 5), "exchange_share": between(rng, 0.5, 1.2),
        "serial": between(rng, 0.01, 1),
    }
    if not last or often(rng, 0.3):
        tier["size"] = below * (2**16 if last else rng.choice((4, 8, 8, 16, 9)))
    if kind == "cube_mesh":
        tier["size"] = 8 * below
    if kind in ("fabric", "dragonfly") and often(rng, 0.2):
        tier.update(planes=rng.choice((1, 2, 4)), flow_share=between(rng, 0.5, 1))
    if kind == "torus":
        tier.update(axes=rng.choice((2, 3)), ring=rng.choice((4, 8, 16)))
    if often(rng, 0.3):
        tier.update(in_network_reduce=True, reduce_share=between(rng, 0.5, 1))
    if often(rng, 0.15):
        tier["fits"] = [
            {"op": op, "step_us": between(rng, 1, 50), "chunk_step_us": between(rng, 1, 200),
             "share": between(rng, 0.1, 1), "inject_bytes": rng.choice((0, 192, 1e5))}
            for op in rng.sample(OPERATIONS, rng.choice((1, 2, 4)))]
    if often(rng, 0.25):
        tier["side_links"] = [
            {"name": "side", "bandwidth_GBps": between(rng, 5, 60),
             "efficiency": between(rng, 0.6, 1), "latency_us": between(rng, 1, 60)}
            for _ in range(rng.choice((1, 2, 3)))]
    return without_some(rng, tier, ("latency_us", "step_latency_us", "chunk_us", "message_us", "half_MB", "exchange_share",
                                    "serial"))


def random_tiers(rng):
    tiers, below, count = [], 1, rng.choice((1, 2, 2, 3, 4))
    for i in range(count):
        tiers.append(random_tier(rng, below, i == count - 1))
        below = tiers[-1].get("size", below)
    return tiers


def random_engine(rng, tflops):
    engine = {"tflops": tflops}
    for key, low, high in (("efficiency", 0.4, 1), ("feed", 0.1, 20), ("prologue", 10, 1000),
                           ("wave_share", 0.01, 1)):
        if often(rng, 0.8):
            engine[key] = between(rng, low, high)
    return engine


FLASH = ("cudnn", "cudnn_fp8", "cudnn_mxfp8", "flash_attention_2", "flash_attention_3", "aiter")


def random_flash_rates(rng):
    rates = {"forward_tflops": between(rng, 100, 3000), "backward_tflops": between(rng, 80, 2500),
             "prologue_keys": between(rng, 1, 900), "softmax_elements": between(rng, 10, 300)}
    return without_some(rng, rates, ("prologue_keys", "softmax_elements"))


def random_delta_rates(rng):
    rates = {"tflops": between(rng, 10, 500), "token_ns": between(rng, 1, 50),
             "launch_us": between(rng, 1, 100)}
    return without_some(rng, rates, ("tflops", "token_ns", "launch_us"))


def random_accelerator(rng):
    peak = between(rng, 50, 2500)
    gemm = {"bf16": random_engine(rng, peak), "fp8": random_engine(rng, 2 * peak),
            "fp4": random_engine(rng, 4 * peak), "int8": random_engine(rng, 2 * peak),
            "fp32": random_engine(rng, peak / 16),
            "tf32": random_engine(rng, peak / 2)}
    if often(rng, 0.3):
        gemm["fp16"] = random_engine(rng, peak)
    usable = between(rng, 16, 300)
    compute = {"cores": rng.choice((8, 75, 80, 108, 132, 148, 150, 304)), "vector_tflops": 50,
               "vector_overlap": between(rng, 0.05, 1),
               "kernel_us": between(rng, 0.5, 5), "launch_us": between(rng, 0.1, 10),
               "split_us": between(rng, 0.2, 5), "droop_us": between(rng, 100, 5000),
               "power_W": 700, "burst": 1.2, "sustained": 0.9, "fp8_one_layout": often(rng, 0.5)}
    attention = {"forward_tflops": between(rng, 30, 1200), "backward_tflops": between(rng, 20, 900),
                 "ramp_tokens": between(rng, 50, 3000), "softmax_elements": between(rng, 10, 200),
                 "droop_us": between(rng, 1000, 50000)}
    host = {"bandwidth_GBps": between(rng, 10, 500), "efficiency": between(rng, 0.5, 1),
            "nvme_GBps": between(rng, 0.5, 30),
            "capacity_GiB": between(rng, 16, 1000)}
    sparse = {"core_share": between(rng, 0.1, 1), "head_tile": rng.choice((16, 64, 128)),
              "index_share": between(rng, 0.1, 1), "select_share": between(rng, 0.1, 1)}
    return {
        "name": "made up",
        "sparse": without_some(rng, sparse, tuple(sparse)),
        "compute": without_some(rng, compute, ("vector_overlap", "kernel_us", "launch_us", "split_us", "droop_us",
                                               "power_W", "burst", "sustained",
                                               "fp8_one_layout")),
        "gemm": gemm,
        "generation": rng.choice(("blackwell", "hopper", "cdna4")),
        "delta": {rule: random_delta_rates(rng) for rule in ("gated", "kimi") if often(rng, 0.6)},
        "flash": {library: random_flash_rates(rng) for library in FLASH if often(rng, 0.6)},
        "attention": without_some(rng, attention, ("ramp_tokens", "softmax_elements", "droop_us")),
        "memory": {"capacity_GB": 2 * usable, "usable_GiB": usable,
                   "bandwidth_GBps": between(rng, 500, 10000), "efficiency": between(rng, 0.6, 1)},
        "host": without_some(rng, host, ("capacity_GiB", "nvme_GBps")),
        "tiers": random_tiers(rng),
    }


def random_system(rng):
    if often(rng, 0.6):
        return rng.choice(CATALOGUE["accelerators"] + CATALOGUE["systems"])
    system = {"name": "made up", "accelerator": random_accelerator(rng)}
    if often(rng, 0.3):
        system["accelerator"] = rng.choice(CATALOGUE["accelerators"])
        system["tiers"] = random_tiers(rng)
    if often(rng, 0.2):
        system["power_W"] = between(rng, 150, 900)
    if often(rng, 0.2):
        system["host_capacity_GiB"] = between(rng, 10, 500)
    return system


# ---- kernels, and tables of them ------------------------------------------------------------

OPERATIONS = ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "send",
              "scatter", "gather", "reduce")


def random_gemm(rng, formats):
    grouped = often(rng, 0.3)
    return {"gemm": rng.choice(formats), "grouped": grouped,
            "batch": rng.randint(1, 64) if grouped or often(rng, 0.2) else 1,
            "M": rng.choice((between(rng, 1, 4e4), rng.randint(1, 40000), 2.0**rng.randint(0, 15))),
            "N": rng.randint(1, 30000), "K": rng.randint(1, 30000),
            "accumulate": rng.choice((0, 2, 6))}


def random_attention(rng):
    return {"attention": True, "flops": between(rng, 1e8, 1e15), "seq": between(rng, 16, 1e6),
            "heads": between(rng, 1, 4096), "size": rng.choice((32, 64, 80, 128, 192, 576)),
            "group": rng.choice((1, 4, 7.5)), "share": between(rng, 0.3, 1.2),
            "backward": often(rng, 0.5)}


def random_flash(rng, libraries):
    keys = between(rng, 64, 2e5)
    return {"flash": rng.choice(libraries), "heads": between(rng, 1, 512), "keys": keys,
            "group": rng.choice((1, 1, 4, 8)),
            "queries": keys * rng.choice((1, 1, 0.5, 0.125)), "qk": rng.choice((64, 96, 128, 192)),
            "v": rng.choice((64, 128)), "window": rng.choice((0, 128, 1024)),
            "causal": often(rng, 0.7), "ordered": often(rng, 0.3), "backward": often(rng, 0.5),
            "sustained": often(rng, 0.3)}


def random_collective(rng):
    size, stride = rng.choice((1, 2, 3, 8, 16, 72)), rng.choice((1, 1, 2, 8))
    count = rng.choice((1, 2, 4, 6))
    apart = size * stride * rng.choice((1, 1, 2, 3))
    return {"collective": rng.choice(OPERATIONS), "bytes": between(rng, 1, 1e11),
            "size": size, "stride": stride, "count": count, "apart": apart}


def flash_kernels(rates):
    """Those with rates of both passes."""
    return sorted(library for library, r in rates.items() if r.forward and r.backward)


def random_probes(rng, formats, rates):
    flash = flash_kernels(rates)
    return ([random_flash(rng, flash) for _ in range(2 if flash else 0)]
            + [random_gemm(rng, formats) for _ in range(4)]
            + [random_attention(rng), random_collective(rng), random_collective(rng)])


def write_table(path, rows):
    columns = sorted({column for row in rows for column in row})
    with open(path, "w", encoding="utf-8") as file:
        for line in [columns] + [[str(row.get(column, 0)) for column in columns] for row in rows]:
            file.write(",".join(line) + "\n")


def noisy(rng, seconds):
    """Microseconds of a measured row, as text: about what the model says."""
    return repr(seconds * 1e6 * between(rng, 0.5, 2))


def gemm_row(rng, a, k):
    """A row of a GEMM that random_gemm() made."""
    clock = rng.choice(("burst", "sustained", "training"))
    seconds = kernels.gemm_at(clock)(a, k["gemm"], k["batch"], k["M"], k["N"], k["K"], k["accumulate"],
                    k["grouped"])
    return {"precision": k["gemm"], "m": k["M"], "n": k["N"], "k": k["K"], "batch": k["batch"],
            "accumulate_bytes": k["accumulate"], "clock": clock, "grouped": int(k["grouped"]),
            "module": rng.choice((0, 0, 0, 1)), "library": rng.choice(("old", "new")),
            "us": noisy(rng, seconds)}


def attention_row(rng, a):
    seq, heads, size = rng.choice((512, 4096)), rng.choice((8, 32)), rng.choice((64, 128))
    causal, backward = often(rng, 0.7), often(rng, 0.5)
    flops = 4 * heads * seq**2 * size * (0.5 if causal else 1) * (2.5 if backward else 1)
    seconds = kernels.modelled_attention(a, flops, seq, heads, size, 1, backward)
    return {"pass": "backward" if backward else "forward", "head_size": size, "heads": heads,
            "kv_heads": heads // rng.choice((1, 4)), "batch": 1, "seq": seq, "causal": int(causal),
            "module": rng.choice((0, 0, 0, 1)), "us": noisy(rng, seconds)}


def collective_row(rng, system):
    ranks, op, size = rng.choice((2, 4, 8)), rng.choice(OPERATIONS), between(rng, 1e4, 1e9)
    seconds = collectives.modelled(system, op, size, strategies.place(system, ranks, 1))
    return {"op": op, "ranks": ranks, "bytes": size, "us": noisy(rng, seconds)}


def random_tables(rng, system, scratch):
    """Member "measured" of a system; one row of each table counts for certain."""
    a, count = system.accelerator, rng.randint(3, 12)
    gemms = [gemm_row(rng, a, random_gemm(rng, sorted(a.gemm))) for _ in range(count)]
    gemms[0].update(batch=1, module=0, library="old", accumulate_bytes=0)
    gemms[0]["us"] = noisy(rng, kernels.modelled_gemm(
        a, gemms[0]["precision"], 1, gemms[0]["m"], gemms[0]["n"], gemms[0]["k"], 0,
        bool(gemms[0]["grouped"])))
    attentions = [attention_row(rng, a) for _ in range(count)]
    attentions[0]["module"] = 0
    transfers = [collective_row(rng, system) for _ in range(count)]
    measured = {}
    for kind, rows in (("gemm", gemms), ("attention", attentions), ("collective", transfers)):
        if often(rng, 0.7):
            path = os.path.join(scratch, "%s-%d.csv" % (kind, rng.randrange(10**9)))
            write_table(path, rows)
            only_old = kind == "gemm" and often(rng, 0.5)
            measured[kind] = {"file": path, "where": {"library": "old"}} if only_old else path
    return measured


# ---- stacks ---------------------------------------------------------------------------------

# Largest random value of a field; those that are shares of rates begin at 0.3.
STACK_MOST = {
    "rates": 1.2, "activation_passes": 5, "clamped_passes": 20, "cast_passes": 2,
    "mx_cast_passes": 2, "fp4_cast_passes": 2, "unpack_passes": 6, "permute_passes": 4, "dispatch_bytes": 4,
    "dropout_bytes": 20, "accumulation_bytes": 16, "optimizer_bytes": 60, "loss_bytes": 20,
    "kernels_forward": 60, "kernels_backward": 100, "tp_kernels": 10, "moe_kernels_forward": 200,
    "moe_kernels_backward": 300, "exchange_kernels": 50, "expert_kernels": 20, "expert_cast_kernels": 40,
    "expert_backward_launches": 3,
    "exchange_slowdown": 2, "dispatch_GBps": 500, "launch_ratio": 3, "overlap_launches": 2,
    "router_seconds": 1e-3, "expert_cast_seconds": 1e-3, "send_seconds": 1e-3,
    "norm_rings": 4, "norm_rings_whole": 4, "bucket_MiB": 500,
    "gather_MiB": 500, "bucket_Mparams": 100, "bucket_rank_Mparams": 5, "step_seconds": 0.1, "adapter_seconds": 0.1, "host_GBps": 300,
    "scale_growth": 0.05, "gathered_share": 1.5, "activation_share": 1.5, "wgrad_bytes": 6,
    "logit_bytes": 14, "stale_logit_bytes": 8, "gathered_buffers": 6, "late_buffers": 10,
    "stage_tensors": 6, "optimizer_temporary": 8, "thrash_seconds": 0.1, "context_GiB": 4,
    "frozen_inputs": 2, "kept_outputs": 2, "quantised_inputs": 3, "layer_tensors": 8, "inner_tensors": 2, "step_bytes": 8,
    "step_params": 1e10, "live_params": 2e9, "bucket_GiB": 2, "stale_logits": 2, "host_share": 1,
    "communicator_GiB": 1,
    "workspace_GiB": 1, "fragmentation": 0.2, "stage_fragmentation": 0.2, "score_forward": 40, "bias_bytes": 4,
    "score_backward": 40, "norm_forward": 40, "norm_backward": 40,
}


def random_stack(rng):
    if often(rng, 0.4):
        return rng.choice(CATALOGUE["stacks"])
    stack = {"name": "made up"}
    if often(rng, 0.6):
        stack["attention_kernel"] = rng.choice(FLASH)
    for group, defaults in STACK_DEFAULTS.items():
        stack[group] = {}
        for key, usual in defaults.items():
            if often(rng, 0.3):
                continue
            if isinstance(usual, bool):
                stack[group][key] = often(rng, 0.5)
            else:
                most = STACK_MOST.get(group) or STACK_MOST.get(key, 1)
                low = 0.3 if group == "rates" or key.endswith("_share") else most / 50
                stack[group][key] = between(rng, low, most)
    return stack


# ---- strategies -----------------------------------------------------------------------------

def experts_of(model):
    return "experts" in model or any("experts" in own for own in model.get("types", []))


def random_recompute(rng):
    kind = rng.choice(("none", "selective", "selective", "full"))
    if kind == "selective":
        modules = [name for name in MODULES if often(rng, 0.35)] or ["norm"]
        return {"recompute": kind,
                "recompute_modules": ["operators"] if often(rng, 0.25) else modules}
    layers = rng.choice((0, 0, 1, 3)) if kind == "full" else 0
    return {"recompute": kind, "recompute_layers": layers}


def random_precision(rng):
    precision = rng.choice(("bf16", "bf16", "bf16", "fp16", "fp8", "fp8", "fp4", "int8", "fp32", "tf32"))
    low = precision in ("fp8", "fp4", "int8")
    return {"precision": precision, "low_weights": low and often(rng, 0.4),
            "fp8_recipe": rng.choice(("tensorwise", "delayed", "blockwise", "mxfp8"))}


def random_pipeline(rng, layers):
    """Schedule, degrees and microbatches of a pipeline, and how layers are split."""
    if often(rng, 0.25):
        return {"pp": 1}, rng.choice((1, 2, 4, 8))
    pp, schedule = rng.choice((2, 2, 3, 4, 4, 8, 12)), rng.choice(SCHEDULES)
    pipeline = {"pp": pp, "schedule": schedule}
    m = rng.choice((1, 2, 4, 5, 8, 16, 24))
    if schedule == "interleaved":
        pipeline["vp"] = rng.choice((2, 3, 4))
        m = pp * rng.choice((1, 2, 3))
    elif schedule in ("zb-h2", "zb-v", "v-half", "v-min"):
        m += 2 * pp
    elif schedule == "dualpipe":
        pipeline["pp"] = pp = pp + pp % 2
        m = 2 * pp + 2 * rng.randrange(5)
    stages = {"zb-v": 2 * pp, "v-half": 2 * pp, "v-min": 2 * pp, "dualpipe": pp}.get(
        schedule, pp * pipeline.get("vp", 1))
    split = rng.choice(("even", "even", "ends", "counted", "layout"))
    if split == "ends":
        pipeline.update(first_stage_layers=rng.choice((0, 2, 3)),
                        last_stage_layers=rng.choice((0, 2)))
    elif split == "counted":
        pipeline.update(count_embedding=often(rng, 0.7), count_head=often(rng, 0.7))
    elif split == "layout":
        cuts = sorted(rng.randrange(layers + 1) for _ in range(stages - 1))
        pipeline["layout"] = [b - a for a, b in zip([0] + cuts, cuts + [layers])]
    return pipeline, m


def random_strategy(rng, model, layers, has_experts):
    s, m = random_pipeline(rng, layers)
    s.update(tp=rng.choice((1, 1, 2, 4, 8)), cp=rng.choice((1, 1, 1, 2, 4)),
             dp=rng.choice((1, 2, 4, 6, 8, 32, 128)), micro_batch=rng.choice((1, 1, 2, 4)))
    s["sp"] = s["tp"] > 1 and often(rng, 0.7)
    s["cp_kind"] = rng.choice(("ring", "all_gather", "ulysses"))
    s["seq"] = rng.choice((1024, 2048, 4096, 8192, 24000))
    s["global_batch"] = m * s["micro_batch"] * s["dp"]
    s["document"] = rng.choice((0, 0, 0, 300, 1024, 5000))
    ranks = s["tp"] * s["cp"] * s["dp"]
    if has_experts:
        s["etp"] = rng.choice((1, 1, 1, 2))
        s["ep"] = rng.choice([e for e in (1, 2, 4, 8, 16, 64)
                              if ranks % (e * s["etp"]) == 0] or [1])
        s["moe_overlap"] = s["ep"] > 1 and often(rng, 0.3)
    if often(rng, 0.25):
        s["order"] = "tp-cp-pp-dp"
        if has_experts and often(rng, 0.8):
            s["ep"], s["etp"] = (s["tp"] * s["cp"], 1) if often(rng, 0.7) else (s["cp"], s["tp"])
    s["sharding"] = rng.choice(("none", "optimizer", "gradients", "all"))
    if s["sharding"] != "none":
        s["replicas"] = rng.choice([r for r in (1, 1, 2, 4) if s["dp"] * s["cp"] % r == 0])
    s.update(random_precision(rng))
    s.update(random_recompute(rng))
    for flag, share in (("flash_attention", 0.75), ("tp_overlap", 0.4), ("grad_overlap", 0.7),
                        ("param_overlap", 0.7), ("pp_overlap", 0.5), ("graph_capture", 0.2),
                        ("graph_step", 0.1), ("offload_optimizer", 0.15),
                        ("offload_activations", 0.15), ("offload_weights", 0.15),
                        ("mtp_before_head", 0.3), ("low_activations", 0.25)):
        s[flag] = often(rng, share)
    s["graph_modules"] = rng.choice(([], ["attn"], ["mamba", "moe_router"], ["attn", "mlp", "moe"],
                                     ["attn", "moe_router", "moe_preprocess"]))
    s["offload_layers"] = rng.choice((0, 0, 1, 5, 1000))
    s["offload_gradients"] = s["offload_optimizer"] and often(rng, 0.5)
    s["offload_share"] = rng.choice((0, 0, 0.25, 0.5, 1))
    for name in ("optimizer", "weights"):
        s["nvme_" + name] = s["offload_" + name] and often(rng, 0.3)
    s["foreach_update"], s["step_in_backward"] = often(rng, 0.2), often(rng, 0.1)
    s["expandable_segments"] = often(rng, 0.2)
    s["step_params"] = rng.choice((0, 0, 1e7, 1e9))
    if often(rng, 0.4):
        s["cross_entropy"] = rng.choice(("full", "fused", "chunked"))
        s["logit_bytes"] = rng.choice((0, 0, 8, 14))
        s["loss_chunk"] = rng.choice((0, 0, 64, 1024, 100000))
    s["capacity_factor"] = rng.choice((0, 0, 1, 1.25))
    s["imbalance"] = rng.choice((1, 1, 1.1, 1.37))
    if often(rng, 0.3):
        s["states"] = {"weight": rng.choice((2, 4)), "gradient": rng.choice((2, 4)),
                       "optimizer": rng.choice((4, 8, 12)), "gather": rng.choice((2, 4)),
                       "reduce": rng.choice((2, 4))}
    elif often(rng, 0.3):
        s["optimizer"] = rng.choice(("adamw-bf16", "adam-8bit", "adamw-8bit", "adamw-4bit", "adafactor", "sgd", "sgd-plain",
                                     "muon", "dist-muon", "muon", "dist-muon"))
        by_muon = {"muon": "none", "dist-muon": "optimizer"}
        s["sharding"] = by_muon.get(s["optimizer"], s["sharding"])
        if s["sharding"] == "none":
            s.pop("replicas", None)
    if often(rng, 0.12):
        s["adapter_rank"] = rng.choice((8, 16, 64))
        if s["precision"] not in ("fp8", "fp4", "int8") and often(rng, 0.5):
            s["nf4_weights"] = s["low_weights"] = True
            s["frozen_type"] = rng.choice(("nf4", "nf4_plain", "int4", "int8"))
            s["wide_residual"] = often(rng, 0.3)
        s["adapter_bytes"] = rng.choice((0, 0, 2, 4))
        s["adapts_ends"] = often(rng, 0.3)
        s["adapter_modules"] = rng.choice((["attention"], ["ffn"], ["attention", "ffn"]))
    return s


def random_case(rng, scratch):
    """A case; its tables are written into the folder `scratch`."""
    model = rng.choice(CATALOGUE["models"]) if often(rng, 0.5) else random_model(rng)
    system = random_system(rng)
    document = load("models", model) if isinstance(model, str) else model
    machine = load_system(system) if isinstance(system, str) else system_of(system)
    if not isinstance(system, str) and often(rng, 0.15):
        system["measured"] = random_tables(rng, machine, scratch)
    strategy = random_strategy(rng, document, document["layers"], experts_of(document))
    kernels = flash_kernels(machine.accelerator.flash)
    if kernels and strategy["flash_attention"] and often(rng, 0.3):
        strategy["attention_kernel"] = rng.choice(kernels)
    return {"model": model, "system": system, "stack": random_stack(rng), "strategy": strategy,
            "convention": rng.choice(CONVENTIONS),
            "probes": random_probes(rng, sorted(machine.accelerator.gemm),
                                    machine.accelerator.flash)}

