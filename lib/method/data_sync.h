/* SPDX-License-Identifier: Apache-2.0 */
/* Alternatives to the all-reduce that keeps data parallel ranks in step. */
#ifndef RK_METHOD_DATA_SYNC_H
#define RK_METHOD_DATA_SYNC_H

#include "method/answer.h"

/* An alternative: parameter servers, periodic averages. */
typedef struct rk_sync_alternative {
    const char *name;
    double sync_s;        /* of gradients and parameters, or of an average; 0: not separate */
    double step_s;        /* in which all ranks have done their part of a batch */
    double staleness;     /* updates by others that a gradient has not seen */
    double worth_s;       /* step_s with the price of staleness */
    double tokens_second; /* of the whole system, by worth_s */
} rk_sync_alternative;

#define RK_SYNC_ALTERNATIVE_MAX 7

typedef struct rk_sync {
    double bytes;     /* of gradients, and of parameters, of a rank */
    double bandwidth; /* bytes/s from its group in a node to the others */
    int count;
    rk_sync_alternative ways[RK_SYNC_ALTERNATIVE_MAX];
} rk_sync;

/* Fills the requested alternatives; the strategy has a dp of 2 or more. */
rk_status rk_sync_fill(const rk_request *request, const rk_setting *setting,
                       const rk_answer *answer, rk_sync *sync, rk_error *err);

rk_status rk_sync_write(FILE *to, const rk_sync *sync, rk_table_style style, rk_error *err);

/* The member "dp_sync". */
void rk_sync_write_json(rk_json_writer *writer, const rk_sync *sync);

#endif
