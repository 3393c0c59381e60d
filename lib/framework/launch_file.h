/* SPDX-License-Identifier: Apache-2.0 */
/* Launch files: a strategy as the arguments or the configuration of a framework. */
#ifndef RK_FRAMEWORK_LAUNCH_FILE_H
#define RK_FRAMEWORK_LAUNCH_FILE_H

#include "framework/framework.h"
#include "io/out.h"
#include "stack/stack.h"

/* Parts of a model or a strategy that the file does not express; each a static text. */
#define RK_LAUNCH_NOTES_MAX 32
typedef struct rk_launch_notes {
    int count;
    const char *words[RK_LAUNCH_NOTES_MAX];
} rk_launch_notes;

/* The run to launch; all borrowed. */
typedef struct rk_launch_file {
    const rk_model *model;
    const rk_system *system;
    const rk_stack *stack;
    const rk_strategy *strategy;
    const char *title;      /* the first line, as a comment */
    rk_launch_notes *notes; /* filled by the writer, which also writes them as comments */
} rk_launch_file;

/*
 * Writers fail with RK_ERR_INVALID, before anything is written, where the framework would train
 * another model, or could not run the strategy; the message names the part.  Smaller parts that
 * the framework cannot express become comments and notes.
 */
typedef rk_status rk_launch_writer(const rk_launch_file *launch, rk_out *out, rk_error *err);

/* Launch files of --emit: framework, writer rk_launch_<writer>, name. */
#define RK_LAUNCH_LIST(X)                                                                          \
    X(MEGATRON, megatron, "megatron")                                                              \
    X(MEGATRON, megatron_slurm, "megatron-slurm")                                                  \
    X(TORCHTITAN, torchtitan, "torchtitan")                                                        \
    X(TORCHTITAN, torchtitan_python, "torchtitan-python")

typedef struct rk_launch_kind {
    rk_framework framework;
    rk_launch_writer *write;
} rk_launch_kind;

extern const char *const rk_launch_names[]; /* NULL-terminated */
extern const rk_launch_kind rk_launch_kinds[];

/* Checks what does not depend on the strategy: the accelerator and the model. */
rk_status rk_launch_check(rk_framework framework, const rk_model *model, const rk_system *system,
                          rk_error *err);

/* The part of a model that is not a plain stack of attention and feed-forward networks, or NULL. */
const char *rk_launch_hybrid(const rk_model *model);

/* ---- for the writers ----------------------------------------------------------------------- */

/* Shell scripts for pretrain_gpt.py of Megatron-LM as of August 2026, by torchrun or by Slurm. */
rk_launch_writer rk_launch_megatron, rk_launch_megatron_slurm;
const char *rk_launch_megatron_missing(const rk_model *model);

/* TOML for torchtitan 0.2.2; a configuration function for torchtitan as of August 2026. */
rk_launch_writer rk_launch_torchtitan, rk_launch_torchtitan_python;

/* A line of a comment, without characters that could end it. */
void rk_launch_comment(rk_out *out, const char *words);

/* Records a part that the file does not express, if `found`. */
void rk_launch_note(rk_launch_notes *notes, bool found, const char *words);

/* Writes the notes as comments: "Not expressed in NAME: WORDS." */
void rk_launch_write_notes(rk_out *out, const rk_launch_notes *notes, const char *name);

/* Refuses a schedule that the framework lacks. */
rk_status rk_launch_check_schedule(rk_framework framework, const rk_strategy *strategy,
                                   rk_error *err);

/* The framework's name of the schedule; NULL: it has none. */
const char *rk_launch_schedule(rk_framework framework, const rk_strategy *strategy);

/* Accelerators of a node: at most the innermost domain; the ranks fill all nodes. */
int64_t rk_launch_node(const rk_system *system, int64_t ranks);

#endif
