/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of commands by the Calculon method, and its planner. */
#ifndef RK_COMMAND_CALCULON_PLAN_H
#define RK_COMMAND_CALCULON_PLAN_H

#include "calculon/calculon_write.h"
#include "command/ranked.h"
#include "method/calculon_request.h"

extern const char *const rk_calculon_methods[]; /* names of `method` */

/* Defaults: five strategies, the smallest datatype (below 0), standard output. */
void rk_calculon_request_init(void *request);

/* Refuses options that exclude each other. */
rk_status rk_calculon_request_check(void *request, rk_error *err);

/* What to search, how, and where to write: the options of `reckon plan` and `explain`. */
#define RK_CALCULON_PLAN_OPTIONS 12
extern const rk_option rk_calculon_plan_options[RK_CALCULON_PLAN_OPTIONS];

/* The question and the answer. */
typedef struct rk_calculon_plan {
    rk_calculon_request request;
    rk_problem problem;
    rk_ranking ranking;
    rk_search_time time;            /* of the search */
    rk_calculon_result *strategies; /* owned; best first */
    size_t strategy_count;
} rk_calculon_plan;

/*
 * Searches for the best strategies, and for what is missing when none fits; on rank 0, all of their
 * statistics are there then.  Cleared with rk_calculon_plan_clear, also after a failure.
 */
rk_status rk_calculon_plan_rank(rk_job *job, rk_calculon_plan *plan, rk_error *err);
void rk_calculon_plan_clear(rk_calculon_plan *plan);

/* Evaluates a strategy that fits into the memory it needs, however much the system has. */
rk_status rk_calculon_plan_evaluate(const rk_calculon_plan *plan, const rk_candidate *candidate,
                                    rk_calculon_result *strategy, rk_error *err);

/* The question: model, system and run; and only the first two. */
void rk_calculon_plan_write_inputs(FILE *to, const rk_calculon_plan *plan);
void rk_calculon_plan_write_model(FILE *to, const rk_calculon_plan *plan);
void rk_calculon_plan_write_system(FILE *to, const rk_calculon_plan *plan);

/* Parts of the answer of `plan`, as of rk_planner. */
rk_status rk_calculon_plan_write_best(FILE *to, const rk_calculon_plan *plan, rk_table_style style,
                                      rk_error *err);
void rk_calculon_plan_write_shortage(FILE *to, const rk_calculon_plan *plan);
void rk_calculon_plan_write_request_json(rk_json_writer *writer, const rk_calculon_plan *plan);
void rk_calculon_plan_write_best_json(rk_json_writer *writer, const rk_calculon_plan *plan);
void rk_calculon_plan_write_shortage_json(rk_json_writer *writer, const rk_calculon_plan *plan);
void rk_calculon_plan_write_strategies(rk_json_writer *writer, const rk_calculon_plan *plan);
rk_status rk_calculon_plan_write_csv(const rk_job *job, const rk_calculon_plan *plan,
                                     rk_error *err);

#endif
