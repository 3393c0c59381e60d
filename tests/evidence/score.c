/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of small sets of runs whose answers are known: groups, null model, regret, verdicts. */
#include "../evidence/runs_test.h"

#include "evidence/figures.h"
#include "evidence/null_model.h"
#include "evidence/score.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 8 };

/* Rows 1-4 are one job, 5-7 another, 8 stands alone; the last column is for nothing. */
static const char text[] = "id,model,commit_or_version,precision,split\n"
                           "1,a,v1,BF16,fit\n2,a,v1,BF16,fit\n3,a,v1,BF16,fit\n4,a,v1,BF16,fit\n"
                           "5,b,v1,BF16,fit\n6,b,v1,BF16,fit\n7,b,v1,BF16,fit\n8,c,v1,BF16,check\n";

static rk_run_table table;
static rk_system system_a = {.name = "a", .accelerator = {.name = "a"}, .tiers = {{.size = 8}}};
static rk_stack stack = {.name = "s"};

/* A run that is predicted to take `step` and took `measured` (0: it ran out of memory). */
static rk_compared run(size_t row, double step, double measured, bool fits)
{
    rk_compared c = {.table = &table,
                     .row = row,
                     .selected = true,
                     .predicted = true,
                     .labelled = true,
                     .stack = &stack,
                     .system = &system_a,
                     .ranks = 64,
                     .nodes = 8,
                     .step = step,
                     .step_measured = measured,
                     .fits = fits,
                     .out_of_memory = measured <= 0};
    c.strategy = (rk_strategy){.tp = 1, .pp = 1, .global_batch = 64, .seq = 4096};
    c.mfu_measured = measured > 0 ? 0.5 / measured : 0;
    c.mfu = 0.5 / step;
    strcpy(c.group, "source");
    return c;
}

static void make(rk_compared rows[ROWS])
{
    rows[0] = run(0, 1.0, 1.2, true);  /* chosen */
    rows[1] = run(1, 1.1, 1.0, true);  /* the best */
    rows[2] = run(2, 0.9, 0.9, false); /* faster, but predicted not to fit */
    rows[3] = run(3, 2.0, 0, true);
    rows[4] = run(4, 3.0, 0, true); /* chosen, and ran out of memory */
    rows[5] = run(5, 4.0, 4.0, true);
    rows[6] = run(6, 5.0, 5.0, true);
    rows[7] = run(7, 1.0, 0.8, true);
}

static int make_table(void **state)
{
    rk_error err;
    (void)state;
    return rk_run_table_parse(text, sizeof(text) - 1, "test.csv", &table, &err) != RK_OK;
}

static int clear_table(void **state)
{
    (void)state;
    rk_run_table_clear(&table);
    return 0;
}

static void test_regret(void **state)
{
    (void)state;
    rk_compared rows[ROWS];
    rk_comparison all = {.rows = rows, .count = ROWS};
    rk_grouping grouping;
    rk_error err;
    make(rows);
    assert_int_equal(rk_score_groups(&all, NULL, 0, &grouping, &err), RK_OK);
    assert_int_equal(grouping.count, 1);
    const rk_regret *r = &grouping.groups[0].score.first_choice;
    assert_int_equal(r->groups, 2);
    assert_int_equal(r->failed, 1);
    assert_int_equal(r->best, 0);
    assert_near(r->median, 1.2 / 0.9 - 1,
                1e-12); /* to the best that ran, predicted to fit or not */
    rk_grouping_clear(&grouping);

    rows[0].step = 1.15; /* now the second is chosen, and the third is not there */
    rows[2].selected = false;
    assert_int_equal(rk_score_groups(&all, NULL, 0, &grouping, &err), RK_OK);
    assert_int_equal(grouping.groups[0].score.first_choice.best, 1);
    assert_near(grouping.groups[0].score.first_choice.mean, 0, 0);
    rk_grouping_clear(&grouping);
}

