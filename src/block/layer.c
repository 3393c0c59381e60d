/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transformer layer.  Letters: T tokens of a microbatch on a context-parallel rank, h hidden, t
 * tensor parallel, n_q and n_kv heads of size d, f FFN width, E experts, k experts per token, e
 * expert parallel, x bytes of an element in bf16 (2).
 *
 * Saved activations follow the list of tensors that backward needs (Korthikanti et al. 2022 for
 * GPT with dropout; Megatron-Core with flash attention and fused SwiGLU otherwise).
 */
#include "block/operators.h"

#include <math.h>
#include <string.h>

/* Bytes of an element of activations, and of an input saved in the precision of its linear. */
enum { ACTIVATION_BYTES = 2 };

static double saved_input_bytes(const rk_strategy *s)
{
    return s->precision == RK_FP8 || s->precision == RK_FP4 ? 1 + 1.0 / 32 : ACTIVATION_BYTES;
}

static bool recomputes(const rk_strategy *s, unsigned module)
{
    return s->recompute == RK_REC_SELECTIVE && (s->recompute_modules & module);
}

rk_block_context rk_block_context_of(const rk_model *model, const rk_system *system,
                                     const rk_stack *stack, const rk_strategy *strategy)
{
    const double tokens =
        (double)strategy->micro_batch * (double)strategy->seq / (double)strategy->cp;
    return (rk_block_context){
        .model = model,
        .system = system,
        .stack = stack,
        .strategy = strategy,
        .groups = rk_strategy_groups(system, strategy),
        .tokens = tokens,
        .local_tokens = strategy->sp ? tokens / (double)strategy->tp : tokens,
    };
}

/* ---- saved and made again ------------------------------------------------------------------ */

/* Keeps bytes for backward, or makes them again where their module is recomputed. */
static void save(rk_costing *x, bool again, double bytes)
{
    if (again) {
        x->cost.unsaved += bytes;
    } else {
        x->cost.saved += bytes;
    }
}

/* Repeats in backward what forward has added since `before`. */
static void repeat(rk_costing *x, const rk_cost *before)
{
    double seconds = 0;
    for (int i = 0; i < RK_PART_COUNT; i++) {
        seconds += x->cost.forward.part[i] - before->forward.part[i];
    }
    x->cost.backward.part[RK_PART_RECOMPUTE] += seconds;
    x->cost.flops_recompute += x->cost.flops_forward - before->flops_forward;
}

/* ---- attention ----------------------------------------------------------------------------- */

/* Heads of keys and values on one rank: replicated where there are fewer than tensor ranks. */
static double local_kv_heads(const rk_attention_shape *a, double t)
{
    const double heads = (double)a->kv_heads / t;
    return heads > 1 ? heads : 1;
}

static void add_latent_projections(rk_costing *x, const rk_attention_shape *a, double t)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden;
    const double heads = (double)a->query_heads / t;
    const double qk = (double)(a->nope_size + a->rope_size);
    const double rank = (double)a->kv_rank, rope = (double)a->rope_size;
    const bool up = recomputes(s, RK_MODULE_MLA_UP);

    if (a->q_rank) {
        rk_add_linear(x, RK_PART_LINEAR, s->precision, T, (double)a->q_rank, h);
    }
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, rank + rope, h);
    const rk_cost before = x->cost;
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, heads * qk,
                  a->q_rank ? (double)a->q_rank : h);
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T,
                  heads * (double)(a->nope_size + a->value_size), rank);
    if (up) {
        repeat(x, &before);
    }
    /* latents before and after their norms; queries, keys (rope broadcast), values */
    save(x, false, ACTIVATION_BYTES * T * (2 * (double)a->q_rank + rank + rope + rank));
    save(x, up, ACTIVATION_BYTES * T * heads * (2 * qk + (double)a->value_size));
    rk_add_stream(x, RK_PART_STREAM, 4 * T * heads * 2 * qk, 4 * T * heads * 2 * qk);
}

static void add_grouped_projections(rk_costing *x, const rk_attention_shape *a, double t)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden, d = (double)a->head_size;
    const double q = (double)a->query_heads / t * d, kv = local_kv_heads(a, t) * d;
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, q + 2 * kv + (a->output_gate ? q : 0), h);
    save(x, false, ACTIVATION_BYTES * T * (q + 2 * kv + (a->output_gate ? q : 0)));
    if (!x->c->model->learned_positions) {
        rk_add_stream(x, RK_PART_STREAM, 4 * T * (q + kv), 4 * T * (q + kv));
    }
    if (a->qk_norm != RK_QK_NORM_NONE) {
        rk_add_stream(x, RK_PART_STREAM, 4 * T * (q + kv), 6 * T * (q + kv));
        save(x, recomputes(s, RK_MODULE_NORM), ACTIVATION_BYTES * T * (q + kv));
    }
}

