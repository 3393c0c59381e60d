/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DeepSeek sparse attention (DeepSeek-V3.2, GLM-5): latent attention to the keys that an indexer
 * picks.  It runs in absorbed form, in training too: all n heads share one key per token, the
 * latent of r_kv elements with its d_r of position, and the latent is the value.  Letters as in
 * sparse.c and mixer_latent.c.
 */
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/sparse.h"

#include <math.h>

static bool claims(const rk_layer_type *type)
{
    return rk_attention_is_latent(&type->attention) && type->attention.index.keys != 0;
}

static int matrices(const rk_layer_type *type, double h, rk_matrix out[RK_MATRIX_MAX])
{
    const rk_attention_shape *a = &type->attention;
    int count = rk_mixer_latent.part.matrices(type, h, out);
    if (rk_index_matrices(a, (int64_t)h) > 0) {
        const double inputs = a->q_rank > 0 ? (double)a->q_rank : h;
        out[count++] = (rk_matrix){(double)(a->index.heads * a->index.size), inputs, 1, false};
        out[count++] = (rk_matrix){(double)a->index.size, h, 1, false};
        out[count++] = (rk_matrix){(double)a->index.heads, h, 1, false};
    }
    return count;
}

/* ---- operators ----------------------------------------------------------------------------- */

/*
 * Attention to the picked keys: 2 k n ((r_kv + d_r) + r_kv) FLOPs per token forward and 2.5 times
 * that backward, as in flash attention.  Kernels pad the heads of a rank to a tile.  Backward is
 * slower than forward by as much as flash attention is.
 */
static void add_core(rk_cost_builder *x, const rk_attention_shape *a)
{
    const rk_strategy *s = x->c->strategy;
    const rk_accelerator *device = &x->c->system->accelerator;
    const double heads = (double)a->query_heads / (double)s->tp, tile = device->sparse.head_tile;
    const double reach = (double)rk_strategy_reach(s);
    const double width = 2 * (double)a->kv_rank + (double)a->rope_size;
    const double padded = ceil(heads / tile) * tile;
    rk_add_picked(x, 2 * x->c->tokens * rk_index_visited(a, reach) * heads * width, heads / padded);
}

/*
 * Kept: queries in the space of latents, the latent with its position, the sum per row, the output
 * as a latent, and as the output projection reads it.
 */
static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_attention_shape *a = &type->attention;
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, e = x->c->element, h = (double)x->c->model->hidden;
    const double rank = (double)a->kv_rank, key = rank + (double)a->rope_size;
    const double heads = (double)a->query_heads / (double)s->tp;
    const double output = heads * (double)a->value_size;
    const bool up = rk_recomputes(s, RK_MODULE_MLA_UP);
    const bool again = rk_recomputes(s, RK_MODULE_CORE_ATTENTION);
    rk_add_latent_projections(x, a, true);
    rk_save(x, up, e * T * heads * key);
    rk_save(x, false, e * T * key);
    rk_add_index(x, a, 2 * heads * key);
    rk_add_index_gathers(x, a, key);
    const rk_cost before = x->cost;
    add_core(x, a);
    if (again) {
        rk_repeat(x, &before);
    }
    rk_add_row_linear(x, s->precision, T, h, output);
    rk_add_product_again(x, T, h, output, true);
    rk_save(x, again, e * T * heads * rank);
    rk_save(x, again, 4 * T * heads);
    rk_save(x, again, rk_kept_input_bytes(x->c, x->adapts) * T * output);
}

const rk_mixer rk_mixer_sparse_latent = {
    .part = {.name = "sparse_latent",
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
    .modules = RK_MODULE_CORE_ATTENTION | RK_MODULE_MLA_UP | RK_MODULE_OPERATORS,
    .flops = rk_sparse_flops,
    .kernels = rk_sparse_kernels,
};
