/* SPDX-License-Identifier: Apache-2.0 */
/* Orders rows by point and writes them to CSV, SQLite, the Pareto front and the caller. */
#include "sweep/writer.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "base/units.h"
#include "io/inputs.h"
#include "sweep/doc_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_SECONDS 0.5
#define PLACES_MAX    4096
#define WAITING_MAX   ((size_t)64 << 20) /* bytes of rows that wait */

/* ---- opening --------------------------------------------------------------------------------- */

static void remember(void *user, uint64_t number, bool has_results)
{
    rk_sweep_writer *writer = user;
    if (number < rk_sweep_doc_point_count(writer->table->doc)) {
        writer->finished[number / 8] |= (unsigned char)(1U << number % 8);
        writer->resumed++;
        writer->fitting += has_results;
    }
}

/* The database first: if it refuses, the CSV file must not have been emptied. */
static rk_status open_files(rk_sweep_writer *writer, const rk_sweep_options *options, rk_error *err)
{
    const rk_sweep_doc *doc = writer->table->doc;
    const char *const inputs[] = {doc->name, rk_sweep_doc_text(doc)};
    rk_status status = rk_refuse_input(options->control.sqlite, inputs, COUNT(inputs), err);
    status = status ? status : rk_refuse_input(options->control.csv, inputs, COUNT(inputs), err);
    if (status == RK_OK && options->control.sqlite) {
        status = rk_sqlite_open(options->control.sqlite, options->control.resume, &writer->layout,
                                &writer->sqlite, err);
    }
    if (status == RK_OK && writer->sqlite && options->control.resume) {
        writer->finished =
            calloc(1, (size_t)(rk_sweep_doc_point_count(writer->table->doc) / 8 + 1));
        status = writer->finished ? rk_sqlite_points(writer->sqlite, remember, writer, err)
                                  : rk_sweep_fail_memory(err);
    }
    if (status == RK_OK && options->control.csv) {
        status = strcmp(options->control.csv, "-") == 0
                     ? rk_csv_open_writer(options->write, options->control.user, &writer->csv, err)
                     : rk_csv_open_growing(options->control.csv, &writer->csv, err);
    }
    if (status == RK_OK && writer->csv) {
        rk_csv_header(writer->csv, writer->table->columns, writer->table->count);
        status = rk_csv_flush(writer->csv, err);
    }
    return status;
}

rk_status rk_sweep_writer_open(rk_sweep_writer *writer, const rk_sweep_table *table,
                               const rk_sweep_options *options, rk_error *err)
{
    *writer = (rk_sweep_writer){
        .table = table,
        .layout = {.document = rk_sweep_doc_text(table->doc),
                   .point_count = rk_sweep_doc_point_count(table->doc),
                   .columns = table->columns,
                   .column_count = table->count,
                   .point_column_count = table->point_count},
        .take_row = options->control.row,
        .user = options->control.user,
        .flushed = rk_wall_seconds(),
        .flush_seconds = options->flush_seconds > 0 ? options->flush_seconds : FLUSH_SECONDS,
    };
    writer->row = calloc(table->count, sizeof(*writer->row));
    rk_status status = writer->row ? RK_OK : rk_sweep_fail_memory(err);
    if (status == RK_OK && options->control.pareto) {
        writer->has_pareto = true;
        status = rk_sweep_pareto_init(options->control.pareto, table, &writer->pareto, err);
    }
    return status == RK_OK ? open_files(writer, options, err) : status;
}

