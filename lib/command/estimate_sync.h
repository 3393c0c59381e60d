/* SPDX-License-Identifier: Apache-2.0 */
/* Other ways to keep data parallel ranks together, beside the all-reduce of an estimate. */
#ifndef RK_COMMAND_ESTIMATE_SYNC_H
#define RK_COMMAND_ESTIMATE_SYNC_H

#include "command/answer.h"

/* A way: parameter servers, averages now and then. */
typedef struct rk_sync_way {
    const char *name;
    double sync_s;        /* of gradients and parameters, or of an average; 0: not apart */
    double step_s;        /* in which all ranks have done their part of a batch */
    double staleness;     /* updates by others that a gradient does not know */
    double worth_s;       /* step_s with the price of staleness */
    double tokens_second; /* of the whole system, by worth_s */
} rk_sync_way;

#define RK_SYNC_WAY_MAX 7

typedef struct rk_sync {
    double bytes;     /* of gradients, and of parameters, of a rank */
    double bandwidth; /* bytes/s of its group in a node to the others */
    int count;
    rk_sync_way ways[RK_SYNC_WAY_MAX];
} rk_sync;

/* Fills the ways that the options of a request ask for; the strategy has dp of 2 and more. */
rk_status rk_sync_fill(const rk_request *request, const rk_setting *setting,
                       const rk_answer *answer, rk_sync *sync, rk_error *err);

rk_status rk_sync_write(FILE *to, const rk_sync *sync, rk_table_style style, rk_error *err);

/* The member "dp_sync". */
void rk_sync_write_json(rk_json_writer *writer, const rk_sync *sync);

#endif
