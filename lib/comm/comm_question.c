/* SPDX-License-Identifier: Apache-2.0 */
/* Times collectives on a group by the plans that are asked for. */
#include "comm/comm_question.h"

#include "base/error.h"
#include "base/list.h"
#include "comm/comm_place.h"
#include "system/nccl.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one collective -------------------------------------------------------------------------- */

double rk_comm_bus_factor(rk_collective op, double ranks)
{
    assert(ranks >= 1);
    switch (op) {
    case RK_COLL_ALL_REDUCE:
        return 2 * (ranks - 1) / ranks;
    case RK_COLL_REDUCE_SCATTER:
    case RK_COLL_ALL_GATHER:
    case RK_COLL_ALL_TO_ALL:
    case RK_COLL_SCATTER:
    case RK_COLL_GATHER:
        return (ranks - 1) / ranks;
    default:
        return 1;
    }
}

rk_collective_timing rk_comm_figures(const rk_system *system, rk_collective op, double bytes,
                                     const rk_group *group)
{
    const double seconds = rk_collective_seconds(system, op, bytes, group);
    const double speed = bytes / seconds;
    return (rk_collective_timing){
        .seconds = seconds,
        .algorithm_bytes_per_s = speed,
        .bus_bytes_per_s = speed * rk_comm_bus_factor(op, (double)group->size),
        .ranks = group->size,
        .ranks_of_innermost_domain = group->within[0],
    };
}

/* Of a message size; the busiest rank of an all-to-all may send more. */
static rk_collective_query query_of(const rk_comm_answer *answer, rk_collective op, double bytes)
{
    const int64_t chunks = answer->question->chunks;
    return (rk_collective_query){
        .system = answer->system,
        .group = &answer->group,
        .op = op,
        .bytes = bytes * (op == RK_COLL_ALL_TO_ALL ? answer->question->imbalance : 1),
        .chunks = chunks < 0    ? RK_CHUNKS_AS_MEASURED
                  : chunks == 0 ? RK_CHUNKS_BEST
                                : (int32_t)chunks,
    };
}

static void name_timing(rk_comm_timing *t)
{
    const rk_collective_plan *plan = &t->plan;
    if (plan->chunks > 0) {
        (void)snprintf(t->name, sizeof(t->name), "%s, chunks %d", plan->name, (int)plan->chunks);
    } else {
        (void)snprintf(t->name, sizeof(t->name), "%s%s%s", plan->name, plan->protocol ? ", " : "",
                       plan->protocol ? plan->protocol : "");
    }
}

static rk_status add_timing(rk_comm_answer *answer, rk_collective op, double bytes,
                            const rk_collective_plan *plan, rk_error *err)
{
    assert(answer->count <= answer->room && bytes >= 0);
    rk_comm_timing *timings =
        rk_list_grow(answer->timings, answer->count, &answer->room, sizeof(*timings));
    if (!timings) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the times of collectives");
    }
    answer->timings = timings;
    rk_comm_timing *t = &answer->timings[answer->count++];
    *t = (rk_comm_timing){.op = op, .bytes = bytes, .seconds = plan->seconds, .plan = *plan};
    t->algorithm = bytes / plan->seconds;
    t->bus = t->algorithm * rk_comm_bus_factor(op, (double)answer->ranks);
    name_timing(t);
    return RK_OK;
}

/* The usual plan, where it is faster than all that are listed; it has no phases to explain. */
static bool plan_usual(const rk_comm_answer *answer, const rk_collective_query *query,
                       double seconds, rk_collective_plan *plan)
{
    rk_collective_plan usual;
    const bool faster = !answer->question->explain &&
                        rk_find_collective_plan(query, RK_USUAL_NAME, &usual) &&
                        usual.seconds < seconds;
    if (faster) {
        *plan = usual;
    }
    return faster;
}

