# SPDX-License-Identifier: Apache-2.0
"""docs/method/models.md: parameters and model FLOPs."""

from types import SimpleNamespace as Record

from reference import sparse


def norm_weights(model):
    h = model.hidden
    return {"rms": h, "layer": 2 * h, "layer_no_bias": h, "layer_no_weight": 0}[model.norm]


def key_value_outputs(layer):
    """Elements that a layer projects to for a head of keys and values."""
    return {"own": layer.d_qk + layer.d_v, "keys": layer.d_qk, "borrowed": 0}[layer.kv_source]


def attention_matrices(layer, h):
    n, n_kv, d_qk, d_v = layer.heads, layer.kv_heads, layer.d_qk, layer.d_v
    matrices = n * d_v * h
    if layer.latent:
        q, kv = layer.q_rank, layer.kv_rank
        matrices += h * q + q * n * d_qk if q else h * n * d_qk
        matrices += h * (kv + layer.rope_size) + kv * n * (layer.nope_size + d_v)
    else:
        matrices += h * n * d_qk + h * n_kv * key_value_outputs(layer)
        matrices += h * n if layer.head_gate else 0
    matrices += h * n * d_v if layer.output_gate else 0
    matrices += h * n * d_qk if layer.relative_positions else 0
    return matrices + sparse.index_matrices(layer, h)


def attention_vectors(layer, h):
    n, n_kv, d_qk, d_v = layer.heads, layer.kv_heads, layer.d_qk, layer.d_v
    vectors = (n if layer.sinks else 0) + (h if layer.bias_out else 0)
    vectors += 2 * layer.index_size if sparse.has_indexer(layer) else 0
    if layer.latent:
        down = layer.q_rank + layer.kv_rank
        return vectors + down + (down + layer.rope_size if layer.bias_qkv else 0)
    vectors += n * d_qk + n_kv * key_value_outputs(layer) if layer.bias_qkv else 0
    keys = 0 if layer.kv_source == "borrowed" else 1
    vectors += {"none": 0, "head": (1 + keys) * d_qk,
                "full": (n + keys * n_kv) * d_qk, "head_bias": 2 * (1 + keys) * d_qk}[layer.qk_norm]
    return vectors


def mamba2_sizes(layer):
    """Inner width, outputs of B and C, heads."""
    n = layer.state_heads
    return n * layer.state_value_size, 2 * layer.state_key_heads * layer.state_key_size, n


def both_parts(layer):
    """Attention and Mamba-2 of a layer that has them side by side."""
    return [Record(**dict(vars(layer), mixer=mixer)) for mixer in ("grouped", "mamba2")]


def shared_block(layer, h):
    """Weights of a shared block that a layer computes with: attention on 2 h, and a network."""
    n, d_qk, d_v = layer.heads, layer.d_qk, layer.d_v
    made = n * d_qk + layer.kv_heads * (d_qk + d_v)
    return 2 * h * made + n * d_v * h + (3 if layer.gated else 2) * h * layer.ffn, made


def shared_adapters(layer, h):
    """Inputs of the adapters of a use, which tensor ranks do not split, and their outputs."""
    r, made = layer.block_adapter_rank, shared_block(layer, h)[1]
    queries = layer.attention_adapters
    return (r * (h + (6 * h if queries else 0)),
            r * ((2 if layer.gated else 1) * layer.ffn + (made if queries else 0)))


def shared_own(layer, h):
    """What every use of a shared block has for itself: a projection and adapters."""
    return h * h + sum(shared_adapters(layer, h))


# Matrices, vectors, GEMM weights as counted, forward FLOPs in place of core attention.

def gated_delta(layer, h):
    n, P = layer.state_heads, layer.state_value_size
    K, V = layer.state_key_heads * layer.state_key_size, n * P
    matrices = h * (2 * K + 2 * V + 2 * n) + V * h
    vectors = (2 * K + V) * (layer.conv_width + layer.conv_bias) + 2 * n + P
    return matrices, vectors, matrices + (2 * K + V) * layer.conv_width, 8 * n * P**2


def kimi_delta(layer, h):
    n, P = layer.state_heads, layer.state_value_size
    D, low = n * P, h * P + P * n * P
    decay = h * D if layer.full_decay else low
    matrices = 4 * h * D + h * n + decay + (h * D if layer.full_gate else low)
    vectors = 3 * D * (layer.conv_width + layer.conv_bias) + n + D + P
    return matrices, vectors, 5 * h * D + h * n + decay + 3 * D * layer.conv_width, 8 * n * P**2


def lightning(layer, h):
    n, P = layer.state_heads, layer.state_value_size
    return 5 * h * n * P, n * P, 5 * h * n * P, 4 * n * P**2


