/* SPDX-License-Identifier: Apache-2.0 */
/* Running sweeps: the CSV table against direct searches, and how a run ends early. */
#include "calculon/calculon_docs.h"
#include "calculon/calculon_write.h"
#include "io/csv_out.h"
#include "sweep/sweep_table.h"

#include "grid.h"

#include <inttypes.h>
#include <math.h>

static int64_t integer_cell(const grid_csv *csv, size_t row, const char *column)
{
    return strtoll(grid_csv_cell(csv, row, column), NULL, 10);
}

static double real_cell(const grid_csv *csv, size_t row, const char *column)
{
    return strtod(grid_csv_cell(csv, row, column), NULL);
}

/* The mapping of a row, read back from its cells. */
static rk_calculon_exe row_exe(const grid_csv *csv, size_t row)
{
    rk_calculon_exe exe = {0};
    for (size_t i = 0; i < RK_CALCULON_EXE_FIELD_COUNT; i++) {
        const rk_field *field = &rk_calculon_exe_fields[i];
        const char *cell = grid_csv_cell(csv, row, field->name);
        void *place = (char *)&exe + field->offset;
        if (field->type == RK_FIELD_INT) {
            *(int64_t *)place = strtoll(cell, NULL, 10);
        } else if (field->type == RK_FIELD_BOOL) {
            assert_true(strcmp(cell, "true") == 0 || strcmp(cell, "false") == 0);
            *(bool *)place = cell[0] == 't';
        } else {
            unsigned name = 0;
            while (strcmp(field->names[name], cell) != 0) {
                name++;
                assert_non_null(field->names[name]);
            }
            *(unsigned *)place = name;
        }
    }
    return exe;
}

/* Compares the rows of one point, from `row` on, with a search made here.  Returns their count. */
static size_t check_point(const grid_csv *csv, size_t row, const rk_sweep_point *point)
{
    rk_calculon_ranked ranked[GRID_TOP];
    rk_search_counts counts = {0};
    rk_error err = {0};
    size_t count = 0;
    assert_int_equal(rk_calculon_search(&point->common.problem.calculon.app,
                                        &point->common.problem.calculon.sys,
                                        &point->common.problem.calculon.space, NULL, GRID_TOP,
                                        ranked, &count, &counts, &err),
                     RK_OK);
    assert_int_equal(count, GRID_TOP);
    for (size_t i = 0; i < count; i++) {
        const rk_calculon_exe exe = row_exe(csv, row + i);
        rk_calculon_stats stats;
        rk_calculon_verdict verdict;
        assert_int_equal(integer_cell(csv, row + i, "executed"), counts.executed);
        assert_int_equal(integer_cell(csv, row + i, "good"), counts.good);
        assert_int_equal(integer_cell(csv, row + i, "bad"), counts.bad);
        assert_int_equal(integer_cell(csv, row + i, "rank"), i);
        for (size_t j = 0; j < RK_CALCULON_EXE_FIELD_COUNT; j++) {
            const rk_field *field = &rk_calculon_exe_fields[j];
            const size_t size = field->type == RK_FIELD_INT    ? sizeof(int64_t)
                                : field->type == RK_FIELD_BOOL ? sizeof(bool)
                                                               : sizeof(unsigned);
            assert_memory_equal((const char *)&exe + field->offset,
                                (const char *)&ranked[i].exe + field->offset, size);
        }
        assert_int_equal(rk_calculon_evaluate(&point->common.problem.calculon.app,
                                              &point->common.problem.calculon.sys, &exe, &stats,
                                              NULL, NULL, &verdict, &err),
                         RK_OK);
        assert_int_equal(verdict.verdict, RK_FITS);
        for (size_t j = 0; j < RK_CALCULON_STATS_COUNT; j++) {
            const rk_stat_field *field = &rk_calculon_stat_fields[j];
            assert_true(real_cell(csv, row + i, field->name) ==
                        rk_calculon_stat_value(&stats, field));
        }
        assert_true(stats.sample_rate == ranked[i].sample_rate);
    }
    return count;
}

