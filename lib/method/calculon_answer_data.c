/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers of the Calculon method for programs. */
#include "method/calculon_answer.h"

#include "calculon/calculon_docs.h"
#include "calculon/calculon_parts.h"
#include "method/calculon_request.h"

void rk_calculon_write_request_json(rk_json_writer *writer, const rk_question *question)
{
    const rk_calculon_request *request = question->request;
    rk_json_open_member(writer, "request", "{");
    rk_json_string(writer, "method", question->problem.method->name);
    rk_json_string(writer, "model", request->model);
    rk_json_string(writer, "system", request->system);
    rk_json_count(writer, "processors", (uint64_t)request->processors);
    rk_json_count(writer, "batch", (uint64_t)request->batch);
    rk_json_string(writer, "datatype",
                   rk_datatype_names[question->problem.calculon.space.datatype]);
    rk_json_flag(writer, "tp_overlap", !request->no_tp_overlap);
    rk_json_flag(writer, "dp_overlap", !request->no_dp_overlap);
    rk_json_flag(writer, "mbs_break", request->mbs_break);
    rk_json_close(writer, "}");
    rk_json_open_member(writer, "model", "{");
    rk_json_real(writer, "parameters", rk_calculon_parameters(&question->problem.calculon.app));
    rk_json_count(writer, "sequence_tokens", (uint64_t)question->problem.calculon.app.seq_size);
    rk_json_close(writer, "}");
    rk_json_open_member(writer, "system", "{");
    rk_json_real(writer, "memory_bytes", question->problem.calculon.sys.mem1.capacity);
    rk_json_real(writer, "offload_memory_bytes", question->problem.calculon.sys.mem2.capacity);
    rk_json_close(writer, "}");
}

void rk_calculon_write_best_json(rk_json_writer *writer, const rk_question *question)
{
    const rk_calculon_result *best = &question->plan.results[0];
    rk_calculon_time_part times[RK_CALCULON_TIME_PARTS];
    rk_calculon_memory_part memories[RK_CALCULON_MEMORY_PARTS];
    rk_calculon_time_parts(&best->stats, times);
    rk_calculon_memory_parts(&best->exe, &best->stats, memories);
    rk_json_open_member(writer, "best", "{");
    rk_json_real(writer, "step_s", best->stats.total_time);
    rk_json_real(writer, "samples_per_s", best->stats.sample_rate);
    rk_json_real(writer, "tokens_per_s",
                 best->stats.sample_rate * (double)question->problem.calculon.app.seq_size);
    rk_json_real(writer, "efficiency", best->stats.total_efficiency);
    rk_json_open_member(writer, "time", "{");
    for (int i = 0; i < RK_CALCULON_TIME_PARTS; i++) {
        rk_json_real(writer, times[i].key, times[i].seconds);
    }
    rk_json_close(writer, "}");
    rk_json_open_member(writer, "memory", "{");
    for (int i = 0; i < RK_CALCULON_MEMORY_PARTS; i++) {
        rk_json_real(writer, memories[i].key, memories[i].tier1);
    }
    rk_json_close(writer, "}");
    rk_json_open_member(writer, "offload_memory", "{");
    for (int i = 0; i < RK_CALCULON_MEMORY_PARTS; i++) {
        rk_json_real(writer, memories[i].key, memories[i].tier2);
    }
    rk_json_close(writer, "}");
    rk_json_close(writer, "}");
}

/* The search has evaluated the strategy before, so that this cannot fail. */
static void write_need(rk_json_writer *writer, const rk_question *question, const char *key,
                       const rk_candidate *need)
{
    rk_calculon_result result;
    rk_error err;
    if (!need->fits || rk_calculon_evaluate_roomy(&question->problem, need, &result, &err)) {
        return;
    }
    rk_json_open_member(writer, key, "{");
    rk_json_real(writer, "memory_bytes", need->memory);
    rk_json_real(writer, "offload_memory_bytes", need->offloaded);
    rk_json_real(writer, "step_s", need->step);
    rk_json_key(writer, "strategies");
    rk_calculon_write_ranked(writer->out, false, &result, 1);
    rk_json_close(writer, "}");
}

void rk_calculon_write_missing_json(rk_json_writer *writer, const rk_question *question)
{
    const rk_shortage *shortage = &question->plan.ranking.shortage;
    rk_json_open_member(writer, "shortfall", "{");
    if (shortage->least_batch > 0) {
        rk_json_count(writer, "least_batch", (uint64_t)shortage->least_batch);
    }
    if (shortage->misfit[0]) {
        rk_json_string(writer, "misfit", shortage->misfit);
    }
    write_need(writer, question, "least_memory", &shortage->least[0]);
    write_need(writer, question, "least_offload_memory", &shortage->least[1]);
    write_need(writer, question, "fastest", &shortage->fastest);
    rk_json_close(writer, "}");
}

void rk_calculon_write_strategies_json(rk_json_writer *writer, const rk_question *question)
{
    rk_json_key(writer, "strategies");
    rk_calculon_write_ranked(writer->out, false, question->plan.results,
                             question->plan.answer_count);
}

void rk_calculon_write_csv(rk_out *out, const rk_question *question)
{
    rk_calculon_write_csv_header(out, true);
    for (size_t i = 0; i < question->plan.answer_count; i++) {
        rk_calculon_write_csv_row(out, true, i, &question->plan.results[i]);
    }
}
