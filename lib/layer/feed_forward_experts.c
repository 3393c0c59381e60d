/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Experts: a router sends every token to k of E feed-forward networks, and all tokens through
 * shared ones.  Letters: T tokens of a microbatch on a context-parallel rank, h hidden, t tensor
 * parallel, E experts, k experts per token, e expert parallel, e_t tensor parallel of experts.
 */
#include "base/divisors.h"
#include "base/error.h"
#include "base/extremes.h"
#include "base/units.h"
#include "layer/all_kinds.h"
#include "layer/ffn.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

enum { EXPERTS_SHARED_MAX = 1 << 10 };

/* ---- documents ----------------------------------------------------------------------------- */

static const rk_field fields[] = {
    RK_LAYER_SIZE(experts, moe.experts, "routed experts of a layer"),
    RK_LAYER_SIZE(top_k, moe.top_k, "experts per token"),
    RK_LAYER_SIZE(expert_ffn, moe.expert_width, "width of an expert"),
    RK_LAYER_SIZE(expert_latent, moe.latent,
                  "width of a projection that routed experts work on; default the hidden state"),
    RK_LAYER_SIZE(shared_experts, moe.shared_experts, "experts that see every token"),
    RK_LAYER_SIZE(shared_ffn, moe.shared_width, "width of a shared expert; default expert_ffn"),
    RK_LAYER_SIZE(expert_groups, moe.expert_groups,
                  "groups of experts, of which a token reaches few"),
    RK_LAYER_SIZE(route_groups, moe.route_groups, "groups that a token may reach; default all"),
    RK_LAYER_FLAG(shared_gate, moe.shared_gate, "the shared experts have a gate"),
    RK_LAYER_FLAG(router_bias, moe.router_bias, "the router has a bias"),
    RK_LAYER_SIZE(zero_experts, moe.zero_experts, "experts that give a token back as it is"),
    RK_LAYER_FLAG(shortcut, moe.shortcut, "exchanges run beside the mixer of the next layer"),
    RK_LAYER_FLAG(router_scales, moe.router_scales,
                  "learned factors on the input of the router and on every expert"),
    RK_LAYER_FLAG(expert_bias, moe.expert_bias, "the routed experts have biases"),
};

static bool claims(const rk_layer_type *type)
{
    return type->moe.experts != 0;
}

static rk_status complete(rk_layer_type *type, int64_t hidden, const char *path, rk_error *err)
{
    rk_moe_shape *moe = &type->moe;
    (void)hidden;
    (void)path;
    (void)err;
    if (moe->shared_experts > 0 && moe->shared_width == 0) {
        moe->shared_width = moe->expert_width;
    }
    return RK_OK;
}

/* Node-limited routing: equal groups, and enough experts in those that a token may reach. */
static rk_status check_groups(const rk_moe_shape *moe, rk_error *err)
{
    const bool limited = moe->route_groups != 0;
    const rk_named_count alone[] = {
        {"expert_groups", limited ? 0 : moe->expert_groups},
    };
    const rk_size_range sizes[] = {
        {"expert_groups", moe->expert_groups, limited, moe->experts},
        {"route_groups", moe->route_groups, 0, moe->expert_groups},
    };
    rk_status status = rk_check_foreign(alone, COUNT(alone), "route_groups", err);
    status = status ? status : rk_check_sizes(sizes, COUNT(sizes), err);
    if (status || !limited) {
        return status;
    }
    if (moe->experts % moe->expert_groups != 0) {
        return rk_fail_at(err, RK_ERR_INVALID, "expert_groups",
                          "groups have as many experts each: expected a divisor of experts = "
                          "%" PRId64 ", found %" PRId64,
                          moe->experts, moe->expert_groups);
    }
    const rk_size_range top_k = {"top_k", moe->top_k, 1,
                                 moe->experts / moe->expert_groups * moe->route_groups};
    return rk_check_sizes(&top_k, 1, err);
}

