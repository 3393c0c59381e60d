/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options as text. */
#include "job/option.h"

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- words ----------------------------------------------------------------------------------- */

const char *rk_option_form(const rk_option *option, char out[RK_OPTION_WORD_SIZE])
{
    if (option->positional) {
        return option->value;
    }
    (void)snprintf(out, RK_OPTION_WORD_SIZE, "--%s", option->name);
    return out;
}

const char *rk_join_words(const char *const *words, size_t count, const char *last, char *out,
                          size_t size)
{
    assert(size > 0);
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++) {
        const char *separator = i == 0 ? "" : i + 1 == count ? last : ", ";
        const int n = snprintf(out + used, size - used, "%s%s", separator, words[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    return out;
}

static size_t choice_count(const char *const *choices)
{
    size_t count = 0;
    while (choices[count]) {
        count++;
    }
    return count;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The power of 1000 or 1024 that a letter means; -1: none. */
static int suffix_power(char letter)
{
    static const char letters[] = "kmgt";
    const char lower = letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
    const char *place = lower ? strchr(letters, lower) : NULL;
    return place ? (int)(place - letters) + 1 : -1;
}

/*
 * The factor of a suffix such as "k" or "Gi"; 0 when it is none.  "B" is a billion, but of bytes it
 * is the unit: "64KiB".  `all_binary`: "k" is 1024 too.
 */
static int64_t suffix_factor(const char *suffix, bool bytes, bool all_binary)
{
    size_t length = strlen(suffix);
    if (!bytes && (strcmp(suffix, "B") == 0 || strcmp(suffix, "b") == 0)) {
        return 1000000000;
    }
    length -= bytes && length > 0 && suffix[length - 1] == 'B';
    if (length == 0) {
        return 1;
    }
    const int power = suffix_power(suffix[0]);
    const bool named = length == 2 && suffix[1] == 'i';
    if (power < 0 || (length > 1 && !named)) {
        return 0;
    }
    int64_t factor = 1;
    for (int i = 0; i < power; i++) {
        factor *= named || all_binary ? 1024 : 1000;
    }
    return factor;
}

/* Reads a whole number with an optional suffix. */
static bool read_count(const char *text, const rk_option *option, int64_t *value)
{
    char *end = NULL;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    const bool starts = (text[0] >= '0' && text[0] <= '9') || text[0] == '-';
    if (!starts || end == text || errno) {
        return false;
    }
    const int64_t factor = suffix_factor(end, option->bytes, option->binary);
    if (factor == 0 || number > INT64_MAX / factor || number < INT64_MIN / factor) {
        return false;
    }
    *value = number * factor;
    return true;
}

/* Whether a suffix means bytes: "TB", "GiB". */
static bool is_bytes(const char *suffix)
{
    const char *unit = suffix + (suffix[0] && suffix_power(suffix[0]) > 0);
    unit += unit > suffix && *unit == 'i';
    return unit > suffix && strcmp(unit, "B") == 0;
}

/* "15TB" tokens. */
static rk_status fail_bytes(const rk_option *option, const char *given, const char *suffix,
                            rk_error *err)
{
    char name[RK_OPTION_WORD_SIZE];
    return rk_fail(err, RK_ERR_INVALID, "%s counts in %c, not in bytes: write %.*s%c, not '%s'",
                   rk_option_form(option, name), *suffix, (int)(suffix - given), given, *suffix,
                   given);
}

/* `given`: the number as it is shown. */
static rk_status check_count(const rk_option *option, int64_t value, const char *given,
                             rk_error *err)
{
    char name[RK_OPTION_WORD_SIZE];
    if (value < option->min && option->max == INT64_MAX) {
        return rk_fail(err, RK_ERR_INVALID, "%s needs at least %" PRId64 ", not %s",
                       rk_option_form(option, name), option->min, given);
    }
    if (value < option->min || value > option->max) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s needs a number from %" PRId64 " to %" PRId64 ", not %s",
                       rk_option_form(option, name), option->min, option->max, given);
    }
    return RK_OK;
}

static rk_status set_count(const rk_option *option, const char *given, int64_t *value,
                           rk_error *err)
{
    enum { FEW = 64 };
    char name[RK_OPTION_WORD_SIZE];
    const char *suffix = given + strspn(given, "0123456789");
    if (!option->bytes && suffix > given && is_bytes(suffix)) {
        return fail_bytes(option, given, suffix, err);
    }
    const bool read = read_count(given, option, value);
    if (!read && option->max < FEW) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s needs a number from %" PRId64 " to %" PRId64 ", not '%s'",
                       rk_option_form(option, name), option->min, option->max, given);
    }
    if (!read) {
        return rk_fail(err, RK_ERR_INVALID, "%s needs a whole number such as %s, not '%s'",
                       rk_option_form(option, name),
                       option->bytes ? "64, 4KiB or 2GB" : "64, 4k or 2Mi", given);
    }
    return check_count(option, *value, given, err);
}

