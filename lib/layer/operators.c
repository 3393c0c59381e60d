/* SPDX-License-Identifier: Apache-2.0 */
#include "layer/operators.h"

#include <math.h>

const char *const rk_part_names[] = {
    "linear layers", "attention",       "experts", "memory-bound ops", "casts",   "head and loss",
    "host-bound",    "recompute",       "TP comm", "CP comm",          "EP comm", "PP comm",
    "offloading",    "pipeline bubble", "DP comm", "optimizer",        "fixed",   NULL,
};

double rk_times_sum(const rk_times *times)
{
    double sum = 0;
    for (int i = 0; i < RK_PART_COUNT; i++) {
        sum += times->part[i];
    }
    return sum;
}

void rk_times_add(rk_times *times, double factor, const rk_times *other)
{
    for (int i = 0; i < RK_PART_COUNT; i++) {
        times->part[i] += factor * other->part[i];
    }
}

void rk_sent_add(rk_sent *sent, double factor, const rk_sent *other)
{
    sent->tensor += factor * other->tensor;
    sent->context += factor * other->context;
    sent->expert += factor * other->expert;
}

/* ---- saved and made again ------------------------------------------------------------------ */

bool rk_recomputes(const rk_strategy *strategy, unsigned module)
{
    const unsigned by_operators = RK_MODULE_NORM | RK_MODULE_ACTIVATION;
    const unsigned modules = strategy->recompute_modules;
    const bool operators = modules & RK_MODULE_OPERATORS && module & by_operators;
    return strategy->recompute == RK_REC_SELECTIVE && (modules & module || operators);
}

void rk_save(rk_cost_builder *x, bool again, double bytes)
{
    if (again) {
        x->cost.unsaved += bytes;
    } else {
        x->cost.saved += bytes;
        rk_note_kind(x, RK_OPERATOR_KEEP, RK_PART_STREAM);
    }
}

void rk_add_product_again(rk_cost_builder *x, double M, double N, double K)
{
    if (!rk_recomputes(x->c->strategy, RK_MODULE_OPERATORS)) {
        return;
    }
    rk_cost_builder again = {.c = x->c};
    rk_add_linear(&again, RK_PART_LINEAR, x->c->strategy->precision, M, N, K);
    x->cost.backward.part[RK_PART_RECOMPUTE] += rk_times_sum(&again.cost.forward);
    x->cost.flops_recompute += again.cost.flops_forward;
    rk_note_kind(x, RK_OPERATOR_RECOMPUTE, RK_PART_RECOMPUTE);
}

void rk_repeat(rk_cost_builder *x, const rk_cost *before)
{
    x->cost.backward.part[RK_PART_RECOMPUTE] +=
        rk_times_sum(&x->cost.forward) - rk_times_sum(&before->forward);
    x->cost.flops_recompute += x->cost.flops_forward - before->flops_forward;
    rk_sent_add(&x->cost.sent_backward, 1, &x->cost.sent_forward);
    rk_sent_add(&x->cost.sent_backward, -1, &before->sent_forward);
    rk_note_kind(x, RK_OPERATOR_RECOMPUTE, RK_PART_RECOMPUTE);
}

void rk_checkpoint(rk_cost_builder *x, const rk_cost *before)
{
    rk_repeat(x, before);
    x->cost.unsaved += x->cost.saved - before->saved;
    x->cost.saved = before->saved;
    x->cost.late = before->late;
    rk_note_kind(x, RK_OPERATOR_RECOMPUTE, RK_PART_RECOMPUTE);
}

/* ---- memory-bound -------------------------------------------------------------------------- */

static double stream_seconds(const rk_cost_builder *x, double bytes)
{
    return rk_stream_seconds(&x->c->system->accelerator, bytes) / x->c->stack->stream_share;
}

void rk_add_stream(rk_cost_builder *x, rk_part part, double forward_bytes, double backward_bytes)
{
    x->cost.forward.part[part] += stream_seconds(x, forward_bytes);
    x->cost.backward.part[part] += stream_seconds(x, backward_bytes);
    if (x->list) {
        const rk_operator entry = {
            .kind = RK_OPERATOR_STREAM, .part = part, .bytes = forward_bytes};
        rk_note(x, &entry, backward_bytes);
    }
}

/* ---- linear layers ------------------------------------------------------------------------- */

