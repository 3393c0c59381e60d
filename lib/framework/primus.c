/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Primus of AMD (fd1eeabb) over Megatron Core: its pipeline launcher brings schedules with weight
 * gradients apart (primus/backends/megatron/core/pipeline_parallel).
 */
#include "framework/trait_sets.h"

/* Its projection refuses the pair (primus/core/projection/config_validation.py). */
static int64_t recompute_with_split_backward(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->pp > 1 && s->recompute != RK_REC_NONE && rk_schedules[s->schedule]->splits;
}

static const struct rk_rule own_rules[] = {
    {"recompute of the schedule", recompute_with_split_backward, VARY_NONE,
     "{framework} recomputes no activations with the schedule {schedule}; turn recompute off, or "
     "use 1f1b or interleaved"},
    {0},
};

const rk_framework_traits rk_framework_primus = {
    .title = "Primus",
    .stacks = {"megatron"},
    .runs_on = ON(CDNA3) | ON(CDNA4),
    .rules = {RK_RULES_OF_ALL, rk_rules_megatron, rk_rules_expert_overlap, rk_rules_even_layers,
              rk_rules_balanced_cp, rk_rules_experts_sp, own_rules},
    .schedules = SCHEDULE(1F1B) | SCHEDULE(INTERLEAVED) | SCHEDULE(ZB_H1) | SCHEDULE(ZB_V) |
                 SCHEDULE(V_HALF) | SCHEDULE(V_MIN),
    .shardings = ALL_SHARDINGS,
    .deep_shards = PLAIN | ZERO1,
    .cp_kinds = ALL_KINDS,
    .orders = ALL_ORDERS,
    .modules = NAMED_MODULES,
    .expert_act = true,
    .sp = true,
    .etp = true,
    .some_layers = true,
    .weight_offload = true,
    .narrow_states = true,
    .half_sums = true,
    .schedule = RK_SCHEDULE_1F1B,
    .sharding = RK_SHARD_OPTIMIZER, /* use_distributed_optimizer of pre_trainer */
    .states = MASTER_STATES,
    .convention = RK_FLOPS_MEGATRON,
};
