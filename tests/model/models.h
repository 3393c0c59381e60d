/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of models share. */
#ifndef RK_TESTS_MODEL_MODELS_H
#define RK_TESTS_MODEL_MODELS_H

#include "base/units.h"
#include "layer/model_load.h"
#include "model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Loads a model that must load. */
static inline rk_model load_model(const char *name)
{
    rk_model model = {0};
    rk_error err;
    if (rk_model_load(name, &model, &err)) {
        char text[1024];
        fail_msg("%s", rk_error_text(&err, text, sizeof(text)));
    }
    return model;
}

/* Writes a letter per layer: f full, w window, c chunk; capital with experts.  Returns out. */
static inline const char *letters_of(const rk_model *model, char out[RK_LAYER_MAX + 1])
{
    for (int i = 0; i < model->layers; i++) {
        const rk_layer_type *type = &model->types[model->type_of[i]];
        const char letter = type->attention.chunked ? 'c' : type->attention.window > 0 ? 'w' : 'f';
        out[i] = (char)(rk_layer_is_moe(type) ? letter - 'a' + 'A' : letter);
    }
    out[model->layers] = '\0';
    return out;
}

#endif