static rk_status check(const rk_layer_type *type, rk_error *err)
{
    const rk_moe_shape *moe = &type->moe;
    if (type->ffn.width != 0) {
        return rk_fail_at(err, RK_ERR_INVALID, "ffn",
                          "a layer has a dense FFN or experts, not both; a dense FFN beside "
                          "experts is a shared expert (shared_experts, shared_ffn)");
    }
    const bool has_shared = moe->shared_experts != 0;
    const rk_named_count shared[] = {
        {"shared_ffn", has_shared ? 0 : moe->shared_width},
        {"shared_gate", has_shared ? 0 : moe->shared_gate},
    };
    const rk_size_range sizes[] = {
        {"experts", moe->experts, 1, RK_EXPERTS_MAX},
        {"top_k", moe->top_k, 1, moe->experts},
        {"zero_experts", moe->zero_experts, 0, RK_EXPERTS_MAX},
        {"expert_ffn", moe->expert_width, 1, RK_WIDTH_MAX},
        {"expert_latent", moe->latent, 0, RK_WIDTH_MAX},
        {"shared_experts", moe->shared_experts, 0, EXPERTS_SHARED_MAX},
        {"shared_ffn", moe->shared_width, has_shared, RK_WIDTH_MAX},
    };
    rk_status status = rk_check_foreign(shared, COUNT(shared), "shared_experts", err);
    status = status ? status : rk_check_sizes(sizes, COUNT(sizes), err);
    return status ? status : check_groups(moe, err);
}

/* ---- parameters ---------------------------------------------------------------------------- */

/* Width of what a routed expert gets and gives. */
static double seen_width(const rk_moe_shape *moe, double hidden)
{
    return moe->latent > 0 ? (double)moe->latent : hidden;
}

/* The projections to the latent of routed experts and back count as shared. */
static void count(const rk_layer_type *type, int64_t h, rk_layer_params *p)
{
    const rk_moe_shape *moe = &type->moe;
    const bool gated = type->ffn.gated;
    const int64_t width = (int64_t)seen_width(moe, (double)h), latent = 2 * h * moe->latent;
    const int64_t each = rk_ffn_matrices(width, moe->expert_width, gated);
    const int64_t shared = moe->shared_experts * rk_ffn_matrices(h, moe->shared_width, gated);
    p->expert_each = each + (moe->expert_bias ? rk_ffn_biases(width, moe->expert_width, gated) : 0);
    p->experts = moe->experts * p->expert_each;
    p->shared = shared + latent + (moe->shared_gate ? h : 0);
    p->router = (h + (moe->router_bias ? 1 : 0)) * (moe->experts + moe->zero_experts) +
                (moe->router_scales ? h + moe->experts : 0);
    const int64_t reached = (int64_t)(rk_moe_reached(moe) * (double)each);
    p->gemm += reached + shared + latent;
    p->counted += reached + shared + latent;
}

/* The router, the gate of shared experts and the projections to a latent are whole. */
static void unsplit(const rk_layer_type *type, double hidden, double t, double *whole,
                    double *copied)
{
    const rk_moe_shape *moe = &type->moe;
    (void)t;
    (void)copied;
    *whole += moe->shared_gate ? hidden : 0;
    *whole += (hidden + (moe->router_bias ? 1 : 0)) * (double)(moe->experts + moe->zero_experts);
    *whole += moe->router_scales ? hidden + (double)moe->experts : 0;
    *whole += 2 * hidden * (double)moe->latent;
}

/* Adapters leave routed experts alone. */
static int matrices(const rk_layer_type *type, double h, rk_matrix out[RK_MATRIX_MAX])
{
    const rk_moe_shape *moe = &type->moe;
    const double each = type->ffn.gated ? 3 : 2, experts = (double)moe->experts;
    int count = 0;
    const double latent = (double)moe->latent, seen = latent > 0 ? latent : h;
    out[count++] = (rk_matrix){(double)moe->expert_width, seen, each * experts, true};
    if (latent > 0) {
        out[count++] = (rk_matrix){latent, h, 2, false};
    }
    out[count++] = (rk_matrix){experts + (double)moe->zero_experts, h, 1, false};
    if (moe->shared_experts > 0) {
        out[count++] =
            (rk_matrix){(double)moe->shared_width, h, each * (double)moe->shared_experts, false};
    }
    assert(count <= RK_MATRIX_MAX);
    return count;
}

