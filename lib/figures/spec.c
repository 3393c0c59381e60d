/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the JSON of a study into structs: figures, panels, series, tables, claims, sources. */
#include "figures/spec.h"

#include "base/error.h"
#include "base/units.h"
#include "figures/plot.h"
#include "io/fields.h"

#include <string.h>

/* ---- values ---------------------------------------------------------------------------- */

static rk_status read_text(const json_t *value, const char *path, void *out, rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE];
    if (!json_is_string(value)) {
        return rk_fail_at(err, RK_ERR_INVALID, path, "expected a string, found %s",
                          rk_json_describe(value, found));
    }
    *(const char **)out = json_string_value(value);
    return RK_OK;
}

static rk_status read_any(const json_t *value, const char *path, void *out, rk_error *err)
{
    (void)path;
    (void)err;
    *(const json_t **)out = value;
    return RK_OK;
}

static rk_status fail_type(const json_t *value, const char *path, const char *wanted, rk_error *err)
{
    char found[RK_JSON_TEXT_SIZE];
    return rk_fail_at(err, RK_ERR_INVALID, path, "expected %s, found %s", wanted,
                      rk_json_describe(value, found));
}

static rk_status read_list(const json_t *value, const char *path, void *out, rk_error *err)
{
    return json_is_array(value) ? read_any(value, path, out, err)
                                : fail_type(value, path, "a list", err);
}

static rk_status read_numbers(const json_t *value, const char *path, void *out, rk_error *err)
{
    for (size_t i = 0; i < json_array_size(value); i++) {
        if (!json_is_number(json_array_get(value, i))) {
            return fail_type(json_array_get(value, i), path, "a list of numbers", err);
        }
    }
    return read_list(value, path, out, err);
}

static rk_status read_object(const json_t *value, const char *path, void *out, rk_error *err)
{
    return json_is_object(value) ? read_any(value, path, out, err)
                                 : fail_type(value, path, "an object", err);
}

static rk_status read_names(const json_t *value, const char *path, void *out, rk_error *err)
{
    const char *key;
    json_t *name,
        *object = (json_t *)(uintptr_t)value; /* jansson's iterator needs a mutable object */
    json_object_foreach(object, key, name)
    {
        if (!json_is_string(name)) {
            return fail_type(name, path, "an object of strings", err);
        }
    }
    return read_object(value, path, out, err);
}

/* A number, or an expression over the values of the document. */
static rk_status read_amount(const json_t *value, const char *path, void *out, rk_error *err)
{
    return json_is_number(value) || json_is_string(value)
               ? read_any(value, path, out, err)
               : fail_type(value, path, "a number or an expression", err);
}

/* "one column", "two columns" or points. */
static rk_status read_width(const json_t *value, const char *path, void *out, rk_error *err)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    double width = json_number_value(value);
    if (strcmp(text, "one column") == 0 || strcmp(text, "two columns") == 0) {
        width = text[0] == 'o' ? RK_PLOT_ONE_COLUMN : RK_PLOT_TWO_COLUMNS;
    }
    if (!(width >= 60 && width <= 5000)) {
        return fail_type(value, path, "\"one column\", \"two columns\" or 60 to 5000 points", err);
    }
    *(double *)out = width;
    return RK_OK;
}

/* ---- fields ---------------------------------------------------------------------------- */

#define TEXT(struct_, member, name_)                                                               \
    RK_FIELD((name_), CUSTOM, offsetof(struct_, member), .optional = true, .read = read_text)
#define NESTED(struct_, member, name_, reader)                                                     \
    RK_FIELD((name_), CUSTOM, offsetof(struct_, member), .optional = true, .read = (reader))
#define FLAG(struct_, member, name_)                                                               \
    RK_FIELD((name_), BOOL, offsetof(struct_, member), .optional = true)
#define NUMBER(struct_, member, name_)                                                             \
    RK_FIELD((name_), NUMBER, offsetof(struct_, member), .optional = true)