/* Sizes of a head in the two products of attention. */
static double qk_size(const rk_attention_shape *a)
{
    return (double)(a->kind == RK_ATTENTION_LATENT ? a->nope_size + a->rope_size : a->head_size);
}

static double value_size(const rk_attention_shape *a)
{
    return (double)(a->kind == RK_ATTENTION_LATENT ? a->value_size : a->head_size);
}

/* Flash attention: 2 products forward, 5 backward, of which one is done again. */
static void add_flash(rk_costing *x, const rk_attention_shape *a, double t)
{
    const rk_strategy *s = x->c->strategy;
    const rk_accelerator *acc = &x->c->system->accelerator;
    const double share = x->c->stack->attention_share;
    const double sequences = (double)s->micro_batch, cp = (double)s->cp;
    const double flops = sequences * rk_attention_flops(a, s->seq) / (t * cp);
    const double qk = qk_size(a), v = value_size(a);
    const double ratio = (3 * qk + 2 * v) / (qk + v);
    const double block = a->window && a->window < s->seq ? (double)a->window : (double)s->seq;
    rk_attention_work work = {
        .flops = flops,
        .seq = s->cp_kind == RK_CP_RING ? block / cp : block,
        .heads = sequences * (double)a->query_heads / t,
        .qk_size = qk,
    };
    x->cost.forward.part[RK_PART_ATTENTION] += rk_attention_seconds(acc, &work) / share;
    work.flops = flops * ratio;
    work.backward = true;
    x->cost.backward.part[RK_PART_ATTENTION] += rk_attention_seconds(acc, &work) / share;
    x->cost.flops_forward += flops;
    x->cost.flops_backward += flops * ratio;
}

/*
 * Attention by batched products, softmax and dropout kernels on the whole s x s square: bytes per
 * score 13 forward and 19 backward.
 */
static void add_unfused(rk_costing *x, const rk_attention_shape *a, double t)
{
    const rk_strategy *s = x->c->strategy;
    const rk_accelerator *acc = &x->c->system->accelerator;
    const double n = (double)s->seq, heads = (double)s->micro_batch * (double)a->query_heads / t;
    const double share = x->c->stack->gemm_share;
    const double products = (rk_gemm_seconds(acc, RK_BF16, heads, n, n, qk_size(a), 0) +
                             rk_gemm_seconds(acc, RK_BF16, heads, n, value_size(a), n, 0)) /
                            share;
    const double flops = 2 * heads * n * n * (qk_size(a) + value_size(a));
    x->cost.forward.part[RK_PART_ATTENTION] += products;
    x->cost.backward.part[RK_PART_ATTENTION] += 2 * products;
    x->cost.flops_forward += flops;
    x->cost.flops_backward += 2 * flops;
    rk_add_stream(x, RK_PART_ATTENTION, 13 * heads * n * n, 19 * heads * n * n);
    save(x, recomputes(s, RK_MODULE_CORE_ATTENTION), 5 * heads * n * n);
}

/*
 * Context parallelism.  Ring: keys and values pass c-1 times forward and twice that backward
 * (with their gradients), hidden under 0.9 of the attention of a step.  All-gather: once forward,
 * and again with a reduce-scatter of the gradients backward, visible.  Ulysses: all-to-all of
 * queries, keys and values in and of the output back, mirrored backward, visible.
 */
