/* SPDX-License-Identifier: Apache-2.0 */
/* What is missing when no strategy fits. */
#include "command/plan_command.h"

#include "report/describe.h"

#include <string.h>

#define ENDLESS   1e30 /* bytes */
#define PRECISION 0.01 /* of the least capacity */

/* The best strategy with other memory capacities. */
static rk_status search_with(const rk_plan *plan, double tier1, double tier2,
                             const rk_search_control *control, rk_plan_need *need, rk_error *err)
{
    rk_calculon_sys sys = plan->sys;
    rk_calculon_ranked best;
    rk_calculon_verdict verdict;
    rk_bounded_counts counts;
    size_t found = 0;
    sys.mem1.capacity = tier1;
    sys.mem2.capacity = tier2;
    rk_status status = rk_calculon_search_bounded(&plan->app, &sys, &plan->space, control, 1, &best,
                                                  &found, &counts, err);
    need->found = !status && found > 0;
    if (need->found) {
        status = rk_plan_evaluate(plan, &sys, &best.exe, &need->strategy, &verdict, err);
    }
    return status;
}

/*
 * Halves the interval between a capacity that is too small and one that does, which each success
 * lowers to what its strategy really needs.
 */
static rk_status find_least(const rk_plan *plan, int tier, const rk_search_control *control,
                            rk_plan_need *need, rk_error *err)
{
    double capacity[2] = {plan->sys.mem1.capacity, plan->sys.mem2.capacity};
    double too_small = capacity[tier];
    capacity[tier] = ENDLESS;
    rk_status status = search_with(plan, capacity[0], capacity[1], control, need, err);
    while (!status && need->found) {
        const rk_calculon_stats *stats = &need->strategy.stats;
        const double enough = tier ? stats->proc_mem_tier2_cap_req : stats->proc_mem_tier1_cap_req;
        if (enough - too_small <= PRECISION * enough) {
            break;
        }
        rk_plan_need closer;
        capacity[tier] = too_small + (enough - too_small) / 2;
        status = search_with(plan, capacity[0], capacity[1], control, &closer, err);
        if (closer.found) {
            *need = closer;
        } else {
            too_small = capacity[tier];
        }
    }
    return status;
}

/* The least batch for which strategies exist; 0 when there is none. */
static rk_status find_least_batch(rk_plan *plan, rk_error *err)
{
    rk_calculon_space space = plan->space;
    int64_t none = plan->space.max_batch_size, some = plan->space.num_procs;
    uint64_t count = 0;
    rk_status status = RK_OK;
    space.max_batch_size = some;
    if (some > none) {
        status = rk_calculon_space_count(&plan->app, &plan->sys, &space, &count, err);
    }
    while (!status && count > 0 && some - none > 1) {
        uint64_t here = 0;
        space.max_batch_size = none + (some - none) / 2;
        status = rk_calculon_space_count(&plan->app, &plan->sys, &space, &here, err);
        if (here > 0) {
            some = space.max_batch_size;
        } else {
            none = space.max_batch_size;
        }
    }
    plan->least_batch = count > 0 ? some : 0;
    return status;
}

/* Keeps what keeps the first strategy of the enumeration from running. */
static bool remember_misfit(void *user, uint64_t index, const rk_calculon_exe *exe)
{
    rk_plan *plan = user;
    rk_calculon_result strategy;
    rk_calculon_verdict verdict;
    rk_error err;
    (void)index;
    if (!rk_plan_evaluate(plan, &plan->sys, exe, &strategy, &verdict, &err)) {
        (void)rk_calculon_verdict_text(&verdict, plan->misfit, sizeof(plan->misfit));
    }
    return false;
}

rk_status rk_plan_find_shortfall(rk_plan *plan, const rk_search_control *control, rk_error *err)
{
    if (rk_plan_total(plan) == 0) {
        return find_least_batch(plan, err);
    }
    const double tier2 = plan->sys.mem2.capacity > 0 ? ENDLESS : 0; /* a missing tier stays so */
    rk_status status = search_with(plan, ENDLESS, tier2, control, &plan->fastest, err);
    if (!status && !plan->fastest.found) {
        return rk_calculon_space_each(&plan->app, &plan->sys, &plan->space, remember_misfit, plan,
                                      err);
    }
    if (!status) {
        status = find_least(plan, 0, control, &plan->least_tier1, err);
    }
    if (!status && tier2 > 0) {
        status = find_least(plan, 1, control, &plan->least_tier2, err);
    }
    return status;
}
