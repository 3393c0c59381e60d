/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures by which accuracy is judged (data/runs/figures.json): each is a statistic of some
 * runs, with its target, its recorded value, and the margin by which it may get worse.
 */
#ifndef RK_EVIDENCE_FIGURES_H
#define RK_EVIDENCE_FIGURES_H

#include "evidence/score.h"
#include "io/out.h"

typedef enum rk_measure {
    RK_MEASURE_TIME,
    RK_MEASURE_MEMORY,
    RK_MEASURE_NULL,         /* time by the null model */
    RK_MEASURE_VERDICT,      /* runs out of memory, or not */
    RK_MEASURE_FIRST_CHOICE, /* how much slower than the best */
    RK_MEASURE_INTERVAL,
    RK_MEASURE_RISK, /* of running out of memory */
} rk_measure;

typedef enum rk_statistic {
    RK_STATISTIC_MEAN,
    RK_STATISTIC_MEDIAN,
    RK_STATISTIC_P90,
    RK_STATISTIC_WORST,
    RK_STATISTIC_ACCURACY,
    RK_STATISTIC_PRECISION,
    RK_STATISTIC_RECALL,
    RK_STATISTIC_COVERAGE,
    RK_STATISTIC_BRIER,      /* over the score of verdicts */
    RK_STATISTIC_IMPOSSIBLE, /* share of what ran that was called so */
    RK_STATISTIC_FAILED,     /* share of the first choices that ran out of memory */
} rk_statistic;

extern const char *const rk_figure_measures[], *const rk_figure_statistics[]; /* NULL-terminated */

typedef struct rk_figure {
    char name[64];
    char split[16]; /* of the rows; "": any */
    void *where;    /* owned by the list: labels by dimension */
    rk_measure measure;
    rk_statistic statistic;
    double target;      /* at most; of shares at least */
    double target_most; /* of coverage: at most */
    double value;       /* recorded value; negative: none yet */
    double margin;      /* margin by which it may get worse */
    int64_t runs;       /* runs that it was computed from; fewer is worse */
    /* Found by rk_figures_evaluate. */
    double now; /* NaN: no such rows */
    int64_t runs_now;
    bool meets, worse; /* meets the target; worse than value and margin allow */
} rk_figure;

typedef struct rk_figures {
    rk_figure *list; /* owned */
    size_t count;
    void *document; /* owned; JSON */
} rk_figures;

/* Reads figures from a file; released with rk_figures_clear. */
rk_status rk_figures_load(const char *path, rk_figures *figures, rk_error *err);
void rk_figures_clear(rk_figures *figures);

/* Computes all figures from the selected rows of a comparison. */
rk_status rk_figures_evaluate(rk_figures *figures, const rk_comparison *comparison, rk_error *err);

/* Writes the document with the new value of each figure. */
rk_status rk_figures_write(const rk_figures *figures, rk_out *out, rk_error *err);

#endif
