/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far fitted constants can be trusted.
 *
 * Leaving out one group of rows after the other and fitting again (jackknife over groups) tells
 * how much a constant depends on which models or machines happened to be measured,
 *
 *     deviation^2 = (g - 1) / g * sum over groups (value without - mean value)^2,
 *
 * and how large the error is of a group that nothing was fitted to.  The curvature of the loss
 * tells how well a constant is determined at all: with J = d error / d constant of a row and the
 * weights of the loss at the optimum,
 *
 *     H = sum weight J J',   width_k = sqrt(2 * 1% of the loss * (H^-1)_kk),
 *
 * the others adapting, and how much a single row moves it: H^-1 weight error J.
 */
#include "evidence/calibrate.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/list.h"
#include "evidence/calibrate_search.h"
#include "work/parallel.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONSTANTS = RK_RECIPE_CONSTANTS };

/* ---- leaving out groups
 * -------------------------------------------------------------------------- */

typedef struct refits {
    rk_calibration *c;
    rk_fit_setup *benches; /* one for each thread */
    rk_status *statuses;   /* of groups */
    rk_error *errors;
} refits;

static void refit(void *context, int worker, uint64_t unit, rk_parallel *shared)
{
    refits *r = context;
    rk_fit_setup *bench = &r->benches[worker];
    rk_group_left_out *left = &r->c->groups[unit];
    rk_error *err = &r->errors[unit];
    (void)shared;
    for (int i = 0; i < r->c->recipe->constant_count; i++) {
        left->values[i] = r->c->constants[i].figures.value;
    }
    rk_status status = rk_search(bench, (int)left->group, 0, 0, left->values, err);
    if (!status) {
        status = rk_fit_setup_set(bench, left->values, err);
    }
    if (!status) {
        status =
            rk_errors_summarise(bench, (int)left->group, false, &left->errors.by_the_others, err);
    }
    for (size_t i = 0; !status && i < r->c->rows.count; i++) {
        const rk_observation *row = &r->c->rows.rows[i];
        if (!row->held && row->group == (int)left->group) {
            r->c->by_others[i] = expm1(rk_fit_setup_error(bench, row));
        }
    }
    r->statuses[unit] = status;
}

static void set_deviations(rk_calibration *c)
{
    const double g = (double)c->group_count;
    for (int i = 0; i < c->recipe->constant_count; i++) {
        double mean = 0, square = 0;
        for (size_t j = 0; j < c->group_count; j++) {
            mean += c->groups[j].values[i] / g;
        }
        for (size_t j = 0; j < c->group_count; j++) {
            const double away = c->groups[j].values[i] - mean;
            square += away * away;
        }
        /* smaller than the search resolves: held by a bound */
        const double range = c->recipe->constants[i].max - c->recipe->constants[i].min;
        const double deviation = sqrt((g - 1) / g * square);
        c->constants[i].figures.deviation = deviation > 1e-9 * range ? deviation : 0;
    }
}

/* Errors of all groups by constants from the others. */
static rk_status set_without(rk_calibration *c, rk_error *err)
{
    rk_error_summary *out = &c->facts.by_the_others;
    double *each = calloc(c->rows.count, sizeof(*each));
    size_t count = 0;
    if (!each) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the errors");
    }
    for (size_t i = 0; i < c->rows.count; i++) {
        if (!c->rows.rows[i].held) {
            const double error = c->by_others[i];
            out->bias += error;
            out->rms += error * error;
            out->mean += fabs(error);
            each[count++] = fabs(error);
        }
    }
    const double n = (double)count;
    qsort(each, count, sizeof(*each), rk_compare_doubles);
    out->rows = count;
    out->bias /= n;
    out->mean /= n;
    out->rms = sqrt(out->rms / n);
    out->median = each[count / 2];
    out->p90 = each[(9 * count + 9) / 10 - 1];
    free(each);
    return RK_OK;
}

static rk_status run_refits(refits *r, int threads, rk_error *err)
{
    rk_status status = RK_OK;
    int opened = 0;
    while (!status && opened < threads) {
        status = rk_fit_setup_copy(&r->c->bench, &r->benches[opened], err);
        opened += !status;
    }
    if (!status) {
        status = rk_parallel_run(threads, r->c->group_count, refit, r, NULL, NULL, err);
    }
    for (size_t i = 0; !status && i < r->c->group_count; i++) {
        status = r->statuses[i];
        if (status && err) {
            *err = r->errors[i];
        }
    }
    for (int i = 0; i < opened; i++) {
        rk_fit_setup_clear(&r->benches[i]);
    }
    return status;
}

