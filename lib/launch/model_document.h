/* SPDX-License-Identifier: Apache-2.0 */
/* The model document that Megatron-LM's flags describe. */
#ifndef RK_LAUNCH_MODEL_DOCUMENT_H
#define RK_LAUNCH_MODEL_DOCUMENT_H

#include "launch/model_flags.h"

/* Holds the types of up to RK_LAYER_MAX layers and the sizes. */
#define RK_MODEL_DOCUMENT_SIZE 8192

/* Which layers a number in place of a list means, for rk_layer_list_has. */
bool rk_launch_is_every_expert(int every, int i);
bool rk_launch_is_every_window(int every, int i); /* and layers with a delta rule */

/* A flag of layers that no document can be made of; RK_SHAPE_COUNT: none. */
rk_model_place rk_model_flags_unbuilt(const rk_model_flags *flags);

/* Writes the document, with Megatron-LM's defaults; sizes that are not known are left out.  Returns
 * out. */
const char *rk_model_document(const rk_model_flags *flags, char out[RK_MODEL_DOCUMENT_SIZE]);

#endif
