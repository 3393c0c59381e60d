/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon explain`: what each number of the machine is worth. */
#include "answer/answers.h"
#include "base/error.h"
#include "command/commands.h"
#include "command/question_args.h"

#include <stdlib.h>

#define DEFAULT_CHANGE 10 /* % */

struct args {
    rk_question_args question;
    double change; /* % */
};

/* clang-format off: a row each */
#define OPTIONS(BOTH, RECKON, CALCULON)                                                            \
    BOTH({.name = "change",                                                                        \
          .common = true,                                                                          \
          .type = RK_OPTION_REAL,                                                                  \
          .offset = offsetof(struct args, change),                                                 \
          .min = -90,                                                                              \
          .max = 900,                                                                              \
          .value = "PERCENT",                                                                      \
          .help = "improvement of each number; negative: deterioration; default: 10"})             \
    CALCULON(RK_OPTION_METHOD)                                                                     \
    RECKON(RK_OPTIONS_OF_SEARCH)
/* clang-format on */

static const rk_option calculon_options[] = {RK_CALCULON_ROWS_OF(OPTIONS)};
static const rk_option reckon_options[] = {RK_RECKON_ROWS_OF(OPTIONS)};

static void init_calculon(void *arguments)
{
    struct args *args = arguments;
    rk_question_args_calculon(&args->question);
    args->question.calculon.top = 1;
    args->question.calculon.bounded = true;
    args->change = DEFAULT_CHANGE;
}

static void init_reckon(void *arguments)
{
    struct args *args = arguments;
    rk_question_args_reckon(&args->question);
    args->question.reckon.top = 1;
    args->question.reckon.bounded = true;
    args->change = DEFAULT_CHANGE;
}

static rk_status complete(void *arguments, rk_error *err)
{
    const struct args *args = arguments;
    return args->change == 0 ? rk_fail(err, RK_ERR_INVALID, "--change 0 changes no number")
                             : rk_question_args_check(arguments, err);
}

/* If nothing fits, writes the answer of `plan`. */
static rk_status run(rk_job *job, void *arguments, rk_error *err)
{
    const struct args *args = arguments;
    rk_explain *explain = calloc(1, sizeof(*explain));
    if (!explain) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
    }
    rk_question *question = &explain->question;
    explain->change = args->change / 100;
    rk_status status = rk_question_load(args->question.method, args, question, err);
    status = status ? status : rk_explain_find(rk_job_work(job), explain, err);
    const bool found = !status && rk_question_has_answer(question);
    if (!status) {
        status = found ? rk_explain_write(job, explain, err) : rk_plan_write(job, question, err);
    }
    rk_job_set_found(job, found);
    rk_question_clear(question);
    free(explain);
    return status;
}

#define COMMON                                                                                     \
    .name = "explain",                                                                             \
    .purpose = "Show what each hardware number is worth (sensitivity analysis)",                   \
    .size = sizeof(struct args), .complete = complete, .run = run

static const rk_command calculon_explain = {
    COMMON,
    .options = calculon_options,
    .option_count = sizeof(calculon_options) / sizeof(calculon_options[0]),
    .shared = rk_calculon_plan_options,
    .shared_count = RK_CALCULON_PLAN_OPTIONS,
    .notes = "Exit status: 0 done, 1 no strategy fits, 2 wrong usage or input.\n"
             "\n"
             "example: reckon explain seed-1T h100-80g-off512g50-nvl8 4096 --batch 3072",
    .init = init_calculon,
};

const rk_command rk_command_explain = {
    COMMON,
    RK_COMMAND_OF_STRATEGY,
    .options = reckon_options,
    .option_count = sizeof(reckon_options) / sizeof(reckon_options[0]),
    .notes = "Improves one hardware number at a time by --change and searches again; the\n"
             "domain of the fastest network doubles. Calculon's documents are explained by\n"
             "Calculon's method; its options: 'reckon explain --method calculon --help'.\n"
             "Exit status: 0 done, 1 no strategy fits, 2 wrong usage or input.\n\n"
             "example: reckon explain --model llama3-70b --system dgx-h100-superpod \\\n"
             "             --accelerators 256 --global-batch 512",
    .calculon = &calculon_explain,
    .init = init_reckon,
};
