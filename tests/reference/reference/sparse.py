# SPDX-License-Identifier: Apache-2.0
"""docs/method/layers.md, "Attention to picked keys": the indexer and the attention behind it."""

from math import ceil, floor

from reference import kernels, precision


def has_indexer(layer):
    known = layer.sparse or layer.mixer == "compressed"
    return known and layer.index_heads > 0 and not layer.index_shared


def index_matrices(layer, h):
    if not has_indexer(layer):
        return 0
    weights = layer.index_heads if layer.latent else 0
    return ((layer.q_rank or h) * layer.index_heads * layer.index_size
            + h * (layer.index_size + weights))


def index_parameters(layer, h):
    return index_matrices(layer, h) + (2 * layer.index_size if has_indexer(layer) else 0)


def selected_span(keys, s):
    return (s + 1) / 2 if s <= keys else keys - keys * (keys - 1) / (2 * s)


def pair_flops(layer):
    """Of a query head and a key: scores and values, scores alone."""
    if layer.latent:
        return 2 * (2 * layer.kv_rank + layer.rope_size), 2 * (layer.kv_rank + layer.rope_size)
    return 2 * (layer.d_qk + layer.d_v), 2 * layer.d_qk


def index_flops(layer):
    return 2 * layer.index_heads * (layer.index_size + (1 if layer.latent else 0))


def counted_flops(layer, h, s, whole):
    """Training FLOPs per token of a convention; `whole`: it counts the whole square."""
    seen = s if whole else (s + 1) / 2
    picked = min(layer.index_keys, s) if whole else selected_span(layer.index_keys, s)
    both, scores = pair_flops(layer)
    flops = 3 * picked * layer.heads * both
    if has_indexer(layer):
        flops += seen * index_flops(layer) + picked * (2 * index_flops(layer) + layer.heads * scores)
        flops -= 2 * index_matrices(layer, h)
    return flops


def detached(x, form, M, N, K):
    """A linear whose input passes no gradient on."""
    c, stack, a = x.c, x.c.stack, x.c.accelerator
    low = precision.is_low(form)
    share = stack.low_gemm_share if low else stack.gemm_share
    accumulate = max(2 * c.strategy.states.gradient - c.element, 0)
    accumulate = 0 if stack.accumulation_bytes > 0 else accumulate
    x.forward["linear layers"] += kernels.gemm(a, form, M, N, K) / share
    x.flops_forward += 2 * M * N * K
    if not c.frozen:
        weights = kernels.gemm(a, form, N, K, M, accumulate) / share
        x.backward["linear layers"] += weights
        x.weight_seconds += weights
        x.weight_kernels += 1
        x.flops_backward += 2 * M * N * K
    if low:
        size = c.formats.passes * c.formats.cast_input
        x.stream("casts", size * M * K, 0 if c.frozen else size * M * N)
    x.low_dense += x.low_weights("linear layers", form, N * K, 0)


def work(x, forward, flops, share, size=0, kernels_of_pass=1):
    """A kernel at shares of the peaks of matrix engine and memory."""
    c, a = x.c, x.c.accelerator
    seconds = kernels_of_pass * a.kernel + max(
        flops / (a.gemm[c.wide].peak * share), size / (a.memory_bandwidth * a.sparse["select_share"]))
    (x.forward if forward else x.backward)["attention"] += seconds
    if forward:
        x.flops_forward += flops
    else:
        x.flops_backward += flops


def document_of(s):
    return s.document if 0 < s.document < s.seq else s.seq


def add_index(x, layer, teacher):
    c, s, T = x.c, x.c.strategy, x.c.T
    D = document_of(s)
    visited, seen = min(layer.index_keys, D), (D + 1) / 2
    if not has_indexer(layer):
        x.save(4 * T * visited)
        return
    queries, h = layer.index_heads * layer.index_size, c.model.hidden
    weights = layer.index_heads if layer.latent else 0
    detached(x, s.precision, T, queries, layer.q_rank or h)
    detached(x, c.wide, T, layer.index_size + weights, h)
    turned = 2 * c.element * T * (queries + layer.index_size)
    x.stream("memory-bound ops", turned, s.learning * turned)
    add_index_work(x, layer, seen, visited, index_flops(layer), teacher,
                   queries + layer.index_size, weights)


