/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of lib/system share: cmocka, random sizes, machines from the catalogue. */
#ifndef TESTS_SYSTEM_MACHINE_H
#define TESTS_SYSTEM_MACHINE_H

#include "io/catalogue.h"
#include "system/system.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static inline void assert_near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected))) {
        fail_msg("%.9g is not within %g of %.9g", value, relative, expected);
    }
}

/* A fixed sequence (xorshift); returns a size from low to high, even in its logarithm. */
static inline double random_size(uint64_t *state, double low, double high)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    const double even = (double)(*state >> 11) * 0x1p-53;
    return floor(low * pow(high / low, even));
}

static inline rk_system load_system(const char *name)
{
    rk_system system;
    rk_error err;
    char text[900];
    if (rk_system_load(name, &system, &err)) {
        fail_msg("%s", rk_error_text(&err, text, sizeof(text)));
    }
    return system;
}

/* Calls `visit` for every system of the catalogue, priced by the physical model alone. */
static inline void each_system(void (*visit)(const rk_system *system))
{
    size_t count = 0;
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        const rk_catalogue_entry *entry = &rk_catalogue[i];
        if (strcmp(entry->kind, "accelerators") == 0 || strcmp(entry->kind, "systems") == 0) {
            rk_system system = load_system(entry->name);
            rk_system_clear(&system);
            visit(&system);
            count++;
        }
    }
    assert_true(count >= 45);
}

#endif
