/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the fastest strategy and, in parts of the space without it, its alternatives. */
#include "method/alternatives.h"

#include "base/error.h"
#include "method/reckon_candidate.h"
#include "search/bounded_plan.h"
#include "work/shared_work.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define LESS_MEMORY 0.5 /* of the memory of the fastest */
#define MOST_USED   0.9 /* of the memory there is, where some is to stay free */

/* A kind of alternative: a part of the space that does not contain the fastest strategy. */
struct kind {
    const char *label;
    rk_plan_part part;
    double memory; /* of the memory of the fastest; 0: any */
    double used;   /* of the memory there is; 0: any */
};

static const struct kind kinds[RK_ALTERNATIVE_KINDS] = {
    {"fastest", {0}, 0, 0},
    {"no pipeline", {.ones = RK_DEGREE_PP}, 0, 0},
    {"no TP", {.ones = RK_DEGREE_TP}, 0, 0},
    {"ZeRO 1", {.shardings = 1U << RK_SHARD_OPTIMIZER}, 0, 0},
    {"ZeRO 3", {.shardings = 1U << RK_SHARD_ALL}, 0, 0},
    {"no recompute", {.recomputes = 1U << RK_REC_NONE}, 0, 0},
    {"full recompute", {.recomputes = 1U << RK_REC_FULL}, 0, 0},
    {"half the memory", {0}, LESS_MEMORY, 0},
    {"10 % of memory free", {0}, 0, MOST_USED},
    {"faster, riskier", {.riskier = true}, 0, 0},
};

const char *rk_alternative_name(unsigned set)
{
    assert(set != 0);
    for (int i = 0; i < RK_ALTERNATIVE_KINDS; i++) {
        if (set >> i & 1) {
            return kinds[i].label;
        }
    }
    return "";
}

const char *rk_alternative_label(unsigned set, char out[RK_ALTERNATIVE_LABEL_SIZE])
{
    size_t length = 0;
    out[0] = '\0';
    for (int i = 0; i < RK_ALTERNATIVE_KINDS && length < RK_ALTERNATIVE_LABEL_SIZE; i++) {
        if (set >> i & 1) {
            length += (size_t)snprintf(out + length, RK_ALTERNATIVE_LABEL_SIZE - length, "%s%s",
                                       length ? "; " : "", kinds[i].label);
        }
    }
    return out;
}

/* Whether the strategy is in the part of a kind, memory aside: their degrees are PP and TP. */
static bool is_in(const rk_plan_part *part, const rk_strategy *s)
{
    assert((part->ones & ~(unsigned)(RK_DEGREE_PP | RK_DEGREE_TP)) == 0);
    return !(part->ones & RK_DEGREE_PP && s->pp > 1) && !(part->ones & RK_DEGREE_TP && s->tp > 1) &&
           (part->shardings == 0 || part->shardings >> s->sharding & 1) &&
           (part->recomputes == 0 || part->recomputes >> s->recompute & 1);
}

/* Inserts in order of time; a strategy that is already ranked only gets another kind. */
static void add_alternative(rk_ranking *ranking, int kind, const rk_candidate *candidate)
{
    assert(kind >= 0 && kind < RK_ALTERNATIVE_KINDS);
    size_t at = ranking->count;
    for (size_t i = 0; i < ranking->count; i++) {
        if (ranking->candidates[i].index == candidate->index) {
            ranking->kinds[i] |= 1U << kind;
            return;
        }
    }
    for (; at > 1 && candidate->step < ranking->candidates[at - 1].step; at--) {
        ranking->candidates[at] = ranking->candidates[at - 1];
        ranking->kinds[at] = ranking->kinds[at - 1];
    }
    ranking->candidates[at] = *candidate;
    ranking->kinds[at] = 1U << kind;
    ranking->count++;
}

/* Whether a strategy needs no more memory than the part allows. */
static bool has_memory(const rk_plan_part *part, const rk_candidate *candidate)
{
    return part->max_memory <= 0 ||
           rk_needed_bytes(&candidate->estimate.memory) <= part->max_memory;
}

/* The part of a kind, with limits that follow from the fastest strategy. */
static rk_plan_part part_of(const struct kind *kind, const rk_candidate *fastest)
{
    rk_plan_part part = kind->part;
    part.max_memory = kind->used > 0 ? kind->used * fastest->estimate.usable
                                     : kind->memory * rk_needed_bytes(&fastest->estimate.memory);
    part.longest_step_s =
        fastest->step * (part.riskier ? RK_ALTERNATIVE_FASTER : RK_ALTERNATIVE_SLOWEST);
    return part;
}

