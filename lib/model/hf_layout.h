/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting the layers of a Hugging Face model one by one; inside lib/model only. */
#ifndef RK_MODEL_HF_LAYOUT_H
#define RK_MODEL_HF_LAYOUT_H

#include "model/hf_table.h"

/* Layers in their order, as they are found. */
typedef struct rk_hf_layout {
    rk_layer_type types[RK_LAYER_TYPE_MAX];
    uint8_t type_of[RK_LAYER_MAX];
    int types_used, layers;
} rk_hf_layout;

/* Appends a layer, of a type that is there or a new one. */
rk_status rk_hf_append(const hf_draft *draft, rk_hf_layout *to, const rk_layer_type *type,
                       rk_error *err);

/* The same of a layer with these kinds; NULL: what its sizes ask for. */
rk_status rk_hf_append_kinds(const hf_draft *draft, rk_hf_layout *to, const rk_layer_type *layer,
                             const char *mixer, const char *feed_forward, rk_error *err);

/* Gives the model of the draft its layers. */
rk_status rk_hf_finish(hf_draft *draft, const rk_hf_layout *from, rk_error *err);

#endif
