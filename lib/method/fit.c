/* SPDX-License-Identifier: Apache-2.0 */
#include "method/fit.h"

#include "request/choices.h"
#include "search/fewest.h"

bool rk_fit_fits(const rk_fit *fit)
{
    const rk_answer *answer = rk_plan_best(&fit->plan);
    return answer && answer->estimate.fits;
}

const rk_answer *rk_fit_answer(const rk_fit *fit)
{
    const rk_plan *plan = &fit->plan;
    const rk_answer *answer = rk_plan_best(plan);
    return answer ? answer : plan->ranking.shortage.legal ? &plan->nearest : NULL;
}

/* The fewest accelerators with the batch of the answer and everything else as requested. */
static rk_status find_fewest(rk_job *job, rk_fit *fit, const rk_answer *answer, rk_error *err)
{
    const rk_inputs *inputs = fit->inputs;
    const rk_search_control control =
        rk_job_search_control(job, "strategies", fit->request->threads);
    rk_request open = rk_request_open(fit->request);
    rk_plan_space space;
    open.accelerators = rk_strategy_ranks(&answer->strategy);
    open.global_batch = answer->strategy.global_batch;
    const rk_status status = rk_request_space(&open, inputs, &space, err);
    return status ? status
                  : rk_find_fewest_accelerators(&inputs->model, &inputs->system,
                                                &inputs->software.stack, &space, &control,
                                                &fit->fewest, &fit->leanest, err);
}

rk_status rk_fit_find(rk_job *job, const rk_request *request, const rk_inputs *inputs, rk_fit *fit,
                      rk_error *err)
{
    *fit = (rk_fit){.request = request, .inputs = inputs};
    rk_status status = rk_plan_find(job, fit->request, fit->inputs, &fit->plan, err);
    const rk_answer *answer = status ? NULL : rk_fit_answer(fit);
    if (answer && !rk_fit_fits(fit)) {
        status = rk_find_fit_changes(&fit->plan.setting, &answer->strategy, &fit->changes, err);
    }
    return status || !answer ? status : find_fewest(job, fit, answer, err);
}
