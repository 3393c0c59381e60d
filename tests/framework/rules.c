/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule broken once, alone; nearest legal values; random strategies against Megatron's list.
 */
#include "../strategy/models.h"

#include "framework/rules.h"
#include "layer/model_load.h"

enum { DENSE, MOE };

#define ANY         RK_FRAMEWORK_ANY
#define MEGATRON    RK_FRAMEWORK_MEGATRON
#define TITAN       RK_FRAMEWORK_TORCHTITAN
#define DEEPSPEED   RK_FRAMEWORK_DEEPSPEED
#define MINDSPEED   RK_FRAMEWORK_MINDSPEED
#define MAXTEXT     RK_FRAMEWORK_MAXTEXT
#define NEURONX     RK_FRAMEWORK_NEURONX
#define HUGGINGFACE RK_FRAMEWORK_HUGGINGFACE
#define PRIMUS      RK_FRAMEWORK_PRIMUS

/* A legal strategy of a framework: 64 accelerators, 16 microbatches. */
static rk_strategy base_strategy(const rk_model *model, rk_framework framework)
{
    rk_strategy s = rk_strategy_defaults(model);
    s.schedule = framework == MAXTEXT ? RK_SCHEDULE_GPIPE : RK_SCHEDULE_1F1B;
    s.sharding = framework == TITAN ? RK_SHARD_GRADIENTS : RK_SHARD_NONE;
    s.tp = 2;
    s.pp = framework == HUGGINGFACE ? 1 : 4;
    s.dp = framework == HUGGINGFACE ? 32 : 8;
    s.ep = model->type_count > 1 ? 8 : 1;
    s.sp = model->type_count > 1 && framework != DEEPSPEED && framework != HUGGINGFACE;
    s.global_batch = 128;
    return s;
}

/* Gives the first layers a recurrence in place of attention. */
static void make_recurrent(rk_model *m, int64_t heads)
{
    m->types[0].mixer = &rk_mixer_mamba2;
    m->types[0].attention = (rk_attention_shape){0};
    m->types[0].recurrence = (rk_recurrence_shape){
        .heads = heads, .key_heads = heads, .key_size = 64, .value_size = 64, .chunk = 64};
}

/* All layers but the first take their keys and values from it. */
static void borrow(rk_model *m)
{
    m->types[m->type_count] = m->types[0];
    m->types[m->type_count].attention.kv_source = RK_KV_BORROWED;
    for (int i = 1; i < m->layers; i++) {
        m->type_of[i] = (uint8_t)m->type_count;
    }
    m->type_count++;
}

/* All layers but the first borrow the weights of its block. */
static void share(rk_model *m)
{
    m->types[m->type_count] = m->types[0];
    m->types[m->type_count].shared.borrowed = true;
    for (int i = 1; i < m->layers; i++) {
        m->type_of[i] = (uint8_t)m->type_count;
    }
    m->type_count++;
}

