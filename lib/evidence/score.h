/* SPDX-License-Identifier: Apache-2.0 */
/* How good the predictions of a set of runs are: errors, choice of strategies, memory verdicts. */
#ifndef RK_EVIDENCE_SCORE_H
#define RK_EVIDENCE_SCORE_H

#include "evidence/compare.h"
#include "evidence/errors.h"

/*
 * What ranking costs: of runs of one model, batch and number of accelerators, how much slower the
 * one is that is predicted to be fastest (of those said to fit) than the one that was.
 */
typedef struct rk_regret {
    size_t groups;                   /* of at least two strategies that ran */
    size_t best;                     /* where the fastest was chosen */
    size_t failed;                   /* where the chosen one ran out of memory */
    double mean, median, p90, worst; /* of the groups whose choice ran */
} rk_regret;

/* Verdicts on memory, of sources that tell of runs which ran out of it. */
typedef struct rk_verdicts {
    size_t ran_fits, ran_not;      /* runs that ran, by what is predicted */
    size_t oom_fits, oom_not;      /* runs that ran out of memory */
    size_t thrash_ran, thrash_oom; /* of them, said to run, but short of memory */
} rk_verdicts;

double rk_verdicts_accuracy(const rk_verdicts *v);
double rk_verdicts_precision(const rk_verdicts *v); /* of "runs out of memory" */
double rk_verdicts_recall(const rk_verdicts *v);

typedef struct rk_score {
    rk_errors time, memory;
    size_t intervals, inside; /* runs with an interval of time, and those measured within it */
    double width;             /* mean of high over low, less 1 */
    rk_errors null;           /* of the null model, over the rows that it predicts */
    rk_regret regret;
    rk_verdicts verdicts;
} rk_score;

/* Scores rows; the list is left in another order. */
rk_status rk_score_rows(const rk_compared **rows, size_t count, rk_score *out, rk_error *err);

typedef struct rk_score_group {
    char label[2 * RK_LABEL_TEXT];
    int order[2];
    const rk_compared **rows; /* into the list of the grouping */
    size_t count;
    rk_score score;
} rk_score_group;

typedef struct rk_grouping {
    rk_score_group *groups; /* owned */
    size_t count;
    const rk_compared **rows; /* owned */
} rk_grouping;

/*
 * Scores the selected rows in groups by up to two dimensions (none: all of them together, labelled
 * "all").  The caller releases the grouping with rk_grouping_clear.
 */
rk_status rk_score_groups(const rk_comparison *comparison, const rk_dimension *dimensions,
                          size_t dimension_count, rk_grouping *out, rk_error *err);
void rk_grouping_clear(rk_grouping *grouping);

#endif
