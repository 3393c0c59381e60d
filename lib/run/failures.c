/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of interruptions, and what a list of causes amounts to. */
#include "run/reliability.h"

#include "base/extremes.h"
#include "base/units.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#define SPREAD_STEPS 400 /* of the mixture over rates */
#define TINY         1e-300
#define CLOSE        1e-14 /* of a continued fraction */

/* ---- clusters and causes ------------------------------------------------------------------- */

int rk_reliability_pool(const rk_reliability *reliability, int left_out, double *rate,
                        double *spread)
{
    double sum = 0, squares = 0;
    int count = 0;
    for (int i = 0; i < reliability->cluster_count; i++) {
        const rk_cluster_record *c = &reliability->clusters[i];
        if (c->counted && i != left_out) {
            const double each = log(c->interruptions / (c->accelerators * c->days * DAY));
            sum += each;
            squares += each * each;
            count++;
        }
    }
    const double mean = count > 0 ? sum / count : 0;
    *rate = count > 0 ? exp(mean) : 0;
    *spread = count > 1
                  ? sqrt(rk_max(squares - count * mean * mean, 0) / (count - 1) * (1 + 1.0 / count))
                  : 0;
    return count;
}

/* The share of the interruptions whose component has a flag, given by its offset in rk_component.
 */
static double share_with(const rk_reliability *reliability, size_t flag)
{
    double events = 0, flagged = 0;
    for (int i = 0; i < reliability->component_count; i++) {
        const rk_component *c = &reliability->components[i];
        events += c->events;
        flagged += *(const bool *)((const char *)c + flag) ? c->events : 0;
    }
    return events > 0 ? flagged / events : 0;
}

double rk_reliability_stall_s(const rk_reliability *reliability, bool standby)
{
    const double share = share_with(reliability, offsetof(rk_component, hang));
    return share * reliability->hang_s + (1 - share) * reliability->detect_s +
           (standby ? reliability->standby_restart_s : reliability->restart_s);
}

double rk_reliability_one_node_share(const rk_reliability *reliability)
{
    return share_with(reliability, offsetof(rk_component, one_node));
}

double rk_reliability_hardware_share(const rk_reliability *reliability)
{
    return share_with(reliability, offsetof(rk_component, hardware));
}

double rk_reliability_silent_share(const rk_reliability *reliability)
{
    return share_with(reliability, offsetof(rk_component, silent));
}

/* ---- Poisson ------------------------------------------------------------------------------- */

/* Regularized lower incomplete gamma function by its series; converges fast for x < a + 1. */
static double gamma_series(double a, double x)
{
    const int most = 1000 + (int)(20 * sqrt(a));
    double term = 1 / a, sum = term;
    for (int n = 1; n < most && term > sum * CLOSE; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return sum * exp(a * log(x) - x - lgamma(a));
}

/* Regularized upper incomplete gamma function by Lentz's continued fraction, for x >= a + 1. */
static double gamma_fraction(double a, double x)
{
    const int most = 1000 + (int)(20 * sqrt(a));
    double b = x + 1 - a, c = 1 / TINY, d = 1 / b, h = d;
    for (int n = 1; n < most; n++) {
        const double an = -n * (n - a);
        b += 2;
        d = an * d + b;
        d = 1 / (fabs(d) < TINY ? TINY : d);
        c = b + an / c;
        c = fabs(c) < TINY ? TINY : c;
        h *= d * c;
        if (fabs(d * c - 1) < CLOSE) {
            break;
        }
    }
    return h * exp(a * log(x) - x - lgamma(a));
}

double rk_poisson_at_most(double count, double mean)
{
    assert(mean >= 0);
    if (count < 0) {
        return 0;
    }
    if (!(mean > 0)) {
        return 1;
    }
    const double a = floor(count) + 1;
    const double share = mean < a + 1 ? 1 - gamma_series(a, mean) : gamma_fraction(a, mean);
    return rk_min(rk_max(share, 0), 1);
}

/* ---- the normal distribution --------------------------------------------------------------- */

double rk_normal_quantile(double share)
{
    assert(share > 0 && share < 1);
    double low = -40, high = 40;
    while (high - low > 1e-13 * (1 + fabs(low))) {
        const double middle = (low + high) / 2;
        if (middle <= low || middle >= high) {
            break;
        }
        *(erfc(-middle / sqrt(2.0)) / 2 < share ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

/* ---- counts with a rate that is not known -------------------------------------------------- */

/* The mixture of Poisson counts over equally likely rates. */
static double mixed_at_most(double count, double mean, const double *factors, int steps)
{
    double sum = 0;
    for (int i = 0; i < steps; i++) {
        sum += rk_poisson_at_most(count, mean * factors[i]);
    }
    return sum / steps;
}

double rk_interruptions_quantile(double mean, double spread, double share)
{
    assert(mean >= 0 && spread >= 0 && share > 0 && share < 1);
    double factors[SPREAD_STEPS] = {1};
    const int steps = spread > 0 ? SPREAD_STEPS : 1;
    for (int i = 0; i < steps && spread > 0; i++) {
        factors[i] = exp(spread * rk_normal_quantile((i + 0.5) / steps));
    }
    double low = -1, high = 1;
    while (high < 1e15 && mixed_at_most(high, mean, factors, steps) < share) {
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        const double middle = floor((low + high) / 2);
        *(mixed_at_most(middle, mean, factors, steps) < share ? &low : &high) = middle;
    }
    return high;
}

double rk_spares_needed(double nodes, double rate, double repair_s, double confidence)
{
    return rk_interruptions_quantile(nodes * rate * repair_s, 0, confidence);
}
