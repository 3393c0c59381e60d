/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transformer layer, the embedding and the head: their parts put together, with norms, tensor
 * parallelism, parameters and memory.  Letters: T tokens of a microbatch on a context-parallel
 * rank, h hidden, t tensor parallel, V vocabulary.
 */
#include "base/extremes.h"
#include "layer/attention.h"
#include "layer/recurrence.h"

#include <assert.h>
#include <math.h>

/* Bytes of the hidden state of all T tokens. */
static double hidden_bytes(const rk_block_context *c)
{
    return c->element * c->tokens * (double)c->model->hidden;
}

/*
 * Of whole logits in fp32, per logit: PyTorch's backward has the logarithms of the softmax, their
 * gradient and the gradient of the logits at once; forward has 10, 16 bits, their copy and the
 * logarithms.
 */
#define FULL_LOGIT_BYTES 12.0

static double copy_seconds(const rk_block_context *c, double bytes)
{
    return rk_stream_seconds(&c->system->accelerator, bytes) / c->stack->stream_share;
}

/*
 * Collectives of PyTorch join and cut along the first dimension, the sequences, while tensor ranks
 * share the tokens of each: gathered data is copied on arrival, and data to scatter is copied
 * before it is sent (PyTorch 2.6, all_gather_tensor and reduce_scatter_tensor of
 * _functional_collectives.py).  Products that overlap with their messages put what they gather in
 * order as well, and read the results of all ranks to sum them (_symmetric_memory,
 * fused_all_gather_matmul and fused_matmul_reduce_scatter).  `bytes`: all tokens in the type of
 * activations; `cast`: in the one that linears gather.
 */
static void set_copies(rk_block_context *c, double bytes, double cast)
{
    const double t = (double)c->strategy->tp;
    if (!c->stack->copies_sequence || t <= 1 || !c->strategy->sp) {
        return;
    }
    c->gather_copy = copy_seconds(c, 2 * bytes);
    c->region_copy = copy_seconds(c, 2 * cast);
    c->reduce_copy = copy_seconds(c, (rk_overlaps_tensor(c) ? 1 + 1 / t : 2) * bytes);
}

/*
 * Whether hidden states are in fp32, as weights are, and linears read casts to 16 bits of both:
 * torch.autocast on one accelerator.  [assumption] On several, FSDP gathers weights in 16 bits;
 * costs of layers depend on no sharding, which a search varies last.
 */
static bool autocasts(const rk_stack *stack, const rk_strategy *s)
{
    return stack->autocasts && s->states.weight >= 4 && rk_activation_bytes(s) < 4 &&
           !s->low_weights && rk_strategy_ranks(s) == 1;
}

static void set_groups(rk_block_context *c)
{
    for (int i = 0; i < RK_GROUP_LAYER_COUNT; i++) {
        c->groups[i] = rk_strategy_group(c->system, c->strategy, (rk_group_kind)i);
    }
}

rk_block_context rk_block_context_of(const rk_model *model, const rk_system *system,
                                     const rk_stack *stack, const rk_strategy *strategy)
{
    const double tokens =
        (double)strategy->micro_batch * (double)strategy->seq / (double)strategy->cp;
    const double step = 128 * (double)strategy->tp;
    rk_block_context context = {
        .model = model,
        .system = system,
        .stack = stack,
        .strategy = strategy,
        .element = rk_activation_bytes(strategy),
        .width = rk_activation_bytes(strategy) / 2,
        .tokens = tokens,
        .local_tokens = strategy->sp ? tokens / (double)strategy->tp : tokens,
        .vocab = ceil((double)model->vocab / step) * step,
    };
    rk_attention_set_rates(&context);
    const bool casts = autocasts(stack, strategy);
    context.autocasts = casts && stack->wide_norms; /* a compiler casts again in backward */
    context.written = strategy->wide_residual ? RK_FP32_BYTES : context.element;
    context.residual = casts ? RK_FP32_BYTES : context.written;
    set_groups(&context);
    const rk_collective reduction = strategy->sp ? RK_COLL_REDUCE_SCATTER : RK_COLL_ALL_REDUCE;
    const double bytes = hidden_bytes(&context), gathers = strategy->sp ? 1 : 0;
    context.gather = rk_message_of(&context, RK_COLL_ALL_GATHER, RK_GROUP_TENSOR, bytes, gathers);
    context.reduce = rk_message_of(&context, reduction, RK_GROUP_TENSOR, bytes, 1);
    context.gathers_cast = stack->gathers_cast && strategy->tp > 1 && strategy->sp &&
                           strategy->precision == RK_FP8 &&
                           strategy->fp8_recipe == RK_FP8_TENSORWISE;
    const double cast = context.gathers_cast ? bytes / context.element : bytes;
    context.region_gather =
        rk_message_of(&context, RK_COLL_ALL_GATHER, RK_GROUP_TENSOR, cast, gathers);
    set_copies(&context, bytes, cast);
    return context;
}

