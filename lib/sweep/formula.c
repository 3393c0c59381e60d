/* SPDX-License-Identifier: Apache-2.0 */
/* Parses sweep expressions, binds their names to keys or columns, and evaluates them. */
#include "sweep/formula.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_SIZE 200 /* length of an expression in a message */

rk_status rk_sweep_formula_read(const json_t *value, const char *path, rk_sweep_formula *formula,
                                rk_error *err)
{
    char text[RK_JSON_TEXT_SIZE];
    rk_error fault = {0};
    *formula = (rk_sweep_formula){0};
    if (!json_is_string(value) && !json_is_number(value)) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected an expression such as \"4*application.hidden\", found %s",
                          rk_json_describe(value, text));
    }
    char number[RK_NUMBER_TEXT_SIZE];
    const rk_value literal = rk_sweep_value_of(value);
    rk_status status =
        rk_expression_parse(rk_value_format(&literal, number), &formula->expression, &fault);
    const size_t count = status == RK_OK ? rk_expression_name_count(formula->expression) : 0;
    if (count > RK_SWEEP_FORMULA_NAMES) {
        status = rk_fail(&fault, RK_ERR_LIMIT, "an expression of a sweep has at most %d names",
                         RK_SWEEP_FORMULA_NAMES);
    }
    if (status == RK_OK) {
        formula->names = calloc(count + 1, sizeof(*formula->names));
        status =
            formula->names ? RK_OK : rk_fail(&fault, RK_ERR_MEMORY, "not enough memory for names");
    }
    for (size_t i = 0; i < count && status == RK_OK; i++) {
        status = rk_sweep_key_parse(rk_expression_name(formula->expression, i),
                                    &formula->names[i].key, &fault);
    }
    if (status != RK_OK) {
        rk_sweep_formula_clear(formula);
        return rk_fail_at(err, status, path, "%s", fault.message);
    }
    return RK_OK;
}

void rk_sweep_formula_clear(rk_sweep_formula *formula)
{
    const size_t count = formula->names ? rk_expression_name_count(formula->expression) : 0;
    for (size_t i = 0; i < count; i++) {
        rk_sweep_key_clear(&formula->names[i].key);
    }
    free(formula->names);
    rk_expression_free(formula->expression);
    *formula = (rk_sweep_formula){0};
}

bool rk_sweep_formula_bind(rk_sweep_formula *formula, const rk_column *columns, size_t first,
                           size_t count, json_t *known)
{
    bool any = false;
    for (size_t i = 0; i < rk_expression_name_count(formula->expression); i++) {
        struct rk_sweep_name *name = &formula->names[i];
        json_t *found = NULL;
        if (name->is_column ||
            (known && rk_sweep_key_find(&name->key, known, &found, NULL) == RK_OK)) {
            continue;
        }
        for (size_t j = 0; j < count && !name->is_column; j++) {
            name->is_column = strcmp(columns[j].name, name->key.text) == 0;
            name->column = first + j;
        }
        any = any || name->is_column;
    }
    return any;
}

bool rk_sweep_formula_uses(const rk_sweep_formula *formula, const rk_sweep_key *key)
{
    for (size_t i = 0; i < rk_expression_name_count(formula->expression); i++) {
        if (rk_sweep_key_same(&formula->names[i].key, key)) {
            return true;
        }
    }
    return false;
}

rk_status rk_sweep_formula_value(const rk_sweep_formula *formula, json_t *root, const rk_value *row,
                                 rk_value *value, rk_expression_fault *fault, rk_error *err)
{
    rk_value values[RK_SWEEP_FORMULA_NAMES];
    const size_t count = rk_expression_name_count(formula->expression);
    for (size_t i = 0; i < count; i++) {
        const struct rk_sweep_name *name = &formula->names[i];
        if (name->is_column) {
            values[i] = row[name->column];
            continue;
        }
        const rk_status status = rk_sweep_key_get(&name->key, root, &values[i], err);
        if (status != RK_OK) {
            return status;
        }
    }
    *value = rk_expression_value(formula->expression, values, fault);
    return RK_OK;
}

static rk_status fail_fault(const rk_sweep_formula *formula, const rk_expression_fault *fault,
                            const char *path, rk_error *err)
{
    char text[SHOWN_SIZE];
    (void)rk_json_printable(rk_expression_text(formula->expression), text, sizeof(text));
    if (!fault->reason) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "\"%s\" has no value: a name in it is null",
                          text);
    }
    return rk_fail_at(err, RK_ERR_INVALID, path, "\"%s\" has no value: character %zu: %s", text,
                      fault->position + 1, fault->reason);
}

rk_status rk_sweep_formula_require(const rk_sweep_formula *formula, json_t *root, const char *path,
                                   rk_value *value, rk_error *err)
{
    rk_expression_fault fault = {0};
    const rk_status status = rk_sweep_formula_value(formula, root, NULL, value, &fault, err);
    return status == RK_OK && value->type == RK_VALUE_NULL ? fail_fault(formula, &fault, path, err)
                                                           : status;
}

rk_status rk_sweep_formula_holds(const rk_sweep_formula *formula, json_t *root, const rk_value *row,
                                 const char *path, bool *holds, rk_error *err)
{
    rk_expression_fault fault = {0};
    rk_value value;
    const rk_status status = rk_sweep_formula_value(formula, root, row, &value, &fault, err);
    *holds = false;
    if (status != RK_OK) {
        return status;
    }
    if (value.type == RK_VALUE_NULL && fault.reason) {
        return fail_fault(formula, &fault, path, err);
    }
    if (value.type != RK_VALUE_BOOL && value.type != RK_VALUE_NULL) {
        char number[RK_NUMBER_TEXT_SIZE], text[SHOWN_SIZE], shown[RK_JSON_TEXT_SIZE];
        (void)rk_json_printable(rk_expression_text(formula->expression), text, sizeof(text));
        (void)rk_json_printable(rk_value_format(&value, number), shown, sizeof(shown));
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected a condition, which is true or false; \"%s\" is %s", text,
                          shown);
    }
    *holds = value.type == RK_VALUE_BOOL && value.boolean;
    return RK_OK;
}
