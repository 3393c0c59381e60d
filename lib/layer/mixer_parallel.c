/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax attention and Mamba-2 side by side (Falcon-H1, arXiv 2507.22448): both read the output of
 * one norm, and their outputs are added before the tensor ranks sum them.  Parameters, work and
 * memory are the sums of both parts; FLOP conventions count each as they count it alone.
 */
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/operators.h"
#include "layer/recurrence.h"

static rk_status complete(rk_layer_type *type, int64_t hidden, const char *path, rk_error *err)
{
    rk_layer_type states = rk_mamba2_alone(type);
    const rk_status status = rk_mixer_mamba2.part.complete(&states, hidden, path, err);
    type->recurrence = states.recurrence;
    return status ? status : rk_mixer_grouped.part.complete(type, hidden, path, err);
}

static rk_status check(const rk_layer_type *type, rk_error *err)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    const rk_status status = rk_mixer_mamba2.part.check(&states, err);
    return status ? status : rk_mixer_grouped.part.check(type, err);
}

static void count(const rk_layer_type *type, int64_t hidden, rk_layer_params *params)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    rk_mixer_mamba2.part.count(&states, hidden, params);
    const int64_t of_states = params->attention;
    rk_mixer_grouped.part.count(type, hidden, params);
    params->attention += of_states;
}

static void unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                    double *copied)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    rk_mixer_mamba2.part.unsplit(&states, hidden, t, whole, copied);
    rk_mixer_grouped.part.unsplit(type, hidden, t, whole, copied);
}

static int matrices(const rk_layer_type *type, double hidden, rk_matrix out[RK_MATRIX_MAX])
{
    const rk_layer_type states = rk_mamba2_alone(type);
    const int found = rk_mixer_grouped.part.matrices(type, hidden, out);
    return found + rk_mixer_mamba2.part.matrices(&states, hidden, &out[found]);
}

static double features(const rk_layer_type *type, double hidden)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    return rk_mixer_grouped.part.features(type, hidden) +
           rk_mixer_mamba2.part.features(&states, hidden);
}

static double flops(const rk_layer_type *type, int64_t hidden, int64_t seq, rk_flop_reach reach)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    return rk_mixer_grouped.flops(type, hidden, seq, reach) +
           rk_mixer_mamba2.flops(&states, hidden, seq, reach);
}

static int64_t unsplittable(const rk_layer_type *type, int64_t tp, int64_t cp)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    return rk_mixer_mamba2.unsplittable(&states, tp, cp);
}

/* The kernels of both; they share a norm, and the sum of their outputs replaces a residual. */
static void kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    rk_mixer_mamba2.kernels(c, &states, forward, backward);
    *forward += RK_MIXER_KERNELS * c->stack->kernels_forward - 1;
    *backward += RK_MIXER_KERNELS * c->stack->kernels_backward - 2;
}

/* The sum of both outputs reads two and writes one; its gradient is the same for both. */
static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    const double output = x->c->element * x->c->tokens * (double)x->c->model->hidden;
    rk_mixer_grouped.part.add(x, type);
    rk_mixer_mamba2.part.add(x, &states);
    rk_add_stream(x, RK_PART_STREAM, 3 * output, 3 * output);
}

static double transient(const rk_block_context *c, const rk_layer_type *type)
{
    const rk_layer_type states = rk_mamba2_alone(type);
    const double attention = rk_mixer_grouped.part.transient(c, type);
    const double scan = rk_mixer_mamba2.part.transient(c, &states);
    return attention > scan ? attention : scan;
}

/* Its keys: the keys of both parts. */
const rk_mixer rk_mixer_parallel = {
    .part = {.name = "parallel",
             .shapes = RK_SHAPE_ATTENTION | RK_SHAPE_RECURRENCE,
             .complete = complete,
             .check = check,
             .count = count,
             .unsplit = unsplit,
             .features = features,
             .matrices = matrices,
             .add = add,
             .transient = transient},
    .modules =
        RK_MODULE_CORE_ATTENTION | RK_MODULE_NORM | RK_MODULE_OPERATORS | RK_MODULE_PROJECTION,
    .flops = flops,
    .unsplittable = unsplittable,
    .kernels = kernels,
};
