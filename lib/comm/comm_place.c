/* SPDX-License-Identifier: Apache-2.0 */
/* Places the ranks of a collective: groups with a stride, slices of a torus, uneven nodes. */
#include "comm/comm_place.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

rk_status rk_comm_place(const rk_system *system, int64_t ranks, int64_t stride, rk_group *group,
                        rk_error *err)
{
    if (system->tier_count == 0) {
        return rk_fail(err, RK_ERR_INVALID, "the system document has no \"tiers\": its network");
    }
    const int64_t most = system->tiers[system->tier_count - 1].size;
    const int64_t size = ranks > 0 ? ranks : system->tiers[0].size;
    if (size < 2 || (size - 1) > (most - 1) / stride) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%" PRId64 " ranks with stride %" PRId64 " do not fit on %" PRId64
                       " accelerators; lower --ranks or --stride",
                       size, stride, most);
    }
    *group = rk_group_packed(system, size, stride);
    return RK_OK;
}

/* ---- slices of a torus --------------------------------------------------------------------- */

/* Reads "4x4x8" into lengths above 0; returns their number, 0 for anything else. */
static int read_lengths(const char *text, int64_t lengths[RK_TORUS_AXES])
{
    int count = 0;
    for (const char *at = text; count < RK_TORUS_AXES; at++) {
        char *end;
        const long long length = strspn(at, "0123456789") > 0 ? strtoll(at, &end, 10) : 0;
        if (length < 1 || length > INT32_MAX || (*end && *end != 'x')) {
            return 0;
        }
        lengths[count++] = length;
        if (!*end) {
            return count;
        }
        at = end;
    }
    return 0;
}

rk_status rk_comm_slice(rk_system *system, const char *text, int64_t *ranks, rk_error *err)
{
    int64_t lengths[RK_TORUS_AXES], product = 1;
    rk_tier *torus = &system->tiers[0];
    int axes = 0;
    if (system->tier_count == 0 || torus->kind != RK_TIER_TORUS) {
        return rk_fail(
            err, RK_ERR_INVALID, "--slice is for tori; the accelerators of %s are joined by a %s",
            system->name,
            system->tier_count > 0 ? rk_tier_kind_names[torus->kind] : "network unknown");
    }
    const int count = read_lengths(text, lengths);
    if (count == 0) {
        return rk_fail(
            err, RK_ERR_INVALID,
            "--slice needs the chips along each axis, such as 16, 4x4 or 4x4x8, not '%s'", text);
    }
    for (int i = 0; i < count; i++) {
        axes += lengths[i] > 1;
        product = product > torus->size / lengths[i] ? torus->size + 1 : product * lengths[i];
    }
    if (axes > torus->axes || product > torus->size || product < 2) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--slice %s is not part of %s: %" PRId64 " axes, %" PRId64 " chips", text,
                       torus->name, torus->axes, torus->size);
    }
    if (*ranks > 0 && *ranks != product) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--slice %s has %" PRId64 " chips, --ranks says %" PRId64, text, product,
                       *ranks);
    }
    *ranks = product;
    memcpy(torus->slice, lengths, (size_t)count * sizeof(lengths[0]));
    for (int i = count; i < RK_TORUS_AXES; i++) {
        torus->slice[i] = 1;
    }
    return RK_OK;
}

/* ---- domains with different numbers of ranks ----------------------------------------------- */

rk_status rk_comm_place_unevenly(const rk_system *system, const rk_counts *placement,
                                 rk_group *group, int64_t *ranks, rk_error *err)
{
    const int64_t size = system->tier_count > 0 ? system->tiers[0].size : 0;
    const int64_t last = system->tier_count > 0 ? system->tiers[system->tier_count - 1].size : 0;
    const int64_t nodes = placement->count;
    int64_t most = 0, fewest = INT64_MAX;
    *ranks = 0;
    for (int i = 0; i < placement->count; i++) {
        const int64_t held = placement->values[i];
        most = held > most ? held : most;
        fewest = held < fewest ? held : fewest;
        *ranks += held;
    }
    if (system->tier_count < 2 || most > size || nodes < 2 || nodes > last / size) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--placement needs the ranks on each of 2 to %" PRId64
                       " nodes, at most %" PRId64 " on one",
                       size > 0 ? last / size : 0, size);
    }
    *group = (rk_group){.size = most * (nodes - 1) + fewest};
    for (int i = 0; i < RK_TIER_MAX; i++) {
        const int64_t domain = i < system->tier_count - 1 ? system->tiers[i].size / size : nodes;
        group->within[i] = domain < nodes ? most * domain : group->size;
    }
    return RK_OK;
}
