/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon shape` for programs: all shapes. */
#include "cli/shape.h"

#include "cli/bounded.h"
#include "io/csv_out.h"
#include "report/estimate_fields.h"

static void write_shape(rk_json_writer *writer, const rk_shaping *s, const rk_shape *shape)
{
    const rk_calculon_app *app = &shape->app;
    rk_json_item(writer);
    rk_json_open(writer, "{");
    rk_json_open_member(writer, s->plan ? "application" : "shape", "{");
    rk_json_count(writer, "hidden", (uint64_t)app->hidden);
    rk_json_count(writer, "feedforward", (uint64_t)app->feedforward);
    rk_json_count(writer, "seq_size", (uint64_t)app->seq_size);
    rk_json_count(writer, "attn_heads", (uint64_t)app->attn_heads);
    rk_json_count(writer, "attn_size", (uint64_t)app->attn_size);
    rk_json_count(writer, "num_blocks", (uint64_t)app->num_blocks);
    rk_json_close(writer, "}");
    rk_json_real(writer, "parameters", shape->parameters);
    rk_json_count(writer, "mappings", shape->mappings);
    rk_json_flag(writer, "runs", shape->runs);
    if (shape->runs) {
        rk_json_real(writer, s->plan ? "efficiency" : "mfu", shape->efficiency);
        rk_json_real(writer, "step_s", shape->step);
        rk_json_real(writer, "sequences_per_s", shape->rate);
        rk_json_real(writer, "tokens_per_s", shape->rate * (double)app->seq_size);
        if (s->plan) {
            rk_json_key(writer, "strategy");
            rk_calculon_write_exe(writer, &shape->exe);
        } else {
            rk_strategy_write_json(writer, &shape->strategy);
        }
    }
    rk_json_close(writer, "}");
}

rk_status rk_shaping_write_json(const rk_shaping *s, rk_error *err)
{
    rk_out *out;
    const rk_status status = rk_out_open(s->output, &out, err);
    if (status) {
        return status;
    }
    rk_json_writer writer = {.out = out, .indented = true};
    rk_json_open(&writer, "{");
    rk_json_string(&writer, "reckon", rk_version());
    rk_json_string(&writer, "method", s->plan ? "calculon" : "reckon");
    rk_json_open_member(&writer, "search", "{");
    rk_bounded_write_json(&writer, &s->counts);
    rk_json_real(&writer, "processor_time_s", s->cpu_s);
    rk_json_close(&writer, "}");
    rk_json_open_member(&writer, "shapes", "[");
    for (size_t i = 0; i < s->count; i++) {
        write_shape(&writer, s, &s->shapes[i]);
    }
    rk_json_close(&writer, "]");
    rk_json_close(&writer, "}");
    rk_out_text(out, "\n");
    return rk_out_close(out, err);
}

rk_status rk_shaping_write_csv(const rk_shaping *s, rk_error *err)
{
    const rk_column columns[] = {
        {"blocks", RK_VALUE_INT},
        {"hidden", RK_VALUE_INT},
        {"feedforward", RK_VALUE_INT},
        {"heads", RK_VALUE_INT},
        {"head_size", RK_VALUE_INT},
        {"parameters", RK_VALUE_REAL},
        {"mappings", RK_VALUE_INT},
        {"runs", RK_VALUE_BOOL},
        {s->plan ? "efficiency" : "mfu", RK_VALUE_REAL},
        {"step_s", RK_VALUE_REAL},
        {"sequences_per_s", RK_VALUE_REAL},
        {s->plan ? "tensor_par" : "tp", RK_VALUE_INT},
        {s->plan ? "pipeline_par" : "pp", RK_VALUE_INT},
        {s->plan ? "data_par" : "dp", RK_VALUE_INT},
    };
    enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };
    rk_csv_out *csv;
    const rk_status status = rk_csv_open(s->output, &csv, err);
    if (status) {
        return status;
    }
    rk_csv_header(csv, columns, COLUMNS);
    for (size_t i = 0; i < s->count; i++) {
        const rk_shape *shape = &s->shapes[i];
        const rk_calculon_app *app = &shape->app;
        const rk_value none = {.type = RK_VALUE_NULL};
        const bool runs = shape->runs;
        const rk_value row[COLUMNS] = {
            rk_value_int(app->num_blocks),
            rk_value_int(app->hidden),
            rk_value_int(app->feedforward),
            rk_value_int(app->attn_heads),
            rk_value_int(app->attn_size),
            rk_value_real(shape->parameters),
            rk_value_int((int64_t)shape->mappings),
            rk_value_bool(runs),
            runs ? rk_value_real(shape->efficiency) : none,
            runs ? rk_value_real(shape->step) : none,
            runs ? rk_value_real(shape->rate) : none,
            runs ? rk_value_int(s->plan ? shape->exe.tensor_par : shape->strategy.tp) : none,
            runs ? rk_value_int(s->plan ? shape->exe.pipeline_par : shape->strategy.pp) : none,
            runs ? rk_value_int(s->plan ? shape->exe.data_par : shape->strategy.dp) : none,
        };
        rk_csv_row(csv, row, COLUMNS);
    }
    return rk_csv_close(csv, err);
}
