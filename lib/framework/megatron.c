/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-LM as of August 2026.  ROCm runs it too. */
#include "framework/launch_file.h"
#include "framework/trait_sets.h"

const rk_framework_traits rk_framework_megatron = {
    .title = "Megatron-LM",
    .stacks = {"megatron"},
    .runs_on = ON(NONE) | NVIDIA | AMD,
    .usual_on = ON(NONE) | NVIDIA | AMD,
    .rules = {RK_RULES_OF_ALL, rk_rules_megatron, rk_rules_expert_overlap, rk_rules_even_layers,
              rk_rules_balanced_cp, rk_rules_experts_sp},
    .schedules = SCHEDULE(1F1B) | SCHEDULE(INTERLEAVED),
    .shardings = ALL_SHARDINGS,
    .deep_shards = PLAIN | ZERO1,
    .cp_kinds = ALL_KINDS,
    .orders = ALL_ORDERS,
    .modules = NAMED_MODULES,
    .expert_act = true, /* --recompute-modules moe_act */
    .sp = true,
    .etp = true,
    .some_layers = true,
    .patterns = true, /* --hybrid-layer-pattern */
    .weight_offload = true,
    .narrow_states = true, /* --grad-reduce-in-bf16, --exp-avg-dtype */
    .half_sums = true,     /* accumulate_allreduce_grads_in_fp32 is on for bf16 alone */
    .schedule = RK_SCHEDULE_1F1B,
    .sharding = RK_SHARD_OPTIMIZER,
    .states = MASTER_STATES,
    .convention = RK_FLOPS_MEGATRON,
    .replicas_year = 2025, /* Megatron Core 0.10 */
    .shards_year = 2025,   /* Megatron Core 0.11: custom FSDP */
    .unnamed_part = rk_launch_megatron_missing,
};
