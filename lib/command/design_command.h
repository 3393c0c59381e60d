/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `reckon design`. */
#ifndef RK_COMMAND_DESIGN_COMMAND_H
#define RK_COMMAND_DESIGN_COMMAND_H

#include "codesign/design_answer.h"
#include "command/question_args.h"

typedef struct rk_design_args {
    rk_question_args question;
    rk_machine_target target;
} rk_design_args;

#endif
