/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a run that are two numbers with a colon between them. */
#include "command/whole_run.h"

#include "base/error.h"
#include "base/units.h"

#include <stdlib.h>

static rk_status read_pair(const char *option, const char *text, const char *what, double *first,
                           double *second, rk_error *err)
{
    char *end;
    *first = strtod(text, &end);
    const bool colon = end != text && *end == ':';
    *second = colon ? strtod(end + 1, &end) : 0;
    if (!colon || *end || !(*first > 0) || !(*second > 0) || !(*first < 1e12) ||
        !(*second < 1e12)) {
        return rk_fail(err, RK_ERR_INVALID, "--%s: expected %s, found \"%s\"", option, what, text);
    }
    return RK_OK;
}

rk_status rk_run_read_pairs(rk_whole_run *run, rk_error *err)
{
    const rk_run_args *args = run->args;
    rk_training *t = &run->training;
    rk_status status = RK_OK;
    if (args->maintenance) {
        status = read_pair("maintenance", args->maintenance,
                           "hours and the days from one window to the next as 4:30", &t->window,
                           &t->window_every, err);
        t->window *= HOUR;
        t->window_every *= DAY;
    }
    run->slow_share = run->slow_by = 0;
    if (!status && args->slow_devices) {
        status = read_pair("slow-devices", args->slow_devices,
                           "percent of the accelerators and by how many percent as 0.5:10",
                           &run->slow_share, &run->slow_by, err);
        run->slow_share /= 100;
        run->slow_by /= 100;
    }
    return status || run->slow_share < 1
               ? status
               : rk_fail(
                     err, RK_ERR_INVALID,
                     "--slow-devices: make the share of slow accelerators less than 100 percent");
}
