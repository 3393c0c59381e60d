/* SPDX-License-Identifier: Apache-2.0 */
/* Handing out a sweep: small points are grouped, large searches are cut into slices. */
#include "sweep/doc_parts.h"
#include "sweep/run.h"

#include <stdlib.h>

#define SLICES_MAX 64 /* of one search */

/* A point that is too large for a block, and the part read. */
struct next_point {
    uint64_t number, strategies;
    bool kept, finished;
};

static void begin_task(rk_bytes *task, enum rk_sweep_task_kind kind, uint64_t place,
                       uint64_t strategies)
{
    rk_bytes_add_number(task, (uint64_t)kind);
    rk_bytes_add_number(task, place);
    rk_bytes_add_number(task, strategies);
}

/* Hands out a slice of a search that was cut, if one is left. */
static bool give_slice(rk_sweep_running *run, rk_bytes *task)
{
    for (struct rk_sweep_cut *cut = run->cut; cut; cut = cut->next) {
        if (cut->given < cut->slices) {
            begin_task(task, RK_SWEEP_SLICE, cut->place,
                       cut->round == 0 ? cut->strategies / cut->slices : 0);
            rk_bytes_add_number(task, cut->number);
            rk_bytes_add_number(task, cut->round);
            rk_bytes_add_number(task, cut->given++);
            rk_bytes_add_number(task, cut->slices);
            const double floor = rk_top_floor(&cut->found.top);
            rk_bytes_add(task, &floor, sizeof(floor));
            return true;
        }
    }
    return false;
}

static rk_status cut_search(rk_sweep_running *run, const struct next_point *point, rk_error *err)
{
    const uint64_t slices = point->strategies / run->table.method->slice;
    struct rk_sweep_cut *cut = calloc(1, sizeof(*cut));
    if (!cut) {
        return rk_sweep_fail_memory(err);
    }
    *cut = (struct rk_sweep_cut){.number = point->number,
                                 .strategies = point->strategies,
                                 .slices = slices < SLICES_MAX ? slices : SLICES_MAX,
                                 .next = run->cut};
    run->cut = cut;
    rk_point_result_start(&run->reader, 0, &cut->found);
    return rk_sweep_writer_reserve(&run->writer, point->number, point->number, false, &cut->place,
                                   err);
}

/* Reads as much of the next point as is needed to hand it out. */
static rk_status look_at(rk_sweep_running *run, uint64_t number, struct next_point *point,
                         rk_error *err)
{
    *point = (struct next_point){.number = number,
                                 .kept = true,
                                 .strategies = 1,
                                 .finished = rk_sweep_writer_has(&run->writer, number)};
    /* estimates are small and alike; the worker finds out whether the point is dropped */
    return run->doc->mode.estimate
               ? RK_OK
               : rk_sweep_worker_look(&run->reader, number, &point->kept, &point->strategies, err);
}

static bool is_cut(const rk_sweep_running *run, const struct next_point *point)
{
    const uint64_t slice = run->table.method->slice;
    return run->shared && slice > 0 && !run->doc->mode.bounded && point->strategies >= 2 * slice;
}

/* Skips dropped and finished points. *found: the next point is neither. */
static rk_status skip_points(rk_sweep_running *run, struct next_point *point, bool *found,
                             rk_error *err)
{
    rk_status status = RK_OK;
    *found = false;
    while (run->next < run->totals->points && status == RK_OK && !*found) {
        status = look_at(run, run->next, point, err);
        if (status != RK_OK) {
            break;
        }
        if (point->kept && !point->finished) {
            *found = true;
            break;
        }
        if (point->finished) {
            uint64_t place;
            run->progress.resumed += point->strategies;
            run->progress.done += point->strategies;
            status = rk_sweep_writer_reserve(&run->writer, run->next, run->next, true, &place, err);
        }
        run->progress.points_done++;
        run->next++;
    }
    return status;
}

/* Groups neighbouring points until they are worth a task. */
static rk_status give_block(rk_sweep_running *run, struct next_point point, rk_bytes *task,
                            rk_error *err)
{
    uint64_t numbers[RK_SWEEP_BLOCK_POINTS], strategies = 0;
    size_t count = 0;
    bool found = true;
    rk_status status = RK_OK;
    while (found && count < run->block_size && strategies < run->block && status == RK_OK &&
           !is_cut(run, &point)) {
        numbers[count++] = point.number;
        strategies += point.strategies;
        run->next++;
        found = run->next < run->totals->points;
        if (found && count < run->block_size && strategies < run->block) {
            status = look_at(run, run->next, &point, err);
            found = point.kept && !point.finished;
        }
    }
    uint64_t place = 0;
    if (status == RK_OK) {
        status = rk_sweep_writer_reserve(&run->writer, numbers[0], numbers[count - 1], false,
                                         &place, err);
    }
    begin_task(task, RK_SWEEP_POINTS, place, strategies);
    for (size_t i = 0; i < count; i++) {
        rk_bytes_add_number(task, numbers[i]);
    }
    return status;
}

rk_status rk_sweep_next_task(void *context, rk_bytes *task, rk_error *err)
{
    rk_sweep_running *run = context;
    struct next_point point;
    bool found = false;
    if (give_slice(run, task) || rk_sweep_writer_is_full(&run->writer)) {
        return RK_OK;
    }
    rk_status status = skip_points(run, &point, &found, err);
    if (status != RK_OK || !found) {
        return status;
    }
    if (!is_cut(run, &point)) {
        return give_block(run, point, task, err);
    }
    run->next++;
    status = cut_search(run, &point, err);
    return status == RK_OK && !give_slice(run, task) ? rk_sweep_fail_memory(err) : status;
}
