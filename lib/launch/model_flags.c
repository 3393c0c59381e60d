/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: megatron/training/arguments.py and transformer_config.py of NVIDIA/Megatron-LM, commit
 * d98e8a64.
 */
#include "launch/model_flags.h"

#include "base/units.h"
#include "launch/read_megatron.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- flags ----------------------------------------------------------------------------------- */

static_assert(RK_SHAPE_COUNT <= 64, "rk_model_flags.given has a bit for every flag");

static const struct {
    const char *flag;
    rk_model_place place;
    rk_model_flag_kind kind;
} rows[] = {
    {"num-layers", RK_SHAPE_LAYERS, RK_MODEL_FLAG_NUMBER},
    {"encoder-num-layers", RK_SHAPE_LAYERS, RK_MODEL_FLAG_NUMBER},
    {"hidden-size", RK_SHAPE_HIDDEN, RK_MODEL_FLAG_NUMBER},
    {"num-attention-heads", RK_SHAPE_HEADS, RK_MODEL_FLAG_NUMBER},
    {"ffn-hidden-size", RK_SHAPE_FFN_WIDTH, RK_MODEL_FLAG_NUMBER},
    {"num-query-groups", RK_SHAPE_KV_HEADS, RK_MODEL_FLAG_NUMBER},
    {"kv-channels", RK_SHAPE_HEAD_SIZE, RK_MODEL_FLAG_NUMBER},
    {"vocab-size", RK_SHAPE_VOCAB, RK_MODEL_FLAG_NUMBER},
    {"padded-vocab-size", RK_SHAPE_VOCAB, RK_MODEL_FLAG_NUMBER},
    {"num-experts", RK_SHAPE_EXPERTS, RK_MODEL_FLAG_NUMBER},
    {"moe-router-topk", RK_SHAPE_TOP_K, RK_MODEL_FLAG_NUMBER},
    {"moe-ffn-hidden-size", RK_SHAPE_EXPERT_FFN, RK_MODEL_FLAG_NUMBER},
    {"moe-shared-expert-intermediate-size", RK_SHAPE_SHARED_FFN, RK_MODEL_FLAG_NUMBER},
    {"moe-latent-size", RK_SHAPE_EXPERT_LATENT, RK_MODEL_FLAG_NUMBER},
    {"moe-router-num-groups", RK_SHAPE_EXPERT_GROUPS, RK_MODEL_FLAG_NUMBER},
    {"moe-router-group-topk", RK_SHAPE_ROUTE_GROUPS, RK_MODEL_FLAG_NUMBER},
    {"max-position-embeddings", RK_SHAPE_POSITIONS, RK_MODEL_FLAG_NUMBER},
    {"q-lora-rank", RK_SHAPE_Q_RANK, RK_MODEL_FLAG_NUMBER},
    {"kv-lora-rank", RK_SHAPE_KV_RANK, RK_MODEL_FLAG_NUMBER},
    {"qk-head-dim", RK_SHAPE_NOPE_SIZE, RK_MODEL_FLAG_NUMBER},
    {"qk-pos-emb-head-dim", RK_SHAPE_ROPE_SIZE, RK_MODEL_FLAG_NUMBER},
    {"v-head-dim", RK_SHAPE_VALUE_SIZE, RK_MODEL_FLAG_NUMBER},
    {"mamba-state-dim", RK_SHAPE_STATE_SIZE, RK_MODEL_FLAG_NUMBER},
    {"mamba-head-dim", RK_SHAPE_STATE_HEAD_SIZE, RK_MODEL_FLAG_NUMBER},
    {"mamba-num-groups", RK_SHAPE_STATE_GROUPS, RK_MODEL_FLAG_NUMBER},
    {"mamba-num-heads", RK_SHAPE_STATE_HEADS, RK_MODEL_FLAG_NUMBER},
    {"linear-key-head-dim", RK_SHAPE_DELTA_KEY_SIZE, RK_MODEL_FLAG_NUMBER},
    {"linear-value-head-dim", RK_SHAPE_DELTA_VALUE_SIZE, RK_MODEL_FLAG_NUMBER},
    {"linear-num-key-heads", RK_SHAPE_DELTA_KEY_HEADS, RK_MODEL_FLAG_NUMBER},
    {"linear-num-value-heads", RK_SHAPE_DELTA_VALUE_HEADS, RK_MODEL_FLAG_NUMBER},
    {"dsa-indexer-n-heads", RK_SHAPE_INDEX_HEADS, RK_MODEL_FLAG_NUMBER},
    {"dsa-indexer-head-dim", RK_SHAPE_INDEX_SIZE, RK_MODEL_FLAG_NUMBER},
    {"dsa-indexer-topk", RK_SHAPE_INDEX_KEYS, RK_MODEL_FLAG_NUMBER},
    {"swiglu", RK_SHAPE_SWIGLU, RK_MODEL_FLAG_ALONE},
    {"untie-embeddings-and-output-weights", RK_SHAPE_UNTIED, RK_MODEL_FLAG_ALONE},
    {"disable-bias-linear", RK_SHAPE_NO_BIAS, RK_MODEL_FLAG_ALONE},
    {"add-qkv-bias", RK_SHAPE_QKV_BIAS, RK_MODEL_FLAG_ALONE},
    {"use-rotary-position-embeddings", RK_SHAPE_ROPE, RK_MODEL_FLAG_ALONE},
    {"qk-layernorm", RK_SHAPE_QK_NORM, RK_MODEL_FLAG_ALONE},
    {"attention-output-gate", RK_SHAPE_OUTPUT_GATE, RK_MODEL_FLAG_ALONE},
    {"moe-shared-expert-gate", RK_SHAPE_SHARED_GATE, RK_MODEL_FLAG_ALONE},
    {"moe-router-enable-expert-bias", RK_SHAPE_ROUTER_BIAS, RK_MODEL_FLAG_ALONE},
    {"multi-latent-attention", RK_SHAPE_LATENT, RK_MODEL_FLAG_ALONE},
    {"is-hybrid-model", RK_SHAPE_HYBRID, RK_MODEL_FLAG_ALONE},
    {"group-query-attention", RK_SHAPE_GROUPED, RK_MODEL_FLAG_ALONE},
    {"quick-geglu", RK_SHAPE_QUICK_GEGLU, RK_MODEL_FLAG_ALONE},
    {"squared-relu", RK_SHAPE_SQUARED_RELU, RK_MODEL_FLAG_ALONE},
    {"softmax-type", RK_SHAPE_SINKS, RK_MODEL_FLAG_TEXT},
    {"normalization", RK_SHAPE_RMS, RK_MODEL_FLAG_TEXT},
    {"position-embedding-type", RK_SHAPE_ROPE, RK_MODEL_FLAG_TEXT},
    {"moe-layer-freq", RK_SHAPE_EXPERT_LAYERS, RK_MODEL_FLAG_TEXT},
    {"window-attn-skip-freq", RK_SHAPE_WINDOW_LAYERS, RK_MODEL_FLAG_TEXT},
    {"linear-attention-freq", RK_SHAPE_DELTA_LAYERS, RK_MODEL_FLAG_TEXT},
    {"experimental-attention-variant", RK_SHAPE_DELTA, RK_MODEL_FLAG_TEXT},
    {"window-size", RK_SHAPE_WINDOW, RK_MODEL_FLAG_TEXT},
    {"hybrid-layer-pattern", RK_SHAPE_BLOCKS, RK_MODEL_FLAG_TEXT},
    {"hybrid-override-pattern", RK_SHAPE_BLOCKS, RK_MODEL_FLAG_TEXT},
    {"tokenizer-type", RK_SHAPE_TOKENIZER, RK_MODEL_FLAG_TEXT},
    {"tokenizer-model", RK_SHAPE_TOKENIZER, RK_MODEL_FLAG_TEXT},
};

