/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of a sweep, whose names are keys of its document or columns of its results. */
#ifndef RK_SWEEP_FORMULA_H
#define RK_SWEEP_FORMULA_H

#include "io/expression.h"
#include "sweep/key.h"

#define RK_SWEEP_FORMULA_NAMES 64

/* Released with rk_sweep_formula_clear; all zero is an empty one. */
typedef struct rk_sweep_formula {
    rk_expression *expression; /* owned */
    struct rk_sweep_name {
        rk_sweep_key key;
        bool is_column;
        size_t column;
    } * names; /* owned; in the order of the expression */
} rk_sweep_formula;

/* Reads the text of an expression, or a number, at JSON path `path`. */
rk_status rk_sweep_formula_read(const json_t *value, const char *path, rk_sweep_formula *formula,
                                rk_error *err);
void rk_sweep_formula_clear(rk_sweep_formula *formula);

/*
 * Binds names to columns, numbered from `first`, except names that are keys of `known` (may be
 * NULL). Returns whether any name was bound.
 */
bool rk_sweep_formula_bind(rk_sweep_formula *formula, const rk_column *columns, size_t first,
                           size_t count, json_t *known);

/* Whether the value of the formula depends on the value at the key. */
bool rk_sweep_formula_uses(const rk_sweep_formula *formula, const rk_sweep_key *key);

/*
 * The value at a point: names are looked up in its document, columns in `row` (may be NULL when
 * no name is bound to one).  *fault (may be NULL) tells why there is none.  Errors: a key that the
 * document does not have.
 */
rk_status rk_sweep_formula_value(const rk_sweep_formula *formula, json_t *root, const rk_value *row,
                                 rk_value *value, rk_expression_fault *fault, rk_error *err);

/* The same where a value is required: a missing one is an error at JSON path `path`. */
rk_status rk_sweep_formula_require(const rk_sweep_formula *formula, json_t *root, const char *path,
                                   rk_value *value, rk_error *err);

/*
 * Whether a constraint holds. A name without a value breaks it; a value other than true or false is
 * an error at JSON path `path`.
 */
rk_status rk_sweep_formula_holds(const rk_sweep_formula *formula, json_t *root, const rk_value *row,
                                 const char *path, bool *holds, rk_error *err);

#endif
