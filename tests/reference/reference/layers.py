# SPDX-License-Identifier: Apache-2.0
"""docs/method/layers.md: the operators of a layer, the embedding and the head on one rank."""

import copy
from math import ceil
from types import SimpleNamespace as Record

from reference import collectives, kernels, models, precision, sparse, strategies

PARTS = ("linear layers", "attention", "experts", "memory-bound ops", "casts", "head and loss",
         "host-bound", "recompute", "TP comm", "CP comm", "EP comm", "PP comm", "offloading",
         "pipeline bubble", "DP comm", "optimizer", "fixed")
LAYER_GROUPS = ("tensor", "context", "expert", "expert_tensor")


class Setting:
    """Model, system, stack and strategy, and what is the same in every layer."""

    def __init__(self, model, system, stack, strategy):
        s = strategy
        self.model, self.system, self.stack, self.strategy = model, system, stack, s
        self.accelerator = system.accelerator
        self.formats = precision.formats_of(s, system.accelerator, stack)
        self.wide = precision.wide(s)
        self.element = self.formats.activation
        self.width = self.element / 2  # stacks give bytes per element of 16 bits
        self.attention_rate = self.rate_of_attention()
        self.low = precision.is_low(s.precision)
        self.frozen = s.adapter_rank > 0
        self.T = s.micro_batch * s.seq / s.cp
        self.T_s = self.T / s.tp if s.sp else self.T
        self.H = self.T_s * model.hidden
        self.vocab = ceil(model.vocab / (128 * s.tp)) * 128 * s.tp
        self.table = self.vocab * (model.embedding_width or model.hidden) / s.tp
        self.groups = {kind: strategies.group_of(system, s, kind) for kind in LAYER_GROUPS}
        hidden = self.element * self.T * model.hidden
        self.gather = self.collective("all_gather", hidden, "tensor") if s.sp else 0
        self.reduce = self.collective("reduce_scatter" if s.sp else "all_reduce", hidden, "tensor")
        self.parameters = models.model_parameters(model)

    def rate_of_attention(self):
        """Of that in 16 bits."""
        a, form = self.accelerator, self.strategy.precision
        if not precision.is_full(form) or form not in a.gemm or "bf16" not in a.gemm:
            return 1
        full, half = a.gemm[form], a.gemm["bf16"]
        return full.peak * full.efficiency / (half.peak * half.efficiency)

    def collective(self, op, size, group):
        return collectives.seconds_of(self.system, op, size, self.groups[group])

    def stream(self, size):
        return kernels.stream(self.accelerator, size) / self.stack.stream_share

    def recomputes(self, module):
        s = self.strategy
        if s.recompute != "selective":
            return False
        by_operators = module in ("norm", "activation") and "operators" in s.recompute_modules
        return module in s.recompute_modules or by_operators


def launched(device, host):
    """Seconds of a pass whose kernels take `host` seconds to launch."""
    high = max(device, host)
    return high * ((device / high) ** 6 + (host / high) ** 6) ** (1 / 6) if host > 0 else device


