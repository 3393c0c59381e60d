/* SPDX-License-Identifier: Apache-2.0 */
/* Step times of all lanes of a base strategy, with few pipeline simulations. */
#include "search/plan_clock.h"

#include "base/error.h"
#include "base/extremes.h"
#include "estimate/lower_bounds.h"
#include "estimate/step_overheads.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SAME_STEP 1e-4 /* relative difference below which steps count as equal */

/* Times of one set of blocks. */
struct rk_clock_times {
    uint64_t visit;            /* in which the rest was filled; otherwise it is stale */
    rk_chunk_times apart, one; /* with weight gradients apart, and in one with the backward */
    rk_chunk_times hidden;     /* under another microbatch */
};

/* One set of blocks as a chunk, but for its times, which are looked at far more often. */
struct rk_clock_piece {
    uint64_t kept;  /* the visit in which the stage was filled */
    rk_stage stage; /* what it keeps; the rest is not filled by rk_stage_run */
};

/* Likewise as a stage. */
struct rk_clock_stage {
    uint64_t visit; /* in which the stage was filled */
    rk_stage stage;
};

/* Traffic that the passes of a chunk wait for in one lane. */
struct rk_clock_wait {
    bool splits;  /* with weight gradients apart */
    double alone; /* rk_alone_share */
    rk_pass_traffic traffic;
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
    const size_t pieces = lists->piece_count + 1;
    *clock = (rk_plan_clock){.lists = lists};
    clock->pieces = calloc(pieces, sizeof(*clock->pieces));
    clock->piece_times = calloc(pieces, sizeof(*clock->piece_times));
    clock->held_times = calloc(lists->block_count + 1, sizeof(*clock->held_times));
    clock->held = calloc(lists->block_count + 1, sizeof(*clock->held));
    clock->chunks = calloc(most_chunks(lists), sizeof(*clock->chunks));
    clock->longer = calloc(most_chunks(lists), sizeof(*clock->longer));
    clock->sums = calloc(most_chunks(lists), sizeof(*clock->sums));
    /* few are ever filled, so that most of the memory is not touched */
    clock->waits = malloc(pieces * (size_t)lists->lane_count * sizeof(*clock->waits));
    clock->waited = calloc(pieces * (size_t)lists->lane_count, sizeof(*clock->waited));
    clock->first = calloc(lists->kinds.count + 1, sizeof(*clock->first));
    clock->idle = calloc(lists->kinds.count + 1, sizeof(*clock->idle));
    if (!clock->piece_times || !clock->held_times || !clock->first || !clock->idle ||
        !clock->pieces || !clock->held || !clock->waits || !clock->waited || !clock->chunks ||
        !clock->longer || !clock->sums) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the stages of a plan");
    }
    return rk_makespans_new(&clock->makespans, err);
}

void rk_plan_clock_clear(rk_plan_clock *clock)
{
    rk_makespans_free(clock->makespans);
    free(clock->pieces);
    free(clock->piece_times);
    free(clock->held_times);
    free(clock->held);
    free(clock->waits);
    free(clock->waited);
    free(clock->chunks);
    free(clock->longer);
    free(clock->sums);
    free(clock->idle);
    free(clock->first);
    *clock = (rk_plan_clock){.lists = NULL};
}

void rk_plan_clock_renew(rk_plan_clock *clock, const rk_cost_table *table)
{
    clock->table = table;
    clock->visit++;
    clock->send = -1;
}

void rk_plan_clock_turn(rk_plan_clock *clock, const rk_plan_pipe *pipe)
{
    clock->send = clock->pipe == pipe ? clock->send : -1;
    clock->pipe = pipe;
}

/* ---- blocks -------------------------------------------------------------------------------- */

/* Whether weight gradients are apart, and which share of the microbatches is alone. */
struct passes {
    bool splits;
    double alone;
};

static struct passes passes_of(const rk_strategy *strategy)
{
    return (struct passes){rk_stage_splits(strategy), rk_alone_share(strategy)};
}

