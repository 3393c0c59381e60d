/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an accelerator or a cluster: what is read is a machine that trains in finite time.
 */
#include "io/json.h"
#include "system/system_doc.h"

#include <string.h>

#include "machine.h"

static void require_tier(const rk_tier *tier)
{
    REQUIRE(tier->bandwidth > 0 && isfinite(tier->bandwidth));
    REQUIRE(tier->efficiency > 0 && tier->efficiency <= 1);
    REQUIRE(tier->latency >= 0 && isfinite(tier->latency));
    REQUIRE(tier->size >= 1);
    REQUIRE(strlen(tier->name) < sizeof(tier->name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rk_stack stack;
    rk_json_doc doc;
    rk_system system;
    rk_error err;
    if (rk_json_parse((const char *)data, size, "input", &doc, &err)) {
        return 0;
    }
    const rk_status status = rk_system_from_json(doc.root, &system, &err);
    if (status) {
        REQUIRE(err.code == status && err.message[0]);
    } else {
        REQUIRE(system.tier_count >= 1 && system.tier_count <= RK_TIER_MAX);
        for (int i = 0; i < system.tier_count; i++) {
            require_tier(&system.tiers[i]);
        }
        if (!stack.name[0]) {
            REQUIRE(rk_stack_load("megatron-2025", &stack, &err) == RK_OK);
        }
        if (system.tiers[system.tier_count - 1].size >= 16) {
            require_estimates(&system, &stack);
        }
        rk_system_clear(&system);
    }
    rk_json_clear(&doc);
    return 0;
}
