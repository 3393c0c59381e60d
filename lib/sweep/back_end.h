/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A method of estimating, as sweeps see it: what it reads of a point, how it searches there, and
 * the columns of its results.
 */
#ifndef RK_SWEEP_BACK_END_H
#define RK_SWEEP_BACK_END_H

#include "base/top.h"
#include "sweep/doc.h"

#define RK_SWEEP_COUNTS_MAX  4
#define RK_SWEEP_REASON_SIZE 512
#define RK_SWEEP_COLUMN_SIZE 64 /* of the name of a column of results */

/* What has been found at a point. */
typedef struct rk_sweep_found {
    rk_top top;                           /* candidates; the method knows what they are */
    rk_value counts[RK_SWEEP_COUNTS_MAX]; /* in the order of the method's count columns */
    char reason[RK_SWEEP_REASON_SIZE];    /* why there is no estimate; "" when there is one */
} rk_sweep_found;

/* What a thread has of a point: the inputs it was read into, and scratch.  The method defines it.
 */
typedef struct rk_sweep_state rk_sweep_state;

typedef struct rk_sweep_method {
    /* The columns of a point that tell how it was settled, by what is done there; those of a search
     * in slices are whole numbers, which add up. */
    const rk_column *(*count_columns)(const rk_sweep_mode *mode, size_t *count);

    /* The columns of a result. */
    size_t (*result_count)(void);
    rk_value_type (*result_column)(size_t index, char name[RK_SWEEP_COLUMN_SIZE]);

    int64_t top_max; /* results at a point, at most */

    /* Makes a state, released with `close`; NULL: no memory. */
    rk_sweep_state *(*open)(const rk_sweep_mode *mode);
    void (*close)(rk_sweep_state *state);

    /* Reads what has changed of a point, and checks it as far as its search would; *top: results
     * that it asks for. */
    rk_status (*read)(rk_sweep_state *state, json_t *root, unsigned changed, int64_t *top,
                      rk_error *err);

    /* Strategies of the search. */
    rk_status (*count)(rk_sweep_state *state, uint64_t *strategies, rk_error *err);

    size_t candidate_size; /* of a payload of rk_sweep_found.top */
    size_t candidates;     /* to keep for each result: some fall away when they are refined */
    uint64_t slice;        /* strategies that are worth a task of their own; 0: never cut */

    /* Searches, or a slice of it, into an empty rk_sweep_found whose top has its limit. */
    rk_status (*search)(rk_sweep_state *state, const rk_search_control *control,
                        rk_sweep_found *found, rk_error *err);

    /* The estimate of the one strategy that the point has, into an empty rk_sweep_found. */
    rk_status (*estimate)(rk_sweep_state *state, rk_sweep_found *found, rk_error *err);

    /*
     * Makes at most `wanted` results, best first, of the candidates, which it may sort; and then
     * gives the values of one, which live until the next call.
     */
    rk_status (*refine)(rk_sweep_state *state, rk_top *top, size_t wanted, size_t *count,
                        rk_error *err);
    rk_status (*result)(rk_sweep_state *state, const rk_top *top, size_t index, rk_value *values,
                        rk_error *err);
} rk_sweep_method;

/* The Calculon methodology. */
extern const rk_sweep_method rk_sweep_calculon;

#endif
