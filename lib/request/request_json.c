/* SPDX-License-Identifier: Apache-2.0 */
/* Reads request options from JSON members, typed by the option table. */
#include "request/request_json.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_SIZE 64

/* ---- names ----------------------------------------------------------------------------------- */

/* Options that are not part of a strategy; those without a name here are about the command. */
static const char *const outer_names[] = {
    "accelerators", "global-batch", "seq", "framework", "max-memory", "risk", "mfu-convention"};
static const char *const command_names[] = {
    "model", "system", "stack",  "nodes", "gpus-per-node", "vp-layers", "accumulation",
    "json",  "csv",    "output", "set",   "from",          "reader",    "verbose"};

/* The name of an option as a member: "global_batch". */
static const char *member_name(const rk_option *option, char out[NAME_SIZE])
{
    (void)snprintf(out, NAME_SIZE, "%s", option->name);
    for (char *c = out; *c; c++) {
        *c = *c == '-' ? '_' : *c;
    }
    return out;
}

/* ---- values ---------------------------------------------------------------------------------- */

static rk_status fail_type(const json_t *value, const char *path, const char *wanted, rk_error *err)
{
    char text[RK_JSON_TEXT_SIZE];
    return rk_fail_at(err, RK_ERR_INVALID, path, "expected %s, found %s", wanted,
                      rk_json_describe(value, text));
}

/* A count as a number, or as on the command line: "4k"; 0: it is neither. */
static int64_t count_of(const json_t *value, const rk_option *option)
{
    const char *text = json_string_value(value);
    const double amount = text ? rk_option_amount(&text, option->binary) : 0;
    const bool whole = amount > 0 && amount < 0x1p62 && !*text && amount <= (double)(int64_t)amount;
    return json_is_integer(value) ? json_integer_value(value) : whole ? (int64_t)amount : 0;
}

static rk_status read_count(const json_t *value, const char *path, const rk_option *option,
                            int64_t *out, rk_error *err)
{
    char wanted[96];
    (void)snprintf(wanted, sizeof(wanted), "an integer from %" PRId64 " to %" PRId64, option->min,
                   option->max);
    *out = count_of(value, option);
    return (json_is_integer(value) || *out > 0) && *out >= option->min && *out <= option->max
               ? RK_OK
               : fail_type(value, path, wanted, err);
}

static rk_status read_real(const json_t *value, const char *path, const rk_option *option,
                           double *out, rk_error *err)
{
    char wanted[96];
    (void)snprintf(wanted, sizeof(wanted), "a number %s %" PRId64 "%s %" PRId64,
                   option->above ? "above" : "from", option->min,
                   option->above ? ", at most" : " to", option->max);
    *out = json_number_value(value);
    return json_is_number(value) && *out >= (double)option->min &&
                   !(option->above && *out <= (double)option->min) && *out <= (double)option->max
               ? RK_OK
               : fail_type(value, path, wanted, err);
}

/* The index of a name. */
static rk_status read_name(const json_t *value, const char *path, const rk_option *option, int *out,
                           rk_error *err)
{
    char list[256] = "", text[RK_JSON_TEXT_SIZE];
    size_t count = 0, used = 0;
    for (; option->choices[count]; count++) {
        if (json_is_string(value) &&
            strcmp(json_string_value(value), option->choices[count]) == 0) {
            *out = (int)count;
            return RK_OK;
        }
        if (used < sizeof(list)) {
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s\"%s\"",
                                     count ? ", " : "", option->choices[count]);
        }
    }
    const char *nearest = json_is_string(value)
                              ? rk_nearest_name(json_string_value(value), option->choices, count)
                              : NULL;
    (void)rk_json_describe(value, text);
    return nearest
               ? rk_fail_at(err, RK_ERR_INVALID, path,
                            "expected one of %s, found %s; did you mean \"%s\"?", list, text,
                            nearest)
               : rk_fail_at(err, RK_ERR_INVALID, path, "expected one of %s, found %s", list, text);
}

/* Names of a set, a bit each. */
static rk_status read_set(const json_t *value, const char *path, const rk_option *option,
                          unsigned *out, rk_error *err)
{
    char where[RK_JSON_PATH_SIZE];
    int bit = 0;
    *out = 0;
    if (!json_is_array(value)) {
        const rk_status status = read_name(value, path, option, &bit, err);
        *out = 1U << bit;
        return status;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const rk_status status = read_name(json_array_get(value, i),
                                           rk_json_path_element(path, i, where), option, &bit, err);
        if (status) {
            return status;
        }
        *out |= 1U << bit;
    }
    return *out ? RK_OK : fail_type(value, path, "at least one name", err);
}