static double features(const rk_layer_type *type, double h)
{
    const double width = (double)(type->moe.shared_experts * type->moe.shared_width);
    return width > 0 ? rk_ffn_features(h, width, type->ffn.gated) : 0;
}

/* ---- operators ----------------------------------------------------------------------------- */

/* Tokens that one rank routes: experts run on the shards of the tensor group. */
static double routed_tokens(const rk_block_context *c)
{
    return c->tokens / (double)c->strategy->tp;
}

/* Rows of the most loaded rank relative to perfect balance; a single rank has all rows. */
static double load(const rk_strategy *s)
{
    const double imbalance = s->ep > 1 ? s->imbalance : 1;
    return s->capacity_factor > 0 ? s->capacity_factor : imbalance;
}

/* Rows that reach all experts of one rank together. */
static double expert_rows(const rk_block_context *c, const rk_moe_shape *moe)
{
    return routed_tokens(c) * rk_moe_reached(moe) * (double)c->strategy->etp * load(c->strategy);
}

/*
 * Domains that the experts of one token may lie on.  A token is limited to some groups of experts;
 * each group fills one domain, or several if there are more domains than groups.
 */
static double open_domains(const rk_moe_shape *moe, double domains)
{
    assert(domains >= 1);
    if (moe->route_groups == 0) {
        return domains;
    }
    const double each = rk_max(domains / (double)moe->expert_groups, 1);
    return rk_min((double)moe->route_groups * each, domains);
}

/*
 * Places of `each` experts that k consecutive experts lie on, if token i has experts
 * i k to i k + k - 1: they begin at every multiple of gcd(k, each) equally often, and (k - gcd) /
 * each of them begin so that they cross into one place more.
 */
static double places_in_turn(const rk_moe_shape *moe, double places)
{
    const double each = (double)moe->experts / places;
    const double step = (double)rk_common_divisor(moe->top_k, (int64_t)each);
    return rk_min(1 + ((double)moe->top_k - step) / each, places);
}

/*
 * Of `places`, domains or ranks, those that hold any of the k experts of a token.  Of D open ones,
 * uniform choices reach D (1 - (1 - 1/D)^k); they are as likely to be the sender's own as any
 * other, so the traffic leaves it in equal shares.
 */
static double reached_places(const rk_cost_builder *x, const rk_moe_shape *moe, double places)
{
    const double open = open_domains(moe, places), k = rk_moe_reached(moe);
    return x->c->stack->routes_in_turn ? places_in_turn(moe, places)
                                       : open * (1 - pow(1 - 1 / open, k));
}

static double expert_domains(const rk_group *group)
{
    return ceil((double)group->size / (double)group->within[0]);
}

/*
 * Copies of a token that are sent with de-duplication, over the k without: one per domain that
 * holds any of its k experts, or, in one domain, one per rank.
 */
static double copies_share(const rk_cost_builder *x, const rk_moe_shape *moe)
{
    const rk_group *group = &x->c->groups[RK_GROUP_EXPERT];
    const double domains = expert_domains(group);
    const double places = domains > 1 ? domains : (double)group->size;
    return x->c->stack->deduplicates ? reached_places(x, moe, places) / rk_moe_reached(moe) : 1;
}

/*
 * An exchange of `bytes` of tokens with the ranks that hold their experts.  De-duplicating kernels
 * send a token once to every domain, where the rank that receives it spreads it over the ranks of
 * its domain that hold any of its experts.
 */
static rk_message exchange_of(const rk_cost_builder *x, const rk_moe_shape *moe, double bytes)
{
    const rk_group *group = &x->c->groups[RK_GROUP_EXPERT];
    const double domains = expert_domains(group), size = (double)group->size;
    assert(domains >= 1 && size >= domains);
    const double copies =
        domains > 1 ? reached_places(x, moe, size) / reached_places(x, moe, domains) : 1;
    const bool spreads = x->c->stack->deduplicates && group->within[0] > 1;
    return rk_exchange_of(x->c, RK_GROUP_EXPERT, bytes, spreads ? bytes * copies : 0);
}

/*
 * Seconds of exchanges that are not hidden: with a shortcut, the part that the mixer of the next
 * layer (taken as equal to this one's) does not cover (LongCat-Flash, arXiv 2509.01322).
 */
