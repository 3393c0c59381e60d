# SPDX-License-Identifier: Apache-2.0
"""docs/method/layers.md: the operators of dense and expert networks on one rank."""

import math
from types import SimpleNamespace as Record

from reference import collectives, kernels, models


def add_activation(x, part, layer, elements, inputs_unsaved, module="ffn"):
    """`inputs_unsaved`: of its inputs, those that recomputation by operators recomputes."""
    c, s, stack = x.c, x.c.strategy, x.c.stack
    again = c.recomputes("activation")
    clamped = layer.clamped and not s.graph_step
    size = (stack.clamped_passes if clamped else stack.activation_passes) * c.written * elements
    before = x.copy()
    x.stream(part, size * (3 if layer.gated else 2), size * (5 if layer.gated else 3))
    if again:
        x.repeat(before)
    kept = elements * ((2 if layer.gated else 1) - inputs_unsaved)
    if layer.gated and s.low_activations:
        x.save(kept)
        x.save(c.written * kept, True)
        x.stream("casts", (c.written + 1) * kept, (c.written + 1) * kept)
    else:
        x.save(c.written * kept)
    x.save(c.written * elements * inputs_unsaved, True)
    x.save(c.written * elements if layer.gated and stack.keeps_activation else 0, again)
    x.save(c.kept_input(None if part == "experts" else module) * elements, again)


def add_ffn(x, layer, width, module="ffn"):
    c, T, h = x.c, x.c.T, x.c.model.hidden
    f = width / c.strategy.tp
    operators = layer.gated and c.recomputes("operators")
    largest, before = (x.matrix, x.dequantised), x.copy()
    x.adapted_linear(module, T, (2 if layer.gated else 1) * f, h,
                     modules=2 if layer.gated else 1)
    x.matrix, x.dequantised = largest  # gate and up are two matrices, each as large as down
    add_activation(x, "memory-bound ops", layer, T * f, 1 if operators else 0, module)
    x.adapted_linear(module, T, h, f, summed=True)
    if operators:
        x.product_again(T, f, h)
        x.save(0 if c.stack.drops_outputs else c.element * T * h)
    if c.stack.tiled_mlp:
        x.checkpoint(before)
        x.unsaved = before.unsaved + (x.unsaved - before.unsaved) / tiles(c)


def tiles(c):
    """Tiles of as many tokens as the hidden size, one after the other."""
    return math.ceil(c.T / c.model.hidden) if c.stack.tiled_mlp else 1


def expert_load(s):
    if s.capacity_factor > 0:
        return s.capacity_factor
    return s.imbalance if s.ep > 1 else 1


def expert_rows(c, layer):
    """Rows that reach the experts of one rank, all of them together."""
    s = c.strategy
    return c.T / s.tp * models.reached(layer) * s.etp * expert_load(s)


def expert_temporaries(c, layer):
    """Elements that products of experts leave in backward, or forward where outputs are kept."""
    outputs = c.stack.kept_outputs
    seen = (layer.expert_latent or c.model.hidden) if outputs else 0
    inner = (2 if layer.gated else 1) * layer.expert_ffn / c.strategy.etp
    one_by_one = layer.experts / c.strategy.ep if outputs > 1 else 1
    return max(inner + seen, (3 if c.frozen else 2) * seen) * expert_rows(c, layer) / one_by_one


def reached_places(c, layer, places):
    """Of places, those that hold any expert of a token."""
    k = models.reached(layer)
    if c.stack.routes_in_turn:
        each = layer.experts // places
        return min(1 + (layer.top_k - math.gcd(layer.top_k, int(each))) / each, places)
    reached = places
    if layer.route_groups:
        reached = min(layer.route_groups * max(places / layer.expert_groups, 1), places)
    return reached * (1 - (1 - 1 / reached) ** k)


def domains_of(group):
    return math.ceil(group.size / group.within[0])


def copies_share(c, layer):
    """Copies of a token that are sent, over those without de-duplication."""
    group = c.groups["expert"]
    if not c.stack.deduplicates:
        return 1
    domains = domains_of(group)
    places = domains if domains > 1 else group.size
    return reached_places(c, layer, places) / models.reached(layer)


def spread(c, size, group):
    """Seconds in which kernels copy tokens to the ranks of a domain."""
    seconds = collectives.seconds_of(c.system, "all_to_all", size, group)
    rate = c.stack.dispatch_GBps * 1e9
    return max(seconds, size / rate) if rate else seconds


