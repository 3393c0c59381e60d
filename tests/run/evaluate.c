/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evaluates closed forms of lib/run for the comparison with a second implementation (second.py).
 * Standard input has one case per line: a name and numbers, in the order of the arguments or
 * members named in the table below.  Standard output has the results of each case, or "refused".
 */
#include "base/units.h"
#include "method/rules_of_thumb.h"
#include "run/checkpoint.h"
#include "run/price_list.h"
#include "run/reliability.h"
#include "run/scaling_law.h"
#include "run/stragglers.h"
#include "run/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS_MAX  32
#define OUTPUTS_MAX 32

/* ---- checkpoints --------------------------------------------------------------------------- */

/* cost, mtbf, interval, restart */
static int intervals(const double *in, double *out)
{
    out[0] = rk_checkpoint_young(in[0], in[1]);
    out[1] = rk_checkpoint_daly(in[0], in[1]);
    out[2] = rk_failure_slowdown(in[2], in[0], in[3], in[1]);
    out[3] = rk_effective_share(in[2], in[0], in[3], in[1]);
    return 4;
}

static rk_checkpoint_levels levels_of(const double *in)
{
    return (rk_checkpoint_levels){
        .mtbf_s = in[0],
        .near_share = in[1],
        .near_cost_s = in[2],
        .far_cost_s = in[3],
        .near_restart_s = in[4],
        .far_restart_s = in[5],
        .interval_s = in[6],
        .far_every = in[7],
    };
}

/* The members of rk_checkpoint_levels. */
static int levels(const double *in, double *out)
{
    const rk_checkpoint_levels l = levels_of(in);
    out[0] = rk_checkpoint_levels_slowdown(&l);
    return 1;
}

/* The same, and the least interval and the most copies. */
static int best_levels(const double *in, double *out)
{
    rk_checkpoint_levels l = levels_of(in);
    rk_checkpoint_levels_best(&l, in[8], in[9]);
    out[0] = l.interval_s;
    out[1] = l.far_every;
    out[2] = rk_checkpoint_levels_slowdown(&l);
    return 3;
}

/* ---- a run --------------------------------------------------------------------------------- */

/* The members of rk_training. */
static int training(const double *in, double *out)
{
    rk_training t;
    rk_training_result r;
    rk_error err;
    memcpy(&t, in, sizeof(t));
    if (rk_training_run(&t, &r, &err)) {
        return 0;
    }
    memcpy(out, &r, sizeof(r));
    return (int)(sizeof(r) / sizeof(double));
}

_Static_assert(sizeof(rk_training) <= INPUTS_MAX * sizeof(double), "room for a run");
_Static_assert(sizeof(rk_training_result) <= OUTPUTS_MAX * sizeof(double), "room for a result");

/* ---- interruptions, stragglers ------------------------------------------------------------- */

/* mean, spread, share, count */
static int counts(const double *in, double *out)
{
    out[0] = rk_poisson_at_most(in[3], in[0]);
    out[1] = rk_interruptions_quantile(in[0], in[1], in[2]);
    out[2] = rk_normal_quantile(in[2]);
    return 3;
}

/* nodes, rate, repair, confidence */
static int spares(const double *in, double *out)
{
    out[0] = rk_spares_needed(in[0], in[1], in[2], in[3]);
    return 1;
}

/* workers, noise, barriers, share of slow devices, by how much */
static int stragglers(const double *in, double *out)
{
    out[0] = rk_straggler_kappa(in[0]);
    out[1] = rk_straggler_barriers(in[0], in[1], in[2]);
    out[2] = rk_straggler_persistent(in[0], in[3], in[4]);
    return 3;
}

/* ---- laws, prices -------------------------------------------------------------------------- */

/* form, floor, A, a, B, b, parameters, tokens, loss */
static int loss(const double *in, double *out)
{
    const rk_loss_law law = {
        .form = in[0] > 0 ? RK_LOSS_JOINT : RK_LOSS_SUM,
        .floor = in[1],
        .parameters = {in[2], in[3]},
        .tokens = {in[4], in[5]},
    };
    rk_error err;
    out[0] = rk_loss_of(&law, in[6], in[7]);
    out[1] = -1;
    (void)rk_loss_tokens(&law, in[6], in[8], &out[1], &err);
    return 2;
}

/* by loss, coefficient, exponent, unit, tokens, loss, batch, reference */
static int batch(const double *in, double *out)
{
    const rk_batch_law law = {.by_loss = in[0] > 0, .term = {in[1], in[2]}, .unit_tokens = in[3]};
    out[0] = rk_batch_critical(&law, in[4], in[5]);
    out[1] = rk_batch_tokens_factor(in[6], in[7], out[0]);
    return 2;
}

/* price, life; tokens, parameters, accelerators, rate, recompute */
static int money(const double *in, double *out)
{
    out[0] = rk_price_of_purchase(in[0], in[1]);
    out[1] = rk_training_rule_s(in[2], in[3], in[4], in[5], in[6] > 0);
    return 2;
}

/* ---- all of them --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*evaluate)(const double *in, double *out); /* returns the number of results */
} kinds[] = {
    {"intervals", intervals},   {"levels", levels}, {"best_levels", best_levels},
    {"training", training},     {"counts", counts}, {"spares", spares},
    {"stragglers", stragglers}, {"loss", loss},     {"batch", batch},
    {"money", money},
};

static int evaluate(char *line)
{
    double in[INPUTS_MAX] = {0}, out[OUTPUTS_MAX];
    char *at = strchr(line, ' ');
    if (!at) {
        return 1;
    }
    *at++ = '\0';
    for (int i = 0; i < INPUTS_MAX && *at; i++) {
        in[i] = strtod(at, &at);
    }
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (strcmp(kinds[i].name, line) == 0) {
            const int count = kinds[i].evaluate(in, out);
            for (int j = 0; j < count; j++) {
                (void)printf("%s%.17g", j ? " " : "", out[j]);
            }
            (void)puts(count ? "" : "refused");
            return 0;
        }
    }
    return 1;
}

int main(void)
{
    char line[4096];
    while (fgets(line, sizeof(line), stdin)) {
        if (evaluate(line)) {
            (void)fprintf(stderr, "no such case: %s\n", line);
            return 1;
        }
    }
    return 0;
}
