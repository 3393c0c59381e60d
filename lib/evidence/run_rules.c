/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of data/runs/defaults.json: which rows they apply to, and what they set. */
#include "base/error.h"
#include "base/text.h"
#include "evidence/run_facts.h"
#include "stack/stack_doc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- which rows ----------------------------------------------------------------------------- */

/*
 * A text is part of the cell, or the whole cell if that is a `name`: nemo is not nemo-automodel.
 * "" is an empty cell, a number is the cell's value.
 */
static bool matches_one(const json_t *wanted, const char *cell, bool name)
{
    if (json_is_string(wanted)) {
        const char *text = json_string_value(wanted);
        const bool whole = name || !text[0];
        return rk_run_contains(cell, text) && (!whole || strlen(cell) == strlen(text));
    }
    char *end = NULL;
    const double value = strtod(cell, &end);
    return end != cell && fabs(value - json_number_value(wanted)) < 1e-9;
}

/* A list: any of its entries; {"all": list}: every entry. */
static bool matches_cell(const json_t *wanted, const char *cell, bool name)
{
    const json_t *all = json_object_get(wanted, "all");
    const json_t *list = all ? all : wanted;
    if (!json_is_array(list)) {
        return matches_one(list, cell, name);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (matches_one(json_array_get(list, i), cell, name) == !all) {
            return !all;
        }
    }
    return all != NULL;
}

static rk_run_column column_of(const char *name)
{
    int column = 0;
    while (column < RK_RUN_COLUMN_COUNT && strcmp(rk_run_column_names[column], name) != 0) {
        column++;
    }
    return (rk_run_column)column;
}

/* Columns that name or describe a row in words, which no rule reads. */
static bool is_wording(rk_run_column column)
{
    return column == RK_RUN_ID || column == RK_RUN_PART || column == RK_RUN_SOURCE ||
           column == RK_RUN_RELEASE || column == RK_RUN_FLAGS || column == RK_RUN_NOTES ||
           column == RK_RUN_TIER || column == RK_RUN_SPLIT || column == RK_RUN_FACTS ||
           column == RK_RUN_UNREAD;
}

/* The cell under a name that column_of, which says `column`, or rk_run_fact_of knows. */
static const char *cell_of(const char *name, rk_run_column column, const rk_run_table *table,
                           size_t row)
{
    return column < RK_RUN_COLUMN_COUNT ? rk_run_cell(table, row, column)
                                        : rk_run_fact_cell(table, row, rk_run_fact_of(name));
}

/* Whether a rule applies to a row. */
static bool run_rule_matches(const rk_run_rule *rule, const rk_run_table *table, size_t row)
{
    json_t *match = (json_t *)(uintptr_t)rule->match; /* jansson iterates over no const object */
    for (void *at = json_object_iter(match); at; at = json_object_iter_next(match, at)) {
        const char *key = json_object_iter_key(at);
        const rk_run_column column = column_of(key);
        const char *cell = cell_of(key, column, table, row);
        const bool name =
            column < RK_RUN_COLUMN_COUNT && strcmp(rk_run_column_texts[column].type, "name") == 0;
        if (!matches_cell(json_object_iter_value(at), cell, name)) {
            return false;
        }
    }
    return true;
}

/* ---- reading rules -------------------------------------------------------------------------- */

static rk_status check_value(const json_t *value, const char *path, rk_error *err)
{
    const json_t *all = json_object_get(value, "all");
    const json_t *list = all ? all : value;
    char found[RK_JSON_TEXT_SIZE];
    const bool single = json_is_string(value) || json_is_number(value);
    bool good = single || json_array_size(list) > 0;
    for (size_t i = 0; good && i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        good = json_is_string(one) || json_is_number(one);
    }
    return good ? RK_OK
                : rk_fail_at(err, RK_ERR_INVALID, path,
                             "expected a text, a number, a list of them or {\"all\": a list}, "
                             "found %s",
                             rk_json_describe(value, found));
}

