/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of rules and the messages for broken ones; inside lib/framework only. */
#ifndef RK_FRAMEWORK_RULES_H
#define RK_FRAMEWORK_RULES_H

#include "framework/framework.h"
#include "model/kinds.h"

#include <string.h>

struct question {
    const rk_model *model;
    const rk_system *system; /* may be NULL: no rule reads it */
    const rk_strategy *strategy;
    rk_framework framework;
};

/*
 * A number of a strategy whose nearest legal values are named: its offset; 0: none.  A rule with
 * VARY_DEGREE or RULE_OF_DEGREES reads nothing of a strategy but tp, cp, ep, etp, sp, the kind of
 * cp and the sequence: no pipeline, recompute or sharding keeps it.
 */
#define VARY(member)        offsetof(rk_strategy, member)
#define VARY_NONE           0
#define RULE_OF_DEGREES     ((size_t)1 << 16)
#define VARY_DEGREE(member) (VARY(member) | RULE_OF_DEGREES)

struct rk_rule {
    const char *name; /* NULL ends a table */
    /* 0 when the rule is kept, otherwise the number {n} of the text. */
    int64_t (*broken)(const struct question *q);
    size_t vary;
    const char *text; /* what was found; {tp} and the like, keys of strategy_fields.h, are values */
};

/*
 * Tables that more than one framework checks.  A framework lists them in the order in which they
 * are checked, RK_RULES_OF_ALL first; a rule may rely on earlier ones.
 */
extern const struct rk_rule rk_rules_sizes[];       /* of every number by itself */
extern const struct rk_rule rk_rules_ability[];     /* abilities that the framework lacks */
extern const struct rk_rule rk_rules_arithmetic[];  /* impossible with any framework */
extern const struct rk_rule rk_rules_layers[];      /* impossible splits of layers */
extern const struct rk_rule rk_rules_even_layers[]; /* all stages have as many layers */
extern const struct rk_rule rk_rules_balanced_cp[]; /* a rank of cp has two chunks of a sequence */
extern const struct rk_rule rk_rules_experts_sp[];  /* ep with tp needs sequence parallelism */
extern const struct rk_rule rk_rules_megatron[];    /* of Megatron Core */
extern const struct rk_rule rk_rules_expert_overlap[]; /* of its overlap of expert messages */

#define RK_RULES_OF_ALL rk_rules_sizes, rk_rules_ability, rk_rules_arithmetic, rk_rules_layers

static inline size_t rk_rule_field(const struct rk_rule *rule)
{
    return rule->vary & ~RULE_OF_DEGREES;
}

static inline const rk_framework_traits *rk_traits_of(const struct question *q)
{
    return rk_framework_of(q->framework);
}

static inline bool rk_rule_divides(int64_t part, int64_t whole)
{
    /* most degrees are powers of two, and a division costs more than all the rest here */
    return (part & (part - 1)) == 0 ? (whole & (part - 1)) == 0 : whole % part == 0;
}

/* The first layer type with experts, or NULL. */
static inline const rk_layer_type *rk_rule_moe_type(const rk_model *model)
{
    for (int i = 0; i < model->type_count; i++) {
        if (rk_layer_is_moe(&model->types[i])) {
            return &model->types[i];
        }
    }
    return NULL;
}

/* Whether a layer has the mixer of this name. */
static inline bool rk_rule_is_mixer(const rk_layer_type *type, const char *name)
{
    return strcmp(type->mixer->part.name, name) == 0;
}

/* Whether layers are blocks of one part, or hold a state space: Megatron-LM's hybrid models. */
static inline bool rk_rule_is_hybrid(const rk_model *model)
{
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        if (!type->mixer->part.shapes || !type->feed_forward->part.shapes ||
            rk_rule_is_mixer(type, "mamba2")) {
            return true;
        }
    }
    return false;
}

/* Whether a strategy recomputes one of `modules`, but no whole layers. */
static inline bool rk_rule_recomputes(const rk_strategy *s, unsigned modules)
{
    return s->recompute == RK_REC_SELECTIVE && (s->recompute_modules & modules) != 0;
}

/* The first rule that is broken; NULL: none is. */
static inline const struct rk_rule *rk_rule_first_broken(const struct question *q)
{
    for (const struct rk_rule *const *table = rk_traits_of(q)->rules; *table; table++) {
        for (const struct rk_rule *rule = *table; rule->name; rule++) {
            if (rule->broken(q)) {
                return rule;
            }
        }
    }
    return NULL;
}

/* Fills the message of a broken rule: what was found, and the nearest legal values. */
void rk_rule_tell(const struct question *q, const struct rk_rule *rule, rk_legality *violation);

#endif
