/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention to keys that an indexer picks (DeepSeek sparse attention and its kin).  Letters: T
 * tokens of a microbatch on a context-parallel rank, s of a sequence, h hidden, n query heads, n_I
 * index heads of d_I elements, k keys that a query keeps.  Sources: DeepSeek-V3.2-Exp (report and
 * inference code) for what there is and what is kept; Megatron Core (dsa.py) and Megatron-Bridge
 * (flop_utils.py, "dsa") for how it is trained and counted.
 */
#include "layer/sparse.h"

#include "base/extremes.h"
#include "base/units.h"
#include "layer/all_kinds.h"

#include <assert.h>

const rk_field rk_index_fields[RK_INDEX_FIELD_COUNT] = {
    RK_LAYER_SIZE(index_heads, attention.index.heads, "heads of the indexer of sparse attention"),
    RK_LAYER_SIZE(index_size, attention.index.size, "elements of its heads"),
    RK_LAYER_SIZE(index_keys, attention.index.keys, "keys that a query keeps; default all"),
    RK_LAYER_SIZE(index_block, attention.index.block, "keys that are kept together; default one"),
    RK_LAYER_FLAG(index_shared, attention.index.shared,
                  "takes the keys that a layer below has picked, and has no indexer"),
};

/* Bytes of a score and of the position of a key. */
enum { SCORE_BYTES = 4, POSITION_BYTES = 4 };

/* Queries whose scores are there at once: [assumption] kernels go through a sequence in chunks. */
static const double chunk_queries = 4096;

static bool has_indexer(const rk_attention_shape *a)
{
    return a->index.heads > 0 && !a->index.shared;
}

/* The indexer of MLA weighs its heads; the indexer of grouped attention has one for each group. */
static int64_t weights_per_token(const rk_attention_shape *a)
{
    return rk_attention_is_latent(a) ? a->index.heads : 0;
}

rk_status rk_index_check(const rk_attention_shape *a, rk_error *err)
{
    const rk_size_range sizes[] = {
        {"index_heads", a->index.heads, 1, RK_HEADS_MAX},
        {"index_size", a->index.size, 1, RK_HEAD_SIZE_MAX},
        {"index_keys", a->index.keys, 1, RK_TOKENS_MAX},
        {"index_block", a->index.block, 0, RK_TOKENS_MAX},
    };
    return rk_check_sizes(sizes, COUNT(sizes), err);
}

/* Queries come from the latent of queries, if any: r n_I d_I + h (d_I + weights). */
int64_t rk_index_matrices(const rk_attention_shape *a, int64_t h)
{
    const int64_t inputs = a->q_rank > 0 ? a->q_rank : h;
    return has_indexer(a) ? inputs * a->index.heads * a->index.size +
                                h * (a->index.size + weights_per_token(a))
                          : 0;
}

/* Besides its matrices, gain and bias of the norm of keys, or norms of queries and keys. */
static void index_count(const rk_attention_shape *a, int64_t h, rk_layer_params *p)
{
    assert(h >= 1);
    const int64_t matrices = rk_index_matrices(a, h);
    p->attention += matrices + (has_indexer(a) ? 2 * a->index.size : 0);
    p->gemm += matrices;
    p->counted += matrices;
}

/* Kernels go through all k entries of the list of a query, even for the first tokens. */
double rk_index_visited(const rk_attention_shape *a, double seq)
{
    return rk_min((double)a->index.keys, seq);
}

/* ---- FLOPs as conventions count them ------------------------------------------------------- */

/* FLOPs of a query head and a key: MLA is absorbed, so that a key is a latent with its position,
 * and a value the latent. */
static double pair_flops(const rk_attention_shape *a)
{
    const double latent = 2 * (double)a->kv_rank + (double)a->rope_size;
    return 2 * (rk_attention_is_latent(a)
                    ? latent
                    : (double)(rk_attention_qk_size(a) + rk_attention_value_size(a)));
}

/* FLOPs of the products of a query head and a key alone. */
static double score_flops(const rk_attention_shape *a)
{
    const double latent = (double)(a->kv_rank + a->rope_size);
    return 2 * (rk_attention_is_latent(a) ? latent : (double)rk_attention_qk_size(a));
}

