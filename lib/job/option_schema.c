/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a command as JSON Schema, from the table of its options. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"
#include "io/json_write.h"
#include "job/job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Numbers as text, as rk_option_read accepts: "4k", "15T", "64GiB". */
#define NUMBER_PATTERN "^-?[0-9.]+([eE][-+]?[0-9]+)?([kKmMgGtT]i?)?[bB]?$"
#define SHARE_PATTERN  "^[0-9.]+([eE][-+]?[0-9]+)?%?$"

/* The types of an option in a request; null means absent. */
static void write_types(rk_json_writer *w, const char *types)
{
    rk_json_key(w, "type");
    rk_json_value(w, types);
}

static void write_bounds(rk_json_writer *w, const rk_option *option)
{
    const double most = (double)option->max;
    rk_json_real(w, option->above ? "exclusiveMinimum" : "minimum", (double)option->min);
    if (option->max != INT64_MAX) {
        rk_json_real(w, "maximum", most);
    }
}

/* The choices of an option; with '-' in place of '_' too. */
static void write_choices(rk_json_writer *w, const rk_option *option, bool or_null)
{
    char text[RK_OPTION_WORD_SIZE + 3];
    rk_json_open_member(w, "enum", "[");
    for (size_t i = 0; option->choices[i]; i++) {
        (void)snprintf(text, sizeof(text), "\"%s\"", option->choices[i]);
        rk_json_item(w);
        rk_json_value(w, text);
        if (strchr(text, '_')) {
            for (char *at = text; *at; at++) {
                *at = *at == '_' ? '-' : *at;
            }
            rk_json_item(w);
            rk_json_value(w, text);
        }
    }
    if (or_null) {
        rk_json_item(w);
        rk_json_value(w, "null");
    }
    rk_json_close(w, "]");
}

static void write_items(rk_json_writer *w, const rk_option *option)
{
    rk_json_open_member(w, "items", "{");
    if (option->type == RK_OPTION_SET) {
        write_choices(w, option, false);
    } else if (option->type == RK_OPTION_COUNTS) {
        write_types(w, "[\"integer\", \"string\"]");
        write_bounds(w, option);
    } else {
        write_types(w, "[\"number\", \"string\"]");
    }
    rk_json_close(w, "}");
}

/* Whether a text names a document, which may be given as an object in its place. */
static bool is_document(const rk_option *option)
{
    static const char *const words[] = {"|FILE", ".json", "TABLE", "RECIPE"};
    bool found = false;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        found = found || (option->value && strstr(option->value, words[i]));
    }
    return found;
}

/* Whether it is a list of texts between commas. */
static bool is_list(const rk_option *option)
{
    return option->value && strstr(option->value, ",...");
}

static void write_text(rk_json_writer *w, const rk_option *option)
{
    if (is_list(option)) {
        write_types(w, is_document(option) ? "[\"string\", \"object\", \"array\", \"null\"]"
                                           : "[\"string\", \"number\", \"array\", \"null\"]");
        write_items(w, option);
    } else {
        write_types(w, is_document(option) ? "[\"string\", \"object\", \"null\"]"
                                           : "[\"string\", \"number\", \"null\"]");
    }
}

static void write_type(rk_json_writer *w, const rk_option *option)
{
    switch (option->type) {
    case RK_OPTION_TEXT:
        write_text(w, option);
        return;
    case RK_OPTION_FLAG:
        write_types(w, "[\"boolean\", \"null\"]");
        return;
    case RK_OPTION_CHOICE:
        write_choices(w, option, true);
        return;
    case RK_OPTION_COUNT:
    case RK_OPTION_REAL:
        write_types(w, option->type == RK_OPTION_COUNT ? "[\"integer\", \"string\", \"null\"]"
                                                       : "[\"number\", \"string\", \"null\"]");
        write_bounds(w, option);
        rk_json_string(w, "pattern", option->share ? SHARE_PATTERN : NUMBER_PATTERN);
        return;
    case RK_OPTION_COUNTS:
        write_types(w, "[\"integer\", \"string\", \"array\", \"null\"]");
        write_bounds(w, option);
        write_items(w, option);
        return;
    case RK_OPTION_SET:
        write_types(w, "[\"string\", \"array\", \"null\"]");
        write_items(w, option);
        return;
    }
}