static void test_verdicts(void **state)
{
    (void)state;
    rk_compared rows[ROWS];
    rk_comparison all = {.rows = rows, .count = ROWS};
    rk_grouping grouping;
    rk_error err;
    make(rows);
    rows[4].fits = false;
    rows[3].thrashes = true;
    assert_int_equal(rk_score_groups(&all, NULL, 0, &grouping, &err), RK_OK);
    const rk_verdicts *v = &grouping.groups[0].score.out_of_memory;
    assert_int_equal(v->ran_fits, 5);
    assert_int_equal(v->ran_not, 1);
    assert_int_equal(v->oom_fits, 1);
    assert_int_equal(v->oom_not, 1);
    assert_int_equal(v->thrash_oom, 1);
    assert_near(rk_verdicts_accuracy(v), 6.0 / 8, 1e-12);
    assert_near(rk_verdicts_precision(v), 1.0 / 2, 1e-12);
    assert_near(rk_verdicts_recall(v), 1.0 / 2, 1e-12);
    rk_grouping_clear(&grouping);
}

/* The utilisation that is the median of the other runs to fit on, each source counting the same. */
static void test_null_model(void **state)
{
    (void)state;
    rk_compared rows[ROWS];
    rk_comparison all = {.rows = rows, .count = ROWS};
    rk_error err;
    make(rows);
    for (size_t i = 0; i < ROWS; i++) {
        rows[i].selected = false; /* which does not matter */
    }
    rows[5].step_measured = rows[6].step_measured = 0;
    const double utilisation[] = {0.2, 0.3, 0.4, 0, 0, 0, 0, 0.6};
    for (size_t i = 0; i < ROWS; i++) {
        rows[i].mfu_measured = utilisation[i];
    }
    assert_int_equal(rk_null_model(&all, &err), RK_OK);
    assert_near(rows[7].null_step, 0.8 * 0.6 / 0.3, 1e-12); /* of split check: median of all */
    assert_near(rows[1].null_step, 1.0 * 0.3 / 0.2, 1e-12); /* of 0.2 and 0.4 the lower */
    assert_near(rows[3].null_step, 0, 0);                   /* has no time */
    strcpy(rows[0].group, "another");
    strcpy(rows[1].group, "another");
    assert_int_equal(rk_null_model(&all, &err), RK_OK);
    assert_near(rows[7].null_step, 0.8 * 0.6 / 0.3, 1e-12); /* 1/2 + 1/2 against 1 */
}

static void test_groups(void **state)
{
    (void)state;
    static const rk_dimension by[] = {RK_BY_NODES, RK_BY_KIND};
    rk_compared rows[ROWS];
    rk_comparison all = {.rows = rows, .count = ROWS};
    rk_grouping grouping;
    rk_error err;
    make(rows);
    rows[0].nodes = 200;
    rows[1].nodes = 1;
    rows[1].moe = true;
    assert_int_equal(rk_score_groups(&all, by, 2, &grouping, &err), RK_OK);
    assert_int_equal(grouping.count, 3);
    assert_string_equal(grouping.groups[0].label, "1 node, MoE");
    assert_string_equal(grouping.groups[1].label, "2-8 nodes, dense");
    assert_string_equal(grouping.groups[2].label, "129+ nodes, dense");
    assert_near(grouping.groups[0].score.step.mean, 0.1, 1e-12);
    assert_int_equal(grouping.groups[1].score.step.count, 4);
    rk_grouping_clear(&grouping);
}

/* Peaks by what they are; rounded ones and those of a guessed card have groups of their own. */
static void test_memory_kinds(void **state)
{
    (void)state;
    static const char kinds[] = "id,memory_kind,inferred,unread\n1,reserved,,\n2,,vpp,\n"
                                "3,total,accelerator+vpp,\n4,allocated,,rounded by the author\n"
                                "5,allocated,,from the text around the table\n";
    static const char *const wanted[] = {"reserved", "memory not stated", "guessed card", "rounded",
                                         "allocated"};
    rk_run_table read;
    rk_error err;
    assert_int_equal(rk_run_table_parse(kinds, sizeof(kinds) - 1, "kinds.csv", &read, &err), RK_OK);
    for (size_t i = 0; i < read.rows; i++) {
        const rk_compared row = {.table = &read, .row = i};
        char label[RK_LABEL_TEXT];
        (void)rk_compared_label(&row, RK_BY_MEMORY, label);
        assert_string_equal(label, wanted[i]);
    }
    rk_run_table_clear(&read);
}

#define FIGURE(name, where, measure, statistic, rest)                                              \
    "{\"name\": \"" name "\", \"where\": {" where "}, \"measure\": \"" measure                     \
    "\", \"statistic\": \"" statistic "\", " rest "}"

