/* SPDX-License-Identifier: Apache-2.0 */
/* Constants fitted to measurements. */
#include "evidence/calibrate.h"

#include "api/abi_copy.h"
#include "api/struct_tables.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>

rk_status rk_calibrate_constants(const char *recipe, const rk_calibration_choice *choice,
                                 rk_calibration **calibration, rk_error *err)
{
    rk_calibration_choice own;
    rk_status status = rk_need(recipe, "recipe", err);
    status = status ? status : rk_take_calibration_choice(choice, &own, err);
    *calibration = rk_allocate(sizeof(**calibration), "a calibration", &status, err);
    if (!status) {
        const rk_calibrate_options options = {.threads = (int)own.threads, .quick = own.quick};
        status = rk_calibrate(recipe, &options, *calibration, err);
    }
    if (status) {
        rk_calibration_free(*calibration);
        *calibration = NULL;
    }
    return status;
}

void rk_calibration_free(rk_calibration *calibration)
{
    if (calibration) {
        rk_calibration_clear(calibration);
        free(calibration);
    }
}

void rk_calibration_describe(const rk_calibration *calibration, rk_calibration_facts *facts,
                             size_t size)
{
    const rk_calibration *c = calibration;
    const rk_calibration_facts all = {
        .recipe = c->recipe->name,
        .constants = c->recipe->constant_count,
        .groups = (int64_t)c->group_count,
        .loss_start = c->loss_start,
        .loss_found = c->loss_found,
        .loss = c->loss,
        .start = c->start,
        .found = c->found,
        .fitted = c->after,
        .by_the_others = c->refitted ? c->without : (rk_error_summary){0},
        .held_out = c->held,
    };
    rk_abi_copy(facts, size, &all, sizeof(all));
}

bool rk_calibration_constant(const rk_calibration *calibration, size_t index,
                             rk_fitted_constant *constant, size_t size)
{
    if (index >= (size_t)calibration->recipe->constant_count) {
        return false;
    }
    const rk_constant *c = &calibration->recipe->constants[index];
    const rk_constant_fit *f = &calibration->constants[index];
    const rk_fitted_constant all = {
        .key = c->keys[0],
        .unit = c->unit,
        .meaning = c->meaning,
        .start = f->start,
        .found = f->found,
        .value = f->value,
        .deviation = calibration->refitted ? f->deviation : (double)NAN,
        .width = f->width,
        .importance = f->importance,
        .at_bound = f->at_bound,
        .idle = f->idle,
    };
    return rk_abi_copy(constant, size, &all, sizeof(all));
}

bool rk_calibration_group(const rk_calibration *calibration, size_t index,
                          rk_calibration_errors *errors, size_t size)
{
    if (index >= calibration->group_count) {
        return false;
    }
    const rk_left_out *left = &calibration->groups[index];
    const rk_calibration_errors all = {
        .group = calibration->rows.groups[left->group].name,
        .start = left->before,
        .fitted = left->after,
        .by_the_others = calibration->refitted ? left->without : (rk_error_summary){0},
    };
    return rk_abi_copy(errors, size, &all, sizeof(all));
}
