/* SPDX-License-Identifier: Apache-2.0 */
/* The sensitivity of each hardware number: the step with that number 10 % better. */
#ifndef RK_METHOD_ESTIMATE_EXPLAIN_H
#define RK_METHOD_ESTIMATE_EXPLAIN_H

#include "method/estimate_change.h"

#define RK_SENSITIVITY_MAX (5 + 2 * RK_TIER_MAX)

/* Factor for 10 % better: for a rate or a size, and for a time. */
#define RK_MORE 1.1
#define RK_LESS 0.9

typedef struct rk_sensitivity {
    char key[32];  /* in documents: "tier0_bandwidth" */
    char name[64]; /* for people: "NVLink4 bandwidth" */
    double value;  /* what the number is, in `unit` */
    const char *unit;
    bool lower;  /* better is less: a time */
    double step; /* s, with the number 10 % better */
    /* For memory capacity, which saves time only through another strategy: that strategy. */
    bool changes;
    rk_strategy strategy;
} rk_sensitivity;

/* Those of one strategy, the most valuable first. */
typedef struct rk_sensitivities {
    rk_sensitivity items[RK_SENSITIVITY_MAX];
    size_t count;
} rk_sensitivities;

/* Finds the sensitivities of a legal strategy whose step takes `step` seconds. */
rk_status rk_find_sensitivities(const rk_setting *setting, const rk_strategy *strategy, double step,
                                rk_sensitivities *out, rk_error *err);

#endif
