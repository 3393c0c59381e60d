/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of Megatron-LM that list layers. */
#ifndef RK_LAUNCH_LAYER_LIST_H
#define RK_LAUNCH_LAYER_LIST_H

#include "model/model.h"

/* A flag that lists layers: every n-th, or a 1 for each of a kind; neither: not given. */
typedef struct rk_layer_list {
    int every, count;
    uint8_t of[RK_LAYER_MAX];
} rk_layer_list;

/* Reads "2", "[0,1,1]" or "([0]*3+[1]*58)"; false: none of the three. */
bool rk_layer_list_read(const char *text, rk_layer_list *list);

/* Whether layer `i`, from 0, is of the kind; `every`: the rule for a number. */
typedef bool rk_every_layer(int every, int i);
bool rk_layer_list_has(const rk_layer_list *list, int i, rk_every_layer *every);

#endif