/* Times of blocks, which are kept in `times`. */
static rk_chunk_times times_of(const rk_plan_clock *clock, const rk_stage_blocks *blocks,
                               const struct passes *passes, struct rk_clock_times *times)
{
    if (times->visit != clock->visit) {
        times->visit = clock->visit;
        times->apart = rk_chunk_times_of(clock->table, blocks, true);
        times->one = rk_chunk_times_of(clock->table, blocks, false);
        times->hidden = rk_chunk_hidden_of(clock->table, blocks);
    }
    rk_chunk_times with = passes->splits ? times->apart : times->one;
    if (passes->alone > 0) {
        rk_add_alone(&with, passes->alone, &times->hidden);
    }
    return with;
}

/* Times of a chunk of a kind of rank. */
static rk_chunk_times chunk_times(rk_plan_clock *clock, const rk_plan_base *base,
                                  const struct passes *passes, size_t kind, int chunk)
{
    const size_t place = clock->pipe->piece_first +
                         rk_plan_piece(clock->lists, base->shape, base->choice, kind, chunk);
    return times_of(clock, &clock->lists->pieces[place], passes, &clock->piece_times[place]);
}

/* What a piece keeps. */
static const rk_stage *piece_stage(rk_plan_clock *clock, size_t place)
{
    struct rk_clock_piece *piece = &clock->pieces[clock->pipe->piece_first + place];
    if (piece->kept != clock->visit) {
        piece->kept = clock->visit;
        rk_stage_keep(clock->table, &clock->lists->pieces[clock->pipe->piece_first + place],
                      &piece->stage);
    }
    return &piece->stage;
}

/* Copies the times of the first rank of each kind to the other ranks of that kind. */
static void spread_kinds(const rk_plan_clock *clock, const rk_plan_base *base,
                         rk_chunk_times *chunks)
{
    const rk_plan_shape *shape = base->shape;
    const int v = shape->chunks;
    for (int64_t r = 0; r < base->strategy.pp; r++) {
        const int64_t kind = clock->lists->ranks.items[shape->rank_first + (size_t)r];
        if (kind != r) {
            memcpy(&chunks[r * v], &chunks[kind * v], (size_t)v * sizeof(*chunks));
        }
    }
}

static void fill_chunks(rk_plan_clock *clock, const rk_plan_base *base)
{
    const rk_plan_shape *shape = base->shape;
    const int64_t *kinds = &clock->lists->kinds.items[shape->kind_first];
    const struct passes passes = passes_of(&base->strategy);
    for (size_t i = 0; i < shape->kind_count; i++) {
        rk_chunk_times *own = &clock->chunks[kinds[i] * shape->chunks];
        for (int j = 0; j < shape->chunks; j++) {
            own[j] = chunk_times(clock, base, &passes, i, j);
        }
    }
    spread_kinds(clock, base, clock->chunks);
}

/*
 * Fills what bounds need, at the first rank of each kind: its first and its last chunk, and the
 * sum of all.
 */
static void fill_ends(rk_plan_clock *clock, const rk_plan_base *base)
{
    const rk_plan_lists *l = clock->lists;
    const rk_plan_shape *shape = base->shape;
    const int64_t *kinds = &l->kinds.items[shape->kind_first];
    const struct passes passes = passes_of(&base->strategy);
    const int last = shape->chunks - 1;
    for (size_t i = 0; i < shape->kind_count; i++) {
        rk_chunk_times *own = &clock->chunks[kinds[i] * shape->chunks];
        const size_t held = clock->pipe->block_first + rk_plan_held(l, shape, base->choice, i);
        own[0] = chunk_times(clock, base, &passes, i, 0);
        if (last > 0) {
            own[last] = chunk_times(clock, base, &passes, i, last);
        }
        clock->sums[kinds[i]] =
            times_of(clock, &l->blocks[held], &passes, &clock->held_times[held]);
    }
}

/* Blocks, memory and times of a kind of rank of a base. */
static const rk_stage *plan_clock_stage(rk_plan_clock *clock, const rk_plan_base *base, size_t kind)
{
    const size_t place =
        clock->pipe->block_first + rk_plan_held(clock->lists, base->shape, base->choice, kind);
    struct rk_clock_stage *held = &clock->held[place];
    if (held->visit != clock->visit) {
        const rk_stage_blocks *blocks = &clock->lists->blocks[place];
        held->visit = clock->visit;
        rk_stage_keep(clock->table, blocks, &held->stage);
        rk_stage_run(clock->table, blocks, &held->stage);
    }
    return &held->stage;
}

