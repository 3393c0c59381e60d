/* SPDX-License-Identifier: Apache-2.0 */
/* Range checks of systems, mappings, search spaces and controls that a program passes in. */
#include "calculon/calculon_inputs.h"

#include "base/error.h"
#include "base/members.h"
#include "base/units.h"
#include "calculon/calculon_docs.h"

#include <assert.h>
#include <stdio.h>

enum { NAME_SIZE = 64, THREADS_MAX = 4096 };

#define REAL_MAX  1e30 /* rates, thresholds and factors */
#define TINY      1e-30
#define SIZE_MOST 0x1p63

/* ---- the model ------------------------------------------------------------------------------- */

#define APP_SIZE(name) RK_MEMBER(rk_calculon_app, INT64, name, 1, RK_DOCUMENT_COUNT_MAX)

static const rk_member app_members[] = {
    APP_SIZE(hidden),     APP_SIZE(feedforward), APP_SIZE(seq_size),
    APP_SIZE(attn_heads), APP_SIZE(attn_size),   APP_SIZE(num_blocks),
};

/* ---- the system ------------------------------------------------------------------------------ */

/*
 * Evaluations take about a microsecond, and a system has hundreds of numbers: they are compared
 * where they are, and named only after a fault.
 */
static bool is_within(double value, double least, double most)
{
    return value >= least && value <= most;
}

static rk_status refuse(const char *part, int index, const char *member, double value, double least,
                        double most, rk_error *err)
{
    char name[NAME_SIZE];
    if (index < 0) {
        (void)snprintf(name, sizeof(name), "%s.%s", part, member);
    } else {
        (void)snprintf(name, sizeof(name), "%s[%d].%s", part, index, member);
    }
    return rk_fail_at(err, RK_ERR_INVALID, name,
                      "expected a number from %.10g to %.10g, found %.10g", least, most, value);
}

static rk_status check_curve(const rk_curve *curve, const char *part, int index, rk_error *err)
{
    if (curve->count < 0 || curve->count > RK_CURVE_MAX) {
        return refuse(part, index, "curve.count", curve->count, 0, RK_CURVE_MAX, err);
    }
    for (int i = 0; i < curve->count; i++) {
        if (!is_within(curve->threshold[i], -REAL_MAX, REAL_MAX)) {
            return refuse(part, index, "curve.threshold", curve->threshold[i], -REAL_MAX, REAL_MAX,
                          err);
        }
        if (!is_within(curve->rate[i], 0, REAL_MAX)) {
            return refuse(part, index, "curve.rate", curve->rate[i], 0, REAL_MAX, err);
        }
        if (curve->rate[i] > 0 && curve->rate[i] < 1) {
            return refuse(part, index, "curve.rate", curve->rate[i], 1, REAL_MAX, err);
        }
    }
    return RK_OK;
}

/* An engine without the datatype has no numbers. */
static rk_status check_engines(const rk_calculon_engine engines[RK_DATATYPE_COUNT],
                               const char *part, rk_error *err)
{
    rk_status status = RK_OK;
    for (int i = 0; i < RK_DATATYPE_COUNT && !status; i++) {
        const rk_calculon_engine *engine = &engines[i];
        const rk_member present[] = {RK_FLAG(rk_calculon_engine, present)};
        status = rk_members_check(engine, "", present, 1, err);
        if (status || !engine->present) {
            continue;
        }
        status = check_curve(&engine->curve, part, i, err);
        /* Documents may have rates of zero, which are refused where they are used. */
        const bool zero = engine->curve.count > 0 && !(engine->curve.rate[0] > 0);
        if (!status && !is_within(engine->peak, zero ? 0 : 1, REAL_MAX)) {
            status = refuse(part, i, "peak", engine->peak, 1, REAL_MAX, err);
        }
    }
    return status;
}

static rk_status check_memory(const rk_calculon_memory *memory, const char *part, rk_error *err)
{
    if (!is_within(memory->capacity, 0, REAL_MAX)) {
        return refuse(part, -1, "capacity", memory->capacity, 0, REAL_MAX, err);
    }
    return check_curve(&memory->curve, part, -1, err);
}

