/* SPDX-License-Identifier: Apache-2.0 */
/* The document of a model, from JSON. */
#ifndef RK_MODEL_MODEL_DOC_H
#define RK_MODEL_MODEL_DOC_H

#include "model/kinds.h"

/*
 * Reads a parsed document, with layers of these kinds, and checks the model; `err` gets JSON path
 * and message, the caller adds the file.  A document without "name" leaves model->name empty.
 */
rk_status rk_model_from_json(const json_t *object, const rk_kinds *kinds, rk_model *model,
                             rk_error *err);

/* A new document that reads as this model, whose layers are of these kinds; NULL: no memory. */
json_t *rk_model_to_json(const rk_model *model, const rk_kinds *kinds);

#endif
