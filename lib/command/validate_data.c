/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon validate` for programs: JSON, and a table of all runs. */
#include "command/validate.h"

#include "base/error.h"
#include "io/csv_out.h"
#include "io/json_write.h"
#include "request/case_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

const rk_column rk_compared_columns[RK_COMPARED_FIELDS] = {
    {"file", RK_VALUE_TEXT},
    {"row", RK_VALUE_INT},
    {"id", RK_VALUE_TEXT},
    {"source", RK_VALUE_TEXT},
    {"model", RK_VALUE_TEXT},
    {"system", RK_VALUE_TEXT},
    {"accelerator", RK_VALUE_TEXT},
    {"stack", RK_VALUE_TEXT},
    {"accelerators", RK_VALUE_INT},
    {"nodes", RK_VALUE_INT},
    {"moe", RK_VALUE_BOOL},
    {"precision", RK_VALUE_TEXT},
    {"schedule", RK_VALUE_TEXT},
    {"tp", RK_VALUE_INT},
    {"pp", RK_VALUE_INT},
    {"vp", RK_VALUE_INT},
    {"cp", RK_VALUE_INT},
    {"ep", RK_VALUE_INT},
    {"dp", RK_VALUE_INT},
    {"micro_batch", RK_VALUE_INT},
    {"global_batch", RK_VALUE_INT},
    {"seq", RK_VALUE_INT},
    {"step_s", RK_VALUE_REAL},
    {"step_measured_s", RK_VALUE_REAL},
    {"step_error", RK_VALUE_REAL},
    {"step_low_s", RK_VALUE_REAL},
    {"step_high_s", RK_VALUE_REAL},
    {"null_step_s", RK_VALUE_REAL},
    {"tokens_per_s", RK_VALUE_REAL},
    {"flops_per_s", RK_VALUE_REAL},
    {"mfu", RK_VALUE_REAL},
    {"mfu_measured", RK_VALUE_REAL},
    {"memory_bytes", RK_VALUE_REAL},
    {"memory_measured_bytes", RK_VALUE_REAL},
    {"memory_error", RK_VALUE_REAL},
    {"need_bytes", RK_VALUE_REAL},
    {"usable_bytes", RK_VALUE_REAL},
    {"fits", RK_VALUE_TEXT},
    {"ran_out_of_memory", RK_VALUE_BOOL},
    {"assumed", RK_VALUE_TEXT},
    {"left_out", RK_VALUE_TEXT},
};

static const rk_value nothing = {.type = RK_VALUE_NULL};

/* A number that is written only if it is above 0. */
static rk_value positive(double value)
{
    return value > 0 && isfinite(value) ? rk_value_real(value) : nothing;
}

static rk_value error_of(double predicted, double measured)
{
    return measured > 0 ? rk_value_real(rk_compared_error(predicted, measured)) : nothing;
}

/* Fields of a predicted row, from "system" on. */
static rk_value predicted_value(const rk_compared *c, size_t field)
{
    const rk_strategy *s = &c->strategy;
    const rk_value values[] = {
        rk_value_text(c->system->name),
        rk_value_text(c->system->accelerator.name),
        rk_value_text(c->stack->name),
        rk_value_int(c->ranks),
        rk_value_int(c->nodes),
        rk_value_bool(c->moe),
        rk_value_text(rk_precision_names[s->precision]),
        rk_value_text(s->pp > 1 ? rk_schedule_names[s->schedule] : "none"),
        rk_value_int(s->tp),
        rk_value_int(s->pp),
        rk_value_int(s->vp),
        rk_value_int(s->cp),
        rk_value_int(s->ep),
        rk_value_int(s->dp),
        rk_value_int(s->micro_batch),
        rk_value_int(s->global_batch),
        rk_value_int(s->seq),
        rk_value_real(c->step),
        positive(c->step_measured),
        error_of(c->step, c->step_measured),
        positive(c->low),
        positive(c->high),
        positive(c->null_step),
        rk_value_real(c->tokens_per_second),
        rk_value_real(c->flops_per_second),
        rk_value_real(c->mfu),
        positive(c->mfu_measured),
        rk_value_real(c->memory),
        positive(c->memory_measured),
        error_of(c->memory, c->memory_measured),
        rk_value_real(c->need),
        rk_value_real(c->usable),
        rk_value_text(c->thrashes ? "will thrash"
                      : c->fits   ? "yes"
                      : c->unsure ? "unknown"
                                  : "no"),
        rk_value_bool(c->out_of_memory),
        rk_value_text(c->assumed),
        nothing,
    };
    return values[field];
}

rk_value rk_compared_value(const rk_compared *row, size_t field)
{
    enum { OWN = 5 };
    switch (field) {
    case 0:
        return rk_value_text(row->table->name);
    case 1:
        return rk_value_int((int64_t)row->row + 1);
    case 2:
        return rk_value_text(rk_run_cell(row->table, row->row, RK_RUN_ID));
    case 3:
        return rk_value_text(row->group);
    case 4:
        return rk_value_text(rk_run_cell(row->table, row->row, RK_RUN_MODEL));
    default:
        break;
    }
    if (row->predicted) {
        return predicted_value(row, field - OWN);
    }
    return field == RK_COMPARED_FIELDS - 1 ? rk_value_text(row->reason) : nothing;
}

/* A table of runs has no place for what is said of the tables that it is made of. */
static void remark_tables(const rk_job *job, const rk_validation *v)
{
    for (size_t i = 0; i < v->table_count; i++) {
        const rk_run_table *table = &v->tables[i];
        for (size_t place = 0; place < table->columns; place++) {
            if (rk_run_column_ignored(table, place)) {
                rk_job_remark(job, "%s: the column %s is ignored", table->name,
                              table->cells[place]);
            }
        }
        if (!rk_run_table_measures(table)) {
            rk_job_remark(job, "%s: no column of measurements, nothing is compared", table->name);
        }
    }
}

rk_status rk_validation_write_csv(const rk_job *job, const rk_validation *v, rk_error *err)
{
    rk_csv_out *out;
    rk_value values[RK_COMPARED_FIELDS];
    const rk_status status = rk_job_open_csv(job, v->request->output, &out, err);
    if (status) {
        return status;
    }
    remark_tables(job, v);
    rk_csv_header(out, rk_compared_columns, RK_COMPARED_FIELDS);
    for (size_t i = 0; i < v->comparison.count; i++) {
        const rk_compared *row = &v->comparison.rows[i];
        for (size_t field = 0; row->selected && field < RK_COMPARED_FIELDS; field++) {
            values[field] = rk_compared_value(row, field);
        }
        if (row->selected) {
            rk_csv_row(out, values, RK_COMPARED_FIELDS);
        }
    }
    return rk_csv_close(out, err);
}

/* ---- remarks --------------------------------------------------------------------------------- */

static void add_remark(rk_remark *remarks, size_t *count, const char *text, size_t length)
{
    size_t i = 0;
    while (i < *count && (strncmp(remarks[i].text, text, length) != 0 || remarks[i].text[length])) {
        i++;
    }
    if (i == RK_REMARK_MAX) {
        return;
    }
    if (i == *count) {
        remarks[i] = (rk_remark){.rows = 0};
        (void)snprintf(remarks[i].text, sizeof(remarks[i].text), "%.*s", (int)length, text);
        ++*count;
    }
    remarks[i].rows++;
}

static int compare_remarks(const void *a, const void *b)
{
    const rk_remark *x = a, *y = b;
    const int order = (x->rows < y->rows) - (x->rows > y->rows);
    return order ? order : strcmp(x->text, y->text);
}

size_t rk_validation_left_out(const rk_validation *v, rk_remark out[RK_REMARK_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < v->comparison.count; i++) {
        const rk_compared *row = &v->comparison.rows[i];
        if (row->selected && !row->predicted) {
            add_remark(out, &count, row->reason, strlen(row->reason));
        }
    }
    qsort(out, count, sizeof(*out), compare_remarks);
    return count;
}

size_t rk_validation_assumed(const rk_validation *v, rk_remark out[RK_REMARK_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < v->comparison.count; i++) {
        const rk_compared *row = &v->comparison.rows[i];
        for (const char *at = row->assumed; row->selected && row->predicted && *at;) {
            const size_t length = strcspn(at, ",");
            add_remark(out, &count, at, length);
            at += length + strspn(at + length, ", ");
        }
    }
    qsort(out, count, sizeof(*out), compare_remarks);
    return count;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_errors(rk_json_writer *w, const char *key, const rk_errors *e)
{
    rk_json_open_member(w, key, "{");
    rk_json_count(w, "runs", e->count);
    if (e->count > 0) {
        rk_json_real(w, "mean", e->mean);
        rk_json_real(w, "median", e->median);
        rk_json_real(w, "p90", e->p90);
        rk_json_real(w, "worst", e->worst);
        rk_json_real(w, "bias", e->bias);
        rk_json_real(w, "rank_correlation", e->rank);
    }
    rk_json_close(w, "}");
}

static void write_regret(rk_json_writer *w, const rk_regret *r)
{
    rk_json_open_member(w, "first_choice", "{");
    rk_json_count(w, "jobs", r->groups);
    rk_json_count(w, "best_chosen", r->best);
    rk_json_count(w, "ran_out_of_memory", r->failed);
    if (r->groups > r->failed) {
        rk_json_real(w, "mean", r->mean);
        rk_json_real(w, "median", r->median);
        rk_json_real(w, "p90", r->p90);
        rk_json_real(w, "worst", r->worst);
    }
    rk_json_close(w, "}");
}

static void write_verdicts(rk_json_writer *w, const rk_verdicts *v)
{
    rk_json_open_member(w, "out_of_memory", "{");
    rk_json_count(w, "ran_said_to_fit", v->ran_fits);
    rk_json_count(w, "ran_said_not_to_fit", v->ran_not);
    rk_json_count(w, "ran_out_said_to_fit", v->oom_fits);
    rk_json_count(w, "ran_out_said_not_to_fit", v->oom_not);
    rk_json_count(w, "ran_said_to_thrash", v->thrash_ran);
    rk_json_count(w, "ran_out_said_to_thrash", v->thrash_oom);
    rk_json_real(w, "accuracy", rk_verdicts_accuracy(v));
    rk_json_real(w, "precision", rk_verdicts_precision(v));
    rk_json_real(w, "recall", rk_verdicts_recall(v));
    rk_json_close(w, "}");
}

static void write_group(rk_json_writer *w, const rk_score_group *g)
{
    rk_json_item(w);
    rk_json_open(w, "{");
    rk_json_string(w, "group", g->label);
    write_errors(w, "step", &g->score.time);
    write_errors(w, "null_model", &g->score.null);
    if (g->score.intervals > 0) {
        rk_json_real(w, "interval_coverage", rk_score_coverage(&g->score));
        rk_json_real(w, "interval_width", g->score.width);
    }
    write_errors(w, "memory", &g->score.memory);
    write_regret(w, &g->score.regret);
    if (g->score.verdicts.oom_fits + g->score.verdicts.oom_not > 0) {
        write_verdicts(w, &g->score.verdicts);
    }
    rk_json_close(w, "}");
}

static void write_grouping(rk_json_writer *w, const char *key, const rk_grouping *grouping)
{
    rk_json_open_member(w, key, "[");
    for (size_t i = 0; i < grouping->count; i++) {
        write_group(w, &grouping->groups[i]);
    }
    rk_json_close(w, "]");
}

static void write_value(rk_json_writer *w, const char *key, const rk_value *value)
{
    switch (value->type) {
    case RK_VALUE_INT:
        rk_json_count(w, key, (uint64_t)value->integer);
        break;
    case RK_VALUE_REAL:
        rk_json_real(w, key, value->real);
        break;
    case RK_VALUE_BOOL:
        rk_json_flag(w, key, value->boolean);
        break;
    case RK_VALUE_TEXT:
        rk_json_string(w, key, value->text);
        break;
    default:
        rk_json_real(w, key, (double)NAN);
    }
}

static void write_remarks(rk_json_writer *w, const char *key, const rk_remark *remarks,
                          size_t count)
{
    rk_json_open_member(w, key, "[");
    for (size_t i = 0; i < count; i++) {
        rk_json_item(w);
        rk_json_open(w, "{");
        rk_json_string(w, "what", remarks[i].text);
        rk_json_count(w, "runs", remarks[i].rows);
        rk_json_close(w, "}");
    }
    rk_json_close(w, "]");
}

/* The member "options" of a row: words of a command line. */
static rk_status write_options(rk_json_writer *w, const rk_validation *v, const rk_compared *row,
                               rk_run_case *scratch, rk_error *err)
{
    rk_case_options options = {.count = 0};
    rk_status status = rk_run_case_fill(&v->sources, row->table, row->row, scratch, err);
    status = status ? status
                    : rk_case_options_of(&v->sources, row->table, row->row, scratch,
                                         (rk_case_extent)v->request->options, &options, err);
    const char *word = (const char *)options.words.data;
    rk_json_open_member(w, "options", "[");
    for (size_t i = 0; i < 2 * options.count && !status; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "--%.60s", word);
        if (i % 2 == 0 || word[0]) { /* flags have no value */
            rk_json_item(w);
            rk_json_text(w, i % 2 == 0 ? name : word);
        }
        word += strlen(word) + 1;
    }
    rk_json_close(w, "]");
    rk_bytes_clear(&options.words);
    return status;
}

static rk_status write_rows(rk_json_writer *w, const rk_validation *v, rk_error *err)
{
    const rk_comparison *comparison = &v->comparison;
    rk_run_case *scratch = malloc(sizeof(*scratch));
    rk_status status =
        scratch ? RK_OK : rk_fail(err, RK_ERR_MEMORY, "not enough memory for the options");
    rk_json_open_member(w, "rows", "[");
    for (size_t i = 0; i < comparison->count && !status; i++) {
        const rk_compared *row = &comparison->rows[i];
        if (!row->selected) {
            continue;
        }
        rk_json_item(w);
        rk_json_open(w, "{");
        for (size_t field = 0; field < RK_COMPARED_FIELDS; field++) {
            const rk_value value = rk_compared_value(row, field);
            if (value.type != RK_VALUE_NULL) {
                write_value(w, rk_compared_columns[field].name, &value);
            }
        }
        if (row->predicted && v->request->options >= 0) {
            status = write_options(w, v, row, scratch, err);
        }
        rk_json_close(w, "}");
    }
    rk_json_close(w, "]");
    free(scratch);
    return status;
}

/* Columns that mean nothing to reckon, and tables that measure nothing. */
static void write_tables(rk_json_writer *w, const rk_validation *v)
{
    rk_json_open_member(w, "tables", "[");
    for (size_t i = 0; i < v->table_count; i++) {
        const rk_run_table *table = &v->tables[i];
        rk_json_item(w);
        rk_json_open(w, "{");
        rk_json_string(w, "file", table->name);
        rk_json_count(w, "rows", table->rows);
        rk_json_flag(w, "measured", rk_run_table_measures(table));
        rk_json_open_member(w, "ignored_columns", "[");
        for (size_t place = 0; place < table->columns; place++) {
            if (rk_run_column_ignored(table, place)) {
                rk_json_item(w);
                rk_json_text(w, table->cells[place]);
            }
        }
        rk_json_close(w, "]");
        rk_json_close(w, "}");
    }
    rk_json_close(w, "]");
}

/* Scores by each dimension alone. */
static rk_status write_dimensions(rk_json_writer *w, const rk_validation *v, rk_error *err)
{
    rk_json_open_member(w, "by", "{");
    for (int i = 0; i < RK_DIMENSION_COUNT; i++) {
        const rk_dimension dimension = (rk_dimension)i;
        rk_grouping grouping;
        const rk_status status = rk_score_groups(&v->comparison, &dimension, 1, &grouping, err);
        if (status) {
            return status;
        }
        write_grouping(w, rk_dimension_names[i], &grouping);
        rk_grouping_clear(&grouping);
    }
    rk_json_close(w, "}");
    return RK_OK;
}

rk_status rk_validation_write_json(const rk_job *job, const rk_validation *v, rk_error *err)
{
    rk_remark remarks[RK_REMARK_MAX];
    rk_out *out;
    rk_status status = rk_job_open(job, v->request->output, &out, err);
    if (status) {
        return status;
    }
    rk_json_writer w = {.out = out, .indented = true};
    rk_json_open_answer(&w);
    write_tables(&w, v);
    write_grouping(&w, "all", &v->all);
    write_grouping(&w, "groups", &v->by);
    status = write_dimensions(&w, v, err);
    if (status) {
        rk_out_abandon(out);
        return status;
    }
    write_remarks(&w, "left_out", remarks, rk_validation_left_out(v, remarks));
    write_remarks(&w, "assumed", remarks, rk_validation_assumed(v, remarks));
    status = write_rows(&w, v, err);
    if (status) {
        rk_out_abandon(out);
        return status;
    }
    rk_json_close(&w, "}");
    rk_out_text(out, "\n");
    return rk_out_close(out, err);
}
