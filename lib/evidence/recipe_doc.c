/* SPDX-License-Identifier: Apache-2.0 */
/* The document of a calibration. */
#include "base/error.h"
#include "base/units.h"
#include "evidence/recipe.h"
#include "io/fields.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rk_table_kind_names[] = {"gemm",  "attention", "collective", "stream",
                                           "flash", "runs",      NULL};
const char *const rk_measure_names[] = {"step", "memory", NULL};
const char *const rk_loss_kind_names[] = {"absolute", "square", "huber", NULL};

/* ---- texts --------------------------------------------------------------------------------- */

/* Reads one text, or a list of 1 to `most`, each into `size` bytes from `out` on. */
static rk_status read_texts(const json_t *value, const char *path, int most, char *out, size_t size,
                            int *count, rk_error *err)
{
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    rk_status status = RK_OK;
    *count = 1;
    if (json_is_string(value)) {
        return rk_field_text(value, path, out, size, err);
    }
    const size_t given = json_array_size(value);
    if (given < 1 || given > (size_t)most) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a text or 1 to %d of them, found %s",
                          most, rk_json_describe(value, found));
    }
    for (size_t i = 0; !status && i < given; i++) {
        (void)rk_json_path_element(path, i, element);
        status = rk_field_text(json_array_get(value, i), element, out + i * size, size, err);
    }
    *count = (int)given;
    return status;
}

/* ---- constants ------------------------------------------------------------------------------ */

static rk_status read_keys(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_constant *constant = out;
    return read_texts(value, path, RK_RECIPE_KEYS, constant->keys[0], RK_RECIPE_NAME,
                      &constant->key_count, err);
}

#define MOST 1e15

#define NUMBER(key, type_, place, optional_, low, high)                                            \
    RK_FIELD(key, NUMBER, offsetof(type_, place), .optional = optional_, .min = low, .max = high)

static const rk_field constant_fields[] = {
    RK_FIELD("key", CUSTOM, 0, .read = read_keys, .help = "a path or a list of them"),
    RK_FIELD("documents", CUSTOM, 0, .optional = true, .read = rk_field_pass,
             .help = "names of documents"),
    NUMBER("start", rk_constant, start, false, -MOST, MOST),
    NUMBER("min", rk_constant, min, false, -MOST, MOST),
    NUMBER("max", rk_constant, max, false, -MOST, MOST),
    RK_FIELD("logarithmic", BOOL, offsetof(rk_constant, logarithmic), .optional = true),
    RK_TEXT_FIELD("unit", rk_constant, unit, .optional = true, .help = "a text"),
    RK_TEXT_FIELD("meaning", rk_constant, meaning, .help = "a text"),
};

static rk_status check_constant(const rk_constant *constant, const char *path, rk_error *err)
{
    if (!(constant->min < constant->max)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected min below max, found %g and %g",
                          constant->min, constant->max);
    }
    if (constant->start < constant->min || constant->start > constant->max) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "the start %g is not from min %g to max %g",
                          constant->start, constant->min, constant->max);
    }
    if (constant->logarithmic && !(constant->min > 0)) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "a logarithmic constant needs a min above 0, found %g", constant->min);
    }
    return RK_OK;
}

/* Name of a document: its file without folders and extension. */
static bool is_document(const char *file, const char *name)
{
    const char *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    const size_t length = strlen(name);
    return strncmp(base, name, length) == 0 && base[length] == '.';
}

static rk_status find_documents(const json_t *value, const char *path, const rk_recipe *recipe,
                                unsigned *documents, rk_error *err)
{
    char names[RK_RECIPE_DOCUMENTS][RK_RECIPE_NAME];
    int count = 0;
    *documents = (1U << recipe->document_count) - 1;
    if (!value) {
        return RK_OK;
    }
    const rk_status status =
        read_texts(value, path, RK_RECIPE_DOCUMENTS, names[0], RK_RECIPE_NAME, &count, err);
    *documents = 0;
    for (int i = 0; !status && i < count; i++) {
        int at = 0;
        while (at < recipe->document_count && !is_document(recipe->documents[at], names[i])) {
            at++;
        }
        if (at == recipe->document_count) {
            return rk_fail_at(err, RK_ERR_INVALID, path,
                              "\"%.60s\" is none of the documents of the recipe", names[i]);
        }
        *documents |= 1U << at;
    }
    return status;
}

