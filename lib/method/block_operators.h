/* SPDX-License-Identifier: Apache-2.0 */
/* The operators that a microbatch runs on a rank. */
#ifndef RK_METHOD_BLOCK_OPERATORS_H
#define RK_METHOD_BLOCK_OPERATORS_H

#include "layer/operator_list.h"
#include "request/request.h"

/* The operators of one block, and the number of such blocks. */
typedef struct rk_block_operators {
    char name[64];
    int count;
    rk_operator_list list;
} rk_block_operators;

enum { RK_BLOCKS_MAX = RK_LAYER_TYPE_MAX + 2 };

struct rk_operators {
    int count;
    rk_block_operators blocks[RK_BLOCKS_MAX];
};

/* Lists the blocks of a model under a strategy; cleared with rk_operators_clear, also on failure.
 */
rk_status rk_operators_fill(const rk_inputs *inputs, const rk_strategy *strategy,
                            rk_operators *operators, rk_error *err);
void rk_operators_clear(rk_operators *operators);

/* The figures of operator `index`, block by block; false past the last. */
bool rk_operator_at(const rk_operators *operators, size_t index, rk_operator_facts *facts);

#endif
