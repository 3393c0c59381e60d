/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of lib/launch that read shell scripts. */
#ifndef RK_LAUNCH_SHELL_PARTS_H
#define RK_LAUNCH_SHELL_PARTS_H

#include "base/arena.h"
#include "base/bytes.h"
#include "launch/shell.h"

/* A script that exceeds a limit is cut short. */
#define RK_SHELL_DEPTH_MAX  60          /* of nested commands, substitutions and files */
#define RK_SHELL_STEPS_MAX  100000      /* commands */
#define RK_SHELL_LOOP_MAX   4096        /* turns of a loop */
#define RK_SHELL_MEMORY_MAX (64U << 20) /* bytes of all values */
#define RK_SHELL_VALUE_MAX  (4U << 20)  /* bytes of one value */
#define RK_SHELL_BUCKETS    1024
#define RK_SHELL_MATCH_MAX  (64U << 20) /* characters of values x characters of patterns */

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct rk_shell_element {
    const char *key; /* of an associative array; NULL: `index` */
    int64_t index;
    const char *text;
    int line; /* on which it was set */
} rk_shell_element;

typedef struct rk_shell_variable {
    struct rk_shell_variable *next; /* of the bucket */
    const char *name;
    bool set, array, associative, exported;
    rk_shell_element *elements; /* a variable that is not an array has one, of index 0 */
    size_t count, room;
} rk_shell_variable;

/* The words that an expansion makes. */
typedef struct rk_shell_fields {
    rk_launch_word *items;
    size_t count, room;
    rk_bytes word; /* that is being made */
    bool started;
    bool none;    /* "$@" or "${A[@]}" had no values */
    bool split;   /* values without quotes become several words */
    bool operand; /* of "${X:-a b}": plain text is a value, too */
    bool pattern; /* quoted characters are kept from being wildcards */
    int line;     /* of the word that is being made */
} rk_shell_fields;

/* ---- a script -------------------------------------------------------------------------------- */

/* A text that is read: the script, a file that it sources, the text of eval or of $(...). */
typedef struct rk_shell_source {
    const char *text;
    size_t size;
    size_t *lines; /* places behind line ends; NULL: everything is on `line` */
    size_t line_count;
    int line;
} rk_shell_source;

typedef struct rk_shell_function {
    struct rk_shell_function *next;
    const char *name;
    rk_shell_source source;
    size_t at; /* of its body */
} rk_shell_function;

/* The value that a variable had before a function made it local. */
typedef struct rk_shell_local {
    struct rk_shell_local *next;
    rk_shell_variable before;
} rk_shell_local;

typedef enum rk_shell_flow {
    FLOW_ON,
    FLOW_BREAK,
    FLOW_CONTINUE,
    FLOW_RETURN,
    FLOW_EXIT
} rk_shell_flow;

typedef struct rk_shell {
    rk_arena arena;
    size_t used;    /* bytes of the arena */
    size_t matched; /* towards RK_SHELL_MATCH_MAX */
    char *block;    /* in the arena, for small pieces */
    size_t block_left;
    const char *name, *folder;
    rk_shell_source source;
    size_t at;
    rk_shell_variable *variables[RK_SHELL_BUCKETS];
    rk_shell_function *functions;
    rk_shell_local *locals; /* of the function that runs */
    bool in_function;
    const rk_launch_word *arguments;
    size_t argument_count;

    int skipping; /* above 0: commands are passed over */
    int depth;
    int conditions; /* above 0: the status of a command decides something */
    int captured;   /* above 0: inside $(...) */
    int64_t steps;
    rk_shell_flow flow;
    int loops; /* of the function that runs, around its command */
    int turns; /* loops that break and continue leave */
    int status;
    rk_bytes *out;      /* what echo writes; NULL: it is dropped */
    const char *in;     /* standard input; NULL: it is not known */
    bool unknown;       /* a program was to write to `out` */
    size_t here_line;   /* place of the line end before here-documents; 0: none */
    size_t here_behind; /* and that behind them */
    bool out_of_memory, stopped;
    bool restarted; /* the script has started itself */
    int cut;        /* the line on which it stopped */

    const rk_launch_word *around; /* words before the shell that runs this text */
    size_t around_count;
    rk_shell_command *commands;
    size_t command_count, command_room;
    rk_named_text *files;
    size_t file_count, file_room;
    rk_launch_word *allocation; /* "sbatch" and the options of #SBATCH lines */
    size_t allocation_count, allocation_room;
} rk_shell;

