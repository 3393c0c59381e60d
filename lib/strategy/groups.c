/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of groups of ranks.  A block of TP * CP ranks is consecutive: it is the ranks of a
 * stage that share a data index.  With b the place in a block,
 *
 *     tp-cp-dp-pp: rank = b + TP CP (dp + DP pp)     (Megatron-LM's default)
 *     tp-cp-pp-dp: rank = b + TP CP (pp + PP dp)     (--use-tp-pp-dp-mapping; Llama 3)
 *
 * and b = tp + TP cp in dense layers.  Within a stage, ranks are j = b + TP CP dp, and for experts
 * j = etp + ETP (ep + EP edp).  Of R replicas of the shards (HSDP), each has TP CP DP / R
 * consecutive ranks of the stage: a block of data ranks, and of expert data ranks as well, so that
 * the copies of a shard are TP CP DP / R apart in both.
 */
#include "base/divisors.h"
#include "strategy/strategy.h"

#include <assert.h>

/* Ranks from one block of a stage to its next, and from a stage to the next. */
static int64_t block_stride(const rk_strategy *s)
{
    return s->tp * s->cp * (s->order == RK_ORDER_PIPELINE_DATA ? s->pp : 1);
}

static int64_t stage_stride(const rk_strategy *s)
{
    return s->tp * s->cp * (s->order == RK_ORDER_PIPELINE_DATA ? 1 : s->dp);
}

/*
 * The group of `size` ranks of a stage that are `stride` apart when its ranks are counted on their
 * own: those in one block, and the same in other blocks.  A group that no whole number of equal
 * parts of blocks makes up is taken as the largest that divide it.
 */
static rk_group in_stage(const rk_system *system, const rk_strategy *s, int64_t size,
                         int64_t stride)
{
    assert(size >= 1 && stride >= 1);
    const int64_t block = s->tp * s->cp, apart = block_stride(s);
    if (apart == block) {
        return rk_group_of(system, size, stride);
    }
    const int64_t inside = block % stride == 0 ? rk_common_divisor(size, block / stride) : 1;
    const int64_t blocks = stride > block ? stride / block : 1;
    return rk_group_of_parts(system, inside, stride, size / inside, apart * blocks);
}

rk_group rk_strategy_group(const rk_system *system, const rk_strategy *strategy, rk_group_kind kind)
{
    const rk_strategy *s = strategy;
    const int64_t data = s->dp * s->cp, expert = s->ep * s->etp, stage = stage_stride(s);
    switch (kind) {
    case RK_GROUP_TENSOR:
        return rk_group_of(system, s->tp, 1);
    case RK_GROUP_CONTEXT:
        return rk_group_of(system, s->cp, s->tp);
    case RK_GROUP_DATA:
        return in_stage(system, s, data, s->tp);
    case RK_GROUP_SHARD:
        return in_stage(system, s, data / s->replicas, s->tp);
    case RK_GROUP_REPLICA:
        return in_stage(system, s, s->replicas, s->tp * (data / s->replicas));
    case RK_GROUP_EXPERT:
        return in_stage(system, s, s->ep, s->etp);
    case RK_GROUP_EXPERT_TENSOR:
        return in_stage(system, s, s->etp, 1);
    case RK_GROUP_EXPERT_DATA:
        return in_stage(system, s, s->tp * data / expert, expert);
    case RK_GROUP_EXPERT_SHARD:
        return in_stage(system, s, s->tp * data / expert / s->replicas, expert);
    case RK_GROUP_PIPELINE:
        return rk_group_of(system, s->pp, stage);
    default:
        return rk_group_of(system, 2, stage * (s->pp - 1));
    }
}
