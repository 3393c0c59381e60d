# SPDX-License-Identifier: Apache-2.0
"""docs/method/layers.md: the operators of dense and sparse attention on one rank."""

from math import inf

from reference import kernels, models, sparse


def widths_of(layer, t):
    """Elements per token on a rank of queries, keys, values and output."""
    n = layer.heads / t
    n_kv = n if layer.latent else max(layer.kv_heads / t, 1)
    return n * layer.d_qk, n_kv * layer.d_qk, n_kv * layer.d_v, n * layer.d_v


def add_latent_projections(x, layer):
    c, s = x.c, x.c.strategy
    T, h = c.T, c.model.hidden
    q, y, z, _ = widths_of(layer, s.tp)
    rank, q_rank = layer.kv_rank, layer.q_rank
    up = c.recomputes("mla_up")
    if q_rank:
        x.adapted_linear("attention", T, q_rank, h)
    x.adapted_linear("attention", T, rank + layer.rope_size, h)
    before = x.copy()
    x.adapted_linear("attention", T, q, q_rank or h)
    x.adapted_linear("attention", T, layer.heads / s.tp * layer.nope_size + z, rank)
    if up:
        x.repeat(before)
    x.save(c.element * T * (q_rank + rank + layer.rope_size))
    x.save(c.kept_input("attention") * T * (q_rank + rank))
    x.save(c.element * T * (q if layer.sparse else q + y + z), up)
    turned = q + (rank + layer.rope_size if layer.sparse else y)
    x.stream("memory-bound ops", *[2 * c.element * T * turned] * 2)


def add_grouped_projections(x, layer):
    c, s = x.c, x.c.strategy
    T, h = c.T, c.model.hidden
    q, y, z, o = widths_of(layer, s.tp)
    gate = (o if layer.output_gate else 0) + (layer.heads / s.tp if layer.head_gate else 0)
    operators = c.recomputes("operators")
    y, z = (0, 0) if layer.kv_source == "borrowed" else (y, z)
    made = z if layer.kv_source == "own" else 0
    x.adapted_linear("attention", T, q + y + made + gate, h,
                     modules=1 + (bool(y) + bool(made) if s.adapter_bytes > c.element else 0))
    if y:
        x.product_again(T, y, h)
    before = x.copy()
    passed = c.stack.qk_passes * c.element * T * (q + y)
    x.save(c.element * T * (q + z + gate))
    x.save(c.element * T * y, operators)
    x.unsaved += c.element * T * q if operators else 0
    if layer.relative_positions:
        x.adapted_linear("attention", T, q, h)
    elif not c.model.learned_positions:
        x.stream("memory-bound ops", *[2 * passed] * 2)
    if layer.qk_norm != "none":
        x.stream("memory-bound ops", 2 * passed, 3 * passed)
        x.save((c.element + c.wide_norm(c.element)) * T * (q + y), c.recomputes("norm"))
    if operators:
        x.repeat(before)


def in_8_bits(s):
    return s.attention_kernel in ("cudnn_fp8", "cudnn_mxfp8")


def kernel_ratio(c, layer, flops, group, D, backward, seconds):
    """Time of the strategy's kernel over that of the stack's, of which a pass takes `seconds`."""
    s, a = c.strategy, c.accelerator
    if s.attention_kernel in ("usual", c.stack.attention_kernel):
        return 1
    d, d_v = layer.d_qk, layer.d_v
    pair = 2 * (3 * d + 2 * d_v) if backward else 2 * (d + d_v)
    q = D if s.cp_kind == "ulysses" else min(D, s.seq / s.cp)
    rows = c.T * layer.heads / s.tp
    window = layer.window if 0 < layer.window < D else 0
    k = D if window else max(flops / (rows * pair) + q / 2, q)

    def alone(library):
        return kernels.flash(a, library, rows / q, group, q, k, d, d_v, window, True, False,
                             backward, True)
    mine, usual = alone(s.attention_kernel), inf
    if c.stack.attention_kernel in a.flash:
        usual = alone(c.stack.attention_kernel)
    return mine / (usual if usual < inf else seconds)