static void add_context_parallel(rk_costing *x, const rk_attention_shape *a, double t)
{
    const rk_strategy *s = x->c->strategy;
    const rk_group *group = &x->c->groups.context;
    const double T = x->c->tokens, c = (double)s->cp, heads = (double)a->query_heads / t;
    if (s->cp == 1) {
        return;
    }
    const double kv = ACTIVATION_BYTES * T *
                      (a->kind == RK_ATTENTION_LATENT ? heads : local_kv_heads(a, t)) *
                      (qk_size(a) + value_size(a));
    const double q = ACTIVATION_BYTES * T * heads * qk_size(a);
    const double out = ACTIVATION_BYTES * T * heads * value_size(a);
    double forward = 0, backward = 0;
    switch (s->cp_kind) {
    case RK_CP_RING: {
        const double send = (c - 1) * rk_comm_seconds(x, RK_COLL_SEND, kv, group);
        const double fixed = c * x->c->stack->cp_step_seconds;
        const double hides_fw = 0.9 * x->cost.forward.part[RK_PART_ATTENTION];
        const double hides_bw = 0.9 * x->cost.backward.part[RK_PART_ATTENTION];
        forward = (send > hides_fw ? send - hides_fw : 0) + fixed;
        backward = (2 * send > hides_bw ? 2 * send - hides_bw : 0) + fixed;
        x->cost.cp_bytes += 3 * (c - 1) * kv;
        break;
    }
    case RK_CP_ALL_GATHER: {
        const double gather = rk_comm_seconds(x, RK_COLL_ALL_GATHER, c * kv, group);
        forward = gather;
        backward = gather + rk_comm_seconds(x, RK_COLL_REDUCE_SCATTER, c * kv, group);
        x->cost.cp_bytes += 3 * (c - 1) * kv;
        break;
    }
    case RK_CP_ULYSSES:
        forward = rk_comm_seconds(x, RK_COLL_ALL_TO_ALL, q + kv, group) +
                  rk_comm_seconds(x, RK_COLL_ALL_TO_ALL, out, group);
        backward = forward;
        x->cost.cp_bytes += 2 * (c - 1) / c * (q + kv + out);
        break;
    }
    rk_add_comm(x, RK_PART_CP, forward, backward);
}

static void add_attention(rk_costing *x, const rk_attention_shape *a)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, t = (double)s->tp, heads = (double)a->query_heads / t;
    if (a->kind == RK_ATTENTION_LATENT) {
        add_latent_projections(x, a, t);
    } else {
        add_grouped_projections(x, a, t);
    }
    const rk_cost before = x->cost;
    if (s->flash_attention) {
        add_flash(x, a, t);
    } else {
        add_unfused(x, a, t);
    }
    if (recomputes(s, RK_MODULE_CORE_ATTENTION)) {
        repeat(x, &before);
    }
    add_context_parallel(x, a, t);
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, (double)x->c->model->hidden,
                  heads * value_size(a));
    /* the output, which is also the input of the projection, and the sums of its softmax */
    save(x, s->flash_attention && recomputes(s, RK_MODULE_CORE_ATTENTION),
         ACTIVATION_BYTES * T * heads * value_size(a));
    if (s->flash_attention) {
        save(x, recomputes(s, RK_MODULE_CORE_ATTENTION), 4 * T * heads);
    }
}

/* ---- feed-forward -------------------------------------------------------------------------- */

/*
 * Activation between the two linears on `elements` outputs: a gated one reads two and writes one
 * forward, reads three and writes two backward; a plain one reads and writes one, then reads two
 * and writes one.
 */
static void add_activation(rk_costing *x, rk_part part, bool gated, double elements)
{
    const bool again = recomputes(x->c->strategy, RK_MODULE_ACTIVATION);
    const double passes = x->c->stack->activation_passes * ACTIVATION_BYTES * elements;
    const rk_cost before = x->cost;
    rk_add_stream(x, part, passes * (gated ? 3 : 2), passes * (gated ? 5 : 3));
    if (again) {
        repeat(x, &before);
    }
    save(x, false, ACTIVATION_BYTES * elements * (gated ? 2 : 1));
    save(x, again, saved_input_bytes(x->c->strategy) * elements);
}

/* A dense FFN of `width` sharded t ways. */
static void add_ffn(rk_costing *x, bool gated, double width, double t)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden, f = width / t;
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, (gated ? 2 : 1) * f, h);
    add_activation(x, RK_PART_STREAM, gated, T * f);
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, h, f);
}

/* Copies of a token that leave its own domain, over those without de-duplication. */
static double copies_share(const rk_costing *x, double top_k)
{
    const rk_group *group = &x->c->groups.expert;
    const double domains = (double)group->size / (double)group->within[0];
    if (!x->c->stack->deduplicates || domains <= 1) {
        return 1;
    }
    return domains * (1 - pow(1 - 1 / domains, top_k)) / top_k;
}

