/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions over named values, such as "4*application.hidden" or "processors % 8 == 0": parsed
 * once into a list of steps, and evaluated any number of times without allocation.
 *
 * From loosest to tightest: || (or), && (and), comparisons (== != < <= > >=, which do not chain),
 * + -, * / %, unary - + ! (not), ^ (power, to the right).  Values are numbers (1, 0.5, 1e12), text
 * ('float8'), true and false.  Names are keys: application.hidden, system.networks[0].size.
 * Functions: abs, ceil, floor, if, log2, max, min, pow, round, sqrt.
 */
#ifndef RK_IO_EXPRESSION_H
#define RK_IO_EXPRESSION_H

#include "base/value.h"
#include "reckon/reckon.h"

#define RK_EXPRESSION_SIZE_MAX 4096 /* bytes of text */

typedef struct rk_expression rk_expression;

/* The caller frees *expression.  Errors name the character at fault. */
rk_status rk_expression_parse(const char *text, rk_expression **expression, rk_error *err);

/* NULL is legal. */
void rk_expression_free(rk_expression *expression);

/* The text, and the names in it, each once; they live as long as the expression. */
const char *rk_expression_text(const rk_expression *expression);
size_t rk_expression_name_count(const rk_expression *expression);
const char *rk_expression_name(const rk_expression *expression, size_t index);

/* Why an expression has no value. */
typedef struct rk_expression_fault {
    size_t position;    /* in the text, from 0 */
    const char *reason; /* static; NULL: there is a value, or a name has none */
} rk_expression_fault;

/*
 * The value of the expression for `values` of the names, in their order.  A name without a value
 * (RK_VALUE_NULL), a division by zero, a number that is not finite or a type that does not fit make
 * RK_VALUE_NULL of everything that depends on them, as in SQL; `fault` (may be NULL) gets the
 * first.  A number that is whole and below 2^53 is an RK_VALUE_INT.  Text is borrowed from names or
 * expression.
 */
rk_value rk_expression_value(const rk_expression *expression, const rk_value *names,
                             rk_expression_fault *fault);

#endif