def convolution(layer, h):
    n, taps = layer.state_heads, layer.conv_width
    vectors = n * taps + (4 * n + h if layer.conv_bias else 0)
    return 4 * h * n, vectors, 4 * h * n, (2 * taps + 2) * n


def mamba1(layer, h):
    d, N, r = layer.state_heads, layer.state_key_size, layer.step_rank
    read = r + 2 * N
    matrices = 2 * h * d + d * read + r * d + d * h
    vectors = d * (layer.conv_width + layer.conv_bias) + d + d * N + d
    return matrices, vectors + (read if layer.inner_norms else 0), matrices, 9 * d * N


RECURRENCES = {"mamba1": mamba1, "gated_delta": gated_delta, "kimi_delta": kimi_delta, "lightning": lightning,
               "convolution": convolution}


def mixer_matrices(layer, h):
    if layer.mixer == "parallel":
        return sum(mixer_matrices(part, h) for part in both_parts(layer))
    if layer.mixer == "shared":
        return (mixer_matrices(both_parts(layer)[1], h) + shared_block(layer, h)[0]
                + shared_own(layer, h))
    if layer.mixer == "compressed":
        return sparse.compressed_whole(layer, h)[0] + sparse.compressed_split(layer, h)
    if layer.mixer == "none":
        return 0
    if layer.mixer == "mamba2":
        d, b, n = mamba2_sizes(layer)
        return h * (2 * d + b + n) + d * h
    if layer.mixer in RECURRENCES:
        return RECURRENCES[layer.mixer](layer, h)[0]
    return attention_matrices(layer, h)


def mixer_vectors(layer, h):
    if layer.mixer == "parallel":
        return sum(mixer_vectors(part, h) for part in both_parts(layer))
    if layer.mixer == "shared":
        return mixer_vectors(both_parts(layer)[1], h)
    if layer.mixer == "compressed":
        return sparse.compressed_whole(layer, h)[1] + (layer.heads if layer.sinks else 0)
    if layer.mixer == "none":
        return 0
    if layer.mixer == "mamba2":
        d, b, n = mamba2_sizes(layer)
        norm = 0 if layer.bare_output else d
        return (d + b) * (layer.conv_width + layer.conv_bias) + 3 * n + norm
    if layer.mixer in RECURRENCES:
        return RECURRENCES[layer.mixer](layer, h)[1]
    return attention_vectors(layer, h)


def norms_of(model, layer):
    """Norms over the residual stream."""
    norms = model.norms_per_layer
    return (norms + 1) // 2 if "none" in (layer.mixer, layer.feed_forward) else norms


def reached(layer):
    """Experts with weights that a token reaches."""
    experts = layer.experts
    return layer.top_k * experts / (experts + layer.zero_experts) if experts else 0


def layer_parameters(model, layer):
    h, g = model.hidden, 3 if layer.gated else 2
    p = Record(ffn=0, experts=0, each=0, shared=0, router=0)
    p.gemm = mixer_matrices(layer, h)
    p.attention = p.gemm + mixer_vectors(layer, h)
    p.norms = (norms_of(model, layer) + (model.layer_embedding > 0)) * norm_weights(model)
    p.norms += sparse.connection_parameters(model.streams, h)[0]
    p.norms += model.layer_scalar
    if layer.mixer == "shared" and layer.borrowed_block:
        p.attention -= shared_block(layer, h)[0]
    elif layer.mixer == "shared":
        p.norms += 2 * h + h
    p.ffn += 2 * h * model.layer_embedding
    p.gemm += 2 * h * model.layer_embedding
    if layer.feed_forward == "experts":
        width, seen = layer.expert_ffn, layer.expert_latent or h
        shared = layer.shared_experts * g * h * layer.shared_ffn + 2 * h * layer.expert_latent
        p.each = g * seen * width + ((g - 1) * width + seen if layer.expert_bias else 0)
        p.experts = layer.experts * p.each
        p.shared = shared + (h if layer.shared_gate else 0)
        p.router = (h + (1 if layer.router_bias else 0)) * (layer.experts + layer.zero_experts)
        p.router += h + layer.experts if layer.router_scales else 0
        p.gemm += int(reached(layer) * (g * seen * width)) + shared
    elif layer.feed_forward == "dense":
        width = layer.ffn
        p.ffn += g * h * width + ((g - 1) * width + h if layer.ffn_bias else 0)
        p.ffn += layer.activation_scalars
        p.gemm += g * h * width
    always = p.attention + p.ffn + p.shared + p.router + p.norms
    p.total = always + p.experts
    p.active = always + int(reached(layer) * p.each)
    return p


