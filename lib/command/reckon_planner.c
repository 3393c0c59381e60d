/* SPDX-License-Identifier: Apache-2.0 */
/* The planner of the reckon model. */
#include "command/found.h"
#include "command/planner.h"
#include "report/describe.h"
#include "report/estimate_fields.h"

#include <inttypes.h>

static int64_t *accelerators(void *options)
{
    return &((rk_request *)options)->accelerators;
}

/* Derives the rest from a loaded problem and the options of the command. */
static void take(rk_asked *asked, const rk_request *request)
{
    rk_plan_answer *reckoning = &asked->reckoning;
    *reckoning = (rk_plan_answer){.request = request,
                                  .inputs = &asked->problem.reckon.inputs,
                                  .space = asked->problem.reckon.space};
    reckoning->setting = rk_setting_of(reckoning->inputs);
    asked->threads = request->threads;
    asked->top = (size_t)request->top;
    asked->json = request->json;
    asked->csv = request->csv;
    asked->output = request->output;
    asked->batch = reckoning->space.global_batch;
    asked->seq = reckoning->space.base.seq;
}

rk_status rk_asked_take(rk_asked *asked, const rk_request *request, rk_error *err)
{
    rk_problem *problem = &asked->problem;
    problem->method = &rk_method_reckon;
    const rk_status status =
        rk_request_space(request, &problem->reckon.inputs, &problem->reckon.space, err);
    take(asked, request);
    return status;
}

static rk_status load(rk_asked *asked, const void *options, rk_error *err)
{
    const rk_request *request = options;
    const rk_status status = rk_asked_read(asked, request->model, request->system, request, err);
    take(asked, request);
    return status;
}

static void clear(rk_asked *asked)
{
    rk_plan_answer_clear(&asked->reckoning);
}

static void allow_offload(rk_asked *asked)
{
    if (!asked->reckoning.request->offloads) {
        asked->problem.reckon.space.offloads = RK_PLAN_ALL_OFFLOADS;
    }
}

/* Remarks on the best strategy besides its estimate. */
static rk_status fill_best(rk_plan_answer *plan, rk_error *err)
{
    const rk_answer *best = plan->answers;
    if (plan->answer_count == 0) {
        return RK_OK;
    }
    const rk_status status = rk_rules_fill(&plan->setting, best, &plan->rules, err);
    return status || !plan->request->dp_sync
               ? status
               : rk_sync_fill(plan->request, &plan->setting, best, &plan->sync, err);
}

static rk_status rank(rk_job *job, rk_asked *asked, rk_error *err)
{
    rk_plan_answer *reckoning = &asked->reckoning;
    rk_status status = rk_plan_answer_search(job, reckoning->request, reckoning->inputs, asked->top,
                                             reckoning, err);
    status = status ? status : fill_best(reckoning, err);
    asked->ranking = &reckoning->ranking;
    asked->time = (rk_search_time){.cpu_s = reckoning->cpu_s, .wall_s = -1};
    return status;
}

static void write_choices(FILE *to, const rk_asked *asked)
{
    rk_write_choices(to, &asked->reckoning);
}

static rk_status write_best(FILE *to, const rk_asked *asked, rk_table_style style, rk_error *err)
{
    return rk_plan_answer_write_best(to, &asked->reckoning, style, err);
}

static void write_shortage(FILE *to, const rk_asked *asked)
{
    rk_write_shortage(to, &asked->reckoning);
}

static void write_request_json(rk_json_writer *writer, const rk_asked *asked)
{
    rk_request_write_json(writer, asked->reckoning.request, asked->reckoning.inputs);
}

static void write_shortage_json(rk_json_writer *writer, const rk_asked *asked)
{
    rk_shortage_write_json(writer, &asked->reckoning);
}

static void write_best_json(rk_json_writer *writer, const rk_asked *asked)
{
    rk_rules_write_json(writer, &asked->reckoning.rules);
    if (asked->reckoning.request->dp_sync) {
        rk_sync_write_json(writer, &asked->reckoning.sync);
    }
}