/* Dispatch and combine, each way: T_loc k h elements per rank. */
static void add_dispatch(rk_costing *x, const rk_moe_shape *moe, double tokens)
{
    const rk_strategy *s = x->c->strategy;
    const rk_group *group = &x->c->groups.expert;
    const double elements = tokens * (double)moe->top_k * (double)x->c->model->hidden;
    const double bytes = ACTIVATION_BYTES * elements * copies_share(x, (double)moe->top_k);
    const double visible = s->moe_overlap ? x->c->stack->moe_exposed : 1;
    const double once =
        visible * s->imbalance * rk_comm_seconds(x, RK_COLL_ALL_TO_ALL, bytes, group);
    rk_add_comm(x, RK_PART_EP, 2 * once, 2 * once);
    if (s->ep > 1) {
        x->cost.ep_bytes += 4 * bytes * ((double)s->ep - 1) / (double)s->ep;
    }
}

static void add_experts(rk_costing *x, const rk_layer_type *type)
{
    const rk_strategy *s = x->c->strategy;
    const rk_moe_shape *moe = &type->moe;
    const bool gated = type->ffn.gated;
    const double h = (double)x->c->model->hidden, k = (double)moe->top_k;
    const double local = (double)moe->experts / (double)s->ep;
    const double tokens = x->c->tokens / (s->tp > 1 ? (double)s->tp : 1);
    const double capacity = s->capacity_factor > 0 ? s->capacity_factor : s->imbalance;
    const double rows = tokens * k * (double)s->etp * capacity; /* of all local experts */
    const double width = (double)moe->expert_width / (double)s->etp;

    rk_add_linear(x, RK_PART_EXPERT, RK_BF16, tokens, (double)moe->experts, h);
    rk_add_stream(x, RK_PART_EXPERT, x->c->stack->permute_passes * 8 * rows * h,
                  x->c->stack->permute_passes * 8 * rows * h);
    x->cost.forward.part[RK_PART_EXPERT] += x->c->stack->router_seconds;
    x->cost.backward.part[RK_PART_EXPERT] += x->c->stack->router_seconds;
    add_dispatch(x, moe, tokens);
    if (s->etp > 1) {
        const double bytes = ACTIVATION_BYTES * rows * h;
        const rk_group *group = &x->c->groups.expert_tensor;
        const double once = rk_comm_seconds(x, RK_COLL_ALL_GATHER, bytes, group) +
                            rk_comm_seconds(x, RK_COLL_REDUCE_SCATTER, bytes, group);
        rk_add_comm(x, RK_PART_EP, once, once);
    }
    rk_add_grouped_linear(x, s->precision, local, rows / local, (gated ? 2 : 1) * width, h);
    add_activation(x, RK_PART_EXPERT, gated, rows * width);
    rk_add_grouped_linear(x, s->precision, local, rows / local, h, width);
    /* logits and map of the router; the permuted input */
    save(x, false, tokens * (double)moe->experts * (4 + 2));
    save(x, false, saved_input_bytes(s) * rows * h);
    if (moe->shared_experts) {
        add_ffn(x, gated, (double)(moe->shared_experts * moe->shared_width), (double)s->tp);
    }
}

/* ---- tensor parallelism -------------------------------------------------------------------- */

/*
 * Collectives of one layer on S = T h x bytes.  `regions` counts the tensor-parallel regions: 2
 * for attention and dense FFN, 1 where experts run on the sequence shards.  With sequence
 * parallelism, per region an all-gather and a reduce-scatter each way, and a re-gather of the
 * saved input in backward; without, an all-reduce each way.
 */
static void add_tensor_parallel(rk_costing *x, double regions)
{
    const rk_strategy *s = x->c->strategy;
    const rk_stack *stack = x->c->stack;
    const rk_group *group = &x->c->groups.tensor;
    const double bytes = ACTIVATION_BYTES * x->c->tokens * (double)x->c->model->hidden;
    const double sent = regions * bytes * ((double)s->tp - 1) / (double)s->tp;
    if (s->tp == 1) {
        return;
    }
    if (s->sp) {
        const double gather = rk_comm_seconds(x, RK_COLL_ALL_GATHER, bytes, group);
        const double scatter = rk_comm_seconds(x, RK_COLL_REDUCE_SCATTER, bytes, group);
        const double visible = s->tp_overlap ? stack->tp_exposed : 1;
        const double pair = regions * visible * (gather + scatter);
        rk_add_comm(x, RK_PART_TP, pair, pair + regions * stack->regather_exposed * gather);
        x->cost.tp_bytes += 5 * sent;
    } else {
        const double reduce = regions * rk_comm_seconds(x, RK_COLL_ALL_REDUCE, bytes, group);
        rk_add_comm(x, RK_PART_TP, reduce, stack->tp_backward * reduce);
        x->cost.tp_bytes += 4 * sent;
    }
}

