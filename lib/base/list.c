/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that grow by doubling, and the order of numbers in lists. */
#include "base/list.h"

#include <assert.h>
#include <stdlib.h>

void *rk_list_grow(void *list, size_t count, size_t *room, size_t size)
{
    assert(count <= *room && size > 0);
    if (count < *room) {
        return list;
    }
    const size_t more = 2 * *room + 16;
    void *larger = realloc(list, more * size);
    *room = larger ? more : *room;
    return larger;
}

int rk_compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