def add_flash(x, layer):
    c, s = x.c, x.c.strategy
    D = s.document if 0 < s.document < s.seq else s.seq
    sequences = s.micro_batch * s.seq / D
    flops = sequences * models.attention_flops(layer, D) / (s.tp * s.cp)
    ratio = (3 * layer.d_qk + 2 * layer.d_v) / (layer.d_qk + layer.d_v)
    seq = seen = models.window_of(layer, D)
    if s.cp_kind == "ring":
        seq = seen / s.cp if D == s.seq else min(seen, s.seq / s.cp)
    heads = sequences * layer.heads / (s.tp * (s.cp if s.cp_kind == "ulysses" else 1))
    group = layer.heads / max(layer.kv_heads, s.tp)
    causal = seq if s.cp_kind == "ring" and s.cp > 1 else min(2 * seen, D)
    ramps = (1 + c.accelerator.ramp / seq) / (1 + c.attention_ramp / causal)
    for backward, share in zip((False, True), c.attention_rates):
        times = x.backward if backward else x.forward
        work = flops * (ratio if backward else 1)
        seconds = kernels.attention(c.accelerator, work, seq, heads, layer.d_qk, group,
                                    share * ramps, backward)
        times["attention"] += seconds * kernel_ratio(c, layer, work, group, D, backward, seconds)
    if in_8_bits(s):
        q, y, z, o = widths_of(layer, s.tp)
        x.stream("casts", 3 * c.T * (q + y + z), 3 * c.T * (q + y + z + o))
    if c.model.alibi:
        bias = c.width * c.stack.bias_bytes * sequences * layer.heads / s.tp * D * D / s.cp
        x.stream("attention", bias, bias)
    x.flops_forward += flops
    x.flops_backward += flops * ratio


def add_unfused(x, layer):
    c, s = x.c, x.c.strategy
    d_qk, d_v = layer.d_qk, layer.d_v
    queries, keys = s.seq / s.cp, s.seq
    batch = s.micro_batch * layer.heads / s.tp
    slow = (11 if c.element * d_qk % 16 else 1) / c.stack.gemm_share

    def seconds(n, k):
        return slow * kernels.gemm(c.accelerator, c.wide, queries, n, k, batch=batch)

    x.forward["attention"] += seconds(keys, d_qk) + seconds(d_v, keys)
    x.backward["attention"] += seconds(keys, d_v) + seconds(d_v, keys) + 2 * seconds(d_qk, keys)
    scores = batch * queries * keys
    x.flops_forward += 2 * scores * (d_qk + d_v)
    x.flops_backward += 4 * scores * (d_qk + d_v)
    x.stream("attention", c.width * c.stack.score_forward * scores,
             c.width * c.stack.score_backward * scores)
    each = 2 * c.element + 1 if c.stack.dropout_bytes > 0 else c.element
    each += 4 if c.stack.wide_softmax and c.element < 4 else 0
    each += c.element if layer.capped_scores else 0
    x.save(each * scores, c.recomputes("core_attention"))


