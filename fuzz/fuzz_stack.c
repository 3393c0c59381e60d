/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a stack: what is read trains in finite time. */
#include "io/json.h"
#include "stack/stack_doc.h"

#include "machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rk_system system;
    rk_json_doc doc;
    rk_stack stack;
    rk_error err;
    if (system.tier_count == 0) {
        REQUIRE(rk_system_load("h100-sxm", &system, &err) == RK_OK);
    }
    if (rk_json_parse((const char *)data, size, "input", &doc, &err)) {
        return 0;
    }
    const rk_status status = rk_stack_from_json(doc.root, &stack, &err);
    if (status) {
        require_sound_error(&err, status);
    } else {
        require_estimates(&system, &stack);
    }
    rk_json_clear(&doc);
    return 0;
}
