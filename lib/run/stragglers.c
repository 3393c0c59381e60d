/* SPDX-License-Identifier: Apache-2.0 */
/* Expected maximum of n normal step times, and slowdown by persistent stragglers. */
#include "run/stragglers.h"

#include <math.h>

#define REACH 12.0 /* standard deviations; beyond, nothing is left in double precision */
#define STEPS 4800 /* of the integral, even */

/* Phi(x)^n. */
static double all_below(double x, double n)
{
    const double above = erfc(x / sqrt(2.0)) / 2;
    return above < 1 ? exp(n * log1p(-above)) : 0;
}

double rk_straggler_kappa(double workers)
{
    const double h = 2 * REACH / STEPS;
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) { /* Simpson's rule, over the two halves of the line */
        const double x = -REACH + i * h;
        const double below = all_below(x, workers);
        const double value = x < 0 ? -below : x > 0 ? 1 - below : 0.5 - below;
        sum += value * (i == 0 || i == STEPS ? 1 : i % 2 == 1 ? 4 : 2);
    }
    return sum * h / 3;
}

double rk_straggler_barriers(double workers, double noise, double barriers)
{
    return 1 + sqrt(barriers) * noise * rk_straggler_kappa(workers);
}

double rk_straggler_persistent(double workers, double share, double slower)
{
    return 1 - slower * expm1(workers * log1p(-share));
}