def add_context_parallel(x, layer):
    c, s, stack = x.c, x.c.strategy, x.c.stack
    q, y, z, o = widths_of(layer, s.tp)
    each = 1 if s.cp_kind == "ring" and in_8_bits(s) else c.element
    n, kv, out = s.cp, each * c.T * (y + z), c.element * c.T * o
    qkv = c.element * c.T * q + kv
    if n == 1:
        return
    if s.cp_kind == "ring" and stack.ring_gathers:
        pairs = c.T * (q + o)
        gather, step = c.collective("all_gather", n * c.element * pairs, "context"), c.collective("send", 4 * pairs, "context")
        local, local_back = x.forward["attention"] / n, x.backward["attention"] / n
        x.comm("CP comm", max(0, gather - local),
               max(0, gather - local_back) + step + max(0, (n - 1) * (step - local_back)))
        x.stream("CP comm", (n - 1) * (8 + c.element) * c.T * o,
                 (n - 1) * ((8 + c.element) * c.T * q + (16 + c.element) * pairs))
        x.send("context", (n - 1) * c.element * pairs, (n - 1) * c.element * pairs + n * 4 * pairs)
    elif s.cp_kind == "ring":
        send = (n - 1) * c.collective("send", kv, "context")
        beside = (n - 1) / n
        x.comm("CP comm", max(0, send - beside * x.forward["attention"]),
               max(0, 2 * send - beside * x.backward["attention"]))
        merge = (n - 1) * out / c.element * (c.element + 8)
        x.stream("CP comm", merge, merge)
        x.send("context", (n - 1) * kv, 2 * (n - 1) * kv)
    elif s.cp_kind == "all_gather":
        gather = c.collective("all_gather", n * kv, "context")
        x.comm("CP comm", gather, gather + c.collective("reduce_scatter", n * kv, "context"))
        x.send("context", (n - 1) * kv, 2 * (n - 1) * kv)
    else:
        once = (c.collective("all_to_all", qkv, "context")
                + c.collective("all_to_all", out, "context"))
        x.comm("CP comm", once, once)
        x.send("context", (n - 1) / n * (qkv + out), (n - 1) / n * (qkv + out))
        x.save(out, c.recomputes("core_attention"))


def add_attention(x, layer):
    (add_latent_projections if layer.latent else add_grouped_projections)(x, layer)
    add_core(x, layer)


def add_core(x, layer):
    """Attention behind its projections, context parallelism and the output projection."""
    c, s = x.c, x.c.strategy
    T, h = c.T, c.model.hidden
    o = widths_of(layer, s.tp)[3]
    again = c.recomputes("core_attention")
    before = x.copy()
    (add_flash if s.flash_attention else add_unfused)(x, layer)
    add_context_parallel(x, layer)
    if again:
        x.repeat(before)
    before = x.copy()
    x.adapted_linear("attention", T, h, o, summed=True, held=True)
    x.product_again(T, h, o, True)
    if c.recomputes("attn_proj"):
        x.projects_again = True
        x.repeat(before)
        if s.tp > 1:
            x.backward["recompute"] += c.reduce
            x.send("tensor", 0, (1 if s.sp else 2) * c.element * T * h * (s.tp - 1) / s.tp)
    unsaved = again and s.flash_attention
    x.save(c.element * T * o, unsaved)
    x.save(4 * T * layer.heads / s.tp if s.flash_attention else 0, unsaved)
    x.save(c.formats.saved_input * T * o if c.low and not c.frozen else 0, unsaved)


def add_sparse(x, layer):
    c, s, T, t = x.c, x.c.strategy, x.c.T, x.c.strategy.tp
    y, z, o = widths_of(layer, t)[1:]
    again, n = c.recomputes("core_attention"), layer.heads / t
    key = layer.kv_rank + layer.rope_size
    (add_latent_projections if layer.latent else add_grouped_projections)(x, layer)
    if layer.latent:
        x.save(c.element * T * n * key, c.recomputes("mla_up"))
        x.save(c.element * T * key)
    sparse.add_index(x, layer, n * sparse.pair_flops(layer)[1])
    sparse.add_gathers(x, layer, key if layer.latent else y + z)
    before = x.copy()
    (sparse.latent_core if layer.latent else sparse.grouped_core)(x, layer)
    if again:
        x.repeat(before)
    x.adapted_linear("attention", T, c.model.hidden, o, summed=True)
    x.product_again(T, c.model.hidden, o, True)
    x.save(c.element * T * (n * layer.kv_rank if layer.latent else o), again)
    x.save(4 * T * n, again)
    if layer.latent:
        x.save(c.kept_input("attention") * T * o, again)
    else:
        x.save(c.formats.saved_input * T * o if c.low and not c.frozen else 0, again)
