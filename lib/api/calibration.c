/* SPDX-License-Identifier: Apache-2.0 */
/* Constants fitted to measurements. */
#include "evidence/calibrate.h"

#include "api/struct_tables.h"
#include "base/error.h"
#include "base/units.h"
#include "command/option_groups.h"

#include <stdlib.h>

rk_status rk_calibrate_constants(const char *recipe, const rk_calibration_choice *choice,
                                 rk_calibration **calibration, rk_error *err)
{
    static const rk_member members[] = {
        RK_MEMBER(rk_calibration_choice, INT64, threads, 0, RK_THREADS_MAX),
        RK_FLAG(rk_calibration_choice, quick),
    };
    rk_calibration_choice own;
    rk_status status = rk_need(recipe, "recipe", err);
    status = status ? status
                    : rk_take_choice(choice, &own, sizeof(own), "rk_calibration_choice", members,
                                     COUNT(members), err);
    *calibration = rk_allocate(sizeof(**calibration), "a calibration", &status, err);
    if (!status) {
        status = rk_calibrate(recipe, &own, *calibration, err);
    }
    return RK_CREATED(status, calibration, rk_calibration_free);
}

RK_DEFINE_FREE(rk_calibration, rk_calibration_clear)

void rk_calibration_describe(const rk_calibration *calibration, rk_calibration_facts *facts,
                             size_t size)
{
    rk_abi_copy(facts, size, &calibration->facts, sizeof(calibration->facts));
}

bool rk_calibration_constant(const rk_calibration *calibration, size_t index,
                             rk_fitted_constant *constant, size_t size)
{
    return index < (size_t)calibration->recipe->constant_count &&
           rk_abi_copy(constant, size, &calibration->constants[index].figures, sizeof(*constant));
}

bool rk_calibration_group(const rk_calibration *calibration, size_t index,
                          rk_calibration_errors *errors, size_t size)
{
    return index < calibration->group_count &&
           rk_abi_copy(errors, size, &calibration->groups[index].errors, sizeof(*errors));
}
