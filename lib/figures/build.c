/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all parts of a study: values as text, and the tables. */
#include "figures/build.h"

#include "base/error.h"
#include "figures/draw.h"

#include <stdio.h>
#include <string.h>

/* ---- values as text -------------------------------------------------------------------- */

size_t rk_distinct_place(rk_distinct_values *distinct, const rk_value *value)
{
    size_t i = 0;
    while (i < distinct->count && !rk_value_same(&distinct->values[i], value)) {
        i++;
    }
    if (i == distinct->count && i < distinct->room) {
        distinct->values[distinct->count++] = *value;
    }
    return i;
}

/* The name shown for a value, or NULL. */
static const char *given_name(const json_t *names, const char *text)
{
    return json_string_value(json_object_get(names, text));
}

static const char *number_text(const rk_value *value, int64_t decimals, char out[RK_LABEL_SIZE])
{
    const double number = rk_value_number(value);
    if (decimals >= 0) {
        return rk_label_fixed(number, (int)decimals, out);
    }
    return value->type == RK_VALUE_INT ? rk_label_fixed(number, 0, out)
                                       : rk_label_short(number, out);
}

rk_status rk_quantity_text(rk_builder *builder, const rk_spec_quantity *quantity,
                           const rk_value *value, const char **text, rk_error *err)
{
    char key[RK_NUMBER_TEXT_SIZE], number[RK_LABEL_SIZE], whole[1024];
    const char *plain = rk_value_format(value, key);
    const char *name = given_name(quantity->names, plain);
    name = name ? name : given_name(builder->doc.names, plain);
    if (value->type == RK_VALUE_NULL) {
        name = name ? name : quantity->missing ? quantity->missing : "\xE2\x80\x93";
    } else if (!name && (value->type == RK_VALUE_INT || value->type == RK_VALUE_REAL)) {
        plain = number_text(value, quantity->decimals, number);
    }
    if (name) {
        *text = name;
        return RK_OK;
    }
    (void)snprintf(whole, sizeof(whole), "%s%s%s", quantity->prefix ? quantity->prefix : "", plain,
                   quantity->suffix ? quantity->suffix : "");
    return rk_arena_text(builder->arena, whole, strlen(whole), text, err);
}

/* ---- text with values ------------------------------------------------------------------ */

/* Reads "name}" or "name:decimals}" at *text, which advances past it. */
static rk_status read_place(rk_builder *builder, const char **text, const char *path,
                            char out[RK_LABEL_SIZE], const char **found, rk_error *err)
{
    char name[64], *end;
    const size_t length = strcspn(*text, ":}");
    rk_spec_quantity quantity = {.decimals = -1};
    rk_value value;
    (void)snprintf(name, sizeof(name), "%.*s", (int)length, *text);
    *text += length;
    if (**text == ':') {
        quantity.decimals = strtol(*text + 1, &end, 10);
        *text = end;
    }
    if (**text != '}' || length == 0 || length >= sizeof(name) || quantity.decimals > 9) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected {name} or {name:decimals}; {{ stands for a brace");
    }
    ++*text;
    rk_status status = rk_named_evaluate(&builder->values, name, path, builder->arena, &value, err);
    if (status) {
        return status;
    }
    if (value.type == RK_VALUE_INT || value.type == RK_VALUE_REAL) {
        *found = number_text(&value, quantity.decimals, out);
        return RK_OK;
    }
    return rk_quantity_text(builder, &quantity, &value, found, err);
}

rk_status rk_build_text(rk_builder *builder, const char *text, const char *path, const char **out,
                        rk_error *err)
{
    enum { LONGEST = 16384 };
    char *whole;
    size_t size = 0;
    rk_status status = rk_arena_get(builder->arena, LONGEST, 1, &whole, err);
    while (!status && *text) {
        char label[RK_LABEL_SIZE];
        const char *piece = text;
        size_t length = strcspn(text, "{");
        if (length == 0 && text[1] == '{') {
            text += 2;
            length = 1;
        } else if (length == 0) {
            text++;
            status = read_place(builder, &text, path, label, &piece, err);
            length = status ? 0 : strlen(piece);
        } else {
            text += length;
        }
        if (!status && length >= LONGEST - size) {
            status =
                rk_fail_at(err, RK_ERR_LIMIT, path, "the text is longer than %d bytes", LONGEST);
        }
        if (!status) {
            memcpy(whole + size, piece, length);
            size += length;
        }
    }
    *out = whole;
    return status;
}

/* ---- tables -------------------------------------------------------------------------------- */

rk_status rk_builder_table(rk_builder *builder, const char *name, const char *path,
                           const rk_data **data, rk_error *err)
{
    for (size_t i = 0; i < builder->table_count; i++) {
        if (!name || strcmp(builder->tables[i].name, name) == 0) {
            *data = &builder->tables[i];
            return RK_OK;
        }
    }
    return name ? rk_fail_at(err, RK_ERR_INVALID, path, "there is no table \"%s\" in \"tables\"",
                             name)
                : rk_fail_at(err, RK_ERR_INVALID, path,
                             "there are no data: name a \"table\", or give the file of results");
}
