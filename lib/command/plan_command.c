/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon plan`: the best strategies. */
#include "answer/answers.h"
#include "base/error.h"
#include "command/commands.h"
#include "command/question_args.h"
#include "method/launch_comparison.h"
#include "work/shared_work.h"

#include <stdlib.h>

#define MOST_RANKED 1000

#define TOP_OPTION(struct_, words)                                                                 \
    RK_OPTION("top", COUNT, offsetof(struct_, top), .letter = 'n', .min = 1, .max = MOST_RANKED,   \
              .value = "N", .common = true, .help = words)

#define BOUNDED_OPTION(struct_, words)                                                             \
    RK_OPTION("bounded", FLAG, offsetof(struct_, bounded), .help = words)

/* clang-format off: a row each */
#define OPTIONS(BOTH, RECKON, CALCULON)                                                            \
    CALCULON(TOP_OPTION(rk_calculon_request, "strategies to show; default: 5"))                    \
    CALCULON(RK_OPTION_METHOD)                                                                     \
    CALCULON({.name = "mbs-break",                                                                 \
              .type = RK_OPTION_FLAG,                                                              \
              .offset = RK_PLAN_PLACE(mbs_break),                                                  \
              .help = "skip larger microbatches once one does not fit; same answer"})              \
    RECKON(TOP_OPTION(rk_request,                                                                  \
                      "show the N fastest strategies, even if nearly alike; default: the "         \
                      "fastest and distinct alternatives"))                                        \
    RECKON({.name = "ranked",                                                                      \
            .type = RK_OPTION_FLAG,                                                                \
            .offset = offsetof(rk_request, ranked),                                                \
            .help = "show the 5 fastest strategies, or those of --top, even if nearly alike"})     \
    CALCULON(BOUNDED_OPTION(rk_calculon_request,                                                   \
                            "settle most strategies by bounds, without evaluating them; same "     \
                            "answer"))                                                             \
    RECKON(BOUNDED_OPTION(rk_request,                                                              \
                          "settle most strategies by bounds, without evaluating them; same "       \
                          "answer.  Default for large spaces"))                                    \
    RECKON({.name = "exhaustive",                                                                  \
            .type = RK_OPTION_FLAG,                                                                \
            .offset = offsetof(rk_request, exhaustive),                                            \
            .help = "evaluate every strategy, and count those that are legal and fit"})            \
    RECKON(RK_OPTION_COMPLETE)                                                                     \
    RECKON(RK_OPTIONS_OF_SYNC)                                                                     \
    RECKON(RK_OPTION_EMIT)                                                                         \
    RECKON(RK_OPTIONS_OF_SEARCH)
/* clang-format on */

static const rk_option calculon_options[] = {RK_CALCULON_ROWS_OF(OPTIONS)};
static const rk_option reckon_options[] = {RK_RECKON_ROWS_OF(OPTIONS)};

static void init_reckon(void *arguments)
{
    rk_question_args *args = arguments;
    rk_question_args_reckon(args);
    args->reckon.top = 0;
    args->reckon.line.open = true; /* the search starts from a pasted launch line */
}

/* With a number given the answer is a ranking; a launch file needs only the fastest. */
static rk_status complete(void *arguments, rk_error *err)
{
    rk_question_args *args = arguments;
    const rk_status status = rk_question_args_check(args, err);
    rk_request *plan = args->method == &rk_method_reckon ? &args->reckon : NULL;
    if (!status && plan && rk_request_policy(plan) == RK_POLICY_OBSERVED) {
        return rk_fail(err, RK_ERR_INVALID,
                       "--complete observed infers one strategy, and plan searches; use it with "
                       "'reckon estimate'");
    }
    if (plan && plan->top == 0 && (plan->ranked || plan->emit >= 0)) {
        plan->top = plan->ranked ? RK_PLAN_TOP : 1;
    }
    return status;
}

static rk_status write_answer(rk_job *job, const rk_question_args *args,
                              const rk_question *question, rk_error *err)
{
    const bool emits = args->method == &rk_method_reckon && args->reckon.emit >= 0;
    return emits ? rk_launch_write(job, &args->reckon, question->plan.inputs,
                                   rk_plan_best(&question->plan), err)
                 : rk_plan_write(job, question, err);
}

static rk_status find(rk_job *job, const rk_question_args *args, rk_question *question,
                      rk_error *err)
{
    rk_status status = rk_question_load(args->method, args, question, err);
    if (status) {
        rk_share_leave(rk_control_team(rk_job_work(job)), err);
        return status;
    }
    status = rk_question_rank(rk_job_work(job), question, err);
    if (!status && args->method == &rk_method_reckon && args->reckon.emit < 0) {
        status = rk_plan_find_launched(rk_job_work(job), &args->reckon,
                                       &question->problem.reckon.inputs, &question->plan, err);
    }
    return status ? status : rk_plan_remark(&question->plan, err);
}

static rk_status run(rk_job *job, void *arguments, rk_error *err)
{
    const rk_question_args *args = arguments;
    rk_question *question = calloc(1, sizeof(*question));
    if (!question) {
        const rk_status lacking = rk_fail(err, RK_ERR_MEMORY, "not enough memory for an answer");
        rk_share_leave(rk_control_team(rk_job_work(job)), err);
        return lacking;
    }
    rk_status status = find(job, args, question, err);
    if (!status && rk_control_is_first(rk_job_work(job))) {
        status = write_answer(job, args, question, err);
    }
    rk_job_set_found(job, rk_question_has_answer(question));
    rk_question_clear(question);
    free(question);
    return status;
}

#define COMMON                                                                                     \
    .name = "plan", .purpose = "Find the best strategies for training a model on a system",        \
    .is_shared = true, .size = sizeof(rk_question_args), .complete = complete, .run = run

static const rk_command calculon_plan = {
    COMMON,
    .options = calculon_options,
    .option_count = sizeof(calculon_options) / sizeof(calculon_options[0]),
    .shared = rk_calculon_plan_options,
    .shared_count = RK_CALCULON_PLAN_OPTIONS,
    .notes = "Numbers may end in k, M, G, B, T (powers of 1000) or Ki, Mi, Gi, Ti (of 1024).\n"
             "Exit status: 0 done, 1 no strategy fits, 2 wrong usage or input.\n"
             "\n"
             "example: reckon plan seed-1T h100-80g-off512g50-nvl8 4096 --batch 3072 \\\n"
             "             --datatype float8",
    .init = rk_question_args_calculon,
};

const rk_command rk_command_plan = {
    COMMON,
    .shared_with = "exhaustive",
    RK_COMMAND_OF_STRATEGY,
    .options = reckon_options,
    .option_count = sizeof(reckon_options) / sizeof(reckon_options[0]),
    .notes = "Degrees may be lists: --tp 4,8. Numbers may end in k, M, G, B, T (powers of\n"
             "1000; B is a billion) or Ki, Mi, Gi, Ti (of 1024). Exit status: 0 done, 1 no\n"
             "strategy fits, 2 wrong usage or input.\n"
             "\n"
             "Calculon's documents are planned by Calculon's method; its options:\n"
             "'reckon plan --method calculon --help'.\n"
             "\n"
             "example: reckon plan llama3.1-405b 16384xh100-roce-24k -b 2048",
    .calculon = &calculon_plan,
    .init = init_reckon,
};
