/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a JSON document: a faulty one has a position, a good one survives being written. */
#include "io/json.h"

#include <string.h>

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rk_json_doc doc, again;
    rk_error err;
    rk_status status = rk_json_parse((const char *)data, size, "input", &doc, &err);
    if (status) {
        require_sound_error(&err, status);
        return 0;
    }
    char *text = json_dumps(doc.root, JSON_REAL_PRECISION(17));
    REQUIRE(text);
    REQUIRE(rk_json_parse(text, strlen(text), "again", &again, &err) == RK_OK);
    REQUIRE(json_equal(doc.root, again.root));
    free(text);
    rk_json_clear(&again);
    rk_json_clear(&doc);
    return 0;
}
