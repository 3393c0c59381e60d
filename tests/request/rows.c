/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of a table of runs and the same facts as options of `reckon estimate` have the same step
 * and the same memory, to the last digit: all of them, and those that the row states, of which the
 * rest is inferred.
 *
 *     test_request_rows TABLE...
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "command/commands.h"
#include "request/case_options.h"
#include "request/request.h"

/* The estimate of a question. */
typedef struct answer {
    rk_estimate estimate;
    rk_strategy strategy;
} answer;

static rk_status estimate_question(const rk_request *request, answer *to, rk_error *err)
{
    rk_inputs *inputs = malloc(sizeof(*inputs));
    assert_non_null(inputs);
    rk_status status = rk_request_load(request, inputs, err);
    status = status ? status : rk_request_strategy(request, inputs, &to->strategy, err);
    if (!status) {
        rk_stage_memory *stages = calloc((size_t)to->strategy.pp, sizeof(*stages));
        assert_non_null(stages);
        const rk_setting setting = {.model = &inputs->model,
                                    .system = &inputs->system,
                                    .stack = &inputs->software.stack,
                                    .convention = RK_FLOPS_MEGATRON};
        status = rk_estimate_exact(&setting, &to->strategy, &to->estimate, stages, err);
        free(stages);
    }
    to->strategy.layout = NULL;
    rk_inputs_clear(inputs);
    free(inputs);
    return status;
}

/* Asks `reckon estimate` with these options. */
static rk_status ask(const rk_case_options *options, answer *to, rk_error *err)
{
    rk_job *job = NULL;
    const char *word = (const char *)options->words.data;
    rk_status status = rk_job_create(rk_command_find("estimate"), &job, err);
    for (size_t i = 0; i < options->count && !status; i++) {
        const char *value = word + strlen(word) + 1;
        status = rk_job_set(job, word, value[0] ? value : NULL, err);
        word = value + strlen(value) + 1;
    }
    status = status ? status : rk_job_start(job, NULL, NULL, NULL, err);
    status = status ? status : estimate_question(rk_job_arguments(job), to, err);
    rk_job_free(job);
    return status;
}

static void print_options(const rk_case_options *options)
{
    const char *word = (const char *)options->words.data;
    for (size_t i = 0; i < options->count; i++) {
        const char *value = word + strlen(word) + 1;
        print_error(" --%s%s'%s'", word, value[0] ? "=" : " ", value);
        word = value + strlen(value) + 1;
    }
    print_error("\n");
}

/* Compares a row; returns whether it is the same. */
static bool compare(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                    const rk_run_case *run, rk_case_extent extent)
{
    rk_run_prediction p;
    rk_case_options options;
    answer found = {.estimate = {.step = 0}};
    rk_error err = {.message = ""};
    assert_int_equal(rk_run_predict_exact(sources, run, NULL, NULL, &p, &err), RK_OK);
    assert_int_equal(rk_case_options_of(sources, table, row, run, extent, &options, &err), RK_OK);
    const rk_status status = ask(&options, &found, &err);
    const bool same = !status && found.estimate.step == p.estimate.step &&
                      found.estimate.memory.total == p.estimate.memory.total &&
                      found.estimate.memory.allocated == p.estimate.memory.allocated &&
                      found.estimate.memory.reserved == p.estimate.memory.reserved &&
                      found.estimate.usable == p.estimate.usable;
    if (!same) {
        print_error("%s: step %.17g, as options %.17g; memory %.17g, %.17g; %s\n",
                    rk_run_cell(table, row, RK_RUN_ID), p.estimate.step, found.estimate.step,
                    p.estimate.memory.total, found.estimate.memory.total,
                    status ? err.message : "");
        if (getenv("SHOW")) {
            print_options(&options);
        }
    }
    rk_bytes_clear(&options.words);
    return same;
}

static void compare_rows(const char *name, rk_case_extent extent)
{
    rk_run_sources sources;
    rk_run_table table;
    rk_error err;
    size_t compared = 0, differ = 0;
    rk_run_case *run = malloc(sizeof(*run));
    assert_non_null(run);
    assert_int_equal(rk_run_sources_load(NULL, &sources, &err), RK_OK);
    assert_int_equal(rk_run_table_load(name, &table, &err), RK_OK);
    assert_int_equal(rk_run_sources_add(&sources, &table, &err), RK_OK);
    for (size_t row = 0; row < table.rows; row++) {
        if (rk_run_case_fill(&sources, &table, row, run, NULL) == RK_OK) {
            compared++;
            differ += !compare(&sources, &table, row, run, extent);
        }
    }
    assert_true(compared > table.rows * 3 / 4);
    assert_int_equal(differ, 0);
    rk_run_table_clear(&table);
    rk_run_sources_clear(&sources);
    free(run);
}

static void test_whole(void **state)
{
    compare_rows(*state, RK_CASE_WHOLE);
}

static void test_stated(void **state)
{
    compare_rows(*state, RK_CASE_STATED);
}

/* The tables are the arguments. */
int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        const struct CMUnitTest tests[] = {
            {argv[i], test_whole, NULL, NULL, argv[i]},
            {argv[i], test_stated, NULL, NULL, argv[i]},
        };
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return argc < 2 || failed;
}
