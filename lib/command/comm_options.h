/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `reckon comm`. */
#ifndef RK_COMMAND_COMM_OPTIONS_H
#define RK_COMMAND_COMM_OPTIONS_H

#include "comm/comm_question.h"
#include "command/commands.h"

#define RK_COMM_ALL_OPS ((1U << RK_COLL_COUNT) - 1)

typedef struct rk_comm_args {
    rk_comm_question question;
    const char *system, *output, *fit, *plot, *settings;
    int64_t domains;
    int64_t servers, every;
    double compute_ms, staleness_price;
    bool json, csv;
} rk_comm_args;

#define RK_COMM_OPTIONS 30
extern const rk_option rk_comm_options[RK_COMM_OPTIONS];

/* The values of options that are not given. */
void rk_comm_init(void *arguments);

/* Takes the format from the output file; refuses options that exclude or need each other. */
rk_status rk_comm_check(rk_comm_args *args, rk_error *err);

#endif
