/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Pareto front: the results that no other result beats, by being no worse in all goals and
 * better in one.
 */
#ifndef RK_SWEEP_PARETO_H
#define RK_SWEEP_PARETO_H

#include "sweep/worker.h"

#define RK_SWEEP_GOALS_MAX 8

/* A result on the front. */
typedef struct rk_sweep_best {
    uint64_t point, rank;
    double goals[RK_SWEEP_GOALS_MAX]; /* less is better */
    rk_bytes row;                     /* owned; for rk_sweep_rows_take */
} rk_sweep_best;

typedef struct rk_sweep_pareto {
    size_t goal_count;
    struct {
        size_t column; /* of the table, outside */
        bool more;     /* more is better */
    } goals[RK_SWEEP_GOALS_MAX];
    size_t rank, column_count;
    rk_sweep_best *front; /* owned; in the order of point and rank once sorted */
    size_t count, room;
} rk_sweep_pareto;

/*
 * Reads goals such as "time,memory,max:cost": columns of the table. Less is better, unless "max:"
 * precedes the column or more is always better. "time", "memory" and "rate" mean the columns of the
 * method. Release with rk_sweep_pareto_clear.
 */
rk_status rk_sweep_pareto_init(const char *text, const rk_sweep_table *table,
                               rk_sweep_pareto *pareto, rk_error *err);
void rk_sweep_pareto_clear(rk_sweep_pareto *pareto);

/* Offers a row outside.  One without a value of each goal is not on the front. */
rk_status rk_sweep_pareto_add(rk_sweep_pareto *pareto, const rk_value *row, rk_error *err);

/* Sorts the front by point and rank. */
void rk_sweep_pareto_sort(rk_sweep_pareto *pareto);

#endif
