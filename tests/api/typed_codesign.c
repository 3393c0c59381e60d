/* SPDX-License-Identifier: Apache-2.0 */
/* Typed functions of sweeps, explanations, designs and shapes, and what they refuse. */
#include "documents.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRICES                                                                                     \
    "{\"name\": \"two\", \"currency\": \"$\", \"processor\": 100, \"life_days\": 1000, \"axes\": " \
    "[{\"key\": \"processors\", \"values\": [8, 16]},"                                             \
    " {\"key\": \"memory_GiB\", \"values\": [80, 160], \"price_per_unit\": 1}]}"

#define MANY_PRICES                                                                                \
    "{\"name\": \"many\", \"currency\": \"$\", \"processor\": 100, \"axes\": "                     \
    "[{\"key\": \"processors\", \"values\": [64, 128, 256, 512, 1024]},"                           \
    " {\"key\": \"memory_GiB\", \"values\": [70, 75, 80, 85, 90, 95, 100, 110, 120, 130],"         \
    " \"price_per_unit\": 1},"                                                                     \
    " {\"key\": \"memory_GBps\", \"values\": [3000, 3500, 4000, 4500], \"price_per_unit\": 1}]}"

static int open_documents(void **state)
{
    *state = open_setup("llama3-8b", "dgx-h100-superpod", NULL);
    return 0;
}

static rk_space space_of(int64_t accelerators)
{
    return (rk_space){
        .size = sizeof(rk_space), .accelerators = accelerators, .global_batch = 32, .threads = 1};
}

static void assert_near(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-12 * fabs(expected));
}

/* ---- explanations ---------------------------------------------------------------------------- */

static void test_explanation(void **state)
{
    const struct documents *d = *state;
    const rk_space space = space_of(8);
    rk_explanation *e;
    rk_explanation_facts facts;
    rk_number_worth worth;
    rk_strategy s;
    rk_outcome *outcome;
    rk_prediction p;
    rk_error err;
    char text[256];
    size_t count = 0;
    double last = HUGE_VAL, most = 0;
    assert_int_equal(rk_explain_system(d->setup, &space, 0.1, NULL, &e, &err), RK_OK);
    rk_explanation_describe(e, &facts, sizeof(facts));
    assert_int_equal(rk_plan_strategies(d->setup, &space, NULL, &outcome, &err), RK_OK);
    assert_true(rk_outcome_prediction(outcome, 0, &p, sizeof(p)));
    assert_true(facts.found && facts.step_s == p.step_s);
    rk_outcome_free(outcome);
    for (; rk_explanation_at(e, count, &worth, sizeof(worth)); count++) {
        assert_true(worth.key[0] && worth.name[0] && worth.sequences_per_s <= last);
        assert_near(worth.gain, worth.sequences_per_s / facts.sequences_per_s - 1);
        assert_true(rk_explanation_strategy(e, count, &s, sizeof(s), text, sizeof(text)));
        assert_int_equal(s.tp * s.cp * s.pp * s.dp, 8);
        last = worth.sequences_per_s;
        most = fmax(most, worth.gain);
    }
    assert_true(count == (size_t)facts.numbers && count > 5 && most > 0.01);
    assert_false(rk_explanation_strategy(e, count, &s, sizeof(s), NULL, 0));
    rk_explanation_free(e);
    /* Under a network of a third of the speed another strategy is faster than the old one. */
    bool replanned = false;
    assert_int_equal(rk_explain_system(d->setup, &space, -0.67, NULL, &e, &err), RK_OK);
    for (count = 0; rk_explanation_at(e, count, &worth, sizeof(worth)); count++) {
        assert_true(!worth.runs || worth.old_step_s <= 0 || worth.old_step_s >= worth.step_s);
        replanned = replanned || worth.old_step_s > 1.001 * worth.step_s;
    }
    assert_true(replanned);
    rk_explanation_free(e);
    assert_int_equal(rk_explain_system(d->setup, &space, -2, NULL, &e, &err), RK_ERR_INVALID);
    assert_null(e);
    const rk_space small = space_of(1);
    assert_int_equal(rk_explain_system(d->setup, &small, 0.1, NULL, &e, &err), RK_OK);
    rk_explanation_describe(e, &facts, sizeof(facts));
    assert_false(facts.found);
    assert_false(rk_explanation_at(e, 0, &worth, sizeof(worth)));
    rk_explanation_free(e);
    rk_explanation_free(NULL);
}

