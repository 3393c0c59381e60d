/* SPDX-License-Identifier: Apache-2.0 */
/* Slices a search over the ranks of a team and merges top lists, counts and nearest misses. */
#include "method/team_search.h"

#include "base/error.h"
#include "base/top.h"
#include "work/parallel.h"
#include "work/shared_work.h"

#include <stdlib.h>
#include <string.h>

/*
 * Every slice builds its own lists and schedules, so the first ones are large, and the last ones
 * small, for all threads to end together.  For every thread there are two of each size, which it
 * may hold at once, half as large each time, and two more of the last size.
 */
#define SLICE_SIZES 4
#define COUNTS      3

/* A search in slices, whichever it is. */
struct shared {
    const rk_search_control *control;
    size_t top_n;
    uint64_t total; /* strategies */
    uint64_t fingerprint;
    /* Searches a slice: fills counts and top (empty, with its limit), and appends the rest. */
    rk_status (*search)(const struct shared *s, const rk_search_control *control,
                        uint64_t counts[COUNTS], rk_top *top, rk_bytes *rest, rk_error *err);
    /* Takes in the rest of a slice; NULL: there is none. */
    void (*add)(struct shared *s, rk_bytes_reader *rest);
    const void *inputs;
    void *outputs;
    size_t candidate_size;

    /* of rank 0 */
    uint64_t alike; /* slices of a size */
    uint64_t next;  /* slice */
    uint64_t taken; /* in slices of the last size */
    uint64_t counts[COUNTS];
    rk_top top;
};

/*
 * The first n slices have the units u with u mod 2 n < n, the next n those of the others with
 * u mod 4 n < 3 n, and so on: half of what is left each time.
 */
static rk_status next_slice(void *context, rk_bytes *task, rk_error *err)
{
    struct shared *s = context;
    const uint64_t turn = s->next / s->alike, place = s->next % s->alike;
    (void)err;
    if (turn <= SLICE_SIZES) {
        const double floor = rk_top_floor(&s->top);
        rk_bytes_add_number(task, ((UINT64_C(1) << turn) - 1) * s->alike + place);
        rk_bytes_add_number(task, s->alike << (turn < SLICE_SIZES ? turn + 1 : SLICE_SIZES));
        rk_bytes_add(task, &floor, sizeof(floor));
        s->next++;
    }
    return RK_OK;
}

static bool go_on(void *user, uint64_t done, uint64_t total)
{
    const atomic_bool *stop = user;
    (void)done;
    (void)total;
    return !atomic_load(stop);
}

static rk_status work(void *context, int worker, const rk_bytes *task, rk_bytes *result,
                      const atomic_bool *stop, rk_error *err)
{
    const struct shared *s = context;
    rk_bytes_reader reader = rk_bytes_read(task);
    const uint64_t slice = rk_bytes_take_number(&reader);
    const uint64_t slices = rk_bytes_take_number(&reader);
    double floor;
    rk_bytes_take(&reader, &floor, sizeof(floor));
    const rk_search_control control = {.threads = 1,
                                       .progress = go_on,
                                       .user = (void *)(uintptr_t)stop, /* is only read */
                                       .slice = slice,
                                       .slices = slices,
                                       .floor = &floor};
    uint64_t counts[COUNTS] = {0};
    rk_bytes rest = {0};
    rk_top top;
    (void)worker;
    rk_top_init(&top, s->top_n, s->candidate_size);
    const rk_status status = s->search(s, &control, counts, &top, &rest, err);
    rk_bytes_add(result, counts, sizeof(counts));
    rk_bytes_add_number(result, top.count);
    for (size_t i = 0; i < top.count; i++) {
        rk_bytes_add(result, &top.heap[i].score, sizeof(top.heap[i].score));
        rk_bytes_add_number(result, top.heap[i].index);
        rk_bytes_add(result, rk_top_payload(&top, i), s->candidate_size);
    }
    rk_bytes_add(result, rest.data, rest.size);
    result->failed = result->failed || rest.failed;
    rk_top_clear(&top);
    rk_bytes_clear(&rest);
    return status;
}

