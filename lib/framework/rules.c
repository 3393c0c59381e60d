/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of arithmetic, which every framework checks. */
#include "framework/rules.h"

#include "model/kinds.h"
#include "strategy/optimizer.h"
#include "system/flash_lent.h"

#include <assert.h>

/* Beyond these, products of sizes are not computed. */
#define SIZE_LIMIT       ((int64_t)1 << 30)
#define ACCELERATORS_MAX 0x1p31

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

/* ---- batch and schedule -------------------------------------------------------------------- */

static int64_t batch_rest(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    const int64_t each = s->micro_batch * s->dp;
    return rk_rule_divides(each, s->global_batch) ? 0 : each;
}

static int64_t chunks_without_pipeline(const struct question *q)
{
    return q->strategy->vp > 1 && q->strategy->pp == 1;
}

static int64_t schedule_without_pipeline(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->pp == 1 && s->vp == 1 && s->schedule != rk_schedule_usual(1);
}

static int64_t chunks_not_interleaved(const struct question *q)
{
    return q->strategy->vp > 1 && !rk_schedule_has_vp(q->strategy->schedule);
}

static int64_t interleaved_without_chunks(const struct question *q)
{
    return q->strategy->vp == 1 && rk_schedule_has_vp(q->strategy->schedule);
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

/* Key/value heads that neither split over `ranks` nor can be copied to equal shares of the
 * ranks. */
static int64_t kv_heads_rest(const struct question *q, int64_t ranks)
{
    assert(ranks >= 1);
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

/* Heads of recurrences, or their groups, that do not split over `tp` and `cp` ranks. */
static int64_t state_heads_rest(const struct question *q, int64_t tp, int64_t cp)
{
    assert(tp >= 1 && cp >= 1);
    for (int i = 0; i < q->model->type_count; i++) {
        const rk_layer_type *type = &q->model->types[i];
        const int64_t rest =
            type->mixer->unsplittable ? type->mixer->unsplittable(type, tp, cp) : 0;
        if (rest) {
            return rest;
        }
    }
    return 0;
}

static int64_t state_heads_tensor(const struct question *q)
{
    return state_heads_rest(q, q->strategy->tp, 1);
}

static int64_t state_heads_context(const struct question *q)
{
    return q->strategy->cp > 1 ? state_heads_rest(q, q->strategy->tp, q->strategy->cp) : 0;
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
    return q->strategy->ep > 1 && !rk_rule_moe_type(q->model);
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
 * With pipeline before data, a block of tp*cp ranks is the contiguous part of a stage, and groups
 * of experts fill it: the two kinds of layers have the same pipelines only then.
 */
static int64_t experts_off_block(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->order == RK_ORDER_PIPELINE_DATA && s->pp > 1 && s->ep * s->etp != s->tp * s->cp &&
                   rk_rule_moe_type(q->model)
               ? s->tp * s->cp
               : 0;
}

/* ---- sequence ------------------------------------------------------------------------------ */

static int64_t seq_rest(const struct question *q)
{
    return rk_rule_divides(q->strategy->cp, q->strategy->seq) ? 0 : q->strategy->cp;
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
    return s->replicas == 1 || !rk_rule_moe_type(q->model) ||
                   rk_rule_divides(s->replicas, expert_data)
               ? 0
               : expert_data;
}

/* ---- precision and recomputation ----------------------------------------------------------- */

static int64_t missing_precision(const struct question *q)
{
    return q->system && !(q->system->accelerator.gemm[q->strategy->precision].peak > 0);
}

static int64_t missing_mx(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return q->system && s->precision == RK_FP8 && s->fp8_recipe == RK_FP8_MX &&
           !rk_accelerator_reads_mx(&q->system->accelerator);
}

/* A kernel that does not exist for the accelerator; one that nobody measured on it is estimated. */
static int64_t missing_kernel(const struct question *q)
{
    const rk_attention_kernel kernel = q->strategy->attention_kernel;
    return q->system && kernel != RK_KERNEL_OF_STACK &&
           !rk_flash_is_measured(&q->system->accelerator, rk_flash_library_of(kernel)) &&
           !rk_flash_exists(&q->system->accelerator, rk_flash_library_of(kernel));
}

static int64_t low_weights_without_linears(const struct question *q)
{
    return q->strategy->low_weights && !q->strategy->nf4_weights &&
           !rk_is_low(q->strategy->precision);
}

static int64_t nf4_without_adapters(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->nf4_weights && (s->adapter_rank == 0 || rk_is_low(s->precision) || !s->low_weights);
}

static int64_t gradients_alone_on_host(const struct question *q)
{
    return q->strategy->offload_gradients && !q->strategy->offload_optimizer;
}

static int64_t nvme_without_offload(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return (s->nvme_optimizer && !s->offload_optimizer) || (s->nvme_weights && !s->offload_weights);
}

static int64_t low_activations_without_gate(const struct question *q)
{
    for (int i = 0; q->strategy->low_activations && i < q->model->type_count; i++) {
        if (q->model->types[i].ffn.gated) {
            return 0;
        }
    }
    return q->strategy->low_activations;
}

static int64_t selective_without_modules(const struct question *q)
{
    return q->strategy->recompute == RK_REC_SELECTIVE && q->strategy->recompute_modules == 0;
}

static int64_t operators_and_modules(const struct question *q)
{
    return rk_rule_recomputes(q->strategy, RK_MODULE_OPERATORS) &&
           q->strategy->recompute_modules != RK_MODULE_OPERATORS;
}

static int64_t streams_without_connections(const struct question *q)
{
    return rk_rule_recomputes(q->strategy, RK_MODULE_STREAMS) && q->model->streams == 0;
}

/* ---- optimizers ---------------------------------------------------------------------------- */

static int64_t whole_matrices_sharded(const struct question *q)
{
    const rk_optimizer_traits *traits = rk_optimizer_of(q->strategy);
    return traits->orthogonalizes && !traits->deals_matrices &&
           q->strategy->sharding != RK_SHARD_NONE &&
           !rk_framework_of(q->framework)->shards_matrices;
}

static int64_t matrices_not_dealt(const struct question *q)
{
    return rk_optimizer_of(q->strategy)->deals_matrices &&
           q->strategy->sharding != RK_SHARD_OPTIMIZER;
}

/* ---- the tables ---------------------------------------------------------------------------- */

const struct rk_rule rk_rules_sizes[] = {
    {"sizes", bad_size, VARY_NONE,
     "every size must be from 1 to 2^30: tp {tp}, cp {cp}, pp {pp}, vp {vp}, dp {dp}, ep {ep}, etp "
     "{etp}, micro-batch {micro_batch}, global batch {global_batch}, sequence {seq_tokens}, "
     "replicas {hsdp_replicas}"},
    {"accelerators", too_many_accelerators, VARY_NONE,
     "tp {tp} x cp {cp} x pp {pp} x dp {dp} are more than 2^31 accelerators"},
    {"amounts", bad_amount, VARY_NONE,
     "layers of stages and of recompute, the capacity factor, adapters and documents must be 0 or "
     "more, the imbalance 1 or more; adapters need linears outside routed experts"},
    {0},
};

const struct rk_rule rk_rules_arithmetic[] = {
    {"gbs % (mbs*dp)", batch_rest, VARY(global_batch),
     "the global batch {global_batch} is not a multiple of {n} = micro-batch {micro_batch} x dp "
     "{dp}"},
    {"tp*cp*dp % (ep*etp)", folding_rest, VARY(ep),
     "ep {ep} x etp {etp} does not divide the {n} ranks of a stage, tp {tp} x cp {cp} x dp {dp}"},
    {"ep*etp = tp*cp", experts_off_block, VARY(ep),
     "the order tp-cp-pp-dp needs ep x etp = {n} = tp x cp, not ep {ep} x etp {etp}; or use the "
     "order tp-cp-dp-pp"},
    {"vp needs pp > 1", chunks_without_pipeline, VARY(pp),
     "vp {vp} splits the stages of a pipeline, but pp is 1"},
    {"schedule needs pp > 1", schedule_without_pipeline, VARY_NONE,
     "the schedule {schedule} is that of a pipeline, but pp is 1; use 1f1b"},
    {"vp needs interleaving", chunks_not_interleaved, VARY_NONE,
     "vp {vp} needs the schedule interleaved, not {schedule}; or use vp 1"},
    {"interleaving needs vp > 1", interleaved_without_chunks, VARY(vp),
     "the schedule interleaved needs several chunks per rank, but vp is 1"},
    {"pp of the schedule", ranks_rest_schedule, VARY(pp),
     "the schedule {schedule} needs a multiple of {n} ranks, but pp is {pp}"},
    {"microbatches % pp", microbatches_interleaved, VARY(global_batch),
     "interleaving needs a multiple of {n} = pp microbatches, not {m} (global batch "
     "{global_batch})"},
    {"microbatches of the schedule", microbatches_short, VARY(global_batch),
     "the schedule {schedule} needs {n} microbatches or more, not {m} (global batch "
     "{global_batch})"},
    {"microbatches of the schedule", microbatches_others, VARY(global_batch),
     "the schedule {schedule} needs a multiple of {n} microbatches, not {m} (global batch "
     "{global_batch})"},
    {"heads % tp", heads_rest, VARY_DEGREE(tp), "{n} attention heads do not split over tp {tp}"},
    {"kv_heads % tp", kv_heads_tensor, VARY_DEGREE(tp),
     "{n} key/value heads neither split over tp {tp} nor are copied evenly to it"},
    {"state_heads % tp", state_heads_tensor, VARY_DEGREE(tp),
     "{n} heads or groups of a recurrence do not split over tp {tp}"},
    {"ffn % tp", ffn_rest, VARY_DEGREE(tp), "the FFN width {n} does not split over tp {tp}"},
    {"ep needs experts", experts_missing, VARY_DEGREE(ep),
     "ep is {ep}, but {model} has no experts"},
    {"experts % ep", experts_rest, VARY_DEGREE(ep), "{n} experts do not split over ep {ep}"},
    {"expert_ffn % etp", expert_width_rest, VARY_DEGREE(etp),
     "the expert width {n} does not split over etp {etp}"},
    {"seq % cp", seq_rest, VARY_DEGREE(seq),
     "the sequence {seq_tokens} does not split over cp {n}"},
    {"seq/cp % tp", seq_rest_tensor, VARY_DEGREE(seq),
     "the sequence {seq_tokens} does not split over {n} = cp {cp} x tp {tp} with sequence "
     "parallelism (--no-sp leaves it out)"},
    {"seq <= positions", positions_missing, VARY_DEGREE(seq),
     "the sequence {seq_tokens} is longer than the {n} learned positions of {model}"},
    {"state_heads % (tp*cp)", state_heads_context, VARY_DEGREE(cp),
     "{n} heads or groups of a recurrence do not split over tp {tp} x cp {cp}"},
    {"heads % (tp*cp)", heads_ulysses, VARY_DEGREE(cp),
     "{n} attention heads do not split over tp {tp} x cp {cp}, as Ulysses needs"},
    {"kv_heads % (tp*cp)", kv_heads_ulysses, VARY_DEGREE(cp),
     "{n} key/value heads neither split over tp {tp} x cp {cp} nor are copied evenly to it, as "
     "Ulysses needs"},
    {"muon or ZeRO", whole_matrices_sharded, VARY_NONE,
     "muon updates whole matrices on every data rank; use ZeRO-0, or the optimizer dist-muon with "
     "ZeRO-1"},
    {"dist-muon is ZeRO-1", matrices_not_dealt, VARY_NONE,
     "dist-muon shares the states out by whole matrices, which is ZeRO-1 and no other; use ZeRO-1"},
    {"replicas need sharding", replicas_without_shards, VARY(replicas),
     "{hsdp_replicas} replicas of the shards are asked for, but nothing is sharded"},
    {"dp*cp % replicas", replicas_rest, VARY(replicas),
     "{n} = dp x cp ranks do not split into {hsdp_replicas} replicas of the shards"},
    {"expert_dp % replicas", expert_replicas_rest, VARY(replicas),
     "{n} expert-data ranks do not split into {hsdp_replicas} replicas of the shards"},
    {"precision", missing_precision, VARY_NONE,
     "{accelerator} has no rate of {precision} in its document"},
    {"mxfp8 of the accelerator", missing_mx, VARY_NONE,
     "{accelerator} does not read the scales of mxfp8; use the recipe tensorwise, delayed or "
     "blockwise"},
    {"attention kernel", missing_kernel, VARY_NONE,
     "there is no attention kernel {attention} for {accelerator}; use flash"},
    {"fp8 weights need fp8", low_weights_without_linears, VARY_NONE,
     "weights are kept in the precision of the linears, but that is {precision}; use fp8, fp4 or "
     "int8"},
    {"nf4 needs adapters", nf4_without_adapters, VARY_NONE,
     "weights in NF4 are frozen and multiplied in 16 bits: use adapters (lora-rank) and bf16, fp16 "
     "or tf32, not {precision}"},
    {"gradient offload needs the optimizer", gradients_alone_on_host, VARY_NONE,
     "gradients go to the host for the optimizer that steps there; offload optimizer too"},
    {"NVMe needs offload", nvme_without_offload, VARY_NONE,
     "only what is offloaded lies on NVMe disks; offload it too"},
    {"fp8 activation inputs need a gate", low_activations_without_gate, VARY_NONE,
     "the inputs of gated activations are kept in fp8, but no feed-forward layer of the model has "
     "a gate"},
    {"selective needs modules", selective_without_modules, VARY_NONE,
     "selective recompute names no module; name one, such as core attention"},
    {"mhc needs hyper-connections", streams_without_connections, VARY_NONE,
     "the module mhc is to be recomputed, but {model} has no hyper-connections"},
    {"operators or modules", operators_and_modules, VARY_NONE,
     "recompute by operators covers norms, activations and more; name no other module"},
    {0},
};
