/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates points on one thread, and packs their rows into bytes. */
#include "sweep/worker.h"

#include "base/error.h"
#include "io/csv_out.h"
#include "sweep/doc_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MORE_IN_A_ROUND 8 /* factor on the number of candidates from round to round */

/* ---- points ---------------------------------------------------------------------------------- */

rk_status rk_sweep_worker_init(rk_sweep_worker *worker, const rk_sweep_table *table, rk_error *err)
{
    *worker = (rk_sweep_worker){.table = table};
    rk_sweep_cursor_init(&worker->cursor, table->doc);
    const rk_status status = rk_sweep_state_init(&worker->state, &table->doc->mode, err);
    worker->inside = calloc(table->inside_count + table->count, sizeof(*worker->inside));
    worker->row = worker->inside ? worker->inside + table->inside_count : NULL;
    return status || worker->inside ? status : rk_sweep_fail_memory(err);
}

void rk_sweep_worker_clear(rk_sweep_worker *worker)
{
    if (worker->table) {
        rk_sweep_cursor_clear(&worker->cursor);
        rk_sweep_state_clear(&worker->state);
        free(worker->inside);
        rk_bytes_clear(&worker->text);
    }
    *worker = (rk_sweep_worker){0};
}

static rk_status fail_here(const rk_sweep_worker *worker, rk_status status, rk_error *err)
{
    return status == RK_OK || status == RK_ERR_STOPPED
               ? status
               : rk_sweep_doc_fail_at(worker->table->doc, worker->cursor.number, err);
}

rk_status rk_sweep_worker_read(rk_sweep_worker *worker, uint64_t number, bool *kept, rk_error *err)
{
    rk_sweep_cursor *cursor = &worker->cursor;
    rk_status status = rk_sweep_cursor_move(cursor, number, kept, err);
    if (status != RK_OK || !*kept) {
        return status;
    }
    const int64_t most = worker->state.reader->method->most_results;
    status = rk_sweep_state_read(&worker->state, cursor->root, cursor->changed, err);
    if (status == RK_OK && worker->state.point->top > most) {
        status = rk_fail_at(err, RK_ERR_LIMIT, "top", "at most %" PRId64 " results fit in a point",
                            most);
    }
    if (status == RK_OK) {
        cursor->changed = 0;
    }
    return fail_here(worker, status, err);
}

/* Strategies of the point that was read; 1 of an estimate. */
static rk_status count_strategies(rk_sweep_worker *worker, uint64_t *strategies, rk_error *err)
{
    *strategies = 1;
    return worker->table->doc->mode.estimate
               ? RK_OK
               : fail_here(worker, rk_sweep_state_count(&worker->state, strategies, err), err);
}

