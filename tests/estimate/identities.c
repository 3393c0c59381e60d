/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold for every strategy: on random models, machines, stacks and strategies that the
 * rules accept, parts add up, states of all ranks are the model's, replicas change nothing of the
 * compute, and closed forms agree with the schedule played.
 */
#include "../draws.h"

#include "estimate/step_overheads.h"
#include "framework/framework.h"
#include "layer/precision.h"

enum { LEGAL = 20000 };

static const uint64_t seed = 0x9e3779b97f4a7c15;

/* ---- parts add up --------------------------------------------------------------------------- */

static void assert_exact(double found, double wanted)
{
    if (!(found >= wanted && found <= wanted)) {
        fail_msg("%.17g is not %.17g", found, wanted);
    }
}

static void assert_amount(double value)
{
    if (!isfinite(value) || value < 0) {
        fail_msg("%g is no amount", value);
    }
}

static void estimate(const rk_cost_table *table, const rk_strategy *strategy,
                     rk_flop_convention convention, rk_estimate *e, rk_stage_memory *stages)
{
    rk_makespans *makespans;
    rk_error err;
    assert_int_equal(rk_makespans_new(&makespans, &err), RK_OK);
    assert_int_equal(rk_estimate_table(table, strategy, convention, makespans, e, stages, &err),
                     RK_OK);
    rk_makespans_free(makespans);
}

static void combine(const rk_cost_table *table, const rk_strategy *strategy, rk_estimate *e)
{
    estimate(table, strategy, RK_FLOPS_MEGATRON, e, NULL);
}

static void check_parts(const struct draw *d, uint64_t *r)
{
    rk_estimate e;
    double time = 0, memory = 0;
    (void)r;
    estimate(&d->table, &d->strategy, RK_FLOPS_BRIDGE, &e, NULL);
    for (int i = 0; i < RK_PART_COUNT; i++) {
        assert_amount(e.times.part[i]);
        time += e.times.part[i];
    }
    for (int i = 0; i < RK_MEMORY_PART_COUNT; i++) {
        assert_amount(e.memory.part[i]);
        memory += e.memory.part[i];
    }
    assert_exact(e.step, time);
    assert_exact(e.memory.total, memory);
    assert_true(e.step > 0 && e.mfu > 0 && e.mfu <= e.hfu && e.hfu < 1);
    assert_amount(e.volumes.tensor);
    assert_amount(e.volumes.context);
    assert_amount(e.volumes.expert);
    assert_amount(e.volumes.pipeline);
    assert_amount(e.volumes.data);
    assert_amount(e.host_bytes);
    assert_true(e.worst_stage >= 0 && e.worst_stage < d->strategy.pp);
    if (rk_needed_bytes(&e.memory) > e.usable) {
        assert_false(e.fits);
    }
    assert_true(!e.thrashes || (e.fits && e.memory.total > e.usable));
}

static void test_parts(void **state)
{
    (void)state;
    draw_each(seed, draw_count(LEGAL), check_parts);
}

/* ---- states of all ranks -------------------------------------------------------------------- */

/* Outputs of the projection for a head of keys and values; where these are the keys, of keys. */
static double projected_per_head(const rk_attention_shape *a)
{
    return (a->kv_source == RK_KV_KEYS ? 1 : 2) * (double)a->head_size;
}

/* Copies of key and value heads on tensor ranks, and of a tied table at both ends, parameters. */
static double copies_of(const rk_model *model, const rk_strategy *s)
{
    const rk_attention_shape *a = &model->types[0].attention; /* all types have the same */
    const int64_t more = s->tp - a->kv_heads;
    double copies = 0;
    if (!rk_attention_is_latent(a) && more > 0) {
        const double head = projected_per_head(a);
        copies += (double)(model->layers + model->mtp_layers) * (double)more * head *
                  (double)(model->hidden + (a->bias_qkv ? 1 : 0));
    }
    const bool together = rk_schedules[s->schedule]->placement != RK_PLACEMENT_LOOP;
    if (model->tied && s->pp > 1 && !together) {
        copies += (double)(model->vocab * model->hidden);
    }
    return copies;
}