/* Name, framework, model, rule, and what breaks it. */
#define BREAKS(X)                                                                                  \
    X(zero, ANY, DENSE, "sizes", s->tp = 0)                                                        \
    X(large, MEGATRON, DENSE, "sizes", s->seq = (int64_t)1 << 40)                                  \
    X(negative, ANY, DENSE, "sizes", s->replicas = INT64_MIN)                                      \
    X(accelerators, ANY, DENSE, "accelerators", s->dp = 1 << 29; s->global_batch = 1 << 29)        \
    X(imbalance, ANY, MOE, "amounts", s->imbalance = 0.5)                                          \
    X(adapters, ANY, DENSE, "amounts", s->adapter_rank = 8)                                        \
    X(document, ANY, DENSE, "amounts", s->document = -1)                                           \
    X(batch, ANY, DENSE, "gbs % (mbs*dp)", s->global_batch = 130)                                  \
    X(folding, ANY, MOE, "tp*cp*dp % (ep*etp)", s->ep = 12)                                        \
    X(vp_alone, ANY, DENSE, "vp needs pp > 1", s->pp = 1; s->vp = 2; interleave(s))                \
    X(gpipe_alone, ANY, DENSE, "schedule needs pp > 1", s->pp = 1; gpipe(s))                       \
    X(vp_plain, ANY, DENSE, "vp needs interleaving", s->vp = 2)                                    \
    X(no_vp, ANY, DENSE, "interleaving needs vp > 1", interleave(s))                               \
    X(gpipe, MEGATRON, DENSE, "schedule of the framework", gpipe(s))                               \
    X(zb_h1, TITAN, DENSE, "schedule of the framework", s->schedule = RK_SCHEDULE_ZB_H1)           \
    X(chunks, DEEPSPEED, DENSE, "schedule of the framework", s->vp = 2; interleave(s))             \
    X(odd_ranks, ANY, DENSE, "pp of the schedule", s->pp = 5; dualpipe(s))                         \
    X(borrowed, ANY, DENSE, "borrowed keys and values", borrow(m))                                 \
    X(blocks, ANY, DENSE, "shared blocks", share(m))                                               \
    X(remainder, MEGATRON, DENSE, "microbatches % pp", s->vp = 2; interleave(s);                   \
      s->global_batch = 8 * 18)                                                                    \
    X(few, ANY, DENSE, "microbatches of the schedule", s->schedule = RK_SCHEDULE_ZB_V;             \
      s->global_batch = 8 * 6)                                                                     \
    X(odd, ANY, DENSE, "microbatches of the schedule", dualpipe(s); s->global_batch = 8 * 17)      \
    X(pipelined, HUGGINGFACE, DENSE, "pipelines of the framework", s->pp = 4; s->dp = 8)           \
    X(blocks_split, HUGGINGFACE, DENSE, "quantised weights stay whole",                            \
      s->nf4_weights = s->low_weights = true;                                                      \
      s->adapter_rank = 8; s->adapter_modules = 3; s->learning = 0.01)                             \
    X(rounds, MAXTEXT, DENSE, "microbatches of the pipeline", s->global_batch = 8 * 18)            \
    X(two_ranks, MEGATRON, DENSE, "interleaving of two ranks", s->pp = 2; s->vp = 2;               \
      interleave(s); s->pp_overlap = false)                                                        \
    X(layout_below, ANY, DENSE, "layout", lay_out(s, 4, 20, -1, 41, 20))                           \
    X(layout_split, ANY, DENSE, "layout", lay_out(s, 4, 20, 20, 20, 20); s->count_head = true)     \
    X(layout_own, ANY, DENSE, "layout", lay_out(s, 4, 20, 20, 20, 20); s->last_stage_layers = 20)  \
    X(layout_short, MEGATRON, DENSE, "layout", lay_out(s, 2, 30, 50))                              \
    X(layout_chunks, MEGATRON, DENSE, "layout", s->vp = 2; interleave(s);                          \
      lay_out(s, 4, 20, 20, 20, 20))                                                               \
    X(layout_sum, MEGATRON, DENSE, "layout", lay_out(s, 4, 20, 23, 20, 19))                        \
    X(layout_none, ANY, DENSE, "layout", lay_out(s, 4, 90, 90, 90, 90))                            \
    X(own_alone, ANY, DENSE, "stage layers need pp > 1", s->pp = 1; s->first_stage_layers = 3)     \
    X(both_ways, ANY, DENSE, "stage layers or counted ends", s->first_stage_layers = 18;           \
      s->last_stage_layers = 22; s->count_head = true)                                             \
    X(own_few, ANY, DENSE, "layers of a given stage", s->vp = 4; interleave(s);                    \
      s->last_stage_layers = 2)                                                                    \
    X(more_stages, ANY, DENSE, "layers >= stages", s->pp = 81)                                     \
    X(left_over, ANY, DENSE, "layers >= stages", s->pp = 2; s->first_stage_layers = 30;            \
      s->last_stage_layers = 40)                                                                   \
    X(given_all, ANY, DENSE, "layers >= stages", s->first_stage_layers = 78)                       \
    X(uneven, MEGATRON, DENSE, "layers % (pp*vp)", s->pp = 3)                                      \
    X(uneven_chunks, MEGATRON, DENSE, "layers % (pp*vp)", s->vp = 3; interleave(s))                \
    X(counted, MEGATRON, DENSE, "layers % (pp*vp)", s->count_embedding = true)                     \
    X(uneven_own, MEGATRON, DENSE, "layers % (pp*vp)", s->first_stage_layers = 19)                 \
    X(own_chunks, MEGATRON, DENSE, "stage layers % vp", s->vp = 2; interleave(s);                  \
      s->first_stage_layers = 19; s->last_stage_layers = 21)                                       \
    X(own_xla, MAXTEXT, DENSE, "stages of the framework", s->first_stage_layers = 20)              \
    X(heads, ANY, DENSE, "heads % tp", s->tp = 128)                                                \
    X(kv_heads, MEGATRON, DENSE, "kv_heads % tp", m->types[0].attention.kv_heads = 3)              \
    X(state_heads, ANY, DENSE, "state_heads % tp", make_recurrent(m, 5))                           \
    X(state_context, ANY, DENSE, "state_heads % (tp*cp)", s->cp = 16; make_recurrent(m, 16))       \
    X(mamba_fp8, MEGATRON, DENSE, "mamba fp8 % 16", s->precision = RK_FP8; make_recurrent(m, 2))   \
    X(indexer, MEGATRON, DENSE, "indexer needs all-gather", s->cp = 2;                             \
      m->types[0].attention.kv_rank = 512; m->types[0].attention.index.keys = 2048)                \
    X(copied_kv, TITAN, DENSE, "kv_heads of the framework", s->tp = 16)                            \
    X(ffn, ANY, DENSE, "ffn % tp", m->types[0].ffn.width = 28671)                                  \
    X(shared, ANY, MOE, "ffn % tp", m->types[1].moe.shared_width = 2047)                           \
    X(no_experts, ANY, DENSE, "ep needs experts", s->ep = 2; s->sp = true)                         \
    X(experts, ANY, MOE, "experts % ep", m->types[1].moe.experts = 100)                            \
    X(expert_ffn, ANY, MOE, "expert_ffn % etp", s->etp = 2; m->types[1].moe.expert_width = 2047)   \
    X(ep_tp, MEGATRON, MOE, "ep with tp needs sp", s->sp = false)                                  \
    X(order_experts, ANY, MOE, "ep*etp = tp*cp", s->order = RK_ORDER_PIPELINE_DATA)                \
    X(order_titan, TITAN, DENSE, "order of the framework", s->order = RK_ORDER_PIPELINE_DATA)      \
    X(bias, MEGATRON, MOE, "expert bias needs etp = 1", s->etp = 2;                                \
      m->types[1].moe.expert_bias = true)                                                          \
    X(etp, TITAN, MOE, "etp", s->etp = 2)                                                          \
    X(context, ANY, DENSE, "seq % cp", s->cp = 3)                                                  \
    X(balance, MEGATRON, DENSE, "seq % (2*cp)", s->cp = 2; s->seq = 8190)                          \
    X(sequence, ANY, DENSE, "seq/cp % tp", s->sp = true; s->seq = 8191)                            \
    X(positions, ANY, DENSE, "seq <= positions", m->learned_positions = 4096)                      \
    X(ulysses, ANY, DENSE, "heads % (tp*cp)", s->cp = 64; s->cp_kind = RK_CP_ULYSSES)              \
    X(ulysses_kv, ANY, DENSE, "kv_heads % (tp*cp)", s->cp = 2; s->cp_kind = RK_CP_ULYSSES;         \
      m->types[0].attention.kv_heads = 6)                                                          \
    X(ring, DEEPSPEED, DENSE, "cp of the framework", s->cp = 2)                                    \
    X(exchange, TITAN, DENSE, "cp of the framework", s->cp = 2; s->cp_kind = RK_CP_ULYSSES)        \
    X(gathered, NEURONX, DENSE, "cp of the framework", s->cp = 2; s->cp_kind = RK_CP_ALL_GATHER)   \
    X(sp, DEEPSPEED, DENSE, "sp", s->sp = true)                                                    \
    X(muon_sharded, ANY, DENSE, "muon or ZeRO", s->optimizer = RK_OPTIMIZER_MUON;                  \
      s->sharding = RK_SHARD_OPTIMIZER)                                                            \
    X(muon_dealt, ANY, DENSE, "dist-muon is ZeRO-1", s->optimizer = RK_OPTIMIZER_DIST_MUON)        \
    X(unsharded, ANY, DENSE, "replicas need sharding", s->replicas = 2)                            \
    X(replicas, ANY, DENSE, "dp*cp % replicas", s->replicas = 3; s->sharding = RK_SHARD_OPTIMIZER) \
    X(expert_replicas, ANY, MOE, "expert_dp % replicas", s->replicas = 8;                          \
      s->sharding = RK_SHARD_OPTIMIZER)                                                            \
    X(zero2, MEGATRON, DENSE, "sharding with pp", s->sharding = RK_SHARD_GRADIENTS)                \
    X(zero3, DEEPSPEED, DENSE, "sharding with pp", s->sharding = RK_SHARD_ALL)                     \
    X(zero1, TITAN, DENSE, "sharding of the framework", s->sharding = RK_SHARD_OPTIMIZER)          \
    X(zero2_xla, MAXTEXT, DENSE, "sharding of the framework", s->sharding = RK_SHARD_GRADIENTS)    \
    X(zero3_neuron, NEURONX, DENSE, "sharding of the framework", s->sharding = RK_SHARD_ALL)       \
    X(ddp, TITAN, DENSE, "ZeRO-0 needs data parallelism alone", s->sharding = RK_SHARD_NONE)       \
    X(fp4, ANY, DENSE, "precision", s->precision = RK_FP4)                                         \
    X(mxfp8, ANY, DENSE, "mxfp8 of the accelerator", s->precision = RK_FP8;                        \
      s->fp8_recipe = RK_FP8_MX)                                                                   \
    X(kernel, ANY, DENSE, "attention kernel", s->attention_kernel = RK_KERNEL_CUDNN_MXFP8)         \
    X(wide_weights, ANY, DENSE, "fp8 weights need fp8", s->low_weights = true;                     \
      s->sharding = RK_SHARD_OPTIMIZER)                                                            \
    X(low_weights, MEGATRON, DENSE, "fp8 weights need ZeRO", s->precision = RK_FP8;                \
      s->low_weights = true)                                                                       \
    X(low_offload, MEGATRON, DENSE, "fp8 weights or optimizer offload", s->precision = RK_FP8;     \
      s->low_weights = true; s->sharding = RK_SHARD_OPTIMIZER; s->offload_optimizer = true)        \
    X(delayed, MEGATRON, DENSE, "delayed or recompute", s->precision = RK_FP8;                     \
      s->fp8_recipe = RK_FP8_DELAYED; recompute(s, RK_MODULE_NORM))                                \
    X(ungated, ANY, DENSE, "fp8 activation inputs need a gate", s->low_activations = true;         \
      m->types[0].ffn.gated = false)                                                               \
    X(nf4, ANY, DENSE, "nf4 needs adapters", s->nf4_weights = s->low_weights = true)               \
    X(gradients_alone, ANY, DENSE, "gradient offload needs the optimizer",                         \
      s->offload_gradients = true)                                                                 \
    X(nvme_alone, ANY, DENSE, "NVMe needs offload", s->nvme_optimizer = true)                      \
    X(nvme_megatron, MEGATRON, DENSE, "NVMe of the framework",                                     \
      s->offload_optimizer = s->nvme_optimizer = true)                                             \
    X(nvme_zero1, DEEPSPEED, DENSE, "NVMe needs ZeRO-3", s->sharding = RK_SHARD_OPTIMIZER;         \
      s->offload_optimizer = s->nvme_optimizer = true)                                             \
    X(modules, ANY, DENSE, "selective needs modules", s->recompute = RK_REC_SELECTIVE)             \
    X(operators, ANY, DENSE, "operators or modules",                                               \
      recompute(s, RK_MODULE_OPERATORS | RK_MODULE_NORM))                                          \
    X(streams, ANY, DENSE, "mhc needs hyper-connections", recompute(s, RK_MODULE_STREAMS))         \
    X(operators_of, MEGATRON, DENSE, "modules of the framework",                                   \
      recompute(s, RK_MODULE_OPERATORS))                                                           \
    X(modules_of, TITAN, DENSE, "modules of the framework", recompute(s, RK_MODULE_NORM))          \
    X(latent_neuron, NEURONX, DENSE, "modules of the framework",                                   \
      recompute(s, RK_MODULE_ACTIVATION))                                                          \
    X(policy, MAXTEXT, DENSE, "policy of the framework", recompute(s, RK_MODULE_NORM))             \
    X(some_layers, MAXTEXT, DENSE, "recompute layers of the framework",                            \
      s->recompute = RK_REC_FULL;                                                                  \
      s->recompute_layers = 2)                                                                     \
    X(split_rec, PRIMUS, DENSE, "recompute of the schedule", s->schedule = RK_SCHEDULE_V_HALF;     \
      s->recompute = RK_REC_FULL)                                                                  \
    X(split_h2, PRIMUS, DENSE, "schedule of the framework", s->schedule = RK_SCHEDULE_ZB_H2)       \
    X(count, MEGATRON, DENSE, "recompute layers need full", s->recompute_layers = 2)               \
    X(latent, MEGATRON, DENSE, "mla_up needs MLA", recompute(s, RK_MODULE_MLA_UP))                 \
    X(act, MEGATRON, DENSE, "act needs experts",                                                   \
      recompute(s, RK_MODULE_NORM | RK_MODULE_ACTIVATION))                                         \
    X(weights_ascend, MINDSPEED, DENSE, "weight offload of the framework", s->pp = 1;              \
      s->offload_weights = true)                                                                   \
    X(weights_pp, MEGATRON, DENSE, "weight offload needs pp = 1", s->offload_weights = true)       \
    X(weights_rec, MEGATRON, DENSE, "weight offload or recompute", s->pp = 1;                      \
      s->offload_weights = true; s->recompute = RK_REC_FULL)                                       \
    X(weights, DEEPSPEED, DENSE, "weight offload needs ZeRO-3", s->offload_weights = true)         \
    X(optimizer, DEEPSPEED, DENSE, "optimizer offload needs ZeRO", s->offload_optimizer = true)    \
    X(tp_overlap, MEGATRON, DENSE, "tp overlap needs sp", s->tp_overlap = true)                    \
    X(gather, MEGATRON, DENSE, "param overlap needs grad overlap", s->grad_overlap = false;        \
      s->sharding = RK_SHARD_OPTIMIZER)                                                            \
    X(moe_ep, MEGATRON, MOE, "moe overlap needs ep > 1", s->ep = 1; s->pp = 1;                     \
      s->moe_overlap = true)                                                                       \
    X(moe_vp, MEGATRON, MOE, "moe overlap needs vp > 1", s->moe_overlap = true)                    \
    X(moe_full, MEGATRON, MOE, "moe overlap or recompute", s->pp = 1; s->moe_overlap = true;       \
      s->recompute = RK_REC_FULL)                                                                  \
    X(moe_module, MEGATRON, MOE, "moe overlap or recompute", s->pp = 1; s->moe_overlap = true;     \
      recompute(s, RK_MODULE_MOE))                                                                 \
    X(moe_mtp, MEGATRON, MOE, "moe overlap needs mtp <= 1", s->pp = 1; s->moe_overlap = true;      \
      m->mtp_layers = 2)

