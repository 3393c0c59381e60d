/* SPDX-License-Identifier: Apache-2.0 */
/* Tries growing accelerator counts, with micro-batch 1 and full recomputation where allowed. */
#include "search/fewest_accelerators.h"

#include "base/extremes.h"
#include "search/bounded_plan.h"

#include <assert.h>
#include <math.h>

#define STEPS 16 /* steps of domains before their number doubles */
#define TRIES 96 /* numbers tried beyond what the states alone need */

/* Bytes of a parameter that stay; gradients may be freed as they come. */
static double lasting_bytes(const rk_state_recipe *states)
{
    return states->weight + states->optimizer;
}

double rk_least_accelerators(const rk_model *model, const rk_system *system,
                             const rk_plan_space *space)
{
    const bool elsewhere = space->offloads != RK_PLAN_NO_OFFLOAD || space->base.low_weights;
    const double usable =
        space->max_memory > 0 ? space->max_memory : system->accelerator.memory_usable;
    double bytes = space->recipe_count > 0 ? (double)INFINITY : lasting_bytes(&space->base.states);
    for (int i = 0; i < space->recipe_count; i++) {
        bytes = rk_min(bytes, lasting_bytes(&space->recipes[i].states));
    }
    return elsewhere ? 1 : (double)rk_model_params_of(model).total * bytes / usable;
}

/* The next number after n that is tried. */
static int64_t next_count(int64_t n, int64_t domain)
{
    assert(n >= 1 && domain >= 1);
    if (n < domain) {
        do {
            n++;
        } while (domain % n);
        return n;
    }
    int64_t step = domain;
    while (step * STEPS * 2 <= n) {
        step *= 2;
    }
    return (n / step + 1) * step;
}

rk_status rk_find_fewest_accelerators(const rk_model *model, const rk_system *system,
                                      const rk_stack *stack, const rk_plan_space *space,
                                      const rk_search_control *control, int64_t *fewest,
                                      rk_planned_strategy *planned, rk_error *err)
{
    const int64_t most = system->tiers[system->tier_count - 1].size;
    const double least = rk_least_accelerators(model, system, space);
    rk_plan_space lean = *space;
    rk_status status = RK_OK;
    *fewest = 0;
    if (space->micro_batch.count != 1) {
        lean.micro_batch = (rk_choices){1, {1}};
    }
    if (lean.recomputes & 1U << RK_REC_FULL) {
        lean.recomputes = 1U << RK_REC_FULL;
    }
    int64_t n = 1;
    while (n <= most && (double)n < least) {
        n = next_count(n, system->tiers[0].size);
    }
    for (int i = 0; i < TRIES && n <= most && *fewest == 0 && !status; i++) {
        size_t found = 0;
        rk_bounded_counts counts;
        lean.accelerators = n;
        lean.global_batch =
            space->global_batch > 0 ? space->global_batch : n * lean.micro_batch.values[0];
        status = rk_plan_search_bounded(model, system, stack, &lean, control, 1, planned, &found,
                                        &counts, err);
        *fewest = found > 0 ? n : 0;
        n = next_count(n, system->tiers[0].size);
    }
    return status;
}
