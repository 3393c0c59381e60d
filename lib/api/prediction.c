/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions of single strategies and collectives. */
#include "api/handles.h"
#include "base/error.h"
#include "comm/comm_place.h"
#include "comm/comm_question.h"
#include "method/estimate_fields.h"

#define BYTES_MAX 0x1p63 /* of a collective */

const char *rk_time_part_name(size_t part)
{
    return part < RK_PART_COUNT ? rk_part_keys[part] : NULL;
}

const char *rk_memory_part_name(size_t part)
{
    return part < RK_MEMORY_PART_COUNT ? rk_memory_part_keys[part] : NULL;
}

rk_status rk_predict_step(const rk_setup *setup, const rk_strategy *strategy,
                          rk_prediction *prediction, size_t size, rk_error *err)
{
    rk_strategy own;
    rk_estimate estimate;
    rk_status status = rk_strategy_adopt_legal(setup, strategy, &own, err);
    if (!status) {
        status = rk_predict_estimate(&setup->setting, &own, &estimate, NULL, err);
    }
    if (!status) {
        const rk_prediction all = rk_prediction_of(&estimate);
        rk_abi_copy(prediction, size, &all, sizeof(all));
    }
    return status;
}

rk_status rk_predict_collective(const rk_system *system, const char *name, int64_t ranks,
                                int64_t stride, double bytes, rk_collective_timing *timing,
                                size_t size, rk_error *err)
{
    int op = 0;
    rk_group group;
    rk_status status = rk_need(system, "system", err);
    status = status ? status : rk_find_name("collective", name, rk_collective_names, &op, err);
    if (!status && (ranks < 0 || stride < 1 || !(bytes > 0) || bytes > BYTES_MAX)) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "a collective has at least 2 ranks (0: those of one innermost domain), a "
                         "stride of at least 1, and more than 0 and at most 2^63 bytes");
    }
    status = status ? status : rk_comm_place(system, ranks, stride, &group, err);
    if (status) {
        return status;
    }
    const rk_collective_timing all = rk_comm_figures(system, (rk_collective)op, bytes, &group);
    rk_abi_copy(timing, size, &all, sizeof(all));
    return RK_OK;
}