/* Weights as they are stored, and the copies in low precision that the GEMMs of a step read. */
/* Weights of a rank, each as it is stored. */
static double shard_bytes(const rk_strategy *s, const rk_stage *stage)
{
    const double ranks = rk_shard_ranks(s), expert_ranks = rk_expert_shard_ranks(s, stage);
    return rk_stored_bytes(s, stage->dense_params / ranks + stage->expert_params / expert_ranks,
                           stage->low_dense_params / ranks +
                               stage->low_expert_params / expert_ranks);
}

static double weight_bytes(const struct draw *d, const rk_stage *stage)
{
    const rk_strategy *s = &d->strategy;
    const bool sharded = s->sharding == RK_SHARD_ALL;
    const double ranks = sharded ? rk_shard_ranks(s) : 1;
    const double expert_ranks = sharded ? rk_expert_shard_ranks(s, stage) : 1;
    const double all = stage->dense_params / ranks + stage->expert_params / expert_ranks;
    const double low = stage->low_dense_params / ranks + stage->low_expert_params / expert_ranks;
    const double copies =
        sharded ? (s->low_weights ? 1 : 0) : rk_low_weight_copies(s, &d->system.accelerator);
    if (s->sharding == RK_SHARD_GRADIENTS &&
        (d->stack.scatters_last || s->states.gather < s->states.weight)) {
        /* a copy in the type that is gathered, beside shards of the weights themselves */
        rk_strategy shards = *s;
        shards.sharding = RK_SHARD_ALL;
        return rk_gathered_bytes(s, all, low) +
               (copies - (s->low_weights ? 1 : 0)) * rk_low_weight_bytes(s) * low +
               shard_bytes(&shards, stage);
    }
    return s->states.weight * (s->low_weights ? all - low : all) +
           copies * rk_low_weight_bytes(s) * low;
}

/* Filling a stage that was filled before leaves nothing of what it was. */
static void check_filled_again(const struct draw *d, const rk_chunk *chunks, const rk_stage *stage)
{
    const rk_stage_blocks blocks = rk_stage_blocks_of(&d->model, &d->strategy, chunks);
    rk_stage again = *stage;
    rk_stage_keep(&d->table, &blocks, &again);
    rk_stage_run(&d->table, &blocks, &again);
    assert_exact(again.saved, stage->saved);
    assert_exact(again.late, stage->late);
    assert_exact(again.flops_forward, stage->flops_forward);
    assert_exact(rk_times_sum(&again.backward), rk_times_sum(&stage->backward));
}

/*
 * Over all ranks of a replica stand the model's parameters, and every kind of state of them,
 * whatever is sharded; DualPipe holds everything twice but the optimizer's states.
 */
static void check_states(const struct draw *d, uint64_t *r)
{
    rk_chunk chunks[RK_CHUNK_MAX];
    const rk_strategy *s = &d->strategy;
    const rk_state_recipe *recipe = &s->states;
    const double t = (double)s->tp, copies = s->schedule == RK_SCHEDULE_DUALPIPE ? 2 : 1;
    const double ranks = (double)(s->dp * s->cp) / (double)s->replicas;
    const double expert_ranks = t * ranks / (double)(s->ep * s->etp);
    const rk_model_params p = rk_model_params_of(&d->model);
    double params = 0;
    (void)r;
    rk_strategy_chunks(&d->model, s, chunks);
    for (int64_t rank = 0; rank < s->pp; rank++) {
        const rk_stage stage = rk_stage_of(&d->table, s, &chunks[rank * rk_stage_chunks(s)]);
        const double whole = stage.replicated_params;
        params += t * (stage.dense_params - whole) + whole;
        params += stage.expert_params * (double)(s->ep * s->etp);
        const rk_stage_memory m = rk_stage_memory_of(&d->table, s, &stage, 1);
        check_filled_again(d, &chunks[rank * rk_stage_chunks(s)], &stage);
        const double dense = stage.dense_params, expert = stage.expert_params;
        const double sharded = dense / ranks + expert / expert_ranks;
        const double all = dense + expert;
        if (!s->offload_weights) {
            assert_near(m.part[RK_MEM_WEIGHTS], weight_bytes(d, &stage), 1e-12);
        }
        const bool freed = d->stack.frees_gradients && rk_strategy_microbatches(s) == 1;
        if (rk_stage_gradient_runs(&d->stack, s).scatters <= 0 && !freed) {
            assert_near(m.part[RK_MEM_GRADIENTS],
                        recipe->gradient * (s->sharding >= RK_SHARD_GRADIENTS ? sharded : all),
                        1e-12);
        }
        if (!s->offload_optimizer) {
            assert_near(m.part[RK_MEM_OPTIMIZER],
                        recipe->optimizer / copies * (s->sharding ? sharded : all), 1e-12);
        }
    }
    assert_near(params, copies * ((double)(p.total + p.mtp) + copies_of(&d->model, s)), 1e-9);
}

