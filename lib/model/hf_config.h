/* SPDX-License-Identifier: Apache-2.0 */
/* The config.json of a Hugging Face model. */
#ifndef RK_MODEL_HF_CONFIG_H
#define RK_MODEL_HF_CONFIG_H

#include "io/json.h"
#include "model/kinds.h"

/*
 * Reads the language model of a parsed file and checks it.  Models that the typed layers of
 * rk_model cannot express (linear attention, layers without attention, sparse attention with an
 * indexer...) are refused with the reason.  model->name stays empty, model->seq is the context of
 * the model but at most 8192 tokens.  `architecture` says how its layers look, as the documents of
 * data/architectures; NULL: the one of its model_type.  `err` gets JSON path and message, the
 * caller adds the file.
 */
rk_status rk_hf_config_read(const json_t *object, const json_t *architecture, const rk_kinds *kinds,
                            rk_model *model, rk_error *err);

#endif
