/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Softmax attention after the projections that make queries, keys and values.  Letters: T tokens of
 * a microbatch on a context-parallel rank, h hidden, t tensor parallel, n_q and n_kv heads with d
 * elements of keys and d_v of values, c context parallel.
 *
 * Saved activations follow the list of tensors that backward needs (Korthikanti et al. 2022 for
 * attention that is not fused; flash attention keeps its inputs, its output and a sum per row).
 */
#include "layer/attention.h"

#include "base/extremes.h"
#include "base/units.h"
#include "system/flash_lent.h"

#include <assert.h>
#include <math.h>

/*
 * Rate of attention relative to the 16-bit rate that accelerators give: the ratio of the matrix
 * engine for full precision.
 */
static double attention_rate(const rk_accelerator *a, rk_precision precision)
{
    const rk_gemm_engine *wide = &a->gemm[precision], *usual = &a->gemm[RK_BF16];
    return rk_is_full(precision) && wide->peak > 0 && usual->peak > 0
               ? wide->peak * wide->efficiency / (usual->peak * usual->efficiency)
               : 1;
}

void rk_attention_set_rates(rk_block_context *c)
{
    const rk_accelerator *a = &c->system->accelerator;
    const rk_stack *stack = c->stack;
    const double format = attention_rate(a, c->strategy->precision);
    const bool other = !rk_stack_lists(stack, a) && stack->other_attention_share > 0;
    const double share = stack->other_attention_share;
    c->attention.forward = format * (other ? share : stack->attention_share);
    c->attention.backward = format * (other ? share : stack->attention_backward_share);
    c->attention.ramp = !other && stack->attention_ramp_tokens > 0 ? stack->attention_ramp_tokens
                                                                   : a->attention_ramp;
}

/* Heads of keys and values on one rank: replicated if there are fewer than tensor ranks. */
static double local_kv_heads(const rk_attention_shape *a, double t)
{
    const double heads = (double)a->kv_heads / t;
    return heads > 1 ? heads : 1;
}

rk_attention_widths rk_attention_widths_of(const rk_attention_shape *a, double t)
{
    assert(t >= 1);
    const double heads = (double)a->query_heads / t;
    const double kv = rk_attention_is_latent(a) ? heads : local_kv_heads(a, t);
    const double qk = (double)rk_attention_qk_size(a), v = (double)rk_attention_value_size(a);
    return (rk_attention_widths){heads * qk, kv * qk, kv * v, heads * v};
}

/* ---- kernels of libraries ------------------------------------------------------------------ */

/* Attention multiplies in 8 bits, whether the linears do or not. */
static bool is_eight_bit(const rk_strategy *s)
{
    return s->attention_kernel == RK_KERNEL_CUDNN_FP8 ||
           s->attention_kernel == RK_KERNEL_CUDNN_MXFP8;
}

/*
 * The pass `o` as one of flash.h: `queries` of each sequence lie on the rank and see, on average,
 * as many of `reach` keys as the FLOPs of the pass say.
 */
static rk_flash_work flash_work(const rk_cost_builder *x, const rk_operator *o,
                                const rk_attention_shape *a, double queries, double reach)
{
    const double qk = o->K, v = (double)rk_attention_value_size(a);
    const bool backward = o->pass == RK_PASS_BACKWARD;
    const double pair = backward ? 2 * (3 * qk + 2 * v) : 2 * (qk + v);
    const double rows = o->M * (double)a->query_heads / (double)x->c->strategy->tp;
    const bool window = a->window > 0 && (double)a->window < reach;
    return (rk_flash_work){
        .heads = rows / queries,
        .group = o->sharing,
        .queries = queries,
        .keys = window ? reach : rk_max(o->flops / (rows * pair) + queries / 2, queries),
        .qk_size = qk,
        .v_size = v,
        .window = window ? (double)a->window : 0,
        .causal = true,
        .backward = backward,
        .sustained = true,
    };
}

/* Time of a pass relative to cudnn, on the accelerator that has rates of both. */
static double lent_ratio(const rk_accelerator *accelerator, rk_flash_work work)
{
    const rk_accelerator *lender = rk_flash_lender(accelerator, work.library);
    if (!lender) {
        return 0;
    }
    const double seconds = rk_flash_seconds(lender, &work);
    work.library = RK_FLASH_CUDNN;
    return seconds / rk_flash_seconds(lender, &work);
}