static rk_status check_network(const rk_calculon_network *n, int index, rk_error *err)
{
    assert(index >= 0);
    const struct {
        const char *name;
        double value, least, most;
    } numbers[] = {
        {"bandwidth", n->bandwidth, TINY, REAL_MAX},
        {"efficiency", n->efficiency, TINY, 1},
        {"size", (double)n->size, 0, SIZE_MOST},
        {"latency", n->latency, 0, REAL_MAX},
        {"processor_usage", n->processor_usage, 0, 1 - 0x1p-53},
        {"scalar[0]", n->scalar[0], 0, REAL_MAX},
        {"scalar[1]", n->scalar[1], 0, REAL_MAX},
        {"scalar[2]", n->scalar[2], 0, REAL_MAX},
        {"scalar[3]", n->scalar[3], 0, REAL_MAX},
        {"offset[0]", n->offset[0], -2, REAL_MAX},
        {"offset[1]", n->offset[1], -2, REAL_MAX},
        {"offset[2]", n->offset[2], -2, REAL_MAX},
        {"offset[3]", n->offset[3], -2, REAL_MAX},
    };
    const rk_member filled[] = {RK_FLAG(rk_calculon_network, must_be_filled)};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        if (!is_within(numbers[i].value, numbers[i].least, numbers[i].most)) {
            return refuse("networks", index, numbers[i].name, numbers[i].value, numbers[i].least,
                          numbers[i].most, err);
        }
    }
    return rk_members_check(n, "networks.", filled, 1, err);
}

static const rk_member sys_members[] = {
    RK_FLAG(rk_calculon_sys, roofline),
    RK_MEMBER(rk_calculon_sys, INT, network_count, 0, RK_NETWORK_MAX),
};

rk_status rk_calculon_inputs_check(const rk_calculon_app *app, const rk_calculon_sys *sys,
                                   rk_error *err)
{
    rk_status status = rk_members_check(app, "", app_members, COUNT(app_members), err);
    status = status ? status : rk_members_check(sys, "", sys_members, COUNT(sys_members), err);
    status = status ? status : check_engines(sys->matrix, "matrix", err);
    status = status ? status : check_engines(sys->vector, "vector", err);
    status = status ? status : check_memory(&sys->mem1, "mem1", err);
    status = status ? status : check_memory(&sys->mem2, "mem2", err);
    for (int i = 0; !status && i < sys->network_count; i++) {
        status = check_network(&sys->networks[i], i, err);
    }
    return status;
}

/* ---- searches -------------------------------------------------------------------------------- */

static const rk_member space_members[] = {
    RK_MEMBER(rk_calculon_space, INT64, num_procs, 1, RK_DOCUMENT_COUNT_MAX),
    RK_MEMBER(rk_calculon_space, INT64, max_batch_size, 1, RK_DOCUMENT_COUNT_MAX),
    RK_MEMBER(rk_calculon_space, ENUM, datatype, 0, RK_DATATYPE_COUNT), /* unknown: see there */
    RK_MEMBER(rk_calculon_space, INT, fused_count, 1, 2),
    RK_FLAG(rk_calculon_space, fused[0]),
    RK_FLAG(rk_calculon_space, fused[1]),
    RK_FLAG(rk_calculon_space, no_tp_overlap),
    RK_FLAG(rk_calculon_space, no_dp_overlap),
    RK_FLAG(rk_calculon_space, mbs_break),
};

rk_status rk_calculon_space_check(const rk_calculon_space *space, rk_error *err)
{
    return rk_members_check(space, "", space_members, COUNT(space_members), err);
}

rk_status rk_calculon_control_check(const rk_search_control *control, rk_error *err)
{
    static const rk_member members[] = {
        RK_MEMBER(rk_search_control, INT, threads, 0, THREADS_MAX),
        RK_MEMBER(rk_search_control, REAL, least_rate, 0, REAL_MAX),
    };
    const rk_status status =
        control ? rk_members_check(control, "", members, COUNT(members), err) : RK_OK;
    if (!status && control && control->slices > 0 && control->slice >= control->slices) {
        return rk_fail_at(err, RK_ERR_INVALID, "slice", "expected a part below slices");
    }
    return status;
}
