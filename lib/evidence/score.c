/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of a group of runs: errors, regret of the chosen strategy, memory verdicts, coverage. */
#include "evidence/score.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors -------------------------------------------------------------------------------- */

/* Ratios and what is ranked, of one measure. */
typedef struct pairs {
    double *ratio, *predicted, *measured; /* of one allocation */
    size_t count;
} pairs;

static void add_pair(pairs *p, double ratio, double predicted, double measured)
{
    p->ratio[p->count] = ratio;
    p->predicted[p->count] = predicted;
    p->measured[p->count++] = measured;
}

static rk_status finish_pairs(pairs *p, rk_errors *out, rk_error *err)
{
    double correlation = (double)NAN;
    const rk_status status = rk_spearman(p->predicted, p->measured, p->count, &correlation, err);
    *out = rk_errors_of(p->ratio, p->count);
    out->rank = correlation;
    p->count = 0;
    return status;
}

static rk_status score_errors(const rk_compared **rows, size_t count, rk_score *out, rk_error *err)
{
    double *numbers = calloc(3 * count + 1, sizeof(*numbers));
    pairs p = {.ratio = numbers, .predicted = numbers + count, .measured = numbers + 2 * count};
    if (!numbers) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the errors");
    }
    for (size_t i = 0; i < count; i++) {
        if (rk_compared_has_time(rows[i])) {
            add_pair(&p, rows[i]->step / rows[i]->step_measured, rows[i]->mfu,
                     rows[i]->mfu_measured);
        }
    }
    rk_status status = finish_pairs(&p, &out->step, err);
    for (size_t i = 0; i < count && !status; i++) {
        if (rk_compared_has_time(rows[i]) && rows[i]->null_step > 0) {
            add_pair(&p, rows[i]->null_step / rows[i]->step_measured, 1, 1);
        }
    }
    status = status ? status : finish_pairs(&p, &out->null_model, err);
    for (size_t i = 0; i < count && !status; i++) {
        if (rk_compared_has_memory(rows[i])) {
            add_pair(&p, rows[i]->memory / rows[i]->memory_measured, rows[i]->memory,
                     rows[i]->memory_measured);
        }
    }
    status = status ? status : finish_pairs(&p, &out->memory, err);
    free(numbers);
    return status;
}

/* ---- verdicts ------------------------------------------------------------------------------ */

static void add_verdict(const rk_compared *row, rk_verdicts *v)
{
    if (!row->selected || !row->predicted || !row->labelled || row->unsure) {
        return;
    }
    ++*(row->out_of_memory ? row->fits ? &v->oom_fits : &v->oom_not
        : row->fits        ? &v->ran_fits
                           : &v->ran_not);
    if (row->thrashes) {
        ++*(row->out_of_memory ? &v->thrash_oom : &v->thrash_ran);
    }
}

static double share(size_t part, size_t rest)
{
    return part + rest > 0 ? (double)part / (double)(part + rest) : (double)NAN;
}

double rk_verdicts_accuracy(const rk_verdicts *v)
{
    return share(v->ran_fits + v->oom_not, v->ran_not + v->oom_fits);
}

double rk_verdicts_precision(const rk_verdicts *v)
{
    return share(v->oom_not, v->ran_not);
}

double rk_verdicts_recall(const rk_verdicts *v)
{
    return share(v->oom_not, v->oom_fits);
}

/* ---- regret -------------------------------------------------------------------------------- */

/* The key of comparable runs: everything but the strategy and the software. */
static int compare_jobs(const rk_compared *a, const rk_compared *b)
{
    static const rk_run_column columns[] = {RK_RUN_MODEL, RK_RUN_RELEASE, RK_RUN_PRECISION};
    const rk_strategy *s = &a->strategy, *t = &b->strategy;
    const int64_t numbers[][2] = {
        {a->ranks, b->ranks}, {s->global_batch, t->global_batch}, {s->seq, t->seq}};
    int order = strcmp(a->group, b->group);
    order = order ? order : strcmp(a->system->name, b->system->name);
    for (size_t i = 0; order == 0 && i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        order = (numbers[i][0] > numbers[i][1]) - (numbers[i][0] < numbers[i][1]);
    }
    for (size_t i = 0; order == 0 && i < sizeof(columns) / sizeof(columns[0]); i++) {
        order = strcmp(rk_run_cell(a->table, a->row, columns[i]),
                       rk_run_cell(b->table, b->row, columns[i]));
    }
    return order;
}

