/* SPDX-License-Identifier: Apache-2.0 */
/* Emits linears with their casts, messages, recomputation, saved tensors and launch overhead. */
#include "layer/operators.h"

#include "base/extremes.h"

#include <assert.h>
#include <math.h>

#define MASK_BYTES 1.0 /* of dropout, per element */
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

void rk_sent_add(rk_sent_bytes *sent, double factor, const rk_sent_bytes *other)
{
    sent->tensor += factor * other->tensor;
    sent->context += factor * other->context;
    sent->expert += factor * other->expert;
}

/* ---- emitting ------------------------------------------------------------------------------ */

static void add_sent(rk_sent_bytes *sent, const rk_message *message)
{
    if (message->group == RK_GROUP_TENSOR) {
        sent->tensor += message->sent;
    } else if (message->group == RK_GROUP_CONTEXT) {
        sent->context += message->sent;
    } else {
        sent->expert += message->sent;
    }
}

void rk_emit(rk_cost_builder *x, const rk_operator *o)
{
    rk_cost *cost = &x->cost;
    const bool forward = o->pass == RK_PASS_FORWARD;
    const double seconds = rk_price(x->c, o);
    (forward ? &cost->forward : &cost->backward)->part[o->part] += seconds;
    if (o->pass == RK_PASS_WEIGHTS) {
        cost->weight_seconds += seconds;
        cost->weight_kernels++;
    }
    if (o->part == RK_PART_RECOMPUTE) {
        cost->flops_recompute += o->flops;
    } else {
        *(forward ? &cost->flops_forward : &cost->flops_backward) += o->flops;
    }
    cost->saved += o->saved;
    if (o->message.sent > 0) {
        add_sent(forward ? &cost->sent_forward : &cost->sent_backward, &o->message);
    }
    if (x->list) {
        rk_operator priced = *o;
        priced.seconds = seconds;
        rk_operator_list_add(x->list, &priced);
    }
}

void rk_send(rk_cost_builder *x, rk_pass pass, rk_part part, double visible,
             const rk_message *messages, int count)
{
    assert(visible >= 0 && count >= 1);
    const bool forward = pass == RK_PASS_FORWARD;
    double all = 0;
    for (int i = 0; i < count; i++) {
        all += messages[i].seconds;
    }
    for (int i = 0; i < count; i++) {
        const double seconds = all > 0 ? visible * (messages[i].seconds / all) : 0;
        if (x->list) {
            const rk_operator o = {.kind = RK_OPERATOR_MESSAGE,
                                   .part = part,
                                   .pass = pass,
                                   .message = messages[i],
                                   .seconds = seconds};
            rk_emit(x, &o);
        } else {
            (forward ? &x->cost.forward : &x->cost.backward)->part[part] += seconds;
            add_sent(forward ? &x->cost.sent_forward : &x->cost.sent_backward, &messages[i]);
        }
    }
}

/* ---- saved and recomputed ------------------------------------------------------------------- */

bool rk_recomputes(const rk_strategy *strategy, unsigned module)
{
    const unsigned by_operators = RK_MODULE_NORM | RK_MODULE_ACTIVATION;
    const unsigned modules = strategy->recompute_modules;
    const bool operators = modules & RK_MODULE_OPERATORS && module & by_operators;
    return strategy->recompute == RK_REC_SELECTIVE && (modules & module || operators);
}

void rk_save(rk_cost_builder *x, bool again, double bytes)
{
    assert(bytes >= 0);
    if (again) {
        x->cost.unsaved += bytes;
    } else if (!x->list) {
        x->cost.saved += bytes;
    } else {
        const rk_operator o = {.kind = RK_OPERATOR_KEEP, .part = RK_PART_STREAM, .saved = bytes};
        rk_emit(x, &o);
    }
}

/*
 * Bytes per element of the copy that each adapter keeps of its own input: what dropout leaves, with
 * a mask, or a cast for adapters in fp32 beside activations in 16 bits (peft,
 * tuners/tuners_utils.py: _cast_input_dtype; FSDP on several accelerators gathers them in 16 bits).
 */
static double own_copy_bytes(const rk_block_context *c)
{
    const rk_strategy *s = c->strategy;
    const bool casts = s->adapter_bytes > c->element && rk_strategy_ranks(s) == 1;
    return c->stack->adapter_dropout ? c->element + MASK_BYTES : casts ? c->element : 0;
}

