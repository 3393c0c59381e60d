/* SPDX-License-Identifier: Apache-2.0 */
/* Where the ranks of a group are in the tiers of a machine. */
#include "system/system.h"

#include <assert.h>
#include <math.h>

/* The largest divisor of n that is at most `limit`; n, limit >= 1.  About sqrt(n) steps. */
static int64_t divisor_up_to(int64_t n, int64_t limit)
{
    assert(n >= 1 && limit >= 1);
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
    assert(tier >= 0 && tier < system->tier_count);
    if (count == 1) {
        return 1;
    }
    const int64_t fit = system->tiers[tier].size / stride;
    return divisor_up_to(count, fit > 1 ? fit : 1);
}

int rk_group_outermost(const rk_system *system, const rk_group *group)
{
    int outer = 0;
    for (int i = 1; i < system->tier_count; i++) {
        outer = group->within[i] > group->within[i - 1] ? i : outer;
    }
    return outer;
}

int64_t rk_group_fewest(const rk_group *group, int tier)
{
    return tier < 0 ? 1 : (group->size - 1) % group->within[tier] + 1;
}

double rk_group_lack(const rk_group *group, int tier, rk_collective op)
{
    const int64_t fewest = rk_group_fewest(group, tier);
    if (tier < 0 || fewest == group->within[tier] || op == RK_COLL_ALL_REDUCE ||
        op == RK_COLL_BROADCAST || op == RK_COLL_REDUCE || op == RK_COLL_SEND) {
        return 1;
    }
    const double n = (double)group->size;
    const double domains = ceil(n / (double)group->within[tier]);
    return (n - (double)fewest) / n * domains / (domains - 1);
}

/* In equal parts. */
static rk_group in_parts(const rk_system *system, int64_t size, int64_t stride)
{
    rk_group group = {.size = size};
    int64_t above = size;
    for (int i = RK_TIER_MAX - 1; i >= 0; i--) {
        above = i < system->tier_count - 1 ? held(system, i, above, stride) : above;
        group.within[i] = above;
    }
    return group;
}

rk_group rk_group_of(const rk_system *system, int64_t size, int64_t stride)
{
    assert(size >= 1 && stride >= 1);
    const rk_group parts = in_parts(system, size, stride);
    const int64_t fit = system->tiers[0].size / stride; /* of a node */
    if (system->tier_count < 2 || parts.within[0] == size || parts.within[0] >= fit ||
        system->tiers[0].size % stride != 0) {
        return parts;
    }
    const rk_group packed = rk_group_packed(system, size, stride);
    return rk_group_fewest(&packed, 0) > parts.within[0] ? packed : parts;
}

rk_group rk_group_packed(const rk_system *system, int64_t size, int64_t stride)
{
    assert(size >= 1 && stride >= 1);
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
    assert(size >= 1 && stride >= 1 && count >= 1 && apart >= size * stride);
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
