/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps. */
#include "api/struct_tables.h"

#include "base/error.h"
#include "base/units.h"
#include "command/option_groups.h"
#include "sweep/sweep.h"

rk_status rk_sweep_create(const char *document, rk_sweep **sweep, rk_error *err)
{
    *sweep = NULL;
    const rk_status status = rk_need(document, "document of a sweep", err);
    return status ? status : rk_sweep_doc_load(document, sweep, err);
}

void rk_sweep_free(rk_sweep *sweep)
{
    rk_sweep_doc_free(sweep);
}

rk_status rk_sweep_count(const rk_sweep *sweep, rk_sweep_totals *totals, size_t size, rk_error *err)
{
    const rk_sweep_options options = {0};
    rk_sweep_totals all = {0};
    rk_status status = rk_need(sweep, "sweep", err);
    status = status ? status : rk_sweep_check(sweep, &options, &all, err);
    if (!status) {
        rk_abi_copy(totals, size, &all, sizeof(all));
    }
    return status;
}

rk_status rk_sweep_points(const rk_sweep *sweep, const rk_sweep_control *control,
                          rk_sweep_totals *totals, size_t size, rk_error *err)
{
    static const rk_member members[] = {
        RK_MEMBER(rk_sweep_control, INT64, threads, 0, RK_THREADS_MAX),
        RK_FLAG(rk_sweep_control, resume),
    };
    rk_sweep_options options = {.block_points = 0};
    rk_sweep_totals all = {0};
    rk_status status = rk_need(sweep, "sweep", err);
    status = status ? status
                    : rk_take_choice(control, &options.control, sizeof(options.control),
                                     "rk_sweep_control", members, COUNT(members), err);
    if (status) {
        return status;
    }
    if (options.control.resume && !options.control.sqlite) {
        return rk_fail(err, RK_ERR_INVALID,
                       "to resume a sweep, name the database of the earlier "
                       "run in `sqlite`");
    }
    status = rk_sweep_run(sweep, &options, &all, err);
    if (totals) {
        rk_abi_copy(totals, size, &all, sizeof(all));
    }
    return status;
}