/* Whether a name means a choice; "all-reduce" and "AllReduce" are "all_reduce". */
static bool is_choice(const char *given, const char *choice)
{
    for (;; given++, choice++) {
        given += strspn(given, "-_");
        choice += strspn(choice, "-_");
        if (!*given || !*choice) {
            return *given == *choice;
        }
        if (tolower((unsigned char)*given) != tolower((unsigned char)*choice)) {
            return false;
        }
    }
}

static rk_status set_choice(const rk_option *option, const char *given, int *value, rk_error *err)
{
    char name[RK_OPTION_WORD_SIZE], list[256];
    const size_t count = choice_count(option->choices);
    for (const rk_named_text *s = option->synonyms; s && s->name; s++) {
        given = is_choice(given, s->name) ? s->text : given;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_choice(given, option->choices[i])) {
            *value = (int)i;
            return RK_OK;
        }
    }
    const char *nearest = rk_nearest_name(given, option->choices, count);
    return rk_fail(err, RK_ERR_INVALID, "%s must be %s, not '%s'%s%s%s",
                   rk_option_form(option, name),
                   rk_join_words(option->choices, count, " or ", list, sizeof(list)), given,
                   nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* The factor of what follows a number of GiB: "", "GB", "GiB"; "G" is GiB; 0 when it is none. */
static double memory_factor(const char *suffix)
{
    const int64_t factor = suffix_factor(suffix, true, !rk_ends_with(suffix, "B"));
    return *suffix ? (double)factor / GIB : 1;
}

/* A share up to 1, or a percentage up to 100, as a share; 0 if it is neither. */
static double read_share(const char *given)
{
    char *end = NULL;
    const bool starts = (given[0] >= '0' && given[0] <= '9') || given[0] == '.';
    const double number = starts ? strtod(given, &end) : 0;
    const bool percent = starts && strcmp(end, "%") == 0;
    if (!starts || end == given || (*end && !percent) || !(number > 0 && number <= 100)) {
        return 0;
    }
    return percent || number > 1 ? number / 100 : number;
}

static rk_status set_share(const rk_option *option, const char *given, double *value, rk_error *err)
{
    char name[RK_OPTION_WORD_SIZE];
    *value = read_share(given);
    return *value > 0 ? RK_OK
                      : rk_fail(err, RK_ERR_INVALID,
                                "%s needs a share up to 1 or a percentage up to 100, such as 0.4 "
                                "or 40%%, not '%s'",
                                rk_option_form(option, name), given);
}

/* `given`: the number as it is shown. */
static rk_status check_real(const rk_option *option, double value, const char *given, rk_error *err)
{
    char name[RK_OPTION_WORD_SIZE];
    if (option->above && value <= (double)option->min) {
        return rk_fail(err, RK_ERR_INVALID, "%s needs a number above %" PRId64 ", not %s",
                       rk_option_form(option, name), option->min, given);
    }
    if (value < (double)option->min && option->max == INT64_MAX) {
        return rk_fail(err, RK_ERR_INVALID, "%s needs a number of %" PRId64 " or more, not %s",
                       rk_option_form(option, name), option->min, given);
    }
    if (value < (double)option->min || value > (double)option->max) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s needs a number from %" PRId64 " to %" PRId64 ", not %s",
                       rk_option_form(option, name), option->min, option->max, given);
    }
    return RK_OK;
}

static rk_status set_real(const rk_option *option, const char *given, double *value, rk_error *err)
{
    char name[RK_OPTION_WORD_SIZE], *end = NULL;
    const bool starts = (given[0] >= '0' && given[0] <= '9') || given[0] == '.' || given[0] == '-';
    *value = starts ? strtod(given, &end) : 0;
    const double factor = !starts || end == given ? 0
                          : option->gib           ? memory_factor(end)
                                        : (double)suffix_factor(end, option->bytes, false);
    *value *= factor;
    if (starts && factor == 0 && end != given && !option->gib && is_bytes(end)) {
        return fail_bytes(option, given, end, err);
    }
    if (!(factor > 0) || !isfinite(*value)) {
        return rk_fail(err, RK_ERR_INVALID, "%s needs a number such as %s, not '%s'",
                       rk_option_form(option, name), option->gib ? "70, 70GiB or 70GB" : "1.5",
                       given);
    }
    const rk_status status = check_real(option, *value, given, err);
    *value *= option->unit > 0 ? option->unit : 1;
    return status;
}

double rk_option_amount(const char **at, bool binary)
{
    char suffix[RK_OPTION_WORD_SIZE], *end = NULL;
    const bool starts = (**at >= '0' && **at <= '9') || **at == '.';
    const double number = starts ? strtod(*at, &end) : 0;
    if (!starts || end == *at) {
        return 0;
    }
    const size_t length = strcspn(end, ":,");
    (void)snprintf(suffix, sizeof(suffix), "%.*s", (int)length, end);
    const double value = number * (double)suffix_factor(suffix, false, binary);
    *at = end + length;
    return value > 0 && isfinite(value) ? value : 0;
}

