/* SPDX-License-Identifier: Apache-2.0 */
/* Parses numbers of --set with units, resolves tier names, and changes the machine. */
#include "request/what_if.h"

#include "base/error.h"
#include "base/named.h"
#include "base/text.h"
#include "base/units.h"
#include "evidence/partial_strategy.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- units ----------------------------------------------------------------------------------- */

/* Units that may follow a number, and how many of the unit that is meant without it. */
static const rk_named_real sizes[] = {
    {"GiB", 1}, {"GB", 1e9 / GIB}, {"TiB", 1024}, {"TB", 1e12 / GIB}, {0}};
static const rk_named_real rates[] = {{"GB/s", 1},       {"TB/s", 1e3}, {"GBps", 1}, {"TBps", 1e3},
                                      {"Gb/s", 1.0 / 8}, {"Tb/s", 125}, {0}};
static const rk_named_real peaks[] = {
    {"TFLOP/s", 1}, {"PFLOP/s", 1e3}, {"TFLOPS", 1}, {"PFLOPS", 1e3}, {0}};
static const rk_named_real times[] = {{"us", 1}, {"ns", 1e-3}, {"ms", 1e3}, {0}};
static const rk_named_real counts[] = {{0}};

/*
 * Reads a number above 0 with one of the units, if any; `bare`: or without.  0: it is none.
 */
static double read_amount(const char *value, const rk_named_real *units, bool bare)
{
    char *end = NULL;
    const double number = isdigit((unsigned char)value[0]) ? strtod(value, &end) : 0;
    if (!end || !(number < 1e12)) {
        return 0;
    }
    if (!*end && (bare || !units->name)) {
        return number;
    }
    end += strspn(end, " ");
    for (; *end && units->name; units++) {
        if (strcasecmp(units->name, end) == 0 && (end[1] != 'b') == (units->name[1] != 'b')) {
            return number * units->value;
        }
    }
    return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

/*
 * Numbers by name, and by the key that answers print; of a tier ("nvlink.size") the key is what
 * follows "tier1_", or the whole key.
 */
static const struct {
    const char *name, *key, *example;
    rk_number_kind kind;
    bool tier;
    const rk_named_real *units;
} named[] = {
    {"memory", NULL, "192GiB", RK_NUMBER_MEMORY_SIZE, false, sizes},
    {"hbm", NULL, "8TB/s", RK_NUMBER_MEMORY_RATE, false, rates},
    {"peak", "matrix_TFLOPps", "1979TFLOP/s", RK_NUMBER_MATRIX, false, peaks},
    {"host_memory", "offload_GiB", "512GiB", RK_NUMBER_OFFLOAD_SIZE, false, sizes},
    {"host_link", "offload_GBps", "128GB/s", RK_NUMBER_OFFLOAD_RATE, false, rates},
    {"launch", "launch_us", "5us", RK_NUMBER_LAUNCH, false, times},
    {"size", "domain", "72", RK_NUMBER_DOMAIN, true, counts},
    {"bandwidth", "GBps", "900GB/s", RK_NUMBER_TIER_RATE, true, rates},
    {"latency", "us", "5us", RK_NUMBER_TIER_LATENCY, true, times},
};

/* The length of the tier's word in "nvlink.size" and "tier1_GBps"; 0: names no tier. */
static size_t tier_length(const char *name)
{
    const char *dot = strchr(name, '.');
    const bool numbered = strncmp(name, "tier", 4) == 0 && isdigit((unsigned char)name[4]);
    return dot ? (size_t)(dot - name) : numbered && name[5] == '_' ? 5 : 0;
}

/* The index in `named`; COUNT(named): no number has this name. */
static size_t find_name(const char *name)
{
    const size_t length = tier_length(name);
    const bool numbered = length > 0 && name[length] == '_';
    const char *own = length > 0 ? name + length + 1 : name;
    size_t i = 0;
    for (; i < COUNT(named); i++) {
        const char *key = length == 0 || numbered ? named[i].key : NULL;
        const bool by_name = !numbered && named[i].tier == (length > 0);
        if ((by_name && strcmp(named[i].name, own) == 0) || (key && strcmp(key, own) == 0)) {
            break;
        }
    }
    return i;
}

bool rk_what_if_names(const char *name)
{
    return !strchr(name, '.') && find_name(name) < COUNT(named);
}

/* Whether a word of some length is in the name of a tier: "nvlink" in NVLink4, "infiniband". */
static bool is_in(const char *word, size_t length, const char *tier)
{
    bool found = false;
    for (; *tier && !found; tier++) {
        found = strncasecmp(word, tier, length) == 0;
    }
    return found && length > 1;
}

/* The tier of "nvlink", "tier1" or "network", the outermost; below 0: there is none. */
static int find_tier(const rk_system *system, const char *word, size_t length)
{
    char own[16];
    int found = -1;
    for (int i = system->tier_count - 1; i >= 0; i--) {
        (void)snprintf(own, sizeof(own), "tier%d", i);
        const bool is_own = strlen(own) == length && strncasecmp(own, word, length) == 0;
        found = is_own || is_in(word, length, system->tiers[i].name) ? i : found;
    }
    const bool outermost = length == 7 && strncasecmp(word, "network", length) == 0;
    return found < 0 && outermost ? system->tier_count - 1 : found;
}

const char *rk_what_if_tier(const rk_tier *tier, char out[RK_TIER_WORD_SIZE])
{
    const char *last = strrchr(tier->name, ' ');
    size_t used = 0;
    for (const char *at = last ? last + 1 : tier->name; isalpha((unsigned char)*at); at++) {
        out[used++] = (char)tolower((unsigned char)*at);
    }
    out[used] = '\0';
    return out;
}

static rk_status fail_name(const char *name, const rk_system *system, rk_error *err)
{
    char tiers[RK_TIER_MAX * 80] = "", word[RK_TIER_WORD_SIZE];
    for (int i = 0; i < system->tier_count; i++) {
        const size_t used = strlen(tiers);
        const bool sized =
            i == 0 && system->tier_count > 1 && system->tiers[0].kind != RK_TIER_TORUS;
        (void)rk_what_if_tier(&system->tiers[i], word);
        (void)snprintf(tiers + used, sizeof(tiers) - used, "%s%s%s.bandwidth, %s.latency",
                       sized ? word : "", sized ? ".size, " : ", ", word, word);
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "--set %.60s: stacks have no number of this name "
                   "(docs/method/documents.md), and %s has memory, hbm, peak, host_memory, "
                   "host_link, %s",
                   name, system->name, tiers + (tiers[0] == ',' ? 2 : 0));
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* The number of a kind, and of the tier if it has one; false: the machine has none. */
static bool find_number(const rk_system *system, rk_number_kind kind, int tier, rk_number *out)
{
    rk_number all[RK_NUMBER_MAX];
    const size_t count = rk_system_numbers(system, RK_BF16, all);
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        const bool tiered = kind == RK_NUMBER_TIER_RATE || kind == RK_NUMBER_TIER_LATENCY;
        found = all[i].kind == kind && (!tiered || all[i].tier == tier) && all[i].value > 0;
        *out = all[i];
    }
    return found;
}

static rk_status check_change(const char *name, const rk_system *system, const rk_number *number,
                              int tier, double now, rk_error *err)
{
    assert(tier < system->tier_count);
    const bool domain = number->kind == RK_NUMBER_DOMAIN;
    if (domain && (tier > 0 || system->tiers[0].kind == RK_TIER_TORUS)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--set %.60s: only the innermost tier can have another size, and a torus "
                       "needs a system document with its axes",
                       name);
    }
    if (domain && (now < 2 || now > RK_DEGREE_MOST || now > (double)(int64_t)now)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--set %.60s: expected a whole number of accelerators from 2 to %d", name,
                       RK_DEGREE_MOST);
    }
    return number->kind != RK_NUMBER_MEMORY_SIZE && system->accelerator.measured
               ? rk_fail(err, RK_ERR_INVALID,
                         "--set %.60s: %s has measured tables, which hold for its own rates; give "
                         "a system document without them",
                         name, system->name)
               : RK_OK;
}

