/* SPDX-License-Identifier: Apache-2.0 */
/* The parsed form of an expression: what its parser and its evaluator share. */
#ifndef RK_IO_EXPRESSION_CODE_H
#define RK_IO_EXPRESSION_CODE_H

#include "io/expression.h"

#define RK_EXPRESSION_STEPS_MAX 512
#define RK_EXPRESSION_STACK_MAX 64

typedef enum rk_operation {
    RK_OP_CONSTANT, /* pushes `value` */
    RK_OP_NAME,     /* pushes the value of name `index` */
    /* of one value */
    RK_OP_NEGATE,
    RK_OP_NOT,
    /* of two */
    RK_OP_ADD,
    RK_OP_SUBTRACT,
    RK_OP_MULTIPLY,
    RK_OP_DIVIDE,
    RK_OP_REMAINDER,
    RK_OP_POWER,
    RK_OP_EQUAL,
    RK_OP_UNEQUAL,
    RK_OP_LESS,
    RK_OP_LESS_EQUAL,
    RK_OP_GREATER,
    RK_OP_GREATER_EQUAL,
    RK_OP_AND,
    RK_OP_OR,
    /* functions, of `index` values */
    RK_OP_ABS,
    RK_OP_CEIL,
    RK_OP_FLOOR,
    RK_OP_IF,
    RK_OP_LOG2,
    RK_OP_MAX,
    RK_OP_MIN,
    RK_OP_POW,
    RK_OP_ROUND,
    RK_OP_SQRT,
} rk_operation;

typedef struct rk_step {
    rk_operation operation;
    uint32_t position; /* of the operator, for messages */
    uint32_t index;    /* of a name; or number of arguments of a function */
    rk_value value;    /* of a constant */
} rk_step;

struct rk_expression {
    char *text;    /* owned */
    char *strings; /* owned: names and texts, each terminated */
    size_t string_size;
    rk_step *steps;     /* owned; a list in the order in which a stack machine runs them */
    const char **names; /* owned list of borrowed strings */
    size_t step_count, name_count;
};

#endif
