/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/found.h"

#include <stdlib.h>

rk_status rk_found_fill(const rk_request *request, const rk_inputs *inputs, rk_found *found,
                        rk_error *err)
{
    *found = (rk_found){.searched = !rk_request_is_strategy(request)};
    if (found->searched) {
        return rk_reckoning_search(request, inputs, 1, &found->plan, err);
    }
    rk_strategy strategy;
    const rk_setting setting = rk_setting_of(request, inputs);
    const rk_status status = rk_request_strategy(request, inputs, &strategy, err);
    return status ? status : rk_answer_fill(&setting, &strategy, &found->given, err);
}

void rk_found_clear(rk_found *found)
{
    rk_reckoning_clear(&found->plan);
    free(found->given.stages);
}

const rk_answer *rk_found_answer(const rk_found *found)
{
    if (!found->searched) {
        return &found->given;
    }
    return found->plan.answer_count > 0 ? &found->plan.answers[0] : NULL;
}
