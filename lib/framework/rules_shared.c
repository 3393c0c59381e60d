/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that several frameworks share. */
#include "framework/rules.h"

/* Each rank has one chunk from either end, so that causal work is equal. */
static int64_t seq_rest_balanced(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->cp > 1 && !rk_rule_divides(2 * s->cp, s->seq) ? 2 * s->cp : 0;
}

static int64_t expert_parallel_without_sp(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->ep > 1 && s->tp > 1 && !s->sp;
}

const struct rk_rule rk_rules_balanced_cp[] = {
    {"seq % (2*cp)", seq_rest_balanced, VARY_DEGREE(seq),
     "the sequence {seq_tokens} is not a multiple of {n} = 2 x cp {cp}, as balanced causal work "
     "needs"},
    {0},
};

const struct rk_rule rk_rules_experts_sp[] = {
    {"ep with tp needs sp", expert_parallel_without_sp, RULE_OF_DEGREES,
     "ep {ep} with tp {tp} needs sequence parallelism; turn it on"},
    {0},
};
