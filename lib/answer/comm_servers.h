/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon comm --servers`: gradients through parameter servers instead of an all-reduce. */
#ifndef RK_ANSWER_COMM_SERVERS_H
#define RK_ANSWER_COMM_SERVERS_H

#include "io/table.h"
#include "system/system.h"

/* The question; the machines are the domains of the innermost tier that the group spans. */
typedef struct rk_comm_servers {
    int64_t extra;    /* machines that only serve */
    double compute_s; /* of a step without communication; 0: not given */
    double price;     /* more steps per update of staleness, as a share; see rk_staleness_steps */
    int64_t every;    /* steps between averages of sites; 0: not given */
} rk_comm_servers;

/* Writes a row per arrangement and size, next to the all-reduce of estimates. */
rk_status rk_comm_servers_write(FILE *to, const rk_comm_servers *asked, const rk_system *system,
                                const rk_group *group, const rk_counts *sizes, rk_table_style style,
                                rk_error *err);

#endif
