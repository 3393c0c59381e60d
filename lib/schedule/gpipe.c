/* SPDX-License-Identifier: Apache-2.0 */
/* GPipe: all forwards, then all backwards. */
#include "schedule/order.h"

void rk_order_gpipe(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    (void)rank;
    for (int64_t i = 0; i < pipeline->microbatches; i++) {
        rk_order_add(order, RK_STEP_FORWARD, 0, i);
    }
    for (int64_t i = 0; i < pipeline->microbatches; i++) {
        rk_order_add(order, RK_STEP_BACKWARD, 0, i);
    }
}
