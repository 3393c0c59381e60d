/* SPDX-License-Identifier: Apache-2.0 */
/* Fitted constants with deviations, errors before and after, and leave-one-group-out results. */
#include "answer/calibrate_report.h"

#include "answer/answer_fields.h"
#include "base/extremes.h"
#include "base/units.h"
#include "job/answer_writers.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- names ---------------------------------------------------------------------------------- */

/* id of a run, or the shape of an operator: names the row of an observation. */
static void observation_name(const rk_observations *all, const rk_observation *row, char *text,
                             size_t size)
{
    static const char *const columns[][7] = {
        [RK_TABLE_GEMM] = {"accelerator", "m", "n", "k"},
        [RK_TABLE_ATTENTION] = {"accelerator", "pass", "head_size", "heads", "batch", "seq"},
        [RK_TABLE_COLLECTIVE] = {"accelerator", "op", "ranks", "bytes"},
        [RK_TABLE_STREAM] = {"accelerator", "op", "bytes"},
        [RK_TABLE_FLASH] = {"accelerator", "library", "pass", "qk_size", "heads", "queries",
                            "keys"},
        [RK_TABLE_RUNS] = {"id"},
    };
    int kind = RK_TABLE_RUNS;
    size_t used = 0;
    if (row->document >= 0) {
        kind = strcmp(rk_observation_cell(all, row, "qk_size"), "") != 0     ? RK_TABLE_FLASH
               : strcmp(rk_observation_cell(all, row, "head_size"), "") != 0 ? RK_TABLE_ATTENTION
               : strcmp(rk_observation_cell(all, row, "ranks"), "") != 0     ? RK_TABLE_COLLECTIVE
               : strcmp(rk_observation_cell(all, row, "k"), "") != 0         ? RK_TABLE_GEMM
                                                                             : RK_TABLE_STREAM;
    }
    text[0] = '\0';
    for (size_t i = 0; i < 7 && columns[kind][i] && used < size; i++) {
        const int wrote = snprintf(text + used, size - used, "%s%.24s", i ? " " : "",
                                   rk_observation_cell(all, row, columns[kind][i]));
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

/* "rates.gemm_share", or "gemm.bf16.feed and 1 more". */
static void constant_name(const rk_constant *constant, char *text, size_t size)
{
    assert(constant->key_count >= 1);
    (void)snprintf(text, size, "%s", constant->keys[0]);
    if (constant->key_count > 1) {
        const size_t used = strlen(text);
        (void)snprintf(text + used, size - used, " and %d more", constant->key_count - 1);
    }
}

static const char *remark(const rk_constant_fit *fitted)
{
    return fitted->figures.at_bound ? "at its bound" : fitted->figures.idle ? "hardly matters" : "";
}

/* ---- text ----------------------------------------------------------------------------------- */

static void add_errors(rk_table *table, const char *what, const rk_error_summary *e)
{
    rk_table_cell(table, "%s", what);
    rk_table_cell(table, "%zu", e->rows);
    rk_table_cell(table, "%.2f", 100 * e->mean);
    rk_table_cell(table, "%.2f", 100 * e->median);
    rk_table_cell(table, "%.2f", 100 * e->p90);
    rk_table_cell(table, "%.2f", 100 * e->rms);
    rk_table_cell(table, "%+.2f", 100 * e->bias);
}

static rk_status write_errors(FILE *to, const rk_calibration *c, rk_table_style style,
                              rk_error *err)
{
    static const rk_table_column columns[] = {
        {"error, %", RK_ALIGN_LEFT}, {"rows", RK_ALIGN_RIGHT}, {"mean", RK_ALIGN_RIGHT},
        {"median", RK_ALIGN_RIGHT},  {"p90", RK_ALIGN_RIGHT},  {"rms", RK_ALIGN_RIGHT},
        {"bias", RK_ALIGN_RIGHT},
    };
    rk_table table;
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    add_errors(&table, "at the start of the recipe", &c->facts.start);
    add_errors(&table, "by the documents as found", &c->facts.found);
    add_errors(&table, "fitted", &c->facts.fitted);
    if (c->refitted) {
        add_errors(&table, "each group by the others", &c->facts.by_the_others);
    }
    if (c->facts.held_out.rows > 0) {
        add_errors(&table, "held out, at the start", &c->held_start);
        add_errors(&table, "held out, fitted", &c->facts.held_out);
    }
    return rk_write_table(to, &table, style, err);
}

static rk_status write_constants(FILE *to, const rk_calibration *c, rk_table_style style,
                                 rk_error *err)
{
    static const rk_table_column columns[] = {
        {"constant", RK_ALIGN_LEFT}, {"start", RK_ALIGN_RIGHT}, {"found", RK_ALIGN_RIGHT},
        {"fitted", RK_ALIGN_RIGHT},  {"+-", RK_ALIGN_RIGHT},    {"1% wider", RK_ALIGN_RIGHT},
        {"matters", RK_ALIGN_RIGHT}, {"from", RK_ALIGN_RIGHT},  {"to", RK_ALIGN_RIGHT},
        {"unit", RK_ALIGN_LEFT},     {"remark", RK_ALIGN_LEFT},
    };
    rk_table table;
    char name[96];
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = 0; i < c->recipe->constant_count; i++) {
        const rk_constant *constant = &c->recipe->constants[i];
        const rk_constant_fit *f = &c->constants[i];
        constant_name(constant, name, sizeof(name));
        rk_table_cell(&table, "%s", name);
        rk_table_cell(&table, "%.4g", f->figures.start);
        if (isnan(f->figures.found)) {
            rk_table_cell(&table, "-");
        } else {
            rk_table_cell(&table, "%.4g", f->figures.found);
        }
        rk_table_cell(&table, "%.4g", f->figures.value);
        if (c->refitted) {
            rk_table_cell(&table, "%.2g", f->figures.deviation);
        } else {
            rk_table_cell(&table, "-");
        }
        rk_table_cell(&table, "%.2g", f->figures.width);
        rk_table_cell(&table, "%.0f%%", 100 * rk_min(f->figures.importance, 99.99));
        rk_table_cell(&table, "%.4g", constant->min);
        rk_table_cell(&table, "%.4g", constant->max);
        rk_table_cell(&table, "%s", constant->unit);
        rk_table_cell(&table, "%s", remark(f));
    }
    return rk_write_table(to, &table, style, err);
}

static rk_status write_deciding(FILE *to, const rk_calibration *c, rk_table_style style,
                                rk_error *err)
{
    static const rk_table_column columns[] = {
        {"constant", RK_ALIGN_LEFT},
        {"row that decides it most", RK_ALIGN_LEFT},
        {"moves it by", RK_ALIGN_RIGHT},
        {"error, %", RK_ALIGN_RIGHT},
    };
    rk_table table;
    char name[96], row_name[160];
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (int i = 0; i < c->recipe->constant_count; i++) {
        const rk_constant_fit *f = &c->constants[i];
        constant_name(&c->recipe->constants[i], name, sizeof(name));
        for (int k = 0; k < f->deciding_count && !f->figures.idle; k++) {
            const rk_observation *row = &c->rows.rows[f->deciding[k]];
            observation_name(&c->rows, row, row_name, sizeof(row_name));
            rk_table_cell(&table, "%s", k ? "" : name);
            rk_table_cell(&table, "%s", row_name);
            rk_table_cell(&table, "%+.2g", f->moves[k]);
            rk_table_cell(&table, "%+.1f", 100 * expm1(rk_fit_setup_error(&c->bench, row)));
        }
    }
    return rk_write_table(to, &table, style, err);
}

/* Which constant leaving out the group moves most, in units of its deviation. */
static int most_moved(const rk_calibration *c, const rk_group_left_out *left, double *by)
{
    int most = 0;
    *by = 0;
    for (int i = 0; i < c->recipe->constant_count; i++) {
        const rk_constant_fit *f = &c->constants[i];
        const double moved = f->figures.deviation > 0
                                 ? (f->figures.value - left->values[i]) / f->figures.deviation
                                 : 0;
        if (fabs(moved) > fabs(*by)) {
            *by = moved;
            most = i;
        }
    }
    return most;
}

static rk_status write_groups(FILE *to, const rk_calibration *c, rk_table_style style,
                              rk_error *err)
{
    static const rk_table_column columns[] = {
        {"group", RK_ALIGN_LEFT},
        {"rows", RK_ALIGN_RIGHT},
        {"mean error, %: start", RK_ALIGN_RIGHT},
        {"fitted", RK_ALIGN_RIGHT},
        {"bias", RK_ALIGN_RIGHT},
        {"by the others", RK_ALIGN_RIGHT},
        {"moves most", RK_ALIGN_LEFT},
    };
    rk_table table;
    rk_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < c->group_count; i++) {
        const rk_group_left_out *left = &c->groups[i];
        double by = 0;
        const int most = c->refitted ? most_moved(c, left, &by) : 0;
        rk_table_cell(&table, "%s", left->errors.group);
        rk_table_cell(&table, "%zu", left->errors.fitted.rows);
        rk_table_cell(&table, "%.2f", 100 * left->errors.start.mean);
        rk_table_cell(&table, "%.2f", 100 * left->errors.fitted.mean);
        rk_table_cell(&table, "%+.2f", 100 * left->errors.fitted.bias);
        if (c->refitted) {
            rk_table_cell(&table, "%.2f", 100 * left->errors.by_the_others.mean);
            rk_table_cell(&table, "%s %+.1f sd", c->recipe->constants[most].keys[0], by);
        } else {
            rk_table_cell(&table, "-");
            rk_table_cell(&table, "-");
        }
    }
    return rk_write_table(to, &table, style, err);
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_calibration *c = what;
    (void)fprintf(to, "calibration of");
    for (int i = 0; i < c->recipe->document_count; i++) {
        (void)fprintf(to, "%s %s", i ? "," : "", rk_editable_name(c->bench.documents[i]));
    }
    (void)fprintf(to, ": loss %.5f at the start, %.5f found, %.5f fitted\n\n", c->facts.loss_start,
                  c->facts.loss_found, c->facts.loss);
    if (c->rows.skipped > 0) {
        (void)fprintf(to, "%zu runs that meet the conditions cannot be predicted\n\n",
                      c->rows.skipped);
    }
    rk_status status = write_constants(to, c, style, err);
    (void)fputc('\n', to);
    status = status ? status : write_errors(to, c, style, err);
    (void)fputc('\n', to);
    status = status ? status : write_deciding(to, c, style, err);
    if (!status && c->group_count > 1) {
        (void)fputc('\n', to);
        status = write_groups(to, c, style, err);
    }
    return status;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

#define ERRORS(member)   RK_ANSWER_FIGURE(rk_error_summary, member)
#define CONSTANT(member) RK_ANSWER_FIGURE(rk_fitted_constant, member)

static const rk_answer_field error_fields[] = {
    {ERRORS(rows)}, {ERRORS(mean)}, {ERRORS(median)}, {ERRORS(p90)}, {ERRORS(rms)}, {ERRORS(bias)},
};

static const rk_answer_field constant_fields[] = {
    {CONSTANT(key)},        {CONSTANT(unit)},     {CONSTANT(meaning)},   {CONSTANT(start)},
    {CONSTANT(found)},      {CONSTANT(value)},    {CONSTANT(deviation)}, {CONSTANT(width)},
    {CONSTANT(importance)}, {CONSTANT(at_bound)}, {CONSTANT(idle)},
};

static void write_summary(rk_json_writer *w, const char *key, const rk_error_summary *e)
{
    rk_json_open_member(w, key, "{");
    rk_answer_members(w, error_fields, COUNT(error_fields), e);
    rk_json_close(w, "}");
}

static void write_constant(rk_json_writer *w, const rk_calibration *c, int index)
{
    assert(index >= 0 && index < c->recipe->constant_count);
    const rk_constant_fit *f = &c->constants[index];
    char name[160];
    rk_json_item(w);
    rk_json_open(w, "{");
    rk_answer_members(w, constant_fields, COUNT(constant_fields), &f->figures);
    rk_json_open_member(w, "deciding_rows", "[");
    for (int i = 0; i < f->deciding_count; i++) {
        observation_name(&c->rows, &c->rows.rows[f->deciding[i]], name, sizeof(name));
        rk_json_item(w);
        rk_json_open(w, "{");
        rk_json_string(w, "row", name);
        rk_json_real(w, "moves", f->moves[i]);
        rk_json_close(w, "}");
    }
    rk_json_close(w, "]");
    rk_json_close(w, "}");
}

static void write_group(rk_json_writer *w, const rk_calibration *c, const rk_group_left_out *left)
{
    rk_json_item(w);
    rk_json_open(w, "{");
    rk_json_string(w, "group", left->errors.group);
    write_summary(w, "start", &left->errors.start);
    write_summary(w, "fitted", &left->errors.fitted);
    if (c->refitted) {
        write_summary(w, "by_the_others", &left->errors.by_the_others);
    }
    rk_json_close(w, "}");
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const rk_calibration *c = what;
    rk_json_string(writer, "recipe", c->recipe->name);
    rk_json_open_member(writer, "documents", "[");
    for (int i = 0; i < c->recipe->document_count; i++) {
        char text[RK_RECIPE_NAME + 4];
        (void)snprintf(text, sizeof(text), "\"%s\"", rk_editable_name(c->bench.documents[i]));
        rk_json_item(writer);
        rk_json_value(writer, text);
    }
    rk_json_close(writer, "]");
    rk_json_real(writer, "loss_start", c->facts.loss_start);
    rk_json_real(writer, "loss_found", c->facts.loss_found);
    rk_json_real(writer, "loss", c->facts.loss);
    write_summary(writer, "start", &c->facts.start);
    write_summary(writer, "found", &c->facts.found);
    write_summary(writer, "fitted", &c->facts.fitted);
    if (c->refitted) {
        write_summary(writer, "by_the_others", &c->facts.by_the_others);
    }
    write_summary(writer, "held_out", &c->facts.held_out);
    rk_json_open_member(writer, "constants", "[");
    for (int i = 0; i < c->recipe->constant_count; i++) {
        write_constant(writer, c, i);
    }
    rk_json_close(writer, "]");
    rk_json_open_member(writer, "groups", "[");
    for (size_t i = 0; i < c->group_count; i++) {
        write_group(writer, c, &c->groups[i]);
    }
    rk_json_close(writer, "]");
}

rk_status rk_calibration_report(const rk_job *job, const rk_calibration *calibration, bool json,
                                const char *output, rk_error *err)
{
    static const rk_answer_writers writers = {.text = write_text, .members = write_members};
    return rk_job_answer(job, &writers, calibration, json, false, output, err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

rk_status rk_calibration_rows(const char *path, const rk_calibration *calibration, rk_error *err)
{
    static const rk_column columns[] = {
        {"row", RK_VALUE_TEXT},
        {"group", RK_VALUE_TEXT},
        {"held_out", RK_VALUE_BOOL},
        {"error", RK_VALUE_REAL},
        {"error_by_the_others", RK_VALUE_REAL},
    };
    enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };
    const rk_calibration *c = calibration;
    rk_csv_out *csv;
    const rk_status status = rk_csv_open(path, &csv, err);
    if (status) {
        return status;
    }
    rk_csv_header(csv, columns, COLUMNS);
    for (size_t i = 0; i < c->rows.count; i++) {
        const rk_observation *row = &c->rows.rows[i];
        char name[256];
        observation_name(&c->rows, row, name, sizeof(name));
        const rk_value cells[COLUMNS] = {
            rk_value_text(name),
            rk_value_text(c->rows.groups[row->group].name),
            rk_value_bool(row->held),
            rk_value_real(expm1(rk_fit_setup_error(&c->bench, row))),
            c->by_others && !row->held ? rk_value_real(c->by_others[i])
                                       : (rk_value){.type = RK_VALUE_NULL},
        };
        rk_csv_row(csv, cells, COLUMNS);
    }
    return rk_csv_close(csv, err);
}
