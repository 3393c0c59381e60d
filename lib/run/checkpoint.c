/* SPDX-License-Identifier: Apache-2.0 */
/* Optimal checkpoint intervals after Young and Daly, for one level or two. */
#include "run/checkpoint.h"

#include "base/extremes.h"

#include <assert.h>
#include <math.h>

/* J. W. Young, A first order approximation to the optimum checkpoint interval, 1974. */
double rk_checkpoint_young(double cost, double mtbf)
{
    return sqrt(2 * cost * mtbf);
}

/* J. T. Daly, A higher order estimate of the optimum checkpoint interval, 2006. */
double rk_checkpoint_daly(double cost, double mtbf)
{
    assert(cost >= 0 && mtbf > 0);
    const double half = cost / (2 * mtbf);
    if (half >= 1) {
        return mtbf;
    }
    return rk_checkpoint_young(cost, mtbf) * (1 + sqrt(half) / 3 + half / 9) - cost;
}

double rk_failure_slowdown(double interval, double cost, double restart, double mtbf)
{
    assert(interval > 0 && cost >= 0 && restart >= 0 && mtbf > 0);
    if (!(mtbf < HUGE_VAL)) {
        return 1 + cost / interval;
    }
    return mtbf * exp(restart / mtbf) * expm1((interval + cost) / mtbf) / interval;
}

double rk_effective_share(double interval, double cost, double restart, double mtbf)
{
    const double running = 1 - (restart + interval / 2) / mtbf;
    return rk_max(running / (1 + (interval > 0 ? cost / interval : 0)), 0);
}

/* ---- two levels ---------------------------------------------------------------------------- */

/* Contribution of a segment to the expected time E_i from its start: see segment_of. */
struct segment {
    double k, s, d;
};

/*
 * A segment of `need` s, i-th after a far copy.  It succeeds with s = e^(-need/M); otherwise the
 * run restarts near (share p; from the start of the segment) or far (from the far copy, E_0), and
 * either restart may fail again.  With r1 = e^(-R1/M) and c = M (e^(R2/M) - 1) the far restart
 * costs c + E_0, the near one x = a + b E_i + (1 - b) E_0 with d1 = 1 - (1 - r1) p, b = r1/d1 and
 * a = (1 - r1) (M + (1 - p) c)/d1, so that E_i d = k + s E_(i+1) + (d - s) E_0.
 */
static struct segment segment_of(const rk_checkpoint_levels *l, double need)
{
    const double m = l->mtbf_s, p = l->near_share;
    const double fails = -expm1(-need / m), near_fails = -expm1(-l->near_restart_s / m);
    const double d1 = 1 - near_fails * p, far = m * expm1(l->far_restart_s / m);
    const double a = near_fails * (m + (1 - p) * far) / d1, b = (1 - near_fails) / d1;
    return (struct segment){
        .k = fails * (m + p * a + (1 - p) * far),
        .s = 1 - fails,
        .d = 1 - fails * p * b,
    };
}

double rk_checkpoint_levels_slowdown(const rk_checkpoint_levels *l)
{
    const double near_s = l->interval_s + l->near_cost_s;
    if (!(l->mtbf_s < HUGE_VAL)) {
        return (near_s + l->far_cost_s / l->far_every) / l->interval_s;
    }
    const struct segment last = segment_of(l, near_s + l->far_cost_s);
    const struct segment each = segment_of(l, near_s);
    /* E_i = u_i + (1 - w_i) E_0: u and w of the last segment, then of all before it at once. */
    const double n = l->far_every - 1, ratio = each.s / each.d, power = pow(ratio, n);
    const double before = ratio < 1 ? (1 - power) / (1 - ratio) : n;
    const double u = each.k / each.d * before + power * last.k / last.d;
    const double w = power * last.s / last.d;
    const double slowdown = u / w / (l->far_every * l->interval_s);
    return slowdown < HUGE_VAL ? slowdown : HUGE_VAL; /* also of what is not a number */
}

/* The best interval of a given number of near copies by golden section over its logarithm. */
static double best_interval(rk_checkpoint_levels *l, double least)
{
    const double golden = (sqrt(5) - 1) / 2;
    double low = log(least), high = rk_max(low, log(rk_max(l->mtbf_s, least)));
    for (int i = 0; i < 60 && high - low > 1e-9; i++) {
        const double left = high - golden * (high - low), right = low + golden * (high - low);
        l->interval_s = exp(left);
        const double at_left = rk_checkpoint_levels_slowdown(l);
        l->interval_s = exp(right);
        const double at_right = rk_checkpoint_levels_slowdown(l);
        *(at_left <= at_right ? &high : &low) = at_left <= at_right ? right : left;
    }
    l->interval_s = exp((low + high) / 2);
    return rk_checkpoint_levels_slowdown(l);
}

void rk_checkpoint_levels_best(rk_checkpoint_levels *levels, double least_s, double most)
{
    assert(least_s > 0 && most >= 1);
    rk_checkpoint_levels best = *levels;
    double least = HUGE_VAL;
    best.interval_s = least_s;
    best.far_every = 1;
    for (double every = 1; every <= most; every = floor(every * 1.1) + 1) {
        levels->far_every = every;
        const double slowdown = best_interval(levels, least_s);
        if (slowdown < least) {
            least = slowdown;
            best = *levels;
        }
    }
    *levels = best;
}
