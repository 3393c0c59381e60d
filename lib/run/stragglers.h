/* SPDX-License-Identifier: Apache-2.0 */
/* Time that a synchronous step loses to the slowest of its workers. */
#ifndef RK_RUN_STRAGGLERS_H
#define RK_RUN_STRAGGLERS_H

/*
 * Expected maximum of `workers` (at least 1) independent standard normals: the integral of
 * 1 - Phi^n over x > 0 less the integral of Phi^n over x < 0.
 */
double rk_straggler_kappa(double workers);

/*
 * Time of a synchronous step over the mean time of a worker, whose steps deviate by `noise`
 * (standard deviation over mean, independent between steps): 1 + noise kappa.  With `barriers` a
 * step over groups of `workers`, none of which waits for another, each has 1/barriers of the work
 * and deviates by noise / sqrt(barriers) of the whole step, so that noise adds up to
 * sqrt(barriers) noise kappa.
 */
double rk_straggler_barriers(double workers, double noise, double barriers);

/*
 * With devices that are slower for good: each of `workers` is with probability `share`, by a factor
 * 1 + `slower`.  A synchronous step waits for a slow device if there is one:
 * 1 + slower (1 - (1 - share)^workers).
 */
double rk_straggler_persistent(double workers, double share, double slower);

#endif
