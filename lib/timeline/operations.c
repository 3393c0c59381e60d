/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the operations of every pipeline rank, adds the end of the step, and writes the table. */
#include "timeline/operations.h"

#include "base/error.h"
#include "base/list.h"
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *const rk_op_kind_names[] = {"forward", "backward", "weight", NULL};

/* ---- filling ------------------------------------------------------------------------------- */

/* Records the operations of a schedule as they are played. */
struct taker {
    rk_timeline *timeline;
    bool failed; /* no memory */
};

static void take(void *user, const rk_op *op)
{
    struct taker *taker = user;
    rk_timeline *t = taker->timeline;
    rk_op *ops = rk_list_grow(t->ops, t->op_count, &t->op_room, sizeof(*ops));
    taker->failed |= !ops;
    t->ops = ops ? ops : t->ops;
    if (!taker->failed) {
        t->ops[t->op_count++] = *op;
    }
}

static int compare_ops(const void *a, const void *b)
{
    const rk_op *one = a, *other = b;
    if (one->rank != other->rank) {
        return one->rank < other->rank ? -1 : 1;
    }
    if (one->start < other->start || one->start > other->start) {
        return one->start < other->start ? -1 : 1;
    }
    return (one->kind > other->kind) - (one->kind < other->kind);
}

static void add_after(rk_timeline *t, rk_part part, const char *name, double seconds)
{
    if (seconds > 0) {
        t->after[t->after_count++] = (rk_timeline_after){part, name, seconds};
    }
}

/* The parts of a step outside the pipeline; with it they add up to the step. */
static void fill_after(rk_timeline *t, const rk_estimate *e, const rk_times *outside)
{
    static const rk_part parts[] = {RK_PART_DP, RK_PART_OPTIMIZER, RK_PART_OFFLOAD};
    if (t->strategy->pp_overlap) {
        add_after(t, RK_PART_PP, rk_part_names[RK_PART_PP], e->times.part[RK_PART_PP]);
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        add_after(t, parts[i], rk_part_names[parts[i]], outside->part[parts[i]]);
    }
    add_after(t, RK_PART_FIXED, rk_part_names[RK_PART_FIXED], e->times.part[RK_PART_FIXED]);
    add_after(t, RK_PART_COUNT, "norm gradients and casts",
              outside->part[RK_PART_TP] + outside->part[RK_PART_CAST]);
    t->figures.step_s = e->step;
    t->figures.events = (int64_t)t->op_count + t->after_count;
}

rk_status rk_timeline_fill(const rk_model *model, const rk_system *system, const rk_stack *stack,
                           const rk_strategy *strategy, const rk_estimate *estimate,
                           rk_timeline *timeline, rk_error *err)
{
    struct taker taker = {.timeline = timeline};
    *timeline = (rk_timeline){
        .strategy = strategy,
        .idle = calloc((size_t)strategy->pp, sizeof(double)),
        .in_flight = calloc((size_t)strategy->pp, sizeof(double)),
    };
    rk_pipeline_result result = {.idle = timeline->idle, .in_flight = timeline->in_flight};
    rk_times outside;
    rk_status status = RK_OK;
    if (timeline->idle && timeline->in_flight) {
        status =
            rk_estimate_visit(model, system, stack, strategy, &result, &outside, take, &taker, err);
    }
    if (!status) {
        status = rk_streams_fill(model, system, stack, strategy, &timeline->streams, err);
    }
    if (!timeline->idle || !timeline->in_flight || taker.failed) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the operations of a step");
    }
    if (!status) {
        qsort(timeline->ops, timeline->op_count, sizeof(*timeline->ops), compare_ops);
        timeline->figures = (rk_timeline_facts){
            .pipeline_s = result.seconds,
            .ranks = strategy->pp,
            .microbatches = rk_strategy_microbatches(strategy),
        };
        fill_after(timeline, estimate, &outside);
    }
    return status;
}

