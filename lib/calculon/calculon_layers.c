/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the layer list of a block with FLOPs, traffic, stored bytes and collectives of each. */
#include "calculon/calculon_layers.h"

#include "base/error.h"
#include "calculon/primitives.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* ---- shape ------------------------------------------------------------------------------- */

static rk_status check_divides(int64_t value, const char *name, int64_t t, rk_error *err)
{
    assert(t >= 1);
    if (value % t == 0) {
        return RK_OK;
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "%s is %" PRId64 ", which tensor_par %" PRId64
                   " does not divide: choose a tensor_par that divides it",
                   name, value, t);
}

/*
 * Elements and bytes are 64-bit integers: the largest tensors must leave room for sums over a
 * block.  Evaluated in double, which cannot overflow.
 */
static rk_status check_sizes(const rk_calculon_app *app, const rk_calculon_exe *exe, rk_error *err)
{
    const double room = 0x1p62 / (double)RK_CALCULON_LAYER_MAX / 16; /* 16: bytes and tensors */
    const double h = (double)app->hidden, f = (double)app->feedforward;
    const double heads = (double)app->attn_heads * (double)app->attn_size;
    const double tokens = (double)exe->microbatch_size * (double)app->seq_size;
    const double scores = tokens * (double)app->seq_size * (double)app->attn_heads;
    const double streams = tokens * (h + f + 3 * heads), weights = h * (f + 3 * heads);
    double largest = scores > streams ? scores : streams;
    largest = weights > largest ? weights : largest;
    if (largest > room) {
        return rk_fail(err, RK_ERR_LIMIT,
                       "a tensor of this model has %.3g elements, more than can be counted: use a "
                       "smaller microbatch",
                       largest);
    }
    return RK_OK;
}

rk_status rk_block_shape_init(const rk_calculon_app *app, const rk_calculon_exe *exe,
                              rk_block_shape *shape, rk_error *err)
{
    const int64_t t = exe->tensor_par;
    rk_status status = check_sizes(app, exe, err);
    if (status) {
        return status;
    }
    shape->element = rk_element_bytes(exe->datatype);
    shape->tokens = exe->microbatch_size * app->seq_size;
    if (exe->tensor_par_comm_type != RK_TP_AR && shape->tokens % t != 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "microbatch_size * seq_size is %" PRId64 ", which tensor_par %" PRId64
                       " does not divide, as %s needs: use tensor_par_comm_type ar or another "
                       "tensor_par",
                       shape->tokens, t,
                       exe->tensor_par_comm_type == RK_TP_RS_AG ? "rs_ag" : "p2p_rs_ag");
    }
    if ((status = check_divides(app->hidden, "hidden", t, err)) ||
        (status = check_divides(app->feedforward, "feedforward", t, err)) ||
        (status = check_divides(app->attn_heads, "attn_heads", t, err))) {
        return status;
    }
    shape->full = shape->tokens * app->hidden;
    shape->sharded = shape->tokens / t * app->hidden;
    shape->splits[RK_BASE] = exe->tensor_par_comm_type == RK_TP_RS_AG;
    shape->splits[RK_EDGE] = exe->tensor_par_comm_type != RK_TP_AR;
    return RK_OK;
}

/* ---- layers by kind ---------------------------------------------------------------------- */

enum {
    RECOMPUTED = 1,
    RECOMMUNICATED = 2,
    REUSED = 4,
    DROPS_ACTIVATION = 8,
    DROPS_OUTPUT = 16,
};

struct builder {
    const rk_calculon_app *app;
    const rk_calculon_exe *exe;
    const rk_block_shape *shape;
    rk_layer *layers;
    int count;
};

