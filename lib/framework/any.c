/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that any framework can run: refuses only what is arithmetically impossible. */
#include "framework/trait_sets.h"

const rk_framework_traits rk_framework_any = {
    .title = "any framework",
    .stacks = {"megatron"},
    .all = true,
    .runs_on = ANYWHERE,
    .rules = {rk_rules_sizes, rk_rules_arithmetic, rk_rules_layers},
    .schedules = RK_SCHEDULES_ALL,
    .shardings = ALL_SHARDINGS,
    .deep_shards = ALL_SHARDINGS,
    .cp_kinds = ALL_KINDS,
    .orders = ALL_ORDERS,
    .modules = ALL_MODULES,
    .sp = true,
    .etp = true,
    .some_layers = true,
    .weight_offload = true,
    .narrow_states = true,
    .schedule = RK_SCHEDULE_1F1B,
    .sharding = RK_SHARD_OPTIMIZER,
    .states = MASTER_STATES,
    .convention = RK_FLOPS_MEGATRON,
};