rk_block_context rk_block_context_like(const rk_block_context *context, const rk_strategy *strategy)
{
    rk_block_context like = *context;
    like.strategy = strategy;
    set_groups(&like);
    return like;
}

/* ---- tensor parallelism -------------------------------------------------------------------- */

/*
 * Of communication that the stack overlaps, its share, or what *window seconds do not cover; what
 * is hidden uses the window up.
 */
static double visible(double seconds, double share, double *window)
{
    const double left = rk_max(share * seconds, rk_min(seconds, seconds - *window));
    *window -= seconds - left;
    return left;
}

/*
 * Collectives of one layer on S = T h x bytes.  `regions` counts the tensor-parallel regions: 2
 * for attention and dense FFN, 1 where they run side by side or where experts run on the sequence
 * shards.  With sequence parallelism, per region an all-gather and a reduce-scatter each way, and
 * in backward a gather of the saved input; without, an all-reduce each way.  Every collective
 * sends (t-1)/t S, an all-reduce twice that.  In backward a region gathers the gradients of its
 * output before it can start and reduces the gradients of its input while it computes weight
 * gradients.  Collectives overlap with the linears of the pass: both gathers with the linears that
 * compute input gradients, one after the other, and the sum with the linears that compute weight
 * gradients.
 */
static void add_tensor_parallel(rk_cost_builder *x, double regions)
{
    assert(regions >= 0);
    const rk_strategy *s = x->c->strategy;
    const rk_stack *stack = x->c->stack;
    const double all = rk_overlaps_tensor(x->c) ? stack->tp_overlap_exposed : 1;
    const double forward = rk_min(all, stack->tp_forward_exposed);
    const double backward = rk_min(all, stack->tp_backward_exposed);
    const double reduce = rk_min(all, stack->tp_reduce_exposed);
    const bool operators = rk_recomputes(s, RK_MODULE_OPERATORS);
    /* half of the linears of backward make gradients of inputs, half of weights that learn */
    const double linear_backward = x->cost.backward.part[RK_PART_LINEAR];
    const bool frozen = s->adapter_rank > 0;
    double in_forward = x->cost.forward.part[RK_PART_LINEAR];
    double by_input = frozen ? linear_backward : linear_backward / 2;
    double by_weight = frozen ? 0 : linear_backward / 2;
    double in_recompute = x->cost.backward.part[RK_PART_RECOMPUTE];
    if (s->tp == 1) {
        return;
    }
    const rk_message gather = rk_message_times(&x->c->region_gather, regions);
    const rk_message sum = rk_message_times(&x->c->reduce, regions), both[] = {gather, sum};
    const double sums = visible(sum.seconds, reduce, &by_weight);
    x->cost.apart.sums = sum.seconds - sums;
    const double first = visible(gather.seconds + sum.seconds, forward, &in_forward);
    const double copies = regions * (x->c->region_copy + x->c->reduce_copy);
    rk_send(x, RK_PASS_FORWARD, RK_PART_TP, first + copies, both, 2);
    if (x->stops) { /* the sum behind the last product */
        x->spared.forward.part[RK_PART_TP] +=
            first * x->c->reduce.seconds / (gather.seconds + sum.seconds) + x->c->reduce_copy;
        x->spared.sent_forward.tensor += x->c->reduce.sent;
    }
    rk_send(x, RK_PASS_BACKWARD, RK_PART_TP, visible(gather.seconds, backward, &by_input) + copies,
            &gather, 1);
    rk_send(x, RK_PASS_BACKWARD, RK_PART_TP, sums, &sum, 1);
    if (operators) { /* sums are kept, gathers are not */
        rk_send(x, RK_PASS_BACKWARD, RK_PART_RECOMPUTE,
                visible(gather.seconds, forward, &in_recompute) + regions * x->c->region_copy,
                &gather, 1);
    } else if (!stack->keeps_gathered) {
        rk_send(x, RK_PASS_BACKWARD, RK_PART_TP,
                visible(gather.seconds, stack->regather_exposed, &by_input) +
                    regions * x->c->region_copy,
                &gather, 1);
    }
}

/* ---- parameters ---------------------------------------------------------------------------- */

