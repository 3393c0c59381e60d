/* SPDX-License-Identifier: Apache-2.0 */
/* The text of `reckon run` about clusters. */
#include "answer/run_answer.h"

#include "base/text.h"
#include "base/time_text.h"
#include "base/units.h"
#include "request/derived_sizes.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define WATTS_PER_MW 1e6

static const char *answer_of(const rk_clusters *c, int i, char out[64])
{
    assert(i >= 0 && i < c->count);
    (void)snprintf(out, 64, "%s%s%s%s", i == c->smallest ? " smallest" : "",
                   i == c->cheapest ? " cheapest" : "", i == c->fastest ? " fastest" : "",
                   c->clusters[i].meets ? "" : " beyond a limit");
    return out[0] == ' ' ? out + 1 : out;
}

/* The step time or MFU that the request states instead of predicting it. */
static void write_stated(FILE *to, const rk_run_question *question)
{
    char step[RK_TIME_TEXT_SIZE];
    if (question->asked.step_s > 0) {
        (void)fprintf(to, "\nstated, not predicted: steps of %s (--step-time)\n",
                      rk_time_text(question->asked.step_s, step));
    } else if (question->asked.mfu_percent > 0) {
        (void)fprintf(to, "\nstated, not predicted: an MFU of %.4g %% (--mfu)\n",
                      100 * rk_run_stated_mfu(question));
    }
}

/* By which measure clusters are compared, where the table does not say it. */
static void write_measure(FILE *to, const rk_clusters *c)
{
    bool priced = false, several = false;
    for (int i = 0; i < c->count; i++) {
        priced = priced || c->clusters[i].cost > 0;
        several = several || strcmp(c->clusters[i].accelerator, c->clusters[0].accelerator) != 0;
    }
    if (c->count > 0 && !priced) {
        (void)fputs("\nfront: nothing faster takes fewer hours of the same accelerator; --price or "
                    "--prices says which cluster is cheapest\n",
                    to);
    } else if (several && !c->question->asked.prices) {
        (void)fputs("\ncost: hours of all accelerators at one price; --prices has one for each\n",
                    to);
    }
}

/* Sequence length and batch, where they are not given. */
static void write_assumed(FILE *to, const rk_clusters *c)
{
    const rk_request *r = &c->question->request;
    const int64_t seq = r->seq > 0 ? r->seq : c->model.seq;
    char number[RK_COMMAS_SIZE], best[RK_AMOUNT_SIZE];
    const bool batch = r->global_batch == 0;
    if (r->seq == 0) {
        (void)fprintf(to, "\nassumed: sequence of %s tokens, the model's (--seq)%s",
                      rk_with_commas((uint64_t)seq, number), batch ? "; " : "\n");
    }
    if (batch) {
        (void)fprintf(to, "%sglobal batch of about 4 M tokens (--global-batch)\n",
                      r->seq == 0 ? "" : "\nassumed: ");
    }
    if (c->best_batch > 0) {
        (void)fprintf(to,
                      "batch: %s tokens would be best, by step-law: --global-batch %" PRId64 "\n",
                      rk_amount_text((double)c->best_batch * (double)seq, "", best), c->best_batch);
    }
}

/* "llama3-70b, 1 T tokens in 90 days". */
static void write_question(FILE *to, const rk_clusters *c)
{
    const rk_run_question *q = c->question;
    char amount[RK_AMOUNT_SIZE];
    rk_write_label(to, "question");
    (void)fprintf(to, "%s, %s tokens", c->model.name, rk_amount_text(c->tokens, "", amount));
    if (q->deadline > 0) {
        (void)fprintf(to, " in %.4g day%s", q->deadline, q->deadline > 1 ? "s" : "");
    }
    if (q->budget > 0) {
        (void)fprintf(to, " for %s", rk_amount_text(q->budget, "", amount));
    }
    if (q->max_power > 0) {
        (void)fprintf(to, " with %s", rk_amount_text(q->max_power, "W", amount));
    }
    (void)fputs("\n\n", to);
}

/* The cluster that costs least, and the fastest; below 0: no cluster, or no price. */
static int find_least(const rk_clusters *c, bool cost)
{
    int least = -1;
    for (int i = 0; i < c->count; i++) {
        const rk_cluster *k = &c->clusters[i], *best = &c->clusters[least < 0 ? i : least];
        const bool less = cost ? k->cost < best->cost : k->days < best->days;
        least = (!cost || k->cost > 0) && (least < 0 || less) ? i : least;
    }
    return least;
}

enum { NEAREST_SIZE = 192 };

