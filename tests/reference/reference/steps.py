# SPDX-License-Identifier: Apache-2.0
"""docs/method/steps.md: what a step takes, by part."""

from collections import Counter
from math import ceil, floor, log2
from types import SimpleNamespace as Record

from reference import (collectives, ends, kernels, layers, memory, models, operators, schedules,
                       strategies)
from reference.documents import GIB
from reference.strategies import group_of, place


# ---- ranks ----------------------------------------------------------------------------------

class Blocks:
    """The blocks of a model under a strategy; equal layers are computed once.

    Layers have the order in which their types come first in the model, checkpointed ones first.
    """

    def __init__(self, c):
        self.c, self.known = c, {}
        self.embedding, self.head = ends.embedding_block(c), ends.head_block(c)
        self.mtp = ends.mtp_block(c) if c.model.mtp_layers else None
        for layer in c.model.layers + c.model.module:
            self.layer(layer, False)

    def layer(self, layer, checkpointed):
        key = repr(sorted(vars(layer).items()))
        if key not in self.known:
            usual, whole = layers.layer_blocks(self.c, layer)
            whole.order, usual.order = 2 * len(self.known), 2 * len(self.known) + 1
            self.known[key] = usual, whole
        return self.known[key][1 if checkpointed else 0]


def held_blocks(blocks, stages):
    """What stages hold: blocks, with how often each is held and how often it runs."""
    c, s = blocks.c, blocks.c.strategy
    held, runs, found = Counter(), Counter(), {}

    def add(kind, block, count, passes=None):
        found[id(block)] = (kind, block)
        held[id(block)] += count
        runs[id(block)] += count if passes is None else passes

    for stage in stages:
        count = len(stage.layers)
        whole = (count if s.recompute_layers == 0 else min(count, s.recompute_layers))
        whole = whole if s.recompute == "full" else 0
        for i, layer in enumerate(stage.layers):
            add("layer", blocks.layer(layer, i < whole), 1)
        if stage.embedding:
            add("embedding", blocks.embedding, 1)
        if stage.head:
            add("head", blocks.head, 1, 1 + c.model.mtp_layers)
        if stage.mtp and blocks.mtp:
            add("mtp", blocks.mtp, c.model.mtp_layers)
            for layer in c.model.module:
                add("layer", blocks.layer(layer, s.recompute == "full"), c.model.mtp_layers)
    return [Record(kind=found[i][0], block=found[i][1], held=held[i], runs=runs[i]) for i in found]


def keep(rank, entries, share, c):
    """Adds up what a rank keeps."""
    rank.whole_experts = c.stack.whole_experts
    for name in ("dense", "whole", "experts", "low_dense", "low_experts"):
        setattr(rank, name, sum(e.held * getattr(e.block, name) for e in entries))
    kept = [e for e in entries if e.kind in ("layer", "mtp")]
    own = sorted((e.block for e in entries if e.kind == "layer"), key=lambda block: block.order)
    head = next((e for e in entries if e.kind == "head"), None)
    rank.layers = sum(e.held for e in entries if e.kind == "layer")
    rank.saved = share * sum(e.held * e.block.saved for e in kept)
    rank.late = share * sum(e.held * e.block.late for e in kept)
    fullest = max(own, key=lambda b: b.unsaved + b.transient, default=None)
    rank.unsaved = fullest.unsaved if fullest else 0
    rank.transient = fullest.transient if fullest else 0
    rank.wgrad_buffers = max((b.wgrad_buffers for b in own), default=0)
    rank.largest = Record(dense=max((b.dense for b in own), default=0),
                          experts=max((b.experts for b in own), default=0),
                          low=max((b.low_dense + b.low_experts for b in own), default=0),
                          matrix=max((b.matrix for b in own), default=0))
    rank.head = head is not None
    rank.embedding = any(e.kind == "embedding" for e in entries)
    rank.head_saved = head.runs * head.block.saved if head else 0
    rank.head_transient = head.block.transient if head else 0
    rank.head_parameters = head.block.dense if head else 0
    rank.outer = sum(e.held * e.block.dense for e in entries if e.kind in ("embedding", "head"))
    rank.outer += sum(e.held * e.block.outer for e in entries)
    rank.matrices = {kind: [sum(e.held * e.block.matrices[kind][i] for e in entries)
                            for i in (0, 1)] for kind in ("dense", "experts")}
    if c.model.tied and head and any(e.kind == "embedding" for e in entries):
        rank.dense -= c.table
        rank.outer -= c.table