static int compare_job_pointers(const void *a, const void *b)
{
    return compare_jobs(*(const rk_compared *const *)a, *(const rk_compared *const *)b);
}

/* Whether a run would be recommended: at the usual risk; or as what fits, if none is. */
static int rank_of(const rk_compared *row)
{
    return !row->fits ? 2 : row->risk > RK_RISK_USUAL ? 1 : 0;
}

/* Whether a is predicted to be the better choice; of equals the one that turned out slower. */
static bool chosen_before(const rk_compared *a, const rk_compared *b)
{
    if (rank_of(a) != rank_of(b)) {
        return rank_of(a) < rank_of(b);
    }
    if (fabs(a->step - b->step) > 1e-9 * b->step) {
        return a->step < b->step;
    }
    return a->out_of_memory > b->out_of_memory ||
           (a->out_of_memory == b->out_of_memory && a->step_measured > b->step_measured);
}

/* Adds one job, the rows of [0, count); regrets[] gets its regret. */
static void add_job(const rk_compared *const *rows, size_t count, double *regrets, rk_regret *out)
{
    assert(count > 0);
    const rk_compared *chosen = rows[0], *best = NULL;
    bool varied = false;
    size_t ran = 0;
    for (size_t i = 0; i < count; i++) {
        chosen = chosen_before(rows[i], chosen) ? rows[i] : chosen;
        varied |= fabs(rows[i]->step - rows[0]->step) > 1e-9 * rows[0]->step;
        if (!rows[i]->out_of_memory) {
            ran++;
            best = best && best->step_measured <= rows[i]->step_measured ? best : rows[i];
        }
    }
    if (ran < 2 || !varied) {
        return;
    }
    if (chosen->out_of_memory) {
        out->failed++;
    } else {
        regrets[out->groups - out->failed] = chosen->step_measured / best->step_measured - 1;
        out->best += chosen == best;
    }
    out->groups++;
}

static rk_status score_regret(const rk_compared **rows, size_t count, rk_regret *out, rk_error *err)
{
    const rk_compared **list = malloc((count + 1) * sizeof(*list));
    double *regrets = malloc((count + 1) * sizeof(*regrets));
    size_t kept = 0;
    *out = (rk_regret){.groups = 0};
    for (size_t i = 0; list && i < count; i++) {
        if (rk_compared_has_time(rows[i]) ||
            (rows[i]->selected && rows[i]->predicted && rows[i]->out_of_memory)) {
            list[kept++] = rows[i];
        }
    }
    rk_status status = RK_OK;
    if (list && regrets) {
        qsort(list, kept, sizeof(*list), compare_job_pointers);
        for (size_t i = 0, end; i < kept; i = end) {
            for (end = i + 1; end < kept && compare_jobs(list[i], list[end]) == 0; end++) {
            }
            add_job(list + i, end - i, regrets, out);
        }
        const size_t ran = out->groups - out->failed;
        for (size_t i = 0; i < ran; i++) {
            out->mean += regrets[i] / (double)ran;
        }
        rk_sort_numbers(regrets, ran);
        out->median = rk_median(regrets, ran);
        out->p90 = rk_percentile(regrets, ran, 0.9);
        out->worst = ran ? regrets[ran - 1] : (double)NAN;
    } else {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the groups of runs");
    }
    free(list);
    free(regrets);
    return status;
}

/* ---- intervals ----------------------------------------------------------------------------- */

/* Shares of the runs with an interval, and means over them. */
static void score_intervals(const rk_compared **rows, size_t count, rk_score *out)
{
    double inside = 0, width = 0;
    for (size_t i = 0; i < count; i++) {
        const rk_compared *row = rows[i];
        if (rk_compared_has_time(row) && row->low > 0) {
            out->intervals++;
            inside += row->step_measured >= row->low && row->step_measured <= row->high;
            width += row->high / row->low - 1;
        }
    }
    out->interval_coverage = out->intervals ? inside / (double)out->intervals : (double)NAN;
    out->interval_width = out->intervals ? width / (double)out->intervals : (double)NAN;
}

/* ---- scores -------------------------------------------------------------------------------- */

