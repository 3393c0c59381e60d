/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every command of `reckon` as a function: options are passed as text or as a JSON request, the
 * answer is text, JSON, CSV or SVG.  The program `reckon` uses only this interface.
 *
 *     rk_job *job;
 *     rk_status status = rk_job_create(rk_command_find("plan"), &job, &err);
 *     status = status ? status : rk_job_set(job, "model", "llama3-70b", &err);
 *     status = status ? status : rk_job_set(job, "system", "h100-sxm", &err);
 *     status = status ? status : rk_job_set(job, "accelerators", "64", &err);
 *     status = status ? status : rk_job_set(job, "global-batch", "512", &err);
 *     status = status ? status : rk_job_run(job, &control, &err);
 *     rk_job_free(job);
 *
 * Commands and options are constant tables: pointers to them stay valid.  A job belongs to
 * one thread at a time; different jobs may run in different threads.
 */
#ifndef RECKON_COMMAND_H
#define RECKON_COMMAND_H

#include "reckon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- commands and options ------------------------------------------------------------------ */

/* A command of `reckon`. */
typedef struct rk_command rk_command;

/* An option of a command. */
typedef struct rk_option rk_option;

/* The commands in the order of the help text; NULL past the last. */
RK_API const rk_command *rk_command_at(size_t index);

/* The command of that name, e.g. "plan"; NULL if none has it. */
RK_API const rk_command *rk_command_find(const char *name);

/* The command name closest to a mistyped one; NULL: none is close. */
RK_API const char *rk_command_suggest(const char *name);

/*
 * The command that answers.  `plan`, `explain`, `design` and `shape` have other options when they
 * follow the Calculon method: by `method` ("calculon" or "reckon"), or where it is NULL because the
 * documents `model` or `system` (each may be NULL) are Calculon's.  Other commands are returned as
 * they are.  Errors: RK_ERR_MEMORY; a document that cannot be read is left to the job to refuse.
 */
RK_API rk_status rk_command_resolve(const rk_command *command, const char *method,
                                    const char *model, const char *system,
                                    const rk_command **resolved, rk_error *err);

/* The name of a command, e.g. "plan". */
RK_API const char *rk_command_name(const rk_command *command);
RK_API const char *rk_command_purpose(const rk_command *command); /* a sentence, no full stop */
RK_API const char *rk_command_notes(const rk_command *command);   /* ends the help; may be NULL */

/* Whether the command shares its search with the ranks of a team (rk_job_control.team). */
RK_API bool rk_command_is_shared(const rk_command *command);

/* The flag without which it shares nothing, so that rank 0 works alone; NULL: it needs none. */
RK_API const char *rk_command_shared_with(const rk_command *command);

/* The options of a command, from 0; NULL past the last. */
RK_API const rk_option *rk_command_option(const rk_command *command, size_t index);

/* Description of an option, for parsers, help and shells.  Fields may be added at the end. */
typedef struct rk_option_info {
    const char *name;           /* "threads" */
    const char *value;          /* placeholder of the value in help, e.g. "NAME|FILE"; NULL: none */
    const char *help;           /* one line */
    char letter;                /* 'o' for -o; 0: none */
    bool positional;            /* without a name on the command line, in table order */
    bool required;              /* a job without it is refused */
    const char *const *choices; /* NULL-terminated; NULL: free */
    const char *const *aliases; /* other long names; at most alias_count are not NULL */
    size_t alias_count;         /* of `aliases` */
    const char *catalogue;      /* catalogue names of this kind complete it; NULL: none */
    const char *group; /* heading that begins with this option in the full help; NULL: none */
    bool common;       /* listed in the short help */
} rk_option_info;

/*
 * Fills the first `size` bytes of `info`: pass sizeof(rk_option_info).
 */
RK_API void rk_option_describe(const rk_option *option, rk_option_info *info, size_t size);

/*
 * The JSON Schema (draft 2020-12) of the requests of a command: what rk_job_set_json and
 * rk_answer_request take, from the table of its options.  Free *schema with rk_free; it is NULL
 * after a failure.  Errors: RK_ERR_INVALID where `command` is NULL; RK_ERR_MEMORY.
 */
RK_API rk_status rk_command_schema(const rk_command *command, char **schema, rk_error *err);

/*
 * The names of the built-in catalogue, from 0; NULL past the last.  *kind is its folder, e.g.
 * "models", "systems" or "calculon/systems".
 */
RK_API const char *rk_catalogue_name(size_t index, const char **kind);

/* ---- jobs ------------------------------------------------------------------------------------ */

/* A command with its options. */
typedef struct rk_job rk_job;

/* Other processes that share a search; see reckon/team.h. */
typedef struct rk_team rk_team;

/*
 * What jobs read from the catalogue, kept for the jobs after them: a program that asks many
 * questions passes the same documents to all, in rk_job_control.  Threads may share them.  Files
 * and JSON texts are read by every job, as they may change.
 */
