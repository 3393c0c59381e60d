/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of `plan`, `explain`, `design` and `shape`, which have either method. */
#ifndef RK_COMMAND_QUESTION_ARGS_H
#define RK_COMMAND_QUESTION_ARGS_H

#include "command/calculon_options.h"
#include "command/option_groups.h"
#include "method/question.h"

/* The struct of each command begins with it, so that options of a request have their place. */
typedef struct rk_question_args {
    union {
        rk_request reckon;
        rk_calculon_request calculon;
    };
    const rk_method *method; /* selects the member of the union */
} rk_question_args;

/* Defaults of either method. */
void rk_question_args_reckon(void *arguments);
void rk_question_args_calculon(void *arguments);

/* Checks across the options of a request. */
rk_status rk_question_args_check(void *arguments, rk_error *err);

/*
 * The options of a command are a macro LIST(BOTH, RECKON, CALCULON), whose rows are one or more
 * options in brackets behind the methods that have them.
 */
#define RK_ROW(...) __VA_ARGS__,
#define RK_NO_ROW(...)
#define RK_RECKON_ROWS_OF(LIST)   LIST(RK_ROW, RK_ROW, RK_NO_ROW)
#define RK_CALCULON_ROWS_OF(LIST) LIST(RK_ROW, RK_NO_ROW, RK_ROW)

/* Options of the Calculon method that `plan` and `explain` list first. */
#define RK_CALCULON_PLAN_OPTIONS 12
extern const rk_option rk_calculon_plan_options[RK_CALCULON_PLAN_OPTIONS];

#endif
