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

/* Reads figures from a text. */
static void load_figures(const char *document, rk_figures *figures)
{
    char folder[] = "/tmp/figures-XXXXXX", path[64];
    rk_error err;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/figures.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(document, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rk_figures_load(path, figures, &err), RK_OK);
    unlink(path);
    rmdir(folder);
}

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
    rk_compared rows[ROWS];
    const rk_comparison all = {.rows = rows, .count = ROWS};
    rk_figures figures;
    rk_error err;
    make(rows);
    rows[1].nodes = 1;
    rows[4].fits = false;
    load_figures(document, &figures);
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

/* ---- every statistic of every measure ---------------------------------------------------------
 */

enum { RUNS = 120, JOBS = 12, STATISTIC_ROWS = RUNS + 3 * JOBS };

/*
 * Rows of the model "many" are jobs of their own: 100 ran in 1 s and 100 bytes, with errors of
 * (k / 100)^2 of the step, half of it of memory, three times it of the null model; 20 ran out of
 * memory.  Rows of "job" are 12 jobs of three strategies: of the k-th, the one chosen took
 * 1 + (k / 10)^2 s and the best 1 s; of the last two, the one chosen ran out of memory.
 */
static void make_statistics(const rk_run_table *of, rk_compared rows[STATISTIC_ROWS])
{
    for (size_t i = 0; i < RUNS; i++) {
        const bool ran = i < 100;
        const double k = (double)(i + 1), error = k * k / 1e4;
        rows[i] = run(i, 1 + error, ran ? 1 : 0, i < 90 || i >= 115);
        rows[i].table = of;
        rows[i].strategy.global_batch = 1000 + (int64_t)i;
        rows[i].memory = 100 + 50 * error;
        rows[i].memory_measured = ran ? 100 : 0;
        rows[i].null_step = 1 + 3 * error;
        rows[i].risk = !ran ? 0.6 : i < 95 ? 0.1 : 0.99;
        rows[i].low = i < 90 ? 0.79 * rows[i].step : 0; /* too high for k > 51 */
        rows[i].high = (i < 10 ? 0.9 : 1.1) * rows[i].step;
    }
    for (size_t job = 0; job < JOBS; job++) {
        const double k = (double)(job + 1);
        for (size_t i = 0; i < 3; i++) {
            rk_compared *row = &rows[RUNS + 3 * job + i];
            const bool chosen = i == job % 3, failed = chosen && job >= 10;
            *row = run(RUNS + 3 * job + i, chosen ? 1 : 2,
                       failed   ? 0
                       : chosen ? 1 + k * k / 100
                                : 1,
                       true);
            row->table = of;
            row->strategy.global_batch = (int64_t)job;
        }
    }
}

#define MANY "\"model\": \"many\""
#define ONES "\"model\": [\"other\", \"j*\"]"

