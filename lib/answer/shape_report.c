/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of `reckon shape`. */
#include "answer/answers.h"

#include "answer/answer_fields.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "method/brief.h"
#include "method/describe.h"
#include "method/ranking_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- for programs -------------------------------------------------------------------------- */

#define FIGURE(member) RK_ANSWER_FIGURE(rk_shape_facts, member)

/* Sizes, of which JSON writes a document of the model, then figures of a shape that runs. */
static const rk_answer_field fields[] = {
    {FIGURE(blocks), .in = RK_IN_CSV},
    {FIGURE(hidden), .in = RK_IN_CSV},
    {FIGURE(feedforward), .in = RK_IN_CSV},
    {FIGURE(heads), .in = RK_IN_CSV},
    {FIGURE(head_size), .in = RK_IN_CSV},
    {FIGURE(parameters)},
    {FIGURE(mappings)},
    {FIGURE(runs)},
    {FIGURE(mfu)},
    {FIGURE(step_s)},
    {FIGURE(sequences_per_s)},
    {FIGURE(tokens_per_s), .in = RK_IN_JSON},
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
    const rk_shape_facts facts = rk_shape_describe(shape);
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
                      shape->runs ? FIELDS : SIZES, &facts);
    if (shape->runs) {
        s->question.problem.method->write_json(writer, &shape->best);
    }
    rk_json_close(writer, "}");
}

static void write_members(rk_json_writer *writer, const void *what)
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
static void write_cells(rk_csv_out *csv, const void *what)
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
        const rk_shape_facts facts = rk_shape_describe(shape);
        rk_value row[FIELDS + BASIC_DEGREES] = {{.type = RK_VALUE_NULL}};
        int64_t degrees[RK_DEGREE_MAX];
        size_t used = rk_answer_values(own, shape->runs ? FIELDS : SIZES, &facts, row);
        method->degree_values(&shape->best, degrees);
        for (size_t k = 0; k < method->degree_count && shape->runs; k++) {
            if (method->degrees[k].basic) {
                row[used++] = rk_value_int(degrees[k]);
            }
        }
        rk_csv_row(csv, row, count);
    }
}

/* ---- for people ---------------------------------------------------------------------------- */

/* ---- what was asked ------------------------------------------------------------------------ */

static void write_values(FILE *to, const rk_option_counts *counts)
{
    for (int i = 0; i < counts->count; i++) {
        (void)fprintf(to, "%s%" PRId64, i ? "," : " ", counts->values[i]);
    }
}

static void write_wish(FILE *to, const rk_shape_answer *s)
{
    const rk_shape_choice *wish = &s->wish;
    char number[RK_COUNTED_SIZE], parameters[RK_NUMBER_TEXT_SIZE];
    (void)fprintf(to, "%-10s%s parameters within %.4g %%, ", "shapes",
                  rk_human_text(wish->parameters, RK_HUMAN_BASE10, parameters),
                  wish->tolerance_percent);
    if (wish->feedforward > 0) {
        (void)fprintf(to, "feed-forward %.4g times hidden, heads of", wish->feedforward);
    } else {
        (void)fprintf(to, "all else like %s, heads of",
                      s->question.problem.reckon.inputs.model.name);
    }
    write_values(to, &wish->head_sizes);
    (void)fprintf(to, "\n%-10s", "");
    if (wish->blocks.count > 0) {
        (void)fputs("blocks", to);
        write_values(to, &wish->blocks);
    } else {
        (void)fprintf(to, "hidden %.4g to %.4g times the blocks", wish->aspect_min,
                      wish->aspect_max);
    }
    if (wish->heads.count > 0) {
        (void)fputs("; heads", to);
        write_values(to, &wish->heads);
    } else {
        (void)fprintf(to, "; heads in multiples of %" PRId64, wish->head_multiple);
    }
    (void)fprintf(to, ": %s\n", rk_counted((uint64_t)s->count, "shape", number));
}

static void write_inputs(FILE *to, const rk_shape_answer *s)
{
    s->question.problem.method->write_machine(to, &s->question);
    s->question.problem.method->write_run(to, &s->question, RK_SAYS_ACCELERATORS | RK_SAYS_SEQ);
    write_wish(to, s);
    rk_write_bounded(to, &s->counts, s->question.problem.method->name, s->cpu_s);
}

/* ---- shapes -------------------------------------------------------------------------------- */

enum { BRIEF_SHAPES = 10 };

#define DEGREES_SIZE (RK_DEGREE_MAX * 24)

/* "8/1/4/1/16"; of no strategy, what these are: "TP/CP/PP/EP/DP". */
static const char *join_degrees(const rk_method *method, const rk_candidate *candidate,
                                char out[DEGREES_SIZE])
{
    int64_t values[RK_DEGREE_MAX];
    size_t used = 0;
    if (candidate) {
        method->degree_values(candidate, values);
    }
    for (size_t i = 0; i < method->degree_count; i++) {
        const char *separator = i > 0 ? "/" : "";
        const int length = candidate ? snprintf(out + used, DEGREES_SIZE - used, "%s%" PRId64,
                                                separator, values[i])
                                     : snprintf(out + used, DEGREES_SIZE - used, "%s%s", separator,
                                                method->degrees[i].label);
        used += (size_t)length;
    }
    return out;
}