def exchange(c, layer, size):
    """Seconds in which tokens of so many bytes reach their experts, or come back."""
    group = c.groups["expert"]
    network = c.collective("all_to_all", size, "expert")
    if not c.stack.deduplicates or group.within[0] < 2:
        return network
    domains = domains_of(group)
    if domains == 1:
        return spread(c, size, group)
    g = group.within[0]
    copies = reached_places(c, layer, group.size) / reached_places(c, layer, domains)
    inside = spread(c, size * copies, Record(size=g, within=[g] * len(group.within)))
    return max(network, inside) + c.stack.dispatch_exposed * min(network, inside)


def add_dispatch(x, layer):
    c, s, stack = x.c, x.c.strategy, x.c.stack
    load = expert_load(s)
    if stack.deduplicates and s.capacity_factor:
        load = min(load, 1)
    elements = (c.T / s.tp * models.reached(layer) * (layer.expert_latent or c.model.hidden) * load
                * copies_share(c, layer))
    there, back = c.width * stack.dispatch_bytes * elements, c.element * elements
    once = exchange(c, layer, back)
    sums = [exchange(c, layer, there) + once, 2 * once]
    if layer.shortcut:
        sums = [max(0, seconds - passed["linear layers"] - passed["attention"])
                for seconds, passed in zip(sums, (x.forward, x.backward))]
    x.comm("EP comm", *sums)
    leaves = (s.ep - 1) / s.ep
    if (stack.recompute_stops and s.etp == 1
            and not (layer.shortcut or layer.expert_latent or layer.shared_experts)):
        x.spared.forward["EP comm"] = once
        x.spared.sent_forward["expert"] = back * leaves
    x.send("expert", (there + back) * leaves, 2 * back * leaves)


def add_masks(x, layer, seen):
    """Products with masks of tokens and slots, in place of a permutation."""
    c, s = x.c, x.c.strategy
    tokens = c.T / s.tp
    n = min(s.seq, tokens)
    slots = expert_load(s) * models.reached(layer) * n

    def seconds(rows, columns, inner):
        return kernels.gemm(c.accelerator, c.wide, rows, columns, inner,
                            batch=tokens / n) / c.stack.gemm_share

    there, back = seconds(slots, seen, n), seconds(n, seen, slots)
    x.comm("experts", there + back, there + back + seconds(n, slots, seen))
    x.flops_forward += 4 * tokens * slots * seen
    x.flops_backward += 6 * tokens * slots * seen
    mask = c.element * tokens * slots
    x.stream("experts", 2 * mask, mask)
    x.save(2 * mask)


def add_experts(x, layer):
    c, s, stack, h = x.c, x.c.strategy, x.c.stack, x.c.model.hidden
    seen = layer.expert_latent or h
    local, width = layer.experts // s.ep, layer.expert_ffn / s.etp
    tokens, rows = c.T / s.tp, expert_rows(c, layer)
    up = 2 if layer.gated else 1
    operators = c.recomputes("operators")

    x.linear("experts", c.wide, tokens, layer.experts + layer.zero_experts, h)
    sorted_rows = rows / s.etp
    if not stack.deduplicates and s.ep * s.etp > 1 and layer.experts > s.ep:
        sorted_rows += rows
    permuted = stack.permute_passes * 4 * c.written * sorted_rows * seen
    if stack.masks_tokens and s.capacity_factor > 0:
        add_masks(x, layer, seen)
    else:
        x.stream("experts", permuted, permuted)
    fixed = stack.router_seconds + (stack.expert_cast_seconds if c.low else 0)
    x.comm("experts", fixed, fixed)
    add_dispatch(x, layer)
    if s.etp > 1:
        size = c.element * rows * seen
        once = (c.collective("all_gather", size, "expert_tensor")
                + c.collective("reduce_scatter", size, "expert_tensor"))
        x.comm("EP comm", once, once)
        x.send("expert", *[2 * size * (s.etp - 1) / s.etp] * 2)
    before = x.copy()
    x.gemms("experts", s.precision, local, rows / local, up * width, seen)
    x.low_experts += x.low_weights("experts", s.precision, local * up * width * seen, 1, local)
    x.matrix = before.matrix
    if operators:
        x.repeat(before)
    add_activation(x, "experts", layer, rows * width, up if operators else 0)
    x.gemms("experts", s.precision, local, rows / local, seen, width)
    x.low_experts += x.low_weights("experts", s.precision, local * width * seen, 1, local)
    x.save(stack.kept_outputs * c.written * rows * seen)
    x.save((4 + c.element) * tokens * (layer.experts + layer.zero_experts))
    x.save(c.kept_input() * rows * seen)
    if layer.expert_latent:
        x.linear("experts", s.precision, tokens, seen, h)
        x.linear("experts", s.precision, tokens, h, seen)
        x.save(2 * c.kept_input() * tokens * seen)
    if layer.shared_experts:
        add_ffn(x, layer, layer.shared_experts * layer.shared_ffn)