/* ---- memory ---------------------------------------------------------------------------------- */

/* Zeroed memory that lives as long as the shell; NULL: there is no more. */
void *rk_shell_get(rk_shell *sh, size_t count, size_t size);
const char *rk_shell_keep(rk_shell *sh, const char *text, size_t length);

/* The same of bytes; that they failed is kept in the shell. */
const char *rk_shell_keep_bytes(rk_shell *sh, const rk_bytes *bytes);

/* Room for one more item of a list in *list. */
bool rk_shell_grow(rk_shell *sh, void *list, size_t count, size_t *room, size_t size);

static inline bool rk_shell_is_on(const rk_shell *sh)
{
    return sh->skipping == 0 && sh->flow == FLOW_ON;
}

int rk_shell_line(const rk_shell *sh, size_t at);

/* Cuts the script short: it exceeds one of the limits above. */
void rk_shell_stop(rk_shell *sh);

/* ---- variables ------------------------------------------------------------------------------- */

rk_shell_variable *rk_shell_find(const rk_shell *sh, const char *name);
rk_shell_variable *rk_shell_make(rk_shell *sh, const char *name);

/* The value of a variable, of its first element if it is an array; NULL: it is not set. */
const char *rk_shell_value(const rk_shell *sh, const char *name);
void rk_shell_set(rk_shell *sh, const char *name, const char *value, int line);
void rk_shell_unset(rk_shell_variable *variable);

const rk_shell_element *rk_shell_element_of(const rk_shell_variable *variable, const char *key,
                                            int64_t index);
void rk_shell_set_element(rk_shell *sh, rk_shell_variable *variable, const char *key, int64_t index,
                          const char *value, int line);

size_t rk_shell_name_length(const char *text, size_t size);

/* ---- scanning -------------------------------------------------------------------------------- */

/* The place behind a word, a text in double quotes, "(...)" and "${...}" that begin before `at`. */
size_t rk_shell_word_end(const char *text, size_t at, size_t end);
size_t rk_shell_double_end(const char *text, size_t at, size_t end, int depth);
size_t rk_shell_paren_end(const char *text, size_t at, size_t end, int depth);
size_t rk_shell_brace_end(const char *text, size_t at, size_t end, bool in_double, int depth);
size_t rk_shell_piece_end(const char *text, size_t at,
                          size_t end); /* a character, or all that it begins */
size_t rk_shell_backtick_end(const char *text, size_t at, size_t end);

/* ---- expansion ------------------------------------------------------------------------------- */

/* Expands a part of the source, with what is in quotes as it is. */
void rk_shell_expand(rk_shell *sh, const char *text, size_t at, size_t end,
                     rk_shell_fields *fields);

/* The same as one text: no word is split. */
const char *rk_shell_expand_text(rk_shell *sh, const char *text, size_t at, size_t end,
                                 bool pattern);

/* The same of a here-document, in which quotes are plain characters. */
const char *rk_shell_expand_here(rk_shell *sh, const char *text, size_t at, size_t end);

void rk_shell_add_text(rk_shell_fields *fields, const char *text, size_t length, bool quoted);
void rk_shell_end_field(rk_shell *sh, rk_shell_fields *fields);
void rk_shell_clear_fields(rk_shell_fields *fields);

/* "{a,b}" and "{1..8}" of a word as words on lines, to be expanded; NULL: it has none. */
const char *rk_shell_braces(rk_shell *sh, const char *text, size_t at, size_t end);

