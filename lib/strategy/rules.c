/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of strategies.  A rule that holds for any framework is arithmetic; the others follow
 * the checks of the frameworks that have its set (framework.c).  Rules are checked in the order of
 * the table, and may rely on those before.
 */
#include "strategy/rules.h"

/* Beyond these, products of sizes are not computed. */
#define SIZE_LIMIT       ((int64_t)1 << 30)
#define ACCELERATORS_MAX 0x1p31

static const rk_framework_traits *traits(const struct question *q)
{
    return rk_framework_of(q->framework);
}

/* ---- sizes --------------------------------------------------------------------------------- */

static int64_t bad_size(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    const int64_t sizes[] = {s->tp,  s->cp,          s->pp,           s->vp,  s->dp,      s->ep,
                             s->etp, s->micro_batch, s->global_batch, s->seq, s->replicas};
    bool bad = false;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        bad |= (uint64_t)sizes[i] - 1 >= (uint64_t)SIZE_LIMIT;
    }
    return bad;
}

static int64_t too_many_accelerators(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return (double)s->tp * (double)s->cp * (double)s->pp * (double)s->dp > ACCELERATORS_MAX;
}

static int64_t bad_amount(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return (s->first_stage_layers | s->last_stage_layers | s->recompute_layers | s->adapter_rank |
            s->document) < 0 ||
           (s->adapter_rank > 0 && !(s->learning > 0)) || !(s->imbalance >= 1) ||
           !(s->capacity_factor >= 0);
}

static int64_t missing_precision(const struct question *q)
{
    return q->system && !(q->system->accelerator.gemm[q->strategy->precision].peak > 0);
}

/* ---- low precision ------------------------------------------------------------------------- */

static bool is_low(const rk_strategy *s)
{
    return s->precision == RK_FP8 || s->precision == RK_FP4;
}

/* Scales per 32 elements are read by the engines that read those of fp4. */
static int64_t missing_mx(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return q->system && s->precision == RK_FP8 && s->fp8_recipe == RK_FP8_MX &&
           !(q->system->accelerator.gemm[RK_FP4].peak > 0);
}

static int64_t low_weights_without_linears(const struct question *q)
{
    return q->strategy->low_weights && !is_low(q->strategy);
}

static int64_t low_weights_without_shards(const struct question *q)
{
    return q->strategy->low_weights && q->strategy->sharding == RK_SHARD_NONE;
}

/* The update on the host writes 8-bit weights with scales that it knows beforehand. */
static int64_t low_weights_with_offload(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->low_weights && s->offload_optimizer &&
           !(s->precision == RK_FP8 && s->fp8_recipe == RK_FP8_DELAYED);
}

/* Outputs that are dropped and made again would enter the history of scales twice. */
static int64_t delayed_with_recompute(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->precision == RK_FP8 && s->fp8_recipe == RK_FP8_DELAYED &&
           s->recompute == RK_REC_SELECTIVE &&
           (s->recompute_modules & (RK_MODULE_NORM | RK_MODULE_ACTIVATION)) != 0;
}

/* ---- batch --------------------------------------------------------------------------------- */

static int64_t batch_rest(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    const int64_t each = s->micro_batch * s->dp;
    return rk_rule_divides(each, s->global_batch) ? 0 : each;
}

/* ---- heads, widths, experts ---------------------------------------------------------------- */

static int64_t heads_rest(const struct question *q)
{
    for (int i = 0; i < q->model->type_count; i++) {
        const int64_t heads = q->model->types[i].attention.query_heads;
        if (!rk_rule_divides(q->strategy->tp, heads)) {
            return heads;
        }
    }
    return 0;
}

/* Key/value heads that neither split over `ranks` nor can be copied to equal shares of them. */
static int64_t kv_heads_rest(const struct question *q, int64_t ranks)
{
    for (int i = 0; i < q->model->type_count; i++) {
        const int64_t heads = q->model->types[i].attention.kv_heads;
        if (!rk_rule_divides(ranks, heads) && !rk_rule_divides(heads, ranks)) {
            return heads;
        }
    }
    return 0;
}

