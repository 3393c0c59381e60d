/* SPDX-License-Identifier: Apache-2.0 */
/* Alternatives to the all-reduce that keeps data parallel ranks in step. */
#ifndef RK_COMMAND_SYNC_ANSWER_H
#define RK_COMMAND_SYNC_ANSWER_H

#include "command/answer.h"

/* An alternative: parameter servers, periodic averages. */
typedef struct rk_sync_way {
    const char *name;
    double sync_s;        /* of gradients and parameters, or of an average; 0: not separate */
    double step_s;        /* in which all ranks have done their part of a batch */
    double staleness;     /* updates by others that a gradient has not seen */
    double worth_s;       /* step_s with the price of staleness */
    double tokens_second; /* of the whole system, by worth_s */
} rk_sync_way;

#define RK_SYNC_WAY_MAX 7

typedef struct rk_sync {
    double bytes;     /* of gradients, and of parameters, of a rank */
    double bandwidth; /* bytes/s from its group in a node to the others */
    int count;
    rk_sync_way ways[RK_SYNC_WAY_MAX];
} rk_sync;

/* Fills the requested alternatives; the strategy has a dp of 2 or more. */
rk_status rk_sync_fill(const rk_request *request, const rk_setting *setting,
                       const rk_answer *answer, rk_sync *sync, rk_error *err);

rk_status rk_sync_write(FILE *to, const rk_sync *sync, rk_table_style style, rk_error *err);

/* The member "dp_sync". */
void rk_sync_write_json(rk_json_writer *writer, const rk_sync *sync);

/* Options of commands that compare these alternatives; their structs begin with an rk_request. */
#define RK_OPTIONS_OF_SYNC                                                                         \
    {.name = "dp-sync",                                                                            \
     .type = RK_OPTION_FLAG,                                                                       \
     .offset = offsetof(rk_request, dp_sync),                                                      \
     .help = "compare the gradient all-reduce with parameter servers, synchronous and "            \
             "asynchronous, and with periodic averaging (local SGD, DiLoCo)"},                     \
        {.name = "dp-servers",                                                                     \
         .type = RK_OPTION_COUNT,                                                                  \
         .offset = offsetof(rk_request, dp_servers),                                               \
         .min = 1,                                                                                 \
         .max = INT32_MAX,                                                                         \
         .value = "N",                                                                             \
         .help = "with --dp-sync: dedicated parameter-server nodes"},                              \
        {.name = "dp-every",                                                                       \
         .type = RK_OPTION_COUNT,                                                                  \
         .offset = offsetof(rk_request, dp_every),                                                 \
         .min = 1,                                                                                 \
         .max = INT32_MAX,                                                                         \
         .value = "N",                                                                             \
         .help = "with --dp-sync: steps between averages; default: 500"},                          \
        {.name = "sites",                                                                          \
         .type = RK_OPTION_COUNT,                                                                  \
         .offset = offsetof(rk_request, sites),                                                    \
         .min = 2,                                                                                 \
         .max = INT32_MAX,                                                                         \
         .value = "N",                                                                             \
         .help = "with --dp-sync: sites of this size that average periodically"},                  \
        {.name = "site-GBps",                                                                      \
         .type = RK_OPTION_REAL,                                                                   \
         .offset = offsetof(rk_request, site_bandwidth),                                           \
         .above = true,                                                                            \
         .max = 1000000,                                                                           \
         .value = "X",                                                                             \
         .help = "with --sites: bandwidth of a site's link, GB/s each way"},                       \
    {                                                                                              \
        .name = "staleness-price", .type = RK_OPTION_REAL,                                         \
        .offset = offsetof(rk_request, staleness_price), .max = 1000, .value = "X",                \
        .help = "with --dp-sync: extra steps per stale update, as a fraction; default: 0"          \
    }

#endif