/* The groups that have rows to fit, with their errors before and after. */
static rk_status list_groups(rk_calibration *c, rk_error *err)
{
    double start[CONSTANTS], values[CONSTANTS];
    c->groups = calloc(c->rows.group_count, sizeof(*c->groups));
    if (!c->groups) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for the groups");
    }
    for (int i = 0; i < c->recipe->constant_count; i++) {
        start[i] = c->constants[i].figures.start;
        values[i] = c->constants[i].figures.value;
    }
    rk_status status = rk_fit_setup_set(&c->bench, start, err);
    for (size_t i = 0; !status && i < c->rows.group_count; i++) {
        if (c->rows.groups[i].rows > 0) {
            rk_group_left_out *left = &c->groups[c->group_count++];
            left->group = i;
            left->errors.group = c->rows.groups[i].name;
            status = rk_errors_summarise(&c->bench, (int)i, false, &left->errors.start, err);
        }
    }
    c->facts.groups = (int64_t)c->group_count;
    status = status ? status : rk_fit_setup_set(&c->bench, values, err);
    for (size_t i = 0; !status && i < c->group_count; i++) {
        rk_group_left_out *left = &c->groups[i];
        status = rk_errors_summarise(&c->bench, (int)left->group, false, &left->errors.fitted, err);
    }
    return status;
}

static rk_status leave_out_groups(rk_calibration *c, int threads, rk_error *err)
{
    threads = threads > 0 ? threads : rk_core_count();
    threads = threads < (int)c->group_count ? threads : (int)c->group_count;
    refits r = {
        .c = c,
        .benches = calloc((size_t)threads, sizeof(*r.benches)),
        .statuses = calloc(c->group_count, sizeof(*r.statuses)),
        .errors = calloc(c->group_count, sizeof(*r.errors)),
    };
    c->by_others = calloc(c->rows.count, sizeof(*c->by_others));
    rk_status status = r.benches && r.statuses && r.errors && c->by_others
                           ? run_refits(&r, threads, err)
                           : rk_fail(err, RK_ERR_MEMORY, "not enough memory for the refits");
    if (!status) {
        c->refitted = true;
        set_deviations(c);
        status = set_without(c, err);
    }
    free(r.benches);
    free(r.statuses);
    free(r.errors);
    return status;
}

/* ---- curvature
 * ------------------------------------------------------------------------------------ */

typedef struct curvature {
    double *slopes; /* owned; J of each row, by shares of the range of a constant */
    double *errors; /* owned */
    double inverse[CONSTANTS][CONSTANTS];
    double weights; /* sum of all */
} curvature;

/* Central differences, one-sided at a bound. */
static rk_status set_slopes(rk_calibration *c, curvature *v, rk_error *err)
{
    static const double step = 0.01;
    const int count = c->recipe->constant_count;
    double values[CONSTANTS];
    rk_status status = RK_OK;
    for (int i = 0; i < count; i++) {
        values[i] = c->constants[i].figures.value;
    }
    for (int i = 0; !status && i < count; i++) {
        const rk_constant *constant = &c->recipe->constants[i];
        const double at = rk_constant_share(constant, c->constants[i].figures.value);
        const double low = rk_max(at - step, 0), high = rk_min(at + step, 1);
        for (int side = 0; !status && side < 2; side++) {
            values[i] = rk_constant_value(constant, side ? high : low);
            status = rk_fit_setup_set(&c->bench, values, err);
            for (size_t j = 0; !status && j < c->rows.count; j++) {
                const double error = rk_fit_setup_error(&c->bench, &c->rows.rows[j]);
                v->slopes[j * (size_t)count + (size_t)i] += (side ? error : -error) / (high - low);
            }
        }
        values[i] = c->constants[i].figures.value;
    }
    return status ? status : rk_fit_setup_set(&c->bench, values, err);
}

/* Inverts a symmetric positive matrix in place by Gauss and Jordan; the ridge keeps it so. */
static void invert(double m[CONSTANTS][CONSTANTS], int count)
{
    assert(count >= 1 && count <= CONSTANTS);
    for (int p = 0; p < count; p++) {
        const double pivot = 1 / m[p][p];
        m[p][p] = 1;
        for (int j = 0; j < count; j++) {
            m[p][j] *= pivot;
        }
        for (int i = 0; i < count; i++) {
            const double factor = m[i][p];
            if (i == p) {
                continue;
            }
            m[i][p] = 0;
            for (int j = 0; j < count; j++) {
                m[i][j] -= factor * m[p][j];
            }
        }
    }
}

static void set_inverse(const rk_calibration *c, curvature *v)
{
    const int count = c->recipe->constant_count;
    memset(v->inverse, 0, sizeof(v->inverse));
    v->weights = 0;
    for (size_t j = 0; j < c->rows.count; j++) {
        const rk_observation *row = &c->rows.rows[j];
        v->errors[j] = rk_fit_setup_error(&c->bench, row);
        if (row->held) {
            continue;
        }
        const double weight = row->weight * rk_loss_weight(c->recipe, v->errors[j]);
        const double *slope = v->slopes + j * (size_t)count;
        for (int a = 0; a < count; a++) {
            for (int b = 0; b < count; b++) {
                v->inverse[a][b] += weight * slope[a] * slope[b];
            }
        }
        v->weights += row->weight;
    }
    double largest = 0;
    for (int a = 0; a < count; a++) {
        largest = rk_max(largest, v->inverse[a][a]);
    }
    for (int a = 0; a < count; a++) {
        v->inverse[a][a] += 1e-9 * largest + 1e-12;
    }
    invert(v->inverse, count);
}

