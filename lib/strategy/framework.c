/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/framework.h"

#include <string.h>

#define SCHEDULE(kind) (1U << RK_SCHEDULE_##kind)
#define ON(kind)       (1U << RK_GENERATION_##kind)

enum {
    ALL_SCHEDULES = (1 << RK_SCHEDULE_KIND_COUNT) - 1,
    MEGATRON_SCHEDULES = SCHEDULE(1F1B) | SCHEDULE(INTERLEAVED),

    PLAIN = 1 << RK_SHARD_NONE,
    ZERO1 = 1 << RK_SHARD_OPTIMIZER,
    ZERO2 = 1 << RK_SHARD_GRADIENTS,
    ZERO3 = 1 << RK_SHARD_ALL,
    ALL_SHARDINGS = PLAIN | ZERO1 | ZERO2 | ZERO3,

    RING = 1 << RK_CP_RING,
    GATHER = 1 << RK_CP_ALL_GATHER,
    ULYSSES = 1 << RK_CP_ULYSSES,
    ALL_KINDS = RING | GATHER | ULYSSES,

    DATA_FIRST = 1 << RK_ORDER_DATA_PIPELINE,
    ALL_ORDERS = (1 << RK_ORDER_COUNT) - 1,

    ALL_MODULES = 2 * RK_MODULE_OPERATORS - 1,
    NAMED_MODULES = ALL_MODULES & ~RK_MODULE_OPERATORS,

    NVIDIA = ON(VOLTA) | ON(AMPERE) | ON(HOPPER) | ON(BLACKWELL),
    AMD = ON(CDNA2) | ON(CDNA3) | ON(CDNA4),
    ANYWHERE = 2 * ON(TRAINIUM) - 1,
};

/* Weights in bf16, gradients in fp32, Adam with a master copy in fp32. */
#define MASTER_STATES                                                                              \
    {                                                                                              \
        .weight = 2, .gradient = 4, .optimizer = 12, .gather = 2, .reduce = 4                      \
    }
/* Sharded weights in fp32 are their own master copy; gathered in bf16. */
#define WHOLE_STATES                                                                               \
    {                                                                                              \
        .weight = 4, .gradient = 4, .optimizer = 8, .gather = 2, .reduce = 4                       \
    }

/* Training in fp32 and TF32: weights are their own master copy, and are gathered as they are. */
static const rk_state_recipe full_states = {
    .weight = 4, .gradient = 4, .optimizer = 8, .gather = 4, .reduce = 4};