static rk_status read_counts(const json_t *value, const char *path, const rk_option *option,
                             rk_option_counts *out, rk_error *err)
{
    char where[RK_JSON_PATH_SIZE];
    const size_t count = json_array_size(value);
    out->count = 1;
    if (!json_is_array(value)) {
        return read_count(value, path, option, &out->values[0], err);
    }
    if (count == 0 || count > RK_OPTION_COUNTS_MAX) {
        return rk_fail_at(err, RK_ERR_INVALID, path,
                          "expected a list of 1 to %d numbers, found %zu", RK_OPTION_COUNTS_MAX,
                          count);
    }
    rk_status status = RK_OK;
    for (size_t i = 0; i < count && !status; i++) {
        status = read_count(json_array_get(value, i), rk_json_path_element(path, i, where), option,
                            &out->values[i], err);
    }
    out->count = (int)count;
    return status;
}

static rk_status read_option(const json_t *value, const char *path, const rk_option *option,
                             rk_request *request, rk_error *err)
{
    void *place = (char *)request + option->offset;
    switch (option->type) {
    case RK_OPTION_COUNT:
        return read_count(value, path, option, place, err);
    case RK_OPTION_COUNTS:
        return read_counts(value, path, option, place, err);
    case RK_OPTION_REAL:
        return read_real(value, path, option, place, err);
    case RK_OPTION_CHOICE:
        return read_name(value, path, option, place, err);
    case RK_OPTION_SET:
        return read_set(value, path, option, place, err);
    case RK_OPTION_FLAG:
        *(bool *)place = json_is_true(value);
        return json_is_boolean(value) ? RK_OK : fail_type(value, path, "true or false", err);
    case RK_OPTION_TEXT:
        *(const char **)place = json_string_value(value);
        return json_is_string(value) ? RK_OK : fail_type(value, path, "a string", err);
    }
    return RK_OK;
}

/* ---- documents ------------------------------------------------------------------------------- */

static rk_status fail_unknown(const char *key, rk_error *err)
{
    char members[RK_STRATEGY_OPTION_COUNT][NAME_SIZE], path[RK_JSON_PATH_SIZE];
    const char *names[RK_STRATEGY_OPTION_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < RK_STRATEGY_OPTION_COUNT; i++) {
        const char *name = rk_strategy_options[i].name;
        if (!rk_is_among(name, outer_names, COUNT(outer_names)) &&
            !rk_is_among(name, command_names, COUNT(command_names))) {
            names[count] = member_name(&rk_strategy_options[i], members[count]);
            count++;
        }
    }
    const char *nearest = rk_nearest_name(key, names, count);
    (void)rk_json_path_member("strategy", key, path);
    return nearest ? rk_fail_at(err, RK_ERR_INVALID, path, "unknown; did you mean \"%s\"?", nearest)
                   : rk_fail_at(err, RK_ERR_INVALID, path,
                                "unknown; the options of 'reckon estimate --help' are its members");
}

/* Refuses members of the strategy that were not read. */
static rk_status check_members(const json_t *strategy, size_t read, rk_error *err)
{
    char member[NAME_SIZE];
    const char *key = NULL;
    json_t *value = NULL;
    if (read == json_object_size(strategy)) {
        return RK_OK;
    }
    json_object_foreach((json_t *)(uintptr_t)strategy, key, value)
    {
        bool known = false;
        for (size_t i = 0; i < RK_STRATEGY_OPTION_COUNT && !known; i++) {
            const char *name = rk_strategy_options[i].name;
            known = !rk_is_among(name, outer_names, COUNT(outer_names)) &&
                    !rk_is_among(name, command_names, COUNT(command_names)) &&
                    strcmp(member_name(&rk_strategy_options[i], member), key) == 0;
        }
        if (!known) {
            return fail_unknown(key, err);
        }
    }
    return RK_OK;
}

rk_status rk_request_read_json(const json_t *root, rk_request *request, rk_error *err)
{
    const json_t *strategy = json_object_get(root, "strategy");
    size_t read = 0;
    *request = rk_request_defaults();
    if (strategy && !json_is_object(strategy)) {
        return fail_type(strategy, "strategy", "an object", err);
    }
    for (size_t i = 0; i < RK_STRATEGY_OPTION_COUNT; i++) {
        const rk_option *option = &rk_strategy_options[i];
        char name[NAME_SIZE], path[RK_JSON_PATH_SIZE];
        if (rk_is_among(option->name, command_names, COUNT(command_names))) {
            continue;
        }
        const bool outer = rk_is_among(option->name, outer_names, COUNT(outer_names));
        const json_t *value = json_object_get(outer ? root : strategy, member_name(option, name));
        if (!value) {
            continue;
        }
        (void)rk_json_path_member(outer ? "" : "strategy", name, path);
        const rk_status status = read_option(value, path, option, request, err);
        if (status) {
            return status;
        }
        read += !outer;
    }
    const rk_status status = check_members(strategy, read, err);
    return status ? status : rk_request_complete(request, err);
}
