/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions and measurements, run by run, and the groups in which errors are reported. */
#ifndef RK_EVIDENCE_COMPARE_H
#define RK_EVIDENCE_COMPARE_H

#include "evidence/runs.h"
#include "residual/risk.h"

enum { RK_COMPARED_TEXT = 256, RK_LABEL_TEXT = 64 };

/* One run.  Texts of the table are borrowed. */
typedef struct rk_compared {
    const rk_run_table *table;
    size_t row;
    bool selected;                 /* selected by the user; other rows only fit the null model */
    bool predicted;                /* false: `reason` says what is missing or wrong */
    char reason[RK_COMPARED_TEXT]; /* "" when predicted */
    char assumed[RK_RUN_NOTE_SIZE];
    bool settled, uncounted;   /* as in rk_run_case */
    char group[RK_LABEL_TEXT]; /* the source, or its part that is grouped separately */
    const rk_stack *stack;
    const rk_system *system;
    rk_strategy strategy;
    bool moe;
    int64_t ranks, nodes;
    /* Predicted; seconds, bytes, and per accelerator and second. */
    double step, memory, tokens_per_second, flops_per_second, mfu;
    rk_times times;
    double need, usable; /* bytes of the rank that needs most, and those it may use */
    bool fits, thrashes;
    bool unsure; /* does not fit because of an assumed value: unknown */
    rk_similarity_key key;
    double low, high; /* 10th to 90th percentile of the step; 0: nothing is comparable */
    double memory_low, memory_high; /* the same of `memory` */
    double risk;                    /* of running out of memory */
    double null_step; /* of the null model; 0: no run of this accelerator to fit it on */
    /* Measured; 0: not printed. */
    double step_measured, memory_measured, mfu_measured;
    double utilisation;           /* measured MFU by the source's own count of FLOPs */
    bool out_of_memory, labelled; /* labelled: its source reports runs that ran out of memory */
} rk_compared;

typedef struct rk_comparison {
    rk_compared *rows; /* owned */
    size_t count;
    const rk_compared **selected; /* owned; the rows that the user selected */
    size_t selected_count;
} rk_comparison;

/*
 * Sets the intervals of all predicted rows from the residuals, of time or of memory; these set the
 * risks, too.  Rows of split "fit", which the built-in residuals are made of, get theirs without
 * the residuals of their source and model.
 */
rk_status rk_compare_intervals(rk_comparison *comparison, const rk_residuals *residuals,
                               rk_error *err);

/* Gathers the residuals of all selected rows, and the error of a source. */
rk_status rk_compare_residuals(const rk_comparison *comparison, rk_residuals *out, rk_error *err);

/*
 * The same of memory, from measured peaks.  A run that ran out of memory although it is predicted
 * to fit, or ran without a measured peak although it is not, counts with the least error that
 * explains it.
 */
rk_status rk_compare_memory_residuals(const rk_comparison *comparison, rk_residuals *out,
                                      rk_error *err);

/*
 * Predicts every row of the tables, which outlive the comparison.  It selects those of a split,
 * "fit" or "check", that have `only` in their id, source, model, accelerator or stack; NULL: all.
 * The caller releases it with rk_comparison_clear.
 */
rk_status rk_compare_runs(const rk_run_sources *sources, const rk_run_table *tables,
                          size_t table_count, const char *split, const char *only,
                          rk_comparison *out, rk_error *err);
void rk_comparison_clear(rk_comparison *comparison);

/* Whether the time (or memory) of a row counts: predicted, measured and selected. */
bool rk_compared_has_time(const rk_compared *row);
bool rk_compared_has_memory(const rk_compared *row);

/* Predicted over measured, less 1. */
static inline double rk_compared_error(double predicted, double measured)
{
    return predicted / measured - 1;
}

/* ---- groups -------------------------------------------------------------------------------- */

typedef enum rk_dimension {
    RK_BY_SOURCE,
    RK_BY_ACCELERATOR,
    RK_BY_NODES,
    RK_BY_PRECISION,
    RK_BY_KIND, /* dense or MoE */
    RK_BY_TENSOR,
    RK_BY_SCHEDULE,
    RK_BY_UTILISATION, /* as measured */
    RK_BY_STACK,
    RK_BY_MODEL,
    RK_BY_TIER,
    RK_BY_SPLIT,
    RK_BY_MEMORY, /* what a measured peak is; rounded ones and those of a guessed card apart */
    RK_DIMENSION_COUNT,
} rk_dimension;

extern const char *const rk_dimension_names[]; /* NULL-terminated, in enum order */

/* The label of a row in a dimension. Returns its sort key; 0: alphabetical. */
int rk_compared_label(const rk_compared *row, rk_dimension dimension, char out[RK_LABEL_TEXT]);

#endif