static void interleave(rk_strategy *s)
{
    s->schedule = RK_SCHEDULE_INTERLEAVED;
}

/* Up to four stages; those that are not given have no layers. */
#define lay_out(s, count, ...)                                                                     \
    do {                                                                                           \
        static const int16_t layout[4] = {__VA_ARGS__};                                            \
        (s)->layout = layout;                                                                      \
        (s)->layout_count = count;                                                                 \
    } while (0)

static void gpipe(rk_strategy *s)
{
    s->schedule = RK_SCHEDULE_GPIPE;
}

static void dualpipe(rk_strategy *s)
{
    s->schedule = RK_SCHEDULE_DUALPIPE;
}

static void recompute(rk_strategy *s, unsigned modules)
{
    s->recompute = RK_REC_SELECTIVE;
    s->recompute_modules = modules;
}

#define BREAKER(id, framework, kind, rule, code)                                                   \
    static void break_##id(rk_model *m, rk_strategy *s)                                            \
    {                                                                                              \
        (void)m;                                                                                   \
        (void)s;                                                                                   \
        code;                                                                                      \
    }
BREAKS(BREAKER)

#define ROW(id, framework, kind, rule, code) {framework, kind, rule, break_##id},
static const struct {
    rk_framework framework;
    int kind;
    const char *rule;
    void (*breaks)(rk_model *, rk_strategy *);
} breakages[] = {BREAKS(ROW)};