static double exposed_beside(const rk_moe_shape *moe, const rk_times *pass, double seconds)
{
    const double mixer = pass->part[RK_PART_LINEAR] + pass->part[RK_PART_ATTENTION];
    return moe->shortcut ? rk_max(seconds - mixer, 0) : seconds;
}

/* Tokens that are sent, over those routed: de-duplicating kernels send no padding to a capacity. */
static double sent_load(const rk_block_context *c)
{
    const bool bare = c->stack->deduplicates && c->strategy->capacity_factor > 0;
    return bare ? rk_min(load(c->strategy), 1) : load(c->strategy);
}

/* Dispatch and combine, and the same for the gradients: each way k copies of the tokens. */
static void add_dispatch(rk_cost_builder *x, const rk_moe_shape *moe)
{
    const rk_strategy *s = x->c->strategy;
    const rk_stack *stack = x->c->stack;
    const double k = rk_moe_reached(moe);
    const double elements = routed_tokens(x->c) * k * seen_width(moe, (double)x->c->model->hidden) *
                            sent_load(x->c) * copies_share(x, moe);
    const double bytes = x->c->element * elements;
    const double there = x->c->width * stack->dispatch_bytes * elements;
    const rk_message combine = exchange_of(x, moe, bytes);
    const rk_message dispatch = there == bytes ? combine : exchange_of(x, moe, there);
    const rk_message forward[] = {dispatch, combine}, backward[] = {combine, combine};
    const double there_and_back = dispatch.seconds + combine.seconds;
    rk_send(x, RK_PASS_FORWARD, RK_PART_EP, exposed_beside(moe, &x->cost.forward, there_and_back),
            forward, 2);
    rk_send(x, RK_PASS_BACKWARD, RK_PART_EP,
            exposed_beside(moe, &x->cost.backward, 2 * combine.seconds), backward, 2);
    /* combining keeps no tensor: recomputation that stops early does not repeat it */
    if (stack->recompute_stops && !moe->shortcut && !moe->latent && !moe->shared_experts &&
        s->etp == 1) {
        x->spared.forward.part[RK_PART_EP] += combine.seconds;
        x->spared.sent_forward.expert += combine.sent;
    }
}

/* Gathers the rows over the ranks that share an expert, and scatters the results. */
static void add_expert_tensor(rk_cost_builder *x, double rows, double seen)
{
    const double bytes = x->c->element * rows * seen;
    const rk_message both[] = {
        rk_message_of(x->c, RK_COLL_ALL_GATHER, RK_GROUP_EXPERT_TENSOR, bytes, 1),
        rk_message_of(x->c, RK_COLL_REDUCE_SCATTER, RK_GROUP_EXPERT_TENSOR, bytes, 1)};
    const double once = both[0].seconds + both[1].seconds;
    rk_send(x, RK_PASS_FORWARD, RK_PART_EP, once, both, 2);
    rk_send(x, RK_PASS_BACKWARD, RK_PART_EP, once, both, 2);
}

/*
 * Rows that are permuted on the way to the experts, and back on the way from them.  A rank sorts
 * those that it sends by expert.  An all-to-all then delivers them sender by sender, so that a rank
 * with several experts sorts what it received once more; kernels that de-duplicate write every row
 * where its expert reads it.
 */
static double permuted_rows(const rk_block_context *c, const rk_moe_shape *moe)
{
    const rk_strategy *s = c->strategy;
    const double rows = expert_rows(c, moe), sent = rows / (double)s->etp;
    const bool mixed = s->ep * s->etp > 1 && moe->experts > s->ep;
    return sent + (mixed && !c->stack->deduplicates ? rows : 0);
}

/* Time of routing in each pass that does not depend on sizes. */
static void add_router_seconds(rk_cost_builder *x)
{
    const rk_stack *stack = x->c->stack;
    const rk_strategy *s = x->c->strategy;
    const double casts = rk_wide_precision(s) != s->precision ? stack->expert_cast_seconds : 0;
    rk_operator o = {.kind = RK_OPERATOR_FIXED,
                     .part = RK_PART_EXPERT,
                     .seconds = stack->router_seconds + casts};
    rk_emit(x, &o);
    o.pass = RK_PASS_BACKWARD;
    rk_emit(x, &o);
}

