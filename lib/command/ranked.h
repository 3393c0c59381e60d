/* SPDX-License-Identifier: Apache-2.0 */
/* Searches and writes a ranking with either method. */
#ifndef RK_COMMAND_RANKED_H
#define RK_COMMAND_RANKED_H

#include "job/job.h"
#include "method/alternatives.h"

/* How long a search took. */
typedef struct rk_search_time {
    double cpu_s, wall_s; /* wall_s below 0: not told */
} rk_search_time;

/*
 * Searches as a job does, with its team and progress; by the reckon model `top` 0 stands for
 * alternatives.  Cleared with rk_ranking_clear.
 */
rk_status rk_rank_for_job(rk_job *job, const rk_problem *problem, rk_search_kind kind, size_t top,
                          int64_t threads, rk_ranking *ranking, rk_search_time *time,
                          rk_error *err);

/* The lines of "search": the number of strategies, and how fast they were searched. */
void rk_ranking_write(FILE *to, const rk_method *method, const rk_ranking *ranking, double cpu_s);

/* The members "search" and "performance". */
void rk_ranking_write_json(rk_json_writer *writer, const rk_method *method,
                           const rk_ranking *ranking, rk_search_time time);

/*
 * The candidates of a ranking side by side, in as many tables as the page's width requires, each
 * followed by an empty line.
 */
rk_status rk_write_comparison(FILE *to, const rk_problem *problem, const rk_ranking *ranking,
                              rk_table_style style, rk_error *err);

#endif