static void count_params(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_model *model = x->c->model;
    const rk_strategy *s = x->c->strategy;
    const rk_layer_params p = rk_layer_params_of(model, type);
    const double t = (double)s->tp, h = (double)model->hidden;
    double whole = (double)p.norms, copied = 0;
    whole += 2 * h * (double)model->layer_embedding;
    type->mixer->part.unsplit(type, h, t, &whole, &copied);
    type->feed_forward->part.unsplit(type, h, t, &whole, &copied);
    const double dense = (double)(p.attention + p.ffn + p.shared + p.norms + p.router);
    x->cost.replicated_params = whole;
    x->cost.dense_params = whole + (dense - whole) / t + copied;
    x->cost.expert_params = (double)p.experts / (double)(s->ep * s->etp);
    rk_add_orthogonalization(x, &type->mixer->part, type);
    rk_add_orthogonalization(x, &type->feed_forward->part, type);
}

double rk_block_table_params(const rk_block_context *context)
{
    return context->vocab * (double)rk_model_embedding_width(context->model) /
           (double)context->strategy->tp;
}

/* ---- memory -------------------------------------------------------------------------------- */

/*
 * Temporaries at the peak of backward, of mixer or network, and the output.  When backward comes to
 * the mixer, what the network behind it kept is free.
 */
static double layer_transient(const rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_block_context *c = x->c;
    const double behind = c->model->parallel_block ? 0 : x->network;
    const double mixer = type->mixer->part.transient(c, type) - behind;
    const double network = type->feed_forward->part.transient(c, type);
    const double more = c->strategy->adapter_rank > 0 ? c->stack->layer_tensors : 0;
    return rk_max(network, mixer) + (1 + more) * hidden_bytes(c);
}

/* Buffers that stay for weight gradients: one of each matrix, one for all experts. */
static double wgrad_buffers(const rk_cost_builder *x, const rk_layer_type *type)
{
    const double local = (double)type->moe.experts / (double)x->c->strategy->ep;
    const double expert = local > 0 ? x->cost.expert_params / local : 0;
    return rk_strategy_learning(x->c->strategy) * x->c->width * x->c->stack->wgrad_bytes *
           (x->cost.dense_params + expert);
}

/* ---- the layer ----------------------------------------------------------------------------- */

/* Of a frozen model: those that an adapter reads, in 16 bits; routed experts have none. */
static double frozen_norm_output_bytes(const rk_block_context *c, const rk_layer_type *type,
                                       double outputs)
{
    const unsigned modules = c->strategy->adapter_modules;
    const bool routed = rk_layer_is_moe(type) && !type->moe.shared_experts;
    const bool mixer = type->mixer->part.shapes && modules & RK_ADAPTED_ATTENTION;
    const bool network = type->feed_forward->part.shapes && modules & RK_ADAPTED_FFN && !routed;
    const double read = (mixer ? 1 : 0) + (network ? 1 : 0);
    return rk_min(outputs, read) * rk_kept_input_bytes(c, true);
}

/* Linears that read the output of a norm, each a cast of its own: q, k and v; gate and up. */
static double norm_readers(const rk_layer_type *type)
{
    return (type->mixer->part.shapes ? 3 : 0) + (!type->feed_forward->part.shapes ? 0
                                                 : type->ffn.gated                ? 2
                                                                                  : 1);
}

/*
 * Bytes kept per hidden element of the outputs of norms.  Those after attention and FFN feed no
 * linear: they are not kept.  The router, which stays in 16 bits, keeps its input so; in low
 * precision that is a copy of its own, and shared experts have one more.
 */
static double norm_output_bytes(const rk_block_context *c, const rk_layer_type *type)
{
    const double outputs = rk_min(rk_layer_norms(c->model, type), 2);
    if (c->strategy->adapter_rank > 0) {
        return frozen_norm_output_bytes(c, type, outputs);
    }
    const double each = rk_saved_input_bytes(c->strategy);
    if (c->autocasts) {
        return each * norm_readers(type);
    }
    const bool low = rk_is_low(c->strategy->precision);
    if (!low || !rk_layer_is_moe(type)) {
        return outputs * each;
    }
    const double linears = type->moe.shared_experts ? outputs : 1;
    return linears * each + c->element;
}