def run(rank, entries, share, apart):
    """Adds up what a microbatch takes, does and sends."""
    rank.forward, rank.backward = (
        {part: share * sum(e.runs * getattr(e.block, way)[part] for e in entries)
         for part in operators.PARTS} for way in ("forward", "backward"))
    if apart:
        rank.backward["TP comm"] += share * sum(e.runs * e.block.apart_sums for e in entries)
        rank.backward["host-bound"] += share * sum(e.runs * e.block.apart_launches for e in entries)
    for name in ("flops_forward", "flops_backward", "flops_recompute",
                 "hidden_forward", "hidden_backward"):
        setattr(rank, name, share * sum(e.runs * getattr(e.block, name) for e in entries))
    rank.sent = {group: share * sum(e.runs * (e.block.sent_forward[group]
                                              + e.block.sent_backward[group]) for e in entries)
                 for group in ("tensor", "context", "expert")}
    rank.forward_seconds = sum(rank.forward.values())
    rank.backward_seconds = sum(rank.backward.values())


def alone(rank, way, share=1):
    """Seconds of a pass, of which a share hides no all-to-all beside another microbatch."""
    return getattr(rank, way + "_seconds") + share * getattr(rank, "hidden_" + way)


def alone_share(s):
    """Share of the microbatches that run beside no other."""
    if not s.moe_overlap:
        return 0
    chunks = strategies.chunks_per_rank(s)
    return schedules.in_flight(s.schedule, s.pp, chunks, s.microbatches, 0) / s.microbatches


def chunk_times(blocks, stage):
    """Seconds of a microbatch in one virtual stage."""
    entries = held_blocks(blocks, [stage])
    weight = 0
    backward = sum(e.runs * e.block.backward_seconds for e in entries)
    if blocks.c.strategy.schedule in schedules.SPLITS:
        weight = sum(e.runs * e.block.weight_seconds for e in entries)
        backward += sum(e.runs * (e.block.apart_sums + e.block.apart_launches) for e in entries)
    forward = sum(e.runs * e.block.forward_seconds for e in entries)
    lonely = alone_share(blocks.c.strategy)
    forward += lonely * sum(e.runs * e.block.hidden_forward for e in entries)
    backward += lonely * sum(e.runs * e.block.hidden_backward for e in entries)
    return Record(forward=forward, backward=backward - weight, weight=weight)


def rank_of(blocks, stages):
    s = blocks.c.strategy
    share = 0.5 if s.schedule == "dualpipe" else 1
    entries = held_blocks(blocks, stages)
    rank = Record()
    keep(rank, entries, share, blocks.c)
    run(rank, entries, share, s.schedule in schedules.SPLITS)
    computed = [chunk_times(blocks, stage) for stage in stages]
    waits = [waiting(blocks, stage, times) for stage, times in zip(stages, computed)]
    each = passes(s) / len(stages)
    rank.chunks = [Record(**{name: getattr(times, name) + getattr(w.data, name)
                             + getattr(w.copies, name) for name in PASSES})
                   for times, w in zip(computed, waits)]
    rank.busy = each * sum(t.forward + t.backward + t.weight for t in rank.chunks)
    rank.data_seconds = each * sum(sum(vars(w.data).values()) for w in waits)
    rank.copy_seconds = each * sum(sum(vars(w.copies).values()) for w in waits)
    rank.data_bytes = each * sum(w.bytes for w in waits)
    rank.ends = waits[0].ends
    return rank


def passes(s):
    """Chunks of a rank that a microbatch passes."""
    return 1 if s.schedule == "dualpipe" else strategies.chunks_per_rank(s)


# ---- messages between stages ----------------------------------------------------------------

def send_of(c):
    """Seconds of a message between stages; bytes that a rank sends of it."""
    s, stack = c.strategy, c.stack
    if s.pp == 1:
        return 0, 0
    message = c.element * c.T_s * max(c.model.streams, 1) * c.model.hidden
    scatter = stack.scatters_messages and s.tp > 1 and not s.sp
    size = message / s.tp if scatter else message
    seconds = stack.send_seconds + collectives.seconds_of(
        c.system, "send", size, group_of(c.system, s, "pipeline"))
    if scatter:
        seconds += c.collective("all_gather", message, "tensor")
    return seconds, size