static const struct {
    const char *where, *measure, *statistic, *judged; /* targets and the recorded value */
    double now;                                       /* NaN: the measure has no such statistic */
    int64_t runs;
    bool meets, worse;
} statistics[] = {
    /* sum of k^2 = 338350; the median of 50^2 and 51^2; 90^2; 100^2 */
    {MANY, "time", "mean", "\"target\": 0.34, \"margin\": 0", 0.33835, 100, true, false},
    {MANY, "time", "median", "\"target\": 0.25, \"margin\": 0", 0.25505, 100, false, false},
    {MANY, "time", "p90", "\"target\": 0.8, \"margin\": 0.02, \"value\": 0.8", 0.81, 100, false,
     false},
    {MANY, "time", "worst", "\"target\": 1, \"margin\": 0.02, \"value\": 0.97", 1, 100, true, true},
    {MANY, "time", "recall", "\"target\": 1, \"margin\": 1, \"value\": 1", (double)NAN, 100, false,
     true},
    {MANY, "memory", "mean", "\"target\": 0.1, \"margin\": 0", 0.169175, 100, false, false},
    {MANY, "memory", "median", "\"target\": 0.2, \"margin\": 0", 0.127525, 100, true, false},
    {MANY, "memory", "p90", "\"target\": 1, \"margin\": 0, \"runs\": 101, \"value\": 1", 0.405, 100,
     true, true},
    {MANY, "memory", "worst", "\"target\": 1, \"margin\": 0, \"runs\": 100, \"value\": 1", 0.5, 100,
     true, false},
    {MANY, "null", "mean", "\"target\": 1, \"margin\": 0", 1.01505, 100, false, false},
    {MANY, "null", "median", "\"target\": 1, \"margin\": 0", 0.76515, 100, true, false},
    {MANY, "null", "p90", "\"target\": 1, \"margin\": 0", 2.43, 100, false, false},
    {MANY, "null", "worst", "\"target\": 3, \"margin\": 0", 3, 100, true, false},
    /* 90 of 100 that ran fit, 15 of 20 that did not do not */
    {MANY, "verdict", "accuracy", "\"target\": 0.87, \"margin\": 0.01, \"value\": 0.88", 0.875, 120,
     true, false},
    {MANY, "verdict", "precision", "\"target\": 0.61, \"margin\": 0.01, \"value\": 0.62", 0.6, 120,
     false, true},
    {MANY, "verdict", "recall", "\"target\": 0.75, \"margin\": 0, \"value\": 0.7", 0.75, 120, true,
     false},
    {MANY, "verdict", "mean", "\"target\": 1, \"margin\": 0", (double)NAN, 120, false, false},
    /* measured times from 79 % of the step on, which are those of k <= 51, of 11 to 90 */
    {MANY, "interval", "coverage",
     "\"target\": 0.45, \"target_most\": 0.5, \"margin\": 0, \"value\": 0.44", 41 / 90.0, 90, true,
     false},
    {MANY, "interval", "coverage",
     "\"target\": 0.3, \"target_most\": 0.4, \"margin\": 0.05, \"value\": 0.41", 41 / 90.0, 90,
     false, false},
    {MANY, "interval", "coverage",
     "\"target\": 0.6, \"target_most\": 0.8, \"margin\": 0.1, \"value\": 0.56", 41 / 90.0, 90,
     false, true},
    /* (95 * 0.1^2 + 5 * 0.99^2 + 20 * 0.4^2) / 120 over 15 / 120 wrong verdicts; the lower half of
     * the risks, all 0.1, of runs that ran; 5 of 100 */
    {MANY, "risk", "brier", "\"target\": 0.6, \"margin\": 0", 9.0505 / 15, 120, false, false},
    {MANY, "risk", "worst", "\"target\": 0.1, \"margin\": 0", 0.1, 120, true, false},
    {MANY, "risk", "impossible", "\"target\": 0.05, \"margin\": 0", 0.05, 120, true, false},
    {MANY, "risk", "failed", "\"target\": 0, \"margin\": 0", (double)NAN, 0, false, false},
    {MANY, "risk", "mean", "\"target\": 1, \"margin\": 0", (double)NAN, 120, false, false},
    {MANY, "first_choice", "mean", "\"target\": 1, \"margin\": 0", (double)NAN, 0, false, false},
    /* sum of k^2 to 10 = 385 */
    {ONES, "first_choice", "mean", "\"target\": 0.385, \"margin\": 0", 0.385, 10, true, false},
    {ONES, "first_choice", "median", "\"target\": 0.3, \"margin\": 0", 0.305, 10, false, false},
    {ONES, "first_choice", "p90", "\"target\": 0.9, \"margin\": 0", 0.81, 10, true, false},
    {ONES, "first_choice", "worst", "\"target\": 0.9, \"margin\": 0", 1, 10, false, false},
    {ONES, "first_choice", "brier", "\"target\": 1, \"margin\": 0", (double)NAN, 10, false, false},
    {ONES, "risk", "failed", "\"target\": 0.17, \"margin\": 0", 2 / 12.0, 12, true, false},
    {"\"model\": \"man\"", "time", "mean", "\"target\": 1, \"margin\": 0", (double)NAN, 0, false,
     false},
};