static rk_status take(void *context, const rk_bytes *task, const rk_bytes *result, rk_error *err)
{
    struct shared *s = context;
    rk_bytes_reader given = rk_bytes_read(task), reader = rk_bytes_read(result);
    unsigned char *candidate = malloc(s->candidate_size);
    rk_status status = RK_OK;
    if (!candidate) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a candidate");
    }
    for (size_t i = 0; i < COUNTS; i++) {
        s->counts[i] += rk_bytes_take_number(&reader);
    }
    const uint64_t count = rk_bytes_take_number(&reader);
    for (uint64_t i = 0; i < count && !status && !reader.failed; i++) {
        double score;
        rk_bytes_take(&reader, &score, sizeof(score));
        const uint64_t index = rk_bytes_take_number(&reader);
        rk_bytes_take(&reader, candidate, s->candidate_size);
        status = rk_top_offer(&s->top, score, index, candidate, err);
    }
    free(candidate);
    if (s->add) {
        s->add(s, &reader);
    }
    (void)rk_bytes_take_number(&given);
    s->taken += (s->alike << SLICE_SIZES) / rk_bytes_take_number(&given);
    return !status && reader.failed
               ? rk_fail(err, RK_ERR_INVALID, "a part of a search has arrived incomplete")
               : status;
}

static bool tick(void *context)
{
    const struct shared *s = context;
    return !s->control || !s->control->progress ||
           s->control->progress(s->control->user, s->total / (s->alike << SLICE_SIZES) * s->taken,
                                s->total);
}

/* Runs it; on rank 0 the counts are there then, and the top list is sorted. */
static rk_status run(struct shared *s, rk_team *team, rk_error *err)
{
    const rk_share_job job = {.context = s,
                              .work = work,
                              .next = next_slice,
                              .done = take,
                              .tick = tick,
                              .fingerprint = s->fingerprint};
    const int asked = s->control ? s->control->threads : 0;
    const int threads = asked > 0 ? asked : rk_core_count();
    s->alike = 2 * (uint64_t)threads * (uint64_t)team->size;
    rk_top_init(&s->top, s->top_n, s->candidate_size);
    const rk_status status = rk_share_run(&job, team, threads, err);
    rk_top_sort(&s->top);
    return status;
}

/* ---- plans ----------------------------------------------------------------------------------- */

struct plan_inputs {
    const rk_model *model;
    const rk_system *system;
    const rk_stack *stack;
    const rk_plan_space *space;
};

/* The least memory of a slice goes with the strategy that needs it. */
static rk_status search_plan(const struct shared *s, const rk_search_control *control,
                             uint64_t counts[COUNTS], rk_top *top, rk_bytes *rest, rk_error *err)
{
    const struct plan_inputs *in = s->inputs;
    rk_planned_strategy nearest, *planned = calloc(s->top_n + 1, sizeof(*planned));
    rk_plan_counts found_counts = {0};
    size_t count = 0;
    if (!planned) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the ranking");
    }
    rk_status status = rk_plan_search(in->model, in->system, in->stack, in->space, control,
                                      s->top_n, planned, &count, &nearest, &found_counts, err);
    for (size_t i = 0; i < count && !status; i++) {
        status = rk_top_offer(top, -planned[i].estimate.step, planned[i].index, &planned[i], err);
    }
    counts[0] = found_counts.enumerated;
    counts[1] = found_counts.legal;
    counts[2] = found_counts.fitting;
    rk_bytes_add(rest, &nearest, sizeof(nearest));
    free(planned);
    return status;
}

/* As the search orders them: less memory first, then lower place in the enumeration. */
static void add_nearest(struct shared *s, rk_bytes_reader *rest)
{
    rk_planned_strategy found, *least = s->outputs;
    rk_bytes_take(rest, &found, sizeof(found));
    if (found.index != UINT64_MAX &&
        (least->index == UINT64_MAX || found.needed < least->needed ||
         (found.needed == least->needed && found.index < least->index))) {
        *least = found;
    }
}

/* Numbers of the inputs that a rank with other documents would hardly share. */
static uint64_t plan_fingerprint(const struct plan_inputs *in, uint64_t total)
{
    const rk_system *system = in->system;
    const double numbers[] = {(double)rk_model_params_of(in->model).total,
                              (double)rk_model_params_of(in->model).active,
                              (double)in->model->seq,
                              system->accelerator.gemm[RK_BF16].peak,
                              system->accelerator.memory_usable,
                              in->space->risk,
                              system->tier_count ? system->tiers[0].bandwidth : 0,
                              system->tier_count ? system->tiers[system->tier_count - 1].bandwidth
                                                 : 0,
                              (double)total};
    return rk_share_fingerprint_of(numbers, sizeof(numbers));
}