/* By how much no cluster meets the limits. */
static const char *nearest_of(const rk_clusters *c, char out[NEAREST_SIZE])
{
    const int fast = find_least(c, false), cheap = find_least(c, true);
    char cost[RK_AMOUNT_SIZE], also[RK_AMOUNT_SIZE + 32] = "";
    if (fast < 0) {
        return "the model fits on none of the clusters";
    }
    if (cheap >= 0) {
        (void)snprintf(also, sizeof(also), ", the cheapest costs %s",
                       rk_amount_text(c->clusters[cheap].cost, "", cost));
    }
    (void)snprintf(out, NEAREST_SIZE, "no cluster meets the limits: the fastest takes %.1f days%s",
                   c->clusters[fast].days, also);
    return out;
}

enum { BRIEF_CLUSTERS = 11 };

static void add_cost(rk_table *table, const rk_cluster *cluster)
{
    if (cluster->cost > 0) {
        rk_table_cell(table, "%.3f", cluster->cost / 1e6);
    } else {
        rk_table_cell(table, "-");
    }
}

static void add_answer(rk_table *table, const rk_clusters *c, int i)
{
    char room[64];
    const char *answer = answer_of(c, i, room);
    const char *mark = c->clusters[i].meets ? RK_MARK_BEST : RK_MARK_TIGHT;
    rk_table_cell(table, "%s%s%s", answer[0] ? mark : "", answer, answer[0] ? RK_MARK_END : "");
}

/* The answers and the first other clusters, in one table. */
static rk_status write_brief(FILE *to, const rk_clusters *c, rk_table_style style, rk_error *err)
{
    const bool priced = find_least(c, true) >= 0;
    rk_table_column columns[] = {
        {"system", RK_ALIGN_LEFT},       {"accelerators", RK_ALIGN_RIGHT},
        {"TP/CP/PP/DP", RK_ALIGN_RIGHT}, {"days", RK_ALIGN_RIGHT},
        {"p90", RK_ALIGN_RIGHT},         {"M hours", RK_ALIGN_RIGHT},
        {"M cost", RK_ALIGN_RIGHT},      {"answer", RK_ALIGN_LEFT},
    };
    const int least = c->fastest < 0 ? find_least(c, true) : -1;
    rk_table table;
    if (!priced) {
        columns[COUNT(columns) - 2] = columns[COUNT(columns) - 1];
    }
    rk_table_init(&table, columns, COUNT(columns) - !priced);
    for (int i = 0, rows = 0; i < c->count; i++) {
        const rk_cluster *k = &c->clusters[i];
        const bool best = i == c->smallest || i == c->cheapest || i == c->fastest || i == least;
        rows += !best;
        if (!best && rows > BRIEF_CLUSTERS - 3) {
            continue;
        }
        rk_table_cell(&table, "%s", k->system);
        rk_table_cell(&table, "%.0f", k->accelerators);
        rk_table_cell(&table, "%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64, k->strategy.tp,
                      k->strategy.cp, k->strategy.pp, k->strategy.dp);
        rk_table_cell(&table, "%.1f", k->days);
        rk_table_cell(&table, "%.1f", k->late_days);
        rk_table_cell(&table, "%.3f", k->hours / 1e6);
        if (priced) {
            add_cost(&table, k);
        }
        add_answer(&table, c, i);
    }
    return rk_write_table(to, &table, style, err);
}

static rk_status write_full(FILE *to, const rk_clusters *c, rk_table_style style, rk_error *err)
{
    static const rk_table_column columns[] = {
        {"system", RK_ALIGN_LEFT}, {"accelerators", RK_ALIGN_RIGHT}, {"layout", RK_ALIGN_LEFT},
        {"batch", RK_ALIGN_RIGHT}, {"step, s", RK_ALIGN_RIGHT},      {"days", RK_ALIGN_RIGHT},
        {"p90", RK_ALIGN_RIGHT},   {"M hours", RK_ALIGN_RIGHT},      {"M cost", RK_ALIGN_RIGHT},
        {"MW", RK_ALIGN_RIGHT},    {"front", RK_ALIGN_LEFT},         {"answer", RK_ALIGN_LEFT},
    };
    rk_table table;
    rk_table_init(&table, columns, COUNT(columns));
    for (int i = 0; i < c->count; i++) {
        const rk_cluster *k = &c->clusters[i];
        rk_table_cell(&table, "%s", k->system);
        rk_table_cell(&table, "%.0f", k->accelerators);
        rk_table_cell(&table, "TP %" PRId64 " CP %" PRId64 " PP %" PRId64 " DP %" PRId64,
                      k->strategy.tp, k->strategy.cp, k->strategy.pp, k->strategy.dp);
        rk_table_cell(&table, "%" PRId64, k->strategy.global_batch);
        rk_table_cell(&table, "%.3f", k->step);
        rk_table_cell(&table, "%.1f", k->days);
        rk_table_cell(&table, "%.1f", k->late_days);
        rk_table_cell(&table, "%.3f", k->hours / 1e6);
        add_cost(&table, k);
        rk_table_cell(&table, "%.2f", k->power / WATTS_PER_MW);
        rk_table_cell(&table, "%s", k->front ? "*" : "");
        add_answer(&table, c, i);
    }
    return rk_write_table(to, &table, style, err);
}

