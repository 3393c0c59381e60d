/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The larger and the smaller of two numbers, in one instruction each.  fmax() and fmin() skip NaN,
 * which keeps compilers from inlining them.  With NaN on either side these return b.
 */
#ifndef RK_BASE_EXTREMES_H
#define RK_BASE_EXTREMES_H

static inline double rk_max(double a, double b)
{
    return a > b ? a : b;
}

static inline double rk_min(double a, double b)
{
    return a < b ? a : b;
}

#endif
