# SPDX-License-Identifier: Apache-2.0
"""docs/method/layers.md: the embedding, the head and multi-token prediction on one rank."""

from math import ceil, log2

from reference import layers, operators, precision


def add_width_projection(x):
    """Between a narrow embedding and the hidden state."""
    c = x.c
    if c.model.embedding_width:
        x.linear("head and loss", c.wide, c.T_s, c.model.embedding_width, c.model.hidden)
        x.save(0 if c.frozen else c.element * c.T_s * c.model.embedding_width)


def embedding_block(c):
    x, s = operators.Block(c), c.strategy
    size = c.element * c.T * c.model.hidden
    x.stream("head and loss", 2 * size, 0 if c.frozen else 8 * c.T * c.model.hidden)
    if s.tp > 1:
        sent = size * (s.tp - 1) / s.tp
        x.comm("TP comm", c.reduce + c.reduce_copy, 0 if c.frozen else c.gather + c.gather_copy)
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
    layers.add_accumulation(x)
    return x


def loss_memory(c, width):
    """Bytes of logits and what the loss makes of them."""
    s, hidden = c.strategy, c.T * c.model.hidden
    usual = c.stack.split_logit_bytes if s.tp > 1 else c.stack.logit_bytes
    each = s.logit_bytes or (usual if s.cross_entropy == "stack" else 12)
    each = max(each, 4) if precision.is_full(s.precision) else each
    capped = c.element if c.model.capped_logits else 0
    if s.cross_entropy == "fused":
        pieces = ceil(width / c.model.hidden)
        rows = min(2 ** ceil(log2(ceil(c.T / pieces))), c.T)
        return c.element * (rows * width + hidden)
    if s.cross_entropy == "chunked":
        return (each + capped) * min(s.loss_chunk or c.T / 8, c.T) * width + 4 * hidden
    return (each + capped) * c.T * width


def loss_freed(c):
    """Bytes of whole logits and their loss that are free when the head's gradient is made."""
    if c.strategy.cross_entropy in ("fused", "chunked"):
        return 0
    width = c.vocab / c.strategy.tp
    return max(loss_memory(c, width) - c.element * c.T * width, 0)


def head_block(c):
    x, s, stack = operators.Block(c), c.strategy, c.stack
    width = c.vocab / s.tp
    logits = c.T * width
    x.linear("head and loss", c.wide, c.T, width, c.model.embedding_width or c.model.hidden)
    add_width_projection(x)
    loss = max(stack.loss_bytes, 16) if precision.is_full(s.precision) else stack.loss_bytes
    x.stream("head and loss", loss / 2 * logits + c.width * stack.norm_forward / 2 * c.H,
             loss / 2 * logits + c.width * stack.norm_backward / 2 * c.H)
    size = c.element * c.T * c.model.hidden
    if s.tp > 1:
        loss = 3 * c.collective("all_reduce", 4 * c.T, "tensor")
        x.comm("TP comm", c.gather + c.gather_copy + loss, c.reduce + c.reduce_copy)
        leaves = (s.tp - 1) / s.tp
        x.send("tensor", ((size if s.sp else 0) + 24 * c.T) * leaves,
               (1 if s.sp else 2) * size * leaves)
    x.whole = c.parameters.final_norm + c.model.embedding_width * c.model.hidden
    x.dense = c.table + x.whole + (width if c.model.head_bias else 0)
    layers.add_accumulation(x)
    x.floor_at_launches((stack.kernels_forward, stack.kernels_backward))
    gathered = max(stack.gathered_share * c.T * c.model.hidden, c.H) if stack.keeps_gathered else c.H
    x.save(c.element * (c.H + (0 if c.frozen else gathered)) + loss_memory(c, width)
           + (c.element * c.table if c.autocasts else 0) + c.wide_norm(c.residual) * c.H)
    x.transient = size + s.learning * c.width * stack.wgrad_bytes * c.table
    return x


def mtp_block(c):
    """What a module of multi-token prediction has besides a layer and the head."""
    x, s, h = operators.Block(c), c.strategy, c.model.hidden
    x.linear("linear layers", s.precision, c.T, h / s.tp, 2 * h)
    x.stream("memory-bound ops", 1.5 * c.width * c.stack.norm_forward * c.H,
             1.5 * c.width * c.stack.norm_backward * c.H)
    x.whole = c.parameters.mtp_norms
    x.dense = 2 * h * h / s.tp + x.whole
    layers.add_accumulation(x)
    x.save(3 * c.element * c.H)
    x.save(2 * c.kept_input() * c.H)
    return x
