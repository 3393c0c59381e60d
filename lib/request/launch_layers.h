/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of Megatron-LM that list layers. */
#ifndef RK_REQUEST_LAUNCH_LAYERS_H
#define RK_REQUEST_LAUNCH_LAYERS_H

#include "request/launch_line.h"

/* Reads "2", "[0,1,1]" or "([0]*3+[1]*58)"; false: it is none of them. */
bool rk_layer_list_read(const char *text, rk_layer_list *list);

/* Whether layer `i`, from 0, is of the kind; `every`: that of a number. */
typedef bool rk_every_layer(int every, int i);
bool rk_layer_list_has(const rk_layer_list *list, int i, rk_every_layer *every);

#endif
