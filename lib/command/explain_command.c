/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon explain`: the best strategy is searched again with each number of the machine changed. */
#include "base/error.h"
#include "command/explain_answer.h"

#include "command/calculon_options.h"
#include "command/commands.h"
#include "request/launch_flags.h"
#include "request/launch_options.h"

#include <stdlib.h>

#define DEFAULT_CHANGE 10 /* % */

/* ---- options ------------------------------------------------------------------------------- */

/* The command lines of the two methods; the options shared with `reckon plan` come first. */
struct calculon_args {
    rk_calculon_request request;
    double change;
};

struct reckon_args {
    rk_request request;
    double change;
};

#define CHANGE_OPTION(args)                                                                        \
    {                                                                                              \
        .name = "change", .type = RK_OPTION_REAL, .offset = offsetof(struct args, change),         \
        .min = -90, .max = 900, .value = "PERCENT",                                                \
        .help = "improvement of each number; negative: deterioration; default: 10"                 \
    }

static const rk_option calculon_options[] = {
    CHANGE_OPTION(calculon_args),
    RK_OPTION_METHOD,
};

static const rk_option reckon_options[] = {
    CHANGE_OPTION(reckon_args),
    RK_OPTIONS_OF_SEARCH,
};

/* ---- the answer ------------------------------------------------------------------------------ */

static rk_status write_answer(const rk_job *job, const rk_explain *explain, rk_error *err)
{
    const rk_asked *asked = &explain->asked;
    if (asked->json) {
        return rk_explain_write_json(job, explain, err);
    }
    return asked->csv ? rk_explain_write_csv(job, explain, err)
                      : rk_job_print(job, asked->output, rk_explain_write_text, explain, err);
}

/* Where nothing fits, the answer is that of `plan`. */
static rk_status run(const rk_planner *planner, rk_job *job, const void *options, double change,
                     rk_error *err)
{
    rk_explain *explain = calloc(1, sizeof(*explain));
    if (!explain) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
    }
    rk_asked *asked = &explain->asked;
    explain->change = change / 100;
    rk_status status = rk_asked_load(planner, options, asked, err);
    status = status ? status : rk_explain_find(job, explain, err);
    const bool found = !status && asked->ranking->count > 0;
    if (!status) {
        status = found ? write_answer(job, explain, err) : rk_plan_write(job, asked, err);
    }
    rk_job_set_found(job, found);
    rk_asked_clear(asked);
    free(explain);
    return status;
}

/* ---- the methods --------------------------------------------------------------------------- */

static void init_calculon(void *arguments)
{
    struct calculon_args *args = arguments;
    rk_calculon_request_init(&args->request);
    args->request.top = 1;
    args->request.bounded = true;
    args->change = DEFAULT_CHANGE;
}

static rk_status run_calculon(rk_job *job, void *arguments, rk_error *err)
{
    const struct calculon_args *args = arguments;
    return run(&rk_planner_calculon, job, &args->request, args->change, err);
}

static void init_reckon(void *arguments)
{
    struct reckon_args *args = arguments;
    rk_request_init(&args->request);
    args->request.top = 1;
    args->request.bounded = true;
    args->change = DEFAULT_CHANGE;
}

static rk_status run_reckon(rk_job *job, void *arguments, rk_error *err)
{
    const struct reckon_args *args = arguments;
    return run(&rk_planner_reckon, job, &args->request, args->change, err);
}

/* ---- the commands -------------------------------------------------------------------------- */

static const rk_command calculon_explain = {
    .name = "explain",
    .purpose = "Show what each hardware number is worth (sensitivity analysis)",
    .options = calculon_options,
    .option_count = sizeof(calculon_options) / sizeof(calculon_options[0]),
    .shared = rk_calculon_plan_options,
    .shared_count = RK_CALCULON_PLAN_OPTIONS,
    .notes = "Exit status: 0 done, 1 no strategy fits, 2 wrong usage or input.\n"
             "\n"
             "example: reckon explain seed-1T h100-80g-off512g50-nvl8 4096 --batch 3072",
    .size = sizeof(struct calculon_args),
    .init = init_calculon,
    .complete = rk_calculon_request_check,
    .run = run_calculon,
};

const rk_command rk_command_explain = {
    .name = "explain",
    .purpose = "Show what each hardware number is worth (sensitivity analysis)",
    .options = reckon_options,
    .option_count = sizeof(reckon_options) / sizeof(reckon_options[0]),
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .take_launch_flag = rk_request_take_launch_flag,
    .note_launch_word = rk_request_note_launch_word,
    .prepare = rk_request_prepare,
    .notes = "Improves one hardware number at a time by --change and searches again; the\n"
             "domain of the fastest network doubles. Calculon's documents are explained by\n"
             "Calculon's method; its options: 'reckon explain --method calculon --help'.\n"
             "Exit status: 0 done, 1 no strategy fits, 2 wrong usage or input.\n\n"
             "example: reckon explain --model llama3-70b --system dgx-h100-superpod \\\n"
             "             --accelerators 256 --global-batch 512",
    .calculon = &calculon_explain,
    .size = sizeof(struct reckon_args),
    .init = init_reckon,
    .complete = rk_request_finish,
    .run = run_reckon,
};
