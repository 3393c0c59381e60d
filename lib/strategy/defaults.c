/* SPDX-License-Identifier: Apache-2.0 */
/* The default strategy, and numbers that follow from a strategy. */
#include "strategy/strategy_fields.h"

const char *const rk_module_names[] = {RK_MODULE_NAMES, NULL};
const char *const rk_recompute_kind_names[] = {RK_RECOMPUTE_NAMES, NULL};
const char *const rk_cp_kind_names[] = {"ring", "all-gather", "ulysses", NULL};

const char *const rk_rank_order_names[] = {RK_RANK_ORDER_NAMES, NULL};

const char *const rk_fp8_recipe_names[] = {"tensorwise", "delayed", "blockwise", "mxfp8", NULL};

bool rk_is_full(rk_precision precision)
{
    return precision == RK_FP32 || precision == RK_TF32;
}

bool rk_is_low(rk_precision precision)
{
    return precision == RK_FP8 || precision == RK_FP4 || precision == RK_INT8;
}

rk_strategy rk_strategy_defaults(const rk_model *model)
{
    return (rk_strategy){
        .size = sizeof(rk_strategy),
        .tp = 1,
        .cp = 1,
        .pp = 1,
        .vp = 1,
        .dp = 1,
        .ep = 1,
        .etp = 1,
        .micro_batch = 1,
        .global_batch = 1,
        .seq = model->seq,
        .schedule = rk_schedule_usual(1),
        .replicas = 1,
        .precision = RK_BF16,
        /* weights in bf16, gradients in fp32, Adam with a master copy in fp32 */
        .states = {.weight = 2, .gradient = 4, .optimizer = 12, .gather = 2, .reduce = 4},
        .flash_attention = true,
        .grad_overlap = true,
        .param_overlap = true,
        .pp_overlap = true,
        .imbalance = 1,
    };
}

bool rk_strategy_splits_sequence(int64_t tp, bool wanted)
{
    return wanted && tp > 1;
}

int64_t rk_strategy_ranks(const rk_strategy *strategy)
{
    return strategy->tp * strategy->cp * strategy->pp * strategy->dp;
}

int64_t rk_strategy_microbatches(const rk_strategy *strategy)
{
    return strategy->global_batch / (strategy->micro_batch * strategy->dp);
}
