/* SPDX-License-Identifier: Apache-2.0 */
/* The document of a model, from JSON. */
#ifndef RK_MODEL_MODEL_DOC_H
#define RK_MODEL_MODEL_DOC_H

#include "io/fields.h"
#include "model/model.h"

/*
 * Reads a parsed document and checks the model; `err` gets JSON path and message, the caller adds
 * the file.  A document without "name" leaves model->name empty.
 */
rk_status rk_model_from_json(const json_t *object, rk_model *model, rk_error *err);

#endif
