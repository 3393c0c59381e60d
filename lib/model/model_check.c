/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which models can be computed with.  The ranges are far above anything that is built, and low
 * enough that the parameters of a layer stay below 2^61: experts x 3 x hidden x width at most
 * 2^14 * 3 * 2^22 * 2^22.
 */
#include "base/error.h"
#include "base/units.h"
#include "model/model.h"

#include <inttypes.h>

enum {
    WIDTH_MAX = 1 << 22,
    HEADS_MAX = 1 << 14,
    HEAD_SIZE_MAX = 1 << 14,
    RANK_MAX = 1 << 20,
    EXPERTS_MAX = 1 << 14,
    SHARED_MAX = 1 << 10,
    ROWS_MAX = 1 << 28,
    TOKENS_MAX = 1 << 30,
    MTP_MAX = 64,
    NORMS_MAX = 8,
};

#define PARAMS_MAX 0x1p62

/* A size by the name of its key in a model document. */
typedef struct sized {
    const char *key;
    int64_t value, min, max;
} sized;

/* A size that a layer of another kind would have. */
typedef struct foreign {
    const char *key;
    int64_t value;
} foreign;

static rk_status check_sizes(const sized *sizes, size_t count, rk_error *err)
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

/* Refuses sizes that mean nothing in a layer that lacks `key`. */
static rk_status check_foreign(const foreign *sizes, size_t count, const char *key, rk_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (sizes[i].value != 0) {
            return rk_fail_at(err, RK_ERR_INVALID, sizes[i].key,
                              "means nothing without \"%s\": give that key too, or leave this out",
                              key);
        }
    }
    return RK_OK;
}

#define CHECK_SIZES(sizes, err) check_sizes(sizes, COUNT(sizes), err)

static rk_status check_latent(const rk_attention_shape *a, rk_error *err)
{
    const sized sizes[] = {
        {"kv_rank", a->kv_rank, 1, RANK_MAX},
        {"q_rank", a->q_rank, 0, RANK_MAX},
        {"nope_size", a->nope_size, 1, HEAD_SIZE_MAX},
        {"rope_size", a->rope_size, 0, HEAD_SIZE_MAX},
        {"value_size", a->value_size, 1, HEAD_SIZE_MAX},
    };
    if (a->kv_heads != a->query_heads) {
        return rk_fail_at(err, RK_ERR_INVALID, "kv_heads",
                          "latent attention (kv_rank) has as many key and value heads as query "
                          "heads: expected %" PRId64 ", found %" PRId64,
                          a->query_heads, a->kv_heads);
    }
    if (a->qk_norm != RK_QK_NORM_NONE) {
        return rk_fail_at(err, RK_ERR_INVALID, "qk_norm",
                          "latent attention (kv_rank) normalises its latents: expected \"none\"");
    }
    return CHECK_SIZES(sizes, err);
}

static rk_status check_grouped(const rk_attention_shape *a, rk_error *err)
{
    const sized sizes[] = {
        {"head_size", a->head_size, 1, HEAD_SIZE_MAX},
        {"value_size", a->value_size, 0, HEAD_SIZE_MAX},
    };
    const foreign latent[] = {
        {"q_rank", a->q_rank},
        {"nope_size", a->nope_size},
        {"rope_size", a->rope_size},
    };
    if (a->query_heads % a->kv_heads != 0) {
        return rk_fail_at(err, RK_ERR_INVALID, "kv_heads",
                          "query heads share key and value heads evenly: expected a divisor of "
                          "heads = %" PRId64 ", found %" PRId64,
                          a->query_heads, a->kv_heads);
    }
    if (a->qk_norm > RK_QK_NORM_FULL) {
        return rk_fail_at(err, RK_ERR_INVALID, "qk_norm", "unknown kind %d", (int)a->qk_norm);
    }
    const rk_status status = check_foreign(latent, COUNT(latent), "kv_rank", err);
    return status ? status : CHECK_SIZES(sizes, err);
}

static rk_status check_attention(const rk_attention_shape *a, rk_error *err)
{
    const sized sizes[] = {
        {"heads", a->query_heads, 1, HEADS_MAX},
        {"kv_heads", a->kv_heads, 1, HEADS_MAX},
        {"window", a->window, a->chunked ? 1 : 0, TOKENS_MAX},
    };
    const rk_status status = CHECK_SIZES(sizes, err);
    if (status) {
        return status;
    }
    switch (a->kind) {
    case RK_ATTENTION_GROUPED:
        return check_grouped(a, err);
    case RK_ATTENTION_LATENT:
        return check_latent(a, err);
    default:
        return rk_fail(err, RK_ERR_INVALID, "unknown kind %d of attention", (int)a->kind);
    }
}