/*
 * Time of a pass with the strategy's kernel relative to the stack's kernel; 0: they are the same.
 * In training a kernel is slower than alone, and the constants of attention describe training: only
 * the ratio of two kernels comes from benchmarks.  If the stack does not say what it runs, the
 * kernel's own time counts.  Without rates of its own, it has the ratio to cudnn of the nearest
 * accelerator, or none.
 */
static double kernel_ratio(const rk_cost_builder *x, const rk_operator *o, rk_flash_work work)
{
    const rk_accelerator *accelerator = &x->c->system->accelerator;
    const rk_attention_kernel usual = x->c->stack->attention_kernel;
    const rk_attention_kernel kernel = x->c->strategy->attention_kernel;
    if (!rk_stack_lacks_kernel(x->c->stack, kernel)) {
        return 0;
    }
    work.library = rk_flash_library_of(kernel);
    if (!rk_flash_is_measured(accelerator, work.library)) {
        return lent_ratio(accelerator, work);
    }
    const double seconds = rk_flash_seconds(accelerator, &work);
    work.library = rk_flash_library_of(usual == RK_KERNEL_OF_STACK ? kernel : usual);
    const double other = rk_flash_seconds(accelerator, &work);
    return seconds / (usual != RK_KERNEL_OF_STACK && other < HUGE_VAL ? other : rk_price(x->c, o));
}

/*
 * Kernels in 8 bits read casts of queries, keys and values, and backward of the gradient of the
 * output, and leave gradients that are cast back: 1 byte and 2.
 */
static void add_attention_casts(rk_cost_builder *x, const rk_attention_shape *a)
{
    const rk_attention_widths w = rk_attention_widths_of(a, (double)x->c->strategy->tp);
    const double inputs = 3 * x->c->tokens * (w.query + w.key + w.value);
    if (is_eight_bit(x->c->strategy)) {
        rk_add_stream(x, RK_PART_CAST, inputs, inputs + 3 * x->c->tokens * w.output);
    }
}

enum { SUM_BYTES = 4 }; /* of sums in fp32: of a softmax, and of the results of a ring's steps */

/* ---- core attention ------------------------------------------------------------------------ */

/*
 * Rate at `seq` by the ramp of the stack's kernel, over that by the accelerator's.  The stack's is
 * of causal sequences, whose queries see half of it in the mean; `causal` is one of as many keys.
 */
static double ramp_ratio(const rk_block_context *c, double seq, double causal)
{
    return (1 + c->system->accelerator.attention_ramp / seq) / (1 + c->attention.ramp / causal);
}

/*
 * Flash attention: 2 products forward; 5 backward, of which one, the scores, is done again: with
 * d of queries and keys and d_v of values, (3 d + 2 d_v) / (d + d_v) times the forward.  Masks that
 * keep attention within documents make as many shorter sequences of one.
 */
static void add_flash(rk_cost_builder *x, const rk_attention_shape *a)
{
    const rk_strategy *s = x->c->strategy;
    const int64_t reach = rk_strategy_reach(s);
    const double sequences = (double)s->micro_batch * (double)s->seq / (double)reach;
    const double cp = (double)s->cp, t = (double)s->tp;
    const double flops = sequences * rk_attention_flops(a, reach) / (t * cp);
    const double qk = (double)rk_attention_qk_size(a), v = (double)rk_attention_value_size(a);
    const double ratio = (3 * qk + 2 * v) / (qk + v);
    const double seen = (double)(a->window && a->window < reach ? a->window : reach);
    /* Ulysses gives a rank whole sequences of fewer heads; a ring cuts all but short documents. */
    const bool by_heads = s->cp_kind == RK_CP_ULYSSES, ring = s->cp_kind == RK_CP_RING;
    const double piece = reach == s->seq ? seen / cp : rk_min(seen, (double)s->seq / cp);
    const double causal = ring && s->cp > 1 ? piece : rk_min(2 * seen, (double)reach);
    const double queries = by_heads ? (double)reach : rk_min((double)reach, (double)s->seq / cp);
    rk_operator o = {
        .kind = RK_OPERATOR_ATTENTION,
        .part = RK_PART_ATTENTION,
        .groups = sequences * (double)a->query_heads / (by_heads ? t * cp : t),
        .M = x->c->tokens,
        .N = ring ? piece : seen,
        .K = qk,
        .flops = flops,
        .share = x->c->attention.forward * ramp_ratio(x->c, ring ? piece : seen, causal),
        .sharing = (double)a->query_heads / rk_max((double)a->kv_heads, t),
    };
    o.relative = kernel_ratio(x, &o, flash_work(x, &o, a, queries, (double)reach));
    rk_emit(x, &o);
    o.pass = RK_PASS_BACKWARD;
    o.flops = flops * ratio;
    o.share = x->c->attention.backward * ramp_ratio(x->c, o.N, causal);
    o.relative = 0;
    o.relative = kernel_ratio(x, &o, flash_work(x, &o, a, queries, (double)reach));
    rk_emit(x, &o);
    add_attention_casts(x, a);
    if (x->c->model->details.alibi) {
        const double heads = (double)a->query_heads / (t * cp);
        const double scores = sequences * heads * (double)reach * (double)reach;
        const double bias = x->c->width * x->c->stack->bias_bytes * scores;
        rk_add_stream(x, RK_PART_ATTENTION, bias, bias);
    }
}