/*
 * Bytes per element that weight gradients read and write beyond one output as wide as activations:
 * they are added to what the microbatches before left, in the gradient's precision, unless that is
 * done apart.
 */
static double accumulate_bytes(const rk_cost_builder *x)
{
    return x->c->stack->accumulation_bytes > 0
               ? 0
               : 2 * x->c->strategy->states.gradient - x->c->element;
}

/* Casts of a low-precision linear: of its inputs in forward, of its outputs' gradients backward. */
static void add_casts(rk_cost_builder *x, rk_precision precision, double M, double N, double K)
{
    const rk_strategy *s = x->c->strategy;
    if (rk_is_low(precision)) {
        const double bytes =
            rk_cast_passes(s, x->c->stack) * rk_cast_bytes(s, &x->c->system->accelerator);
        rk_add_stream(x, RK_PART_CAST, bytes * M * K, bytes * M * N);
    }
}

/* Seconds of the three GEMMs of a linear. */
struct linear_seconds {
    double forward, by_input, by_weight;
};

static bool is_frozen(const rk_cost_builder *x)
{
    return x->c->strategy->adapter_rank > 0;
}

static void add_linear(rk_cost_builder *x, rk_part part, const struct linear_seconds *s,
                       double share, double flops)
{
    x->cost.forward.part[part] += s->forward / share;
    x->cost.backward.part[part] += (s->by_input + s->by_weight) / share;
    x->cost.weight_seconds += s->by_weight / share;
    x->cost.weight_kernels += is_frozen(x) ? 0 : 1;
    x->cost.flops_forward += flops;
    x->cost.flops_backward += (is_frozen(x) ? 1 : 2) * flops;
}

static void note_linear(rk_cost_builder *x, rk_part part, double groups, double M, double N,
                        double K)
{
    if (x->list) {
        const rk_operator entry = {
            .kind = RK_OPERATOR_LINEAR, .part = part, .groups = groups, .M = M, .N = N, .K = K};
        rk_note(x, &entry, 0);
    }
}

/*
 * An adapter of rank r on a linear of K inputs and N outputs: W x + B (A x).  Its products are thin
 * (r is far below what a GEMM needs), so they take as long as their operands need to pass.  Forward
 * reads x, writes B A x, and adds it to W x (two reads, a write): M (K + 4 N) elements.  Backward
 * reads the gradient of the output for that of B and for the way down, writes the gradient of the
 * input and adds it, and reads x again for that of A: M (2 N + 5 K).  Where outputs are summed over
 * the tensor group, B A x is made of the sum of A x, for the `summed` rows of this rank.
 */
static void add_adapter(rk_cost_builder *x, double M, double summed, double N, double K)
{
    const double r = (double)x->c->strategy->adapter_rank;
    rk_add_stream(x, RK_PART_STREAM, x->c->element * (M * K + 4 * summed * N),
                  x->c->element * (2 * summed * N + 5 * M * K));
    rk_save(x, false, x->c->element * M * r);
    x->cost.flops_forward += 2 * M * r * (N + K);
    x->cost.flops_backward += 4 * M * r * (N + K);
    x->cost.adapters++;
    note_linear(x, RK_PART_LINEAR, 1, M, N, K);
}

static double gemm_share(const rk_cost_builder *x, rk_precision precision)
{
    return rk_is_low(precision) ? x->c->stack->low_gemm_share : x->c->stack->gemm_share;
}

static void add_bare_linear(rk_cost_builder *x, rk_part part, rk_precision precision, double M,
                            double N, double K)
{
    const rk_accelerator *a = &x->c->system->accelerator;
    const struct linear_seconds s = {
        .forward = rk_gemm_seconds(a, precision, 1, M, N, K, 0),
        .by_input = rk_gemm_seconds(a, precision, 1, M, K, N, 0),
        .by_weight =
            is_frozen(x) ? 0 : rk_gemm_seconds(a, precision, 1, N, K, M, accumulate_bytes(x)),
    };
    add_linear(x, part, &s, gemm_share(x, precision), 2 * M * N * K);
    x->cost.low_dense_params += rk_is_low(precision) ? N * K : 0;
    note_linear(x, part, 1, M, N, K);
    add_casts(x, precision, M, N, K);
}

