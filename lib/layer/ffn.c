/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feed-forward networks, dense and of experts.  Letters: T tokens of a microbatch on a
 * context-parallel rank, h hidden, t tensor parallel, f width, E experts, k experts per token, e
 * expert parallel, e_t tensor parallel of experts.
 */
#include "layer/operators.h"

#include <math.h>

/*
 * Activation between the two linears on `elements` outputs: a gated one reads two and writes one
 * forward, reads three and writes two backward; a plain one reads and writes one, then reads two
 * and writes one.  Of what it reads, `inputs_again` are made again.
 */
static void add_activation(rk_costing *x, rk_part part, const rk_ffn_shape *ffn, double elements,
                           double inputs_again)
{
    const rk_strategy *s = x->c->strategy;
    const rk_stack *stack = x->c->stack;
    const bool again = rk_recomputes(s, RK_MODULE_ACTIVATION), gated = ffn->gated;
    /* A captured step runs the compiled form of a clamped activation. */
    const bool clamped = ffn->clamped && !s->graph_step;
    const double passes =
        (clamped ? stack->clamped_passes : stack->activation_passes) * x->c->element * elements;
    const rk_cost before = x->cost;
    rk_add_stream(x, part, passes * (gated ? 3 : 2), passes * (gated ? 5 : 3));
    if (again) {
        rk_repeat(x, &before);
    }
    rk_save(x, false, x->c->element * elements * ((gated ? 2 : 1) - inputs_again));
    rk_save(x, true, x->c->element * elements * inputs_again);
    rk_save(x, again, gated && stack->keeps_activation ? x->c->element * elements : 0);
    rk_save(x, again, rk_saved_input_bytes(s) * elements);
}

void rk_add_ffn(rk_costing *x, const rk_ffn_shape *ffn, double width)
{
    const rk_strategy *s = x->c->strategy;
    const double T = x->c->tokens, h = (double)x->c->model->hidden, f = width / (double)s->tp;
    const bool operators = ffn->gated && rk_recomputes(s, RK_MODULE_OPERATORS);
    rk_add_linear(x, RK_PART_LINEAR, s->precision, T, (ffn->gated ? 2 : 1) * f, h);
    add_activation(x, RK_PART_STREAM, ffn, T * f, operators ? 1 : 0);
    rk_add_row_linear(x, s->precision, T, h, f);
    if (operators) { /* of gate, up and down the second is made again, the last is kept */
        rk_add_product_again(x, T, f, h);
        rk_save(x, false, x->c->element * T * h);
    }
}

/* ---- experts ------------------------------------------------------------------------------- */

/* Tokens that one rank routes: experts run on the shards of the tensor group. */
static double routed_tokens(const rk_block_context *c)
{
    return c->tokens / (double)c->strategy->tp;
}

/* Rows of the most loaded rank over those of a perfect balance. */
static double load(const rk_strategy *s)
{
    return s->capacity_factor > 0 ? s->capacity_factor : s->imbalance;
}

double rk_expert_rows(const rk_block_context *c, const rk_moe_shape *moe)
{
    return routed_tokens(c) * (double)moe->top_k * (double)c->strategy->etp * load(c->strategy);
}

/*
 * Domains, of all, that the experts of one token may lie on: those of the groups that it is limited
 * to, each of which fills a domain, or several where there are more domains than groups.
 */
static double open_domains(const rk_moe_shape *moe, double domains)
{
    if (moe->route_groups == 0) {
        return domains;
    }
    const double each = fmax(domains / (double)moe->expert_groups, 1);
    return fmin((double)moe->route_groups * each, domains);
}

/*
 * Copies of a token that are sent with de-duplication, one per domain that holds any of its k
 * experts, over the k without.  Of D open domains, uniform choices reach D (1 - (1 - 1/D)^k); they
 * are as likely to be the sender's own as any other, so the traffic leaves it in equal shares.
 */
static double copies_share(const rk_costing *x, const rk_moe_shape *moe)
{
    const rk_group *group = &x->c->groups[RK_GROUP_EXPERT];
    const double domains = (double)group->size / (double)group->within[0];
    const double open = open_domains(moe, domains), k = (double)moe->top_k;
    if (!x->c->stack->deduplicates || domains <= 1) {
        return 1;
    }
    return open * (1 - pow(1 - 1 / open, k)) / k;
}

