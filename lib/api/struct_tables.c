/* SPDX-License-Identifier: Apache-2.0 */
/* Every enumeration, number and flag of the structs that programs fill, with its bounds. */
#include "api/struct_tables.h"

#include "base/error.h"
#include "base/members.h"
#include "base/units.h"
#include "command/option_groups.h"
#include "strategy/strategy_fields.h"
#include "whole_run/whole_run.h"

#include <stdlib.h>

/* ---- bounds ---------------------------------------------------------------------------------- */

#define DEGREE_MAX  (1 << 30) /* degrees, batches and tokens, as of options */
#define VALUE_MAX   (1 << 24) /* blocks, heads and sizes of a shape, as of `reckon shape` */
#define TOP_MAX     1000
#define REAL_MAX    0x1p63 /* as of options */
#define BITS(count) ((1U << (count)) - 1)

#define OR_ZERO(type, name_, least_, most_)                                                        \
    {                                                                                              \
        .name = #name_, .kind = RK_MEMBER_REAL, .offset = offsetof(type, name_), .least = least_,  \
        .most = most_, .or_zero = true                                                             \
    }

/* ---- setups ---------------------------------------------------------------------------------- */

static const rk_member setup_choice[] = {
    RK_MEMBER(rk_setup_choice, REAL, max_memory_bytes, 0, REAL_MAX),
    RK_MEMBER(rk_setup_choice, REAL, max_risk, 0, RK_RISK_FITS),
};

/* ---- spaces ---------------------------------------------------------------------------------- */

#define DEGREES(name) RK_MEMBER(rk_space, COUNTS, name, 1, DEGREE_MAX)

static const rk_member space[] = {
    RK_MEMBER(rk_space, INT64, accelerators, 0, DEGREE_MAX),
    RK_MEMBER(rk_space, INT64, global_batch, 0, DEGREE_MAX),
    DEGREES(tp),
    DEGREES(cp),
    DEGREES(pp),
    DEGREES(vp),
    DEGREES(ep),
    DEGREES(etp),
    DEGREES(micro_batch),
    RK_MEMBER(rk_space, COUNTS, zero, 0, RK_SHARD_ALL),
    RK_MEMBER(rk_space, UNSIGNED, schedules, 0, BITS(RK_SCHEDULE_KIND_COUNT)),
    RK_MEMBER(rk_space, UNSIGNED, recomputes, 0, BITS(RK_REC_FULL + 1)),
    RK_MEMBER(rk_space, INT64, top, 0, TOP_MAX),
    RK_MEMBER(rk_space, INT64, threads, 0, RK_THREADS_MAX),
    RK_FLAG(rk_space, bounded),
    RK_FLAG(rk_space, exhaustive),
};

/* ---- runs ------------------------------------------------------------------------------------ */

#define REAL(name)        RK_MEMBER(rk_run_request, REAL, name, 0, REAL_MAX)
#define REAL_OR_NOT(name) RK_MEMBER(rk_run_request, REAL, name, -REAL_MAX, REAL_MAX)

static const rk_member run_request[] = {
    REAL(tokens),
    REAL(steps),
    REAL(loss),
    REAL(reference_batch),
    REAL(step_s),
    RK_MEMBER(rk_run_request, REAL, mfu_percent, 0, 100),
    REAL(stragglers_percent),
    REAL_OR_NOT(failures),
    REAL_OR_NOT(restart_s),
    RK_MEMBER(rk_run_request, INT64, spares, -REAL_MAX, RK_SPARES_MAX),
    REAL(storage_bytes_per_s),
    REAL(checkpoint_every_s),
    RK_FLAG(rk_run_request, async_checkpoint),
    REAL_OR_NOT(price_per_hour),
    REAL(purchase_price),
    REAL(life_years),
    REAL(power_watts),
    OR_ZERO(rk_run_request, pue, 1, REAL_MAX),
    REAL_OR_NOT(carbon_g_per_kwh),
    RK_MEMBER(rk_run_request, INT64, simulated_runs, 0, RK_SIMULATE_MAX),
    RK_MEMBER(rk_run_request, INT64, seed, 0, REAL_MAX),
};

