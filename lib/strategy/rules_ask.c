/* SPDX-License-Identifier: Apache-2.0 */
/* What the table of rules says of a strategy. */
#include "strategy/rules.h"

#include <string.h>

const char *rk_strategy_rule(size_t index, unsigned *frameworks)
{
    if (index >= rk_rule_count) {
        return NULL;
    }
    *frameworks = 0;
    for (int i = 0; i < RK_FRAMEWORK_COUNT; i++) {
        *frameworks |= (rk_frameworks[i].rules & rk_rules[index].sets) != 0 ? 1U << i : 0U;
    }
    return rk_rules[index].name;
}

bool rk_strategy_legal(const rk_model *model, const rk_system *system, const rk_strategy *strategy,
                       rk_framework framework, rk_violation *violation)
{
    const struct question q = {model, system, strategy, framework};
    const unsigned sets = rk_framework_of(framework)->rules;
    for (size_t i = 0; i < rk_rule_count; i++) {
        if ((rk_rules[i].sets & sets) && rk_rules[i].broken(&q)) {
            if (violation) {
                rk_rule_tell(&q, &rk_rules[i], violation);
            }
            return false;
        }
    }
    if (violation) {
        memset(violation, 0, sizeof(*violation));
    }
    return true;
}

size_t rk_strategy_broken(const rk_model *model, const rk_system *system,
                          const rk_strategy *strategy, rk_framework framework, size_t *rules,
                          size_t most)
{
    const struct question q = {model, system, strategy, framework};
    const unsigned sets = rk_framework_of(framework)->rules;
    size_t count = 0;
    for (size_t i = 0; i < rk_rule_count; i++) {
        if ((rk_rules[i].sets & sets) && rk_rules[i].broken(&q)) {
            if (count < most) {
                rules[count] = i;
            }
            count++;
            if (strcmp(rk_rules[i].name, "sizes") == 0) {
                break; /* the rules after it rely on it */
            }
        }
    }
    return count;
}

void rk_strategy_explain_rule(const rk_model *model, const rk_system *system,
                              const rk_strategy *strategy, rk_framework framework, size_t rule,
                              rk_violation *violation)
{
    const struct question q = {model, system, strategy, framework};
    rk_rule_tell(&q, &rk_rules[rule], violation);
}
