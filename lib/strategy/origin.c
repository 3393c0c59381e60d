/* SPDX-License-Identifier: Apache-2.0 */
/* Records the origin of each strategy field by its key, from the defaults on. */
#include "strategy/origin.h"

const char *const rk_origin_names[RK_ORIGIN_COUNT] = {
    [RK_ORIGIN_DEFAULT] = "framework default", [RK_ORIGIN_STATED] = "stated",
    [RK_ORIGIN_DERIVED] = "derived",           [RK_ORIGIN_INFERRED] = "inferred",
    [RK_ORIGIN_ASSUMED] = "assumed",           [RK_ORIGIN_SEARCHED] = "searched",
};

rk_origins rk_origins_default(void)
{
    rk_origins origins = {{0}};
    rk_origin_set(&origins, "accelerators", RK_ORIGIN_DERIVED);
    rk_origin_set(&origins, "dp", RK_ORIGIN_DERIVED);
    rk_origin_set(&origins, "microbatches", RK_ORIGIN_DERIVED);
    return origins;
}

void rk_origin_set(rk_origins *origins, const char *key, rk_origin origin)
{
    origins->of[rk_find_strategy_field(key)] = (uint8_t)origin;
}

rk_origin rk_origin_of(const rk_origins *origins, const char *key)
{
    return (rk_origin)origins->of[rk_find_strategy_field(key)];
}
