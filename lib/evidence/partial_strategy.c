/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the degrees, layout and states that a row states into a strategy with software defaults. */
#include "evidence/partial_strategy.h"

#include "base/extremes.h"
#include "strategy/optimizer.h"
#include "strategy/strategy_fields.h"

#include <assert.h>
#include <string.h>

bool rk_known_degrees(const rk_partial_strategy *k)
{
    const bool inner = k->tp > 0 || k->cp > 0 || k->dp * rk_at_least_1(k->pp) == k->ranks;
    const bool stated = (k->dp > 0 && inner) || (k->tp > 0 && k->pp > 0);
    return stated || k->ranks == 1 || k->sharding == RK_SHARD_ALL;
}

/*
 * Chunks of a pipeline rank; where a row states none, one, or of software that interleaves as many
 * as a rank has layers, the embedding and the head among them where the layers alone do not divide.
 */
static int64_t chunks(const rk_model *model, const rk_partial_strategy *k, const rk_strategy *s)
{
    const int64_t stated = k->vp, counted = model->layers + 2;
    const bool interleaves = k->layer_chunks && rk_strategy_microbatches(s) % s->pp == 0;
    if (s->pp == 1) {
        return 1;
    }
    if (stated > 0 || !interleaves) {
        return rk_at_least_1(stated);
    }
    return rk_at_least_1(model->layers % s->pp == 0 ? model->layers / s->pp
                         : counted % s->pp == 0     ? counted / s->pp
                                                    : 1);
}

int64_t rk_known_micro_batch(const rk_partial_strategy *k, const rk_strategy *s)
{
    const int64_t batch = s->global_batch / s->dp;
    return s->pp == 1 ? batch : k->stage_microbatches ? rk_at_least_1(batch / s->pp) : 1;
}

static void set_degrees(const rk_model *model, const rk_partial_strategy *k, rk_strategy *s)
{
    s->tp = rk_at_least_1(k->tp);
    s->pp = rk_at_least_1(k->pp);
    s->cp = rk_at_least_1(k->cp);
    s->ep = rk_at_least_1(k->ep);
    s->etp = rk_at_least_1(k->etp);
    const int64_t inner = s->tp * s->pp; /* at most 2^48 */
    s->dp = rk_at_least_1(k->dp ? k->dp : k->ranks / inner / s->cp);
    s->global_batch = k->global_batch;
    if (s->global_batch < s->dp) {
        /* Sources that count context-parallel ranks as data-parallel. */
        s->dp = s->global_batch;
        s->cp = rk_at_least_1(k->ranks / inner / s->dp);
    }
    const int64_t micro = k->no_accumulation ? 0 : k->micro_batch;
    s->micro_batch = micro ? micro : rk_known_micro_batch(k, s);
    s->vp = chunks(model, k, s);
    s->schedule = rk_schedule_usual(s->vp);
    if (k->schedule > 0 && s->pp > 1) {
        s->schedule = (rk_schedule_kind)(k->schedule - 1);
        s->vp = rk_schedule_has_vp(s->schedule) ? s->vp : 1; /* sources count the chunks of a V */
    }
}

/*
 * A layout by hand, as in recipes of models with a large vocabulary: fewer layers on the stage of
 * the loss; where stages are too short for that, none, and the MTP modules on the stage before.
 */
static void spare_head(const rk_model *model, int64_t stages, rk_strategy *s, int16_t *layout)
{
    assert(stages >= 2);
    const int64_t each = (model->layers + stages - 1) / stages;
    const bool fits = each * (stages - 1) <= model->layers;
    const int64_t full = fits ? stages - 1 : stages - 2;
    for (int64_t i = 0; i < stages; i++) {
        const int64_t shared = model->layers / full + (i < model->layers % full);
        layout[i] = (int16_t)(i < full ? (fits ? each : shared) : 0);
    }
    if (fits) {
        layout[stages - 1] = (int16_t)(model->layers - full * each);
    }
    s->mtp_before_head = !fits;
    s->layout = layout;
    s->layout_count = (int)stages;
}

/* Split of layers that the degrees ask for. */
static void set_stages(const rk_model *model, const rk_partial_strategy *k, rk_strategy *s,
                       int16_t *layout)
{
    const int64_t stages = rk_schedule_stages(s->schedule, s->pp, s->vp);
    if (k->split_by_weight && s->pp > 1 && stages <= RK_KNOWN_STAGES_MAX) {
        rk_strategy_layout_by_weight(model, stages, layout);
        s->layout = layout;
        s->layout_count = (int)stages;
    } else if (k->short_last_stage && stages > 2 && stages <= RK_KNOWN_STAGES_MAX) {
        spare_head(model, stages, s, layout);
    } else if (model->layers % stages && (model->layers + 2) % stages == 0) {
        s->count_embedding = s->count_head = true;
    }
}

