/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settles a point of a sweep: a search or an estimate, by the method of its documents. The methods
 * are in rk_method; a sweep adds how points are read.
 */
#ifndef RK_SWEEP_SOLVE_POINT_H
#define RK_SWEEP_SOLVE_POINT_H

#include "base/top.h"
#include "method/method.h"
#include "sweep/sweep_doc.h"

#define RK_SWEEP_COUNTS_MAX 4

/* Results of a point. */
typedef struct rk_point_result {
    rk_top top; /* candidates: the bytes of rk_candidate that are in use */
    rk_value counts[RK_SWEEP_COUNTS_MAX]; /* in the order of the count columns */
    char reason[RK_MISFIT_SIZE];          /* why there is no estimate; "" when there is one */
} rk_point_result;

/* The part of a point common to both methods; see rk_sweep_reader.size. */
typedef struct rk_sweep_common {
    int64_t top;      /* number of results */
    unsigned changed; /* while the point is read */
    rk_problem problem;
} rk_sweep_common;

/* How the points of a method are read. */
typedef struct rk_sweep_reader {
    const rk_method *method;
    size_t size; /* of a point: a struct that begins with an rk_sweep_common, all zero at first */

    /* Reads what has changed of a point, and checks it as far as its search would. */
    rk_status (*read)(void *point, bool estimate, const json_t *root, unsigned changed,
                      rk_error *err);

    /* The strategy of the point, for an estimate; RK_ERR_INVALID: why it is none. */
    rk_status (*strategy)(const void *point, rk_candidate *candidate, rk_error *err);
} rk_sweep_reader;

extern const rk_sweep_reader rk_sweep_reader_calculon, rk_sweep_reader_reckon;

const rk_sweep_reader *rk_sweep_reader_of(const rk_sweep_mode *mode);

/* A thread's point, and its scratch memory. */
typedef struct rk_sweep_state {
    const rk_sweep_reader *reader;
    rk_sweep_mode mode;
    rk_sweep_common *point; /* owned; of reader->size */
    rk_candidate *found;    /* owned; of a search */
    /* Of points that differ in max_memory only: */
    rk_known_bounds known; /* owned */
    bool counted;
    uint64_t strategies;
    size_t room;
    char *texts; /* owned; of the values of a result */
} rk_sweep_state;

/* Released with rk_sweep_state_clear, also after a failure. */
rk_status rk_sweep_state_init(rk_sweep_state *state, const rk_sweep_mode *mode, rk_error *err);
void rk_sweep_state_clear(rk_sweep_state *state);

/*
 * The columns of a point that say how it was settled; for a search in slices they are whole
 * numbers, which add up.
 */
size_t rk_sweep_count_columns(const rk_sweep_mode *mode, rk_column columns[RK_SWEEP_COUNTS_MAX]);

rk_status rk_sweep_state_read(rk_sweep_state *state, const json_t *root, unsigned changed,
                              rk_error *err);

/* Strategies of the search. */
rk_status rk_sweep_state_count(rk_sweep_state *state, uint64_t *strategies, rk_error *err);

/* Searches the point, or a slice, into an empty rk_point_result whose limit is set. */
rk_status rk_sweep_state_search(rk_sweep_state *state, const rk_search_control *control,
                                rk_point_result *found, rk_error *err);

/* Estimates the strategy of the point into an empty rk_point_result. */
rk_status rk_sweep_state_estimate(const rk_sweep_state *state, rk_point_result *found,
                                  rk_error *err);

/* The values of a candidate, which live until the next call. */
rk_status rk_sweep_state_values(const rk_sweep_state *state, const rk_top *top, size_t index,
                                rk_value *values, rk_error *err);

#endif
