/* SPDX-License-Identifier: Apache-2.0 */
/* Notes the parts of a config.json other than the language model, which reckon does not read. */
#include "base/named.h"
#include "base/text.h"
#include "base/units.h"
#include "model/hf_table.h"

#include <stdio.h>
#include <string.h>

static const rk_named_text parts[] = {
    {"vision_config", "vision tower"},
    {"visual", "vision tower"},
    {"vit_config", "vision tower"},
    {"vision_tower_config", "vision tower"},
    {"img_processor", "vision tower"},
    {"audio_config", "audio tower"},
    {"speech_config", "audio tower"},
    {"projector_config", "projector"},
    {"talker_config", "speech generator"},
    {"token2wav_config", "speech decoder"},
    {"code2wav_config", "speech decoder"},
    {"mm_vision_tower", "vision tower"},
    {"embd_layer", "towers of other inputs"},
    {"vision_lora", "adapters for pictures"},
    {"speech_lora", "adapters for sound"},
    {"sam_config", "vision tower"},
    {"encoder_config", "encoder"},
};

void rk_hf_note(hf_draft *draft, const char *words, const char *key)
{
    char *note = draft->model.note;
    const size_t used = strlen(note);
    (void)snprintf(note + used, sizeof(draft->model.note) - used, "%s%s (%s)",
                   used > 0 ? ", " : "left out: ", words, key);
}

/*
 * Parameters of the vision tower of Qwen3-VL and Qwen3.5 (Qwen3VLVisionModel of transformers): h
 * hidden, F its feed-forward width, o width of the language model, M = merge^2 h.
 *   patches     c t p^2 h + h, and a learned position each
 *   block       4 h^2 + 4 h attention, 2 h F + F + h network, 4 h norms
 *   merger      M^2 + M + M o + o, behind a norm of h; one more, behind a norm of M, for each of
 *               the deepstack layers
 * 0: a tower of another form, or one whose sizes the file does not give.
 */
static double tower_params(const json_t *tower)
{
    enum { HIDDEN, WIDTH, DEPTH, POSITIONS, OUT, PATCH, TIME, CHANNELS, MERGE, SIZES };
    static const char *const keys[SIZES] = {
        [HIDDEN] = "hidden_size",
        [WIDTH] = "intermediate_size",
        [DEPTH] = "depth",
        [POSITIONS] = "num_position_embeddings",
        [OUT] = "out_hidden_size",
        [PATCH] = "patch_size",
        [TIME] = "temporal_patch_size",
        [CHANNELS] = "in_channels",
        [MERGE] = "spatial_merge_size",
    };
    const json_t *deep = json_object_get(tower, "deepstack_visual_indexes");
    double n[SIZES];
    for (int i = 0; i < SIZES; i++) {
        n[i] = (double)json_integer_value(json_object_get(tower, keys[i]));
        if (!(n[i] > 0)) {
            return 0;
        }
    }
    if (!json_is_array(deep)) {
        return 0;
    }
    const double h = n[HIDDEN], F = n[WIDTH], M = n[MERGE] * n[MERGE] * h;
    const double patches = n[CHANNELS] * n[TIME] * n[PATCH] * n[PATCH] * h + h + n[POSITIONS] * h;
    const double block = 4 * h * h + 4 * h + 2 * h * F + F + h + 4 * h;
    const double merger = M * M + M + M * n[OUT] + n[OUT];
    return patches + n[DEPTH] * block + 2 * h + merger +
           (double)json_array_size(deep) * (2 * M + merger);
}

/* Names a part that is left out, with its parameters where they can be counted. */
static void note_part(hf_draft *draft, const json_t *part, const char *words, const char *key)
{
    const double params = tower_params(part);
    char counted[80];
    (void)snprintf(counted, sizeof(counted), "%s of %.0f parameters", words, params);
    rk_hf_note(draft, params > 0 ? counted : words, key);
}

/* Adds a word and a sentence about it to the note of the model. */
static void add_note(hf_draft *draft, const char *sentence, const char *word)
{
    char *note = draft->model.note;
    size_t used = strlen(note);
    if (used > 0) {
        (void)snprintf(note + used, sizeof(draft->model.note) - used, "; ");
        used = strlen(note);
    }
    (void)snprintf(note + used, sizeof(draft->model.note) - used, "%s%s", word, sentence);
}

/* A checkpoint in few bits, which training reads into 16. */
static void note_quantised(hf_draft *draft)
{
    const json_t *q = json_object_get(draft->root, "quantization_config");
    const char *method = json_string_value(json_object_get(q, "quant_method"));
    const char *type = json_string_value(json_object_get(q, "quant_algo"));
    type = type ? type : json_string_value(json_object_get(q, "fmt"));
    if (json_is_object(q)) {
        add_note(draft, " checkpoint; trained in bf16",
                 type     ? type
                 : method ? method
                          : "quantised");
    }
}

/* Classifiers, reward models and bare models have no output layer of the vocabulary. */
static void note_other_head(hf_draft *draft)
{
    static const char *const endings[] = {"ForSequenceClassification", "ForTokenClassification",
                                          "ForRewardModel", "RewardModel", "Model"};
    const char *name =
        json_string_value(json_array_get(json_object_get(draft->root, "architectures"), 0));
    if (name && (rk_ends_with(name, "LMHeadModel") || json_object_get(draft->root, "auto_map"))) {
        return; /* a class of a repository of its own may have one */
    }
    for (size_t i = 0; name && i < COUNT(endings); i++) {
        if (rk_ends_with(name, endings[i])) {
            add_note(draft,
                     " has no output layer of the vocabulary: its weights, logits and loss are "
                     "counted as those of a language model",
                     name);
            return;
        }
    }
}

rk_status rk_hf_note_rest(hf_draft *draft, rk_error *err)
{
    const json_t *objects[] = {draft->root, json_object_get(draft->root, "thinker_config")};
    (void)err;
    for (size_t i = 0; i < COUNT(objects); i++) {
        for (size_t p = 0; p < COUNT(parts); p++) {
            const json_t *part = json_object_get(objects[i], parts[p].name);
            if (json_object_size(part) > 0 || json_is_string(part)) {
                note_part(draft, part, parts[p].text, parts[p].name);
            }
        }
    }
    note_quantised(draft);
    note_other_head(draft);
    if (draft->note_class) {
        char sentence[sizeof(draft->model.note)];
        (void)snprintf(sentence, sizeof(sentence),
                       "this type of model is not known: read as \"%s\" by the name of its class",
                       draft->architecture->type);
        add_note(draft, sentence, "");
    }
    if (draft->note_guess) {
        add_note(draft,
                 "this type of model is not known: read by its keys as a decoder like Llama; "
                 "compare its parameters with the published count",
                 "");
    }
    return RK_OK;
}