static int64_t kv_heads_tensor(const struct question *q)
{
    return kv_heads_rest(q, q->strategy->tp);
}

/* Key/value heads that do not split over tp. */
static int64_t kv_heads_whole(const struct question *q)
{
    for (int i = 0; i < q->model->type_count; i++) {
        const int64_t heads = q->model->types[i].attention.kv_heads;
        if (!rk_rule_divides(q->strategy->tp, heads)) {
            return heads;
        }
    }
    return 0;
}

static bool exchanges_heads(const rk_strategy *s)
{
    return s->cp > 1 && s->cp_kind == RK_CP_ULYSSES;
}

static int64_t heads_ulysses(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    if (!exchanges_heads(s)) {
        return 0;
    }
    for (int i = 0; i < q->model->type_count; i++) {
        const int64_t heads = q->model->types[i].attention.query_heads;
        if (!rk_rule_divides(s->tp * s->cp, heads)) {
            return heads;
        }
    }
    return 0;
}

static int64_t kv_heads_ulysses(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return exchanges_heads(s) ? kv_heads_rest(q, s->tp * s->cp) : 0;
}

static int64_t ffn_rest(const struct question *q)
{
    for (int i = 0; i < q->model->type_count; i++) {
        const rk_layer_type *type = &q->model->types[i];
        const int64_t width = rk_layer_is_moe(type)
                                  ? type->moe.shared_experts * type->moe.shared_width
                                  : type->ffn.width;
        if (!rk_rule_divides(q->strategy->tp, width)) {
            return width;
        }
    }
    return 0;
}

/* The first layer type with experts, or NULL. */
static const rk_layer_type *moe_type(const rk_model *model)
{
    for (int i = 0; i < model->type_count; i++) {
        if (rk_layer_is_moe(&model->types[i])) {
            return &model->types[i];
        }
    }
    return NULL;
}

static int64_t expert_width_rest(const struct question *q)
{
    for (int i = 0; i < q->model->type_count; i++) {
        const rk_moe_shape *moe = &q->model->types[i].moe;
        if (moe->experts > 0 && !rk_rule_divides(q->strategy->etp, moe->expert_width)) {
            return moe->expert_width;
        }
    }
    return 0;
}

static int64_t experts_missing(const struct question *q)
{
    return q->strategy->ep > 1 && !moe_type(q->model);
}

static int64_t experts_rest(const struct question *q)
{
    for (int i = 0; i < q->model->type_count; i++) {
        const int64_t experts = q->model->types[i].moe.experts;
        if (experts > 0 && !rk_rule_divides(q->strategy->ep, experts)) {
            return experts;
        }
    }
    return 0;
}

/* Expert groups fold over the tensor, context and data ranks of a pipeline stage. */
static int64_t folding_rest(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    const int64_t ranks = s->tp * s->cp * s->dp;
    return rk_rule_divides(s->ep * s->etp, ranks) ? 0 : ranks;
}

/*
 * With pipeline before data, a block of tp*cp ranks is all of a stage that stands together, and
 * groups of experts fill it: the two kinds of layers have the same pipelines only then.
 */
static int64_t experts_off_block(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->order == RK_ORDER_PIPELINE_DATA && s->pp > 1 && s->ep * s->etp != s->tp * s->cp &&
                   moe_type(q->model)
               ? s->tp * s->cp
               : 0;
}

static int64_t order_unknown(const struct question *q)
{
    return q->strategy->pp > 1 && !(traits(q)->orders >> q->strategy->order & 1U);
}

static int64_t expert_parallel_without_sp(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->ep > 1 && s->tp > 1 && !s->sp;
}

static int64_t expert_bias_with_etp(const struct question *q)
{
    const rk_layer_type *type = q->strategy->etp > 1 ? moe_type(q->model) : NULL;
    return type && (type->moe.expert_bias || type->ffn.bias);
}