static void test_statistics(void **state)
{
    enum { COUNT = sizeof(statistics) / sizeof(statistics[0]) };
    static rk_compared rows[STATISTIC_ROWS];
    static char cells[16 * (STATISTIC_ROWS + 1)], document[256 * COUNT];
    const rk_comparison all = {.rows = rows, .count = STATISTIC_ROWS};
    rk_run_table of;
    rk_figures figures;
    rk_error err;
    (void)state;
    int length = snprintf(cells, sizeof(cells), "id,model\n");
    for (int i = 0; i < STATISTIC_ROWS; i++) {
        length += snprintf(cells + length, sizeof(cells) - (size_t)length, "%d,%s\n", i,
                           i < RUNS ? "many" : "job");
    }
    assert_int_equal(rk_run_table_parse(cells, (size_t)length, "test.csv", &of, &err), RK_OK);
    make_statistics(&of, rows);
    length = snprintf(document, sizeof(document), "{\"figures\": [");
    for (size_t i = 0; i < COUNT; i++) {
        length += snprintf(document + length, sizeof(document) - (size_t)length,
                           "%s{\"name\": \"%zu\", \"where\": {%s}, \"measure\": \"%s\", "
                           "\"statistic\": \"%s\", %s}",
                           i ? ", " : "", i, statistics[i].where, statistics[i].measure,
                           statistics[i].statistic, statistics[i].judged);
    }
    (void)snprintf(document + length, sizeof(document) - (size_t)length, "]}");
    load_figures(document, &figures);
    assert_int_equal(rk_figures_evaluate(&figures, &all, &err), RK_OK);
    assert_int_equal(figures.count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const rk_figure *f = &figures.list[i];
        if (!(isnan(statistics[i].now) ? isnan(f->now)
                                       : fabs(f->now - statistics[i].now) <= 1e-12) ||
            f->runs_now != statistics[i].runs || f->meets != statistics[i].meets ||
            f->worse != statistics[i].worse) {
            fail_msg("figure %zu, %s %s: %.17g of %lld runs, meets %d, worse %d", i,
                     statistics[i].measure, statistics[i].statistic, f->now, (long long)f->runs_now,
                     f->meets, f->worse);
        }
    }
    rk_figures_clear(&figures);
    rk_run_table_clear(&of);
}

/* What makes two runs one job, of which a strategy is chosen: all but strategy and software. */
static void test_jobs(void **state)
{
    static const char cells[] = "id,model,commit_or_version,precision\n1,a,v1,BF16\n2,a,v1,BF16\n"
                                "3,b,v1,BF16\n4,a,v2,BF16\n5,a,v1,FP8\n";
    static rk_system other = {.name = "b"};
    rk_run_table of;
    rk_error err;
    (void)state;
    assert_int_equal(rk_run_table_parse(cells, sizeof(cells) - 1, "test.csv", &of, &err), RK_OK);
    for (int changed = 0; changed < 11; changed++) {
        rk_compared rows[] = {run(0, 1, 2, true), run(1, 2, 1, true)}, *row = &rows[1];
        const rk_compared *list[] = {&rows[0], &rows[1]};
        rk_score score;
        rk_risk_score risk;
        rows[0].table = row->table = &of;
        switch (changed) {
        case 1:
            row->ranks = 128;
            break;
        case 2:
            row->strategy.global_batch = 65;
            break;
        case 3:
            row->strategy.seq = 2048;
            break;
        case 4:
            row->system = &other;
            break;
        case 5:
            strcpy(row->group, "another");
            break;
        case 6:
        case 7:
        case 8:
            row->row = (size_t)changed - 4;
            break;
        case 9:
            row->strategy.tp = 8;
            break;
        default:
            break;
        }
        assert_int_equal(rk_score_rows(list, 2, &score, &risk, &err), RK_OK);
        const bool same = changed == 0 || changed > 8;
        assert_int_equal(score.first_choice.groups, same);
        assert_true(same ? fabs(score.first_choice.worst - 1) <= 1e-12
                         : isnan(score.first_choice.worst));
    }
    rk_run_table_clear(&of);
}

