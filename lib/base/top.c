/* SPDX-License-Identifier: Apache-2.0 */
/* The best n candidates in a bounded heap whose root is the worst kept. */
#include "base/top.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void rk_top_init(rk_top *top, size_t limit, size_t payload_size)
{
    assert(payload_size > 0);
    *top = (rk_top){.limit = limit, .payload_size = payload_size};
}

void rk_top_clear(rk_top *top)
{
    free(top->heap);
    free(top->payloads);
    *top = (rk_top){0};
}

/* Whether `a` ranks before `b`. */
static bool better(const rk_top_entry *a, const rk_top_entry *b)
{
    return a->score != b->score ? a->score > b->score : a->index < b->index;
}

/* Places *item into the hole at heap[hole] of a heap of `count`, moving better children down. */
static void sift_down(rk_top_entry *heap, size_t count, size_t hole, const rk_top_entry *item)
{
    for (;;) {
        size_t child = 2 * hole + 1;
        if (child >= count) {
            break;
        }
        if (child + 1 < count && better(&heap[child], &heap[child + 1])) {
            child++;
        }
        if (!better(item, &heap[child])) {
            break;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = *item;
}

static void sift_up(rk_top_entry *heap, size_t hole, const rk_top_entry *item)
{
    while (hole > 0 && better(&heap[(hole - 1) / 2], item)) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = *item;
}

static rk_status grow(rk_top *top, rk_error *err)
{
    const size_t room = top->room ? 2 * top->room : 16;
    const size_t each = sizeof(*top->heap) + top->payload_size;
    rk_top_entry *heap = NULL;
    unsigned char *payloads = NULL;
    if (room < SIZE_MAX / 2 / each) {
        heap = realloc(top->heap, room * sizeof(*heap));
        top->heap = heap ? heap : top->heap;
        payloads = heap ? realloc(top->payloads, room * top->payload_size) : NULL;
    }
    if (!payloads) {
        return rk_fail(err, RK_ERR_MEMORY, "no memory to keep %zu strategies: ask for fewer", room);
    }
    top->payloads = payloads;
    top->room = room;
    return RK_OK;
}

rk_status rk_top_offer(rk_top *top, double score, uint64_t index, const void *payload,
                       rk_error *err)
{
    assert(top->count <= top->limit && !isnan(score));
    rk_top_entry entry = {.score = score, .index = index, .slot = top->count};
    const bool full = top->count == top->limit;
    if (full && (top->limit == 0 || !better(&entry, &top->heap[0]))) {
        return RK_OK;
    }
    if (full) {
        entry.slot = top->heap[0].slot;
        sift_down(top->heap, top->count, 0, &entry);
    } else {
        const rk_status status = top->count == top->room ? grow(top, err) : RK_OK;
        if (status) {
            return status;
        }
        sift_up(top->heap, top->count++, &entry);
    }
    memcpy(top->payloads + entry.slot * top->payload_size, payload, top->payload_size);
    return RK_OK;
}

rk_status rk_top_merge(rk_top *top, const rk_top *other, rk_error *err)
{
    assert(other != top && other->payload_size == top->payload_size);
    rk_status status = RK_OK;
    for (size_t i = 0; i < other->count && !status; i++) {
        const rk_top_entry *entry = &other->heap[i];
        status = rk_top_offer(top, entry->score, entry->index, rk_top_payload(other, i), err);
    }
    return status;
}

void rk_top_sort(rk_top *top)
{
    for (size_t n = top->count; n > 1; n--) {
        const rk_top_entry worst = top->heap[0], last = top->heap[n - 1];
        sift_down(top->heap, n - 1, 0, &last);
        top->heap[n - 1] = worst;
    }
}