/* Statistics of the right rows; worse than written down by more than the margin, or of fewer runs.
 */
static void test_figures(void **state)
{
    (void)state;
    static const char document[] = "{\"figures\": [" FIGURE(
        "mean", "\"source\": [\"a\", \"so*\"], \"nodes\": \"1 node\"", "time", "mean",
        "\"target\": 0.1, \"margin\": 0.05, \"value\": 0.06, \"runs\": 1") "," //
        FIGURE("recall", "", "verdict", "recall",
               "\"target\": 0.6, \"margin\": 0.01, \"value\": 0.52") "," //
        FIGURE("fewer", "", "first_choice", "median",
               "\"target\": 1, \"margin\": 1, \"value\": 0.3, \"runs\": 2") "]}";
    char folder[] = "/tmp/figures-XXXXXX", path[64];
    rk_compared rows[ROWS];
    const rk_comparison all = {.rows = rows, .count = ROWS};
    rk_figures figures;
    rk_error err;
    make(rows);
    rows[1].nodes = 1;
    rows[4].fits = false;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/figures.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(document, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rk_figures_load(path, &figures, &err), RK_OK);
    unlink(path);
    rmdir(folder);
    assert_int_equal(rk_figures_evaluate(&figures, &all, &err), RK_OK);
    assert_near(figures.list[0].now, 0.1, 1e-12);
    assert_true(figures.list[0].meets && !figures.list[0].worse);
    assert_near(figures.list[1].now, 0.5, 1e-12);
    assert_true(!figures.list[1].meets && figures.list[1].worse); /* 0.52 - 0.5 > 0.01 */
    assert_int_equal(figures.list[2].runs_now, 2);
    assert_true(figures.list[2].meets && !figures.list[2].worse);
    rows[5].selected = false;
    assert_int_equal(rk_figures_evaluate(&figures, &all, &err), RK_OK);
    assert_true(figures.list[2].worse);
    rk_figures_clear(&figures);
}

/* Measured over predicted memory; where no peak is printed, the least error that explains a run. */
static void test_memory_residuals(void **state)
{
    static const struct {
        double measured;
        bool fits, out, unsure, labelled, selected, predicted;
        double ratio; /* 0: none */
    } cases[ROWS] = {
        {80, true, false, false, true, true, true, 0.8},
        {0, true, true, false, true, true, true, 1.25},  /* fits, and ran out of memory */
        {0, false, false, false, true, true, true, 0.5}, /* does not fit, and ran */
        {0, true, false, false, true, true, true, 0},
        {0, true, true, true, true, true, true, 0},
        {0, true, true, false, false, true, true, 0},
        {80, true, true, false, true, false, true, 0},
        {80, true, false, false, true, true, false, 0},
    };
    rk_compared rows[ROWS];
    const rk_comparison comparison = {.rows = rows, .count = ROWS};
    rk_residuals found;
    rk_error err;
    size_t count = 0;
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        rows[i] = run(i, 1, 1, cases[i].fits);
        rows[i].memory_measured = cases[i].measured;
        rows[i].memory = 100;
        rows[i].need = cases[i].fits ? 80 : 200;
        rows[i].usable = 100;
        rows[i].out_of_memory = cases[i].out;
        rows[i].unsure = cases[i].unsure;
        rows[i].labelled = cases[i].labelled;
        rows[i].selected = cases[i].selected;
        rows[i].predicted = cases[i].predicted;
    }
    assert_int_equal(rk_compare_memory_residuals(&comparison, &found, &err), RK_OK);
    assert_true(found.of_memory);
    for (size_t i = 0; i < ROWS; i++) {
        if (cases[i].ratio > 0) {
            assert_true(count < found.ratio_count);
            assert_near(found.ratios[count++], cases[i].ratio, 1e-12);
        }
    }
    assert_int_equal(found.ratio_count, count);
    rk_residuals_clear(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regret),           cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_null_model),       cmocka_unit_test(test_groups),
        cmocka_unit_test(test_memory_kinds),     cmocka_unit_test(test_figures),
        cmocka_unit_test(test_memory_residuals),
    };
    return cmocka_run_group_tests(tests, make_table, clear_table);
}
