/* SPDX-License-Identifier: Apache-2.0 */
/* Options and paragraphs of help that several commands share; their structs begin with a request.
 */
#ifndef RK_COMMAND_OPTION_GROUPS_H
#define RK_COMMAND_OPTION_GROUPS_H

#include "job/job.h"
#include "request/launch_flags.h"
#include "request/launch_options.h"
#include "request/request.h"

#define RK_THREADS_MAX 4096

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

/* Fields of commands whose arguments begin with an rk_request. */
#define RK_COMMAND_OF_STRATEGY                                                                     \
    .shared = rk_strategy_options, .shared_count = RK_STRATEGY_OPTION_COUNT,                       \
    .take_launch_flag = rk_request_take_launch_flag,                                               \
    .take_launch_line = rk_request_take_launch_line,                                               \
    .note_launch_word = rk_request_note_launch_word, .prepare = rk_request_prepare

/* Names of rk_request.method; NULL-terminated. */
extern const char *const rk_request_methods[];

/* Options of commands that search. */
#define RK_OPTIONS_OF_SEARCH                                                                       \
    {.name = "threads",                                                                            \
     .group = "Search",                                                                            \
     .letter = 't',                                                                                \
     .type = RK_OPTION_COUNT,                                                                      \
     .offset = offsetof(rk_request, threads),                                                      \
     .max = RK_THREADS_MAX,                                                                        \
     .value = "N",                                                                                 \
     .help = "threads to use; default: one per core"},                                             \
    {                                                                                              \
        .name = "method", .type = RK_OPTION_CHOICE, .offset = offsetof(rk_request, method),        \
        .choices = rk_request_methods, .value = "NAME",                                            \
        .help = "performance model; default: that of the documents"                                \
    }

/* The paragraph about open choices in the help of `estimate`, `fit`, `run` and `timeline`. */
#define RK_NOTES_OF_CHOICES                                                                        \
    "Searches what is left open of the strategy, as 'reckon plan' does, and uses the\n"            \
    "fastest strategy that fits.\n"

#endif
