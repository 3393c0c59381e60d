/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strategies that answer a question: the one that it gives, or the best that a search finds, or
 * what is missing when none fits.
 */
#ifndef RK_METHOD_PLAN_RESULT_H
#define RK_METHOD_PLAN_RESULT_H

#include "calculon/calculon_write.h"
#include "method/alternatives.h"
#include "method/answer.h"
#include "method/data_sync.h"
#include "method/rules_of_thumb.h"
#include "work/control.h"

typedef struct rk_plan {
    bool searched;        /* false: the strategy is given, and there is no ranking */
    rk_ranking ranking;   /* its candidates are `answers` */
    double cpu_s, wall_s; /* that the search took */
    size_t answer_count;
    /* By the Calculon method. */
    rk_calculon_result *results; /* owned; best first */
    /* By the reckon model. */
    const rk_request *request;
    const rk_inputs *inputs;
    rk_setting setting;
    rk_plan_space space;                   /* that was searched */
    rk_origins origins;                    /* of the fields of the best, see rk_plan_find */
    rk_answer *answers;                    /* owned; best first */
    rk_answer nearest;                     /* as in ranking.shortage, where one is legal */
    rk_rules rules;                        /* of the best, see rk_plan_remark */
    rk_sync sync;                          /* of the best, with --dp-sync */
    struct rk_launch_comparison *launched; /* owned; the layout of a launch, or NULL */
} rk_plan;

#define RK_PLAN_TOP 5 /* strategies of a ranking by default */

/*
 * Searches a problem as a job does, with its team and progress; by the reckon model `top` 0 means
 * distinct alternatives.  Fills ranking and time; cleared with rk_plan_clear, also after a failure.
 */
rk_status rk_plan_rank(rk_control *control, const rk_problem *problem, rk_search_kind kind,
                       size_t top, int64_t threads, rk_plan *plan, rk_error *err);
void rk_plan_clear(rk_plan *plan);

/* ---- by the reckon model ------------------------------------------------------------------- */

/* The search that a request asks for. */
rk_search_kind rk_plan_kind(const rk_request *request);

/* Predicts the strategies of a ranking in full. */
rk_status rk_plan_predict(rk_plan *plan, rk_error *err);

/* Searches the space of a request; cleared with rk_plan_clear, also after a failure. */
rk_status rk_plan_request(rk_control *control, const rk_request *request, const rk_inputs *inputs,
                          size_t top, rk_plan *plan, rk_error *err);

/*
 * Predicts the strategy that a request gives, or the fastest that fits of those it leaves open.
 * Where nothing is legal because of what is given, the error names the rule.
 */
rk_status rk_plan_find(rk_control *control, const rk_request *request, const rk_inputs *inputs,
                       rk_plan *plan, rk_error *err);

/*
 * Finds the fastest strategy of a request if any reaches `least_rate`, sequences/s.  Degrees that
 * do not divide the accelerators of the request are no error: nothing is found.
 */
rk_status rk_plan_find_faster(rk_control *control, const rk_request *request,
                              const rk_inputs *inputs, double least_rate, bool *found,
                              rk_strategy *fastest, rk_error *err);

/* Predicts one strategy. */
rk_status rk_plan_predict_one(const rk_setting *setting, const rk_strategy *strategy, rk_plan *plan,
                              rk_error *err);

/* The best strategy and its prediction; NULL if none fits. */
const rk_answer *rk_plan_best(const rk_plan *plan);

/* Adds rules of thumb to the best strategy and, with --dp-sync, other ways of data parallelism. */
rk_status rk_plan_remark(rk_plan *plan, rk_error *err);

/* Step time relative to the fastest strategy. */
double rk_plan_slowdown(const rk_plan *plan, size_t i);

/* ---- in words and as JSON, of the reckon model ----------------------------------------------- */

/* Which choices were given and which were searched; nothing if none was given. */
void rk_plan_write_choices(FILE *to, const rk_plan *plan);

/* That nothing is within the risk that was asked for, if so. */
void rk_plan_write_risk(FILE *to, const rk_plan *plan);

/* How the search went, and the choices; nothing if a strategy was given. */
void rk_plan_write_search(FILE *to, const rk_plan *plan);
void rk_plan_write_search_json(rk_json_writer *writer, const rk_plan *plan);

/* Why nothing fits, and changes that would help. */
void rk_plan_write_missing(FILE *to, const rk_plan *plan);

/* The question to ask next where a model does not fit on the accelerators of a node. */
void rk_plan_write_cures(FILE *to, const rk_plan *plan);
void rk_plan_write_missing_json(rk_json_writer *writer, const rk_plan *plan);

#endif
