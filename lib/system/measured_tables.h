/* SPDX-License-Identifier: Apache-2.0 */
/* The tables behind measured.h, for those who make them (measured_build.c) and ask (measured.c). */
#ifndef RK_SYSTEM_MEASURED_TABLES_H
#define RK_SYSTEM_MEASURED_TABLES_H

#include "system/measured.h"

#include <stdatomic.h>

#define RK_MEASURED_AXES 4

/* GEMMs by format, alone and in groups; attention forward and backward; collectives by operation.
 */
enum {
    RK_TABLE_OF_ATTENTION = 2 * RK_PRECISION_COUNT,
    RK_TABLE_OF_COLLECTIVE = RK_TABLE_OF_ATTENTION + 2,
    RK_MEASURED_TABLES = RK_TABLE_OF_COLLECTIVE + RK_COLL_COUNT,
};

/* Logarithms of measured over modelled time at the nodes of a grid. */
typedef struct rk_ratio_table {
    double *logs;                  /* owned; the last axis fastest; NULL: nothing was measured */
    int axes;                      /* 0: nothing was measured */
    double low[RK_MEASURED_AXES];  /* place of the first node, steps */
    double high[RK_MEASURED_AXES]; /* and of the last */
    int nodes[RK_MEASURED_AXES];
} rk_ratio_table;

struct rk_measured {
    rk_ratio_table tables[RK_MEASURED_TABLES];
    size_t counts[RK_KERNEL_KINDS];
    atomic_int shares; /* owners but the first */
};

/* Returns the index of the table of a kernel; `at` gets its place there, in steps of the axes. */
int rk_measured_locate(const rk_measured_kernel *kernel, double at[RK_MEASURED_AXES]);

/* Logarithm between the nodes about a place; 0 outside of the table. */
double rk_measured_log(const rk_ratio_table *table, const double at[RK_MEASURED_AXES]);

/* Releases tables, the last owner; NULL: none. */
void rk_measured_free(rk_measured *measured);

#endif
