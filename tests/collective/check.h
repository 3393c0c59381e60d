/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of collectives share. */
#ifndef RK_TESTS_COLLECTIVE_CHECK_H
#define RK_TESTS_COLLECTIVE_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collective/algorithm.h"

/* Seconds of a job over one kind of link, by the closed form. */
static inline double closed_seconds(const rk_algorithm *algorithm, const rk_collective_job *job,
                                    const rk_link *link, double reduce_seconds_per_byte)
{
    const rk_collective_cost cost = algorithm->cost(job);
    return cost.rounds * link->latency + cost.bytes / link->bandwidth +
           cost.reduced * reduce_seconds_per_byte;
}

static inline void assert_close(double found, double wanted, double relative)
{
    if (!(fabs(found - wanted) <= relative * fabs(wanted))) {
        fail_msg("found %.9g, wanted %.9g", found, wanted);
    }
}

#endif
