/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of `reckon explain`. */
#ifndef RK_COMMAND_EXPLAIN_ANSWER_H
#define RK_COMMAND_EXPLAIN_ANSWER_H

#include "codesign/replan.h"
#include "command/planner.h"
#include "report/describe.h"

/* The question and the answer. */
typedef struct rk_explain {
    rk_asked asked;
    double change;     /* 0.1: every number 10 % better */
    rk_candidate best; /* on the system as it is */
    rk_replan replans[RK_NUMBER_MAX];
    size_t count;
    rk_bounded_counts counts; /* of all searches */
    double cpu_s;
} rk_explain;

/*
 * Finds the best strategy, and again with each number changed; if none fits, explain->asked.ranking
 * is empty.
 */
rk_status rk_explain_find(rk_job *job, rk_explain *explain, rk_error *err);

/* Relative gain of the rate: 0.05 for 5 %. */
double rk_explain_gain(const rk_explain *explain, const rk_replan *replan);

/* How the new best strategy differs; "" if it is the same. */
const char *rk_explain_changes(const rk_explain *explain, const rk_replan *replan,
                               char out[RK_WORDS_SIZE]);

rk_text_writer rk_explain_write_text; /* `what` is the rk_explain */
rk_status rk_explain_write_json(const rk_job *job, const rk_explain *explain, rk_error *err);
rk_status rk_explain_write_csv(const rk_job *job, const rk_explain *explain, rk_error *err);

#endif
