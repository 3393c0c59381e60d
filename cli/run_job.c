/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves the command, fills a library job with options, and runs it with output and progress. */
#include "run_job.h"

#include "arguments.h"
#include "join_team.h"
#include "process_team.h"
#include "progress.h"
#include "terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 3 }; /* of a short path: a model, a system, a number of accelerators */

/* The context of a job's callbacks. */
struct screen {
    const rk_command *command;
    rk_progress progress;
    int failure; /* errno of writing the answer, or 0 */
    bool said;   /* something was written to the screen */
};

static void write_answer(void *user, const char *text, size_t size)
{
    struct screen *screen = user;
    rk_progress_clear(&screen->progress);
    screen->said = true;
    errno = 0;
    if (fwrite(text, 1, size, stdout) != size && !screen->failure) {
        screen->failure = errno ? errno : EIO;
    }
}

static void write_remark(void *user, const char *line)
{
    struct screen *screen = user;
    rk_progress_clear(&screen->progress);
    screen->said = true;
    (void)fprintf(stderr, "reckon %s: %s\n", rk_command_name(screen->command), line);
}

static bool show_progress(void *user, const rk_job_progress *report)
{
    struct screen *screen = user;
    return rk_progress_show(&screen->progress, report);
}

/* Runs a job whose options are set.  Returns the exit status. */
static int run(const rk_command *command, rk_job *job, int nothing)
{
    rk_error err;
    struct screen screen = {.command = command};
    const rk_job_control control = {
        .size = sizeof(control),
        .user = &screen,
        .write = write_answer,
        .remark = write_remark,
        .progress = show_progress,
        .drawn = rk_terminal_is_drawn(),
        .width = rk_terminal_width(),
        .team = rk_team_joined(),
    };
    rk_progress_start(&screen.progress);
    const rk_status status = rk_job_run(job, &control, &err);
    rk_progress_end(&screen.progress);
    if (!status && screen.failure) {
        (void)fprintf(stderr, "reckon %s: cannot write to standard output: %s\n",
                      rk_command_name(command), strerror(screen.failure));
        (void)freopen("/dev/null", "w", stdout); /* the rest is lost, and this is reported */
        return RK_EXIT_USAGE;
    }
    if (status == RK_ERR_STOPPED && rk_progress_signal_status() != 0) {
        return rk_progress_signal_status();
    }
    if (status) {
        return rk_fail_with(command, &err);
    }
    rk_team_report(command);
    if (!rk_job_found(job) && !screen.said && rk_team_is_first()) {
        (void)fprintf(stderr,
                      "reckon %s: nothing meets the question; without -o, the answer says what "
                      "is missing\n",
                      rk_command_name(command));
    }
    return rk_job_found(job) ? RK_EXIT_DONE : nothing;
}

static rk_status set_all(rk_job *job, const char *const *pairs, rk_error *err)
{
    rk_status status = RK_OK;
    for (; pairs && pairs[0] && !status; pairs += 2) {
        status = rk_job_set(job, pairs[0], pairs[1], err);
    }
    return status;
}

/* Resolves the command by its options --method, --model and --system, or by the words before them.
 */
static rk_status resolve(const rk_command *command, int argc, char **argv,
                         const rk_command **resolved, rk_error *err)
{
    const char *method = rk_arguments_find(argc, argv, "method"), *word;
    rk_status status = rk_command_resolve(command, method, rk_arguments_find(argc, argv, "model"),
                                          rk_arguments_find(argc, argv, "system"), resolved, err);
    for (int i = 0;
         !status && *resolved == command && i < WORDS && (word = rk_arguments_word(argc, argv, i));
         i++) {
        status = rk_command_resolve(command, method, word, word, resolved, err);
    }
    return status;
}

int rk_run_job(const rk_command *command, int argc, char **argv, const char *const *globals,
               int nothing)
{
    rk_error err;
    rk_job *job = NULL;
    const rk_command *resolved = command;
    rk_status status = resolve(command, argc, argv, &resolved, &err);
    const char *flag = rk_command_shared_with(resolved);
    int result = rk_command_is_shared(command)
                     ? rk_team_join(command, !flag || rk_arguments_have(argc, argv, flag))
                     : RK_PARSED;
    if (result != RK_PARSED) {
        return result;
    }
    status = status ? status : rk_job_create(resolved, &job, &err);
    status = status ? status : set_all(job, globals, &err);
    if (status) {
        result = rk_fail_with(command, &err);
    } else {
        result = rk_arguments_read(resolved, argc, argv, job);
    }
    if (result == RK_PARSED) {
        result = run(resolved, job, nothing);
    }
    rk_job_free(job);
    return result;
}
