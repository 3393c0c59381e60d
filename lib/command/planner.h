/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The question of `plan`, `explain`, `design` and `shape` with either method, so that each of these
 * commands is written once. A planner knows the options of its method: it loads what they name and
 * shows it.
 */
#ifndef RK_COMMAND_PLANNER_H
#define RK_COMMAND_PLANNER_H

#include "command/calculon_plan.h"
#include "command/reckon_plan.h"

typedef struct rk_planner rk_planner;

typedef struct rk_asked {
    const rk_planner *planner;
    rk_problem problem;
    int64_t batch, seq; /* sequences of a step, at most; tokens of one */
    int64_t threads;
    size_t top; /* to show */
    bool json, csv;
    const char *output;        /* file, or "-" */
    const rk_ranking *ranking; /* after the search; NULL before */
    rk_search_time time;       /* of it */
    rk_calculon_plan plan;     /* of the Calculon method */
    rk_plan_answer reckoning;  /* of the reckon model */
} rk_asked;

struct rk_planner {
    const rk_method *method;
    const char *accelerators_option; /* "processors" */
    const char *shape_key;           /* of the sizes of a model in documents */
    const char *efficiency_note;     /* what efficiency is, a line; "" */

    /* The option that gives the number of accelerators. */
    int64_t *(*accelerators)(void *options);

    /* Loads the documents that options name, and the space they describe, into an empty asked. */
    rk_status (*load)(rk_asked *asked, const void *options, rk_error *err);
    void (*clear)(rk_asked *asked);

    /* Lets the search offload whatever the options do not forbid. */
    void (*allow_offload)(rk_asked *asked);

    /* Sets the sequence length of a model that the options do not name; or NULL. */
    void (*set_seq)(rk_asked *asked, int64_t seq);

    /* Searches for the best strategies, with all that an answer of `plan` shows. */
    rk_status (*rank)(rk_job *job, rk_asked *asked, rk_error *err);

    /*
     * Parts of the answer of `plan`, see rk_plan_write: which choices were searched (or NULL), what
     * is said of the best strategy, or what is missing where none fits; in JSON what was asked, the
     * best strategy (or NULL) and all of them.
     */
    void (*write_choices)(FILE *to, const rk_asked *asked);
    rk_status (*write_best)(FILE *to, const rk_asked *asked, rk_table_style style, rk_error *err);
    void (*write_shortage)(FILE *to, const rk_asked *asked);
    void (*write_request_json)(rk_json_writer *writer, const rk_asked *asked);
    void (*write_best_json)(rk_json_writer *writer, const rk_asked *asked);
    void (*write_shortage_json)(rk_json_writer *writer, const rk_asked *asked);
    void (*write_strategies_json)(rk_json_writer *writer, const rk_asked *asked);
    rk_status (*write_csv)(const rk_job *job, const rk_asked *asked, rk_error *err);

    /* Whether a launch file is requested instead of the answer; or NULL. */
    bool (*emits)(const rk_asked *asked);
    rk_status (*emit)(const rk_job *job, const rk_asked *asked, rk_error *err);

    /* The question: model and system; the batch; all of it; and all but the model. */
    void (*write_documents)(FILE *to, const rk_asked *asked);
    void (*write_batch)(FILE *to, const rk_asked *asked);
    void (*write_inputs)(FILE *to, const rk_asked *asked);
    void (*write_machine)(FILE *to, const rk_asked *asked);

    /* A strategy on one line; if this is NULL, on several. */
    const char *(*strategy_words)(const rk_candidate *candidate, char out[RK_WORDS_SIZE]);
    void (*write_strategy)(FILE *to, const rk_candidate *candidate);
};

extern const rk_planner rk_planner_calculon, rk_planner_reckon;

/* Fills the problem: for `load` of a planner.  `model` NULL: the options do not name one. */
rk_status rk_asked_read(rk_asked *asked, const char *model, const char *system, const void *request,
                        rk_error *err);

/* Loads; cleared with rk_asked_clear, also after a failure. */
rk_status rk_asked_load(const rk_planner *planner, const void *options, rk_asked *asked,
                        rk_error *err);
void rk_asked_clear(rk_asked *asked);

/* The same for the reckon model, with problem.reckon.inputs already loaded. */
rk_status rk_asked_take(rk_asked *asked, const rk_request *request, rk_error *err);

/* Writes the answer of `plan` in the format of the options. */
rk_status rk_plan_write(const rk_job *job, const rk_asked *asked, rk_error *err);

/* Runs `plan`. */
rk_status rk_planner_run(const rk_planner *planner, rk_job *job, const void *options,
                         rk_error *err);

#endif