class Block:
    """What one pass of a layer, of the embedding or of the head takes, sends and keeps."""

    def __init__(self, setting):
        self.c = setting
        self.forward = dict.fromkeys(PARTS, 0.0)
        self.backward = dict.fromkeys(PARTS, 0.0)
        self.weight_seconds = 0.0
        self.weight_kernels = 0
        self.apart_sums = self.apart_launches = 0.0
        self.hidden_forward = self.hidden_backward = 0.0
        self.flops_forward = self.flops_backward = self.flops_recompute = 0.0
        self.sent_forward = dict.fromkeys(("tensor", "context", "expert"), 0.0)
        self.sent_backward = dict.fromkeys(("tensor", "context", "expert"), 0.0)
        self.saved = self.late = self.unsaved = self.transient = self.wgrad_buffers = 0.0
        self.dense = self.whole = self.experts = self.low_dense = self.low_experts = 0.0
        self.adapters = 0
        self.matrices = {"dense": [0, 0.0], "experts": [0, 0.0]}  # how many, seconds

    def copy(self):
        setting, self.c = self.c, None
        twin = copy.deepcopy(self)
        self.c = twin.c = setting
        return twin

    @property
    def forward_seconds(self):
        return sum(self.forward.values())

    @property
    def backward_seconds(self):
        return sum(self.backward.values())

    # ---- operators

    def stream(self, part, forward, backward):
        """Memory-bound work on so many bytes each way."""
        self.forward[part] += self.c.stream(forward)
        self.backward[part] += self.c.stream(backward)

    def comm(self, part, forward, backward):
        self.forward[part] += forward
        self.backward[part] += backward

    def send(self, group, forward, backward):
        self.sent_forward[group] += forward
        self.sent_backward[group] += backward

    def save(self, size, unsaved=False):
        if unsaved:
            self.unsaved += size
        else:
            self.saved += size

    def gemms(self, part, form, groups, M, N, K):
        """The three GEMMs of a linear, plain or of `groups` experts, and its casts."""
        c, stack, a = self.c, self.c.stack, self.c.accelerator
        low = precision.is_low(form)
        share = stack.low_gemm_share if low else stack.gemm_share
        accumulate = 2 * c.strategy.states.gradient - c.element
        accumulate = 0 if stack.accumulation_bytes > 0 else accumulate
        if groups is None:
            def seconds(m, n, k, more=0):
                return kernels.gemm(a, form, m, n, k, more)
        else:
            share *= stack.expert_gemm_share

            def seconds(m, n, k, more=0):
                return kernels.grouped_gemm(a, form, groups, m, n, k, more)
        by_weight = 0 if c.frozen else seconds(N, K, M, accumulate) / share
        self.forward[part] += seconds(M, N, K) / share
        self.backward[part] += seconds(M, K, N) / share + by_weight
        self.weight_seconds += by_weight
        self.weight_kernels += 0 if c.frozen else 1
        flops = 2 * (groups or 1) * M * N * K
        self.flops_forward += flops
        self.flops_backward += (1 if c.frozen else 2) * flops
        if low:
            size = c.formats.passes * c.formats.cast_input
            rows = (groups or 1) * M
            self.stream("casts", size * rows * K, size * rows * N)

    def linear(self, part, form, M, N, K):
        self.gemms(part, form, None, M, N, K)
        self.low_dense += N * K if precision.is_low(form) else 0

    def adapter(self, M, M_s, N, K):
        r = self.c.strategy.adapter_rank
        self.stream("memory-bound ops", self.c.element * (M * K + 4 * M_s * N),
                    self.c.element * (2 * M_s * N + 5 * M * K))
        self.save(self.c.element * M * r)
        self.flops_forward += 2 * M * r * (N + K)
        self.flops_backward += 4 * M * r * (N + K)
        self.adapters += 1

    def adapted_linear(self, module, M, N, K, summed=False):
        """A linear of a module; its outputs may be summed over the tensor group."""
        c = self.c
        self.linear("linear layers", c.strategy.precision, M, N, K)
        if c.frozen and module in c.strategy.adapter_modules:
            self.adapter(M, M * c.T_s / c.T if summed else M, N, K)

    # ---- recomputation

    def repeat(self, before):
        """Runs again in backward what forward has added since `before`."""
        self.backward["recompute"] += self.forward_seconds - before.forward_seconds
        self.flops_recompute += self.flops_forward - before.flops_forward
        for group in self.sent_forward:
            self.sent_backward[group] += self.sent_forward[group] - before.sent_forward[group]

    def checkpoint(self, before):
        """The same, and keeps nothing of it."""
        self.repeat(before)
        self.unsaved += self.saved - before.saved
        self.saved, self.late = before.saved, before.late

    def product_again(self, M, N, K):
        """A product that recomputation by operators runs again."""
        if self.c.recomputes("operators"):
            again = Block(self.c)
            again.linear("linear layers", self.c.strategy.precision, M, N, K)
            self.backward["recompute"] += again.forward_seconds
            self.flops_recompute += again.flops_forward

    # ---- launches

    def floor_at_launches(self, forward, backward):
        c, s = self.c, self.c.strategy
        captured = 0 if s.graph_step else c.stack.graph_share if s.graph_capture else 1
        overlap = c.stack.overlap_launches if s.moe_overlap else 1
        more = c.stack.tp_kernels if s.tp > 1 else 0
        each = c.accelerator.launch * captured * overlap
        for way, count in (("forward", forward), ("backward", backward)):
            device, host = getattr(self, way + "_seconds"), (count + more) * each
            longer = launched(device + getattr(self, "hidden_" + way), host)
            setattr(self, "hidden_" + way, longer - launched(device, host))
        self.forward["host-bound"] += (
            launched(self.forward_seconds, (forward + more) * each) - self.forward_seconds)
        host, device = (backward + more) * each, self.backward_seconds
        self.backward["host-bound"] += launched(device, host) - device
        if host > 0 and self.weight_seconds > 0:
            own = min(self.weight_kernels * each, host)
            rest = launched(device - self.weight_seconds + self.apart_sums, host - own)
            self.weight_seconds = launched(self.weight_seconds, own)
            both = rest + self.weight_seconds
            self.apart_launches = max(0, both - self.apart_sums - launched(device, host))


