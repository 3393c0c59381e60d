/* SPDX-License-Identifier: Apache-2.0 */
/* The time of work that two limits bound. */
#ifndef RK_SYSTEM_LIMITS_H
#define RK_SYSTEM_LIMITS_H

#include <math.h>

/*
 * Time of work that two units share and do at the same time, a and b alone: (a^4 + b^4)^(1/4).
 * The slower one decides; smooth where they cross, as measured kernels are.
 */
static inline double rk_both_limits(double a, double b)
{
    const double a2 = a * a, b2 = b * b;
    return sqrt(sqrt(a2 * a2 + b2 * b2));
}

#endif
