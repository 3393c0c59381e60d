/* SPDX-License-Identifier: Apache-2.0 */
/* Divisors and greatest common divisors of integers, and growing lists of integers. */
#include "base/divisors.h"

#include "base/error.h"
#include "base/list.h"

#include <assert.h>
#include <stdlib.h>

rk_status rk_int_list_add(rk_int_list *list, int64_t item, rk_error *err)
{
    assert(list->count <= list->room);
    int64_t *items = rk_list_grow(list->items, list->count, &list->room, sizeof(*items));
    if (!items) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a list of %zu integers",
                       list->count + 1);
    }
    list->items = items;
    list->items[list->count++] = item;
    return RK_OK;
}

void rk_int_list_clear(rk_int_list *list)
{
    free(list->items);
    *list = (rk_int_list){0};
}

rk_status rk_divisors(int64_t n, rk_int_list *list, rk_error *err)
{
    assert(n >= 1);
    rk_status status = RK_OK;
    int64_t d = 1;
    list->count = 0;
    for (; d <= n / d && !status; d++) {
        if (n % d == 0) {
            status = rk_int_list_add(list, d, err);
        }
    }
    /* The cofactors of the divisors found, from the largest down, are the other half. */
    for (size_t i = list->count; i > 0 && !status; i--) {
        const int64_t small = list->items[i - 1];
        if (small != n / small) {
            status = rk_int_list_add(list, n / small, err);
        }
    }
    return status;
}

int64_t rk_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