static void test_equals_direct_searches(void **state)
{
    scratch s;
    grid_csv csv;
    (void)state;
    assert_true(scratch_make(&s));
    rk_sweep_doc *doc = grid_parse(grid_small);
    const rk_sweep_options options = {.control.csv = scratch_path(&s, "a.csv")};
    const rk_sweep_totals totals = grid_run(doc, &options);
    grid_csv_read(s.path, &csv);
    assert_int_equal(totals.points, 6);
    assert_int_equal(totals.fitting, 6);
    assert_int_equal(totals.resumed, 0);

    size_t row = 1;
    uint64_t executed = 0;
    for (uint64_t i = 0; i < totals.points; i++) {
        rk_sweep_point point;
        rk_error err = {0};
        bool kept = false;
        assert_int_equal(read_point_at(doc, i, &point, &kept, &err), RK_OK);
        assert_true(kept);
        assert_int_equal(integer_cell(&csv, row, "point"), i);
        assert_int_equal(integer_cell(&csv, row, "processors"),
                         point.common.problem.calculon.space.num_procs);
        assert_int_equal(integer_cell(&csv, row, "batch"),
                         point.common.problem.calculon.space.max_batch_size);
        executed += (uint64_t)integer_cell(&csv, row, "executed");
        row += check_point(&csv, row, &point);
    }
    assert_int_equal(row, csv.rows);
    assert_int_equal(executed, totals.strategies);

    /* What the published tool, revision caa4b11, says of the same model on 2 processors, batch 4:
     * `llm-optimal-execution megatron-126M 2 4 float16 a100_80g`. */
    assert_int_equal(integer_cell(&csv, 1, "executed"), 4408);
    assert_int_equal(integer_cell(&csv, 1, "good"), 4408);
    const double published = 89.23507311369018;
    assert_true(fabs(real_cell(&csv, 1, "sample_rate") - published) < 1e-9 * published);
    free(csv.text);
    rk_sweep_doc_free(doc);
    scratch_remove(&s);
}

static void test_nothing_fits(void **state)
{
    scratch s;
    grid_csv csv;
    (void)state;
    assert_true(scratch_make(&s));
    rk_sweep_doc *doc = grid_parse(grid_mixed);
    const rk_sweep_options options = {.control.csv = scratch_path(&s, "a.csv"),
                                      .control.threads = 2};
    const rk_sweep_totals totals = grid_run(doc, &options);
    grid_csv_read(s.path, &csv);
    uint64_t fitting = 0;
    for (size_t row = 1; row < csv.rows; row++) {
        const bool fits = integer_cell(&csv, row, "good") > 0;
        assert_int_equal(integer_cell(&csv, row, "good") + integer_cell(&csv, row, "bad"),
                         integer_cell(&csv, row, "executed"));
        assert_int_equal(grid_csv_cell(&csv, row, "rank")[0] != '\0', fits);
        assert_int_equal(grid_csv_cell(&csv, row, "sample_rate")[0] != '\0', fits);
        fitting += fits && integer_cell(&csv, row, "rank") == 0;
    }
    assert_int_equal(totals.points, 12);
    assert_int_equal(totals.fitting, fitting);
    assert_true(fitting > 0 && fitting < totals.points);
    free(csv.text);
    rk_sweep_doc_free(doc);
    scratch_remove(&s);
}

/* All columns have names of their own, also when every input of a search is an axis. */
static void test_column_names(void **state)
{
    static const char text[] =
        "{\"axes\": [{\"key\": \"application\", \"values\": [\"megatron-126M\"]},"
        "{\"key\": \"system\", \"values\": [\"a100_80g\"]}, {\"key\": \"processors\", \"values\": "
        "[1]},"
        "{\"key\": \"batch\", \"values\": [1]}, {\"key\": \"datatype\", \"values\": [\"float16\"]},"
        "{\"key\": \"fused\", \"values\": [true]}, {\"key\": \"no_tp_overlap\", \"values\": "
        "[true]},"
        "{\"key\": \"no_dp_overlap\", \"values\": [true]}, {\"key\": \"top\", \"values\": [1]},"
        "{\"key\": \"mbs_break\", \"values\": [true]}]}";
    rk_sweep_table table;
    rk_sweep_point point;
    rk_error err = {0};
    bool kept = false;
    (void)state;
    rk_sweep_doc *doc = grid_parse(text);
    assert_int_equal(read_point_at(doc, 0, &point, &kept, &err), RK_OK);
    assert_int_equal(rk_sweep_table_init(doc, &table, &err), RK_OK);
    assert_int_equal(table.count, 1 + 10 + 3 + 1 + 23 + 96);
    for (size_t i = 0; i < table.count; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(table.columns[i].name, table.columns[j].name);
        }
    }
    rk_sweep_table_clear(&table);
    rk_sweep_doc_free(doc);
}

