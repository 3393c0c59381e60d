/* SPDX-License-Identifier: Apache-2.0 */
/* Which rules of its framework a strategy breaks. */
#include "framework/rules.h"

#include <assert.h>
#include <string.h>

/* Rule `index` of a framework; NULL past the last. */
static const struct rk_rule *rule_at(rk_framework framework, size_t index)
{
    for (const struct rk_rule *const *table = rk_framework_of(framework)->rules; *table; table++) {
        for (const struct rk_rule *rule = *table; rule->name; rule++) {
            if (index-- == 0) {
                return rule;
            }
        }
    }
    return NULL;
}

const char *rk_framework_rule(rk_framework framework, size_t index)
{
    const struct rk_rule *rule = rule_at(framework, index);
    return rule ? rule->name : NULL;
}

bool rk_strategy_legal(const rk_model *model, const rk_system *system, const rk_strategy *strategy,
                       rk_framework framework, rk_legality *violation)
{
    assert(framework < RK_FRAMEWORK_COUNT);
    const struct question q = {model, system, strategy, framework};
    const struct rk_rule *broken = rk_rule_first_broken(&q);
    if (violation && broken) {
        rk_rule_tell(&q, broken, violation);
    } else if (violation) {
        *violation = (rk_legality){.legal = true};
    }
    return !broken;
}

bool rk_strategy_legal_here(const rk_model *model, const rk_system *system,
                            const rk_strategy *strategy, rk_framework framework, bool *nowhere)
{
    const struct question q = {model, system, strategy, framework};
    const struct rk_rule *broken = rk_rule_first_broken(&q);
    *nowhere = broken && broken->vary & RULE_OF_DEGREES;
    return !broken;
}

size_t rk_strategy_broken(const rk_model *model, const rk_system *system,
                          const rk_strategy *strategy, rk_framework framework, size_t *rules,
                          size_t most)
{
    const struct question q = {model, system, strategy, framework};
    size_t count = 0, index = 0;
    for (const struct rk_rule *const *table = rk_framework_of(framework)->rules; *table; table++) {
        for (const struct rk_rule *rule = *table; rule->name; rule++, index++) {
            if (!rule->broken(&q)) {
                continue;
            }
            if (count < most) {
                rules[count] = index;
            }
            count++;
            if (strcmp(rule->name, "sizes") == 0) {
                return count; /* the rules after it rely on it */
            }
        }
    }
    return count;
}

void rk_strategy_explain_rule(const rk_model *model, const rk_system *system,
                              const rk_strategy *strategy, rk_framework framework, size_t rule,
                              rk_legality *violation)
{
    const struct question q = {model, system, strategy, framework};
    rk_rule_tell(&q, rule_at(framework, rule), violation);
}
