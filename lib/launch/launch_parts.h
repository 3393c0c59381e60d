/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lib/launch that cut a launch into keys. */
#ifndef RK_LAUNCH_LAUNCH_PARTS_H
#define RK_LAUNCH_LAUNCH_PARTS_H

#include "io/csv_in.h"
#include "launch/launch.h"

/* One row of data/launch_flags. */
typedef struct rk_launch_flag {
    const char *name;
    const char *type;  /* "int", "bool-switch", "bool-switch (turns off)", "list by blanks", ... */
    const char *usual; /* default; "": none */
    const char *class; /* "no-cost", "layout", "kernel", "unsupported", ... */
    const char *field; /* the fact that it states; "": the reader's code says */
    const char *note;  /* what no prediction counts; "": nothing */
} rk_launch_flag;

/* A name or another name of a flag, sorted by it. */
typedef struct rk_flag_name {
    const char *name;
    size_t order; /* of equal names the first stays */
    rk_launch_flag flag;
} rk_flag_name;

/* The flags of a reader: all tables together.  All zero is an empty one. */
typedef struct rk_flag_table {
    bool dash_is_underscore;
    rk_csv_in tables[RK_LAUNCH_TABLES_MAX]; /* hold the texts */
    rk_flag_name *names;                    /* owned; sorted */
    size_t count;
} rk_flag_table;

rk_status rk_flag_table_load(const rk_launch_reader *reader, rk_flag_table *table, rk_error *err);
void rk_flag_table_clear(rk_flag_table *table);

/* The flag of a name without its dashes; NULL: the table lacks it. */
const rk_launch_flag *rk_flag_table_find(const rk_flag_table *table, const char *name);

/* Reads a file, "-" for standard input, of at most 16 MiB.  The caller frees *text. */
rk_status rk_launch_read_file(const char *path, char **text, size_t *size, rk_error *err);

/* How a text of a launch is written. */
typedef enum rk_launch_form {
    RK_LAUNCH_WORDS, /* a line or a script */
    RK_LAUNCH_JSON,
    RK_LAUNCH_YAML,
    RK_LAUNCH_TOML,
} rk_launch_form;

/* By the ending of a file, and by the first line; words where neither says. */
rk_launch_form rk_launch_form_of_name(const char *name);
rk_launch_form rk_launch_form_of_text(const char *text, size_t size);

/* Parses a document of a form other than words.  The caller releases *root, NULL after a failure.
 */
rk_status rk_launch_parse_document(rk_launch_form form, const char *text, size_t size,
                                   const char *name, json_t **root, rk_error *err);

/* The text of a file that the launch names, which its script may write; NULL: it is not there. */
const char *rk_launch_text_of(rk_launch *launch, const char *path);

/*
 * Opens the configuration that a program of no known name gets as its first file, "train.py
 * sft.yaml", as a document whose values are not yet keys.  false: it gets none.
 */
rk_status rk_launch_open_own(rk_launch *launch, bool *found, rk_error *err);

/* Adds a key; facts that others state keep them, but other pointers to keys end. */
void rk_launch_add_key(rk_launch *launch, const rk_launch_key *key);

/*
 * The key of a name, which is not used by that; NULL: absent.  Of keys that are given more than
 * once, keys on the command line come first, then keys in the first document, for the launch's own
 * file precedes the files that it names; of equal ones the last counts.
 */
rk_launch_key *rk_launch_key_of(const rk_launch *launch, const char *name);

/* Whether no other key of the same name comes before this one. */
bool rk_launch_key_decides(const rk_launch *launch, const rk_launch_key *key);

/* The words behind the program as keys, and the values of all documents. */
void rk_launch_cut_words(rk_launch *launch, const rk_flag_table *table);
void rk_launch_flatten_documents(rk_launch *launch);
void rk_launch_flatten_document(rk_launch *launch, size_t document);

/* Reads a number as launches write it: "1_953_125", "5e8"; false: it is none. */
bool rk_launch_read_number(const char *text, double *value);

/* "true" and "false", however they are written ("True", "1", "yes", "on"); else NULL. */
const char *rk_launch_truth_text(const char *text);

/* The words of the command of a script that trains, and the files that the script writes. */
rk_status rk_launch_read_script(rk_launch *launch, const char *text, size_t size, rk_error *err);

/* Finds the program among the words, and states the machine of the launchers before it. */
void rk_launch_find_program(rk_launch *launch);

/* The value of a variable before the program, "NGPU=8"; NULL: it is not set. */
const char *rk_launch_environment(const rk_launch *launch, const char *variable);

/* Whether a word names a program that trains by itself ("trl"), or one that starts others. */
bool rk_launch_is_trainer(const char *word);
bool rk_launch_is_launcher(const char *word);

/* A file that the script writes; its text, NULL: it writes none of this name. */
void rk_launch_add_written(rk_launch *launch, const char *path, const char *text);
const char *rk_launch_written(const rk_launch *launch, const char *path);

#endif
