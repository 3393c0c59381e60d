/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets options to numbers from programs, as text, so that the bounds of options are checked in one
 * place. 17 digits reproduce a double exactly.
 */
#include "api/handles.h"

#include "base/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

rk_status rk_ask_real(rk_job *job, const char *option, double value, rk_error *err)
{
    char text[32];
    if (!isnan(value) && !(value < 0) && !(value > 0)) {
        return RK_OK;
    }
    (void)snprintf(text, sizeof(text), "%.17g", value);
    return rk_job_set(job, option, text, err);
}

rk_status rk_ask_count(rk_job *job, const char *option, int64_t value, rk_error *err)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    return rk_job_set(job, option, text, err);
}

rk_status rk_ask_counts(rk_job *job, const char *option, const rk_counts *values, rk_error *err)
{
    char text[RK_COUNTS_MAX * 21 + 1] = "";
    size_t used = 0;
    if (values->count < 0 || values->count > RK_COUNTS_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, option, "at most %d numbers", RK_COUNTS_MAX);
    }
    for (int i = 0; i < values->count; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%" PRId64, i ? "," : "",
                                 values->values[i]);
    }
    return values->count > 0 ? rk_job_set(job, option, text, err) : RK_OK;
}
