/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to make a strategy fit in memory, and what each costs in step time. */
#ifndef RK_METHOD_FIT_CHANGES_H
#define RK_METHOD_FIT_CHANGES_H

#include "method/estimate_change.h"

/* Kinds of a change, a bit each; of equal steps the first comes first. */
typedef enum rk_change_kind {
    RK_CHANGE_RECOMPUTE = 1,
    RK_CHANGE_ZERO = 2,
    RK_CHANGE_MICRO_BATCH = 4,
    RK_CHANGE_TP = 8,
    RK_CHANGE_PP = 16, /* pipeline ranks, chunks and schedule */
    RK_CHANGE_CP = 32,
    RK_CHANGE_EP = 64, /* and ETP */
    RK_CHANGE_OFFLOAD = 128,
    RK_CHANGE_STATES = 256, /* data types of gradients and optimizer moments */
    RK_CHANGE_PRECISION = 512,
    RK_CHANGE_OVERLAP = 1024,    /* traffic behind compute */
    RK_CHANGE_SP = 2048,         /* sequence parallelism alone */
    RK_CHANGE_SCHEDULE = 4096,   /* of the same stages */
    RK_CHANGE_KERNELS = 8192,    /* CUDA graphs, fused attention */
    RK_CHANGE_ALLOCATOR = 16384, /* expandable segments */
} rk_change_kind;

/* A legal strategy on as many accelerators that fits. */
typedef struct rk_fit_change {
    unsigned kinds;
    rk_strategy strategy;
    rk_estimate estimate;
} rk_fit_change;

#define RK_FIT_CHANGE_MAX 10

typedef struct rk_fit_changes {
    rk_fit_change items[RK_FIT_CHANGE_MAX];
    size_t count;
} rk_fit_changes;

/* The bits in which two strategies differ; 0: they are equal. */
unsigned rk_change_kinds(const rk_strategy *a, const rk_strategy *b);

/* The change in a few words: "TP 1 to 2, recompute full of 10 layers".  Returns out. */
#define RK_FIT_CHANGE_TEXT 256
const char *rk_fit_change_text(const rk_strategy *from, const rk_fit_change *change,
                               char out[RK_FIT_CHANGE_TEXT]);

/*
 * Calls `visit` for the neighbours of rk_changes_each and, for Megatron-LM, for gradients in bf16,
 * moments in bf16 or 8 bits, and linears in fp8; and, where the stack leaves fragments, for
 * expandable segments.
 */
typedef void rk_change_visitor(void *user, const rk_strategy *changed);
void rk_visit_changes(const rk_setting *setting, const rk_strategy *from, rk_change_visitor *visit,
                      void *user);

/* Calls `visit` for a changed strategy that is legal. */
void rk_offer_change(const rk_setting *setting, const rk_strategy *changed,
                     rk_change_visitor *visit, void *user);

/*
 * Finds what makes a legal strategy fit: of each kind of change that does, the fastest, all sorted
 * by step time, among the changes of rk_visit_changes.  Where no single change is enough, two are
 * combined: any second one after the first of each kind that saves most memory.
 */
rk_status rk_find_fit_changes(const rk_setting *setting, const rk_strategy *from,
                              rk_fit_changes *changes, rk_error *err);

#endif
