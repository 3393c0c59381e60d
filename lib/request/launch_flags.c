/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags of Megatron-LM's and torchrun's launch lines that are no options of ours, so that such a
 * line can be pasted.  Source: megatron/training/arguments.py and its configuration classes, commit
 * d98e8a64 of NVIDIA/Megatron-LM.
 */
#include "request/launch_flags.h"

#include "base/error.h"
#include "base/units.h"
#include "io/catalogue.h"
#include "request/other_flags.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- flags that stand for an option ---------------------------------------------------------- */

static const struct {
    const char *flag, *option;
    const char *value; /* of the option; NULL: that of the flag */
    bool takes_value;
} synonyms[] = {
    {"bf16", "precision", "bf16", false},
    {"fp16", "precision", "fp16", false},
    {"fp8-format", "precision", "fp8", true},
    {"fp4-format", "precision", "fp4", true},
    {"recompute-activations", "recompute", "selective", false},
    {"nnodes", "nodes", NULL, true},
    {"nproc-per-node", "gpus-per-node", NULL, true},
    {"num-layers-per-virtual-pipeline-stage", "vp-layers", NULL, true},
};

/* How Megatron-LM calls the ways of context parallelism. */
static const char *const cp_kinds[][2] = {
    {"p2p", "ring"}, {"all_gather", "all-gather"}, {"allgather", "all-gather"}, {"a2a", "ulysses"}};

static rk_status set_cp_kind(rk_job *job, const char *value, rk_error *err)
{
    for (size_t i = 0; value && i < COUNT(cp_kinds); i++) {
        if (strcmp(value, cp_kinds[i][0]) == 0) {
            return rk_job_set(job, "cp-kind", cp_kinds[i][1], err);
        }
    }
    return rk_fail(err, RK_ERR_INVALID, "--cp-comm-type must be p2p, all_gather or a2a, not '%s'",
                   value ? value : "");
}

/* ---- flags that describe the model ----------------------------------------------------------- */

typedef enum shape_flag {
    SHAPE_LAYERS,
    SHAPE_HIDDEN,
    SHAPE_HEADS,
    SHAPE_FFN,
    SHAPE_KV_HEADS,
    SHAPE_HEAD_DIM,
    SHAPE_VOCAB,
    SHAPE_EXPERTS,
    SHAPE_TOP_K,
    SHAPE_EXPERT_FFN,
    SHAPE_SHARED_FFN,
    SHAPE_POSITIONS,
    SHAPE_SWIGLU,
    SHAPE_UNTIED,
    SHAPE_NO_BIAS,
    SHAPE_QKV_BIAS,
    SHAPE_ROPE,
    SHAPE_RMS,
    SHAPE_QK_NORM,
    SHAPE_NOTHING, /* follows from others */
} shape_flag;

static_assert(SHAPE_NOTHING < RK_SHAPE_MAX, "rk_request.shape holds every flag");

static const struct {
    const char *flag;
    shape_flag place;
    bool number;
} shape_flags[] = {
    {"num-layers", SHAPE_LAYERS, true},
    {"hidden-size", SHAPE_HIDDEN, true},
    {"num-attention-heads", SHAPE_HEADS, true},
    {"ffn-hidden-size", SHAPE_FFN, true},
    {"num-query-groups", SHAPE_KV_HEADS, true},
    {"kv-channels", SHAPE_HEAD_DIM, true},
    {"vocab-size", SHAPE_VOCAB, true},
    {"padded-vocab-size", SHAPE_VOCAB, true},
    {"num-experts", SHAPE_EXPERTS, true},
    {"moe-router-topk", SHAPE_TOP_K, true},
    {"moe-ffn-hidden-size", SHAPE_EXPERT_FFN, true},
    {"moe-shared-expert-intermediate-size", SHAPE_SHARED_FFN, true},
    {"max-position-embeddings", SHAPE_POSITIONS, true},
    {"swiglu", SHAPE_SWIGLU, false},
    {"untie-embeddings-and-output-weights", SHAPE_UNTIED, false},
    {"disable-bias-linear", SHAPE_NO_BIAS, false},
    {"add-qkv-bias", SHAPE_QKV_BIAS, false},
    {"use-rotary-position-embeddings", SHAPE_ROPE, false},
    {"qk-layernorm", SHAPE_QK_NORM, false},
    {"group-query-attention", SHAPE_NOTHING, false},
};