# ---- attention ------------------------------------------------------------------------------

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
    x.save(c.formats.saved_input * T * (q_rank + rank))
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
    x.adapted_linear("attention", T, q + y + made + gate, h)
    if y:
        x.product_again(T, y, h)
    before = x.copy()
    x.save(c.element * T * (q + z + gate))
    x.save(c.element * T * y, operators)
    x.unsaved += c.element * T * q if operators else 0
    if layer.relative_positions:
        x.adapted_linear("attention", T, q, h)
    elif not c.model.learned_positions:
        x.stream("memory-bound ops", *[2 * c.element * T * (q + y)] * 2)
    if layer.qk_norm != "none":
        x.stream("memory-bound ops", 2 * c.element * T * (q + y), 3 * c.element * T * (q + y))
        x.save(c.element * T * (q + y), c.recomputes("norm"))
    if operators:
        x.repeat(before)


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
    x.forward["attention"] += kernels.attention(
        c.accelerator, flops, seq, heads, layer.d_qk, group,
        c.attention_rate * c.stack.attention_share, False)
    x.backward["attention"] += kernels.attention(
        c.accelerator, flops * ratio, seq, heads, layer.d_qk, group,
        c.attention_rate * c.stack.attention_backward_share, True)
    x.flops_forward += flops
    x.flops_backward += flops * ratio


def add_unfused(x, layer):
    c, s = x.c, x.c.strategy
    d_qk, d_v = layer.d_qk, layer.d_v
    queries, keys = s.seq / s.cp, s.seq
    batch = s.micro_batch * layer.heads / s.tp
    slow = (6 if c.element * d_qk % 16 else 1) / c.stack.gemm_share

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
    x.save(each * scores, c.recomputes("core_attention"))


def add_context_parallel(x, layer):
    c, s, stack = x.c, x.c.strategy, x.c.stack
    q, y, z, o = widths_of(layer, s.tp)
    n, kv, out = s.cp, c.element * c.T * (y + z), c.element * c.T * o
    qkv = c.element * c.T * q + kv
    if n == 1:
        return
    if s.cp_kind == "ring":
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
    c, s = x.c, x.c.strategy
    T, h = c.T, c.model.hidden
    o = widths_of(layer, s.tp)[3]
    again = c.recomputes("core_attention")
    (add_latent_projections if layer.latent else add_grouped_projections)(x, layer)
    before = x.copy()
    (add_flash if s.flash_attention else add_unfused)(x, layer)
    add_context_parallel(x, layer)
    if again:
        x.repeat(before)
    x.adapted_linear("attention", T, h, o, summed=True)
    x.product_again(T, h, o)
    unsaved = again and s.flash_attention
    x.save(c.element * T * o, unsaved)
    x.save(4 * T * layer.heads / s.tp if s.flash_attention else 0, unsaved)
    x.save(c.formats.saved_input * T * o if c.low else 0, unsaved)


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
    x.product_again(T, c.model.hidden, o)
    x.save(c.element * T * (n * layer.kv_rank if layer.latent else o), again)
    x.save(4 * T * n, again)
    x.save(c.formats.saved_input * T * o if layer.latent or c.low else 0, again)