/* Norms, residual adds and dropout of the layer, on the sequence shard. */
static void add_norms(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_model *model = x->c->model;
    const rk_stack *stack = x->c->stack;
    const rk_strategy *s = x->c->strategy;
    const double elements = x->c->local_tokens * (double)model->hidden;
    const double wide = x->c->width * elements; /* elements of 16 bits that take as many bytes */
    const double norms = rk_layer_norms(model, type), pairs = norms / 2;
    const double kept = x->c->local_tokens;
    const double gathered = stack->keeps_gathered ? stack->gathered_share * x->c->tokens : kept;
    const double output = norm_output_bytes(x->c, type) * (double)model->hidden;
    const bool again = rk_recomputes(s, RK_MODULE_NORM);
    const rk_cost before = x->cost;
    rk_add_stream(x, RK_PART_STREAM, pairs * stack->norm_forward * wide,
                  pairs * stack->norm_backward * wide);
    if (again) {
        rk_repeat(x, &before);
    }
    rk_add_stream(x, RK_PART_STREAM, stack->dropout_bytes * wide, stack->dropout_bytes * wide);
    const double inputs = x->c->element * elements;
    rk_save(x, false, inputs); /* of the layer; those within it are recomputed by operators */
    /* of those within it, an output projection that runs again yields what lies before the FFN */
    const double within = norms - 1,
                 projected = type->mixer->projects && rk_recomputes(s, RK_MODULE_PROJECTION)
                                 ? rk_min(pairs, within)
                                 : 0;
    rk_save(x, true, projected * inputs);
    rk_save(x, rk_recomputes(s, RK_MODULE_OPERATORS), (within - projected) * inputs);
    rk_save(x, again, output * rk_max(gathered, kept));
    rk_save(x, false, rk_wide_norm_bytes(x->c, x->c->residual) * norms * elements);
    x->cost.late += again ? 0 : output * rk_max(gathered - kept, 0);
    rk_save(x, false, stack->dropout_bytes > 0 ? 2 * elements : 0); /* masks */
}

/*
 * Layers whose streams are recomputed together, from those at the input of the first and the
 * outputs of mixers and networks: as many as make least of both, sqrt(n L / (n + 2)) (arXiv
 * 2512.24880), with [assumption] L the layers of the model.
 */
static double connected_layers(const rk_model *model)
{
    const double n = (double)model->streams;
    return rk_max(round(sqrt(n * (double)model->layers / (n + 2))), 1);
}

/*
 * Hyper-connections: before mixer and network each, a product of all n streams in wide precision
 * makes their weights (n n + 2 n outputs), one kernel reads the streams into the hidden state, and
 * one mixes and adds to them.  Elements moved, fused (arXiv 2512.24880): n + 1 and 2 n + 1 forward;
 * backward 2 n + 1 and 3 n + 2.  The streams are kept in place of the plain residual,
 * unless they are recomputed.
 */
static void add_connections(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_model *model = x->c->model;
    const double n = (double)model->streams, h = (double)model->hidden, T = x->c->local_tokens;
    const double elements = x->c->element * T * h;
    const double sites =
        (type->mixer->part.shapes ? 1 : 0) + (type->feed_forward->part.shapes ? 1 : 0);
    const bool again = rk_recomputes(x->c->strategy, RK_MODULE_STREAMS);
    const rk_cost before = x->cost;
    if (model->streams == 0) {
        return;
    }
    for (double i = 0; i < sites; i++) {
        const bool adapts = x->adapts;
        x->adapts = false;
        rk_add_linear(x, RK_PART_LINEAR, rk_wide_precision(x->c->strategy), T, n * n + 2 * n,
                      n * h);
        x->adapts = adapts;
    }
    rk_add_stream(x, RK_PART_STREAM, sites * (n + 1) * elements, sites * (2 * n + 1) * elements);
    rk_add_stream(x, RK_PART_STREAM, sites * (2 * n + 1) * elements,
                  sites * (3 * n + 2) * elements);
    if (again) {
        const double layers = connected_layers(model);
        rk_repeat(x, &before);
        rk_save(x, false, (sites + n / layers) * elements);
        rk_save(x, true, layers * sites * n * elements);
    } else {
        rk_save(x, false, sites * n * elements);
    }
}

/* Gradients that separate kernels add to the gradients of earlier microbatches. */
static void add_accumulation(rk_cost_builder *x)
{
    const double learning =
        rk_strategy_learning(x->c->strategy) * (x->cost.dense_params + x->cost.expert_params);
    rk_add_stream(x, RK_PART_STREAM, 0, x->c->stack->accumulation_bytes * learning);
}

static double tensor_regions(const rk_block_context *c, const rk_layer_type *type)
{
    const double regions = type->mixer->regions > 0 ? type->mixer->regions : 1;
    const double mixer = type->mixer->part.shapes ? regions : 0;
    return c->model->parallel_block ? 1 : mixer + type->feed_forward->regions(c, type);
}

/* The modules of graphs that hold the two halves of a layer. */
static rk_graph_modules graphed(const rk_layer_type *type)
{
    const rk_recurrence_kind *recurrence = type->mixer->recurrence;
    const bool experts = type->feed_forward->module == RK_MODULE_MOE;
    return (rk_graph_modules){
        .mixer = recurrence && recurrence->state_space ? RK_GRAPH_MAMBA : RK_GRAPH_ATTENTION,
        .network = experts ? RK_GRAPH_ROUTER | RK_GRAPH_MOE : RK_GRAPH_MLP,
    };
}

