/* SPDX-License-Identifier: Apache-2.0 */
/* The strategy that a request describes, or the space of strategies that it leaves open. */
#include "base/error.h"
#include "base/extremes.h"
#include "base/named.h"
#include "base/units.h"
#include "layer/precision.h"
#include "request/degree_needs.h"
#include "request/field_options.h"
#include "request/launch_job.h"
#include "request/option_values.h"
#include "request/run_row.h"
#include "search/plan_store.h"
#include "strategy/optimizer.h"

#include <assert.h>
#include <inttypes.h>

/* ---- a strategy ----------------------------------------------------------------------------- */

/* Accelerators without bf16 train in fp16, unless something says otherwise. */
static rk_precision precision_of(const rk_request *r, const rk_inputs *inputs)
{
    const bool says = r->precision >= 0 ||
                      rk_settings_say(&inputs->settings, offsetof(rk_partial_strategy, precision));
    return inputs->system.accelerator.no_bf16 && !says ? RK_FP16 : rk_request_precision(r);
}

static void apply_states(const rk_request *r, rk_framework framework, rk_strategy *s)
{
    assert(framework < RK_FRAMEWORK_COUNT);
    const rk_state_request wish = rk_request_states(r);
    s->states = rk_framework_states(framework, s->precision, &wish);
    rk_optimizer_set(rk_request_optimizer(r), wish.weight == 2, s);
    s->foreach_update = rk_request_foreach(r, rk_framework_of(framework)->foreach_update);
    s->step_in_backward = r->step_in_backward;
    s->offload_share = r->offload_share;
    s->expandable_segments = r->expandable_segments;
    s->cross_entropy = (rk_cross_entropy)(r->cross_entropy + 1);
    s->loss_chunk = r->loss_chunk;
    s->nf4_weights = rk_request_quantises(r);
    s->frozen_type = rk_request_frozen(r);
    s->low_weights = r->low_weights || s->nf4_weights;
}

/* Whether the optimizer works on whole matrices, which the framework does not shard. */
static bool keeps_whole(const rk_request *r, const rk_framework_traits *f)
{
    const rk_optimizer_traits *traits = &rk_optimizers[rk_request_optimizer(r)];
    return traits->orthogonalizes && (traits->deals_matrices || !f->shards_matrices);
}

/* The only sharding that such an optimizer has; `usual` of the others. */
static rk_sharding sharding_of(const rk_request *r, const rk_framework_traits *f, rk_sharding usual)
{
    const rk_optimizer_traits *traits = &rk_optimizers[rk_request_optimizer(r)];
    return !keeps_whole(r, f) ? usual : traits->deals_matrices ? RK_SHARD_OPTIMIZER : RK_SHARD_NONE;
}

static rk_fp8_recipe recipe_of(const rk_request *r)
{
    const rk_fp8_recipe usual = rk_request_is_mxfp8(r) ? RK_FP8_MX : RK_FP8_TENSORWISE;
    return r->fp8_recipe == RK_NOT_GIVEN ? usual : (rk_fp8_recipe)r->fp8_recipe;
}

/* With adapters, all weights of the model are frozen. */
static void freeze(const rk_request *r, const rk_framework_traits *f, const rk_model *model,
                   rk_strategy *s)
{
    const unsigned both = RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN;
    if (r->lora_rank > 0) {
        s->states.weight =
            f->frozen_bytes > 0 && r->weights < 0 ? f->frozen_bytes : s->states.weight;
        s->adapter_bytes = s->adapter_bytes > 0 ? s->adapter_bytes : f->adapter_bytes;
        rk_strategy_freeze(model, r->lora_rank, r->lora_modules ? r->lora_modules : both, s);
    }
}

/* Bytes of states, in the order of rk_state_recipe. */
static const char *const state_keys[] = {
    "weight_bytes_per_parameter", "gradient_bytes_per_parameter", "optimizer_bytes_per_parameter",
    "gather_bytes_per_parameter", "reduce_bytes_per_parameter"};

