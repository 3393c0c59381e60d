/* SPDX-License-Identifier: Apache-2.0 */
/* Searches by the reckon model, for `reckon plan --method reckon` and `reckon fit`. */
#ifndef RK_COMMAND_RECKON_PLAN_H
#define RK_COMMAND_RECKON_PLAN_H

#include "command/ranked.h"
#include "method/alternatives.h"
#include "predict/answer.h"
#include "predict/data_sync.h"
#include "predict/rules_of_thumb.h"

#define RK_THREADS_MAX 4096
#define RK_PLAN_TOP    5 /* strategies of a ranking by default */

/* The question and the answer. */
typedef struct rk_plan_answer {
    const rk_request *request;
    const rk_inputs *inputs;
    rk_setting setting;
    rk_plan_space space;
    rk_ranking ranking; /* its candidates are `answers` */
    double cpu_s;       /* of the search */
    rk_answer *answers; /* owned; best first */
    size_t answer_count;
    rk_rules rules;    /* of the best */
    rk_sync sync;      /* likewise, with --dp-sync */
    rk_answer nearest; /* that of ranking.shortage, where one is legal */
} rk_plan_answer;

/*
 * Searches the space of a request for the `top` fastest strategies, or with top 0 for distinct
 * alternatives. Long searches show their progress on standard error.  Cleared with
 * rk_plan_answer_clear, also after a failure.
 */
rk_status rk_plan_answer_search(rk_job *job, const rk_request *request, const rk_inputs *inputs,
                                size_t top, rk_plan_answer *plan, rk_error *err);
/* Step time over that of the fastest. */
double rk_plan_answer_slowdown(const rk_plan_answer *plan, size_t i);
void rk_plan_answer_clear(rk_plan_answer *plan);

/* The inputs and the space for what is written once for both methods. */
rk_problem rk_plan_answer_problem(const rk_plan_answer *plan);

/* The number of strategies, and how fast they were searched. */
void rk_write_search(FILE *to, const rk_plan_answer *plan);
void rk_search_write_json(rk_json_writer *writer, const rk_plan_answer *plan);

/* What is missing when nothing fits. */
void rk_write_shortage(FILE *to, const rk_plan_answer *plan);
void rk_shortage_write_json(rk_json_writer *writer, const rk_plan_answer *plan);

/* Why no strategy is legal, and what would help. */
void rk_write_illegal(FILE *to, const rk_plan_answer *plan);
void rk_illegal_write_json(rk_json_writer *writer, const rk_plan_answer *plan);

/* The question: model, system, stack and run. */
void rk_plan_answer_write_inputs(FILE *to, const rk_plan_answer *plan);

/* Why the others are slower than the best strategy, and the best one in full. */
rk_status rk_plan_answer_write_best(FILE *to, const rk_plan_answer *plan, rk_table_style style,
                                    rk_error *err);

/* Names of rk_request.method; NULL-terminated. */
extern const char *const rk_reckon_plan_methods[];

/* Options of commands that search, the struct of each of which begins with an rk_request. */
#define RK_OPTIONS_OF_SEARCH                                                                       \
    {.name = "threads",                                                                            \
     .group = "Search",                                                                            \
     .letter = 't',                                                                                \
     .type = RK_OPTION_COUNT,                                                                      \
     .offset = offsetof(rk_request, threads),                                                      \
     .max = RK_THREADS_MAX,                                                                        \
     .value = "N",                                                                                 \
     .help = "threads to use; default: one per core"},                                             \
    {                                                                                              \
        .name = "method", .type = RK_OPTION_CHOICE, .offset = offsetof(rk_request, method),        \
        .choices = rk_reckon_plan_methods, .value = "NAME",                                        \
        .help = "performance model; default: that of the documents"                                \
    }

#endif