static rk_status add_all(rk_comm_answer *answer, const rk_collective_query *query, double bytes,
                         rk_error *err)
{
    rk_collective_plans all;
    rk_collective_plan usual;
    rk_status status = rk_list_collective_plans(query, &all, err);
    const double fastest = all.count > 0 ? all.plans[0].seconds : HUGE_VAL;
    if (!status && plan_usual(answer, query, fastest, &usual)) {
        status = add_timing(answer, query->op, bytes, &usual, err);
    }
    for (size_t i = 0; i < all.count && !status; i++) {
        status = add_timing(answer, query->op, bytes, &all.plans[i], err);
    }
    rk_collective_plans_clear(&all);
    return status;
}

/* The plans of one size: as in estimates, named, or all. */
static rk_status add_size(rk_comm_answer *answer, rk_collective op, double bytes, rk_error *err)
{
    const char *asked = answer->algorithm;
    const rk_collective_query query = query_of(answer, op, bytes);
    rk_collective_plan plan;
    if (!asked || strcmp(asked, "nccl") == 0) {
        rk_plan_collective(&query, &plan);
        if (asked) {
            rk_name_plan_by_nccl(&query, &plan);
        }
        return add_timing(answer, op, bytes, &plan, err);
    }
    if (strcmp(asked, "all") == 0) {
        return add_all(answer, &query, bytes, err);
    }
    const bool best = strcmp(asked, "best") == 0;
    bool found = rk_find_collective_plan(&query, best ? NULL : asked, &plan);
    found |= best && plan_usual(answer, &query, found ? plan.seconds : HUGE_VAL, &plan);
    return found ? add_timing(answer, op, bytes, &plan, err) : RK_OK;
}

static rk_status find_timings(rk_comm_answer *answer, rk_error *err)
{
    const rk_counts *sizes = &answer->question->sizes;
    rk_status status = RK_OK;
    for (int op = 0; rk_collective_names[op]; op++) {
        for (int i = 0; answer->question->ops >> op & 1 && i < sizes->count && !status; i++) {
            status = add_size(answer, (rk_collective)op, (double)sizes->values[i], err);
        }
    }
    return status;
}

/* ---- algorithms ------------------------------------------------------------------------------ */

static bool is_name(const char *asked, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(asked, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Sets the name that is asked for; refuses unknown ones. */
static rk_status find_algorithm(rk_comm_answer *answer, rk_error *err)
{
    static const char *const choices[] = {"best", "all", "nccl", NULL};
    const bool plans = answer->question->explain || answer->question->chunks >= 0;
    const char *asked = answer->question->algorithm ? answer->question->algorithm
                        : plans                     ? "best"
                                                    : NULL;
    char names[(RK_ALGORITHM_COUNT + RK_PLAN_NAME_COUNT) * 32];
    size_t length = 0;
    if (!asked) {
        return RK_OK;
    }
    answer->algorithm = is_name(asked, choices) ? asked : rk_collective_plan_name(asked);
    if (answer->algorithm) {
        return RK_OK;
    }
    for (int i = 0; i < RK_ALGORITHM_COUNT + RK_PLAN_NAME_COUNT; i++) {
        const char *name = i < RK_ALGORITHM_COUNT
                               ? rk_algorithms[i]->name
                               : rk_collective_plan_names[i - RK_ALGORITHM_COUNT];
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%.29s, ", name);
    }
    return rk_fail(err, RK_ERR_INVALID, "--algorithm must be %sbest, all or nccl, not '%s'", names,
                   asked);
}

/* The outermost tier that the group spans. */
static const rk_tier *outermost(const rk_comm_answer *answer)
{
    return &answer->system->tiers[rk_group_outermost(answer->system, &answer->group)];
}

/* Refuses algorithms that this group cannot use for any of the collectives. */
static rk_status check_algorithm(const rk_comm_answer *answer, rk_error *err)
{
    const char *asked =
        answer->question->algorithm ? answer->question->algorithm : answer->algorithm;
    rk_nccl_graph graph;
    if (!answer->algorithm) {
        return RK_OK;
    }
    if (strcmp(answer->algorithm, "nccl") == 0 &&
        !rk_nccl_graph_of(answer->system, &answer->group, &graph)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "NCCL's choice is known for even groups on NVIDIA's accelerators only; "
                       "--algorithm best takes the fastest");
    }
    if (answer->count > 0) {
        return RK_OK;
    }
    if (answer->question->chunks >= 0 && is_name(answer->algorithm, rk_collective_plan_names) &&
        strcmp(answer->algorithm, RK_AXES_NAME) != 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "'%s' uses all tiers at once and has no chunks; leave out --chunks, or name "
                       "an algorithm that runs tier by tier, such as ring",
                       asked);
    }
    if (strcmp(answer->algorithm, "in-network") == 0 && !outermost(answer)->in_network_reduce) {
        return rk_fail(
            err, RK_ERR_INVALID,
            "'%s' between the domains of this group needs switches that reduce "
            "(\"in_network_reduce\"), and %s has none; NVLS inside a node needs no option",
            answer->question->algorithm, outermost(answer)->name);
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "'%s' runs none of these collectives on %" PRId64
                   " ranks in %s; --algorithm all lists what does",
                   asked, answer->ranks, outermost(answer)->name);
}

