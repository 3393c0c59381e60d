# SPDX-License-Identifier: Apache-2.0
"""docs/method/memory.md: what a rank holds at its worst moment."""

from math import ceil, inf
from types import SimpleNamespace as Record

from reference import strategies
from reference.ends import loss_freed

EXPANDABLE = 0.3  # of fragments, with expandable segments
RECLAIMED = 0.9  # of late memory, when the allocator runs out
PARTS = ("weights", "gradients", "optimizer states", "activations", "recomputed layer", "logits",
         "temporaries", "allocator fragments", "context")


# ---- states ---------------------------------------------------------------------------------

def shard_ranks(s, rank=None):
    """Ranks that share a state of dense parameters, and of routed experts."""
    if s.sharding == "none":
        return 1, 1
    dense = s.dp * s.cp / s.replicas
    whole = rank is not None and rank.whole_experts
    return dense, 1 if whole else s.tp * s.cp * s.dp / (s.ep * s.etp) / s.replicas


def kept_of(s, rank):
    """Parameters of a rank, whole and sharded; low: of linears in 8 and 4 bits."""
    dense, expert = shard_ranks(s, rank)
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


def away_share(s):
    """Of the optimizer."""
    return min(s.offload_share or 1, 1) if s.offload_optimizer else 0


def adapter_bytes(s):
    """Of weights of adapters, per parameter of the model."""
    shared = s.states.weight * s.learning / (1 + s.learning)
    return (s.learning * s.adapter_bytes or shared) if s.adapter_rank else 0


def stored_bytes(c, parameters, low):
    s, weight = c.strategy, c.strategy.states.weight
    if s.low_weights:
        wide = weight + (c.formats.activation if s.wide_residual else 0)
        return wide * (parameters - low) + (c.formats.weight + adapter_bytes(s)) * low
    return weight * parameters


def gathered_bytes(c, parameters, low):
    return c.strategy.states.gather * (parameters - low) + c.formats.gather * low


def extra_copies(c):
    return c.formats.weight_copies - (1 if c.strategy.low_weights else 0)


def passing_copies(c):
    """Of these, those that are made for the layer at hand and not kept."""
    if c.strategy.sharding == "all":
        return extra_copies(c)
    return 1 if c.formats.transposes_again else 0


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
    dense, expert = shard_ranks(c.strategy, rank)
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
    copies = extra_copies(c) - passing_copies(c)
    fsdp = c.stack.scatters_last or s.states.gather < s.states.weight
    stored = stored_weights(c, rank)
    if s.sharding == "gradients" and fsdp:
        stored = (gathered_bytes(c, kept.whole, kept.low)
                  + stored_bytes(c, kept.sharded, kept.low_sharded))
    return stored + copies * c.formats.weight * kept.low


def gradient_runs(c):
    """How pipelines scatter sharded gradients: None where every microbatch scatters its own."""
    s, m, last = c.strategy, c.strategy.microbatches, c.stack.scatters_last
    staged = s.sharding == "gradients" or s.sharding == "all" and last
    whole = c.stack.sums_whole and m > 1 and s.sharding in ("gradients", "all")
    if not (staged if s.pp > 1 else whole):
        return None
    grouped = s.schedule == "interleaved"
    run, chunks = (min(s.pp, m), s.vp) if grouped else (m, 1)
    open_chunks = 1 if run >= m else chunks if last else 2
    return Record(scatters=1 if last else ceil(m / run), microbatches=run, chunks=chunks,
                  open=min(open_chunks, chunks) / chunks)


def gradients_of(c, rank):
    s, kept, runs = c.strategy, kept_of(c.strategy, rank), gradient_runs(c)
    here = 0 if s.step_in_backward else 1 - away_share(s) if s.offload_gradients else 1
    sharded = s.sharding in ("gradients", "all")
    shards = s.states.gradient * (kept.sharded if sharded else kept.whole)
    if not runs:
        return here * shards
    largest = rank.largest.dense + rank.largest.experts
    summed = s.states.reduce * max(runs.open * kept.whole, largest)
    return here * (summed + shards if runs.open < 1 else max(summed, shards))


# ---- activations and moments ----------------------------------------------------------------

def learning_ends(c, rank):
    """Embedding and head that learn beside adapters: bytes of one copy."""
    s = c.strategy
    if not (s.adapts_ends and s.adapter_rank):
        return 0
    return c.formats.activation * (rank.outer / shard_ranks(s)[0] if s.sharding == "all" else rank.outer)


def end_parameters(c, rank):
    """Of embedding and head, a tied table once."""
    table = c.table if rank.embedding else 0
    return table if table and rank.head and c.model.tied else table + rank.head_parameters