def message_seconds(c, times, work, send):
    """What messages add to a step."""
    s = c.strategy
    if send == 0:
        return 0
    holding = schedules.makespan(s.schedule, s.microbatches, times, send) - work
    if s.pp_overlap:
        crossings = 2 * s.microbatches * passes(s)
        return min((crossings * c.stack.pp_exposed + 2 * (s.pp - 1)) * send, holding)
    return holding


# ---- data parallelism -----------------------------------------------------------------------

def layer_messages(stack, matrix, parameters):
    """Messages of a layer of fully sharded parameters."""
    if stack.gathers_tensors and matrix > 0:
        return max(1, floor(parameters / matrix + 0.5))
    return 1


def in_messages(c, op, parameters, size, most, tensors, group):
    """A collective on so many parameters, in messages."""
    s, stack = c.strategy, c.stack
    bucket = max(stack.bucket_params, stack.bucket_rank_params * group.size)
    message = max(most, bucket * size / parameters)
    count = tensors if s.sharding == "all" else 1
    if message > 0 and s.sharding != "all":
        count = max(1, floor(size / message + 0.5))
    return count * collectives.seconds_of(c.system, op, size / count, group)


def traffic_of_group(c, matrix, parameters, low, shard, replica):
    """Seconds to reduce and to gather, the bytes that a rank sends of each, and seconds of copies."""
    s, stack, learning = c.strategy, c.stack, c.strategy.learning
    t = Record(reduce=0, gather=0, reduce_bytes=0, gather_bytes=0, pack=0, unpack=0)
    if parameters == 0:
        return t
    reduced = s.states.reduce * parameters
    tensors = layer_messages(stack, matrix, parameters)
    leaves = (shard.size - 1) / shard.size
    if s.sharding != "none":
        a = 1 if s.sharding == "all" else learning
        gathered = a * max(memory.gathered_bytes(c, parameters, low), 0)  # all low: rounding
        t.gather = in_messages(c, "all_gather", a * parameters, gathered, stack.gather_bytes,
                               tensors, shard)
        t.gather_bytes = gathered * leaves
    if s.sharding in ("gradients", "all") and stack.copies_shards and shard.size > 1:
        t.unpack = kernels.stream(c.accelerator, 2 * memory.gathered_bytes(c, parameters, low)) / stack.stream_share
        t.pack = kernels.stream(c.accelerator, learning * parameters * (c.element + s.states.reduce)) / stack.stream_share
    if s.sharding in ("optimizer", "gradients") and shard.size > 1:
        divided = c.width * stack.division_bytes * learning * parameters
        t.pack += kernels.stream(c.accelerator, divided) / stack.stream_share
    whole = s.sharding == "none" or stack.reduces_whole and s.sharding != "all" or s.deals_matrices
    t.reduce = in_messages(c, "all_reduce" if whole else "reduce_scatter", learning * parameters,
                           reduced, stack.bucket_bytes, tensors, shard)
    t.reduce_bytes = (2 if whole else 1) * reduced * leaves
    if s.sharding != "none" and replica.size > 1:
        n, r = shard.size, replica.size
        t.reduce += in_messages(c, "all_reduce", learning * parameters / n, reduced / n,
                                stack.bucket_bytes, tensors, replica)
        t.reduce_bytes += 2 * reduced / n * (r - 1) / r
    return t


def traffic_of(c, rank, share):
    """The same for a share of the parameters of a rank, dense and experts."""
    s = c.strategy
    kinds = ("data", "expert_data") if s.sharding == "none" else ("shard", "expert_shard")
    replica = group_of(c.system, s, "replica")
    sums = Record(reduce=0, gather=0, reduce_bytes=0, gather_bytes=0, pack=0, unpack=0)
    for kind, parameters, low in ((kinds[0], rank.dense, rank.low_dense),
                                  (kinds[1], rank.experts, rank.low_experts)):
        if parameters > 0:
            shard, copies = group_of(c.system, s, kind), replica
            if kind == "expert_shard" and c.stack.whole_experts:
                shard, copies = place(c.system, 1, 1), group_of(c.system, s, "expert_data")
            t = traffic_of_group(c, rank.largest.matrix, share * parameters, share * low,
                                 shard, copies)
            for name in vars(sums):
                setattr(sums, name, getattr(sums, name) + getattr(t, name))
    return sums


def visible(stack, seconds, window):
    hidden = min(seconds, window)
    return min(seconds, stack.dp_exposed * seconds + (seconds - hidden) + stack.contention * hidden)


PASSES = ("forward", "backward", "weight")


def visible_copies(each_way, seconds, used):
    """Copies beside a pass of which other traffic uses a part."""
    return max(0, each_way - max(0, seconds - used))