/* ---- bases --------------------------------------------------------------------------------- */

/* Seconds of one message between stages, which is the same in all shapes of a pipeline degree. */
static double send_seconds(rk_plan_clock *clock, const rk_plan_base *base)
{
    if (clock->send < 0) {
        double bytes;
        clock->send = rk_send_seconds(clock->table, &base->strategy, &bytes);
    }
    return clock->send;
}

double rk_plan_clock_least(rk_plan_clock *clock, const rk_plan_base *base, double limit)
{
    rk_pipeline pipeline = rk_pipeline_of(&base->strategy, clock->chunks, 0);
    pipeline.sums = clock->sums;
    pipeline.alike = &clock->lists->ranks.items[base->shape->rank_first];
    fill_ends(clock, base);
    clock->least = rk_least_makespan(clock->table->context.stack, &base->strategy, &pipeline,
                                     send_seconds(clock, base), limit);
    return rk_least_step(clock->table, &base->strategy, &clock->least);
}

/* Seconds that ranks hold still for their messages in a step, at least. */
struct sends {
    double first, middle, last;
};

/* Of ranks that are neither first nor last, each sends as much. */
static struct sends sends_of(rk_plan_clock *clock, const rk_plan_base *base)
{
    const rk_pipeline pipeline = rk_pipeline_of(&base->strategy, NULL, 0);
    const double send = pipeline.ranks > 1 ? send_seconds(clock, base) : 0;
    if (send <= 0) {
        return (struct sends){0, 0, 0};
    }
    const double most = rk_overlapped_sends(clock->table->context.stack, &base->strategy, send);
    const double each = (double)pipeline.microbatches * send;
    return (struct sends){
        .first = rk_min(each * (double)rk_pipeline_sends(&pipeline, 0), most),
        .middle = rk_min(each * (double)rk_pipeline_sends(&pipeline, 1), most),
        .last = rk_min(each * (double)rk_pipeline_sends(&pipeline, pipeline.ranks - 1), most),
    };
}

/*
 * A step takes the lesser of two times: without messages and then what overlapped ones add, and
 * with all messages in the steps of their senders (rk_step_makespan).  Of both, the path that stays
 * on a rank is a bound.
 */
void rk_plan_clock_wait(rk_plan_clock *clock, const rk_plan_shape *shape, const rk_plan_base *base)
{
    const int64_t *kinds = &clock->lists->kinds.items[shape->kind_first];
    const int64_t *alike = &clock->lists->ranks.items[shape->rank_first];
    double *idle = &clock->idle[shape->kind_first], before = 0;
    const rk_schedule *schedule = rk_schedules[shape->schedule];
    memset(idle, 0, shape->kind_count * sizeof(*idle));
    if (!base || schedule->pairs) {
        return;
    }
    const struct passes passes = passes_of(&base->strategy);
    for (size_t i = 0; i < shape->kind_count; i++) {
        const rk_chunk_times first = chunk_times(clock, base, &passes, i, 0);
        clock->first[i] = first.forward + (schedule->splits ? 0 : first.backward + first.weight);
        clock->first[i] = schedule->rolls ? 0 : clock->first[i];
    }
    const struct sends sends = sends_of(clock, base);
    size_t kind = 0; /* of the rank before, which most are like */
    for (int64_t r = 0, end = base->strategy.pp - 1; r <= end; r++) {
        for (kind = kinds[kind] == alike[r] ? kind : 0; kinds[kind] != alike[r];) {
            kind++;
        }
        const double own = r == 0 ? sends.first : r == end ? sends.last : sends.middle;
        idle[kind] = rk_max(idle[kind], before + own);
        before += clock->first[kind];
    }
}

/* A set of lanes that share the times of their passes. */
struct pace {
    const rk_chunk_times *chunks; /* of all ranks */
    rk_step_ranks ranks;
    rk_makespan makespan; /* or what it is at least */
    bool late; /* some rank alone is busy beyond the limit; the rest is not filled then */
};