def stream_pools(c, rank, freed):
    """Blocks of collectives of shards on streams of their own, and the place of 16-bit logits."""
    largest, logits = rank.largest, c.element * c.T * c.vocab / c.strategy.tp
    layer = gathered_bytes(c, largest.dense + largest.experts, largest.low)
    place = logits if rank.head and loss_freed(c) > logits else 0
    return (c.strategy.states.gather * end_parameters(c, rank) + min(3, rank.layers) * layer
            + freed + place)


def moments_of(c, rank):
    """Temporaries that stay, and those of the backward of a layer, of the head, of the update."""
    s, stack, m = c.strategy, c.stack, c.strategy.microbatches
    always = stack.workspace_bytes + rank.wgrad_buffers
    always += stack.gathered_buffers * c.element * c.T * c.model.hidden if s.tp > 1 else 0
    whole = rank.dense + rank.experts
    if s.sharding != "none":
        always += min(stack.bucket_GiB * 2**30, s.learning * s.states.reduce * whole)
    layer = rank.unsaved + rank.transient
    if s.sharding == "all" and s.adapter_rank:
        width = max(c.model.streams, 1) * c.model.hidden
        input_bytes = c.residual * c.T_s * width
        layer += stack.frozen_inputs * max(rank.layers - 2, 0) * input_bytes
    head = (m if s.schedule == "gpipe" else 1) * rank.head_saved + rank.head_transient
    if rank.head and m > 1:
        head += stack.stale_logit_bytes * c.T * c.vocab / s.tp
    if rank.head and s.cross_entropy == "chunked":
        head += s.learning * s.states.reduce * rank.head_parameters
    largest = rank.largest
    parameters, low, at_hand = largest.dense + largest.experts, largest.low, layers_at_hand(rank)
    tensors = stack.gathers_tensors and s.sharding == "all"
    if tensors:
        parameters, low, at_hand = largest.matrix, min(largest.low, largest.matrix), 2
    if s.sharding in ("gradients", "all") and not gradient_runs(c):
        layer += s.states.reduce * parameters
        if rank.head and not tensors:
            head += max(s.states.reduce * rank.head_parameters - loss_freed(c), 0)
    if s.sharding == "all":
        at_hand = 1 if stack.keeps_root and not tensors else at_hand
        layer += max(at_hand * gathered_bytes(c, parameters, low),
                     s.states.gather * min(stack.live_params, whole))
        each = max(s.states.gather, s.states.reduce) if tensors else s.states.gather
        live = s.states.gather * min(stack.live_params, whole)
        head += max(each * rank.head_parameters, live) if rank.head else 0
        if stack.keeps_root:
            table = c.table if rank.embedding else 0
            shared = rank.embedding and rank.head and c.model.tied
            layer += s.states.gather * (table if shared else table + rank.head_parameters)
            head += 0 if shared else s.states.gather * table
    layer += passing_copies(c) * c.formats.weight * low
    last = 0
    if stack.keeps_root and s.sharding == "all":
        last = (s.states.gather + s.learning * s.states.reduce) * end_parameters(c, rank)
    if (s.step_in_backward or s.offload_gradients) and s.sharding in ("none", "optimizer"):
        layer += s.states.reduce * largest.matrix
        head += s.states.reduce * rank.head_parameters
        last = s.states.reduce * c.table if rank.embedding else 0
    return always, layer, head, update_of(c, rank), last


def unmade_gradients(c, rank):
    """Gradients of an embedding of its own, which backward makes last."""
    s = c.strategy
    if not rank.embedding or rank.head and c.model.tied or s.adapter_rank:
        return 0
    ranks = shard_ranks(s)[0] if s.sharding in ("gradients", "all") else 1
    return s.states.gradient * c.table / ranks


def update_of(c, rank):
    """Temporaries of the update."""
    s, stack, shard = c.strategy, c.stack, optimized_parameters(c.strategy, rank)
    update = s.learning * stack.optimizer_temporary * (rank.dense + rank.experts)
    shard *= 1 - away_share(s)
    if shard <= 0 or s.step_in_backward:
        return update
    group = s.step_params or stack.step_params
    group = min(group, shard) if group and s.sharding == "all" else shard
    # an engine that keeps weights in fp32, and casts gradients to it
    master = stack.step_bytes > 0 and (s.adapter_rank > 0 or s.states.optimizer > 8)
    update += s.learning * max(stack.step_bytes - (0 if master else 4), 0) * group
    if s.optimizer in strategies.TEMPORARIES:
        each = strategies.TEMPORARIES[s.optimizer]
        each += 8 if s.states.weight < 4 and s.states.optimizer < 4 else 0
        table = c.table if rank.embedding or rank.head else 0
        return update + s.learning * each * max(rank.largest.matrix, table) / shard_ranks(s)[0]
    if s.foreach_update:
        weight = 4 if master else s.states.weight
        update += (adapter_bytes(s) if s.adapter_rank else weight) * (group if master else shard)
    return update