static rk_status read_constants(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_recipe *recipe = out;
    const size_t count = json_array_size(value);
    char element[RK_JSON_PATH_SIZE], member[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    if (count < 1 || count > RK_RECIPE_CONSTANTS) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected a list of 1 to %d constants, found %s", RK_RECIPE_CONSTANTS,
                          rk_json_describe(value, found));
    }
    rk_status status = RK_OK;
    for (size_t i = 0; !status && i < count; i++) {
        const json_t *object = json_array_get(value, i);
        rk_constant *constant = &recipe->constants[i];
        (void)rk_json_path_element(path, i, element);
        status = rk_fields_read(object, element, constant_fields, COUNT(constant_fields),
                                RK_UNKNOWN_REFUSE, constant, err);
        if (!status) {
            status = check_constant(constant, element, err);
        }
        if (!status) {
            status = find_documents(json_object_get(object, "documents"),
                                    rk_json_path_member(element, "documents", member), recipe,
                                    &constant->documents, err);
        }
    }
    recipe->constant_count = (int)count;
    return status;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static rk_condition *add_condition(rk_recipe_table *table, const char *column,
                                   rk_condition_kind kind)
{
    assert(table->condition_count >= 0 && table->condition_count <= RK_RECIPE_CONDITIONS);
    if (table->condition_count == RK_RECIPE_CONDITIONS) {
        return NULL;
    }
    rk_condition *added = &table->conditions[table->condition_count++];
    (void)snprintf(added->column, sizeof(added->column), "%s", column);
    added->kind = kind;
    added->min = -HUGE_VAL;
    added->max = HUGE_VAL;
    return added;
}

static const rk_field range_fields[] = {
    NUMBER("min", rk_condition, min, true, -MOST, MOST),
    NUMBER("max", rk_condition, max, true, -MOST, MOST),
};

/* {"contains": ...}, {"without": ...} or {"min": ..., "max": ...} */
static rk_status read_test(const json_t *value, const char *path, rk_condition *test, rk_error *err)
{
    char member[RK_JSON_PATH_SIZE];
    const json_t *contains = json_object_get(value, "contains");
    const json_t *without = json_object_get(value, "without");
    const json_t *texts = contains ? contains : without;
    if (!texts && !json_object_get(value, "min") && !json_object_get(value, "max")) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected one of \"contains\" and \"without\", or \"min\" and \"max\"");
    }
    if (!texts || json_object_size(value) != 1) {
        test->kind = RK_CONDITION_RANGE;
        return rk_fields_read(value, path, range_fields, COUNT(range_fields), RK_UNKNOWN_NEVER,
                              test, err);
    }
    test->kind = contains ? RK_CONDITION_CONTAINS : RK_CONDITION_WITHOUT;
    (void)rk_json_path_member(path, contains ? "contains" : "without", member);
    return read_texts(texts, member, RK_RECIPE_TEXTS, test->texts[0], RK_RECIPE_NAME,
                      &test->text_count, err);
}

static rk_status read_where(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_recipe_table *table = out;
    json_t *object = (json_t *)(uintptr_t)value; /* jansson iterates over no const object */
    char member[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    if (!json_is_object(value)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected an object of columns, found %s",
                          rk_json_describe(value, found));
    }
    rk_status status = RK_OK;
    for (void *at = json_object_iter(object); at && !status;
         at = json_object_iter_next(object, at)) {
        const char *column = json_object_iter_key(at);
        const json_t *test = json_object_iter_value(at);
        rk_condition *added = add_condition(table, column, RK_CONDITION_IS);
        (void)rk_json_path_member(path, column, member);
        if (!added || strlen(column) >= sizeof(added->column)) {
            return rk_fail_at(err, RK_ERR_INVALID, member,
                              "expected at most %d conditions on columns of at most %d letters",
                              RK_RECIPE_CONDITIONS, RK_RECIPE_NAME - 1);
        }
        status = json_is_object(test) ? read_test(test, member, added, err)
                                      : read_texts(test, member, RK_RECIPE_TEXTS, added->texts[0],
                                                   RK_RECIPE_NAME, &added->text_count, err);
    }
    return status;
}

static rk_status read_groups(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_recipe_table *table = out;
    return read_texts(value, path, RK_RECIPE_GROUPS, table->groups[0], RK_RECIPE_NAME,
                      &table->group_count, err);
}

static rk_status read_leave_out(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_recipe_table *table = out;
    return read_texts(value, path, RK_RECIPE_GROUPS, table->leave_out[0], RK_RECIPE_NAME,
                      &table->leave_out_count, err);
}

static const rk_field table_fields[] = {
    RK_FIELD("kind", ENUM, offsetof(rk_recipe_table, kind), .names = rk_table_kind_names),
    RK_FIELD("file", TEXT, offsetof(rk_recipe_table, file), .size = RK_RECIPE_PATH,
             .help = "a path"),
    RK_FIELD("where", CUSTOM, 0, .optional = true, .read = read_where,
             .help = "conditions on columns"),
    RK_FIELD("group_by", CUSTOM, 0, .optional = true, .read = read_groups, .help = "columns"),
    RK_FIELD("leave_out", CUSTOM, 0, .optional = true, .read = read_leave_out, .help = "columns"),
    RK_FIELD("measure", ENUM, offsetof(rk_recipe_table, measure), .optional = true,
             .names = rk_measure_names),
    RK_FIELD("rated", BOOL, offsetof(rk_recipe_table, rated), .optional = true),
    RK_FIELD("weight", NUMBER, offsetof(rk_recipe_table, weight), .optional = true, .max = 1e6,
             .above_min = true),
};

