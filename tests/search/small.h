/* SPDX-License-Identifier: Apache-2.0 */
/* A small machine and a space on it in which everything is possible. */
#ifndef RK_TESTS_PLAN_SMALL_H
#define RK_TESTS_PLAN_SMALL_H

#include "base/units.h"
#include "search/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline void load(rk_system *system, rk_stack *stack)
{
    rk_error err;
    assert_int_equal(rk_system_load("dgx-h100-superpod", system, &err), RK_OK);
    assert_int_equal(rk_stack_load("megatron-2025", stack, &err), RK_OK);
}

/* Everything is possible on so many accelerators of so many GiB. */
static inline rk_plan_space small_space(const rk_model *model, const rk_system *system,
                                        int64_t accelerators, int64_t batch, double gib)
{
    rk_plan_space space = rk_plan_space_defaults(model, system, accelerators, batch);
    space.max_memory = gib * GIB;
    return space;
}

#endif
