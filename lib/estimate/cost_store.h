/* SPDX-License-Identifier: Apache-2.0 */
/* What estimates one after the other share; inside lib/estimate only. */
#ifndef RK_ESTIMATE_COST_STORE_H
#define RK_ESTIMATE_COST_STORE_H

#include "estimate/estimate.h"

typedef struct rk_kept_costs {
    rk_makespans *makespans; /* owned */
    rk_strategy part;        /* of the strategy that the table is filled for */
    bool is_filled;
    rk_cost_table table;
} rk_kept_costs;

/*
 * The costs of the blocks of a strategy, of the store if they are there.  The caller owns them
 * until it puts them back; without a store nothing is kept.
 */
rk_status rk_estimate_take(const rk_setting *setting, const rk_strategy *strategy,
                           rk_kept_costs **costs, rk_error *err);
void rk_estimate_put(rk_estimate_store *store, rk_kept_costs *costs);

/* FLOPs of a token as executed, without what is recomputed: of all ranks that share its work. */
double rk_executed_flops(const rk_cost_table *table, const rk_strategy *strategy);

#endif
