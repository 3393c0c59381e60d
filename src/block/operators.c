/* SPDX-License-Identifier: Apache-2.0 */
#include "block/operators.h"

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

/* ---- memory-bound -------------------------------------------------------------------------- */

static double stream_seconds(const rk_costing *x, double bytes)
{
    return rk_stream_seconds(&x->c->system->accelerator, bytes) / x->c->stack->stream_share;
}

void rk_add_stream(rk_costing *x, rk_part part, double forward_bytes, double backward_bytes)
{
    x->cost.forward.part[part] += stream_seconds(x, forward_bytes);
    x->cost.backward.part[part] += stream_seconds(x, backward_bytes);
}

/* ---- linear layers ------------------------------------------------------------------------- */

/*
 * Bytes per element that weight gradients read and write beyond one bf16 output: they are added
 * to what the microbatches before left, in the gradient's precision.
 */
static double accumulate_bytes(const rk_costing *x)
{
    return 2 * x->c->strategy->states.gradient - 2;
}

static bool is_low(rk_precision precision)
{
    return precision == RK_FP8 || precision == RK_FP4;
}

/* Casts of a low-precision linear: inputs read and written once, output gradients likewise with
 * their transposed copy: 3 bytes per input element forward, 4 per output element backward. */
static void add_casts(rk_costing *x, rk_precision precision, double M, double N, double K)
{
    if (is_low(precision)) {
        const double passes = x->c->stack->cast_passes;
        rk_add_stream(x, RK_PART_CAST, passes * 3 * M * K, passes * 4 * M * N);
    }
}

static void add_flops(rk_costing *x, double forward)
{
    x->cost.flops_forward += forward;
    x->cost.flops_backward += 2 * forward;
}

void rk_add_linear(rk_costing *x, rk_part part, rk_precision precision, double M, double N,
                   double K)
{
    const rk_accelerator *a = &x->c->system->accelerator;
    const double share = x->c->stack->gemm_share;
    const double forward = rk_gemm_seconds(a, precision, 1, M, N, K, 0);
    const double by_input = rk_gemm_seconds(a, precision, 1, M, K, N, 0);
    const double by_weight = rk_gemm_seconds(a, precision, 1, N, K, M, accumulate_bytes(x));
    x->cost.forward.part[part] += forward / share;
    x->cost.backward.part[part] += (by_input + by_weight) / share;
    x->cost.weight_share += by_weight / share; /* seconds until rk_block_* makes it a share */
    add_flops(x, 2 * M * N * K);
    add_casts(x, precision, M, N, K);
}

void rk_add_grouped_linear(rk_costing *x, rk_precision precision, double groups, double M, double N,
                           double K)
{
    const rk_accelerator *a = &x->c->system->accelerator;
    const double share = x->c->stack->gemm_share * x->c->stack->expert_gemm_share;
    const double forward = rk_grouped_gemm_seconds(a, precision, groups, M, N, K, 0);
    const double by_input = rk_grouped_gemm_seconds(a, precision, groups, M, K, N, 0);
    const double by_weight =
        rk_grouped_gemm_seconds(a, precision, groups, N, K, M, accumulate_bytes(x));
    x->cost.forward.part[RK_PART_EXPERT] += forward / share;
    x->cost.backward.part[RK_PART_EXPERT] += (by_input + by_weight) / share;
    x->cost.weight_share += by_weight / share;
    add_flops(x, 2 * groups * M * N * K);
    add_casts(x, precision, groups * M, N, K);
}

/* ---- communication ------------------------------------------------------------------------- */

double rk_comm_seconds(const rk_costing *x, rk_collective op, double bytes, const rk_group *group)
{
    return group->size > 1 ? rk_collective_seconds(x->c->system, op, bytes, group) : 0;
}

void rk_add_comm(rk_costing *x, rk_part part, double forward, double backward)
{
    x->cost.forward.part[part] += forward;
    x->cost.backward.part[part] += backward;
}

/* ---- host ---------------------------------------------------------------------------------- */

static void floor_at(rk_times *times, double host)
{
    const double device = rk_times_sum(times);
    if (host <= 0) {
        return;
    }
    const double high = device > host ? device : host;
    const double a = device / high, b = host / high;
    const double both = high * pow(a * a * a * a * a * a + b * b * b * b * b * b, 1.0 / 6);
    times->part[RK_PART_HOST] += both - device;
}

void rk_add_host_floor(rk_costing *x, double kernels_forward, double kernels_backward)
{
    const double share = x->c->strategy->graph_capture ? x->c->stack->graph_share : 1;
    const double launch = share * x->c->system->accelerator.launch_seconds;
    floor_at(&x->cost.forward, kernels_forward * launch);
    floor_at(&x->cost.backward, kernels_backward * launch);
}
