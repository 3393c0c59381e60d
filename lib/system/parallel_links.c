/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One transfer over several links at once: all end together, because a link that ended earlier
 * could have carried more.  Link j of bandwidth B_j begins after its latency a_j and carries x_j of
 * V bytes until t:
 *
 *     x_j = B_j (t - a_j), sum x_j = V   =>   t = (V + sum B_j a_j) / sum B_j
 *
 * A link whose latency is not below t carries nothing and is left out, which makes t smaller.
 */
#include "base/extremes.h"
#include "system/system.h"

#include <assert.h>
#include <math.h>

/* Seconds from `first` on, of the links that begin before `limit` seconds from there. */
static double end_together(const rk_link *links, size_t count, double bytes, double first,
                           double limit)
{
    double rate = 0, late = 0;
    for (size_t j = 0; j < count; j++) {
        const double delay = links[j].latency - first;
        if (delay < limit) {
            rate += links[j].bandwidth;
            late += links[j].bandwidth * delay;
        }
    }
    return (bytes + late) / rate;
}

double rk_split_seconds(const rk_link *links, size_t count, double bytes, double *shares)
{
    assert(count > 0 && bytes > 0);
    double first = HUGE_VAL, end = HUGE_VAL, before;
    for (size_t j = 0; j < count; j++) {
        first = rk_min(first, links[j].latency);
    }
    do { /* one link is left at least: that which begins first */
        before = end;
        end = end_together(links, count, bytes, first, before);
    } while (end < before);
    for (size_t j = 0; shares && j < count; j++) {
        shares[j] = links[j].bandwidth * rk_max(end - (links[j].latency - first), 0);
    }
    assert(end >= 0);
    return first + end;
}

bool rk_system_use_side_links(rk_system *system)
{
    bool any = false;
    for (int i = 0; i < system->tier_count; i++) {
        rk_tier *tier = &system->tiers[i];
        tier->side_count += tier->idle_sides;
        tier->idle_sides = 0;
        any = any || tier->side_count > 0;
    }
    return any;
}