static int64_t expert_tensor_parallel(const struct question *q)
{
    return q->strategy->etp > 1 && !traits(q)->etp && moe_type(q->model);
}

/* ---- sequence ------------------------------------------------------------------------------ */

static int64_t seq_rest(const struct question *q)
{
    return rk_rule_divides(q->strategy->cp, q->strategy->seq) ? 0 : q->strategy->cp;
}

/* Each rank has one chunk from either end, so that causal work is equal. */
static int64_t seq_rest_balanced(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->cp > 1 && !rk_rule_divides(2 * s->cp, s->seq) ? 2 * s->cp : 0;
}

static int64_t seq_rest_tensor(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->sp && s->tp > 1 && !rk_rule_divides(s->tp * s->cp, s->seq) ? s->tp * s->cp : 0;
}

static int64_t positions_missing(const struct question *q)
{
    const int64_t rows = q->model->learned_positions;
    return rows > 0 && q->strategy->seq > rows ? rows : 0;
}

static int64_t context_unknown(const struct question *q)
{
    return q->strategy->cp > 1 && !(traits(q)->cp_kinds >> q->strategy->cp_kind & 1U);
}

static int64_t sequence_parallel(const struct question *q)
{
    return q->strategy->sp && q->strategy->tp > 1 && !traits(q)->sp;
}

/* ---- schedule ------------------------------------------------------------------------------ */

static int64_t chunks_without_pipeline(const struct question *q)
{
    return q->strategy->vp > 1 && q->strategy->pp == 1;
}

static int64_t schedule_without_pipeline(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->pp == 1 && s->vp == 1 && s->schedule != RK_SCHEDULE_1F1B;
}

static int64_t chunks_not_interleaved(const struct question *q)
{
    return q->strategy->vp > 1 && !rk_schedule_has_vp(q->strategy->schedule);
}

static int64_t interleaved_without_chunks(const struct question *q)
{
    return q->strategy->vp == 1 && rk_schedule_has_vp(q->strategy->schedule);
}

static int64_t schedule_unknown(const struct question *q)
{
    return q->strategy->pp > 1 && !(traits(q)->schedules >> q->strategy->schedule & 1U);
}

/* XLA's pipeline runs its microbatches in rounds of as many as it has stages. */
static int64_t rounds_not_full(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->pp > 1 && !rk_rule_divides(s->pp, rk_strategy_microbatches(s)) ? s->pp : 0;
}

static int64_t stages_unequal(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return (s->first_stage_layers | s->last_stage_layers | s->layout_count) != 0 ||
           s->count_embedding || s->count_head;
}

static int64_t ranks_rest_schedule(const struct question *q)
{
    const rk_schedule_needs needs = rk_schedule_needs_of(q->strategy->schedule, q->strategy->pp);
    return rk_rule_divides(needs.rank_multiple, q->strategy->pp) ? 0 : needs.rank_multiple;
}

static int64_t microbatches_short(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    const rk_schedule_needs needs = rk_schedule_needs_of(s->schedule, s->pp);
    return needs.microbatch_min > 1 && rk_strategy_microbatches(s) < needs.microbatch_min
               ? needs.microbatch_min
               : 0;
}

static int64_t microbatches_rest(const struct question *q, bool interleaved)
{
    const rk_strategy *s = q->strategy;
    const rk_schedule_needs needs = rk_schedule_needs_of(s->schedule, s->pp);
    return interleaved != rk_schedule_has_vp(s->schedule) ||
                   rk_rule_divides(needs.microbatch_multiple, rk_strategy_microbatches(s))
               ? 0
               : needs.microbatch_multiple;
}

static int64_t microbatches_interleaved(const struct question *q)
{
    return microbatches_rest(q, true);
}

static int64_t microbatches_others(const struct question *q)
{
    return microbatches_rest(q, false);
}

/* Neighbours that exchange both ways at once would block each other. */
static int64_t two_ranks_without_overlap(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->vp > 1 && s->pp == 2 && !s->pp_overlap;
}

/* ---- sharding ------------------------------------------------------------------------------ */

