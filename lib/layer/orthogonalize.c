/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work that Muon adds to the update of a layer: five Newton-Schulz steps on each matrix, in
 * bf16.  Every tensor rank gathers the matrices that are split over it and repeats the steps on
 * whole ones, the default of Megatron-Core ("duplicated").  Source: its emerging_optimizers and
 * layer_wise_optimizer; Muon: Moonlight, arXiv 2502.16982.  Of a recurrence it orthogonalizes the
 * output projection; the input projection, which holds several things at once, the convolution and
 * all vectors learn by AdamW.
 */
#include "base/extremes.h"
#include "layer/operators.h"
#include "model/kinds.h"
#include "strategy/optimizer.h"

#include <assert.h>

/* A rank gathers the momentum in 32 bits. */
#define MOMENTUM_BYTES 4.0

static rk_precision precision_of(const rk_block_context *c)
{
    return c->system->accelerator.gemm[RK_BF16].peak > 0 ? RK_BF16 : c->strategy->precision;
}

/* X X^T, its square, and their sum times X, five times, of `batch` a x b matrices (a <= b). */
static double newton_schulz_seconds(const rk_block_context *c, double batch, const rk_matrix *m)
{
    assert(batch > 0 && m->rows > 0 && m->columns > 0);
    const rk_accelerator *accelerator = &c->system->accelerator;
    const double a = rk_min(m->rows, m->columns), b = rk_max(m->rows, m->columns);
    const rk_precision p = precision_of(c);
    return RK_NEWTON_SCHULZ_STEPS * (rk_gemm_seconds(accelerator, p, batch, a, a, b, 0) +
                                     rk_gemm_seconds(accelerator, p, batch, a, a, a, 0) +
                                     rk_gemm_seconds(accelerator, p, batch, a, b, a, 0));
}

static void add_matrix(rk_cost_builder *x, const rk_matrix *m)
{
    const rk_strategy *s = x->c->strategy;
    rk_orthogonal *to = m->expert ? &x->cost.orthogonal_experts : &x->cost.orthogonal;
    const double count = m->expert ? m->count / (double)s->ep : m->count;
    const rk_group_kind group = m->expert ? RK_GROUP_EXPERT_TENSOR : RK_GROUP_TENSOR;
    to->matrices += count;
    to->seconds += m->expert ? newton_schulz_seconds(x->c, count, m)
                             : count * newton_schulz_seconds(x->c, 1, m);
    if ((m->expert ? s->etp : s->tp) > 1) {
        const double bytes = MOMENTUM_BYTES * count * m->rows * m->columns;
        to->seconds += rk_message_of(x->c, RK_COLL_ALL_GATHER, group, bytes, 1).seconds;
    }
}

void rk_add_orthogonalization(rk_cost_builder *x, const rk_part_kind *part,
                              const rk_layer_type *type)
{
    rk_matrix matrices[RK_MATRIX_MAX];
    if (!rk_optimizer_of(x->c->strategy)->orthogonalizes || !part->matrices ||
        x->c->strategy->adapter_rank > 0) {
        return;
    }
    const int count = part->matrices(type, (double)x->c->model->hidden, matrices);
    double rest = (double)rk_layer_params_of(x->c->model, type).attention;
    for (int i = 0; i < count; i++) {
        add_matrix(x, &matrices[i]);
        rest -= matrices[i].count * matrices[i].rows * matrices[i].columns;
    }
    if (part->shapes & RK_SHAPE_RECURRENCE) {
        x->cost.outer_params += rest / (double)x->c->strategy->tp;
    }
}
