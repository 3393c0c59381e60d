/* SPDX-License-Identifier: Apache-2.0 */
#include "search/plan_clock.h"

#include "base/error.h"
#include "estimate/least.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SAME_STEP 1e-4 /* relative difference of steps that are as good as equal */

/* Times of one set of blocks as a chunk. */
struct rk_clock_piece {
    uint64_t visit;            /* in which the rest was filled; another: not yet */
    rk_chunk_times apart, one; /* with weight gradients apart, and in one with the backward */
};

/* One set of blocks as a stage. */
struct rk_clock_stage {
    uint64_t visit;
    rk_stage stage;
};

static size_t most_chunks(const rk_plan_lists *lists)
{
    size_t most = 1;
    for (size_t i = 0; i < lists->pipe_count; i++) {
        const rk_plan_pipe *pipe = &lists->pipes[i];
        for (size_t j = 0; j < pipe->shape_count; j++) {
            const rk_plan_shape *shape = &lists->shapes[pipe->shape_first + j];
            const size_t chunks = (size_t)pipe->pp * (size_t)shape->chunks;
            most = chunks > most ? chunks : most;
        }
    }
    return most;
}

rk_status rk_plan_clock_init(rk_plan_clock *clock, const rk_plan_lists *lists, rk_error *err)
{
    size_t pieces = 1, blocks = 1;
    for (size_t i = 0; i < lists->pipe_count; i++) {
        const rk_plan_pipe *pipe = &lists->pipes[i];
        pieces = pipe->piece_count > pieces ? pipe->piece_count : pieces;
        blocks = pipe->block_count > blocks ? pipe->block_count : blocks;
    }
    *clock = (rk_plan_clock){.lists = lists};
    clock->pieces = calloc(pieces, sizeof(*clock->pieces));
    clock->held = calloc(blocks, sizeof(*clock->held));
    clock->chunks = calloc(most_chunks(lists), sizeof(*clock->chunks));
    if (!clock->pieces || !clock->held || !clock->chunks) {
        return rk_fail(err, RK_ERR_MEMORY, "no memory for the stages of a plan");
    }
    return rk_makespans_new(&clock->makespans, err);
}

void rk_plan_clock_clear(rk_plan_clock *clock)
{
    rk_makespans_free(clock->makespans);
    free(clock->pieces);
    free(clock->held);
    free(clock->chunks);
    *clock = (rk_plan_clock){.lists = NULL};
}

void rk_plan_clock_turn(rk_plan_clock *clock, const rk_cost_table *table, const rk_plan_pipe *pipe)
{
    clock->table = table;
    clock->pipe = pipe;
    clock->visit++;
}

/* ---- blocks -------------------------------------------------------------------------------- */

static const rk_chunk_times *times_of(rk_plan_clock *clock, size_t place, bool splits)
{
    struct rk_clock_piece *piece = &clock->pieces[place];
    if (piece->visit != clock->visit) {
        const rk_stage_blocks *blocks = &clock->lists->pieces[clock->pipe->piece_first + place];
        piece->visit = clock->visit;
        piece->apart = rk_chunk_times_of(clock->table, blocks, true);
        piece->one = rk_chunk_times_of(clock->table, blocks, false);
    }
    return splits ? &piece->apart : &piece->one;
}

static void fill_chunks(rk_plan_clock *clock, const rk_plan_base *base)
{
    const rk_plan_lists *l = clock->lists;
    const rk_plan_shape *shape = base->shape;
    const int64_t *kinds = &l->kinds.items[shape->kind_first];
    const bool splits = rk_stage_splits(&base->strategy);
    const int v = shape->chunks;
    for (size_t i = 0; i < shape->kind_count; i++) {
        rk_chunk_times *own = &clock->chunks[kinds[i] * v];
        for (int j = 0; j < v; j++) {
            own[j] = *times_of(clock, rk_plan_piece(l, shape, base->choice, i, j), splits);
        }
    }
    for (int64_t r = 0; r < base->strategy.pp; r++) {
        const int64_t kind = l->ranks.items[shape->rank_first + (size_t)r];
        if (kind != r) {
            memcpy(&clock->chunks[r * v], &clock->chunks[kind * v],
                   (size_t)v * sizeof(*clock->chunks));
        }
    }
}

const rk_stage *rk_plan_clock_stage(rk_plan_clock *clock, const rk_plan_base *base, size_t kind)
{
    const size_t place = rk_plan_held(clock->lists, base->shape, base->choice, kind);
    struct rk_clock_stage *held = &clock->held[place];
    if (held->visit != clock->visit) {
        const rk_stage_blocks *blocks = &clock->lists->blocks[clock->pipe->block_first + place];
        held->visit = clock->visit;
        rk_stage_keep(clock->table, blocks, &held->stage);
        rk_stage_run(clock->table, blocks, &held->stage);
    }
    return &held->stage;
}

/* ---- bases --------------------------------------------------------------------------------- */

double rk_plan_clock_least(rk_plan_clock *clock, const rk_plan_base *base)
{
    fill_chunks(clock, base);
    clock->least = rk_least_makespan(clock->table, &base->strategy, clock->chunks);
    return rk_least_step(clock->table, &base->strategy, &clock->least);
}

