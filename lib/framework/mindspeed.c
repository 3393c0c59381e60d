/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MindSpeed (028de58c) and MindSpeed-LLM (c77308a1): arguments and rules of Megatron Core 0.12,
 * with their own ways to recompute and to shard.
 */
#include "framework/trait_sets.h"

const rk_framework_traits rk_framework_mindspeed = {
    .title = "MindSpeed-LLM",
    .stacks = {"mindspeed"},
    .runs_on = ON(ASCEND),
    .usual_on = ON(ASCEND),
    .rules = {RK_RULES_OF_ALL, rk_rules_megatron, rk_rules_even_layers, rk_rules_balanced_cp,
              rk_rules_experts_sp},
    .schedules = SCHEDULE(1F1B) | SCHEDULE(INTERLEAVED),
    .shardings = PLAIN | ZERO1 | ZERO3,
    .deep_shards = PLAIN | ZERO1,
    .cp_kinds = ALL_KINDS,
    .orders = ALL_ORDERS,
    .modules = NAMED_MODULES,
    .sp = true,
    .etp = true,
    .some_layers = true,
    .half_sums = true,
    .schedule = RK_SCHEDULE_1F1B,
    .sharding = RK_SHARD_OPTIMIZER,
    .states = MASTER_STATES,
    .convention = RK_FLOPS_MEGATRON,
};