static rk_status read_tables(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_recipe *recipe = out;
    const size_t count = json_array_size(value);
    char element[RK_JSON_PATH_SIZE], found[RK_JSON_TEXT_SIZE];
    if (count < 1 || count > RK_RECIPE_TABLES) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a list of 1 to %d tables, found %s",
                          RK_RECIPE_TABLES, rk_json_describe(value, found));
    }
    rk_status status = RK_OK;
    for (size_t i = 0; !status && i < count; i++) {
        recipe->tables[i].weight = 1;
        (void)rk_json_path_element(path, i, element);
        status = rk_fields_read(json_array_get(value, i), element, table_fields,
                                COUNT(table_fields), RK_UNKNOWN_REFUSE, &recipe->tables[i], err);
    }
    recipe->table_count = (int)count;
    return status;
}

/* ---- the recipe ------------------------------------------------------------------------------ */

static rk_status read_documents(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_recipe *recipe = out;
    return read_texts(value, path, RK_RECIPE_DOCUMENTS, recipe->documents[0], RK_RECIPE_PATH,
                      &recipe->document_count, err);
}

static const rk_field loss_fields[] = {
    RK_FIELD("kind", ENUM, offsetof(rk_recipe, loss), .optional = true,
             .names = rk_loss_kind_names),
    NUMBER("scale", rk_recipe, scale, true, 1e-4, 10),
    NUMBER("ridge", rk_recipe, ridge, true, 0, 10),
    NUMBER("balance", rk_recipe, balance, true, 0, 1),
};

static const rk_field recipe_fields[] = {
    RK_FIELD("name", TEXT, 0, .size = RK_RECIPE_NAME, .help = "a text"),
    RK_FIELD("documents", CUSTOM, 0, .read = read_documents, .help = "a path or a list of paths"),
    {.name = "constants", /* after the documents, which they name */
     .type = RK_FIELD_CUSTOM,
     .read = read_constants,
     .help = "a list of constants"},
    RK_FIELD("data", CUSTOM, 0, .read = read_tables, .help = "a list of tables"),
    RK_FIELD("loss", GROUP, 0, .optional = true, .group = loss_fields,
             .group_count = COUNT(loss_fields), .help = "an object"),
    RK_FIELD("starts", INT, offsetof(rk_recipe, starts), .optional = true, .max = 1000),
    RK_FIELD("seed", INT, offsetof(rk_recipe, seed), .optional = true, .max = 0x1p31),
};

/* Prefixes a relative path with the folder of the recipe. */
static rk_status resolve(const char *recipe, char path[RK_RECIPE_PATH], rk_error *err)
{
    char given[RK_RECIPE_PATH];
    const char *slash = strrchr(recipe, '/');
    memcpy(given, path, sizeof(given));
    if (given[0] == '/' || !slash) {
        return RK_OK;
    }
    const int length =
        snprintf(path, RK_RECIPE_PATH, "%.*s/%s", (int)(slash - recipe), recipe, given);
    return length > 0 && length < RK_RECIPE_PATH
               ? RK_OK
               : rk_fail(err, RK_ERR_LIMIT, "the path of a file of the recipe is too long");
}

static rk_status resolve_paths(const char *name, rk_recipe *recipe, rk_error *err)
{
    rk_status status = RK_OK;
    for (int i = 0; !status && i < recipe->document_count; i++) {
        status = resolve(name, recipe->documents[i], err);
    }
    for (int i = 0; !status && i < recipe->table_count; i++) {
        status = resolve(name, recipe->tables[i].file, err);
    }
    return status;
}

static rk_status read_recipe(const rk_json_doc *doc, const char *name, rk_recipe **recipe,
                             rk_error *err)
{
    rk_recipe *made = calloc(1, sizeof(*made));
    if (!made) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory to read a recipe");
    }
    made->loss = RK_LOSS_HUBER;
    made->scale = 0.05;
    made->ridge = 1e-7;
    made->balance = 0.5;
    made->starts = 4;
    made->seed = 1;
    rk_status status = rk_fields_read(doc->root, "", recipe_fields, COUNT(recipe_fields),
                                      RK_UNKNOWN_REFUSE, made, err);
    if (!status) {
        status = resolve_paths(name, made, err);
    }
    if (status) {
        rk_error_set_file(err, doc->name);
        free(made);
        return status;
    }
    *recipe = made;
    return RK_OK;
}

rk_status rk_recipe_parse(const char *text, size_t size, const char *name, rk_recipe **recipe,
                          rk_error *err)
{
    rk_json_doc doc;
    *recipe = NULL;
    rk_status status = rk_json_parse(text, size, name, &doc, err);
    if (!status) {
        status = read_recipe(&doc, name, recipe, err);
        rk_json_clear(&doc);
    }
    return status;
}

rk_status rk_recipe_load(const char *path, rk_recipe **recipe, rk_error *err)
{
    rk_json_doc doc;
    *recipe = NULL;
    rk_status status = rk_json_load(path, NULL, &doc, err);
    if (!status) {
        status = read_recipe(&doc, rk_json_title(path), recipe, err);
        rk_json_clear(&doc);
    }
    return status;
}

void rk_recipe_free(rk_recipe *recipe)
{
    free(recipe);
}
