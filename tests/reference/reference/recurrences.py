# SPDX-License-Identifier: Apache-2.0
"""docs/method/layers.md: the operators of state-space and linear-attention mixers on one rank."""

from types import SimpleNamespace as Record

from reference import models


def delta_passes(c, rates, flops):
    s = c.strategy
    tokens = s.document if 0 < s.document < s.seq else s.seq
    return (rates.launch + tokens * rates.token + flops[0] / rates.rate,
            1.5 * rates.launch + 2 * tokens * rates.token + flops[1] / rates.rate)


def add_scan(x, flops, sizes, counts, kind="scan", rule=None):
    """Each of (forward, backward): FLOPs, bytes moved, kernels."""
    c, a, stack = x.c, x.c.accelerator, vars(x.c.stack)
    rate = a.gemm[c.wide].peak * stack[kind + "_flop_share"]
    bandwidth = a.memory_bandwidth * stack[kind + "_stream_share"]
    forward, backward = (max(flops[i] / rate, sizes[i] / bandwidth) + counts[i] * a.kernel
                         for i in range(2))
    rates = a.delta.get(rule) if c.element == 2 else None
    if rates and rates.rate > 0:
        forward, backward = delta_passes(c, rates, flops)
    x.comm("attention", forward, backward)
    x.flops_forward += flops[0]
    x.flops_backward += flops[1]


def add_head_exchange(x, sent, returned):
    c, n = x.c, x.c.strategy.cp
    if n > 1:
        once = (c.collective("all_to_all", sent, "context")
                + c.collective("all_to_all", returned, "context"))
        x.comm("CP comm", once, once)
        x.send("context", *[(n - 1) / n * (sent + returned)] * 2)


def add_mamba2(x, layer):
    c, T, h, t = x.c, x.c.T, x.c.model.hidden, x.c.strategy.tp
    e, N, Q, taps = c.element, layer.state_key_size, layer.chunk, layer.conv_width
    d, b, n = (size / t for size in models.mamba2_sizes(layer))
    groups, m = layer.state_key_heads / t, 2 * d + b + n
    r = max(c.strategy.cp / groups, 1)
    x.adapted_linear("attention", T, m, h)
    add_head_exchange(x, e * T * (m + (r - 1) * b), e * T * d)
    states = d * N / Q
    flops = (d * (4 * N + Q) + 2 * groups * Q * N + 2 * taps * (d + b),
             d * (10 * N + 3 * Q) + 6 * groups * Q * N + 4 * taps * (d + b))
    size = (2 * e * (d + b) + e * (d + b / 2) + 4 * states + (4 + e) * states
            + e * b + 4 * groups * Q + 2 * e * d + e * states + 4 * groups * Q
            + (2 if layer.bare_output else 4) * e * d + 2 * e * m + 2 * e * d)
    counts = (8, 16) if layer.bare_output else (9, 18)
    add_scan(x, [T * each for each in flops], (T * size, 2.5 * T * size), counts)
    x.adapted_linear("attention", T, h, d, summed=True)
    x.save(e * T * m + (1 if layer.bare_output else 2) * e * T * d)
    x.save(c.kept_input("attention") * T * d)


