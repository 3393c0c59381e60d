/* SPDX-License-Identifier: Apache-2.0 */
/* Parses command lines with getopt_long: options, values, positional words and launch flags. */
#include "arguments.h"

#include "help.h"
#include "process_team.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    POSITIONAL = 1, /* getopt_long's answer for an argument that is not an option */
    HELP_ALL = 2,
    LONG_OPTION = 256 /* its answer for a long option: this plus the place in the table */
};

/* ---- errors ---------------------------------------------------------------------------- */

int rk_fail_command(const rk_command *command, const char *format, ...)
{
    va_list list;
    if (!rk_team_is_first()) {
        return RK_EXIT_USAGE;
    }
    va_start(list, format);
    (void)fprintf(stderr, "reckon %s: ", rk_command_name(command));
    (void)vfprintf(stderr, format, list);
    (void)fputc('\n', stderr);
    va_end(list);
    return RK_EXIT_USAGE;
}

int rk_fail_with(const rk_command *command, const rk_error *err)
{
    char text[1024];
    return rk_fail_command(command, "%s", rk_error_text(err, text, sizeof(text)));
}

/* ---- the table in getopt_long's two forms ---------------------------------------------- */

typedef struct tables {
    char *letters;        /* owned */
    struct option *names; /* owned */
    size_t letter_count, name_count;
} tables;

static rk_option_info info_of(const rk_option *option)
{
    rk_option_info info;
    rk_option_describe(option, &info, sizeof(info));
    return info;
}

static void add_letter(tables *t, char letter, bool takes_value)
{
    t->letters[t->letter_count++] = letter;
    if (takes_value) {
        t->letters[t->letter_count++] = ':';
    }
}

static void add_name(tables *t, const char *name, bool takes_value, int answer)
{
    t->names[t->name_count++] =
        (struct option){name, takes_value ? required_argument : no_argument, NULL, answer};
}

/*
 * The leading '-' returns positional arguments in their order among the options; the ':'
 * distinguishes a missing value from an unknown option.  Returns false when memory runs out.
 */
static bool fill_tables(const rk_command *command, tables *t)
{
    const rk_option *option;
    size_t names = 2, count = 0;
    for (; (option = rk_command_option(command, count)); count++) {
        names += 1 + info_of(option).alias_count;
    }
    *t = (tables){.letters = calloc(2 * count + 4, 1),
                  .names = calloc(names + 1, sizeof(struct option))};
    if (!t->letters || !t->names) {
        return false;
    }
    add_letter(t, '-', true);
    add_letter(t, 'h', false);
    add_name(t, "help", false, 'h');
    add_name(t, "help-all", false, HELP_ALL);
    for (size_t i = 0; i < count; i++) {
        const rk_option_info info = info_of(rk_command_option(command, i));
        const bool takes_value = info.value != NULL;
        if (info.positional) {
            continue;
        }
        if (info.letter) {
            add_letter(t, info.letter, takes_value);
        }
        add_name(t, info.name, takes_value, LONG_OPTION + (int)i);
        for (size_t j = 0; j < info.alias_count && info.aliases[j]; j++) {
            add_name(t, info.aliases[j], takes_value, LONG_OPTION + (int)i);
        }
    }
    return true;
}

static void free_tables(tables *t)
{
    free(t->letters);
    free(t->names);
}

/* ---- parsing --------------------------------------------------------------------------- */

/* Fills `info` with the option that getopt_long answered with; false: there is none. */
static bool find_option(const rk_command *command, int answer, rk_option_info *info)
{
    const rk_option *option = NULL;
    if (answer >= LONG_OPTION) {
        option = rk_command_option(command, (size_t)(answer - LONG_OPTION));
    }
    for (size_t i = 0; !option && answer > 0 && rk_command_option(command, i); i++) {
        if (info_of(rk_command_option(command, i)).letter == answer) {
            option = rk_command_option(command, i);
        }
    }
    if (option) {
        *info = info_of(option);
    }
    return option != NULL;
}

/*
 * Explains getopt_long's answer '?' or ':'; RK_PARSED: `given` is a long option that the table
 * lacks. `letters`: the word that is being read letter by letter, such as "-tp", or NULL.
 */
static int fail_option(const rk_command *command, int answer, const char *given,
                       const char *letters)
{
    rk_option_info info = {.name = "help"};
    const bool known = find_option(command, optopt, &info);
    if (known && answer == ':') {
        return rk_fail_command(command, "--%s needs a value: %s", info.name, info.value);
    }
    if (known || optopt == 'h') {
        return rk_fail_command(command, "--%s takes no value (found %s)", info.name, given);
    }
    if (optopt && letters && letters[0] == '-' && letters[1] == optopt && letters[2]) {
        return rk_fail_command(command, "unknown option %s; did you mean -%s?", letters, letters);
    }
    if (optopt) {
        return rk_fail_command(command, "unknown option -%c; 'reckon %s --help' lists the options",
                               optopt, rk_command_name(command));
    }
    return RK_PARSED;
}