def add_gathers(x, layer, width):
    c, n = x.c, x.c.strategy.cp
    if n > 1:
        size = c.element * c.T * n * (width + (layer.index_size if has_indexer(layer) else 0))
        gather = c.collective("all_gather", size, "context")
        x.comm("CP comm", gather, gather + c.collective("reduce_scatter", size, "context"))
        x.send("context", (n - 1) / n * size, 2 * (n - 1) / n * size)


def latent_core(x, layer):
    s, heads = x.c.strategy, layer.heads / x.c.strategy.tp
    picked_core(x, x.c.T * min(layer.index_keys, document_of(s)) * heads * pair_flops(layer)[0],
                heads)


def grouped_core(x, layer):
    c, s = x.c, x.c.strategy
    D = document_of(s)
    flops = c.T * selected_span(layer.index_keys, D) * layer.heads / s.tp * pair_flops(layer)[0]
    ratio = (3 * layer.d_qk + 2 * layer.d_v) / (layer.d_qk + layer.d_v)
    heads = s.micro_batch * s.seq / D * layer.heads / s.tp
    group, seq = layer.heads / max(layer.kv_heads, s.tp), min(layer.index_keys, D)
    for forward, work_done, share in zip((True, False), (flops, flops * ratio), c.attention_rates):
        (x.forward if forward else x.backward)["attention"] += kernels.attention(
            c.accelerator, work_done, seq, heads, layer.d_qk, group, share, not forward)
    x.flops_forward += flops
    x.flops_backward += flops * ratio


def temporaries(c, layer):
    return 4 * min(c.T, 4096) * c.strategy.seq if has_indexer(layer) else 0


# ---- compressed attention (DeepSeek-V4) -----------------------------------------------------

def picks(layer):
    return layer.index_keys > 0


def compressor(layer, size):
    """Elements of a token, and vectors."""
    width = (2 if picks(layer) else 1) * 2 * size
    return width, layer.compress_ratio * width // 2 + size


def compressed_whole(layer, h):
    """Matrices and vectors that every tensor rank has."""
    matrices, vectors = h * (layer.q_rank + layer.d_qk), layer.q_rank + layer.d_qk
    if layer.compress_ratio:
        width, more = compressor(layer, layer.d_qk)
        matrices, vectors = matrices + h * width, vectors + more
    if picks(layer):
        width, more = compressor(layer, layer.index_size)
        matrices += (h * width + layer.q_rank * layer.index_heads * layer.index_size
                     + h * layer.index_heads)
        vectors += more
    return matrices, vectors


def compressed_split(layer, h):
    inner = layer.heads * layer.d_qk
    return layer.q_rank * inner + inner * layer.out_rank + layer.out_groups * layer.out_rank * h


def compressed_entries(layer, s):
    """Entries that a query attends to, and that a kernel visits."""
    m = layer.compress_ratio
    if not m:
        return 0, 0
    if not picks(layer):
        return s / (2 * m), s / (2 * m)
    k = min(layer.index_keys, s / m)
    return k * (1 - m * k / (2 * s)), k


def compressed_flops(layer, s):
    pairs = layer.heads * (layer.window + compressed_entries(layer, s)[0]) * 2 * layer.d_qk
    scores = s / layer.compress_ratio * layer.index_heads * layer.index_size if picks(layer) else 0
    return 6 * (pairs + scores)


def compressed_matrices(layer, h):
    inner, r = layer.heads * layer.d_qk, layer.q_rank
    yield "dense", 1, r, h
    yield "dense", 1, inner, r
    yield "dense", 1, layer.d_qk, h
    yield "dense", layer.out_groups, layer.out_rank, inner / layer.out_groups
    yield "dense", 1, h, layer.out_groups * layer.out_rank
    if layer.compress_ratio:
        yield "dense", 1, compressor(layer, layer.d_qk)[0], h
    if picks(layer):
        yield "dense", 1, compressor(layer, layer.index_size)[0], h
        yield "dense", 1, layer.index_heads * layer.index_size, r


