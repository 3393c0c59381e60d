/* SPDX-License-Identifier: Apache-2.0 */
/* What the states of a model take on all ranks of a strategy, counted from the shapes alone. */
#ifndef RK_TESTS_PLAN_STATES_H
#define RK_TESTS_PLAN_STATES_H

#include "strategy/strategy.h"

/* Bytes on one rank of each stage, summed over the stages. */
typedef struct states {
    double weights, gradients, optimizer;
} states;

/* Of a strategy whose linears are not in low precision, nothing of which is offloaded. */
states states_of(const rk_model *model, const rk_strategy *s);

#endif
