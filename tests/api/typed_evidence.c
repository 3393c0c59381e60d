/* SPDX-License-Identifier: Apache-2.0 */
/* Typed functions of tables, validations and calibrations, and what they refuse. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <reckon/reckon.h>

#define RUNS   SOURCE_FOLDER "/tests/cli_reckon/runs.csv"
#define RECIPE SOURCE_FOLDER "/data/calibrations/memory-ampere.json"

/* One run in each of the two notations. */
#define HEADER                                                                                     \
    "id,model,layers,hidden,ffn,heads,vocab,seq,accelerator,n_accel,tp,pp,dp,mbs,gbs,seq_parallel" \
    ",step_time_s,framework\n"
#define CSV HEADER "a,own,16,2048,8192,32,131072,4096,H100,8,2,1,4,4,32,true,1.5,megatron-core\n"
static const char json_rows[] =
    "{\"rows\": [{\"id\": \"a\", \"model\": \"own\", \"layers\": 16, \"hidden\": 2048, \"ffn\": "
    "8192, \"heads\": 32, \"vocab\": 131072, \"seq\": 4096, \"accelerator\": \"H100\", "
    "\"n_accel\": 8, \"tp\": 2, \"pp\": 1, \"dp\": 4, \"mbs\": 4, \"gbs\": 32, "
    "\"seq_parallel\": true, \"step_time_s\": 1.5, \"framework\": \"megatron-core\"}]}";

static rk_run_table *open_table(const char *document)
{
    rk_run_table *table;
    rk_error err;
    char text[1024];
    if (rk_run_table_create(document, &table, &err)) {
        fail_msg("%s", rk_error_text(&err, text, sizeof(text)));
    }
    return table;
}