static rk_status check_match(const json_t *match, const char *path, rk_error *err)
{
    json_t *iterable = (json_t *)(uintptr_t)match;
    char member[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    if (!json_is_object(match)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected an object of columns, found %s",
                          rk_json_describe(match, found));
    }
    for (void *at = json_object_iter(iterable); at; at = json_object_iter_next(iterable, at)) {
        const char *key = json_object_iter_key(at);
        (void)rk_json_path_member(path, key, member);
        const rk_run_column column = column_of(key);
        if (is_wording(column)) {
            return rk_fail_at(err, RK_ERR_INVALID, member,
                              "a rule reads facts: this column names the row or describes it");
        }
        if (column == RK_RUN_COLUMN_COUNT && rk_run_fact_of(key) == rk_run_fact_count) {
            const char *nearest = rk_nearest_name(key, rk_run_column_names, RK_RUN_COLUMN_COUNT);
            return rk_fail_at(err, RK_ERR_INVALID, member, "no column of runs has this name%s%s%s",
                              nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                              nearest ? "\"?" : "");
        }
        rk_status status = check_value(json_object_iter_value(at), member, err);
        if (status) {
            return status;
        }
    }
    return RK_OK;
}

/* Reads "group.key" of a stack document and the number it gets or is multiplied by. */
static rk_status read_change(const char *key, const json_t *value, const char *path, bool scales,
                             rk_run_rule *rule, rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE];
    const rk_field *field = rk_stack_field(key);
    if (!field) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected \"group.key\" as in a document of data/stacks");
    }
    const bool boolean = field->type == RK_FIELD_BOOL;
    if (boolean ? scales || !json_is_boolean(value) : !json_is_number(value)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected %s, found %s",
                          boolean ? "true or false" : "a number", rk_json_describe(value, found));
    }
    if (rule->changes.count == RK_RUN_CHANGE_MAX) {
        return rk_fail_at(err, RK_ERR_LIMIT, path, "a rule changes at most %d numbers of a stack",
                          RK_RUN_CHANGE_MAX);
    }
    const double factor = scales ? 1 : rk_stack_unit(field);
    rule->changes.list[rule->changes.count++] = (rk_run_change){
        .offset = (uint32_t)field->offset,
        .scales = scales,
        .boolean = boolean,
        .value = boolean ? json_is_true(value) : factor * json_number_value(value),
    };
    return RK_OK;
}

static rk_status read_changes(const json_t *rule_object, const char *key, const char *base,
                              bool scales, rk_run_rule *rule, rk_error *err)
{
    json_t *changes = json_object_get(rule_object, key);
    char path[RK_JSON_PATH_SIZE], member[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    (void)rk_json_path_member(base, key, path);
    if (changes && !json_is_object(changes)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected an object of numbers, found %s",
                          rk_json_describe(changes, found));
    }
    for (void *at = json_object_iter(changes); at; at = json_object_iter_next(changes, at)) {
        const char *name = json_object_iter_key(at);
        (void)rk_json_path_member(path, name, member);
        rk_status status = read_change(name, json_object_iter_value(at), member, scales, rule, err);
        if (status) {
            return status;
        }
    }
    return RK_OK;
}

/* Facts of one rule alone: whether they can be read, and the documents that they name. */
static rk_status check_facts(const json_t *facts, const char *base, const char *key,
                             rk_run_facts *out, rk_error *err)
{
    char path[RK_JSON_PATH_SIZE];
    (void)rk_json_path_member(base, key, path);
    return facts ? rk_fields_read(facts, path, rk_run_fact_fields, rk_run_fact_count,
                                  RK_UNKNOWN_NEVER, out, err)
                 : RK_OK;
}