const rk_framework_traits rk_frameworks[RK_FRAMEWORK_COUNT] = {
    /* All that some framework runs. */
    [RK_FRAMEWORK_ANY] = {.name = "any",
                          .title = "any framework",
                          .stacks = {"megatron"},
                          .runs_on = ANYWHERE,
                          .rules = RK_RULES_ARITHMETIC,
                          .schedules = ALL_SCHEDULES,
                          .shardings = ALL_SHARDINGS,
                          .deep_shards = ALL_SHARDINGS,
                          .cp_kinds = ALL_KINDS,
                          .orders = ALL_ORDERS,
                          .modules = ALL_MODULES,
                          .sp = true,
                          .etp = true,
                          .some_layers = true,
                          .weight_offload = true,
                          .schedule = RK_SCHEDULE_1F1B,
                          .sharding = RK_SHARD_OPTIMIZER,
                          .states = MASTER_STATES,
                          .convention = RK_FLOPS_MEGATRON},
    /* ROCm runs it too: AMD's Primus is Megatron Core. */
    [RK_FRAMEWORK_MEGATRON] = {.name = "megatron",
                               .title = "Megatron-LM",
                               .stacks = {"megatron"},
                               .runs_on = ON(NONE) | NVIDIA | AMD,
                               .usual_on = ON(NONE) | NVIDIA | AMD,
                               .rules = RK_RULES_ARITHMETIC | RK_RULES_ABILITY | RK_RULES_MEGATRON |
                                        RK_RULES_EVEN_LAYERS | RK_RULES_BALANCED_CP |
                                        RK_RULES_EXPERTS_SP | RK_RULES_EXPERT_ACT,
                               .schedules = MEGATRON_SCHEDULES,
                               .shardings = ALL_SHARDINGS,
                               .deep_shards = PLAIN | ZERO1,
                               .cp_kinds = ALL_KINDS,
                               .orders = ALL_ORDERS,
                               .modules = NAMED_MODULES,
                               .sp = true,
                               .etp = true,
                               .some_layers = true,
                               .weight_offload = true,
                               .schedule = RK_SCHEDULE_1F1B,
                               .sharding = RK_SHARD_OPTIMIZER,
                               .states = MASTER_STATES,
                               .convention = RK_FLOPS_MEGATRON,
                               .replicas_year = 2025, /* Megatron Core 0.10 */
                               .shards_year = 2025 /* Megatron Core 0.11: custom FSDP */},
    [RK_FRAMEWORK_TORCHTITAN] = {.name = "torchtitan",
                                 .title = "torchtitan",
                                 .stacks = {"torchtitan"},
                                 .runs_on = ON(NONE) | NVIDIA | AMD,
                                 .rules = RK_RULES_ARITHMETIC | RK_RULES_ABILITY |
                                          RK_RULES_BALANCED_CP | RK_RULES_EXPERTS_SP |
                                          RK_RULES_WHOLE_KV | RK_RULES_PLAIN_DDP,
                                 .schedules = SCHEDULE(GPIPE) | SCHEDULE(1F1B) |
                                              SCHEDULE(INTERLEAVED) | SCHEDULE(ZB_V),
                                 .shardings = PLAIN | ZERO2 | ZERO3,
                                 .deep_shards = PLAIN | ZERO2 | ZERO3,
                                 .cp_kinds = RING | GATHER,
                                 .orders = DATA_FIRST,
                                 .modules = RK_MODULE_OPERATORS,
                                 .sp = true,
                                 .weight_offload = true,
                                 .schedule = RK_SCHEDULE_1F1B,
                                 .sharding = RK_SHARD_ALL,
                                 .states = WHOLE_STATES,
                                 .convention = RK_FLOPS_TORCHTITAN},
    /* Gaudi's port of Megatron-LM is that of DeepSpeed. */
    [RK_FRAMEWORK_DEEPSPEED] =
        {.name = "deepspeed",
         .title = "DeepSpeed",
         .stacks = {"deepspeed"},
         .runs_on = ON(NONE) | NVIDIA | AMD | ON(GAUDI) | ON(ASCEND),
         .usual_on = ON(GAUDI),
         .rules = RK_RULES_ARITHMETIC | RK_RULES_ABILITY | RK_RULES_ZERO_OFFLOAD,
         .schedules = SCHEDULE(1F1B),
         .shardings = ALL_SHARDINGS,
         .deep_shards = PLAIN | ZERO1,
         .cp_kinds = ULYSSES,
         .orders = ALL_ORDERS,
         .modules = NAMED_MODULES,
         .some_layers = true,
         .weight_offload = true,
         .schedule = RK_SCHEDULE_1F1B,
         .sharding = RK_SHARD_NONE,
         .cp_kind = RK_CP_ULYSSES,
         /* gradients are summed and reduced in the type of the model */
         .states = {.weight = 2, .gradient = 2, .optimizer = 12, .gather = 2, .reduce = 2},
         .convention = RK_FLOPS_MEGATRON},
    /* Arguments and rules of Megatron Core 0.12, with its own ways to recompute and to shard. */
    [RK_FRAMEWORK_MINDSPEED] = {.name = "mindspeed",
                                .title = "MindSpeed-LLM",
                                .stacks = {"mindspeed"},
                                .runs_on = ON(ASCEND),
                                .usual_on = ON(ASCEND),
                                .rules = RK_RULES_ARITHMETIC | RK_RULES_ABILITY |
                                         RK_RULES_MEGATRON | RK_RULES_EVEN_LAYERS |
                                         RK_RULES_BALANCED_CP | RK_RULES_EXPERTS_SP,
                                .schedules = MEGATRON_SCHEDULES,
                                .shardings = PLAIN | ZERO1 | ZERO3,
                                .deep_shards = PLAIN | ZERO1,
                                .cp_kinds = ALL_KINDS,
                                .orders = ALL_ORDERS,
                                .modules = NAMED_MODULES,
                                .sp = true,
                                .etp = true,
                                .some_layers = true,
                                .schedule = RK_SCHEDULE_1F1B,
                                .sharding = RK_SHARD_OPTIMIZER,
                                .states = MASTER_STATES,
                                .convention = RK_FLOPS_MEGATRON},
    [RK_FRAMEWORK_MAXTEXT] = {.name = "maxtext",
                              .title = "MaxText",
                              .stacks = {"maxtext"},
                              .runs_on = ON(NONE) | NVIDIA | AMD | ON(TPU),
                              .usual_on = ON(TPU),
                              .rules = RK_RULES_ARITHMETIC | RK_RULES_ABILITY |
                                       RK_RULES_EVEN_LAYERS | RK_RULES_POLICIES |
                                       RK_RULES_XLA_PIPELINE,
                              .schedules = SCHEDULE(GPIPE),
                              .shardings = PLAIN | ZERO1 | ZERO3,
                              .deep_shards = PLAIN | ZERO1 | ZERO3,
                              .cp_kinds = ALL_KINDS,
                              .orders = ALL_ORDERS,
                              .modules = RK_MODULE_CORE_ATTENTION | RK_MODULE_NORM |
                                         RK_MODULE_ACTIVATION | RK_MODULE_MLP | RK_MODULE_MOE,
                              .sp = true,
                              .etp = true,
                              .weight_offload = true,
                              .schedule = RK_SCHEDULE_GPIPE,
                              .sharding = RK_SHARD_ALL,
                              .cp_kind = RK_CP_ALL_GATHER,
                              .recompute = RK_REC_FULL,
                              .states = WHOLE_STATES,
                              .convention = RK_FLOPS_MEGATRON},
    [RK_FRAMEWORK_NEURONX] = {.name = "neuronx",
                              .title = "NeuronX Distributed",
                              .stacks = {"neuronx-distributed"},
                              .runs_on = ON(TRAINIUM),
                              .usual_on = ON(TRAINIUM),
                              .rules = RK_RULES_ARITHMETIC | RK_RULES_ABILITY,
                              .schedules = MEGATRON_SCHEDULES,
                              .shardings = PLAIN | ZERO1,
                              .deep_shards = PLAIN | ZERO1,
                              .cp_kinds = RING,
                              .orders = DATA_FIRST,
                              .modules = RK_MODULE_CORE_ATTENTION | RK_MODULE_NORM | RK_MODULE_MLP |
                                         RK_MODULE_MOE,
                              .sp = true,
                              .schedule = RK_SCHEDULE_1F1B,
                              .sharding = RK_SHARD_OPTIMIZER,
                              .states = MASTER_STATES,
                              .convention = RK_FLOPS_MEGATRON},
};

