/* SPDX-License-Identifier: Apache-2.0 */
/* A growing list of operators that drops those without cost, and the names of their kinds. */
#include "layer/operator_list.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

const char *const rk_operator_kind_names[] = {"linear",    "product", "attention", "scan",
                                              "stream",    "message", "fixed",     "launches",
                                              "recompute", "tensors", NULL};
const char *const rk_pass_names[] = {"forward", "backward", "weight gradients", NULL};

void rk_operator_list_clear(rk_operator_list *list)
{
    free(list->items);
    *list = (rk_operator_list){.items = NULL};
}

static bool is_nothing(const rk_operator *o)
{
    return !(fabs(o->seconds) > 0 || fabs(o->saved) > 0 || o->flops > 0 || o->message.sent > 0);
}

rk_status rk_operator_list_status(const rk_operator_list *list, rk_error *err)
{
    return list->failed
               ? rk_fail(err, RK_ERR_MEMORY, "not enough memory for the operators of a layer")
               : RK_OK;
}

void rk_operator_list_add(rk_operator_list *list, const rk_operator *entry)
{
    assert(list->count <= list->room);
    if (is_nothing(entry)) {
        return;
    }
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 64;
        rk_operator *items = realloc(list->items, room * sizeof(*items));
        if (!items) {
            list->failed = true;
            return;
        }
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = *entry;
}
