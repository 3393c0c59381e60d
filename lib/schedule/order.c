/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates the orders of all pipeline ranks and lets the schedule fill them. */
#include "schedule/order.h"

#include "base/error.h"

#include <assert.h>
#include <stdlib.h>

#define STEPS_MAX ((int64_t)1 << 27)

rk_status rk_orders_init(const rk_pipeline *p, rk_orders *orders, rk_error *err)
{
    const int64_t chunks = p->ranks * p->chunks_per_rank;
    *orders = (rk_orders){NULL, NULL};
    if (chunks > STEPS_MAX / 3 / p->microbatches) {
        return rk_fail(err, RK_ERR_LIMIT,
                       "%lld chunks of %lld microbatches are more than the %lld steps that can be "
                       "played",
                       (long long)chunks, (long long)p->microbatches, (long long)STEPS_MAX);
    }
    const int64_t room = 3 * p->chunks_per_rank * p->microbatches;
    orders->ranks = calloc((size_t)p->ranks, sizeof(*orders->ranks));
    orders->steps = malloc((size_t)(p->ranks * room) * sizeof(*orders->steps));
    if (!orders->ranks || !orders->steps) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for %lld steps of a pipeline",
                       (long long)(p->ranks * room));
    }
    for (int64_t r = 0; r < p->ranks; r++) {
        orders->ranks[r].steps = orders->steps + r * room;
        rk_schedules[p->kind]->write_order(p, r, &orders->ranks[r]);
        assert(orders->ranks[r].count <= room);
    }
    return RK_OK;
}

void rk_orders_clear(rk_orders *orders)
{
    free(orders->ranks);
    free(orders->steps);
}

rk_status rk_orders_fail_cycle(const rk_pipeline *p, rk_error *err)
{
    return rk_fail(err, RK_ERR_INVALID,
                   "%s with %lld microbatches on %lld ranks never ends: its ranks wait for one "
                   "another; use a multiple of %lld microbatches",
                   rk_schedule_names[p->kind], (long long)p->microbatches, (long long)p->ranks,
                   (long long)p->ranks);
}