/* Notes where a field comes from that the request does not state and a launch does not fill. */
static void note(const rk_request *r, rk_origins *origins, const char *key, rk_origin origin)
{
    const size_t field = rk_find_strategy_field(key);
    if (origins->of[field] != RK_ORIGIN_STATED && !(r->filled >> field & 1U)) {
        origins->of[field] = (uint8_t)origin;
    }
}

/* The states of rk_partial_strategy, in the same order. */
static const size_t known_states[] = {
    offsetof(rk_partial_strategy, states.weight), offsetof(rk_partial_strategy, states.gradient),
    offsetof(rk_partial_strategy, states.optimizer), offsetof(rk_partial_strategy, states.gather),
    offsetof(rk_partial_strategy, states.reduce)};

/* Whether --set gives bytes of states, which no recipe changes then. */
static bool says_states(const rk_request *r, const rk_settings *settings)
{
    bool says = false;
    for (size_t i = 0; i < COUNT(known_states) && r->settings; i++) {
        says = says || rk_settings_say(settings, known_states[i]);
    }
    return says;
}

/* Notes the fields that all strategies of a space share: stated, or the framework's default. */
static void note_base(const rk_request *r, const rk_inputs *inputs, const rk_strategy *s,
                      rk_origins *origins)
{
    static const char *const assumed[] = {"seq_tokens", "document_tokens", "overlap", "imbalance"};
    const bool follows[COUNT(state_keys)] = {r->lora_rank > 0, r->lora_rank > 0,
                                             r->lora_rank > 0 || r->optimizer >= 0,
                                             r->precision >= 0, r->gradients >= 0};
    *origins = rk_request_stated(r);
    for (size_t i = 0; i < COUNT(assumed); i++) {
        note(r, origins, assumed[i], RK_ORIGIN_ASSUMED);
    }
    for (size_t i = 0; i < COUNT(state_keys); i++) {
        note(r, origins, state_keys[i], follows[i] ? RK_ORIGIN_DERIVED : RK_ORIGIN_DEFAULT);
        if (r->settings && rk_settings_say(&inputs->settings, known_states[i])) {
            rk_origin_set(origins, state_keys[i], RK_ORIGIN_STATED);
        }
    }
    note(r, origins, "accelerators", RK_ORIGIN_DERIVED);
    note(r, origins, "dp", RK_ORIGIN_DERIVED);
    note(r, origins, "microbatches", RK_ORIGIN_DERIVED);
    note(r, origins, "recipe", rk_is_low(s->precision) ? RK_ORIGIN_DEFAULT : RK_ORIGIN_DERIVED);
    note(r, origins, "global_batch", RK_ORIGIN_DERIVED);
    note(r, origins, "graph_capture", r->graph_modules ? RK_ORIGIN_DERIVED : RK_ORIGIN_DEFAULT);
    if (r->assumed_seq) {
        rk_origin_set(origins, "seq_tokens", RK_ORIGIN_ASSUMED);
    }
    if (r->assumed_batch || r->accumulation) {
        rk_origin_set(origins, "global_batch",
                      r->assumed_batch ? RK_ORIGIN_ASSUMED : RK_ORIGIN_DERIVED);
    }
}

/* Megatron-LM's fused attention is FlashAttention 2, which begins with Ampere. */
static bool is_fused(const rk_request *r, const rk_inputs *inputs)
{
    const bool volta = inputs->system.accelerator.generation == RK_GENERATION_VOLTA;
    const bool lacks =
        volta && (r->line.complete || inputs->software.framework == RK_FRAMEWORK_MEGATRON);
    return rk_request_is_flash(r) && !(r->attention < 0 && lacks);
}

