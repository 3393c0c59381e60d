# SPDX-License-Identifier: Apache-2.0
"""docs/method/strategies.md: groups of ranks, stages, adapters."""

from math import gcd
from types import SimpleNamespace as Record

from reference import models, parameters
from reference.schedules import V_SHAPED

DEFAULTS = {
    "tp": 1, "cp": 1, "pp": 1, "vp": 1, "dp": 1, "ep": 1, "etp": 1, "sp": False,
    "cp_kind": "ring", "order": "tp-cp-dp-pp", "micro_batch": 1, "global_batch": 1,
    "document": 0, "schedule": "1f1b",
    "recompute": "none", "recompute_modules": (), "recompute_layers": 0,
    "sharding": "none", "replicas": 1, "precision": "bf16", "fp8_recipe": "tensorwise",
    "low_weights": False, "low_activations": False, "nf4_weights": False, "flash_attention": True,
    "attention_kernel": "usual",
    "tp_overlap": False, "grad_overlap": True, "param_overlap": True, "pp_overlap": True,
    "moe_overlap": False, "graph_capture": False, "graph_modules": (), "graph_step": False,
    "offload_optimizer": False, "offload_activations": False, "offload_weights": False,
    "offload_layers": 0,
    "first_stage_layers": 0, "last_stage_layers": 0,
    "count_embedding": False, "count_head": False, "mtp_before_head": False, "layout": (),
    "capacity_factor": 0, "imbalance": 1, "adapter_rank": 0, "adapter_modules": (),
    "optimizer": "adamw",
    "cross_entropy": "stack", "logit_bytes": 0, "loss_chunk": 0, "foreach_update": False,
    "step_in_backward": False, "offload_gradients": False, "offload_share": 0, "nvme_optimizer": False,
    "nvme_weights": False, "wide_residual": False,
    "frozen_type": "nf4", "adapter_bytes": 0, "step_params": 0, "adapts_ends": False,
    "expandable_segments": False,
}
# Bytes of states per parameter of matrices and of embedding and head, traffic over that of AdamW,
# whether it orthogonalizes, whether data ranks share whole matrices out.
BLOCKS_OF_8_BITS = 2 * (1 + 4 / 256)
BLOCKS_OF_4_BITS = 2 * (0.5 + 4 / 128)
OPTIMIZERS = {
    "adamw": (8, 8, 30, False, False),
    "adamw-bf16": (4, 4, 22, False, False),
    "adam-8bit": (BLOCKS_OF_8_BITS, 8, 14 + 2 * BLOCKS_OF_8_BITS, False, False),
    "adafactor": (0, 0, 18, False, False),
    "sgd": (4, 4, 22, False, False),
    "sgd-plain": (0, 0, 14, False, False),
    "muon": (4, 8, 22, True, False),
    "dist-muon": (4, 8, 22, True, True),
    "adamw-8bit": (BLOCKS_OF_8_BITS, BLOCKS_OF_8_BITS, 14 + 2 * BLOCKS_OF_8_BITS, False, False),
    "adamw-4bit": (BLOCKS_OF_4_BITS, BLOCKS_OF_4_BITS, 14 + 2 * BLOCKS_OF_4_BITS, False, False),
}
TEMPORARIES = {"adafactor": 8}  # bytes per element of the matrix that steps
STATES = {"weight": 2, "gradient": 4, "optimizer": 12, "gather": 2, "reduce": 4}


def strategy_of(document, model):
    """A strategy from the fields that differ from the defaults."""
    s = Record(**{**DEFAULTS, "seq": model.seq, **document})
    s.states = Record(**{**STATES, **document.get("states", {})})
    matrix, outer, moved, s.orthogonalizes, s.deals_matrices = OPTIMIZERS[s.optimizer]
    s.states.optimizer += matrix - OPTIMIZERS["adamw"][0]
    s.optimizer_on_device = "8bit" in s.optimizer or "4bit" in s.optimizer  # of bitsandbytes and torchao
    s.outer_states, s.optimizer_traffic = outer - matrix, moved / OPTIMIZERS["adamw"][2]
    s.microbatches = s.global_batch // (s.micro_batch * s.dp)
    s.ranks = s.tp * s.cp * s.pp * s.dp
    s.learning = 1
    if s.adapter_rank > 0:
        freeze(s, model)
    return s


# ---- adapters -------------------------------------------------------------------------------

def recurrence_features(layer, h):
    n, P = layer.state_heads, layer.state_value_size
    K, D = layer.state_key_heads * layer.state_key_size, n * P
    if layer.mixer == "mamba1":
        read = layer.step_rank + 2 * layer.state_key_size
        return h + 2 * n + (layer.step_rank + n) + (n + read) + n + h
    kimi = 3 * D + n + sum(D if full else P + (P + D) for full in (layer.full_decay, layer.full_gate))
    first, inner = {"gated_delta": (2 * K + 2 * D + 2 * n, D), "kimi_delta": (kimi, D),
                    "lightning": (4 * D, D), "convolution": (3 * n, n)}[layer.mixer]
    return h + first + inner + h