static rk_validation *validate(const rk_run_table *table, const rk_validation_choice *choice)
{
    rk_validation *validation;
    rk_error err;
    char text[1024];
    if (rk_validate_runs(&table, 1, choice, &validation, &err)) {
        fail_msg("%s", rk_error_text(&err, text, sizeof(text)));
    }
    return validation;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void assert_refused(const char *document, rk_status code, const char *says)
{
    rk_run_table *table;
    rk_error err;
    assert_int_equal(rk_run_table_create(document, &table, &err), code);
    assert_null(table);
    if (!strstr(err.message, says)) {
        fail_msg("\"%s\" lacks \"%s\"", err.message, says);
    }
}

static void test_tables(void **state)
{
    (void)state;
    rk_run_table *table = open_table(RUNS);
    assert_true(rk_run_table_count(table) > 3);
    rk_run_table_free(table);
    table = open_table("check");
    assert_true(rk_run_table_count(table) > 100);
    rk_run_table_free(table);
    rk_run_table_free(NULL);
    assert_refused("a,b\n1,2\n", RK_ERR_INVALID, "model");
    assert_refused("none.csv", RK_ERR_IO, "");
    assert_refused("{\"rows\": 3}", RK_ERR_INVALID, "list of rows");
    assert_refused("{\"rows\": []}", RK_ERR_INVALID, "at least one");
    assert_refused("{\"rows\": [3]}", RK_ERR_INVALID, "member for each column");
    assert_refused("{\"rows\": [{\"tp\": [1]}]}", RK_ERR_INVALID, "row 1");
    assert_refused("{\"rows\": ", RK_ERR_SYNTAX, "");
}

static void test_notations(void **state)
{
    rk_validation_row first, second;
    (void)state;
    rk_run_table *csv = open_table(CSV), *json = open_table(json_rows);
    rk_validation *by_csv = validate(csv, NULL), *by_json = validate(json, NULL);
    assert_true(rk_validation_at(by_csv, 0, &first, sizeof(first)));
    assert_true(rk_validation_at(by_json, 0, &second, sizeof(second)));
    assert_true(first.predicted && second.predicted);
    assert_true(first.step_s > 0 && first.step_s == second.step_s);
    assert_true(first.memory_bytes == second.memory_bytes);
    assert_string_equal(first.id, "a");
    assert_string_equal(second.id, "a");
    rk_validation_free(by_csv);
    rk_validation_free(by_json);
    rk_run_table_free(csv);
    rk_run_table_free(json);
}

/* A degree that a row lacks is found: what does not fit by it may fit by another. */
static void test_unsure(void **state)
{
    static const char rows[] =
        HEADER "a,large,80,8192,28672,64,128256,4096,H100,8,,1,,1,8,true,1.5,megatron-core\n"
               "b,small,16,2048,8192,32,131072,4096,H100,8,,1,,4,32,true,1.5,megatron-core\n";
    rk_validation_row large, small;
    (void)state;
    rk_run_table *table = open_table(rows);
    rk_validation *v = validate(table, NULL);
    assert_true(rk_validation_at(v, 0, &large, sizeof(large)));
    assert_true(rk_validation_at(v, 1, &small, sizeof(small)));
    assert_true(large.predicted && !large.fits && large.unsure);
    assert_true(small.predicted && small.fits && !small.unsure);
    rk_validation_free(v);
    rk_run_table_free(table);
}

/* ---- validations ----------------------------------------------------------------------------- */

static void test_scores(void **state)
{
    const rk_validation_choice choice = {.size = sizeof(choice), .by = "accelerator"};
    rk_validation_row row;
    rk_strategy strategy;
    rk_score score, group;
    size_t count = 0, measured = 0, groups = 0, grouped = 0;
    double sum = 0, bias = 0;
    (void)state;
    rk_run_table *table = open_table(RUNS);
    rk_validation *v = validate(table, &choice);
    for (; rk_validation_at(v, count, &row, sizeof(row)); count++) {
        assert_true(row.predicted == (row.left_out[0] == '\0'));
        assert_true(rk_validation_strategy(v, count, &strategy, sizeof(strategy)) == row.predicted);
        if (!row.predicted || !(row.step_measured_s > 0)) {
            assert_true(!row.predicted || isnan(row.step_error));
            continue;
        }
        assert_true(row.step_error == row.step_s / row.step_measured_s - 1);
        assert_true(row.step_p10_s < row.step_p90_s);
        assert_int_equal(row.accelerators, strategy.tp * strategy.cp * strategy.pp * strategy.dp);
        sum += fabs(row.step_error);
        bias += row.step_error;
        measured++;
    }
    assert_int_equal(count, rk_run_table_count(table));
    assert_false(rk_validation_strategy(v, count, &strategy, sizeof(strategy)));
    assert_true(rk_validation_score(v, &score, sizeof(score)));
    assert_string_equal(score.group, "all");
    assert_int_equal(score.step.count, measured);
    assert_true(fabs(score.step.mean - sum / (double)measured) < 1e-12);
    assert_true(fabs(score.step.bias - bias / (double)measured) < 1e-12);
    assert_true(score.interval_coverage >= 0 && score.interval_coverage <= 1);
    for (; rk_validation_group(v, groups, &group, sizeof(group)); groups++) {
        grouped += group.step.count;
    }
    assert_true(groups >= 1 && grouped == measured);
    rk_validation_free(v);
    rk_run_table_free(table);
}

static void test_choices(void **state)
{
    const rk_validation_choice few = {.size = sizeof(few), .only = "0052"};
    const rk_validation_choice none = {.size = sizeof(none), .only = "no such run"};
    rk_validation_choice wrong = {.size = sizeof(wrong), .by = "phase of the moon"};
    rk_validation_row row;
    rk_validation *v;
    rk_score score;
    rk_error err;
    (void)state;
    rk_run_table *table = open_table(RUNS);
    v = validate(table, &few);
    assert_true(rk_validation_at(v, 0, &row, sizeof(row)) && strstr(row.id, "0052"));
    assert_false(rk_validation_at(v, 1, &row, sizeof(row)));
    assert_true(rk_validation_score(v, &score, sizeof(score))); /* of one row, with its interval */
    assert_int_equal(score.intervals, 1);
    assert_true(score.interval_width > 0);
    assert_true(score.interval_coverage == 0 || score.interval_coverage == 1);
    rk_validation_free(v);
    v = validate(table, &none);
    assert_false(rk_validation_at(v, 0, &row, sizeof(row)));
    assert_false(rk_validation_score(v, &score, sizeof(score)));
    assert_false(rk_validation_group(v, 0, &score, sizeof(score)));
    rk_validation_free(v);
    const rk_run_table *tables[RK_VALIDATION_TABLES + 1];
    for (size_t i = 0; i <= RK_VALIDATION_TABLES; i++) {
        tables[i] = table;
    }
    assert_int_equal(rk_validate_runs(tables, 1, &wrong, &v, &err), RK_ERR_INVALID);
    assert_null(v);
    wrong = (rk_validation_choice){.size = sizeof(wrong), .split = "both"};
    assert_int_equal(rk_validate_runs(tables, 1, &wrong, &v, &err), RK_ERR_INVALID);
    assert_int_equal(rk_validate_runs(tables, RK_VALIDATION_TABLES + 1, NULL, &v, &err),
                     RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "at once"));
    rk_validation_free(NULL);
    rk_run_table_free(table);
}