/* FLOPs of all index heads and a key: a product, and a weighted sum over the heads. */
static double index_flops(const rk_attention_shape *a)
{
    const int64_t weighed = weights_per_token(a) > 0 ? 1 : 0;
    return 2 * (double)(a->index.heads * (a->index.size + weighed));
}

/*
 * Attention to the picked keys counts three times.  The indexer scores all keys before a query,
 * learns from the scores of attention on the picked ones, and passes no gradient on: its weights,
 * which a convention multiplies by 6, count 4.
 */
double rk_sparse_flops(const rk_layer_type *type, int64_t hidden, int64_t seq, rk_flop_reach reach)
{
    const rk_attention_shape *a = &type->attention;
    const bool all = reach == RK_REACH_ALL;
    const double s = (double)seq, n = (double)a->query_heads;
    const double seen = all ? s : (s + 1) / 2;
    const double picked = all ? rk_index_visited(a, s) : rk_selected_span(a->index.keys, seq);
    const double core = 3 * picked * n * pair_flops(a);
    const double index = seen * index_flops(a) + picked * (2 * index_flops(a) + n * score_flops(a));
    return core + (has_indexer(a) ? index - 2 * (double)rk_index_matrices(a, hidden) : 0);
}

/* ---- operators ----------------------------------------------------------------------------- */

/* Emits work of a pass at shares of the rates of matrix engine and memory. */
static void emit(rk_cost_builder *x, rk_pass pass, double flops, double share, double bytes)
{
    assert(flops >= 0 && bytes >= 0 && share > 0);
    const rk_operator o = {
        .kind = RK_OPERATOR_SCAN,
        .part = RK_PART_ATTENTION,
        .pass = pass,
        .precision = rk_wide_precision(x->c->strategy),
        .M = x->c->tokens,
        .flops = flops,
        .bytes = bytes,
        .share = share,
        .stream_share = x->c->system->accelerator.sparse.select_share,
        .kernels = 1,
    };
    rk_emit(x, &o);
}

static void add_index_linears(rk_cost_builder *x, const rk_attention_shape *a)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden;
    const double queries = (double)(a->index.heads * a->index.size);
    rk_add_detached_linear(x, s->precision, T, queries, a->q_rank > 0 ? (double)a->q_rank : h);
    rk_add_detached_linear(x, rk_wide_precision(s), T,
                           (double)(a->index.size + weights_per_token(a)), h);
    const double bytes = 2 * x->c->element * T * (queries + (double)a->index.size);
    rk_add_stream(x, RK_PART_STREAM, bytes, rk_strategy_learning(s) * bytes);
}

/*
 * Every tensor rank has the whole indexer.  Its loss compares its scores with the scores of all
 * query heads, which tensor ranks sum.
 */
void rk_add_index_work(rk_cost_builder *x, const rk_index_work *w)
{
    const rk_strategy *s = x->c->strategy;
    const rk_accelerator *device = &x->c->system->accelerator;
    const double T = x->c->tokens, share = device->sparse.index_share;
    rk_save(x, false, POSITION_BYTES * T * w->visited);
    emit(x, RK_PASS_FORWARD, T * w->seen * w->each, share, 0);
    emit(x, RK_PASS_FORWARD, 0, share, 2 * SCORE_BYTES * T * w->seen);
    if (s->adapter_rank > 0) {
        return;
    }
    emit(x, RK_PASS_FORWARD, T * w->visited * w->teacher, device->sparse.core_share, 0);
    emit(x, RK_PASS_BACKWARD, 2 * T * w->visited * w->each, share, 0);
    if (s->tp > 1) {
        const rk_message sum = rk_message_of(x->c, RK_COLL_ALL_REDUCE, RK_GROUP_TENSOR,
                                             SCORE_BYTES * T * w->visited, 1);
        rk_send(x, RK_PASS_FORWARD, RK_PART_TP, sum.seconds, &sum, 1);
    }
    rk_save(x, false, x->c->element * T * w->kept);
    rk_save(x, false, SCORE_BYTES * T * w->weights);
}

