/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source of the defaults: megatron/training/arguments.py and transformer_config.py of
 * NVIDIA/Megatron-LM, commit d98e8a64.
 */
#include "launch/model_document.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct writer {
    char *text;
    size_t used;
} writer;

static void RK_PRINTF(2, 3) add(writer *w, const char *format, ...)
{
    va_list list;
    if (w->used >= RK_MODEL_DOCUMENT_SIZE) {
        return;
    }
    va_start(list, format);
    const int n = vsnprintf(w->text + w->used, RK_MODEL_DOCUMENT_SIZE - w->used, format, list);
    va_end(list);
    w->used += n > 0 ? (size_t)n : 0;
}

/* A member of the document; 0: none. */
static void add_size(writer *w, const char *key, int64_t value)
{
    if (value != 0) {
        add(w, ",\"%s\":%" PRId64, key, value);
    }
}

static void add_flag(writer *w, const char *key, bool value)
{
    add(w, ",\"%s\":%s", key, value ? "true" : "false");
}

static int64_t or_usual(int64_t value, int64_t usual)
{
    return value ? value : usual;
}

/* 4 x hidden, or two thirds of it where gated, down to a multiple of 64. */
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

static void add_attention(writer *w, const int64_t *s)
{
    const bool biased = !s[RK_SHAPE_NO_BIAS];
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
        add(w, ",\"qk_norm\":\"head\"");
    }
}

/* Layers with experts and windows, a bit each. */
enum { MOE = 1, WINDOWED = 2, KINDS = 4 };

static int kind_of(const rk_model_flags *flags, int i)
{
    const bool lists = flags->experts.every || flags->experts.count;
    const bool skips = flags->windows.every || flags->windows.count;
    const bool moe = flags->size[RK_SHAPE_EXPERTS] > 0 &&
                     (!lists || rk_layer_list_has(&flags->experts, i, rk_launch_is_every_expert));
    const bool windowed =
        flags->size[RK_SHAPE_WINDOW] > 0 &&
        (!skips || rk_layer_list_has(&flags->windows, i, rk_launch_is_every_window));
    return (moe ? MOE : 0) | (windowed ? WINDOWED : 0);
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

static void add_networks(writer *w, const int64_t *s, bool dense)
{
    const int64_t ffn = or_usual(s[RK_SHAPE_FFN_WIDTH], usual_ffn(s));
    add_flag(w, "gated", s[RK_SHAPE_SWIGLU] || s[RK_SHAPE_QUICK_GEGLU]);
    if (s[RK_SHAPE_SQUARED_RELU]) {
        add(w, ",\"activation\":\"relu2\"");
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
        add_size(w, "expert_groups", s[RK_SHAPE_EXPERT_GROUPS]);
        add_size(w, "route_groups", s[RK_SHAPE_ROUTE_GROUPS]);
        add_flag(w, "shared_gate", s[RK_SHAPE_SHARED_GATE]);
        add_flag(w, "router_bias", s[RK_SHAPE_ROUTER_BIAS] || !s[RK_SHAPE_NO_BIAS]);
        add_flag(w, "expert_bias", !s[RK_SHAPE_NO_BIAS]);
    }
    if (dense) {
        add_size(w, "ffn", ffn);
        add_flag(w, "ffn_bias", !s[RK_SHAPE_NO_BIAS]);
    }
}

/* The types of layers that differ, and the type of each layer. */
static void add_types(writer *w, const rk_model_flags *flags, unsigned kinds)
{
    int place[KINDS] = {0}, count = 0;
    add(w, ",\"types\":[");
    for (int kind = 0; kind < KINDS; kind++) {
        if (!(kinds >> kind & 1U)) {
            continue;
        }
        add(w, "%s{\"feed_forward\":\"%s\"", count ? "," : "", kind & MOE ? "experts" : "dense");
        if (flags->size[RK_SHAPE_WINDOW] > 0 && !(kind & WINDOWED)) {
            add(w, ",\"window\":0");
        }
        add(w, "}");
        place[kind] = count++;
    }
    add(w, "],\"pattern\":[");
    for (int i = 0; i < layers_of(flags); i++) {
        add(w, "%s%d", i ? "," : "", place[kind_of(flags, i)]);
    }
    add(w, "]");
}

const char *rk_model_document(const rk_model_flags *flags, char out[RK_MODEL_DOCUMENT_SIZE])
{
    const int64_t *s = flags->size;
    const int64_t positions = or_usual(s[RK_SHAPE_POSITIONS], 4096);
    const unsigned kinds = find_kinds(flags);
    const bool experts = s[RK_SHAPE_EXPERTS] > 0;
    const bool dense = !experts || (kinds & (1U << 0 | 1U << WINDOWED)) != 0;
    writer w = {.text = out};
    add(&w, "{\"name\":\"command line\"");
    add_size(&w, "hidden", s[RK_SHAPE_HIDDEN]);
    add_size(&w, "layers", s[RK_SHAPE_LAYERS]);
    /* the vocabulary of GPT2BPETokenizer, which lines that name no other have */
    add_size(&w, "vocab", or_usual(s[RK_SHAPE_VOCAB], 50257));
    add_size(&w, "seq", positions);
    add_flag(&w, "tied", !s[RK_SHAPE_UNTIED]);
    add_attention(&w, s);
    add_networks(&w, s, dense);
    if (!s[RK_SHAPE_RMS]) {
        add(&w, ",\"norm\":\"layer\"");
    }
    if (!s[RK_SHAPE_ROPE]) {
        add_size(&w, "learned_positions", positions);
    }
    if ((kinds & (kinds - 1)) != 0) {
        add_types(&w, flags, kinds);
    }
    add(&w, "}");
    return out;
}