/* Writes a member of a model document; 0: none. */
static size_t add_member(char *text, size_t used, const char *key, int64_t value)
{
    if (value == 0 || used >= RK_SHAPE_TEXT_SIZE) {
        return used;
    }
    return used +
           (size_t)snprintf(text + used, RK_SHAPE_TEXT_SIZE - used, ",\"%s\":%" PRId64, key, value);
}

static size_t add_flag(char *text, size_t used, const char *key, bool value)
{
    if (used >= RK_SHAPE_TEXT_SIZE) {
        return used;
    }
    return used + (size_t)snprintf(text + used, RK_SHAPE_TEXT_SIZE - used, ",\"%s\":%s", key,
                                   value ? "true" : "false");
}

/* Megatron-LM's own: 4 x hidden, or two thirds of it where gated, down to a multiple of 64. */
static int64_t usual_ffn(const int64_t *shape)
{
    const int64_t wide = 4 * shape[SHAPE_HIDDEN];
    return shape[SHAPE_SWIGLU] ? wide * 2 / 3 / 64 * 64 : wide;
}

const char *rk_shape_document(const int64_t *shape, char out[RK_SHAPE_TEXT_SIZE])
{
    const bool biased = !shape[SHAPE_NO_BIAS], moe = shape[SHAPE_EXPERTS] > 0;
    const int64_t ffn = shape[SHAPE_FFN] ? shape[SHAPE_FFN] : usual_ffn(shape);
    const int64_t positions = shape[SHAPE_POSITIONS] ? shape[SHAPE_POSITIONS] : 4096;
    size_t used = (size_t)snprintf(out, RK_SHAPE_TEXT_SIZE, "{\"name\":\"command line\"");
    used = add_member(out, used, "hidden", shape[SHAPE_HIDDEN]);
    used = add_member(out, used, "layers", shape[SHAPE_LAYERS]);
    /* the vocabulary of GPT2BPETokenizer, which lines that name no other have */
    used = add_member(out, used, "vocab", shape[SHAPE_VOCAB] ? shape[SHAPE_VOCAB] : 50257);
    used = add_member(out, used, "seq", positions);
    used = add_flag(out, used, "tied", !shape[SHAPE_UNTIED]);
    used = add_member(out, used, "heads", shape[SHAPE_HEADS]);
    used = add_member(out, used, "kv_heads", shape[SHAPE_KV_HEADS]);
    used = add_member(out, used, "head_size", shape[SHAPE_HEAD_DIM]);
    used = add_flag(out, used, "gated", shape[SHAPE_SWIGLU]);
    used = add_flag(out, used, "bias_qkv", biased || shape[SHAPE_QKV_BIAS]);
    used = add_flag(out, used, "bias_out", biased);
    if (moe) {
        used = add_member(out, used, "experts", shape[SHAPE_EXPERTS]);
        used = add_member(out, used, "top_k", shape[SHAPE_TOP_K] ? shape[SHAPE_TOP_K] : 2);
        used = add_member(out, used, "expert_ffn",
                          shape[SHAPE_EXPERT_FFN] ? shape[SHAPE_EXPERT_FFN] : ffn);
        used = add_member(out, used, "shared_experts", shape[SHAPE_SHARED_FFN] > 0);
        used = add_member(out, used, "shared_ffn", shape[SHAPE_SHARED_FFN]);
    } else {
        used = add_member(out, used, "ffn", ffn);
        used = add_flag(out, used, "ffn_bias", biased);
    }
    if (!shape[SHAPE_RMS] && used < RK_SHAPE_TEXT_SIZE) {
        used += (size_t)snprintf(out + used, RK_SHAPE_TEXT_SIZE - used, ",\"norm\":\"layer\"");
    }
    if (!shape[SHAPE_ROPE]) {
        used = add_member(out, used, "learned_positions", positions);
    }
    if (shape[SHAPE_QK_NORM]) {
        used = add_flag(out, used, "qk_norm", true);
    }
    if (used < RK_SHAPE_TEXT_SIZE) {
        (void)snprintf(out + used, RK_SHAPE_TEXT_SIZE - used, "}");
    }
    return out;
}