#define BREAKAGE_COUNT (sizeof(breakages) / sizeof(breakages[0]))

/* A system that multiplies in bf16 and fp8. */
static rk_system hopper_like(void)
{
    rk_system system = {.tier_count = 1};
    system.accelerator.gemm[RK_BF16].peak = 1e15;
    system.accelerator.gemm[RK_FP8].peak = 2e15;
    return system;
}

static void fill_model(rk_model *model, int kind)
{
    if (kind == MOE) {
        fill_moe(model);
    } else {
        fill_dense(model);
    }
}

static void assert_legal(const rk_model *model, const rk_strategy *s, rk_framework framework)
{
    rk_legality violation;
    if (!rk_strategy_legal(model, NULL, s, framework, &violation)) {
        fail_msg("%s: %s: %s", rk_framework_names[framework], violation.rule, violation.message);
    }
    assert_null(violation.rule);
}

static void test_base_is_legal(void **state)
{
    (void)state;
    for (int kind = DENSE; kind <= MOE; kind++) {
        rk_model model;
        fill_model(&model, kind);
        for (int f = 0; f < RK_FRAMEWORK_COUNT; f++) {
            const rk_strategy s = base_strategy(&model, (rk_framework)f);
            assert_legal(&model, &s, (rk_framework)f);
        }
        rk_strategy s = rk_strategy_defaults(&model);
        assert_legal(&model, &s, RK_FRAMEWORK_MEGATRON);
        assert_int_equal(rk_strategy_ranks(&s), 1);
        assert_int_equal(rk_strategy_microbatches(&s), 1);
    }
}