/* Fields that do not depend on the degrees and are the same in all strategies of a space. */
static void apply_base(const rk_request *r, const rk_inputs *inputs, rk_strategy *s,
                       rk_origins *origins)
{
    s->seq = r->seq ? r->seq : s->seq;
    s->document = r->document;
    s->precision = precision_of(r, inputs);
    s->fp8_recipe = recipe_of(r);
    s->low_activations = r->low_activations;
    s->flash_attention = is_fused(r, inputs);
    s->attention_kernel = rk_request_kernel(r);
    apply_states(r, inputs->software.framework, s);
    s->replicas = r->replicas ? r->replicas : 1;
    s->graph_capture = r->graph_capture || r->graph_modules;
    s->graph_modules = r->graph_modules;
    s->graph_step = r->graph_step;
    s->first_stage_layers = r->first_stage_layers;
    s->last_stage_layers = r->last_stage_layers;
    s->count_embedding = r->count_embedding;
    s->count_head = r->count_head;
    s->mtp_before_head = r->mtp_before_head;
    s->capacity_factor = r->capacity_factor;
    s->imbalance = r->imbalance;
    rk_request_set_strategy(r, &inputs->settings, s);
    freeze(r, rk_framework_of(inputs->software.framework), &inputs->model, s);
    if (r->overlaps) {
        rk_strategy_set_overlaps(s, r->overlaps >> 1); /* behind "none" */
    }
    if (origins) {
        note_base(r, inputs, s, origins);
    }
}

/* The only value of a list; `usual` when it is empty. */
static int64_t only_value(const rk_option_counts *counts, int64_t usual)
{
    return counts->count ? counts->values[0] : usual;
}

/* The index of the only bit of a set; `usual` when it is empty. */
static unsigned only_bit(unsigned set, unsigned usual)
{
    unsigned index = 0;
    while (set >> index > 1) {
        index++;
    }
    return set ? index : usual;
}

/* Refuses an option that was given several values. */
static rk_status check_single(const rk_request *r, rk_error *err)
{
    for (size_t i = 0; i < RK_FIELD_OPTION_COUNT; i++) {
        if (rk_field_has_several(&rk_field_options[i], r)) {
            return rk_fail(err, RK_ERR_INVALID,
                           "--%s has several values, and one strategy has one; 'reckon plan' "
                           "searches them",
                           rk_field_options[i].option);
        }
    }
    return RK_OK;
}

/* Refuses degrees that the accelerators are not a multiple of, or that leave another --dp. */
static rk_status check_degrees(const rk_request *r, int64_t tp, int64_t cp, int64_t pp, bool all,
                               rk_error *err)
{
    assert(tp >= 1 && cp >= 1 && pp >= 1);
    const double each = (double)tp * (double)cp * (double)pp;
    const int64_t fit = each <= (double)r->accelerators ? (int64_t)each : 0;
    if (fit == 0 || r->accelerators % fit) {
        const double times = fit ? (double)(r->accelerators / fit) : 0;
        return rk_fail(err, RK_ERR_INVALID,
                       "the rule accelerators %% (tp*cp*pp): %" PRId64
                       " %s not a multiple of %.0f = tp %" PRId64 " x cp %" PRId64 " x pp %" PRId64
                       "; nearest legal accelerators: %.0f or %.0f",
                       r->accelerators,
                       r->accelerators == 1 ? "accelerator is" : "accelerators are", each, tp, cp,
                       pp, each * rk_max(times, 1), each * (rk_max(times, 1) + 1));
    }
    const int64_t rest = r->accelerators / fit;
    if (r->dp && (all ? rest != r->dp : rest % r->dp != 0)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the rule accelerators = tp*cp*pp*dp: %" PRId64 " %s dp %" PRId64
                       "%s, not %" PRId64 "; leave out one of --accelerators and --dp",
                       r->accelerators,
                       r->accelerators == 1 ? "accelerator makes" : "accelerators make", rest,
                       all ? "" : " or a divisor of it", r->dp);
    }
    return RK_OK;
}