#undef REAL

/* ---- co-design ------------------------------------------------------------------------------- */

#define TARGET(name) RK_MEMBER(rk_machine_target, REAL, name, 0, REAL_MAX)

static const rk_member machine_target[] = {
    TARGET(step_s),
    TARGET(tokens_per_s),
    TARGET(days),
    TARGET(tokens),
};

#define SHAPE_REAL(name, most_) RK_MEMBER(rk_shape_choice, REAL, name, 0, most_)
#define SHAPE_LIST(name)        RK_MEMBER(rk_shape_choice, COUNTS, name, 1, VALUE_MAX)

static const rk_member shape_choice[] = {
    OR_ZERO(rk_shape_choice, parameters, 1, REAL_MAX),
    SHAPE_REAL(tolerance_percent, 50),
    SHAPE_LIST(blocks),
    SHAPE_LIST(heads),
    SHAPE_LIST(head_sizes),
    RK_MEMBER(rk_shape_choice, INT64, head_multiple, 0, VALUE_MAX),
    OR_ZERO(rk_shape_choice, feedforward, 1, 64),
    SHAPE_REAL(aspect_min, REAL_MAX),
    SHAPE_REAL(aspect_max, REAL_MAX),
};

/* ---- measured runs and sweeps ---------------------------------------------------------------- */

static const rk_member calibration_choice[] = {
    RK_MEMBER(rk_calibration_choice, INT64, threads, 0, RK_THREADS_MAX),
    RK_FLAG(rk_calibration_choice, quick),
};

static const rk_member sweep_control[] = {
    RK_MEMBER(rk_sweep_control, INT64, threads, 0, RK_THREADS_MAX),
    RK_FLAG(rk_sweep_control, resume),
};

/* ---- copies ---------------------------------------------------------------------------------- */

#define TAKE(name, given, own, err)                                                                \
    rk_members_take(own, sizeof(*(own)), given, "rk_" #name, name, COUNT(name), err)

#define DEFINE(name, optional)                                                                     \
    rk_status rk_take_##name(const rk_##name *given, rk_##name *own, rk_error *err)                \
    {                                                                                              \
        *own = (rk_##name){.size = sizeof(*own)};                                                  \
        return (optional) && !given ? RK_OK : TAKE(name, given, own, err);                         \
    }
RK_TAKEN_STRUCTS(DEFINE)

rk_status rk_take_strategy(const rk_strategy *given, rk_strategy *own, rk_error *err)
{
    rk_member members[RK_STRATEGY_MEMBERS_MAX];
    const size_t count = rk_strategy_members(members);
    *own = (rk_strategy){.size = sizeof(*own)};
    const rk_status status =
        rk_members_take(own, sizeof(*own), given, "rk_strategy", members, count, err);
    return !status && own->layout_count > 0 && !own->layout
               ? rk_fail_at(err, RK_ERR_INVALID, "layout",
                            "the layout is NULL, but layout_count is %d", own->layout_count)
               : status;
}

rk_status rk_take_run_request(const rk_run_request *given, rk_run_request *own, rk_error *err)
{
    rk_run_request_init(own, sizeof(*own));
    const rk_status status = TAKE(run_request, given, own, err);
    own->spares = own->spares < 0 ? -1 : own->spares;
    own->life_years = own->life_years > 0 ? own->life_years : RK_RUN_LIFE_YEARS;
    return status;
}

rk_status rk_take_validation_choice(const rk_validation_choice *given, rk_validation_choice *own,
                                    rk_error *err)
{
    *own = (rk_validation_choice){.size = sizeof(*own)};
    return given ? rk_members_take(own, sizeof(*own), given, "rk_validation_choice", NULL, 0, err)
                 : RK_OK;
}

rk_status rk_need(const void *given, const char *what, rk_error *err)
{
    return given ? RK_OK : rk_fail(err, RK_ERR_INVALID, "the %s is NULL", what);
}

void *rk_allocate(size_t size, const char *what, rk_status *status, rk_error *err)
{
    void *memory = *status ? NULL : calloc(1, size);
    if (!memory && !*status) {
        *status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for %s", what);
    }
    return memory;
}
