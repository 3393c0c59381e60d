/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the groups of ranks stand.  A block of TP * CP ranks is consecutive: it is the ranks of a
 * stage that share a data index.  With b the place in a block,
 *
 *     tp-cp-dp-pp: rank = b + TP CP (dp + DP pp)     (Megatron-LM's default)
 *     tp-cp-pp-dp: rank = b + TP CP (pp + PP dp)     (--use-tp-pp-dp-mapping; Llama 3)
 *
 * and b = tp + TP cp in dense layers.  Counted on their own, the ranks of a stage are
 * j = b + TP CP dp, and those of experts j = etp + ETP (ep + EP edp).
 */
#include "base/divisors.h"
#include "strategy/strategy.h"

/* Ranks from one block of a stage to its next, and from a stage to the next. */
struct strides {
    int64_t block, stage;
};

static struct strides strides_of(const rk_strategy *s)
{
    const int64_t block = s->tp * s->cp;
    return s->order == RK_ORDER_PIPELINE_DATA ? (struct strides){block * s->pp, block}
                                              : (struct strides){block, block * s->dp};
}

/*
 * The group of `size` ranks of a stage that are `stride` apart when its ranks are counted on their
 * own: those in one block, and the same in other blocks.  A group that no whole number of equal
 * parts of blocks makes up is taken as the largest that divide it.
 */
static rk_group in_stage(const rk_system *system, const rk_strategy *s, int64_t size,
                         int64_t stride)
{
    const int64_t block = s->tp * s->cp, apart = strides_of(s).block;
    if (apart == block) {
        return rk_group_of(system, size, stride);
    }
    const int64_t inside = block % stride == 0 ? rk_common_divisor(size, block / stride) : 1;
    const int64_t blocks = stride > block ? stride / block : 1;
    return rk_group_of_parts(system, inside, stride, size / inside, apart * blocks);
}

rk_group rk_strategy_data_group(const rk_system *system, const rk_strategy *strategy)
{
    return in_stage(system, strategy, strategy->dp * strategy->cp, strategy->tp);
}

rk_group rk_strategy_ends_group(const rk_system *system, const rk_strategy *strategy)
{
    return rk_group_of(system, 2, strides_of(strategy).stage * (strategy->pp - 1));
}

rk_groups rk_strategy_groups(const rk_system *system, const rk_strategy *strategy)
{
    const rk_strategy *s = strategy;
    const int64_t data = s->dp * s->cp, expert = s->ep * s->etp;
    const int64_t shard = data / s->replicas, stage = strides_of(s).stage;
    return (rk_groups){
        .tensor = rk_group_of(system, s->tp, 1),
        .context = rk_group_of(system, s->cp, s->tp),
        .data = rk_strategy_data_group(system, s),
        .shard = in_stage(system, s, shard, s->tp),
        .replica = in_stage(system, s, s->replicas, s->tp * shard),
        .expert = in_stage(system, s, s->ep, s->etp),
        .expert_tensor = in_stage(system, s, s->etp, 1),
        .expert_data = in_stage(system, s, s->tp * data / expert, expert),
        .pipeline = rk_group_of(system, s->pp, stage),
    };
}
