/* SPDX-License-Identifier: Apache-2.0 */
/* How good the predictions of a set of runs are: errors, choice of strategies, memory verdicts. */
#ifndef RK_EVIDENCE_SCORE_H
#define RK_EVIDENCE_SCORE_H

#include "evidence/compare.h"
#include "evidence/errors.h"

double rk_verdicts_accuracy(const rk_verdicts *v);
double rk_verdicts_precision(const rk_verdicts *v); /* of "runs out of memory" */
double rk_verdicts_recall(const rk_verdicts *v);

/*
 * Scores of risks over runs of sources that report out-of-memory: the mean square error of risks,
 * and of verdicts, which only say yes or no; and over bins of runs in order of risk, the difference
 * of mean risk and share that ran out of memory.
 */
enum { RK_RISK_BIN = 60 }; /* runs, at least */

typedef struct rk_risk_score {
    size_t runs, ran, failed;
    size_t impossible; /* runs that ran, with a risk of RK_RISK_IMPOSSIBLE or more */
    double brier, verdict_brier;
    size_t bins;
    double worst_bin;
} rk_risk_score;

rk_status rk_score_risk(const rk_compared *const *rows, size_t count, rk_risk_score *out,
                        rk_error *err);

/* Scores rows; reorders the list.  The score has no name of a group. */
rk_status rk_score_rows(const rk_compared **rows, size_t count, rk_score *score,
                        rk_risk_score *risk, rk_error *err);

typedef struct rk_score_group {
    char label[2 * RK_LABEL_TEXT];
    int order[2];
    const rk_compared **rows; /* into the list of the grouping */
    size_t count;
    rk_score score; /* its group is `label` */
    rk_risk_score risk;
} rk_score_group;

typedef struct rk_grouping {
    rk_score_group *groups; /* owned */
    size_t count;
    const rk_compared **rows; /* owned */
} rk_grouping;

/*
 * Scores the selected rows in groups by up to two dimensions (none: all together, labelled "all").
 * The caller releases the grouping with rk_grouping_clear.
 */
rk_status rk_score_groups(const rk_comparison *comparison, const rk_dimension *dimensions,
                          size_t dimension_count, rk_grouping *out, rk_error *err);
void rk_grouping_clear(rk_grouping *grouping);

#endif
