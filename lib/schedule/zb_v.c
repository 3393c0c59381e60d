/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZB-V (Qi et al. 2024, "Pipeline parallelism with controllable memory"): rank r holds stages r and
 * 2p - 1 - r, so the last forward of a microbatch ends on the rank where its first began, and
 * every rank keeps the same: 2p chunks.
 *
 * The order is that of 2p - 1 microbatches or more; of fewer, what does not exist is left out.
 */
#include "schedule/order.h"

struct writer {
    rk_order *order;
    int64_t microbatches;
    int64_t done[2][3]; /* by chunk: forwards, backwards by input, by weight */
};

static void add(struct writer *w, rk_step_kind kind, int chunk)
{
    static const int slot[] = {[RK_STEP_FORWARD] = 0, [RK_STEP_INPUT] = 1, [RK_STEP_WEIGHT] = 2};
    const int64_t microbatch = w->done[chunk][slot[kind]]++;
    if (microbatch < w->microbatches) {
        rk_order_add(w->order, kind, chunk, microbatch);
    }
}

static void add_backward(struct writer *w, int chunk)
{
    add(w, RK_STEP_INPUT, chunk);
    add(w, RK_STEP_WEIGHT, chunk);
}

void rk_order_zb_v(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    const int64_t p = pipeline->ranks, least = 2 * p - 1;
    const int64_t m = pipeline->microbatches > least ? pipeline->microbatches : least;
    struct writer w = {.order = order, .microbatches = pipeline->microbatches};
    /* fill: down the V, then as much of the way back as has arrived */
    for (int64_t i = 0; i < 2 * (p - rank) - 1; i++) {
        add(&w, RK_STEP_FORWARD, 0);
    }
    for (int64_t i = 0; i < rank; i++) {
        add(&w, RK_STEP_FORWARD, 1);
        add(&w, RK_STEP_FORWARD, 0);
    }
    for (int64_t i = 0; i < p - rank; i++) {
        add(&w, RK_STEP_FORWARD, 1);
        add_backward(&w, 1);
    }
    /* steady: each chunk in turn */
    while (w.done[1][0] < m) {
        if (w.done[0][0] < m) {
            add(&w, RK_STEP_FORWARD, 0);
        }
        add_backward(&w, 0);
        add(&w, RK_STEP_FORWARD, 1);
        add_backward(&w, 1);
    }
    /* drain: weight gradients wait while others need the backwards */
    for (int64_t i = 0; i < rank; i++) {
        add(&w, RK_STEP_INPUT, 0);
        add(&w, RK_STEP_INPUT, 1);
    }
    for (int64_t i = 0; i < p - rank; i++) {
        add_backward(&w, 0);
    }
    for (int chunk = 1; chunk >= 0; chunk--) {
        while (w.done[chunk][2] < m) {
            add(&w, RK_STEP_WEIGHT, chunk);
        }
    }
}