/* The first flag for a place, to name in a message. */
const char *rk_model_flag_name(rk_model_place place)
{
    size_t i = 0;
    place = place == RK_SHAPE_INDEXER ? RK_SHAPE_DELTA : place; /* one flag for both */
    while (i + 1 < COUNT(rows) && rows[i].place != place) {
        i++;
    }
    return rows[i].flag;
}

rk_model_place rk_model_flag_place(const char *flag, rk_model_flag_kind *kind)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strcmp(flag, rows[i].flag) == 0) {
            *kind = rows[i].kind;
            return rows[i].place;
        }
    }
    return RK_SHAPE_COUNT;
}

bool rk_model_flag_is_number(rk_model_place place)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].place == place) {
            return rows[i].kind == RK_MODEL_FLAG_NUMBER;
        }
    }
    return false;
}

bool rk_model_flag_is_given(const rk_model_flags *flags, rk_model_place place)
{
    return flags->given >> place & 1U;
}

void rk_model_flags_keep(rk_model_flags *flags, rk_model_place place, int64_t value)
{
    flags->size[place] = value;
    flags->given |= UINT64_C(1) << place;
}

/* ---- values ---------------------------------------------------------------------------------- */

static rk_status read_size(const char *flag, const char *value, int64_t *size, rk_error *err)
{
    char *end = NULL;
    const long long number = value ? strtoll(value, &end, 10) : 0;
    if (!value || end == value || *end || number < 1 || number > INT32_MAX) {
        return rk_fail(err, RK_ERR_INVALID, "--%s needs a number from 1 to %d, not '%s'", flag,
                       INT32_MAX, value ? value : "");
    }
    *size = number;
    return RK_OK;
}

