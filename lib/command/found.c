/* SPDX-License-Identifier: Apache-2.0 */
#include "command/found.h"

#include "base/error.h"
#include "request/choices.h"

#include <stdlib.h>
#include <string.h>

/* ---- the strategy ---------------------------------------------------------------------------- */

/*
 * Nothing is legal: the given choices with the usual values of the rest break a rule, which the
 * error names.
 */
static rk_status explain_refusal(const rk_request *request, const rk_inputs *inputs, rk_error *err)
{
    rk_strategy strategy;
    return rk_request_strategy(request, inputs, &strategy, err);
}

static rk_status search_strategy(rk_job *job, const rk_request *request, const rk_inputs *inputs,
                                 rk_plan_answer *plan, rk_error *err)
{
    const rk_choice_sets sets = rk_request_choices(request, &inputs->model);
    if (request->global_batch == 0 && request->accelerators > 0 && !sets.several) {
        char open[RK_CHOICE_LIST_SIZE];
        const rk_status status = explain_refusal(request, inputs, err);
        return status ? status
                      : rk_fail(err, RK_ERR_INVALID,
                                "--global-batch is missing: %s are open, and a search needs it",
                                rk_choice_list(sets.open & RK_CHOICES_NEEDED, open));
    }
    const rk_status status = rk_plan_answer_search(job, request, inputs, 1, plan, err);
    const bool legal = plan->answer_count > 0 || plan->ranking.shortage.legal;
    return status || legal || !sets.given || sets.several ? status
                                                          : explain_refusal(request, inputs, err);
}

rk_status rk_found_fill(rk_job *job, const rk_request *request, const rk_inputs *inputs,
                        rk_found *found, rk_error *err)
{
    *found = (rk_found){.searched = !inputs->completed.done &&
                                    !rk_request_is_strategy(request, &inputs->model)};
    if (found->searched) {
        const rk_status searched = search_strategy(job, request, inputs, &found->plan, err);
        found->origins = found->plan.space.origins;
        return searched;
    }
    rk_strategy strategy;
    const rk_setting setting = rk_setting_of(inputs);
    const rk_status status =
        rk_request_complete_strategy(request, inputs, &strategy, &found->origins, err);
    return status ? status : rk_answer_fill(&setting, &strategy, &found->given, err);
}

void rk_found_clear(rk_found *found)
{
    rk_plan_answer_clear(&found->plan);
    free(found->given.stages);
}

const rk_answer *rk_found_answer(const rk_found *found)
{
    if (!found->searched) {
        return &found->given;
    }
    return found->plan.answer_count > 0 ? &found->plan.answers[0] : NULL;
}

void rk_remark_no_file(const rk_job *job, const char *file, const char *option)
{
    rk_job_remark(job,
                  "no strategy fits, so there is no %s; without --%s, the answer says what is "
                  "missing",
                  file, option);
}

/* ---- what was searched ----------------------------------------------------------------------- */

#define LINE_WIDTH 80

/* Writes "given TP, PP and ZeRO" below a label, over as many lines as it takes. */
static void write_list(FILE *to, const char *word, unsigned choices)
{
    char list[RK_CHOICE_LIST_SIZE];
    const char *rest = rk_choice_list(choices, list);
    int column = fprintf(to, "%-10s%s", "", word);
    while (*rest) {
        const int length = (int)strcspn(rest, " ");
        const bool breaks = column + 1 + length > LINE_WIDTH;
        (void)fprintf(to, "%s%.*s", breaks ? "\n          " : " ", length, rest);
        column = breaks ? 10 + length : column + 1 + length;
        rest += length + (rest[length] == ' ');
    }
    (void)fputc('\n', to);
}

void rk_write_choices(FILE *to, const rk_plan_answer *plan)
{
    const rk_choice_sets sets = rk_request_choices(plan->request, &plan->inputs->model);
    if (sets.given) {
        write_list(to, "given", sets.given);
        write_list(to, "searched", sets.open);
    }
}

void rk_write_found(FILE *to, const rk_found *found)
{
    if (found->searched) {
        rk_write_search(to, &found->plan);
        rk_write_choices(to, &found->plan);
    }
}

static void write_keys(rk_json_writer *writer, const char *key, unsigned choices)
{
    rk_json_open_member(writer, key, "[");
    for (int i = 0; i < RK_CHOICE_COUNT; i++) {
        if (choices >> i & 1) {
            char text[32];
            (void)snprintf(text, sizeof(text), "\"%s\"", rk_choice_keys[i]);
            rk_json_item(writer);
            rk_json_value(writer, text);
        }
    }
    rk_json_close(writer, "]");
}

void rk_found_write_json(rk_json_writer *writer, const rk_found *found)
{
    if (found->searched) {
        const rk_plan_answer *plan = &found->plan;
        const rk_choice_sets sets = rk_request_choices(plan->request, &plan->inputs->model);
        rk_search_write_json(writer, plan);
        write_keys(writer, "given", sets.given);
        write_keys(writer, "searched", sets.open);
    }
    if (rk_found_answer(found)) {
        rk_origins_write_json(writer, &found->origins);
    }
}
