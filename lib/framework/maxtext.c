/* SPDX-License-Identifier: Apache-2.0 */
/* MaxText (e591f30c). */
#include "framework/trait_sets.h"

/* XLA's pipeline runs its microbatches in rounds of as many as it has stages. */
static int64_t rounds_not_full(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->pp > 1 && !rk_rule_divides(s->pp, rk_strategy_microbatches(s)) ? s->pp : 0;
}

static int64_t stages_unequal(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return (s->first_stage_layers | s->last_stage_layers | s->layout_count) != 0 ||
           s->count_embedding || s->count_head;
}

static const struct rk_rule own_rules[] = {
    {"microbatches of the pipeline", rounds_not_full, VARY(global_batch),
     "{framework} runs a pipeline in rounds of {n} = pp microbatches, not {m} (global batch "
     "{global_batch})"},
    {"stages of the framework", stages_unequal, VARY_NONE,
     "{framework} gives every stage the same layers and none of them the embedding or the head"},
    {0},
};

const rk_framework_traits rk_framework_maxtext = {
    .title = "MaxText",
    .stacks = {"maxtext"},
    .runs_on = ON(NONE) | NVIDIA | AMD | ON(TPU),
    .usual_on = ON(TPU),
    .rules = {RK_RULES_OF_ALL, rk_rules_even_layers, own_rules},
    .schedules = SCHEDULE(GPIPE),
    .shardings = PLAIN | ZERO1 | ZERO3,
    .deep_shards = PLAIN | ZERO1 | ZERO3,
    .cp_kinds = ALL_KINDS,
    .orders = ALL_ORDERS,
    .modules = RK_MODULE_CORE_ATTENTION | RK_MODULE_NORM | RK_MODULE_ACTIVATION | RK_MODULE_MLP |
               RK_MODULE_MOE | RK_MODULE_PROJECTION,
    .always = RK_MODULE_NORM | RK_MODULE_ACTIVATION, /* every policy recomputes them */
    .sp = true,
    .etp = true,
    .weight_offload = true,
    .schedule = RK_SCHEDULE_GPIPE,
    .sharding = RK_SHARD_ALL,
    .cp_kind = RK_CP_ALL_GATHER,
    .recompute = RK_REC_FULL,
    .states = WHOLE_STATES,
    .convention = RK_FLOPS_MEGATRON,
};