const char *const rk_framework_names[] = {"any",       "megatron", "torchtitan", "deepspeed",
                                          "mindspeed", "maxtext",  "neuronx",    NULL};

rk_framework rk_framework_usual(rk_generation generation)
{
    for (int i = 0; i < RK_FRAMEWORK_COUNT; i++) {
        if (rk_frameworks[i].usual_on >> generation & 1U) {
            return (rk_framework)i;
        }
    }
    return RK_FRAMEWORK_MEGATRON;
}

rk_framework rk_framework_of_stack(const char *family, const char *base)
{
    for (int i = RK_FRAMEWORK_ANY + 1; i < RK_FRAMEWORK_COUNT; i++) {
        for (const char *const *stack = rk_frameworks[i].stacks; *stack; stack++) {
            if (strcmp(*stack, family) == 0) {
                return (rk_framework)i;
            }
        }
    }
    return base[0] ? rk_framework_of_stack(base, "") : RK_FRAMEWORK_COUNT;
}

rk_state_recipe rk_framework_states(rk_framework framework, rk_precision precision, double gradient,
                                    double moments)
{
    const rk_state_recipe *usual =
        rk_is_full(precision) ? &full_states : &rk_framework_of(framework)->states;
    const double usual_moments = 8, master = usual->optimizer - usual_moments;
    rk_state_recipe states = *usual;
    if (gradient > 0) {
        states.reduce = gradient;
        /* weights in fp32 have fp32 gradients, whatever the messages */
        states.gradient = master > 0 ? gradient : usual->gradient;
    }
    if (moments > 0) {
        states.optimizer = master + moments;
    }
    return states;
}

unsigned rk_framework_shardings(rk_framework framework, int64_t year)
{
    const rk_framework_traits *f = rk_framework_of(framework);
    const bool early = year > 0 && year < f->shards_year;
    return early ? f->shardings & ~(unsigned)(ZERO2 | ZERO3) : f->shardings;
}

bool rk_framework_replicates(rk_framework framework, int64_t year)
{
    return year == 0 || year >= rk_framework_of(framework)->replicas_year;
}