# ---- recurrences ----------------------------------------------------------------------------

def add_scan(x, flops, sizes, counts, kind="scan"):
    """Each of (forward, backward): FLOPs, bytes moved, kernels."""
    c, a, stack = x.c, x.c.accelerator, vars(x.c.stack)
    rate = a.gemm[c.wide].peak * stack[kind + "_flop_share"]
    bandwidth = a.memory_bandwidth * stack[kind + "_stream_share"]
    forward, backward = (max(flops[i] / rate, sizes[i] / bandwidth) + counts[i] * a.kernel
                         for i in range(2))
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
            + 4 * e * d + 2 * e * m + 2 * e * d)
    add_scan(x, [T * each for each in flops], (T * size, 2.5 * T * size), (9, 18))
    x.adapted_linear("attention", T, h, d, summed=True)
    x.save(e * T * m + 2 * e * T * d)
    x.save(c.formats.saved_input * T * d)


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
            m=3 * V + n + P + (V if layer.full_gate else P), inner=V, kind="delta",
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
        for _ in range(1 if layer.full_gate else 2):
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
             r.kind)
    x.stream("memory-bound ops", *[T / t * each for each in r.streams])
    x.adapted_linear("attention", T, h, r.inner / t, summed=True)
    x.save(T / t * r.kept)
    x.save(c.formats.saved_input * T * r.inner / t)


# ---- feed-forward networks ------------------------------------------------------------------

def add_activation(x, part, layer, elements, inputs_unsaved):
    """`inputs_unsaved`: of its inputs, those that recomputation by operators recomputes."""
    c, s, stack = x.c, x.c.strategy, x.c.stack
    again = c.recomputes("activation")
    clamped = layer.clamped and not s.graph_step
    size = (stack.clamped_passes if clamped else stack.activation_passes) * c.element * elements
    before = x.copy()
    x.stream(part, size * (3 if layer.gated else 2), size * (5 if layer.gated else 3))
    if again:
        x.repeat(before)
    x.save(c.element * elements * ((2 if layer.gated else 1) - inputs_unsaved))
    x.save(c.element * elements * inputs_unsaved, True)
    x.save(c.element * elements if layer.gated and stack.keeps_activation else 0, again)
    x.save(c.formats.saved_input * elements, again)


def add_ffn(x, layer, width):
    c, T, h = x.c, x.c.T, x.c.model.hidden
    f = width / c.strategy.tp
    operators = layer.gated and c.recomputes("operators")
    x.adapted_linear("ffn", T, (2 if layer.gated else 1) * f, h)
    add_activation(x, "memory-bound ops", layer, T * f, 1 if operators else 0)
    x.adapted_linear("ffn", T, h, f, summed=True)
    if operators:
        x.product_again(T, f, h)
        x.save(c.element * T * h)


def expert_load(s):
    return s.capacity_factor if s.capacity_factor > 0 else s.imbalance


def expert_rows(c, layer):
    """Rows that reach the experts of one rank, all of them together."""
    s = c.strategy
    return c.T / s.tp * models.reached(layer) * s.etp * expert_load(s)


def copies_share(c, layer):
    """Copies of a token that are sent, over those without de-duplication."""
    group, k = c.groups["expert"], models.reached(layer)
    if not c.stack.deduplicates:
        return 1
    domains = group.size / group.within[0]
    reached = places = domains if domains > 1 else group.size
    if layer.route_groups:
        reached = min(layer.route_groups * max(places / layer.expert_groups, 1), places)
    return reached * (1 - (1 - 1 / reached) ** k) / k


