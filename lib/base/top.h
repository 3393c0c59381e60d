/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best n of many candidates: higher score first, then lower place in the enumeration, so that
 * the result does not depend on the order in which candidates arrive.
 */
#ifndef RK_BASE_TOP_H
#define RK_BASE_TOP_H

#include "reckon/reckon.h"

#include <math.h>

typedef struct rk_top_entry {
    double score;
    uint64_t index; /* place in the enumeration */
    size_t slot;    /* of the payload */
} rk_top_entry;

typedef struct rk_top {
    rk_top_entry *heap;      /* owned; the worst kept candidate is heap[0] */
    unsigned char *payloads; /* owned; payload_size bytes for every entry */
    size_t payload_size;
    size_t count, room, limit;
} rk_top;

/* Prepares to keep `limit` candidates with payload_size bytes each. Release with rk_top_clear. */
void rk_top_init(rk_top *top, size_t limit, size_t payload_size);
void rk_top_clear(rk_top *top);

/* The score below which no candidate enters. */
static inline double rk_top_floor(const rk_top *top)
{
    return top->count < top->limit ? -(double)INFINITY
           : top->limit            ? top->heap[0].score
                                   : (double)INFINITY;
}

/* Keeps a candidate, with a copy of its payload, if it is among the best so far. */
rk_status rk_top_offer(rk_top *top, double score, uint64_t index, const void *payload,
                       rk_error *err);

/* Offers all that `other` has kept. */
rk_status rk_top_merge(rk_top *top, const rk_top *other, rk_error *err);

/* Sorts the kept candidates, best first; only reading and rk_top_clear may follow. */
void rk_top_sort(rk_top *top);

/* The payload of the i-th entry of the heap, or of the i-th best once sorted. */
static inline const void *rk_top_payload(const rk_top *top, size_t i)
{
    return top->payloads + top->heap[i].slot * top->payload_size;
}

#endif
