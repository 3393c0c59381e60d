/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fitting the constants of documents to measurements, and how far the result can be trusted.
 *
 *     rk_calibrate -> rk_calibration_write (the documents; reckon/evidence.h)
 */
#ifndef RK_EVIDENCE_CALIBRATE_H
#define RK_EVIDENCE_CALIBRATE_H

#include "evidence/fit_residuals.h"

enum { RK_DECIDING_ROWS = 3 };

/* A constant that was fitted. */
typedef struct rk_constant_fit {
    rk_fitted_constant figures;
    /* The rows that influence it most: indices of observations, and the change without each. */
    int deciding_count;
    size_t deciding[RK_DECIDING_ROWS];
    double moves[RK_DECIDING_ROWS];
} rk_constant_fit;

/* The result of leaving out a group. */
typedef struct rk_group_left_out {
    rk_calibration_errors errors;
    size_t group;
    double values[RK_RECIPE_CONSTANTS]; /* of constants fitted to the rest */
} rk_group_left_out;

struct rk_calibration {
    rk_recipe *recipe;  /* owned */
    rk_fit_setup bench; /* holds the final constants */
    rk_observations rows;
    rk_calibration_facts facts;
    rk_error_summary held_start; /* of rows held out, with the constants of the recipe */
    rk_constant_fit constants[RK_RECIPE_CONSTANTS];
    rk_group_left_out *groups; /* owned; the groups that have rows to fit */
    size_t group_count;
    double *by_others; /* owned; error of each row by constants that its group had no part in */
    bool refitted;     /* without one group after the other: deviations and `without` are known */
};

/*
 * Reads the recipe, the documents and the tables, and fits.  The caller releases the calibration
 * with rk_calibration_clear, also after a failure.
 */
rk_status rk_calibrate(const char *path, const rk_calibration_choice *choice,
                       rk_calibration *calibration, rk_error *err);

/* The same with a loaded recipe; the calibration takes ownership, also on failure. */
rk_status rk_calibrate_by(rk_recipe *recipe, const rk_calibration_choice *choice,
                          rk_calibration *calibration, rk_error *err);

void rk_calibration_clear(rk_calibration *calibration);

/* Errors of the rows of a group (-1: all), of rows to fit or of rows held out. */
rk_status rk_errors_summarise(const rk_fit_setup *bench, int group, bool held,
                              rk_error_summary *out, rk_error *err);

/* Fills deviation, width, importance and deciding rows; see uncertainty.c. */
rk_status rk_calibration_judge(rk_calibration *calibration, const rk_calibration_choice *choice,
                               rk_error *err);

#endif