bool rk_sweep_writer_has(const rk_sweep_writer *writer, uint64_t number)
{
    return writer->finished && (writer->finished[number / 8] >> number % 8 & 1);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Passes a row to the caller of the sweep. */
static rk_status hand_row(const rk_sweep_writer *writer, uint64_t point, rk_error *err)
{
    const rk_sweep_row row = {.point = point,
                              .count = writer->table->count,
                              .columns = writer->table->columns,
                              .values = writer->row};
    return !writer->take_row || writer->take_row(writer->user, &row)
               ? RK_OK
               : rk_fail(err, RK_ERR_STOPPED, "the sweep was stopped");
}

/* Takes the next row in order: writes it, or offers it to the Pareto front. */
static rk_status take_row(rk_sweep_writer *writer, uint64_t point, rk_error *err)
{
    if (!writer->has_pareto) {
        return hand_row(writer, point, err);
    }
    return writer->row[writer->table->point_count].type == RK_VALUE_NULL
               ? RK_OK
               : rk_sweep_pareto_add(&writer->pareto, writer->row, err);
}

/* Takes a row of a point from the database. */
static rk_status copy_row(void *user, uint64_t number, rk_error *err)
{
    rk_sweep_writer *writer = user;
    const rk_status status = take_row(writer, number, err);
    if (status == RK_OK && writer->csv && !writer->has_pareto) {
        rk_csv_row(writer->csv, writer->row, writer->table->count);
    }
    return status;
}

/* Whether rows are needed in order, that is, for anything but the database. */
static bool has_order(const rk_sweep_writer *writer)
{
    return writer->csv || writer->has_pareto || writer->take_row;
}

/* Writes the rows of a place whose turn it is. */
static rk_status write_place(rk_sweep_writer *writer, const rk_sweep_place *place, rk_error *err)
{
    rk_bytes_reader reader = rk_bytes_read(&place->rows);
    uint64_t number, count;
    rk_status status = RK_OK;
    if (!has_order(writer)) {
        return RK_OK;
    }
    for (number = place->first; place->finished && number <= place->last && status == RK_OK;
         number++) {
        status = rk_sqlite_read(writer->sqlite, number, writer->row, copy_row, writer, err);
    }
    while (status == RK_OK && rk_sweep_rows_next(&reader, &number, &count)) {
        for (uint64_t i = 0; i < count && status == RK_OK; i++) {
            rk_sweep_rows_take(&reader, writer->row, writer->table->count);
            status = take_row(writer, number, err);
        }
        const char *lines = rk_bytes_take_text(&reader);
        if (writer->csv && !writer->has_pareto) {
            rk_csv_text(writer->csv, lines);
        }
    }
    return status;
}

/* Hands rows to the database. */
static rk_status store(rk_sweep_writer *writer, rk_bytes_reader reader, rk_error *err)
{
    const rk_sweep_table *table = writer->table;
    uint64_t number, count;
    rk_status status = RK_OK;
    while (status == RK_OK && rk_sweep_rows_next(&reader, &number, &count)) {
        bool fits = false;
        for (uint64_t i = 0; i < count && status == RK_OK; i++) {
            rk_sweep_rows_take(&reader, writer->row, table->count);
            fits = writer->row[table->point_count].type != RK_VALUE_NULL;
            if (writer->sqlite && i == 0) {
                status = rk_sqlite_add_point(writer->sqlite, writer->row, err);
            }
            if (writer->sqlite && fits && status == RK_OK) {
                status = rk_sqlite_add_result(writer->sqlite, writer->row, err);
            }
        }
        writer->fitting += fits;
        (void)rk_bytes_take_text(&reader);
    }
    return status == RK_OK && reader.failed
               ? rk_fail(err, RK_ERR_INVALID, "the rows of a point have arrived incomplete")
               : status;
}

/* ---- places ---------------------------------------------------------------------------------- */

bool rk_sweep_writer_is_full(const rk_sweep_writer *writer)
{
    return writer->count - writer->head >= PLACES_MAX || writer->waiting >= WAITING_MAX;
}

/* Frees settled places once there are many. */
static void drop_settled(rk_sweep_writer *writer)
{
    if (writer->head < PLACES_MAX) {
        return;
    }
    memmove(writer->places, writer->places + writer->head,
            (writer->count - writer->head) * sizeof(*writer->places));
    writer->dropped += writer->head;
    writer->count -= writer->head;
    writer->head = 0;
}

/* Writes the places that are next in order and ready. */
static rk_status advance(rk_sweep_writer *writer, rk_error *err)
{
    rk_status status = RK_OK;
    while (writer->head < writer->count && writer->places[writer->head].ready && status == RK_OK) {
        rk_sweep_place *place = &writer->places[writer->head];
        status = write_place(writer, place, err);
        writer->waiting -= place->rows.size;
        rk_bytes_clear(&place->rows);
        writer->head++;
    }
    return status;
}

rk_status rk_sweep_writer_reserve(rk_sweep_writer *writer, uint64_t first, uint64_t last,
                                  bool finished, uint64_t *place, rk_error *err)
{
    assert(first <= last);
    drop_settled(writer);
    rk_sweep_place *before =
        writer->count > writer->head ? &writer->places[writer->count - 1] : NULL;
    if (finished && before && before->finished) {
        before->last = last;
        return RK_OK;
    }
    rk_sweep_place *places =
        rk_list_grow(writer->places, writer->count, &writer->room, sizeof(*places));
    if (!places) {
        return rk_sweep_fail_memory(err);
    }
    writer->places = places;
    *place = writer->dropped + writer->count;
    writer->places[writer->count++] =
        (rk_sweep_place){.first = first, .last = last, .ready = finished, .finished = finished};
    return finished ? advance(writer, err) : RK_OK;
}

rk_status rk_sweep_writer_put(rk_sweep_writer *writer, uint64_t number, const unsigned char *rows,
                              size_t size, rk_error *err)
{
    assert(number >= writer->dropped && number - writer->dropped < writer->count);
    rk_sweep_place *place = &writer->places[number - writer->dropped];
    rk_status status = store(writer, (rk_bytes_reader){.at = rows, .left = size}, err);
    if (status != RK_OK) {
        writer->broken = true; /* a point may be in the database in part */
        return status;
    }
    if (has_order(writer)) {
        rk_bytes_add(&place->rows, rows, size);
    }
    if (place->rows.failed) {
        return rk_sweep_fail_memory(err);
    }
    writer->waiting += place->rows.size;
    place->ready = true;
    return advance(writer, err);
}

const char *rk_sweep_writer_missing(const rk_sweep_writer *writer, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = writer->head; i < writer->count && used < size; i++) {
        const rk_sweep_place *place = &writer->places[i];
        if (!place->ready) {
            used += (size_t)snprintf(out + used, size - used,
                                     place->first < place->last ? "%s%" PRIu64 "-%" PRIu64
                                                                : "%s%" PRIu64,
                                     used ? ", " : "", place->first, place->last);
        }
    }
    return out;
}