void rk_add_index(rk_cost_builder *x, const rk_attention_shape *a, double teacher)
{
    const double reach = (double)rk_strategy_reach(x->c->strategy);
    const rk_index_work work = {
        .seen = (reach + 1) / 2,
        .visited = rk_index_visited(a, reach),
        .each = index_flops(a),
        .teacher = teacher,
        .kept = (double)((a->index.heads + 1) * a->index.size),
        .weights = (double)weights_per_token(a),
    };
    if (has_indexer(a)) {
        add_index_linears(x, a);
        rk_add_index_work(x, &work);
    } else {
        rk_save(x, false, POSITION_BYTES * x->c->tokens * work.visited);
    }
}

void rk_add_picked(rk_cost_builder *x, double flops, double filled)
{
    const rk_accelerator *device = &x->c->system->accelerator;
    rk_operator o = {
        .kind = RK_OPERATOR_SCAN,
        .part = RK_PART_ATTENTION,
        .precision = rk_wide_precision(x->c->strategy),
        .M = x->c->tokens,
        .flops = flops,
        .share = device->sparse.core_share * filled,
        .stream_share = 1,
        .kernels = 1,
    };
    rk_emit(x, &o);
    o.pass = RK_PASS_BACKWARD;
    o.flops *= RK_SPARSE_BACKWARD;
    o.share *= device->attention_backward / device->attention_forward;
    o.kernels = 3;
    rk_emit(x, &o);
}

void rk_add_index_gathers(rk_cost_builder *x, const rk_attention_shape *a, double width)
{
    const rk_strategy *s = x->c->strategy;
    const double each = x->c->element * x->c->tokens * (double)s->cp;
    const double keys = has_indexer(a) ? (double)a->index.size : 0;
    const rk_message there =
        rk_message_of(x->c, RK_COLL_ALL_GATHER, RK_GROUP_CONTEXT, each * (width + keys), 1);
    const rk_message back =
        rk_message_of(x->c, RK_COLL_REDUCE_SCATTER, RK_GROUP_CONTEXT, each * (width + keys), 1);
    const rk_message both[] = {there, back};
    if (s->cp > 1) {
        rk_send(x, RK_PASS_FORWARD, RK_PART_CP, there.seconds, both, 1);
        rk_send(x, RK_PASS_BACKWARD, RK_PART_CP, there.seconds + back.seconds, both, 2);
    }
}

/* Launches of an indexer: two products, norm, two rotations, scores, choice, scores to learn from,
 * loss; and their gradients. */
void rk_sparse_kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                       double *backward)
{
    const double own = has_indexer(&type->attention) ? 9 : 0;
    *forward = RK_MIXER_KERNELS * c->stack->kernels_forward + own;
    *backward = RK_MIXER_KERNELS * c->stack->kernels_backward + own;
}

/* Scores of the queries of a chunk. */
double rk_sparse_transient(const rk_block_context *c, const rk_layer_type *type)
{
    return has_indexer(&type->attention)
               ? SCORE_BYTES * rk_min(c->tokens, chunk_queries) * (double)c->strategy->seq
               : 0;
}

/* ---- what is as in the same attention to all keys ------------------------------------------- */

static const rk_part_kind *dense_of(const rk_layer_type *type)
{
    return rk_attention_is_latent(&type->attention) ? &rk_mixer_latent.part
                                                    : &rk_mixer_grouped.part;
}

rk_status rk_sparse_complete(rk_layer_type *type, int64_t hidden, const char *path, rk_error *err)
{
    return dense_of(type)->complete(type, hidden, path, err);
}

rk_status rk_sparse_check(const rk_layer_type *type, rk_error *err)
{
    const rk_status status = dense_of(type)->check(type, err);
    return status ? status : rk_index_check(&type->attention, err);
}

void rk_sparse_count(const rk_layer_type *type, int64_t h, rk_layer_params *params)
{
    dense_of(type)->count(type, h, params);
    index_count(&type->attention, h, params);
}

/* Every tensor rank has the whole indexer. */
void rk_sparse_unsplit(const rk_layer_type *type, double h, double t, double *whole, double *copied)
{
    rk_layer_params index = {0};
    index_count(&type->attention, (int64_t)h, &index);
    dense_of(type)->unsplit(type, h, t, whole, copied);
    *whole += (double)index.attention;
}

/* Adapters leave the indexer alone. */
double rk_sparse_features(const rk_layer_type *type, double h)
{
    return dense_of(type)->features(type, h);
}
