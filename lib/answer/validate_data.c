/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon validate` for programs: JSON, and a table of all runs. */
#include "answer/validate_answer.h"

#include "base/error.h"
#include "base/units.h"
#include "request/case_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Remarks about the input tables, for which the CSV output has no columns. */
static void remark_tables(const rk_job *job, const rk_validation *v)
{
    for (size_t i = 0; i < v->table_count; i++) {
        const rk_run_table *table = &v->tables[i];
        const char *column;
        for (size_t place = 0; (column = rk_run_column_ignored(table, &place)) != NULL;) {
            rk_job_remark(job, "%s: the column %s is ignored", table->name, column);
        }
        if (!rk_run_table_measures(table)) {
            rk_job_remark(job, "%s: no column of measurements, nothing is compared", table->name);
        }
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The figures of a row, and what tables add to them. */
struct row {
    rk_validation_row figures;
    rk_strategy strategy;
    const char *precision, *schedule, *fits;
    double memory_low, memory_high, risk;
};

static struct row row_of(const rk_compared *c)
{
    struct row row = {.figures = rk_compared_figures(c)};
    if (c->predicted) {
        row.strategy = c->strategy;
        row.precision = rk_precision_names[c->strategy.precision];
        row.schedule = c->strategy.pp > 1 ? rk_strategy_schedule(&c->strategy) : "none";
        row.fits = rk_compared_fits(c);
        row.memory_low = c->memory_low;
        row.memory_high = c->memory_high;
        row.risk = c->risk;
    }
    return row;
}

#define FIELD(key, member)  RK_ANSWER_FIELD(key, struct row, member)
#define FIGURE(member)      FIELD(#member, figures.member), .optional = true
#define STRATEGY(key, name) FIELD(key, strategy.name)

/* Every row has the first, and one that is not predicted the last. */
static const rk_answer_field fields[] = {
    {FIGURE(file)},
    {FIGURE(row)},
    {FIGURE(id)},
    {FIGURE(source)},
    {FIGURE(model)},
    {FIGURE(system)},
    {FIGURE(accelerator)},
    {FIGURE(stack)},
    {FIGURE(accelerators)},
    {FIGURE(nodes)},
    {FIGURE(moe)},
    {FIELD("precision", precision)},
    {FIELD("schedule", schedule)},
    {STRATEGY("tp", tp)},
    {STRATEGY("pp", pp)},
    {STRATEGY("vp", vp)},
    {STRATEGY("cp", cp)},
    {STRATEGY("ep", ep)},
    {STRATEGY("dp", dp)},
    {STRATEGY("micro_batch", micro_batch)},
    {STRATEGY("global_batch", global_batch)},
    {STRATEGY("seq", seq)},
    {FIGURE(step_s)},
    {FIGURE(step_measured_s), .positive = true},
    {FIGURE(step_error)},
    {FIGURE(step_p10_s), .positive = true},
    {FIGURE(step_p90_s), .positive = true},
    {FIGURE(null_step_s), .positive = true},
    {FIGURE(tokens_per_s)},
    {FIGURE(flops_per_s)},
    {FIGURE(mfu)},
    {FIGURE(mfu_measured), .positive = true},
    {FIGURE(memory_bytes)},
    {FIGURE(memory_measured_bytes), .positive = true},
    {FIGURE(memory_error)},
    {FIELD("memory_p10_bytes", memory_low)},
    {FIELD("memory_p90_bytes", memory_high)},
    {FIGURE(memory_needed_bytes)},
    {FIGURE(memory_usable_bytes)},
    {FIELD("out_of_memory_risk", risk)},
    {FIELD("fits", fits)},
    {FIGURE(ran_out_of_memory)},
    {FIGURE(assumed)},
    {FIGURE(left_out)},
};
enum { FIELDS = COUNT(fields), NAMES = 5 };

rk_status rk_validation_write_csv(const rk_job *job, const rk_validation *v, rk_error *err)
{
    rk_csv_out *out;
    rk_column columns[FIELDS];
    const rk_status status = rk_job_open_csv(job, v->request.output, &out, err);
    if (status) {
        return status;
    }
    remark_tables(job, v);
    rk_csv_header(out, columns, rk_answer_columns(fields, FIELDS, columns));
    for (size_t i = 0; i < v->comparison.selected_count; i++) {
        const struct row row = row_of(v->comparison.selected[i]);
        rk_value values[FIELDS] = {{.type = RK_VALUE_NULL}};
        (void)rk_answer_values(fields, row.figures.predicted ? FIELDS : NAMES, &row, values);
        values[FIELDS - 1] = rk_value_text(row.figures.left_out);
        rk_csv_row(out, values, FIELDS);
    }
    return rk_csv_close(out, err);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Fields that count come first: they alone are there where nothing is counted. */
const rk_answer_field rk_error_fields[RK_SCORE_FIELDS] = {
    {RK_ANSWER_FIELD("runs", rk_errors, count), .title = "runs"},
    {RK_ANSWER_FIELD("mean", rk_errors, mean), RK_PERCENT("mean", 1)},
    {RK_ANSWER_FIELD("median", rk_errors, median), RK_PERCENT("median", 1)},
    {RK_ANSWER_FIELD("p90", rk_errors, p90), RK_PERCENT("p90", 1)},
    {RK_ANSWER_FIELD("worst", rk_errors, worst), RK_PERCENT("worst", 1)},
    {RK_ANSWER_FIELD("bias", rk_errors, bias), RK_PERCENT("bias", 1), .shown = RK_SHOWN_SIGNED},
    {RK_ANSWER_FIELD("rank_correlation", rk_errors, rank), .title = "rank", .factor = 1,
     .digits = 3},
};

const rk_answer_field rk_regret_fields[RK_SCORE_FIELDS] = {
    {RK_ANSWER_FIELD("jobs", rk_regret, groups), .title = "jobs"},
    {RK_ANSWER_FIELD("best_chosen", rk_regret, best), .title = "best chosen"},
    {RK_ANSWER_FIELD("ran_out_of_memory", rk_regret, failed), .title = "out of memory"},
    {RK_ANSWER_FIELD("mean", rk_regret, mean), RK_PERCENT("mean", 1)},
    {RK_ANSWER_FIELD("median", rk_regret, median), RK_PERCENT("median", 1)},
    {RK_ANSWER_FIELD("p90", rk_regret, p90), RK_PERCENT("p90", 1)},
    {RK_ANSWER_FIELD("worst", rk_regret, worst), RK_PERCENT("worst", 1)},
};

static void write_errors(rk_json_writer *w, const char *key, const rk_errors *e)
{
    rk_json_open_member(w, key, "{");
    rk_answer_members(w, rk_error_fields, e->count > 0 ? RK_SCORE_FIELDS : 1, e);
    rk_json_close(w, "}");
}

static void write_regret(rk_json_writer *w, const rk_regret *r)
{
    rk_json_open_member(w, "first_choice", "{");
    rk_answer_members(w, rk_regret_fields, r->groups > r->failed ? RK_SCORE_FIELDS : 3, r);
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

static void write_risk(rk_json_writer *w, const rk_risk_score *r)
{
    rk_json_open_member(w, "out_of_memory_risk", "{");
    rk_json_count(w, "runs", r->runs);
    rk_json_real(w, "brier_score", r->brier);
    rk_json_real(w, "brier_score_of_verdicts", r->verdict_brier);
    rk_json_count(w, "ran_called_impossible", r->impossible);
    rk_json_count(w, "bins", r->bins);
    rk_json_real(w, "worst_bin", r->worst_bin);
    rk_json_close(w, "}");
}

static void write_group(rk_json_writer *w, const rk_score_group *g)
{
    rk_json_item(w);
    rk_json_open(w, "{");
    rk_json_string(w, "group", g->label);
    write_errors(w, "step", &g->score.step);
    write_errors(w, "null_model", &g->score.null_model);
    if (g->score.intervals > 0) {
        rk_json_real(w, "interval_coverage", g->score.interval_coverage);
        rk_json_real(w, "interval_width", g->score.interval_width);
    }
    write_errors(w, "memory", &g->score.memory);
    write_regret(w, &g->score.first_choice);
    if (g->score.out_of_memory.oom_fits + g->score.out_of_memory.oom_not > 0) {
        write_verdicts(w, &g->score.out_of_memory);
        write_risk(w, &g->risk);
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
                                         (rk_case_extent)v->request.options, &options, err);
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
    for (size_t i = 0; i < comparison->selected_count && !status; i++) {
        const rk_compared *row = comparison->selected[i];
        rk_json_item(w);
        rk_json_open(w, "{");
        const struct row shown = row_of(row);
        rk_answer_members(w, fields, row->predicted ? FIELDS - 1 : NAMES, &shown);
        if (!row->predicted) {
            rk_json_string(w, "left_out", row->reason);
        }
        if (row->predicted && v->request.options >= 0) {
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
        const char *column;
        for (size_t place = 0; (column = rk_run_column_ignored(table, &place)) != NULL;) {
            rk_json_item(w);
            rk_json_text(w, column);
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
    rk_status status = rk_job_open(job, v->request.output, &out, err);
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