def add_dispatch(x, layer):
    c, s, stack = x.c, x.c.strategy, x.c.stack
    elements = (c.T / s.tp * models.reached(layer) * (layer.expert_latent or c.model.hidden) * expert_load(s)
                * copies_share(c, layer))
    there, back = c.width * stack.dispatch_bytes * elements, c.element * elements
    once = c.collective("all_to_all", back, "expert")
    sums = [c.collective("all_to_all", there, "expert") + once, 2 * once]
    if layer.shortcut:
        sums = [max(0, seconds - passed["linear layers"] - passed["attention"])
                for seconds, passed in zip(sums, (x.forward, x.backward))]
    x.comm("EP comm", *sums)
    leaves = (s.ep - 1) / s.ep
    x.send("expert", (there + back) * leaves, 2 * back * leaves)


def add_experts(x, layer):
    c, s, stack, h = x.c, x.c.strategy, x.c.stack, x.c.model.hidden
    seen = layer.expert_latent or h
    local, width = layer.experts // s.ep, layer.expert_ffn / s.etp
    tokens, rows = c.T / s.tp, expert_rows(c, layer)
    up = 2 if layer.gated else 1
    operators = c.recomputes("operators")

    x.linear("experts", c.wide, tokens, layer.experts + layer.zero_experts, h)
    permuted = stack.permute_passes * 4 * c.element * rows / s.etp * seen
    x.stream("experts", permuted, permuted)
    x.comm("experts", stack.router_seconds, stack.router_seconds)
    add_dispatch(x, layer)
    if s.etp > 1:
        size = c.element * rows * seen
        once = (c.collective("all_gather", size, "expert_tensor")
                + c.collective("reduce_scatter", size, "expert_tensor"))
        x.comm("EP comm", once, once)
        x.send("expert", *[2 * size * (s.etp - 1) / s.etp] * 2)
    before = x.copy()
    x.gemms("experts", s.precision, local, rows / local, up * width, seen)
    if operators:
        x.repeat(before)
    add_activation(x, "experts", layer, rows * width, up if operators else 0)
    x.gemms("experts", s.precision, local, rows / local, seen, width)
    x.low_experts += local * (up + 1) * width * seen if c.low else 0
    x.save((4 + c.element) * tokens * (layer.experts + layer.zero_experts))
    x.save(c.formats.saved_input * rows * seen)
    if layer.expert_latent:
        x.linear("experts", s.precision, tokens, seen, h)
        x.linear("experts", s.precision, tokens, h, seen)
        x.save(2 * c.formats.saved_input * tokens * seen)
    if layer.shared_experts:
        add_ffn(x, layer, layer.shared_experts * layer.shared_ffn)


# ---- norms and tensor parallelism -----------------------------------------------------------

def norm_output_bytes(c, layer):
    outputs = min(models.norms_of(c.model, layer), 2)
    if c.low and layer.experts:
        return (outputs if layer.shared_experts else 1) * c.formats.saved_input + c.element
    return outputs * c.formats.saved_input


def add_norms(x, layer):
    c, stack, norms = x.c, x.c.stack, models.norms_of(x.c.model, layer)
    again = c.recomputes("norm")
    before = x.copy()
    x.stream("memory-bound ops", norms / 2 * stack.norm_forward * c.width * c.H,
             norms / 2 * stack.norm_backward * c.width * c.H)
    if again:
        x.repeat(before)
    x.stream("memory-bound ops", *[stack.dropout_bytes * c.width * c.H] * 2)
    x.save(c.element * c.H)
    x.save((norms - 1) * c.element * c.H, c.recomputes("operators"))
    tokens = max(stack.gathered_share * c.T, c.T_s) if stack.keeps_gathered else c.T_s
    output = norm_output_bytes(c, layer) * c.model.hidden
    x.save(output * tokens, again)
    x.late += 0 if again else output * (tokens - c.T_s)
    x.save(2 * c.H if stack.dropout_bytes > 0 else 0)


