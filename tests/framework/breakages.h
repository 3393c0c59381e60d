/* SPDX-License-Identifier: Apache-2.0 */
/* Legal strategies of every framework, and what breaks each of its rules. */
#ifndef BREAKAGES_H
#define BREAKAGES_H

#include "../strategy/models.h"

#include "framework/rules.h"

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

#define ROW(id, framework, kind, rule, code) {#id, framework, kind, rule, break_##id},
static const struct {
    const char *id;
    rk_framework framework;
    int kind;
    const char *rule;
    void (*breaks)(rk_model *, rk_strategy *);
} breakages[] = {BREAKS(ROW)};

#define BREAKAGE_COUNT (sizeof(breakages) / sizeof(breakages[0]))

/* A system that multiplies in bf16 and fp8. */
static rk_system hopper_like(void)
{
    rk_system system = {.tier_count = 1, .accelerator.name = "hopper-like"};
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

#endif