#define INTEGER(struct_, member, name_, least, most)                                               \
    RK_FIELD((name_), INT, offsetof(struct_, member), .optional = true, .min = (least),            \
             .max = (most))
#define CHOICE(struct_, member, name_, names_)                                                     \
    RK_FIELD((name_), ENUM, offsetof(struct_, member), .optional = true, .names = (names_))

static const char *const series_kinds[] = {"line", "scatter", "bar", NULL};
static const char *const panel_kinds[] = {"line", "scatter", "bar", "heat", NULL};
static const char *const sides[] = {"above", "below", "left", "right", NULL};
static const char *const of_names[] = {"only", "first", "last",  "min", "max",
                                       "sum",  "mean",  "count", NULL};

static const rk_field quantity_fields[] = {
    TEXT(rk_spec_quantity, value, "value"),
    TEXT(rk_spec_quantity, title, "title"),
    TEXT(rk_spec_quantity, prefix, "prefix"),
    TEXT(rk_spec_quantity, suffix, "suffix"),
    TEXT(rk_spec_quantity, missing, "missing"),
    NESTED(rk_spec_quantity, names, "names", read_names),
    NESTED(rk_spec_quantity, ticks, "ticks", read_numbers),
    NESTED(rk_spec_quantity, categories, "categories", read_list),
    FLAG(rk_spec_quantity, category, "category"),
    FLAG(rk_spec_quantity, logarithmic, "log"),
    FLAG(rk_spec_quantity, zero, "zero"),
    FLAG(rk_spec_quantity, labels, "labels"),
    NUMBER(rk_spec_quantity, from, "from"),
    NUMBER(rk_spec_quantity, to, "to"),
    INTEGER(rk_spec_quantity, decimals, "decimals", -1, 9),
};

rk_status rk_spec_read_quantity(const json_t *value, const char *path, void *out, rk_error *err)
{
    rk_spec_quantity *quantity = out;
    *quantity = (rk_spec_quantity){.decimals = -1};
    return json_is_string(value)
               ? read_text(value, path, &quantity->value, err)
               : rk_fields_read(value, path, quantity_fields, COUNT(quantity_fields),
                                RK_UNKNOWN_REFUSE, out, err);
}

static const rk_field series_fields[] = {
    TEXT(rk_spec_series, name, "name"),
    TEXT(rk_spec_series, table, "table"),
    TEXT(rk_spec_series, where, "where"),
    TEXT(rk_spec_series, x, "x"),
    TEXT(rk_spec_series, y, "y"),
    TEXT(rk_spec_series, low, "low"),
    TEXT(rk_spec_series, high, "high"),
    CHOICE(rk_spec_series, kind, "kind", series_kinds),
    INTEGER(rk_spec_series, color, "color", 0, RK_PLOT_COLORS),
    INTEGER(rk_spec_series, decimals, "decimals", 0, 9),
    FLAG(rk_spec_series, dashed, "dashed"),
    FLAG(rk_spec_series, plain, "plain"),
    FLAG(rk_spec_series, labels, "labels"),
};

#define PANEL_FIELDS                                                                               \
    TEXT(rk_spec_panel, title, "title"), TEXT(rk_spec_panel, table, "table"),                      \
        TEXT(rk_spec_panel, where, "where"), TEXT(rk_spec_panel, missing, "missing"),              \
        CHOICE(rk_spec_panel, kind, "kind", panel_kinds),                                          \
        NESTED(rk_spec_panel, x, "x", rk_spec_read_quantity),                                      \
        NESTED(rk_spec_panel, y, "y", rk_spec_read_quantity),                                      \
        NESTED(rk_spec_panel, by, "by", rk_spec_read_quantity),                                    \
        NESTED(rk_spec_panel, heat, "heat", rk_spec_read_quantity),                                \
        TEXT(rk_spec_panel, low, "low"), TEXT(rk_spec_panel, high, "high"),                        \
        NESTED(rk_spec_panel, series, "series", read_list),                                        \
        NESTED(rk_spec_panel, rules, "rules", read_list),                                          \
        NESTED(rk_spec_panel, notes, "notes", read_list),                                          \
        FLAG(rk_spec_panel, no_legend, "no_legend"), FLAG(rk_spec_panel, plain, "plain"),          \
        FLAG(rk_spec_panel, labels, "labels")