/* Adds the alternatives to the fastest, which is alone in the ranking. */
static rk_status add_alternatives(const rk_problem *problem, rk_plan_bounds *bounds,
                                  rk_ranking *ranking, rk_error *err)
{
    const rk_candidate fastest = ranking->candidates[0];
    rk_plan_part parts[RK_ALTERNATIVE_KINDS];
    rk_planned_strategy planned[RK_ALTERNATIVE_KINDS];
    bool found[RK_ALTERNATIVE_KINDS];
    int of[RK_ALTERNATIVE_KINDS], count = 0;
    for (int i = 1; i < RK_ALTERNATIVE_KINDS; i++) {
        rk_plan_part part = part_of(&kinds[i], &fastest);
        if (part.riskier || !is_in(&part, &fastest.strategy) || !has_memory(&part, &fastest)) {
            parts[count] = part;
            of[count++] = i;
        }
    }
    ranking->kinds[0] = 1;
    const rk_status status = rk_plan_bounds_search_parts(bounds, parts, count, planned, found, err);
    for (int i = 0; i < count && !status; i++) {
        if (found[i]) {
            const rk_candidate candidate = rk_reckon_candidate(problem, &planned[i]);
            add_alternative(ranking, of[i], &candidate);
        }
    }
    return status;
}

/* Finds the fastest strategy; the ranking stays empty if nothing fits. */
static rk_status find_fastest(const rk_problem *problem, rk_plan_bounds *bounds,
                              rk_ranking *ranking, rk_error *err)
{
    rk_planned_strategy planned;
    const rk_status status =
        rk_plan_bounds_search(bounds, 1, &planned, &ranking->count, &ranking->bounded, err);
    if (!status && ranking->count > 0) {
        ranking->candidates[0] = rk_reckon_candidate(problem, &planned);
    }
    return status;
}

static rk_status open_bounds(const rk_problem *problem, const rk_search_control *control,
                             rk_plan_bounds **bounds, rk_error *err)
{
    return rk_plan_bounds_open(&problem->reckon.inputs.model, &problem->reckon.inputs.system,
                               &problem->reckon.inputs.software.stack, &problem->reckon.space,
                               control, bounds, err);
}

/* For all kinds. */
static rk_status make_room(rk_ranking *ranking, rk_error *err)
{
    rk_candidate *candidates =
        realloc(ranking->candidates, RK_ALTERNATIVE_KINDS * sizeof(*candidates));
    if (!candidates) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the ranking");
    }
    ranking->candidates = candidates;
    return RK_OK;
}

rk_status rk_rank_alternatives(const rk_problem *problem, rk_search_kind kind, rk_team *team,
                               const rk_search_control *control, rk_ranking *ranking, rk_error *err)
{
    rk_plan_bounds *bounds = NULL;
    bool by_bounds = false;
    *ranking = (rk_ranking){.kind = kind};
    rk_status status = rk_choose_search(problem, kind, &by_bounds, err);
    if (status) {
        rk_share_leave(team, err);
    }
    if (!status && by_bounds) {
        if (team && team->rank > 0) {
            return RK_OK; /* rank 0 alone is faster than all without bounds */
        }
        team = NULL;
        ranking->by_bounds = true;
        (void)((status = make_room(ranking, err)) ||
               (status = open_bounds(problem, control, &bounds, err)));
        status = status ? status : find_fastest(problem, bounds, ranking, err);
    }
    if (!status && ranking->by_bounds && ranking->count == 0) {
        rk_candidate nearest = {.index = UINT64_MAX};
        status = rk_rank_misfits(problem, 1, control, &nearest, ranking, err);
    } else if (!status && ranking->count == 0) {
        rk_ranking_clear(ranking);
        status = rk_rank_strategies(problem, kind, 1, team, control, ranking, err);
        status = status ? status : make_room(ranking, err);
    }
    if (!status && ranking->count > 0 && ranking->candidates[0].risky) {
        ranking->kinds[0] = 1; /* nothing is within the risk */
    } else if (!status && ranking->count > 0) {
        status = bounds ? RK_OK : open_bounds(problem, control, &bounds, err);
        status = status ? status : add_alternatives(problem, bounds, ranking, err);
    }
    rk_plan_bounds_close(bounds);
    return status;
}
