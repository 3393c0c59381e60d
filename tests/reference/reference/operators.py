# SPDX-License-Identifier: Apache-2.0
"""docs/method/layers.md: what one pass of a layer takes, sends and keeps."""

import copy
from math import ceil, hypot

from reference import collectives, kernels, models, precision, strategies

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
        other = (stack.generations and system.accelerator.generation not in stack.generations
                 and stack.other_attention_share)
        shares = ((other,) * 2 if other else
                  (stack.attention_share, stack.attention_backward_share))
        self.attention_rates = [self.rate_of_attention() * share for share in shares]
        self.attention_ramp = (not other and stack.attention_ramp_tokens) or self.accelerator.ramp
        self.low = precision.is_low(s.precision)
        self.frozen = s.adapter_rank > 0
        self.alone = s.tp * s.pp * s.cp * s.dp == 1
        casts = (stack.autocasts and s.states.weight >= 4 and self.element < 4
                 and not s.low_weights and self.alone)
        self.autocasts = casts and stack.wide_norms  # a compiler casts again
        self.written = 4 if s.wide_residual else self.element  # by a linear
        self.residual = 4 if casts else self.written
        self.T = s.micro_batch * s.seq / s.cp
        self.T_s = self.T / s.tp if s.sp else self.T
        self.H = self.T_s * model.hidden
        self.vocab = ceil(model.vocab / (128 * s.tp)) * 128 * s.tp
        self.table = self.vocab * (model.embedding_width or model.hidden) / s.tp
        self.groups = {kind: strategies.group_of(system, s, kind) for kind in LAYER_GROUPS}
        hidden = self.element * self.T * model.hidden
        self.gather = self.collective("all_gather", hidden, "tensor") if s.sp else 0
        self.reduce = self.collective("reduce_scatter" if s.sp else "all_reduce", hidden, "tensor")
        self.gathers_cast = (stack.gathers_cast and s.tp > 1 and s.sp and s.precision == "fp8"
                             and s.fp8_recipe == "tensorwise")
        region = hidden / self.element if self.gathers_cast else hidden
        self.region_gather = self.collective("all_gather", region, "tensor") if s.sp else 0
        self.gather_copy = self.region_copy = self.reduce_copy = 0
        if stack.copies_sequence and s.tp > 1 and s.sp:
            group = self.groups["tensor"]
            fused = s.tp_overlap and group.within[0] == group.size
            self.gather_copy, self.region_copy = self.stream(2 * hidden), self.stream(2 * region)
            self.reduce_copy = self.stream((1 + 1 / s.tp if fused else 2) * hidden)
        self.parameters = models.model_parameters(model)

    def rate_of_attention(self):
        """Of that in 16 bits."""
        a, form = self.accelerator, self.strategy.precision
        if not precision.is_full(form) or form not in a.gemm or "bf16" not in a.gemm:
            return 1
        full, half = a.gemm[form], a.gemm["bf16"]
        return full.peak * full.efficiency / (half.peak * half.efficiency)

    def kept_input(self, module=None):
        """Bytes per element kept of a linear's input; frozen, only adapters of a module read it."""
        if not self.frozen:
            return self.formats.saved_input
        read = module in self.strategy.adapter_modules and not self.adapter_copy()
        return self.element if read else 0

    def adapter_copy(self):
        """Bytes per element of the copy of its input that each adapter keeps."""
        if self.stack.adapter_dropout:
            return self.element + 1
        casts = self.strategy.adapter_bytes > self.element and self.alone
        return self.element if casts else 0

    def wide_norm(self, normalised):
        """Bytes per element that a norm, operator by operator, keeps beside its input."""
        if not self.stack.wide_norms:
            return normalised - self.element
        product = 4 if self.model.wide_gain else normalised
        return 4 - self.element + (0 if self.frozen else product)

    def collective(self, op, size, group):
        return collectives.seconds_of(self.system, op, size, self.groups[group])

    def stream(self, size):
        return kernels.stream(self.accelerator, size) / self.stack.stream_share

    def graphs_hold(self, *modules):
        """Graphs without modules hold all that they can, and every graph the ends of the model."""
        chosen = self.strategy.graph_modules
        return not chosen or not modules or any(module in chosen for module in modules)

    @property
    def pads_experts(self):
        drops = self.stack.deduplicates and self.stack.waits_for_counts
        return self.strategy.capacity_factor > 0 and not drops

    def recomputes(self, module):
        s = self.strategy
        if s.recompute != "selective":
            return False
        by_operators = module in ("norm", "activation") and "operators" in s.recompute_modules
        return module in s.recompute_modules or by_operators