double rk_kept_input_bytes(const rk_block_context *c, bool adapts)
{
    if (c->strategy->adapter_rank == 0) {
        return rk_saved_input_bytes(c->strategy);
    }
    return adapts && own_copy_bytes(c) == 0 ? c->element : 0;
}

double rk_wide_norm_bytes(const rk_block_context *c, double normalised)
{
    const double product = c->model->wide_gain ? RK_FP32_BYTES : normalised;
    const double learns = c->strategy->adapter_rank == 0 ? product : 0;
    return c->stack->wide_norms ? RK_FP32_BYTES - c->element + learns : normalised - c->element;
}

/* Bytes of one group that are sent again. */
static void send_again(rk_cost_builder *x, rk_group_kind group, double sent)
{
    if (sent > 0) {
        const rk_operator o = {.kind = RK_OPERATOR_RECOMPUTE,
                               .part = RK_PART_RECOMPUTE,
                               .pass = RK_PASS_BACKWARD,
                               .message = {.group = group, .sent = sent}};
        rk_emit(x, &o);
    }
}

/* Runs again what forward has added since `before`, and gives up so many of its saved bytes. */
static void run_again(rk_cost_builder *x, const rk_cost *before, double given_up)
{
    const rk_cost *now = &x->cost; /* of whose forward the operators below change nothing */
    const rk_operator o = {
        .kind = RK_OPERATOR_RECOMPUTE,
        .part = RK_PART_RECOMPUTE,
        .pass = RK_PASS_BACKWARD,
        .flops = now->flops_forward - before->flops_forward,
        .saved = -given_up,
        .seconds = rk_times_sum(&now->forward) - rk_times_sum(&before->forward),
    };
    rk_emit(x, &o);
    send_again(x, RK_GROUP_TENSOR, now->sent_forward.tensor - before->sent_forward.tensor);
    send_again(x, RK_GROUP_CONTEXT, now->sent_forward.context - before->sent_forward.context);
    send_again(x, RK_GROUP_EXPERT, now->sent_forward.expert - before->sent_forward.expert);
}

void rk_repeat(rk_cost_builder *x, const rk_cost *before)
{
    run_again(x, before, 0);
}

void rk_checkpoint(rk_cost_builder *x, const rk_cost *before)
{
    const double given_up = x->cost.saved - before->saved;
    run_again(x, before, given_up);
    x->cost.unsaved += given_up;
    x->cost.saved = before->saved;
    x->cost.late = before->late;
}

void rk_add_products(rk_cost_builder *x, rk_part part, rk_pass pass, int count, double groups,
                     double M, double N, double K, double share)
{
    assert(share > 0 && groups > 0);
    const rk_operator o = {
        .kind = RK_OPERATOR_PRODUCT,
        .part = part,
        .pass = pass,
        .precision = rk_wide_precision(x->c->strategy),
        .groups = groups,
        .M = M,
        .N = N,
        .K = K,
        .flops = 2 * groups * M * N * K,
        .share = share,
    };
    for (int i = 0; i < count; i++) {
        rk_emit(x, &o);
    }
}

/* ---- memory-bound -------------------------------------------------------------------------- */

void rk_add_stream(rk_cost_builder *x, rk_part part, double forward_bytes, double backward_bytes)
{
    assert(forward_bytes >= 0 && backward_bytes >= 0);
    const double bytes[] = {forward_bytes, backward_bytes};
    double *const seconds[] = {&x->cost.forward.part[part], &x->cost.backward.part[part]};
    for (int pass = 0; pass < 2; pass++) { /* RK_PASS_FORWARD, RK_PASS_BACKWARD */
        if (bytes[pass] > 0 && !x->list) {
            *seconds[pass] += rk_price_stream(x->c, bytes[pass]);
        } else if (bytes[pass] > 0) {
            const rk_operator o = {.kind = RK_OPERATOR_STREAM,
                                   .part = part,
                                   .pass = (rk_pass)pass,
                                   .bytes = bytes[pass]};
            rk_emit(x, &o);
        }
    }
}

/* ---- linear layers ------------------------------------------------------------------------- */

/*
 * Bytes per element that weight gradients read and write beyond one output as wide as activations:
 * they are added to what the microbatches before left, in the gradient's precision, unless that is
 * done apart or none is kept.
 */