/* Of two runs the one chosen: it fits, at a usual risk, in the shorter step; of equals the slower,
 * or the one that ran out of memory. */
static void test_choices(void **state)
{
    static const struct {
        double step[2], measured[2], risk[2];
        bool fits[2], failed;
        double regret;
    } cases[] = {
        {{1, 2}, {1.5, 1}, {0, 0}, {true, true}, false, 0.5},
        {{2, 1}, {1.5, 1}, {0, 0}, {true, true}, false, 0},
        {{1, 2}, {1.5, 1}, {0, 0}, {false, true}, false, 0},
        {{1, 2}, {1.5, 1}, {0.1, 0}, {true, true}, false, 0.5},  /* usual, just so */
        {{1, 2}, {1.5, 1}, {0.101, 0}, {true, true}, false, 0},  /* above what is usual */
        {{1, 2}, {1.5, 1}, {0.5, 0}, {true, false}, false, 0.5}, /* and yet before none that fits */
        {{1, 1}, {1.5, 1}, {0, 0}, {true, true}, false, 0.5},    /* as predicted, alike */
        {{1, 1}, {1, 1.5}, {0, 0}, {true, true}, false, 0.5},
        {{1, 1}, {1, 0}, {0, 0}, {true, true}, true, 0},
        {{1, 1}, {0, 1}, {0, 0}, {true, true}, true, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_compared rows[4];
        const rk_compared *list[4];
        rk_score score;
        rk_risk_score risk;
        rk_error err;
        for (size_t j = 0; j < 4; j++) { /* two more that are never chosen */
            rows[j] = j < 2 ? run(0, cases[i].step[j], cases[i].measured[j], cases[i].fits[j])
                            : run(0, 9, 9, true);
            rows[j].risk = j < 2 ? cases[i].risk[j] : 0.5;
            list[j] = &rows[j];
        }
        assert_int_equal(rk_score_rows(list, 4, &score, &risk, &err), RK_OK);
        assert_int_equal(score.first_choice.groups, 1);
        assert_int_equal(score.first_choice.failed, cases[i].failed);
        assert_int_equal(score.first_choice.best, !cases[i].failed && cases[i].regret <= 0);
        assert_near(cases[i].failed ? 0 : score.first_choice.worst, cases[i].regret, 1e-12);
    }
}

/* The label of a run in every dimension, with its place among the others; bands at their ends. */
static void test_labels(void **state)
{
    static const char cells[] = "id,model,tier,split\n1,Llama,A,check\n";
    static rk_system node_of_8 = {.accelerator = {.name = "H200"}, .tiers = {{.size = 8}}};
    static const struct {
        rk_dimension by;
        int64_t number; /* nodes, tp, or pp */
        double utilisation;
        const char *label;
        int order;
    } cases[] = {
        {RK_BY_SOURCE, 0, 0, "source", 0},
        {RK_BY_ACCELERATOR, 0, 0, "H200", 0},
        {RK_BY_PRECISION, 0, 0, "fp8", 0},
        {RK_BY_KIND, 0, 0, "dense", 0},
        {RK_BY_KIND, 1, 0, "MoE", 0},
        {RK_BY_STACK, 0, 0, "s", 0},
        {RK_BY_MODEL, 0, 0, "Llama", 0},
        {RK_BY_TIER, 0, 0, "A", 0},
        {RK_BY_SPLIT, 0, 0, "check", 0},
        {RK_BY_NODES, 1, 0, "1 node", 1},
        {RK_BY_NODES, 2, 0, "2-8 nodes", 2},
        {RK_BY_NODES, 8, 0, "2-8 nodes", 2},
        {RK_BY_NODES, 9, 0, "9-32 nodes", 3},
        {RK_BY_NODES, 32, 0, "9-32 nodes", 3},
        {RK_BY_NODES, 33, 0, "33-128 nodes", 4},
        {RK_BY_NODES, 128, 0, "33-128 nodes", 4},
        {RK_BY_NODES, 129, 0, "129+ nodes", 5},
        {RK_BY_TENSOR, 1, 0, "no TP", 1},
        {RK_BY_TENSOR, 2, 0, "TP in a node", 2},
        {RK_BY_TENSOR, 8, 0, "TP in a node", 2},
        {RK_BY_TENSOR, 16, 0, "TP across nodes", 3},
        {RK_BY_SCHEDULE, 1, 0, "no pipeline", 1},
        {RK_BY_SCHEDULE, 2, 0, "zb-h1", 2 + RK_SCHEDULE_ZB_H1},
        {RK_BY_UTILISATION, 0, 0, "not measured", 9},
        {RK_BY_UTILISATION, 0, 0.05, "MFU 0-5%", 1},
        {RK_BY_UTILISATION, 0, 0.2, "MFU 5-20%", 2},
        {RK_BY_UTILISATION, 0, 0.35, "MFU 20-35%", 3},
        {RK_BY_UTILISATION, 0, 0.36, "MFU 35-50%", 4},
        {RK_BY_UTILISATION, 0, 0.5, "MFU 35-50%", 4},
        {RK_BY_UTILISATION, 0, 0.51, "MFU over 50%", 5},
    };
    rk_run_table of;
    rk_error err;
    (void)state;
    assert_int_equal(rk_run_table_parse(cells, sizeof(cells) - 1, "test.csv", &of, &err), RK_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char label[RK_LABEL_TEXT];
        const int64_t number = cases[i].number;
        rk_compared row = run(0, 1, 1, true);
        row.table = &of;
        row.system = &node_of_8;
        row.nodes = number;
        row.moe = number == 1;
        row.utilisation = cases[i].utilisation;
        row.strategy = (rk_strategy){
            .tp = number, .pp = number, .schedule = RK_SCHEDULE_ZB_H1, .precision = RK_FP8};
        assert_int_equal(rk_compared_label(&row, cases[i].by, label), cases[i].order);
        assert_string_equal(label, cases[i].label);
        row.stack = NULL; /* not even filled in */
        const bool named = cases[i].by == RK_BY_SOURCE || cases[i].by == RK_BY_MODEL ||
                           cases[i].by == RK_BY_TIER || cases[i].by == RK_BY_SPLIT;
        (void)rk_compared_label(&row, cases[i].by, label);
        assert_string_equal(label, named ? cases[i].label : "unknown");
    }
    rk_run_table_clear(&of);
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

/* Measured over predicted steps of the rows that are selected, predicted and measured. */
static void test_time_residuals(void **state)
{
    rk_compared rows[ROWS];
    const rk_comparison comparison = {.rows = rows, .count = ROWS};
    rk_residuals found;
    rk_error err;
    (void)state;
    make(rows);
    rows[1].selected = false;
    rows[2].predicted = false;
    assert_int_equal(rk_compare_residuals(&comparison, &found, &err), RK_OK);
    const double wanted[] = {1.2, 4 / 4.0, 5 / 5.0, 0.8}; /* rows 1, 6, 7 and 8 */
    assert_false(found.of_memory);
    assert_int_equal(found.ratio_count, sizeof(wanted) / sizeof(wanted[0]));
    for (size_t i = 0; i < found.ratio_count; i++) {
        assert_near(found.ratios[i], wanted[i], 1e-12);
    }
    assert_string_equal(found.cells[0].model, "a");
    assert_string_equal(found.cells[found.cell_count - 1].model, "c");
    rk_residuals_clear(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regret),           cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_null_model),       cmocka_unit_test(test_groups),
        cmocka_unit_test(test_memory_kinds),     cmocka_unit_test(test_figures),
        cmocka_unit_test(test_memory_residuals), cmocka_unit_test(test_time_residuals),
        cmocka_unit_test(test_statistics),       cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_choices),          cmocka_unit_test(test_labels),
    };
    return cmocka_run_group_tests(tests, make_table, clear_table);
}