/* Degrees that multiply up to the accelerators; what is not given is the rest, or 1. */
static rk_status apply_degrees(const rk_request *r, const rk_model *model, rk_strategy *s,
                               rk_error *err)
{
    const int64_t etp = rk_launch_expert_tensor(r, model, only_value(&r->tp, 1));
    s->tp = only_value(&r->tp, 1);
    s->cp = only_value(&r->cp, 1);
    s->pp = only_value(&r->pp, 1);
    s->vp = only_value(&r->vp, 1);
    s->ep = only_value(&r->ep, 1);
    s->etp = only_value(&r->etp, etp > 0 ? etp : 1);
    s->dp = r->dp ? r->dp : 1;
    if (r->accelerators == 0) {
        return RK_OK;
    }
    const rk_status status = check_degrees(r, s->tp, s->cp, s->pp, true, err);
    if (!status) {
        s->dp = r->accelerators / (s->tp * s->cp * s->pp);
    }
    return status;
}

static void apply_schedule(const rk_request *r, const rk_inputs *inputs, rk_strategy *s)
{
    const rk_framework_traits *f = rk_framework_of(inputs->software.framework);
    const rk_schedule_kind usual = s->pp > 1 && s->vp == 1 ? f->schedule : rk_schedule_usual(s->vp);
    s->schedule = (rk_schedule_kind)only_bit(r->schedules, usual);
    s->recompute = (rk_recompute_kind)only_bit(
        r->recomputes,
        r->modules ? RK_REC_SELECTIVE : (r->recompute_layers ? RK_REC_FULL : f->recompute));
    s->recompute_modules = rk_request_modules(r);
    if (s->recompute == RK_REC_SELECTIVE && !r->modules) {
        s->recompute_modules = rk_framework_cheap_modules(inputs->software.framework,
                                                          &inputs->model, s->flash_attention);
    }
    s->recompute_layers = r->recompute_layers;
}

/* Refuses what later releases of the framework brought. */
static rk_status check_year(const rk_inputs *inputs, const rk_strategy *strategy, rk_error *err)
{
    const rk_framework_traits *f = rk_framework_of(inputs->software.framework);
    const bool sharded =
        rk_framework_shardings(inputs->software.framework, inputs->software.year) >>
            strategy->sharding &
        1U;
    const bool replicated =
        strategy->replicas == 1 ||
        rk_framework_replicates(inputs->software.framework, inputs->software.year);
    if ((f->shardings >> strategy->sharding & 1U) && !sharded) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the rule releases of the framework: %s has ZeRO-%d since %d, and the stack "
                       "%s is of %" PRId64 "; use ZeRO-1, or a later stack",
                       f->title, (int)strategy->sharding, f->shards_year,
                       inputs->software.stack.name, inputs->software.year);
    }
    if (!replicated) {
        return rk_fail(err, RK_ERR_INVALID,
                       "the rule releases of the framework: %s replicates shards since %d, and the "
                       "stack %s is of %" PRId64 "; leave out --hsdp, or use a later stack",
                       f->title, f->replicas_year, inputs->software.stack.name,
                       inputs->software.year);
    }
    return RK_OK;
}

static rk_status check_legal(const rk_inputs *inputs, const rk_strategy *strategy, rk_error *err)
{
    rk_legality violation;
    if (rk_strategy_legal(&inputs->model, &inputs->system, strategy, inputs->software.framework,
                          &violation)) {
        return RK_OK;
    }
    return rk_fail(err, RK_ERR_INVALID, "the rule %s: %s", violation.rule, violation.message);
}

/* Refuses options of what the framework does not have. */
static rk_status check_framework(const rk_request *r, rk_framework framework, rk_error *err)
{
    assert(framework < RK_FRAMEWORK_COUNT);
    const rk_framework_traits *f = rk_framework_of(framework);
    if (r->sp && !f->sp && !f->all) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s has no sequence parallelism; leave out --sequence-parallel", f->title);
    }
    if (r->vp.count == 1 && r->vp.values[0] > 1 && !rk_schedules_have_vp(f->schedules)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s runs no schedule with virtual pipeline stages; leave out --vp",
                       f->title);
    }
    return RK_OK;
}

