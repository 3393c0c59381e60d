/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a system can be computed with. */
#include "base/error.h"
#include "base/members.h"
#include "base/units.h"
#include "system/system.h"

#include <math.h>
#include <stdio.h>

const char *const rk_tier_kind_names[] = {"switch",    "mesh",      "torus", "fabric",
                                          "cube_mesh", "dragonfly", NULL};

/* Larger than any rate, capacity or size of a machine, far inside the arithmetic of doubles. */
#define MOST 1e24

static const rk_member accelerator_bounds[] = {
    RK_MEMBER(rk_accelerator, REAL, vector_peak, 0, MOST),
    RK_MEMBER_ABOVE(rk_accelerator, memory_capacity, 0, MOST),
    RK_MEMBER_ABOVE(rk_accelerator, memory_usable, 0, MOST),
    RK_MEMBER_ABOVE(rk_accelerator, memory_bandwidth, 0, MOST),
    RK_MEMBER_ABOVE(rk_accelerator, memory_efficiency, 0, 1),
    RK_MEMBER_ABOVE(rk_accelerator, attention_forward, 0, MOST),
    RK_MEMBER_ABOVE(rk_accelerator, attention_backward, 0, MOST),
    RK_MEMBER(rk_accelerator, REAL, attention_ramp, 0, MOST),
    RK_MEMBER(rk_accelerator, REAL, attention_softmax, 0, MOST),
    RK_MEMBER_ABOVE(rk_accelerator, sparse.core_share, 0, 1),
    RK_MEMBER(rk_accelerator, REAL, sparse.head_tile, 1, 1024),
    RK_MEMBER_ABOVE(rk_accelerator, sparse.index_share, 0, 1),
    RK_MEMBER_ABOVE(rk_accelerator, sparse.select_share, 0, 1),
    RK_MEMBER(rk_accelerator, REAL, vector_overlap, 0, 1),
    RK_MEMBER(rk_accelerator, REAL, kernel_seconds, 0, 1),
    RK_MEMBER(rk_accelerator, REAL, launch_seconds, 0, 1),
    RK_MEMBER(rk_accelerator, REAL, burst, 1, 10),
    RK_MEMBER_ABOVE(rk_accelerator, sustained, 0.1, 10),
    RK_MEMBER_ABOVE(rk_accelerator, host_bandwidth, 0, MOST),
    RK_MEMBER_ABOVE(rk_accelerator, host_efficiency, 0, 1),
    RK_MEMBER(rk_accelerator, REAL, host_capacity, 0, MOST),
    RK_MEMBER(rk_accelerator, REAL, nvme_bandwidth, 0, MOST),
    RK_MEMBER(rk_accelerator, REAL, power, 0, MOST),
};

/* The efficiency may pass 1 where the feed of tiles carries a part of the loss. */
static const rk_member engine_bounds[] = {
    RK_MEMBER(rk_gemm_engine, REAL, peak, 0, MOST),
    RK_MEMBER_ABOVE(rk_gemm_engine, efficiency, 0, 2),
    RK_MEMBER(rk_gemm_engine, REAL, feed, 0, 1e4),
    RK_MEMBER(rk_gemm_engine, REAL, prologue, 0, 1e6),
    RK_MEMBER(rk_gemm_engine, REAL, wave_share, 0, 1),
};

static const rk_member tier_bounds[] = {
    RK_MEMBER_ABOVE(rk_tier, bandwidth, 0, MOST),  RK_MEMBER_ABOVE(rk_tier, efficiency, 0, 1),
    RK_MEMBER(rk_tier, REAL, latency, 0, 1),       RK_MEMBER(rk_tier, REAL, step_latency, 0, 1),
    RK_MEMBER(rk_tier, REAL, half_bytes, 0, MOST), RK_MEMBER_ABOVE(rk_tier, exchange_share, 0, 10),
    RK_MEMBER(rk_tier, REAL, serial, 0, 1),
};

static const rk_member side_bounds[] = {
    RK_MEMBER_ABOVE(rk_side_link, bandwidth, 0, MOST),
    RK_MEMBER_ABOVE(rk_side_link, efficiency, 0, 1),
    RK_MEMBER(rk_side_link, REAL, latency, 0, 1),
};

/* `base` names the struct in messages, e.g. "tiers[1]". */
static rk_status check_bounds(const void *in, const char *base, const rk_member *bounds,
                              size_t count, rk_error *err)
{
    char prefix[80];
    (void)snprintf(prefix, sizeof(prefix), "%s.", base);
    return rk_members_check(in, prefix, bounds, count, err);
}