static int64_t replicas_without_shards(const struct question *q)
{
    return q->strategy->replicas > 1 && q->strategy->sharding == RK_SHARD_NONE;
}

static int64_t replicas_rest(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return rk_rule_divides(s->replicas, s->dp * s->cp) ? 0 : s->dp * s->cp;
}

static int64_t expert_replicas_rest(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    const int64_t expert_data = s->tp * s->cp * s->dp / (s->ep * s->etp);
    return s->replicas == 1 || !moe_type(q->model) || rk_rule_divides(s->replicas, expert_data)
               ? 0
               : expert_data;
}

static int64_t sharding_unknown(const struct question *q)
{
    return !(traits(q)->shardings >> q->strategy->sharding & 1U);
}

static int64_t sharding_with_pipeline(const struct question *q)
{
    return q->strategy->pp > 1 && !sharding_unknown(q) &&
           !(traits(q)->deep_shards >> q->strategy->sharding & 1U);
}

/* DDP by itself, where the other degrees build on a mesh of shards. */
static int64_t plain_with_degrees(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->sharding == RK_SHARD_NONE && s->dp > 1 && s->tp * s->cp * s->pp * s->ep > 1;
}

/* ---- recompute, offload, overlap ----------------------------------------------------------- */

static int64_t selective_without_modules(const struct question *q)
{
    return q->strategy->recompute == RK_REC_SELECTIVE && q->strategy->recompute_modules == 0;
}

static int64_t layers_not_full(const struct question *q)
{
    return q->strategy->recompute != RK_REC_FULL ? q->strategy->recompute_layers : 0;
}

static bool recomputes(const rk_strategy *s, unsigned module)
{
    return s->recompute == RK_REC_SELECTIVE && (s->recompute_modules & module) != 0;
}

static int64_t operators_and_modules(const struct question *q)
{
    return recomputes(q->strategy, RK_MODULE_OPERATORS) &&
           q->strategy->recompute_modules != RK_MODULE_OPERATORS;
}

/* Modules that the framework does not recompute. */
static int64_t modules_unknown(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return recomputes(s, ~traits(q)->modules)
               ? (int64_t)(s->recompute_modules & ~traits(q)->modules)
               : 0;
}

static int64_t policy_unknown(const struct question *q)
{
    const unsigned always = RK_MODULE_NORM | RK_MODULE_ACTIVATION;
    return q->strategy->recompute == RK_REC_SELECTIVE &&
           (q->strategy->recompute_modules & always) != always;
}

static int64_t some_layers_recomputed(const struct question *q)
{
    return traits(q)->some_layers ? 0 : q->strategy->recompute_layers;
}

static int64_t latent_recompute_without_mla(const struct question *q)
{
    if (!recomputes(q->strategy, RK_MODULE_MLA_UP)) {
        return 0;
    }
    for (int i = 0; i < q->model->type_count; i++) {
        if (q->model->types[i].attention.kind == RK_ATTENTION_LATENT) {
            return 0;
        }
    }
    return 1;
}

static int64_t activation_recompute_without_experts(const struct question *q)
{
    return recomputes(q->strategy, RK_MODULE_ACTIVATION) && !moe_type(q->model);
}

static int64_t weights_offloaded(const struct question *q)
{
    return q->strategy->offload_weights && !traits(q)->weight_offload;
}

static int64_t weight_offload_with_pipeline(const struct question *q)
{
    return q->strategy->offload_weights && q->strategy->pp > 1;
}

static int64_t weight_offload_with_recompute(const struct question *q)
{
    return q->strategy->offload_weights && q->strategy->recompute != RK_REC_NONE;
}

static int64_t weight_offload_without_shards(const struct question *q)
{
    return q->strategy->offload_weights && q->strategy->sharding != RK_SHARD_ALL;
}

static int64_t optimizer_offload_without_shards(const struct question *q)
{
    return q->strategy->offload_optimizer && q->strategy->sharding == RK_SHARD_NONE;
}