/*
 * Tokens that products with masks take to the slots of experts and back (GShard, arXiv 2006.16668;
 * MaxText with a capacity): a sequence of n tokens has `load k n` slots.  Forward dispatches and
 * combines; backward has the gradients of both, and the gradient of the mask that combines, which
 * holds the weights of the router.  A mask has an element for every token and slot.
 */
static void add_masks(rk_cost_builder *x, const rk_moe_shape *moe, double seen)
{
    const rk_strategy *s = x->c->strategy;
    const double tokens = routed_tokens(x->c), n = rk_min((double)s->seq, tokens);
    const double slots = load(s) * rk_moe_reached(moe) * n, groups = tokens / n;
    const double share = x->c->stack->gemm_share;
    const double mask = x->c->element * tokens * slots;
    rk_add_products(x, RK_PART_EXPERT, RK_PASS_FORWARD, 1, groups, slots, seen, n, share);
    rk_add_products(x, RK_PART_EXPERT, RK_PASS_FORWARD, 1, groups, n, seen, slots, share);
    rk_add_products(x, RK_PART_EXPERT, RK_PASS_BACKWARD, 1, groups, n, seen, slots, share);
    rk_add_products(x, RK_PART_EXPERT, RK_PASS_BACKWARD, 1, groups, slots, seen, n, share);
    rk_add_products(x, RK_PART_EXPERT, RK_PASS_BACKWARD, 1, groups, n, slots, seen, share);
    rk_add_stream(x, RK_PART_EXPERT, 2 * mask, mask); /* written; the gradient is read */
    rk_save(x, false, 2 * mask);
}

static void add(rk_cost_builder *x, const rk_layer_type *type)
{
    const rk_strategy *s = x->c->strategy;
    const rk_stack *stack = x->c->stack;
    const rk_moe_shape *moe = &type->moe;
    const bool operators = rk_recomputes(s, RK_MODULE_OPERATORS);
    const double h = (double)x->c->model->hidden, experts = (double)moe->experts;
    const double local = experts / (double)s->ep,
                 width = (double)moe->expert_width / (double)s->etp;
    const double tokens = routed_tokens(x->c), rows = expert_rows(x->c, moe);
    const double seen = seen_width(moe, h);
    const double permuted =
        stack->permute_passes * 4 * x->c->written * permuted_rows(x->c, moe) * seen;

    const double routed = experts + (double)moe->zero_experts;
    rk_add_linear(x, RK_PART_EXPERT, rk_wide_precision(s), tokens, routed, h);
    if (stack->masks_tokens && s->capacity_factor > 0) {
        add_masks(x, moe, seen);
    } else {
        rk_add_stream(x, RK_PART_EXPERT, permuted, permuted);
    }
    add_router_seconds(x);
    add_dispatch(x, moe);
    if (s->etp > 1) {
        add_expert_tensor(x, rows, seen);
    }
    const rk_cost before = x->cost;
    rk_add_grouped_linear(x, s->precision, local, rows / local, (type->ffn.gated ? 2 : 1) * width,
                          seen);
    x->cost.matrix_params = before.matrix_params; /* gate and up are as large as down */
    if (operators) { /* which keeps no product of experts; nothing needs the last one */
        rk_repeat(x, &before);
    }
    rk_add_activation(x, RK_PART_EXPERT, &type->ffn, rows * width,
                      operators ? (type->ffn.gated ? 2 : 1) : 0);
    rk_add_grouped_linear(x, s->precision, local, rows / local, seen, width);
    rk_save(x, false, stack->kept_outputs * x->c->written * rows * seen);
    /* logits and map of the router; the permuted input */
    rk_save(x, false, tokens * routed * (4 + x->c->element));
    rk_save(x, false, rk_kept_input_bytes(x->c, false) * rows * seen);
    if (moe->latent > 0) { /* to the latent and back */
        rk_add_linear(x, RK_PART_EXPERT, s->precision, tokens, seen, h);
        rk_add_linear(x, RK_PART_EXPERT, s->precision, tokens, h, seen);
        rk_save(x, false, 2 * rk_kept_input_bytes(x->c, false) * tokens * seen);
    }
    if (moe->shared_experts) {
        rk_add_ffn(x, &type->ffn, (double)(moe->shared_experts * moe->shared_width));
    }
}