def attention_features(layer, h):
    if layer.mixer == "none":
        return 0
    if layer.mixer == "parallel":
        return sum(attention_features(part, h) for part in models.both_parts(layer))
    if layer.mixer == "shared":
        up = 2 if layer.gated else 1
        block = (2 * h + models.shared_block(layer, h)[1] + layer.heads * layer.d_v + h
                 + h + up * layer.ffn + layer.ffn + h)
        return (2 * h + (0 if layer.borrowed_block else block)
                + attention_features(models.both_parts(layer)[1], h))
    if layer.mixer == "mamba2":
        d, b, n = models.mamba2_sizes(layer)
        return h + (2 * d + b + n) + d + h
    if layer.mixer in models.RECURRENCES:
        return recurrence_features(layer, h)
    n, n_kv, d_qk, d_v = layer.heads, layer.kv_heads, layer.d_qk, layer.d_v
    out = n * d_v + h
    if layer.mixer == "compressed":
        r, low = layer.q_rank, layer.out_groups * layer.out_rank
        return (h + r) + (r + n * d_v) + (h + d_v) + (n * d_v + low) + (low + h)
    if not layer.latent:
        gate = (n * d_v if layer.output_gate else 0) + (n if layer.head_gate else 0)
        positions = h + n * d_qk if layer.relative_positions else 0
        return h + n * d_qk + n_kv * models.key_value_outputs(layer) + gate + positions + out
    q, kv = layer.q_rank, layer.kv_rank
    queries = (h + q) + (q + n * d_qk) if q else h + n * d_qk
    return queries + (h + kv + layer.rope_size) + (kv + n * (layer.nope_size + d_v)) + out


def ffn_features(layer, h):
    experts = layer.feed_forward == "experts"
    width = layer.shared_experts * layer.shared_ffn if experts else layer.ffn
    width = 0 if layer.feed_forward == "none" else width
    up = 2 if layer.gated else 1
    return (h + up * width) + (width + h) if width else 0


def apart_attention_features(layer, h):
    """Matrices of the mixer one by one; recurrences have those that are apart."""
    mixer = models.Record(**dict(vars(layer), feed_forward="none", experts=0))
    sums = [count * (rows + columns) for _, count, rows, columns in parameters.matrices_of(mixer, h)]
    return sum(sums) if sums else attention_features(layer, h)


def apart_ffn_features(layer, h):
    if layer.feed_forward == "dense":
        return (3 if layer.gated else 2) * (h + layer.ffn)
    return ffn_features(layer, h)


def freeze(s, model):
    """Leaves only the adapters to learn: bytes of states are those of what learns."""
    adapted = {"attention": attention_features, "ffn": ffn_features}
    if s.adapter_bytes:  # every linear has its own
        adapted = {"attention": apart_attention_features, "ffn": apart_ffn_features}
    features = sum(adapted[module](layer, model.hidden)
                   for layer in model.layers for module in s.adapter_modules)
    s.learning = s.adapter_rank * features / models.model_parameters(model).total
    s.states.weight += s.learning * (s.adapter_bytes or s.states.weight)
    s.states.gather *= 1 + s.learning
    for learned in ("gradient", "reduce", "optimizer"):
        setattr(s.states, learned, getattr(s.states, learned) * s.learning)
    s.outer_states = 0


# ---- placement ------------------------------------------------------------------------------

def largest_divisor(n, limit):
    return next(d for d in range(min(n, max(limit, 1)), 0, -1) if n % d == 0)


