/* SPDX-License-Identifier: Apache-2.0 */
/* Sets that the files of frameworks are written with; inside lib/framework only. */
#ifndef RK_FRAMEWORK_TRAIT_SETS_H
#define RK_FRAMEWORK_TRAIT_SETS_H

#include "framework/rules.h"

#define SCHEDULE(kind) (1U << RK_SCHEDULE_##kind)
#define ON(kind)       (1U << RK_GENERATION_##kind)

enum {
    PLAIN = 1 << RK_SHARD_NONE,
    ZERO1 = 1 << RK_SHARD_OPTIMIZER,
    ZERO2 = 1 << RK_SHARD_GRADIENTS,
    ZERO3 = 1 << RK_SHARD_ALL,
    ALL_SHARDINGS = PLAIN | ZERO1 | ZERO2 | ZERO3,

    RING = 1 << RK_CP_RING,
    GATHER = 1 << RK_CP_ALL_GATHER,
    ULYSSES = 1 << RK_CP_ULYSSES,
    ALL_KINDS = RING | GATHER | ULYSSES,

    DATA_FIRST = 1 << RK_ORDER_DATA_PIPELINE,
    ALL_ORDERS = (1 << RK_ORDER_COUNT) - 1,

    ALL_MODULES = 2 * RK_MODULE_PROJECTION - 1,
    NAMED_MODULES = ALL_MODULES & ~(RK_MODULE_OPERATORS | RK_MODULE_PROJECTION),

    NVIDIA = ON(VOLTA) | ON(AMPERE) | ON(HOPPER) | ON(BLACKWELL),
    AMD = ON(CDNA2) | ON(CDNA3) | ON(CDNA4),
    ANYWHERE = 2 * ON(TRAINIUM) - 1,
};

/* Weights in bf16, gradients in fp32, Adam with a master copy in fp32. */
#define MASTER_STATES                                                                              \
    {                                                                                              \
        .weight = 2, .gradient = 4, .optimizer = 12, .gather = 2, .reduce = 4                      \
    }
/* Sharded weights in fp32 are their own master copy; gathered in bf16. */
#define WHOLE_STATES                                                                               \
    {                                                                                              \
        .weight = 4, .gradient = 4, .optimizer = 8, .gather = 2, .reduce = 4                       \
    }

#endif
