/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording operators: an entry is what the cost of a block has grown by since the entry before, so
 * the entries add up to the cost whatever an operator did.
 */
#include "layer/operator_list.h"

#include "base/error.h"
#include "layer/operators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rk_operator_kind_names[] = {"linear",  "attention", "scan",     "stream",
                                              "message", "fixed",     "launches", "recompute",
                                              "tensors", NULL};

void rk_operator_list_clear(rk_operator_list *list)
{
    free(list->items);
    *list = (rk_operator_list){.items = NULL};
}

static void append(rk_operator_list *list, const rk_operator *entry)
{
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

static double sum_of(const rk_sent *sent)
{
    return sent->tensor + sent->context + sent->expert;
}

/* Entries of one pass: one per part that took time, the first with all else. */
static void append_pass(rk_operator_list *list, const rk_operator *shape, const rk_times *now,
                        const rk_times *before, double flops, double sent, double saved)
{
    rk_operator entry = *shape;
    bool first = true;
    entry.flops = flops;
    entry.sent = sent;
    entry.saved = saved;
    for (int part = 0; part < RK_PART_COUNT; part++) {
        entry.seconds = now->part[part] - before->part[part];
        if (fabs(entry.seconds) > 0) {
            entry.part = (rk_part)part;
            append(list, &entry);
            entry.flops = entry.sent = entry.saved = 0;
            first = false;
        }
    }
    entry.seconds = 0;
    if (first && (fabs(flops) > 0 || fabs(sent) > 0 || fabs(saved) > 0)) {
        append(list, &entry);
    }
}

void rk_note(rk_cost_builder *x, const rk_operator *shape, double backward_bytes)
{
    rk_operator_list *list = x->list;
    const rk_cost *now = &x->cost, *seen = &list->seen;
    rk_operator entry = *shape;
    if (entry.kind == RK_OPERATOR_MESSAGE) {
        entry.collective = list->pending.collective;
        entry.message = list->pending.message;
        entry.ranks = list->pending.ranks;
    }
    append_pass(list, &entry, &now->forward, &seen->forward,
                now->flops_forward - seen->flops_forward,
                sum_of(&now->sent_forward) - sum_of(&seen->sent_forward), now->saved - seen->saved);
    entry.backward = true;
    entry.bytes = backward_bytes;
    append_pass(list, &entry, &now->backward, &seen->backward,
                now->flops_backward + now->flops_recompute - seen->flops_backward -
                    seen->flops_recompute,
                sum_of(&now->sent_backward) - sum_of(&seen->sent_backward), 0);
    list->seen = *now;
    list->pending.message = 0;
}

void rk_note_message(rk_operator_list *list, rk_collective op, double bytes, int64_t ranks)
{
    if (bytes > list->pending.message) {
        list->pending.collective = op;
        list->pending.message = bytes;
        list->pending.ranks = ranks;
    }
}
