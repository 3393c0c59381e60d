/* SPDX-License-Identifier: Apache-2.0 */
/* The expressions of a sweep's document: what keys are set to, and which points are kept. */
#include "sweep/doc_parts.h"

#include "base/error.h"

#include <assert.h>
#include <string.h>

static rk_status fail_many(const char *path, rk_error *err)
{
    return rk_fail_at(err, RK_ERR_LIMIT, path, "a sweep has at most %d expressions of a kind",
                      RK_SWEEP_FORMULAS_MAX);
}

/* Checks that nothing else sets the key of the last setting. */
static rk_status check_setting(const rk_sweep_doc *doc, const char *path, rk_error *err)
{
    const rk_sweep_key *key = &doc->settings[doc->setting_count - 1].key;
    for (size_t i = 0; i < doc->axis_count; i++) {
        if (rk_sweep_key_same(&doc->axes[i].key, key)) {
            return rk_fail_at(err, RK_ERR_INVALID, path, "axes[%zu] varies \"%s\" already",
                              doc->axes[i].dimension, key->text);
        }
    }
    for (size_t i = 0; i + 1 < doc->setting_count; i++) {
        if (rk_sweep_key_same(&doc->settings[i].key, key)) {
            return rk_fail_at(err, RK_ERR_INVALID, path, "another expression sets \"%s\" already",
                              key->text);
        }
    }
    return RK_OK;
}

/* Adds the setting of `key` to an expression at `path`. */
static rk_status add_setting(rk_sweep_doc *doc, const char *key, const json_t *value,
                             const char *path, rk_error *err)
{
    rk_error fault = {0};
    if (doc->setting_count == RK_SWEEP_FORMULAS_MAX) {
        return fail_many(path, err);
    }
    rk_sweep_setting *setting = &doc->settings[doc->setting_count++];
    rk_status status = rk_sweep_key_parse(key, &setting->key, &fault);
    if (status != RK_OK) {
        return rk_fail_at(err, status, path, "%s", fault.message);
    }
    status = rk_sweep_formula_read(value, path, &setting->formula, err);
    return status == RK_OK ? check_setting(doc, path, err) : status;
}

static rk_status add_settings(rk_sweep_doc *doc, json_t *set, rk_error *err)
{
    char path[RK_JSON_PATH_SIZE], text[RK_JSON_TEXT_SIZE];
    json_t *let = json_object_get(doc->base, "let"), *value = NULL;
    const char *key = NULL;
    rk_status status = RK_OK;
    if ((let && !json_is_object(let)) || (set && !json_is_object(set))) {
        const bool first = let && !json_is_object(let);
        return rk_fail_at(err, RK_ERR_INVALID, first ? "let" : "set",
                          "expected an object of %s and expressions, found %s",
                          first ? "names" : "keys", rk_json_describe(first ? let : set, text));
    }
    json_object_foreach(let, key, value)
    {
        (void)rk_json_path_member("let", key, path);
        if (json_is_string(value) && status == RK_OK) {
            status = add_setting(doc, path, value, path, err);
        }
    }
    json_object_foreach(set, key, value)
    {
        if (status == RK_OK) {
            (void)rk_json_path_member("set", key, path);
            status = add_setting(doc, key, value, path, err);
        }
    }
    return status;
}

static bool uses_any(const rk_sweep_doc *doc, size_t setting, size_t first)
{
    assert(setting < doc->setting_count);
    for (size_t i = first; i < doc->setting_count; i++) {
        if (rk_sweep_formula_uses(&doc->settings[setting].formula, &doc->settings[i].key)) {
            return true;
        }
    }
    return false;
}

/* Puts each setting after those that it uses. */
static rk_status order_settings(rk_sweep_doc *doc, rk_error *err)
{
    for (size_t done = 0; done < doc->setting_count; done++) {
        size_t next = done;
        while (next < doc->setting_count && uses_any(doc, next, done)) {
            next++;
        }
        if (next == doc->setting_count) {
            return rk_fail_at(err, RK_ERR_INVALID, doc->settings[done].key.text,
                              "the expression of \"%s\" depends on its own value",
                              doc->settings[done].key.text);
        }
        const rk_sweep_setting found = doc->settings[next];
        memmove(&doc->settings[done + 1], &doc->settings[done],
                (next - done) * sizeof(*doc->settings));
        doc->settings[done] = found;
    }
    return RK_OK;
}

rk_status rk_sweep_doc_read_settings(rk_sweep_doc *doc, const json_t *set, rk_error *err)
{
    /* jansson iterates over no const object */
    const rk_status status = add_settings(doc, (json_t *)(uintptr_t)set, err);
    return status == RK_OK ? order_settings(doc, err) : status;
}

rk_status rk_sweep_doc_read_constraints(rk_sweep_doc *doc, const json_t *list, rk_error *err)
{
    static const char name[] = "point_constraints";
    char path[RK_JSON_PATH_SIZE], text[RK_JSON_TEXT_SIZE];
    if (list && !json_is_array(list)) {
        return rk_fail_at(err, RK_ERR_INVALID, name, "expected a list of expressions, found %s",
                          rk_json_describe(list, text));
    }
    rk_status status = RK_OK;
    for (size_t i = 0; i < json_array_size(list) && status == RK_OK; i++) {
        (void)rk_json_path_element(name, i, path);
        status = doc->constraint_count == RK_SWEEP_FORMULAS_MAX
                     ? fail_many(path, err)
                     : rk_sweep_formula_read(json_array_get(list, i), path,
                                             &doc->constraints[doc->constraint_count++], err);
    }
    return status;
}
