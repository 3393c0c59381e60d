/* SPDX-License-Identifier: Apache-2.0 */
/* Moves through the grid, and updates the document with the values of the axes that changed. */
#include "sweep/sweep_doc.h"

#include "base/error.h"
#include "base/named.h"
#include "io/json_memory.h"

#include <assert.h>
#include <string.h>

void rk_sweep_cursor_init(rk_sweep_cursor *cursor, const rk_sweep_doc *doc)
{
    *cursor = (rk_sweep_cursor){.doc = doc};
}

void rk_sweep_cursor_clear(rk_sweep_cursor *cursor)
{
    json_decref(cursor->root);
    *cursor = (rk_sweep_cursor){0};
}

/* The member of the document that contains a key. */
static unsigned member_of(const rk_sweep_key *key)
{
    static const rk_named_count members[] = {
        {"application", RK_SWEEP_APPLICATION}, {"model", RK_SWEEP_MODEL},
        {"system", RK_SWEEP_SYSTEM},           {"stack", RK_SWEEP_STACK},
        {"strategy", RK_SWEEP_STRATEGY},       {"max_memory", RK_SWEEP_MEMORY},
    };
    return (unsigned)rk_named_count_of(members, sizeof(members) / sizeof(members[0]),
                                       key->parts[0].name, RK_SWEEP_OTHER);
}

/*
 * Puts the values of axes into the document: whole models and systems first, then their parts. An
 * axis also counts as moved when the model or system that contains its key was replaced.
 */
static rk_status place_axes(rk_sweep_cursor *cursor, uint64_t number, bool all, rk_error *err)
{
    assert(number < rk_sweep_doc_point_count(cursor->doc));
    const rk_sweep_doc *doc = cursor->doc;
    unsigned renewed = all ? RK_SWEEP_ALL : 0;
    rk_status status = RK_OK;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < doc->axis_count && status == RK_OK; i++) {
            const rk_sweep_axis *axis = &doc->axes[i];
            const size_t index = rk_sweep_doc_axis_index(doc, i, number);
            const unsigned member = member_of(&axis->key);
            const bool moved =
                (renewed & member) || index != rk_sweep_doc_axis_index(doc, i, cursor->number);
            if (!axis->documents == (pass == 1) && moved) {
                status = rk_sweep_axis_place(axis, index, cursor->root, err);
                renewed |= axis->documents ? member : 0;
                cursor->changed |= member;
            }
        }
    }
    return status;
}

/* A value as JSON, owned by the caller; NULL: no memory. */
static json_t *json_of(const rk_value *value)
{
    switch (value->type) {
    case RK_VALUE_INT:
        return json_integer(value->integer);
    case RK_VALUE_REAL:
        return json_real(value->real);
    case RK_VALUE_BOOL:
        return json_boolean(value->boolean);
    case RK_VALUE_TEXT:
        return json_string(value->text);
    case RK_VALUE_NULL:
        break;
    }
    return json_null();
}

/* Whether a JSON value is present and is this very object. */
static bool is_same(const json_t *json, const rk_value *value)
{
    if (!json) {
        return false;
    }
    const rk_value found = rk_sweep_value_of(json);
    if (found.type != value->type) {
        return false;
    }
    switch (value->type) {
    case RK_VALUE_INT:
        return found.integer == value->integer;
    case RK_VALUE_REAL:
        return found.real == value->real;
    case RK_VALUE_BOOL:
        return found.boolean == value->boolean;
    case RK_VALUE_TEXT:
        return strcmp(found.text, value->text) == 0;
    case RK_VALUE_NULL:
        break;
    }
    return false;
}

static rk_status place_settings(rk_sweep_cursor *cursor, rk_error *err)
{
    const rk_sweep_doc *doc = cursor->doc;
    rk_status status = RK_OK;
    for (size_t i = 0; i < doc->setting_count && status == RK_OK; i++) {
        const rk_sweep_setting *setting = &doc->settings[i];
        json_t *present = NULL;
        rk_value value;
        status = rk_sweep_formula_require(&setting->formula, cursor->root, setting->key.text,
                                          &value, err);
        if (status != RK_OK) {
            break;
        }
        if (rk_sweep_key_find(&setting->key, cursor->root, &present, NULL) != RK_OK ||
            !is_same(present, &value)) {
            json_t *json = json_of(&value);
            status = json ? rk_sweep_key_put(&setting->key, cursor->root, json, err)
                          : rk_fail(err, RK_ERR_MEMORY, "not enough memory for a point");
            cursor->changed |= member_of(&setting->key);
        }
    }
    return status;
}

static rk_status check_constraints(const rk_sweep_cursor *cursor, bool *kept, rk_error *err)
{
    const rk_sweep_doc *doc = cursor->doc;
    rk_status status = RK_OK;
    *kept = true;
    for (size_t i = 0; i < doc->constraint_count && status == RK_OK && *kept; i++) {
        char path[RK_JSON_PATH_SIZE];
        status =
            rk_sweep_formula_holds(&doc->constraints[i], cursor->root, NULL,
                                   rk_json_path_element("point_constraints", i, path), kept, err);
    }
    return status;
}

rk_status rk_sweep_cursor_move(rk_sweep_cursor *cursor, uint64_t number, bool *kept, rk_error *err)
{
    const bool all = !cursor->root;
    rk_status status = RK_OK;
    *kept = false;
    if (all) {
        cursor->root = rk_json_deep_copy(cursor->doc->base);
        cursor->changed = RK_SWEEP_ALL;
        if (!cursor->root) {
            return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a point");
        }
    }
    if (status == RK_OK) {
        status = place_axes(cursor, number, all, err);
    }
    cursor->number = number;
    if (status == RK_OK) {
        status = place_settings(cursor, err);
    }
    if (status == RK_OK) {
        status = check_constraints(cursor, kept, err);
    }
    if (status != RK_OK) {
        json_decref(cursor->root); /* the point is only partly in place */
        cursor->root = NULL;
        return rk_sweep_doc_fail_at(cursor->doc, number, err);
    }
    return RK_OK;
}
