/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell scripts, read without being run: variables, arrays, conditions, loops, functions,
 * arithmetic and here-documents of bash are followed, programs are not started and no file is
 * written.  Text that only a program could give stays as it is written, "$(nproc)".
 */
#ifndef RK_LAUNCH_SHELL_H
#define RK_LAUNCH_SHELL_H

#include "base/named.h"
#include "launch/launch.h"

/* A command that starts a program, as the script would start it. */
typedef struct rk_shell_command {
    rk_launch_word *before; /* "NPROC_PER_NODE=8" that is exported or precedes it */
    size_t before_count;
    const rk_launch_word *around; /* "srun -N 2" of the command whose shell starts it */
    size_t around_count;
    rk_launch_word *words;
    size_t word_count;
} rk_shell_command;

/* The effects of a script.  All zero is empty; cleared with rk_shell_clear. */
typedef struct rk_shell_result {
    rk_shell_command *commands;
    size_t count;
    rk_named_text *files; /* that the script writes, such as a configuration of DeepSpeed */
    size_t file_count;
    rk_launch_word *allocation; /* "sbatch" and the options of its #SBATCH lines */
    size_t allocation_count;
    int cut;                /* the line at which it was cut short; 0: read to its end */
    struct rk_shell *shell; /* owns everything */
} rk_shell_result;

/*
 * Reads a script.  `arguments`: its positional ones, which may be none.  Files that it sources are
 * read from `folder`; NULL: none is.  Scripts that loop or grow too long are cut short, with what
 * they did until then.  Errors: RK_ERR_MEMORY.
 */
rk_status rk_shell_read(const char *text, size_t size, const char *name, const char *folder,
                        const char *const *arguments, size_t argument_count,
                        rk_shell_result *result, rk_error *err);
void rk_shell_clear(rk_shell_result *result);

/*
 * The command that trains: started by a launcher, by a name that says so, before a conversion of
 * data or checkpoints.  NULL: none starts a program.
 */
const rk_shell_command *rk_shell_find_training(const rk_shell_result *result);

#endif