/* In backward an adapter has the gradients of both products, and as many sums. */
static void add_layer_floor(rk_cost_builder *x, const rk_layer_type *type, bool full)
{
    double forward, backward, loose_forward = 0, loose_backward = 0;
    double mixer = RK_MIXER_KERNELS * x->c->stack->kernels_forward;
    double mixer_back = RK_MIXER_KERNELS * x->c->stack->kernels_backward;
    type->feed_forward->kernels(x->c, type, &forward, &backward);
    if (type->feed_forward->loose) {
        type->feed_forward->loose(x->c, type, &loose_forward, &loose_backward);
    }
    if (type->mixer->kernels) {
        double own_forward, own_backward;
        type->mixer->kernels(x->c, type, &own_forward, &own_backward);
        forward += own_forward - mixer;
        backward += own_backward - mixer_back;
        mixer = own_forward;
        mixer_back = own_backward;
    }
    const double adapters = x->c->stack->adapter_kernels * x->cost.adapters;
    const rk_kernels ahead = {.all = forward + adapters, .loose = loose_forward, .mixer = mixer};
    const rk_kernels back = {.all = backward + 2 * adapters + (full ? ahead.all : 0),
                             .loose = loose_backward + (full ? ahead.loose : 0),
                             .mixer = mixer_back + (full ? mixer : 0)};
    rk_add_host_floor(x, graphed(type), ahead, back);
}

/*
 * Visible part of A seconds of all-to-all that overlap with C seconds of compute of another
 * microbatch.  Overlapped all-to-all runs g times as long and occupies a share c of the cores, so
 * compute loses that share of the min(g A, C) seconds in which both run:
 *
 *     visible = min(A, g A - (1 - c) min(g A, C))
 *
 * g > 1 for kernels that copy and sum on few cores, as de-duplicating ones do; an exchange that
 * only the network limits is as fast during compute as alone.
 */
static double visible_exchange(const rk_stack *stack, double seconds, double beside)
{
    const double slower = stack->deduplicates ? stack->exchange_slowdown : 1;
    const double all = slower * seconds, both = rk_min(all, beside);
    return rk_min(seconds, all - (1 - stack->exchange_cores) * both);
}

/* Shortens the all-to-all of a pass from *all seconds to `visible`; returns the seconds hidden. */
static double hide_exchange(rk_cost_builder *x, rk_pass pass, double *all, double visible)
{
    assert(visible >= 0 && visible <= *all);
    const double hidden = *all - visible;
    for (size_t i = 0; x->list && i < x->list->count; i++) {
        rk_operator *o = &x->list->items[i];
        o->seconds *= o->part == RK_PART_EP && o->pass == pass ? visible / *all : 1;
    }
    *all = visible;
    return hidden;
}

/*
 * The forward pass of a microbatch runs during the backward pass of another: all-to-all of each
 * pass hides under the other's compute.
 */
static void overlap_exchange(rk_cost_builder *x)
{
    const rk_stack *stack = x->c->stack;
    double *forward = &x->cost.forward.part[RK_PART_EP];
    double *backward = &x->cost.backward.part[RK_PART_EP];
    if (!x->c->strategy->moe_overlap || *forward <= 0) {
        return;
    }
    const double computes = rk_times_sum(&x->cost.forward) - *forward;
    const double computes_back = rk_times_sum(&x->cost.backward) - *backward;
    const double visible = visible_exchange(stack, *forward, computes_back);
    const double visible_back = visible_exchange(stack, *backward, computes);
    x->cost.hidden_forward = hide_exchange(x, RK_PASS_FORWARD, forward, visible);
    x->cost.hidden_backward = hide_exchange(x, RK_PASS_BACKWARD, backward, visible_back);
}

/* The work after the passes: gradients added up, the floor of launches, memory. */
static void finish_layer(rk_cost_builder *x, const rk_layer_type *type, bool full)
{
    add_accumulation(x);
    overlap_exchange(x);
    add_layer_floor(x, type, full);
    x->cost.transient = layer_transient(x, type) + x->cost.dequantised;
    x->cost.wgrad_buffers = wgrad_buffers(x, type);
}

rk_cost rk_block_mixer(const rk_block_context *context, const rk_layer_type *type)
{
    rk_cost_builder x = {.c = context,
                         .adapts = context->strategy->adapter_modules & RK_ADAPTED_ATTENTION};
    type->mixer->part.add(&x, type);
    return x.cost;
}

rk_cost rk_block_network(const rk_block_context *context, const rk_layer_type *type)
{
    rk_cost_builder x = {.c = context,
                         .adapts = context->strategy->adapter_modules & RK_ADAPTED_FFN};
    type->feed_forward->part.add(&x, type);
    return x.cost;
}