rk_status rk_plan_search_shared(rk_team *team, const rk_model *model, const rk_system *system,
                                const rk_stack *stack, const rk_plan_space *space,
                                const rk_search_control *control, size_t top_n,
                                rk_planned_strategy *planned, size_t *found,
                                rk_planned_strategy *nearest, rk_plan_counts *counts, rk_error *err)
{
    const struct plan_inputs inputs = {model, system, stack, space};
    rk_planned_strategy least = {.index = UINT64_MAX};
    struct shared s = {.control = control,
                       .top_n = top_n,
                       .search = search_plan,
                       .add = add_nearest,
                       .inputs = &inputs,
                       .outputs = &least,
                       .candidate_size = sizeof(rk_planned_strategy)};
    if (!team) {
        return rk_plan_search(model, system, stack, space, control, top_n, planned, found, nearest,
                              counts, err);
    }
    *found = 0;
    *counts = (rk_plan_counts){0};
    rk_status status = rk_plan_count(model, system, space, &s.total, err);
    if (status) {
        rk_share_leave(team, err);
        return status;
    }
    s.fingerprint = plan_fingerprint(&inputs, s.total);
    status = run(&s, team, err);
    if (!status && team->rank == 0) {
        *found = s.top.count;
        *counts = (rk_plan_counts){s.counts[0], s.counts[1], s.counts[2]};
        for (size_t i = 0; i < s.top.count; i++) {
            memcpy(&planned[i], rk_top_payload(&s.top, i), sizeof(*planned));
            planned[i].strategy.layout = space->base.layout; /* a pointer of this process */
        }
        least.strategy.layout = space->base.layout;
        if (nearest) {
            *nearest = least;
        }
    }
    rk_top_clear(&s.top);
    return status;
}

/* ---- the Calculon methodology ---------------------------------------------------------------- */

struct calculon_inputs {
    const rk_calculon_app *app;
    const rk_calculon_sys *sys;
    const rk_calculon_space *space;
};

static rk_status search_calculon(const struct shared *s, const rk_search_control *control,
                                 uint64_t counts[COUNTS], rk_top *top, rk_bytes *rest,
                                 rk_error *err)
{
    const struct calculon_inputs *in = s->inputs;
    rk_calculon_ranked *ranked = calloc(s->top_n + 1, sizeof(*ranked));
    rk_search_counts found = {0};
    size_t count = 0;
    (void)rest;
    if (!ranked) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the ranking");
    }
    rk_status status = rk_calculon_search(in->app, in->sys, in->space, control, s->top_n, ranked,
                                          &count, &found, err);
    for (size_t i = 0; i < count && !status; i++) {
        status = rk_top_offer(top, ranked[i].sample_rate, ranked[i].index, &ranked[i].exe, err);
    }
    counts[0] = found.executed;
    counts[1] = found.good;
    counts[2] = found.bad;
    free(ranked);
    return status;
}

static uint64_t calculon_fingerprint(const struct calculon_inputs *in, uint64_t total)
{
    const rk_calculon_app *app = in->app;
    const rk_calculon_sys *sys = in->sys;
    const double numbers[] = {(double)app->hidden,
                              (double)app->feedforward,
                              (double)app->seq_size,
                              (double)app->num_blocks,
                              sys->mem1.capacity,
                              sys->mem2.capacity,
                              sys->matrix[in->space->datatype].peak,
                              sys->network_count ? sys->networks[0].bandwidth : 0,
                              sys->network_count ? sys->networks[sys->network_count - 1].bandwidth
                                                 : 0,
                              (double)total};
    return rk_share_fingerprint_of(numbers, sizeof(numbers));
}

rk_status rk_calculon_search_shared(rk_team *team, const rk_calculon_app *app,
                                    const rk_calculon_sys *sys, const rk_calculon_space *space,
                                    const rk_search_control *control, size_t top_n,
                                    rk_calculon_ranked *ranked, size_t *ranked_count,
                                    rk_search_counts *counts, rk_error *err)
{
    const struct calculon_inputs inputs = {app, sys, space};
    struct shared s = {.control = control,
                       .top_n = top_n,
                       .search = search_calculon,
                       .inputs = &inputs,
                       .candidate_size = sizeof(rk_calculon_exe)};
    if (!team) {
        return rk_calculon_search(app, sys, space, control, top_n, ranked, ranked_count, counts,
                                  err);
    }
    *ranked_count = 0;
    *counts = (rk_search_counts){0};
    rk_status status = rk_calculon_space_count(app, sys, space, &s.total, err);
    if (status) {
        rk_share_leave(team, err);
        return status;
    }
    s.fingerprint = calculon_fingerprint(&inputs, s.total);
    status = run(&s, team, err);
    if (!status && team->rank == 0) {
        *ranked_count = s.top.count;
        *counts = (rk_search_counts){s.counts[0], s.counts[1], s.counts[2]};
        for (size_t i = 0; i < s.top.count; i++) {
            memcpy(&ranked[i].exe, rk_top_payload(&s.top, i), sizeof(ranked[i].exe));
            ranked[i].sample_rate = s.top.heap[i].score;
            ranked[i].index = s.top.heap[i].index;
        }
    }
    rk_top_clear(&s.top);
    return status;
}
