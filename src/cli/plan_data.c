/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon plan` for programs. */
#include "cli/plan.h"

#include "base/text.h"
#include "formats/calculon_docs.h"
#include "formats/json_write.h"
#include "report/calculon_parts.h"

#include <inttypes.h>
#include <stdio.h>

static void write_count(rk_json_writer *writer, const char *key, uint64_t value)
{
    rk_json_key(writer, key);
    rk_out_printf(writer->out, "%" PRIu64, value);
}

static void write_real(rk_json_writer *writer, const char *key, double value)
{
    char text[RK_NUMBER_TEXT_SIZE];
    rk_json_key(writer, key);
    rk_json_value(writer, rk_double_text(value, text));
}

static void write_flag(rk_json_writer *writer, const char *key, bool value)
{
    rk_json_key(writer, key);
    rk_json_value(writer, value ? "true" : "false");
}

/* Writes a string; names and paths come from the command line and may hold anything. */
static void write_string(rk_json_writer *writer, const char *key, const char *text)
{
    rk_json_key(writer, key);
    rk_out_text(writer->out, "\"");
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            rk_out_printf(writer->out, "\\%c", c);
        } else if (c < 0x20) {
            rk_out_printf(writer->out, "\\u%04x", c);
        } else {
            rk_out_write(writer->out, text, 1);
        }
    }
    rk_out_text(writer->out, "\"");
}

static void open_object(rk_json_writer *writer, const char *key)
{
    rk_json_key(writer, key);
    rk_json_open(writer, "{");
}

static void write_request(rk_json_writer *writer, const rk_plan *plan)
{
    const rk_plan_request *request = &plan->request;
    open_object(writer, "request");
    write_string(writer, "method", rk_plan_methods[request->method]);
    write_string(writer, "model", request->model);
    write_string(writer, "system", request->system);
    write_count(writer, "processors", (uint64_t)request->processors);
    write_count(writer, "batch", (uint64_t)request->batch);
    write_string(writer, "datatype", rk_datatype_names[request->datatype]);
    write_flag(writer, "tp_overlap", !request->no_tp_overlap);
    write_flag(writer, "dp_overlap", !request->no_dp_overlap);
    write_flag(writer, "mbs_break", request->mbs_break);
    rk_json_close(writer, "}");
    open_object(writer, "model");
    write_real(writer, "parameters", rk_calculon_parameters(&plan->app));
    write_count(writer, "sequence_tokens", (uint64_t)plan->app.seq_size);
    rk_json_close(writer, "}");
    open_object(writer, "system");
    write_real(writer, "memory_bytes", plan->sys.mem1.capacity);
    write_real(writer, "offload_memory_bytes", plan->sys.mem2.capacity);
    rk_json_close(writer, "}");
    open_object(writer, "search");
    write_count(writer, "strategies", plan->counts.executed);
    write_count(writer, "fit", plan->counts.good);
    write_real(writer, "processor_time_s", plan->cpu_s);
    write_real(writer, "wall_time_s", plan->wall_s);
    rk_json_close(writer, "}");
}

static void write_best(rk_json_writer *writer, const rk_plan *plan)
{
    const rk_calculon_result *best = &plan->strategies[0];
    rk_time_part times[RK_TIME_PART_COUNT];
    rk_memory_part memories[RK_MEMORY_PART_COUNT];
    rk_calculon_time_parts(&best->stats, times);
    rk_calculon_memory_parts(&best->exe, &best->stats, memories);
    open_object(writer, "best");
    write_real(writer, "step_s", best->stats.total_time);
    write_real(writer, "samples_per_s", best->stats.sample_rate);
    write_real(writer, "tokens_per_s", best->stats.sample_rate * (double)plan->app.seq_size);
    write_real(writer, "efficiency", best->stats.total_efficiency);
    open_object(writer, "time");
    for (int i = 0; i < RK_TIME_PART_COUNT; i++) {
        write_real(writer, times[i].key, times[i].seconds);
    }
    rk_json_close(writer, "}");
    open_object(writer, "memory");
    for (int i = 0; i < RK_MEMORY_PART_COUNT; i++) {
        write_real(writer, memories[i].key, memories[i].tier1);
    }
    rk_json_close(writer, "}");
    open_object(writer, "offload_memory");
    for (int i = 0; i < RK_MEMORY_PART_COUNT; i++) {
        write_real(writer, memories[i].key, memories[i].tier2);
    }
    rk_json_close(writer, "}");
    rk_json_close(writer, "}");
}

static void write_need(rk_json_writer *writer, const char *key, const rk_plan_need *need)
{
    const rk_calculon_stats *stats = &need->strategy.stats;
    if (need->found) {
        open_object(writer, key);
        write_real(writer, "memory_bytes", stats->proc_mem_tier1_cap_req);
        write_real(writer, "offload_memory_bytes", stats->proc_mem_tier2_cap_req);
        write_real(writer, "step_s", stats->total_time);
        rk_json_key(writer, "strategies");
        rk_calculon_write_ranked(writer->out, false, &need->strategy, 1);
        rk_json_close(writer, "}");
    }
}

static void write_shortfall(rk_json_writer *writer, const rk_plan *plan)
{
    open_object(writer, "shortfall");
    if (plan->least_batch > 0) {
        write_count(writer, "least_batch", (uint64_t)plan->least_batch);
    }
    if (plan->misfit[0]) {
        write_string(writer, "misfit", plan->misfit);
    }
    write_need(writer, "least_memory", &plan->least_tier1);
    write_need(writer, "least_offload_memory", &plan->least_tier2);
    write_need(writer, "fastest", &plan->fastest);
    rk_json_close(writer, "}");
}

rk_status rk_plan_write_json(const rk_plan *plan, rk_error *err)
{
    rk_out *out;
    const rk_status status = rk_out_open(plan->request.output, &out, err);
    if (status) {
        return status;
    }
    rk_json_writer writer = {.out = out, .indented = true};
    rk_json_open(&writer, "{");
    write_string(&writer, "reckon", rk_version());
    write_request(&writer, plan);
    if (plan->strategy_count > 0) {
        write_best(&writer, plan);
    } else {
        write_shortfall(&writer, plan);
    }
    rk_json_key(&writer, "strategies");
    rk_calculon_write_ranked(out, false, plan->strategies, plan->strategy_count);
    rk_json_close(&writer, "}");
    rk_out_text(out, "\n");
    return rk_out_close(out, err);
}

rk_status rk_plan_write_csv(const rk_plan *plan, rk_error *err)
{
    rk_out *out;
    const rk_status status = rk_out_open(plan->request.output, &out, err);
    if (status) {
        return status;
    }
    rk_calculon_write_csv_header(out, true);
    for (size_t i = 0; i < plan->strategy_count; i++) {
        rk_calculon_write_csv_row(out, true, i, &plan->strategies[i]);
    }
    return rk_out_close(out, err);
}
