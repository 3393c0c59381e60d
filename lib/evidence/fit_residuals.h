/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the errors of all rows from the constants. */
#ifndef RK_EVIDENCE_FIT_RESIDUALS_H
#define RK_EVIDENCE_FIT_RESIDUALS_H

#include "evidence/editable_document.h"
#include "evidence/observations.h"

/* Time in operator rows outside the predicted kernel, by machine; see rk_is_table_key. */
typedef struct rk_table_constants {
    double module_seconds, module_passes; /* outside the kernel of a module */
    double rate;  /* of the GEMMs of tables that are "rated", over the document's */
    double droop; /* of clocks in long kernels of short benchmarks */
} rk_table_constants;

/*
 * Documents, and what is read from them with the current constants; one per thread. Constants whose
 * key starts with "data." belong to the tables and to no document.
 */
typedef struct rk_fit_setup {
    const rk_recipe *recipe;
    const rk_observations *rows;
    rk_editable *documents[RK_RECIPE_DOCUMENTS]; /* owned */
    rk_system machines[RK_RECIPE_DOCUMENTS];     /* of documents that are machines */
    rk_stack stacks[RK_RECIPE_DOCUMENTS];        /* of documents that are stacks */
    rk_table_constants extra[RK_RECIPE_DOCUMENTS];
    /* The accelerators as GEMM rows see them: [clock][rated]. */
    rk_accelerator engines[RK_RECIPE_DOCUMENTS][3][2];
    rk_system *systems; /* owned; systems of the sources of runs, as the documents make them */
} rk_fit_setup;

/* Opens the documents of the recipe.  Released with rk_fit_setup_clear. */
rk_status rk_fit_setup_open(const rk_recipe *recipe, rk_fit_setup *bench, rk_error *err);

/* Gives an open bench its rows. */
rk_status rk_fit_setup_take(rk_fit_setup *bench, const rk_observations *rows, rk_error *err);

rk_status rk_fit_setup_copy(const rk_fit_setup *bench, rk_fit_setup *copy, rk_error *err);
void rk_fit_setup_clear(rk_fit_setup *bench);

/* Sets all constants and reads the documents again. */
rk_status rk_fit_setup_set(rk_fit_setup *bench, const double *values, rk_error *err);

/* Refuses rows of kernels that their documents, with the constants as they are set, have no rates
 * for: the error names the kernel, and the nearest that has rates. */
rk_status rk_fit_setup_check(const rk_fit_setup *bench, rk_error *err);

/* log(predicted / measured) of a row under the constants that were set last. */
double rk_fit_setup_error(const rk_fit_setup *bench, const rk_observation *row);

/* Whether a key belongs to the tables. */
bool rk_is_table_key(const char *key);

/* Cost of an error under the loss of a recipe, and how steep it is: d cost / d error over error. */
double rk_loss_cost(const rk_recipe *recipe, double error);
double rk_loss_weight(const rk_recipe *recipe, double error);

#endif