/* Refuses options of a degree that is 1. */
static rk_status check_needs(const rk_request *r, const rk_strategy *s, rk_error *err)
{
    return rk_request_check_needs(r,
                                  (s->tp > 1 ? RK_DEGREE_TP : 0U) |
                                      (s->cp > 1 ? RK_DEGREE_CP : 0U) |
                                      (s->pp > 1 ? RK_DEGREE_PP : 0U),
                                  err);
}

/* Notes what depends on the degrees of a strategy. */
static void note_strategy(const rk_request *r, const rk_strategy *s, rk_origins *origins)
{
    static const char *const degrees[] = {"tp", "cp", "pp", "vp", "ep", "etp", "micro_batch"};
    const rk_named_count fields[] = {
        {"sp", s->tp == 1},
        {"cp_kind", s->cp == 1},
        {"zero", rk_optimizers[rk_request_optimizer(r)].orthogonalizes},
        {"schedule", s->pp == 1},
        {"recompute", r->modules || r->recompute_layers},
        {"recompute_modules", s->recompute != RK_REC_SELECTIVE},
        {"recompute_layers", s->recompute != RK_REC_FULL},
    };
    for (size_t i = 0; i < COUNT(degrees); i++) { /* 1 where no accelerators are left for more */
        note(r, origins, degrees[i], r->accelerators ? RK_ORIGIN_DERIVED : RK_ORIGIN_DEFAULT);
    }
    for (size_t i = 0; i < COUNT(fields); i++) {
        note(r, origins, fields[i].name, fields[i].value ? RK_ORIGIN_DERIVED : RK_ORIGIN_DEFAULT);
    }
}

/* A run that ran had one batch. */
static rk_status take_completed(const rk_request *r, const rk_inputs *inputs, rk_strategy *strategy,
                                rk_origins *origins, rk_error *err)
{
    if (origins) {
        *origins = inputs->completed.origins;
    }
    *strategy = inputs->completed.strategy;
    strategy->layout = strategy->layout_count ? inputs->completed.layout : NULL;
    const bool same =
        strategy->global_batch == r->global_batch && (!r->seq || strategy->seq == r->seq);
    return same ? RK_OK
                : rk_fail(err, RK_ERR_INVALID,
                          "--complete observed completes one batch and one sequence length; leave "
                          "out --phases and --batch-ramp");
}

rk_status rk_request_strategy(const rk_request *request, const rk_inputs *inputs,
                              rk_strategy *strategy, rk_error *err)
{
    return rk_request_complete_strategy(request, inputs, strategy, NULL, err);
}

