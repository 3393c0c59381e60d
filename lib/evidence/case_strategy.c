/* SPDX-License-Identifier: Apache-2.0 */
/* The strategy of the degrees and facts that a row states. */
#include "base/error.h"
#include "evidence/case_parts.h"
#include "layer/precision.h"
#include "strategy/optimizer.h"
#include "strategy/strategy_fields.h"

rk_status rk_run_read_degrees(const rk_run_table *table, size_t row, rk_run_degrees *out,
                              rk_error *err)
{
    const struct {
        rk_run_column column;
        int64_t *place;
    } list[] = {
        {RK_RUN_ACCELERATORS, &out->ranks},
        {RK_RUN_TP, &out->tp},
        {RK_RUN_PP, &out->pp},
        {RK_RUN_VP, &out->vp},
        {RK_RUN_CP, &out->cp},
        {RK_RUN_EP, &out->ep},
        {RK_RUN_ETP, &out->etp},
        {RK_RUN_DP, &out->dp},
        {RK_RUN_MICRO_BATCH, &out->micro_batch},
        {RK_RUN_GLOBAL_BATCH, &out->global_batch},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        double value = 0;
        rk_status status = rk_run_number(table, row, list[i].column, &value, err);
        if (status) {
            return status;
        }
        if (value > RK_RUN_DEGREE_MOST) {
            return rk_fail(err, RK_ERR_INVALID, "column %s: expected at most %d",
                           rk_run_column_names[list[i].column], RK_RUN_DEGREE_MOST);
        }
        *list[i].place = (int64_t)value;
    }
    if (out->ranks < 1 || out->global_batch < 1) {
        return rk_fail(err, RK_ERR_INVALID, "%s not stated",
                       out->ranks < 1 ? "number of accelerators" : "batch");
    }
    return RK_OK;
}

bool rk_run_degrees_stated(const rk_run_degrees *d, const rk_run_facts *facts)
{
    const bool inner = d->tp > 0 || d->cp > 0 || d->dp * rk_at_least_1(d->pp) == d->ranks;
    const bool stated = (d->dp > 0 && inner) || (d->tp > 0 && d->pp > 0);
    return stated || d->ranks == 1 || facts->sharding == RK_SHARD_ALL;
}

/*
 * Chunks of a pipeline rank; where a row states none, one, or of software that interleaves as many
 * as a rank has layers, the embedding and the head among them where the layers alone do not divide.
 */
