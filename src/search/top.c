/* SPDX-License-Identifier: Apache-2.0 */
#include "search/top.h"

#include "base/error.h"

#include <stdlib.h>

void rk_top_init(rk_top *top, size_t limit)
{
    *top = (rk_top){.limit = limit};
}

void rk_top_clear(rk_top *top)
{
    free(top->heap);
    *top = (rk_top){0};
}

/* Whether a ranks before b. */
static bool better(const rk_calculon_ranked *a, const rk_calculon_ranked *b)
{
    return a->sample_rate != b->sample_rate ? a->sample_rate > b->sample_rate : a->index < b->index;
}

/* Places *item into the hole at heap[hole] of a heap of `count`, moving better children down. */
static void sift_down(rk_calculon_ranked *heap, size_t count, size_t hole,
                      const rk_calculon_ranked *item)
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

static void sift_up(rk_calculon_ranked *heap, size_t hole, const rk_calculon_ranked *item)
{
    while (hole > 0 && better(&heap[(hole - 1) / 2], item)) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = *item;
}

rk_status rk_top_offer(rk_top *top, const rk_calculon_ranked *candidate, rk_error *err)
{
    if (top->limit == 0) {
        return RK_OK;
    }
    if (top->count == top->limit) {
        if (better(candidate, &top->heap[0])) {
            sift_down(top->heap, top->count, 0, candidate);
        }
        return RK_OK;
    }
    if (top->count == top->room) {
        const size_t most = SIZE_MAX / sizeof(*top->heap) / 2;
        const size_t room = top->room ? 2 * top->room : 16;
        rk_calculon_ranked *heap = room < most ? realloc(top->heap, room * sizeof(*heap)) : NULL;
        if (!heap) {
            return rk_fail(err, RK_ERR_MEMORY, "no memory to keep %zu strategies: ask for fewer",
                           room);
        }
        top->heap = heap;
        top->room = room;
    }
    sift_up(top->heap, top->count++, candidate);
    return RK_OK;
}

void rk_top_sort(rk_top *top)
{
    for (size_t n = top->count; n > 1; n--) {
        const rk_calculon_ranked worst = top->heap[0], last = top->heap[n - 1];
        sift_down(top->heap, n - 1, 0, &last);
        top->heap[n - 1] = worst;
    }
}