/* No rule of another name is broken. */
static void assert_alone(const struct question *q, const char *name)
{
    size_t broken[16], count;
    count = rk_strategy_broken(q->model, q->system, q->strategy, q->framework, broken, 16);
    for (size_t i = 0; i < count; i++) {
        const char *other = rk_framework_rule(q->framework, broken[i]);
        if (strcmp(other, name) != 0) {
            fail_msg("%s breaks %s too", name, other);
        }
    }
}

/* A rule that a search takes for one of degrees is broken with any pipeline and recompute. */
static void assert_of_degrees(const struct question *q, const char *name)
{
    rk_strategy s = *q->strategy;
    size_t broken[16], count;
    bool found = false;
    s.pp = q->strategy->pp == 1 ? 4 : 1;
    s.dp *= 2;
    s.micro_batch *= 2;
    s.sharding = q->strategy->sharding == RK_SHARD_ALL ? RK_SHARD_OPTIMIZER : RK_SHARD_ALL;
    s.recompute = RK_REC_FULL;
    count = rk_strategy_broken(q->model, q->system, &s, q->framework, broken, 16);
    for (size_t i = 0; i < count && i < 16; i++) {
        found = found || strcmp(rk_framework_rule(q->framework, broken[i]), name) == 0;
    }
    if (!found) {
        fail_msg("%s is kept with another pipeline", name);
    }
}

