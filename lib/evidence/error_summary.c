/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of predictions over many rows. */
#include "evidence/calibrate.h"

#include "base/error.h"
#include "base/list.h"

#include <math.h>
#include <stdlib.h>

static void summarise(double *errors, size_t count, rk_error_summary *out)
{
    const double n = count > 0 ? (double)count : 1;
    *out = (rk_error_summary){.rows = count};
    for (size_t i = 0; i < count; i++) {
        out->bias += errors[i] / n;
        out->rms += errors[i] * errors[i] / n;
        errors[i] = fabs(errors[i]);
        out->mean += errors[i] / n;
    }
    out->rms = sqrt(out->rms);
    if (count > 0) {
        qsort(errors, count, sizeof(*errors), rk_compare_doubles);
        out->median = errors[count / 2];
        out->p90 = errors[(9 * count + 9) / 10 - 1];
    }
}

rk_status rk_errors_summarise(const rk_fit_setup *bench, int group, bool held,
                              rk_error_summary *out, rk_error *err)
{
    size_t count = 0;
    double *errors = malloc((bench->rows->count + 1) * sizeof(*errors));
    if (!errors) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the errors");
    }
    for (size_t i = 0; i < bench->rows->count; i++) {
        const rk_observation *row = &bench->rows->rows[i];
        if (row->held == held && (group < 0 || row->group == group)) {
            errors[count++] = expm1(rk_fit_setup_error(bench, row));
        }
    }
    summarise(errors, count, out);
    free(errors);
    return RK_OK;
}
