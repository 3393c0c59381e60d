/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks the strategies of a problem by bounded or exhaustive search. */
#include "method/ranking.h"

#include "base/error.h"
#include "work/shared_work.h"

#include <assert.h>
#include <stdlib.h>

uint64_t rk_ranking_total(const rk_ranking *ranking)
{
    return ranking->by_bounds ? ranking->bounded.total : ranking->counts[0];
}

void rk_ranking_clear(rk_ranking *ranking)
{
    free(ranking->candidates);
    ranking->candidates = NULL;
    ranking->count = 0;
}

rk_status rk_choose_search(const rk_problem *problem, rk_search_kind kind, bool *by_bounds,
                           rk_error *err)
{
    const rk_method *method = problem->method;
    uint64_t strategies = 0;
    rk_status status = RK_OK;
    *by_bounds = kind == RK_SEARCH_BOUNDED;
    if (kind == RK_SEARCH_ANY && method->bounds_pay_from < UINT64_MAX) {
        status = method->count(problem, &strategies, err);
        *by_bounds = strategies >= method->bounds_pay_from;
    }
    return status;
}

static rk_status search(const rk_problem *problem, size_t top, rk_team *team,
                        const rk_search_control *control, rk_ranking *ranking,
                        rk_candidate *nearest, rk_error *err)
{
    const rk_method *method = problem->method;
    return ranking->by_bounds ? method->bound(problem, control, top, ranking->candidates,
                                              &ranking->count, &ranking->bounded, err)
                              : method->search(problem, team, control, top, ranking->candidates,
                                               &ranking->count, nearest, ranking->counts, err);
}

rk_status rk_rank_misfits(const rk_problem *problem, size_t top, const rk_search_control *control,
                          rk_candidate *nearest, rk_ranking *ranking, rk_error *err)
{
    const rk_method *method = problem->method;
    rk_status status = RK_OK;
    if (ranking->by_bounds && method->search_nearest) {
        status = method->search_nearest(problem, control, top, ranking->candidates, &ranking->count,
                                        nearest, err);
    }
    if (!status && ranking->count == 0) {
        status = method->find_shortage(problem, nearest, rk_ranking_total(ranking), control,
                                       &ranking->shortage, err);
    }
    return status;
}

rk_status rk_rank_strategies(const rk_problem *problem, rk_search_kind kind, size_t top,
                             rk_team *team, const rk_search_control *control, rk_ranking *ranking,
                             rk_error *err)
{
    assert(top >= 1);
    const bool first = !team || team->rank == 0;
    rk_candidate nearest = {.index = UINT64_MAX};
    *ranking = (rk_ranking){.kind = kind, .candidates = calloc(top, sizeof(*ranking->candidates))};
    if (!ranking->candidates) {
        const rk_status failed = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the ranking");
        rk_share_leave(team, err);
        return failed;
    }
    rk_status status = rk_choose_search(problem, kind, &ranking->by_bounds, err);
    if (status) {
        rk_share_leave(team, err);
        return status;
    }
    if (ranking->by_bounds && !first) {
        return RK_OK;
    }
    status = search(problem, top, team, control, ranking, &nearest, err);
    return !status && first && ranking->count == 0
               ? rk_rank_misfits(problem, top, control, &nearest, ranking, err)
               : status;
}
