/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times and prices that bounded searches keep for later ones, which differ in the number of
 * accelerators and in the batch alone.
 */
#ifndef RK_SEARCH_PLAN_STORE_H
#define RK_SEARCH_PLAN_STORE_H

#include "base/error.h"
#include "estimate/estimate.h"

#include <stdint.h>

/* The degrees of a group of a plan, all else being equal. */
typedef struct rk_plan_group {
    int64_t tp, cp, micro_batch;
    int64_t recipe, cp_kind; /* by number */
    double seconds;          /* of a microbatch on all ranks of a pipeline, at least */
} rk_plan_group;

/* Least times of experts with these degrees and tokens on a rank, see rk_least_experts. */
typedef struct rk_known_experts {
    int64_t tp; /* 0: empty */
    int64_t recipe, ep, etp;
    double tokens;
    rk_chunk_times least;
} rk_known_experts;

/* Prices that a thread knows. */
typedef struct rk_plan_prices {
    rk_gemm_prices *gemms;     /* owned */
    rk_known_experts *experts; /* owned: the last of each place */
    size_t places;             /* a power of two */
} rk_plan_prices;

typedef struct rk_plan_store rk_plan_store;

rk_status rk_plan_store_new(rk_plan_store **store, rk_error *err);
void rk_plan_store_free(rk_plan_store *store);

/* Fills the seconds of a group; false: it is not known. */
bool rk_plan_store_find(const rk_plan_store *store, rk_plan_group *group);

/* Keeps a group. */
rk_status rk_plan_store_add(rk_plan_store *store, const rk_plan_group *group, rk_error *err);

/* Prices for one thread at a time, which gives them back; all members are NULL if none are left. */
rk_plan_prices rk_plan_store_take(rk_plan_store *store);
void rk_plan_store_give(rk_plan_store *store, const rk_plan_prices *prices);

/* New prices; NULL: not enough memory. */
rk_plan_prices rk_plan_prices_new(size_t places);
void rk_plan_prices_free(rk_plan_prices *prices);

/* The least accelerator-seconds of a sequence that searches found; 0: none has yet. */
double rk_plan_store_pace(const rk_plan_store *store);
void rk_plan_store_add_pace(rk_plan_store *store, double pace);

#endif
