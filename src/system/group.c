/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks of a group stand in the tiers of a machine. */
#include "system/system.h"

/* The largest divisor of n that is at most `limit`; n, limit >= 1.  About sqrt(n) steps. */
static int64_t divisor_up_to(int64_t n, int64_t limit)
{
    if (limit >= n) {
        return n;
    }
    if (limit <= n / limit) {
        while (n % limit) {
            limit--;
        }
        return limit;
    }
    int64_t parts = (n + limit - 1) / limit;
    while (n % parts) {
        parts++;
    }
    return n / parts;
}

rk_group rk_group_of(const rk_system *system, int64_t size, int64_t stride)
{
    rk_group group = {.size = size};
    int64_t above = size;
    for (int i = RK_TIER_MAX - 1; i >= 0; i--) {
        if (i < system->tier_count - 1) {
            const int64_t fit = system->tiers[i].size / stride;
            above = divisor_up_to(above, fit > 1 ? fit : 1);
        }
        group.within[i] = above;
    }
    return group;
}