static const rk_field panel_fields[] = {PANEL_FIELDS};

/* A figure starts with its panel and has the same title. */
static const rk_field figure_fields[] = {
    PANEL_FIELDS,
    TEXT(rk_spec_figure, name, "name"),
    TEXT(rk_spec_figure, caption, "caption"),
    NESTED(rk_spec_figure, width, "width", read_width),
    RK_FIELD("height", NUMBER, offsetof(rk_spec_figure, height), .optional = true, .min = 20,
             .max = 5000, .unit = "points"),
    INTEGER(rk_spec_figure, columns, "columns", 1, RK_PLOT_PANELS_MAX),
    FLAG(rk_spec_figure, one_legend, "one_legend"),
    NESTED(rk_spec_figure, panels, "panels", read_list),
};

static const rk_field table_fields[] = {
    TEXT(rk_spec_table, table, "table"),
    TEXT(rk_spec_table, where, "where"),
    NESTED(rk_spec_table, columns, "columns", read_list),
    NESTED(rk_spec_table, rows, "rows", rk_spec_read_quantity),
    NESTED(rk_spec_table, by, "by", rk_spec_read_quantity),
    NESTED(rk_spec_table, value, "value", rk_spec_read_quantity),
};

static const rk_field value_fields[] = {
    TEXT(rk_spec_value, table, "table"),
    TEXT(rk_spec_value, where, "where"),
    RK_FIELD("value", CUSTOM, offsetof(rk_spec_value, value), .read = read_text),
    CHOICE(rk_spec_value, of, "of", of_names),
};

static const rk_field claim_fields[] = {
    RK_FIELD("paper", CUSTOM, offsetof(rk_spec_claim, paper), .read = read_text),
    RK_FIELD("here", CUSTOM, offsetof(rk_spec_claim, here), .read = read_text),
    RK_FIELD("holds", CUSTOM, offsetof(rk_spec_claim, holds), .read = read_text),
    TEXT(rk_spec_claim, partly, "partly"),
};

static const rk_field rule_fields[] = {
    NESTED(rk_spec_rule, slope, "slope", read_amount),
    NESTED(rk_spec_rule, x, "x", read_amount),
    NESTED(rk_spec_rule, y, "y", read_amount),
    TEXT(rk_spec_rule, label, "label"),
};

static const rk_field note_fields[] = {
    RK_FIELD("x", CUSTOM, offsetof(rk_spec_note, x), .read = read_amount),
    RK_FIELD("y", CUSTOM, offsetof(rk_spec_note, y), .read = read_amount),
    RK_FIELD("text", CUSTOM, offsetof(rk_spec_note, text), .read = read_text),
    CHOICE(rk_spec_note, side, "side", sides),
};

static const rk_field item_fields[] = {
    NESTED(rk_spec_item, heading, "heading", read_any),
    NESTED(rk_spec_item, text, "text", read_any),
    NESTED(rk_spec_item, figure, "figure", read_object),
    NESTED(rk_spec_item, table, "table", read_object),
    NESTED(rk_spec_item, lines, "lines", read_list),
    NESTED(rk_spec_item, claims, "claims", read_list),
};

static const rk_field source_fields[] = {
    RK_FIELD("file", CUSTOM, offsetof(rk_spec_source, file), .read = read_text),
    NESTED(rk_spec_source, columns, "columns", read_names),
    NESTED(rk_spec_source, beside, "beside", read_object),
    FLAG(rk_spec_source, all_ranks, "all_ranks"),
};

/* All three are needed. */
static const rk_field beside_fields[] = {
    RK_FIELD("value", CUSTOM, offsetof(rk_reference_value, value), .read = read_text),
    RK_FIELD("where", CUSTOM, offsetof(rk_reference_value, where), .read = read_text),
    RK_FIELD("same", CUSTOM, offsetof(rk_reference_value, same), .read = read_list),
};

