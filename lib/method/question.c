/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and solves a planning question, independent of the method. */
#include "method/question.h"

/* Fills the fields that are derived from the problem and the request. */
static void settle(rk_question *question)
{
    const rk_method *method = question->problem.method;
    question->view = method->view(question->request);
    question->batch = method->batch(&question->problem);
    question->seq = method->seq(&question->problem);
}

rk_status rk_question_load(const rk_method *method, const void *request, rk_question *question,
                           rk_error *err)
{
    rk_problem *problem = &question->problem;
    const rk_request_view view = method->view(request);
    *question = (rk_question){.problem.method = method, .request = request};
    rk_status status = RK_OK;
    if (view.model) {
        status = method->load(problem, RK_DOCUMENT_MODEL,
                              &(rk_source){.name = view.model, .documents = view.documents}, err);
    }
    if (!status) {
        status = method->load(problem, RK_DOCUMENT_SYSTEM,
                              &(rk_source){.name = view.system, .documents = view.documents}, err);
    }
    status = status ? status : method->space(problem, request, true, err);
    settle(question);
    return status;
}

rk_status rk_question_ask(const rk_inputs *inputs, const rk_request *request, rk_question *question,
                          rk_error *err)
{
    rk_problem *problem = &question->problem;
    *question = (rk_question){.problem.method = &rk_method_reckon, .request = request};
    problem->reckon.inputs = *inputs;
    const rk_status status =
        rk_request_space(request, &problem->reckon.inputs, &problem->reckon.space, err);
    settle(question);
    return status;
}

void rk_question_clear(rk_question *question)
{
    const rk_method *method = question->problem.method;
    rk_plan_clear(&question->plan);
    if (method && method->clear) {
        method->clear(&question->problem);
    }
}

void rk_question_set_seq(rk_question *question, int64_t seq)
{
    const rk_method *method = question->problem.method;
    if (method->set_seq) {
        method->set_seq(&question->problem, seq);
        question->seq = seq;
    }
}

rk_status rk_question_rank(rk_control *control, rk_question *question, rk_error *err)
{
    const rk_request_view *view = &question->view;
    const rk_status status = rk_plan_rank(control, &question->problem, view->kind, view->top,
                                          view->threads, &question->plan, err);
    return status || !rk_control_is_first(control)
               ? status
               : question->problem.method->predict(question, err);
}

bool rk_question_has_answer(const rk_question *question)
{
    return question->plan.ranking.count > 0;
}