def visible(seconds, share, window):
    return max(share * seconds, seconds - window)


def tensor_regions(c, layer):
    if c.model.parallel_block:
        return 1
    on_shards = layer.experts and not layer.shared_experts and c.strategy.etp == 1
    network = 0 if layer.feed_forward == "none" or on_shards else 1
    return (layer.mixer != "none") + network


def add_tensor_parallel(x, layer):
    c, s, stack = x.c, x.c.strategy, x.c.stack
    if s.tp == 1:
        return
    regions = tensor_regions(c, layer)
    G, R = regions * c.gather, regions * c.reduce
    group = c.groups["tensor"]
    user_buffers = s.tp_overlap and group.within[0] == group.size
    most = stack.tp_overlap_exposed if user_buffers else 1
    forward, backward, reduce = (min(most, share) for share in (
        stack.tp_forward_exposed, stack.tp_backward_exposed, stack.tp_reduce_exposed))
    operators = c.recomputes("operators")
    regathers = not stack.keeps_gathered or operators
    F, both = x.forward["linear layers"], x.backward["linear layers"]
    B, B_w = (both, 0) if c.frozen else (both / 2, both / 2)
    gathers, sums = visible(G, backward, B), visible(R, reduce, B_w)
    again = 0
    if regathers and not operators:
        again = visible(G, stack.regather_exposed, B - (G - gathers))
    x.apart_sums = R - sums
    x.comm("TP comm", visible(G + R, forward, F), gathers + sums + again)
    if operators and s.sp:
        x.backward["recompute"] += visible(G, forward, x.backward["recompute"])
    sent = regions * c.element * c.T * c.model.hidden * (s.tp - 1) / s.tp
    x.send("tensor", 2 * sent, (3 if s.sp and regathers else 2) * sent)


# ---- parameters and memory ------------------------------------------------------------------

def matrices_of(layer, h):
    """(kind, count, rows, columns) of what Muon orthogonalizes one by one."""
    g, n = 3 if layer.gated else 2, layer.heads
    if layer.mixer == "mamba2":
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
    elif layer.mixer == "compressed":
        whole += sum(sparse.compressed_whole(layer, h))
    elif layer.latent:
        down = layer.q_rank + layer.kv_rank
        whole += (h + layer.bias_qkv) * (down + layer.rope_size) + down
    else:
        normed = 1 if layer.kv_source == "borrowed" else 2
        whole += normed * layer.d_qk if layer.qk_norm == "head" else 0
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


def layer_temporaries(c, layer):
    s, up = c.strategy, 2 if layer.gated else 1
    if layer.experts:
        inner = up * layer.expert_ffn / s.etp * expert_rows(c, layer)
    else:
        inner = up * layer.ffn / s.tp * c.T
    if layer.mixer == "mamba2":
        states = layer.state_heads * layer.state_value_size * layer.state_key_size / layer.chunk
        kept = 2 * (4 + 2) * states / s.tp * c.T
        return max(c.element * inner, kept) + c.element * c.T * c.model.hidden
    if layer.mixer in models.RECURRENCES:
        kept = recurrence_of(layer, c.element).temporaries / s.tp * c.T
        return max(c.element * inner, kept) + c.element * c.T * c.model.hidden
    if layer.mixer.startswith("sparse_") or layer.mixer == "compressed":
        kept = sparse.temporaries(c, layer)
        return max(c.element * inner, kept) + c.element * c.T * c.model.hidden
    scores = 0 if s.flash_attention else (
        2 * s.micro_batch * layer.heads / s.tp * s.seq**2 / s.cp)
    return c.element * max(inner, scores) + c.element * c.T * c.model.hidden


