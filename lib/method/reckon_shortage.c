/* SPDX-License-Identifier: Apache-2.0 */
/* The shortage when no strategy fits, by the reckon model. */
#include "method/reckon_shortage.h"

#include "base/error.h"
#include "method/estimate_change.h"

#include <stdlib.h>

#define MOST_CHANGES   2
#define MOST_DOUBLINGS 6 /* of accelerators */

/* The smallest change of the nearest strategy that makes it fit, also beyond the space; within the
 * risk, or else at any. */
static rk_status find_change(const rk_problem *problem, rk_shortage *shortage, rk_error *err)
{
    rk_setting setting = {
        .model = &problem->reckon.inputs.model,
        .system = &problem->reckon.inputs.system,
        .stack = &problem->reckon.inputs.software.stack,
        .framework = problem->reckon.space.framework,
        .convention = problem->reckon.space.convention,
        .risk = problem->reckon.space.risk,
    };
    rk_candidate *changed = &shortage->changed;
    rk_status status = RK_OK;
    for (int riskier = 0; riskier < 2 && !status && shortage->changes == 0; riskier++) {
        setting.risk = riskier ? 0 : setting.risk;
        status = rk_change_to_fit(&setting, &shortage->nearest.strategy, MOST_CHANGES,
                                  &shortage->changes, &changed->strategy, &changed->estimate, err);
    }
    return status || shortage->changes == 0 ? status
                                            : problem->method->evaluate(problem, changed, err);
}

/* Doubles the accelerators until something fits. */
static rk_status find_accelerators(const rk_problem *problem, const rk_search_control *control,
                                   int64_t *enough, rk_error *err)
{
    const rk_system *system = &problem->reckon.inputs.system;
    const int64_t most = system->tiers[system->tier_count - 1].size;
    rk_problem *larger = malloc(sizeof(*larger)); /* too large for the stack of a thread */
    rk_status status = RK_OK;
    if (!larger) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a larger space");
    }
    *larger = *problem;
    for (int i = 0; i < MOST_DOUBLINGS && !status && *enough == 0; i++) {
        rk_candidate best;
        rk_bounded_counts counts;
        size_t found = 0;
        larger->reckon.space.accelerators *= 2;
        if (larger->reckon.space.accelerators > most) {
            break;
        }
        status = problem->method->bound(larger, control, 1, &best, &found, &counts, err);
        *enough = found > 0 ? larger->reckon.space.accelerators : 0;
    }
    free(larger);
    return status;
}

rk_status rk_reckon_find_shortage(const rk_problem *problem, const rk_candidate *nearest,
                                  uint64_t strategies, const rk_search_control *control,
                                  rk_shortage *shortage, rk_error *err)
{
    (void)strategies;
    *shortage = (rk_shortage){.legal = nearest->index != UINT64_MAX};
    if (!shortage->legal) {
        return rk_plan_find_reasons(&problem->reckon.inputs.model, &problem->reckon.inputs.system,
                                    &problem->reckon.space, &shortage->reasons, err);
    }
    shortage->nearest = *nearest;
    rk_status status = problem->method->evaluate(problem, &shortage->nearest, err);
    if (!status) {
        status = find_change(problem, shortage, err);
    }
    return status ? status : find_accelerators(problem, control, &shortage->accelerators, err);
}
