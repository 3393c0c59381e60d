/* SPDX-License-Identifier: Apache-2.0 */
/* The step time that a whole run is made of. */
#include "command/whole_run.h"

double rk_run_step_s(const rk_run_args *args, const rk_estimate *estimate)
{
    return args->step_s > 0 ? args->step_s
           : args->mfu > 0  ? estimate->step * estimate->mfu / args->mfu
                            : estimate->step;
}

bool rk_run_step_is_stated(const rk_run_args *args)
{
    return args->step_s > 0 || args->mfu > 0;
}
