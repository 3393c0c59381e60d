/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured runs: how well they are predicted, and constants fitted to them.
 *
 *     rk_run_table *table;
 *     rk_validation *validation;
 *     rk_score score;
 *     rk_status status = rk_run_table_create("runs.csv", &table, &err);
 *     status = status ? status
 *                     : rk_validate_runs((const rk_run_table *const *)&table, 1, NULL, &validation,
 *                                        &err);
 *     if (!status && rk_validation_score(validation, &score, sizeof(score))) {
 *         printf("%zu runs, mean error %.1f %%\n", score.step.count, 100 * score.step.mean);
 *     }
 *
 * Results are identical to `reckon validate` and `reckon calibrate`.  See docs/columns.md for the
 * columns of a table, docs/accuracy.md for errors, docs/calibration.md for recipes.
 */
#ifndef RECKON_EVIDENCE_H
#define RECKON_EVIDENCE_H

#include "reckon/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tables ---------------------------------------------------------------------------------- */

/* A table of measured runs. */
typedef struct rk_run_table rk_run_table;

/*
 * Reads a table: the name of one of the catalogue ("check"), the path of a file (.csv or .csv.gz),
 * the text of a CSV file with its header, or a JSON text {"rows": [{"model": ..., ...}, ...]}
 * whose members are columns.  Free *table with rk_run_table_free; it is NULL after a failure.
 * Errors: RK_ERR_IO; RK_ERR_SYNTAX; RK_ERR_INVALID for a table without the columns that make a
 * run; RK_ERR_LIMIT; RK_ERR_MEMORY.
 */
RK_API rk_status rk_run_table_create(const char *document, rk_run_table **table, rk_error *err);

/* NULL is legal. */
RK_API void rk_run_table_free(rk_run_table *table);

/* Rows of a table. */
RK_API size_t rk_run_table_count(const rk_run_table *table);

/* ---- validation ------------------------------------------------------------------------------ */

/* Predictions compared with measurements. */
typedef struct rk_validation rk_validation;

/* Rows to use and how to group them.  All zero except `size`: all rows, by source and kind. */
typedef struct rk_validation_choice {
    size_t size;         /* sizeof(rk_validation_choice) */
    const char *split;   /* only rows of this split, "fit" or "check"; NULL: all */
    const char *only;    /* only rows whose id, source, model, accelerator or stack contains this */
    const char *by;      /* one or two dimensions of groups, as of `reckon validate --by`: "stack",
                            "accelerator,precision"; NULL: "source,kind" */
    const char *sources; /* file of defaults for empty cells; NULL: the built-in ones */
} rk_validation_choice;

/* Maximum number of tables of a validation. */
#define RK_VALIDATION_TABLES 8

/*
 * Predicts every row of `count` tables, at most RK_VALIDATION_TABLES.  `choice` may be NULL.
 * *validation refers to the tables, which must outlive it; free it with rk_validation_free; it is
 * NULL after a failure.  A row that cannot be predicted is not an error; it says why.  Errors:
 * RK_ERR_INVALID for a choice, or a cell that is not a number; RK_ERR_IO; RK_ERR_MEMORY.
 */
RK_API rk_status rk_validate_runs(const rk_run_table *const *tables, size_t count,
                                  const rk_validation_choice *choice, rk_validation **validation,
                                  rk_error *err);

/* NULL is legal. */
RK_API void rk_validation_free(rk_validation *validation);

/* A measured run and its prediction; 0: not measured, or not predicted.  Texts live as long as
   the validation. */