rk_status rk_score_rows(const rk_compared **rows, size_t count, rk_score *score,
                        rk_risk_score *risk, rk_error *err)
{
    *score = (rk_score){.group = NULL};
    for (size_t i = 0; i < count; i++) {
        add_verdict(rows[i], &score->out_of_memory);
    }
    score_intervals(rows, count, score);
    rk_status status = rk_score_risk(rows, count, risk, err);
    status = status ? status : score_errors(rows, count, score, err);
    return status ? status : score_regret(rows, count, &score->first_choice, err);
}

/* ---- groups -------------------------------------------------------------------------------- */

/* Writes the label of a row in the dimensions, and its places in their order. */
static void label_row(const rk_compared *row, const rk_dimension *dimensions, size_t count,
                      rk_score_group *out)
{
    assert(count <= 2);
    char label[RK_LABEL_TEXT];
    *out = (rk_score_group){.count = 0};
    (void)snprintf(out->label, sizeof(out->label), "%s", count ? "" : "all");
    for (size_t i = 0; i < count && i < 2; i++) {
        const size_t length = strlen(out->label);
        out->order[i] = rk_compared_label(row, dimensions[i], label);
        (void)snprintf(out->label + length, sizeof(out->label) - length, "%s%s", length ? ", " : "",
                       label);
    }
}

static int compare_groups(const void *a, const void *b)
{
    const rk_score_group *g = a, *h = b;
    const int first = (g->order[0] > h->order[0]) - (g->order[0] < h->order[0]);
    const int second = (g->order[1] > h->order[1]) - (g->order[1] < h->order[1]);
    const bool banded = g->order[0] > 0 || h->order[0] > 0;
    const int label = strcmp(g->label, h->label);
    return first ? first : banded && second ? second : label;
}

static rk_status find_groups(const rk_comparison *comparison, const rk_dimension *dimensions,
                             size_t dimension_count, size_t *group_of, rk_grouping *out,
                             rk_error *err)
{
    assert(dimension_count <= 2);
    size_t room = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        const rk_compared *row = &comparison->rows[i];
        rk_score_group group;
        size_t g = 0;
        group_of[i] = SIZE_MAX;
        if (!row->selected || !row->predicted) {
            continue;
        }
        label_row(row, dimensions, dimension_count, &group);
        while (g < out->count && strcmp(out->groups[g].label, group.label) != 0) {
            g++;
        }
        if (g == room) {
            room = 2 * room + 16;
            rk_score_group *more = realloc(out->groups, room * sizeof(*more));
            if (!more) {
                return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the groups");
            }
            out->groups = more;
        }
        if (g == out->count) {
            out->groups[out->count++] = group;
        }
        out->groups[g].count++;
        group_of[i] = g;
    }
    return RK_OK;
}

/* Gives every group its part of the list of rows. */
static void fill_groups(const rk_comparison *comparison, const size_t *group_of, rk_grouping *out)
{
    const rk_compared **next = out->rows;
    for (size_t g = 0; g < out->count; g++) {
        out->groups[g].rows = next;
        next += out->groups[g].count;
        out->groups[g].count = 0;
    }
    for (size_t i = 0; i < comparison->count; i++) {
        if (group_of[i] != SIZE_MAX) {
            rk_score_group *group = &out->groups[group_of[i]];
            group->rows[group->count++] = &comparison->rows[i];
        }
    }
}

rk_status rk_score_groups(const rk_comparison *comparison, const rk_dimension *dimensions,
                          size_t dimension_count, rk_grouping *out, rk_error *err)
{
    size_t *group_of = malloc((comparison->count + 1) * sizeof(*group_of));
    *out = (rk_grouping){.rows = malloc((comparison->count + 1) * sizeof(*out->rows))};
    rk_status status =
        group_of && out->rows
            ? find_groups(comparison, dimensions, dimension_count, group_of, out, err)
            : rk_fail(err, RK_ERR_MEMORY, "not enough memory for the groups");
    if (!status) {
        fill_groups(comparison, group_of, out);
        if (out->count > 0) {
            qsort(out->groups, out->count, sizeof(*out->groups), compare_groups);
        }
        for (size_t g = 0; !status && g < out->count; g++) {
            rk_score_group *group = &out->groups[g];
            status = rk_score_rows(group->rows, group->count, &group->score, &group->risk, err);
            group->score.group = group->label;
        }
    }
    free(group_of);
    if (status) {
        rk_grouping_clear(out);
    }
    return status;
}

void rk_grouping_clear(rk_grouping *grouping)
{
    free(grouping->groups);
    free(grouping->rows);
    *grouping = (rk_grouping){.groups = NULL};
}