typedef struct rk_documents rk_documents;

/* Creates an empty collection; free it with rk_documents_free, after the jobs. */
RK_API rk_status rk_documents_create(rk_documents **documents, rk_error *err);

/* NULL is legal. */
RK_API void rk_documents_free(rk_documents *documents);

/* Progress of a search. */
typedef struct rk_job_progress {
    const char *what;     /* what is counted, e.g. "strategies" */
    uint64_t done, total; /* total 0: not known */
    const char *note;     /* further information, e.g. "3 of 10 points done"; or NULL */
} rk_job_progress;

/* How a job runs, and where its output goes.  All zero is legal and discards the answer. */
typedef struct rk_job_control {
    size_t size; /* sizeof(rk_job_control); fields may be added at the end */
    void *user;  /* handed to the functions below */
    /* Receives the answer, unless the option `output` names a file; may be called often. */
    void (*write)(void *user, const char *text, size_t size);
    /* Receives remarks, one line each without a line end; they are not part of the answer. */
    void (*remark)(void *user, const char *line);
    /*
     * Called about ten times a second while a search runs, from the thread that runs the job.
     * Return false to stop: RK_ERR_STOPPED.
     */
    bool (*progress)(void *user, const rk_job_progress *progress);
    bool drawn;    /* tables of the answer have drawn lines and bold type, for a terminal */
    int width;     /* columns of text; 0: 80 */
    rk_team *team; /* NULL: this process is alone */
    rk_documents *documents; /* that jobs share; NULL: the job reads its own */
} rk_job_control;

/*
 * Creates a job with the default of every option.  `command` may be NULL: RK_ERR_INVALID.  Free it
 * with rk_job_free.
 */
RK_API rk_status rk_job_create(const rk_command *command, rk_job **job, rk_error *err);

/*
 * Sets an option from text, as on the command line: rk_job_set(job, "tp", "4,8").  Flags take
 * "true" or NULL.  Errors: RK_ERR_INVALID with what would be right.
 */
RK_API rk_status rk_job_set(rk_job *job, const char *option, const char *value, rk_error *err);

/*
 * Sets the option that a positional argument means: a model ("llama3-70b"), a system ("h100"), a
 * number of accelerators ("64"), both ("64xh100"), or nodes ("8xdgx-h100").  Errors: RK_ERR_INVALID
 * with what would be right.
 */
RK_API rk_status rk_job_set_word(rk_job *job, const char *word, rk_error *err);

/* How a flag of a training framework was used. */
typedef enum rk_flag_use {
    RK_FLAG_ALONE = 0,      /* taken; it has no value */
    RK_FLAG_WITH_VALUE = 1, /* taken with its value */
    RK_FLAG_UNUSED = 2,     /* known, but no prediction depends on it */
} rk_flag_use;

/*
 * Takes words that begin with a launcher or a program, up to the last, as a launch:
 * "torchrun ... pretrain_gpt.py ..." or "trl sft ...".  `taken` says whether they are one of a
 * framework that is read.  Options of the command may be among them.
 */
RK_API rk_status rk_job_set_launch_line(rk_job *job, const char *const *words, size_t count,
                                        bool *taken, rk_error *err);

/*
 * Sets options from a flag of Megatron-LM or torchrun that is not an option of the command, such as
 * "num-layers" with "80" or "bf16", so that a launch line can be pasted.  `value`: the word after
 * the flag, or NULL.  Errors: RK_ERR_INVALID for unknown flags.
 */
RK_API rk_status rk_job_set_launch_flag(rk_job *job, const char *flag, const char *value,
                                        rk_flag_use *use, rk_error *err);

/*
 * Sets options from a JSON object: {"model": "llama3-70b", "tp": [4, 8], "explain": true}; names
 * may have '_' in place of '-'.  Errors: RK_ERR_SYNTAX, RK_ERR_INVALID with the member at fault.
 */
RK_API rk_status rk_job_set_json(rk_job *job, const char *request, rk_error *err);

/*
 * Runs the job.  Errors: invalid options or documents; RK_ERR_STOPPED.  "Nothing
 * fits" is an answer: rk_job_found is false then.
 */
RK_API rk_status rk_job_run(rk_job *job, const rk_job_control *control, rk_error *err);

/* Whether the last run found an answer: a strategy that fits, a design within budget. */
RK_API bool rk_job_found(const rk_job *job);

/* NULL is legal. */
RK_API void rk_job_free(rk_job *job);

/*
 * One JSON request in, one response out, as `reckon COMMAND --json` prints it; `sweep` answers with
 * CSV and `plot` with SVG, as they print.  `control` may be NULL.  Free *response with rk_free.
 */
RK_API rk_status rk_answer_request(const char *command, const char *request,
                                   const rk_job_control *control, char **response, rk_error *err);

/* Frees text allocated by the library.  NULL is legal. */
RK_API void rk_free(void *text);

#ifdef __cplusplus
}
#endif

#endif
