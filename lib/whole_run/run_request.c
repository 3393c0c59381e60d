/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults and bounds of the request of a whole run. */
#include "whole_run/whole_run.h"

#include "base/members.h"
#include "base/units.h"

rk_run_request rk_run_request_usual(void)
{
    return (rk_run_request){
        .size = sizeof(rk_run_request),
        .failures = -1,
        .restart_s = -1,
        .spares = -1,
        .price_per_hour = -1,
        .life_years = RK_RUN_LIFE_YEARS,
        .carbon_g_per_kwh = -1,
        .simulated_runs = RK_RUN_SIMULATED,
        .seed = 1,
    };
}

#define REAL_MAX          RK_MEMBER_REAL_MAX
#define REAL(name)        RK_MEMBER(rk_run_request, REAL, name, 0, REAL_MAX)
#define REAL_OR_NOT(name) RK_MEMBER(rk_run_request, REAL, name, -REAL_MAX, REAL_MAX)

static const rk_member members[] = {
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
    RK_MEMBER_OR_ZERO(rk_run_request, pue, 1, REAL_MAX),
    REAL_OR_NOT(carbon_g_per_kwh),
    RK_MEMBER(rk_run_request, INT64, simulated_runs, 0, RK_SIMULATE_MAX),
    RK_MEMBER(rk_run_request, INT64, seed, 0, REAL_MAX),
};

rk_status rk_run_request_take(const rk_run_request *given, rk_run_request *own, rk_error *err)
{
    *own = rk_run_request_usual();
    const rk_status status =
        rk_members_take(own, sizeof(*own), given, "rk_run_request", members, COUNT(members), err);
    own->spares = own->spares < 0 ? -1 : own->spares;
    own->life_years = own->life_years > 0 ? own->life_years : RK_RUN_LIFE_YEARS;
    return status;
}
