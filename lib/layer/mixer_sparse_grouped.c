/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block-sparse attention (MiniMax-M3): grouped-query attention to the blocks of keys that an
 * indexer picks by the best score of each.  Kernels visit whole blocks, so they skip what the
 * causal mask hides.  Letters as in sparse.c and mixer_grouped.c.
 */
#include "base/extremes.h"
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/sparse.h"

static bool claims(const rk_layer_type *type)
{
    return type->attention.query_heads != 0 && type->attention.index.keys != 0;
}

static int matrices(const rk_layer_type *type, double h, rk_matrix out[RK_MATRIX_MAX])
{
    const rk_index_shape *index = &type->attention.index;
    int count = rk_mixer_grouped.part.matrices(type, h, out);
    if (rk_index_matrices(&type->attention, (int64_t)h) > 0) {
        out[count++] = (rk_matrix){(double)(index->heads * index->size), h, 1, false};
        out[count++] = (rk_matrix){(double)index->size, h, 1, false};
    }
    return count;
}

/* ---- operators ----------------------------------------------------------------------------- */

/* Flash attention to the picked keys: sequences as long as they are, FLOPs of the causal span. */
static void add_core(rk_cost_builder *x, const rk_attention_shape *a)
{
    const rk_strategy *s = x->c->strategy;
    const int64_t reach = rk_strategy_reach(s);
    const double t = (double)s->tp, qk = (double)rk_attention_qk_size(a);
    const double v = (double)rk_attention_value_size(a);
    const double heads = (double)a->query_heads / t;
    rk_operator o = {
        .kind = RK_OPERATOR_ATTENTION,
        .part = RK_PART_ATTENTION,
        .groups = (double)s->micro_batch * (double)s->seq / (double)reach * heads,
        .M = x->c->tokens,
        .N = rk_index_visited(a, (double)reach),
        .K = qk,
        .flops = 2 * x->c->tokens * rk_selected_span(a->index.keys, reach) * heads * (qk + v),
        .share = x->c->attention.forward,
        .sharing = (double)a->query_heads / rk_max((double)a->kv_heads, t),
    };
    rk_emit(x, &o);
    o.pass = RK_PASS_BACKWARD;
    o.flops *= (3 * qk + 2 * v) / (qk + v);
    o.share = x->c->attention.backward;
    rk_emit(x, &o);
}

static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_attention_shape *a = &type->attention;
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden;
    const double heads = (double)a->query_heads / (double)s->tp;
    const rk_attention_widths w = rk_attention_widths_of(a, (double)s->tp);
    const bool again = rk_recomputes(s, RK_MODULE_CORE_ATTENTION);
    rk_add_grouped_projections(x, a);
    rk_add_index(x, a, 2 * heads * (double)rk_attention_qk_size(a));
    rk_add_index_gathers(x, a, w.key + w.value);
    const rk_cost before = x->cost;
    add_core(x, a);
    if (again) {
        rk_repeat(x, &before);
    }
    rk_add_row_linear(x, s->precision, T, h, w.output);
    rk_add_product_again(x, T, h, w.output, true);
    rk_save(x, again, x->c->element * T * w.output);
    rk_save(x, again, 4 * T * heads);
    if (rk_wide_precision(s) != s->precision && s->adapter_rank == 0) {
        rk_save(x, again, rk_saved_input_bytes(s) * T * w.output);
    }
}

const rk_mixer rk_mixer_sparse_grouped = {
    .part = {.name = "sparse_grouped",
             .shapes = RK_SHAPE_ATTENTION,
             .fields = rk_index_fields,
             .field_count = COUNT(rk_index_fields),
             .claims = claims,
             .complete = rk_sparse_complete,
             .check = rk_sparse_check,
             .count = rk_sparse_count,
             .unsplit = rk_sparse_unsplit,
             .features = rk_sparse_features,
             .matrices = matrices,
             .add = add,
             .transient = rk_sparse_transient},
    .modules = RK_MODULE_CORE_ATTENTION | RK_MODULE_NORM | RK_MODULE_OPERATORS,
    .flops = rk_sparse_flops,
    .kernels = rk_sparse_kernels,
};
