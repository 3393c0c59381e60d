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

static inline void assert_close(double found, double wanted, double relative)
{
    if (!(fabs(found - wanted) <= relative * fabs(wanted))) {
        fail_msg("found %.9g, wanted %.9g", found, wanted);
    }
}

#endif