void rk_timeline_clear(rk_timeline *timeline)
{
    free(timeline->ops);
    free(timeline->idle);
    free(timeline->in_flight);
    rk_streams_clear(&timeline->streams);
    *timeline = (rk_timeline){0};
}

size_t rk_timeline_first(const rk_timeline *timeline, int64_t rank)
{
    assert(rank >= 0);
    size_t low = 0, high = timeline->op_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (timeline->ops[middle].rank < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- events -------------------------------------------------------------------------------- */

static rk_timeline_event event_of_op(const rk_timeline *timeline, const rk_op *op)
{
    const bool pairs = rk_timeline_pairs_passes(timeline);
    double seconds[RK_STREAM_COUNT];
    rk_timeline_communication(timeline, op, seconds);
    return (rk_timeline_event){
        .rank = op->rank,
        .stream = pairs && op->kind != RK_OP_FORWARD ? "backward" : "compute",
        .kind = rk_op_kind_names[op->kind],
        .chunk = op->chunk,
        .micro_batch = op->microbatch,
        .start_s = op->start,
        .duration_s = op->end - op->start,
        .tensor_s = seconds[RK_STREAM_TP],
        .context_s = seconds[RK_STREAM_CP],
        .expert_s = seconds[RK_STREAM_EP],
    };
}

static const char *stream_of_part(rk_part part)
{
    return part == RK_PART_DP        ? "dp"
           : part == RK_PART_PP      ? "pp"
           : part == RK_PART_OFFLOAD ? "host"
                                     : "compute";
}

/* An event after the pipeline; these follow each other. */
static rk_timeline_event event_after(const rk_timeline *timeline, int index)
{
    double start = timeline->figures.pipeline_s;
    for (int i = 0; i < index; i++) {
        start += timeline->after[i].seconds;
    }
    return (rk_timeline_event){
        .rank = -1,
        .stream = stream_of_part(timeline->after[index].part),
        .kind = timeline->after[index].name,
        .chunk = -1,
        .micro_batch = -1,
        .start_s = start,
        .duration_s = timeline->after[index].seconds,
    };
}

bool rk_timeline_event_at(const rk_timeline *timeline, size_t index, rk_timeline_event *event)
{
    const size_t after = index - timeline->op_count; /* of the operations */
    if (index >= timeline->op_count + (size_t)timeline->after_count) {
        return false;
    }
    *event = index < timeline->op_count ? event_of_op(timeline, &timeline->ops[index])
                                        : event_after(timeline, (int)after);
    return true;
}

/* ---- writing ------------------------------------------------------------------------------- */

const char *rk_timeline_op_name(const rk_timeline *timeline, const rk_op *op,
                                char out[RK_OP_NAME_SIZE])
{
    static const char letters[] = "FBW";
    const char letter = letters[op->kind];
    if (timeline->strategy->vp > 1 ||
        rk_schedules[timeline->strategy->schedule]->placement == RK_PLACEMENT_V) {
        (void)snprintf(out, RK_OP_NAME_SIZE, "%c %" PRId32 ".%" PRId32, letter, op->microbatch,
                       op->chunk);
    } else {
        (void)snprintf(out, RK_OP_NAME_SIZE, "%c %" PRId32, letter, op->microbatch);
    }
    return out;
}

void rk_timeline_write_table(const rk_timeline *timeline, rk_out *out)
{
    rk_out_text(out, "rank,kind,chunk,microbatch,start_s,end_s\n");
    for (size_t i = 0; i < timeline->op_count; i++) {
        const rk_op *op = &timeline->ops[i];
        char start[RK_NUMBER_TEXT_SIZE], end[RK_NUMBER_TEXT_SIZE];
        rk_out_printf(out, "%" PRId32 ",%s,%" PRId32 ",%" PRId32 ",%s,%s\n", op->rank,
                      rk_op_kind_names[op->kind], op->chunk, op->microbatch,
                      rk_double_text(op->start, start), rk_double_text(op->end, end));
    }
}
