/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of layers, and how typed layers lie in a model. */
#include "base/error.h"
#include "base/text.h"
#include "model/kinds.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { KINDS_MAX = 32 };

const char *const rk_activation_names[] = {"usual", "silu",  "gelu",  "gelu_tanh",
                                           "relu",  "relu2", "other", NULL};
const char *const rk_router_score_names[] = {"softmax", "sigmoid", NULL};
const char *const rk_rope_scaling_names[] = {"none", "llama3", "yarn", "other", NULL};

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
    model->mtp_each = 0;
}

/* Finds the type, or adds it; below 0: there is no room. */
static int find_or_add_type(rk_model *model, const rk_layer_type *type)
{
    int found = 0;
    while (found < model->type_count && memcmp(&model->types[found], type, sizeof(*type)) != 0) {
        found++;
    }
    if (found == RK_LAYER_TYPE_MAX) {
        return -1;
    }
    if (found == model->type_count) {
        model->types[model->type_count++] = *type;
    }
    return found;
}

rk_status rk_model_set_mtp(rk_model *model, const rk_layer_type *kinds, const uint8_t *kind_of,
                           int count, rk_error *err)
{
    assert(count >= 0);
    if (count > RK_MTP_LAYERS_MAX) {
        return rk_fail(err, RK_ERR_LIMIT,
                       "a module of multi-token prediction has more than %d layers",
                       RK_MTP_LAYERS_MAX);
    }
    for (int i = 0; i < count; i++) {
        const int type = find_or_add_type(model, &kinds[kind_of[i]]);
        if (type < 0) {
            return rk_fail(err, RK_ERR_LIMIT, "the model has more than %d kinds of layers",
                           RK_LAYER_TYPE_MAX);
        }
        model->mtp_type[i] = (uint8_t)type;
    }
    model->mtp_each = count;
    return RK_OK;
}

int rk_model_mtp_types(const rk_model *model, uint8_t types[RK_MTP_LAYERS_MAX])
{
    if (model->mtp_each == 0) {
        types[0] = model->type_of[model->layers - 1];
        return 1;
    }
    memcpy(types, model->mtp_type, sizeof(model->mtp_type));
    return model->mtp_each;
}

static bool is_claimed(const rk_part_kind *part, const rk_layer_type *type)
{
    return part->claims && part->claims(type);
}

void rk_layer_set_kinds(rk_layer_type *type, const rk_kinds *kinds)
{
    const rk_mixer *const *mixer = kinds->mixers;
    const rk_feed_forward *const *network = kinds->feed_forwards;
    while (mixer[1] && !is_claimed(&mixer[0]->part, type)) {
        mixer++;
    }
    while (network[1] && !is_claimed(&network[0]->part, type)) {
        network++;
    }
    type->mixer = *mixer;
    type->feed_forward = *network;
}

static rk_status fail_kind(const char *key, const char *name, const char *const *names, int count,
                           rk_error *err)
{
    assert(count >= 1);
    char list[256] = "";
    const char *nearest = rk_nearest_name(name, names, (size_t)count);
    for (int i = 0; i < count; i++) {
        const size_t length = strlen(list);
        (void)snprintf(list + length, sizeof(list) - length, "%s%s", i ? ", " : "", names[i]);
    }
    return rk_fail_at(err, RK_ERR_INVALID, key, "expected one of %s, found \"%.40s\"%s%s%s", list,
                      name, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                      nearest ? "\"?" : "");
}

static rk_status choose_mixer(rk_layer_type *type, const rk_kinds *kinds, const char *name,
                              rk_error *err)
{
    const char *names[KINDS_MAX];
    int count = 0;
    for (; kinds->mixers[count]; count++) {
        assert(count < KINDS_MAX);
        names[count] = kinds->mixers[count]->part.name;
        if (strcmp(names[count], name) == 0) {
            type->mixer = kinds->mixers[count];
            return RK_OK;
        }
    }
    return fail_kind("mixer", name, names, count, err);
}

static rk_status choose_feed_forward(rk_layer_type *type, const rk_kinds *kinds, const char *name,
                                     rk_error *err)
{
    const char *names[KINDS_MAX];
    int count = 0;
    for (; kinds->feed_forwards[count]; count++) {
        assert(count < KINDS_MAX);
        names[count] = kinds->feed_forwards[count]->part.name;
        if (strcmp(names[count], name) == 0) {
            type->feed_forward = kinds->feed_forwards[count];
            return RK_OK;
        }
    }
    return fail_kind("feed_forward", name, names, count, err);
}

rk_status rk_layer_choose_kinds(rk_layer_type *type, const rk_kinds *kinds, const char *mixer,
                                const char *feed_forward, rk_error *err)
{
    rk_layer_set_kinds(type, kinds);
    rk_status status = mixer ? choose_mixer(type, kinds, mixer, err) : RK_OK;
    if (!status && feed_forward) {
        status = choose_feed_forward(type, kinds, feed_forward, err);
    }
    const unsigned shapes = type->mixer->part.shapes | type->feed_forward->part.shapes;
    if (mixer && !(shapes & RK_SHAPE_ATTENTION)) {
        type->attention = (rk_attention_shape){0};
    }
    if (!(shapes & RK_SHAPE_RECURRENCE)) {
        type->recurrence = (rk_recurrence_shape){0};
    }
    if (feed_forward && !(shapes & RK_SHAPE_WIDTH)) {
        type->ffn.width = 0;
        type->ffn.bias = false;
    }
    if (feed_forward && !(shapes & RK_SHAPE_FFN)) {
        type->ffn = (rk_ffn_shape){0};
    }
    if (feed_forward && !(shapes & RK_SHAPE_MOE)) {
        type->moe = (rk_moe_shape){0};
    }
    return status;
}

bool rk_same_mixer(const rk_layer_type *a, const rk_layer_type *b)
{
    return a->mixer == b->mixer &&
           memcmp(&a->attention, &b->attention, sizeof(a->attention)) == 0 &&
           memcmp(&a->recurrence, &b->recurrence, sizeof(a->recurrence)) == 0 &&
           memcmp(&a->shared, &b->shared, sizeof(a->shared)) == 0 &&
           (!(a->mixer->part.shapes & RK_SHAPE_FFN) ||
            memcmp(&a->ffn, &b->ffn, sizeof(a->ffn)) == 0);
}

bool rk_same_work(const rk_layer_type *a, const rk_layer_type *b)
{
    rk_moe_shape moe = a->moe;
    moe.router_bias = b->moe.router_bias;
    return a->feed_forward == b->feed_forward && rk_same_mixer(a, b) &&
           memcmp(&a->ffn, &b->ffn, sizeof(a->ffn)) == 0 && memcmp(&moe, &b->moe, sizeof(moe)) == 0;
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
