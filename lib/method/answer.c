/* SPDX-License-Identifier: Apache-2.0 */
/* Fills an estimate's answer: intervals, risk, and the step in bf16 or with dense attention. */
#include "method/answer.h"

#include "base/error.h"
#include "layer/all_kinds.h"
#include "method/estimate_fields.h"

#include <math.h>
#include <stdlib.h>

rk_prediction rk_answer_figures(const rk_answer *answer)
{
    const rk_interval *interval = &answer->interval;
    rk_prediction figures = rk_prediction_of(&answer->estimate);
    figures.step_p10_s = interval->low * answer->estimate.step;
    figures.step_p90_s = interval->high * answer->estimate.step;
    figures.comparable_runs = interval->runs;
    figures.comparable_models = interval->groups;
    (void)snprintf(figures.comparable_text, sizeof(figures.comparable_text), "%s", interval->basis);
    figures.bf16_step_s = answer->bf16_step;
    return figures;
}

rk_setting rk_setting_of(const rk_inputs *inputs)
{
    return (rk_setting){
        .model = &inputs->model,
        .system = &inputs->system,
        .stack = &inputs->software.stack,
        .framework = inputs->software.framework,
        .convention = inputs->software.convention,
        .risk = inputs->risk,
    };
}

rk_status rk_setting_open(const rk_inputs *inputs, rk_setting *setting, rk_error *err)
{
    *setting = rk_setting_of(inputs);
    return rk_estimate_store_new(&setting->store, err);
}

void rk_setting_close(rk_setting *setting)
{
    rk_estimate_store_free(setting->store);
}

int64_t rk_batch_at_least(const rk_setting *setting, const rk_strategy *strategy, double sequences)
{
    rk_strategy part = *strategy;
    const int64_t unit = part.dp * part.micro_batch, full = part.global_batch;
    part.global_batch = (int64_t)ceil(sequences / (double)unit) * unit;
    while (part.global_batch < full &&
           !rk_strategy_legal(setting->model, setting->system, &part, setting->framework, NULL)) {
        part.global_batch += unit;
    }
    return part.global_batch < full ? part.global_batch : full;
}

rk_status rk_estimate_batch(const rk_setting *setting, const rk_strategy *strategy, int64_t batch,
                            rk_estimate *estimate, rk_error *err)
{
    rk_strategy part = *strategy;
    part.global_batch = batch;
    return rk_estimate_exact(setting, &part, estimate, NULL, err);
}

/* Sets the intervals of time and memory, and the risk. */
static rk_status set_intervals(const rk_setting *setting, rk_answer *answer, rk_error *err)
{
    const rk_similarity_key key = rk_similarity_key_of(
        setting->system, setting->stack, setting->model, &answer->strategy, &answer->estimate);
    rk_status status = rk_interval_of(&rk_residuals_built_in, &key, NULL, &answer->interval, err);
    status = status ? status
                    : rk_memory_interval_of(&rk_memory_residuals_built_in, &key, NULL,
                                            &answer->memory, err);
    if (!status) {
        rk_set_risk(&answer->memory, &answer->estimate);
    }
    return status;
}

/* The step of the same strategy in bf16, if it uses lower precision and bf16 is legal. */
static rk_status set_bf16_step(const rk_setting *setting, rk_answer *answer, rk_error *err)
{
    rk_strategy strategy = answer->strategy;
    rk_estimate estimate;
    if (!rk_is_low(strategy.precision)) {
        return RK_OK;
    }
    strategy.precision = RK_BF16;
    strategy.low_weights = false;
    if (!rk_strategy_legal(setting->model, setting->system, &strategy, setting->framework, NULL)) {
        return RK_OK;
    }
    const rk_status status = rk_estimate_exact(setting, &strategy, &estimate, NULL, err);
    answer->bf16_step = status ? 0 : estimate.step;
    return status;
}

/* For models with sparse attention: the step of the same strategy with dense attention. */
static rk_status set_dense_step(const rk_setting *setting, rk_answer *answer, rk_error *err)
{
    rk_model dense = *setting->model;
    rk_estimate estimate;
    bool picks = false;
    for (int i = 0; i < dense.type_count; i++) {
        rk_layer_type *type = &dense.types[i];
        if (type->mixer == &rk_mixer_sparse_latent || type->mixer == &rk_mixer_sparse_grouped) {
            const bool latent = type->mixer == &rk_mixer_sparse_latent;
            type->mixer = latent ? &rk_mixer_latent : &rk_mixer_grouped;
            type->attention.index = (rk_index_shape){0};
            picks = true;
        }
    }
    if (!picks) {
        return RK_OK;
    }
    rk_setting other = *setting;
    other.model = &dense;
    const rk_status status = rk_estimate_exact(&other, &answer->strategy, &estimate, NULL, err);
    answer->dense_step = status ? 0 : estimate.step;
    return status;
}

rk_status rk_answer_fill(const rk_setting *setting, const rk_strategy *strategy, rk_answer *answer,
                         rk_error *err)
{
    *answer = (rk_answer){.strategy = *strategy};
    answer->stages = calloc((size_t)strategy->pp, sizeof(*answer->stages));
    if (!answer->stages) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the stages of a pipeline");
    }
    rk_status status = rk_estimate_exact(setting, strategy, &answer->estimate, answer->stages, err);
    status = status ? status : set_intervals(setting, answer, err);
    status = status ? status : set_bf16_step(setting, answer, err);
    status = status ? status : set_dense_step(setting, answer, err);
    if (status) {
        free(answer->stages);
        answer->stages = NULL;
    }
    return status;
}