static void test_states(void **state)
{
    (void)state;
    draw_each(seed, draw_count(LEGAL), check_states);
}

/*
 * Counted over all ranks of the system, not with the groups of a strategy: the optimizer holds
 * every parameter once for each replica of the shards (HSDP), of experts as of the rest, or once on
 * every data-parallel rank where nothing is sharded; and once more for each of its copies on tensor
 * ranks.
 */
static void check_all_ranks(const struct draw *d, uint64_t *r)
{
    rk_chunk chunks[RK_CHUNK_MAX];
    const rk_strategy *s = &d->strategy;
    const rk_model_params p = rk_model_params_of(&d->model);
    const double stage_ranks = (double)(s->tp * s->cp * s->dp);
    double held = 0, experts = 0, whole = 0;
    (void)r;
    if (s->offload_optimizer) {
        return;
    }
    rk_strategy_chunks(&d->model, s, chunks);
    for (int64_t rank = 0; rank < s->pp; rank++) {
        const rk_stage stage = rk_stage_of(&d->table, s, &chunks[rank * rk_stage_chunks(s)]);
        held += stage_ranks * rk_stage_memory_of(&d->table, s, &stage, 1).part[RK_MEM_OPTIMIZER];
        whole += stage.replicated_params;
    }
    const int last = d->model.type_of[d->model.layers - 1];
    for (int i = 0; i < d->model.layers + d->model.mtp_layers; i++) {
        const int type = i < d->model.layers ? d->model.type_of[i] : last;
        experts += (double)rk_layer_params_of(&d->model, &d->model.types[type]).experts;
    }
    /* DualPipe has every stage on two ranks, which share its states */
    whole /= s->schedule == RK_SCHEDULE_DUALPIPE ? 2 : 1;
    const double dense =
        (double)(p.total + p.mtp) - experts + copies_of(&d->model, s) + (double)(s->tp - 1) * whole;
    const double copies = (double)(s->sharding ? s->replicas : s->dp * s->cp);
    const double expert_copies =
        (double)(s->sharding ? s->replicas : s->tp * s->dp * s->cp / (s->ep * s->etp));
    assert_near(held, s->states.optimizer * (copies * dense + expert_copies * experts), 1e-9);
}

static void test_all_ranks(void **state)
{
    (void)state;
    draw_each(seed, draw_count(LEGAL), check_all_ranks);
}

/* ---- FLOPs ---------------------------------------------------------------------------------- */

/*
 * Weights of a layer that multiply a token, over all ranks of a tensor group: those of the model,
 * and again on every rank the way down to latents and key and value heads that are copied.
 */
static double multiplied_weights(const struct draw *d, const rk_layer_type *type)
{
    const rk_attention_shape *a = &type->attention;
    const double h = (double)d->model.hidden, t = (double)d->strategy.tp;
    const double load = d->strategy.capacity_factor > 0 ? d->strategy.capacity_factor
                        : d->strategy.ep > 1            ? d->strategy.imbalance
                                                        : 1;
    const rk_layer_params p = rk_layer_params_of(&d->model, type);
    double sum = (double)p.gemm;
    if (rk_attention_is_latent(a)) {
        sum += (t - 1) * h * (double)(a->q_rank + a->kv_rank + a->rope_size);
    } else if ((double)a->kv_heads < t) {
        sum += (t - (double)a->kv_heads) * h * projected_per_head(a);
    }
    if (rk_layer_is_moe(type)) {
        const double each = (type->ffn.gated ? 3 : 2) * h * (double)type->moe.expert_width;
        sum += (load - 1) * (double)type->moe.top_k * each + h * (double)type->moe.experts;
    }
    return sum;
}

