/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `estimate`. */
#include "answer/estimate_answer.h"
#include "answer/answers.h"
#include "answer/timeline_answer.h"

#include "answer/estimate_operators.h"
#include "base/time_text.h"
#include "base/units.h"
#include "job/answer_writers.h"
#include "method/brief.h"

#include <string.h>

static rk_status write_tables(FILE *to, const rk_estimate_answer *e, const rk_answer *answer,
                              rk_table_style style, rk_error *err)
{
    rk_status status = rk_write_time(to, &answer->estimate, style, err);
    (void)fputc('\n', to);
    if (!status) {
        status = rk_write_memory(to, answer, style, err);
        (void)fputc('\n', to);
    }
    if (!status) {
        status = rk_write_stages(to, e->inputs, answer, style, err);
    }
    if (!status && rk_strategy_ranks(&answer->strategy) > 1) {
        (void)fputc('\n', to);
        status = rk_write_volumes(to, e->inputs, answer, style, err);
    }
    return status;
}

enum { BRIEF_GAINS = 3, FLAGS_WIDTH = 72 };

/* A row for each change, and below it the flags of the framework that make it. */
static void write_gains(FILE *to, const rk_estimate_answer *e, const rk_answer *answer,
                        rk_table_style style)
{
    const size_t most = style.full ? e->gains.changes.count : BRIEF_GAINS;
    const rk_estimate *now = &answer->estimate;
    const rk_time_unit unit = rk_time_unit_of(now->step);
    char step[RK_TIME_TITLE_SIZE], words[RK_FIT_CHANGE_TEXT];
    if (e->gains.changes.count == 0) {
        (void)fputs("No single change makes the step faster or leaner.\n", to);
        return;
    }
    (void)fprintf(to, "%-43s%10s%8s%9s%9s\n", "single change", rk_time_title("step", unit, step),
                  "%", "GiB", "GiB");
    for (size_t i = 0; i < e->gains.changes.count && i < most; i++) {
        const rk_fit_change *change = &e->gains.changes.items[i];
        const rk_estimate *then = &change->estimate;
        (void)fprintf(to, "%-43.43s%10.3f%+8.1f%9.1f%+9.1f\n",
                      rk_fit_change_text(&answer->strategy, change, words),
                      then->step / unit.seconds, 100 * (then->step / now->step - 1),
                      rk_needed_bytes(&then->memory) / GIB,
                      (rk_needed_bytes(&then->memory) - rk_needed_bytes(&now->memory)) / GIB);
        const char *flags = e->gains.flags[i];
        if (strcmp(flags, words) != 0) {
            const bool cut = !style.full && strlen(flags) > FLAGS_WIDTH;
            (void)fprintf(to, "    %.*s%s\n", cut ? FLAGS_WIDTH : (int)strlen(flags), flags,
                          cut ? "..." : "");
        }
    }
}

/* The tables that options request. */
static rk_status write_asked(FILE *to, const rk_estimate_answer *e, const rk_answer *answer,
                             rk_table_style style, rk_error *err)
{
    rk_status status = RK_OK;
    if (e->request->changes) {
        (void)fputc('\n', to);
        write_gains(to, e, answer, style);
    }
    if (e->request->dp_sync) {
        (void)fputc('\n', to);
        status = rk_sync_write(to, &e->plan.sync, style, err);
    }
    if (!status && e->request->operators) {
        status = rk_operators_write_text(to, &e->operators, style, err);
    }
    return status;
}