/* Dispatch and combine, and the same for the gradients: each way k copies of the tokens. */
static void add_dispatch(rk_costing *x, const rk_moe_shape *moe)
{
    const rk_strategy *s = x->c->strategy;
    const rk_stack *stack = x->c->stack;
    const rk_group *group = &x->c->groups[RK_GROUP_EXPERT];
    const double k = (double)moe->top_k, e = (double)s->ep;
    const double elements =
        routed_tokens(x->c) * k * (double)x->c->model->hidden * load(s) * copies_share(x, moe);
    const double bytes = x->c->element * elements;
    const double there = x->c->width * stack->dispatch_bytes * elements;
    const double exposed = s->graph_step ? stack->moe_exposed : stack->moe_eager_exposed;
    const double visible = s->moe_overlap ? exposed : 1;
    const double once = visible * rk_comm_seconds(x, RK_COLL_ALL_TO_ALL, bytes, group);
    const double dispatch =
        there == bytes ? once : visible * rk_comm_seconds(x, RK_COLL_ALL_TO_ALL, there, group);
    rk_add_comm(x, RK_PART_EP, dispatch + once, 2 * once);
    x->cost.sent_forward.expert += (there + bytes) * (e - 1) / e;
    x->cost.sent_backward.expert += 2 * bytes * (e - 1) / e;
}

/* Gathers the rows over the ranks that share an expert, and scatters the results. */
static void add_expert_tensor(rk_costing *x, double rows)
{
    const double n = (double)x->c->strategy->etp;
    const double bytes = x->c->element * rows * (double)x->c->model->hidden;
    const rk_group *group = &x->c->groups[RK_GROUP_EXPERT_TENSOR];
    const double once = rk_comm_seconds(x, RK_COLL_ALL_GATHER, bytes, group) +
                        rk_comm_seconds(x, RK_COLL_REDUCE_SCATTER, bytes, group);
    rk_add_comm(x, RK_PART_EP, once, once);
    x->cost.sent_forward.expert += 2 * bytes * (n - 1) / n;
    x->cost.sent_backward.expert += 2 * bytes * (n - 1) / n;
}

void rk_add_experts(rk_costing *x, const rk_layer_type *type)
{
    const rk_strategy *s = x->c->strategy;
    const rk_stack *stack = x->c->stack;
    const rk_moe_shape *moe = &type->moe;
    const bool operators = rk_recomputes(s, RK_MODULE_OPERATORS);
    const double h = (double)x->c->model->hidden, experts = (double)moe->experts;
    const double local = experts / (double)s->ep,
                 width = (double)moe->expert_width / (double)s->etp;
    const double tokens = routed_tokens(x->c), rows = rk_expert_rows(x->c, moe);
    const double permuted = stack->permute_passes * 4 * x->c->element * rows / (double)s->etp * h;

    rk_add_linear(x, RK_PART_EXPERT, rk_wide_precision(s), tokens, experts, h);
    rk_add_stream(x, RK_PART_EXPERT, permuted, permuted);
    x->cost.forward.part[RK_PART_EXPERT] += stack->router_seconds;
    x->cost.backward.part[RK_PART_EXPERT] += stack->router_seconds;
    add_dispatch(x, moe);
    if (s->etp > 1) {
        add_expert_tensor(x, rows);
    }
    const rk_cost before = x->cost;
    rk_add_grouped_linear(x, s->precision, local, rows / local, (type->ffn.gated ? 2 : 1) * width,
                          h);
    if (operators) { /* which keeps no product of experts; nothing needs the last one */
        rk_repeat(x, &before);
    }
    add_activation(x, RK_PART_EXPERT, &type->ffn, rows * width,
                   operators ? (type->ffn.gated ? 2 : 1) : 0);
    rk_add_grouped_linear(x, s->precision, local, rows / local, h, width);
    /* logits and map of the router; the permuted input */
    rk_save(x, false, tokens * experts * (4 + x->c->element));
    rk_save(x, false, rk_saved_input_bytes(s) * rows * h);
    if (moe->shared_experts) {
        rk_add_ffn(x, &type->ffn, (double)(moe->shared_experts * moe->shared_width));
    }
}
