/* SPDX-License-Identifier: Apache-2.0 */
/* Options and paragraphs of help that several commands share; their structs begin with a request.
 */
#ifndef RK_COMMAND_OPTION_GROUPS_H
#define RK_COMMAND_OPTION_GROUPS_H

#include "request/request.h"

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
