/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the groups of ranks stand.  Megatron's order: rank = tp + TP (cp + CP (dp + DP pp)) for
 * dense layers; for experts rank = etp + ETP (ep + EP (edp + EDP pp)) over the same ranks of a
 * stage.
 */
#include "strategy/strategy.h"

rk_groups rk_strategy_groups(const rk_system *system, const rk_strategy *strategy)
{
    const rk_strategy *s = strategy;
    const int64_t data = s->dp * s->cp, stage = s->tp * data;
    const int64_t shard = data / s->replicas, expert = s->ep * s->etp;
    return (rk_groups){
        .tensor = rk_group_of(system, s->tp, 1),
        .context = rk_group_of(system, s->cp, s->tp),
        .data = rk_group_of(system, data, s->tp),
        .shard = rk_group_of(system, shard, s->tp),
        .replica = rk_group_of(system, s->replicas, s->tp * shard),
        .expert = rk_group_of(system, s->ep, s->etp),
        .expert_tensor = rk_group_of(system, s->etp, 1),
        .expert_data = rk_group_of(system, stage / expert, expert),
        .pipeline = rk_group_of(system, s->pp, stage),
    };
}