static rk_layer *add(struct builder *b, const char *name, int flags)
{
    assert(b->count < RK_CALCULON_LAYER_MAX);
    rk_layer *layer = &b->layers[b->count++];
    memset(layer, 0, sizeof(*layer));
    layer->name = name;
    layer->recomputed = (flags & RECOMPUTED) != 0;
    layer->recommunicated = (flags & RECOMMUNICATED) != 0;
    layer->reused = (flags & REUSED) != 0;
    layer->drops_activation = (flags & DROPS_ACTIVATION) != 0;
    layer->drops_output = (flags & DROPS_OUTPUT) != 0;
    return layer;
}

static void set_flops(rk_layer *layer, long double fw, long double agrad, long double wgrad)
{
    layer->flops[RK_FW] = fw;
    layer->flops[RK_AGRAD] = agrad;
    layer->flops[RK_WGRAD] = wgrad;
}

/* Sets the elements of a layer and the bytes that follow from them, unless a kind overrides. */
static void set_elements(const struct builder *b, rk_layer *layer, int64_t inputs, int64_t outputs,
                         int64_t activation, int64_t gradient, int64_t weights)
{
    assert(inputs >= 0 && outputs >= 0 && activation >= 0 && gradient >= 0 && weights >= 0);
    const int64_t e = b->shape->element;
    layer->inputs = inputs;
    layer->outputs = outputs;
    layer->activation = activation;
    layer->gradient = gradient;
    layer->weights = weights;
    layer->bytes[RK_FW] = (inputs + outputs + weights) * e;
    layer->bytes[RK_AGRAD] = (weights + activation + gradient) * e;
    layer->bytes[RK_WGRAD] = weights ? layer->bytes[RK_AGRAD] : 0;
    layer->activation_bytes = activation * e;
    layer->gradient_bytes = gradient * e;
}

/* m tokens, n input features, k output features; weights n x k. */
static void add_linear(struct builder *b, const char *name, int flags, int64_t m, int64_t n,
                       int64_t k)
{
    assert(m >= 1 && n >= 1 && k >= 1);
    rk_layer *layer = add(b, name, flags);
    const long double flops = 2.0L * (long double)(m * n) * (long double)k;
    set_flops(layer, flops, flops, flops);
    set_elements(b, layer, m * n, m * k, m * n, m * k, n * k);
}

/* `pairs` products of an m x n and an n x k matrix. */
static void add_batch_matmul(struct builder *b, const char *name, int flags, int64_t pairs,
                             int64_t m, int64_t n, int64_t k)
{
    assert(pairs >= 1 && m >= 1 && n >= 1 && k >= 1);
    rk_layer *layer = add(b, name, flags);
    const int64_t inputs = pairs * (m * n + n * k), outputs = pairs * m * k;
    const long double flops = 2.0L * (long double)(pairs * m * n) * (long double)k;
    set_flops(layer, flops, 2 * flops, 0);
    set_elements(b, layer, inputs, outputs, inputs, outputs, 0);
}

static void add_layer_norm(struct builder *b, const char *name, int flags, int64_t x)
{
    rk_layer *layer = add(b, name, flags);
    layer->vector = true;
    set_flops(layer, (long double)(9 * x), (long double)(14 * x), (long double)(7 * x));
    set_elements(b, layer, x, x, x, x, 2 * b->app->hidden);
}

/* Keeps a mask of one byte per element. */
static void add_dropout(struct builder *b, const char *name, int flags, int64_t x)
{
    rk_layer *layer = add(b, name, flags);
    layer->vector = true;
    set_flops(layer, (long double)x, (long double)x, 0);
    set_elements(b, layer, x, x, x, x, 0);
    layer->bytes[RK_FW] = (x + x) * b->shape->element + x;
    layer->bytes[RK_AGRAD] = layer->bytes[RK_FW];
    layer->activation_bytes = x;
    layer->gradient_bytes = x;
}

