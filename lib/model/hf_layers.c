/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers of a Hugging Face model see a window and which have experts: by a list of the file,
 * else by the rule of the architecture.
 */
#include "base/named.h"
#include "base/units.h"
#include "model/hf_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Words in a list of layers, and whether they mark one. */
static const rk_named_count window_words[] = {
    {"full_attention", false},
    {"attention", false},
    {"sliding_attention", true},
    {"chunked_attention", true},
    {"global", false},
    {"local", true},
    {NULL, false},
};
static const rk_named_count expert_words[] = {{"dense", false}, {"sparse", true}, {NULL, false}};

/*
 * Reads a list with one element per layer: 0 or 1, a boolean, or one of the words.  Sets *found if
 * there is such a list (an empty one is none).
 */
static rk_status read_marks(const hf_draft *draft, const char *key, const rk_named_count *words,
                            int layers, bool marks[RK_LAYER_MAX], bool *found, rk_error *err)
{
    const json_t *list = rk_hf_find(draft, key);
    char text[RK_JSON_TEXT_SIZE];
    *found = false;
    if (json_array_size(list) == 0) {
        return RK_OK;
    }
    if (json_array_size(list) < (size_t)layers) {
        return rk_hf_fail(draft, key, err,
                          "expected an element for each of the %d layers, found %zu", layers,
                          json_array_size(list));
    }
    for (int i = 0; i < layers; i++) {
        const json_t *element = json_array_get(list, (size_t)i);
        const rk_named_count *at = words;
        while (json_is_string(element) && at->name &&
               strcmp(at->name, json_string_value(element)) != 0) {
            at++;
        }
        if (!json_is_integer(element) && !json_is_boolean(element) &&
            !(json_is_string(element) && at->name)) {
            return rk_hf_fail(draft, key, err,
                              "layer %d: reckon cannot express %s (it knows \"%s\")", i,
                              rk_json_describe(element, text), words[0].name);
        }
        marks[i] = json_is_string(element) ? at->value
                                           : json_is_true(element) || json_integer_value(element);
    }
    *found = true;
    return RK_OK;
}

/* Sets marks[i] to `value` for all layers i that the list names. */
static rk_status read_indices(const hf_draft *draft, const char *key, int layers, bool value,
                              bool marks[RK_LAYER_MAX], rk_error *err)
{
    const json_t *list = rk_hf_find(draft, key);
    char text[RK_JSON_TEXT_SIZE];
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *element = json_array_get(list, i);
        const json_int_t layer = json_integer_value(element);
        if (!json_is_integer(element) || layer < 0 || layer >= layers) {
            return rk_hf_fail(draft, key, err, "expected layers from 0 to %d, found %s", layers - 1,
                              rk_json_describe(element, text));
        }
        marks[layer] = value;
    }
    return RK_OK;
}

/* The same with true for layers in a string, "3,4,5", as Step 3.5 lists them. */
static rk_status read_text_indices(const hf_draft *draft, const char *key, int layers,
                                   bool marks[RK_LAYER_MAX], rk_error *err)
{
    const char *at = json_string_value(rk_hf_find(draft, key));
    while (at && *at) {
        char *end;
        const long layer = strtol(at, &end, 10);
        if (end == at || layer < 0 || layer >= layers || (*end && *end != ',')) {
            return rk_hf_fail(draft, key, err, "expected layers from 0 to %d, joined by commas",
                              layers - 1);
        }
        marks[layer] = true;
        at = end + (*end == ',');
    }
    return RK_OK;
}

/* Marks the windowed layers by the rule of the architecture. */
static rk_status mark_windows_by_rule(const hf_draft *draft, int layers, bool marks[RK_LAYER_MAX],
                                      rk_error *err)
{
    const int64_t period = draft->size[HF_WINDOW_PERIOD], from = draft->size[HF_WINDOW_FROM];
    bool late = false;
    const rk_status status =
        rk_hf_read_flag(draft, (hf_flag){"use_sliding_window", false}, &late, err);
    for (int i = 0; i < layers; i++) {
        switch (draft->architecture->window) {
        case HF_WINDOW_NEVER:
            marks[i] = false;
            break;
        case HF_WINDOW_ALWAYS:
            marks[i] = true;
            break;
        case HF_WINDOW_LATE:
            marks[i] = late && i >= from;
            break;
        case HF_WINDOW_PERIODIC:
        case HF_WINDOW_CHUNKS:
            marks[i] = period == 0 || (i + 1) % period != 0;
            break;
        }
    }
    return status;
}