static const rk_field document_fields[] = {
    TEXT(rk_spec_document, title, "title"),
    TEXT(rk_spec_document, table, "table"),
    NESTED(rk_spec_document, tables, "tables", read_object),
    NESTED(rk_spec_document, names, "names", read_names),
    NESTED(rk_spec_document, values, "values", read_object),
    NESTED(rk_spec_document, page, "page", read_list),
    NESTED(rk_spec_document, figure, "figure", read_object),
};

/* ---- objects --------------------------------------------------------------------------- */

static rk_status read_fields(const json_t *value, const char *path, const rk_field *fields,
                             size_t count, void *out, rk_error *err)
{
    return json_is_object(value)
               ? rk_fields_read(value, path, fields, count, RK_UNKNOWN_REFUSE, out, err)
               : fail_type(value, path, "an object", err);
}

rk_status rk_spec_read_series(const json_t *value, const char *path, rk_spec_series *out,
                              rk_error *err)
{
    return read_fields(value, path, series_fields, COUNT(series_fields), out, err);
}

rk_status rk_spec_read_panel(const json_t *value, const char *path, rk_spec_panel *out,
                             rk_error *err)
{
    return read_fields(value, path, panel_fields, COUNT(panel_fields), out, err);
}

rk_status rk_spec_read_figure(const json_t *value, const char *path, rk_spec_figure *out,
                              rk_error *err)
{
    return read_fields(value, path, figure_fields, COUNT(figure_fields), out, err);
}

rk_status rk_spec_read_table(const json_t *value, const char *path, rk_spec_table *out,
                             rk_error *err)
{
    return read_fields(value, path, table_fields, COUNT(table_fields), out, err);
}

rk_status rk_spec_read_value(const json_t *value, const char *path, rk_spec_value *out,
                             rk_error *err)
{
    return read_fields(value, path, value_fields, COUNT(value_fields), out, err);
}

rk_status rk_spec_read_claim(const json_t *value, const char *path, rk_spec_claim *out,
                             rk_error *err)
{
    return read_fields(value, path, claim_fields, COUNT(claim_fields), out, err);
}

rk_status rk_spec_read_rule(const json_t *value, const char *path, rk_spec_rule *out, rk_error *err)
{
    rk_status status = read_fields(value, path, rule_fields, COUNT(rule_fields), out, err);
    if (!status && (out->slope != NULL) + (out->x != NULL) + (out->y != NULL) != 1) {
        status = rk_fail_at(err, RK_ERR_INVALID, path, "expected one of slope, x and y");
    }
    return status;
}

rk_status rk_spec_read_note(const json_t *value, const char *path, rk_spec_note *out, rk_error *err)
{
    return read_fields(value, path, note_fields, COUNT(note_fields), out, err);
}

rk_status rk_spec_read_item(const json_t *value, const char *path, rk_spec_item *out, rk_error *err)
{
    rk_status status = read_fields(value, path, item_fields, COUNT(item_fields), out, err);
    if (!status && json_object_size(value) != 1) {
        status = rk_fail_at(err, RK_ERR_INVALID, path,
                            "expected one of heading, text, figure, table, lines and claims");
    }
    return status;
}

rk_status rk_spec_read_source(const json_t *value, const char *path, rk_spec_source *out,
                              rk_error *err)
{
    return json_is_string(value)
               ? read_text(value, path, &out->file, err)
               : read_fields(value, path, source_fields, COUNT(source_fields), out, err);
}

rk_status rk_spec_read_beside(const json_t *value, const char *path, rk_reference_value *out,
                              rk_error *err)
{
    return read_fields(value, path, beside_fields, COUNT(beside_fields), out, err);
}

rk_status rk_spec_read_document(const json_t *value, const char *path, rk_spec_document *out,
                                rk_error *err)
{
    return read_fields(value, path, document_fields, COUNT(document_fields), out, err);
}