/* Flags of a pasted launch line that have no effect, collected for one remark. */
#define UNUSED_SIZE 512

static void note_unused(char unused[UNUSED_SIZE], const char *name)
{
    const size_t length = strlen(unused), room = UNUSED_SIZE - length;
    const int n = snprintf(unused + length, room, "%s--%s", length > 0 ? ", " : "", name);
    if (n < 0 || (size_t)n >= room) {
        unused[length] = '\0'; /* whole names only */
    }
}

/* Whether a word begins with a number below 0. */
static bool is_negative(const char *word)
{
    return word[0] == '-' && word[1] >= '0' && word[1] <= '9';
}

/* Whether a word may be the value of a flag: not another flag, but "-1" is one. */
static bool is_value(const char *word)
{
    return word[0] != '-' || is_negative(word);
}

/*
 * Handles a long option that the table lacks: a flag of a launch line, as "--name=value" or "--name
 * value". Words after an unused flag are skipped.
 */
static int take_flag(const rk_command *command, int argc, char **argv, char unused[UNUSED_SIZE],
                     rk_job *job)
{
    char name[64];
    rk_error err;
    rk_flag_use use = RK_FLAG_ALONE;
    const char *given = argv[optind - 1] + strspn(argv[optind - 1], "-");
    const char *equals = strchr(given, '=');
    const char *next = optind < argc && is_value(argv[optind]) ? argv[optind] : NULL;
    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(given, "="), given);
    if (rk_job_set_launch_flag(job, name, equals ? equals + 1 : next, &use, &err)) {
        return rk_fail_with(command, &err);
    }
    if (use == RK_FLAG_UNUSED) {
        note_unused(unused, name);
        while (!equals && optind < argc && is_value(argv[optind])) {
            optind++;
        }
    } else if (use == RK_FLAG_WITH_VALUE && !equals) {
        optind++;
    }
    return RK_PARSED;
}

