/* SPDX-License-Identifier: Apache-2.0 */
/* What each number of the hardware is worth: the step again with one of them 10 % better. */
#ifndef RK_REPORT_ESTIMATE_EXPLAIN_H
#define RK_REPORT_ESTIMATE_EXPLAIN_H

#include "report/estimate_change.h"

#define RK_SENSITIVITY_MAX (5 + 2 * RK_TIER_MAX)

/* What 10 % better is: of a rate or a size, and of a time. */
#define RK_MORE 1.1
#define RK_LESS 0.9

typedef struct rk_sensitivity {
    char key[32];  /* in documents: "tier0_bandwidth" */
    char name[64]; /* for people: "NVLink4 bandwidth" */
    double value;  /* what the number is, in `unit` */
    const char *unit;
    bool lower;  /* better is less: a time */
    double step; /* s, with the number 10 % better */
    /* Of memory capacity, which buys time only through another strategy: which one. */
    bool changes;
    rk_strategy strategy;
} rk_sensitivity;

/*
 * Fills the sensitivities of a legal strategy, the most valuable first.  `step` is its step as it
 * was told, in s; what a better number saves is the same share of it as by rk_estimate_step.
 * Returns how many there are.
 */
size_t rk_sensitivities(const rk_setting *setting, const rk_strategy *strategy, double step,
                        rk_sensitivity out[RK_SENSITIVITY_MAX]);

#endif
