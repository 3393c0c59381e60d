/* SPDX-License-Identifier: Apache-2.0 */
/* The planner of the Calculon method. */
#include "calculon/calculon_docs.h"
#include "command/planner.h"
#include "report/describe.h"

#include <inttypes.h>

static int64_t *accelerators(void *options)
{
    return &((rk_calculon_request *)options)->processors;
}

static rk_status load(rk_asked *asked, const void *options, rk_error *err)
{
    rk_calculon_plan *plan = &asked->plan;
    const rk_calculon_request *request = &plan->request;
    plan->request = *(const rk_calculon_request *)options;
    const rk_status status = rk_asked_read(asked, request->model, request->system, request, err);
    plan->problem = asked->problem;
    plan->request.datatype = (int)asked->problem.calculon.space.datatype;
    asked->batch = request->batch;
    asked->seq = plan->problem.calculon.app.seq_size;
    asked->threads = request->threads;
    asked->top = (size_t)request->top;
    asked->json = request->json;
    asked->csv = request->csv;
    asked->output = request->output;
    return status;
}

static void clear(rk_asked *asked)
{
    rk_calculon_plan_clear(&asked->plan);
}

static void allow_offload(rk_asked *asked)
{
    (void)asked; /* the space has all offloads */
}

static void set_seq(rk_asked *asked, int64_t seq)
{
    asked->seq = asked->problem.calculon.app.seq_size = seq;
}

static rk_status rank(rk_job *job, rk_asked *asked, rk_error *err)
{
    const rk_status status = rk_calculon_plan_rank(job, &asked->plan, err);
    asked->ranking = &asked->plan.ranking;
    asked->time = asked->plan.time;
    return status;
}

static rk_status write_best(FILE *to, const rk_asked *asked, rk_table_style style, rk_error *err)
{
    return rk_calculon_plan_write_best(to, &asked->plan, style, err);
}

static void write_shortage(FILE *to, const rk_asked *asked)
{
    rk_calculon_plan_write_shortage(to, &asked->plan);
}

static void write_request_json(rk_json_writer *writer, const rk_asked *asked)
{
    rk_calculon_plan_write_request_json(writer, &asked->plan);
}

static void write_best_json(rk_json_writer *writer, const rk_asked *asked)
{
    rk_calculon_plan_write_best_json(writer, &asked->plan);
}

static void write_shortage_json(rk_json_writer *writer, const rk_asked *asked)
{
    rk_calculon_plan_write_shortage_json(writer, &asked->plan);
}

static void write_strategies_json(rk_json_writer *writer, const rk_asked *asked)
{
    rk_calculon_plan_write_strategies(writer, &asked->plan);
}

static rk_status write_csv(const rk_job *job, const rk_asked *asked, rk_error *err)
{
    return rk_calculon_plan_write_csv(job, &asked->plan, err);
}

static void write_documents(FILE *to, const rk_asked *asked)
{
    rk_calculon_plan_write_model(to, &asked->plan);
    rk_calculon_plan_write_system(to, &asked->plan);
}

static void write_batch(FILE *to, const rk_asked *asked)
{
    char number[RK_COMMAS_SIZE];
    (void)fprintf(to, "batch of up to %s sequences, %s\n",
                  rk_with_commas((uint64_t)asked->batch, number),
                  rk_datatype_names[asked->plan.request.datatype]);
}

static void write_inputs(FILE *to, const rk_asked *asked)
{
    rk_calculon_plan_write_inputs(to, &asked->plan);
}

static void write_machine(FILE *to, const rk_asked *asked)
{
    const rk_calculon_request *request = &asked->plan.request;
    char number[RK_COMMAS_SIZE], batch[RK_COMMAS_SIZE];
    rk_calculon_plan_write_system(to, &asked->plan);
    (void)fprintf(to, "%-10s%s processors, batch of up to %s sequences of %" PRId64 ", %s\n", "run",
                  rk_with_commas((uint64_t)request->processors, number),
                  rk_with_commas((uint64_t)request->batch, batch), asked->seq,
                  rk_datatype_names[request->datatype]);
}

static const char *strategy_words(const rk_candidate *candidate, char out[RK_WORDS_SIZE])
{
    return rk_describe_exe(&candidate->exe, out);
}

const rk_planner rk_planner_calculon = {
    .method = &rk_method_calculon,
    .accelerators_option = "processors",
    .shape_key = "application",
    .efficiency_note =
        "efficiency: FLOP of all layers, recompute left out, over time and matrix peak\n",
    .accelerators = accelerators,
    .load = load,
    .clear = clear,
    .allow_offload = allow_offload,
    .set_seq = set_seq,
    .rank = rank,
    .write_best = write_best,
    .write_shortage = write_shortage,
    .write_request_json = write_request_json,
    .write_best_json = write_best_json,
    .write_shortage_json = write_shortage_json,
    .write_strategies_json = write_strategies_json,
    .write_csv = write_csv,
    .write_documents = write_documents,
    .write_batch = write_batch,
    .write_inputs = write_inputs,
    .write_machine = write_machine,
    .strategy_words = strategy_words,
};