rk_status rk_request_complete_strategy(const rk_request *request, const rk_inputs *inputs,
                                       rk_strategy *strategy, rk_origins *origins, rk_error *err)
{
    const rk_request *r = request;
    const rk_framework_traits *f = rk_framework_of(inputs->software.framework);
    *strategy = rk_strategy_defaults(&inputs->model);
    rk_status status = check_single(r, err);
    if (inputs->completed.done) {
        return status ? status : take_completed(r, inputs, strategy, origins, err);
    }
    if (!status) {
        status = apply_degrees(r, &inputs->model, strategy, err);
    }
    if (status) {
        return status;
    }
    apply_base(r, inputs, strategy, origins);
    apply_schedule(r, inputs, strategy);
    if (origins) {
        note_strategy(r, strategy, origins);
    }
    strategy->sp = rk_strategy_splits_sequence(strategy->tp, f->sp && !r->no_sp);
    if (!r->overlaps &&
        !rk_settings_say(&inputs->settings, offsetof(rk_partial_strategy, tp_overlap))) {
        strategy->tp_overlap = strategy->sp;
    }
    strategy->pp_overlap = strategy->pp_overlap && (strategy->vp > 1 || r->overlaps);
    rk_request_stop_overlaps(r, &inputs->software.stack, strategy);
    strategy->layout = r->layout;
    strategy->layout_count = r->layout_count;
    strategy->cp_kind = (rk_cp_kind)only_bit(r->cp_kinds, f->cp_kind);
    strategy->order = (rk_rank_order)only_bit(rk_request_orders(r), RK_ORDER_DATA_PIPELINE);
    strategy->micro_batch = only_value(&r->micro_batch, 1);
    strategy->global_batch =
        r->global_batch ? r->global_batch : strategy->micro_batch * strategy->dp;
    strategy->sharding = (rk_sharding)only_value(
        &r->zero, r->distributed_optimizer ? RK_SHARD_OPTIMIZER : sharding_of(r, f, f->sharding));
    rk_strategy_set_offloads(strategy, rk_request_offloads(r));
    status = check_framework(r, inputs->software.framework, err);
    status = status ? status : check_needs(r, strategy, err);
    status = status ? status : check_year(inputs, strategy, err);
    return status ? status : check_legal(inputs, strategy, err);
}

/* ---- a space -------------------------------------------------------------------------------- */

static void restrict_choices(const rk_option_counts *given, rk_choices *choices)
{
    for (int i = 0; i < given->count; i++) {
        choices->values[i] = given->values[i];
    }
    choices->count = given->count ? given->count : choices->count;
}

static int64_t single_value(const rk_option_counts *counts)
{
    return counts->count == 1 ? counts->values[0] : 1;
}

/* Whether a degree of so many accelerators can be above 1. */
static bool is_above_one(const rk_request *r, const rk_option_counts *given)
{
    bool above = given->count == 0 && r->accelerators > 1;
    for (int i = 0; i < given->count; i++) {
        above = above || given->values[i] > 1;
    }
    return above;
}

/* Refuses what is missing for a search, and what a search does not take. */
static rk_status check_space(const rk_request *r, const rk_model *model, rk_error *err)
{
    if (r->accelerators == 0 || r->global_batch == 0) {
        return rk_fail(err, RK_ERR_INVALID, "--%s is missing: a search needs it%s",
                       r->accelerators == 0 ? "accelerators" : "global-batch",
                       r->accelerators == 0 ? ", as in 64xh100" : "");
    }
    const rk_strategy listed = {.layout = r->layout, .layout_count = r->layout_count};
    const int64_t layers = rk_strategy_layout_before(&listed, listed.layout_count);
    if (r->layout_count > 0 && layers != model->layers) {
        return rk_fail(err, RK_ERR_INVALID, "--layout has %" PRId64 " layers, but %s has %d",
                       layers, model->name, model->layers);
    }
    const unsigned possible = (is_above_one(r, &r->tp) ? RK_DEGREE_TP : 0U) |
                              (is_above_one(r, &r->cp) ? RK_DEGREE_CP : 0U) |
                              (is_above_one(r, &r->pp) ? RK_DEGREE_PP : 0U);
    const rk_status status = rk_request_check_needs(r, possible, err);
    return status ? status
                  : check_degrees(r, single_value(&r->tp), single_value(&r->cp),
                                  single_value(&r->pp), false, err);
}

/* The kinds of recompute that an option or its details ask for; 0: any. */
static unsigned wanted_recomputes(const rk_request *r)
{
    if (r->recomputes) {
        return r->recomputes;
    }
    return (r->modules ? 1U << RK_REC_SELECTIVE : 0) |
           (r->recompute_layers ? 1U << RK_REC_FULL : 0);
}

