/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `reckon shape`. */
#ifndef RK_COMMAND_SHAPE_COMMAND_H
#define RK_COMMAND_SHAPE_COMMAND_H

#include "codesign/shape_answer.h"
#include "command/question_args.h"

typedef struct rk_shape_args {
    rk_question_args question;
    rk_shape_choice wish;
    int64_t seq; /* 0: as in the model */
} rk_shape_args;

#endif