/* Fused with its neighbour it keeps neither input nor gradient; its traffic stays. */
static void add_gelu(struct builder *b, const char *name, int flags, int64_t x, bool fused)
{
    rk_layer *layer = add(b, name, flags);
    layer->vector = true;
    set_flops(layer, (long double)(8 * x), (long double)(13 * x), 0);
    set_elements(b, layer, x, x, fused ? 0 : x, fused ? 0 : x, 0);
    layer->bytes[RK_AGRAD] = layer->bytes[RK_FW];
}

static void add_softmax(struct builder *b, const char *name, int flags, int64_t x)
{
    rk_layer *layer = add(b, name, flags);
    layer->vector = true;
    set_flops(layer, (long double)(5 * x), (long double)(8 * x), 0);
    set_elements(b, layer, x, x, x, x, 0);
    layer->bytes[RK_AGRAD] = layer->bytes[RK_FW];
}

/* Sum of two tensors of x elements. */
static void add_residual(struct builder *b, const char *name, int flags, int64_t x)
{
    rk_layer *layer = add(b, name, flags);
    layer->vector = true;
    set_flops(layer, (long double)x, (long double)(2 * x), 0);
    set_elements(b, layer, 2 * x, x, 2 * x, x, 0);
}

/* One tensor with `users` readers: free forward, a sum of gradients backward. */
static void add_fork(struct builder *b, const char *name, int flags, int64_t x, int64_t users)
{
    assert(users >= 1);
    rk_layer *layer = add(b, name, flags);
    layer->vector = true;
    set_flops(layer, 0, (long double)(users * x), 0);
    set_elements(b, layer, x, 0, x, 0, 0);
    layer->bytes[RK_FW] = 0;
    layer->bytes[RK_AGRAD] = x * b->shape->element * (users + 1);
}

/*
 * Bytes of a communicating layer by phase and position.  Forward, a gather layer moves nothing
 * unless activations are split there; backward the same holds of a reduce layer.
 */
static void set_comm_bytes(const rk_block_shape *shape, rk_layer *layer, int64_t fw, int64_t agrad)
{
    assert(fw >= 0 && agrad >= 0);
    for (int z = RK_BASE; z <= RK_EDGE; z++) {
        const bool splits = shape->splits[z];
        layer->comm_bytes[RK_FW][z] = layer->role == RK_GATHER && !splits ? 0 : fw;
        layer->comm_bytes[RK_AGRAD][z] = layer->role == RK_REDUCE && !splits ? 0 : agrad;
        layer->comm_bytes[RK_WGRAD][z] = layer->recommunicated ? layer->comm_bytes[RK_FW][z] : 0;
    }
}

/* A collective on the full activation with the additions of its reduction. */
static void add_comm(struct builder *b, const char *name, int flags, rk_comm_role role)
{
    const int64_t t = b->exe->tensor_par, full = b->shape->full;
    const int64_t moved = 2 * full * b->shape->element;
    const bool split = b->exe->tensor_par_comm_type == RK_TP_RS_AG;
    rk_layer *layer = add(b, name, flags);
    layer->kind = RK_LAYER_COMM;
    layer->role = role;
    layer->vector = true;
    if (t == 1) {
        return;
    }
    const long double additions = (long double)(full / t) * (long double)(t - 1);
    set_flops(layer, role == RK_REDUCE ? additions : 0, role == RK_GATHER ? additions : 0, 0);
    set_elements(b, layer, full, full, full, full, 0);
    layer->bytes[RK_FW] = split || role == RK_REDUCE ? moved : 0;
    layer->bytes[RK_AGRAD] = split || role == RK_GATHER ? moved : 0;
    if (split) {
        layer->activation_bytes /= t;
        layer->gradient_bytes /= t;
    } else if (role == RK_GATHER) {
        layer->activation_bytes = 0;
    } else {
        layer->gradient_bytes = 0;
    }
    set_comm_bytes(b->shape, layer, moved / 2, moved / 2);
}

