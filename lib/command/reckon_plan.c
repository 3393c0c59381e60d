/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon plan`: the command, by the reckon model or by the Calculon methodology. */
#include "command/reckon_plan.h"

#include "command/commands.h"
#include "command/planner.h"
#include "io/catalogue.h"
#include "io/document.h"

#include <stdlib.h>
#include <string.h>

#define MOST_RANKED 1000
const char *const rk_reckon_plan_methods[] = {"reckon", "calculon", NULL};

static const rk_option plan_options[] = {
    {.name = "top",
     .letter = 'n',
     .type = RK_OPTION_COUNT,
     .offset = offsetof(rk_request, top),
     .min = 1,
     .max = MOST_RANKED,
     .value = "N",
     .help = "strategies to show; default: 5"},
    {.name = "bounded",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, bounded),
     .help = "settle most strategies by bounds, without evaluating them; same answer.  Default "
             "for large spaces"},
    {.name = "exhaustive",
     .type = RK_OPTION_FLAG,
     .offset = offsetof(rk_request, exhaustive),
     .help = "look at every strategy, and count those that are legal and fit"},
    RK_OPTION_EMIT,
    RK_OPTIONS_OF_SEARCH,
};

static void write_members(rk_json_writer *writer, const void *what)
{
    const rk_reckoning *plan = what;
    rk_search_write_json(writer, plan);
    if (plan->answer_count == 0) {
        rk_shortage_write_json(writer, plan);
    }
    rk_json_open_member(writer, "strategies", "[");
    for (size_t i = 0; i < plan->answer_count; i++) {
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_answer_write_json(writer, &plan->answers[i]);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

rk_status rk_reckoning_write(const rk_job *job, const rk_reckoning *plan, rk_error *err)
{
    const rk_request *request = plan->request;
    if (request->emit >= 0 && plan->answer_count == 0) {
        rk_job_remark(job, "no strategy fits, so there is no launch file; without --emit, plan "
                           "says what is missing");
        return RK_OK; /* a file that says why there is no plan would be run as a script */
    }
    if (request->emit >= 0) {
        return rk_write_launch(job, request, plan->inputs, &plan->answers[0], err);
    }
    if (request->json) {
        return rk_write_document(job, request, plan->inputs, write_members, plan, err);
    }
    return request->csv ? rk_write_rows(job, request, plan->answers, plan->answer_count, err)
                        : rk_job_print(job, request->output, rk_reckoning_write_text, plan, err);
}

static rk_status run_plan(rk_job *job, void *arguments, rk_error *err)
{
    return rk_planner_run(&rk_planner_reckon, job, arguments, err);
}

const rk_command rk_command_plan = {
    .name = "plan",
    .purpose = "Find the best strategies to train a model on a system",
    .options = plan_options,
    .option_count = sizeof(plan_options) / sizeof(plan_options[0]),
    .shared = rk_strategy_options,
    .shared_count = RK_STRATEGY_OPTION_COUNT,
    .notes = "Degrees may be lists: --tp 4,8.  Numbers may end in k, M, G, B, T (powers of 1000; B "
             "is a billion)\nor Ki, Mi, Gi, Ti (of 1024).  Exit status: 0 done, 1 no strategy "
             "fits, 2 wrong usage or input.\n\nDocuments of Calculon are planned by its "
             "methodology, whose options "
             "'reckon plan --method calculon\n--help' lists.\n\n"
             "example: reckon plan --model llama3.1-405b --system h100-roce-24k \\\n"
             "             --accelerators 16384 --global-batch 2048",
    .calculon = &rk_command_plan_calculon,
    .is_shared = true,
    .size = sizeof(rk_request),
    .init = rk_request_init,
    .complete = rk_request_finish,
    .run = run_plan,
};
