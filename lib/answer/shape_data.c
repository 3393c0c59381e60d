/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon shape` for programs: all shapes. */
#include "answer/codesign_writers.h"

#include "method/ranking_text.h"

#include <string.h>

static void write_shape(rk_json_writer *writer, const rk_shape_answer *s, const rk_shape *shape)
{
    const rk_model_sizes *sizes = &shape->sizes;
    rk_json_item(writer);
    rk_json_open(writer, "{");
    rk_json_open_member(writer, s->question.problem.method->shape_key, "{");
    rk_json_count(writer, "hidden", (uint64_t)sizes->hidden);
    rk_json_count(writer, "feedforward", (uint64_t)sizes->feedforward);
    rk_json_count(writer, "seq_size", (uint64_t)sizes->seq);
    rk_json_count(writer, "attn_heads", (uint64_t)sizes->heads);
    rk_json_count(writer, "attn_size", (uint64_t)sizes->head_size);
    rk_json_count(writer, "num_blocks", (uint64_t)sizes->blocks);
    rk_json_close(writer, "}");
    rk_json_real(writer, "parameters", sizes->parameters);
    rk_json_count(writer, "mappings", shape->mappings);
    rk_json_flag(writer, "runs", shape->runs);
    if (shape->runs) {
        rk_json_real(writer, s->question.problem.method->efficiency_key, shape->best.efficiency);
        rk_json_real(writer, "step_s", shape->best.step);
        rk_json_real(writer, "sequences_per_s", shape->best.rate);
        rk_json_real(writer, "tokens_per_s", shape->best.rate * (double)sizes->seq);
        s->question.problem.method->write_json(writer, &shape->best);
    }
    rk_json_close(writer, "}");
}

void rk_shape_write_members(rk_json_writer *writer, const void *what)
{
    const rk_shape_answer *s = what;
    rk_json_string(writer, "method", s->question.problem.method->name);
    rk_json_open_member(writer, "search", "{");
    rk_bounded_write_json(writer, &s->counts);
    rk_json_close(writer, "}");
    rk_json_performance(writer, s->cpu_s, -1);
    if (s->runs == 0) {
        rk_json_string(writer, "reason",
                       s->count ? "no strategy of any of these shapes fits in memory"
                                : "no shape has so many parameters: allow more with --tolerance, "
                                  "--aspect-min, --aspect-max or --head-multiple");
    }
    rk_json_open_member(writer, "shapes", "[");
    for (size_t i = 0; i < s->count; i++) {
        write_shape(writer, s, &s->shapes[i]);
    }
    rk_json_close(writer, "]");
}

static const rk_column columns[] = {
    {"blocks", RK_VALUE_INT},
    {"hidden", RK_VALUE_INT},
    {"feedforward", RK_VALUE_INT},
    {"heads", RK_VALUE_INT},
    {"head_size", RK_VALUE_INT},
    {"parameters", RK_VALUE_REAL},
    {"mappings", RK_VALUE_INT},
    {"runs", RK_VALUE_BOOL},
    {NULL, RK_VALUE_REAL},
    {"step_s", RK_VALUE_REAL},
    {"sequences_per_s", RK_VALUE_REAL},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]), EFFICIENCY = 8, BASIC_DEGREES = 3 };

/* The columns of a table, then columns of the basic degrees. Returns how many. */
static size_t list_columns(const rk_method *method, rk_column out[COLUMNS + BASIC_DEGREES])
{
    size_t count = COLUMNS;
    memcpy(out, columns, sizeof(columns));
    out[EFFICIENCY].name = method->efficiency_key;
    for (size_t i = 0; i < method->degree_count; i++) {
        if (method->degrees[i].basic) {
            out[count++] = (rk_column){method->degrees[i].key, RK_VALUE_INT};
        }
    }
    return count;
}

static void fill_row(const rk_method *method, const rk_shape *shape,
                     rk_value row[COLUMNS + BASIC_DEGREES])
{
    const rk_model_sizes *sizes = &shape->sizes;
    const rk_value none = {.type = RK_VALUE_NULL};
    const bool runs = shape->runs;
    const rk_value values[COLUMNS] = {
        rk_value_int(sizes->blocks),
        rk_value_int(sizes->hidden),
        rk_value_int(sizes->feedforward),
        rk_value_int(sizes->heads),
        rk_value_int(sizes->head_size),
        rk_value_real(sizes->parameters),
        rk_value_int((int64_t)shape->mappings),
        rk_value_bool(runs),
        runs ? rk_value_real(shape->best.efficiency) : none,
        runs ? rk_value_real(shape->best.step) : none,
        runs ? rk_value_real(shape->best.rate) : none,
    };
    int64_t degrees[RK_DEGREE_MAX];
    size_t count = COLUMNS;
    memcpy(row, values, sizeof(values));
    method->degree_values(&shape->best, degrees);
    for (size_t i = 0; i < method->degree_count; i++) {
        if (method->degrees[i].basic) {
            row[count++] = runs ? rk_value_int(degrees[i]) : none;
        }
    }
}

void rk_shape_write_cells(rk_csv_out *csv, const void *what)
{
    const rk_shape_answer *s = what;
    rk_column all[COLUMNS + BASIC_DEGREES];
    rk_value row[COLUMNS + BASIC_DEGREES];
    const size_t count = list_columns(s->question.problem.method, all);
    rk_csv_header(csv, all, count);
    for (size_t i = 0; i < s->count; i++) {
        fill_row(s->question.problem.method, &s->shapes[i], row);
        rk_csv_row(csv, row, count);
    }
}
