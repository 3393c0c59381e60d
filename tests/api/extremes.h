/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extreme values for structs of the typed API.  A struct is driven slot by slot, whatever members
 * it has, so that a new member is driven without anyone listing it: every 8, every 4 and every
 * single byte outside its pointers and its size.
 */
#ifndef RK_TESTS_API_EXTREMES_H
#define RK_TESTS_API_EXTREMES_H

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Bytes [from, to) of a struct that are left alone. */
struct range {
    size_t from, to;
};

#define KEEP(type, member)                                                                         \
    {                                                                                              \
        offsetof(type, member), offsetof(type, member) + sizeof(((type *)0)->member)               \
    }

/* A struct to drive: a legal one, and what is left alone in it. */
struct target {
    const void *legal;
    size_t size;
    const struct range *kept;
    size_t kept_count;
};

static const int64_t extreme_counts[] = {-1,
                                         0,
                                         2,
                                         3,
                                         7,
                                         1000,
                                         1 << 30,
                                         (1 << 30) + 1,
                                         INT_MIN,
                                         INT_MAX,
                                         INT64_C(1) << 40,
                                         INT64_MAX - 1,
                                         INT64_MAX,
                                         INT64_MIN};
static const double extreme_reals[] = {
    (double)NAN, (double)INFINITY, -(double)INFINITY,     -0.0, 5e-324, -1, 0.5, 1, 1e6, 1e18,
    1e300,       -1e300,           1.7976931348623157e308};
static const int extreme_ints[] = {-1, 0,  1,  2,  3,  4,  5,   6,    7,       8,       9,      10,
                                   11, 12, 15, 16, 31, 99, 511, 1000, 1 << 30, INT_MIN, INT_MAX};
static const unsigned char extreme_bytes[] = {2};

/*
 * A digest of which members were refused, in turn; begins with 0.  Those of schedules are not in
 * it: a new one is not refused, and tests/strategy/members.c has their bounds.
 */
static inline void note_refusal(uint64_t *digest, const char *path)
{
    if (strstr(path, "schedule")) {
        return;
    }
    for (const char *at = path; *at; at++) {
        *digest = (*digest ^ (unsigned char)*at) * UINT64_C(1099511628211);
    }
    *digest = (*digest ^ '\n') * UINT64_C(1099511628211);
}

/* Whether all of a slot may be written. */
static inline bool is_open(const struct target *t, size_t at, size_t width)
{
    for (size_t i = 0; i < t->kept_count; i++) {
        if (at < t->kept[i].to && t->kept[i].from < at + width) {
            return false;
        }
    }
    return at + width <= t->size;
}

/* Calls `use` with a copy of the legal struct in which `bytes` were put at `at`. */
static inline void put(const struct target *t, size_t at, const void *bytes, size_t width,
                       void (*use)(const void *given, void *user), void *user)
{
    char *copy = malloc(t->size); /* of the exact size: reading past its end is noticed */
    if (!copy) {
        abort();
    }
    memcpy(copy, t->legal, t->size);
    memcpy(copy + at, bytes, width);
    use(copy, user);
    free(copy);
}

/* RK_TEST_SCALE=0.3 puts every third value, other ones into each slot. */
static inline size_t value_step(void)
{
    const char *scale = getenv("RK_TEST_SCALE");
    return scale && atof(scale) > 0 && atof(scale) < 1 ? (size_t)(1 / atof(scale)) : 1;
}

/* Every value into every slot of 64-bit structs refuses the members that it should. */
#define REQUIRE_REFUSALS(found, expected)                                                          \
    if (value_step() == 1 && sizeof(void *) == 8 && (found) != UINT64_C(expected)) {               \
        fail_msg("refused members differ: 0x%" PRIx64, found);                                     \
    }

#define PUT_EACH(list, at)                                                                         \
    for (size_t v = (at) / sizeof((list)[0]) % step;                                               \
         is_open(t, at, sizeof((list)[0])) && v < COUNT(list); v += step) {                        \
        put(t, at, &(list)[v], sizeof((list)[0]), use, user);                                      \
    }

/* Every slot with every extreme value, one at a time. */
static inline void drive_slots(const struct target *t, void (*use)(const void *given, void *user),
                               void *user)
{
    const size_t step = value_step();
    for (size_t at = 0; at < t->size; at += 8) {
        PUT_EACH(extreme_counts, at)
        PUT_EACH(extreme_reals, at)
    }
    for (size_t at = 0; at < t->size; at += 4) {
        PUT_EACH(extreme_ints, at)
    }
    for (size_t at = 0; at < t->size; at++) {
        PUT_EACH(extreme_bytes, at)
    }
}

/* The next number of a linear congruential generator: the same on every machine. */
static inline uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 11;
}

/* One to four slots at once, with extreme values or any bits. */
static inline void drive_random(const struct target *t, int rounds, uint64_t seed,
                                void (*use)(const void *given, void *user), void *user)
{
    for (int i = 0; i < rounds; i++) {
        char *copy = malloc(t->size);
        if (!copy) {
            abort();
        }
        memcpy(copy, t->legal, t->size);
        for (uint64_t n = 1 + next_random(&seed) % 4; n > 0; n--) {
            const size_t at = (size_t)(next_random(&seed) % t->size);
            const uint64_t bits = next_random(&seed) << 32 ^ next_random(&seed);
            const void *bytes[] = {&extreme_counts[bits % COUNT(extreme_counts)],
                                   &extreme_reals[bits % COUNT(extreme_reals)],
                                   &extreme_ints[bits % COUNT(extreme_ints)], &bits};
            const size_t widths[] = {8, 8, 4, 8};
            const size_t kind = (size_t)(next_random(&seed) % COUNT(bytes));
            const size_t slot = at - at % widths[kind];
            if (is_open(t, slot, widths[kind])) {
                memcpy(copy + slot, bytes[kind], widths[kind]);
            }
        }
        use(copy, user);
        free(copy);
    }
}

#endif