static void write_strategies_json(rk_json_writer *writer, const rk_asked *asked)
{
    const rk_plan_answer *plan = &asked->reckoning;
    if (plan->answer_count > 0) {
        rk_origins_write_json(writer, &plan->space.origins);
    }
    rk_json_open_member(writer, "strategies", "[");
    for (size_t i = 0; i < plan->answer_count; i++) {
        rk_json_item(writer);
        rk_json_open(writer, "{");
        if (plan->ranking.kinds[0]) {
            char label[RK_ALTERNATIVE_LABEL_SIZE];
            rk_json_string(writer, "label", rk_alternative_label(plan->ranking.kinds[i], label));
            rk_json_real(writer, "slowdown", rk_plan_answer_slowdown(plan, i));
        }
        rk_answer_write_json(writer, &plan->answers[i]);
        rk_json_close(writer, "}");
    }
    rk_json_close(writer, "]");
}

/* Adds a label and the slowdown to each of the alternatives. */
static rk_status write_csv(const rk_job *job, const rk_asked *asked, rk_error *err)
{
    const rk_plan_answer *plan = &asked->reckoning;
    char label[RK_ALTERNATIVE_LABEL_SIZE], rest[RK_ALTERNATIVE_LABEL_SIZE + 32];
    rk_out *out;
    if (!plan->ranking.kinds[0]) {
        return rk_write_rows(job, plan->request, plan->answers, plan->answer_count, err);
    }
    const rk_status status = rk_job_open(job, asked->output, &out, err);
    if (status) {
        return status;
    }
    rk_estimate_write_csv_header(out, ",label,slowdown");
    for (size_t i = 0; i < plan->answer_count; i++) {
        const rk_answer *answer = &plan->answers[i];
        (void)snprintf(rest, sizeof(rest), ",%s,%.6g",
                       rk_alternative_label(plan->ranking.kinds[i], label),
                       rk_plan_answer_slowdown(plan, i));
        rk_estimate_write_csv_row(out, i + 1, &answer->strategy, &answer->estimate, rest);
    }
    return rk_out_close(out, err);
}

static bool emits(const rk_asked *asked)
{
    return asked->reckoning.request->emit >= 0;
}

static rk_status emit(const rk_job *job, const rk_asked *asked, rk_error *err)
{
    const rk_plan_answer *plan = &asked->reckoning;
    if (plan->answer_count == 0) {
        rk_remark_no_file(job, "launch file", "emit");
        return RK_OK;
    }
    return rk_write_launch(job, plan->request, plan->inputs, &plan->answers[0], err);
}

static void write_documents(FILE *to, const rk_asked *asked)
{
    rk_write_inputs(to, asked->reckoning.request, asked->reckoning.inputs);
}

static void write_batch(FILE *to, const rk_asked *asked)
{
    char number[RK_COUNTED_SIZE];
    (void)fprintf(to, "batch of %s of %" PRId64 ", %s\n",
                  rk_counted((uint64_t)asked->batch, "sequence", number), asked->seq,
                  rk_precision_names[asked->problem.reckon.space.base.precision]);
}

static void write_inputs(FILE *to, const rk_asked *asked)
{
    rk_plan_answer_write_inputs(to, &asked->reckoning);
}

static void write_strategy(FILE *to, const rk_candidate *candidate)
{
    rk_write_strategy(to, &candidate->strategy);
}

const rk_planner rk_planner_reckon = {
    .method = &rk_method_reckon,
    .accelerators_option = "accelerators",
    .shape_key = "shape",
    .efficiency_note = "",
    .accelerators = accelerators,
    .load = load,
    .clear = clear,
    .allow_offload = allow_offload,
    .rank = rank,
    .write_choices = write_choices,
    .write_best = write_best,
    .write_shortage = write_shortage,
    .write_request_json = write_request_json,
    .write_best_json = write_best_json,
    .write_shortage_json = write_shortage_json,
    .write_strategies_json = write_strategies_json,
    .write_csv = write_csv,
    .emits = emits,
    .emit = emit,
    .write_documents = write_documents,
    .write_batch = write_batch,
    .write_inputs = write_inputs,
    .write_machine = write_inputs,
    .write_strategy = write_strategy,
};
