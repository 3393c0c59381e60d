# SPDX-License-Identifier: Apache-2.0
"""docs/method/layers.md: a layer on one rank: mixer, network, norms, tensor parallelism."""

from reference import (attention, feed_forward, models, operators, parameters, recurrences,
                       sparse)


def norm_output_bytes(c, layer):
    outputs = min(models.norms_of(c.model, layer), 2)
    if c.frozen:
        mixer = 0 if layer.mixer == "none" else c.kept_input("attention")
        bare = layer.feed_forward == "none" or layer.experts and not layer.shared_experts
        return min(mixer + (0 if bare else c.kept_input("ffn")), outputs * c.element)
    if c.autocasts:  # each linear reads a cast of its own
        mixer = 0 if layer.mixer == "none" else 3
        network = {"none": 0}.get(layer.feed_forward, 2 if layer.gated else 1)
        return (mixer + network) * c.formats.saved_input
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
    alone = layer.mixer != "parallel"  # beside attention, a recurrence projects too
    projected = min(norms / 2, norms - 1) if x.projects_again and alone else 0
    x.save(projected * c.element * c.H, True)
    x.save((norms - 1 - projected) * c.element * c.H, c.recomputes("operators"))
    tokens = max(stack.gathered_share * c.T, c.T_s) if stack.keeps_gathered else c.T_s
    output = norm_output_bytes(c, layer) * c.model.hidden
    x.save(c.wide_norm(c.residual) * norms * c.H)
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
    return {"none": 0, "shared": 3}.get(layer.mixer, 1) + network


def add_tensor_parallel(x, layer):
    c, s, stack = x.c, x.c.strategy, x.c.stack
    if s.tp == 1:
        return
    regions = tensor_regions(c, layer)
    G, R = regions * c.region_gather, regions * c.reduce
    copies = regions * (c.region_copy + c.reduce_copy)
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
        again = visible(G, stack.regather_exposed, B - (G - gathers)) + regions * c.region_copy
    x.apart_sums = R - sums
    shown = visible(G + R, forward, F)
    x.comm("TP comm", shown + copies, gathers + sums + again + copies)
    if x.stops:
        x.spared.forward["TP comm"] += shown * c.reduce / (G + R) + c.reduce_copy
        x.spared.sent_forward["tensor"] += ((1 if s.sp else 2) * c.element * c.T * c.model.hidden
                                            * (s.tp - 1) / s.tp)
    if operators and s.sp:
        x.backward["recompute"] += visible(G, forward, x.backward["recompute"]) + regions * c.region_copy
    sent = regions * c.element * c.T * c.model.hidden * (s.tp - 1) / s.tp
    gathered = sent / c.element if c.gathers_cast else sent
    once = sent + gathered if s.sp else 2 * sent
    x.send("tensor", once, once + (gathered if s.sp and regathers else 0))


def layer_temporaries(c, layer, behind):
    """`behind`: what the network keeps, which is free when backward comes to the mixer."""
    behind = 0 if c.model.parallel_block else behind
    s, up = c.strategy, 2 if layer.gated else 1
    output = (1 + (c.stack.layer_tensors if c.frozen else 0)) * c.element * c.T * c.model.hidden
    if layer.experts:
        inner = feed_forward.expert_temporaries(c, layer)
    else:
        up += c.stack.inner_tensors if layer.gated and c.frozen else 0
        inner = up * layer.ffn / s.tp * c.T / feed_forward.tiles(c)
    if layer.mixer in ("parallel", "shared"):
        return max(layer_temporaries(c, part, behind) for part in models.both_parts(layer))
    if layer.mixer == "mamba2":
        states = layer.state_heads * layer.state_value_size * layer.state_key_size / layer.chunk
        kept = 2 * (4 + 2) * states / s.tp * c.T
        return max(c.element * inner, kept - behind) + output
    if layer.mixer in models.RECURRENCES:
        kept = recurrences.recurrence_of(layer, c.element).temporaries / s.tp * c.T
        return max(c.element * inner, kept - behind) + output
    if layer.mixer.startswith("sparse_") or layer.mixer == "compressed":
        kept = sparse.temporaries(c, layer)
        return max(c.element * inner, kept - behind) + output
    wide = max(c.element, 4)
    each = 3 * wide - (c.element if wide > c.element else 0) if c.stack.wide_softmax else 2 * c.element
    scores = 0 if s.flash_attention else (
        each * s.micro_batch * layer.heads / s.tp * s.seq**2 / s.cp)
    ring = 0
    if s.cp > 1 and s.cp_kind == "ring" and c.stack.ring_gathers and layer.mixer != "none":
        q, y, z, _ = attention.widths_of(layer, s.tp)
        ring = c.T * (s.cp * c.element * (y + z) + (c.element + 4) * (q + y + z) + 8 * (y + z))
    return max(c.element * inner, scores + ring - behind) + output