static double accumulate_bytes(const rk_cost_builder *x)
{
    return x->c->stack->accumulation_bytes > 0
               ? 0
               : rk_max(2 * x->c->strategy->states.gradient - x->c->element, 0);
}

static bool is_frozen(const rk_cost_builder *x)
{
    return x->c->strategy->adapter_rank > 0;
}

/* Bytes of a cast of one element, all its passes; 0: the linear is in a wide precision. */
static double cast_bytes(const rk_cost_builder *x, rk_precision precision)
{
    const rk_strategy *s = x->c->strategy;
    return rk_is_low(precision)
               ? rk_cast_passes(s, x->c->stack) * rk_cast_bytes(s, &x->c->system->accelerator)
               : 0;
}

/*
 * Bytes each way of a quantised linear beside hidden states in fp32: it casts its input to 16 bits
 * and its output back, and their gradients the other way (bitsandbytes, Linear4bit.forward).
 */
static double wide_cast_bytes(const rk_block_context *c, double M, double N, double K)
{
    return (c->written + c->element) * M * (N + K);
}

/* Emits the weight gradient (N,K,M) of a linear (M,N,K), which it becomes, unless it is frozen. */
static void add_weight_gradient(rk_cost_builder *x, rk_operator *linear, double M, double N,
                                double K)
{
    if (!is_frozen(x)) {
        linear->pass = RK_PASS_WEIGHTS;
        linear->M = N;
        linear->N = K;
        linear->K = M;
        linear->accumulate = accumulate_bytes(x);
        rk_emit(x, linear);
    }
}

/* Rows that are cast, and whose gradients are, of linears that split the tokens over ranks. */
typedef struct cast_rows {
    double inputs, gradients;
} cast_rows;

/*
 * Rows of a linear of the tensor group whose inputs are gathered before it, or whose outputs are
 * summed behind it, so that their gradients are gathered: a rank casts its own where casts come
 * first.
 */
static cast_rows cast_rows_of(const rk_cost_builder *x, double M, bool summed)
{
    const double own = x->c->gathers_cast ? M / (double)x->c->strategy->tp : M;
    return summed ? (cast_rows){M, own} : (cast_rows){own, M};
}

/*
 * Emits the three GEMMs of a linear and, of a low-precision one, the casts of its inputs in forward
 * and of its outputs' gradients in backward.  `groups` 0: it is no linear of experts.
 */
static void add_products(rk_cost_builder *x, rk_part part, rk_precision precision, double groups,
                         double M, double N, double K, double share, cast_rows rows)
{
    assert(share > 0);
    const double times = groups > 0 ? groups : 1, cast = cast_bytes(x, precision);
    rk_operator o = {
        .kind = RK_OPERATOR_LINEAR,
        .part = part,
        .precision = precision,
        .groups = groups,
        .M = M,
        .N = N,
        .K = K,
        .flops = 2 * times * M * N * K,
        .share = share,
    };
    rk_emit(x, &o);
    o.pass = RK_PASS_BACKWARD;
    o.N = K;
    o.K = N;
    rk_emit(x, &o);
    add_weight_gradient(x, &o, M, N, K);
    if (cast > 0) {
        rk_add_stream(x, RK_PART_CAST, cast * times * rows.inputs * K,
                      cast * times * rows.gradients * N);
    }
    if (x->c->strategy->wide_residual && part != RK_PART_HEAD) {
        const double wide = times * wide_cast_bytes(x->c, M, N, K);
        rk_add_stream(x, RK_PART_CAST, wide, wide);
    }
}

/*
 * An adapter of rank r on a linear of K inputs and N outputs: W x + B (A x).  Its products are thin
 * (r is far below what a GEMM needs), so their time is the time to move their operands.  Forward
 * reads x, writes B A x, and adds it to W x (two reads, a write): M (K + 4 N) elements.  Backward
 * reads the gradient of the output for B's gradient and for the way down, writes the gradient of
 * the input and adds it, and reads x again for A's gradient: M (2 N + 5 K).  Where outputs are
 * summed over the tensor group, B A x is made of the sum of A x, for the `summed` rows of this
 * rank.  Each of `modules` that share the input, such as gate and up, may keep a copy of its own.
 */
