/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include "base/text.h"
#include "cli/progress.h"
#include "cli/team.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    POSITIONAL = 1,   /* getopt_long's answer for an argument that is no option */
    LONG_OPTION = 256 /* its answer for a long option: this plus the place in the table */
};

#define LINE_WIDTH 100
#define NAMES_MAX  ((1 + RK_ALIAS_MAX) * RK_OPTION_MAX + 1) /* with --help */

/* ---- the table ------------------------------------------------------------------------- */

size_t rk_command_option_count(const rk_command *command)
{
    return command->shared_count + command->option_count;
}

const rk_option *rk_command_option(const rk_command *command, size_t index)
{
    return index < command->shared_count ? &command->shared[index]
                                         : &command->options[index - command->shared_count];
}

/* ---- errors ---------------------------------------------------------------------------- */

int rk_command_fail(const rk_command *command, const char *format, ...)
{
    va_list list;
    if (!rk_team_is_first()) {
        return RK_EXIT_USAGE;
    }
    va_start(list, format);
    (void)fprintf(stderr, "reckon %s: ", command->name);
    (void)vfprintf(stderr, format, list);
    (void)fputc('\n', stderr);
    va_end(list);
    return RK_EXIT_USAGE;
}

int rk_command_fail_error(const rk_command *command, const rk_error *err)
{
    char text[1024];
    return rk_command_fail(command, "%s", rk_error_text(err, text, sizeof(text)));
}

int rk_command_end(const rk_command *command, rk_status status, bool found, const rk_error *err)
{
    if (status == RK_ERR_STOPPED) {
        return rk_progress_signal_status();
    }
    if (status) {
        return rk_command_fail_error(command, err);
    }
    return found ? RK_EXIT_DONE : RK_EXIT_NOTHING;
}

/* An option in a message: "--output", or "FILE" where it is positional. */
#define FORM_SIZE 64
static const char *form(const rk_option *option, char out[FORM_SIZE])
{
    if (option->positional) {
        return option->value;
    }
    (void)snprintf(out, FORM_SIZE, "--%s", option->name);
    return out;
}

/* Joins texts for a message: "a, b and c". */
static const char *join(const char *const *texts, size_t count, const char *last, char *out,
                        size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++) {
        const char *separator = i == 0 ? "" : i + 1 == count ? last : ", ";
        const int n = snprintf(out + used, size - used, "%s%s", separator, texts[i]);
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

/* Explains a long option that getopt_long refuses: the start of several, or of none. */
static int fail_unknown(const rk_command *command, const char *given)
{
    const char *names[NAMES_MAX], *fitting[NAMES_MAX];
    char list[256];
    size_t name_count = 0, fitting_count = 0;
    const char *name = given + strspn(given, "-");
    const size_t length = strcspn(name, "=");
    char wanted[FORM_SIZE];
    (void)snprintf(wanted, sizeof(wanted), "%.*s", (int)length, name);

    names[name_count++] = "help";
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        const rk_option *option = rk_command_option(command, i);
        if (!option->positional) {
            names[name_count++] = option->name;
        }
        for (int j = 0; j < RK_ALIAS_MAX && option->aliases[j]; j++) {
            names[name_count++] = option->aliases[j];
        }
    }
    for (size_t i = 0; i < name_count; i++) {
        if (length > 0 && strncmp(names[i], wanted, length) == 0) {
            fitting[fitting_count++] = names[i];
        }
    }
    if (fitting_count > 1) {
        return rk_command_fail(command, "option %s could be --%s", given,
                               join(fitting, fitting_count, " or --", list, sizeof(list)));
    }
    const char *nearest = rk_nearest_name(wanted, names, name_count);
    if (nearest) {
        return rk_command_fail(command, "unknown option %s; did you mean --%s?", given, nearest);
    }
    return rk_command_fail(command, "unknown option %s; 'reckon %s --help' lists the options",
                           given, command->name);
}

/* ---- values ---------------------------------------------------------------------------- */

/* The power of 1000 or 1024 that a letter stands for; -1: none. */
static int suffix_power(char letter)
{
    static const char letters[] = "kmgt";
    const char lower = letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
    const char *place = lower ? strchr(letters, lower) : NULL;
    return place ? (int)(place - letters) + 1 : -1;
}

/*
 * The factor of a suffix such as "k" or "Gi"; 0 when it is none.  "B" is a billion, but of bytes it
 * is the unit: "64KiB".
 */
