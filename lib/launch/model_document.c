/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source of the defaults: megatron/training/arguments.py and transformer_config.py of
 * NVIDIA/Megatron-LM, commit d98e8a64.
 */
#include "launch/model_document.h"

#include "base/text.h"
#include "base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A member of the document; 0: none. */
static void add_size(rk_growing_text *w, const char *key, int64_t value)
{
    if (value != 0) {
        rk_text_add(w, ",\"%s\":%" PRId64, key, value);
    }
}

static void add_flag(rk_growing_text *w, const char *key, bool value)
{
    rk_text_add(w, ",\"%s\":%s", key, value ? "true" : "false");
}

static int64_t or_usual(int64_t value, int64_t usual)
{
    return value ? value : usual;
}

/* 4 x hidden, or two thirds of that if gated, down to a multiple of 64. */
static int64_t usual_ffn(const int64_t *shape)
{
    const int64_t wide = 4 * shape[RK_SHAPE_HIDDEN];
    return shape[RK_SHAPE_SWIGLU] ? wide * 2 / 3 / 64 * 64 : wide;
}

bool rk_launch_is_every_expert(int every, int i)
{
    return i % every == 0;
}

bool rk_launch_is_every_window(int every, int i)
{
    return (i + 1) % every != 0;
}

static bool is_latent(const int64_t *s)
{
    return s[RK_SHAPE_LATENT] || s[RK_SHAPE_KV_RANK] || s[RK_SHAPE_Q_RANK];
}