static rk_status check_accelerator(const rk_accelerator *a, rk_error *err)
{
    bool any = false;
    if (a->cores < 1) {
        return rk_fail_at(err, RK_ERR_INVALID, "accelerator.cores",
                          "expected at least 1 core, found %lld", (long long)a->cores);
    }
    rk_status status =
        check_bounds(a, "accelerator", accelerator_bounds, COUNT(accelerator_bounds), err);
    for (int i = 0; !status && i < RK_PRECISION_COUNT; i++) {
        if (a->gemm[i].peak > 0 || a->gemm[i].peak < 0 || isnan(a->gemm[i].peak)) {
            char path[64];
            (void)snprintf(path, sizeof(path), "accelerator.gemm.%s", rk_precision_names[i]);
            status = check_bounds(&a->gemm[i], path, engine_bounds, COUNT(engine_bounds), err);
            any = true;
        }
    }
    if (!status && !any) {
        return rk_fail_at(err, RK_ERR_INVALID, "accelerator.gemm",
                          "expected a matrix engine of at least one precision, found none");
    }
    /* Vendors' decimal sizes are binary inside: 80 GB can be 80 GiB. */
    if (!status && a->memory_usable > a->memory_capacity * (GIB / 1e9)) {
        return rk_fail_at(err, RK_ERR_INVALID, "accelerator.memory.usable_GiB",
                          "expected at most %.6g, all of a memory of %.6g GB, found %.6g",
                          a->memory_capacity / 1e9, a->memory_capacity / 1e9,
                          a->memory_usable / GIB);
    }
    if (!status && !(a->gemm[RK_BF16].peak > 0)) {
        return rk_fail_at(err, RK_ERR_INVALID, "gemm.bf16",
                          "missing; MFU is against this rate, so give that of fp16 where the "
                          "accelerator has no bf16");
    }
    return status;
}

static rk_status check_sides(const rk_tier *tier, const char *path, rk_error *err)
{
    char member[64];
    rk_status status = RK_OK;
    const int count = tier->side_count + tier->idle_sides;
    if (tier->side_count < 0 || tier->idle_sides < 0 || count > RK_SIDE_LINK_MAX) {
        (void)snprintf(member, sizeof(member), "%s.side_links", path);
        return rk_fail_at(err, RK_ERR_INVALID, member, "expected at most %d links, found %d",
                          RK_SIDE_LINK_MAX, count);
    }
    for (int i = 0; !status && i < count; i++) {
        (void)snprintf(member, sizeof(member), "%s.side_links[%d]", path, i);
        status = check_bounds(&tier->sides[i], member, side_bounds, COUNT(side_bounds), err);
    }
    return status;
}

static const rk_member fit_bounds[] = {
    RK_MEMBER_ABOVE(rk_tier_fit, step, 0, 1),
    RK_MEMBER_ABOVE(rk_tier_fit, chunk_step, 0, 1),
    RK_MEMBER_ABOVE(rk_tier_fit, share, 0, 10),
    RK_MEMBER(rk_tier_fit, REAL, inject_bytes, 0, 1e9),
};

static rk_status check_fits(const rk_tier *tier, const char *path, rk_error *err)
{
    char member[64];
    rk_status status = RK_OK;
    for (int op = 0; op < RK_COLL_COUNT && !status; op++) {
        const rk_tier_fit *fit = &tier->fits[op];
        if (fit->share > 0 || fit->share < 0) {
            (void)snprintf(member, sizeof(member), "%s.fits: %s", path, rk_collective_names[op]);
            status = check_bounds(fit, member, fit_bounds, COUNT(fit_bounds), err);
        }
    }
    return status;
}

/* `below`: accelerators of a domain of the tier below. */
static rk_status check_tier(const rk_tier *tier, const char *path, int64_t below, rk_error *err)
{
    char member[64];
    if (tier->size <= below || tier->size % below) {
        (void)snprintf(member, sizeof(member), "%s.size", path);
        return rk_fail_at(
            err, RK_ERR_INVALID, member,
            "expected a multiple of the %lld accelerators of the tier below, at least "
            "%lld, found %lld",
            (long long)below, (long long)below * 2, (long long)tier->size);
    }
    if (tier->in_network_reduce && !(tier->reduce_share > 0 && tier->reduce_share <= 1)) {
        (void)snprintf(member, sizeof(member), "%s.reduce_share", path);
        return rk_fail_at(
            err, RK_ERR_INVALID, member,
            "expected a number above 0 and at most 1 with in_network_reduce, found %g",
            tier->reduce_share);
    }
    if (tier->kind == RK_TIER_CUBE_MESH && tier->size != RK_CUBE_MESH_UNITS * below) {
        (void)snprintf(member, sizeof(member), "%s.size", path);
        return rk_fail_at(err, RK_ERR_INVALID, member,
                          "expected 8 units in a cube mesh, found %lld",
                          (long long)(tier->size / below));
    }
    if (tier->kind == RK_TIER_TORUS && (tier->axes < 1 || tier->ring < 1)) {
        (void)snprintf(member, sizeof(member), "%s.%s", path, tier->axes < 1 ? "axes" : "ring");
        return rk_fail_at(err, RK_ERR_INVALID, member, "expected at least 1 in a torus, found %lld",
                          (long long)(tier->axes < 1 ? tier->axes : tier->ring));
    }
    rk_status status = check_sides(tier, path, err);
    status = status ? status : check_fits(tier, path, err);
    return status ? status : check_bounds(tier, path, tier_bounds, COUNT(tier_bounds), err);
}

rk_status rk_system_check(const rk_system *system, rk_error *err)
{
    if (system->tier_count < 1 || system->tier_count > RK_TIER_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, "tiers", "expected from 1 to %d tiers, found %d",
                          RK_TIER_MAX, system->tier_count);
    }
    if (!(system->price >= 0 && system->price <= MOST)) {
        return rk_fail_at(err, RK_ERR_INVALID, "price",
                          "expected a price per hour of at least 0, found %g", system->price);
    }
    rk_status status = check_accelerator(&system->accelerator, err);
    int64_t below = 1;
    for (int i = 0; !status && i < system->tier_count; i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "tiers[%d]", i);
        status = check_tier(&system->tiers[i], path, below, err);
        below = system->tiers[i].size;
    }
    return status;
}