/* The slowest and the heaviest rank of the base at hand; of equal ones the first. */
static rk_step_ranks find_ranks(rk_plan_clock *clock, const rk_plan_base *base)
{
    const rk_plan_shape *shape = base->shape;
    const rk_stage *slowest = NULL, *heaviest = NULL;
    rk_step_ranks ranks = {.busy = 0};
    for (size_t i = 0; i < shape->kind_count; i++) {
        const int64_t rank = clock->lists->kinds.items[shape->kind_first + i];
        const rk_stage *stage = rk_plan_clock_stage(clock, base, i);
        const double busy = rk_rank_seconds(&base->strategy, &clock->chunks[rank * shape->chunks]);
        const double params = stage->dense_params + stage->expert_params;
        if (!slowest || busy > ranks.busy) {
            slowest = stage;
            ranks.busy = busy;
        }
        if (!heaviest || params > ranks.params) {
            heaviest = stage;
            ranks.params = params;
        }
    }
    ranks.slowest = *slowest;
    ranks.heaviest = *heaviest;
    return ranks;
}

/* ---- lanes --------------------------------------------------------------------------------- */

struct lane {
    int number, offloads;
    bool hybrid;
    double step; /* s */
};

static int offload_count(unsigned offloads)
{
    return (int)(offloads & 1) + (int)(offloads >> 1 & 1) + (int)(offloads >> 2 & 1);
}

static struct lane lane_of(const rk_plan_lists *l, int number, double step)
{
    return (struct lane){
        .number = number,
        .offloads = offload_count(l->offloads[number % l->offload_count]),
        .hybrid = l->shardings[number / l->offload_count].hybrid,
        .step = step,
    };
}

static bool is_before(const struct lane *a, const struct lane *b)
{
    if (a->step != b->step) {
        return a->step < b->step;
    }
    return a->offloads != b->offloads ? a->offloads < b->offloads : a->number < b->number;
}

/* Puts a lane in its place among `count` that are sorted. */
static void insert(struct lane *lanes, int count, struct lane lane)
{
    int at = count;
    for (; at > 0 && is_before(&lane, &lanes[at - 1]); at--) {
        lanes[at] = lanes[at - 1];
    }
    lanes[at] = lane;
}

/* Keeps of sorted lanes those that are not as fast as one before them.  Returns how many. */
static int drop_variants(struct lane *lanes, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        bool differs = true;
        for (int j = 0; j < kept && differs; j++) {
            differs = lanes[j].hybrid != lanes[i].hybrid ||
                      lanes[i].step - lanes[j].step > SAME_STEP * lanes[j].step;
        }
        if (differs) {
            lanes[kept++] = lanes[i];
        }
    }
    return kept;
}

/* Those of `lanes` that take no longer than the limit with a makespan, which may be a bound. */
static uint64_t within(const rk_plan_clock *clock, const rk_plan_base *base,
                       const rk_step_ranks *ranks, const rk_makespan *makespan, uint64_t lanes,
                       double limit, double steps[RK_PLAN_LANES])
{
    rk_strategy strategy = base->strategy;
    uint64_t kept = 0;
    for (int i = 0; i < RK_PLAN_LANES && lanes >> i; i++) {
        if (lanes >> i & 1) {
            rk_plan_set_lane(clock->lists, i, &strategy);
            steps[i] = rk_step_seconds(clock->table, &strategy, ranks, makespan);
            kept |= (uint64_t)(steps[i] <= limit) << i;
        }
    }
    return kept;
}

rk_status rk_plan_clock_offer(rk_plan_clock *clock, const rk_plan_base *base, uint64_t lanes,
                              double limit, rk_top *top, uint64_t *timed, rk_error *err)
{
    const rk_step_ranks ranks = find_ranks(clock, base);
    rk_plan_found found = {.strategy = base->strategy};
    struct lane sorted[RK_PLAN_LANES];
    double steps[RK_PLAN_LANES];
    rk_makespan makespan;
    int count = 0;
    *timed = 0;
    lanes = within(clock, base, &ranks, &clock->least, lanes, limit, steps);
    if (!lanes) {
        return RK_OK;
    }
    rk_status status = rk_step_makespan(clock->table, &base->strategy, clock->chunks, ranks.busy,
                                        clock->makespans, &makespan, err);
    if (status) {
        return status;
    }
    const uint64_t fast = within(clock, base, &ranks, &makespan, lanes, limit, steps);
    for (int i = 0; i < RK_PLAN_LANES; i++) {
        *timed += lanes >> i & 1;
        if (fast >> i & 1) {
            insert(sorted, count++, lane_of(clock->lists, i, steps[i]));
        }
    }
    count = drop_variants(sorted, count);
    for (int i = 0; i < count && !status; i++) {
        rk_plan_set_lane(clock->lists, sorted[i].number, &found.strategy);
        rk_estimate_with(clock->table, &found.strategy, clock->lists->space->convention, &makespan,
                         &found.estimate);
        assert(found.estimate.step == sorted[i].step);
        status = rk_top_offer(top, -sorted[i].step, base->index + (uint64_t)sorted[i].number,
                              &found, err);
    }
    return status;
}