static int64_t suffix_factor(const char *suffix, bool bytes)
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
    const bool binary = length == 2 && suffix[1] == 'i';
    if (power < 0 || (length > 1 && !binary)) {
        return 0;
    }
    int64_t factor = 1;
    for (int i = 0; i < power; i++) {
        factor *= binary ? 1024 : 1000;
    }
    return factor;
}

/* Reads a whole number with an optional suffix. */
static bool read_count(const char *text, bool bytes, int64_t *value)
{
    char *end = NULL;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    const bool starts = (text[0] >= '0' && text[0] <= '9') || text[0] == '-';
    if (!starts || end == text || errno) {
        return false;
    }
    const int64_t factor = suffix_factor(end, bytes);
    if (factor == 0 || number > INT64_MAX / factor || number < INT64_MIN / factor) {
        return false;
    }
    *value = number * factor;
    return true;
}

static int set_count(const rk_command *command, const rk_option *option, const char *given,
                     int64_t *value)
{
    char name[FORM_SIZE];
    if (!read_count(given, option->bytes, value)) {
        return rk_command_fail(command, "%s needs a whole number such as %s, not '%s'",
                               form(option, name),
                               option->bytes ? "64, 4KiB or 2GB" : "64, 4k or 2Mi", given);
    }
    if (*value < option->min && option->max == INT64_MAX) {
        return rk_command_fail(command, "%s needs at least %" PRId64 ", not %s", form(option, name),
                               option->min, given);
    }
    if (*value < option->min || *value > option->max) {
        return rk_command_fail(command, "%s needs a number from %" PRId64 " to %" PRId64 ", not %s",
                               form(option, name), option->min, option->max, given);
    }
    return RK_PARSED;
}

static int set_choice(const rk_command *command, const rk_option *option, const char *given,
                      int *value)
{
    char name[FORM_SIZE], list[256];
    const size_t count = choice_count(option->choices);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(option->choices[i], given) == 0) {
            *value = (int)i;
            return RK_PARSED;
        }
    }
    const char *nearest = rk_nearest_name(given, option->choices, count);
    return rk_command_fail(command, "%s must be %s, not '%s'%s%s%s", form(option, name),
                           join(option->choices, count, " or ", list, sizeof(list)), given,
                           nearest ? "; did you mean " : "", nearest ? nearest : "",
                           nearest ? "?" : "");
}

static int set_real(const rk_command *command, const rk_option *option, const char *given,
                    double *value)
{
    char name[FORM_SIZE], *end = NULL;
    const bool starts = (given[0] >= '0' && given[0] <= '9') || given[0] == '.' || given[0] == '-';
    *value = starts ? strtod(given, &end) : 0;
    const int64_t factor = starts && end != given ? suffix_factor(end, option->bytes) : 0;
    *value *= (double)factor;
    if (factor == 0 || !isfinite(*value)) {
        return rk_command_fail(command, "%s needs a number such as 1.5, not '%s'",
                               form(option, name), given);
    }
    if (option->above && *value <= (double)option->min) {
        return rk_command_fail(command, "%s needs a number above %" PRId64 ", not %s",
                               form(option, name), option->min, given);
    }
    if (*value < (double)option->min || *value > (double)option->max) {
        return rk_command_fail(command, "%s needs a number from %" PRId64 " to %" PRId64 ", not %s",
                               form(option, name), option->min, option->max, given);
    }
    return RK_PARSED;
}

/* Takes the next of several values between commas off `*rest`; false when there is none. */
static bool next_item(const char **rest, char item[FORM_SIZE])
{
    if (!*rest) {
        return false;
    }
    const size_t length = strcspn(*rest, ",");
    (void)snprintf(item, FORM_SIZE, "%.*s", (int)length, *rest);
    *rest = (*rest)[length] ? *rest + length + 1 : NULL;
    return true;
}

static int set_counts(const rk_command *command, const rk_option *option, const char *given,
                      rk_option_counts *counts)
{
    char item[FORM_SIZE], name[FORM_SIZE];
    int result = RK_PARSED;
    counts->count = 0;
    while (result == RK_PARSED && next_item(&given, item)) {
        if (counts->count == RK_OPTION_COUNTS_MAX) {
            return rk_command_fail(command, "%s takes at most %d numbers", form(option, name),
                                   RK_OPTION_COUNTS_MAX);
        }
        result = set_count(command, option, item, &counts->values[counts->count++]);
    }
    return result;
}

