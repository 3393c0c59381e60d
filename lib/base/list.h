/* SPDX-License-Identifier: Apache-2.0 */
/* Growing lists, and an order for sorting them. */
#ifndef RK_BASE_LIST_H
#define RK_BASE_LIST_H

#include <stddef.h>

/*
 * Room for one more item of `size` bytes: the list of `count` items itself, or a larger copy that
 * replaces it, with *room items.  NULL: there is no memory, and the list stays as it is.
 */
void *rk_list_grow(void *list, size_t count, size_t *room, size_t size);

/* Order of two doubles, the smaller first, for qsort(). */
int rk_compare_doubles(const void *a, const void *b);

#endif
