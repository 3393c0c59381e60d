/* SPDX-License-Identifier: Apache-2.0 */
/* Answers `reckon fit`: memory verdict, fewest accelerators, and changes that make it fit. */
#include "method/fit.h"

#include "request/derived_sizes.h"
#include "request/strategy_choices.h"
#include "search/fewest_accelerators.h"

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

rk_outcome_facts rk_fit_figures(const rk_fit *fit)
{
    const rk_ranking *ranking = &fit->plan.ranking;
    rk_outcome_facts facts = {.fewest_accelerators = fit->fewest};
    if (fit->plan.searched) {
        facts.searched = true;
        facts.bounded = ranking->by_bounds;
        facts.strategies = ranking->by_bounds ? ranking->bounded.total : ranking->counts[0];
        facts.evaluated = ranking->by_bounds ? ranking->bounded.evaluated : ranking->counts[1];
        facts.legal = ranking->by_bounds ? 0 : ranking->counts[1];
        facts.fitting = ranking->by_bounds ? 0 : ranking->counts[2];
        facts.enough_accelerators = ranking->shortage.accelerators;
    }
    return facts;
}

/* The fewest accelerators with the batch of the answer and everything else as requested. */
static rk_status find_fewest(rk_control *control, rk_fit *fit, const rk_answer *answer,
                             rk_error *err)
{
    const rk_inputs *inputs = fit->inputs;
    const rk_search_control search =
        rk_control_search(control, "strategies", fit->request->threads);
    rk_request open = rk_request_open(fit->request);
    rk_plan_space space;
    open.accelerators = rk_strategy_ranks(&answer->strategy);
    open.global_batch = answer->strategy.global_batch;
    const rk_status status = rk_request_space(&open, inputs, &space, err);
    return status ? status
                  : rk_find_fewest_accelerators(&inputs->model, &inputs->system,
                                                &inputs->software.stack, &space, &search,
                                                &fit->fewest, &fit->leanest, err);
}

/* ---- how many -------------------------------------------------------------------------------- */

/* Whether a degree above 1 is given: a strategy then has as many accelerators as the degrees say.
 */
static bool has_degree(const rk_request *r)
{
    const rk_option_counts *const degrees[] = {&r->tp, &r->pp, &r->cp, &r->ep, &r->etp};
    bool has = r->dp > 0;
    for (size_t i = 0; i < sizeof(degrees) / sizeof(degrees[0]); i++) {
        has = has || (degrees[i]->count == 1 && degrees[i]->values[0] > 1);
    }
    return has;
}

/* Whether the number of accelerators is the question. */
static bool asks_number(const rk_request *r, const rk_inputs *inputs)
{
    return r->accelerators == 0 && rk_request_policy(r) == RK_POLICY_SEARCH &&
           !inputs->completed.done && !has_degree(r);
}

/* Takes the framework in which most people fine-tune, where none is given and it runs. */
static rk_status take_framework(rk_fit *fit, rk_error *err)
{
    const rk_generation generation = fit->own.system.accelerator.generation;
    const bool runs = rk_framework_of(RK_FRAMEWORK_HUGGINGFACE)->runs_on >> generation & 1U;
    if (!runs || fit->asked.framework >= 0 || fit->asked.stack) {
        return RK_OK;
    }
    fit->asked.framework = RK_FRAMEWORK_HUGGINGFACE;
    const rk_status status = rk_request_apply(&fit->asked, false, &fit->own, err);
    fit->own.software.source = RK_FRAMEWORK_OF_TUNING;
    return status;
}

/* Answers for the fewest accelerators; for one domain if no number suffices. */
static rk_status find_number(rk_control *control, rk_fit *fit, rk_error *err)
{
    const rk_search_control search =
        rk_control_search(control, "strategies", fit->request->threads);
    rk_request *r = &fit->asked;
    fit->counts = true;
    *r = *fit->request;
    fit->own = *fit->inputs;
    fit->request = r;
    fit->inputs = &fit->own;
    rk_status status = take_framework(fit, err);
    rk_request_take_tuning_sizes(r, fit->own.model.seq);
    status = status ? status : rk_usual_savings_find(r, fit->inputs, &search, &fit->cures, err);
    status =
        status ? status
               : rk_request_find_fewest(r, fit->inputs, &search, &fit->fewest, &fit->leanest, err);
    r->accelerators = fit->fewest > 0 ? fit->fewest : fit->own.system.tiers[0].size;
    rk_request_take_tuning_sizes(r, fit->own.model.seq);
    return status;
}

rk_status rk_fit_find(rk_control *control, const rk_request *request, const rk_inputs *inputs,
                      rk_fit *fit, rk_error *err)
{
    *fit = (rk_fit){.request = request, .inputs = inputs};
    rk_status status = RK_OK;
    if (asks_number(request, inputs)) {
        status = find_number(control, fit, err);
    }
    status = status ? status : rk_plan_find(control, fit->request, fit->inputs, &fit->plan, err);
    const rk_answer *answer = status ? NULL : rk_fit_answer(fit);
    if (answer && !rk_fit_fits(fit)) {
        status = rk_find_fit_changes(&fit->plan.setting, &answer->strategy, &fit->changes, err);
    }
    return status || !answer || fit->counts ? status : find_fewest(control, fit, answer, err);
}