/* All ranks of the tensor and context groups together do what the layer has to: 2 per weight. */
static void check_flops(const struct draw *d, uint64_t *r)
{
    const rk_strategy *s = &d->strategy;
    const double ranks = (double)(s->tp * s->cp), sequences = (double)s->micro_batch;
    const double n = (double)s->seq;
    (void)r;
    for (int i = 0; i < d->model.type_count; i++) {
        const rk_layer_type *type = &d->model.types[i];
        const rk_attention_shape *a = &type->attention;
        const double qk = (double)rk_attention_qk_size(a), v = (double)rk_attention_value_size(a);
        const double square = 2 * (double)a->query_heads * n * n * (qk + v);
        const double core =
            sequences * (s->flash_attention ? rk_attention_flops(a, s->seq) : square);
        const double linears = 2 * sequences * n * multiplied_weights(d, type);
        const rk_cost *cost = &d->table.layers[i][0], *full = &d->table.layers[i][1];
        /* checkpoints that stop early leave out the last product of a dense network */
        const double spared =
            d->table.context.stack->recompute_stops
                ? 2 * sequences * n * (double)(d->model.hidden * type->ffn.width) / ranks
                : 0;
        /* flash attention makes the scores a second time: 3 products of keys and 2 of values */
        const double back = s->flash_attention ? (3 * qk + 2 * v) / (qk + v) : 2;
        assert_near(ranks * cost->flops_forward, linears + core, 1e-12);
        assert_near(ranks * cost->flops_backward, 2 * linears + back * core, 1e-12);
        assert_true(cost->flops_recompute >= 0 && full->flops_recompute >= cost->flops_recompute);
        if (s->recompute != RK_REC_SELECTIVE) {
            assert_exact(cost->flops_recompute, 0);
            assert_near(full->flops_recompute, full->flops_forward - spared, 1e-12);
        }
    }
}

static void test_flops(void **state)
{
    (void)state;
    draw_each(seed, draw_count(LEGAL), check_flops);
}

/* ---- time and traffic ----------------------------------------------------------------------- */

static const double slowest_rate = 1e-6; /* bytes/s: compute takes no time beside it */

/* One tier in which bytes take all the time. */
static rk_system slowest_network(const rk_system *system)
{
    rk_system slow = *system;
    slow.accelerator.measured = NULL;
    slow.tier_count = 1;
    slow.tiers[0] = (rk_tier){.name = "slow",
                              .kind = RK_TIER_FABRIC,
                              .size = 1 << 20,
                              .bandwidth = slowest_rate,
                              .efficiency = 1,
                              .exchange_share = 1};
    return slow;
}

static void assert_traffic(double seconds, double bytes)
{
    if (!(fabs(seconds * slowest_rate - bytes) <= 1e-6 * bytes + 0.1)) {
        fail_msg("%.9g s for %.9g bytes", seconds, bytes);
    }
}

/*
 * Where messages are slow beyond all measure, nothing hides them: what a rank waits for is what it
 * sends.  Messages that are sent a second time belong to recomputation.
 */
static void check_traffic(const struct draw *d, uint64_t *r)
{
    static struct draw slow;
    rk_chunk chunks[RK_CHUNK_MAX];
    rk_estimate e;
    (void)r;
    slow = *d;
    rk_strategy *s = &slow.strategy;
    slow.system = slowest_network(&d->system);
    s->grad_overlap = s->param_overlap = s->moe_overlap = false;
    rk_cost_table_fill(&slow.model, &slow.system, &slow.stack, s, &slow.table);
    combine(&slow.table, s, &e);
    double norms = 0, most = 0; /* gradients of what the tensor group shares, once a step */
    rk_strategy_chunks(&slow.model, s, chunks);
    for (int64_t rank = 0; rank < s->pp; rank++) {
        const rk_stage stage = rk_stage_of(&slow.table, s, &chunks[rank * rk_stage_chunks(s)]);
        const double params = stage.dense_params + stage.expert_params;
        norms = params > most ? rk_replicated_seconds(&slow.table, s, &stage) : norms;
        most = fmax(most, params);
    }
    const double *part = e.times.part, tensor = part[RK_PART_TP] - norms;
    /* the gradients of tied tables are summed by two ranks besides, once a step */
    const double tables = slow.model.tied && s->pp > 1
                              ? rk_block_table_params(&slow.table.context) * s->states.reduce
                              : 0;
    assert_traffic(part[RK_PART_DP], e.volumes.data + tables);
    if (s->recompute == RK_REC_NONE) {
        assert_traffic(tensor, e.volumes.tensor);
        assert_traffic(part[RK_PART_CP], e.volumes.context);
        assert_traffic(part[RK_PART_EP], e.volumes.expert);
    }
    assert_traffic(tensor + part[RK_PART_CP] + part[RK_PART_EP] + part[RK_PART_RECOMPUTE],
                   e.volumes.tensor + e.volumes.context + e.volumes.expert);
}