static int set_set(const rk_command *command, const rk_option *option, const char *given,
                   unsigned *set)
{
    char item[FORM_SIZE];
    int result = RK_PARSED, index = 0;
    *set = 0;
    while (result == RK_PARSED && next_item(&given, item)) {
        result = set_choice(command, option, item, &index);
        *set |= 1U << index;
    }
    return result;
}

static int set_value(const rk_command *command, const rk_option *option, const char *given,
                     void *values)
{
    void *value = (char *)values + option->offset;
    switch (option->type) {
    case RK_OPTION_TEXT:
        *(const char **)value = given;
        return RK_PARSED;
    case RK_OPTION_FLAG:
        *(bool *)value = true;
        return RK_PARSED;
    case RK_OPTION_COUNT:
        return set_count(command, option, given, value);
    case RK_OPTION_CHOICE:
        return set_choice(command, option, given, value);
    case RK_OPTION_REAL:
        return set_real(command, option, given, value);
    case RK_OPTION_COUNTS:
        return set_counts(command, option, given, value);
    case RK_OPTION_SET:
        return set_set(command, option, given, value);
    }
    return RK_PARSED;
}

/* ---- parsing --------------------------------------------------------------------------- */

/* The table in getopt_long's two forms. */
typedef struct getopt_tables {
    char letters[2 * RK_OPTION_MAX + 4];
    struct option names[NAMES_MAX + 1];
} getopt_tables;

/*
 * The leading '-' hands over positional arguments where they stand; the ':' tells a missing value
 * from an unknown option.
 */
static void fill_tables(const rk_command *command, getopt_tables *tables)
{
    size_t letter_count = 0, name_count = 0;
    assert(rk_command_option_count(command) <= RK_OPTION_MAX);
    memset(tables, 0, sizeof(*tables));
    tables->letters[letter_count++] = '-';
    tables->letters[letter_count++] = ':';
    tables->letters[letter_count++] = 'h';
    tables->names[name_count++] = (struct option){"help", no_argument, NULL, 'h'};
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        const rk_option *option = rk_command_option(command, i);
        const bool flag = option->type == RK_OPTION_FLAG;
        if (option->positional) {
            continue;
        }
        if (option->letter) {
            tables->letters[letter_count++] = option->letter;
            tables->letters[letter_count] = ':';
            letter_count += flag ? 0 : 1;
            tables->letters[letter_count] = '\0';
        }
        struct option name = {option->name, flag ? no_argument : required_argument, NULL,
                              LONG_OPTION + (int)i};
        tables->names[name_count++] = name;
        for (int j = 0; j < RK_ALIAS_MAX && option->aliases[j]; j++) {
            name.name = option->aliases[j];
            tables->names[name_count++] = name;
        }
    }
}

/* Returns the place of the option that getopt_long answered with, NO_OPTION when there is none. */
#define NO_OPTION SIZE_MAX
static size_t find_option(const rk_command *command, int answer)
{
    if (answer >= LONG_OPTION) {
        return (size_t)(answer - LONG_OPTION);
    }
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        if (answer && rk_command_option(command, i)->letter == answer) {
            return i;
        }
    }
    return NO_OPTION;
}

/* Explains an answer of '?' or ':'; `given` is the argument at fault. */
static int fail_option(const rk_command *command, int answer, const char *given)
{
    char name[FORM_SIZE];
    const size_t place = find_option(command, optopt);
    const rk_option *option = place == NO_OPTION ? NULL : rk_command_option(command, place);
    if (option && answer == ':') {
        return rk_command_fail(command, "%s needs a value: %s", form(option, name), option->value);
    }
    if (option || optopt == 'h') {
        return rk_command_fail(command, "%s takes no value (found %s)",
                               option ? form(option, name) : "--help", given);
    }
    if (optopt) {
        return rk_command_fail(command, "unknown option -%c; 'reckon %s --help' lists the options",
                               optopt, command->name);
    }
    return fail_unknown(command, given);
}

/* Gives a value to the next positional argument; `*next` is where to look for it. */
static int set_positional(const rk_command *command, const char *given, void *values, size_t *next)
{
    const size_t count = rk_command_option_count(command);
    while (*next < count && !rk_command_option(command, *next)->positional) {
        (*next)++;
    }
    if (*next == count) {
        return rk_command_fail(command, "unexpected argument '%s'; 'reckon %s --help' says more",
                               given, command->name);
    }
    return set_value(command, rk_command_option(command, (*next)++), given, values);
}

