/* SPDX-License-Identifier: Apache-2.0 */
/* The verb explain: the best strategy is searched again with each number of the machine changed. */
#ifndef RK_CODESIGN_EXPLAIN_ANSWER_H
#define RK_CODESIGN_EXPLAIN_ANSWER_H

#include "codesign/machine_sensitivity.h"
#include "method/question.h"

/* The question and the answer. */
typedef struct rk_explain {
    rk_question question;
    double change;     /* 0.1: every number 10 % better */
    rk_candidate best; /* on the system as it is */
    rk_number_effect replans[RK_NUMBER_MAX];
    size_t count;
    rk_bounded_counts counts; /* of all searches */
    double cpu_s;
} rk_explain;

/*
 * Finds the best strategy, and again with each number changed; if none fits, the plan of the
 * question is empty.
 */
rk_status rk_explain_find(rk_control *control, rk_explain *explain, rk_error *err);

/* How the searches went, for programs. */
rk_explanation_facts rk_explain_figures(const rk_explain *explain);

/* The figures of a changed number, with texts of `replan`; the gain is NAN where nothing runs. */
rk_number_worth rk_explain_worth(const rk_explain *explain, const rk_number_effect *replan);

/* How the new best strategy differs; "" if it is the same. */
const char *rk_explain_changes(const rk_explain *explain, const rk_number_effect *replan,
                               char out[RK_WORDS_SIZE]);

#endif