def copies_each_way(c, rank):
    s, a, seconds = c.strategy, c.accelerator, 0
    if s.offload_activations:
        seconds += kernels.copy(a, memory.offloaded_share(c) * rank.saved)
    if s.offload_weights:
        size = memory.stored_weights(c, rank)
        seconds += max(kernels.copy(a, size), size / a.nvme_bandwidth if s.nvme_weights else 0)
    return seconds


def late(c):
    return c.stack.reduces_late and c.strategy.sharding != "none"


def waiting(blocks, stage, times):
    """Traffic of every microbatch that the passes of a virtual stage wait for."""
    c, s, stack = blocks.c, blocks.c.strategy, blocks.c.stack
    held = Record()
    keep(held, held_blocks(blocks, [stage]), 1, c)
    zero = dict.fromkeys(PASSES, 0)
    hidden, w = Record(**zero), Record(data=Record(**zero), copies=Record(**zero), bytes=0, ends=0)
    apart = s.schedule in schedules.SPLITS
    if s.sharding in ("gradients", "all"):
        l = max(held.layers, 1) if s.sharding == "all" else 1
        t = traffic_of(c, held, 1 / l)
        gather = t.gather if s.sharding == "all" else 0
        if memory.gradient_runs(c):
            t.reduce = t.reduce_bytes = t.pack = 0
            if stack.copies_shards and stack.scatters_last:
                sums = s.learning * (held.dense + held.experts) * (c.element + 2 * s.states.reduce)
                t.pack = kernels.stream(c.accelerator, sums) / stack.stream_share / l
        if s.sharding != "all":
            t.unpack = 0
        copies = {"forward": t.unpack, "backward": t.unpack + (0 if apart else t.pack),
                  "weight": t.pack if apart else 0}
        overlaps = s.grad_overlap and (s.param_overlap if s.sharding == "all" else not late(c))
        for name, seconds in (("forward", gather), ("backward", gather + (0 if apart else t.reduce)),
                              ("weight", t.reduce if apart else 0)):
            window = getattr(times, name) * (1 / l if s.sharding == "all" else stack.dp_window)
            shown = visible(stack, seconds, window) if overlaps else seconds
            setattr(w.data, name, l * (shown + copies[name]))
            setattr(hidden, name, l * (seconds - shown))
        w.bytes = l * (t.reduce_bytes + (2 * t.gather_bytes if s.sharding == "all" else 0))
    each_way = copies_each_way(c, held)
    for name in ("forward", "backward"):
        setattr(w.copies, name, visible_copies(each_way, getattr(times, name),
                                               getattr(hidden, name)))
    if s.sharding == "all":
        first = hidden.forward / l
        last = min(t.reduce / 2, (hidden.weight if apart else hidden.backward) / l)
        freed = 0 if apart else last
        w.ends = (first - w.copies.forward
                  + visible_copies(each_way, times.forward, hidden.forward - first)
                  + last - w.copies.backward
                  + visible_copies(each_way, times.backward, hidden.backward - freed))
    return w


def reduce_once(c, heaviest):
    """Seconds; bytes sent; seconds used of one forward and one backward pass."""
    s, stack, runs = c.strategy, c.stack, memory.gradient_runs(c)
    if s.sharding == "all" and not runs:
        return Record(seconds=0, bytes=0, forward=0, backward=0)
    t = traffic_of(c, heaviest, 1)
    if s.sharding == "gradients" and not runs:
        t.reduce = t.reduce_bytes = t.pack = 0
    if s.sharding == "all":
        t.gather = t.gather_bytes = t.unpack = 0
    whole = Record(scatters=1, microbatches=1, chunks=1)
    if stack.overlaps_chunks and s.schedule == "interleaved":
        whole = Record(scatters=1, microbatches=min(s.pp, s.microbatches), chunks=s.vp)
    runs = runs or whole
    reduce, end = in_runs(stack, runs, s.grad_overlap and not late(c), t.reduce,
                          alone(heaviest, "backward"))
    gather, start = in_runs(stack, whole, s.param_overlap, t.gather, alone(heaviest, "forward"))
    copies = runs.scatters * t.pack + t.unpack
    return Record(seconds=reduce + gather + copies, bytes=runs.scatters * t.reduce_bytes + t.gather_bytes,
                  forward=start, backward=end)


