/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flash attention kernels of libraries, as benchmarks time them: by data type, mask and window,
 * with as many queries as keys or fewer.  For rates sustained in training see rk_attention_seconds.
 */
#ifndef RK_SYSTEM_FLASH_H
#define RK_SYSTEM_FLASH_H

#include <stdbool.h>

/* A kernel of a library, in one data type. */
typedef enum rk_flash_library {
    RK_FLASH_CUDNN,       /* 16 bits */
    RK_FLASH_CUDNN_FP8,   /* scales per tensor */
    RK_FLASH_CUDNN_MXFP8, /* scales of 32 elements */
    RK_FLASH_2,           /* FlashAttention-2 and what performs like it */
    RK_FLASH_3,
    RK_FLASH_AITER, /* AMD */
    RK_FLASH_LIBRARY_COUNT,
} rk_flash_library;

extern const char *const rk_flash_library_names[]; /* NULL-terminated, in enum order */

/* Rates of an accelerator with a library. */
typedef struct rk_flash_rates {
    double forward, backward; /* FLOP/s before the clock falls: head size 128; 0: not measured */
    double prologue;          /* overhead of a query, as a number of keys */
    double softmax;           /* head size whose products take as long as the softmax */
} rk_flash_rates;

typedef struct rk_flash_work {
    rk_flash_library library;
    double heads;         /* sequences times query heads */
    double group;         /* query heads that share keys and values */
    double queries, keys; /* of a sequence; queries <= keys, the last positions */
    double qk_size, v_size;
    double window; /* keys that a query sees at most; 0: all */
    bool causal, deterministic, backward;
    bool sustained; /* at the clock of long work, not of a short benchmark */
} rk_flash_work;

#endif
