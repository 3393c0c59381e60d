/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of runs for tests. */
#ifndef TESTS_RUNS_TEST_H
#define TESTS_RUNS_TEST_H

/* cmocka needs these first. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "evidence/runs.h"

#define assert_near(found, wanted, tolerance)                                                      \
    do {                                                                                           \
        if (!(fabs((found) - (wanted)) <= (tolerance))) {                                          \
            fail_msg("%s is %.17g, not %.17g", #found, (double)(found), (double)(wanted));         \
        }                                                                                          \
    } while (0)

#endif
