/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a model, our own document or a config.json: what is read can be computed with. */
#include "io/document.h"
#include "layer/model_load.h"
#include "model/hf_config.h"
#include "model/model_doc.h"

#include <math.h>

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rk_json_doc doc;
    rk_model model;
    rk_error err;
    if (rk_json_parse((const char *)data, size, "input", &doc, &err)) {
        return 0;
    }
    const rk_status status = rk_model_read(doc.root, &model, &err);
    rk_json_clear(&doc);
    if (status) {
        require_sound_error(&err, status);
        return 0;
    }
    REQUIRE(rk_model_check(&model, &err) == RK_OK);
    const rk_model_params p = rk_model_params_of(&model);
    REQUIRE(p.active > 0 && p.active <= p.total);
    REQUIRE(p.total + p.mtp > 0 && p.total + p.mtp <= INT64_C(1) << 62);
    REQUIRE(p.mtp_active >= 0 && p.mtp_active <= p.mtp);
    for (int c = 0; c < RK_FLOP_CONVENTION_COUNT; c++) {
        const double flops = rk_model_flops_per_token(&model, model.seq, (rk_flop_convention)c);
        REQUIRE(isfinite(flops) && flops > 0);
    }
    return 0;
}
