/* SPDX-License-Identifier: Apache-2.0 */
/* The model document that the facts of a launch make. */
#include "request/launch_options.h"

#include "base/units.h"
#include "launch/launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Facts that are members of a document, under its name. */
static const struct {
    const char *fact, *member;
} sizes[] = {{"model.hidden", "hidden"},        {"model.heads", "heads"},
             {"model.kv_heads", "kv_heads"},    {"model.head_size", "head_size"},
             {"model.experts", "experts"},      {"model.topk", "top_k"},
             {"model.shared_ffn", "shared_ffn"}};

static void add_count(json_t *document, const char *member, int64_t value)
{
    if (value > 0) {
        (void)json_object_set_new(document, member, json_integer(value));
    }
}

static void add_flag(json_t *document, const char *member, const rk_launch *launch,
                     const char *fact)
{
    if (rk_launch_fact_of(launch, fact)) {
        (void)json_object_set_new(document, member, json_boolean(rk_launch_holds(launch, fact)));
    }
}

static int64_t first_of(const rk_launch *launch, const char *a, const char *b)
{
    const int64_t value = rk_launch_count_of(launch, a);
    return value > 0 ? value : rk_launch_count_of(launch, b);
}

/* Dense layers before those with experts, as two types and a pattern. */
static void add_pattern(json_t *document, int64_t layers, int64_t dense)
{
    json_t *types = json_pack("[{s:s},{s:s}]", "feed_forward", "dense", "feed_forward", "experts");
    json_t *pattern = json_array();
    for (int64_t i = 0; i < layers && i < RK_LAYER_MAX; i++) {
        (void)json_array_append_new(pattern, json_integer(i >= dense));
    }
    (void)json_object_set_new(document, "types", types);
    (void)json_object_set_new(document, "pattern", pattern);
}

/* What a document of dense attention and experts cannot say. */
static bool is_special(const rk_launch *launch)
{
    const char *frequency = rk_launch_fact_of(launch, "model.moe_layer_freq");
    return rk_launch_holds(launch, "model.mla") ||
           rk_launch_fact_of(launch, "model.hybrid_pattern") ||
           (frequency && strcmp(frequency, "1") != 0 &&
            !rk_launch_count_of(launch, "model.dense_layers_first"));
}

const char *rk_launch_model_text(rk_launch *launch, int64_t seq)
{
    const int64_t layers = first_of(launch, "model.layers_real", "model.layers");
    const int64_t vocab = first_of(launch, "model.vocab", "model.vocab_unpadded");
    const int64_t dense = rk_launch_count_of(launch, "model.dense_layers_first");
    const int64_t shared = rk_launch_count_of(launch, "model.shared_ffn");
    const bool experts = rk_launch_count_of(launch, "model.experts") > 0;
    const bool whole = layers > 0 && seq > 0 && vocab > 0 &&
                       rk_launch_count_of(launch, "model.hidden") > 0 &&
                       rk_launch_count_of(launch, "model.heads") > 0 &&
                       first_of(launch, "model.ffn", "model.moe_ffn") > 0;
    json_t *document = whole && !is_special(launch) ? json_object() : NULL;
    if (!document) {
        return NULL;
    }
    (void)json_object_set_new(document, "name", json_string("of the launch"));
    for (size_t i = 0; i < COUNT(sizes); i++) {
        add_count(document, sizes[i].member, rk_launch_count_of(launch, sizes[i].fact));
    }
    add_count(document, "layers", layers);
    add_count(document, "vocab", vocab);
    add_count(document, "seq", seq);
    add_count(document, "ffn", experts && dense == 0 ? 0 : rk_launch_count_of(launch, "model.ffn"));
    add_count(document, "expert_ffn", experts ? first_of(launch, "model.moe_ffn", "model.ffn") : 0);
    add_count(document, "shared_experts", shared > 0);
    add_flag(document, "tied", launch, "model.tied");
    add_flag(document, "gated", launch, "model.gated");
    if (dense > 0 && experts) {
        add_pattern(document, layers, dense);
    }
    char *text = json_dumps(document, JSON_COMPACT);
    const char *kept = text ? rk_launch_keep(launch, text) : NULL;
    free(text);
    json_decref(document);
    return kept;
}
