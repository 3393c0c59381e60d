/* SPDX-License-Identifier: Apache-2.0 */
/* neuronx-distributed (fbac349b) and its training library (9169aa03). */
#include "framework/trait_sets.h"

const rk_framework_traits rk_framework_neuronx = {
    .title = "NeuronX Distributed",
    .stacks = {"neuronx-distributed"},
    .runs_on = ON(TRAINIUM),
    .usual_on = ON(TRAINIUM),
    .rules = {RK_RULES_OF_ALL},
    .schedules = SCHEDULE(1F1B) | SCHEDULE(INTERLEAVED),
    .shardings = PLAIN | ZERO1,
    .deep_shards = PLAIN | ZERO1,
    .cp_kinds = RING,
    .orders = DATA_FIRST,
    .modules = RK_MODULE_CORE_ATTENTION | RK_MODULE_NORM | RK_MODULE_MLP | RK_MODULE_MOE,
    .sp = true,
    .schedule = RK_SCHEDULE_1F1B,
    .sharding = RK_SHARD_OPTIMIZER,
    .states = MASTER_STATES,
    .convention = RK_FLOPS_MEGATRON,
};
