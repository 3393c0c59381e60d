/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interleaved 1F1B (Narayanan et al. 2021, section 2.2): p microbatches run through chunk 0, then
 * through chunk 1, ..., then the next p; backwards the same with the last chunk first.
 */
#include "schedule/order.h"

/* Chunk and microbatch of the k-th forward of a rank. */
static rk_step forward_at(const rk_pipeline *pipeline, int64_t k)
{
    const int64_t p = pipeline->ranks, v = pipeline->chunks_per_rank, m = pipeline->microbatches;
    const int64_t first = k / (p * v) * p;
    const int64_t group = m - first < p ? m - first : p; /* the last group may be short */
    const int64_t within = k - first * v;
    return (rk_step){.chunk = (int32_t)(within / group),
                     .microbatch = (int32_t)(first + within % group)};
}

void rk_order_interleaved(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    const int64_t p = pipeline->ranks, v = pipeline->chunks_per_rank;
    const int64_t count = v * pipeline->microbatches;
    const int64_t wanted = 2 * (p - 1 - rank) + (v - 1) * p;
    const int64_t ahead = wanted < count ? wanted : count;
    for (int64_t k = 0; k < ahead + count; k++) {
        if (k < count) {
            const rk_step step = forward_at(pipeline, k);
            rk_order_add(order, RK_STEP_FORWARD, step.chunk, step.microbatch);
        }
        if (k >= ahead) {
            const rk_step step = forward_at(pipeline, k - ahead);
            rk_order_add(order, RK_STEP_BACKWARD, v - 1 - step.chunk, step.microbatch);
        }
    }
}