/* Traffic of a chunk in a lane, which is `number`. */
static const rk_pass_traffic *traffic_at(rk_plan_clock *clock, const rk_strategy *lane, int number,
                                         size_t place, const rk_chunk_times *passes)
{
    const size_t at = (clock->pipe->piece_first + place) * (size_t)clock->lists->lane_count +
                      (size_t)clock->lists->lanes[number].traffic;
    struct rk_clock_wait *wait = &clock->waits[at];
    const bool splits = rk_stage_splits(lane);
    const double alone = rk_alone_share(lane);
    if (clock->waited[at] != clock->visit || wait->splits != splits || wait->alone < alone ||
        wait->alone > alone) {
        clock->waited[at] = clock->visit;
        wait->splits = splits;
        wait->alone = alone;
        wait->traffic =
            rk_pass_traffic_of(clock->table, lane, piece_stage(clock, place), passes, NULL);
    }
    return &wait->traffic;
}

/* Lengthens the passes of a kind of rank by the traffic that they wait for. */
static rk_rank_traffic add_traffic(rk_plan_clock *clock, const rk_plan_base *base,
                                   const rk_strategy *lane, int number, size_t kind)
{
    const rk_plan_shape *shape = base->shape;
    const int v = shape->chunks;
    const size_t first = (size_t)clock->lists->kinds.items[shape->kind_first + kind] * (size_t)v;
    rk_rank_traffic sum = {.chunks = 0};
    for (int j = 0; j < v; j++) {
        const size_t place = rk_plan_piece(clock->lists, shape, base->choice, kind, j);
        rk_chunk_times *passes = &clock->longer[first + (size_t)j];
        *passes = clock->chunks[first + (size_t)j];
        const rk_pass_traffic *traffic = traffic_at(clock, lane, number, place, passes);
        rk_lengthen_passes(passes, traffic);
        rk_add_chunk_traffic(lane, traffic, &sum);
    }
    return sum;
}

/* Whether a rank that is `busy` seconds with a microbatch makes a step longer than the limit. */
static bool is_late(const rk_plan_clock *clock, const rk_strategy *lane, double busy, double limit)
{
    const double work = (double)rk_strategy_microbatches(lane) * busy;
    return work + rk_fixed_seconds(clock->table->context.stack, lane, work) > limit;
}

/*
 * The slowest and the heaviest rank of a lane of the base at hand; of equal ones the first.  The
 * number of a lane whose passes wait for nothing is of no account.
 */
