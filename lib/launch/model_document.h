/* SPDX-License-Identifier: Apache-2.0 */
/* The model document that Megatron-LM's flags describe. */
#ifndef RK_LAUNCH_MODEL_DOCUMENT_H
#define RK_LAUNCH_MODEL_DOCUMENT_H

#include "launch/model_flags.h"

/* Holds the types of up to RK_LAYER_MAX layers beside the sizes. */
#define RK_MODEL_DOCUMENT_SIZE 4096

/* Which layers a number in place of a list means, for rk_layer_list_has. */
bool rk_launch_is_every_expert(int every, int i);
bool rk_launch_is_every_window(int every, int i);

/* Writes the document, with Megatron-LM's defaults; sizes that are not known are left out.  Returns
 * out. */
const char *rk_model_document(const rk_model_flags *flags, char out[RK_MODEL_DOCUMENT_SIZE]);

#endif
