/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of integers, and divisors. */
#ifndef RK_BASE_DIVISORS_H
#define RK_BASE_DIVISORS_H

#include "reckon/reckon.h"

/* A growing list of integers.  All zero is an empty one; released with rk_int_list_clear. */
typedef struct rk_int_list {
    int64_t *items; /* owned */
    size_t count, room;
} rk_int_list;

rk_status rk_int_list_add(rk_int_list *list, int64_t item, rk_error *err);
void rk_int_list_clear(rk_int_list *list);

/* Replaces the contents of `list` by the divisors of n >= 1 in ascending order; O(sqrt n). */
rk_status rk_divisors(int64_t n, rk_int_list *list, rk_error *err);

/* The greatest common divisor; of 0 and b it is b.  a, b >= 0. */
int64_t rk_common_divisor(int64_t a, int64_t b);

#endif
