/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon plan` by the reckon model, as its options want it. */
#include "command/reckon_plan.h"

#include <stdlib.h>
#include <string.h>

const char *const rk_reckon_plan_methods[] = {"reckon", "calculon", NULL};

static void write_members(rk_json_writer *writer, const void *what)
{
    const rk_plan_answer *plan = what;
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

rk_status rk_plan_answer_write(const rk_job *job, const rk_plan_answer *plan, rk_error *err)
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
                        : rk_job_print(job, request->output, rk_plan_answer_write_text, plan, err);
}
