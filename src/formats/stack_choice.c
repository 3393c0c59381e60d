/* SPDX-License-Identifier: Apache-2.0 */
/* Which document of the catalogue a name of a stack means on an accelerator. */
#include "block/stack.h"

#include "base/error.h"
#include "formats/catalogue.h"
#include "formats/json.h"

#include <stdlib.h>
#include <string.h>

/* What is looked for: a family, nearest to a year (0: the newest), for a generation. */
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
    family = family < sizeof(out->family) ? family : 0; /* no family has so long a name */
    memcpy(out->family, name, family);
    out->family[family] = '\0';
}

/* Years between a document and what is wanted; the newer of two is nearer by half a year. */
static double distance(const rk_stack *stack, int64_t year)
{
    const double newest = 1e4;
    const double years = (double)stack->year - (year ? (double)year : newest);
    return years > 0 ? years - 0.5 : -years;
}

/* The nearest document of a family; with `any`, also those for other generations.  False: none. */
static bool find(const struct wanted *wanted, bool any, rk_stack *out)
{
    bool found = false;
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        rk_stack stack;
        rk_error err;
        if (strcmp(rk_catalogue[i].kind, "stacks") != 0 ||
            rk_stack_load(rk_catalogue[i].name, &stack, &err) ||
            strcmp(stack.family, wanted->family) != 0 ||
            (!any && !is_for(&stack, wanted->generation))) {
            continue;
        }
        if (!found || distance(&stack, wanted->year) < distance(out, wanted->year)) {
            *out = stack;
            found = true;
        }
    }
    return found;
}

/* As find, for the generation; where the family has nothing for it, in the family it builds on. */
static bool find_here(const struct wanted *wanted, rk_stack *out)
{
    struct wanted below = *wanted;
    if (find(wanted, false, out)) {
        return true;
    }
    if (!find(wanted, true, out) || !out->base[0]) {
        return false;
    }
    memcpy(below.family, out->base, sizeof(below.family));
    return find(&below, false, out);
}

rk_status rk_stack_choose(const char *name, const rk_accelerator *accelerator, rk_stack *stack,
                          rk_error *err)
{
    const bool file = rk_json_is_file(name);
    struct wanted wanted = {.generation = accelerator->generation};
    rk_stack other;
    if (file || rk_catalogue_find("stacks", name)) {
        const rk_status status = rk_stack_load(name, stack, err);
        if (status || file || stack->generations == 0 || is_for(stack, wanted.generation)) {
            return status;
        }
        memcpy(wanted.family, stack->family, sizeof(wanted.family));
        wanted.year = stack->year;
        *stack = find_here(&wanted, &other) ? other : *stack;
        return RK_OK;
    }
    split(name, &wanted);
    if (find_here(&wanted, stack)) {
        return RK_OK;
    }
    /* Nothing was fitted on this generation: Hopper's, which has most, or any. */
    wanted.generation = RK_GENERATION_HOPPER;
    return find(&wanted, false, stack) || find(&wanted, true, stack)
               ? RK_OK
               : rk_stack_load(name, stack, err);
}
