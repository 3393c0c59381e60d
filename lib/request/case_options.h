/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `reckon estimate` that make the job of a measured run. */
#ifndef RK_REQUEST_CASE_OPTIONS_H
#define RK_REQUEST_CASE_OPTIONS_H

#include "base/bytes.h"
#include "evidence/runs.h"

/* Options in their order: names without dashes and values, each ended by a 0; a flag's is "". */
typedef struct rk_case_options {
    rk_bytes words; /* owned */
    size_t count;   /* of options */
} rk_case_options;

/* How much of the strategy the options say. */
typedef enum rk_case_extent {
    RK_CASE_WHOLE,  /* complete, inferred or not: nothing is left open */
    RK_CASE_STATED, /* what the row states; --complete observed infers the rest */
} rk_case_extent;
extern const char *const rk_case_extent_names[];

/*
 * Writes the options of a case, which rk_run_case_fill made of the row.  Release them with
 * rk_bytes_clear(&out->words), also after a failure.
 */
rk_status rk_case_options_of(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                             const rk_run_case *run, rk_case_extent extent, rk_case_options *out,
                             rk_error *err);

#endif
