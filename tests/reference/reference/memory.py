# SPDX-License-Identifier: Apache-2.0
"""docs/method/memory.md: what a rank holds at its worst moment."""

from math import ceil, inf
from types import SimpleNamespace as Record

PARTS = ("weights", "gradients", "optimizer states", "activations", "recomputed layer", "logits",
         "temporaries", "allocator fragments", "context")


# ---- states ---------------------------------------------------------------------------------

def shard_ranks(s):
    """Ranks that share a state of dense parameters, and of routed experts."""
    if s.sharding == "none":
        return 1, 1
    dense = s.dp * s.cp / s.replicas
    return dense, s.tp * s.cp * s.dp / (s.ep * s.etp) / s.replicas


def kept_of(s, rank):
    """Parameters of a rank, whole and sharded; low: of linears in 8 and 4 bits."""
    dense, expert = shard_ranks(s)
    return Record(whole=rank.dense + rank.experts,
                  sharded=rank.dense / dense + rank.experts / expert,
                  low=rank.low_dense + rank.low_experts,
                  low_sharded=rank.low_dense / dense + rank.low_experts / expert)


def optimized_parameters(s, rank):
    """Parameters of whose optimizer states a rank keeps a copy."""
    kept = kept_of(s, rank)
    parameters = kept.whole if s.sharding == "none" else kept.sharded
    return parameters / 2 if s.schedule == "dualpipe" else parameters


def optimizer_bytes(s, rank):
    """Embedding and head may have states of their own."""
    outer = rank.outer if s.sharding == "none" else rank.outer / shard_ranks(s)[0]
    copies = 2 if s.schedule == "dualpipe" else 1
    return s.states.optimizer * optimized_parameters(s, rank) + s.outer_states * outer / copies


def stored_bytes(c, parameters, low):
    weight = c.strategy.states.weight
    if c.strategy.low_weights:
        s = c.strategy
        adapters = weight * s.learning / (1 + s.learning) if s.adapter_rank else 0
        return weight * (parameters - low) + (c.formats.weight + adapters) * low
    return weight * parameters


def gathered_bytes(c, parameters, low):
    return c.strategy.states.gather * (parameters - low) + c.formats.gather * low


def extra_copies(c):
    return c.formats.weight_copies - (1 if c.strategy.low_weights else 0)


def stored_weights(c, rank):
    """Bytes of the weights of a rank, of its shards where they are sharded."""
    kept = kept_of(c.strategy, rank)
    if c.strategy.sharding == "all":
        return stored_bytes(c, kept.sharded, kept.low_sharded)
    return stored_bytes(c, kept.whole, kept.low)


def layers_at_hand(rank):
    """The layer that runs and the next."""
    return min(2, rank.layers)


def loaded_weights(c, rank):
    """Bytes of offloaded weights that are on the device."""
    dense, expert = shard_ranks(c.strategy)
    largest, low = rank.largest, rank.largest.low
    whole = sharded = largest.dense + largest.experts
    if c.strategy.sharding == "all" and whole > 0:
        sharded = largest.dense / dense + largest.experts / expert
        low *= sharded / whole
    return layers_at_hand(rank) * stored_bytes(c, sharded, low)


def weights_of(c, rank):
    s, kept = c.strategy, kept_of(c.strategy, rank)
    if s.offload_weights:
        return loaded_weights(c, rank)
    copies = 0 if s.sharding == "all" else extra_copies(c)
    fsdp = c.stack.scatters_last or s.states.gather < s.states.weight
    stored = stored_weights(c, rank)
    if s.sharding == "gradients" and fsdp:
        stored = (gathered_bytes(c, kept.whole, kept.low)
                  + stored_bytes(c, kept.sharded, kept.low_sharded))
    return stored + copies * c.formats.weight * kept.low


def gradient_runs(c):
    """How pipelines scatter sharded gradients: None where every microbatch scatters its own."""
    s, m, last = c.strategy, c.strategy.microbatches, c.stack.scatters_last
    if s.pp == 1 or not (s.sharding == "gradients" or s.sharding == "all" and last):
        return None
    grouped = s.schedule == "interleaved"
    run, chunks = (min(s.pp, m), s.vp) if grouped else (m, 1)
    open_chunks = 1 if run >= m else chunks if last else 2
    return Record(scatters=1 if last else ceil(m / run), microbatches=run, chunks=chunks,
                  open=min(open_chunks, chunks) / chunks)


