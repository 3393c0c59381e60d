/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the typed functions of include/reckon. */
#ifndef RK_API_HANDLES_H
#define RK_API_HANDLES_H

#include "api/struct_tables.h"
#include "job/job.h"
#include "method/estimate_change.h"
#include "method/fit.h"
#include "request/request.h"

struct rk_setup {
    rk_inputs inputs;   /* its measured tables belong to the system it was made from */
    rk_setting setting; /* owns its store */
    char framework_reason[RK_REASON_SIZE], stack_reason[RK_REASON_SIZE];
};

struct rk_outcome {
    const rk_setup *setup;
    rk_job *job; /* owned; its request is the question; NULL: it is a strategy */
    rk_fit fit;  /* `plan` is the result, also of plans */
};

/* Frees what an outcome has, but not itself. */
void rk_outcome_clear(rk_outcome *outcome);

/* Refuses a strategy past the last. */
rk_status rk_outcome_pick(const rk_outcome *outcome, size_t index, const rk_answer **answer,
                          rk_error *err);

/* Creates a job of a command for a setup, which must not be NULL. */
rk_status rk_open_job(const rk_setup *setup, const rk_command *command, rk_job **job,
                      rk_error *err);

/*
 * Sets the options of a job, whose arguments are an rk_request, from a space, and starts it; the
 * documents come from the setup.  Refuses options that belong to the setup.
 */
rk_status rk_start_job(const rk_setup *setup, const rk_space *space, const rk_job_control *control,
                       rk_job *job, rk_error *err);

/* Predicts a strategy that a program gave in full. */
rk_status rk_ask_strategy(const rk_setup *setup, const rk_strategy *strategy, rk_plan *plan,
                          rk_error *err);

/* The index of a name; fails with all names where none has it.  `what` is the kind of name. */
rk_status rk_find_name(const char *what, const char *name, const char *const *names, int *index,
                       rk_error *err);

/* A copy of a program's strategy (rk_take_strategy); refuses one that is not legal. */
rk_status rk_strategy_adopt_legal(const rk_setup *setup, const rk_strategy *given,
                                  rk_strategy *strategy, rk_error *err);

/* Copies a strategy to a struct of the requested size.  Returns true. */
bool rk_strategy_abi_copy(const rk_strategy *strategy, rk_strategy *out, size_t size);

#endif