static rk_status check_keys(const json_t *object, const char *path, rk_error *err)
{
    static const char *const keys[] = {"if",          "set",    "assume", "stack_set",
                                       "stack_scale", "reason", NULL};
    json_t *iterable = (json_t *)(uintptr_t)object;
    const json_t *reason = json_object_get(object, "reason");
    if (!json_is_string(reason) || json_string_length(reason) == 0) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "a rule says its \"reason\"");
    }
    for (void *at = json_object_iter(iterable); at; at = json_object_iter_next(iterable, at)) {
        size_t i = 0;
        while (keys[i] && strcmp(keys[i], json_object_iter_key(at)) != 0) {
            i++;
        }
        if (!keys[i]) {
            return rk_fail_at(err, RK_ERR_INVALID, path,
                              "unknown key; the keys are if, set, assume, stack_set, stack_scale, "
                              "reason");
        }
    }
    return RK_OK;
}

static rk_status read_rule(const json_t *object, const char *path, rk_run_rule *rule,
                           rk_run_facts *named, rk_error *err)
{
    char match[RK_JSON_PATH_SIZE];
    (void)rk_json_path_member(path, "if", match);
    *rule = (rk_run_rule){
        .match = json_object_get(object, "if"),
        .set = json_object_get(object, "set"),
        .assume = json_object_get(object, "assume"),
    };
    *named = rk_run_facts_default;
    rk_status status = check_keys(object, path, err);
    status = status ? status : check_match(rule->match, match, err);
    status = status ? status : check_facts(rule->set, path, "set", named, err);
    status = status ? status : check_facts(rule->assume, path, "assume", named, err);
    status = status ? status : read_changes(object, "stack_set", path, false, rule, err);
    return status ? status : read_changes(object, "stack_scale", path, true, rule, err);
}

static rk_status read_rules(rk_run_sources *s, const json_t *list, const char *name, bool documents,
                            rk_error *err)
{
    const size_t count = json_array_size(list);
    if (count == 0) {
        (void)rk_fail_at(err, RK_ERR_INVALID, "rules", "expected a list of rules");
        rk_error_set_file(err, name);
        return RK_ERR_INVALID;
    }
    s->rules = calloc(count, sizeof(*s->rules));
    if (!s->rules) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the rules");
    }
    for (; s->rule_count < count; s->rule_count++) {
        char path[RK_JSON_PATH_SIZE];
        rk_run_facts named;
        (void)rk_json_path_element("rules", s->rule_count, path);
        rk_status status = read_rule(json_array_get(list, s->rule_count), path,
                                     &s->rules[s->rule_count], &named, err);
        if (status) {
            rk_error_set_file(err, name);
            return status;
        }
        status = documents ? rk_run_documents_add(s, &named, err) : RK_OK;
        if (status) {
            return status;
        }
    }
    return RK_OK;
}

static rk_status load(const char *name, bool documents, rk_run_sources *sources, rk_error *err)
{
    rk_json_doc doc;
    memset(sources, 0, sizeof(*sources));
    rk_status status = rk_json_load(name ? name : "defaults", "runs", &doc, err);
    if (!status) {
        sources->document = doc.root;
        status = read_rules(sources, json_object_get(doc.root, "rules"), doc.name, documents, err);
    }
    if (status) {
        rk_run_sources_clear(sources);
    }
    return status;
}

rk_status rk_run_sources_load(const char *name, rk_run_sources *sources, rk_error *err)
{
    return load(name, true, sources, err);
}

rk_status rk_run_rules_load(rk_run_sources *sources, rk_error *err)
{
    return load(NULL, false, sources, err);
}

void rk_run_sources_clear(rk_run_sources *sources)
{
    free(sources->rules);
    rk_run_documents_clear(sources);
    json_decref(sources->document);
    memset(sources, 0, sizeof(*sources));
}

/* ---- what rules say of a row ---------------------------------------------------------------- */

/* The bit of the column of a fact; 0: it has none. */
static uint64_t column_bit(size_t fact)
{
    const rk_run_column column = rk_run_fact_column(fact);
    return column < RK_RUN_COLUMN_COUNT ? rk_run_column_bit((int)column) : 0;
}

