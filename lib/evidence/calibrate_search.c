/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subplex (Rowan 1990, in NLopt) from several starts: the loss has kinks where a kernel switches
 * tiles, so no derivatives.  A ridge keeps constants at their start where the loss is flat; a
 * recipe may strengthen it, so that the start of a constant acts as prior knowledge.
 */
#include "evidence/calibrate_search.h"

#include "base/error.h"
#include "base/extremes.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- constants ------------------------------------------------------------------------------ */

double rk_constant_share(const rk_constant *constant, double value)
{
    return constant->logarithmic ? log(value / constant->min) / log(constant->max / constant->min)
                                 : (value - constant->min) / (constant->max - constant->min);
}

double rk_constant_value(const rk_constant *constant, double share)
{
    return constant->logarithmic ? constant->min * pow(constant->max / constant->min, share)
                                 : constant->min + share * (constant->max - constant->min);
}

double rk_constant_rounded(const rk_constant *constant, double value)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%.3g", value);
    return rk_min(rk_max(strtod(text, NULL), constant->min), constant->max);
}

/* ---- loss ----------------------------------------------------------------------------------- */

double rk_fit_setup_loss(const rk_fit_setup *bench, int without)
{
    double sum = 0, weights = 0;
    for (size_t i = 0; i < bench->rows->count; i++) {
        const rk_observation *row = &bench->rows->rows[i];
        if (!row->held && row->group != without) {
            sum += row->weight * rk_loss_cost(bench->recipe, rk_fit_setup_error(bench, row));
            weights += row->weight;
        }
    }
    return weights > 0 ? sum / weights : 0;
}

#if RK_HAVE_NLOPT

#include "evidence/nlopt_library.h"

typedef struct task {
    const rk_nlopt *nlopt;
    rk_fit_setup *bench;
    int without;
    rk_status status;
    rk_error *err;
} task;

static double loss_at(unsigned count, const double *shares, double *gradient, void *data)
{
    assert(count == (unsigned)((const task *)data)->bench->recipe->constant_count);
    task *t = data;
    const rk_recipe *recipe = t->bench->recipe;
    double values[RK_RECIPE_CONSTANTS], away = 0;
    (void)gradient;
    for (unsigned i = 0; i < count; i++) {
        const rk_constant *constant = &recipe->constants[i];
        values[i] = rk_constant_value(constant, shares[i]);
        const double step = shares[i] - rk_constant_share(constant, constant->start);
        away += step * step;
    }
    if (!t->status) {
        t->status = rk_fit_setup_set(t->bench, values, t->err);
    }
    return t->status ? HUGE_VAL : rk_fit_setup_loss(t->bench, t->without) + recipe->ridge * away;
}

/* One descent from `shares`, which receive its end point. Returns the loss there. */
static double descend(task *t, unsigned count, double step, int evaluations, double *shares)
{
    const rk_nlopt *nlopt = t->nlopt;
    double least = HUGE_VAL;
    nlopt_opt optimizer = nlopt->create(NLOPT_LN_SBPLX, count);
    if (!optimizer) {
        t->status = rk_fail(t->err, RK_ERR_MEMORY, "not enough memory for the optimizer");
        return least;
    }
    nlopt_result result = nlopt->set_min_objective(optimizer, loss_at, t);
    result = result < 0 ? result : nlopt->set_lower_bounds1(optimizer, 0);
    result = result < 0 ? result : nlopt->set_upper_bounds1(optimizer, 1);
    result = result < 0 ? result : nlopt->set_initial_step1(optimizer, step);
    result = result < 0 ? result : nlopt->set_xtol_abs1(optimizer, 1e-4);
    result = result < 0 ? result : nlopt->set_maxeval(optimizer, evaluations);
    result = result < 0 ? result : nlopt->optimize(optimizer, shares, &least);
    if (result < 0 && !t->status) {
        t->status = result == NLOPT_OUT_OF_MEMORY
                        ? rk_fail(t->err, RK_ERR_MEMORY, "not enough memory for the optimizer")
                        : rk_fail(t->err, RK_ERR_INVALID,
                                  "the optimizer could not leave its starting point");
    }
    nlopt->destroy(optimizer);
    return least;
}

/* SplitMix64 (Steele, Lea, Flood 2014); a number from 0 to below 1. */
static double draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

rk_status rk_search(rk_fit_setup *bench, int without, int64_t starts, uint64_t seed, double *values,
                    rk_error *err)
{
    const rk_recipe *recipe = bench->recipe;
    const unsigned count = (unsigned)recipe->constant_count;
    double best[RK_RECIPE_CONSTANTS], shares[RK_RECIPE_CONSTANTS], least = HUGE_VAL;
    rk_nlopt nlopt;
    task t = {.nlopt = &nlopt, .bench = bench, .without = without, .err = err};
    if (count == 0) {
        return RK_OK; /* the documents as they are */
    }
    t.status = rk_nlopt_library_open(&nlopt, err);
    for (int64_t start = 0; start <= starts && !t.status; start++) {
        for (unsigned i = 0; i < count; i++) {
            const double given = rk_constant_share(&recipe->constants[i], values[i]);
            shares[i] = start == 0 ? rk_min(rk_max(given, 0), 1) : draw(&seed);
        }
        const int evaluations = (int)count * (starts > 0 ? 150 : 60);
        const double loss = descend(&t, count, starts > 0 ? 0.1 : 0.03, evaluations, shares);
        for (unsigned i = 0; i < count && loss < least; i++) {
            best[i] = shares[i];
        }
        least = rk_min(least, loss);
    }
    for (unsigned i = 0; i < count && !t.status; i++) {
        values[i] = rk_constant_value(&recipe->constants[i], best[i]);
    }
    return t.status;
}

#else

rk_status rk_search(rk_fit_setup *bench, int without, int64_t starts, uint64_t seed, double *values,
                    rk_error *err)
{
    (void)bench;
    (void)without;
    (void)starts;
    (void)seed;
    (void)values;
    return rk_fail(err, RK_ERR_INVALID,
                   "this reckon was built without NLopt: install libnlopt-dev and build again");
}

#endif