static void test_csv_cells(void **state)
{
    static const rk_column columns[] = {{"plain", RK_VALUE_TEXT}, {"a,b", RK_VALUE_TEXT}};
    const rk_value rows[][2] = {
        {rk_value_text("x y"), rk_value_text("say \"x, y\"")},
        {rk_value_text("two\nlines"), {.type = RK_VALUE_NULL}},
        {rk_value_int(INT64_MIN), rk_value_real(0.1)},
        {rk_value_bool(true), rk_value_real(-1e300)},
    };
    scratch s;
    rk_csv_out *out = NULL;
    rk_error err = {0};
    size_t size = 0;
    (void)state;
    assert_true(scratch_make(&s));
    assert_int_equal(rk_csv_open_growing(scratch_path(&s, "a.csv"), &out, &err), RK_OK);
    rk_csv_header(out, columns, 2);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rk_csv_row(out, rows[i], 2);
    }
    assert_int_equal(rk_csv_close(out, &err), RK_OK);
    char *text = scratch_read(s.path, &size);
    assert_string_equal(text, "plain,\"a,b\"\nx y,\"say \"\"x, y\"\"\"\n\"two\nlines\",\n"
                              "-9223372036854775808,0.1\ntrue,-1e+300\n");
    free(text);
    assert_int_equal(rk_csv_open_growing(scratch_path(&s, "a.csv.gz"), &out, &err), RK_ERR_INVALID);
    assert_int_equal(rk_csv_open_growing("/nonexistent/a.csv", &out, &err), RK_ERR_IO);
    assert_null(out);
    scratch_remove(&s);
}

static void test_full_disk(void **state)
{
    const rk_sweep_options options = {.control.csv = "/dev/full"};
    rk_sweep_totals totals;
    rk_error err = {0};
    (void)state;
    if (access(options.control.csv, W_OK) != 0) {
        skip();
    }
    rk_sweep_doc *doc = grid_parse(grid_small);
    assert_int_equal(rk_sweep_run(doc, &options, &totals, &err), RK_ERR_IO);
    assert_string_equal(err.file, "/dev/full");
    rk_sweep_doc_free(doc);
}

/* Counts down; stops the sweep at zero. */
static bool count_down(void *user, const rk_sweep_progress *progress)
{
    int *left = user;
    assert_true(progress->points_done <= progress->points_total);
    assert_true(progress->done <= progress->total || progress->checking);
    return --*left > 0;
}

/* A stopped run, and one that meets an invalid point, leave the points before. */
static void test_stop(void **state)
{
    scratch s;
    grid_csv csv;
    rk_sweep_totals totals;
    rk_error err = {0};
    int left = 4; /* one call while the points are checked, then one for each point */
    (void)state;
    assert_true(scratch_make(&s));
    rk_sweep_doc *doc = grid_parse(grid_small);
    const rk_sweep_options options = {.control.csv = scratch_path(&s, "a.csv"),
                                      .control.threads = 1,
                                      .block_points = 1,
                                      .control.progress = count_down,
                                      .control.user = &left};
    assert_int_equal(rk_sweep_run(doc, &options, &totals, &err), RK_ERR_STOPPED);
    grid_csv_read(s.path, &csv);
    assert_true(csv.rows <= 1 + 3 * GRID_TOP && (csv.rows - 1) % GRID_TOP == 0);
    free(csv.text);
    rk_sweep_doc_free(doc);
    scratch_remove(&s);
}

/* An invalid point is found before anything is computed or written. */
static void test_points_are_checked_first(void **state)
{
#define SEARCH "{\"application\": \"megatron-126M\", \"system\": \"a100_80g\", \"batch\": 4,"
    static const struct {
        const char *text, *says;
    } cases[] = {
        {SEARCH
         "\"datatype\": \"float16\", \"axes\": [{\"key\": \"processors\",\"values\": [2, 4, 0]}]}",
         "expected an integer from 1 to 1099511627776, found 0 (at point 2: processors = 0)"},
        /* Not of one document, but of two of them together. */
        {SEARCH "\"processors\": 2, \"axes\": [{\"key\": \"datatype\",\"values\": [\"float16\", "
                "\"float32\"]}]}",
         "the matrix engine of the system has no datatype float32: choose one that both engines "
         "have (at point 1: datatype = float32)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scratch s;
        rk_sweep_totals totals;
        rk_error err = {0};
        assert_true(scratch_make(&s));
        rk_sweep_doc *doc = grid_parse(cases[i].text);
        const rk_sweep_options options = {.control.csv = scratch_path(&s, "a.csv")};
        assert_int_equal(rk_sweep_run(doc, &options, &totals, &err), RK_ERR_INVALID);
        assert_string_equal(err.file, "grid.json");
        assert_non_null(strstr(err.message, cases[i].says));
        assert_int_equal(scratch_count(&s), 0);
        rk_sweep_doc_free(doc);
        scratch_remove(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_direct_searches),
        cmocka_unit_test(test_nothing_fits),
        cmocka_unit_test(test_column_names),
        cmocka_unit_test(test_csv_cells),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_points_are_checked_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
