/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator: a stack machine over the steps of an expression. */
#include "io/expression_code.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define WHOLE_MAX 9007199254740992.0 /* 2^53: whole numbers up to here are exact in a double */

static const rk_value nothing = {.type = RK_VALUE_NULL};

/* Remembers the first reason.  Returns no value. */
static rk_value fault_at(rk_expression_fault *fault, const rk_step *step, const char *reason)
{
    if (!fault->reason) {
        *fault = (rk_expression_fault){.position = step->position, .reason = reason};
    }
    return nothing;
}

static bool is_number(const rk_value *value)
{
    return value->type == RK_VALUE_INT || value->type == RK_VALUE_REAL;
}

static double number_of(const rk_value *value)
{
    return value->type == RK_VALUE_INT ? (double)value->integer : value->real;
}

/*
 * x rounded by `rounding` to a multiple of `unit`.  A unit such as 0.01 is not a double, but the
 * whole number that it divides 1 into is: by it the nearest double to 6.39 comes out.
 */
static double to_multiple(double (*rounding)(double), double x, double unit)
{
    if (unit == 0) {
        return (double)NAN;
    }
    const double parts = round(1 / unit);
    return fabs(unit) < 1 && 1 / parts == unit ? rounding(x * parts) / parts
                                               : rounding(x / unit) * unit;
}

static double greatest(const double *x, unsigned count)
{
    assert(count >= 1);
    double most = x[0];
    for (unsigned i = 1; i < count; i++) {
        most = x[i] > most ? x[i] : most;
    }
    return most;
}

static double least(const double *x, unsigned count)
{
    assert(count >= 1);
    double most = x[0];
    for (unsigned i = 1; i < count; i++) {
        most = x[i] < most ? x[i] : most;
    }
    return most;
}

/* The result of an operation on numbers; not finite if there is none. */
static double compute(const rk_step *step, const double *x)
{
    const double unit = step->index > 1 ? x[1] : 1; /* of the functions that round */
    switch (step->operation) {
    case RK_OP_NEGATE:
        return -x[0];
    case RK_OP_ADD:
        return x[0] + x[1];
    case RK_OP_SUBTRACT:
        return x[0] - x[1];
    case RK_OP_MULTIPLY:
        return x[0] * x[1];
    case RK_OP_DIVIDE:
        return x[0] / x[1];
    case RK_OP_REMAINDER:
        return fmod(x[0], x[1]);
    case RK_OP_POWER:
    case RK_OP_POW:
        return pow(x[0], x[1]);
    case RK_OP_ABS:
        return fabs(x[0]);
    case RK_OP_CEIL:
        return to_multiple(ceil, x[0], unit);
    case RK_OP_FLOOR:
        return to_multiple(floor, x[0], unit);
    case RK_OP_ROUND:
        return to_multiple(round, x[0], unit);
    case RK_OP_LOG2:
        return log2(x[0]);
    case RK_OP_MAX:
        return greatest(x, step->index);
    case RK_OP_MIN:
        return least(x, step->index);
    case RK_OP_SQRT:
        return sqrt(x[0]);
    default:
        return (double)NAN;
    }
}

static unsigned operand_count(const rk_step *step)
{
    if (step->operation >= RK_OP_ABS) {
        return step->index;
    }
    return step->operation >= RK_OP_ADD ? 2 : step->operation >= RK_OP_NEGATE ? 1 : 0;
}

static rk_value apply_numbers(const rk_step *step, const rk_value *operands,
                              rk_expression_fault *fault)
{
    double x[RK_EXPRESSION_STACK_MAX];
    const unsigned count = operand_count(step);
    for (unsigned i = 0; i < count; i++) {
        if (operands[i].type == RK_VALUE_NULL) {
            return nothing;
        }
        if (!is_number(&operands[i])) {
            return fault_at(fault, step, "this needs numbers");
        }
        x[i] = number_of(&operands[i]);
    }
    const double result = compute(step, x);
    if (isfinite(result)) {
        return rk_value_real(result);
    }
    const bool divides = step->operation == RK_OP_DIVIDE || step->operation == RK_OP_REMAINDER;
    return fault_at(fault, step,
                    divides && x[1] == 0 ? "this divides by zero" : "this has no finite result");
}