/*
 * The hidden state is projected to p elements, which gate those that the second embedding has for
 * the layer, and back; whole on every tensor rank, on its share of the tokens.  Kept: the input and
 * the output of the gate.
 */
static void add_layer_embedding(rk_cost_builder *x, double p)
{
    const rk_block_context *c = x->c;
    const double T = c->local_tokens, h = (double)c->model->hidden;
    rk_add_linear(x, RK_PART_LINEAR, c->strategy->precision, T, p, h);
    rk_add_stream(x, RK_PART_STREAM, 3 * c->element * T * p, 5 * c->element * T * p);
    rk_add_linear(x, RK_PART_LINEAR, c->strategy->precision, T, h, p);
    rk_save(x, false, 2 * c->element * T * p);
    rk_save(x, false, rk_kept_input_bytes(c, x->adapts) * T * (h + p));
}

/* Bytes kept, or recomputed for backward, since a block cost so much. */
static double kept_since(const rk_cost_builder *x, const rk_cost *before)
{
    return x->cost.saved + x->cost.unsaved - before->saved - before->unsaved;
}

void rk_add_passes(rk_cost_builder *x, const rk_layer_type *type)
{
    const double beside = (double)x->c->model->layer_embedding;
    const rk_cost before = x->cost;
    x->adapts = x->c->strategy->adapter_modules & RK_ADAPTED_FFN;
    type->feed_forward->part.add(x, type);
    x->network = kept_since(x, &before);
    if (rk_recomputes(x->c->strategy, type->feed_forward->module)) {
        rk_checkpoint(x, &before);
    }
    if (beside > 0) {
        add_layer_embedding(x, beside);
    }
    const rk_cost normed = x->cost;
    add_norms(x, type);
    if (type->feed_forward->part.shapes) {
        x->network += kept_since(x, &normed) / 2; /* half of the norms are behind the mixer */
    }
    add_connections(x, type);
    add_tensor_parallel(x, tensor_regions(x->c, type));
}

/* Counts the parameters, of which casts may be kept. */
static void add_params(rk_cost_builder *x, const rk_layer_type *type)
{
    count_params(x, type);
    rk_save(x, false,
            (x->c->autocasts ? x->c->element : 0) * (x->cost.dense_params + x->cost.expert_params));
}

/* Makes a layer one that is checkpointed at its input. */
static void checkpoint_layer(rk_cost_builder *x)
{
    const rk_block_context *c = x->c;
    const double input =
        c->residual * c->local_tokens * (double)(rk_model_streams(c->model) * c->model->hidden);
    rk_checkpoint(x, &x->spared);
    rk_save(x, false, input);
}

void rk_block_layer(const rk_cost_builder *passes, const rk_layer_type *type, bool whole,
                    rk_cost cost[2])
{
    rk_cost_builder x = *passes;
    add_params(&x, type);
    if (whole) {
        rk_cost_builder full = x;
        checkpoint_layer(&full);
        finish_layer(&full, type, true);
        cost[1] = full.cost;
    }
    finish_layer(&x, type, false);
    cost[0] = x.cost;
}

void rk_block_count_params(const rk_block_context *context, const rk_layer_type *type,
                           rk_cost *cost)
{
    rk_cost_builder x = {.c = context, .cost = *cost};
    x.cost.outer_params = 0; /* which are added to */
    count_params(&x, type);
    *cost = x.cost;
}

rk_status rk_list_layer(const rk_block_context *context, const rk_layer_type *type, bool whole,
                        rk_operator_list *list, rk_error *err)
{
    rk_cost_builder x = {.c = context,
                         .adapts = context->strategy->adapter_modules & RK_ADAPTED_ATTENTION,
                         .list = list};
    type->mixer->part.add(&x, type);
    rk_add_passes(&x, type);
    add_params(&x, type);
    if (whole) {
        checkpoint_layer(&x);
    }
    finish_layer(&x, type, whole);
    return rk_operator_list_status(list, err);
}

/* ---- both ends ----------------------------------------------------------------------------- */

/* Between a narrow embedding and the hidden state, or back before a narrow head: whole on every
 * tensor rank, on its share of the tokens. */
static void add_width_projection(rk_cost_builder *x)
{
    const rk_model *model = x->c->model;
    const double width = (double)rk_model_embedding_width(model), h = (double)model->hidden;
    if (model->embedding_width > 0) {
        rk_add_linear(x, RK_PART_HEAD, rk_wide_precision(x->c->strategy), x->c->local_tokens, width,
                      h);
        const double kept = x->c->strategy->adapter_rank == 0 ? x->c->element : 0;
        rk_save(x, false, kept * x->c->local_tokens * width);
    }
}