/* A member name: the option's, with '_' in place of '-'. */
static const char *member_of(const char *name, char out[RK_OPTION_WORD_SIZE])
{
    (void)snprintf(out, RK_OPTION_WORD_SIZE, "%s", name);
    for (char *at = out; *at; at++) {
        *at = *at == '-' ? '_' : *at;
    }
    return out;
}

/* Another name of the same member. */
static void write_other_name(rk_json_writer *w, const char *name, const char *member)
{
    char place[RK_OPTION_WORD_SIZE + 16];
    (void)snprintf(place, sizeof(place), "#/properties/%s", member);
    rk_json_open_member(w, name, "{");
    rk_json_string(w, "$ref", place);
    rk_json_close(w, "}");
}

static void write_names(rk_json_writer *w, const char *name, const char *member)
{
    char other[RK_OPTION_WORD_SIZE];
    if (strcmp(name, member) != 0) {
        write_other_name(w, name, member);
    }
    if (strcmp(member_of(name, other), name) != 0 && strcmp(other, member) != 0) {
        write_other_name(w, other, member);
    }
}

static void write_option(rk_json_writer *w, const rk_option *option)
{
    char member[RK_OPTION_WORD_SIZE];
    rk_json_open_member(w, member_of(option->name, member), "{");
    rk_json_string(w, "description", option->help);
    if (option->type != RK_OPTION_FLAG && option->value) {
        rk_json_string(w, "unit", option->value);
    }
    write_type(w, option);
    rk_json_close(w, "}");
    write_names(w, option->name, member);
    for (int i = 0; i < RK_ALIAS_MAX && option->aliases[i]; i++) {
        write_names(w, option->aliases[i], member);
    }
}

static void write_required(rk_json_writer *w, const rk_command *command)
{
    char name[RK_OPTION_WORD_SIZE + 3];
    rk_json_open_member(w, "required", "[");
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        const rk_option *option = rk_command_option(command, i);
        if (option->required) {
            (void)snprintf(name, sizeof(name), "\"%s\"", option->name);
            rk_json_item(w);
            rk_json_value(w, name);
        }
    }
    rk_json_close(w, "]");
}

static void write_schema(rk_json_writer *w, const rk_command *command)
{
    char title[128];
    (void)snprintf(title, sizeof(title), "Requests to reckon %s, schema version %d", command->name,
                   RK_SCHEMA_VERSION);
    rk_json_open(w, "{");
    rk_json_string(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    rk_json_string(w, "title", title);
    rk_json_string(w, "description", command->purpose);
    rk_json_string(w, "type", "object");
    write_required(w, command);
    rk_json_flag(w, "additionalProperties", false);
    rk_json_open_member(w, "properties", "{");
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        write_option(w, rk_command_option(command, i));
    }
    rk_json_close(w, "}");
    rk_json_close(w, "}");
}

rk_status rk_command_schema(const rk_command *command, char **schema, rk_error *err)
{
    rk_bytes text = {0};
    rk_json_writer writer = {.indented = true};
    *schema = NULL;
    if (!command) {
        return rk_fail(err, RK_ERR_INVALID, "a schema needs a command: rk_command_find found none");
    }
    rk_status status = rk_out_open_writer(rk_bytes_take_in, &text, &writer.out, err);
    if (status) {
        return status;
    }
    write_schema(&writer, command);
    rk_out_text(writer.out, "\n");
    status = rk_out_close(writer.out, err);
    rk_bytes_add(&text, "", 1);
    if (!status && text.failed) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for a schema");
    }
    if (status) {
        rk_bytes_clear(&text);
        return status;
    }
    *schema = (char *)text.data;
    return RK_OK;
}