static void add_adapter(rk_cost_builder *x, double M, double summed, double N, double K,
                        int modules)
{
    assert(modules >= 1);
    const double r = (double)x->c->strategy->adapter_rank, e = x->c->written;
    const double copies = modules * own_copy_bytes(x->c) * K;
    rk_operator o = {
        .kind = RK_OPERATOR_STREAM,
        .part = RK_PART_STREAM,
        .flops = 2 * M * r * (N + K),
        .bytes = e * (M * K + 4 * summed * N),
        .saved = M * (x->c->element * r + copies),
    };
    rk_emit(x, &o);
    o.pass = RK_PASS_BACKWARD;
    o.flops *= 2;
    o.bytes = e * (2 * summed * N + 5 * M * K);
    o.saved = 0;
    rk_emit(x, &o);
    x->cost.adapters += modules;
}

/*
 * Inputs of linears in NF4 that bitsandbytes keeps, which its backward does not read (until 0.43.2:
 * MatMul4Bit, `ctx.tensors`), beside those that are kept anyway.
 */
static void keep_quantised_input(rk_cost_builder *x, double M, double K)
{
    const rk_strategy *s = x->c->strategy;
    const bool nf4 = s->nf4_weights &&
                     (s->frozen_type == RK_FROZEN_NF4 || s->frozen_type == RK_FROZEN_NF4_PLAIN);
    const bool kept = x->holds_input || rk_kept_input_bytes(x->c, x->adapts) > 0;
    const double more = nf4 ? x->c->stack->quantised_inputs - (kept ? 1 : 0) : 0;
    if (more > 0) {
        rk_save(x, false, more * x->c->element * M * K);
    }
}

static double gemm_share(const rk_cost_builder *x, rk_precision precision)
{
    return rk_is_low(precision) ? x->c->stack->low_gemm_share : x->c->stack->gemm_share;
}

/* One product of a linear, in forward. */
static rk_operator linear_of(const rk_cost_builder *x, rk_part part, rk_precision precision,
                             double M, double N, double K)
{
    return (rk_operator){
        .kind = RK_OPERATOR_LINEAR,
        .part = part,
        .precision = precision,
        .M = M,
        .N = N,
        .K = K,
        .flops = 2 * M * N * K,
        .share = gemm_share(x, precision),
    };
}

/*
 * Weights in 8 or 4 bits of a linear outside the head: of its precision, or frozen ones in NF4,
 * which are dequantised to 16 bits for every GEMM that reads them.
 */
static double add_low_weights(rk_cost_builder *x, rk_part part, rk_precision precision,
                              double groups, double each, double reads_backward)
{
    const double params = groups * each;
    const double bytes = params * rk_dequantised_bytes(x->c->strategy, x->c->stack);
    x->cost.matrix_params = rk_max(x->cost.matrix_params, params);
    if (bytes <= 0 || part == RK_PART_HEAD) {
        return rk_is_low(precision) ? params : 0;
    }
    rk_add_stream(x, RK_PART_CAST, bytes, reads_backward * bytes);
    x->cost.dequantised = rk_max(x->cost.dequantised, 2 * each); /* one expert after the other */
    return params;
}

static void add_bare_linear(rk_cost_builder *x, rk_part part, rk_precision precision, double M,
                            double N, double K, cast_rows rows)
{
    add_products(x, part, precision, 0, M, N, K, gemm_share(x, precision), rows);
    x->cost.low_dense_params += add_low_weights(x, part, precision, 1, N * K, 1);
    if (part == RK_PART_LINEAR) {
        keep_quantised_input(x, M, K);
    }
}

void rk_add_shared_linear(rk_cost_builder *x, rk_part part, rk_precision precision, double M,
                          double N, double K, int modules)
{
    add_bare_linear(x, part, precision, M, N, K, cast_rows_of(x, M, false));
    if (x->adapts && part == RK_PART_LINEAR) {
        add_adapter(x, M, M, N, K, modules);
    }
}

void rk_add_linear(rk_cost_builder *x, rk_part part, rk_precision precision, double M, double N,
                   double K)
{
    rk_add_shared_linear(x, part, precision, M, N, K, 1);
}

