/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The larger and the smaller of two numbers, in one instruction each; fmax() and fmin() skip NaN on
 * both sides, which keeps compilers from inlining them.
 */
#ifndef RK_BASE_EXTREMES_H
#define RK_BASE_EXTREMES_H

/* b where either is NaN: a root or a quotient that may be NaN comes first, and its limit second. */
static inline double rk_max(double a, double b)
{
    return a > b ? a : b;
}

/* Likewise b where either is NaN. */
static inline double rk_min(double a, double b)
{
    return a < b ? a : b;
}

#endif