/*
 * Backward: the gradients of what enters and leaves the activation of the routed experts, and of
 * outputs that are kept.  Forward, where these are: outputs as they are weighted and in the order
 * of tokens, and the rows that experts read, which learning ones keep anyway.  Experts that add
 * their outputs up run one by one.
 */
static double transient(const rk_block_context *c, const rk_layer_type *type)
{
    const double outputs = c->stack->kept_outputs;
    const double width = (double)type->moe.expert_width / (double)c->strategy->etp;
    const double seen = outputs > 0 ? seen_width(&type->moe, (double)c->model->hidden) : 0;
    const double backward = width * (type->ffn.gated ? 2 : 1) + seen;
    const double forward = (c->strategy->adapter_rank > 0 ? 3 : 2) * seen;
    const double together = outputs > 1 ? (double)type->moe.experts / (double)c->strategy->ep : 1;
    return c->element * expert_rows(c, &type->moe) / together * rk_max(backward, forward);
}

/* Experts run on the shards of the sequence, but for shared ones and those that are split. */
static double regions(const rk_block_context *c, const rk_layer_type *type)
{
    return !type->moe.shared_experts && c->strategy->etp == 1 ? 0 : 1;
}

/* Kernels of the experts of a rank in forward, which launches them one by one. */
static double expert_kernels(const rk_block_context *c, const rk_layer_type *type)
{
    const rk_stack *stack = c->stack;
    const rk_strategy *s = c->strategy;
    const bool low = rk_wide_precision(s) != s->precision;
    const double each = stack->expert_kernels + (low ? stack->expert_cast_kernels : 0);
    const double known = rk_pads_experts(c) ? stack->capacity_launches : 1;
    return (double)type->moe.experts / (double)s->ep * each * known;
}

/*
 * Kernels, each way, of an all-to-all whose counts of tokens only the device knows: they are
 * gathered and copied to the host, and tokens are sorted by operators that are not fused.
 */
static double exchange_kernels(const rk_block_context *c)
{
    const rk_strategy *s = c->strategy;
    const bool counts = s->ep * s->etp > 1 && s->capacity_factor <= 0;
    return counts && !c->stack->deduplicates ? c->stack->exchange_kernels : 0;
}

static void kernels(const rk_block_context *c, const rk_layer_type *type, double *forward,
                    double *backward)
{
    const rk_stack *stack = c->stack;
    const double experts = expert_kernels(c, type), exchange = exchange_kernels(c);
    *forward = stack->moe_kernels_forward + exchange + experts;
    *backward = stack->moe_kernels_backward + exchange + stack->expert_backward_launches * experts;
}

/*
 * A graph of layers holds experts only where they are padded to a capacity: their shapes depend on
 * the routing (Megatron Core, transformer_config.py, forbids the module "moe" otherwise).  What
 * prepares an exchange it holds (token_dispatcher.py, dispatch_preprocess): the counts are copied
 * to the host after it.
 */
static void loose(const rk_block_context *c, const rk_layer_type *type, double *forward,
                  double *backward)
{
    const rk_strategy *s = c->strategy;
    const bool padded = rk_pads_experts(c) && rk_graphs_hold(s, RK_GRAPH_MOE);
    const double experts = padded ? 0 : expert_kernels(c, type);
    const bool prepared = rk_graphs_hold(s, RK_GRAPH_PREPROCESS | RK_GRAPH_MOE);
    const double exchange = prepared ? 0 : exchange_kernels(c);
    *forward = exchange + experts;
    *backward = exchange + c->stack->expert_backward_launches * experts;
}

const rk_feed_forward rk_feed_forward_experts = {
    .part = {.name = "experts",
             .shapes = RK_SHAPE_FFN | RK_SHAPE_MOE,
             .fields = fields,
             .field_count = COUNT(fields),
             .claims = claims,
             .complete = complete,
             .check = check,
             .count = count,
             .unsplit = unsplit,
             .features = features,
             .matrices = matrices,
             .add = add,
             .transient = transient},
    .module = RK_MODULE_MOE,
    .regions = regions,
    .kernels = kernels,
    .loose = loose,
};