rk_status rk_what_if_set(const char *name, const char *value, rk_system *system, rk_number *change,
                         double *now, rk_error *err)
{
    const size_t i = find_name(name), length = tier_length(name);
    const int tier = length > 0 ? find_tier(system, name, length) : 0;
    if (i == COUNT(named) || tier < 0 || !find_number(system, named[i].kind, tier, change)) {
        return fail_name(name, system, err);
    }
    const bool bare = !rk_ends_with(name, named[i].name); /* keys have their unit */
    *now = read_amount(value, named[i].units, bare);
    if (!(*now > 0)) {
        return rk_fail(err, RK_ERR_INVALID, "--set %.60s needs a number such as %s, not '%.60s'",
                       name, named[i].example, value);
    }
    const rk_status status = check_change(name, system, change, tier, *now, err);
    if (status) {
        return status;
    }
    rk_system_set_number(system, change, *now);
    if (named[i].kind != RK_NUMBER_MEMORY_SIZE) {
        system->accelerator.product[0] = '\0';
        system->accelerator.uncertain = true;
    }
    return RK_OK;
}

rk_status rk_what_if_set_all(const char *text, rk_system *system, rk_error *err)
{
    char name[64], value[64];
    rk_status status = RK_OK;
    while (*text && !status) {
        const size_t length = strcspn(text, ","), before = strcspn(text, "=");
        rk_number change;
        double now;
        if (before >= length || before >= sizeof(name) || length - before > sizeof(value)) {
            return rk_fail(err, RK_ERR_INVALID,
                           "--set needs items such as nvlink.size=72,hbm=8TB/s, not '%.60s'", text);
        }
        (void)snprintf(name, sizeof(name), "%.*s", (int)before, text);
        (void)snprintf(value, sizeof(value), "%.*s", (int)(length - before - 1), text + before + 1);
        status = rk_what_if_set(name, value, system, &change, &now, err);
        text += length + (text[length] == ',');
    }
    return status;
}
