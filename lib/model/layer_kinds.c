/* SPDX-License-Identifier: Apache-2.0 */
/* Laying typed layers out over a model. */
#include "model/kinds.h"

const char *const rk_activation_names[] = {"usual", "silu",  "gelu",  "gelu_tanh",
                                           "relu",  "relu2", "other", NULL};
const char *const rk_router_score_names[] = {"softmax", "sigmoid", NULL};
const char *const rk_rope_scaling_names[] = {"none", "llama3", "yarn", "other", NULL};

#include <assert.h>
#include <string.h>

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

void rk_layer_set_kinds(rk_layer_type *type, const rk_kinds *kinds)
{
    const rk_mixer *const *mixer = kinds->mixers;
    const rk_feed_forward *const *network = kinds->feed_forwards;
    while (mixer[1] && !mixer[0]->part.claims(type)) {
        mixer++;
    }
    while (network[1] && !network[0]->part.claims(type)) {
        network++;
    }
    type->mixer = *mixer;
    type->feed_forward = *network;
}

bool rk_same_mixer(const rk_layer_type *a, const rk_layer_type *b)
{
    return a->mixer == b->mixer && memcmp(&a->attention, &b->attention, sizeof(a->attention)) == 0;
}

void rk_layer_kinds(const rk_layer_type *layer, const rk_attention_shape *windowed,
                    const rk_kinds *kinds, rk_layer_type types[RK_KIND_COUNT])
{
    for (int kind = 0; kind < RK_KIND_COUNT; kind++) {
        types[kind] = *layer;
        if (kind & RK_KIND_WINDOWED) {
            types[kind].attention = *windowed;
        }
        if (kind & RK_KIND_MOE) {
            types[kind].ffn.width = 0;
        } else {
            types[kind].moe = (rk_moe_shape){0};
        }
        rk_layer_set_kinds(&types[kind], kinds);
    }
}