def model_parameters(model):
    h, norm, w = model.hidden, norm_weights(model), model.embedding_width
    table, projection = model.vocab * (w or h), w * h if w != h else 0
    second = len(model.layers) * model.layer_embedding
    each = [layer_parameters(model, layer) for layer in model.layers]
    p = Record()
    p.embedding = table + projection + (norm if model.embedding_norm else 0)
    p.embedding += second * (model.vocab + h) + model.layer_embedding
    p.positions = model.learned_positions * h
    p.head = (0 if model.tied else table) + projection + (model.vocab if model.head_bias else 0)
    p.final_norm = norm if model.final_norm else 0
    p.final_norm += sparse.connection_parameters(model.streams, h)[1]
    p.mtp_norms = 3 * norm + sparse.connection_parameters(model.streams, h)[1]
    ends = p.embedding + p.positions + p.head + p.final_norm
    p.total = ends + sum(layer.total for layer in each)
    p.active = ends + sum(layer.active for layer in each)
    p.without_embedding = p.active - (0 if model.tied else table) - second * model.vocab
    module = [layer_parameters(model, layer) for layer in model.module]
    own = 2 * h * h + p.mtp_norms
    p.mtp = model.mtp_layers * (sum(layer.total for layer in module) + own)
    p.mtp_active = model.mtp_layers * (sum(layer.active for layer in module) + own)
    return p


# ---- FLOPs ----------------------------------------------------------------------------------

def window_of(layer, s):
    return layer.window if 0 < layer.window < s else s


def causal_span(layer, s):
    """Keys that a query sees on average."""
    w = window_of(layer, s)
    if layer.chunked:
        n, r = divmod(s, w)
        return (n * w * w + r * r) / (2 * s)
    return w - w * w / (2 * s)


def pair_flops(layer):
    return 2 * layer.heads * (layer.d_qk + layer.d_v)


def attention_flops(layer, s):
    """Forward FLOPs of core attention for one sequence."""
    return pair_flops(layer) * s * causal_span(layer, s)


def layer_weights(model, layer):
    """GEMM weights of a layer as conventions count them."""
    if layer.mixer in ("mamba2", "parallel", "shared"):
        h = model.hidden
        _, b, n = mamba2_sizes(layer)
        own = mixer_matrices(Record(**dict(vars(layer), mixer="mamba2")), h)
        return layer_parameters(model, layer).gemm - own + h * (4 * h + b + n) + 2 * h * h
    if layer.mixer in RECURRENCES:
        own, _, counted, _ = RECURRENCES[layer.mixer](layer, model.hidden)
        return layer_parameters(model, layer).gemm - own + counted
    norms = layer.q_rank + layer.kv_rank if layer.latent else 0
    return layer_parameters(model, layer).gemm + norms


def counted_weights(model, convention, layers):
    p, h, mtp = model_parameters(model), model.hidden, model.mtp_layers
    if convention == "palm":
        return p.active + p.mtp_active
    if convention == "torchtitan":
        return p.without_embedding
    multiple = 1 if convention == "nanotron" else 128
    hybrid = any("none" in (layer.mixer, layer.feed_forward)
                 for layer in model.layers + model.module)
    joined = 0 if hybrid else 2 * h * h + 3 * h
    w = model.embedding_width
    head = (w or h) * (-(-model.vocab // multiple) * multiple)
    weights = sum(layer_weights(model, layer) for layer in layers) + head + 2 * w * h
    weights += h * len(model.layers) * model.layer_embedding
    return weights if convention == "nanotron" else weights + mtp * (joined + head)


def flops_per_token(model, s, convention, frozen=False):
    layers = model.layers
    if convention not in ("torchtitan", "nanotron"):
        layers = layers + model.module * model.mtp_layers
    span = {"megatron": lambda layer: s / 2,
            "megatron-bridge": lambda layer: causal_span(layer, s)}.get(convention, lambda layer: s)
    def mixing(layer):
        if layer.mixer in ("parallel", "shared"):
            return sum(mixing(part) for part in both_parts(layer))
        if layer.mixer == "compressed":
            return sparse.compressed_flops(layer, s) / 3
        if layer.mixer.startswith("sparse_"):
            whole = convention not in ("megatron", "megatron-bridge")
            return sparse.counted_flops(layer, model.hidden, s, whole) / 3
        if layer.mixer == "mamba2":
            return 7 * 2 * model.hidden * layer.state_key_size
        if layer.mixer in RECURRENCES:
            return RECURRENCES[layer.mixer](layer, model.hidden)[3]
        return pair_flops(layer) * span(layer) if layer.mixer != "none" else 0
    return ((4 if frozen else 6) * counted_weights(model, convention, layers)
            + 3 * sum(mixing(layer) for layer in layers))