static int64_t chunks(const rk_model *model, const rk_run_degrees *d, const rk_run_facts *facts,
                      const rk_strategy *s)
{
    const int64_t stated = facts->vp ? facts->vp : d->vp, counted = model->layers + 2;
    const bool interleaves = facts->layer_chunks && rk_strategy_microbatches(s) % s->pp == 0;
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

int64_t rk_run_usual_micro_batch(const rk_run_facts *facts, const rk_strategy *s)
{
    const int64_t batch = s->global_batch / s->dp;
    return s->pp == 1 ? batch : facts->stage_microbatches ? rk_at_least_1(batch / s->pp) : 1;
}

static void set_degrees(const rk_model *model, const rk_run_degrees *d, const rk_run_facts *facts,
                        rk_strategy *s)
{
    s->tp = rk_at_least_1(d->tp);
    s->pp = rk_at_least_1(d->pp);
    s->cp = rk_at_least_1(d->cp);
    s->ep = rk_at_least_1(d->ep ? d->ep : facts->ep);
    s->etp = rk_at_least_1(d->etp ? d->etp : facts->etp);
    const int64_t inner = s->tp * s->pp; /* at most 2^48 */
    s->dp = rk_at_least_1(d->dp ? d->dp : d->ranks / inner / s->cp);
    s->global_batch = d->global_batch;
    if (s->global_batch < s->dp) {
        /* Sources that count context-parallel ranks as data-parallel. */
        s->dp = s->global_batch;
        s->cp = rk_at_least_1(d->ranks / inner / s->dp);
    }
    const int64_t printed = d->micro_batch ? d->micro_batch : facts->micro_batch;
    const int64_t micro = facts->no_accumulation ? 0 : printed;
    s->micro_batch = micro ? micro : rk_run_usual_micro_batch(facts, s);
    s->vp = chunks(model, d, facts, s);
    s->schedule = rk_schedule_usual(s->vp);
    if (facts->schedule > 0 && s->pp > 1) {
        s->schedule = (rk_schedule_kind)(facts->schedule - 1);
        s->vp = rk_schedule_has_vp(s->schedule) ? s->vp : 1; /* sources count those of a V */
    }
}

/*
 * A layout by hand, as in recipes of models with a large vocabulary: fewer layers on the stage of
 * the loss; where stages are too short for that, none, and the MTP modules on the stage before.
 */
static void spare_head(const rk_model *model, int64_t stages, rk_strategy *s, int16_t *layout)
{
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
static void set_stages(const rk_model *model, const rk_run_facts *facts, rk_strategy *s,
                       int16_t *layout)
{
    const int64_t stages = rk_schedule_stages(s->schedule, s->pp, s->vp);
    if (facts->split_by_weight && s->pp > 1 && stages <= RK_RUN_STAGE_MAX) {
        rk_strategy_layout_by_weight(model, stages, layout);
        s->layout = layout;
        s->layout_count = (int)stages;
    } else if (facts->short_last_stage && stages > 2 && stages <= RK_RUN_STAGE_MAX) {
        spare_head(model, stages, s, layout);
    } else if (model->layers % stages && (model->layers + 2) % stages == 0) {
        s->count_embedding = s->count_head = true;
    }
}

/* Where states are, what an update makes besides, and how the loss is computed. */
static void set_states(const rk_run_facts *facts, rk_strategy *s)
{
    const rk_optimizer_traits *traits = &rk_optimizers[facts->optimizer];
    s->optimizer = facts->optimizer;
    s->outer_states = traits->outer_bytes - traits->matrix_bytes;
    s->foreach_update = facts->foreach_update;
    s->step_in_backward = facts->step_in_backward;
    s->adapter_bytes = facts->lora_rank > 0 ? facts->adapter_bytes : 0;
    s->nf4_weights = facts->frozen_type > 0 && facts->lora_rank > 0;
    s->frozen_type = (rk_frozen_type)(s->nf4_weights ? facts->frozen_type - 1 : 0);
    s->low_weights = s->low_weights || s->nf4_weights;
    /* FSDP casts hidden states to 16 bits again */
    s->adapts_ends = facts->adapts_ends && facts->lora_rank > 0;
    s->wide_residual = facts->wide_residual && s->nf4_weights && s->sharding != RK_SHARD_ALL;
    s->cross_entropy = facts->cross_entropy;
    s->logit_bytes = facts->logit_bytes;
    s->loss_chunk = facts->loss_chunk;
    s->step_params = facts->sub_group_params;
    rk_strategy_set_offloads(s, facts->offloads);
}

void rk_run_set_strategy(const rk_run_degrees *d, const rk_run_facts *facts, const rk_model *model,
                         rk_strategy *s, int16_t *layout)
{
    *s = rk_strategy_defaults(model);
    set_degrees(model, d, facts, s);
    set_stages(model, facts, s, layout);
    s->sp = rk_strategy_splits_sequence(s->tp, facts->sp);
    s->recompute = facts->recompute;
    s->recompute_modules = facts->recompute == RK_REC_SELECTIVE ? facts->modules : 0;
    if (facts->recompute == RK_REC_FULL && facts->recompute_every > 1) {
        const int64_t chunk = rk_at_least_1(model->layers / rk_at_least_1(s->pp * s->vp));
        s->recompute_layers = (chunk + facts->recompute_every - 1) / facts->recompute_every;
    }
    s->sharding = facts->sharding;
    const bool groups = facts->shard_ranks > 0 && s->sharding != RK_SHARD_NONE;
    const bool slices = facts->slice > 0 && s->sharding == RK_SHARD_ALL;
    s->replicas = rk_at_least_1(groups                ? s->dp * s->cp / facts->shard_ranks
                                : facts->replicas > 0 ? facts->replicas
                                : slices              ? rk_strategy_ranks(s) / facts->slice
                                                      : 1);
    s->precision = facts->precision;
    s->fp8_recipe = facts->fp8_recipe;
    s->low_weights = facts->low_weights;
    s->low_activations = facts->low_activations;
    s->states = facts->states;
    s->states.gradient += s->dp > 1 ? facts->bucket_bytes : 0;
    if (facts->keeps_gathered && s->pp > 1 && s->sharding == RK_SHARD_ALL) {
        /* torchtitan 0.2: reshard_after_forward "default" */
        s->sharding = RK_SHARD_GRADIENTS;
    }
    set_states(facts, s);
    if (facts->lora_rank > 0) {
        rk_strategy_freeze(model, facts->lora_rank, facts->lora_modules, s);
    }
    s->cp_kind = facts->cp_kind;
    s->order = facts->order;
    s->flash_attention = facts->flash_attention;
    s->attention_kernel = facts->flash_attention ? facts->kernel : RK_KERNEL_OF_STACK;
    s->tp_overlap = s->sp && facts->tp_overlap;
    s->grad_overlap = facts->grad_overlap;
    s->param_overlap = facts->param_overlap;
    s->pp_overlap = s->vp > 1;
    s->offload_activations = facts->offload_activations || s->offload_activations;
    s->offload_layers = facts->offload_layers;
    s->graph_capture = facts->graph_capture;
    s->graph_step = facts->graph_step;
    s->moe_overlap = facts->moe_overlap;
    s->capacity_factor = facts->capacity_factor;
}
