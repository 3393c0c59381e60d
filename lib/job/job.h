/* SPDX-License-Identifier: Apache-2.0 */
/* Commands, and what runs one: its options, its output, its progress and its team. */
#ifndef RK_JOB_JOB_H
#define RK_JOB_JOB_H

#include "io/csv_out.h"
#include "io/out.h"
#include "io/table.h"
#include "job/option.h"
#include "work/control.h"

#include <stdio.h>

struct rk_command {
    const char *name;    /* "plan" */
    const char *purpose; /* one sentence, without a full stop */
    const rk_option *options;
    size_t option_count;
    const rk_option *shared; /* options of several commands, listed first; NULL: none */
    size_t shared_count;
    const char *notes;             /* ends the help text; NULL: nothing */
    const rk_command *calculon;    /* the command of that name by the Calculon method; NULL: none */
    bool is_shared;                /* ranks of a team share its search */
    const char *shared_with;       /* only with this flag; NULL: always */
    size_t size;                   /* of the struct that the options fill, its arguments */
    void (*init)(void *arguments); /* defaults other than 0; or NULL */
    rk_status (*complete)(void *arguments, rk_error *err); /* checks across options; or NULL */
    rk_status (*run)(rk_job *job, void *arguments, rk_error *err);
    /* Sets options that follow from others, before the job is checked; or NULL. */
    rk_status (*prepare)(rk_job *job, rk_error *err);
    /* Takes a flag of a training framework, as rk_job_set_launch_flag does; or NULL. */
    rk_status (*take_launch_flag)(rk_job *job, const char *flag, const char *value,
                                  rk_flag_use *use, rk_error *err);
    /* Takes a line that starts a training program as the launch, as rk_job_set_launch_line does; or
     * NULL. */
    rk_status (*take_launch_line)(rk_job *job, const char *const *words, size_t count, bool *taken,
                                  rk_error *err);
    /*
     * Notes a script or a flag of a launch line that is another name of an option; or NULL.
     * Returns whether that says more than the option.
     */
    bool (*note_launch_word)(void *arguments, const char *word);
};

/* All options of a command: `shared`, then `options`. */
size_t rk_command_option_count(const rk_command *command);

/* ---- what a command needs from its job ------------------------------------------------------- */

/* As rk_job_run, but the answer goes to `write` and not to the writer of `control`. */
rk_status rk_job_run_into(rk_job *job, const rk_job_control *control, rk_out_writer *write,
                          void *user, rk_error *err);

/* The first half of that: checks the options, which the command then has as its arguments. */
rk_status rk_job_start(rk_job *job, const rk_job_control *control, rk_out_writer *write, void *user,
                       rk_error *err);

const rk_command *rk_job_command(const rk_job *job);

/* Refuses an option that a command does not have, with what could be meant. */
rk_status rk_job_fail_unknown(const rk_command *command, const char *given, rk_error *err);

/*
 * As rk_job_set, for a word without an option's name: refuses another value of the same option,
 * in either order.
 */
rk_status rk_job_set_by_word(rk_job *job, const char *option, const char *value, rk_error *err);

/* As rk_job_set, for a value that follows from other options; one that is given replaces it. */
rk_status rk_job_set_implied(rk_job *job, const char *option, const char *value, rk_error *err);

/*
 * Sets number and system of a value such as "64xh100" for the option of the system; *split: whether
 * it was one.
 */
rk_status rk_job_split_machine(rk_job *job, const char *word, bool *split, rk_error *err);

/* As rk_job_set, for the name of a document, which may look like a number and a system. */
rk_status rk_job_set_exactly(rk_job *job, const char *option, const char *value, rk_error *err);

/* The name of the option with this name, other name or letter; NULL: none. */
const char *rk_job_option_name(const rk_job *job, const char *given);

/* Whether an option of this name is set. */
bool rk_job_has(const rk_job *job, const char *option);

/* Keeps a thing as long as the job, and calls `clear` with it then; false: no memory for that. */
bool rk_job_keep(rk_job *job, void *thing, void (*clear)(void *thing));

/* What the caller of the job stated (stated_options.h). */
struct rk_stated;
const struct rk_stated *rk_job_stated(const rk_job *job);

/* The value of an option that is set. */
const char *rk_job_given(const rk_job *job, size_t option);

/* Replaces the name of a file that the caller stated by the text in it. */
rk_status rk_job_state_text(rk_job *job, const char *option, const char *text, rk_error *err);

/* Takes a word that begins a launch line. */
void rk_job_take_launch_word(rk_job *job, const char *word);

/* The struct of the command that the options fill. */
void *rk_job_arguments(rk_job *job);

/* Whether a command found what it was asked for; jobs begin with false. */
void rk_job_set_found(rk_job *job, bool found);

/* Passes a line that is not part of the answer to the caller of the job. */
void rk_job_remark(const rk_job *job, const char *format, ...) RK_PRINTF(2, 3);

/*
 * Opens the output that an option names; "-" or NULL: the answer of the job.  Closed with
 * rk_out_close.
 */
rk_status rk_job_open(const rk_job *job, const char *path, rk_out **out, rk_error *err);

/* The same for a table that grows row by row; closed with rk_csv_close. */
rk_status rk_job_open_csv(const rk_job *job, const char *path, rk_csv_out **out, rk_error *err);

/* Writes what `write` puts on a stream to an output; nothing when that fails. */
rk_status rk_job_print(const rk_job *job, const char *path, rk_text_writer *write, const void *what,
                       rk_error *err);

/* How the command works: progress, stop and the ranks that share the work. */
rk_control *rk_job_work(rk_job *job);

/* Writes a piece of the answer; `job` is an rk_job.  For outputs that take an rk_out_writer. */
rk_out_writer rk_job_write;

/* Whether the answer goes to a terminal. */
bool rk_job_is_drawn(const rk_job *job);

#endif