/* Values that follow from stated ones are no longer guesses. */
static rk_status apply_set(const json_t *set, rk_run_facts *facts, uint64_t *assumed, rk_error *err)
{
    for (size_t i = 0; set && i < rk_run_fact_count; i++) {
        *assumed &=
            json_object_get(set, rk_run_fact_fields[i].name) ? ~column_bit(i) : ~UINT64_C(0);
    }
    return set ? rk_fields_read(set, "set", rk_run_fact_fields, rk_run_fact_count, RK_UNKNOWN_NEVER,
                                facts, err)
               : RK_OK;
}

/* Fills in what the row does not state, and records the columns. */
static rk_status apply_assumed(const json_t *assume, const rk_run_table *table, size_t row,
                               rk_run_facts *facts, uint64_t *assumed, rk_error *err)
{
    for (size_t i = 0; assume && i < rk_run_fact_count; i++) {
        const json_t *value = json_object_get(assume, rk_run_fact_fields[i].name);
        if (value && rk_run_fact_cell(table, row, i)[0] == '\0') {
            rk_status status = rk_field_read(value, "assume", &rk_run_fact_fields[i], facts, err);
            if (status) {
                return status;
            }
            *assumed |= column_bit(i);
        }
    }
    return RK_OK;
}

/* Columns that the author of the table filled in: "vpp+vocab". */
static void note_inferred(const rk_run_table *table, size_t row, uint64_t *assumed)
{
    const char *cell = rk_run_cell(table, row, RK_RUN_INFERRED);
    while (*cell) {
        const size_t length = strcspn(cell, "+");
        for (int column = 0; column < RK_RUN_COLUMN_COUNT; column++) {
            const char *name = rk_run_column_names[column];
            if (strlen(name) == length && strncmp(name, cell, length) == 0) {
                *assumed |= rk_run_column_bit(column);
            }
        }
        cell += length + (cell[length] == '+');
    }
}

/* Whether a rule reads a non-empty cell of the row other than the model, machine and software. */
static bool reads_cell(const rk_run_rule *rule, const rk_run_table *table, size_t row)
{
    static const rk_run_column what_ran[] = {RK_RUN_MODEL, RK_RUN_ACCELERATOR, RK_RUN_YEAR,
                                             RK_RUN_FRAMEWORK, RK_RUN_FRAMEWORK_VERSION};
    json_t *match = (json_t *)(uintptr_t)rule->match;
    bool reads = false;
    for (void *at = json_object_iter(match); at; at = json_object_iter_next(match, at)) {
        const char *key = json_object_iter_key(at);
        const rk_run_column column = column_of(key);
        bool own = cell_of(key, column, table, row)[0] != '\0';
        for (size_t i = 0; i < sizeof(what_ran) / sizeof(what_ran[0]); i++) {
            own = own && column != what_ran[i];
        }
        reads = reads || own;
    }
    return reads;
}

rk_status rk_run_facts_of(const rk_run_sources *sources, rk_run_rules which,
                          const rk_run_table *table, size_t row, rk_run_facts *facts,
                          rk_run_changes *changes, uint64_t *assumed, rk_error *err)
{
    *assumed = 0;
    *facts = rk_run_facts_default;
    changes->count = 0;
    for (size_t i = 0; i < sources->rule_count; i++) {
        const rk_run_rule *rule = &sources->rules[i];
        if (!run_rule_matches(rule, table, row) ||
            (which == RK_RUN_RULES_OF_CELLS && !reads_cell(rule, table, row))) {
            continue;
        }
        rk_status status = apply_assumed(rule->assume, table, row, facts, assumed, err);
        status = status ? status : apply_set(rule->set, facts, assumed, err);
        if (status) {
            return status;
        }
        if (changes->count + rule->changes.count >= RK_RUN_CHANGE_MAX) {
            return rk_fail(err, RK_ERR_LIMIT, "too many rules change the stack of one row");
        }
        for (int change = 0; change < rule->changes.count; change++) {
            changes->list[changes->count++] = rule->changes.list[change];
        }
    }
    note_inferred(table, row, assumed);
    return rk_run_facts_read(table, row, facts, err);
}
