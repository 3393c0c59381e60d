/* SPDX-License-Identifier: Apache-2.0 */
/* Out-of-memory probability from the residual interval, and the memory limits for a given risk. */
#include "residual/risk.h"

#include "base/extremes.h"

#include <assert.h>
#include <math.h>

/* P(Z <= z) of the standard normal distribution. */
static double normal_share(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

/* The z with P(Z <= z) = share, by bisection to the last bits that matter. */
static double normal_quantile(double share)
{
    assert(share > 0 && share < 1);
    double low = -9, high = 9;
    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);
        *(normal_share(middle) < share ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

/* normal_quantile(0.9); NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.1: 1.282. */
static const double ninetieth = 0x1.4813c36e26d32p+0;

/* Standard deviation of ln(measured / predicted): the interval ends at the 90th percentile. */
static double deviation(const rk_interval *interval)
{
    return log(interval->high) / ninetieth;
}

rk_status rk_memory_interval_of(const rk_residuals *residuals, const rk_similarity_key *key,
                                const rk_left_out *except, rk_interval *out, rk_error *err)
{
    rk_similarity_key without = *key;
    without.kernel = 0; /* of time */
    const rk_status status = rk_interval_of(residuals, &without, except, out, err);
    if (!status && out->runs == 0) {
        rk_interval_unknown(residuals, out);
    }
    return status;
}

double rk_risk_of(const rk_interval *interval, double need, double usable)
{
    const double sigma = deviation(interval);
    return sigma > 0 ? normal_share(log(need / usable) / sigma) : need > usable;
}

static rk_similarity_key key_of(const rk_setting *setting, const rk_strategy *strategy)
{
    return rk_similarity_key_of(setting->system, setting->stack, setting->model, strategy, NULL);
}

void rk_set_risk(const rk_interval *interval, rk_estimate *e)
{
    const double need = rk_needed_bytes(&e->memory);
    const bool host_lacks = !e->fits && need <= e->usable;
    e->memory_low = interval->low * need;
    e->memory_high = interval->high * need;
    e->risk = host_lacks ? 1 : rk_risk_of(interval, need, e->usable);
}

rk_status rk_predict_estimate(const rk_setting *setting, const rk_strategy *strategy,
                              rk_estimate *estimate, rk_stage_memory *stages, rk_error *err)
{
    const rk_similarity_key key = key_of(setting, strategy);
    rk_interval interval;
    rk_status status =
        rk_memory_interval_of(&rk_memory_residuals_built_in, &key, NULL, &interval, err);
    status = status ? status : rk_estimate_exact(setting, strategy, estimate, stages, err);
    if (!status) {
        rk_set_risk(&interval, estimate);
    }
    return status;
}

bool rk_is_within_risk(const rk_setting *setting, const rk_estimate *estimate)
{
    return estimate->fits && (setting->risk <= 0 || estimate->risk <= setting->risk);
}

bool rk_is_within_more(const rk_setting *setting, const rk_estimate *estimate, double size)
{
    assert(size > 0);
    const double need = rk_needed_bytes(&estimate->memory), usable = size * estimate->usable;
    const rk_interval interval = {.high = estimate->memory_high / need};
    return need <= usable &&
           (setting->risk <= 0 || rk_risk_of(&interval, need, usable) <= setting->risk);
}

/* ---- searches -------------------------------------------------------------------------------- */

rk_status rk_risk_limits_of(const rk_setting *setting, const rk_strategy *base, double risk,
                            rk_risk_limits *out, rk_error *err)
{
    const bool all = risk <= 0 || risk >= RK_RISK_FITS;
    const double z = all ? 0 : normal_quantile(risk);
    rk_similarity_key key = key_of(setting, base);
    *out = (rk_risk_limits){.node = setting->system->tiers[0].size,
                            .usable = setting->system->accelerator.memory_usable};
    key.kernel = 0; /* of time */
    const rk_status status =
        rk_class_intervals_of(&rk_memory_residuals_built_in, &key, out->intervals, err);
    for (int place = 0; place <= RK_TENSOR_ACROSS && !status; place++) {
        for (int sharding = 0; sharding <= RK_SHARD_ALL; sharding++) {
            rk_interval *interval = &out->intervals[place][sharding];
            if (interval->runs == 0) {
                rk_interval_unknown(&rk_memory_residuals_built_in, interval);
            }
            out->bytes[place][sharding] = out->usable * exp(z * deviation(interval));
        }
    }
    return status;
}

double rk_risk_limit(const rk_risk_limits *limits, const rk_strategy *strategy)
{
    return limits->bytes[rk_tensor_place_of(strategy, limits->node)][strategy->sharding];
}

void rk_set_class_risk(const rk_risk_limits *limits, const rk_strategy *strategy,
                       rk_estimate *estimate)
{
    const rk_tensor_place place = rk_tensor_place_of(strategy, limits->node);
    rk_set_risk(&limits->intervals[place][strategy->sharding], estimate);
}