/*
 * Batched products of head sizes that are not multiples of 16 bytes, over aligned ones: the matrix
 * engine loads them element by element.  (BLOOM's sweep on A100: of four pairs of runs that differ
 * in heads alone, those with heads of 108 take 38 to 44 s a step longer than those with 144.)
 */
static double unaligned(double head_bytes)
{
    return fmod(head_bytes, 16) > 0 ? 11 : 1;
}

/*
 * Attention by batched products and separate kernels of softmax and dropout on the whole square of
 * scores: Q K' and P V forward, dO V', P' dO, and both products with the gradient of the scores
 * backward.  Saved per score: the softmax, its dropped-out copy and the mask, a byte; of a softmax
 * in fp32 its cast as well; the tanh that limits scores.
 */
static void add_unfused(rk_cost_builder *x, const rk_attention_shape *a)
{
    const rk_strategy *s = x->c->strategy;
    const rk_stack *stack = x->c->stack;
    const double n = (double)s->seq, queries = n / (double)s->cp;
    const double heads = (double)s->micro_batch * (double)a->query_heads / (double)s->tp;
    const double qk = (double)rk_attention_qk_size(a), v = (double)rk_attention_value_size(a);
    const double share = stack->gemm_share / unaligned(qk * x->c->element);
    const double scores = heads * queries * n;
    rk_add_products(x, RK_PART_ATTENTION, RK_PASS_FORWARD, 1, heads, queries, n, qk, share);
    rk_add_products(x, RK_PART_ATTENTION, RK_PASS_FORWARD, 1, heads, queries, v, n, share);
    rk_add_products(x, RK_PART_ATTENTION, RK_PASS_BACKWARD, 1, heads, queries, n, v, share);
    rk_add_products(x, RK_PART_ATTENTION, RK_PASS_BACKWARD, 1, heads, queries, v, n, share);
    rk_add_products(x, RK_PART_ATTENTION, RK_PASS_BACKWARD, 2, heads, queries, qk, n, share);
    rk_add_stream(x, RK_PART_ATTENTION, x->c->width * stack->score_forward * scores,
                  x->c->width * stack->score_backward * scores);
    const double wide = stack->wide_softmax && x->c->element < SUM_BYTES ? SUM_BYTES : 0;
    const double dropped = stack->dropout_bytes > 0 ? x->c->element + 1 : 0;
    const double capped = a->capped_scores ? x->c->element : 0;
    rk_save(x, rk_recomputes(s, RK_MODULE_CORE_ATTENTION),
            (wide + x->c->element + dropped + capped) * scores);
}

/* ---- context parallelism ------------------------------------------------------------------- */

/* The seconds that `window` seconds of compute do not hide. */
static double beyond(double seconds, double window)
{
    return seconds > window ? seconds - window : 0;
}

/*
 * Ring: keys and values pass c-1 times forward and twice that backward (with their gradients).  The
 * attention of a step, 1/c of all, overlaps the exchange for the next one, so the last step hides
 * nothing; the results of c-1 steps are read and added to a sum.
 */
static void add_ring(rk_cost_builder *x, double kv, double out)
{
    const double c = (double)x->c->strategy->cp, hidden = (c - 1) / c;
    const rk_message once = rk_message_of(x->c, RK_COLL_SEND, RK_GROUP_CONTEXT, kv, c - 1);
    const rk_message twice = rk_message_times(&once, 2);
    const double merge = (c - 1) * out / x->c->element * (x->c->element + 2 * SUM_BYTES);
    rk_send(x, RK_PASS_FORWARD, RK_PART_CP,
            beyond(once.seconds, hidden * x->cost.forward.part[RK_PART_ATTENTION]), &once, 1);
    rk_send(x, RK_PASS_BACKWARD, RK_PART_CP,
            beyond(twice.seconds, hidden * x->cost.backward.part[RK_PART_ATTENTION]), &twice, 1);
    rk_add_stream(x, RK_PART_CP, merge, merge);
}

