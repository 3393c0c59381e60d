/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules and the messages for broken ones; inside lib/strategy only. */
#ifndef RK_STRATEGY_RULES_H
#define RK_STRATEGY_RULES_H

#include "strategy/framework.h"

struct question {
    const rk_model *model;
    const rk_system *system; /* may be NULL: nothing is asked of it */
    const rk_strategy *strategy;
    rk_framework framework;
};

/* Field of a strategy whose nearest legal values are named. */
enum vary {
    VARY_NONE,
    VARY_TP,
    VARY_CP,
    VARY_PP,
    VARY_VP,
    VARY_DP,
    VARY_EP,
    VARY_ETP,
    VARY_MICRO_BATCH,
    VARY_GLOBAL_BATCH,
    VARY_SEQ,
    VARY_REPLICAS,
    VARY_FIRST,
    VARY_LAST,
    VARY_COUNT,
};

struct rule {
    const char *name;
    unsigned sets; /* bits of rk_rule_set: of the frameworks that check it */
    /* 0 when the rule is kept, otherwise the number {n} of the text. */
    int64_t (*broken)(const struct question *q);
    enum vary vary;
    const char *text; /* what was found; {tp} and the like stand for values */
};

extern const struct rule rk_rules[];
extern const size_t rk_rule_count;

static inline bool rk_rule_divides(int64_t part, int64_t whole)
{
    /* most degrees are powers of two, and a division costs more than all the rest here */
    return (part & (part - 1)) == 0 ? (whole & (part - 1)) == 0 : whole % part == 0;
}

/* What rules ask of the split of layers; rules_layers.c. */
int64_t rk_rule_layout_below_zero(const struct question *q);
int64_t rk_rule_layout_and_split(const struct question *q);
int64_t rk_rule_layout_stages(const struct question *q);
int64_t rk_rule_layout_rest(const struct question *q);
int64_t rk_rule_own_layers_without_pipeline(const struct question *q);
int64_t rk_rule_own_layers_and_counted_ends(const struct question *q);
int64_t rk_rule_own_layers_too_few(const struct question *q);
int64_t rk_rule_layers_too_few(const struct question *q);
int64_t rk_rule_layers_rest_ranks(const struct question *q);
int64_t rk_rule_layers_rest_chunks(const struct question *q);
int64_t rk_rule_own_layers_rest(const struct question *q);

/* Fills the message of a broken rule: what was found, and the nearest legal values. */
void rk_rule_tell(const struct question *q, const struct rule *rule, rk_violation *violation);

#endif
