/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of another size than the document of a machine has. */
#include "system/system.h"

#include <assert.h>
#include <string.h>

/*
 * The largest nodes that are one machine (DGX-2, Trainium1).  Larger domains are racks and pods:
 * what is called a node there is a tray, which the same links join to the others.
 */
enum { NODE_MOST = 16 };

/* The tier that joins the accelerators of a node; below 0: they are one each. */
static int node_tier(const rk_system *system)
{
    int tier = -1;
    while (tier + 1 < system->tier_count) {
        const rk_tier_kind kind = system->tiers[tier + 1].kind;
        if (kind == RK_TIER_FABRIC || kind == RK_TIER_DRAGONFLY) {
            break;
        }
        tier++;
    }
    return tier;
}

int64_t rk_system_node(const rk_system *system)
{
    const int tier = node_tier(system);
    return tier < 0 ? 1 : system->tiers[tier].size;
}

int64_t rk_system_unit_size(const rk_system *system)
{
    return system->unit_size > 0 ? system->unit_size : rk_system_node(system);
}

int64_t rk_system_node_most(const rk_system *system)
{
    const int64_t node = rk_system_node(system);
    return node > NODE_MOST ? node : NODE_MOST;
}

/* Removes the links inside nodes. */
static bool separate(rk_system *system, int tier)
{
    assert(tier >= 0 && tier < system->tier_count);
    const int left = system->tier_count - (tier + 1);
    if (left < 1 || system->accelerator.measured) {
        return false; /* tables of collectives are by tier */
    }
    memmove(system->tiers, &system->tiers[tier + 1], (size_t)left * sizeof(system->tiers[0]));
    system->tier_count = left;
    return true;
}

/*
 * A switch serves as many accelerators as the node has.  Of a mesh of n, `size` < n keep the links
 * among each other: (size - 1) / (n - 1) of the bandwidth.
 */
static bool resize(rk_tier *tier, int64_t size)
{
    if (tier->kind == RK_TIER_MESH && size < tier->size) {
        tier->bandwidth *= (double)(size - 1) / (double)(tier->size - 1);
    } else if (tier->kind != RK_TIER_SWITCH) {
        return false;
    }
    tier->size = size;
    return true;
}

static bool set_node(rk_system *system, int64_t size)
{
    const int tier = node_tier(system);
    const int64_t node = rk_system_node(system);
    if (size < 1 || size == node || tier < 0) {
        return size == node;
    }
    if (node > NODE_MOST) {
        return size < node && node % size == 0; /* a tray */
    }
    if (size == 1) {
        return separate(system, tier);
    }
    const int64_t inside = tier > 0 ? system->tiers[tier - 1].size : 1;
    if (size > NODE_MOST || size <= inside || size % inside ||
        !resize(&system->tiers[tier], size)) {
        return false;
    }
    /* whole nodes in what is around them; the outermost tiers may be bounded by no size */
    for (int i = tier + 1; i < system->tier_count; i++) {
        system->tiers[i].size -= system->tiers[i].size % system->tiers[i - 1].size;
    }
    return true;
}

bool rk_system_set_node(rk_system *system, int64_t size)
{
    const bool done = set_node(system, size);
    system->unit_size = done && system->unit_size ? size : system->unit_size;
    return done;
}