def add_accumulation(x):
    c = x.c
    learning = c.strategy.learning * (x.dense + x.experts)
    x.stream("memory-bound ops", 0, c.stack.accumulation_bytes * learning)


def add_layer_launches(x, layer, checkpointed):
    c, s, stack = x.c, x.c.strategy, x.c.stack
    if layer.experts:
        each = stack.expert_kernels + (stack.expert_cast_kernels if c.low else 0)
        each *= stack.capacity_launches if s.capacity_factor > 0 else 1
        experts = layer.experts / s.ep * each
        forward = stack.moe_kernels_forward + experts
        backward = stack.moe_kernels_backward + stack.expert_backward_launches * experts
    else:
        forward, backward = stack.kernels_forward, stack.kernels_backward
        if layer.feed_forward == "none":
            forward, backward = forward * 7 / 12, backward * 7 / 12
    own = {"mamba2": (13, 26), "none": (0, 0)}.get(layer.mixer)
    if layer.mixer in models.RECURRENCES:
        own = recurrence_of(layer, c.element).launches
    if sparse.has_indexer(layer):
        forward, backward = forward + 9, backward + 9
    if own:
        forward += own[0] - stack.kernels_forward * 7 / 12
        backward += own[1] - stack.kernels_backward * 7 / 12
    forward += 4 * x.adapters
    backward += 8 * x.adapters
    x.floor_at_launches(forward, backward + (forward if checkpointed else 0))


def overlap_exchange(x):
    """All-to-all of each pass beside what the other pass of another microbatch computes."""
    stack, slowdown = x.c.stack, x.c.stack.exchange_slowdown if x.c.stack.deduplicates else 1
    own = [x.forward["EP comm"], x.backward["EP comm"]]
    computed = [x.forward_seconds - own[0], x.backward_seconds - own[1]]
    if not x.c.strategy.moe_overlap or own[0] <= 0:
        return
    for way, exchange, beside in (("forward", own[0], computed[1]),
                                  ("backward", own[1], computed[0])):
        together = min(slowdown * exchange, beside)
        lost = slowdown * exchange - together + stack.exchange_cores * together
        getattr(x, way)["EP comm"] = min(exchange, lost)
        setattr(x, "hidden_" + way, exchange - min(exchange, lost))


def finish_layer(x, layer, checkpointed):
    c, x = x.c, x.copy()
    add_accumulation(x)
    overlap_exchange(x)
    add_layer_launches(x, layer, checkpointed)
    x.transient = layer_temporaries(c, layer)
    expert = x.experts / (layer.experts / c.strategy.ep) if layer.experts else 0
    x.wgrad_buffers = c.strategy.learning * c.width * c.stack.wgrad_bytes * (x.dense + expert)
    return x


def add_layer_embedding(x, p):
    c = x.c
    x.adapted_linear("ffn", c.T_s, p, c.model.hidden)
    x.stream("memory-bound ops", 3 * c.element * c.T_s * p, 5 * c.element * c.T_s * p)
    x.adapted_linear("ffn", c.T_s, c.model.hidden, p)
    x.save(2 * c.element * c.T_s * p)
    x.save(c.formats.saved_input * c.T_s * (c.model.hidden + p))


def layer_blocks(c, layer):
    """A layer as the strategy recomputes it, and the same checkpointed whole."""
    x = Block(c)
    special = {"none": lambda *_: None, "mamba2": add_mamba2}
    special.update(dict.fromkeys(models.RECURRENCES, add_recurrence))
    special.update(dict.fromkeys(("sparse_latent", "sparse_grouped"), add_sparse))
    special["compressed"] = sparse.add_compressed
    special.get(layer.mixer, add_attention)(x, layer)
    before = x.copy()
    if layer.experts:
        add_experts(x, layer)
    elif layer.feed_forward == "dense":
        add_ffn(x, layer, layer.ffn)
    if c.recomputes("moe" if layer.experts else "mlp"):
        x.checkpoint(before)
    if c.model.layer_embedding:
        add_layer_embedding(x, c.model.layer_embedding)
    add_norms(x, layer)
    sparse.add_connections(x, layer)
    add_tensor_parallel(x, layer)
    count_parameters(x, layer)
    usual = finish_layer(x, layer, False)
    x.checkpoint(Block(c))
    x.save(max(c.model.streams, 1) * c.element * c.H)
    return usual, finish_layer(x, layer, True)


