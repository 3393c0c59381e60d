/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `reckon comm`. */
#ifndef RK_COMMAND_COMM_OPTIONS_H
#define RK_COMMAND_COMM_OPTIONS_H

#include "command/commands.h"
#include "system/system.h"

#define RK_COMM_ALL_OPS ((1U << RK_COLL_COUNT) - 1)

typedef struct rk_comm_args {
    const char *system, *output, *algorithm, *fit, *slice, *plot, *settings;
    int64_t ranks, stride, domains;
    int64_t servers, every, sharing;
    int64_t chunks; /* -1: as measured; 0: the best number */
    int64_t with_ranks, with_stride, with_bytes;
    int with; /* rk_collective; RK_COLL_COUNT: none */
    double imbalance, compute_ms, staleness_price, fabric_share;
    unsigned ops; /* a bit per rk_collective */
    rk_option_counts sizes, placement;
    bool explain, side_links, json, csv;
} rk_comm_args;

#define RK_COMM_OPTIONS 30
extern const rk_option rk_comm_options[RK_COMM_OPTIONS];

/* The values of options that are not given. */
void rk_comm_init(void *arguments);

/* Takes the format from the output file; refuses options that exclude or need each other. */
rk_status rk_comm_check(rk_comm_args *args, rk_error *err);

#endif