def add_accumulation(x):
    c = x.c
    learning = c.strategy.learning * (x.dense + x.experts)
    x.stream("memory-bound ops", 0, c.stack.accumulation_bytes * learning)


def add_layer_launches(x, layer, checkpointed):
    c, s, stack = x.c, x.c.strategy, x.c.stack
    loose = [0, 0]
    if layer.experts:
        each = stack.expert_kernels + (stack.expert_cast_kernels if c.low else 0)
        each *= stack.capacity_launches if c.pads_experts else 1
        experts = layer.experts / s.ep * each
        sorts = s.ep * s.etp > 1 and not s.capacity_factor and not stack.deduplicates
        exchange = stack.exchange_kernels if sorts else 0
        forward = stack.moe_kernels_forward + exchange + experts
        backward = stack.moe_kernels_backward + exchange + stack.expert_backward_launches * experts
        if c.pads_experts and c.graphs_hold("moe"):
            experts = 0
        if c.graphs_hold("moe_preprocess", "moe"):
            exchange = 0
        loose = [exchange + experts, exchange + stack.expert_backward_launches * experts]
    else:
        forward, backward = stack.kernels_forward, stack.kernels_backward
        if layer.feed_forward == "none":
            forward, backward = forward * 7 / 12, backward * 7 / 12
    own = {"mamba2": (13, 26), "shared": (13, 26), "none": (0, 0)}.get(layer.mixer)
    if layer.mixer in models.RECURRENCES:
        own = recurrences.recurrence_of(layer, c.element).launches
    halves = stack.kernels_forward * 7 / 12, stack.kernels_backward * 7 / 12
    mixer = list(own or halves)
    if layer.mixer == "shared":
        mixer = [mixer[0] + stack.kernels_forward + 3, mixer[1] + stack.kernels_backward + 6]
    if sparse.has_indexer(layer):
        mixer = [mixer[0] + 9, mixer[1] + 9]
    if layer.mixer == "parallel":
        mixer = [mixer[0] + 12, mixer[1] + 24]
    forward, backward = forward + mixer[0] - halves[0], backward + mixer[1] - halves[1]
    forward += stack.adapter_kernels * x.adapters
    backward += 2 * stack.adapter_kernels * x.adapters
    if checkpointed:
        backward, loose[1], mixer[1] = backward + forward, loose[1] + loose[0], mixer[1] + mixer[0]
    mixes = "mamba" if layer.mixer in ("mamba1", "mamba2") else "attn"
    x.floor_at_launches((forward, backward), loose, mixer, (mixes,),
                        ("moe_router", "moe") if layer.experts else ("mlp",))


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


def finish_layer(x, layer, checkpointed, behind):
    c, x = x.c, x.copy()
    add_accumulation(x)
    overlap_exchange(x)
    add_layer_launches(x, layer, checkpointed)
    x.transient = layer_temporaries(c, layer, behind) + x.dequantised
    expert = x.experts / (layer.experts / c.strategy.ep) if layer.experts else 0
    x.wgrad_buffers = c.strategy.learning * c.width * c.stack.wgrad_bytes * (x.dense + expert)
    return x


def add_layer_embedding(x, p):
    c = x.c
    x.adapted_linear("ffn", c.T_s, p, c.model.hidden)
    x.stream("memory-bound ops", 3 * c.element * c.T_s * p, 5 * c.element * c.T_s * p)
    x.adapted_linear("ffn", c.T_s, c.model.hidden, p)
    x.save(2 * c.element * c.T_s * p)
    x.save(c.kept_input("ffn") * c.T_s * (c.model.hidden + p))