/* Whether the stated stages match the strategy; they set the layout then. */
static bool take_stages(const rk_partial_strategy *k, const rk_model *model, rk_strategy *s,
                        int16_t *layout)
{
    int64_t layers = 0;
    for (int i = 0; i < k->stage_count; i++) {
        layers += k->stages[i];
    }
    if (k->stage_count != rk_schedule_stages(s->schedule, s->pp, s->vp) ||
        layers != model->layers) {
        return k->stage_count == 0;
    }
    memcpy(layout, k->stages, sizeof(k->stages));
    s->layout = layout;
    s->layout_count = k->stage_count;
    s->count_embedding = s->count_head = false;
    return true;
}

/* Where states are, the temporaries of an update, and how the loss is computed. */
static void set_states(const rk_partial_strategy *k, rk_strategy *s)
{
    const rk_optimizer_traits *traits = &rk_optimizers[k->optimizer];
    s->optimizer = k->optimizer;
    s->outer_states = traits->outer_bytes - traits->matrix_bytes;
    s->foreach_update = k->foreach_update;
    s->step_in_backward = k->step_in_backward;
    s->expandable_segments = k->expandable_segments;
    s->adapter_bytes = k->lora_rank > 0 ? k->adapter_bytes : 0;
    s->nf4_weights = k->frozen_type > 0 && k->lora_rank > 0;
    s->frozen_type = (rk_frozen_type)(s->nf4_weights ? k->frozen_type - 1 : 0);
    s->low_weights = s->low_weights || s->nf4_weights;
    /* FSDP casts hidden states to 16 bits again */
    s->adapts_ends = k->adapts_ends && k->lora_rank > 0;
    s->wide_residual = k->wide_residual && s->nf4_weights && s->sharding != RK_SHARD_ALL;
    s->cross_entropy = k->cross_entropy;
    s->logit_bytes = k->logit_bytes;
    s->loss_chunk = k->loss_chunk;
    s->step_params = k->sub_group_params;
    rk_strategy_set_offloads(s, k->offloads);
    s->offload_share = k->offload_share;
}

bool rk_known_strategy(const rk_partial_strategy *k, const rk_model *model, rk_strategy *s,
                       int16_t layout[RK_KNOWN_STAGES_MAX])
{
    *s = rk_strategy_defaults(model);
    s->seq = k->seq ? k->seq : s->seq;
    set_degrees(model, k, s);
    set_stages(model, k, s, layout);
    s->sp = rk_strategy_splits_sequence(s->tp, k->sp);
    s->recompute = k->recompute;
    s->recompute_modules = k->recompute == RK_REC_SELECTIVE ? k->modules : 0;
    if (k->recompute == RK_REC_FULL && k->recompute_every > 1) {
        const int64_t chunk = rk_at_least_1(model->layers / rk_at_least_1(s->pp * s->vp));
        s->recompute_layers = (chunk + k->recompute_every - 1) / k->recompute_every;
    }
    s->sharding = k->sharding;
    const bool groups = k->shard_ranks > 0 && s->sharding != RK_SHARD_NONE;
    const bool slices = k->slice > 0 && s->sharding == RK_SHARD_ALL;
    s->replicas = rk_at_least_1(groups            ? s->dp * s->cp / k->shard_ranks
                                : k->replicas > 0 ? k->replicas
                                : slices          ? rk_strategy_ranks(s) / k->slice
                                                  : 1);
    s->precision = k->precision;
    s->fp8_recipe = k->fp8_recipe;
    s->low_weights = k->low_weights;
    s->low_activations = k->low_activations;
    s->states = k->states;
    s->states.gradient += s->dp > 1 ? k->bucket_bytes : 0;
    if (k->keeps_gathered && s->pp > 1 && s->sharding == RK_SHARD_ALL) {
        /* torchtitan 0.2: reshard_after_forward "default" */
        s->sharding = RK_SHARD_GRADIENTS;
    }
    set_states(k, s);
    if (k->lora_rank > 0) {
        rk_strategy_freeze(model, k->lora_rank, k->lora_modules, s);
    }
    s->cp_kind = k->cp_kind;
    s->order = k->order;
    s->flash_attention = k->flash_attention;
    s->attention_kernel = k->flash_attention ? k->kernel : RK_KERNEL_OF_STACK;
    s->tp_overlap = s->sp && k->tp_overlap;
    s->grad_overlap = k->grad_overlap;
    s->param_overlap = k->param_overlap;
    s->pp_overlap = s->vp > 1;
    s->offload_activations = k->offload_activations || s->offload_activations;
    s->offload_layers = k->offload_layers;
    s->graph_capture = k->graph_capture;
    s->graph_modules = k->graph_modules;
    s->graph_step = k->graph_step;
    s->moe_overlap = k->moe_overlap;
    s->capacity_factor = k->capacity_factor;
    s->imbalance = rk_max(k->imbalance, 1);
    return take_stages(k, model, s, layout);
}
