/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an execution document: a mapping that is read keeps the rules and survives being
 * written. */
#include "calculon/calculon_docs.h"

#include <string.h>

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rk_json_doc doc;
    rk_calculon_exe exe, again;
    rk_error err;
    if (rk_json_parse((const char *)data, size, "input", &doc, &err)) {
        return 0;
    }
    rk_status status = rk_calculon_exe_from_json(doc.root, &exe, &err);
    if (status) {
        require_sound_error(&err, status);
    } else {
        REQUIRE(exe.tensor_par * exe.pipeline_par * exe.data_par == exe.num_procs);
        REQUIRE(exe.batch_size / exe.data_par / exe.microbatch_size * exe.microbatch_size *
                    exe.data_par ==
                exe.batch_size);
        if (exe.datatype == RK_DATATYPE_UNKNOWN) { /* has no name to be written */
            rk_json_clear(&doc);
            return 0;
        }
        json_t *written = rk_calculon_exe_to_json(&exe);
        REQUIRE(written && json_equal(written, doc.root));
        REQUIRE(rk_calculon_exe_from_json(written, &again, &err) == RK_OK);
        REQUIRE(memcmp(&exe, &again, sizeof(exe)) == 0);
        json_decref(written);
    }
    rk_json_clear(&doc);
    return 0;
}