/* ---- parameters ---------------------------------------------------------------------------- */

/* Parameters of attention that every tensor rank holds whole: the way down of latents. */
static double replicated_attention(const rk_model *model, const rk_attention_shape *a)
{
    const double h = (double)model->hidden;
    double whole = a->bias_out ? h : 0;
    if (a->kind == RK_ATTENTION_LATENT) {
        whole +=
            h * (double)(a->q_rank + a->kv_rank + a->rope_size) + (double)(a->q_rank + a->kv_rank);
    } else if (a->qk_norm == RK_QK_NORM_HEAD) {
        whole += 2 * (double)a->head_size;
    }
    return whole;
}

static void count_params(rk_costing *x, const rk_layer_type *type)
{
    const rk_model *model = x->c->model;
    const rk_strategy *s = x->c->strategy;
    const rk_attention_shape *a = &type->attention;
    const rk_layer_params p = rk_layer_params_of(model, type);
    const double t = (double)s->tp, h = (double)model->hidden;
    const double whole = replicated_attention(model, a);
    double attention = whole + ((double)p.attention - whole) / t;
    if (a->kind == RK_ATTENTION_GROUPED && a->kv_heads < s->tp) {
        const double kv = 2 * (h + (a->bias_qkv ? 1 : 0)) * (double)a->head_size;
        attention += kv * (1 - (double)a->kv_heads / t);
    }
    const double bias = type->ffn.bias && p.ffn ? h : 0;
    x->cost.dense_params = attention + bias + ((double)p.ffn - bias) / t + (double)p.norms +
                           (double)p.router + (double)p.shared / t;
    x->cost.expert_params = (double)p.experts / (double)(s->ep * s->etp);
}

/* ---- the layer ----------------------------------------------------------------------------- */

/* Norms, residual adds and dropout of the layer, on the sequence shard. */
static void add_norms(rk_costing *x)
{
    const rk_model *model = x->c->model;
    const rk_stack *stack = x->c->stack;
    const rk_strategy *s = x->c->strategy;
    const double elements = x->c->local_tokens * (double)model->hidden;
    const double norms = (double)model->norms_per_layer / 2;
    const bool again = recomputes(s, RK_MODULE_NORM);
    const rk_cost before = x->cost;
    rk_add_stream(x, RK_PART_STREAM, norms * stack->norm_forward * elements,
                  norms * stack->norm_backward * elements);
    if (again) {
        repeat(x, &before);
    }
    rk_add_stream(x, RK_PART_STREAM, stack->dropout_bytes * elements,
                  stack->dropout_bytes * elements);
    /* inputs of the norms; their outputs, which are the inputs of the linears; dropout masks */
    save(x, false, 2 * norms * ACTIVATION_BYTES * elements);
    save(x, again, 2 * norms * saved_input_bytes(s) * elements);
    save(x, false, stack->dropout_bytes > 0 ? 2 * elements : 0);
}

/*
 * Temporaries at the worst moment of backward: gradients of the FFN's inner tensors, the gathered
 * input and its gradient, and a weight gradient before it is added.
 */
static double transient_bytes(const rk_costing *x, const rk_layer_type *type)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden, t = (double)s->tp;
    const bool gated = type->ffn.gated;
    double width = (double)type->ffn.width / t, rows = T;
    if (rk_layer_is_moe(type)) {
        width = (double)type->moe.expert_width / (double)s->etp;
        rows = T / t * (double)type->moe.top_k * (double)s->etp * s->imbalance;
    }
    const double matrix = (gated ? 2 : 1) * width * h;
    return ACTIVATION_BYTES * (rows * width * (gated ? 3 : 2) + 2 * T * h + matrix);
}

/* Checkpointing a whole layer or a part of it: forward runs again, only its input is kept. */
static void checkpoint(rk_costing *x, const rk_cost *before)
{
    repeat(x, before);
    x->cost.unsaved += x->cost.saved - before->saved;
    x->cost.saved = before->saved;
}

static void finish(rk_costing *x)
{
    const double backward = rk_times_sum(&x->cost.backward);
    x->cost.weight_share = backward > 0 ? x->cost.weight_share / backward : 0;
}

