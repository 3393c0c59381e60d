/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model that a launch of the Megatron family describes by its flags.  Source: arguments.py and
 * transformer_config.py of NVIDIA/Megatron-LM, commit d98e8a64.
 */
#include "base/units.h"
#include "launch/pipeline_layout.h"
#include "launch/read_megatron.h"
#include "launch/reader_kit.h"

#include <string.h>

static bool is_on(rk_launch *launch, const char *name)
{
    return rk_megatron_is_on(launch, name, false);
}

/* ---- width ----------------------------------------------------------------------------------- */

static void state_feed_forward(rk_launch *launch)
{
    static const char *const gates[] = {"swiglu",    "quick-geglu",    "geglu",
                                        "gelu-tanh", "glu-activation", NULL};
    const rk_launch_key *gate = rk_megatron_find_among(launch, gates);
    const bool gated = gate && (!gate->value || strstr(gate->value, "glu") ||
                                rk_launch_is_on(launch, gate->name, true));
    const int64_t hidden = rk_launch_count_of(launch, "model.hidden");
    rk_megatron_state_truth(launch, "model.gated", gated, gate);
    if (hidden > 0 && hidden <= INT32_MAX) {
        rk_megatron_assume_count(launch, "model.ffn",
                                 is_on(launch, "swiglu") ? 4 * hidden * 2 / 3 / 64 * 64
                                                         : 4 * hidden);
    }
}

/* ---- heads ----------------------------------------------------------------------------------- */

static void state_heads(rk_launch *launch)
{
    const rk_launch_key *groups = rk_megatron_find(launch, "num-query-groups");
    const int64_t heads = rk_launch_count_of(launch, "model.heads");
    const int64_t hidden = rk_launch_count_of(launch, "model.hidden");
    if (is_on(launch, "group-query-attention")) {
        const int64_t count = groups ? rk_megatron_count(launch, groups->name) : 1;
        rk_launch_state_count(launch, "model.kv_heads", count, RK_FACT_STATED, groups);
    } else if (heads > 0) {
        rk_megatron_assume_count(launch, "model.kv_heads", heads);
    }
    if (heads > 0 && hidden % heads == 0 && hidden > 0) {
        rk_megatron_assume_count(launch, "model.head_size", hidden / heads);
    }
}

/* ---- latent attention ------------------------------------------------------------------------ */

static void state_latent(rk_launch *launch)
{
    static const char *const switches[] = {"multi-latent-attention", "multi-head-latent-attention",
                                           NULL};
    static const rk_megatron_number rows[] = {
        {"model.mla.q_lora", {"q-lora-rank"}, 0},
        {"model.mla.kv_lora", {"kv-lora-rank"}, 32},
        {"model.mla.qk_nope", {"qk-head-dim", "qk-nope-head-dim"}, 128},
        {"model.mla.qk_rope", {"qk-pos-emb-head-dim", "qk-rope-head-dim"}, 64},
        {"model.mla.v", {"v-head-dim"}, 128},
    };
    const rk_launch_key *on = rk_megatron_find_among(launch, switches);
    if (!on || !rk_launch_is_on(launch, on->name, true)) {
        return;
    }
    rk_launch_state(launch, "model.mla", "true", RK_FACT_STATED, on);
    for (size_t i = 0; i < COUNT(rows); i++) {
        const rk_launch_key *key = rk_megatron_find_among(launch, rows[i].names);
        const int64_t size = key ? rk_megatron_count(launch, key->name) : 0;
        if (size > 0) {
            rk_launch_state_count(launch, rows[i].field, size, RK_FACT_STATED, key);
        } else if (rows[i].usual > 0) {
            rk_megatron_assume_count(launch, rows[i].field, rows[i].usual);
        }
    }
}

/* ---- experts --------------------------------------------------------------------------------- */

/* Puts the list of layers with experts in brackets if it is an expression: "([0]*3+[1]*58)". */
static void settle_frequency(rk_launch *launch)
{
    const char *value = rk_launch_fact_of(launch, "model.moe_layer_freq");
    if (value && value[0] == '[' && strchr(value, '*')) {
        rk_launch_state(launch, "model.moe_layer_freq", rk_launch_format(launch, "(%s)", value),
                        RK_FACT_STATED, rk_megatron_find(launch, "moe-layer-freq"));
    }
}

static void state_routed(rk_launch *launch)
{
    static const char *const fields[] = {"model.experts",        "model.topk",
                                         "model.moe_ffn",        "model.shared_ffn",
                                         "model.moe_layer_freq", "model.dense_layers_first"};
    const int64_t experts = rk_launch_count_of(launch, "model.experts");
    if (experts == 0) {
        for (size_t i = 0; i < COUNT(fields); i++) {
            rk_launch_drop(launch, fields[i]);
        }
        return;
    }
    rk_megatron_assume_count(launch, "model.topk", 2);
    rk_launch_assume_open(launch, "model.moe_layer_freq", "1");
    settle_frequency(launch);
    const int64_t ffn = rk_launch_count_of(launch, "model.ffn");
    if (ffn > 0) {
        rk_megatron_assume_count(launch, "model.moe_ffn", ffn);
    }
    const rk_launch_key *shared = rk_megatron_find(launch, "n-shared-experts");
    const int64_t width = rk_launch_count_of(launch, "model.moe_ffn");
    const int64_t count = shared ? rk_megatron_count(launch, shared->name) : 0;
    if (count > 0 && count <= INT32_MAX && width > 0 && width <= INT32_MAX &&
        !rk_launch_fact_of(launch, "model.shared_ffn")) {
        rk_launch_state_count(launch, "model.shared_ffn", count * width, RK_FACT_STATED, shared);
    }
}