/* Keeps what a flag says of the model, and hands over the model that the flags make so far. */
static rk_status set_shape(rk_job *job, int64_t *shape, shape_flag place, int64_t value,
                           rk_error *err)
{
    char text[RK_SHAPE_TEXT_SIZE];
    shape[place] = value;
    const bool whole = shape[SHAPE_LAYERS] && shape[SHAPE_HIDDEN] && shape[SHAPE_HEADS];
    return whole ? rk_job_set(job, "model", rk_shape_document(shape, text), err) : RK_OK;
}

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

/* The flags with words for values. */
static rk_status set_word(rk_job *job, int64_t *shape, const char *flag, const char *value,
                          bool *known, rk_error *err)
{
    *known = true;
    if (strcmp(flag, "cp-comm-type") == 0) {
        return set_cp_kind(job, value, err);
    }
    if (strcmp(flag, "normalization") == 0) {
        return set_shape(job, shape, SHAPE_RMS, value && strcmp(value, "RMSNorm") == 0, err);
    }
    if (strcmp(flag, "position-embedding-type") == 0) {
        const bool learned = !value || strcmp(value, "learned_absolute") == 0;
        return set_shape(job, shape, SHAPE_ROPE, !learned, err);
    }
    *known = false;
    return RK_OK;
}

/* ---- flags that are known -------------------------------------------------------------------- */

/* What data/launch_flags/megatron.csv says that a flag is about; '\0': it does not have it. */
static char subject_of(const char *flag)
{
    const rk_catalogue_entry *table = rk_catalogue_find("launch_flags", "megatron");
    const size_t length = strlen(flag);
    const char *at = table ? table->text : NULL, *end = at ? at + table->size : NULL;
    while (at && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end && (size_t)(line_end - at) > length + 1 && memcmp(at, flag, length) == 0 &&
            at[length] == ',') {
            return at[length + 1];
        }
        at = line_end ? line_end + 1 : NULL;
    }
    return '\0';
}

static rk_status take_known(rk_job *job, const char *flag, rk_flag_use *use, rk_error *err)
{
    const char subject = subject_of(flag);
    if (subject == 'l') {
        return rk_fail(err, RK_ERR_INVALID,
                       "--%s describes layers that flags cannot; give --model a name, a document "
                       "or a config.json",
                       flag);
    }
    *use = RK_FLAG_UNUSED;
    return subject ? RK_OK : rk_job_fail_unknown(rk_job_command(job), flag, err);
}

rk_status rk_request_take_launch_flag(rk_job *job, const char *flag, const char *value,
                                      rk_flag_use *use, rk_error *err)
{
    int64_t *shape = ((rk_request *)rk_job_arguments(job))->shape;
    bool known = false;
    for (size_t i = 0; i < COUNT(synonyms); i++) {
        if (strcmp(flag, synonyms[i].flag) == 0) {
            *use = synonyms[i].takes_value ? RK_FLAG_WITH_VALUE : RK_FLAG_ALONE;
            return rk_job_set(job, synonyms[i].option,
                              synonyms[i].value ? synonyms[i].value : value, err);
        }
    }
    for (size_t i = 0; i < COUNT(shape_flags); i++) {
        int64_t size = 1;
        if (strcmp(flag, shape_flags[i].flag) == 0) {
            *use = shape_flags[i].number ? RK_FLAG_WITH_VALUE : RK_FLAG_ALONE;
            const rk_status status =
                shape_flags[i].number ? read_size(flag, value, &size, err) : RK_OK;
            return status ? status : set_shape(job, shape, shape_flags[i].place, size, err);
        }
    }
    *use = RK_FLAG_WITH_VALUE;
    rk_status status = set_word(job, shape, flag, value, &known, err);
    if (!status && !known) {
        status = rk_take_other_flag(job, flag, value, use, &known, err);
    }
    return status || known ? status : take_known(job, flag, use, err);
}
