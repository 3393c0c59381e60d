# SPDX-License-Identifier: Apache-2.0
"""docs/method/layers.md: the matrices and parameters of a layer on one rank."""

from reference import kernels, models, sparse


def matrices_of(layer, h):
    """(kind, count, rows, columns) of what Muon orthogonalizes one by one."""
    g, n = 3 if layer.gated else 2, layer.heads
    if layer.mixer == "parallel":
        yield from attention_matrices(layer, n, h)
    if layer.mixer == "shared":
        yield from shared_matrices(layer, h)
    if layer.mixer in ("mamba2", "parallel", "shared"):
        yield "dense", 1, h, models.mamba2_sizes(layer)[0]
    elif layer.mixer in models.RECURRENCES:
        yield "dense", 1, h, layer.state_heads * (layer.state_value_size or 1)
    elif layer.mixer == "compressed":
        yield from sparse.compressed_matrices(layer, h)
    elif layer.mixer != "none":
        yield from attention_matrices(layer, n, h)
    if layer.feed_forward == "experts":
        yield "experts", g * layer.experts, layer.expert_ffn, layer.expert_latent or h
        yield from [("dense", 2, layer.expert_latent, h)] if layer.expert_latent else []
        yield "dense", 1, layer.experts + layer.zero_experts, h
        if layer.shared_experts:
            yield "dense", g * layer.shared_experts, layer.shared_ffn, h
    elif layer.feed_forward != "none":
        yield "dense", g, layer.ffn, h


def shared_matrices(layer, h):
    """The projection of a use; of a block that the layer owns, its weights."""
    yield "dense", 1, h, h
    if not layer.borrowed_block:
        yield "dense", 1, layer.heads * layer.d_qk, 2 * h
        yield "dense", 1, layer.kv_heads * layer.d_qk, 2 * h
        yield "dense", 1, layer.kv_heads * layer.d_v, 2 * h
        yield "dense", 1, h, layer.heads * layer.d_v
        yield "dense", 3 if layer.gated else 2, layer.ffn, h


def attention_matrices(layer, n, h):
    d_qk, d_v = layer.d_qk, layer.d_v
    if layer.latent:
        q = layer.q_rank
        yield from [("dense", 1, q, h)] if q else []
        yield "dense", 1, n * d_qk, q or h
        yield "dense", 1, layer.kv_rank + layer.rope_size, h
        yield "dense", 1, n * (layer.nope_size + d_v), layer.kv_rank
    else:
        yield "dense", 2 if layer.relative_positions else 1, n * d_qk, h
        if layer.kv_source != "borrowed":
            yield "dense", 1, layer.kv_heads * d_qk, h
        if layer.kv_source == "own":
            yield "dense", 1, layer.kv_heads * d_v, h
        if layer.head_gate:
            yield "dense", 1, n, h
    yield "dense", 2 if layer.output_gate else 1, h, n * d_v
    if layer.sparse and sparse.has_indexer(layer):
        yield "dense", 1, layer.index_heads * layer.index_size, layer.q_rank or h
        yield "dense", 1, layer.index_size, h
        if layer.latent:
            yield "dense", 1, layer.index_heads, h


def orthogonalize(x, layer):
    """docs/method/optimizers.md: five Newton-Schulz steps on each matrix, gathered before."""
    c, s = x.c, x.c.strategy
    if not s.orthogonalizes or s.adapter_rank:
        return
    form = "bf16" if "bf16" in c.accelerator.gemm else s.precision
    for kind, count, rows, columns in matrices_of(layer, c.model.hidden):
        a, b = min(rows, columns), max(rows, columns)
        experts = kind == "experts"
        count = count / s.ep if experts else count
        batch, calls = (count, 1) if experts else (1, count)
        seconds = 5 * calls * sum(kernels.gemm(c.accelerator, form, *shape, 0, batch)
                                  for shape in ((a, a, b), (a, a, a), (a, b, a)))
        if (s.etp if experts else s.tp) > 1:
            seconds += c.collective("all_gather", 4 * count * rows * columns,
                                    "expert_tensor" if experts else "tensor")
        x.matrices[kind][0] += count
        x.matrices[kind][1] += seconds
    if layer.mixer in ("mamba2", "parallel", "shared") or layer.mixer in models.RECURRENCES:
        mixer = models.Record(**dict(vars(layer), feed_forward="none", experts=0))
        taken = sum(count * a * b for _, count, a, b in matrices_of(mixer, c.model.hidden))
        x.outer += (models.layer_parameters(c.model, layer).attention - taken) / s.tp


def count_parameters(x, layer):
    c, s, h = x.c, x.c.strategy, x.c.model.hidden
    p = models.layer_parameters(c.model, layer)
    whole = p.norms + p.router + 2 * h * c.model.layer_embedding
    if layer.feed_forward == "experts":
        whole += (h if layer.shared_gate else 0) + 2 * h * layer.expert_latent
    whole += h if layer.bias_out else 0
    whole += h if layer.ffn_bias and not layer.experts else 0
    whole += layer.activation_scalars if layer.feed_forward == "dense" else 0
    copies = 0
    if layer.mixer in ("mamba2", "none") or layer.mixer in models.RECURRENCES:
        pass
    elif layer.mixer == "shared":
        whole += h * h + models.shared_adapters(layer, h)[0]
    elif layer.mixer == "compressed":
        whole += sum(sparse.compressed_whole(layer, h))
    elif layer.latent:
        down = layer.q_rank + layer.kv_rank
        whole += (h + layer.bias_qkv) * (down + layer.rope_size) + down
    else:
        normed = 1 if layer.kv_source == "borrowed" else 2
        whole += normed * layer.d_qk * {"head": 1, "head_bias": 2}.get(layer.qk_norm, 0)
        missing = max(0, 1 - layer.kv_heads / s.tp)
        copies = (h + layer.bias_qkv) * models.key_value_outputs(layer) * missing
    if layer.mixer.startswith("sparse_"):
        whole += sparse.index_parameters(layer, h)
    whole += layer.step_rank + 2 * layer.state_key_size if layer.inner_norms else 0
    dense = p.attention + p.ffn + p.shared + p.router + p.norms
    orthogonalize(x, layer)
    x.whole = whole
    x.dense = whole + (dense - whole) / s.tp + copies
    x.experts = p.experts / (s.ep * s.etp)