static void add_attention(rk_growing_text *w, const int64_t *s)
{
    const bool biased = !s[RK_SHAPE_NO_BIAS];
    if (s[RK_SHAPE_INDEXER]) {
        add_size(w, "index_heads", s[RK_SHAPE_INDEX_HEADS]);
        add_size(w, "index_size", s[RK_SHAPE_INDEX_SIZE]);
        add_size(w, "index_keys", s[RK_SHAPE_INDEX_KEYS]);
    }
    add_size(w, "heads", s[RK_SHAPE_HEADS]);
    if (is_latent(s)) {
        add_size(w, "q_rank", s[RK_SHAPE_Q_RANK]);
        add_size(w, "kv_rank", or_usual(s[RK_SHAPE_KV_RANK], 32));
        add_size(w, "nope_size", or_usual(s[RK_SHAPE_NOPE_SIZE], 128));
        add_size(w, "rope_size", or_usual(s[RK_SHAPE_ROPE_SIZE], 64));
        add_size(w, "value_size", or_usual(s[RK_SHAPE_VALUE_SIZE], 128));
        return;
    }
    /* one head of keys and values where their number is not given */
    add_size(w, "kv_heads", or_usual(s[RK_SHAPE_KV_HEADS], s[RK_SHAPE_GROUPED] ? 1 : 0));
    add_size(w, "head_size", s[RK_SHAPE_HEAD_SIZE]);
    add_size(w, "window", s[RK_SHAPE_WINDOW]);
    add_flag(w, "bias_qkv", biased || s[RK_SHAPE_QKV_BIAS]);
    add_flag(w, "bias_out", biased);
    add_flag(w, "output_gate", s[RK_SHAPE_OUTPUT_GATE]);
    add_flag(w, "sinks", s[RK_SHAPE_SINKS]);
    if (s[RK_SHAPE_QK_NORM]) {
        rk_text_add(w, ",\"qk_norm\":\"head\"");
    }
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* Layers with experts, windows and a delta rule, a bit each. */
enum { MOE = 1, WINDOWED = 2, DELTA = 4, KINDS = 8 };

static int kind_of(const rk_model_flags *flags, int i)
{
    assert(i >= 0);
    const bool lists = flags->experts.every || flags->experts.count;
    const bool skips = flags->windows.every || flags->windows.count;
    const bool moe = flags->size[RK_SHAPE_EXPERTS] > 0 &&
                     (!lists || rk_layer_list_has(&flags->experts, i, rk_launch_is_every_expert));
    const bool windowed =
        flags->size[RK_SHAPE_WINDOW] > 0 &&
        (!skips || rk_layer_list_has(&flags->windows, i, rk_launch_is_every_window));
    const bool linear = flags->size[RK_SHAPE_DELTA] > 0 &&
                        rk_layer_list_has(&flags->linear, i, rk_launch_is_every_window);
    return (moe ? MOE : 0) | (windowed && !linear ? WINDOWED : 0) | (linear ? DELTA : 0);
}

static int layers_of(const rk_model_flags *flags)
{
    const int64_t layers = flags->size[RK_SHAPE_LAYERS];
    return layers < RK_LAYER_MAX ? (int)layers : RK_LAYER_MAX;
}

/* The kinds of layers there are, a bit each. */
static unsigned find_kinds(const rk_model_flags *flags)
{
    unsigned kinds = 0;
    for (int i = 0; i < layers_of(flags); i++) {
        kinds |= 1U << kind_of(flags, i);
    }
    return kinds;
}

static void add_networks(rk_growing_text *w, const int64_t *s, bool dense)
{
    const int64_t ffn = or_usual(s[RK_SHAPE_FFN_WIDTH], usual_ffn(s));
    add_flag(w, "gated", s[RK_SHAPE_SWIGLU] || s[RK_SHAPE_QUICK_GEGLU]);
    if (s[RK_SHAPE_SQUARED_RELU]) {
        rk_text_add(w, ",\"activation\":\"relu2\"");
    }
    if (s[RK_SHAPE_QUICK_GEGLU]) {
        add_flag(w, "clamped", true);
    }
    if (s[RK_SHAPE_EXPERTS] > 0) {
        add_size(w, "experts", s[RK_SHAPE_EXPERTS]);
        add_size(w, "top_k", or_usual(s[RK_SHAPE_TOP_K], 2));
        add_size(w, "expert_ffn", or_usual(s[RK_SHAPE_EXPERT_FFN], ffn));
        add_size(w, "expert_latent", s[RK_SHAPE_EXPERT_LATENT]);
        add_size(w, "shared_experts", s[RK_SHAPE_SHARED_FFN] > 0);
        add_size(w, "shared_ffn", s[RK_SHAPE_SHARED_FFN]);
        if (s[RK_SHAPE_EXPERT_GROUPS] && s[RK_SHAPE_ROUTE_GROUPS]) { /* one says nothing alone */
            add_size(w, "expert_groups", s[RK_SHAPE_EXPERT_GROUPS]);
            add_size(w, "route_groups", s[RK_SHAPE_ROUTE_GROUPS]);
        }
        add_flag(w, "shared_gate", s[RK_SHAPE_SHARED_GATE]);
        add_flag(w, "router_bias", s[RK_SHAPE_ROUTER_BIAS] || !s[RK_SHAPE_NO_BIAS]);
        add_flag(w, "expert_bias", !s[RK_SHAPE_NO_BIAS]);
    }
    if (dense) {
        add_size(w, "ffn", ffn);
        add_flag(w, "ffn_bias", !s[RK_SHAPE_NO_BIAS]);
    }
}

/* A type of layers, of those that have experts, windows and so on. */
static void add_type(rk_growing_text *w, const rk_model_flags *flags, int kind)
{
    assert(kind >= 0 && kind < KINDS);
    rk_text_add(w, "{\"feed_forward\":\"%s\"", kind & MOE ? "experts" : "dense");
    if (kind & DELTA) {
        rk_text_add(w, ",\"mixer\":\"gated_delta\"");
    } else if (flags->size[RK_SHAPE_WINDOW] > 0 && !(kind & WINDOWED)) {
        rk_text_add(w, ",\"window\":0");
    }
    rk_text_add(w, "}");
}

/* The types of layers that differ, and the type of each layer. */
static void add_types(rk_growing_text *w, const rk_model_flags *flags, unsigned kinds)
{
    assert(kinds != 0);
    int place[KINDS] = {0}, count = 0;
    rk_text_add(w, ",\"types\":[");
    for (int kind = 0; kind < KINDS; kind++) {
        if (kinds >> kind & 1U) {
            rk_text_add(w, "%s", count ? "," : "");
            add_type(w, flags, kind);
            place[kind] = count++;
        }
    }
    rk_text_add(w, "],\"pattern\":[");
    for (int i = 0; i < layers_of(flags); i++) {
        rk_text_add(w, "%s%d", i ? "," : "", place[kind_of(flags, i)]);
    }
    rk_text_add(w, "]");
}

/* ---- blocks of a hybrid ---------------------------------------------------------------------- */

static const struct {
    char letter;
    const char *type;
} blocks[] = {
    {'M', "{\"mixer\":\"mamba2\",\"feed_forward\":\"none\"}"},
    {'G', "{\"mixer\":\"gated_delta\",\"feed_forward\":\"none\"}"},
    {'*', "{\"feed_forward\":\"none\"}"},
    {'-', "{\"mixer\":\"none\",\"feed_forward\":\"dense\"}"},
    {'E', "{\"mixer\":\"none\",\"feed_forward\":\"experts\"}"},
};

static void add_blocks(rk_growing_text *w, const char *letters)
{
    int place[COUNT(blocks)] = {0}, count = 0;
    rk_text_add(w, ",\"types\":[");
    for (size_t i = 0; i < COUNT(blocks); i++) {
        if (strchr(letters, blocks[i].letter)) {
            rk_text_add(w, "%s%s", count ? "," : "", blocks[i].type);
            place[i] = count++;
        }
    }
    rk_text_add(w, "],\"pattern\":[");
    for (const char *c = letters; *c; c++) {
        for (size_t i = 0; i < COUNT(blocks); i++) {
            if (blocks[i].letter == *c) {
                rk_text_add(w, "%s%d", c == letters ? "" : ",", place[i]);
            }
        }
    }
    rk_text_add(w, "]");
}

/* ---- mixers without attention ---------------------------------------------------------------- */

/* Sizes of Mamba-2 and of the gated delta rule; chunks as their kernels have them. */
static void add_mixer(rk_growing_text *w, const int64_t *s, const char *letters)
{
    if (strchr(letters, 'M')) {
        const int64_t size = or_usual(s[RK_SHAPE_STATE_HEAD_SIZE], 64);
        add_size(w, "state_heads",
                 or_usual(s[RK_SHAPE_STATE_HEADS], 2 * s[RK_SHAPE_HIDDEN] / size));
        add_size(w, "state_key_heads", or_usual(s[RK_SHAPE_STATE_GROUPS], 8));
        add_size(w, "state_key_size", or_usual(s[RK_SHAPE_STATE_SIZE], 128));
        add_size(w, "state_value_size", size);
        rk_text_add(w, ",\"conv_width\":4,\"conv_bias\":true,\"chunk\":128");
    } else if (s[RK_SHAPE_DELTA] || strchr(letters, 'G')) {
        add_size(w, "state_heads", or_usual(s[RK_SHAPE_DELTA_VALUE_HEADS], 32));
        add_size(w, "state_key_heads", or_usual(s[RK_SHAPE_DELTA_KEY_HEADS], 16));
        add_size(w, "state_key_size", or_usual(s[RK_SHAPE_DELTA_KEY_SIZE], 128));
        add_size(w, "state_value_size", or_usual(s[RK_SHAPE_DELTA_VALUE_SIZE], 128));
        rk_text_add(w, ",\"conv_width\":4,\"chunk\":64");
    }
}

rk_model_place rk_model_flags_unbuilt(const rk_model_flags *flags)
{
    const int64_t *s = flags->size;
    const bool both = strchr(flags->blocks, 'M') && strchr(flags->blocks, 'G');
    const bool index = s[RK_SHAPE_INDEX_HEADS] && s[RK_SHAPE_INDEX_SIZE] && s[RK_SHAPE_INDEX_KEYS];
    const bool listed = flags->linear.every > 0 || flags->linear.count > 0;
    if (strpbrk(flags->blocks, "D+") || both) {
        return RK_SHAPE_BLOCKS;
    }
    return s[RK_SHAPE_HYBRID] && !flags->blocks[0] ? RK_SHAPE_HYBRID
           : s[RK_SHAPE_INDEXER] && !index         ? RK_SHAPE_INDEXER
           : s[RK_SHAPE_DELTA] && !listed          ? RK_SHAPE_DELTA
                                                   : RK_SHAPE_COUNT;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Whether a layer has a feed-forward part without experts. */
static bool has_dense(const rk_model_flags *flags, unsigned kinds)
{
    bool dense = flags->size[RK_SHAPE_EXPERTS] == 0;
    if (flags->blocks[0]) {
        return strchr(flags->blocks, '-') != NULL;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        dense = dense || ((kinds >> kind & 1U) && !(kind & MOE));
    }
    return dense;
}

static void add_layers(rk_growing_text *w, const rk_model_flags *flags, unsigned kinds)
{
    if (flags->blocks[0]) {
        add_blocks(w, flags->blocks);
    } else if ((kinds & (kinds - 1)) != 0) {
        add_types(w, flags, kinds);
    }
}

const char *rk_model_document(const rk_model_flags *flags, char out[RK_MODEL_DOCUMENT_SIZE])
{
    const int64_t *s = flags->size;
    const int64_t positions = or_usual(s[RK_SHAPE_POSITIONS], 4096);
    const unsigned kinds = find_kinds(flags);
    rk_growing_text w = {.text = out, .size = RK_MODEL_DOCUMENT_SIZE};
    rk_text_add(&w, "{\"name\":\"command line\"");
    add_size(&w, "hidden", s[RK_SHAPE_HIDDEN]);
    add_size(&w, "layers", flags->blocks[0] ? (int64_t)strlen(flags->blocks) : s[RK_SHAPE_LAYERS]);
    /* the vocabulary of GPT2BPETokenizer, which lines that name no other have */
    add_size(&w, "vocab", or_usual(s[RK_SHAPE_VOCAB], or_usual(flags->entries, 50257)));
    add_size(&w, "seq", positions);
    add_flag(&w, "tied", !s[RK_SHAPE_UNTIED]);
    add_attention(&w, s);
    add_networks(&w, s, has_dense(flags, kinds));
    add_mixer(&w, s, flags->blocks);
    if (!s[RK_SHAPE_RMS]) {
        rk_text_add(&w, ",\"norm\":\"layer\"");
    }
    if (!s[RK_SHAPE_ROPE]) {
        add_size(&w, "learned_positions", positions);
    }
    add_size(&w, "mtp_layers", s[RK_SHAPE_MTP]);
    add_layers(&w, flags, kinds);
    rk_text_add(&w, "}");
    return out;
}