static void test_traffic(void **state)
{
    (void)state;
    draw_each(seed, draw_count(LEGAL), check_traffic);
}

/* ---- offloading ----------------------------------------------------------------------------- */

/*
 * Where the link to the host is slow beyond all measure, its time is its bytes: activations and
 * weights of every microbatch out and in, states of the optimizer in and out once a step.
 */
static void check_offload(const struct draw *d, uint64_t *r)
{
    static struct draw slow;
    const rk_strategy *s = &d->strategy;
    rk_chunk chunks[RK_CHUNK_MAX];
    rk_estimate e;
    double each = 0, once = 0;
    (void)r;
    if (s->pp > 1) {
        return;
    }
    slow = *d;
    slow.system.accelerator.host_bandwidth = slowest_rate;
    slow.system.accelerator.host_efficiency = 1;
    slow.stack.host_bandwidth = 0; /* the device steps what comes back */
    rk_cost_table_fill(&slow.model, &slow.system, &slow.stack, s, &slow.table);
    combine(&slow.table, s, &e);
    rk_strategy_chunks(&slow.model, s, chunks);
    const rk_stage stage = rk_stage_of(&slow.table, s, chunks);
    if (s->offload_activations) {
        each += stage.saved;
    }
    if (s->offload_weights) { /* of full sharding, the shards */
        const bool sharded = s->sharding == RK_SHARD_ALL;
        const double dense = sharded ? rk_shard_ranks(s) : 1;
        const double expert = sharded ? rk_expert_shard_ranks(s, &stage) : 1;
        each += rk_stored_bytes(s, stage.dense_params / dense + stage.expert_params / expert,
                                stage.low_dense_params / dense + stage.low_expert_params / expert);
    }
    if (s->offload_optimizer) {
        once = s->states.optimizer * rk_stage_optimized_params(s, &stage);
    }
    assert_traffic(e.times.part[RK_PART_OFFLOAD],
                   2 * ((double)rk_strategy_microbatches(s) * each + once));
}

static void test_offload(void **state)
{
    (void)state;
    draw_each(seed, draw_count(LEGAL), check_offload);
}

/* ---- full sharding -------------------------------------------------------------------------- */

/*
 * ZeRO-3 needs more than ZeRO-2 at most the weights that it gathers, of two layers or of the
 * head, and of both ends with their gradients where the root stays gathered, less those that it
 * shards.  In pipelines ZeRO-2 sums the gradients of a chunk, too.
 */
static void check_full_sharding(const struct draw *d, uint64_t *r)
{
    rk_chunk chunks[RK_CHUNK_MAX];
    rk_strategy s = d->strategy;
    (void)r;
    s.offload_weights = false;
    rk_strategy_chunks(&d->model, &s, chunks);
    for (int64_t rank = 0; rank < s.pp; rank++) {
        const rk_stage stage = rk_stage_of(&d->table, &s, &chunks[rank * rk_stage_chunks(&s)]);
        const double layer = stage.layer_dense_params + stage.layer_expert_params;
        s.sharding = RK_SHARD_GRADIENTS;
        const rk_stage_memory two = rk_stage_memory_of(&d->table, &s, &stage, 1);
        s.sharding = RK_SHARD_ALL;
        const rk_stage_memory three = rk_stage_memory_of(&d->table, &s, &stage, 1);
        const double copies = 2 * rk_low_weight_bytes(&s) * stage.layer_low_params;
        const double layers =
            fmin(2, stage.layers) * rk_gathered_bytes(&s, layer, stage.layer_low_params) + copies;
        const double embedding = stage.embedding ? rk_block_table_params(&d->table.context) : 0;
        const double root = d->stack.keeps_root ? embedding + stage.head_params : 0;
        const double gathered = fmax(layers, stage.head_params * s.states.gather) +
                                root * (s.states.gather + s.states.reduce);
        const double saved = two.part[RK_MEM_WEIGHTS] - three.part[RK_MEM_WEIGHTS];
        const double more = three.allocated - two.allocated;
        assert_true(s.pp > 1 || more <= gathered - saved + 1e-9 * two.allocated);
    }
}

