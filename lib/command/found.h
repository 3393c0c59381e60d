/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strategy that a command works on: the one given on its command line, or the fastest that fits
 * among those it leaves open.
 */
#ifndef RK_COMMAND_FOUND_H
#define RK_COMMAND_FOUND_H

#include "command/reckon_plan.h"

typedef struct rk_found {
    bool searched; /* the command line leaves choices open; `plan` has the fastest that fits, or
                      what is missing */
    rk_plan_answer plan;
    rk_answer given;    /* of a strategy that was given */
    rk_origins origins; /* where the fields of either come from */
} rk_found;

/*
 * Estimates or searches; cleared with rk_found_clear, also after a failure.  Where nothing is legal
 * because of what is given, the error names the rule.
 */
rk_status rk_found_fill(rk_job *job, const rk_request *request, const rk_inputs *inputs,
                        rk_found *found, rk_error *err);
void rk_found_clear(rk_found *found);

/* The strategy and its estimate; NULL if none fits. */
const rk_answer *rk_found_answer(const rk_found *found);

/*
 * Remarks that a file is not written because no strategy fits: "launch file" of --emit, "picture".
 * A file with the reason in it would pass for one.
 */
void rk_remark_no_file(const rk_job *job, const char *file, const char *option);

/* Writes search statistics and the given and searched choices; nothing if a strategy was given. */
void rk_write_found(FILE *to, const rk_found *found);
void rk_found_write_json(rk_json_writer *writer, const rk_found *found);

/* The paragraph about it in the help of `estimate`, `fit`, `run` and `timeline`. */
#define RK_NOTES_OF_CHOICES                                                                        \
    "Searches what is left open of the strategy, as 'reckon plan' does, and uses the\n"            \
    "fastest strategy that fits.\n"

/* Which choices were given and which were searched; nothing if none was given. */
void rk_write_choices(FILE *to, const rk_plan_answer *plan);

#endif
