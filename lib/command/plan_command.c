/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon plan`: the best strategies. */
#include "command/calculon_options.h"
#include "command/commands.h"
#include "command/option_groups.h"
#include "command/planner.h"
#include "request/launch_flags.h"

#define MOST_RANKED 1000

#define TOP_OPTION(struct_)                                                                        \
    {                                                                                              \
        .name = "top", .letter = 'n', .type = RK_OPTION_COUNT, .offset = offsetof(struct_, top),   \
        .min = 1, .max = MOST_RANKED, .value = "N", .help = "strategies to show; default: 5"       \
    }

static const rk_option calculon_options[] = {
    TOP_OPTION(rk_calculon_request),
    RK_OPTION_METHOD,
    {.name = "mbs-break",
     .type = RK_OPTION_FLAG,
     .offset = RK_PLAN_PLACE(mbs_break),
     .help = "skip larger microbatches once one does not fit; same answer"},
    {.name = "bounded",
     .type = RK_OPTION_FLAG,
     .offset = RK_PLAN_PLACE(bounded),
     .help = "settle most strategies by bounds, without evaluating them; same answer"},
};

static const rk_option reckon_options[] = {
    {.name = "top",
     .letter = 'n',
     .type = RK_OPTION_COUNT,
     .offset = offsetof(rk_request, top),
     .min = 1,
     .max = MOST_RANKED,
     .value = "N",
     .help = "show the N fastest strategies, even if nearly alike; default: the fastest and "
             "distinct alternatives"},
    {.name = "ranked",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, ranked),
     .help = "show the 5 fastest strategies, or those of --top, even if nearly alike"},
    {.name = "bounded",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, bounded),
     .help = "settle most strategies by bounds, without evaluating them; same answer.  Default "
             "for large spaces"},
    {.name = "exhaustive",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, exhaustive),
     .help = "evaluate every strategy, and count those that are legal and fit"},
    RK_OPTIONS_OF_SYNC,
    RK_OPTION_EMIT,
    RK_OPTIONS_OF_SEARCH,
};

static rk_status run_calculon(rk_job *job, void *arguments, rk_error *err)
{
    return rk_planner_run(&rk_planner_calculon, job, arguments, err);
}

static void init_reckon(void *request)
{
    rk_request_init(request);
    ((rk_request *)request)->top = 0;
    ((rk_request *)request)->line.open = true; /* the search starts from a pasted launch line */
}

/* With a number given the answer is a ranking; a launch file needs only the fastest. */
static rk_status complete_reckon(void *request, rk_error *err)
{
    rk_request *plan = request;
    const rk_status status = rk_request_finish(request, err);
    if (plan->top == 0 && (plan->ranked || plan->emit >= 0)) {
        plan->top = plan->ranked ? RK_PLAN_TOP : 1;
    }
    return status;
}

static rk_status run_reckon(rk_job *job, void *arguments, rk_error *err)
{
    return rk_planner_run(&rk_planner_reckon, job, arguments, err);
}

static const rk_command calculon_plan = {
    .name = "plan",
    .purpose = "Find the best strategies for training a model on a system",
    .options = calculon_options,
    .option_count = sizeof(calculon_options) / sizeof(calculon_options[0]),
    .shared = rk_calculon_plan_options,
    .shared_count = RK_CALCULON_PLAN_OPTIONS,
    .notes = "Numbers may end in k, M, G, B, T (powers of 1000) or Ki, Mi, Gi, Ti (of 1024).\n"
             "Exit status: 0 done, 1 no strategy fits, 2 wrong usage or input.\n"
             "\n"
             "example: reckon plan seed-1T h100-80g-off512g50-nvl8 4096 --batch 3072 \\\n"
             "             --datatype float8",
    .is_shared = true,
    .size = sizeof(rk_calculon_request),
    .init = rk_calculon_request_init,
    .complete = rk_calculon_request_check,
    .run = run_calculon,
};

const rk_command rk_command_plan = {
    .name = "plan",
    .purpose = "Find the best strategies for training a model on a system",
    .options = reckon_options,
    .option_count = sizeof(reckon_options) / sizeof(reckon_options[0]),
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .take_launch_flag = rk_request_take_launch_flag,
    .note_launch_word = rk_request_note_launch_word,
    .notes = "Degrees may be lists: --tp 4,8. Numbers may end in k, M, G, B, T (powers of\n"
             "1000; B is a billion) or Ki, Mi, Gi, Ti (of 1024). Exit status: 0 done, 1 no\n"
             "strategy fits, 2 wrong usage or input.\n"
             "\n"
             "Calculon's documents are planned by Calculon's method; its options:\n"
             "'reckon plan --method calculon --help'.\n"
             "\n"
             "example: reckon plan llama3.1-405b 16384xh100-roce-24k -b 2048",
    .calculon = &calculon_plan,
    .is_shared = true,
    .size = sizeof(rk_request),
    .init = init_reckon,
    .complete = complete_reckon,
    .run = run_reckon,
};
