/* SPDX-License-Identifier: Apache-2.0 */
/* What a config.json describes beside the language model, which is all that reckon reads. */
#include "base/units.h"
#include "model/hf_table.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *key, *words;
} parts[] = {
    {"vision_config", "vision tower"},     {"visual", "vision tower"},
    {"vit_config", "vision tower"},        {"vision_tower_config", "vision tower"},
    {"img_processor", "vision tower"},     {"audio_config", "audio tower"},
    {"speech_config", "audio tower"},      {"projector_config", "projector"},
    {"talker_config", "speech generator"}, {"token2wav_config", "speech decoder"},
    {"code2wav_config", "speech decoder"},
};

void rk_hf_note(hf_draft *draft, const char *words, const char *key)
{
    char *note = draft->model.note;
    const size_t used = strlen(note);
    (void)snprintf(note + used, sizeof(draft->model.note) - used, "%s%s (%s)",
                   used > 0 ? ", " : "left out: ", words, key);
}

rk_status rk_hf_note_rest(hf_draft *draft, rk_error *err)
{
    const json_t *objects[] = {draft->root, json_object_get(draft->root, "thinker_config")};
    (void)err;
    for (size_t i = 0; i < COUNT(objects); i++) {
        for (size_t p = 0; p < COUNT(parts); p++) {
            if (json_object_size(json_object_get(objects[i], parts[p].key)) > 0) {
                rk_hf_note(draft, parts[p].words, parts[p].key);
            }
        }
    }
    if (draft->note_class) {
        char *note = draft->model.note;
        const size_t used = strlen(note);
        (void)snprintf(note + used, sizeof(draft->model.note) - used,
                       "%sthis type of model is not known: read as \"%s\" by the name of its class",
                       used > 0 ? "; " : "", draft->architecture->type);
    }
    if (draft->note_guess) {
        char *note = draft->model.note;
        const size_t used = strlen(note);
        (void)snprintf(note + used, sizeof(draft->model.note) - used,
                       "%sthis type of model is not known: read by its keys as a decoder like "
                       "Llama; compare its parameters with the published count",
                       used > 0 ? "; " : "");
    }
    return RK_OK;
}
