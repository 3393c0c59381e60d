/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 1F1B: a rank runs ahead by as many forwards as there are ranks behind it, then alternates, so
 * that it never keeps more than p - r activations.
 */
#include "schedule/order.h"

void rk_order_1f1b(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    const int64_t m = pipeline->microbatches, behind = pipeline->ranks - 1 - rank;
    const int64_t ahead = behind < m ? behind : m;
    for (int64_t i = 0; i < ahead; i++) {
        rk_order_add(order, RK_STEP_FORWARD, 0, i);
    }
    for (int64_t i = 0; i < m; i++) {
        if (ahead + i < m) {
            rk_order_add(order, RK_STEP_FORWARD, 0, ahead + i);
        }
        rk_order_add(order, RK_STEP_BACKWARD, 0, i);
    }
}
