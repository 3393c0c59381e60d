/* SPDX-License-Identifier: Apache-2.0 */
/* A small sweep for the tests that run one, and the table that it writes. */
#ifndef RK_TESTS_SWEEP_GRID_H
#define RK_TESTS_SWEEP_GRID_H

#include "sweep/sweep.h"

#include "../io/scratch.h"
#include "point_at.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define GRID_TOP 3

/* Six points of a small model on 2 to 8 processors; point 0 is a search whose counts are known. */
static const char grid_small[] =
    "{\"application\": \"megatron-126M\", \"system\": \"a100_80g\", \"datatype\": \"float16\","
    " \"top\": 3, \"axes\": [{\"key\": \"processors\", \"from\": 2, \"to\": 8, \"factor\": 2},"
    " {\"key\": \"batch\", \"values\": [4, 8]}]}";

/* Twelve points, at five of which nothing fits, with axes of all types. */
static const char grid_mixed[] =
    "{\"system\": \"a100_80g\", \"processors\": 4, \"batch\": 8, \"datatype\": \"float16\","
    " \"top\": 2, \"axes\": [{\"key\": \"application\", \"values\": [\"megatron-126M\","
    " \"gpt3-13B\"]}, {\"key\": \"fused\", \"values\": [true, false]},"
    " {\"key\": \"system.mem1.GiB\", \"values\": [80, 0.5, 0.25]}]}";

static inline rk_sweep_doc *grid_parse(const char *text)
{
    rk_sweep_doc *doc = NULL;
    rk_error err = {0};
    if (rk_sweep_doc_parse(text, strlen(text), "grid.json", &doc, &err) != RK_OK) {
        fail_msg("%s: %s", err.path, err.message);
    }
    return doc;
}

static inline rk_sweep_totals grid_run(const rk_sweep_doc *doc, const rk_sweep_options *options)
{
    rk_sweep_totals totals;
    rk_error err = {0};
    if (rk_sweep_run(doc, options, &totals, &err) != RK_OK) {
        fail_msg("%s: %s: %s", err.file, err.path, err.message);
    }
    return totals;
}

#define GRID_ROWS_MAX    64
#define GRID_COLUMNS_MAX 160

/* A CSV file cut into cells; quotes stay, and none stand inside. */
typedef struct grid_csv {
    char *text; /* owned */
    size_t size, rows, columns;
    char *cells[GRID_ROWS_MAX][GRID_COLUMNS_MAX]; /* row 0 is the header */
} grid_csv;

static inline void grid_csv_read(const char *path, grid_csv *csv)
{
    memset(csv, 0, sizeof(*csv));
    csv->text = scratch_read(path, &csv->size);
    assert_non_null(csv->text);
    assert_true(csv->size > 0 && csv->text[csv->size - 1] == '\n');
    for (char *line = csv->text; *line; csv->rows++) {
        char *end = strchr(line, '\n');
        size_t columns = 0;
        *end = '\0';
        for (char *cell = line; cell; columns++) {
            char *comma = strchr(*cell == '"' ? strchr(cell + 1, '"') : cell, ',');
            assert_true(csv->rows < GRID_ROWS_MAX && columns < GRID_COLUMNS_MAX);
            csv->cells[csv->rows][columns] = cell;
            if (comma) {
                *comma = '\0';
            }
            cell = comma ? comma + 1 : NULL;
        }
        csv->columns = csv->rows == 0 ? columns : csv->columns;
        assert_int_equal(columns, csv->columns);
        line = end + 1;
    }
}

/* The cell of a row (1 is the first under the header) in the column of that name. */
static inline const char *grid_csv_cell(const grid_csv *csv, size_t row, const char *column)
{
    for (size_t i = 0; i < csv->columns; i++) {
        if (strcmp(csv->cells[0][i], column) == 0) {
            return csv->cells[row][i];
        }
    }
    fail_msg("no column %s", column);
    return "";
}

#endif
