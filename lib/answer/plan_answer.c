/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `plan` by either method. */
#include "answer/answers.h"
#include "answer/timeline_answer.h"
#include "job/answer_writers.h"
#include "method/launch_comparison.h"
#include "method/ranking_text.h"

void rk_question_write(FILE *to, const rk_question *question)
{
    const rk_method *method = question->problem.method;
    method->write_documents(to, question);
    method->write_run(to, question, RK_SAYS_ACCELERATORS);
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_question *question = what;
    const rk_method *method = question->problem.method;
    const rk_ranking *ranking = &question->plan.ranking;
    const rk_candidate *launched = question->plan.launched && !question->plan.launched->refusal[0]
                                       ? &question->plan.launched->candidate
                                       : NULL;
    if (!style.full && method->write_brief) {
        return method->write_brief(to, question, style, err);
    }
    rk_question_write(to, question);
    rk_ranking_write(to, method, ranking, question->plan.cpu_s);
    if (method->write_choices) {
        method->write_choices(to, question);
    }
    (void)fputc('\n', to);
    if (ranking->count == 0) {
        method->write_missing(to, question);
        return RK_OK;
    }
    const rk_status status =
        rk_write_comparison(to, &question->problem, ranking, launched, style, err);
    return status ? status : method->write_best(to, question, style, err);
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const rk_question *question = what;
    const rk_method *method = question->problem.method;
    const rk_ranking *ranking = &question->plan.ranking;
    method->write_request_json(writer, question);
    rk_ranking_write_json(writer, method, ranking, question->plan.cpu_s, question->plan.wall_s);
    if (ranking->count == 0) {
        method->write_missing_json(writer, question);
    } else {
        method->write_best_json(writer, question);
    }
    method->write_strategies_json(writer, question);
}

static void write_lines(rk_out *out, const void *what)
{
    const rk_question *question = what;
    question->problem.method->write_csv(out, question);
}

static void write_drawings(rk_json_writer *writer, const void *what)
{
    const rk_plan *plan = &((const rk_question *)what)->plan;
    rk_plan_write_drawings(writer, plan, plan->answer_count);
}

rk_status rk_plan_write(const rk_job *job, const rk_question *question, rk_error *err)
{
    static const rk_answer_writers writers = {
        .text = write_text,
        .members = write_members,
        .lines = write_lines,
        .drawings = write_drawings,
    };
    const rk_request_view *view = &question->view;
    return rk_job_answer(job, &writers, question, view->json, view->csv, view->output, err);
}