/* Leaves out features of later releases of the framework than the stack describes. */
static rk_status limit_to_year(const rk_inputs *inputs, rk_plan_space *space, rk_error *err)
{
    const unsigned has = rk_framework_shardings(inputs->software.framework, inputs->software.year);
    const unsigned given =
        space->shardings & rk_framework_of(inputs->software.framework)->shardings;
    rk_strategy strategy = {.sharding = RK_SHARD_ALL, .replicas = space->base.replicas};
    if (given & has) {
        space->shardings &= has;
        strategy.sharding = RK_SHARD_NONE;
    } else if (!(given >> RK_SHARD_ALL & 1U)) {
        strategy.sharding = given ? RK_SHARD_GRADIENTS : RK_SHARD_NONE;
    }
    space->hybrid =
        space->hybrid && rk_framework_replicates(inputs->software.framework, inputs->software.year);
    return check_year(inputs, &strategy, err);
}

static bool is_several(unsigned set)
{
    return (set & (set - 1)) != 0;
}

/* Notes which fields are searched: those with several values in a space. */
static void note_space(const rk_request *r, const rk_model *model, rk_plan_space *space)
{
    const bool experts = rk_model_has_experts(model);
    const bool hybrid = space->hybrid && space->shardings >> RK_SHARD_ALL & 1U && !r->replicas;
    const bool pipes = space->pp.count != 1 || space->pp.values[0] > 1;
    const bool selects = space->recomputes >> RK_REC_SELECTIVE & 1U && !r->modules;
    const bool split = pipes && !r->layout_count && !r->first_stage_layers &&
                       !r->last_stage_layers && !r->count_embedding && !r->count_head;
    const struct {
        const char *key;
        bool searched;
        rk_origin otherwise;
    } fields[] = {
        {"tp", space->tp.count != 1, RK_ORIGIN_DERIVED},
        {"cp", space->cp.count != 1, RK_ORIGIN_DERIVED},
        {"pp", space->pp.count != 1, RK_ORIGIN_DERIVED},
        {"vp", space->vp.count != 1 && pipes, RK_ORIGIN_DERIVED},
        {"ep", experts && space->ep.count != 1, RK_ORIGIN_DERIVED},
        {"etp", experts && space->etp.count != 1, RK_ORIGIN_DERIVED},
        {"micro_batch", space->micro_batch.count != 1, RK_ORIGIN_DERIVED},
        {"sp", space->recipe_count > 1 && !space->sp && !space->no_sp, RK_ORIGIN_DEFAULT},
        {"cp_kind", is_several(space->cp_kinds), RK_ORIGIN_DEFAULT},
        {"rank_order", is_several(space->orders), RK_ORIGIN_DEFAULT},
        {"zero", is_several(space->shardings), RK_ORIGIN_DEFAULT},
        {"hsdp_replicas", hybrid, RK_ORIGIN_DEFAULT},
        {"schedule", is_several(space->schedules) && pipes, RK_ORIGIN_DERIVED},
        {"recompute", is_several(space->recomputes), RK_ORIGIN_DERIVED},
        {"recompute_modules", selects, RK_ORIGIN_DERIVED},
        {"recompute_layers", space->recompute_layers < 0, RK_ORIGIN_DERIVED},
        {"offload", is_several(space->offloads), RK_ORIGIN_DEFAULT},
        {"first_stage_layers", split, RK_ORIGIN_DEFAULT},
        {"last_stage_layers", split, RK_ORIGIN_DEFAULT},
        {"count_embedding", split, RK_ORIGIN_DEFAULT},
        {"count_head", split, RK_ORIGIN_DEFAULT},
    };
    for (size_t i = 0; i < COUNT(fields); i++) {
        if (fields[i].searched) {
            rk_origin_set(&space->origins, fields[i].key, RK_ORIGIN_SEARCHED);
        } else {
            note(r, &space->origins, fields[i].key, fields[i].otherwise);
        }
    }
    for (size_t i = 0; i < COUNT(state_keys) && space->recipe_count > 1; i++) {
        rk_origin_set(&space->origins, state_keys[i], RK_ORIGIN_SEARCHED);
    }
}