/* Node-limited routing: equal groups, and enough experts in those that a token may reach. */
static rk_status check_groups(const rk_moe_shape *moe, rk_error *err)
{
    const bool limited = moe->route_groups != 0;
    const foreign alone[] = {
        {"expert_groups", limited ? 0 : moe->expert_groups},
    };
    const sized sizes[] = {
        {"expert_groups", moe->expert_groups, limited, moe->experts},
        {"route_groups", moe->route_groups, 0, moe->expert_groups},
    };
    rk_status status = check_foreign(alone, COUNT(alone), "route_groups", err);
    status = status ? status : CHECK_SIZES(sizes, err);
    if (status || !limited) {
        return status;
    }
    if (moe->experts % moe->expert_groups != 0) {
        return rk_fail_at(err, RK_ERR_INVALID, "expert_groups",
                          "groups have as many experts each: expected a divisor of experts = "
                          "%" PRId64 ", found %" PRId64,
                          moe->experts, moe->expert_groups);
    }
    const sized top_k = {"top_k", moe->top_k, 1,
                         moe->experts / moe->expert_groups * moe->route_groups};
    return check_sizes(&top_k, 1, err);
}

static rk_status check_experts(const rk_moe_shape *moe, rk_error *err)
{
    const bool has_shared = moe->shared_experts != 0;
    const foreign shared[] = {
        {"shared_ffn", has_shared ? 0 : moe->shared_width},
        {"shared_gate", has_shared ? 0 : moe->shared_gate},
    };
    const sized sizes[] = {
        {"experts", moe->experts, 1, EXPERTS_MAX},
        {"top_k", moe->top_k, 1, moe->experts},
        {"expert_ffn", moe->expert_width, 1, WIDTH_MAX},
        {"shared_experts", moe->shared_experts, 0, SHARED_MAX},
        {"shared_ffn", moe->shared_width, has_shared, WIDTH_MAX},
    };
    rk_status status = check_foreign(shared, COUNT(shared), "shared_experts", err);
    status = status ? status : CHECK_SIZES(sizes, err);
    return status ? status : check_groups(moe, err);
}

static rk_status check_dense(const rk_layer_type *type, rk_error *err)
{
    const sized sizes[] = {
        {"ffn", type->ffn.width, 1, WIDTH_MAX},
    };
    const foreign moe[] = {
        {"top_k", type->moe.top_k},
        {"expert_ffn", type->moe.expert_width},
        {"shared_experts", type->moe.shared_experts},
        {"shared_ffn", type->moe.shared_width},
        {"expert_groups", type->moe.expert_groups},
        {"route_groups", type->moe.route_groups},
        {"shared_gate", type->moe.shared_gate},
        {"router_bias", type->moe.router_bias},
        {"expert_bias", type->moe.expert_bias},
    };
    const rk_status status = check_foreign(moe, COUNT(moe), "experts", err);
    if (!status && type->ffn.width == 0) {
        return rk_fail_at(err, RK_ERR_INVALID, "ffn",
                          "a layer has neither a dense FFN (\"ffn\") nor \"experts\"");
    }
    return status ? status : CHECK_SIZES(sizes, err);
}

rk_status rk_layer_type_check(const rk_layer_type *type, rk_error *err)
{
    rk_status status = check_attention(&type->attention, err);
    if (!status && rk_layer_is_moe(type) && type->ffn.width != 0) {
        status = rk_fail_at(err, RK_ERR_INVALID, "ffn",
                            "a layer has a dense FFN or experts, not both; a dense FFN beside "
                            "experts is a shared expert (shared_experts, shared_ffn)");
    }
    if (!status) {
        status = type->moe.experts != 0 ? check_experts(&type->moe, err) : check_dense(type, err);
    }
    return status;
}

static rk_status check_stack(const rk_model *model, rk_error *err)
{
    const sized sizes[] = {
        {"hidden", model->hidden, 1, WIDTH_MAX},
        {"layers", model->layers, 1, RK_LAYER_MAX},
        {"vocab", model->vocab, 1, ROWS_MAX},
        {"seq", model->seq, 1, TOKENS_MAX},
        {"mtp_layers", model->mtp_layers, 0, MTP_MAX},
        {"norms_per_layer", model->norms_per_layer, 0, NORMS_MAX},
        {"learned_positions", model->learned_positions, 0, ROWS_MAX},
        {"types", model->type_count, 1, RK_LAYER_TYPE_MAX},
        {"norm", (int64_t)model->norm, 0, RK_NORM_LAYER_NO_WEIGHT},
    };
    return CHECK_SIZES(sizes, err);
}

/* Whether the counts of the whole model, which is sound layer by layer, can be computed. */
static rk_status check_total(const rk_model *model, rk_error *err)
{
    double sum = 4 * (double)model->vocab * (double)model->hidden;
    sum += (double)model->learned_positions * (double)model->hidden;
    for (int i = 0; i < model->layers; i++) {
        const rk_layer_type *type = &model->types[model->type_of[i]];
        const int copies = i == model->layers - 1 ? 1 + model->mtp_layers : 1;
        sum += copies * (double)rk_layer_params_of(model, type).total;
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
    return status ? status : check_total(model, err);
}
