/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan 0.2.2 (73a0e697) and main of 2026-08-21 (b5bcd76c). */
#include "framework/launch_file.h"
#include "framework/trait_sets.h"

/* Key/value heads that do not split over tp. */
static int64_t kv_heads_whole(const struct question *q)
{
    for (int i = 0; i < q->model->type_count; i++) {
        const int64_t heads = q->model->types[i].attention.kv_heads;
        if (!rk_rule_divides(q->strategy->tp, heads)) {
            return heads;
        }
    }
    return 0;
}

static const struct rk_rule own_rules[] = {
    {"kv_heads of the framework", kv_heads_whole, VARY_DEGREE(tp),
     "{framework} does not copy key/value heads: {n} of them do not split over tp {tp}"},
    {0},
};

const rk_framework_traits rk_framework_torchtitan = {
    .title = "torchtitan",
    .stacks = {"torchtitan"},
    .runs_on = ON(NONE) | NVIDIA | AMD,
    .rules = {RK_RULES_OF_ALL, rk_rules_balanced_cp, rk_rules_experts_sp, own_rules},
    .schedules = SCHEDULE(GPIPE) | SCHEDULE(1F1B) | SCHEDULE(INTERLEAVED) | SCHEDULE(ZB_V),
    .launch_schedules = {[RK_SCHEDULE_GPIPE] = "GPipe",
                         [RK_SCHEDULE_1F1B] = "1F1B",
                         [RK_SCHEDULE_INTERLEAVED] = "Interleaved1F1B",
                         [RK_SCHEDULE_ZB_V] = "ZBVZeroBubble"},
    .shardings = PLAIN | ZERO2 | ZERO3,
    .deep_shards = PLAIN | ZERO2 | ZERO3,
    .cp_kinds = RING | GATHER,
    .orders = DATA_FIRST,
    .modules = RK_MODULE_OPERATORS,
    .sp = true,
    .every_layer = true,
    .plain_alone = true, /* DDP by itself; the other degrees build on a mesh of shards */
    .weight_offload = true,
    .keeps_activations = true,
    .shards_matrices = true,
    .schedule = RK_SCHEDULE_1F1B,
    .sharding = RK_SHARD_ALL,
    .states = WHOLE_STATES,
    .convention = RK_FLOPS_TORCHTITAN,
    .unnamed_part = rk_launch_hybrid,
};
