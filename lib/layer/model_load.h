/* SPDX-License-Identifier: Apache-2.0 */
/* Reads models with any kinds of layers. */
#ifndef RK_LAYER_MODEL_LOAD_H
#define RK_LAYER_MODEL_LOAD_H

#include "io/json.h"
#include "model/model.h"

/*
 * Reads and checks a parsed model: our own document, or a config.json of Hugging Face,
 * distinguished by their keys.  `err` gets JSON path and message, the caller adds the file.  A
 * document without a name leaves model->name empty.
 */
rk_status rk_model_read(const json_t *object, rk_model *model, rk_error *err);

/* The same from a file, or from a name of the catalogue data/models. */
rk_status rk_model_load(const char *name, rk_model *model, rk_error *err);

#endif