# ---- embedding, head, multi-token prediction ------------------------------------------------

def add_width_projection(x):
    """Between a narrow embedding and the hidden state."""
    c = x.c
    if c.model.embedding_width:
        x.linear("head and loss", c.wide, c.T_s, c.model.embedding_width, c.model.hidden)
        x.save(c.element * c.T_s * c.model.embedding_width)


def embedding_block(c):
    x, s = Block(c), c.strategy
    size = c.element * c.T * c.model.hidden
    x.stream("head and loss", 2 * size, 0 if c.frozen else 8 * c.T * c.model.hidden)
    if s.tp > 1:
        sent = size * (s.tp - 1) / s.tp
        x.comm("TP comm", c.reduce, 0 if c.frozen else c.gather)
        x.send("tensor", (1 if s.sp else 2) * sent, sent if s.sp and not c.frozen else 0)
    p, h = c.parameters, c.model.hidden
    second = len(c.model.layers) * c.model.layer_embedding
    if second:
        x.linear("head and loss", c.wide, c.T_s, second, h)
        each = c.element * c.T_s * second
        x.stream("head and loss", 6 * each, 0 if c.frozen else 6 * each)
        x.save(2 * each)
    add_width_projection(x)
    split = second * c.model.vocab
    x.whole = p.positions + p.embedding - c.model.vocab * (c.model.embedding_width or h) - split
    x.dense = c.table + x.whole + split / s.tp
    add_accumulation(x)
    return x


def head_block(c):
    x, s, stack = Block(c), c.strategy, c.stack
    width = c.vocab / s.tp
    logits = c.T * width
    x.linear("head and loss", c.wide, c.T, width, c.model.embedding_width or c.model.hidden)
    add_width_projection(x)
    loss, kept = stack.loss_bytes, stack.logit_bytes
    if precision.is_full(s.precision):
        loss, kept = max(loss, 16), max(kept, 4)
    x.stream("head and loss", loss / 2 * logits + c.width * stack.norm_forward / 2 * c.H,
             loss / 2 * logits + c.width * stack.norm_backward / 2 * c.H)
    size = c.element * c.T * c.model.hidden
    if s.tp > 1:
        loss = 3 * c.collective("all_reduce", 4 * c.T, "tensor")
        x.comm("TP comm", c.gather + loss, c.reduce)
        leaves = (s.tp - 1) / s.tp
        x.send("tensor", ((size if s.sp else 0) + 24 * c.T) * leaves,
               (1 if s.sp else 2) * size * leaves)
    x.whole = c.parameters.final_norm + c.model.embedding_width * c.model.hidden
    x.dense = c.table + x.whole + (width if c.model.head_bias else 0)
    add_accumulation(x)
    x.floor_at_launches(stack.kernels_forward, stack.kernels_backward)
    x.save(2 * c.element * c.H + kept * logits)
    x.transient = size + s.learning * c.width * stack.wgrad_bytes * c.table
    return x


def mtp_block(c):
    """What a module of multi-token prediction has besides a layer and the head."""
    x, s, h = Block(c), c.strategy, c.model.hidden
    x.linear("linear layers", s.precision, c.T, h / s.tp, 2 * h)
    x.stream("memory-bound ops", 1.5 * c.width * c.stack.norm_forward * c.H,
             1.5 * c.width * c.stack.norm_backward * c.H)
    x.whole = c.parameters.mtp_norms
    x.dense = 2 * h * h / s.tp + x.whole
    add_accumulation(x)
    x.save(3 * c.element * c.H)
    x.save(2 * c.formats.saved_input * c.H)
    return x