/* A linear of n x k features (before sharding) in t tiles, overlapped with its collective. */
static void add_tiled(struct builder *b, const char *name, int flags, rk_comm_role role, int64_t n,
                      int64_t k)
{
    const int64_t t = b->exe->tensor_par, m = b->shape->tokens, e = b->shape->element;
    const bool split = b->exe->tensor_par_comm_type == RK_TP_RS_AG;
    const int64_t n1 = role == RK_REDUCE ? n / t : n, k1 = role == RK_GATHER ? k / t : k;
    rk_layer *layer = add(b, name, flags);
    layer->kind = RK_LAYER_TILED;
    layer->role = role;
    int64_t activation, gradient;
    if (role == RK_GATHER) {
        activation = split ? m * n / t : m * n;
        gradient = split ? m * k1 : 0;
    } else {
        activation = split ? m * n1 : 0;
        gradient = split ? m * k / t + m * k / t : 2 * m * k;
    }
    const long double flops = 2.0L * (long double)(m * n1) * (long double)k1;
    set_flops(layer, flops, flops, flops);
    set_elements(b, layer, m * n1, m * k1, activation, gradient, n1 * k1);
    set_comm_bytes(b->shape, layer, (role == RK_GATHER ? m * n1 : m * k1) * e,
                   (role == RK_GATHER ? m * n1 : m * k1) * e);
}

/* ---- the block --------------------------------------------------------------------------- */

/* From the entrance of the block to queries, keys and values. */
static void add_attention_entry(struct builder *b, int all, int gathered)
{
    const rk_calculon_app *app = b->app;
    const bool multihead = b->exe->attention_type == RK_MULTIHEAD;
    const int64_t t = b->exe->tensor_par, tokens = b->shape->tokens, h = app->hidden;
    const int64_t heads_size = app->attn_heads * app->attn_size / t;
    const int64_t kv_size = multihead ? heads_size : app->attn_size;
    const int recommunicated = gathered ? RECOMMUNICATED : 0;
    const int fork = gathered ? RECOMPUTED | DROPS_ACTIVATION : 0;

    if (b->exe->tensor_par_overlap == RK_OVERLAP_NONE) {
        const int projection = all | DROPS_ACTIVATION | REUSED;
        add_comm(b, "AttnBlock_F", recommunicated, RK_GATHER);
        add_fork(b, "AttnBlock_Multihead_Fork", fork, b->shape->full, 3);
        add_linear(b, "AttnBlock_Query", projection, tokens, h, heads_size);
        add_linear(b, "AttnBlock_Key", projection, tokens, h, kv_size);
        add_linear(b, "AttnBlock_Value", projection, tokens, h, kv_size);
    } else if (multihead) {
        add_tiled(b, "AttnBlock_QKV_AG", all | recommunicated, RK_GATHER, h,
                  3 * app->attn_heads * app->attn_size);
    } else {
        const int projection = all | DROPS_ACTIVATION | REUSED;
        add_tiled(b, "AttnBlock_Query_AG", all | recommunicated, RK_GATHER, h,
                  app->attn_heads * app->attn_size);
        add_fork(b, "AttnBlock_KV_Fork", fork, b->shape->full, 2);
        add_linear(b, "AttnBlock_Key", projection, tokens, h, app->attn_size);
        add_linear(b, "AttnBlock_Value", projection, tokens, h, app->attn_size);
    }
}