def recurrence_of(layer, e):
    """Sizes and work of a layer, per token: see docs/method/layers.md."""
    n, P, N, C = (layer.state_heads, layer.state_value_size, layer.state_key_size, layer.chunk)
    K, V, taps = layer.state_key_heads * N, n * P, layer.conv_width
    if layer.mixer == "gated_delta":
        m, conv = 2 * K + 2 * V + 2 * n, 2 * K + V
        size = e * n * (5.5 * (N + P) + 2 * C + 2 * N * P / C)
        return Record(
            m=m, inner=V, kind="delta", counts=(8, 12), launches=(16, 28), sizes=(size, 2.5 * size),
            flops=(n * (6 * N * P + 6 * C * N + 4 * C * P + C * C) + 2 * taps * conv,
                   n * (16 * N * P + 20 * C * N + 10 * C * P + 4 * C * C) + 4 * taps * conv),
            streams=(e * (2 * conv + 3 * V), e * (3 * conv + 5 * V)),
            kept=e * (m + conv + 2 * n * N + C * n + V) + (8 + e) * n, temporaries=2 * e * V * N / C)
    if layer.mixer == "kimi_delta":
        size = e * n * (11 * P + 2 * C + 2 * P * P / C)
        return Record(
            m=3 * V + n + (V if layer.full_decay else P) + (V if layer.full_gate else P), inner=V, kind="delta",
            counts=(10, 14), launches=(20, 34), sizes=(1.4 * size, 1.7 * 2.5 * size),
            flops=(n * (6 * P * P + 10 * C * P + C * C) + 6 * taps * V,
                   n * (16 * P * P + 30 * C * P + 4 * C * C) + 12 * taps * V),
            streams=(9 * e * V, 14 * e * V), kept=e * (11 * V + 2 * C * n),
            temporaries=2 * e * V * P / C)
    if layer.mixer == "lightning":
        flops, size = n * (4 * P * P + 4 * C * P), e * (4 * V + 2 * n * P * P / C)
        return Record(
            m=4 * V, inner=V, kind="delta", counts=(3, 6), launches=(9, 18),
            sizes=(size, 2.5 * size), flops=(flops, 2.5 * flops), streams=(3 * e * V, 5 * e * V),
            kept=5 * e * V, temporaries=2 * e * V * P / C)
    if layer.mixer == "mamba1":
        size, flops = e * (4 * n + 2 * N), 9 * n * N
        return Record(m=2 * n, inner=n, kind="scan", counts=(1, 1), launches=(8, 16),
                      sizes=(size, 2.5 * size),
                      flops=(flops + 2 * taps * n, 2.5 * flops + 4 * taps * n),
                      streams=(2 * e * n, 3 * e * n),
                      kept=e * (5 * n + layer.step_rank + 2 * N), temporaries=2 * e * n)
    flops = (2 * taps + 2) * n
    return Record(m=3 * n, inner=n, kind="scan", counts=(1, 1), launches=(5, 10),
                  sizes=(4 * e * n, 7 * e * n), flops=(flops, 2 * flops), streams=(0, 0),
                  kept=3 * e * n, temporaries=3 * e * n)


def add_recurrence(x, layer):
    c, T, h, t = x.c, x.c.T, x.c.model.hidden, x.c.strategy.tp
    r = recurrence_of(layer, c.element)
    if layer.mixer == "kimi_delta":
        for _ in range(2 - layer.full_decay - layer.full_gate):
            x.adapted_linear("attention", T, r.inner / t, layer.state_value_size)
    x.adapted_linear("attention", T, r.m / t, h)
    if layer.mixer == "mamba1":
        read = layer.step_rank + 2 * layer.state_key_size
        x.adapted_linear("attention", T, r.inner / t, layer.step_rank)
        x.adapted_linear("attention", T, read, r.inner / t, summed=True)
        if t > 1:
            size = c.element * T * read
            once = c.collective("all_reduce", size, "tensor")
            x.comm("TP comm", once, once)
            x.send("tensor", *[2 * size * (t - 1) / t] * 2)
    add_head_exchange(x, c.element * T * r.m / t, c.element * T * r.inner / t)
    add_scan(x, [T / t * each for each in r.flops], [T / t * each for each in r.sizes], r.counts,
             r.kind, {"gated_delta": "gated", "lightning": "gated", "kimi_delta": "kimi"}.get(layer.mixer))
    x.stream("memory-bound ops", *[T / t * each for each in r.streams])
    x.adapted_linear("attention", T, h, r.inner / t, summed=True)
    x.save(T / t * r.kept)
    x.save(c.kept_input("attention") * T * r.inner / t)