static void test_full_sharding(void **state)
{
    (void)state;
    draw_each(seed, draw_count(LEGAL), check_full_sharding);
}

/* ---- one accelerator ------------------------------------------------------------------------ */

/* With all degrees 1 the compute of a step is that of all layers and both ends. */
static void check_alone(const struct draw *d, uint64_t *r)
{
    static rk_cost_table table;
    const rk_model *model = &d->model;
    rk_strategy s = d->strategy;
    rk_estimate e;
    (void)r;
    s.tp = s.cp = s.pp = s.vp = s.dp = s.ep = s.etp = s.replicas = 1;
    s.sp = s.tp_overlap = s.count_embedding = s.count_head = false;
    s.schedule = RK_SCHEDULE_1F1B;
    s.recompute_layers = 0;
    s.global_batch = 3 * s.micro_batch;
    s.offload_activations = s.offload_weights = false;
    rk_cost_table_fill(model, &d->system, &d->stack, &s, &table);
    combine(&table, &s, &e);
    double once = rk_times_sum(&table.embedding.forward) + rk_times_sum(&table.embedding.backward);
    once += (1 + model->mtp_layers) *
            (rk_times_sum(&table.head.forward) + rk_times_sum(&table.head.backward));
    once +=
        model->mtp_layers * (rk_times_sum(&table.mtp.forward) + rk_times_sum(&table.mtp.backward));
    for (int i = 0; i < model->layers + model->mtp_layers; i++) {
        const int at = i < model->layers ? i : model->layers - 1;
        const rk_cost *cost = &table.layers[model->type_of[at]][s.recompute == RK_REC_FULL];
        once += rk_times_sum(&cost->forward) + rk_times_sum(&cost->backward);
    }
    rk_chunk chunk;
    rk_strategy_chunks(model, &s, &chunk);
    const rk_stage stage = rk_stage_of(&table, &s, &chunk);
    const double rest = e.times.part[RK_PART_OPTIMIZER] + e.times.part[RK_PART_FIXED] +
                        e.times.part[RK_PART_OFFLOAD] + rk_weight_cast_seconds(&table, &s, &stage);
    assert_near(e.step - rest, 3 * once, 1e-9);
    assert_exact(e.times.part[RK_PART_BUBBLE], 0);
    assert_exact(e.times.part[RK_PART_TP] + e.times.part[RK_PART_CP] + e.times.part[RK_PART_EP] +
                     e.times.part[RK_PART_PP] + e.times.part[RK_PART_DP],
                 0);
    assert_exact(e.volumes.tensor + e.volumes.context + e.volumes.expert + e.volumes.pipeline +
                     e.volumes.data,
                 0);
}

static void test_alone(void **state)
{
    (void)state;
    draw_each(seed, draw_count(LEGAL), check_alone);
}

/* ---- replicas ------------------------------------------------------------------------------- */

/* Twice the replicas with twice the batch: what a rank computes is the same. */
static void check_replicas(const struct draw *d, uint64_t *r)
{
    static const rk_part same[] = {
        RK_PART_LINEAR, RK_PART_ATTENTION, RK_PART_EXPERT,    RK_PART_STREAM,
        RK_PART_CAST,   RK_PART_HEAD,      RK_PART_RECOMPUTE, RK_PART_TP,
        RK_PART_CP,     RK_PART_HOST,      RK_PART_BUBBLE,
    };
    static rk_cost_table table;
    rk_strategy s = d->strategy;
    rk_estimate one, two;
    (void)r;
    if (rk_has_pass_traffic(&s)) { /* passes wait for traffic that depends on dp */
        return;
    }
    s.dp *= 2;
    s.global_batch *= 2;
    rk_cost_table_fill(&d->model, &d->system, &d->stack, &s, &table);
    combine(&d->table, &d->strategy, &one);
    combine(&table, &s, &two);
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        assert_near(two.times.part[same[i]], one.times.part[same[i]], 1e-12);
    }
    assert_near(two.model_flops, one.model_flops, 1e-12);
    if (s.sharding == RK_SHARD_NONE) {
        assert_near(two.memory.total, one.memory.total, 1e-12);
    }
}