/*
 * Ring of PyTorch (2.6, experimental/_attention.py): keys and values, repeated for all query heads
 * before attention, are gathered at once, during the attention of the local step, 1/c of all;
 * backward does the same.  Results of steps are added to an fp32 sum.  The gradients of keys and
 * values pass the ring in fp32 after every step, the last time overlapping nothing; gradients of
 * queries are summed in fp32 too, and gradients of keys and values are also copied into a message.
 */
static void add_gathered_ring(rk_cost_builder *x, const rk_attention_widths *w)
{
    const double c = (double)x->c->strategy->cp, e = x->c->element, T = x->c->tokens;
    const double pairs = T * (w->query + w->output); /* of keys and values */
    const rk_message gather =
        rk_message_of(x->c, RK_COLL_ALL_GATHER, RK_GROUP_CONTEXT, c * e * pairs, 1);
    const rk_message pass =
        rk_message_of(x->c, RK_COLL_SEND, RK_GROUP_CONTEXT, SUM_BYTES * pairs, 1);
    const rk_message back[] = {gather, rk_message_times(&pass, c)};
    const double first = x->cost.forward.part[RK_PART_ATTENTION] / c;
    const double first_back = x->cost.backward.part[RK_PART_ATTENTION] / c;
    const double sum = 2 * SUM_BYTES + e; /* read, add, write */
    rk_send(x, RK_PASS_FORWARD, RK_PART_CP, beyond(gather.seconds, first), &gather, 1);
    rk_send(x, RK_PASS_BACKWARD, RK_PART_CP,
            beyond(gather.seconds, first_back) + pass.seconds +
                beyond((c - 1) * pass.seconds, (c - 1) * first_back),
            back, 2);
    rk_add_stream(x, RK_PART_CP, (c - 1) * sum * T * w->output,
                  (c - 1) * (sum * T * w->query + (sum + 2 * SUM_BYTES) * pairs));
}

/* All-gather: once forward, and again with a reduce-scatter of the gradients backward, visible. */
static void add_gathers(rk_cost_builder *x, double kv)
{
    const double c = (double)x->c->strategy->cp;
    const rk_message both[] = {
        rk_message_of(x->c, RK_COLL_ALL_GATHER, RK_GROUP_CONTEXT, c * kv, 1),
        rk_message_of(x->c, RK_COLL_REDUCE_SCATTER, RK_GROUP_CONTEXT, c * kv, 1)};
    rk_send(x, RK_PASS_FORWARD, RK_PART_CP, both[0].seconds, both, 1);
    rk_send(x, RK_PASS_BACKWARD, RK_PART_CP, both[0].seconds + both[1].seconds, both, 2);
}

void rk_add_exchange(rk_cost_builder *x, double in, double out)
{
    assert(in >= 0 && out >= 0);
    const rk_message both[] = {rk_message_of(x->c, RK_COLL_ALL_TO_ALL, RK_GROUP_CONTEXT, in, 1),
                               rk_message_of(x->c, RK_COLL_ALL_TO_ALL, RK_GROUP_CONTEXT, out, 1)};
    const double seconds = both[0].seconds + both[1].seconds;
    if (x->c->strategy->cp > 1) {
        rk_send(x, RK_PASS_FORWARD, RK_PART_CP, seconds, both, 2);
        rk_send(x, RK_PASS_BACKWARD, RK_PART_CP, seconds, both, 2);
    }
}

/* Ulysses: queries, keys and values in, the output back, which is kept in both layouts. */
static void add_ulysses(rk_cost_builder *x, double qkv, double out)
{
    rk_add_exchange(x, qkv, out);
    rk_save(x, rk_recomputes(x->c->strategy, RK_MODULE_CORE_ATTENTION), out);
}

static void add_context_parallel(rk_cost_builder *x, const rk_attention_widths *w)
{
    const double bytes = x->c->element * x->c->tokens;
    /* Transformer Engine's ring passes keys, values and their gradients on as its kernels have them
     */
    const bool cast = is_eight_bit(x->c->strategy) && x->c->strategy->cp_kind == RK_CP_RING;
    const double kv = (cast ? x->c->tokens : bytes) * (w->key + w->value), out = bytes * w->output;
    if (x->c->strategy->cp == 1) {
        return;
    }
    switch (x->c->strategy->cp_kind) {
    case RK_CP_RING:
        if (x->c->stack->ring_gathers) {
            add_gathered_ring(x, w);
        } else {
            add_ring(x, kv, out);
        }
        break;
    case RK_CP_ALL_GATHER:
        add_gathers(x, kv);
        break;
    case RK_CP_ULYSSES:
        add_ulysses(x, bytes * w->query + kv, out);
        break;
    }
}

