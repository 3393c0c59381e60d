/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory a run may need, and its risk of running out.  Measured over predicted memory is
 * assumed to be log-normal about 1, with the 10th and 90th percentile of comparable runs
 * (residual/interval.h), which agree in software, kind of model, width of formats, place of tensor
 * parallelism and sharding.  Within such a class the risk rises with the need of a strategy, so a
 * search compares bytes with one limit.
 */
#ifndef RK_RESIDUAL_RISK_H
#define RK_RESIDUAL_RISK_H

#include "residual/interval.h"

#define RK_RISK_USUAL      0.10 /* that a recommended strategy may have */
#define RK_RISK_FITS       0.50 /* of a strategy that needs all usable memory: the most that fits */
#define RK_RISK_IMPOSSIBLE 0.99 /* from here on, a run counts as impossible */

/* The interval of measured over predicted memory; without comparable runs, the widest one. */
rk_status rk_memory_interval_of(const rk_residuals *residuals, const rk_similarity_key *key,
                                const rk_left_out *except, rk_interval *out, rk_error *err);

/* P(a run that is predicted to need `need` bytes needs more than `usable`). */
double rk_risk_of(const rk_interval *interval, double need, double usable);

/* Sets percentiles of memory and risk of an estimate by the interval of its memory. */
void rk_set_risk(const rk_interval *interval, rk_estimate *estimate);

/*
 * Estimates a strategy exactly (rk_estimate_exact) with its interval of memory and its risk;
 * `stages` may be NULL.
 */
rk_status rk_predict_estimate(const rk_setting *setting, const rk_strategy *strategy,
                              rk_estimate *estimate, rk_stage_memory *stages, rk_error *err);

/* Whether an estimate that has a risk is within what the setting allows. */
bool rk_is_within_risk(const rk_setting *setting, const rk_estimate *estimate);

/* The same of a strategy whose accelerators had `size` times the memory. */
bool rk_is_within_more(const rk_setting *setting, const rk_estimate *estimate, double size);

/* ---- searches -------------------------------------------------------------------------------- */

/* Bytes that ranks may need, by place of tensor parallelism and sharding; not of the host. */
typedef struct rk_risk_limits {
    int64_t node; /* accelerators of the fastest tier */
    double usable;
    double bytes[RK_TENSOR_ACROSS + 1][RK_SHARD_ALL + 1];
    rk_interval intervals[RK_TENSOR_ACROSS + 1][RK_SHARD_ALL + 1];
} rk_risk_limits;

/* Limits for strategies with the precision and adapters of `base`; risk 0: all that fits. */
rk_status rk_risk_limits_of(const rk_setting *setting, const rk_strategy *base, double risk,
                            rk_risk_limits *out, rk_error *err);

double rk_risk_limit(const rk_risk_limits *limits, const rk_strategy *strategy);

/* As rk_set_risk, by the interval of the class of a strategy. */
void rk_set_class_risk(const rk_risk_limits *limits, const rk_strategy *strategy,
                       rk_estimate *estimate);

#endif