/* ---- calibrations ---------------------------------------------------------------------------- */

#ifdef HAVE_NLOPT
static void test_calibration(void **state)
{
    const rk_calibration_choice quick = {.size = sizeof(quick), .threads = 1, .quick = true};
    rk_calibration *c;
    rk_calibration_facts facts;
    rk_fitted_constant constant;
    rk_calibration_errors errors;
    rk_error err;
    size_t count = 0, groups = 0, rows = 0;
    (void)state;
    assert_int_equal(rk_calibrate_constants(RECIPE, &quick, &c, &err), RK_OK);
    rk_calibration_describe(c, &facts, sizeof(facts));
    assert_true(facts.fitted.rows > 0 && facts.by_the_others.rows == 0);
    assert_true(facts.loss <= facts.loss_start && facts.fitted.mean <= facts.start.mean);
    for (; rk_calibration_constant(c, count, &constant, sizeof(constant)); count++) {
        assert_true(constant.key[0] && constant.meaning[0] && isnan(constant.deviation));
        assert_true(isfinite(constant.value));
    }
    assert_int_equal(count, facts.constants);
    for (; rk_calibration_group(c, groups, &errors, sizeof(errors)); groups++) {
        assert_non_null(errors.group);
        rows += errors.fitted.rows;
    }
    assert_int_equal(groups, facts.groups);
    assert_int_equal(rows, facts.fitted.rows);
    rk_calibration_free(c);
}
#endif

static void test_no_calibration(void **state)
{
    const rk_calibration_choice wrong = {.size = sizeof(wrong), .threads = -1};
    rk_calibration *c;
    rk_error err;
    (void)state;
    assert_int_equal(rk_calibrate_constants(RECIPE, &wrong, &c, &err), RK_ERR_INVALID);
    assert_null(c);
    assert_int_equal(rk_calibrate_constants("none.json", NULL, &c, &err), RK_ERR_IO);
    assert_int_equal(rk_calibrate_constants("{\"name\": 3}", NULL, &c, &err), RK_ERR_INVALID);
    assert_string_equal(err.file, "JSON text");
    rk_calibration_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),         cmocka_unit_test(test_notations),
        cmocka_unit_test(test_unsure),         cmocka_unit_test(test_scores),
        cmocka_unit_test(test_choices),
#ifdef HAVE_NLOPT
        cmocka_unit_test(test_calibration),
#endif
        cmocka_unit_test(test_no_calibration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
