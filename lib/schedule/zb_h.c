/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZB-H1 and ZB-H2 (Qi et al. 2024): 1F1B with the backward split.  ZB-H1 runs as many forwards
 * ahead as 1F1B, and rank r lets r weight gradients lie, which it computes while it would wait for
 * the last backwards; so no rank keeps more than p activations, the most that 1F1B keeps on its
 * first. ZB-H2 doubles both: forwards fill the wait for the first backward too, at 2p - 1
 * activations.
 */
#include "schedule/order.h"

static void write_order(const rk_pipeline *pipeline, int64_t rank, int64_t factor, rk_order *order)
{
    const int64_t m = pipeline->microbatches, behind = factor * (pipeline->ranks - 1 - rank);
    const int64_t ahead = behind < m ? behind : m;
    int64_t weights = 0;
    for (int64_t i = 0; i < ahead; i++) {
        rk_order_add(order, RK_STEP_FORWARD, 0, i);
    }
    for (int64_t i = 0; i < m; i++) {
        if (ahead + i < m) {
            rk_order_add(order, RK_STEP_FORWARD, 0, ahead + i);
        }
        rk_order_add(order, RK_STEP_INPUT, 0, i);
        if (i >= factor * rank) {
            rk_order_add(order, RK_STEP_WEIGHT, 0, weights++);
        }
    }
    while (weights < m) {
        rk_order_add(order, RK_STEP_WEIGHT, 0, weights++);
    }
}

void rk_order_zb_h1(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    write_order(pipeline, rank, 1, order);
}

void rk_order_zb_h2(const rk_pipeline *pipeline, int64_t rank, rk_order *order)
{
    write_order(pipeline, rank, 2, order);
}