/* Compares a and b: -1, 0 or 1. For texts only equality is meaningful. */
static int order_of(const rk_value *a, const rk_value *b)
{
    if (a->type == RK_VALUE_TEXT) {
        return strcmp(a->text, b->text) == 0 ? 0 : 1;
    }
    if (a->type == RK_VALUE_BOOL) {
        return a->boolean == b->boolean ? 0 : 1;
    }
    const double x = number_of(a), y = number_of(b);
    return (x > y) - (x < y);
}

static rk_value apply_comparison(const rk_step *step, const rk_value *a, const rk_value *b,
                                 rk_expression_fault *fault)
{
    if (a->type == RK_VALUE_NULL || b->type == RK_VALUE_NULL) {
        return nothing;
    }
    const bool numbers = is_number(a) && is_number(b);
    const bool equality = step->operation == RK_OP_EQUAL || step->operation == RK_OP_UNEQUAL;
    if (!numbers && a->type != b->type) {
        return fault_at(fault, step, "this compares values of different types");
    }
    if (!numbers && !equality) {
        return fault_at(fault, step, "only numbers have an order");
    }
    const int order = order_of(a, b);
    switch (step->operation) {
    case RK_OP_EQUAL:
        return rk_value_bool(order == 0);
    case RK_OP_UNEQUAL:
        return rk_value_bool(order != 0);
    case RK_OP_LESS:
        return rk_value_bool(order < 0);
    case RK_OP_LESS_EQUAL:
        return rk_value_bool(order <= 0);
    case RK_OP_GREATER:
        return rk_value_bool(order > 0);
    default:
        return rk_value_bool(order >= 0);
    }
}

/* and, or: when one side decides the result, the other may lack a value. */
static rk_value apply_logic(const rk_step *step, const rk_value *operands,
                            rk_expression_fault *fault)
{
    const bool decisive = step->operation == RK_OP_OR;
    bool unknown = false;
    for (int i = 0; i < 2; i++) {
        if (operands[i].type == RK_VALUE_NULL) {
            unknown = true;
        } else if (operands[i].type != RK_VALUE_BOOL) {
            return fault_at(fault, step, "this needs conditions, which are true or false");
        } else if (operands[i].boolean == decisive) {
            return operands[i];
        }
    }
    return unknown ? nothing : rk_value_bool(!decisive);
}

static rk_value apply(const rk_step *step, const rk_value *operands, rk_expression_fault *fault)
{
    const bool condition = operands[0].type == RK_VALUE_BOOL || operands[0].type == RK_VALUE_NULL;
    switch (step->operation) {
    case RK_OP_NOT:
    case RK_OP_IF:
        if (!condition) {
            return fault_at(fault, step, "this needs a condition, which is true or false");
        }
        if (operands[0].type == RK_VALUE_NULL) {
            return nothing;
        }
        return step->operation == RK_OP_NOT ? rk_value_bool(!operands[0].boolean)
                                            : operands[operands[0].boolean ? 1 : 2];
    case RK_OP_EQUAL:
    case RK_OP_UNEQUAL:
    case RK_OP_LESS:
    case RK_OP_LESS_EQUAL:
    case RK_OP_GREATER:
    case RK_OP_GREATER_EQUAL:
        return apply_comparison(step, &operands[0], &operands[1], fault);
    case RK_OP_AND:
    case RK_OP_OR:
        return apply_logic(step, operands, fault);
    default:
        return apply_numbers(step, operands, fault);
    }
}

rk_value rk_expression_value(const rk_expression *expression, const rk_value *names,
                             rk_expression_fault *fault)
{
    rk_value stack[RK_EXPRESSION_STACK_MAX] = {nothing};
    rk_expression_fault found = {0};
    size_t top = 0; /* the parser made sure of the space */
    for (size_t i = 0; i < expression->step_count; i++) {
        const rk_step *step = &expression->steps[i];
        if (step->operation == RK_OP_CONSTANT) {
            stack[top++] = step->value;
        } else if (step->operation == RK_OP_NAME) {
            stack[top++] = names[step->index];
        } else {
            top -= operand_count(step);
            stack[top] = apply(step, &stack[top], &found);
            top++;
        }
    }
    if (fault) {
        *fault = stack[0].type == RK_VALUE_NULL ? found : (rk_expression_fault){0};
    }
    if (stack[0].type == RK_VALUE_REAL && fabs(stack[0].real) <= WHOLE_MAX &&
        stack[0].real == floor(stack[0].real)) {
        return rk_value_int((int64_t)stack[0].real);
    }
    return stack[0];
}