def place(system, size, stride):
    """A group: its size, and the ranks within one domain of each tier; the last may hold fewer."""
    parts, node = place_equally(system, size, stride), system.tiers[0].size
    full = node // stride
    if len(system.tiers) < 2 or parts.within[0] in (size, full) or full == 0 or node % stride:
        return parts
    if (size - 1) % min(full, size) + 1 <= parts.within[0]:
        return parts
    inner = [min(size, (tier.size - 1) // stride + 1) for tier in system.tiers[:-1]]
    return Record(size=size, within=inner + [size])


def place_equally(system, size, stride):
    within, above = [], size
    for i, tier in reversed(list(enumerate(system.tiers))):
        if i < len(system.tiers) - 1:
            above = largest_divisor(above, tier.size // stride)
        within.insert(0, above)
    return Record(size=size, within=within)


def place_parts(system, size, stride, count, apart):
    """The group of `count` parts of `size` ranks, `apart` from one to the next."""
    if count == 1 or apart == size * stride:
        return place(system, size * count, stride)
    within, part, parts = [], size, count
    for i, tier in reversed(list(enumerate(system.tiers))):
        if i < len(system.tiers) - 1:
            part = largest_divisor(part, tier.size // stride)
            parts = largest_divisor(parts, tier.size // apart) if part == size else 1
        within.insert(0, part * parts)
    return Record(size=size * count, within=within)


def place_in_stage(system, s, size, stride):
    """A group of the ranks of a stage, counted on their own."""
    block = s.tp * s.cp
    if s.order == "tp-cp-dp-pp" or s.pp == 1:
        return place(system, size, stride)
    inside = gcd(size, block // stride) if block % stride == 0 else 1
    apart = block * s.pp * max(1, stride // block)
    return place_parts(system, inside, stride, size // inside, apart)


def group_of(system, s, kind):
    data = s.dp * s.cp
    expert = s.ep * s.etp
    stage = s.tp * s.cp * (s.dp if s.order == "tp-cp-dp-pp" else 1)
    if kind == "tensor":
        return place(system, s.tp, 1)
    if kind == "context":
        return place(system, s.cp, s.tp)
    if kind == "pipeline":
        return place(system, s.pp, stage)
    if kind == "ends":
        return place(system, 2, stage * (s.pp - 1))
    size, stride = {
        "data": (data, s.tp),
        "shard": (data // s.replicas, s.tp),
        "replica": (s.replicas, s.tp * data // s.replicas),
        "expert": (s.ep, s.etp),
        "expert_tensor": (s.etp, 1),
        "expert_data": (s.tp * data // expert, expert),
        "expert_shard": (s.tp * data // expert // s.replicas, expert),
    }[kind]
    return place_in_stage(system, s, size, stride)


# ---- stages ---------------------------------------------------------------------------------

def chunks_per_rank(s):
    return 2 if s.schedule in V_SHAPED + ("dualpipe",) else s.vp


def stage_count(s):
    if s.schedule in V_SHAPED:
        return 2 * s.pp
    return s.pp if s.schedule == "dualpipe" else s.pp * s.vp


def stage_at(s, rank, chunk):
    if s.schedule in V_SHAPED:
        return rank if chunk == 0 else 2 * s.pp - 1 - rank
    if s.schedule == "dualpipe":
        return rank if chunk == 0 else s.pp - 1 - rank
    return chunk * s.pp + rank


def share_out(units, stages, take):
    """Gives `units` to the stages, in the order of the model, the first ones one more."""
    for i, stage in enumerate(stages):
        take[stage] = units // len(stages) + (1 if i < units % len(stages) else 0)


def units_of_stages(s, layers):
    """Layers of every stage, and what counts as a layer."""
    if s.layout:
        return list(s.layout)
    stages = stage_count(s)
    held = 1 if s.schedule == "dualpipe" else chunks_per_rank(s)
    first = sorted(stage_at(s, 0, i) for i in range(held) if s.first_stage_layers)
    last = sorted(stage_at(s, s.pp - 1, i) for i in range(held) if s.last_stage_layers)
    others = [i for i in range(stages) if i not in first + last]
    units = layers + s.count_embedding + s.count_head
    take = {}
    share_out(s.first_stage_layers, first, take)
    share_out(s.last_stage_layers, last, take)
    share_out(units - s.first_stage_layers - s.last_stage_layers, others, take)
    return [take[i] for i in range(stages)]


def layout_by_weight(model, stages):
    """nanotron's layout: by the weights that the products of a layer read for a token."""
    weights = [models.layer_parameters(model, layer).gemm for layer in model.layers]
    whole = sum(weights) + model.vocab * model.hidden
    layout, stage, done = [0] * stages, 0, 0
    for weight in weights:
        layout[stage] += 1
        done += weight
        if stage + 1 < stages and done * stages >= whole * (stage + 1):
            stage += 1
    return layout


def stages_of(model, s):
    """What every stage holds: its layers, and whether embedding, head and MTP modules."""
    units = units_of_stages(s, len(model.layers))
    count = len(units)
    mtp = count - 2 if s.mtp_before_head and count > 1 else count - 1
    stages, begin = [], -int(s.count_embedding)
    for i, unit in enumerate(units):
        end = begin + unit
        stages.append(Record(layers=model.layers[max(begin, 0):max(end, 0)],
                             embedding=i == 0, head=i == count - 1, mtp=i == mtp))
        begin = end
    return stages


def chunks_of_ranks(model, s):
    """The stages that each rank holds."""
    stages = stages_of(model, s)
    return [[stages[stage_at(s, rank, i)] for i in range(chunks_per_rank(s))]
            for rank in range(s.pp)]
