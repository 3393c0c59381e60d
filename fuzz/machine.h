/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate on any machine with any software: what the targets of both documents ask for. */
#ifndef RK_FUZZ_MACHINE_H
#define RK_FUZZ_MACHINE_H

#include "estimate/estimate.h"
#include "framework/framework.h"
#include "layer/model_load.h"

#include <math.h>

#include "target.h"

/* Every number of an estimate of a dense model and of one with experts is finite. */
static inline void require_estimates(const rk_system *system, const rk_stack *stack)
{
    static rk_model models[2];
    static bool loaded;
    rk_error err;
    if (!loaded) {
        REQUIRE(rk_model_load("llama3-8b", &models[0], &err) == RK_OK);
        REQUIRE(rk_model_load("qwen3-30b-a3b", &models[1], &err) == RK_OK);
        loaded = true;
    }
    for (int i = 0; i < 2; i++) {
        rk_estimate e;
        rk_strategy s = rk_strategy_defaults(&models[i]);
        s.tp = 4;
        s.ep = i ? 4 : 1;
        s.dp = 4;
        s.global_batch = 32;
        if (!rk_strategy_legal(&models[i], system, &s, RK_FRAMEWORK_ANY, NULL)) {
            continue; /* an accelerator without a rate of bf16 */
        }
        rk_estimate_step(&models[i], system, stack, &s, RK_FLOPS_MEGATRON, &e);
        REQUIRE(isfinite(e.step) && e.step > 0);
        for (int part = 0; part < RK_PART_COUNT; part++) {
            REQUIRE(isfinite(e.times.part[part]));
        }
        for (int part = 0; part < RK_MEMORY_PART_COUNT; part++) {
            REQUIRE(isfinite(e.memory.part[part]));
        }
        REQUIRE(isfinite(e.mfu) && isfinite(e.hfu) && isfinite(e.tokens_per_second));
        REQUIRE(isfinite(e.usable) && isfinite(e.host_bytes));
    }
}

#endif
