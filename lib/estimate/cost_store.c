/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates one after the other: what one has made and the next may use again. */
#include "estimate/cost_store.h"

#include "base/error.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct rk_estimate_store {
    rk_kept_costs *_Atomic kept; /* owned; NULL while a call has it */
};

rk_status rk_estimate_store_new(rk_estimate_store **store, rk_error *err)
{
    *store = malloc(sizeof(**store));
    if (!*store) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for estimates");
    }
    atomic_init(&(*store)->kept, NULL);
    return RK_OK;
}

static void free_costs(rk_kept_costs *costs)
{
    if (costs) {
        rk_makespans_free(costs->makespans);
        free(costs);
    }
}

void rk_estimate_store_free(rk_estimate_store *store)
{
    if (store) {
        free_costs(atomic_load(&store->kept));
        free(store);
    }
}

/* The part of a strategy that costs of blocks depend on; one accelerator may cast more. */
static rk_strategy costed_part(const rk_strategy *strategy)
{
    rk_strategy s = *strategy;
    s.dp = rk_strategy_ranks(strategy) > 1 ? 2 : 1;
    s.pp = s.vp = s.replicas = s.global_batch = 1;
    s.schedule = RK_SCHEDULE_GPIPE;
    s.sharding = RK_SHARD_NONE;
    s.grad_overlap = s.param_overlap = s.pp_overlap = false;
    s.offload_optimizer = s.offload_activations = s.offload_weights = false;
    s.count_embedding = s.count_head = s.mtp_before_head = false;
    s.recompute_layers = s.first_stage_layers = s.last_stage_layers = 0;
    s.layout = NULL;
    s.layout_count = 0;
    return s;
}

static void fill_costs(const rk_setting *setting, const rk_strategy *strategy, rk_kept_costs *costs)
{
    const rk_block_context *c = &costs->table.context;
    const rk_strategy part = costed_part(strategy);
    const bool same = costs->is_filled && c->model == setting->model &&
                      c->system == setting->system && c->stack == setting->stack &&
                      memcmp(&part, &costs->part, sizeof(part)) == 0;
    if (same) {
        costs->table.context.strategy = strategy;
    } else {
        rk_cost_table_fill_with(setting->model, setting->system, setting->stack, strategy, NULL,
                                &costs->table);
        costs->table.executed_flops = rk_executed_flops(&costs->table, strategy);
        memcpy(&costs->part, &part, sizeof(part)); /* padding too */
        costs->is_filled = true;
    }
}

rk_status rk_estimate_take(const rk_setting *setting, const rk_strategy *strategy,
                           rk_kept_costs **costs, rk_error *err)
{
    rk_kept_costs *taken = setting->store ? atomic_exchange(&setting->store->kept, NULL) : NULL;
    rk_status status = RK_OK;
    if (!taken) {
        taken = malloc(sizeof(*taken));
        status = taken ? rk_makespans_new(&taken->makespans, err)
                       : rk_fail(err, RK_ERR_MEMORY, "not enough memory for costs of layers");
        if (!status) {
            taken->is_filled = false;
        } else {
            free(taken);
            taken = NULL;
        }
    }
    if (taken) {
        fill_costs(setting, strategy, taken);
    }
    *costs = taken;
    return status;
}

void rk_estimate_put(rk_estimate_store *store, rk_kept_costs *costs)
{
    if (costs) {
        rk_makespans_trim(costs->makespans);
    }
    free_costs(store && costs ? atomic_exchange(&store->kept, costs) : costs);
}
