/* SPDX-License-Identifier: Apache-2.0 */
/* `reckon validate` for people. */
#include "answer/validate_answer.h"
#include "base/named.h"
#include "base/text.h"
#include "base/units.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BRIEF_GROUPS = 10 }; /* with most runs */

/* A share in percent; "-" if there is none. */
static void cell_percent(rk_table *table, double share)
{
    if (isfinite(share)) {
        rk_table_cell(table, "%.1f", 100 * share);
    } else {
        rk_table_cell(table, "-");
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static size_t count_predicted(const rk_validation *v)
{
    size_t count = 0;
    for (size_t i = 0; i < v->comparison.selected_count; i++) {
        count += v->comparison.selected[i]->predicted;
    }
    return count;
}

static void write_files(FILE *to, const rk_validation *v)
{
    char rows[RK_COUNTED_SIZE], count[RK_COMMAS_SIZE];
    (void)fprintf(to, "runs      ");
    for (size_t i = 0; i < v->table_count; i++) {
        (void)fprintf(to, "%s%s", i ? ", " : "", v->tables[i].name);
    }
    (void)fprintf(to, ": %s, %s predicted\n", rk_counted(v->comparison.selected_count, "row", rows),
                  rk_with_commas(count_predicted(v), count));
}

/* Columns that mean nothing to reckon, and tables that measure nothing. */
static void write_columns(FILE *to, const rk_validation *v)
{
    for (size_t i = 0; i < v->table_count; i++) {
        const rk_run_table *table = &v->tables[i];
        const char *before = "ignored   columns ", *column;
        for (size_t place = 0; (column = rk_run_column_ignored(table, &place)) != NULL;) {
            (void)fprintf(to, "%s%s", before, column);
            before = ", ";
        }
        (void)fputs(before[0] == ',' ? "\n" : "", to);
        if (!rk_run_table_measures(table)) {
            (void)fprintf(to,
                          "%-9s %s has no column of measurements such as step_time_s, "
                          "tokens_per_s_per_gpu or peak_mem_gib: nothing is compared\n",
                          "measured", table->name);
        }
    }
}

static void write_remarks(FILE *to, const char *title, const rk_remark *remarks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(to, "%-9s %4zu  %s\n", i ? "" : title, remarks[i].rows, remarks[i].text);
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* The columns of a table of errors or first choices of groups, and the first cells of a row. */
static void init_table(rk_table *table, rk_table_column *columns, const char *title,
                       const rk_answer_field *fields)
{
    columns[0] = (rk_table_column){title, RK_ALIGN_LEFT};
    rk_table_init(table, columns, 1 + rk_answer_titles(fields, RK_SCORE_FIELDS, &columns[1]));
}

static void begin_row(rk_table *table, const char *label, const rk_answer_field *fields,
                      const void *figures)
{
    rk_table_cell(table, "%s", label);
    rk_answer_cells(table, fields, RK_SCORE_FIELDS, figures);
}

static rk_status write_time(FILE *to, const rk_validation *v, rk_table_style style, rk_error *err)
{
    enum { OWN = 1 + RK_SCORE_FIELDS };
    rk_table_column columns[OWN + 3];
    rk_table table;
    if (v->all.groups[0].score.step.count == 0) {
        return RK_OK;
    }
    init_table(&table, columns, "step time, error in %", rk_error_fields);
    columns[OWN] = (rk_table_column){"null mean", RK_ALIGN_RIGHT};
    columns[OWN + 1] = (rk_table_column){"null median", RK_ALIGN_RIGHT};
    columns[OWN + 2] = (rk_table_column){"in 10-90%", RK_ALIGN_RIGHT};
    table.column_count = COUNT(columns);
    for (size_t i = 0; i <= v->by.count; i++) {
        const rk_score_group *g = i < v->by.count ? &v->by.groups[i] : &v->all.groups[0];
        if (g->score.step.count == 0) {
            continue;
        }
        if (i == v->by.count) {
            rk_table_rule(&table);
        }
        begin_row(&table, g->label, rk_error_fields, &g->score.step);
        cell_percent(&table, g->score.null_model.count ? g->score.null_model.mean : (double)NAN);
        cell_percent(&table, g->score.null_model.median);
        cell_percent(&table, g->score.interval_coverage);
    }
    return rk_write_table(to, &table, style, err);
}

/* Figures at an offset of the scores of all groups that count something. */
static rk_status write_groups(FILE *to, const rk_validation *v, const char *title,
                              const rk_answer_field *fields, size_t offset, rk_table_style style,
                              rk_error *err)
{
    rk_table_column columns[1 + RK_SCORE_FIELDS];
    rk_table table;
    if (rk_answer_value(fields, (const char *)&v->all.groups[0].score + offset).integer == 0) {
        return RK_OK;
    }
    init_table(&table, columns, title, fields);
    for (size_t i = 0; i < v->by.count; i++) {
        const void *figures = (const char *)&v->by.groups[i].score + offset;
        if (rk_answer_value(fields, figures).integer > 0) {
            begin_row(&table, v->by.groups[i].label, fields, figures);
        }
    }
    (void)fputc('\n', to);
    return rk_write_table(to, &table, style, err);
}

static void write_verdicts(FILE *to, const rk_score_group *g)
{
    const rk_verdicts *v = &g->score.out_of_memory;
    const size_t all = v->ran_fits + v->ran_not + v->oom_fits + v->oom_not;
    if (v->oom_fits + v->oom_not == 0) {
        return;
    }
    (void)fprintf(
        to,
        "\nout of memory, %s: %zu of %zu runs predicted right (%.1f%%); precision %.1f%%, "
        "recall %.1f%%\n",
        g->label, v->ran_fits + v->oom_not, all, 100 * rk_verdicts_accuracy(v),
        100 * rk_verdicts_precision(v), 100 * rk_verdicts_recall(v));
    (void)fprintf(
        to,
        "  %zu predicted to fit ran out of memory, %zu predicted not to fit ran; of the %zu "
        "predicted to thrash, %zu ran out\n",
        v->oom_fits, v->ran_not, v->thrash_ran + v->thrash_oom, v->thrash_oom);
    const rk_risk_score *r = &g->risk;
    (void)fprintf(
        to,
        "  risk of running out: Brier score %.4f, %.4f of the verdicts; %zu of the %zu that "
        "ran called impossible",
        r->brier, r->verdict_brier, r->impossible, r->ran);
    if (r->bins > 0) {
        (void)fprintf(to, ";\n  of %zu bins of %d runs and more the worst is off by %.1f%%",
                      r->bins, RK_RISK_BIN, 100 * r->worst_bin);
    }
    (void)fputc('\n', to);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The parts that take most of a predicted step: "linear 40, attention 20, bubble 11". */
static void cell_parts(rk_table *table, const rk_compared *row)
{
    enum { SHOWN = 5 };
    char text[256] = "";
    size_t length = 0;
    bool shown[RK_PART_COUNT] = {false};
    for (int n = 0; n < SHOWN; n++) {
        int most = -1;
        for (int i = 0; i < RK_PART_COUNT; i++) {
            if (!shown[i] && (most < 0 || row->times.part[i] > row->times.part[most])) {
                most = i;
            }
        }
        const double share = 100 * row->times.part[most] / row->step;
        if (share < 1) {
            break;
        }
        shown[most] = true;
        const int added = snprintf(text + length, sizeof(text) - length, "%s%s %.0f", n ? ", " : "",
                                   rk_part_names[most], share);
        length += added > 0 ? (size_t)added : 0;
    }
    rk_table_cell(table, "%s", text);
}

static void cell_layout(rk_table *table, const rk_compared *row)
{
    const rk_strategy *s = &row->strategy;
    char text[128];
    int length = snprintf(text, sizeof(text), "tp%lld pp%lld", (long long)s->tp, (long long)s->pp);
    const rk_named_count more[] = {{"vp", s->vp}, {"cp", s->cp}, {"ep", s->ep}};
    for (size_t i = 0; i < COUNT(more); i++) {
        if (more[i].value > 1) {
            length += snprintf(text + length, sizeof(text) - (size_t)length, " %s%lld",
                               more[i].name, (long long)more[i].value);
        }
    }
    (void)snprintf(text + length, sizeof(text) - (size_t)length, " dp%lld mbs%lld gbs%lld s%lld",
                   (long long)s->dp, (long long)s->micro_batch, (long long)s->global_batch,
                   (long long)s->seq);
    rk_table_cell(table, "%s", text);
}

/* The prediction, the measurement (if there is one) and the error. */
static void cells_measure(rk_table *table, double predicted, double measured)
{
    assert(predicted >= 0);
    rk_table_cell(table, "%.4g", predicted);
    if (measured > 0) {
        rk_table_cell(table, "%.4g", measured);
        rk_table_cell(table, "%+.1f", 100 * (predicted / measured - 1));
    } else {
        rk_table_cell(table, "-");
        rk_table_cell(table, "-");
    }
}

/* The run's name, or its place in the table. */
static const char *name_of(const rk_compared *row, char place[32])
{
    const char *id = rk_run_cell(row->table, row->row, RK_RUN_ID);
    (void)snprintf(place, 32, "row %zu", row->row + 1);
    return id[0] ? id : place;
}

static rk_status write_rows(FILE *to, const rk_validation *v, rk_table_style style, rk_error *err)
{
    static const rk_table_column columns[] = {
        {"run", RK_ALIGN_LEFT},       {"model", RK_ALIGN_LEFT},
        {"n", RK_ALIGN_RIGHT},        {"layout", RK_ALIGN_LEFT},
        {"step, s", RK_ALIGN_RIGHT},  {"measured", RK_ALIGN_RIGHT},
        {"error %", RK_ALIGN_RIGHT},  {"tokens/s", RK_ALIGN_RIGHT},
        {"TFLOP/s", RK_ALIGN_RIGHT},  {"MFU %", RK_ALIGN_RIGHT},
        {"measured", RK_ALIGN_RIGHT}, {"memory, GiB", RK_ALIGN_RIGHT},
        {"measured", RK_ALIGN_RIGHT}, {"error %", RK_ALIGN_RIGHT},
        {"fits", RK_ALIGN_LEFT},      {"% of the step", RK_ALIGN_LEFT},
        {"assumed", RK_ALIGN_LEFT},
    };
    rk_table table;
    char place[32];
    rk_table_init(&table, columns, COUNT(columns));
    for (size_t i = 0; i < v->comparison.selected_count; i++) {
        const rk_compared *row = v->comparison.selected[i];
        if (!row->predicted) {
            continue;
        }
        rk_table_cell(&table, "%s", name_of(row, place));
        rk_table_cell(&table, "%.24s", rk_run_cell(row->table, row->row, RK_RUN_MODEL));
        rk_table_cell(&table, "%lld", (long long)row->ranks);
        cell_layout(&table, row);
        cells_measure(&table, row->step, row->step_measured);
        rk_table_cell(&table, "%.0f", row->tokens_per_second);
        rk_table_cell(&table, "%.0f", row->flops_per_second / 1e12);
        rk_table_cell(&table, "%.1f", 100 * row->mfu);
        cell_percent(&table, row->mfu_measured > 0 ? row->mfu_measured : (double)NAN);
        cells_measure(&table, row->memory / 0x1p30, row->memory_measured / 0x1p30);
        rk_table_cell(&table, "%s%s", rk_compared_fits(row), row->out_of_memory ? ", ran out" : "");
        cell_parts(&table, row);
        rk_table_cell(&table, "%s", row->assumed);
    }
    const rk_status status = rk_write_table(to, &table, style, err);
    rk_table_clear(&table);
    (void)fputc('\n', to);
    return status;
}

static const char *unread_of(const rk_compared *row)
{
    return rk_run_cell(row->table, row->row, RK_RUN_UNREAD);
}

/* Rows whose sources state facts for which there is no column. */
static void write_unread_count(FILE *to, const rk_validation *v)
{
    size_t count = 0;
    for (size_t i = 0; i < v->comparison.selected_count; i++) {
        count += unread_of(v->comparison.selected[i])[0] != '\0';
    }
    if (count > 0) {
        (void)fprintf(to, "%-9s %4zu  rows have facts that no column takes%s\n", "unread", count,
                      v->request.rows ? "" : "; --rows prints them");
    }
}

/* Rows whose measured utilisation is not compared, because nothing says how it counts. */
static void write_uncounted(FILE *to, const rk_validation *v)
{
    size_t count = 0;
    for (size_t i = 0; i < v->comparison.selected_count; i++) {
        const rk_compared *row = v->comparison.selected[i];
        count += row->predicted && row->uncounted;
    }
    if (count > 0) {
        (void)fprintf(to,
                      "%-9s %4zu  rows print utilisation alone: flop_convention has to say how "
                      "it counts\n",
                      "no time", count);
    }
}

/* The same facts, row by row, in the words of the source. */
static void write_unread(FILE *to, const rk_validation *v)
{
    char place[32];
    for (size_t i = 0; i < v->comparison.selected_count; i++) {
        const rk_compared *row = v->comparison.selected[i];
        if (unread_of(row)[0]) {
            (void)fprintf(to, "%s: unread: %s\n", name_of(row, place), unread_of(row));
        }
    }
}

/* Rows without a prediction, each with the missing facts. */
static void write_missing(FILE *to, const rk_validation *v)
{
    char place[32];
    for (size_t i = 0; i < v->comparison.selected_count; i++) {
        const rk_compared *row = v->comparison.selected[i];
        if (!row->predicted) {
            (void)fprintf(to, "%s: %s\n", name_of(row, place), row->reason);
        }
    }
    write_unread(to, v);
    (void)fputc('\n', to);
}

/* ---- figures --------------------------------------------------------------------------------- */

static void cell_target(rk_table *table, const rk_figure *f)
{
    switch (f->statistic) {
    case RK_STATISTIC_COVERAGE:
        rk_table_cell(table, "%.3g to %.3g", 100 * f->target, 100 * f->target_most);
        break;
    case RK_STATISTIC_ACCURACY:
    case RK_STATISTIC_PRECISION:
    case RK_STATISTIC_RECALL:
        rk_table_cell(table, "at least %.3g", 100 * f->target);
        break;
    default:
        rk_table_cell(table, "at most %.3g", 100 * f->target);
    }
}

rk_status rk_validation_write_figures(FILE *to, const void *what, rk_table_style style,
                                      rk_error *err)
{
    static const rk_table_column columns[] = {
        {"figure, %", RK_ALIGN_LEFT}, {"runs", RK_ALIGN_RIGHT}, {"target", RK_ALIGN_LEFT},
        {"now", RK_ALIGN_RIGHT},      {"", RK_ALIGN_LEFT},      {"was", RK_ALIGN_RIGHT},
        {"margin", RK_ALIGN_RIGHT},   {"", RK_ALIGN_LEFT},
    };
    const rk_figures *figures = what;
    rk_table table;
    rk_table_init(&table, columns, COUNT(columns));
    for (size_t i = 0; i < figures->count; i++) {
        const rk_figure *f = &figures->list[i];
        rk_table_cell(&table, "%s", f->name);
        rk_table_cell(&table, "%lld", (long long)f->runs_now);
        cell_target(&table, f);
        cell_percent(&table, f->now);
        rk_table_cell(&table, "%s", f->runs_now == 0 ? "-" : f->meets ? "met" : "missed");
        cell_percent(&table, f->value >= 0 ? f->value : (double)NAN);
        rk_table_cell(&table, "%.1f", 100 * f->margin);
        rk_table_cell(&table, "%s", f->worse ? "WORSE" : "");
    }
    return rk_write_table(to, &table, style, err);
}

/* How many rows are left out; -v says why. */
static void write_left_out(FILE *to, const rk_remark *remarks, size_t count)
{
    char counted[RK_COUNTED_SIZE];
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        rows += remarks[i].rows;
    }
    if (rows > 0) {
        (void)fprintf(to, "left out  %s; -v says why\n", rk_counted(rows, "row", counted));
    }
}

/* Columns that most rows leave open: "assumed   recompute of 183 rows, sharding of 73". */
static void write_assumed(FILE *to, const rk_remark *remarks, size_t count)
{
    char rows[RK_COUNTED_SIZE];
    if (count > 0) {
        (void)fprintf(to, "assumed   %s of %s", remarks[0].text,
                      rk_counted(remarks[0].rows, "row", rows));
    }
    for (size_t i = 1; i < count && i < 3; i++) {
        (void)fprintf(to, ", %s of %zu", remarks[i].text, remarks[i].rows);
    }
    (void)fputs(count > 3 ? ", and others\n" : count ? "\n" : "", to);
}

/* Whether a group is among the BRIEF_GROUPS with most runs. */
static bool is_large(const rk_validation *v, size_t group)
{
    assert(group < v->by.count);
    size_t larger = 0;
    for (size_t i = 0; i < v->by.count; i++) {
        const size_t runs = v->by.groups[i].score.step.count;
        larger += runs > v->by.groups[group].score.step.count ||
                  (runs == v->by.groups[group].score.step.count && i < group);
    }
    return larger < BRIEF_GROUPS && v->by.groups[group].score.step.count > 0;
}

static rk_status write_brief(FILE *to, const rk_validation *v, rk_table_style style, rk_error *err)
{
    rk_table_column columns[1 + RK_SCORE_FIELDS];
    static const rk_score none;
    const rk_score *all = v->all.count > 0 ? &v->all.groups[0].score : &none;
    rk_remark remarks[RK_REMARK_MAX];
    char runs[RK_COUNTED_SIZE];
    rk_status status = RK_OK;
    rk_table table;
    write_files(to, v);
    write_columns(to, v);
    write_left_out(to, remarks, rk_validation_left_out(v, remarks));
    write_assumed(to, remarks, rk_validation_assumed(v, remarks));
    (void)fputc('\n', to);
    if (all->step.count > 0) {
        init_table(&table, columns, "step time, error in %", rk_error_fields);
        for (size_t i = 0; i < v->by.count; i++) {
            if (is_large(v, i)) {
                begin_row(&table, v->by.groups[i].label, rk_error_fields,
                          &v->by.groups[i].score.step);
            }
        }
        rk_table_rule(&table);
        begin_row(&table, "all", rk_error_fields, &all->step);
        status = rk_write_table(to, &table, style, err);
        if (all->intervals > 0) {
            (void)fprintf(to, "\nintervals 10th to 90th percentiles hold %.1f %% of %s\n",
                          100 * all->interval_coverage, rk_counted(all->intervals, "run", runs));
        }
    }
    if (all->memory.count > 0) {
        (void)fprintf(to, "memory    %s, error %.1f %% in the median, %.1f %% in the mean\n",
                      rk_counted(all->memory.count, "run", runs), 100 * all->memory.median,
                      100 * all->memory.mean);
    }
    if (!status) {
        (void)fputs("\n-v adds every group, what is assumed, memory, choices and verdicts\n", to);
    }
    return status;
}

rk_status rk_validation_write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_validation *v = what;
    rk_remark remarks[RK_REMARK_MAX];
    if (!style.full && !v->request.rows) {
        return write_brief(to, v, style, err);
    }
    write_files(to, v);
    write_columns(to, v);
    write_remarks(to, "left out", remarks, rk_validation_left_out(v, remarks));
    write_remarks(to, "assumed", remarks, rk_validation_assumed(v, remarks));
    write_unread_count(to, v);
    write_uncounted(to, v);
    (void)fputc('\n', to);
    rk_status status = RK_OK;
    if (v->request.rows) {
        write_missing(to, v);
        status = write_rows(to, v, style, err);
    }
    if (v->all.count == 0 || status) {
        return status;
    }
    status = write_time(to, v, style, err);
    status = status ? status
                    : write_groups(to, v, "peak memory, error in %", rk_error_fields,
                                   offsetof(rk_score, memory), style, err);
    status = status ? status
                    : write_groups(to, v, "slower than best, %", rk_regret_fields,
                                   offsetof(rk_score, first_choice), style, err);
    for (size_t i = 0; i < v->by.count; i++) {
        write_verdicts(to, &v->by.groups[i]);
    }
    return status;
}
