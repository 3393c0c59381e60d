/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an application document: what is read lies in bounds. */
#include "calculon/calculon_docs.h"

#include <string.h>

#include "target.h"

static bool is_size(int64_t value)
{
    return value >= 1 && value <= INT64_C(1) << 40;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rk_json_doc doc;
    rk_calculon_app strict, lenient;
    rk_error err;
    if (rk_json_parse((const char *)data, size, "input", &doc, &err)) {
        return 0;
    }
    rk_status status = rk_calculon_app_from_json(doc.root, true, &lenient, &err);
    if (status) {
        require_sound_error(&err, status);
    } else {
        REQUIRE(is_size(lenient.hidden) && is_size(lenient.feedforward));
        REQUIRE(is_size(lenient.seq_size) && is_size(lenient.attn_heads));
        REQUIRE(is_size(lenient.attn_size) && is_size(lenient.num_blocks));
    }

    /* Strictness refuses more and changes nothing. */
    rk_status strictly = rk_calculon_app_from_json(doc.root, false, &strict, &err);
    REQUIRE(!status || strictly);
    if (strictly) {
        require_sound_error(&err, strictly);
    } else {
        REQUIRE(memcmp(&strict, &lenient, sizeof(strict)) == 0);
    }
    rk_json_clear(&doc);
    return 0;
}