rk_status rk_sweep_worker_look(rk_sweep_worker *worker, uint64_t number, bool *kept,
                               uint64_t *strategies, rk_error *err)
{
    *strategies = 0;
    const rk_status status = rk_sweep_worker_read(worker, number, kept, err);
    return status == RK_OK && *kept ? count_strategies(worker, strategies, err) : status;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/*
 * Results to make from the candidates of a search in round `round` (from 0): the number grows as
 * long as constraints drop too many.
 */
static size_t results_wanted(const rk_sweep_worker *worker, unsigned round)
{
    const size_t most = RK_SWEEP_CANDIDATES_MAX;
    size_t wanted = (size_t)worker->state.point->top;
    for (unsigned i = 0; i < round && wanted < most; i++) {
        wanted *= MORE_IN_A_ROUND;
    }
    return round > 0 && wanted > most ? most : wanted;
}

void rk_point_result_start(const rk_sweep_worker *worker, unsigned round, rk_point_result *found)
{
    rk_top_clear(&found->top);
    *found = (rk_point_result){.reason = ""};
    rk_top_init(&found->top, results_wanted(worker, round),
                worker->state.reader->method->candidate_size);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Fills the output columns of a result whose inner columns are filled. */
static rk_status fill_row(rk_sweep_worker *worker, rk_error *err)
{
    const rk_sweep_table *table = worker->table;
    return rk_sweep_table_outputs(table, worker->inside, worker->cursor.root, table->point_count,
                                  table->count, err);
}

/* Appends a row. */
static void add_row(rk_sweep_worker *worker, rk_bytes *rows)
{
    const rk_sweep_table *table = worker->table;
    rk_sweep_rows_add(rows, worker->row, table->count);
    if (table->has_text) {
        rk_csv_add_line(&worker->text, worker->row, table->count);
    }
}

/* Appends rows for at most `worker->state.point->top` of `count` results; *kept: how many. */
static rk_status add_results(rk_sweep_worker *worker, const rk_top *top, size_t count,
                             rk_bytes *rows, uint64_t *kept, rk_error *err)
{
    assert(count <= top->count);
    const rk_sweep_table *table = worker->table;
    rk_status status = RK_OK;
    *kept = 0;
    for (size_t i = 0; i < count && *kept < (uint64_t)worker->state.point->top && status == RK_OK;
         i++) {
        bool keeps = false;
        worker->inside[table->rank] = rk_value_int((int64_t)*kept);
        status =
            rk_sweep_state_values(&worker->state, top, i, &worker->inside[table->rank + 1], err);
        if (status == RK_OK) {
            status = fill_row(worker, err);
        }
        if (status == RK_OK) {
            status = rk_sweep_table_keeps(table, worker->inside, worker->cursor.root, &keeps, err);
        }
        if (status == RK_OK && keeps) {
            add_row(worker, rows);
            ++*kept;
        }
    }
    return status;
}

/* Appends all rows of the point. */
static rk_status add_point(rk_sweep_worker *worker, const rk_point_result *found, size_t count,
                           rk_bytes *rows, uint64_t *kept, rk_error *err)
{
    const rk_sweep_table *table = worker->table;
    const size_t start = rows->size;
    rk_bytes_reset(&worker->text);
    memset(worker->inside, 0, table->inside_count * sizeof(*worker->inside));
    rk_sweep_table_set_point(table, worker->cursor.number, found->counts, worker->inside);
    rk_status status = rk_sweep_table_outputs(table, worker->inside, worker->cursor.root, 0,
                                              table->point_count, err);
    rk_sweep_rows_begin(rows, worker->cursor.number, 0);
    if (status == RK_OK) {
        status = add_results(worker, &found->top, count, rows, kept, err);
    }
    if (status == RK_OK && *kept == 0) {
        memset(&worker->inside[table->rank], 0,
               (table->inside_count - table->rank) * sizeof(*worker->inside));
        status = fill_row(worker, err);
        add_row(worker, rows);
    }
    rk_bytes_add(rows, worker->text.data, worker->text.size);
    rk_bytes_add(rows, "", 1);
    rows->failed = rows->failed || worker->text.failed;
    if (status == RK_OK && !rows->failed) {
        const uint64_t row_count = *kept > 0 ? *kept : 1;
        memcpy(rows->data + start + sizeof(uint64_t), &row_count, sizeof(row_count));
    }
    return status;
}

rk_status rk_sweep_worker_finish(rk_sweep_worker *worker, unsigned round, rk_point_result *found,
                                 rk_bytes *rows, bool *again, rk_error *err)
{
    assert(found->top.count <= found->top.limit);
    const rk_sweep_table *table = worker->table;
    const size_t wanted = results_wanted(worker, round), start = rows->size;
    const bool exhausted =
        found->top.count < found->top.limit || wanted == results_wanted(worker, round + 1);
    const size_t count = found->top.count < wanted ? found->top.count : wanted;
    uint64_t kept = 0;
    *again = false;
    rk_top_sort(&found->top);
    const rk_status status = add_point(worker, found, count, rows, &kept, err);
    if (status == RK_OK && table->constraint_count > 0 &&
        kept < (uint64_t)worker->state.point->top && !exhausted) {
        rows->size = start;
        *again = true;
    }
    return fail_here(worker, status, err);
}

rk_status rk_sweep_worker_settle(rk_sweep_worker *worker, const rk_search_control *control,
                                 rk_bytes *rows, rk_error *err)
{
    rk_point_result found = {.reason = ""};
    rk_status status = RK_OK;
    bool again = true;
    for (unsigned round = 0; again && status == RK_OK; round++) {
        rk_point_result_start(worker, round, &found);
        status = worker->table->doc->mode.estimate
                     ? rk_sweep_state_estimate(&worker->state, &found, err)
                     : rk_sweep_state_search(&worker->state, control, &found, err);
        status = fail_here(worker, status, err);
        if (status == RK_OK) {
            status = rk_sweep_worker_finish(worker, round, &found, rows, &again, err);
        }
    }
    rk_top_clear(&found.top);
    return status;
}

/* ---- slices ---------------------------------------------------------------------------------- */

rk_status rk_sweep_worker_slice(rk_sweep_worker *worker, unsigned round,
                                const rk_search_control *control, rk_bytes *result, rk_error *err)
{
    const rk_method *method = worker->state.reader->method;
    rk_point_result found = {.reason = ""};
    rk_point_result_start(worker, round, &found);
    rk_status status = rk_sweep_state_search(&worker->state, control, &found, err);
    if (status == RK_OK) {
        rk_sweep_rows_add(result, found.counts, RK_SWEEP_COUNTS_MAX);
        rk_bytes_add_number(result, found.top.count);
        for (size_t i = 0; i < found.top.count; i++) {
            rk_bytes_add(result, &found.top.heap[i].score, sizeof(found.top.heap[i].score));
            rk_bytes_add_number(result, found.top.heap[i].index);
            rk_bytes_add(result, rk_top_payload(&found.top, i), method->candidate_size);
        }
    }
    rk_top_clear(&found.top);
    return fail_here(worker, status, err);
}

rk_status rk_point_result_add(const rk_sweep_worker *worker, rk_point_result *found, bool first,
                              const rk_bytes *result, rk_error *err)
{
    const rk_method *method = worker->state.reader->method;
    rk_bytes_reader reader = rk_bytes_read(result);
    rk_value counts[RK_SWEEP_COUNTS_MAX];
    rk_status status = RK_OK;
    rk_sweep_rows_take(&reader, counts, RK_SWEEP_COUNTS_MAX);
    if (first) {
        memcpy(found->counts, counts, sizeof(counts));
    }
    for (size_t i = 0; i < RK_SWEEP_COUNTS_MAX && !first; i++) {
        found->counts[i].integer += counts[i].integer;
    }
    const uint64_t count = rk_bytes_take_number(&reader);
    unsigned char *payload = malloc(method->candidate_size);
    if (!payload) {
        return rk_sweep_fail_memory(err);
    }
    for (uint64_t i = 0; i < count && status == RK_OK && !reader.failed; i++) {
        double score;
        rk_bytes_take(&reader, &score, sizeof(score));
        const uint64_t index = rk_bytes_take_number(&reader);
        rk_bytes_take(&reader, payload, method->candidate_size);
        status = rk_top_offer(&found->top, score, index, payload, err);
    }
    free(payload);
    return status == RK_OK && reader.failed
               ? rk_fail(err, RK_ERR_INVALID, "a part of a search has arrived incomplete")
               : status;
}