/* Whether a word is one of the choices of an option. */
static bool is_choice(const rk_option_info *info, const char *word)
{
    for (size_t i = 0; info->choices && info->choices[i]; i++) {
        if (strcmp(word, info->choices[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The names behind an option, between commas, as launch scripts write them between blanks. */
static const char *join_choices(const rk_option_info *info, int argc, char **argv, char *out,
                                size_t size)
{
    size_t used = (size_t)snprintf(out, size, "%s", optarg);
    if (strchr(info->value, ',') == NULL || !is_choice(info, optarg)) {
        return optarg;
    }
    while (optind < argc && used < size && is_choice(info, argv[optind])) {
        used += (size_t)snprintf(out + used, size - used, ",%s", argv[optind++]);
    }
    return out;
}

/* Sets a flag that is given as "--json=true". */
static int set_truth(const rk_command *command, const rk_option_info *info, const char *given,
                     rk_job *job)
{
    rk_error err;
    return rk_job_set(job, info->name, strchr(given, '=') + 1, &err) ? rk_fail_with(command, &err)
                                                                     : RK_PARSED;
}

/* Whether the value of an option is another option, as in "--plot --json": the value is missing. */
static bool is_option(const tables *t, const char *value)
{
    for (const struct option *o = t->names; strncmp(value, "--", 2) == 0 && o->name; o++) {
        if (strcmp(value + 2, o->name) == 0) {
            return true;
        }
    }
    return false;
}

/* `spelled`: the name that is given, which may be an alias; a truth may follow a flag. */
static int set_option(const rk_command *command, const rk_option_info *info, const char *spelled,
                      const tables *t, int argc, char **argv, rk_job *job)
{
    rk_error err;
    rk_flag_use use = RK_FLAG_ALONE;
    char joined[512];
    if (optarg && optarg == argv[optind - 1] && is_option(t, optarg)) {
        return rk_fail_command(command, "--%s needs a value, and %s is another option", info->name,
                               optarg);
    }
    const char *value = info->value     ? join_choices(info, argc, argv, joined, sizeof(joined))
                        : optind < argc ? argv[optind]
                                        : NULL;
    if (rk_job_set_launch_flag(job, spelled, value, &use, &err)) {
        return rk_fail_with(command, &err);
    }
    optind += !info->value && use == RK_FLAG_WITH_VALUE;
    return RK_PARSED;
}

/*
 * Assigns a word to the next positional argument, from `*next` on, or to the option that such words
 * set: "comm all-reduce h100" and "comm h100 all-reduce" are the same.
 */
static int set_positional(const rk_command *command, const char *word, size_t *next, rk_job *job)
{
    rk_error err, word_err;
    rk_option_info info;
    const rk_option *option;
    size_t place = *next;
    while ((option = rk_command_option(command, place)) && !info_of(option).positional) {
        place++;
    }
    if (!option) {
        return rk_job_set_word(job, word, &err) ? rk_fail_with(command, &err) : RK_PARSED;
    }
    info = info_of(option);
    if (rk_job_set(job, info.name, word, &err) == RK_OK) {
        *next = place + 1;
        return RK_PARSED;
    }
    if (!rk_job_set_word(job, word, &word_err)) {
        return RK_PARSED;
    }
    /* a second word of its kind, or an unknown one */
    const bool second = strncmp(word_err.message, "expected one ", strlen("expected one ")) == 0;
    return rk_fail_with(command, second ? &word_err : &err);
}

/* The same for a word that may begin a launch line, which extends to the last word, or be one. */
static int set_word(const rk_command *command, int argc, char **argv, size_t *next, rk_job *job)
{
    rk_error err;
    bool taken = false;
    const char *const *words = (const char *const *)&argv[optind - 1];
    const int count = strpbrk(words[0], " \t\n") ? 1 : argc - optind + 1;
    if (rk_job_set_launch_line(job, words, (size_t)count, &taken, &err)) {
        return rk_fail_with(command, &err);
    }
    optind += taken ? count - 1 : 0;
    return taken ? RK_PARSED : set_positional(command, optarg, next, job);
}

/* Resets getopt, which may have parsed another table before: it does so when it reads no words. */
static void begin_reading(const tables *t)
{
    char *const none[] = {NULL, NULL};
    optind = 0;
    opterr = 0;
    (void)getopt_long(1, none, t->letters, t->names, NULL);
}

/* The next option or word.  A number below 0 is a word: getopt would read its digits as options. */
static int read_next(int argc, char **argv, const tables *t, int *place)
{
    if (optind < argc && is_negative(argv[optind])) {
        optarg = argv[optind++];
        return POSITIONAL;
    }
    return getopt_long(argc, argv, t->letters, t->names, place);
}

static int read_all(const rk_command *command, int argc, char **argv, const tables *t, rk_job *job)
{
    size_t next = 0;
    int result = RK_PARSED, answer, place = 0;
    char unused[UNUSED_SIZE] = "";
    begin_reading(t);
    while (result == RK_PARSED && (answer = read_next(argc, argv, t, &place)) != -1) {
        rk_option_info info;
        if (answer == 'h' || answer == HELP_ALL) {
            rk_write_command_help(stdout, command, answer == HELP_ALL);
            return RK_EXIT_DONE;
        }
        if (answer == '?' && strchr(argv[optind - 1], '=') && find_option(command, optopt, &info) &&
            !info.value) {
            result = set_truth(command, &info, argv[optind - 1], job);
        } else if (answer == '?' || answer == ':') {
            result =
                fail_option(command, answer, argv[optind - 1], optind < argc ? argv[optind] : NULL);
            result = result == RK_PARSED ? take_flag(command, argc, argv, unused, job) : result;
        } else if (answer == POSITIONAL) {
            result = set_word(command, argc, argv, &next, job);
        } else if (find_option(command, answer, &info)) {
            const char *spelled = answer >= LONG_OPTION ? t->names[place].name : info.name;
            result = set_option(command, &info, spelled, t, argc, argv, job);
        }
    }
    for (; result == RK_PARSED && optind < argc; optind++) { /* behind "--" */
        result = set_positional(command, argv[optind], &next, job);
    }
    if (result == RK_PARSED && unused[0] && rk_team_is_first()) {
        (void)fprintf(stderr, "reckon %s: not used: %s\n", rk_command_name(command), unused);
    }
    return result;
}

int rk_arguments_read(const rk_command *command, int argc, char **argv, rk_job *job)
{
    tables t;
    const int result = fill_tables(command, &t)
                           ? read_all(command, argc, argv, &t, job)
                           : rk_fail_command(command, "not enough memory for the options");
    free_tables(&t);
    return result;
}

const char *rk_arguments_word(int argc, char **argv, int index)
{
    if (index + 1 >= argc) {
        return NULL;
    }
    for (int i = 1; i <= index + 1; i++) {
        if (argv[i][0] == '-') {
            return NULL;
        }
    }
    const char *word = argv[index + 1];
    const size_t digits = strspn(word, "0123456789");
    return digits > 0 && word[digits] && strchr("xX*", word[digits]) ? word + digits + 1 : word;
}

bool rk_arguments_have(int argc, char **argv, const char *flag)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i] + 2;
        if (strncmp(argv[i], "--", 2) == 0 && *name &&
            strncmp(name, flag, strcspn(name, "=")) == 0) {
            return true;
        }
    }
    return false;
}

const char *rk_arguments_find(int argc, char **argv, const char *name)
{
    const size_t length = strlen(name);
    for (int i = 1; i < argc; i++) {
        const char *given = argv[i];
        if (strncmp(given, "--", 2) != 0 || strncmp(given + 2, name, length) != 0) {
            continue;
        }
        if (given[2 + length] == '=') {
            return given + 2 + length + 1;
        }
        if (given[2 + length] == '\0' && i + 1 < argc) {
            return argv[i + 1];
        }
    }
    return NULL;
}