def offloaded_share(c):
    """Of the activations of every stage."""
    s = c.strategy
    if not s.offload_activations:
        return 0
    return min(1, s.offload_layers / len(c.model.layers)) if s.offload_layers else 1


def activations_of(c, rank, in_flight):
    """Bytes of activations, and of them those that are late."""
    s, stack = c.strategy, c.stack
    most = 2 / rank.layers if rank.layers > 2 else 1
    away = offloaded_share(c) * in_flight
    kept = stack.activation_share * (in_flight - away + min(away, most))
    ahead = stack.late_buffers * c.element * c.T * c.model.hidden if s.tp > 1 and s.pp == 1 else 0
    message = c.element * c.T_s * max(c.model.streams, 1) * c.model.hidden
    ends = stack.stage_tensors * message if s.pp > 1 else 0
    late = kept * rank.late if s.pp == 1 else 0
    return kept * rank.saved + ahead + in_flight * ends, late + ahead


def memory_of(c, rank, in_flight):
    s, stack = c.strategy, c.stack
    part = dict.fromkeys(PARTS, 0.0)
    part["weights"] = weights_of(c, rank)
    part["gradients"] = gradients_of(c, rank)
    part["optimizer states"] = (1 - away_share(s)) * optimizer_bytes(s, rank)

    activations, late = activations_of(c, rank, in_flight)
    always, layer, head, update, last = moments_of(c, rank)
    ends_learn = learning_ends(c, rank)
    later = part["gradients"] if stack.frees_gradients and s.microbatches == 1 else 0
    first = activations + max(layer, head)
    ends = max(last, layer - unmade_gradients(c, rank) if later else 0) + later
    part["weights"] += ends_learn
    part["gradients"] += ends_learn
    part["optimizer states"] += 2 * ends_learn
    update += ends_learn if s.foreach_update else 0
    worst = max(update + later, ends)
    if worst <= first:
        part["gradients"] -= later
    if worst > first:
        part["temporaries"] = always + worst - later
    elif head > layer:
        part["activations"], part["logits"], part["temporaries"] = activations, head, always
    else:
        part["activations"], part["recomputed layer"] = activations, rank.unsaved
        part["temporaries"] = always + layer - rank.unsaved

    fragments = EXPANDABLE if s.expandable_segments else 1
    of_stages = fragments * stack.stage_fragmentation if s.pp > 1 else 0
    allocated = sum(part.values())
    cached = min(layer, rank.head_saved + rank.head_transient) if stack.separate_blocks else 0
    cached += stack.stale_logits * rank.head_saved
    cached = 0 if s.expandable_segments else cached
    if stack.stream_pools and s.sharding == "all":
        cached += stream_pools(c, rank, later)
    part["allocator fragments"] = (fragments * stack.fragmentation * allocated
                                   + of_stages * part["activations"] + cached)
    part["context"] = stack.context_bytes
    if s.tp * s.cp * s.pp * s.dp > 1:
        part["context"] += stack.communicator_GiB * 2**30
    late = min(late, max(0, first - worst))
    return Record(part=part, allocated=allocated,
                  reserved=allocated + part["allocator fragments"],
                  total=sum(part.values()),
                  late=RECLAIMED * late + cached)


def host_gradient(c):
    """Bytes of a gradient that an optimizer on the host reads."""
    s = c.strategy
    return 4 * s.learning if c.stack.step_bytes > 0 else s.states.gradient


def host_bytes(c, rank, in_flight):
    s, kept = c.strategy, kept_of(c.strategy, rank)
    share = away_share(s)
    states = share * optimizer_bytes(s, rank)
    if s.offload_gradients:
        states += share * host_gradient(c) * (kept.sharded if s.sharding in ("gradients", "all")
                                      else kept.whole)
    if s.nvme_optimizer:
        stepped = share * optimized_parameters(s, rank)
        group = min(stepped, s.step_params or c.stack.step_params or stepped)
        states = min(states, 4 * 4 * group)
    weights = stored_weights(c, rank) if s.offload_weights else 0
    if s.nvme_weights:
        weights = min(weights, s.states.gather * (5 * 1e8 + 1e9))
    size = (states + weights) * (1 + c.stack.host_share)
    if s.offload_activations:
        size += offloaded_share(c) * in_flight * rank.saved
    return size