static int64_t tensor_overlap_without_sp(const struct question *q)
{
    return q->strategy->tp_overlap && q->strategy->tp > 1 && !q->strategy->sp;
}

static int64_t gather_overlap_alone(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->param_overlap && !s->grad_overlap && s->sharding != RK_SHARD_NONE;
}

static int64_t expert_overlap_without_ep(const struct question *q)
{
    return q->strategy->moe_overlap && q->strategy->ep == 1;
}

static int64_t expert_overlap_without_chunks(const struct question *q)
{
    return q->strategy->moe_overlap && q->strategy->pp > 1 && q->strategy->vp == 1;
}

static int64_t expert_overlap_with_recompute(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->moe_overlap && (s->recompute == RK_REC_FULL || recomputes(s, RK_MODULE_MOE));
}

static int64_t expert_overlap_with_mtp(const struct question *q)
{
    return q->strategy->moe_overlap && q->model->mtp_layers > 1 ? q->model->mtp_layers : 0;
}

/* ---- the table ----------------------------------------------------------------------------- */

enum {
    EVERY = RK_RULES_ARITHMETIC,
    ABILITY = RK_RULES_ABILITY,
    MEGATRON = RK_RULES_MEGATRON,
};

const struct rule rk_rules[] = {
    {"sizes", EVERY, bad_size, VARY_NONE,
     "every size must be from 1 to 2^30: tp {tp}, cp {cp}, pp {pp}, vp {vp}, dp {dp}, ep {ep}, etp "
     "{etp}, micro-batch {mbs}, global batch {gbs}, sequence {seq}, replicas {replicas}"},
    {"accelerators", EVERY, too_many_accelerators, VARY_NONE,
     "tp {tp} x cp {cp} x pp {pp} x dp {dp} are more than 2^31 accelerators"},
    {"amounts", EVERY, bad_amount, VARY_NONE,
     "layers of stages and of recompute, the capacity factor, adapters and documents must be 0 or "
     "more, the imbalance 1 or more; adapters need linears outside routed experts"},
    {"gbs % (mbs*dp)", EVERY, batch_rest, VARY_GLOBAL_BATCH,
     "the global batch {gbs} is no multiple of {n} = micro-batch {mbs} x dp {dp}"},
    {"tp*cp*dp % (ep*etp)", EVERY, folding_rest, VARY_EP,
     "ep {ep} x etp {etp} does not divide the {n} ranks of a stage, tp {tp} x cp {cp} x dp {dp}"},
    {"ep*etp = tp*cp", EVERY, experts_off_block, VARY_EP,
     "the order tp-cp-pp-dp needs ep x etp = {n} = tp x cp, not ep {ep} x etp {etp}; or use the "
     "order tp-cp-dp-pp"},
    {"order of the framework", ABILITY, order_unknown, VARY_NONE,
     "{framework} numbers ranks in the order tp-cp-dp-pp only"},
    {"vp needs pp > 1", EVERY, chunks_without_pipeline, VARY_PP,
     "vp {vp} splits the stages of a pipeline, but pp is 1"},
    {"schedule needs pp > 1", EVERY, schedule_without_pipeline, VARY_NONE,
     "the schedule {schedule} is that of a pipeline, but pp is 1; use 1f1b"},
    {"vp needs interleaving", EVERY, chunks_not_interleaved, VARY_NONE,
     "vp {vp} needs the schedule interleaved, not {schedule}; or use vp 1"},
    {"interleaving needs vp > 1", EVERY, interleaved_without_chunks, VARY_VP,
     "the schedule interleaved needs several chunks per rank, but vp is 1"},
    {"schedule of the framework", ABILITY, schedule_unknown, VARY_NONE,
     "{framework} does not run the schedule {schedule}; it runs {schedules}"},
    {"pp of the schedule", EVERY, ranks_rest_schedule, VARY_PP,
     "the schedule {schedule} needs a multiple of {n} ranks, but pp is {pp}"},
    {"microbatches % pp", EVERY, microbatches_interleaved, VARY_GLOBAL_BATCH,
     "interleaving needs a multiple of {n} = pp microbatches, not {m} (global batch {gbs})"},
    {"microbatches of the pipeline", RK_RULES_XLA_PIPELINE, rounds_not_full, VARY_GLOBAL_BATCH,
     "{framework} runs a pipeline in rounds of {n} = pp microbatches, not {m} (global batch "
     "{gbs})"},
    {"microbatches of the schedule", EVERY, microbatches_short, VARY_GLOBAL_BATCH,
     "the schedule {schedule} needs {n} microbatches or more, not {m} (global batch {gbs})"},
    {"microbatches of the schedule", EVERY, microbatches_others, VARY_GLOBAL_BATCH,
     "the schedule {schedule} needs a multiple of {n} microbatches, not {m} (global batch {gbs})"},
    {"interleaving of two ranks", MEGATRON, two_ranks_without_overlap, VARY_PP,
     "pp 2 with vp {vp} needs overlapped messages between stages"},
    {"layout", EVERY, rk_rule_layout_below_zero, VARY_NONE,
     "every stage of a layout must have 0 layers or more, not {n}"},
    {"layout", EVERY, rk_rule_layout_and_split, VARY_NONE,
     "a layout names the layers of every stage, so layers of the first or last stage and embedding "
     "or head as layers say nothing; drop one of the two"},
    {"layout", EVERY, rk_rule_layout_stages, VARY_PP,
     "the layout has {given} stages, but pp {pp} with {chunks} stages each needs {n}"},
    {"layout", EVERY, rk_rule_layout_rest, VARY_NONE,
     "the layout has {sum} layers, but {model} has {layers}; {repair}"},
    {"stage layers need pp > 1", EVERY, rk_rule_own_layers_without_pipeline, VARY_PP,
     "layers of the first and last stage are given, but pp is 1"},
    {"stage layers or counted ends", EVERY, rk_rule_own_layers_and_counted_ends, VARY_NONE,
     "layers of the first or last stage are given ({first}, {last}), so embedding and head cannot "
     "count as layers too; drop one of the two"},
    {"layers of a given stage", EVERY, rk_rule_own_layers_too_few, VARY_NONE,
     "each of the {n} chunks of a stage needs a layer, but {first} and {last} are given for the "
     "first and last stage"},
    {"layers >= stages", EVERY, rk_rule_layers_too_few, VARY_PP,
     "{n} layers cannot be split over pp {pp} with {chunks} stages each, when {first} and {last} "
     "are "
     "given for the first and last rank (0: as the rest)"},
    {"layers % (pp*vp)", RK_RULES_EVEN_LAYERS, rk_rule_layers_rest_ranks, VARY_PP,
     "the {n} layers that are shared evenly do not split over pp {pp}"},
    {"layers % (pp*vp)", RK_RULES_EVEN_LAYERS, rk_rule_layers_rest_chunks, VARY_VP,
     "the {n} layers that are shared evenly do not split over pp {pp} x vp {vp}"},
    {"stage layers % vp", RK_RULES_EVEN_LAYERS, rk_rule_own_layers_rest, VARY_VP,
     "the {first} and {last} layers given for the first and last stage do not split over vp {vp}"},
    {"stages of the framework", RK_RULES_XLA_PIPELINE, stages_unequal, VARY_NONE,
     "{framework} gives every stage the same layers and none of them the embedding or the head"},
    {"heads % tp", EVERY, heads_rest, VARY_TP, "{n} attention heads do not split over tp {tp}"},
    {"kv_heads % tp", EVERY, kv_heads_tensor, VARY_TP,
     "{n} key/value heads neither split over tp {tp} nor are copied evenly to it"},
    {"kv_heads of the framework", RK_RULES_WHOLE_KV, kv_heads_whole, VARY_TP,
     "{framework} does not copy key/value heads: {n} of them do not split over tp {tp}"},
    {"ffn % tp", EVERY, ffn_rest, VARY_TP, "the FFN width {n} does not split over tp {tp}"},
    {"ep needs experts", EVERY, experts_missing, VARY_EP, "ep is {ep}, but {model} has no experts"},
    {"experts % ep", EVERY, experts_rest, VARY_EP, "{n} experts do not split over ep {ep}"},
    {"expert_ffn % etp", EVERY, expert_width_rest, VARY_ETP,
     "the expert width {n} does not split over etp {etp}"},
    {"ep with tp needs sp", RK_RULES_EXPERTS_SP, expert_parallel_without_sp, VARY_NONE,
     "ep {ep} with tp {tp} needs sequence parallelism; turn it on"},
    {"expert bias needs etp = 1", MEGATRON, expert_bias_with_etp, VARY_ETP,
     "experts with biases cannot be split over etp {etp}"},
    {"etp", ABILITY, expert_tensor_parallel, VARY_ETP,
     "{framework} does not split experts, but etp is {etp}"},
    {"seq % cp", EVERY, seq_rest, VARY_SEQ, "the sequence {seq} does not split over cp {n}"},
    {"seq % (2*cp)", RK_RULES_BALANCED_CP, seq_rest_balanced, VARY_SEQ,
     "the sequence {seq} is no multiple of {n} = 2 x cp {cp}, as balanced causal work needs"},
    {"seq/cp % tp", EVERY, seq_rest_tensor, VARY_SEQ,
     "the sequence {seq} does not split over {n} = cp {cp} x tp {tp} with sequence parallelism"},
    {"seq <= positions", EVERY, positions_missing, VARY_SEQ,
     "the sequence {seq} is longer than the {n} learned positions of {model}"},
    {"heads % (tp*cp)", EVERY, heads_ulysses, VARY_CP,
     "{n} attention heads do not split over tp {tp} x cp {cp}, as Ulysses needs"},
    {"kv_heads % (tp*cp)", EVERY, kv_heads_ulysses, VARY_CP,
     "{n} key/value heads neither split over tp {tp} x cp {cp} nor are copied evenly to it, as "
     "Ulysses needs"},
    {"cp of the framework", ABILITY, context_unknown, VARY_NONE,
     "{framework} does not split sequences by {cp_kind}; use cp of the kind {cp_kinds}, or cp 1"},
    {"sp", ABILITY, sequence_parallel, VARY_NONE,
     "{framework} has no sequence parallelism in the tensor group; turn it off"},
    {"replicas need sharding", EVERY, replicas_without_shards, VARY_REPLICAS,
     "{replicas} replicas of the shards are asked for, but nothing is sharded"},
    {"dp*cp % replicas", EVERY, replicas_rest, VARY_REPLICAS,
     "{n} = dp x cp ranks do not split into {replicas} replicas of the shards"},
    {"expert_dp % replicas", EVERY, expert_replicas_rest, VARY_REPLICAS,
     "{n} expert-data ranks do not split into {replicas} replicas of the shards"},
    {"sharding with pp", ABILITY, sharding_with_pipeline, VARY_PP,
     "{framework} does not run ZeRO-{zero} with pp {pp}; use ZeRO-{deep_shards}"},
    {"sharding of the framework", ABILITY, sharding_unknown, VARY_NONE,
     "{framework} does not run ZeRO-{zero}; use ZeRO-{shardings}"},
    {"ZeRO-0 needs data parallelism alone", RK_RULES_PLAIN_DDP, plain_with_degrees, VARY_NONE,
     "{framework} shards parameters as soon as tp, cp, pp or ep is above 1; use ZeRO-{shardings}"},
    {"precision", EVERY, missing_precision, VARY_NONE,
     "{accelerator} does not multiply in {precision}"},
    {"mxfp8 of the accelerator", EVERY, missing_mx, VARY_NONE,
     "{accelerator} does not read the scales of mxfp8; use the recipe tensorwise, delayed or "
     "blockwise"},
    {"fp8 weights need fp8", EVERY, low_weights_without_linears, VARY_NONE,
     "weights are kept in the precision of the linears, but that is {precision}; use fp8 or fp4"},
    {"fp8 weights need ZeRO", MEGATRON, low_weights_without_shards, VARY_NONE,
     "weights in low precision need the distributed optimizer; use ZeRO-1 or more"},
    {"fp8 weights or optimizer offload", MEGATRON, low_weights_with_offload, VARY_NONE,
     "an offloaded optimizer writes weights in fp8 by the recipe delayed only; use that, or keep "
     "weights in bf16"},
    {"delayed or recompute", MEGATRON, delayed_with_recompute, VARY_NONE,
     "the modules norm and act cannot be recomputed with the fp8 recipe delayed; use tensorwise"},
    {"selective needs modules", EVERY, selective_without_modules, VARY_NONE,
     "selective recompute names no module; name one, such as core attention"},
    {"operators or modules", EVERY, operators_and_modules, VARY_NONE,
     "recompute by operators covers norms, activations and more; name no other module"},
    {"modules of the framework", ABILITY, modules_unknown, VARY_NONE,
     "{framework} does not recompute the modules {lacking}; it recomputes {modules}"},
    {"policy of the framework", RK_RULES_POLICIES, policy_unknown, VARY_NONE,
     "every policy of {framework} recomputes norms and activations; name the modules norm and act "
     "too"},
    {"recompute layers of the framework", ABILITY, some_layers_recomputed, VARY_NONE,
     "{framework} recomputes all layers or none, not {n} of a stage"},
    {"recompute layers need full", MEGATRON, layers_not_full, VARY_NONE,
     "{n} layers to recompute are given, which needs full recompute"},
    {"mla_up needs MLA", MEGATRON, latent_recompute_without_mla, VARY_NONE,
     "the module mla_up is to be recomputed, but {model} has no latent attention"},
    {"act needs experts", RK_RULES_EXPERT_ACT, activation_recompute_without_experts, VARY_NONE,
     "the module act is the activation of experts (moe_act), but {model} has none; drop it, or "
     "recompute the module mlp"},
    {"weight offload of the framework", ABILITY, weights_offloaded, VARY_NONE,
     "{framework} does not offload weights"},
    {"weight offload needs pp = 1", MEGATRON, weight_offload_with_pipeline, VARY_PP,
     "weights cannot be offloaded with pp {pp}"},
    {"weight offload or recompute", MEGATRON, weight_offload_with_recompute, VARY_NONE,
     "weights cannot be offloaded together with recompute; drop one of the two"},
    {"weight offload needs ZeRO-3", RK_RULES_ZERO_OFFLOAD, weight_offload_without_shards, VARY_NONE,
     "{framework} offloads only sharded weights; use ZeRO-3"},
    {"optimizer offload needs ZeRO", RK_RULES_ZERO_OFFLOAD, optimizer_offload_without_shards,
     VARY_NONE, "{framework} offloads only a sharded optimizer; use ZeRO-1 or more"},
    {"tp overlap needs sp", MEGATRON, tensor_overlap_without_sp, VARY_NONE,
     "overlap of tensor-parallel messages needs sequence parallelism; turn it on"},
    {"param overlap needs grad overlap", MEGATRON, gather_overlap_alone, VARY_NONE,
     "overlap of the parameter gather needs that of the gradient reduction; turn it on"},
    {"moe overlap needs ep > 1", MEGATRON, expert_overlap_without_ep, VARY_EP,
     "overlap of expert messages is on, but ep is 1"},
    {"moe overlap needs vp > 1", MEGATRON, expert_overlap_without_chunks, VARY_NONE,
     "overlap of expert messages with pp {pp} needs interleaving (vp 2 or more)"},
    {"moe overlap or recompute", MEGATRON, expert_overlap_with_recompute, VARY_NONE,
     "overlap of expert messages excludes recompute of whole layers and of the module moe"},
    {"moe overlap needs mtp <= 1", MEGATRON, expert_overlap_with_mtp, VARY_NONE,
     "overlap of expert messages allows one MTP layer, but {model} has {n}"},
};

const size_t rk_rule_count = sizeof(rk_rules) / sizeof(rk_rules[0]);
