/* SPDX-License-Identifier: Apache-2.0 */
/* How often to write checkpoints, and what failures cost then. */
#include "run/training.h"

#include <math.h>

/* J. W. Young, A first order approximation to the optimum checkpoint interval, 1974. */
double rk_checkpoint_young(double cost, double mtbf)
{
    return sqrt(2 * cost * mtbf);
}

/* J. T. Daly, A higher order estimate of the optimum checkpoint interval, 2006. */
double rk_checkpoint_daly(double cost, double mtbf)
{
    const double half = cost / (2 * mtbf);
    if (half >= 1) {
        return mtbf;
    }
    return rk_checkpoint_young(cost, mtbf) * (1 + sqrt(half) / 3 + half / 9) - cost;
}

double rk_failure_slowdown(double interval, double cost, double restart, double mtbf)
{
    if (!(mtbf < HUGE_VAL)) {
        return 1 + cost / interval;
    }
    return mtbf * exp(restart / mtbf) * expm1((interval + cost) / mtbf) / interval;
}
