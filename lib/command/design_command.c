/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon design`: the cheapest machine that trains a model fast enough. */
#include "command/design_answer.h"

#include "base/error.h"
#include "command/calculon_options.h"
#include "command/commands.h"
#include "request/launch_flags.h"
#include "request/launch_options.h"

#include <stdlib.h>

/* ---- options ------------------------------------------------------------------------------- */

/* The command lines of the two methods. */
struct calculon_args {
    rk_calculon_request request;
    rk_design_target target;
};

struct reckon_args {
    rk_request request;
    rk_design_target target;
};

#define TARGET(args, member, text, unit, words)                                                    \
    {                                                                                              \
        .name = text, .type = RK_OPTION_REAL, .offset = offsetof(struct args, target.member),      \
        .min = 0, .max = INT64_MAX, .value = unit, .help = words                                   \
    }

#define TARGETS(args)                                                                              \
    {.name = "prices",                                                                             \
     .required = true,                                                                             \
     .offset = offsetof(struct args, target.prices),                                               \
     .catalogue = "prices",                                                                        \
     .value = "NAME|FILE",                                                                         \
     .help = "hardware numbers to vary, with prices: 'example' or a .json file"},                  \
        TARGET(args, step, "step", "SECONDS", "target: maximum step time"),                        \
        TARGET(args, tokens_per_second, "tokens-per-second", "N", "target: minimum throughput"),   \
        TARGET(args, days, "days", "N", "target: maximum training time for --tokens"),             \
        TARGET(args, tokens, "tokens", "N", "tokens to train on: 15T")

static const rk_option calculon_options[] = {
    RK_OPTION_APPLICATION,   RK_OPTION_SYSTEM,
    RK_OPTION_BATCH,         RK_OPTION_PROCESSORS(false),
    TARGETS(calculon_args),  RK_OPTION_METHOD,
    RK_OPTION_DATATYPE,      RK_OPTION_FUSED,
    RK_OPTION_NO_TP_OVERLAP, RK_OPTION_NO_DP_OVERLAP,
    RK_OPTION_THREADS,       RK_OPTION_JSON,
    RK_OPTION_CSV,           RK_OPTION_OUTPUT,
};

static const rk_option reckon_options[] = {
    TARGETS(reckon_args),
    RK_OPTIONS_OF_SEARCH,
};

/* ---- both methods -------------------------------------------------------------------------- */

static rk_status check_target(const rk_design_target *target, rk_error *err)
{
    return target->days > 0 && !(target->tokens > 0)
               ? rk_fail(err, RK_ERR_INVALID, "--days needs --tokens: how many, e.g. 15T")
               : RK_OK;
}

static rk_status write_answer(const rk_job *job, const rk_design_answer *d, rk_error *err)
{
    const rk_asked *asked = &d->asked;
    return asked->json  ? rk_design_answer_write_json(job, d, err)
           : asked->csv ? rk_design_answer_write_csv(job, d, err)
                        : rk_job_print(job, asked->output, rk_design_answer_write_text, d, err);
}

static rk_status run(const rk_planner *planner, rk_job *job, void *options,
                     const rk_design_target *target, rk_error *err)
{
    rk_design_answer *d = calloc(1, sizeof(*d));
    if (!d) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
    }
    d->target = *target;
    d->asked.planner = planner;
    rk_status status = rk_design_answer_prepare(planner, options, d, err);
    if (!status) {
        status = rk_asked_load(planner, options, &d->asked, err);
    }
    status = status ? status : rk_design_answer_find(job, d, err);
    if (!status) {
        status = write_answer(job, d, err);
    }
    rk_job_set_found(job, d->least_rate > 0 ? d->cheapest != NULL
                                            : rk_design_cheapest(d->designs, d->count, 0) != NULL);
    free(d->designs);
    rk_asked_clear(&d->asked);
    free(d);
    return status;
}

/* ---- the methods --------------------------------------------------------------------------- */

static void init_calculon(void *arguments)
{
    rk_calculon_request_init(&((struct calculon_args *)arguments)->request);
}

static rk_status complete_calculon(void *arguments, rk_error *err)
{
    struct calculon_args *args = arguments;
    const rk_status status = rk_calculon_request_check(&args->request, err);
    return status ? status : check_target(&args->target, err);
}

static rk_status run_calculon(rk_job *job, void *arguments, rk_error *err)
{
    struct calculon_args *args = arguments;
    return run(&rk_planner_calculon, job, &args->request, &args->target, err);
}

const rk_design_target *rk_design_target_of(const void *options)
{
    return &((const struct reckon_args *)options)->target;
}

static void init_reckon(void *arguments)
{
    rk_request_init(&((struct reckon_args *)arguments)->request);
}

static rk_status complete_reckon(void *arguments, rk_error *err)
{
    struct reckon_args *args = arguments;
    const rk_status status = rk_request_finish(&args->request, err);
    return status ? status : check_target(&args->target, err);
}

static rk_status run_reckon(rk_job *job, void *arguments, rk_error *err)
{
    struct reckon_args *args = arguments;
    return run(&rk_planner_reckon, job, &args->request, &args->target, err);
}

/* ---- the commands -------------------------------------------------------------------------- */

static const rk_command calculon_design = {
    .name = "design",
    .purpose = "Find the cheapest machine that trains a model fast enough",
    .options = calculon_options,
    .option_count = sizeof(calculon_options) / sizeof(calculon_options[0]),
    .notes = "By Calculon's method: the best strategy on every machine within the price list.\n"
             "Without a target, the machines that no other beats in both cost and speed. Exit\n"
             "status: 0 done, 1 no machine meets the target, 2 wrong usage or input.\n"
             "\n"
             "example: reckon design seed-1T h100-80g-off512g50-nvl8 --batch 3072 \\\n"
             "             --prices example --tokens 15T --days 120",
    .size = sizeof(struct calculon_args),
    .init = init_calculon,
    .complete = complete_calculon,
    .run = run_calculon,
};

const rk_command rk_command_design = {
    .name = "design",
    .purpose = "Find the cheapest machine that trains a model fast enough",
    .options = reckon_options,
    .option_count = sizeof(reckon_options) / sizeof(reckon_options[0]),
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .take_launch_flag = rk_request_take_launch_flag,
    .note_launch_word = rk_request_note_launch_word,
    .prepare = rk_request_prepare,
    .notes = "Searches the best strategy on every machine within the price list. Without a\n"
             "target, lists the machines that no other beats in both cost and speed.\n"
             "Calculon's documents are judged by Calculon's method; its options:\n"
             "'reckon design --method calculon --help'. Exit status: 0 done, 1 no machine\n"
             "meets the target, 2 wrong usage or input.\n\n"
             "example: reckon design --model llama3-70b --system h100-sxm --batch 1024 \\\n"
             "             --prices example --tokens 15T --days 60",
    .calculon = &calculon_design,
    .size = sizeof(struct reckon_args),
    .init = init_reckon,
    .complete = complete_reckon,
    .run = run_reckon,
};