/* ---- designs --------------------------------------------------------------------------------- */

static void test_machines(void **state)
{
    const struct documents *d = *state;
    const rk_space space = space_of(0);
    rk_machine_target target = {
        .size = sizeof(target), .prices = PRICES, .days = 1000, .tokens = 1e11};
    rk_machines *m;
    rk_machine_facts f;
    rk_strategy s;
    rk_error err;
    size_t count = 0, fronts = 0, cheapest = 0;
    double cost = 0;
    assert_int_equal(rk_design_machines(d->setup, &space, &target, NULL, &m, &err), RK_OK);
    for (; rk_machines_at(m, count, &f, sizeof(f)); count++) {
        const char *key;
        double processors, memory;
        assert_true(rk_machines_number(m, count, 0, &key, &processors));
        assert_string_equal(key, "accelerators");
        assert_true(rk_machines_number(m, count, 1, &key, &memory));
        assert_string_equal(key, "memory_GiB");
        assert_false(rk_machines_number(m, count, 2, &key, &memory));
        assert_true((double)f.accelerators == processors && f.cost_of_one == 100 + memory);
        assert_near(f.cost, f.cost_of_one * processors);
        assert_true(f.cost >= cost);
        cost = f.cost;
        fronts += f.on_front;
        cheapest += f.cheapest;
        s.dp = 0;
        assert_true(rk_machines_strategy(m, count, &s, sizeof(s)) == f.runs);
        assert_true(!f.runs || s.tp * s.cp * s.pp * s.dp == f.accelerators);
        if (f.runs) {
            assert_near(f.days, 1e11 / f.tokens_per_s / 86400);
            assert_near(f.run_cost, f.cost * f.days / 1000);
            assert_near(f.step_s, 32 / f.sequences_per_s);
            assert_true(f.meets_target == (f.days <= 1000));
        }
    }
    assert_int_equal(count, 4);
    assert_false(rk_machines_number(m, count, 0, NULL, &cost));
    assert_false(rk_machines_strategy(m, count, &s, sizeof(s)));
    assert_true(fronts >= 1 && cheapest == 1);
    rk_machines_free(m);
    target.tokens = 0;
    assert_int_equal(rk_design_machines(d->setup, &space, &target, NULL, &m, &err), RK_ERR_INVALID);
    assert_null(m);
    const rk_space both = space_of(8);
    target.tokens = 1e11;
    assert_int_equal(rk_design_machines(d->setup, &both, &target, NULL, &m, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "axis of accelerators"));
    target.prices = NULL;
    assert_int_equal(rk_design_machines(d->setup, &space, &target, NULL, &m, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "prices");
    rk_machines_free(NULL);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void test_shapes(void **state)
{
    const struct documents *d = *state;
    const rk_space space = space_of(8);
    rk_shape_choice choice = {.size = sizeof(choice),
                              .tolerance_percent = 5,
                              .blocks = {2, {32, 36}},
                              .head_sizes = {1, {128}}};
    rk_shapes *shapes;
    rk_shape_facts f;
    rk_strategy s;
    rk_error err;
    size_t count = 0;
    double last = HUGE_VAL;
    assert_int_equal(rk_shape_models(d->setup, &space, &choice, NULL, &shapes, &err), RK_OK);
    for (; rk_shapes_at(shapes, count, &f, sizeof(f)); count++) {
        assert_true(f.blocks == 32 || f.blocks == 36);
        assert_true(f.head_size == 128 && f.hidden == f.heads * 128);
        assert_true(fabs(f.parameters / 8.03e9 - 1) < 0.052);
        assert_true(!f.runs || f.mfu <= last);
        assert_near(f.tokens_per_s, 8192 * f.sequences_per_s);
        s.dp = 0;
        assert_true(rk_shapes_strategy(shapes, count, &s, sizeof(s)) == f.runs);
        assert_true(!f.runs || s.tp * s.cp * s.pp * s.dp == 8);
        last = f.runs ? f.mfu : 0;
    }
    assert_true(count >= 1);
    assert_false(rk_shapes_strategy(shapes, count, &s, sizeof(s)));
    rk_shapes_free(shapes);
    choice.tolerance_percent = 99;
    assert_int_equal(rk_shape_models(d->setup, &space, &choice, NULL, &shapes, &err),
                     RK_ERR_INVALID);
    assert_null(shapes);
    choice.tolerance_percent = 5;
    choice.heads.count = RK_COUNTS_MAX + 1;
    assert_int_equal(rk_shape_models(d->setup, &space, &choice, NULL, &shapes, &err),
                     RK_ERR_INVALID);
    rk_shapes_free(NULL);
}

/* Shapes without a choice, and with each of its numbers left open. */
static void test_usual_shapes(void **state)
{
    const struct documents *d = *state;
    const rk_space space = space_of(8);
    const rk_shape_choice stated = {.size = sizeof(stated),
                                    .tolerance_percent = 2,
                                    .head_multiple = 8,
                                    .aspect_min = 64,
                                    .aspect_max = 256};
    rk_shape_choice choices[6];
    char first[4096] = "";
    for (size_t i = 0; i < 6; i++) {
        char text[4096] = "";
        rk_shapes *shapes;
        rk_shape_facts f;
        rk_error err;
        choices[i] = stated;
        choices[i].tolerance_percent = i == 1 ? 0 : 2;
        choices[i].head_multiple = i == 2 ? 0 : 8;
        choices[i].aspect_min = i == 3 ? 0 : 64;
        choices[i].aspect_max = i == 4 ? 0 : 256;
        assert_int_equal(
            rk_shape_models(d->setup, &space, i == 5 ? NULL : &choices[i], NULL, &shapes, &err),
            RK_OK);
        for (size_t j = 0; rk_shapes_at(shapes, j, &f, sizeof(f)); j++) {
            const size_t used = strlen(text);
            (void)snprintf(text + used, sizeof(text) - used, "%d x %d, %.9g; ", (int)f.blocks,
                           (int)f.hidden, f.mfu);
        }
        rk_shapes_free(shapes);
        if (i == 0) {
            memcpy(first, text, sizeof(first));
            assert_true(first[0] != '\0');
        }
        assert_string_equal(text, first);
    }
}

static bool stop_at_once(void *user, const rk_job_progress *progress)
{
    (void)progress;
    ++*(int *)user;
    return false;
}

static void test_stopped(void **state)
{
    const struct documents *d = *state;
    const rk_machine_target target = {.size = sizeof(target), .prices = MANY_PRICES};
    rk_space space = space_of(0);
    rk_machines *m;
    rk_error err;
    int calls = 0;
    const rk_job_control control = {
        .size = sizeof(control), .user = &calls, .progress = stop_at_once};
    space.global_batch = 1024;
    const rk_status stopped = rk_design_machines(d->setup, &space, &target, &control, &m, &err);
    if (stopped == RK_OK) {
        assert_int_equal(calls, 0); /* a fast machine ends before it reports */
        rk_machines_free(m);
    } else {
        assert_int_equal(stopped, RK_ERR_STOPPED);
        assert_int_equal(calls, 1);
        assert_null(m);
    }
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

#define GRID                                                                                       \
    "{\"model\": \"llama3-8b\", \"system\": \"dgx-h100-superpod\", \"accelerators\": 8, "          \
    "\"global_batch\": 32, \"top\": 2, \"axes\": [{\"key\": \"strategy.tp\", \"values\": "         \
    "[1, 2, 4]}]}"

struct seen {
    size_t rows, most;
    uint64_t last, progress;
    double steps[8];
};

static bool take_row(void *user, const rk_sweep_row *row)
{
    struct seen *seen = user;
    for (size_t i = 0; i < row->count && seen->rows < 8; i++) {
        if (strcmp(row->columns[i].name, "step_s") == 0) {
            assert_int_equal(row->values[i].type, RK_VALUE_REAL);
            seen->steps[seen->rows] = row->values[i].real;
        }
    }
    assert_true(row->point >= seen->last);
    seen->last = row->point;
    return ++seen->rows < seen->most;
}

static bool count_progress(void *user, const rk_sweep_progress *progress)
{
    assert_true(progress->points_done <= progress->points_total);
    ((struct seen *)user)->progress++;
    return true;
}

/* The rows do not replace the document of the sweep. */
static void test_sweep_onto_itself(void **state)
{
    char folder[] = "/tmp/reckon-test-XXXXXX", path[64], read[sizeof(GRID) + 1] = "";
    rk_sweep *sweep;
    rk_error err;
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/grid.json", folder);
    FILE *file = fopen(path, "w");
    assert_true(file && fputs(GRID, file) >= 0 && fclose(file) == 0);
    assert_int_equal(rk_sweep_create(path, &sweep, &err), RK_OK);
    const rk_sweep_control control = {.size = sizeof(control), .threads = 1, .csv = path};
    assert_int_equal(rk_sweep_points(sweep, &control, NULL, 0, &err), RK_ERR_INVALID);
    rk_sweep_free(sweep);
    file = fopen(path, "r");
    assert_true(file && fread(read, 1, sizeof(read), file) == strlen(GRID) && fclose(file) == 0);
    assert_string_equal(read, GRID);
    (void)remove(path);
    (void)remove(folder);
}

/* A command without --json answers a request as it prints: a sweep with its table. */
static void test_sweep_request(void **state)
{
    static char request[sizeof(GRID) + 32];
    char *response = NULL;
    rk_error err;
    (void)state;
    (void)snprintf(request, sizeof(request), "{\"grid\": %s, \"threads\": 1}", GRID);
    assert_int_equal(rk_answer_request("sweep", request, NULL, &response, &err), RK_OK);
    assert_non_null(strstr(response, ","));
    assert_non_null(strchr(response, '\n'));
    assert_null(strchr(response, '{'));
    rk_free(response);
}

static void test_sweep(void **state)
{
    rk_sweep *sweep;
    rk_sweep_totals totals;
    rk_error err;
    struct seen seen = {.most = 100};
    rk_sweep_control control = {.size = sizeof(control),
                                .user = &seen,
                                .threads = 1,
                                .row = take_row,
                                .progress = count_progress};
    (void)state;
    assert_int_equal(rk_sweep_create(GRID, &sweep, &err), RK_OK);
    assert_int_equal(rk_sweep_count(sweep, &totals, sizeof(totals), &err), RK_OK);
    assert_true(totals.points == 3 && totals.strategies > 10);
    assert_int_equal(rk_sweep_points(sweep, &control, &totals, sizeof(totals), &err), RK_OK);
    assert_true(totals.fitting == 3 && seen.rows == 6 && seen.last == 2 && seen.progress > 0);
    assert_true(seen.steps[0] > 0 && seen.steps[0] <= seen.steps[1]);
    double least = seen.steps[0];
    for (size_t i = 0; i < 6; i++) {
        least = fmin(least, seen.steps[i]);
    }
    seen = (struct seen){.most = 100};
    control.pareto = "time";
    assert_int_equal(rk_sweep_points(sweep, &control, NULL, 0, &err), RK_OK);
    assert_true(seen.rows == 1 && seen.steps[0] == least);
    seen = (struct seen){.most = 2};
    control.pareto = NULL;
    assert_int_equal(rk_sweep_points(sweep, &control, NULL, 0, &err), RK_ERR_STOPPED);
    assert_int_equal(seen.rows, 2);
    assert_int_equal(rk_sweep_points(sweep, NULL, NULL, 0, &err), RK_OK);
    control.resume = true;
    assert_int_equal(rk_sweep_points(sweep, &control, NULL, 0, &err), RK_ERR_INVALID);
    control.resume = false;
    control.threads = -1;
    assert_int_equal(rk_sweep_points(sweep, &control, NULL, 0, &err), RK_ERR_INVALID);
    rk_sweep_free(sweep);
    rk_sweep_free(NULL);
    assert_int_equal(rk_sweep_create("{\"axes\": 3}", &sweep, &err), RK_ERR_INVALID);
    assert_null(sweep);
    assert_string_equal(err.file, "JSON text");
    assert_int_equal(rk_sweep_create("none.json", &sweep, &err), RK_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_explanation),
        cmocka_unit_test(test_machines),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_usual_shapes),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_sweep_onto_itself),
        cmocka_unit_test(test_sweep_request),
    };
    return cmocka_run_group_tests(tests, open_documents, close_documents);
}