/* "(127,0)": tokens before a query and behind it, in addition to its own. */
static rk_status read_window(const char *value, int64_t *window, rk_error *err)
{
    char *end = NULL;
    const char *digits = value + strspn(value, "( ");
    const long long before = strtoll(digits, &end, 10);
    const bool closed = end != digits && strspn(end, ", 0)") == strlen(end);
    if (!closed || before < 0 || before >= INT32_MAX) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--window-size needs the tokens before and behind a query, such as 127,0, "
                       "not '%.100s'",
                       value);
    }
    *window = before + 1;
    return RK_OK;
}

static rk_status read_layers(const char *flag, const char *value, rk_layer_list *list,
                             rk_error *err)
{
    return rk_layer_list_read(value, list)
               ? RK_OK
               : rk_fail(err, RK_ERR_INVALID,
                         "--%s needs a number of layers, or a list such as ([0]*3+[1]*58), not "
                         "'%.100s'",
                         flag, value);
}

/* Letters of blocks, without the ends of stages and the modules of multi-token prediction. */
static rk_status read_blocks(const char *flag, const char *value, char *blocks, rk_error *err)
{
    size_t count = 0;
    for (const char *c = value; *c && *c != '/'; c++) {
        if (*c == '|') {
            continue;
        }
        if (!strchr("M*-EGD+", *c) || count == RK_LAYER_MAX) {
            return rk_fail(err, RK_ERR_INVALID,
                           "--%s needs a letter per block, M (Mamba), * (attention), - (dense) or "
                           "E (experts), not '%.100s'",
                           flag, value);
        }
        blocks[count++] = *c;
    }
    blocks[count] = '\0';
    return RK_OK;
}

/* Keeps a tokenizer's entries, by its class or, which says more, by the model in its path. */
static void take_tokenizer(rk_model_flags *flags, const char *flag, const char *value)
{
    const bool path = strcmp(flag, "tokenizer-type") != 0;
    const int64_t entries = rk_launch_tokenizer_entries(value);
    if (entries > 0 && (path || flags->entries == 0)) {
        flags->entries = entries;
    }
    if (flags->entries > 0) {
        flags->tokenizer[0] = '\0';
    } else if (!path) {
        (void)snprintf(flags->tokenizer, sizeof(flags->tokenizer), "%s", value);
    }
}

static rk_status take_text(rk_model_flags *flags, const char *flag, rk_model_place place,
                           const char *value, rk_error *err)
{
    rk_status status = RK_OK;
    int64_t number = 1;
    if (!value) {
        return rk_fail(err, RK_ERR_INVALID, "--%s needs a value", flag);
    }
    switch (place) {
    case RK_SHAPE_RMS:
        number = strcmp(value, "RMSNorm") == 0;
        break;
    case RK_SHAPE_SINKS:
        number = strcmp(value, "learnable") == 0;
        break;
    case RK_SHAPE_ROPE:
        number = strcmp(value, "learned_absolute") != 0;
        break;
    case RK_SHAPE_EXPERT_LAYERS:
        status = read_layers(flag, value, &flags->experts, err);
        break;
    case RK_SHAPE_WINDOW_LAYERS:
        status = read_layers(flag, value, &flags->windows, err);
        break;
    case RK_SHAPE_DELTA_LAYERS:
        status = read_layers(flag, value, &flags->linear, err);
        break;
    case RK_SHAPE_DELTA:
        place = strncmp(value, "dsa", 3) == 0 ? RK_SHAPE_INDEXER : place;
        break;
    case RK_SHAPE_WINDOW:
        status = read_window(value, &number, err);
        break;
    case RK_SHAPE_BLOCKS:
        status = read_blocks(flag, value, flags->blocks, err);
        break;
    default:
        take_tokenizer(flags, flag, value);
        break;
    }
    if (!status) {
        rk_model_flags_keep(flags, place, number);
    }
    return status;
}

rk_status rk_model_flags_take(rk_model_flags *flags, const char *flag, const char *value,
                              rk_error *err)
{
    rk_model_flag_kind kind = RK_MODEL_FLAG_ALONE;
    const rk_model_place place = rk_model_flag_place(flag, &kind);
    int64_t size = 1;
    if (kind == RK_MODEL_FLAG_TEXT) {
        return take_text(flags, flag, place, value, err);
    }
    const rk_status status =
        kind == RK_MODEL_FLAG_NUMBER ? read_size(flag, value, &size, err) : RK_OK;
    if (!status) {
        rk_model_flags_keep(flags, place, size);
    }
    return status;
}