rk_status rk_inputs_keep_times(rk_inputs *inputs, rk_error *err)
{
    return rk_plan_store_new(&inputs->store, err);
}

void rk_inputs_forget_times(rk_inputs *inputs)
{
    rk_plan_store_free(inputs->store);
    inputs->store = NULL;
}

rk_status rk_request_space(const rk_request *request, const rk_inputs *inputs, rk_plan_space *space,
                           rk_error *err)
{
    const rk_request *r = request;
    rk_status status = check_framework(r, inputs->software.framework, err);
    status = status ? status : check_space(r, &inputs->model, err);
    if (status) {
        return status;
    }
    *space =
        rk_plan_space_defaults(&inputs->model, &inputs->system, r->accelerators, r->global_batch);
    space->framework = inputs->software.framework;
    space->convention = inputs->software.convention;
    space->risk = inputs->risk;
    space->store = inputs->store;
    apply_base(r, inputs, &space->base, &space->origins);
    space->base.layout = r->layout;
    space->base.layout_count = r->layout_count;
    restrict_choices(&r->tp, &space->tp);
    restrict_choices(&r->cp, &space->cp);
    restrict_choices(&r->pp, &space->pp);
    restrict_choices(&r->vp, &space->vp);
    if (rk_framework_of(space->framework)->whole_experts) {
        space->ep = (rk_choices){1, {1}};
    }
    restrict_choices(&r->ep, &space->ep);
    restrict_choices(&r->etp, &space->etp);
    const int64_t etp = rk_launch_expert_tensor(r, &inputs->model, only_value(&r->tp, 1));
    if (etp > 0) {
        space->etp = (rk_choices){1, {etp}};
    }
    restrict_choices(&r->micro_batch, &space->micro_batch);
    space->schedules = r->schedules ? r->schedules : space->schedules;
    space->recomputes = wanted_recomputes(r) ? wanted_recomputes(r) : space->recomputes;
    space->modules = rk_request_modules(r);
    if (r->recomputes ||
        r->recompute_layers) { /* full is all layers unless their number is given */
        space->recompute_layers = r->recompute_layers;
    }
    space->above_one = rk_request_above_one(r);
    space->dp = r->dp;
    space->sp = r->sp;
    space->no_sp = r->no_sp;
    space->base.tp_overlap = space->base.tp_overlap && (r->overlaps || !r->no_sp);
    space->overlaps_stated = r->overlaps != 0;
    rk_request_stop_overlaps(r, &inputs->software.stack, &space->base);
    space->orders = rk_request_orders(r) ? rk_request_orders(r) : space->orders;
    space->cp_kinds = r->cp_kinds ? r->cp_kinds : space->cp_kinds;
    const rk_framework_traits *f = rk_framework_of(space->framework);
    if (keeps_whole(r, f)) {
        space->shardings = 1U << sharding_of(r, f, RK_SHARD_NONE);
    }
    if (r->distributed_optimizer) {
        space->shardings = 1U << RK_SHARD_OPTIMIZER;
    }
    for (int i = 0; i < r->zero.count; i++) {
        space->shardings = (i ? space->shardings : 0) | 1U << r->zero.values[i];
    }
    if (rk_framework_of(space->framework)->all && !says_states(r, &inputs->settings)) {
        const rk_state_request wish = rk_request_states(r);
        rk_plan_recipes_of_all(&inputs->model, &wish, space);
    }
    /* on request only: its cost on the host is not modelled */
    rk_strategy_set_offloads(&space->base, rk_request_offloads(r));
    const unsigned searched = rk_strategy_offloads(&space->base) % RK_PLAN_OFFLOADS;
    space->offloads = rk_request_searches_offload(r) ? RK_PLAN_ALL_OFFLOADS : 1U << searched;
    status = limit_to_year(inputs, space, err);
    note_space(r, &inputs->model, space);
    return status;
}