def gradients_of(c, rank):
    s, kept, runs = c.strategy, kept_of(c.strategy, rank), gradient_runs(c)
    sharded = s.sharding in ("gradients", "all")
    shards = s.states.gradient * (kept.sharded if sharded else kept.whole)
    if not runs:
        return shards
    largest = rank.largest.dense + rank.largest.experts
    summed = s.states.reduce * max(runs.open * kept.whole, largest)
    return summed + shards if runs.open < 1 else max(summed, shards)


# ---- activations and moments ----------------------------------------------------------------

def moments_of(c, rank):
    """Temporaries that stay, and those of the backward of a layer, of the head, of the update."""
    s, stack, m = c.strategy, c.stack, c.strategy.microbatches
    always = stack.workspace_bytes + rank.wgrad_buffers
    always += stack.gathered_buffers * c.element * c.T * c.model.hidden if s.tp > 1 else 0
    layer = rank.unsaved + rank.transient
    head = (m if s.schedule == "gpipe" else 1) * rank.head_saved + rank.head_transient
    if rank.head and m > 1:
        head += stack.stale_logit_bytes * c.T * c.vocab / s.tp
    largest = rank.largest
    parameters, low, at_hand = largest.dense + largest.experts, largest.low, layers_at_hand(rank)
    tensors = stack.gathers_tensors and s.sharding == "all"
    if tensors:
        parameters, low, at_hand = largest.matrix, min(largest.low, largest.matrix), 2
    if s.sharding in ("gradients", "all") and not gradient_runs(c):
        layer += s.states.reduce * parameters
        head += 0 if tensors else s.states.reduce * rank.head_parameters
    if s.sharding == "all":
        layer += at_hand * gathered_bytes(c, parameters, low)
        layer += extra_copies(c) * c.formats.weight * low
        whole = max(s.states.gather, s.states.reduce) if tensors else s.states.gather
        head += whole * rank.head_parameters
    update = s.learning * stack.optimizer_temporary * (rank.dense + rank.experts)
    return always, layer, head, update


def activations_of(c, rank, in_flight):
    """Bytes of activations, and of them those that are late."""
    s, stack = c.strategy, c.stack
    most = inf
    if s.offload_activations:
        most = 2 / rank.layers if rank.layers > 2 else 1
    kept = stack.activation_share * min(in_flight, most)
    ahead = stack.late_buffers * c.element * c.T * c.model.hidden if s.tp > 1 and s.pp == 1 else 0
    message = c.element * c.T_s * max(c.model.streams, 1) * c.model.hidden
    ends = stack.stage_tensors * message if s.pp > 1 else 0
    return kept * rank.saved + ahead + in_flight * ends, kept * rank.late + ahead


def memory_of(c, rank, in_flight):
    s, stack = c.strategy, c.stack
    part = dict.fromkeys(PARTS, 0.0)
    part["weights"] = weights_of(c, rank)
    part["gradients"] = gradients_of(c, rank)
    if not s.offload_optimizer:
        part["optimizer states"] = optimizer_bytes(s, rank)

    activations, late = activations_of(c, rank, in_flight)
    always, layer, head, update = moments_of(c, rank)
    peak = activations + max(layer, head)
    if update > peak:
        part["temporaries"] = always + update
    elif head > layer:
        part["activations"], part["logits"], part["temporaries"] = activations, head, always
    else:
        part["activations"], part["recomputed layer"] = activations, rank.unsaved
        part["temporaries"] = always + layer - rank.unsaved

    of_stages = stack.stage_fragmentation if s.pp > 1 else 0
    allocated = sum(part.values())
    part["allocator fragments"] = stack.fragmentation * allocated + of_stages * part["activations"]
    part["context"] = stack.context_bytes
    late = min(late, max(0, peak - update))
    return Record(part=part, allocated=allocated,
                  reserved=allocated + part["allocator fragments"],
                  total=sum(part.values()),
                  late=late * (1 + of_stages) + stack.fragmentation * allocated)


def host_bytes(c, rank, in_flight):
    s, size = c.strategy, 0
    if s.offload_optimizer:
        size += optimizer_bytes(s, rank)
    if s.offload_weights:
        size += stored_weights(c, rank)
    if s.offload_activations:
        size += in_flight * rank.saved
    return size
