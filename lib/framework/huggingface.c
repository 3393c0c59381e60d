/* SPDX-License-Identifier: Apache-2.0 */
/* transformers with its Trainer or TRL, and accelerate (16cb6eb8) under them. */
#include "framework/trait_sets.h"

static int64_t pipelined(const struct question *q)
{
    return q->strategy->pp > 1 ? q->strategy->pp : 0;
}

/* bitsandbytes keeps a matrix as one flat list of blocks, which has neither rows nor columns. */
static int64_t splits_blocks(const struct question *q)
{
    return q->strategy->nf4_weights && q->strategy->tp > 1 ? q->strategy->tp : 0;
}

static const struct rk_rule own_rules[] = {
    {"pipelines of the framework", pipelined, VARY(pp),
     "{framework} runs no pipelines, not pp {n}"},
    {"quantised weights stay whole", splits_blocks, VARY(tp),
     "{framework} splits no quantised weights: use data parallelism or ZeRO-3, not tp {n}"},
    {0},
};

const rk_framework_traits rk_framework_huggingface = {
    .title = "Hugging Face",
    .stacks = {"huggingface"},
    .runs_on = ON(NONE) | NVIDIA | AMD,
    .rules = {own_rules, RK_RULES_OF_ALL},
    .schedules = SCHEDULE(1F1B), /* of one stage */
    .shardings = PLAIN | ZERO2 | ZERO3,
    .deep_shards = PLAIN | ZERO2 | ZERO3,
    .cp_kinds = ALL_KINDS,
    .orders = DATA_FIRST,
    .whole_experts = true, /* DistributedConfig, enable_expert_parallel */
    .weight_offload = true,
    .foreach_update = true, /* adamw_torch */
    .frozen_bytes = 2,      /* accelerate casts only what learns to fp32 */
    .adapter_bytes = 4,     /* PEFT, autocast_adapter_dtype */
    .shards_matrices = true,
    .schedule = RK_SCHEDULE_1F1B,
    .sharding = RK_SHARD_ALL,
    .cp_kind = RK_CP_RING,
    .states = {.weight = 4, .gradient = 4, .optimizer = 8, .gather = 2, .reduce = 2},
    .convention = RK_FLOPS_MEGATRON,
};
