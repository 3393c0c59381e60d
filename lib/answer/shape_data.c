/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon shape` for programs: all shapes. */
#include "answer/codesign_writers.h"

#include "answer/answer_fields.h"
#include "base/units.h"
#include "method/ranking_text.h"

#include <string.h>

#define FIELD(key, member) RK_ANSWER_FIELD(key, rk_shape, member)

/* Sizes, of which JSON writes a document of the model, then figures of a shape that runs. */
static const rk_answer_field fields[] = {
    {FIELD("blocks", sizes.blocks), .in = RK_IN_CSV},
    {FIELD("hidden", sizes.hidden), .in = RK_IN_CSV},
    {FIELD("feedforward", sizes.feedforward), .in = RK_IN_CSV},
    {FIELD("heads", sizes.heads), .in = RK_IN_CSV},
    {FIELD("head_size", sizes.head_size), .in = RK_IN_CSV},
    {FIELD("parameters", sizes.parameters)},
    {FIELD("mappings", mappings)},
    {FIELD("runs", runs)},
    {FIELD(NULL, best.efficiency)},
    {FIELD("step_s", best.step)},
    {FIELD("sequences_per_s", best.rate)},
};
enum { FIELDS = COUNT(fields), SIZES = 8, BASIC_DEGREES = 3 };

/* The fields with the key of the efficiency of a method. */
static const rk_answer_field *fields_of(const rk_method *method, rk_answer_field own[FIELDS])
{
    memcpy(own, fields, sizeof(fields));
    own[SIZES].key = method->efficiency_key;
    return own;
}

static void write_shape(rk_json_writer *writer, const rk_shape_answer *s, const rk_shape *shape)
{
    const rk_model_sizes *sizes = &shape->sizes;
    rk_answer_field own[FIELDS];
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
    rk_answer_members(writer, fields_of(s->question.problem.method, own),
                      shape->runs ? FIELDS : SIZES, shape);
    if (shape->runs) {
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

/* The columns of a table, then columns of the basic degrees. */
void rk_shape_write_cells(rk_csv_out *csv, const void *what)
{
    const rk_shape_answer *s = what;
    const rk_method *method = s->question.problem.method;
    rk_answer_field own[FIELDS];
    rk_column columns[FIELDS + BASIC_DEGREES];
    size_t count = rk_answer_columns(fields_of(method, own), FIELDS, columns);
    for (size_t i = 0; i < method->degree_count; i++) {
        if (method->degrees[i].basic) {
            columns[count++] = (rk_column){method->degrees[i].key, RK_VALUE_INT};
        }
    }
    rk_csv_header(csv, columns, count);
    for (size_t i = 0; i < s->count; i++) {
        const rk_shape *shape = &s->shapes[i];
        rk_value row[FIELDS + BASIC_DEGREES] = {{.type = RK_VALUE_NULL}};
        int64_t degrees[RK_DEGREE_MAX];
        size_t used = rk_answer_values(own, shape->runs ? FIELDS : SIZES, shape, row);
        method->degree_values(&shape->best, degrees);
        for (size_t k = 0; k < method->degree_count && shape->runs; k++) {
            if (method->degrees[k].basic) {
                row[used++] = rk_value_int(degrees[k]);
            }
        }
        rk_csv_row(csv, row, count);
    }
}