static rk_status write_text(FILE *to, const void *what, rk_table_style style, rk_error *err)
{
    const rk_clusters *c = what;
    char nearest[NEAREST_SIZE];
    write_question(to, c);
    const rk_status status = (style.full ? write_full : write_brief)(to, c, style, err);
    if (!status) {
        write_assumed(to, c);
        write_measure(to, c);
        write_stated(to, c->question);
        (void)fputs(c->question->asked.loss > 0 ? "\n" : "", to);
        rk_run_write_target(to, c->question, &c->target, style.full);
    }
    if (!status && c->fastest < 0) {
        (void)fprintf(to,
                      "\n" RK_MARK_TIGHT "%s" RK_MARK_END
                      "; give more accelerators, time, money or power\n",
                      nearest_of(c, nearest));
    }
    return status;
}

#define FIELD(key, member) RK_ANSWER_FIELD(key, rk_cluster, member)

static const rk_answer_field fields[] = {
    {FIELD("system", system)},
    {FIELD("accelerators", accelerators)},
    {FIELD("tp", strategy.tp)},
    {FIELD("cp", strategy.cp)},
    {FIELD("pp", strategy.pp)},
    {FIELD("dp", strategy.dp)},
    {FIELD("global_batch", strategy.global_batch)},
    {FIELD("step_s", step)},
    {FIELD("days", days)},
    {FIELD("days_p90", late_days)},
    {FIELD("accelerator_hours", hours)},
    {FIELD("cost", cost), .positive = true},
    {FIELD("power_W", power)},
    {FIELD("meets", meets)},
    {FIELD("front", front)},
};
enum { FIELDS = COUNT(fields) };

/* With the words of text for the last column. */
static void write_cells(rk_csv_out *csv, const void *what)
{
    const rk_clusters *c = what;
    char answer[64];
    rk_column columns[FIELDS + 1];
    rk_value row[FIELDS + 1];
    const size_t count = rk_answer_columns(fields, FIELDS, columns);
    columns[count] = (rk_column){"answer", RK_VALUE_TEXT};
    rk_csv_header(csv, columns, count + 1);
    for (int i = 0; i < c->count; i++) {
        (void)rk_answer_values(fields, FIELDS, &c->clusters[i], row);
        row[count] = rk_value_text(answer_of(c, i, answer));
        rk_csv_row(csv, row, count + 1);
    }
}

static void write_cluster(rk_json_writer *writer, const rk_clusters *c, int i)
{
    rk_json_item(writer);
    rk_json_open(writer, "{");
    rk_answer_members(writer, fields, FIELDS, &c->clusters[i]);
    rk_json_flag(writer, "smallest", i == c->smallest);
    rk_json_flag(writer, "cheapest", i == c->cheapest);
    rk_json_flag(writer, "fastest", i == c->fastest);
    rk_json_close(writer, "}");
}

static void write_assumed_json(rk_json_writer *writer, const rk_clusters *c)
{
    const bool seq = c->question->request.seq == 0, batch = c->question->request.global_batch == 0;
    if (seq || batch) {
        rk_json_open_member(writer, "assumed", "{");
        if (seq) {
            rk_json_count(writer, "seq", (uint64_t)c->model.seq);
        }
        if (batch) {
            rk_json_real(writer, "global_batch_tokens", RK_USUAL_BATCH_TOKENS);
        }
        if (c->best_batch > 0) {
            rk_json_count(writer, "step_law_global_batch", (uint64_t)c->best_batch);
        }
        rk_json_close(writer, "}");
    }
}

static void write_members(rk_json_writer *writer, const void *what)
{
    const rk_clusters *c = what;
    char nearest[NEAREST_SIZE];
    write_assumed_json(writer, c);
    if (c->fastest < 0) {
        rk_json_string(writer, "reason", nearest_of(c, nearest));
    }
    rk_json_open_member(writer, "clusters", "[");
    for (int i = 0; i < c->count; i++) {
        write_cluster(writer, c, i);
    }
    rk_json_close(writer, "]");
}

rk_status rk_clusters_write(const rk_job *job, const rk_clusters *c, rk_error *err)
{
    static const rk_answer_writers writers = {
        .text = write_text, .members = write_members, .cells = write_cells};
    const rk_request *request = &c->question->request;
    return rk_job_answer(job, &writers, c, request->json, request->csv, request->output, err);
}
