/* SPDX-License-Identifier: Apache-2.0 */
/* Laying typed layers out over a model. */
#include "model/model.h"

const char *const rk_activation_names[] = {"usual", "silu",  "gelu",  "gelu_tanh",
                                           "relu",  "relu2", "other", NULL};
const char *const rk_router_score_names[] = {"softmax", "sigmoid", NULL};
const char *const rk_rope_scaling_names[] = {"none", "llama3", "yarn", "other", NULL};

#include <assert.h>

void rk_model_set_layers(rk_model *model, const rk_layer_type *kinds, const uint8_t *kind_of,
                         int layer_count)
{
    enum { UNUSED = -1 };
    int type_of_kind[RK_LAYER_TYPE_MAX];
    assert(layer_count <= RK_LAYER_MAX);
    for (int kind = 0; kind < RK_LAYER_TYPE_MAX; kind++) {
        type_of_kind[kind] = UNUSED;
    }
    model->type_count = 0;
    model->layers = layer_count;
    for (int i = 0; i < layer_count; i++) {
        assert(kind_of[i] < RK_LAYER_TYPE_MAX);
        int *type = &type_of_kind[kind_of[i]];
        if (*type == UNUSED) {
            *type = model->type_count++;
            model->types[*type] = kinds[kind_of[i]];
        }
        model->type_of[i] = (uint8_t)*type;
    }
}

void rk_layer_kinds(const rk_layer_type *layer, const rk_attention_shape *windowed,
                    rk_layer_type kinds[RK_KIND_COUNT])
{
    for (int kind = 0; kind < RK_KIND_COUNT; kind++) {
        kinds[kind] = *layer;
        if (kind & RK_KIND_WINDOWED) {
            kinds[kind].attention = *windowed;
        }
        if (kind & RK_KIND_MOE) {
            kinds[kind].ffn.width = 0;
        } else {
            kinds[kind].moe = (rk_moe_shape){0};
        }
    }
}
