/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon timeline`: the timeline of one step, as a trace, a picture or a table. */
#include "answer/timeline_answer.h"
#include "command/commands.h"
#include "command/option_groups.h"
#include "command/with_inputs.h"

static const rk_option timeline_options[] = {
    RK_OPTIONS_OF_SEARCH,
    RK_OPTION_COMPLETE,
};

static void init_request(void *arguments)
{
    rk_request *request = arguments;
    rk_request_init(request);
    request->pictures = true;
}

static rk_status answer(rk_job *job, void *arguments, const rk_inputs *inputs, void *what,
                        rk_error *err)
{
    rk_timeline_answer *drawn = what;
    drawn->request = arguments;
    drawn->inputs = inputs;
    rk_status status = rk_plan_find(rk_job_work(job), arguments, inputs, &drawn->plan, err);
    const rk_answer *best = status ? NULL : rk_plan_best(&drawn->plan);
    status = status ? status : rk_timeline_write(job, drawn, err);
    rk_job_set_found(job, best && best->estimate.fits);
    rk_plan_clear(&drawn->plan);
    return status;
}

static rk_status run_timeline(rk_job *job, void *arguments, rk_error *err)
{
    return rk_with_inputs(job, arguments, sizeof(rk_timeline_answer), answer, err);
}

const rk_command rk_command_timeline = {
    .name = "timeline",
    .purpose = "Draw the timeline of a step: picture, Perfetto trace, or table",
    .options = timeline_options,
    .option_count = sizeof(timeline_options) / sizeof(timeline_options[0]),
    RK_COMMAND_OF_STRATEGY,
    .notes = "The ending of the file selects the format: .json a trace for Perfetto, .svg a\n"
             "picture, .csv a table of all operations. Without --output, a sketch in "
             "letters.\n" RK_NOTES_OF_CHOICES
             "Exit status: 0 done, 1 it does not fit, 2 wrong usage or input.\n"
             "\n"
             "example: reckon timeline llama3-70b 64xh100 --tp 8 --pp 4 -b 16 -o step.svg",
    .size = sizeof(rk_request),
    .init = init_request,
    .complete = rk_request_finish,
    .run = run_timeline,
};
