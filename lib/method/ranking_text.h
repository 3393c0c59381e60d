/* SPDX-License-Identifier: Apache-2.0 */
/* A ranking by either method in words and as JSON. */
#ifndef RK_METHOD_RANKING_TEXT_H
#define RK_METHOD_RANKING_TEXT_H

#include "method/plan_result.h"

/* The lines of a bounded search from "search" on; `method` is its name. */
void rk_write_bounded(FILE *to, const rk_bounded_counts *counts, const char *method, double cpu_s);

/* Its counts, as members of an object that is open. */
void rk_bounded_write_json(rk_json_writer *writer, const rk_bounded_counts *counts);

/* The lines of "search": the number of strategies, and how fast they were searched. */
void rk_ranking_write(FILE *to, const rk_method *method, const rk_ranking *ranking, double cpu_s);

/* The members "search" and "performance". */
void rk_ranking_write_json(rk_json_writer *writer, const rk_method *method,
                           const rk_ranking *ranking, double cpu_s, double wall_s);

/*
 * The candidates of a ranking side by side, in as many tables as the page's width requires, each
 * followed by an empty line.
 */
rk_status rk_write_comparison(FILE *to, const rk_problem *problem, const rk_ranking *ranking,
                              const rk_candidate *launched, rk_table_style style, rk_error *err);

#endif