/* The output projection runs again, with the sum over the tensor group, for the norm behind it. */
static void add_projection_again(rk_cost_builder *x, const rk_cost *before)
{
    rk_repeat(x, before);
    if (x->c->strategy->tp > 1) {
        rk_send(x, RK_PASS_BACKWARD, RK_PART_RECOMPUTE, x->c->reduce.seconds, &x->c->reduce, 1);
    }
}

void rk_add_attention_core(rk_cost_builder *x, const rk_attention_shape *a)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, heads = (double)a->query_heads / (double)s->tp;
    const rk_attention_widths w = rk_attention_widths_of(a, (double)s->tp);
    const bool again = s->flash_attention && rk_recomputes(s, RK_MODULE_CORE_ATTENTION);
    const rk_cost before = x->cost;
    if (s->flash_attention) {
        add_flash(x, a);
    } else {
        add_unfused(x, a);
    }
    add_context_parallel(x, &w);
    if (rk_recomputes(s, RK_MODULE_CORE_ATTENTION)) {
        rk_repeat(x, &before);
    }
    const rk_cost projected = x->cost;
    x->holds_input = true;
    rk_add_row_linear(x, s->precision, T, (double)x->c->model->hidden, w.output);
    x->holds_input = false;
    rk_add_product_again(x, T, (double)x->c->model->hidden, w.output, true);
    if (rk_recomputes(s, RK_MODULE_PROJECTION)) {
        add_projection_again(x, &projected);
    }
    /* the output, which is also the input of the projection unless that is cast; row sums */
    rk_save(x, again, x->c->element * T * w.output);
    rk_save(x, again, s->flash_attention ? 4 * T * heads : 0);
    if (rk_wide_precision(s) != s->precision && s->adapter_rank == 0) {
        rk_save(x, again, rk_saved_input_bytes(s) * T * w.output);
    }
}

/*
 * Backward of PyTorch's ring (_templated_ring_attention_backward, PyTorch 2.6): keys and values of
 * all ranks; gradients of queries, keys and values of the step, and their sums in fp32; the sums of
 * keys and values that a rank received, packs for the next one, and receives from the one before.
 */
static double ring_bytes(const rk_block_context *c, const rk_attention_shape *a)
{
    const rk_strategy *s = c->strategy;
    const rk_attention_widths w = rk_attention_widths_of(a, (double)s->tp);
    const double pairs = w.key + w.value;
    const bool gathers = s->cp > 1 && s->cp_kind == RK_CP_RING && c->stack->ring_gathers;
    return gathers
               ? c->tokens * ((double)s->cp * c->element * pairs +
                              (c->element + SUM_BYTES) * (w.query + pairs) + 2 * SUM_BYTES * pairs)
               : 0;
}

/*
 * Bytes per score in backward of attention that is not fused, beside what is saved: gradients of
 * the softmax and of its input.  One in fp32 has their type, and its kernel makes the product of
 * gradient and result first (PyTorch, softmax_backward_cuda_out); the cast that was saved is free.
 */
static double score_gradients(const rk_block_context *c)
{
    const double wide = rk_max(c->element, SUM_BYTES);
    return !c->stack->wide_softmax ? 2 * c->element
                                   : 3 * wide - (wide > c->element ? c->element : 0);
}

double rk_attention_transient(const rk_block_context *c, const rk_layer_type *type)
{
    const rk_strategy *s = c->strategy;
    const double t = (double)s->tp, n = (double)s->seq;
    const double scores = score_gradients(c) * (double)s->micro_batch *
                          (double)type->attention.query_heads / t * n * n / (double)s->cp;
    return ring_bytes(c, &type->attention) + (s->flash_attention ? 0 : scores);
}

double rk_attention_flops_of(const rk_layer_type *type, int64_t hidden, int64_t seq,
                             rk_flop_reach reach)
{
    (void)hidden;
    return rk_attention_training_flops(&type->attention, seq, reach);
}

rk_status rk_attention_check(const rk_attention_shape *a, rk_error *err)
{
    const rk_size_range sizes[] = {
        {"heads", a->query_heads, 1, RK_HEADS_MAX},
        {"kv_heads", a->kv_heads, 1, RK_HEADS_MAX},
        {"window", a->window, a->chunked ? 1 : 0, RK_TOKENS_MAX},
    };
    return rk_check_sizes(sizes, COUNT(sizes), err);
}