static void test_replicas(void **state)
{
    (void)state;
    draw_each(seed, draw_count(LEGAL), check_replicas);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* A table serves all strategies with the same blocks. */
static void check_shared(const struct draw *d, uint64_t *r)
{
    static rk_cost_table table;
    rk_strategy s = d->strategy;
    rk_estimate shared, own;
    const rk_strategy other = draw_strategy(r, &d->model);
    s.pp = other.pp;
    s.vp = other.vp;
    s.dp = other.dp;
    s.schedule = other.schedule;
    s.sharding = other.sharding;
    s.replicas = other.replicas;
    s.global_batch = s.micro_batch * s.dp * s.pp * (1 + draw_below(r, 4));
    s.grad_overlap = other.grad_overlap;
    s.param_overlap = other.param_overlap;
    s.pp_overlap = other.pp_overlap;
    s.offload_optimizer = other.offload_optimizer;
    s.recompute_layers = other.recompute_layers;
    if (!rk_strategy_legal(&d->model, &d->system, &s, RK_FRAMEWORK_ANY, NULL)) {
        return;
    }
    rk_cost_table_fill(&d->model, &d->system, &d->stack, &s, &table);
    combine(&table, &s, &own);
    combine(&d->table, &s, &shared);
    for (int i = 0; i < RK_PART_COUNT; i++) {
        assert_exact(shared.times.part[i], own.times.part[i]);
    }
    for (int i = 0; i < RK_MEMORY_PART_COUNT; i++) {
        assert_exact(shared.memory.part[i], own.memory.part[i]);
    }
    assert_exact(shared.volumes.data, own.volumes.data);
    assert_exact(shared.volumes.pipeline, own.volumes.pipeline);
}

static void test_shared(void **state)
{
    (void)state;
    draw_each(seed, draw_count(LEGAL), check_shared);
}

/* ---- schedules ------------------------------------------------------------------------------ */

/*
 * Messages that hold their sender are exact in GPipe, where all ranks but the ends wait as long,
 * and up to one too many in 1F1B; of other schedules they are known to within half.
 */
static void check_sends(const struct draw *d, double closed, double played)
{
    double bytes;
    const double once = rk_send_seconds(&d->table, &d->strategy, &bytes), more = closed - played;
    const double rounding = 1e-9 * closed + 1e-12;
    switch (d->strategy.schedule) {
    case RK_SCHEDULE_GPIPE:
        assert_true(fabs(more) <= rounding);
        break;
    case RK_SCHEDULE_1F1B:
        assert_true(more >= -rounding && more <= once + rounding);
        break;
    default:
        assert_true(fabs(more) <= closed / 2);
    }
}

/* The pipeline of a strategy with its chunks, in times[]. */
static rk_pipeline pipeline_of(const struct draw *d, double send, rk_chunk_times *times)
{
    const rk_strategy *s = &d->strategy;
    const int64_t v = rk_stage_chunks(s);
    rk_chunk chunks[RK_CHUNK_MAX];
    rk_strategy_chunks(&d->model, s, chunks);
    for (int64_t rank = 0; rank < s->pp; rank++) {
        rk_stage_times(&d->table, s, &chunks[rank * v], false, &times[rank * v]);
    }
    return rk_pipeline_of(s, times, send);
}

static double played_seconds(const rk_pipeline *pipeline)
{
    rk_pipeline_result result = {0};
    rk_error err;
    assert_int_equal(rk_pipeline_play(pipeline, &result, NULL, NULL, &err), RK_OK);
    return result.seconds;
}

/* Equal stages: the closed form is what playing the schedule gives. */
static void check_uniform(const struct draw *d, uint64_t *r)
{
    static struct draw u;
    static rk_stage_memory stages[64];
    const rk_layer_type kind = d->model.types[0];
    const uint8_t kinds[RK_LAYER_MAX] = {0};
    rk_chunk_times times[64 * 4];
    rk_estimate e;
    double bytes;
    u = *d;
    u.model.mtp_layers = 0;
    u.model.tied = false; /* there is no table to share */
    u.strategy.count_embedding = u.strategy.count_head = false;
    const int64_t parts = rk_schedule_stages(u.strategy.schedule, u.strategy.pp, u.strategy.vp);
    rk_model_set_layers(&u.model, &kind, kinds, (int)(parts * (1 + draw_below(r, 3))));
    rk_cost_table_fill(&u.model, &u.system, &u.stack, &u.strategy, &u.table);
    u.table.embedding = u.table.head = (rk_cost){.saved = 0};
    const double send = rk_send_seconds(&u.table, &u.strategy, &bytes);
    const rk_pipeline without = pipeline_of(&u, 0, times), with = pipeline_of(&u, send, times);
    const double closed = rk_pipeline_seconds(&without), played = played_seconds(&without);
    if (!rk_schedules[u.strategy.schedule]->closed) {
        assert_true(closed <= played * (1 + 1e-9)); /* a bound */
        return;
    }
    assert_true(fabs(closed - played) <= 1e-9 * played);
    check_sends(&u, rk_pipeline_seconds(&with) - closed, played_seconds(&with) - played);
    estimate(&u.table, &u.strategy, RK_FLOPS_MEGATRON, &e, stages);
    for (int64_t rank = 0; rank < u.strategy.pp; rank++) {
        assert_true(rk_needed_bytes(&stages[rank]) <= rk_needed_bytes(&e.memory));
    }
    assert_exact(stages[e.worst_stage].total, e.memory.total);
}

/* Compute, visible communication of layers and the bubble are the pipeline from end to end. */
static void check_makespan(const struct draw *d, uint64_t *r)
{
    static const rk_part besides[] = {RK_PART_PP, RK_PART_OFFLOAD, RK_PART_DP, RK_PART_OPTIMIZER,
                                      RK_PART_FIXED};
    const rk_strategy *s = &d->strategy;
    rk_chunk_times times[64 * 4];
    rk_chunk chunks[RK_CHUNK_MAX];
    rk_estimate e;
    double casts = 0, most = 0; /* of the weights of the rank with most parameters, once a step */
    (void)r;
    /* Passes that wait for traffic are compared with the second implementation. */
    if (rk_has_pass_traffic(s)) {
        return;
    }
    const int64_t v = rk_stage_chunks(s);
    rk_strategy_chunks(&d->model, s, chunks);
    for (int64_t rank = 0; rank < s->pp; rank++) {
        const rk_stage stage = rk_stage_of(&d->table, s, &chunks[rank * v]);
        rk_stage_times(&d->table, s, &chunks[rank * v], false, &times[rank * v]);
        const double params = stage.dense_params + stage.expert_params;
        casts = params > most ? rk_weight_cast_seconds(&d->table, s, &stage) : casts;
        most = fmax(most, params);
    }
    const rk_pipeline pipeline = {
        .kind = s->schedule,
        .ranks = s->pp,
        .chunks_per_rank = v,
        .microbatches = rk_strategy_microbatches(s),
        .chunks = times,
        .rolls = s->schedule == RK_SCHEDULE_ZB_H2,
    };
    combine(&d->table, s, &e);
    double inside = e.step - casts;
    for (size_t i = 0; i < sizeof(besides) / sizeof(besides[0]); i++) {
        inside -= e.times.part[besides[i]];
    }
    if (!s->sp) { /* else gradients of norms are reduced at the end, in the part of TP */
        assert_near(inside, played_seconds(&pipeline), 1e-9);
    }
}

static void test_makespan(void **state)
{
    (void)state;
    draw_each(seed, draw_count(LEGAL), check_makespan);
}

static void test_uniform(void **state)
{
    (void)state;
    draw_each(seed, draw_count(LEGAL), check_uniform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),    cmocka_unit_test(test_states),
        cmocka_unit_test(test_flops),    cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_offload),  cmocka_unit_test(test_full_sharding),
        cmocka_unit_test(test_alone),    cmocka_unit_test(test_replicas),
        cmocka_unit_test(test_shared),   cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_makespan), cmocka_unit_test(test_all_ranks),
    };
    printf("seed %llx, %d strategies\n", (unsigned long long)seed, draw_count(LEGAL));
    return cmocka_run_group_tests(tests, draw_load, NULL);
}
