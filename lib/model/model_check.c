/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which models can be computed with.  The ranges are far above anything that is built, and low
 * enough that the parameters of a layer stay below 2^61: experts x 3 x hidden x width at most
 * 2^14 * 3 * 2^22 * 2^22.
 */
#include "base/error.h"
#include "base/units.h"
#include "model/kinds.h"

#include <inttypes.h>

enum {
    ROWS_MAX = 1 << 28,
    MTP_MAX = 64,
    NORMS_MAX = 8,
    STREAMS_MAX = 16,
};

#define PARAMS_MAX 0x1p62

rk_status rk_check_sizes(const rk_size_range *sizes, size_t count, rk_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (sizes[i].value < sizes[i].min || sizes[i].value > sizes[i].max) {
            return rk_fail_at(err, RK_ERR_INVALID, sizes[i].key,
                              "expected an integer from %" PRId64 " to %" PRId64 ", found %" PRId64,
                              sizes[i].min, sizes[i].max, sizes[i].value);
        }
    }
    return RK_OK;
}

rk_status rk_check_foreign(const rk_named_count *sizes, size_t count, const char *key,
                           rk_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (sizes[i].value != 0) {
            return rk_fail_at(err, RK_ERR_INVALID, sizes[i].name,
                              "means nothing without \"%s\": give that key too, or leave this out",
                              key);
        }
    }
    return RK_OK;
}

rk_status rk_layer_type_check(const rk_layer_type *type, rk_error *err)
{
    if (!type->mixer || !type->feed_forward) {
        return rk_fail(err, RK_ERR_INVALID, "a layer has no %s: set it to one of rk_all_kinds",
                       type->mixer ? "feed-forward network" : "mixer");
    }
    const rk_status status = type->mixer->part.check(type, err);
    return status ? status : type->feed_forward->part.check(type, err);
}

static rk_status check_stack(const rk_model *model, rk_error *err)
{
    const rk_size_range sizes[] = {
        {"hidden", model->hidden, 1, RK_WIDTH_MAX},
        {"layers", model->layers, 1, RK_LAYER_MAX},
        {"vocab", model->vocab, 1, ROWS_MAX},
        {"seq", model->seq, 1, RK_TOKENS_MAX},
        {"mtp_layers", model->mtp_layers, 0, MTP_MAX},
        {"norms_per_layer", model->norms_per_layer, 0, NORMS_MAX},
        {"learned_positions", model->learned_positions, 0, ROWS_MAX},
        {"types", model->type_count, 1, RK_LAYER_TYPE_MAX},
        {"embedding_width", model->embedding_width, 0, RK_WIDTH_MAX},
        {"layer_embedding", model->layer_embedding, 0, RK_HEAD_SIZE_MAX},
        {"streams", model->streams, 0, STREAMS_MAX},
        {"norm", (int64_t)model->norm, 0, RK_NORM_LAYER_NO_WEIGHT},
    };
    return rk_check_sizes(sizes, COUNT(sizes), err);
}

/* Whether the counts of the whole model, which is sound layer by layer, can be computed. */
static rk_status check_total(const rk_model *model, rk_error *err)
{
    double sum = 4 * (double)model->vocab * (double)rk_model_embedding_width(model);
    sum +=
        (double)(model->layers * model->layer_embedding) * (double)(model->vocab + model->hidden);
    sum += (double)model->learned_positions * (double)model->hidden;
    double total[RK_LAYER_TYPE_MAX];
    for (int i = 0; i < model->type_count; i++) {
        total[i] = (double)rk_layer_params_of(model, &model->types[i]).total;
    }
    for (int i = 0; i < model->layers; i++) {
        sum += total[model->type_of[i]];
    }
    uint8_t mtp[RK_MTP_LAYERS_MAX];
    const int each = rk_model_mtp_types(model, mtp);
    for (int i = 0; i < each; i++) {
        sum += model->mtp_layers * total[mtp[i]];
    }
    if (sum > PARAMS_MAX) {
        return rk_fail(err, RK_ERR_LIMIT, "the model has more than 2^62 parameters (%.3g)", sum);
    }
    return RK_OK;
}

rk_status rk_model_check(const rk_model *model, rk_error *err)
{
    rk_status status = check_stack(model, err);
    for (int i = 0; !status && i < model->type_count; i++) {
        status = rk_layer_type_check(&model->types[i], err);
    }
    for (int i = 0; !status && i < model->layers; i++) {
        if (model->type_of[i] >= model->type_count) {
            status = rk_fail_at(err, RK_ERR_INVALID, "pattern",
                                "layer %d has type %d, but there are only %d types", i,
                                model->type_of[i], model->type_count);
        }
    }
    for (int i = 0; !status && i < model->mtp_each; i++) {
        if (model->mtp_type[i] >= model->type_count) {
            status = rk_fail_at(err, RK_ERR_INVALID, "mtp_pattern", "expected indices of types");
        }
    }
    return status ? status : check_total(model, err);
}