def in_runs(stack, runs, overlaps, traffic, window):
    """Visible seconds: one chunk beside its own microbatch, others beside runs; what the first uses."""
    each, window = traffic / runs.chunks, stack.dp_window * window / runs.chunks
    if not overlaps:
        return each * runs.chunks * runs.scatters, 0
    end = visible(stack, each, window)
    before = visible(stack, each, runs.microbatches * window)
    return end + (runs.chunks * runs.scatters - 1) * before, each - end


def tied_seconds(c):
    s = c.strategy
    if not c.model.tied or s.pp == 1 or c.frozen:
        return 0
    return collectives.seconds_of(c.system, "all_reduce", s.states.reduce * c.table,
                                  group_of(c.system, s, "ends"))


def data_parallel(c, first, slowest, heaviest):
    exchange, m = reduce_once(c, heaviest), c.strategy.microbatches
    exchange.seconds += m * slowest.data_seconds + first.ends + tied_seconds(c)
    exchange.bytes += m * slowest.data_bytes
    return exchange


def replicated_seconds(c, heaviest):
    """Gradients of what every tensor rank holds whole."""
    s, stack = c.strategy, c.stack
    if s.tp == 1 or not s.sp or c.frozen:
        return 0
    size = s.states.reduce * heaviest.whole
    if stack.norm_rings == 0:
        return c.collective("all_reduce", size, "tensor")
    n = c.model.norms_per_layer * heaviest.layers + 1
    rings = stack.norm_rings + (stack.norm_rings_whole if s.sharding == "none" else 0)
    return rings * n * (c.collective("reduce_scatter", size / n, "tensor")
                        + c.collective("all_gather", size / n, "tensor"))


# ---- once a step ----------------------------------------------------------------------------

def weight_cast_seconds(c, heaviest):
    s, f = c.strategy, c.formats
    low = heaviest.low_dense + heaviest.low_experts
    turn = 2 * f.weight * (f.weight_copies - 1)
    if low == 0:
        return 0
    if s.sharding == "all":
        size = s.microbatches * (turn if f.gathers_low else 2 * f.cast_weight(1))
    else:
        size = s.microbatches * turn if f.transposes_again else 0
        if not c.frozen and not f.gathers_low:
            size += f.cast_weight(1 if f.transposes_again else f.weight_copies)
        elif not c.frozen and not f.transposes_again:
            size += turn
    return c.stream(f.passes * size * low)


def optimizer_seconds(c, heaviest):
    s = c.strategy
    moved = c.stack.optimizer_bytes + (c.stack.foreach_bytes if s.foreach_update else 0)
    if s.states.weight <= 2 and s.states.optimizer <= 4 and not s.adapter_rank:
        moved /= 2  # weights, gradients and moments in 16 bits
    on_host = s.offload_optimizer and c.stack.host_GBps > 0 and not s.optimizer_on_device
    here = 1 - memory.away_share(s) if on_host else 1
    seconds = c.stream(here * moved * s.optimizer_traffic * s.learning
                       * memory.optimized_parameters(s, heaviest))
    for kind, ranks in zip(("dense", "experts"), memory.shard_ranks(s, heaviest)):
        count, all_of_them = heaviest.matrices[kind]
        dealt = ceil(count / ranks) / count if s.deals_matrices and count else 1
        seconds += all_of_them * dealt
    return seconds


def stepped_bytes(c, rank):
    """What CPUs read and write to step the optimizer of a rank."""
    s = c.strategy
    master = s.states.optimizer > 8 * s.learning
    weights = (1 if master else 2) * s.learning * s.states.weight
    return (2 * memory.optimizer_bytes(s, rank)
            + (memory.host_gradient(c) + weights) * memory.optimized_parameters(s, rank))


def disk_bytes(c, rank):
    """What a step reads from disks and writes to them, beside the passes."""
    s, size = c.strategy, 0
    if s.nvme_optimizer:
        size += 2 * memory.optimizer_bytes(s, rank)
        if s.offload_gradients:
            size += memory.host_gradient(c) * memory.optimized_parameters(s, rank)
        size *= memory.away_share(s)
    if s.nvme_weights:
        size += memory.stored_weights(c, rank)
    return size


