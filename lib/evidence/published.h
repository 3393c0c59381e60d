/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published whole runs next to predictions from their published layouts.  A table has the columns
 * of measured runs (docs/columns.md), and these:
 *
 *     tokens_T       10^12 tokens of the run
 *     target         step, hours or days: the published figure that counts
 *     days           published; with goodput_pct, of the whole calendar
 *     accel_hours    published accelerator-hours
 *     goodput_pct    published share of the time spent in steps
 *     confirmed      false: shown, not counted
 *     assumed        values that the source leaves open and the row assumes
 *     recalled       what was not read again in the source
 *     inferred       columns that the source leaves open: recompute is the cell's if that fits in
 *                    memory, and otherwise the fastest of the usual ways that does
 *     note           anything else
 */
#ifndef RK_EVIDENCE_PUBLISHED_H
#define RK_EVIDENCE_PUBLISHED_H

#include "evidence/compare.h"
#include "io/csv_in.h"
#include "run/training.h"

typedef enum rk_published_target {
    RK_PUBLISHED_STEP,
    RK_PUBLISHED_HOURS,
    RK_PUBLISHED_DAYS,
} rk_published_target;

extern const char *const rk_published_target_names[]; /* NULL-terminated, in enum order */

enum { RK_PUBLISHED_SETTLED = 96 };

/* A run.  Texts belong to the table. */
typedef struct rk_published_run {
    const char *id, *model, *accelerator, *assumed, *recalled, *note, *source;
    bool confirmed;
    bool predicted;     /* false: `reason` says why */
    const char *reason; /* "" when predicted */
    rk_strategy strategy;
    char settled[RK_PUBLISHED_SETTLED]; /* recomputation taken because the row's does not fit; "" */
    bool fits;
    double memory, usable; /* bytes */
    /* Published; 0: not printed. */
    double step_published, days_published, hours_published, goodput_published;
    /* Predicted: the step, and the run with its goodput by the usual rates of interruptions. */
    double step, goodput, interruptions;
    double days, hours; /* with the published goodput, if any; 0: no tokens printed */
    rk_published_target target;
    double error; /* predicted over published, less 1, of the target; NAN: nothing to compare */
    double bound; /* that the error should stay within: 0.15, or 0.25 of days and hours where no
                     goodput is published */
} rk_published_run;

typedef struct rk_published {
    rk_published_run *runs; /* owned */
    size_t count;
    rk_csv_in table;        /* owned, with all texts */
    rk_run_table facts;     /* owned */
    rk_run_sources sources; /* owned */
    rk_comparison compared; /* owned */
} rk_published;

/* Reads a table and predicts its runs.  The caller releases it with rk_published_clear. */
rk_status rk_published_load(const char *path, rk_published *out, rk_error *err);
void rk_published_clear(rk_published *published);

/* Returns the number of confirmed runs within their bounds; *counted: those that have an error. */
size_t rk_published_within(const rk_published *published, size_t *counted);

#endif
