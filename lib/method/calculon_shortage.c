/* SPDX-License-Identifier: Apache-2.0 */
/* The shortage when no strategy fits, by the Calculon method. */
#include "method/calculon_shortage.h"

#include <assert.h>
#include <string.h>

#define ENDLESS   1e30 /* bytes */
#define PRECISION 0.01 /* of the least capacity */

/* The best strategy with other memory capacities. */
static rk_status search_with(const rk_problem *problem, const double capacity[2],
                             const rk_search_control *control, rk_candidate *best, rk_error *err)
{
    rk_problem changed = *problem;
    rk_bounded_counts counts;
    size_t found = 0;
    changed.calculon.sys.mem1.capacity = capacity[0];
    changed.calculon.sys.mem2.capacity = capacity[1];
    const rk_status status =
        problem->method->bound(&changed, control, 1, best, &found, &counts, err);
    if (status || found == 0) {
        *best = (rk_candidate){.fits = false};
    }
    return status;
}

/*
 * Bisects between a capacity that is too small and one that suffices; each success lowers the
 * latter to what its strategy really needs.
 */
static rk_status find_least(const rk_problem *problem, int tier, const rk_search_control *control,
                            rk_candidate *least, rk_error *err)
{
    assert(tier == 0 || tier == 1);
    double capacity[2] = {problem->calculon.sys.mem1.capacity, problem->calculon.sys.mem2.capacity};
    double too_small = capacity[tier];
    capacity[tier] = ENDLESS;
    rk_status status = search_with(problem, capacity, control, least, err);
    while (!status && least->fits) {
        const double enough = tier ? least->offloaded : least->memory;
        if (enough - too_small <= PRECISION * enough) {
            break;
        }
        rk_candidate closer;
        capacity[tier] = too_small + (enough - too_small) / 2;
        status = search_with(problem, capacity, control, &closer, err);
        if (closer.fits) {
            *least = closer;
        } else {
            too_small = capacity[tier];
        }
    }
    return status;
}

/* The least batch for which strategies exist; 0 when none does. */
static rk_status find_least_batch(const rk_problem *problem, int64_t *least, rk_error *err)
{
    rk_problem changed = *problem;
    rk_calculon_space *space = &changed.calculon.space;
    int64_t none = space->max_batch_size, some = space->num_procs;
    uint64_t count = 0;
    rk_status status = RK_OK;
    if (some > none) {
        space->max_batch_size = some;
        status = problem->method->count(&changed, &count, err);
    }
    while (!status && count > 0 && some - none > 1) {
        uint64_t here = 0;
        space->max_batch_size = none + (some - none) / 2;
        status = problem->method->count(&changed, &here, err);
        if (here > 0) {
            some = space->max_batch_size;
        } else {
            none = space->max_batch_size;
        }
    }
    *least = count > 0 ? some : 0;
    return status;
}

struct first {
    const rk_problem *problem;
    rk_shortage *shortage;
};

/* Records why the first strategy of the enumeration does not run. */
static bool remember_misfit(void *user, uint64_t index, const rk_calculon_exe *exe)
{
    const struct first *first = user;
    const rk_candidate candidate = {.exe = *exe};
    char text[RK_MISFIT_SIZE];
    rk_error err;
    (void)index;
    if (!first->problem->method->misfit(first->problem, &candidate, text, &err)) {
        memcpy(first->shortage->misfit, text, sizeof(first->shortage->misfit));
        first->shortage->misfit[sizeof(first->shortage->misfit) - 1] = '\0';
    }
    return false;
}

rk_status rk_calculon_find_shortage(const rk_problem *problem, const rk_candidate *nearest,
                                    uint64_t strategies, const rk_search_control *control,
                                    rk_shortage *shortage, rk_error *err)
{
    /* a missing tier stays missing */
    const double endless[2] = {ENDLESS, problem->calculon.sys.mem2.capacity > 0 ? ENDLESS : 0};
    struct first first = {problem, shortage};
    (void)nearest;
    *shortage = (rk_shortage){.least_batch = 0};
    if (strategies == 0) {
        return find_least_batch(problem, &shortage->least_batch, err);
    }
    rk_status status = search_with(problem, endless, control, &shortage->fastest, err);
    if (!status && !shortage->fastest.fits) {
        return rk_calculon_space_each(&problem->calculon.app, &problem->calculon.sys,
                                      &problem->calculon.space, remember_misfit, &first, err);
    }
    for (int tier = 0; tier < 2 && !status; tier++) {
        if (endless[tier] > 0) {
            status = find_least(problem, tier, control, &shortage->least[tier], err);
        }
    }
    return status;
}