/* A change of a constant at its value, from shares of its range to its unit. */
static double in_unit(const rk_constant *constant, double value, double share)
{
    return constant->logarithmic ? value * log(constant->max / constant->min) * share
                                 : (constant->max - constant->min) * share;
}

/* Keeps the rows that move a constant most, sorted by influence. */
static void keep_deciding(rk_constant_fit *constant, size_t row, double move)
{
    assert(constant->deciding_count >= 0 && constant->deciding_count <= RK_DECIDING_ROWS);
    int at = constant->deciding_count;
    while (at > 0 && fabs(constant->moves[at - 1]) < fabs(move)) {
        at--;
    }
    if (at == RK_DECIDING_ROWS) {
        return;
    }
    const int last = constant->deciding_count < RK_DECIDING_ROWS ? constant->deciding_count
                                                                 : RK_DECIDING_ROWS - 1;
    for (int i = last; i > at; i--) {
        constant->deciding[i] = constant->deciding[i - 1];
        constant->moves[i] = constant->moves[i - 1];
    }
    constant->deciding[at] = row;
    constant->moves[at] = move;
    constant->deciding_count = last + 1;
}

static void set_widths(rk_calibration *c, const curvature *v)
{
    const int count = c->recipe->constant_count;
    for (int i = 0; i < count; i++) {
        const rk_constant *constant = &c->recipe->constants[i];
        rk_constant_fit *fitted = &c->constants[i];
        const double width = sqrt(2 * 0.01 * c->facts.loss * v->weights * v->inverse[i][i]);
        fitted->figures.width = in_unit(constant, fitted->figures.value, rk_min(width, 1));
        for (size_t j = 0; j < c->rows.count; j++) {
            const rk_observation *row = &c->rows.rows[j];
            const double *slope = v->slopes + j * (size_t)count;
            double move = 0;
            if (row->held) {
                continue;
            }
            for (int b = 0; b < count; b++) {
                move += v->inverse[i][b] * slope[b];
            }
            move *= row->weight * rk_loss_weight(c->recipe, v->errors[j]) * v->errors[j];
            keep_deciding(fitted, j, in_unit(constant, fitted->figures.value, move));
        }
    }
}

/* Loss with one constant at each of its bounds. */
static rk_status set_importance(rk_calibration *c, rk_error *err)
{
    double values[CONSTANTS];
    rk_status status = RK_OK;
    for (int i = 0; i < c->recipe->constant_count; i++) {
        values[i] = c->constants[i].figures.value;
    }
    for (int i = 0; !status && i < c->recipe->constant_count; i++) {
        const rk_constant *constant = &c->recipe->constants[i];
        rk_constant_fit *fitted = &c->constants[i];
        const double slack = 1e-3;
        const double share = rk_constant_share(constant, fitted->figures.value);
        for (int side = 0; !status && side < 2; side++) {
            values[i] = side ? constant->max : constant->min;
            status = rk_fit_setup_set(&c->bench, values, err);
            const double loss = status ? 0 : rk_fit_setup_loss(&c->bench, -1);
            fitted->figures.importance =
                rk_max(fitted->figures.importance, loss / rk_max(c->facts.loss, 1e-12) - 1);
        }
        fitted->figures.at_bound = share < slack || share > 1 - slack;
        fitted->figures.idle = fitted->figures.importance < 0.01;
        values[i] = fitted->figures.value;
    }
    return status ? status : rk_fit_setup_set(&c->bench, values, err);
}

rk_status rk_calibration_judge(rk_calibration *calibration, const rk_calibration_choice *choice,
                               rk_error *err)
{
    rk_calibration *c = calibration;
    const size_t slopes = c->rows.count * (size_t)c->recipe->constant_count;
    rk_status status = list_groups(c, err);
    if (status || slopes == 0) {
        return status;
    }
    if (!status && !choice->quick && c->group_count > 1) {
        status = leave_out_groups(c, (int)choice->threads, err);
    }
    curvature v = {
        .slopes = calloc(slopes, sizeof(*v.slopes)),
        .errors = calloc(c->rows.count, sizeof(*v.errors)),
    };
    if (!status && (!v.slopes || !v.errors)) {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for the slopes");
    }
    if (!status) {
        status = set_slopes(c, &v, err);
    }
    if (!status) {
        set_inverse(c, &v);
        set_widths(c, &v);
        status = set_importance(c, err);
    }
    free(v.slopes);
    free(v.errors);
    return status;
}