/* Splits the next comma-separated value off `*rest`; false if there is none. */
static bool next_item(const char **rest, char item[RK_OPTION_WORD_SIZE])
{
    if (!*rest) {
        return false;
    }
    const size_t length = strcspn(*rest, ",");
    (void)snprintf(item, RK_OPTION_WORD_SIZE, "%.*s", (int)length, *rest);
    *rest = (*rest)[length] ? *rest + length + 1 : NULL;
    return true;
}

static rk_status add_count(const rk_option *option, int64_t value, rk_option_counts *counts,
                           rk_error *err)
{
    assert(counts->count >= 0 && counts->count <= RK_OPTION_COUNTS_MAX);
    char name[RK_OPTION_WORD_SIZE];
    if (counts->count == RK_OPTION_COUNTS_MAX) {
        return rk_fail(err, RK_ERR_INVALID, "%s takes at most %d numbers",
                       rk_option_form(option, name), RK_OPTION_COUNTS_MAX);
    }
    counts->values[counts->count++] = value;
    return RK_OK;
}

/* "1Mi..1Gi": a count, twice it, and so on up to the last, which is there in any case. */
static rk_status add_doublings(const rk_option *option, char *first_text, char *last_text,
                               rk_option_counts *counts, rk_error *err)
{
    char name[RK_OPTION_WORD_SIZE];
    int64_t first = 0, last = 0;
    rk_status status = set_count(option, first_text, &first, err);
    status = status ? status : set_count(option, last_text, &last, err);
    if (!status && (first < 1 || first > last)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "%s needs a first number from 1 to the last, not %s..%s",
                       rk_option_form(option, name), first_text, last_text);
    }
    for (int64_t next = first; !status; next *= 2) {
        status = add_count(option, next, counts, err);
        if (next > last / 2) {
            return status || next == last ? status : add_count(option, last, counts, err);
        }
    }
    return status;
}

static rk_status set_counts(const rk_option *option, const char *given, rk_option_counts *counts,
                            rk_error *err)
{
    char item[RK_OPTION_WORD_SIZE];
    rk_status status = RK_OK;
    counts->count = 0;
    while (!status && next_item(&given, item)) {
        char *dots = strstr(item, "..");
        int64_t value = 0;
        if (dots) {
            *dots = '\0';
            status = add_doublings(option, item, dots + 2, counts, err);
            continue;
        }
        status = set_count(option, item, &value, err);
        status = status ? status : add_count(option, value, counts, err);
    }
    return status;
}

static rk_status set_set(const rk_option *option, const char *given, unsigned *set, rk_error *err)
{
    char item[RK_OPTION_WORD_SIZE];
    rk_status status = RK_OK;
    int index = 0;
    unsigned found = 0;
    while (!status && next_item(&given, item)) {
        status = set_choice(option, item, &index, err);
        found |= 1U << index;
    }
    *set = status ? *set : found;
    return status;
}

const char *rk_truth_of(const char *word)
{
    static const char *const words[][2] = {
        {"true", "true"}, {"1", "true"}, {"false", "false"}, {"0", "false"}};
    for (size_t i = 0; word && i < COUNT(words); i++) {
        if (strcasecmp(word, words[i][0]) == 0) {
            return words[i][1];
        }
    }
    return NULL;
}

static rk_status set_flag(const rk_option *option, const char *given, bool *value, rk_error *err)
{
    char name[RK_OPTION_WORD_SIZE];
    const char *truth = given ? rk_truth_of(given) : "true";
    if (!truth) {
        return rk_fail(err, RK_ERR_INVALID, "%s is true or false, not '%s'",
                       rk_option_form(option, name), given);
    }
    *value = strcmp(truth, "true") == 0;
    return RK_OK;
}

rk_status rk_option_read(const rk_option *option, const char *given, void *values, rk_error *err)
{
    void *value = (char *)values + option->offset;
    switch (option->type) {
    case RK_OPTION_TEXT:
        *(const char **)value = given;
        return RK_OK;
    case RK_OPTION_FLAG:
        return set_flag(option, given, value, err);
    case RK_OPTION_COUNT:
        return set_count(option, given, value, err);
    case RK_OPTION_CHOICE:
        return set_choice(option, given, value, err);
    case RK_OPTION_REAL:
        return option->share ? set_share(option, given, value, err)
                             : set_real(option, given, value, err);
    case RK_OPTION_COUNTS:
        return set_counts(option, given, value, err);
    case RK_OPTION_SET:
        return set_set(option, given, value, err);
    }
    return RK_OK;
}