def offload_seconds(c, slowest, heaviest, exchange):
    s, seconds = c.strategy, c.strategy.microbatches * slowest.copy_seconds
    if s.offload_optimizer and c.stack.host_GBps > 0 and not s.optimizer_on_device:
        seconds += memory.away_share(s) * stepped_bytes(c, heaviest) / (c.stack.host_GBps * 1e9)
    elif s.offload_optimizer:
        copies = 2 * kernels.copy(c.accelerator, memory.optimizer_bytes(s, heaviest))
        backward = alone(heaviest, "backward", alone_share(s)) if s.step_in_backward else 0
        seconds += memory.away_share(s) * max(copies - backward, 0)
    seconds += disk_bytes(c, heaviest) / c.accelerator.nvme_bandwidth
    each_way = copies_each_way(c, heaviest)
    for pass_seconds, used in ((alone(heaviest, "forward", alone_share(s)), exchange.forward),
                               (alone(heaviest, "backward", alone_share(s)), exchange.backward)):
        seconds += (visible_copies(each_way, pass_seconds, used)
                    - visible_copies(each_way, pass_seconds, 0))
    return seconds


# ---- the step -------------------------------------------------------------------------------

def first_most(items, key):
    """Index of the first of the greatest."""
    return max(range(len(items)), key=lambda i: (key(items[i]), -i))


def slowest_of(ranks):
    """The first that is busy longest, up to rounding."""
    slowest = ranks[0]
    for rank in ranks[1:]:
        if rank.busy > slowest.busy * (1 + 1e-12):
            slowest = rank
    return slowest


def estimate(model, system, stack, s, convention):
    c = operators.Setting(model, system, stack, s)
    blocks, a, m = Blocks(c), system.accelerator, s.microbatches
    ranks = [rank_of(blocks, stages) for stages in strategies.chunks_of_ranks(model, s)]
    in_flight = [schedules.in_flight(s.schedule, s.pp, strategies.chunks_per_rank(s), m, r)
                 for r in range(s.pp)]
    memories = [memory.memory_of(c, rank, n) for rank, n in zip(ranks, in_flight)]
    hosts = [memory.host_bytes(c, rank, n) for rank, n in zip(ranks, in_flight)]
    slowest = slowest_of(ranks)
    heaviest = ranks[first_most(ranks, lambda rank: rank.dense + rank.experts)]
    fullest = first_most(memories, lambda held: held.total - held.late)
    host_fits = all(host <= a.host_capacity for host in hosts)
    fits = host_fits and all(held.total - held.late <= a.usable for held in memories)
    roomy = all(held.total <= a.usable for held in memories)

    part = {name: m * (slowest.forward[name] + slowest.backward[name]) for name in operators.PARTS}
    times = [rank.chunks for rank in ranks]
    work = schedules.makespan(s.schedule, m, times, 0)
    send, message = send_of(c)
    part["pipeline bubble"] = max(0, work - m * slowest.busy)
    part["PP comm"] = message_seconds(c, times, work, send)
    part["EP comm"] += m * alone_share(s) * (slowest.hidden_forward + slowest.hidden_backward)
    part["TP comm"] += replicated_seconds(c, heaviest)
    exchange = data_parallel(c, ranks[0], slowest, heaviest)
    part["DP comm"] = exchange.seconds
    part["casts"] += weight_cast_seconds(c, heaviest)
    part["optimizer"] = optimizer_seconds(c, heaviest)
    part["offloading"] = offload_seconds(c, slowest, heaviest, exchange)
    growth = stack.scale_growth * max(0, log2(s.ranks / 8)) * sum(part.values())
    beyond = (memories[fullest].total - a.usable) / GIB
    thrashing = stack.thrash_seconds * m * beyond if fits and beyond > 0 else 0
    fixed = stack.adapter_seconds if s.adapter_rank > 0 else stack.step_seconds
    part["fixed"] = fixed + growth + thrashing

    e = Record(blocks=blocks, part=part, step=sum(part.values()), memories=memories,
               worst_stage=fullest, fits=fits, thrashes=fits and not roomy,
               host_bytes=hosts[fullest])
    e.volumes = {group: m * slowest.sent[group] for group in slowest.sent}
    e.volumes["pipeline"] = 2 * m * passes(s) * message
    e.volumes["data"] = exchange.bytes
    tokens = s.global_batch * s.seq
    e.model_flops = models.flops_per_token(model, s.seq, convention, c.frozen) * tokens / s.ranks
    done = slowest.flops_forward + slowest.flops_backward
    e.hardware_flops = e.model_flops * (1 + (slowest.flops_recompute / done if done else 0))
    peak = a.gemm["bf16"].peak if "bf16" in a.gemm else 0
    e.mfu = e.model_flops / (e.step * peak) if peak else None
    e.hfu = e.hardware_flops / (e.step * peak) if peak else None
    e.tokens_per_second = tokens / e.step
    return e
