/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of commands as tables: names, types, bounds, choices and help. The command line and JSON
 * requests are read with them; help, man pages and shell completion are generated from them.
 */
#ifndef RK_JOB_OPTION_H
#define RK_JOB_OPTION_H

#include "base/named.h"
#include "reckon/reckon.h"

typedef enum rk_option_type {
    RK_OPTION_TEXT,   /* const char * */
    RK_OPTION_FLAG,   /* bool; has no value */
    RK_OPTION_COUNT,  /* int64_t; k M G B T are powers of 1000 (B: 10^9), Ki Mi Gi Ti of 1024 */
    RK_OPTION_CHOICE, /* int: index in `choices` */
    RK_OPTION_REAL,   /* double */
    RK_OPTION_COUNTS, /* rk_option_counts: counts between commas */
    RK_OPTION_SET,    /* unsigned: names between commas, a bit per index in `choices` */
} rk_option_type;

#define RK_OPTION_COUNTS_MAX RK_COUNTS_MAX
typedef rk_counts rk_option_counts;

#define RK_ALIAS_MAX 3

/* How a word without an option name is read: `reckon plan llama3-70b 64xh100`. */
typedef enum rk_word {
    RK_WORD_NONE,
    RK_WORD_MODEL,
    RK_WORD_LAUNCH, /* a script or a configuration of a training framework */
    RK_WORD_SYSTEM,
    RK_WORD_COUNT, /* of accelerators: "64", or as in "64xh100" */
    RK_WORD_NODES, /* of nodes: as in "2xdgx-h100" */
} rk_word;

/* One option or positional argument.  An option that is not given keeps its value in the struct. */
struct rk_option {
    const char *name; /* "threads": --threads, or the name of a positional argument */
    const char *aliases[RK_ALIAS_MAX]; /* other long names, known from other tools */
    char letter;                       /* 'o': -o as well; 0: none */
    bool positional;                   /* taken in table order */
    bool required;
    bool joins;  /* a repeated option appends its text after a comma */
    bool writes; /* the text names a file that the command writes */
    rk_option_type type;
    size_t offset;    /* of the variable in the struct */
    int64_t min, max; /* inclusive bounds of numbers */
    double unit;      /* of the variable, e.g. 60 for minutes kept in s; 0: the same unit */
    bool above;       /* `min` itself is refused */
    bool bytes;       /* a final B is the unit: 64, 64B, 64KiB, 1GB */
    bool gib;         /* a number of GiB; another unit may follow: 70GB */
    bool share;       /* a share up to 1, or a percentage: 0.4, 40 and 40% are 0.4 */
    bool binary;      /* k and M are powers of 1024: 8k tokens are 8,192 */
    rk_word word;
    const char *const *choices; /* NULL-terminated */
    const rk_named_text
        *synonyms;         /* words for choices, not listed; {NULL, NULL} ends them; NULL: none */
    const char *value;     /* placeholder of the value in help, e.g. "NAME|FILE" */
    const char *catalogue; /* shell completion offers names of this kind; NULL: none */
    const char
        *group;  /* heading of the group that starts here in the full help; NULL: same as before */
    bool common; /* listed in the short help */
    const char *help; /* one line */
};

/* A row of a table: the name, TEXT to FLAG, the offset of the variable, and what else it says. */
#define RK_OPTION(key, kind, place, ...)                                                           \
    {                                                                                              \
        .name = key, .type = RK_OPTION_##kind, .offset = place, __VA_ARGS__                        \
    }

#define RK_OPTION_MAX 160 /* options of one command */

/* Size of the name of an option, or of one item of a list. */
#define RK_OPTION_WORD_SIZE 64

/* An option in a message: "--output", or "FILE" if positional. */
const char *rk_option_form(const rk_option *option, char out[RK_OPTION_WORD_SIZE]);

/*
 * Sets the variable of an option in `values` from text. Text options keep the pointer. Errors:
 * RK_ERR_INVALID with what is expected.
 */
rk_status rk_option_read(const rk_option *option, const char *given, void *values, rk_error *err);

/*
 * Reads a number above 0 with a suffix, as options take them, up to the next ':', ',' or end of the
 * text, and moves *at there. Returns 0, which is no such number, if there is none.  `binary`: "8k"
 * is 8,192.
 */
double rk_option_amount(const char **at, bool binary);

/* "true" or "false" where a word is a truth: "True", "0"; otherwise NULL. */
const char *rk_truth_of(const char *word);

/* Joins words for a message, e.g. "a, b and c" where `last` is " and ".  Returns out. */
const char *rk_join_words(const char *const *words, size_t count, const char *last, char *out,
                          size_t size);

#endif