void rk_add_detached_linear(rk_cost_builder *x, rk_precision precision, double M, double N,
                            double K)
{
    const double cast = cast_bytes(x, precision), learns = is_frozen(x) ? 0 : 1;
    rk_operator o = linear_of(x, RK_PART_LINEAR, precision, M, N, K);
    rk_emit(x, &o);
    add_weight_gradient(x, &o, M, N, K);
    if (cast > 0) {
        rk_add_stream(x, RK_PART_CAST, cast * M * K, learns * cast * M * N);
    }
    x->cost.low_dense_params += add_low_weights(x, RK_PART_LINEAR, precision, 1, N * K, 0);
}

void rk_add_row_linear(rk_cost_builder *x, rk_precision precision, double M, double N, double K)
{
    add_bare_linear(x, RK_PART_LINEAR, precision, M, N, K, cast_rows_of(x, M, true));
    if (x->adapts) {
        add_adapter(x, M, M * x->c->local_tokens / x->c->tokens, N, K, 1);
    }
}

void rk_add_grouped_linear(rk_cost_builder *x, rk_precision precision, double groups, double M,
                           double N, double K)
{
    add_products(x, RK_PART_EXPERT, precision, groups, M, N, K,
                 gemm_share(x, precision) * x->c->stack->expert_gemm_share, (cast_rows){M, M});
    x->cost.low_expert_params += add_low_weights(x, RK_PART_EXPERT, precision, groups, N * K, 1);
}

void rk_add_product_again(rk_cost_builder *x, double M, double N, double K, bool summed)
{
    const rk_precision precision = x->c->strategy->precision;
    rk_operator o = linear_of(x, RK_PART_RECOMPUTE, precision, M, N, K);
    o.pass = RK_PASS_BACKWARD;
    if (rk_recomputes(x->c->strategy, RK_MODULE_OPERATORS)) {
        rk_emit(x, &o);
        o.kind = RK_OPERATOR_STREAM;
        o.flops = 0;
        o.bytes = cast_bytes(x, precision) * cast_rows_of(x, M, summed).inputs * K +
                  rk_dequantised_bytes(x->c->strategy, x->c->stack) * N * K;
        rk_emit(x, &o);
        if (x->c->strategy->wide_residual) {
            o.bytes = wide_cast_bytes(x->c, M, N, K);
            rk_emit(x, &o);
        }
    }
}

void rk_spare_last_product(rk_cost_builder *x, double M, double N, double K)
{
    const rk_strategy *s = x->c->strategy;
    const rk_operator o = linear_of(x, RK_PART_LINEAR, s->precision, M, N, K);
    x->stops = x->c->stack->recompute_stops;
    if (x->stops && !(s->adapter_rank > 0 && x->adapts)) {
        x->spared.forward.part[RK_PART_LINEAR] += rk_price(x->c, &o);
        x->spared.flops_forward += o.flops;
    }
}

/* ---- host ---------------------------------------------------------------------------------- */

/*
 * Time of a pass of `device` seconds whose kernels need `host` seconds to launch: the longer of the
 * two, smoothed where they are similar.  The sixth power is chosen, not measured: it adds 12 %
 * where both are equal, and 0.3 % where one is twice the other.  A host that waits in the pass for
 * what the device counts cannot launch ahead, so each waits for the other in turn: the square.  A
 * host that waits for every kernel adds up with the device.
 */
static double launched_seconds(const rk_stack *stack, double device, double host, bool waits)
{
    if (stack->blocks_launches) {
        return device + host;
    }
    if (waits) {
        return hypot(device, host);
    }
    const double high = rk_max(device, host);
    const double a = device / high, b = host / high;
    return high * pow(a * a * a * a * a * a + b * b * b * b * b * b, 1.0 / 6);
}

/*
 * `hidden` seconds of a pass run under another: kept is what the pass would take longer with them.
 */
static void floor_at(rk_cost_builder *x, rk_pass pass, double host, bool waits, double *hidden)
{
    const bool forward = pass == RK_PASS_FORWARD;
    const rk_stack *stack = x->c->stack;
    const double device = rk_times_sum(forward ? &x->cost.forward : &x->cost.backward);
    if (host > 0) {
        const double launched = launched_seconds(stack, device, host, waits);
        const rk_operator o = {.kind = RK_OPERATOR_LAUNCH,
                               .part = RK_PART_HOST,
                               .pass = pass,
                               .seconds = launched - device};
        *hidden =
            *hidden > 0 ? launched_seconds(stack, device + *hidden, host, waits) - launched : 0;
        rk_emit(x, &o);
    }
}