static void add_shape(rk_table *table, const rk_shape_answer *s, size_t rank, const rk_shape *shape,
                      bool full)
{
    assert(rank >= 1);
    const rk_model_sizes *sizes = &shape->sizes;
    char number[RK_COMMAS_SIZE], parameters[RK_NUMBER_TEXT_SIZE], degrees[DEGREES_SIZE];
    rk_table_cell(table, rank == 1 && shape->runs ? RK_MARK_BEST "%zu" RK_MARK_END : "%zu", rank);
    rk_table_cell(table, "%" PRId64, sizes->blocks);
    rk_table_cell(table, "%" PRId64, sizes->hidden);
    rk_table_cell(table, "%" PRId64 " x %" PRId64, sizes->heads, sizes->head_size);
    if (full) {
        rk_table_cell(table, "%.1f", (double)sizes->hidden / (double)sizes->blocks);
    }
    rk_table_cell(table, "%s", rk_human_text(sizes->parameters, RK_HUMAN_BASE10, parameters));
    if (full) {
        rk_table_cell(table, "%s", rk_with_commas(shape->mappings, number));
    }
    if (!shape->runs) {
        rk_table_cell(table, RK_MARK_TIGHT "does not fit" RK_MARK_END);
        rk_table_cell(table, "-");
        rk_table_cell(table, "-");
        return;
    }
    rk_table_cell(table, "%.2f", 100 * shape->best.efficiency);
    rk_table_cell(table, "%.5g", shape->best.step);
    rk_table_cell(table, "%s", join_degrees(s->question.problem.method, &shape->best, degrees));
}

static rk_status write_shapes(FILE *to, const rk_shape_answer *s, rk_table_style style,
                              rk_error *err)
{
    char efficiency[32], degrees[DEGREES_SIZE];
    const rk_table_column columns[] = {
        {"rank", RK_ALIGN_RIGHT},
        {"blocks", RK_ALIGN_RIGHT},
        {"hidden", RK_ALIGN_RIGHT},
        {"heads", RK_ALIGN_RIGHT},
        {"aspect", RK_ALIGN_RIGHT},
        {"parameters", RK_ALIGN_RIGHT},
        {"mappings", RK_ALIGN_RIGHT},
        {efficiency, RK_ALIGN_RIGHT},
        {"step, s", RK_ALIGN_RIGHT},
        {join_degrees(s->question.problem.method, NULL, degrees), RK_ALIGN_RIGHT},
    };
    const rk_table_column brief[] = {columns[0], columns[1], columns[2], columns[3],
                                     columns[5], columns[7], columns[8], columns[9]};
    const size_t rows =
        style.full || s->question.view.top < BRIEF_SHAPES ? s->question.view.top : BRIEF_SHAPES;
    rk_table table;
    (void)snprintf(efficiency, sizeof(efficiency), "%s, %%",
                   s->question.problem.method->efficiency_name);
    rk_table_init(&table, style.full ? columns : brief, style.full ? COUNT(columns) : COUNT(brief));
    for (size_t i = 0; i < s->count && i < rows; i++) {
        add_shape(&table, s, i + 1, &s->shapes[i], style.full);
    }
    return rk_write_table(to, &table, style, err);
}

static int compare_counts(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The distribution of the shapes: those that run come first, by efficiency. */
static rk_status write_spread(FILE *to, const rk_shape_answer *s, rk_error *err)
{
    char least[RK_COMMAS_SIZE], middle[RK_COMMAS_SIZE], most[RK_COMMAS_SIZE];
    char shapes[RK_COUNTED_SIZE];
    uint64_t *mappings = malloc(s->count * sizeof(*mappings));
    if (!mappings) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the answer");
    }
    for (size_t i = 0; i < s->count; i++) {
        mappings[i] = s->shapes[i].mappings;
    }
    qsort(mappings, s->count, sizeof(*mappings), compare_counts);
    (void)fprintf(to,
                  "\n%s, of which %zu run%s, with an %s of %.2f %% at best, %.2f %% in the "
                  "middle and %.2f %% at worst; they have %s to %s mappings, %s in the middle.\n",
                  rk_counted(s->count, "shape", shapes), s->runs, s->runs == 1 ? "s" : "",
                  s->question.problem.method->efficiency_name, 100 * s->shapes[0].best.efficiency,
                  100 * s->shapes[s->runs / 2].best.efficiency,
                  100 * s->shapes[s->runs - 1].best.efficiency, rk_with_commas(mappings[0], least),
                  rk_with_commas(mappings[s->count - 1], most),
                  rk_with_commas(mappings[s->count / 2], middle));
    free(mappings);
    return RK_OK;
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_shape_answer *s = what;
    const bool brief = !style.full && s->question.problem.method->write_brief_question;
    if (brief) {
        s->question.problem.method->write_brief_question(to, &s->question, RK_SAYS_ACCELERATORS);
        write_wish(to, s);
    } else {
        write_inputs(to, s);
    }
    (void)fputc('\n', to);
    if (s->count == 0) {
        (void)fputs("No shape has so many parameters: allow more with --tolerance, --aspect-min, "
                    "--aspect-max or\n--head-multiple.\n",
                    to);
        return RK_OK;
    }
    const rk_status status = write_shapes(to, s, style, err);
    if (status || s->runs == 0) {
        return status;
    }
    if (brief) {
        rk_brief_write_more(to, "the search, and how the MFU of the shapes is distributed");
        return RK_OK;
    }
    (void)fprintf(to, "\n%smappings: strategies of the space, whether they fit or not\n",
                  s->question.problem.method->efficiency_note);
    return write_spread(to, s, err);
}

rk_status rk_shape_write(const rk_job *job, const rk_shape_answer *shape, rk_error *err)
{
    static const rk_answer_writers writers = {
        .text = write_text, .members = write_members, .cells = write_cells};
    const rk_request_view *view = &shape->question.view;
    return rk_job_answer(job, &writers, shape, view->json, view->csv, view->output, err);
}