/* ---- vocabulary ------------------------------------------------------------------------------ */

/* The entries that a launch names, or its tokenizer has, before they are padded; 0: not known. */
static int64_t find_entries(rk_launch *launch, const rk_megatron_usual *usual,
                            const rk_launch_key **by)
{
    static const char *const paths[] = {"tokenizer-model", "tokenizer-name-or-path", NULL};
    const char *type = rk_megatron_value(launch, "tokenizer-type");
    const bool null = type && strcmp(type, "NullTokenizer") == 0;
    int64_t entries = 0;
    *by = rk_megatron_find(launch, "vocab-size");
    if (*by) {
        return rk_megatron_count(launch, (*by)->name) +
               (null && rk_megatron_core(launch, usual) < 18);
    }
    *by = rk_megatron_find_among(launch, paths);
    entries = *by && (*by)->value ? rk_launch_tokenizer_entries((*by)->value) : 0;
    if (entries == 0) {
        const rk_launch_key *files = rk_megatron_find(launch, "vocab-file");
        *by = type ? rk_megatron_find(launch, "tokenizer-type") : files;
        entries = type    ? rk_launch_tokenizer_entries(type)
                  : files ? rk_launch_tokenizer_entries("GPT2BPETokenizer")
                          : 0;
    }
    return entries > 0 ? entries + rk_megatron_count(launch, "vocab-extra-ids") : 0;
}

int64_t rk_megatron_pad_vocabulary(int64_t tokens, int64_t divisor, int64_t tp)
{
    if (divisor > INT32_MAX || tp > INT32_MAX) {
        return tokens;
    }
    const int64_t multiple = (divisor > 0 ? divisor : 1) * (tp > 0 ? tp : 1);
    return multiple > INT32_MAX || tokens > INT64_MAX - multiple
               ? tokens
               : (tokens + multiple - 1) / multiple * multiple;
}

static void state_vocabulary(rk_launch *launch, const rk_megatron_usual *usual)
{
    const rk_launch_key *padded = rk_megatron_find(launch, "padded-vocab-size"), *by = NULL;
    const rk_launch_key *divisor = rk_megatron_find(launch, "make-vocab-size-divisible-by");
    const int64_t entries = find_entries(launch, usual, &by);
    if (entries > 0) {
        rk_launch_state_count(launch, "model.vocab_unpadded", entries, RK_FACT_STATED, by);
    }
    if (padded && rk_megatron_count(launch, padded->name) > 0) {
        rk_launch_state_count(launch, "model.vocab", rk_megatron_count(launch, padded->name),
                              RK_FACT_STATED, padded);
    } else if (entries > 0) {
        const bool plain = rk_megatron_find(launch, "no-pad-vocab-size") != NULL;
        const int64_t multiple = divisor ? rk_megatron_count(launch, divisor->name) : 128;
        rk_launch_state_count(
            launch, "model.vocab",
            plain ? entries
                  : rk_megatron_pad_vocabulary(entries, multiple, rk_launch_count_of(launch, "tp")),
            RK_FACT_DERIVED, by);
    }
}

/* ---- a model by its name --------------------------------------------------------------------- */

void rk_megatron_state_named_model(rk_launch *launch)
{
    const char *name = rk_launch_fact_of(launch, "model.name");
    if (name) {
        const bool path = name[0] == '/' || name[0] == '.'; /* not a hub id */
        (void)rk_launch_state_named_model(launch, path ? rk_launch_base_name(name) : name, NULL);
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

void rk_megatron_state_model(rk_launch *launch, const rk_megatron_usual *usual)
{
    const rk_launch_key *untied = rk_megatron_find(launch, "untie-embeddings-and-output-weights");
    const char *pattern = rk_launch_fact_of(launch, "model.hybrid_pattern");
    int stages = 0;
    if (pattern) {
        rk_launch_state_count(launch, "model.layers", rk_pipeline_pattern_blocks(pattern, &stages),
                              RK_FACT_STATED, NULL);
    }
    rk_megatron_state_truth(launch, "model.tied",
                            !is_on(launch, "untie-embeddings-and-output-weights"), untied);
    state_feed_forward(launch);
    state_heads(launch);
    state_latent(launch);
    state_routed(launch);
    rk_megatron_assume_count(launch, "tp", 1);
    state_vocabulary(launch, usual);
}