static rk_status mark_windows(const hf_draft *draft, int layers, int64_t window,
                              bool marks[RK_LAYER_MAX], rk_error *err)
{
    assert(layers <= RK_LAYER_MAX);
    const char *const keys[] = {"layer_types", "hybrid_layer_pattern", "attention_layers",
                                "no_rope_layers"};
    const size_t count = COUNT(keys) - (draft->architecture->window == HF_WINDOW_CHUNKS ? 0 : 1);
    const char *letters = json_string_value(rk_hf_find(draft, "sliding_window_pattern"));
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        const rk_status status =
            read_marks(draft, keys[i], window_words, layers, marks, &found, err);
        if (status) {
            return status;
        }
    }
    if (!found && letters && letters[0]) {
        for (int i = 0; i < layers; i++) {
            marks[i] = letters[(size_t)i % strlen(letters)] == 'L'; /* local, else global */
        }
        found = true;
    }
    if (!found) {
        return mark_windows_by_rule(draft, layers, marks, err);
    }
    for (int i = 0; i < layers; i++) {
        if (marks[i] && window == 0) {
            return rk_hf_fail(draft, "sliding_window", err,
                              "this key is missing: layer %d sees a window", i);
        }
    }
    return RK_OK;
}

rk_status rk_hf_mark_experts(const hf_draft *draft, int layers, bool marks[RK_LAYER_MAX],
                             rk_error *err)
{
    assert(layers <= RK_LAYER_MAX);
    const json_t *frequency = rk_hf_find(draft, "moe_layer_freq");
    int64_t every = draft->size[HF_MOE_EVERY], nth = 1;
    bool found = false;
    rk_status status = RK_OK;
    if (draft->layer.moe.experts == 0) {
        return RK_OK;
    }
    status = read_marks(draft, "mlp_layer_types", expert_words, layers, marks, &found, err);
    if (!status && !found) {
        status = read_marks(draft, "is_moe_layer", expert_words, layers, marks, &found, err);
    }
    if (!status && !found && json_is_array(frequency)) {
        status = read_marks(draft, "moe_layer_freq", expert_words, layers, marks, &found, err);
    } else if (!status && !found && frequency) {
        status = rk_hf_read_size(draft, "moe_layer_freq", frequency, &nth, err);
    }
    if (status || found) {
        return status;
    }
    if (json_array_size(rk_hf_find(draft, "moe_layers")) > 0) {
        return read_indices(draft, "moe_layers", layers, true, marks, err);
    }
    if (json_string_length(rk_hf_find(draft, "moe_layers_enum")) > 0) {
        return read_text_indices(draft, "moe_layers_enum", layers, marks, err);
    }
    every = every > 0 ? every : 1;
    nth = nth > 0 ? nth : 1;
    const json_t *last = rk_hf_find(draft, "moe_layer_end_index"); /* -1: the last layer */
    for (int i = 0; i < layers; i++) {
        marks[i] = i >= draft->size[HF_DENSE_FIRST] && i % nth == 0 && (i + 1) % every == 0 &&
                   (json_integer_value(last) <= 0 || i <= json_integer_value(last));
    }
    return read_indices(draft, "mlp_only_layers", layers, false, marks, err);
}

/* The attention of windowed layers, if it differs by more than the window. */
static rk_status derive_windowed(const hf_draft *draft, rk_attention_shape *windowed, rk_error *err)
{
    const int64_t *size = draft->size;
    *windowed = draft->layer.attention;
    windowed->chunked = draft->architecture->window == HF_WINDOW_CHUNKS;
    windowed->window = size[windowed->chunked ? HF_CHUNK : HF_WINDOW];
    if (windowed->window == 0) {
        windowed->chunked = false;
    }
    const struct {
        hf_size size;
        int64_t *out;
    } differing[] = {
        {HF_WINDOW_HEADS, &windowed->query_heads},
        {HF_WINDOW_KV_HEADS, &windowed->kv_heads},
        {HF_WINDOW_HEAD_SIZE, &windowed->head_size},
        {HF_WINDOW_VALUE_SIZE, &windowed->value_size},
    };
    for (size_t i = 0; i < COUNT(differing); i++) {
        if (size[differing[i].size] != 0) {
            *differing[i].out = size[differing[i].size];
        }
    }
    return rk_hf_read_flag(draft, draft->architecture->window_sinks, &windowed->sinks, err);
}

rk_status rk_hf_lay_out(hf_draft *draft, rk_error *err)
{
    bool windowed[RK_LAYER_MAX] = {false}, moe[RK_LAYER_MAX] = {false};
    const int layers = (int)draft->size[HF_LAYERS];
    rk_attention_shape attention;
    rk_layer_type kinds[RK_KIND_COUNT];
    uint8_t kind_of[RK_LAYER_MAX];
    rk_status status = derive_windowed(draft, &attention, err);
    if (!status) {
        status = mark_windows(draft, layers, attention.window, windowed, err);
    }
    if (!status) {
        status = rk_hf_mark_experts(draft, layers, moe, err);
    }
    if (status) {
        return status;
    }
    for (int i = 0; i < layers; i++) {
        kind_of[i] = (uint8_t)((windowed[i] ? RK_KIND_WINDOWED : 0) | (moe[i] ? RK_KIND_MOE : 0));
    }
    rk_layer_kinds(&draft->layer, &attention, draft->kinds, kinds);
    rk_model_set_layers(&draft->model, kinds, kind_of, layers);
    return RK_OK;
}
