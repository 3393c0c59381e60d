/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the strategy of a request, or searches one if its choices are open. */
#include "method/estimate_verb.h"

#include "launch/launch.h"

rk_status rk_estimate_find(rk_control *control, const rk_request *request, const rk_inputs *inputs,
                           rk_estimate_answer *e, rk_error *err)
{
    rk_plan *plan = &e->plan;
    e->request = request;
    e->inputs = inputs;
    rk_status status = rk_plan_find(control, request, inputs, plan, err);
    const rk_answer *answer = status ? NULL : rk_plan_best(plan);
    if (!answer) {
        return status;
    }
    if (request->explain) {
        status = rk_find_sensitivities(&plan->setting, &answer->strategy, answer->estimate.step,
                                       &e->worth, err);
    }
    if (!status && request->changes) {
        status =
            rk_find_gains(&plan->setting, &answer->strategy, &answer->estimate, &e->gains, err);
        for (size_t i = 0; request->launch && i < e->gains.changes.count && !status; i++) {
            status = rk_launch_spell_flags(request->launch, e->gains.flags[i], NULL,
                                           sizeof(e->gains.flags[i]), err);
        }
    }
    if (!status && (!request->csv || request->dp_sync)) {
        status = rk_plan_remark(plan, err);
    }
    if (!status && request->operators) {
        status = rk_operators_fill(inputs, &answer->strategy, &e->operators, err);
    }
    return status;
}

void rk_estimate_answer_clear(rk_estimate_answer *estimate)
{
    rk_operators_clear(&estimate->operators);
    rk_plan_clear(&estimate->plan);
}
