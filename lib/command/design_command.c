/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon design`: the cheapest machine that trains a model fast enough. */
#include "command/design_command.h"

#include "answer/answers.h"
#include "base/error.h"
#include "command/commands.h"

#include <stdlib.h>

#define TARGET(member, text, unit, words)                                                          \
    RK_OPTION(text, REAL, offsetof(rk_design_args, target.member), .min = 0, .max = INT64_MAX,     \
              .value = unit, .common = true, .help = words)

/* clang-format off: a row each */
#define OPTIONS(BOTH, RECKON, CALCULON)                                                            \
    CALCULON(RK_OPTION_APPLICATION)                                                                \
    CALCULON(RK_OPTION_SYSTEM)                                                                     \
    CALCULON(RK_OPTION_BATCH)                                                                      \
    CALCULON(RK_OPTION_PROCESSORS(false))                                                          \
    BOTH({.name = "prices",                                                                        \
          .required = true,                                                                        \
          .offset = offsetof(rk_design_args, target.prices),                                       \
          .catalogue = "prices",                                                                   \
          .value = "NAME|FILE",                                                                    \
          .help = "hardware numbers to vary, with prices: 'example' or a .json file"})             \
    BOTH(TARGET(step_s, "step", "SECONDS", "target: maximum step time"))                           \
    BOTH(TARGET(tokens_per_s, "tokens-per-second", "N", "target: minimum throughput"))             \
    BOTH(TARGET(days, "days", "N", "target: maximum training time for --tokens"))                  \
    BOTH(TARGET(tokens, "tokens", "N", "tokens to train on: 15T"))                                 \
    CALCULON(RK_OPTION_METHOD)                                                                     \
    CALCULON(RK_OPTIONS_OF_CALCULON)                                                               \
    RECKON(RK_OPTIONS_OF_SEARCH)
/* clang-format on */

static const rk_option calculon_options[] = {RK_CALCULON_ROWS_OF(OPTIONS)};
static const rk_option reckon_options[] = {RK_RECKON_ROWS_OF(OPTIONS)};

static rk_status complete(void *arguments, rk_error *err)
{
    rk_design_args *args = arguments;
    const rk_status status = rk_question_args_check(args, err);
    return !status && args->target.days > 0 && !(args->target.tokens > 0)
               ? rk_fail(err, RK_ERR_INVALID, "--days needs --tokens: how many, e.g. 15T")
               : status;
}

static rk_status run(rk_job *job, void *arguments, rk_error *err)
{
    rk_design_args *args = arguments;
    const rk_method *method = args->question.method;
    rk_design_answer *d = calloc(1, sizeof(*d));
    if (!d) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
    }
    d->target = args->target;
    rk_status status = rk_design_answer_prepare(method, args, d, err);
    status = status ? status : rk_question_load(method, args, &d->question, err);
    status = status ? status : rk_design_answer_find(rk_job_work(job), d, err);
    status = status ? status : rk_design_write(job, d, err);
    rk_job_set_found(job, d->least_rate > 0 ? d->cheapest != NULL
                                            : rk_design_cheapest(d->designs, d->count, 0) != NULL);
    free(d->designs);
    rk_question_clear(&d->question);
    free(d);
    return status;
}

#define COMMON                                                                                     \
    .name = "design", .purpose = "Find the cheapest machine that trains a model fast enough",      \
    .size = sizeof(rk_design_args), .complete = complete, .run = run

static const rk_command calculon_design = {
    COMMON,
    .options = calculon_options,
    .option_count = sizeof(calculon_options) / sizeof(calculon_options[0]),
    .notes = "By Calculon's method: the best strategy on every machine within the price list.\n"
             "Without a target, the machines that no other beats in both cost and speed. Exit\n"
             "status: 0 done, 1 no machine meets the target, 2 wrong usage or input.\n"
             "\n"
             "example: reckon design seed-1T h100-80g-off512g50-nvl8 --batch 3072 \\\n"
             "             --prices example --tokens 15T --days 120",
    .init = rk_question_args_calculon,
};

const rk_command rk_command_design = {
    COMMON,
    RK_COMMAND_OF_STRATEGY,
    .options = reckon_options,
    .option_count = sizeof(reckon_options) / sizeof(reckon_options[0]),
    .notes = "Searches the best strategy on every machine within the price list. Without a\n"
             "target, lists the machines that no other beats in both cost and speed.\n"
             "Calculon's documents are judged by Calculon's method; its options:\n"
             "'reckon design --method calculon --help'. Exit status: 0 done, 1 no machine\n"
             "meets the target, 2 wrong usage or input.\n\n"
             "example: reckon design --model llama3-70b --system h100-sxm --batch 1024 \\\n"
             "             --prices example --tokens 15T --days 60",
    .calculon = &calculon_design,
    .init = rk_question_args_reckon,
};
