/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks of a group are in the tiers of a machine. */
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

/* Of `count` ranks `stride` apart, those that a domain of tier i holds, in equal parts. */
static int64_t held(const rk_system *system, int tier, int64_t count, int64_t stride)
{
    if (count == 1) {
        return 1;
    }
    const int64_t fit = system->tiers[tier].size / stride;
    return divisor_up_to(count, fit > 1 ? fit : 1);
}

rk_group rk_group_of(const rk_system *system, int64_t size, int64_t stride)
{
    rk_group group = {.size = size};
    int64_t above = size;
    for (int i = RK_TIER_MAX - 1; i >= 0; i--) {
        above = i < system->tier_count - 1 ? held(system, i, above, stride) : above;
        group.within[i] = above;
    }
    return group;
}

rk_group rk_group_packed(const rk_system *system, int64_t size, int64_t stride)
{
    rk_group group = {.size = size};
    for (int i = 0; i < RK_TIER_MAX; i++) {
        const int64_t domain = i < system->tier_count - 1 ? system->tiers[i].size : INT64_MAX;
        const int64_t fit = (domain - 1) / stride + 1;
        group.within[i] = fit < size ? fit : size;
    }
    return group;
}

rk_group rk_group_of_parts(const rk_system *system, int64_t size, int64_t stride, int64_t count,
                           int64_t apart)
{
    if (count == 1 || apart == size * stride) {
        return rk_group_of(system, size * count, stride);
    }
    rk_group group = {.size = size * count};
    int64_t part = size, parts = count;
    for (int i = RK_TIER_MAX - 1; i >= 0; i--) {
        if (i < system->tier_count - 1) {
            part = held(system, i, part, stride);
            parts = part == size ? held(system, i, parts, apart) : 1;
        }
        group.within[i] = part * parts;
    }
    return group;
}
