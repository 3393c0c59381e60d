/* SPDX-License-Identifier: Apache-2.0 */
/* How many tokens a run trains on, and the batch that suits them. */
#include "whole_run/whole_run.h"

#include "base/error.h"
#include "base/text.h"
#include "request/derived_sizes.h"

#include <assert.h>
#include <stdio.h>

void rk_law_parameters(const rk_model *model, double out[RK_LAW_COUNTS_COUNT])
{
    const rk_model_params p = rk_model_params_of(model);
    const int64_t ends = p.ends.embedding + p.ends.positions + p.ends.head;
    out[RK_LAW_COUNTS_ALL] = (double)p.active;
    out[RK_LAW_COUNTS_WITHOUT_EMBEDDING] = (double)(p.active - ends);
}

rk_status rk_run_tokens(const rk_run_question *question, const rk_model *model,
                        rk_loss_target *target, double *tokens, rk_error *err)
{
    *tokens = question->asked.tokens;
    *target = (rk_loss_target){.tokens = 0};
    if (!(question->asked.loss > 0)) {
        return RK_OK;
    }
    rk_status status = rk_loss_law_load(
        question->asked.law ? question->asked.law : "chinchilla-refit", &target->law, err);
    if (status) {
        return status;
    }
    const rk_model_params all = rk_model_params_of(model);
    double parameters[RK_LAW_COUNTS_COUNT];
    rk_law_parameters(model, parameters);
    target->experts = all.active < all.total;
    target->parameters = parameters[target->law.counts];
    status = rk_loss_tokens_in_range(&target->law, target->parameters, question->asked.loss,
                                     &target->tokens, err);
    *tokens = target->tokens;
    return status ? status
                  : rk_loss_others(&target->law, parameters, question->asked.loss, target->others,
                                   &target->other_count, err);
}

/* The letter that a budget of so few tokens lacks: 15 is 15T, 300 is 300B; "": none. */
static const char *missing_letter(double tokens)
{
    return tokens < 100 ? "T" : tokens < 1000 ? "B" : "";
}

rk_status rk_run_check_length(const char *option, double tokens, int64_t batch, int64_t seq,
                              rk_error *err)
{
    char number[RK_NUMBER_TEXT_SIZE], found[RK_NUMBER_TEXT_SIZE + 48] = "", step[RK_COMMAS_SIZE];
    const double least = (double)batch * (double)seq;
    if (!(tokens < least)) {
        return RK_OK;
    }
    (void)rk_count_text(tokens, number);
    if (missing_letter(tokens)[0]) {
        (void)snprintf(found, sizeof(found), "did you mean %s%s?", number, missing_letter(tokens));
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "--%s: %s tokens are less than one step, %s tokens (%lld sequences of %lld); %s",
                   option, number, rk_with_commas((uint64_t)least, step), (long long)batch,
                   (long long)seq, found[0] ? found : "give more, or a smaller --global-batch");
}

/* Whether the run has a step at all; phases are checked as they are read. */
static rk_status check_length(const rk_run_question *question, const rk_model *model, double tokens,
                              rk_error *err)
{
    const rk_request *r = &question->request;
    if (question->asked.steps > 0 && question->asked.steps < 1) {
        return rk_fail(err, RK_ERR_INVALID, "--steps: %.4g is less than one step",
                       question->asked.steps);
    }
    return tokens > 0 ? rk_run_check_length(question->asked.loss > 0 ? "loss" : "tokens", tokens,
                                            r->global_batch, r->seq > 0 ? r->seq : model->seq, err)
                      : RK_OK;
}

rk_status rk_run_check_tokens(const rk_run_question *question, const rk_model *model, rk_error *err)
{
    rk_loss_target target;
    double tokens;
    const rk_status status = rk_run_tokens(question, model, &target, &tokens, err);
    return status ? status : check_length(question, model, tokens, err);
}

rk_status rk_run_best_batch(const rk_request *request, int64_t seq, double tokens, int64_t *batch,
                            rk_error *err)
{
    assert(seq >= 1 && tokens > 0);
    rk_batch_law law;
    const rk_status status = rk_batch_law_load("step-law", &law, err);
    *batch = status ? 0 : rk_request_batch_of(request, seq, rk_batch_critical(&law, tokens, 0));
    return status;
}