/* ---- the question ---------------------------------------------------------------------------- */

/* The group, and the slice of a torus. */
static rk_status place(rk_comm_answer *answer, rk_system *system, rk_error *err)
{
    const rk_comm_question *q = answer->question;
    int64_t ranks = q->ranks;
    if (q->placement.count > 0) {
        return rk_comm_place_unevenly(system, &q->placement, &answer->group, &answer->ranks, err);
    }
    rk_status status = q->slice ? rk_comm_slice(system, q->slice, &ranks, err) : RK_OK;
    status = status ? status : rk_comm_place(system, ranks, q->stride, &answer->group, err);
    answer->ranks = answer->group.size;
    return status;
}

rk_status rk_comm_find(const rk_comm_question *question, rk_system *system, rk_comm_answer *answer,
                       rk_error *err)
{
    *answer = (rk_comm_answer){.question = question, .system = system};
    for (int i = 0; i < system->tier_count; i++) {
        system->tiers[i].bandwidth *=
            (rk_tier_is_fabric(&system->tiers[i]) ? question->fabric_share : 1) /
            (double)question->sharing;
    }
    rk_status status = find_algorithm(answer, err);
    if (!status && question->side_links && !rk_system_use_side_links(system)) {
        status =
            rk_fail(err, RK_ERR_INVALID,
                    "--side-links needs a tier with \"side_links\"; %s has none", system->name);
    }
    status = status ? status : place(answer, system, err);
    status = status ? status : find_timings(answer, err);
    status = status ? status : check_algorithm(answer, err);
    if (!status && question->with != RK_COLL_COUNT) {
        status = rk_comm_place(system,
                               question->with_ranks > 0 ? question->with_ranks : answer->group.size,
                               question->with_stride > 0 ? question->with_stride : question->stride,
                               &answer->with_group, err);
    }
    return status;
}

void rk_comm_answer_clear(rk_comm_answer *answer)
{
    free(answer->timings);
    answer->timings = NULL;
    answer->count = 0;
}

rk_comm_concurrent rk_comm_concurrent_of(const rk_comm_answer *answer, const rk_comm_timing *timing)
{
    const rk_comm_question *q = answer->question;
    const rk_collective_query query = query_of(answer, timing->op, timing->bytes);
    rk_collective_query second = query_of(
        answer, (rk_collective)q->with, q->with_bytes > 0 ? (double)q->with_bytes : timing->bytes);
    rk_collective_plan plan;
    assert(q->with != RK_COLL_COUNT && timing->seconds > 0);
    second.group = &answer->with_group;
    second.chunks = RK_CHUNKS_AS_MEASURED;
    rk_plan_collective(&second, &plan);
    rk_comm_concurrent both = {
        .one = rk_comm_flow_of(&query, timing->name, timing->seconds),
        .other = rk_comm_flow_of(&second, plan.name, plan.seconds),
    };
    both.pair = rk_comm_pair_of(&both.one, &both.other, answer->system->tier_count);
    return both;
}
