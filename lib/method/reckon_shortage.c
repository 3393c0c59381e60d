/* SPDX-License-Identifier: Apache-2.0 */
/* The shortage when no strategy fits, by the reckon model. */
#include "method/reckon_shortage.h"

#include "base/error.h"
#include "method/estimate_change.h"
#include "search/fewest_accelerators.h"

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

/* Whether something in the space is within the risk. */
static rk_status find_any(const rk_problem *problem, const rk_search_control *control, bool *any,
                          rk_error *err)
{
    rk_candidate best;
    rk_bounded_counts counts;
    size_t found = 0;
    const rk_status status =
        problem->method->bound(problem, control, 1, &best, &found, &counts, err);
    *any = found > 0;
    return status;
}

/* The same where it is unlikely: the strategy that needs least memory says so in most spaces. */
static rk_status find_any_nearest(const rk_problem *problem, const rk_search_control *control,
                                  bool *any, rk_error *err)
{
    const rk_inputs *inputs = &problem->reckon.inputs;
    const double risk = problem->reckon.space.risk;
    rk_planned_strategy nearest;
    const rk_status status =
        rk_plan_find_nearest(&inputs->model, &inputs->system, &inputs->software.stack,
                             &problem->reckon.space, control, true, &nearest, err);
    const bool some = !status && nearest.index != UINT64_MAX;
    *any = some && nearest.estimate.fits && (risk <= 0 || nearest.estimate.risk <= risk);
    return some && !*any ? find_any(problem, control, any, err) : status;
}

static void keep_degrees(const rk_strategy *s, rk_plan_space *space)
{
    space->tp = (rk_choices){1, {s->tp}};
    space->cp = (rk_choices){1, {s->cp}};
    space->pp = (rk_choices){1, {s->pp}};
    space->ep = (rk_choices){1, {s->ep}};
    space->etp = (rk_choices){1, {s->etp}};
    space->micro_batch = (rk_choices){1, {s->micro_batch}};
}

/*
 * Doubles the accelerators until something fits, and looks first at more copies of the strategy
 * that needs least memory.
 */
static rk_status find_accelerators(const rk_problem *problem, const rk_strategy *nearest,
                                   const rk_search_control *control, int64_t *enough, rk_error *err)
{
    const rk_system *system = &problem->reckon.inputs.system;
    const int64_t most = system->tiers[system->tier_count - 1].size;
    rk_problem *larger = malloc(sizeof(*larger)); /* too large for the stack of a thread */
    rk_status status = RK_OK;
    if (!larger) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a larger space");
    }
    const double least =
        rk_least_accelerators(&problem->reckon.inputs.model, system, &problem->reckon.space);
    int64_t n = problem->reckon.space.accelerators;
    for (int i = 0; i < MOST_DOUBLINGS && n <= most / 2 && !status && *enough == 0; i++) {
        bool fits = false;
        n *= 2;
        if ((double)n < least) {
            continue;
        }
        *larger = *problem;
        larger->reckon.space.accelerators = n;
        keep_degrees(nearest, &larger->reckon.space);
        status = find_any(larger, control, &fits, err);
        if (!status && !fits) {
            larger->reckon.space = problem->reckon.space;
            larger->reckon.space.accelerators = n;
            status = find_any_nearest(larger, control, &fits, err);
        }
        *enough = fits ? n : 0;
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
    return status ? status
                  : find_accelerators(problem, &nearest->strategy, control, &shortage->accelerators,
                                      err);
}