def add_index_work(x, layer, seen, visited, each, teacher, kept, weights):
    c, s, T, rates = x.c, x.c.strategy, x.c.T, x.c.accelerator.sparse
    x.save(4 * T * visited)
    work(x, True, T * seen * each, rates["index_share"])
    work(x, True, 0, rates["index_share"], 8 * T * seen)
    if c.frozen:
        return
    work(x, True, T * visited * teacher, rates["core_share"])
    work(x, False, 2 * T * visited * each, rates["index_share"])
    if s.tp > 1:
        size = 4 * T * visited
        x.comm("TP comm", c.collective("all_reduce", size, "tensor"), 0)
        x.send("tensor", 2 * (s.tp - 1) / s.tp * size, 0)
    x.save(c.element * T * kept + 4 * T * weights)


def picked_core(x, flops, heads):
    a = x.c.accelerator
    tile = a.sparse["head_tile"]
    share = a.sparse["core_share"] * heads / (ceil(heads / tile) * tile)
    work(x, True, flops, share)
    work(x, False, 2.5 * flops, share * a.attention_backward / a.attention_forward, 0, 3)


def add_compressed(x, layer):
    c, s, T, h, t, e = x.c, x.c.strategy, x.c.T, x.c.model.hidden, x.c.strategy.tp, x.c.element
    d, r, n, D = layer.d_qk, layer.q_rank, layer.heads / t, document_of(s)
    again = c.recomputes("core_attention")
    x.adapted_linear("attention", T, r, h)
    x.adapted_linear("attention", T, d, h)
    before = x.copy()
    x.adapted_linear("attention", T, n * d, r)
    if c.recomputes("mla_up"):
        x.repeat(before)
    x.save(e * T * (r + 2 * d) + c.kept_input("attention") * T * r)
    x.save(e * T * n * d, c.recomputes("mla_up"))
    x.stream("memory-bound ops", *[2 * e * T * (n * d + d)] * 2)
    if layer.compress_ratio:
        width = compressor(layer, d)[0]
        x.linear("linear layers", c.wide, T, width, h)
        x.stream("memory-bound ops", e * T * width, 2 * e * T * width)
        x.save(e * T * width)
    visited = compressed_entries(layer, D)[1]
    if picks(layer):
        queries = layer.index_heads * layer.index_size
        width = compressor(layer, layer.index_size)[0]
        detached(x, s.precision, T, queries, r)
        detached(x, c.wide, T, width + layer.index_heads, h)
        add_index_work(x, layer, D / (2 * layer.compress_ratio), visited,
                       2 * layer.index_heads * (layer.index_size + 1), 2 * n * d, queries + width,
                       layer.index_heads)
    add_gathers(x, layer, d)
    before = x.copy()
    picked_core(x, 4 * T * (min(layer.window, D) + visited) * n * d, n)
    if again:
        x.repeat(before)
    low = layer.out_groups * layer.out_rank / t
    x.adapted_linear("attention", T, low, layer.heads * d / layer.out_groups)
    x.adapted_linear("attention", T, h, low, summed=True)
    x.save(e * T * n * d + 4 * T * n, again)
    x.save(c.kept_input("attention") * T * low)


# ---- hyper-connections ----------------------------------------------------------------------

def connection_parameters(n, h):
    """Of a layer, and of the end of the model."""
    maps = n * n + 2 * n
    return (2 * (maps * n * h + maps + 3), n * n * h + n + 1) if n else (0, 0)


def add_connections(x, layer):
    c, n, h = x.c, x.c.model.streams, x.c.model.hidden
    if not n:
        return
    before = x.copy()
    sites = (layer.mixer != "none") + (layer.feed_forward != "none")
    for _ in range(sites):
        x.linear("linear layers", c.wide, c.T_s, n * n + 2 * n, n * h)
    size = c.element * c.H
    x.stream("memory-bound ops", sites * (n + 1) * size, sites * (2 * n + 1) * size)
    x.stream("memory-bound ops", sites * (2 * n + 1) * size, sites * (3 * n + 2) * size)
    if not c.recomputes("mhc"):
        x.save(sites * n * size)
        return
    x.repeat(before)
    block = max(1, floor((n * len(c.model.layers) / (n + 2)) ** 0.5 + 0.5))
    x.save((sites + n / block) * size)
    x.save(block * sites * n * size, True)