def add_both(x, layer):
    """Attention and Mamba-2 side by side, and the sum of their outputs."""
    attention.add_attention(x, layer)
    recurrences.add_mamba2(x, layer)
    output = x.c.element * x.c.T * x.c.model.hidden
    x.stream("memory-bound ops", 3 * output, 3 * output)


def add_shared_norm(x, width):
    c, stack = x.c, x.c.stack
    x.stream("memory-bound ops", stack.norm_forward / 2 * c.width * c.T_s * width,
             stack.norm_backward / 2 * c.width * c.T_s * width)
    x.save(c.element * c.T_s * width)
    x.save(c.formats.saved_input * c.T_s * width, c.recomputes("norm"))


def add_shared_adapter(x, rank, count, out, width):
    """Products into and out of the adapters of a use of a shared block."""
    if rank:
        x.adapted_linear("attention", x.c.T, count * rank, width)
        x.adapted_linear("attention", x.c.T, out, rank)
        x.save(x.c.element * x.c.T * count * rank)


def add_shared(x, layer):
    """A block of attention and network whose weights layers share, beside Mamba-2."""
    c, t = x.c, x.c.strategy.tp
    T, h, e, r = c.T, c.model.hidden, c.element, layer.block_adapter_rank
    made = sum(attention.widths_of(layer, t)[:3])
    x.stream("memory-bound ops", *[4 * e * c.T_s * h] * 2)
    add_shared_norm(x, 2 * h)
    x.adapted_linear("attention", T, made, 2 * h)
    x.save(e * T * made)
    add_shared_adapter(x, r if layer.attention_adapters else 0, 3, made, 2 * h)
    attention.add_core(x, layer)
    add_shared_norm(x, h)
    feed_forward.add_ffn(x, layer, layer.ffn, "attention")
    add_shared_adapter(x, r, 1, (2 if layer.gated else 1) * layer.ffn / t, h)
    x.adapted_linear("attention", c.T_s, h, h)
    x.save(c.formats.saved_input * c.T_s * h)
    x.stream("memory-bound ops", *[3 * e * c.T_s * h] * 2)
    recurrences.add_mamba2(x, layer)


def layer_blocks(c, layer):
    """A layer as the strategy recomputes it, and the same checkpointed whole."""
    x = operators.Block(c)
    x.spared, x.stops = operators.Block(c), False
    special = {"none": lambda *_: None, "mamba2": recurrences.add_mamba2,
               "parallel": add_both, "shared": add_shared}
    special.update(dict.fromkeys(models.RECURRENCES, recurrences.add_recurrence))
    special.update(dict.fromkeys(("sparse_latent", "sparse_grouped"), attention.add_sparse))
    special["compressed"] = sparse.add_compressed
    special.get(layer.mixer, attention.add_attention)(x, layer)
    before = x.copy()
    if layer.experts:
        feed_forward.add_experts(x, layer)
    elif layer.feed_forward == "dense":
        feed_forward.add_ffn(x, layer, layer.ffn)
        x.stops = c.stack.recompute_stops
        if x.stops and not (c.frozen and "ffn" in c.strategy.adapter_modules):
            last = operators.Block(c)
            last.gemms("linear layers", c.strategy.precision, None, c.T, c.model.hidden, layer.ffn / c.strategy.tp)
            x.spared.forward["linear layers"] = last.forward["linear layers"]
            x.spared.flops_forward = last.flops_forward
    behind = x.kept() - before.kept()
    if c.recomputes("moe" if layer.experts else "mlp"):
        x.checkpoint(before)
    if c.model.layer_embedding:
        add_layer_embedding(x, c.model.layer_embedding)
    normed = x.copy()
    add_norms(x, layer)
    behind += (x.kept() - normed.kept()) / 2 if layer.feed_forward != "none" else 0
    sparse.add_connections(x, layer)
    add_tensor_parallel(x, layer)
    parameters.count_parameters(x, layer)
    x.save(c.element * (x.dense + x.experts) if c.autocasts else 0)
    usual = finish_layer(x, layer, False, behind)
    x.spared.saved = x.spared.late = 0
    x.checkpoint(x.spared)
    x.save(max(c.model.streams, 1) * c.residual * c.H)
    return usual, finish_layer(x, layer, True, behind)