/* Whether a framework has a rule of this name. */
static bool has_rule(rk_framework framework, const char *name)
{
    const char *other;
    for (size_t i = 0; (other = rk_framework_rule(framework, i)) != NULL; i++) {
        if (strcmp(other, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Exactly the expected rule is broken; frameworks that do not have it do not name it. */
static void test_each_rule_alone(void **state)
{
    const rk_system system = hopper_like();
    int of_degrees = 0;
    (void)state;
    for (size_t i = 0; i < BREAKAGE_COUNT; i++) {
        rk_model model;
        rk_legality violation;
        fill_model(&model, breakages[i].kind);
        rk_strategy s = base_strategy(&model, breakages[i].framework);
        breakages[i].breaks(&model, &s);
        if (rk_strategy_legal(&model, &system, &s, breakages[i].framework, &violation)) {
            fail_msg("%s is kept", breakages[i].rule);
        }
        assert_string_equal(violation.rule, breakages[i].rule);
        assert_true(strlen(violation.message) > 20);
        assert_null(strchr(violation.message, '{'));
        assert_false(rk_strategy_legal(&model, &system, &s, breakages[i].framework, NULL));

        const struct question q = {&model, &system, &s, breakages[i].framework};
        if (strcmp(violation.rule, "sizes") != 0) { /* the rules after it rely on it */
            assert_alone(&q, violation.rule);
        }
        bool nowhere;
        if (!rk_strategy_legal_here(&model, &system, &s, q.framework, &nowhere) && nowhere) {
            assert_of_degrees(&q, violation.rule);
            of_degrees++;
        }
    }
    assert_true(of_degrees > 10);
}

/* Every rule of every framework is broken by a case of some framework that has it. */
static void test_every_rule_is_tested(void **state)
{
    (void)state;
    for (int f = 0; f < RK_FRAMEWORK_COUNT; f++) {
        const char *name;
        for (size_t r = 0; (name = rk_framework_rule((rk_framework)f, r)) != NULL; r++) {
            bool found = false;
            for (size_t i = 0; i < BREAKAGE_COUNT; i++) {
                found = found || (strcmp(breakages[i].rule, name) == 0 &&
                                  has_rule(breakages[i].framework, name));
            }
            if (!found) {
                fail_msg("no test breaks \"%s\" of %s", name, rk_framework_names[f]);
            }
        }
    }
}

/* Only who refuses it refuses it. */
static void test_frameworks_differ(void **state)
{
    const rk_system system = hopper_like();
    (void)state;
    for (size_t i = 0; i < BREAKAGE_COUNT; i++) {
        rk_model model;
        fill_model(&model, breakages[i].kind);
        rk_strategy s = base_strategy(&model, breakages[i].framework);
        breakages[i].breaks(&model, &s);
        for (int f = 0; f < RK_FRAMEWORK_COUNT; f++) {
            rk_legality violation;
            (void)rk_strategy_legal(&model, &system, &s, (rk_framework)f, &violation);
            if (!has_rule((rk_framework)f, breakages[i].rule) && violation.rule) {
                assert_string_not_equal(violation.rule, breakages[i].rule);
            }
        }
    }
}

/* Heads of every type of layers split over tensor ranks, not of the first alone. */
static void test_heads_of_types(void **state)
{
    rk_model model;
    rk_error err;
    rk_legality violation;
    (void)state;
    assert_int_equal(rk_model_load("gemma3-27b", &model, &err), RK_OK);
    assert_int_equal(model.type_count, 2);
    rk_strategy s = rk_strategy_defaults(&model);
    s.tp = s.global_batch = 4;
    assert_true(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_ANY, NULL));
    model.types[1].attention.query_heads = model.types[1].attention.kv_heads = 6;
    assert_false(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_ANY, &violation));
    assert_string_equal(violation.rule, "heads % tp");
}

/* Outputs of norms and of activations, recomputed, would enter a history of scales twice. */
static void test_delayed_scales(void **state)
{
    static const unsigned modules[] = {RK_MODULE_NORM, RK_MODULE_ACTIVATION};
    const rk_system system = hopper_like();
    (void)state;
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        rk_model model;
        fill_model(&model, modules[i] == RK_MODULE_ACTIVATION ? MOE : DENSE); /* of experts */
        rk_strategy s = base_strategy(&model, MEGATRON);
        s.precision = RK_FP8;
        s.recompute = RK_REC_SELECTIVE;
        s.recompute_modules = modules[i];
        for (int delayed = 0; delayed < 2; delayed++) {
            s.fp8_recipe = delayed ? RK_FP8_DELAYED : RK_FP8_TENSORWISE;
            assert_int_equal(rk_strategy_legal(&model, &system, &s, MEGATRON, NULL), !delayed);
        }
    }
}

/* DeepSeek-V4 has latents to recompute, though its attention is no MLA; Llama has none. */
static void test_recomputed_latents(void **state)
{
    static const char *const names[] = {"llama3-8b", "deepseek-v4-flash"};
    (void)state;
    for (int latents = 0; latents < 2; latents++) {
        rk_model model;
        rk_error err;
        rk_legality violation;
        assert_int_equal(rk_model_load(names[latents], &model, &err), RK_OK);
        rk_strategy s = rk_strategy_defaults(&model);
        s.recompute = RK_REC_SELECTIVE;
        s.recompute_modules = RK_MODULE_MLA_UP;
        assert_int_equal(rk_strategy_legal(&model, NULL, &s, MEGATRON, &violation), latents);
    }
}

/* MindSpeed hides expert messages within a micro-batch, whatever the stages and recomputation. */
static void test_ascend_expert_overlap(void **state)
{
    rk_model model;
    (void)state;
    fill_model(&model, MOE);
    rk_strategy s = base_strategy(&model, MINDSPEED);
    s.moe_overlap = true;
    assert_true(s.pp > 1 && s.vp == 1);
    assert_legal(&model, &s, MINDSPEED);
    s.recompute = RK_REC_FULL;
    assert_legal(&model, &s, MINDSPEED);
    assert_false(rk_strategy_legal(&model, NULL, &s, MEGATRON, NULL));
}

/* ---- messages ------------------------------------------------------------------------------ */

static void test_nearest(void **state)
{
    static const struct {
        void (*breaks)(rk_model *, rk_strategy *);
        rk_framework framework;
        int kind;
        const char *says;
    } cases[] = {
        {break_batch, ANY, DENSE,
         "the global batch 130 is not a multiple of 8 = micro-batch 1 x dp 8; nearest legal global "
         "batch: 128 or 136"},
        {break_heads, ANY, DENSE,
         "64 attention heads do not split over tp 128; nearest legal tp: 64"},
        {break_uneven, MEGATRON, DENSE, "nearest legal pp: 2 or 4"},
        {break_uneven_chunks, MEGATRON, DENSE,
         "80 layers do not split evenly over pp 4 x vp 3; nearest legal vp: 2 "
         "or 4"},
        {break_remainder, MEGATRON, DENSE, "nearest legal global batch: 128 or 160"},
        {break_experts, ANY, MOE, "nearest legal ep: 4"},
        {break_folding, ANY, MOE, "nearest legal ep: 8 or 16"},
        {break_balance, MEGATRON, DENSE, "nearest legal sequence: 8188 or 8192"},
        {break_layout_short, MEGATRON, DENSE,
         "the layout has 2 stages, but pp 4 with 1 stages each needs 4; nearest legal pp: 2"},
        {break_layout_sum, MEGATRON, DENSE,
         "the layout has 82 layers, but dense has 80; nearest legal: 21 instead of 23 on stage 1"},
        {break_layout_none, ANY, DENSE, "without a layout they are shared evenly"},
        {break_gpipe, MEGATRON, DENSE,
         "megatron does not run the schedule gpipe; it runs 1f1b and interleaved"},
        {break_more_stages, ANY, DENSE, "nearest legal pp: 80"},
        {break_odd_ranks, ANY, DENSE, "nearest legal pp: 4 or 6"},
        {break_exchange, TITAN, DENSE,
         "torchtitan does not split sequences by ulysses; use cp of the kind ring or all-gather"},
        {break_modules_of, TITAN, DENSE,
         "torchtitan does not recompute the modules norm; it recomputes operators"},
        {break_zero2, MEGATRON, DENSE,
         "megatron does not run ZeRO-2 with pp 4; use ZeRO-0 or 1; nearest legal pp: 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_model model;
        rk_legality violation;
        fill_model(&model, cases[i].kind);
        rk_strategy s = base_strategy(&model, cases[i].framework);
        cases[i].breaks(&model, &s);
        assert_false(rk_strategy_legal(&model, NULL, &s, cases[i].framework, &violation));
        if (!strstr(violation.message, cases[i].says)) {
            fail_msg("\"%s\" does not say \"%s\"", violation.message, cases[i].says);
        }
    }
}

/* A message that is longer than its place is cut, not overrun. */
static void test_long_message(void **state)
{
    rk_model model;
    rk_legality violation;
    (void)state;
    fill_dense(&model);
    rk_strategy s = base_strategy(&model, ANY);
    int64_t *sizes[] = {&s.tp, &s.cp,  &s.pp,          &s.vp,           &s.dp,
                        &s.ep, &s.etp, &s.micro_batch, &s.global_batch, &s.seq};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        *sizes[i] = INT64_MIN;
    }
    assert_false(rk_strategy_legal(&model, NULL, &s, ANY, &violation));
    assert_int_equal(strlen(violation.message), sizeof(violation.message) - 1);
}

/* ---- Megatron's list ----------------------------------------------------------------------- */

static rk_strategy random_strategy(const rk_model *model, uint64_t *seed)
{
    rk_strategy s = rk_strategy_defaults(model);
    s.tp = PICK(seed, 1, 1, 2, 3, 4, 8, 16, 32);
    s.cp = PICK(seed, 1, 1, 1, 2, 3, 4, 8);
    s.pp = PICK(seed, 1, 2, 3, 4, 5, 8, 16);
    s.dp = PICK(seed, 1, 2, 3, 4, 6, 8, 16);
    s.vp = one_in(seed, 3) ? PICK(seed, 2, 3, 4, 5) : 1;
    s.schedule = s.vp > 1 ? RK_SCHEDULE_INTERLEAVED : RK_SCHEDULE_1F1B;
    if (one_in(seed, 10)) {
        s.schedule = (rk_schedule_kind)random_int(seed, 0, RK_SCHEDULE_KIND_COUNT - 1);
    }
    s.ep = model->type_count > 1 || one_in(seed, 10) ? PICK(seed, 1, 2, 3, 4, 8, 10, 16) : 1;
    s.etp = PICK(seed, 1, 1, 1, 2, 4);
    if (one_in(seed, 4)) {
        s.order = RK_ORDER_PIPELINE_DATA;
        s.etp = one_in(seed, 2) ? s.tp : s.etp;
    }
    s.sp = s.tp > 1 && !one_in(seed, 3);
    s.cp_kind = (rk_cp_kind)random_int(seed, 0, 2);
    s.micro_batch = PICK(seed, 1, 1, 2, 3);
    s.global_batch = s.micro_batch * s.dp * PICK(seed, 1, 5, 8, 16, 30, 48);
    s.global_batch += one_in(seed, 10);
    s.seq = PICK(seed, 4096, 8192, 8190, 6144);
    s.sharding = (rk_sharding)random_int(seed, 0, 1);
    if (one_in(seed, 4)) {
        s.first_stage_layers = random_int(seed, 0, 24);
        s.last_stage_layers = random_int(seed, 0, 24);
    } else {
        s.count_embedding = one_in(seed, 5);
        s.count_head = one_in(seed, 5);
    }
    return s;
}

/* The layer split alone, as Megatron checks it, for one kind of split at a time. */
static bool megatron_splits(const rk_model *m, const rk_strategy *s)
{
    const int64_t first = s->first_stage_layers, last = s->last_stage_layers;
    if (first == 0 && last == 0) {
        const int64_t units = m->layers + (s->count_embedding ? 1 : 0) + (s->count_head ? 1 : 0);
        return units % s->pp == 0 && units / s->pp % s->vp == 0 && units >= s->pp * s->vp;
    }
    if (s->pp == 1 || first % s->vp != 0 || last % s->vp != 0) {
        return false;
    }
    const int64_t layers = m->layers - first - last;
    const int64_t ranks = s->pp - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
    if (ranks == 0 || layers <= 0) {
        return ranks == 0 && layers == 0;
    }
    return layers % ranks == 0 && layers / ranks % s->vp == 0;
}

static bool megatron_accepts_batch(const rk_strategy *s)
{
    if (s->global_batch % (s->micro_batch * s->dp) != 0) {
        return false;
    }
    const int64_t microbatches = s->global_batch / (s->micro_batch * s->dp);
    return s->vp > 1
               ? s->schedule == RK_SCHEDULE_INTERLEAVED && s->pp > 1 && microbatches % s->pp == 0
               : s->schedule == RK_SCHEDULE_1F1B;
}

static bool megatron_accepts_sequence(const rk_attention_shape *a, const rk_strategy *s)
{
    const int64_t kv = a->kv_heads, ranks = s->tp * s->cp;
    if (s->cp > 1 && s->seq % (2 * s->cp) != 0) {
        return false;
    }
    if (s->tp > 1 && s->sp && s->seq % ranks != 0) {
        return false;
    }
    return s->cp == 1 || s->cp_kind != RK_CP_ULYSSES ||
           (a->query_heads % ranks == 0 && (kv % ranks == 0 || ranks % kv == 0));
}

static bool megatron_accepts_experts(bool moe, const rk_strategy *s)
{
    const int64_t world = s->tp * s->cp * s->pp * s->dp;
    if (world % (s->etp * s->ep * s->pp) != 0) {
        return false;
    }
    /* groups of dense models are those of tensor parallelism alone */
    if (moe && s->order == RK_ORDER_PIPELINE_DATA && s->pp > 1 &&
        world / (s->etp * s->ep * s->pp) != s->dp) {
        return false;
    }
    if (moe && (2048 % s->tp != 0 || 2048 % s->etp != 0)) {
        return false;
    }
    return s->ep == 1 || (moe && 96 % s->ep == 0 && (s->tp == 1 || s->sp));
}

/* Everything that random_strategy varies, read off Megatron's checks. */
static bool megatron_accepts(const rk_model *m, const rk_strategy *s)
{
    const rk_attention_shape *a = &m->types[0].attention;
    const int64_t kv = a->kv_heads;
    if (a->query_heads % s->tp != 0 || (kv % s->tp != 0 && s->tp % kv != 0) || 28672 % s->tp != 0) {
        return false;
    }
    return megatron_accepts_batch(s) && megatron_accepts_sequence(a, s) &&
           megatron_accepts_experts(m->type_count > 1, s) && megatron_splits(m, s);
}

static void test_random_strategies(void **state)
{
    uint64_t seed = 8;
    int legal = 0, total = 50000;
    (void)state;
    for (int kind = DENSE; kind <= MOE; kind++) {
        rk_model model;
        fill_model(&model, kind);
        for (int i = 0; i < total; i++) {
            const rk_strategy s = random_strategy(&model, &seed);
            const bool mine = rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_MEGATRON, NULL);
            if (mine != megatron_accepts(&model, &s)) {
                rk_legality violation = {0};
                (void)rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_MEGATRON, &violation);
                fail_msg("sample %d of kind %d: %s %s", i, kind, mine ? "accepted" : violation.rule,
                         violation.message);
            }
            legal += mine;
            /* what any framework accepts is possible */
            const bool possible = rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_ANY, NULL);
            for (int f = 0; f < RK_FRAMEWORK_COUNT; f++) {
                assert_true(possible ||
                            !rk_strategy_legal(&model, NULL, &s, (rk_framework)f, NULL));
            }
        }
    }
    print_message("%d of %d random strategies are legal\n", legal, 2 * total);
    assert_true(legal > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base_is_legal),
        cmocka_unit_test(test_each_rule_alone),
        cmocka_unit_test(test_every_rule_is_tested),
        cmocka_unit_test(test_frameworks_differ),
        cmocka_unit_test(test_heads_of_types),
        cmocka_unit_test(test_recomputed_latents),
        cmocka_unit_test(test_delayed_scales),
        cmocka_unit_test(test_ascend_expert_overlap),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_long_message),
        cmocka_unit_test(test_random_strategies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
