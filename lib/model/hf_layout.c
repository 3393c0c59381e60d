/* SPDX-License-Identifier: Apache-2.0 */
/* Appends layers to a model under construction; equal layers share a layer type. */
#include "model/hf_layout.h"

#include <string.h>

rk_status rk_hf_append(const hf_draft *draft, rk_hf_layout *to, const rk_layer_type *type,
                       rk_error *err)
{
    int found = 0;
    while (found < to->types_used && memcmp(&to->types[found], type, sizeof(*type)) != 0) {
        found++;
    }
    if (found == RK_LAYER_TYPE_MAX || to->layers == RK_LAYER_MAX) {
        return rk_hf_fail(draft, "num_hidden_layers", err,
                          "reckon cannot express more than %d layers, or %d kinds of them",
                          RK_LAYER_MAX, RK_LAYER_TYPE_MAX);
    }
    if (found == to->types_used) {
        to->types[to->types_used++] = *type;
    }
    to->type_of[to->layers++] = (uint8_t)found;
    return RK_OK;
}

rk_status rk_hf_append_kinds(const hf_draft *draft, rk_hf_layout *to, const rk_layer_type *layer,
                             const char *mixer, const char *feed_forward, rk_error *err)
{
    rk_layer_type type = *layer;
    const rk_status status = rk_layer_choose_kinds(&type, draft->kinds, mixer, feed_forward, err);
    return status ? status : rk_hf_append(draft, to, &type, err);
}

rk_status rk_hf_finish(hf_draft *draft, const rk_hf_layout *from, rk_error *err)
{
    if (from->layers == 0) {
        return rk_hf_fail(draft, "num_hidden_layers", err, "the model has no layers");
    }
    rk_model_set_layers(&draft->model, from->types, from->type_of, from->layers);
    return RK_OK;
}
