/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSpeed 0.19 (edaa7221).  Gaudi's port of Megatron-LM is DeepSpeed's. */
#include "framework/trait_sets.h"

static int64_t weight_offload_without_shards(const struct question *q)
{
    return q->strategy->offload_weights && q->strategy->sharding != RK_SHARD_ALL;
}

static int64_t optimizer_offload_without_shards(const struct question *q)
{
    return q->strategy->offload_optimizer && q->strategy->sharding == RK_SHARD_NONE;
}

static int64_t nvme_without_shards(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return (s->nvme_optimizer || s->nvme_weights) && s->sharding != RK_SHARD_ALL;
}

static const struct rk_rule own_rules[] = {
    {"weight offload needs ZeRO-3", weight_offload_without_shards, VARY_NONE,
     "{framework} offloads only sharded weights; use ZeRO-3"},
    {"optimizer offload needs ZeRO", optimizer_offload_without_shards, VARY_NONE,
     "{framework} offloads only a sharded optimizer; use ZeRO-1 or more"},
    {"NVMe needs ZeRO-3", nvme_without_shards, VARY_NONE,
     "{framework} offloads to NVMe with ZeRO-3 alone; use that"},
    {0},
};

const rk_framework_traits rk_framework_deepspeed = {
    .title = "DeepSpeed",
    .stacks = {"deepspeed"},
    .runs_on = ON(NONE) | NVIDIA | AMD | ON(GAUDI) | ON(ASCEND),
    .usual_on = ON(GAUDI),
    .rules = {RK_RULES_OF_ALL, own_rules},
    .schedules = SCHEDULE(1F1B),
    .shardings = ALL_SHARDINGS,
    .deep_shards = PLAIN | ZERO1,
    .cp_kinds = ULYSSES,
    .orders = ALL_ORDERS,
    .modules = NAMED_MODULES,
    .whole_experts = true, /* of models that are not written with deepspeed.moe */
    .some_layers = true,
    .weight_offload = true,
    .nvme = true,
    .shards_matrices = true,
    .schedule = RK_SCHEDULE_1F1B,
    .sharding = RK_SHARD_NONE,
    .cp_kind = RK_CP_ULYSSES,
    /* gradients are summed and reduced in the type of the model */
    .states = {.weight = 2, .gradient = 2, .optimizer = 12, .gather = 2, .reduce = 2},
    .convention = RK_FLOPS_MEGATRON,
};