static void add_attention(struct builder *b, int64_t stream)
{
    const rk_calculon_app *app = b->app;
    const rk_calculon_exe *exe = b->exe;
    const int64_t t = exe->tensor_par, s = app->seq_size, d = app->attn_size, h = app->hidden;
    const int64_t pairs = exe->microbatch_size * app->attn_heads / t;
    const int64_t scores = app->attn_heads / t * s * s * exe->microbatch_size;
    const bool full = exe->activation_recompute == RK_RECOMPUTE_FULL;
    const bool attention = exe->activation_recompute != RK_RECOMPUTE_NONE;
    const int all = full ? RECOMPUTED : 0;
    const int core = attention ? RECOMPUTED : 0, core_out = attention ? DROPS_OUTPUT : 0;

    add_fork(b, "AttnBlock_Fork", all, stream, 2);
    add_layer_norm(b, "AttnBlock_LayerNorm", all | DROPS_ACTIVATION | REUSED, stream);
    add_attention_entry(b, all, attention || exe->seq_par_ag_redo);
    add_batch_matmul(b, "AttnBlock_Multihead_Key_Query", core | core_out, pairs, s, d, s);
    add_softmax(b, "AttnBlock_Multihead_SoftMax", core | core_out, scores);
    add_dropout(b, "AttnBlock_Multihead_DropOut", core | (attention ? DROPS_ACTIVATION : 0),
                scores);
    add_batch_matmul(b, "AttnBlock_Multihead_Attn", all, pairs, s, s, d);
    if (exe->tensor_par_overlap == RK_OVERLAP_NONE) {
        add_linear(b, "AttnBlock_MLP", all, b->shape->tokens, app->attn_heads * d / t, h);
        add_comm(b, "AttnBlock_G", (full ? RECOMMUNICATED : 0) | DROPS_ACTIVATION, RK_REDUCE);
    } else {
        add_tiled(b, "AttnBlock_MLP_RS", all | (full ? RECOMMUNICATED : 0), RK_REDUCE,
                  app->attn_heads * d, h);
    }
    add_dropout(b, "AttnBlock_DropOut", all, stream);
    add_residual(b, "AttnBlock_Residual", all | DROPS_ACTIVATION | REUSED, stream);
}

static void add_mlp(struct builder *b, int64_t stream)
{
    const rk_calculon_app *app = b->app;
    const rk_calculon_exe *exe = b->exe;
    const int64_t t = exe->tensor_par, f = app->feedforward, h = app->hidden;
    const int64_t tokens = b->shape->tokens;
    const bool full = exe->activation_recompute == RK_RECOMPUTE_FULL;
    const bool gathered = full || exe->seq_par_ag_redo;
    const int all = full ? RECOMPUTED : 0;
    const int entry = gathered ? RECOMMUNICATED : 0, exit = full ? RECOMMUNICATED : 0;
    const bool tiled = exe->tensor_par_overlap != RK_OVERLAP_NONE;

    add_fork(b, "MlpBlock_Fork", all, stream, 2);
    add_layer_norm(b, "MlpBlock_LayerNorm", all | DROPS_ACTIVATION | REUSED, stream);
    if (tiled) {
        add_tiled(b, "MlpBlock_Mlp1_AG", all | entry, RK_GATHER, h, f);
    } else {
        add_comm(b, "MlpBlock_F", entry, RK_GATHER);
        add_linear(b, "MlpBlock_Mlp1", all | (gathered ? DROPS_ACTIVATION : 0), tokens, h, f / t);
    }
    add_gelu(b, "MlpBlock_GeLU", all, f * tokens / t, exe->fused_activation);
    if (tiled) {
        add_tiled(b, "MlpBlock_Mlp2_RS", all | exit, RK_REDUCE, f, h);
    } else {
        add_linear(b, "MlpBlock_Mlp2", all, tokens, f / t, h);
        add_comm(b, "MlpBlock_G", exit | DROPS_ACTIVATION, RK_REDUCE);
    }
    add_dropout(b, "MlpBlock_DropOut", all, stream);
    add_residual(b, "MlpBlock_Residual", all | DROPS_ACTIVATION | REUSED, stream);
}

int rk_block_layers(const rk_calculon_app *app, const rk_calculon_exe *exe,
                    const rk_block_shape *shape, rk_layer *layers)
{
    struct builder b = {.app = app, .exe = exe, .shape = shape, .layers = layers};
    const int64_t stream = exe->tensor_par_comm_type == RK_TP_RS_AG ? shape->sharded : shape->full;
    add_attention(&b, stream);
    add_mlp(&b, stream);
    return b.count;
}