/* ---- files ----------------------------------------------------------------------------------- */

rk_status rk_sweep_writer_flush(rk_sweep_writer *writer, bool now, rk_error *err)
{
    const double time = rk_wall_seconds();
    if (!now && time - writer->flushed < writer->flush_seconds) {
        return RK_OK;
    }
    writer->flushed = time;
    const rk_status status = writer->sqlite ? rk_sqlite_commit(writer->sqlite, err) : RK_OK;
    return status == RK_OK && writer->csv ? rk_csv_flush(writer->csv, err) : status;
}

static rk_status write_front(rk_sweep_writer *writer, rk_error *err)
{
    const rk_sweep_pareto *pareto = &writer->pareto;
    rk_status status = RK_OK;
    rk_sweep_pareto_sort(&writer->pareto);
    for (size_t i = 0; i < pareto->count && status == RK_OK; i++) {
        rk_bytes_reader reader = rk_bytes_read(&pareto->front[i].row);
        rk_sweep_rows_take(&reader, writer->row, writer->table->count);
        if (writer->csv) {
            rk_csv_row(writer->csv, writer->row, writer->table->count);
        }
        status = hand_row(writer, pareto->front[i].point, err);
    }
    if (status == RK_OK && writer->sqlite) {
        uint64_t *points = calloc(2 * pareto->count + 1, sizeof(*points));
        uint64_t *ranks = points ? points + pareto->count : NULL;
        for (size_t i = 0; i < pareto->count && points; i++) {
            points[i] = pareto->front[i].point;
            ranks[i] = pareto->front[i].rank;
        }
        status = points ? rk_sqlite_write_pareto(writer->sqlite, points, ranks, pareto->count, err)
                        : rk_sweep_fail_memory(err);
        free(points);
    }
    return status;
}

rk_status rk_sweep_writer_finish(rk_sweep_writer *writer, rk_error *err)
{
    rk_status status = writer->has_pareto ? write_front(writer, err) : RK_OK;
    return status == RK_OK ? rk_sweep_writer_flush(writer, true, err) : status;
}

rk_status rk_sweep_writer_close(rk_sweep_writer *writer, rk_status status, rk_error *err)
{
    rk_error *fault = status == RK_OK ? err : NULL;
    rk_status closed =
        writer->sqlite && !writer->broken ? rk_sqlite_commit(writer->sqlite, fault) : RK_OK;
    rk_sqlite_close(writer->sqlite);
    const rk_status csv = rk_csv_close(writer->csv, closed == RK_OK ? fault : NULL);
    closed = closed == RK_OK ? csv : closed;
    for (size_t i = writer->head; i < writer->count; i++) {
        rk_bytes_clear(&writer->places[i].rows);
    }
    rk_sweep_pareto_clear(&writer->pareto);
    free(writer->places);
    free(writer->finished);
    free(writer->row);
    *writer = (rk_sweep_writer){.resumed = writer->resumed, .fitting = writer->fitting};
    return status == RK_OK ? closed : status;
}
