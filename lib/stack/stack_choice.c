/* SPDX-License-Identifier: Apache-2.0 */
/* Which document of the catalogue a name of a stack means on an accelerator. */
#define _GNU_SOURCE /* memmem */
#include "stack/stack.h"

#include "base/error.h"
#include "io/catalogue.h"
#include "io/json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The search key: a family, nearest to a year (0: the newest), for a generation. */
struct wanted {
    char family[sizeof(((rk_stack *)NULL)->family)];
    int64_t year;
    rk_generation generation;
};

static bool is_for(const rk_stack *stack, rk_generation generation)
{
    return (stack->generations >> generation & 1) != 0;
}

/* Splits "family-2024"; a name without a year is a family. */
static void split(const char *name, struct wanted *out)
{
    const size_t digits = 4, length = strlen(name);
    size_t family = length;
    out->year = 0;
    if (length > digits + 1 && name[length - digits - 1] == '-' &&
        strspn(name + length - digits, "0123456789") == digits) {
        family = length - digits - 1;
        out->year = atoi(name + length - digits);
    }
    family = family < sizeof(out->family) ? family : 0; /* longer than the name of any family */
    memcpy(out->family, name, family);
    out->family[family] = '\0';
}

/* Years between a document and the wanted year; of two equally near, the newer wins. */
static double distance(int64_t has, int64_t year)
{
    const double newest = 1e4;
    const double years = (double)has - (year ? (double)year : newest);
    return years > 0 ? years - 0.5 : -years;
}

/* ---- documents, before they are parsed ------------------------------------------------------- */

/* What stands behind the key of a value, of which a document of the catalogue has one. */
static const char *value_of(const rk_catalogue_entry *entry, const char *key)
{
    const char *end = entry->text + entry->size;
    const char *at = memmem(entry->text, entry->size, key, strlen(key));
    for (at = at ? at + strlen(key) : end; at < end && strchr(": ", *at); at++) {
    }
    return at;
}

/* Whether the value of a key is a text. */
static bool has_value(const rk_catalogue_entry *entry, const char *key, const char *text)
{
    const char *value = value_of(entry, key);
    const size_t length = strlen(text), left = (size_t)(entry->text + entry->size - value);
    return left > length + 1 && value[0] == '"' && memcmp(value + 1, text, length) == 0 &&
           value[1 + length] == '"';
}

/* Whether a document holds a word in quotes, as every document does that has it as a value. */
static bool mentions(const rk_catalogue_entry *entry, const char *word)
{
    char quoted[32];
    const int length = snprintf(quoted, sizeof(quoted), "\"%s\"", word);
    return length > 0 && (size_t)length < sizeof(quoted) &&
           memmem(entry->text, entry->size, quoted, (size_t)length);
}

/* The year of a document, which ends with a bracket; 0: it has none. */
static int64_t year_of(const rk_catalogue_entry *entry)
{
    int64_t year = 0;
    for (const char *digit = value_of(entry, "\"year\"");
         digit < entry->text + entry->size && isdigit((unsigned char)*digit); digit++) {
        year = 10 * year + (*digit - '0');
    }
    return year;
}

/*
 * The document of the family that is nearest to the year, after `before` (NULL: of all), in the
 * order of the catalogue if several are equally near; NULL: none is left.
 */
static const rk_catalogue_entry *next_nearest(const struct wanted *wanted,
                                              const rk_catalogue_entry *before)
{
    const rk_catalogue_entry *best = NULL, *end, *entry = rk_catalogue_of("stacks", &end);
    const double least = before ? distance(year_of(before), wanted->year) : -1;
    double nearest = (double)INFINITY;
    for (; entry < end; entry++) {
        if (!has_value(entry, "\"family\"", wanted->family)) {
            continue;
        }
        const double far = distance(year_of(entry), wanted->year);
        const bool later = far > least || (!(far < least) && before && entry > before);
        if (later && far < nearest) {
            best = entry;
            nearest = far;
        }
    }
    return best;
}

/* The nearest document of a family; with `any`, also those for other generations. */
static rk_status find(const struct wanted *wanted, bool any, rk_stack *out, bool *found,
                      rk_error *err)
{
    const rk_catalogue_entry *entry = NULL;
    *found = false;
    while (!*found && (entry = next_nearest(wanted, entry))) {
        if (!any && !mentions(entry, rk_generation_names[wanted->generation])) {
            continue; /* parsing takes a hundred times as long */
        }
        const rk_status status = rk_stack_load(entry->name, out, err);
        if (status) {
            return status;
        }
        *found = any || is_for(out, wanted->generation);
    }
    return RK_OK;
}

/* As find, for the generation; if the family has none for it, in the family it builds on. */
static rk_status find_here(const struct wanted *wanted, rk_stack *out, bool *found, rk_error *err)
{
    struct wanted below = *wanted;
    rk_status status = find(wanted, false, out, found, err);
    if (status || *found) {
        return status;
    }
    status = find(wanted, true, out, found, err);
    if (status || !*found || !out->base[0]) {
        *found = false;
        return status;
    }
    memcpy(below.family, out->base, sizeof(below.family));
    return find(&below, false, out, found, err);
}

/* A document for other generations is replaced by one for this generation. */
static rk_status choose_instead(const struct wanted *wanted, rk_stack *stack, rk_error *err)
{
    rk_stack other;
    bool found;
    const rk_status status = find_here(wanted, &other, &found, err);
    if (!status && found) {
        *stack = other;
    }
    return status;
}

/* The document of a family for the generation; else for Hopper, which has most, or for any. */
static rk_status choose_family(struct wanted *wanted, rk_stack *out, bool *found, rk_error *err)
{
    rk_status status = find_here(wanted, out, found, err);
    if (!status && !*found) {
        wanted->generation = RK_GENERATION_HOPPER;
        status = find(wanted, false, out, found, err);
    }
    if (!status && !*found) {
        status = find(wanted, true, out, found, err);
    }
    return status;
}

rk_status rk_stack_choose(const char *name, const rk_accelerator *accelerator, rk_stack *stack,
                          rk_error *err)
{
    const bool file = rk_json_is_file(name) || rk_json_is_text(name);
    struct wanted wanted = {.generation = accelerator->generation};
    bool found;
    rk_status status;
    if (file || rk_catalogue_find("stacks", name)) {
        status = rk_stack_load(name, stack, err);
        if (status || file || stack->generations == 0 || is_for(stack, wanted.generation)) {
            return status;
        }
        memcpy(wanted.family, stack->family, sizeof(wanted.family));
        wanted.year = stack->year;
        return choose_instead(&wanted, stack, err);
    }
    split(name, &wanted);
    status = choose_family(&wanted, stack, &found, err);
    if (!status && !found) {
        status = rk_stack_load(name, stack, err); /* the error names the nearest document */
    }
    return status;
}

rk_stack_match rk_stack_match_of(const char *name, const rk_accelerator *accelerator,
                                 const rk_stack *stack)
{
    struct wanted wanted = {.generation = accelerator->generation};
    if (rk_json_is_file(name) || rk_json_is_text(name) || strcmp(name, stack->name) == 0) {
        return stack->generations == 0 || is_for(stack, wanted.generation) ? RK_STACK_NAMED
                                                                           : RK_STACK_OTHER;
    }
    split(name, &wanted);
    const bool family = strcmp(wanted.family, stack->family) == 0;
    return !is_for(stack, wanted.generation)             ? RK_STACK_OTHER
           : family || rk_catalogue_find("stacks", name) ? RK_STACK_FAMILY
                                                         : RK_STACK_BASE;
}
