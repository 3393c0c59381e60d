/* SPDX-License-Identifier: Apache-2.0 */
/* Places the six passes of a V-shaped building block, and derives orders and peak activations. */
#include "schedule/v_block.h"

#include <assert.h>

enum { TICKS = 6 }; /* of a microbatch, one per step */

/* The steps of a microbatch on a rank. */
static const struct {
    rk_step_kind kind;
    int chunk;
} steps[TICKS] = {
    {RK_STEP_FORWARD, 0}, {RK_STEP_FORWARD, 1}, {RK_STEP_INPUT, 1},
    {RK_STEP_INPUT, 0},   {RK_STEP_WEIGHT, 1},  {RK_STEP_WEIGHT, 0},
};
enum { FORWARD_0, FORWARD_1, INPUT_1, INPUT_0, WEIGHT_1, WEIGHT_0 };

/* Ticks of the steps of microbatch 0 on a rank, and the step of each tick modulo six. */
struct plan {
    int64_t at[TICKS];
    int step[TICKS];
};

/* The first free tick after `at`, which is taken. */
static int64_t take_after(struct plan *plan, int64_t at, int step)
{
    do {
        at++;
    } while (plan->step[at % TICKS] >= 0);
    plan->step[at % TICKS] = step;
    return at;
}

/* Weight gradients take the two remaining ticks: the later backward gets the nearer one. */
static struct plan plan_rank(const rk_v_block *b, int64_t ranks, int64_t rank)
{
    assert(rank >= 0 && rank < ranks);
    const int64_t before = rank, after = ranks - 1 - rank;
    struct plan plan = {.step = {-1, -1, -1, -1, -1, -1}};
    plan.at[FORWARD_0] = before * b->forward[0];
    plan.at[FORWARD_1] = (ranks - 1) * b->forward[0] + b->turn + after * b->forward[1];
    plan.at[INPUT_1] =
        (ranks - 1) * (b->forward[0] + b->forward[1]) + b->turn + b->loss + before * b->backward[1];
    plan.at[INPUT_0] = (ranks - 1) * (b->forward[0] + b->forward[1] + b->backward[1]) + b->turn +
                       b->loss + b->back + after * b->backward[0];
    for (int i = FORWARD_0; i <= INPUT_0; i++) {
        assert(plan.step[plan.at[i] % TICKS] < 0); /* a block whose steps do not collide */
        plan.step[plan.at[i] % TICKS] = i;
    }
    plan.at[WEIGHT_1] = take_after(&plan, plan.at[INPUT_1], WEIGHT_1);
    plan.at[WEIGHT_0] = take_after(&plan, plan.at[INPUT_0], WEIGHT_0);
    return plan;
}

static rk_v_block block_of(const rk_pipeline *pipeline)
{
    return rk_schedules[pipeline->kind]->block(pipeline->ranks);
}

void rk_v_block_write(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    const rk_v_block block = block_of(pipeline);
    const struct plan plan = plan_rank(&block, pipeline->ranks, rank);
    const int64_t end = plan.at[INPUT_0] + TICKS * (pipeline->microbatches + 1);
    for (int64_t tick = 0; tick < end; tick++) {
        const int step = plan.step[tick % TICKS];
        const int64_t ticks = tick - plan.at[step], microbatch = ticks / TICKS;
        if (ticks >= 0 && microbatch < pipeline->microbatches) {
            rk_order_add(order, steps[step].kind, steps[step].chunk, microbatch);
        }
    }
}

/* With these the peak of activations is reached; fewer microbatches keep less. */
rk_schedule_needs rk_v_block_needs(int64_t ranks)
{
    return (rk_schedule_needs){1, 2, 2, 1, ranks + 2};
}

/* Steps of a kind that run before a tick, with infinitely many microbatches. */
static int64_t count_before(const struct plan *plan, int step, int64_t tick)
{
    return tick > plan->at[step] ? (tick - plan->at[step] + TICKS - 1) / TICKS : 0;
}

double rk_v_block_in_flight(const rk_v_block *block, int64_t ranks, int64_t rank)
{
    const struct plan plan = plan_rank(block, ranks, rank);
    const int64_t steady = plan.at[INPUT_0] + TICKS;
    int64_t peak = 0;
    for (int64_t tick = steady; tick < steady + TICKS; tick++) {
        const int64_t kept =
            count_before(&plan, FORWARD_0, tick) + count_before(&plan, FORWARD_1, tick) -
            count_before(&plan, WEIGHT_0, tick) - count_before(&plan, WEIGHT_1, tick);
        peak = kept > peak ? kept : peak;
    }
    return (double)peak / 2;
}

/* The tick from which every rank runs a step of each kind in six ticks. */
static int64_t steady_tick(const rk_v_block *block, int64_t ranks)
{
    return plan_rank(block, ranks, 0).at[INPUT_0] + TICKS;
}

rk_schedule_round rk_v_block_round(const rk_pipeline *pipeline)
{
    const rk_v_block block = block_of(pipeline);
    const int64_t steady = steady_tick(&block, pipeline->ranks);
    return (rk_schedule_round){TICKS, 1, (steady + 2 * TICKS - 1) / TICKS};
}

int64_t rk_v_block_first_round(const rk_pipeline *pipeline, int64_t rank)
{
    const rk_v_block block = block_of(pipeline);
    const struct plan plan = plan_rank(&block, pipeline->ranks, rank);
    const int64_t steady = steady_tick(&block, pipeline->ranks);
    int64_t count = 0;
    for (int i = 0; i < TICKS; i++) {
        count += count_before(&plan, i, steady);
    }
    return count;
}