static rk_cost embedding_cost(const rk_block_context *context, rk_operator_list *list)
{
    rk_cost_builder x = {.c = context, .list = list};
    const rk_strategy *s = context->strategy;
    const rk_model *model = context->model;
    const double bytes = hidden_bytes(context);
    const bool learns = s->adapter_rank == 0;
    /* gather and write forward; rows of the fp32 gradient read and written backward */
    const double rows = 8 * context->tokens * (double)model->hidden;
    rk_add_stream(&x, RK_PART_HEAD, 2 * bytes, learns ? rows : 0);
    rk_send(&x, RK_PASS_FORWARD, RK_PART_TP, context->reduce.seconds + context->reduce_copy,
            &context->reduce, 1);
    if (learns) {
        rk_send(&x, RK_PASS_BACKWARD, RK_PART_TP, context->gather.seconds + context->gather_copy,
                &context->gather, 1);
    }
    const rk_end_params p = rk_end_params_of(model);
    const double of_layers = (double)(model->layers * model->layer_embedding);
    const double rows_split = of_layers * (double)model->vocab; /* over the tensor ranks */
    if (of_layers > 0) { /* gathered; projected from the hidden state, normed, added */
        rk_add_linear(&x, RK_PART_HEAD, rk_wide_precision(s), context->local_tokens, of_layers,
                      (double)model->hidden);
        const double each = context->element * context->local_tokens * of_layers;
        rk_add_stream(&x, RK_PART_HEAD, 6 * each, learns ? 6 * each : 0);
        rk_save(&x, false, 2 * each);
    }
    x.cost.replicated_params = (double)(p.positions + p.embedding) -
                               (double)(model->vocab * rk_model_embedding_width(model)) -
                               rows_split;
    x.cost.dense_params =
        rk_block_table_params(context) + x.cost.replicated_params + rows_split / (double)s->tp;
    add_width_projection(&x);
    add_accumulation(&x);
    return x.cost;
}

rk_cost rk_block_embedding(const rk_block_context *context)
{
    return embedding_cost(context, NULL);
}

rk_status rk_list_embedding(const rk_block_context *context, rk_operator_list *list, rk_error *err)
{
    (void)embedding_cost(context, list);
    return rk_operator_list_status(list, err);
}

/* The loss over a split vocabulary reduces the maximum, the target and the sum of each token. */
static void add_head_comm(rk_cost_builder *x)
{
    const rk_block_context *c = x->c;
    const rk_strategy *s = c->strategy;
    const double each = 4 * c->tokens; /* fp32 */
    if (s->tp == 1) {
        return;
    }
    const rk_message forward[] = {c->gather,
                                  rk_message_of(c, RK_COLL_ALL_REDUCE, RK_GROUP_TENSOR, each, 3)};
    rk_send(x, RK_PASS_FORWARD, RK_PART_TP,
            forward[0].seconds + forward[1].seconds + c->gather_copy, forward, 2);
    rk_send(x, RK_PASS_BACKWARD, RK_PART_TP, c->reduce.seconds + c->reduce_copy, &c->reduce, 1);
}

/*
 * Bytes per logit of a loss that stacks state for logits in 16 bits.  It works in fp32 on its own
 * copies, which logits in fp32 need no more; it passes over them `times` at least.
 */
static double of_logits(const rk_block_context *c, double bytes, double times)
{
    return rk_is_full(c->strategy->precision) ? rk_max(bytes, times * c->element) : bytes;
}

/*
 * Tokens in a chunk of Liger's fused loss: the tokens over ceil(vocabulary / hidden), rounded up to
 * a power of two (liger_kernel/ops/fused_linear_cross_entropy.py).
 */
static double fused_chunk(const rk_block_context *c, double width)
{
    const double chunks = ceil(width / (double)c->model->hidden);
    return rk_min(exp2(ceil(log2(ceil(c->tokens / chunks)))), c->tokens);
}

/*
 * Peak bytes of logits and of the loss's temporaries.  Whole logits in PyTorch: bf16, a copy in
 * fp32, and the logarithms of the softmax or their gradient (transformers, loss_utils.py); where a
 * tanh limits them, its result in bf16 as well. Chunks
 * are computed one after the other, and add the gradients of the hidden states up: in the type of
 * activations if the loss is fused, which writes gradients over the logits; otherwise in fp32.
 */