/*
 * Where weight gradients are a pass of their own, `device` and `host` seconds of backward are split
 * between two passes, each with its own floor: neither gets longer when a kernel or its launch gets
 * shorter.
 */
static void floor_apart(const rk_stack *stack, rk_cost *cost, double device, double host,
                        bool waits, double launch)
{
    const double weight = cost->weight_seconds;
    const double own = rk_min(cost->weight_kernels * launch, host);
    if (host <= 0 || weight <= 0) {
        return;
    }
    const double rest = device - weight + cost->apart.sums;
    cost->weight_seconds = launched_seconds(stack, weight, own, false);
    const double both = launched_seconds(stack, rest, host - own, waits) + cost->weight_seconds;
    /* no less than 0, but for rounding */
    cost->apart.launches =
        rk_max(both - cost->apart.sums - launched_seconds(stack, device, host, waits), 0);
}

bool rk_overlaps_tensor(const rk_block_context *context)
{
    const rk_group *group = &context->groups[RK_GROUP_TENSOR];
    return context->strategy->tp_overlap && group->within[0] == group->size;
}

bool rk_pads_experts(const rk_block_context *context)
{
    const rk_stack *stack = context->stack;
    const bool drops = stack->deduplicates && stack->waits_for_counts;
    return context->strategy->capacity_factor > 0 && !drops;
}

bool rk_graphs_hold(const rk_strategy *strategy, unsigned modules)
{
    return strategy->graph_modules == 0 || (strategy->graph_modules & modules) != 0;
}

/* The share of the launches of modules that their graphs leave to the host. */
static double share_left(const rk_block_context *c, unsigned modules)
{
    const rk_strategy *s = c->strategy;
    const bool held = s->graph_capture && rk_graphs_hold(s, modules);
    return s->graph_step ? 0 : held ? c->stack->graph_share : 1;
}

/*
 * Collectives of the tensor group are launched one by one, unless the kernels of products pass the
 * messages; half of them belong to the mixer.
 */
static double tensor_launches(const rk_block_context *c)
{
    const rk_strategy *s = c->strategy;
    return s->tp > 1 && !(s->sp && rk_overlaps_tensor(c)) ? c->stack->tp_kernels : 0;
}

/* The share of launches that graphs leave, of all kernels that they can hold. */
static double captured_share(const rk_block_context *c, rk_graph_modules graphed,
                             rk_kernels kernels)
{
    const double mixer = share_left(c, graphed.mixer), network = share_left(c, graphed.network);
    const double more = tensor_launches(c), all = kernels.all - kernels.loose + more;
    const double of_mixer = mixer == network || all <= 0 ? 1 : (kernels.mixer + more / 2) / all;
    return of_mixer * mixer + (1 - of_mixer) * network;
}

static double launches_of(const rk_block_context *c, rk_kernels kernels, double captured)
{
    return captured * (kernels.all - kernels.loose + tensor_launches(c)) +
           (c->strategy->graph_step ? 0 : kernels.loose);
}

/* Whether kernels of a pass are launched with counts of tokens that the host waits for. */
static bool waits_for_counts(const rk_block_context *c, rk_kernels kernels)
{
    return c->stack->waits_for_counts && !c->strategy->graph_step && !rk_pads_experts(c) &&
           kernels.loose > 0;
}

void rk_add_host_floor(rk_cost_builder *x, rk_graph_modules graphed, rk_kernels forward,
                       rk_kernels backward)
{
    const rk_block_context *c = x->c;
    const rk_stack *stack = c->stack;
    const double overlap = c->strategy->moe_overlap ? stack->overlap_launches : 1;
    const double launch = overlap * stack->launch_ratio * c->system->accelerator.launch_seconds;
    const double ahead = captured_share(c, graphed, forward);
    const double back = captured_share(c, graphed, backward);
    const double host = launches_of(c, backward, back) * launch;
    const bool waits = waits_for_counts(c, backward);
    floor_apart(stack, &x->cost, rk_times_sum(&x->cost.backward), host, waits, back * launch);
    floor_at(x, RK_PASS_FORWARD, launches_of(c, forward, ahead) * launch,
             waits_for_counts(c, forward), &x->cost.hidden_forward);
    floor_at(x, RK_PASS_BACKWARD, host, waits, &x->cost.hidden_backward);
}