static struct pace pace_of(rk_plan_clock *clock, const rk_plan_base *base, const rk_strategy *lane,
                           int number, double limit)
{
    const rk_plan_shape *shape = base->shape;
    const bool waits = rk_has_pass_traffic(lane);
    const rk_stage *slowest = NULL, *heaviest = NULL;
    struct pace pace = {.chunks = waits ? clock->longer : clock->chunks};
    rk_step_ranks *ranks = &pace.ranks;
    for (size_t i = 0; i < shape->kind_count; i++) {
        const int64_t rank = clock->lists->kinds.items[shape->kind_first + i];
        rk_rank_traffic traffic = {.chunks = 0};
        if (waits) {
            traffic = add_traffic(clock, base, lane, number, i);
            ranks->ends = i == 0 ? traffic.ends : ranks->ends; /* rank 0 is of the first kind */
        }
        const double busy = rk_rank_seconds(lane, &pace.chunks[rank * shape->chunks]);
        if (waits && is_late(clock, lane, busy, limit)) {
            pace.late = true;
            return pace;
        }
        const rk_stage *stage = plan_clock_stage(clock, base, i);
        const double params = stage->dense_params + stage->expert_params;
        if (!slowest || rk_busier(busy, ranks->busy)) {
            slowest = stage;
            ranks->busy = busy;
            ranks->traffic = traffic;
        }
        if (!heaviest || params > ranks->params) {
            heaviest = stage;
            ranks->params = params;
        }
    }
    ranks->slowest = *slowest;
    ranks->heaviest = *heaviest;
    if (waits) {
        spread_kinds(clock, base, clock->longer);
    }
    return pace;
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
    assert(number >= 0 && number < RK_PLAN_LANES);
    return (struct lane){
        .number = number,
        .offloads = offload_count(l->lanes[number].offloads),
        .hybrid = l->lanes[number].sharding.hybrid,
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

/* Inserts a lane among `count` sorted ones. */
static void insert(struct lane *lanes, int count, struct lane lane)
{
    assert(count < RK_PLAN_LANES);
    int at = count;
    for (; at > 0 && is_before(&lane, &lanes[at - 1]); at--) {
        lanes[at] = lanes[at - 1];
    }
    lanes[at] = lane;
}

/* Drops sorted lanes that are as fast as an earlier one. Returns how many remain. */
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

/* The lanes whose step with this makespan, which may be a bound, stays within the limit. */
static uint64_t within(const rk_plan_clock *clock, const rk_plan_base *base,
                       const struct pace *pace, uint64_t lanes, double limit,
                       double steps[RK_PLAN_LANES])
{
    rk_strategy strategy = base->strategy;
    uint64_t kept = 0;
    for (int i = 0; i < RK_PLAN_LANES && lanes >> i; i++) {
        if (lanes >> i & 1) {
            rk_plan_set_lane(clock->lists, i, &strategy);
            steps[i] = rk_step_seconds(clock->table, &strategy, &pace->ranks, &pace->makespan);
            kept |= (uint64_t)(steps[i] <= limit) << i;
        }
    }
    return kept;
}

/* Lanes whose passes wait for traffic. */
static uint64_t waiting_lanes(const rk_plan_clock *clock, const rk_plan_base *base, uint64_t lanes)
{
    rk_strategy strategy = base->strategy;
    uint64_t waiting = 0;
    for (int i = 0; i < RK_PLAN_LANES && lanes >> i; i++) {
        rk_plan_set_lane(clock->lists, i, &strategy);
        waiting |= (lanes & (uint64_t)rk_has_pass_traffic(&strategy) << i);
    }
    return waiting;
}

/* Lanes that have been timed, fastest first, and the makespan of each by its number. */
struct timed {
    struct lane sorted[RK_PLAN_LANES];
    rk_makespan makespans[RK_PLAN_LANES];
    int count;
    rk_plan_offer offer;
};

/* Adds the time of freeing and allocating memory again and again to a step that thrashes. */
static rk_status add_thrashing(const rk_plan_clock *clock, const rk_strategy *strategy,
                               const rk_makespan *makespan, double *step, rk_error *err)
{
    rk_estimate estimate;
    if (clock->table->context.stack->thrash_seconds <= 0) {
        return RK_OK;
    }
    const rk_status status = rk_estimate_with(
        clock->table, strategy, clock->lists->space->convention, makespan, &estimate, err);
    *step = status ? *step : estimate.step;
    return status;
}

/* Plays the schedule for lanes that share a pace. */
static rk_status time_lanes(rk_plan_clock *clock, const rk_plan_base *base, struct pace *pace,
                            uint64_t lanes, double limit, struct timed *out, rk_error *err)
{
    double steps[RK_PLAN_LANES];
    rk_status status = rk_step_makespan(clock->table, &base->strategy, pace->chunks,
                                        pace->ranks.busy, clock->makespans, &pace->makespan, err);
    if (status) {
        return status;
    }
    uint64_t fast = within(clock, base, pace, lanes, limit, steps);
    const uint64_t own = rk_plan_recipe_lanes(clock->lists, base->unit->recipe);
    out->offer.others |= fast & ~own;
    lanes &= own;
    fast &= own;
    rk_strategy strategy = base->strategy;
    for (int i = 0; i < RK_PLAN_LANES && lanes >> i && !status; i++) {
        out->offer.timed += lanes >> i & 1;
        if (fast >> i & 1) {
            rk_plan_set_lane(clock->lists, i, &strategy);
            status = add_thrashing(clock, &strategy, &pace->makespan, &steps[i], err);
        }
        if (fast >> i & 1 && !status) {
            out->makespans[i] = pace->makespan;
            insert(out->sorted, out->count++, lane_of(clock->lists, i, steps[i]));
        }
    }
    return status;
}

/* Lanes whose passes wait for no traffic, as far as their least step is within the limit. */
static uint64_t keep_plain(rk_plan_clock *clock, const rk_plan_base *base, uint64_t lanes,
                           double limit, struct pace *pace)
{
    rk_strategy plain = base->strategy;
    double steps[RK_PLAN_LANES];
    plain.sharding = RK_SHARD_NONE;
    plain.offload_activations = plain.offload_weights = false;
    *pace = pace_of(clock, base, &plain, 0, limit);
    pace->makespan = clock->least;
    return within(clock, base, pace, lanes, limit, steps);
}

/* Takes from `lanes`, whose passes wait for traffic, the first and those that send the same. */
static uint64_t take_alike(const rk_plan_lists *l, uint64_t *lanes)
{
    const int first = rk_first_lane(*lanes);
    uint64_t alike = 0;
    for (int i = first; *lanes >> i; i++) {
        alike |= *lanes & (uint64_t)(l->lanes[i].traffic == l->lanes[first].traffic) << i;
    }
    *lanes &= ~alike;
    return alike;
}

/* Likewise lanes whose passes wait for the same traffic. */
static uint64_t keep_waiting(rk_plan_clock *clock, const rk_plan_base *base, uint64_t lanes,
                             double limit, struct pace *pace)
{
    rk_strategy lane = base->strategy;
    double steps[RK_PLAN_LANES];
    const int number = rk_first_lane(lanes);
    rk_plan_set_lane(clock->lists, number, &lane);
    *pace = pace_of(clock, base, &lane, number, limit);
    if (pace->late) {
        return 0;
    }
    rk_pipeline pipeline = rk_pipeline_of(&lane, pace->chunks, 0);
    pipeline.alike = &clock->lists->ranks.items[base->shape->rank_first];
    pace->makespan = rk_least_makespan(clock->table->context.stack, &lane, &pipeline,
                                       send_seconds(clock, base), limit);
    return within(clock, base, pace, lanes, limit, steps);
}

static rk_status offer_lanes(const rk_plan_clock *clock, const rk_plan_base *base,
                             const struct timed *timed, int count, rk_top *top, rk_error *err)
{
    assert(count <= RK_PLAN_LANES);
    rk_plan_entry found = {.strategy = base->strategy};
    rk_status status = RK_OK;
    for (int i = 0; i < count && !status; i++) {
        const struct lane *lane = &timed->sorted[i];
        rk_plan_set_lane(clock->lists, lane->number, &found.strategy);
        status = rk_estimate_with(clock->table, &found.strategy, clock->lists->space->convention,
                                  &timed->makespans[lane->number], &found.estimate, err);
        assert(status || found.estimate.step == lane->step);
        status =
            status ? status
                   : rk_top_offer(top, -lane->step,
                                  base->index + (uint64_t)clock->lists->lanes[lane->number].number,
                                  &found, err);
    }
    return status;
}

uint64_t rk_plan_clock_within(rk_plan_clock *clock, const rk_plan_base *base, uint64_t lanes,
                              double limit)
{
    struct pace pace;
    fill_chunks(clock, base);
    uint64_t waiting = waiting_lanes(clock, base, lanes);
    const uint64_t plain = lanes & ~waiting;
    uint64_t kept = plain ? keep_plain(clock, base, plain, limit, &pace) : 0;
    while (waiting) {
        kept |= keep_waiting(clock, base, take_alike(clock->lists, &waiting), limit, &pace);
    }
    return kept;
}

rk_status rk_plan_clock_offer(rk_plan_clock *clock, const rk_plan_base *base, uint64_t lanes,
                              double limit, rk_top *top, rk_plan_offer *offer, rk_error *err)
{
    struct timed all; /* only what is timed is filled */
    struct pace pace;
    all.count = 0;
    all.offer = (rk_plan_offer){0};
    fill_chunks(clock, base);
    uint64_t waiting = waiting_lanes(clock, base, lanes);
    const uint64_t plain = lanes & ~waiting;
    uint64_t kept = plain ? keep_plain(clock, base, plain, limit, &pace) : 0;
    rk_status status = kept ? time_lanes(clock, base, &pace, kept, limit, &all, err) : RK_OK;
    while (waiting && !status) {
        kept = keep_waiting(clock, base, take_alike(clock->lists, &waiting), limit, &pace);
        status = kept ? time_lanes(clock, base, &pace, kept, limit, &all, err) : RK_OK;
    }
    *offer = all.offer;
    return status ? status
                  : offer_lanes(clock, base, &all, drop_variants(all.sorted, all.count), top, err);
}