typedef struct rk_validation_row {
    const char *file;             /* or the name of a table */
    int64_t row;                  /* number in the table, from 1 */
    const char *id;               /* of the run */
    const char *source;           /* that printed it, or a part of it */
    const char *model;            /* as the row names it */
    bool predicted;               /* else `left_out` says why, and the rest is 0 or "" */
    const char *left_out;         /* what is missing or wrong; "" */
    const char *assumed;          /* columns that were empty and got a default: "vpp, mbs" */
    const char *system;           /* name of the document */
    const char *accelerator;      /* name of its document */
    const char *stack;            /* name of its document */
    int64_t accelerators;         /* of the run */
    int64_t nodes;                /* of the run */
    bool moe;                     /* some layers of the model are mixtures of experts */
    double step_s;                /* predicted */
    double step_measured_s;       /* as measured */
    double step_error;            /* predicted over measured, less 1; NaN: not measured */
    double step_p10_s;            /* 10th percentile of comparable runs */
    double step_p90_s;            /* 90th percentile */
    double null_step_s;           /* by the null model, a constant MFU */
    double tokens_per_s;          /* predicted, per accelerator */
    double flops_per_s;           /* model FLOP/s per accelerator */
    double mfu;                   /* by the convention of the source */
    double mfu_measured;          /* by the same convention */
    double memory_bytes;          /* predicted peak, in the sense of the source */
    double memory_measured_bytes; /* as measured */
    double memory_error;          /* as step_error */
    double memory_needed_bytes;   /* on the rank that needs most */
    double memory_usable_bytes;   /* that it may use */
    bool fits;                    /* predicted */
    bool thrashes;                /* predicted: it runs, but the allocator thrashes */
    bool ran_out_of_memory;       /* measured */
    bool unsure;                  /* does not fit, but by a value that the row does not state */
} rk_validation_row;

/*
 * Fills the first `size` bytes for row `index` of those that were asked for: pass
 * sizeof(rk_validation_row).  Returns false, and fills nothing, past the last.
 */
RK_API bool rk_validation_at(const rk_validation *validation, size_t index, rk_validation_row *row,
                             size_t size);

/*
 * The strategy of row `index`; its layout lives as long as the validation.  Returns false, and
 * fills nothing, past the last and for a row that is not predicted.
 */
RK_API bool rk_validation_strategy(const rk_validation *validation, size_t index,
                                   rk_strategy *strategy, size_t size);

/* Errors of a set of predictions. */
typedef struct rk_errors {
    size_t count;  /* runs; 0: the rest means nothing */
    double mean;   /* this and the next three of |predicted / measured - 1| */
    double median; /* half are better */
    double p90;    /* nine in ten are better */
    double worst;  /* of all */
    double bias;   /* mean of predicted / measured - 1 */
    double rank;   /* Spearman's correlation of predicted and measured; NaN: nothing to rank */
} rk_errors;

/*
 * Cost of trusting the ranking: among runs of one model, batch and number of accelerators, how much
 * slower the run predicted to be fastest (of those predicted to fit) is than the fastest.
 */
typedef struct rk_regret {
    size_t groups; /* jobs of at least two strategies that ran */
    size_t best;   /* where the fastest was chosen */
    size_t failed; /* where the chosen one ran out of memory */
    double mean;   /* this and the next three over jobs whose choice ran */
    double median; /* half cost less */
    double p90;    /* nine in ten cost less */
    double worst;  /* of all */
} rk_regret;

/* Verdicts on memory, of sources that report out-of-memory runs. */
typedef struct rk_verdicts {
    size_t ran_fits;   /* ran, predicted to fit */
    size_t ran_not;    /* ran, predicted not to fit */
    size_t oom_fits;   /* ran out of memory, predicted to fit */
    size_t oom_not;    /* ran out of memory, predicted not to fit */
    size_t thrash_ran; /* ran, predicted to run short of memory */
    size_t thrash_oom; /* ran out of memory, predicted to run short */
} rk_verdicts;

/* How good the predictions of a group of runs are. */
typedef struct rk_score {
    const char *group;         /* "all", or what the runs have in common; lives as long as the
                                  validation */
    rk_errors step;            /* of the time of a step */
    rk_errors null_model;      /* the same for a constant MFU per accelerator */
    size_t intervals;          /* runs with an interval */
    double interval_coverage;  /* fraction of runs inside the interval; NaN: none */
    double interval_width;     /* mean of high / low - 1; NaN: none */
    rk_errors memory;          /* of the peak */
    rk_regret first_choice;    /* of ranking */
    rk_verdicts out_of_memory; /* of saying what fits */
} rk_score;

/*
 * Fills the first `size` bytes with the score of all rows that were asked for: pass
 * sizeof(rk_score).  Returns false if none could be predicted.
 */
RK_API bool rk_validation_score(const rk_validation *validation, rk_score *score, size_t size);

/* The same for group `index` of `by`.  Returns false, and fills nothing, past the last. */
RK_API bool rk_validation_group(const rk_validation *validation, size_t index, rk_score *score,
                                size_t size);