/* Whether a text matches a pattern of the shell. */
bool rk_shell_matches(const char *pattern, const char *text, size_t length);

/*
 * Finds the shortest or longest match at the start of a text, or at its end, and the other end of
 * the match; in time of pattern x text.
 */
bool rk_shell_find_match(rk_shell *sh, const char *pattern, const char *text, bool start,
                         bool longest, size_t *place);

/* The value of an expression; false: it is none, or it needs what is not known. */
bool rk_shell_calculate(rk_shell *sh, const char *expression, int64_t *value);

/* ---- running --------------------------------------------------------------------------------- */

typedef struct rk_shell_redirection {
    const char *in; /* of a here-document or "<<<"; NULL: none */
    const char *to; /* the file of standard output; NULL: none */
    bool appends;
} rk_shell_redirection;

/* The values before an assignment that holds for one command. */
typedef struct rk_shell_prefix {
    rk_shell_variable *variable;
    rk_shell_variable before;
} rk_shell_prefix;

#define RK_SHELL_PREFIXES_MAX 64

/* Where the script is read, and steps over what separates words. */
char rk_shell_peek(const rk_shell *sh);
bool rk_shell_looks_at(const rk_shell *sh, const char *token);
void rk_shell_skip_blanks(rk_shell *sh);   /* and continued lines and comments; no line ends */
void rk_shell_skip_line_end(rk_shell *sh); /* and the here-documents behind it */

/* Reads "> file", "2>&1", "<<EOF"; false: none begins here. */
bool rk_shell_read_redirection(rk_shell *sh, rk_shell_redirection *r);

/* Reads one word or assignment of a command; false: it ends here. */
bool rk_shell_read_item(rk_shell *sh, rk_shell_fields *fields, rk_shell_redirection *r,
                        rk_shell_prefix *prefixes, size_t *count);

/* Reads one command, and follows it. */
/* The function of a name; NULL: there is none. */
rk_shell_function *rk_shell_find_function(const rk_shell *sh, const char *name);
void rk_shell_run_simple(rk_shell *sh);
void rk_shell_run_command(rk_shell *sh);

/* Reads a text as commands. */
void rk_shell_run_text(rk_shell *sh, const char *text, size_t size, int line);

/* Takes the #SBATCH lines of a script that is submitted. */
void rk_shell_read_allocation(rk_shell *sh, const char *text);

/* Reads a file in the folder of the script as commands; false: there is none. */
bool rk_shell_run_file(rk_shell *sh, const char *path, const rk_launch_word *arguments,
                       size_t count);

/* Reads commands up to the end, or up to one of the words. */
void rk_shell_run_list(rk_shell *sh, const char *const *stops);

/* Runs a builtin command; false: it is none. */
bool rk_shell_run_builtin(rk_shell *sh, const rk_launch_word *words, size_t count, int line);

/* "test" without its name, and "[[ ... ]]" that begins at sh->at. */
bool rk_shell_test(rk_shell *sh, const rk_launch_word *words, size_t count);
bool rk_shell_test_expression(rk_shell *sh);

/* Whether a word, with or without folders, is bash or sh. */
bool rk_shell_is_shell(const char *word);

/* Records a command that starts a program. */
void rk_shell_record(rk_shell *sh, const rk_launch_word *words, size_t count);

/* Adds a text to a file that the script writes. */
void rk_shell_write(rk_shell *sh, const char *path, const char *text, size_t length, bool append);
const char *rk_shell_file_text(const rk_shell *sh, const char *path);

/* The same, or the text of a file of the folder; NULL: neither is there. */
const char *rk_shell_open_file(rk_shell *sh, const char *path);

/* Sets "NAME=value", "NAME+=value" and "NAME[key]=value"; false: it is no assignment. */
bool rk_shell_assign(rk_shell *sh, const char *text, size_t size, int line, const char **name);

#endif
