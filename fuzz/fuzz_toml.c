/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as TOML: a faulty text has a position, a good one is JSON that can be written. */
#include "io/toml_in.h"

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *root;
    rk_error err;
    const rk_status status = rk_toml_parse((const char *)data, size, "input", &root, &err);
    if (status) {
        REQUIRE(!root);
        require_sound_error(&err, status);
        return 0;
    }
    char *text = json_dumps(root, JSON_REAL_PRECISION(17));
    REQUIRE(text && json_is_object(root));
    json_t *again = json_loads(text, 0, NULL);
    REQUIRE(json_equal(root, again));
    json_decref(again);
    free(text);
    json_decref(root);
    return 0;
}
