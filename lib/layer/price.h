/* SPDX-License-Identifier: Apache-2.0 */
/* The price of an operator, from its entry and nothing else. */
#ifndef RK_LAYER_PRICE_H
#define RK_LAYER_PRICE_H

#include "layer/operator_list.h"

/*
 * Seconds of an operator.  Kinds without sizes, and messages, which other work may hide, keep the
 * seconds of the entry.
 */
double rk_price(const rk_block_context *context, const rk_operator *o);

/* The same of memory-bound work of so many bytes. */
double rk_price_stream(const rk_block_context *context, double bytes);

enum { RK_GEMM_PRICES = 2048, RK_MESSAGE_PRICES = 512 }; /* powers of two */

struct rk_gemm_prices {
    struct rk_gemm_price {
        double batch, M, N, K, accumulate; /* batch: below 0 of groups */
        rk_precision precision;
        double seconds;   /* 0: empty */
    } at[RK_GEMM_PRICES]; /* the last of each place */
    struct rk_message_price {
        double bytes;
        rk_group group;
        rk_collective op;
        double seconds; /* 0: empty */
    } messages[RK_MESSAGE_PRICES];
};

/* A message on a group, `times` in a pass, with its time and its traffic. */
rk_message rk_message_of(const rk_block_context *context, rk_collective op, rk_group_kind group,
                         double bytes, double times);

/*
 * An all-to-all of `bytes` on a group, by kernels that spread `spread` bytes over the ranks of a
 * domain, those of the rank itself included; 0: by none.
 */
rk_message rk_exchange_of(const rk_block_context *context, rk_group_kind group, double bytes,
                          double spread);

/* The same message so many times as often. */
static inline rk_message rk_message_times(const rk_message *message, double times)
{
    rk_message all = *message;
    all.times *= times;
    all.seconds *= times;
    all.sent *= times;
    return all;
}

#endif