/* ---- calibration ----------------------------------------------------------------------------- */

/* Constants of documents, fitted to measurements. */
typedef struct rk_calibration rk_calibration;

/* How constants are fitted.  All zero except `size` is legal. */
typedef struct rk_calibration_choice {
    size_t size;     /* sizeof(rk_calibration_choice) */
    int64_t threads; /* threads for the fits without a group; 0: one per core */
    bool quick;      /* skip these fits: no deviations and no left-out errors */
} rk_calibration_choice;

/*
 * Fits the constants that a recipe names, a file or a JSON text, to the rows that it names; paths
 * in a file are relative to its folder.  Needs a library built with NLopt.  `choice` may
 * be NULL.  Free *calibration with rk_calibration_free; it is NULL after a failure.  Errors:
 * RK_ERR_IO, RK_ERR_SYNTAX, RK_ERR_INVALID with file and JSON path; RK_ERR_MEMORY.
 */
RK_API rk_status rk_calibrate_constants(const char *recipe, const rk_calibration_choice *choice,
                                        rk_calibration **calibration, rk_error *err);

/* NULL is legal. */
RK_API void rk_calibration_free(rk_calibration *calibration);

/*
 * Writes the documents of the recipe to their files, with the fitted numbers and where they come
 * from.  Errors: RK_ERR_IO, RK_ERR_MEMORY.
 */
RK_API rk_status rk_calibration_write(rk_calibration *calibration, rk_error *err);

/* Relative errors of a set of rows, as fractions. */
typedef struct rk_error_summary {
    size_t rows;   /* 0: the rest means nothing */
    double mean;   /* this and the next two without sign */
    double median; /* half are better */
    double p90;    /* nine in ten are better */
    double rms;    /* root of the mean square */
    double bias;   /* mean with sign */
} rk_error_summary;

/* How well the constants fit. */
typedef struct rk_calibration_facts {
    const char *recipe;             /* its name; lives as long as the calibration */
    int64_t constants;              /* that were fitted */
    int64_t groups;                 /* of rows, each left out once */
    double loss_start;              /* with the constants that the recipe begins with */
    double loss_found;              /* with the constants of the documents */
    double loss;                    /* with the fitted ones */
    rk_error_summary start;         /* of rows to fit, in the same order */
    rk_error_summary found;         /* by the documents as found */
    rk_error_summary fitted;        /* by the fitted constants */
    rk_error_summary by_the_others; /* each group by constants fitted to the others */
    rk_error_summary held_out;      /* of held-out rows */
} rk_calibration_facts;

/* Fills the first `size` bytes of `facts`: pass sizeof(rk_calibration_facts). */
RK_API void rk_calibration_describe(const rk_calibration *calibration, rk_calibration_facts *facts,
                                    size_t size);

/* A fitted constant. */
typedef struct rk_fitted_constant {
    const char *key;     /* in the document: "gemm.bf16.feed"; lives as long as the calibration */
    const char *unit;    /* "": none */
    const char *meaning; /* description in the document */
    double start;        /* of the recipe */
    double found;        /* in the first document; NaN: absent */
    double value;        /* fitted */
    double deviation;    /* standard deviation, leaving out one group at a time; NaN: quick */
    double width;        /* half of the range in which the loss grows by less than 1 % */
    double importance;   /* growth of the loss at the worse of its bounds, relative */
    bool at_bound;       /* it is on a bound */
    bool idle;           /* the loss hardly depends on it */
} rk_fitted_constant;

/*
 * Fills the first `size` bytes for constant `index`.  Returns false, and fills nothing, past the
 * last.
 */
RK_API bool rk_calibration_constant(const rk_calibration *calibration, size_t index,
                                    rk_fitted_constant *constant, size_t size);

/* Errors of a group of rows. */
typedef struct rk_calibration_errors {
    const char *group;              /* lives as long as the calibration */
    rk_error_summary start;         /* by the constants that the recipe begins with */
    rk_error_summary fitted;        /* by the fitted ones */
    rk_error_summary by_the_others; /* by constants fitted without the group; rows 0: quick */
} rk_calibration_errors;

/* The same for a group of rows. */
RK_API bool rk_calibration_group(const rk_calibration *calibration, size_t index,
                                 rk_calibration_errors *errors, size_t size);

#ifdef __cplusplus
}
#endif

#endif