static rk_status write_brief(FILE *to, const rk_estimate_answer *e, const rk_answer *answer,
                             rk_table_style style, rk_error *err)
{
    rk_brief_write_question(to, e->request, e->inputs,
                            answer ? rk_strategy_ranks(&answer->strategy) : 0);
    (void)fputc('\n', to);
    if (!answer) {
        rk_plan_write_missing(to, &e->plan);
        return RK_OK;
    }
    rk_plan_write_risk(to, &e->plan);
    rk_brief_write_strategy(to, e->inputs->software.framework, e->plan.searched, &answer->strategy);
    rk_brief_write_step(to, e->inputs, answer);
    const rk_status status = write_asked(to, e, answer, style, err);
    if (!status) {
        rk_brief_write_more(to, "every part of time and memory, stages and communication");
    }
    return status;
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_estimate_answer *e = what;
    const rk_answer *answer = rk_plan_best(&e->plan);
    if (!style.full && !e->request->explain) {
        return write_brief(to, e, answer, style, err);
    }
    rk_write_inputs(to, e->request, e->inputs);
    rk_plan_write_search(to, &e->plan);
    if (!answer) {
        (void)fputc('\n', to);
        rk_plan_write_missing(to, &e->plan);
        return RK_OK;
    }
    rk_write_strategy(to, e->plan.searched, &answer->strategy);
    if (e->request->explain) {
        rk_write_origins(to, &e->plan.origins);
    }
    (void)fputc('\n', to);
    rk_write_summary(to, e->inputs, answer);
    (void)fputc('\n', to);
    rk_status status = write_tables(to, e, answer, style, err);
    if (!status && e->request->explain) {
        (void)fputc('\n', to);
        status = rk_write_explanation(to, answer, &e->worth, style, err);
        (void)fputc('\n', to);
        rk_rules_write_time(to, &e->plan.rules);
        rk_rules_write(to, &e->plan.rules);
    } else if (!status) {
        (void)fputc('\n', to);
        rk_rules_write_brief(to, &e->plan.rules);
    }
    return status ? status : write_asked(to, e, answer, style, err);
}

static void write_gains_json(rk_json_writer *writer, const rk_estimate_answer *e,
                             const rk_answer *answer)
{
    rk_json_open_member(writer, "changes", "[");
    for (size_t i = 0; i < e->gains.changes.count; i++) {
        const rk_fit_change *change = &e->gains.changes.items[i];
        char words[RK_FIT_CHANGE_TEXT];
        rk_json_item(writer);
        rk_json_open(writer, "{");
        rk_json_string(writer, "change", rk_fit_change_text(&answer->strategy, change, words));
        rk_json_string(writer, "flags", e->gains.flags[i]);
        rk_json_real(writer, "step_s", change->estimate.step);
        rk_json_real(writer, "saved_s", answer->estimate.step - change->estimate.step);
        rk_json_real(writer, "memory_total_bytes", change->estimate.memory.total);
        rk_json_real(writer, "memory_needed_bytes", rk_needed_bytes(&change->estimate.memory));
        rk_json_real(writer, "saved_bytes",
                     rk_needed_bytes(&answer->estimate.memory) -
                         rk_needed_bytes(&change->estimate.memory));
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const rk_estimate_answer *e = what;
    const rk_answer *answer = rk_plan_best(&e->plan);
    rk_request_write_json(writer, e->request, e->inputs);
    rk_plan_write_search_json(writer, &e->plan);
    if (!answer) {
        rk_plan_write_missing_json(writer, &e->plan);
        return;
    }
    rk_answer_write_json(writer, answer);
    if (e->request->explain) {
        rk_explanation_write_json(writer, answer, &e->worth);
    }
    if (e->request->changes) {
        write_gains_json(writer, e, answer);
    }
    rk_rules_write_json(writer, &e->plan.rules);
    if (e->request->dp_sync) {
        rk_sync_write_json(writer, &e->plan.sync);
    }
    if (e->request->operators) {
        rk_operators_write_json(writer, &e->operators);
    }
}

static void write_lines(rk_out *out, const void *what)
{
    const rk_answer *answer = rk_plan_best(&((const rk_estimate_answer *)what)->plan);
    rk_answers_write_lines(out, answer, answer ? 1 : 0);
}

static void write_operators(rk_csv_out *csv, const void *what)
{
    rk_operators_write_cells(csv, &((const rk_estimate_answer *)what)->operators);
}

static void write_drawings(rk_json_writer *writer, const void *what)
{
    rk_plan_write_drawings(writer, &((const rk_estimate_answer *)what)->plan, 1);
}

rk_status rk_estimate_write(rk_job *job, const rk_estimate_answer *e, rk_error *err)
{
    const rk_request *request = e->request;
    const bool operators = request->operators && rk_plan_best(&e->plan);
    const rk_answer_writers writers = {.text = write_text,
                                       .members = write_members,
                                       .cells = operators ? write_operators : NULL,
                                       .lines = write_lines,
                                       .drawings = write_drawings};
    return request->emit >= 0
               ? rk_launch_write(job, request, e->inputs, rk_plan_best(&e->plan), err)
               : rk_job_answer(job, &writers, e, request->json, request->csv, request->output, err);
}