def launched(stack, device, host, waits=False):
    """Seconds of a pass whose kernels take `host` seconds to launch, perhaps after a wait."""
    if stack.blocks_launches:
        return device + max(host, 0)
    if waits:
        return hypot(device, max(host, 0))
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
        self.dequantised = self.matrix = 0.0
        self.dense = self.whole = self.experts = self.low_dense = self.low_experts = 0.0
        self.adapters = 0
        self.projects_again = False
        self.matrices = {"dense": [0, 0.0], "experts": [0, 0.0]}  # how many, seconds
        self.outer = 0  # parameters of recurrences that Muon leaves to AdamW

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
        alone = 1 - self.c.accelerator.vector_overlap
        self.forward[part] += alone * self.c.stream(forward)
        self.backward[part] += alone * self.c.stream(backward)

    def comm(self, part, forward, backward):
        self.forward[part] += forward
        self.backward[part] += backward

    def send(self, group, forward, backward):
        self.sent_forward[group] += forward
        self.sent_backward[group] += backward

    def kept(self):
        """Bytes that stay for backward, or that it recomputes."""
        return self.saved + self.unsaved

    def save(self, size, unsaved=False):
        if unsaved:
            self.unsaved += size
        else:
            self.saved += size

    def own_rows(self, M):
        """Rows that a rank casts of those that its tensor group gathers."""
        return M / self.c.strategy.tp if self.c.gathers_cast else M

    def gemms(self, part, form, groups, M, N, K, cast=None):
        """The three GEMMs of a linear, plain or of `groups` experts, and its casts.

        `cast`: of how many rows of inputs, and of gradients of outputs.
        """
        c, stack, a = self.c, self.c.stack, self.c.accelerator
        low = precision.is_low(form)
        share = stack.low_gemm_share if low else stack.gemm_share
        accumulate = max(2 * c.strategy.states.gradient - c.element, 0)
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
            inputs, gradients = cast or (M, M)
            self.stream("casts", size * (groups or 1) * inputs * K, size * (groups or 1) * gradients * N)
        if c.strategy.wide_residual and part != "head and loss":
            self.stream("casts", *[(4 + c.element) * (groups or 1) * M * (K + N)] * 2)

    def low_weights(self, part, form, parameters, backward, groups=1):
        """Of these, those in 8 or 4 bits; frozen ones are dequantised for each GEMM, of experts one
        after the other."""
        size = parameters * self.c.formats.dequantised
        self.matrix = max(self.matrix, parameters)
        if size == 0 or part == "head and loss":
            return parameters if precision.is_low(form) else 0
        self.stream("casts", size, backward * size)
        self.dequantised = max(self.dequantised, 2 * parameters / groups)
        return parameters

    def linear(self, part, form, M, N, K, summed=False, kept=False):
        """Of one in NF4 the input is kept several times, once if it is `kept` anyway."""
        own, s = self.own_rows(M), self.c.strategy
        self.gemms(part, form, None, M, N, K, (M, own) if summed else (own, M))
        self.low_dense += self.low_weights(part, form, N * K, 1)
        if part == "linear layers" and s.nf4_weights and s.frozen_type.startswith("nf4"):
            times = max(self.c.stack.quantised_inputs - (1 if kept else 0), 0)
            self.save(times * self.c.element * M * K)

    def adapter(self, M, M_s, N, K, modules):
        """Each of the modules that share the input may keep a copy of its own."""
        r = self.c.strategy.adapter_rank
        self.stream("memory-bound ops", self.c.written * (M * K + 4 * M_s * N),
                    self.c.written * (2 * M_s * N + 5 * M * K))
        self.save(self.c.element * M * r)
        self.save(modules * self.c.adapter_copy() * M * K)
        self.flops_forward += 2 * M * r * (N + K)
        self.flops_backward += 4 * M * r * (N + K)
        self.adapters += modules

    def adapted_linear(self, module, M, N, K, summed=False, modules=1, held=False):
        """A linear of a module; its outputs may be summed over the tensor group, and its input be
        kept anyway."""
        c, s = self.c, self.c.strategy
        kept = held or c.kept_input(module) > 0
        self.linear("linear layers", s.precision, M, N, K, summed, kept)
        if c.frozen and module in s.adapter_modules:
            self.adapter(M, M * c.T_s / c.T if summed else M, N, K, modules)

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

    def product_again(self, M, N, K, summed=False):
        """A product that recomputation by operators runs again."""
        if self.c.recomputes("operators"):
            again = Block(self.c)
            again.linear("linear layers", self.c.strategy.precision, M, N, K, summed)
            self.backward["recompute"] += again.forward_seconds
            self.flops_recompute += again.flops_forward

    # ---- launches

    def floor_at_launches(self, kernels, loose=(0, 0), mixer=(0, 0), mixes=(), works=()):
        """Loose kernels are those that graphs leave out; modules hold the mixer's and the others."""
        c, s = self.c, self.c.strategy
        overlap = c.stack.launch_ratio * (c.stack.overlap_launches if s.moe_overlap else 1)
        group = c.groups["tensor"]
        user_buffers = s.sp and s.tp_overlap and group.within[0] == group.size
        more = c.stack.tp_kernels if s.tp > 1 and not user_buffers else 0
        launch = c.accelerator.launch * overlap
        left = [0 if s.graph_step else c.stack.graph_share if s.graph_capture and c.graphs_hold(*modules) else 1
                for modules in (mixes, works)]

        def host_of(way):
            ahead = kernels[way] - loose[way] + more
            captured = left[0] * (mixer[way] + more / 2) + left[1] * (ahead - mixer[way] - more / 2)
            share = captured / ahead if ahead > 0 and left[0] != left[1] else left[0]
            return share * launch, (share * ahead + (0 if s.graph_step else loose[way])) * launch

        (_, ahead), (each, host) = host_of(0), host_of(1)
        counts = c.stack.waits_for_counts and not s.graph_step and not c.pads_experts
        waits, waits_back = counts and loose[0] > 0, counts and loose[1] > 0
        for way, launches, waiting in (("forward", ahead, waits), ("backward", host, waits_back)):
            device = getattr(self, way + "_seconds")
            longer = launched(c.stack, device + getattr(self, "hidden_" + way), launches, waiting)
            setattr(self, "hidden_" + way, longer - launched(c.stack, device, launches, waiting))
        self.forward["host-bound"] += (
            launched(c.stack, self.forward_seconds, ahead, waits) - self.forward_seconds)
        device = self.backward_seconds
        whole = launched(c.stack, device, host, waits_back)
        self.backward["host-bound"] += whole - device
        if host > 0 and self.weight_seconds > 0:
            own = min(self.weight_kernels * each, host)
            rest = launched(c.stack, device - self.weight_seconds + self.apart_sums, host - own,
                            waits_back)
            self.weight_seconds = launched(c.stack, self.weight_seconds, own)
            both = rest + self.weight_seconds
            self.apart_launches = max(0, both - self.apart_sums - whole)
