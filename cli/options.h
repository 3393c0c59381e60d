/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands and their options: one constant table reads, checks, suggests, completes and documents
 * the arguments of a command, which land in a plain struct of its own.
 */
#ifndef RK_CLI_OPTIONS_H
#define RK_CLI_OPTIONS_H

#include "reckon/reckon.h"

/* Exit statuses of every command. */
#define RK_EXIT_DONE    0
#define RK_EXIT_NOTHING 1 /* no feasible answer */
#define RK_EXIT_USAGE   2 /* wrong usage or wrong input */

typedef enum rk_option_type {
    RK_OPTION_TEXT,   /* const char *, borrowed from argv */
    RK_OPTION_FLAG,   /* bool; takes no value */
    RK_OPTION_COUNT,  /* int64_t; k M G B T stand for powers of 1000 (B: 10^9), Ki Mi Gi Ti of 1024
                       */
    RK_OPTION_CHOICE, /* int: index in `choices` */
    RK_OPTION_REAL,   /* double */
    RK_OPTION_COUNTS, /* rk_option_counts: counts between commas */
    RK_OPTION_SET,    /* unsigned: names between commas, a bit per index in `choices` */
} rk_option_type;

#define RK_OPTION_COUNTS_MAX 32
typedef struct rk_option_counts {
    int count;
    int64_t values[RK_OPTION_COUNTS_MAX];
} rk_option_counts;

#define RK_ALIAS_MAX 2

/* One option or positional argument.  What is not given keeps its value in the struct. */
typedef struct rk_option {
    const char *name; /* "threads": --threads, or the name of a positional argument */
    const char *aliases[RK_ALIAS_MAX]; /* other long names, which users of other tools type */
    char letter;                       /* 'o': -o as well; 0: none */
    bool positional;                   /* taken in table order */
    bool required;
    rk_option_type type;
    size_t offset;              /* of the variable in the struct */
    int64_t min, max;           /* inclusive bounds of numbers */
    bool above;                 /* `min` itself is refused */
    bool bytes;                 /* a final B is the unit: 64, 64B, 64KiB, 1GB */
    const char *const *choices; /* NULL-terminated */
    const char *value;          /* what help calls the value, e.g. "NAME|FILE" */
    const char *catalogue;      /* shell completion offers names of this kind; NULL: none */
    const char *help;           /* one line */
} rk_option;

#define RK_OPTION_MAX 96 /* options of one command */

typedef struct rk_command {
    const char *name;    /* "plan" */
    const char *purpose; /* one sentence, without a full stop */
    const rk_option *options;
    size_t option_count;
    const rk_option *shared; /* options of several commands, told first; NULL: none */
    size_t shared_count;
    const char *notes;                 /* ends the help text; NULL: nothing */
    int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
} rk_command;

/* All options of a command: `shared`, then `options`. */
size_t rk_command_option_count(const rk_command *command);
const rk_option *rk_command_option(const rk_command *command, size_t index);

#define RK_PARSED (-1)

/*
 * Parses argv[1 .. argc-1], options and positional arguments in any order, into `values`.
 * Returns RK_PARSED, or the exit status when there is nothing left to do: RK_EXIT_DONE after
 * --help, RK_EXIT_USAGE after an error (told on standard error in one line).
 */
int rk_options_parse(const rk_command *command, int argc, char **argv, void *values);

/* Writes the help text of a command to standard output. */
void rk_options_help(const rk_command *command);

/* Says "reckon NAME: message" on standard error.  Returns RK_EXIT_USAGE. */
int rk_command_fail(const rk_command *command, const char *format, ...) RK_PRINTF(2, 3);

/* The same with the text of an error. */
int rk_command_fail_error(const rk_command *command, const rk_error *err);

/* The exit status after a search: of the signal that stopped it, of its error, or of its answer. */
int rk_command_end(const rk_command *command, rk_status status, bool found, const rk_error *err);

#endif