void rk_add_linear(rk_cost_builder *x, rk_part part, rk_precision precision, double M, double N,
                   double K)
{
    add_bare_linear(x, part, precision, M, N, K);
    if (x->adapts && part == RK_PART_LINEAR) {
        add_adapter(x, M, M, N, K);
    }
}

void rk_add_row_linear(rk_cost_builder *x, rk_precision precision, double M, double N, double K)
{
    add_bare_linear(x, RK_PART_LINEAR, precision, M, N, K);
    if (x->adapts) {
        add_adapter(x, M, M * x->c->local_tokens / x->c->tokens, N, K);
    }
}

void rk_add_grouped_linear(rk_cost_builder *x, rk_precision precision, double groups, double M,
                           double N, double K)
{
    const rk_accelerator *a = &x->c->system->accelerator;
    const struct linear_seconds s = {
        .forward = rk_grouped_gemm_seconds(a, precision, groups, M, N, K, 0),
        .by_input = rk_grouped_gemm_seconds(a, precision, groups, M, K, N, 0),
        .by_weight = is_frozen(x) ? 0
                                  : rk_grouped_gemm_seconds(a, precision, groups, N, K, M,
                                                            accumulate_bytes(x)),
    };
    add_linear(x, RK_PART_EXPERT, &s, gemm_share(x, precision) * x->c->stack->expert_gemm_share,
               2 * groups * M * N * K);
    x->cost.low_expert_params += rk_is_low(precision) ? groups * N * K : 0;
    note_linear(x, RK_PART_EXPERT, groups, M, N, K);
    add_casts(x, precision, groups * M, N, K);
}

/* ---- communication ------------------------------------------------------------------------- */

double rk_comm_seconds(const rk_cost_builder *x, rk_collective op, double bytes,
                       const rk_group *group)
{
    if (x->list) {
        rk_note_message(x->list, op, bytes, group->size);
    }
    return rk_collective_seconds(x->c->system, op, bytes, group);
}

void rk_add_comm(rk_cost_builder *x, rk_part part, double forward, double backward)
{
    x->cost.forward.part[part] += forward;
    x->cost.backward.part[part] += backward;
}

/* ---- host ---------------------------------------------------------------------------------- */

/*
 * What a pass of `device` seconds takes whose kernels take `host` seconds to launch: the longer of
 * the two, and both a little where they are alike.  The sixth power: accuracy note NVIDIA and
 * FSDP, 5, the host floor of a layer.
 */
static double launched_seconds(double device, double host)
{
    const double high = device > host ? device : host;
    const double a = device / high, b = host / high;
    return high * pow(a * a * a * a * a * a + b * b * b * b * b * b, 1.0 / 6);
}

static void floor_at(rk_times *times, double host)
{
    const double device = rk_times_sum(times);
    if (host > 0) {
        times->part[RK_PART_HOST] += launched_seconds(device, host) - device;
    }
}

/*
 * Where weight gradients are a pass of their own, `device` and `host` seconds of backward are split
 * between two passes, each with its own floor: neither gets longer when a kernel or its launch
 * takes less.
 */
static void floor_apart(rk_cost *cost, double device, double host, double launch)
{
    const double weight = cost->weight_seconds;
    const double own = fmin(cost->weight_kernels * launch, host);
    if (host <= 0 || weight <= 0) {
        return;
    }
    const double rest = device - weight + cost->apart.sums;
    cost->weight_seconds = launched_seconds(weight, own);
    cost->apart.launches = launched_seconds(rest, host - own) - cost->apart.sums +
                           cost->weight_seconds - launched_seconds(device, host);
}

void rk_add_host_floor(rk_cost_builder *x, double kernels_forward, double kernels_backward)
{
    const rk_stack *stack = x->c->stack;
    const rk_strategy *s = x->c->strategy;
    const double captured = s->graph_step ? 0 : s->graph_capture ? stack->graph_share : 1;
    const double overlap = s->moe_overlap ? stack->overlap_launches : 1;
    const double launch = captured * overlap * x->c->system->accelerator.launch_seconds;
    const double more = s->tp > 1 ? stack->tp_kernels : 0;
    const double host = (kernels_backward + more) * launch;
    floor_apart(&x->cost, rk_times_sum(&x->cost.backward), host, launch);
    floor_at(&x->cost.forward, (kernels_forward + more) * launch);
    floor_at(&x->cost.backward, host);
    rk_note_kind(x, RK_OPERATOR_LAUNCH, RK_PART_HOST);
}