rk_cost rk_block_layer(const rk_block_context *context, const rk_layer_type *type, bool full)
{
    rk_costing x = {.c = context};
    const rk_stack *stack = context->stack;
    const rk_strategy *s = context->strategy;
    const rk_cost nothing = x.cost;
    const bool moe = rk_layer_is_moe(type);

    add_attention(&x, &type->attention);
    const rk_cost before = x.cost;
    if (moe) {
        add_experts(&x, type);
    } else {
        add_ffn(&x, type->ffn.gated, (double)type->ffn.width, (double)s->tp);
    }
    if (recomputes(s, moe ? RK_MODULE_MOE : RK_MODULE_MLP)) {
        checkpoint(&x, &before);
    }
    add_norms(&x);
    add_tensor_parallel(&x, moe && !type->moe.shared_experts && s->etp == 1 ? 1 : 2);
    if (full) {
        checkpoint(&x, &nothing);
        x.cost.saved = ACTIVATION_BYTES * context->local_tokens * (double)context->model->hidden;
    }
    const double experts = moe ? (double)type->moe.experts / (double)s->ep : 0;
    const double again = full ? stack->kernels_forward : 0;
    rk_add_host_floor(&x,
                      (moe ? stack->moe_kernels_forward : stack->kernels_forward) +
                          experts * stack->expert_kernels,
                      again + (moe ? stack->moe_kernels_backward : stack->kernels_backward) +
                          1.7 * experts * stack->expert_kernels);
    x.cost.transient = transient_bytes(&x, type);
    count_params(&x, type);
    finish(&x);
    return x.cost;
}

/* ---- both ends ----------------------------------------------------------------------------- */

/* Vocabulary padded to a multiple of 128 t, as Megatron does. */
static double padded_vocab(const rk_block_context *c)
{
    const double step = 128 * (double)c->strategy->tp;
    return ceil((double)c->model->vocab / step) * step;
}

rk_cost rk_block_embedding(const rk_block_context *context)
{
    rk_costing x = {.c = context};
    const rk_strategy *s = context->strategy;
    const rk_model *model = context->model;
    const double T = context->tokens, h = (double)model->hidden, t = (double)s->tp;
    const double bytes = ACTIVATION_BYTES * T * h;
    /* gather and write forward; rows of the fp32 gradient read and written backward */
    rk_add_stream(&x, RK_PART_HEAD, 2 * bytes, 8 * T * h);
    if (s->tp > 1) {
        const rk_collective op = s->sp ? RK_COLL_REDUCE_SCATTER : RK_COLL_ALL_REDUCE;
        rk_add_comm(&x, RK_PART_TP, rk_comm_seconds(&x, op, bytes, &context->groups.tensor),
                    s->sp ? rk_comm_seconds(&x, RK_COLL_ALL_GATHER, bytes, &context->groups.tensor)
                          : 0);
    }
    x.cost.dense_params = padded_vocab(context) * h / t + (double)model->learned_positions * h +
                          (model->embedding_norm ? 2 * h : 0);
    finish(&x);
    return x.cost;
}

rk_cost rk_block_head(const rk_block_context *context)
{
    rk_costing x = {.c = context};
    const rk_strategy *s = context->strategy;
    const rk_model *model = context->model;
    const double T = context->tokens, h = (double)model->hidden, t = (double)s->tp;
    const double logits = T * padded_vocab(context) / t;
    const double bytes = ACTIVATION_BYTES * T * h;

    rk_add_linear(&x, RK_PART_HEAD, RK_BF16, T, padded_vocab(context) / t, h);
    rk_add_stream(&x, RK_PART_HEAD, context->stack->loss_bytes * logits / 2,
                  context->stack->loss_bytes * logits / 2);
    if (s->tp > 1) {
        const rk_group *group = &context->groups.tensor;
        const double loss = 3 * rk_comm_seconds(&x, RK_COLL_ALL_REDUCE, 4 * T, group);
        const double in = s->sp ? rk_comm_seconds(&x, RK_COLL_ALL_GATHER, bytes, group) : 0;
        const double out =
            rk_comm_seconds(&x, s->sp ? RK_COLL_REDUCE_SCATTER : RK_COLL_ALL_REDUCE, bytes, group);
        rk_add_comm(&x, RK_PART_TP, in + loss, out);
    }
    /* input and output of the final norm, the gathered input, and what the loss keeps */
    x.cost.saved = ACTIVATION_BYTES * (2 * context->local_tokens * h + (s->sp ? T * h : 0));
    x.cost.transient = context->stack->logit_bytes * logits;
    x.cost.dense_params = (model->norm == RK_NORM_LAYER ? 2 : 1) * (model->final_norm ? h : 0) +
                          padded_vocab(context) * h / t +
                          (model->head_bias ? padded_vocab(context) / t : 0);
    finish(&x);
    return x.cost;
}