static double loss_bytes(const rk_block_context *c, double width)
{
    assert(width > 0);
    const rk_strategy *s = c->strategy;
    const double of_stack = s->tp > 1 ? c->stack->split_logit_bytes : c->stack->logit_bytes;
    const double full = s->logit_bytes > 0 ? s->logit_bytes : FULL_LOGIT_BYTES;
    const double hidden = c->tokens * (double)c->model->hidden;
    const double chunk =
        s->loss_chunk > 0 ? rk_min((double)s->loss_chunk, c->tokens) : c->tokens / 8;
    const double capped = c->model->capped_logits ? c->element : 0;
    switch (s->cross_entropy) {
    case RK_CROSS_ENTROPY_FULL:
        return (of_logits(c, full, 1) + capped) * c->tokens * width;
    case RK_CROSS_ENTROPY_FUSED:
        return c->element * (fused_chunk(c, width) * width + hidden);
    case RK_CROSS_ENTROPY_CHUNKED:
        return (of_logits(c, full, 1) + capped) * chunk * width + 4 * hidden;
    default:
        return (of_logits(c, s->logit_bytes > 0 ? s->logit_bytes : of_stack, 1) + capped) *
               c->tokens * width;
    }
}

double rk_loss_freed(const rk_block_context *c)
{
    const double width = c->vocab / (double)c->strategy->tp;
    const rk_cross_entropy way = c->strategy->cross_entropy;
    return way == RK_CROSS_ENTROPY_FUSED || way == RK_CROSS_ENTROPY_CHUNKED
               ? 0
               : rk_max(loss_bytes(c, width) - c->element * c->tokens * width, 0);
}

static rk_cost head_cost(const rk_block_context *context, rk_operator_list *list)
{
    rk_cost_builder x = {.c = context, .list = list};
    const rk_strategy *s = context->strategy;
    const rk_model *model = context->model;
    const rk_stack *stack = context->stack;
    const double T = context->tokens, h = (double)model->hidden;
    const double width = context->vocab / (double)s->tp, logits = T * width;
    const double elements = context->local_tokens * h, wide = context->width;

    rk_add_linear(&x, RK_PART_HEAD, rk_wide_precision(s), T, width,
                  (double)rk_model_embedding_width(model));
    add_width_projection(&x);
    const double loss = of_logits(context, stack->loss_bytes, 4) / 2 * logits;
    rk_add_stream(&x, RK_PART_HEAD, loss + wide * (stack->norm_forward / 2 * elements),
                  loss + wide * (stack->norm_backward / 2 * elements));
    add_head_comm(&x);
    const double narrow = (double)model->embedding_width * h; /* its projection */
    x.cost.replicated_params = (double)rk_end_params_of(model).final_norm + narrow;
    x.cost.dense_params =
        rk_block_table_params(context) + x.cost.replicated_params + (model->head_bias ? width : 0);
    add_accumulation(&x);
    rk_add_host_floor(&x, (rk_graph_modules){~0U, ~0U}, (rk_kernels){.all = stack->kernels_forward},
                      (rk_kernels){.all = stack->kernels_backward});
    /* input of the final norm, and its output, which a learning head needs, as it was gathered
     * where linears keep that; logits; then the gradients of input and weight */
    const double input =
        stack->keeps_gathered ? rk_max(stack->gathered_share * T * h, elements) : elements;
    const double cast = context->autocasts ? context->element * rk_block_table_params(context) : 0;
    rk_save(&x, false,
            context->element * (elements + (s->adapter_rank == 0 ? input : 0)) +
                loss_bytes(context, width) + cast +
                rk_wide_norm_bytes(context, context->residual) * elements);
    x.cost.transient = hidden_bytes(context) + rk_strategy_learning(s) * wide * stack->wgrad_bytes *
                                                   rk_block_table_params(context);
    return x.cost;
}

rk_cost rk_block_head(const rk_block_context *context)
{
    return head_cost(context, NULL);
}

rk_status rk_list_head(const rk_block_context *context, rk_operator_list *list, rk_error *err)
{
    (void)head_cost(context, list);
    return rk_operator_list_status(list, err);
}

rk_cost rk_block_mtp(const rk_block_context *context)
{
    rk_cost_builder x = {.c = context};
    const rk_stack *stack = context->stack;
    const double h = (double)context->model->hidden, t = (double)context->strategy->tp;
    const double elements = context->local_tokens * h, norms = 3;
    rk_add_linear(&x, RK_PART_LINEAR, context->strategy->precision, context->tokens, h / t, 2 * h);
    const double wide = context->width;
    rk_add_stream(&x, RK_PART_STREAM, wide * (norms / 2 * stack->norm_forward * elements),
                  wide * (norms / 2 * stack->norm_backward * elements));
    x.cost.replicated_params = (double)rk_end_params_of(context->model).mtp_norms;
    x.cost.dense_params = 2 * h * h / t + x.cost.replicated_params;
    add_accumulation(&x);
    /* inputs of the norms, and both outputs side by side, as the projection reads */
    rk_save(&x, false, norms * context->element * elements);
    rk_save(&x, false, 2 * rk_kept_input_bytes(context, false) * elements);
    return x.cost;
}