static int check_required(const rk_command *command, const bool *seen)
{
    char names[RK_OPTION_MAX][FORM_SIZE], list[256];
    const char *missing[RK_OPTION_MAX];
    size_t count = 0;
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        const rk_option *option = rk_command_option(command, i);
        if (option->required && !seen[i]) {
            missing[count] = form(option, names[count]);
            count++;
        }
    }
    if (count == 0) {
        return RK_PARSED;
    }
    return rk_command_fail(command, "%s %s missing; 'reckon %s --help' says more",
                           join(missing, count, " and ", list, sizeof(list)),
                           count > 1 ? "are" : "is", command->name);
}

int rk_options_parse(const rk_command *command, int argc, char **argv, void *values)
{
    getopt_tables tables;
    bool seen[RK_OPTION_MAX] = {false};
    size_t next = 0;
    int result = RK_PARSED, answer;

    fill_tables(command, &tables);
    optind = 0; /* start afresh: another table may have been parsed before */
    opterr = 0;
    while (result == RK_PARSED &&
           (answer = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
        if (answer == 'h') {
            rk_options_help(command);
            return RK_EXIT_DONE;
        }
        if (answer == '?' || answer == ':') {
            return fail_option(command, answer, argv[optind - 1]);
        }
        if (answer == POSITIONAL) {
            result = set_positional(command, optarg, values, &next);
        } else {
            const size_t place = find_option(command, answer);
            seen[place] = true;
            result = set_value(command, rk_command_option(command, place), optarg, values);
        }
    }
    for (; result == RK_PARSED && optind < argc; optind++) { /* behind "--" */
        result = set_positional(command, argv[optind], values, &next);
    }
    for (size_t i = 0; i < next; i++) {
        seen[i] = seen[i] || rk_command_option(command, i)->positional;
    }
    return result == RK_PARSED ? check_required(command, seen) : result;
}

/* ---- help ------------------------------------------------------------------------------ */

/* Appends a piece of the usage line, which breaks before the piece when it gets too long. */
static int print_piece(int column, const char *piece)
{
    if (column + 1 + (int)strlen(piece) > LINE_WIDTH) {
        column = printf("\n        ") - 1;
    }
    return column + printf(" %s", piece);
}

static void print_usage(const rk_command *command)
{
    bool optional = false;
    char piece[192];
    int column = printf("usage: reckon %s", command->name);
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        const rk_option *option = rk_command_option(command, i);
        if (option->positional) {
            (void)snprintf(piece, sizeof(piece), option->required ? "%s" : "[%s]", option->value);
        } else if (option->required) {
            (void)snprintf(piece, sizeof(piece), "--%s %s", option->name, option->value);
        } else {
            optional = true;
            continue;
        }
        column = print_piece(column, piece);
    }
    if (optional) {
        (void)print_piece(column, "[OPTION...]");
    }
    (void)putchar('\n');
}

static void print_option(const rk_option *option)
{
    char left[192];
    if (option->positional) {
        (void)snprintf(left, sizeof(left), "%s", option->value);
    } else {
        const char letter[] = {'-', option->letter, ',', ' ', '\0'};
        (void)snprintf(left, sizeof(left), "%s--%s%s%s", option->letter ? letter : "    ",
                       option->name, option->value ? " " : "", option->value ? option->value : "");
    }
    if (strlen(left) > 28) {
        (void)printf("  %s\n  %-28s  %s", left, "", option->help);
    } else {
        (void)printf("  %-28s  %s", left, option->help);
    }
    if (option->choices) {
        char list[256];
        (void)printf(" (%s)", join(option->choices, choice_count(option->choices), ", ", list,
                                   sizeof(list)));
    }
    (void)putchar('\n');
}

static void print_aliases(const rk_command *command)
{
    const char *introduction = "\nalso understood:\n";
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        const rk_option *option = rk_command_option(command, i);
        for (int j = 0; j < RK_ALIAS_MAX && option->aliases[j]; j++) {
            (void)printf("%s  --%s for --%s\n", introduction, option->aliases[j], option->name);
            introduction = "";
        }
    }
}

void rk_options_help(const rk_command *command)
{
    print_usage(command);
    (void)printf("\n%s.\n\n", command->purpose);
    for (size_t i = 0; i < rk_command_option_count(command); i++) {
        print_option(rk_command_option(command, i));
    }
    (void)printf("  %-28s  %s\n", "-h, --help", "print this text");
    print_aliases(command);
    if (command->notes) {
        (void)printf("\n%s\n", command->notes);
    }
}
