/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon comm --with`: two collectives at once, and which links they share. */
#ifndef RK_COMMAND_COMM_WITH_H
#define RK_COMMAND_COMM_WITH_H

#include "comm/sharing.h"
#include "report/table.h"

/* The other collective. */
typedef struct rk_comm_with {
    const rk_system *system;
    rk_collective op;
    double bytes; /* 0: as many as the other collective */
    rk_group group;
} rk_comm_with;

/* Two collectives started at the same time. */
typedef struct rk_comm_concurrent {
    rk_comm_flow one, other;
    rk_comm_pair pair;
} rk_comm_concurrent;

/* A collective of `seconds` by the named plan, at the same time as the other. */
rk_comm_concurrent rk_comm_concurrent_of(const rk_comm_with *with, const rk_collective_query *query,
                                         double seconds, const char *name);

/* The name of the tier that both share most, or "none". */
const char *rk_comm_shared_tier(const rk_comm_with *with, const rk_comm_pair *pair);

#define RK_COMM_WITH_COLUMNS 6
extern const rk_table_column rk_comm_with_columns[RK_COMM_WITH_COLUMNS];

/* Adds a row: the times of both, and the tier for which they compete most. */
void rk_comm_with_add(rk_table *table, const rk_comm_with *with, const char *name, double bytes,
                      const rk_comm_concurrent *both);

#endif
