/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the clusters of a system that meet a deadline, and the smallest one. */
#include "whole_run/clusters.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/units.h"
#include "request/derived_sizes.h"
#include "request/strategy_choices.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_MFU   0.4  /* where the first guess starts */
#define USUAL_DAYS  30.0 /* the same, without a deadline */
#define CHOICE_RUNS 200  /* simulated runs per cluster */

/* Resolution of the smallest cluster: one part in this many, or one domain. */
#define GROWTH_STEPS 32

/* A candidate system, and what the run needs from it. */
struct site {
    const rk_system_choice *offered;
    rk_run_question question; /* with this system */
    rk_inputs inputs;         /* its searches keep times for those of all clusters */
    double tokens, seq;
    int64_t domain, most; /* accelerators of the innermost tier, and all that may be used */
};

/* ---- one cluster --------------------------------------------------------------------------- */

static void fill_cluster(const rk_clusters *c, const rk_whole_run *run, rk_cluster *out)
{
    const rk_answer *answer = rk_plan_best(&run->plan);
    const rk_training *t = &run->training;
    const rk_training_result *r = &run->result;
    (void)snprintf(out->accelerator, sizeof(out->accelerator), "%s",
                   run->inputs->system.accelerator.name);
    out->strategy = answer->strategy;
    out->accelerators = t->accelerators;
    out->step = t->step;
    out->days = r->total / DAY;
    out->late_days = run->simulated.total_s.p90 / DAY;
    out->hours = r->accelerator_hours;
    out->cost = r->cost;
    out->power = (t->accelerators + t->spares) * run->peak_power * t->pue;
    out->meets = out->days <= c->deadline && out->power <= c->max_power &&
                 (!(c->question->budget > 0) || out->cost <= c->question->budget);
}

/* The arguments for this many accelerators, with the given or usual batch. */
static rk_status args_of(const struct site *site, int64_t accelerators, rk_run_question *question,
                         rk_error *err)
{
    assert(accelerators >= 1);
    *question = site->question;
    question->request.accelerators = accelerators;
    if (question->request.global_batch == 0) {
        rk_request_assume_batch(&question->request, site->inputs.model.seq);
    }
    return rk_run_check_tokens(question, &site->inputs.model, err);
}

/* Whether filling a run failed because the run itself does not advance. */
static bool is_stuck(const rk_whole_run *run)
{
    return run->result.steps > 0 && !(run->result.total > 0);
}

/* The strategy that is known to be the fastest, or the one that a search finds. */
static rk_status find_strategy(rk_control *control, rk_whole_run *run, const rk_strategy *known,
                               rk_error *err)
{
    if (!known) {
        return rk_plan_find(control, &run->question->request, run->inputs, &run->plan, err);
    }
    const rk_setting setting = rk_setting_of(run->inputs);
    return rk_plan_predict_one(&setting, known, &run->plan, err);
}

/* A run on a cluster: too large for the stack of a thread. */
struct cluster_run {
    rk_run_question question;
    rk_inputs inputs;
    rk_whole_run run;
};

static rk_status add_run(rk_control *control, rk_clusters *c, const struct site *site,
                         int64_t accelerators, const rk_strategy *known, struct cluster_run *all,
                         rk_error *err)
{
    rk_whole_run *run = &all->run;
    *run = (rk_whole_run){.question = &all->question, .inputs = &all->inputs};
    rk_status status = args_of(site, accelerators, &all->question, err);
    if (status) {
        return status;
    }
    all->question.asked.simulated_runs = all->question.asked.simulated_runs < CHOICE_RUNS
                                             ? all->question.asked.simulated_runs
                                             : CHOICE_RUNS;
    status = rk_request_load(&all->question.request, &all->inputs, err);
    all->inputs.store = site->inputs.store;
    const rk_status found = status ? status : find_strategy(control, run, known, err);
    if (found == RK_ERR_STOPPED || found == RK_ERR_MEMORY) {
        status = found;
    } else if (!found && rk_plan_best(&run->plan) && c->count < RK_CLUSTER_ROWS &&
               rk_plan_best(&run->plan)->estimate.fits) {
        status = rk_whole_run_fill(run, err);
        rk_cluster *out = &c->clusters[c->count];
        *out = (rk_cluster){.system = site->offered->name};
        if (!status) {
            fill_cluster(c, run, out);
            c->count++;
        } else if (is_stuck(run)) {
            c->stuck = *err; /* others may be small enough */
            status = RK_OK;
        }
    }
    rk_plan_clear(&run->plan);
    rk_inputs_clear(&all->inputs);
    return status;
}

/*
 * Adds a cluster of this many accelerators, if some strategy fits and the run advances there; its
 * fastest strategy may be known (NULL: it is not).
 */
static rk_status add_cluster(rk_control *control, rk_clusters *c, const struct site *site,
                             int64_t accelerators, const rk_strategy *known, rk_error *err)
{
    struct cluster_run *all = malloc(sizeof(*all));
    const rk_status status = all ? add_run(control, c, site, accelerators, known, all, err)
                                 : rk_fail(err, RK_ERR_MEMORY, "not enough memory for a run");
    free(all);
    return status;
}

/* ---- about the first guess ----------------------------------------------------------------- */

/* Rounds to whole domains: the nearest of 1, 5/4 and 3/2 times a power of two. */
static int64_t rounded(double accelerators, int64_t domain, int64_t most)
{
    assert(accelerators > 0 && domain >= 1 && most >= domain);
    const double domains = rk_max(rk_min(accelerators, (double)most) / (double)domain, 1);
    const double power = exp2(floor(log2(domains))), share = domains / power;
    const double round = share < 1.125 || power < 4 ? 1
                         : share < 1.375            ? 1.25
                         : share < 1.75             ? 1.5
                                                    : 2;
    const int64_t result = domain * (int64_t)(power * round);
    return result < most ? result : most / domain * domain;
}

static bool is_there(const rk_clusters *c, const char *system, int64_t accelerators)
{
    for (int i = 0; i < c->count; i++) {
        if (c->clusters[i].system == system &&
            c->clusters[i].accelerators == (double)accelerators) {
            return true;
        }
    }
    return false;
}

/* The number of accelerators needed if the MFU is as guessed. */
static double first_guess(const rk_clusters *c, const struct site *site)
{
    const rk_accelerator *a = &site->inputs.system.accelerator;
    const double parameters = (double)rk_model_params_of(&site->inputs.model).active;
    const double days = c->deadline < HUGE_VAL ? c->deadline : USUAL_DAYS;
    const double most = c->max_power / (2 * a->power); /* with node and building */
    return rk_min(most,
                  6 * parameters * site->tokens / (USUAL_MFU * a->gemm[RK_BF16].peak * days * DAY));
}

static rk_status add_near_guess(rk_control *control, rk_clusters *c, const struct site *site,
                                rk_error *err)
{
    static const double factors[] = {1, 2, 0.5, 4, 1.25, 1.5};
    const double guess = first_guess(c, site);
    rk_status status = RK_OK;
    for (size_t i = 0; i < COUNT(factors) && !status; i++) {
        const int64_t accelerators = rounded(factors[i] * guess, site->domain, site->most);
        if (!is_there(c, site->offered->name, accelerators)) {
            status = add_cluster(control, c, site, accelerators, NULL, err);
        }
    }
    return status;
}

/*
 * Where the guess is too small for the memory that the model needs: doubles it until a strategy
 * fits.
 */
static rk_status add_until_fits(rk_control *control, rk_clusters *c, const struct site *site,
                                rk_error *err)
{
    const int before = c->count;
    rk_status status = add_near_guess(control, c, site, err);
    double accelerators = 4 * rk_max(first_guess(c, site), (double)site->domain);
    while (!status && c->count == before && accelerators < (double)site->most && !c->stuck.code &&
           !(c->max_power < HUGE_VAL)) {
        accelerators = rk_min(2 * accelerators, (double)site->most);
        status = add_cluster(control, c, site, rounded(accelerators, site->domain, site->most),
                             NULL, err);
    }
    return status;
}

/* ---- the smallest -------------------------------------------------------------------------- */

/* Upper bound on the speed-up over the fastest cluster known so far. */
#define FASTER 1.25

/*
 * Factor by which a run may be shorter than its steps suggest: one measured nearby, or fewer tokens
 * for a smaller batch. The search for the smallest cluster allows for it.
 */
#define SHORTER 0.5

/*
 * Lower bound on total time over step time: a larger cluster of this system loses at least as much
 * to interruptions and checkpoints as a smaller one.
 */
static double least_overhead(const rk_clusters *c, const struct site *site, int64_t accelerators)
{
    double most = 1;
    for (int i = 0; i < c->count; i++) {
        const rk_cluster *k = &c->clusters[i];
        if (k->system == site->offered->name && k->accelerators <= (double)accelerators) {
            const double steps = site->tokens / site->seq / (double)k->strategy.global_batch;
            most = rk_max(most, k->days * DAY / (k->step * steps));
        }
    }
    return most;
}

/* Sequences/s below which no run on this many accelerators ends in time. */
static double least_rate(const rk_clusters *c, const struct site *site, int64_t accelerators)
{
    assert(c->deadline > 0);
    const rk_run_question *question = &site->question;
    const double sequences = site->tokens / site->seq;
    const bool shorter = question->asked.near_checkpoint || question->asked.batch_law ||
                         question->asked.reference_batch > 0;
    const double factor = shorter ? SHORTER : least_overhead(c, site, accelerators);
    return factor * sequences / (c->deadline * DAY);
}

/* Whether any strategy on so many accelerators is fast enough. */
static rk_status is_fast_enough(rk_control *control, const rk_clusters *c, const struct site *site,
                                int64_t accelerators, bool *fast, rk_strategy *fastest,
                                rk_error *err)
{
    rk_run_question question;
    *fast = false;
    const rk_status status = args_of(site, accelerators, &question, err);
    return status ? status
                  : rk_plan_find_faster(control, &question.request, &site->inputs,
                                        least_rate(c, site, accelerators), fast, fastest, err);
}

/*
 * Lower bound on the domains that end in time, from the speed per accelerator of known clusters; 0:
 * none is known.
 */
static int64_t fewest_by_known(const rk_clusters *c, const struct site *site)
{
    double least = HUGE_VAL;
    for (int i = 0; i < c->count; i++) {
        const rk_cluster *k = &c->clusters[i];
        if (k->system == site->offered->name) {
            least = rk_min(least, k->accelerators * k->days / (FASTER * c->deadline));
        }
    }
    return least < HUGE_VAL ? site->domain * (int64_t)rk_max(ceil(least / (double)site->domain), 1)
                            : 0;
}

static int64_t smallest_that_meets(const rk_clusters *c, const char *system)
{
    double least = 0;
    for (int i = 0; i < c->count; i++) {
        const rk_cluster *k = &c->clusters[i];
        if (k->system == system && k->meets && (least <= 0 || k->accelerators < least)) {
            least = k->accelerators;
        }
    }
    return (int64_t)least;
}

/* The steps in which clusters of about n accelerators are tried: a domain times a power of two. */
static int64_t growth(int64_t n, int64_t domain)
{
    assert(n >= 1 && domain >= 1);
    int64_t step = domain;
    while (n >= 2 * GROWTH_STEPS * step) {
        step *= 2;
    }
    return step;
}

/*
 * Tries every number of whole steps from below, up to the smallest known to meet the deadline:
 * because degrees must divide the accelerators, time does not fall monotonically with their number.
 */
static rk_status add_smallest(rk_control *control, rk_clusters *c, const struct site *site,
                              rk_error *err)
{
    const char *system = site->offered->name;
    const rk_run_question *question = &site->question;
    const bool given = question->asked.mfu_percent > 0 || question->asked.step_s > 0 ||
                       question->phase_count > 0 ||
                       rk_request_is_strategy(&question->request, &site->inputs);
    int64_t known = smallest_that_meets(c, system);
    rk_status status = RK_OK;
    if (given || !(c->deadline < HUGE_VAL)) {
        return RK_OK;
    }
    for (int64_t n = fewest_by_known(c, site), step; n < known && !status; n += step) {
        bool fast = false;
        rk_strategy fastest;
        step = growth(n, site->domain);
        n = (n + step - 1) / step * step;
        if (!is_there(c, system, n)) {
            status = is_fast_enough(control, c, site, n, &fast, &fastest, err);
        }
        if (fast && !status) {
            status = add_cluster(control, c, site, n, &fastest, err);
            known = smallest_that_meets(c, system);
        }
    }
    return status;
}

/* ---- clusters of a system ------------------------------------------------------------------ */

static rk_status survey(rk_clusters *c, struct site *site, rk_error *err)
{
    rk_run_question *question = &site->question;
    question->request.system = site->offered->name;
    question->request.accelerators = 0;
    rk_status status = rk_request_load(&question->request, &site->inputs, err);
    status = status ? status
                    : rk_run_tokens(question, &site->inputs.model, &c->target, &site->tokens, err);
    if (status) {
        return status;
    }
    const rk_system *system = &site->inputs.system;
    const int64_t has = system->tiers[system->tier_count - 1].size;
    const int64_t limit = site->offered->most;
    c->model = site->inputs.model;
    site->seq =
        (double)(question->request.seq > 0 ? question->request.seq : site->inputs.model.seq);
    site->most = limit > 0 && limit < has ? limit : has;
    site->domain = system->tiers[0].size < site->most ? system->tiers[0].size : site->most;
    if (question->asked.steps > 0 && question->request.global_batch == 0) {
        return rk_fail(err, RK_ERR_INVALID, "--steps needs --global-batch");
    }
    if (question->asked.steps > 0) {
        site->tokens = question->asked.steps * (double)question->request.global_batch * site->seq;
    }
    c->tokens = site->tokens;
    return RK_OK;
}

/*
 * Adds the clusters of a system: some around a first guess and, with a deadline, the smallest that
 * meets it.
 */
static rk_status add_system(rk_control *control, rk_clusters *clusters,
                            const rk_system_choice *offered, rk_error *err)
{
    struct site *site = calloc(1, sizeof(*site));
    if (!site) {
        return rk_fail(err, RK_ERR_MEMORY, "not enough memory for a run");
    }
    site->offered = offered;
    site->question = *clusters->question;
    rk_status status = survey(clusters, site, err);
    status = status ? status : rk_inputs_keep_times(&site->inputs, err);
    status = status ? status : add_until_fits(control, clusters, site, err);
    status = status ? status : add_smallest(control, clusters, site, err);
    rk_inputs_forget_times(&site->inputs);
    rk_inputs_clear(&site->inputs);
    free(site);
    return status;
}

/* ---- the choice ---------------------------------------------------------------------------- */

static int by_days(const void *a, const void *b)
{
    const double x = ((const rk_cluster *)a)->days, y = ((const rk_cluster *)b)->days;
    return (x > y) - (x < y);
}

/* The cost of a cluster; without prices, its accelerator-hours. */
static double cost_of(const rk_cluster *cluster)
{
    return cluster->cost > 0 ? cluster->cost : cluster->hours;
}

/* Whether the costs of two clusters compare: in money, or in hours of the same accelerator. */
static bool compare(const rk_cluster *a, const rk_cluster *b)
{
    return (a->cost > 0 && b->cost > 0) || strcmp(a->accelerator, b->accelerator) == 0;
}

/* Whether nothing faster is as cheap; the clusters are sorted by days. */
static bool is_on_front(const rk_clusters *c, int i)
{
    assert(i >= 0 && i < c->count);
    const rk_cluster *k = &c->clusters[i];
    for (int j = 0; j < i; j++) {
        if (compare(k, &c->clusters[j]) && cost_of(&c->clusters[j]) <= cost_of(k)) {
            return false;
        }
    }
    return true;
}

/*
 * Sorts by days; finds the smallest, the fastest and, by prices, the cheapest cluster, and the
 * Pareto front of days and cost. Without prices accelerator-hours take the place of cost among
 * clusters of the same accelerator: an hour of one is not an hour of another.
 */
static void choose(rk_clusters *c)
{
    qsort(c->clusters, (size_t)c->count, sizeof(c->clusters[0]), by_days);
    c->smallest = c->cheapest = c->fastest = -1;
    for (int i = 0; i < c->count; i++) {
        rk_cluster *k = &c->clusters[i];
        k->front = is_on_front(c, i);
        if (!k->meets) {
            continue;
        }
        c->fastest = c->fastest < 0 ? i : c->fastest;
        if (c->smallest < 0 || k->accelerators < c->clusters[c->smallest].accelerators) {
            c->smallest = i;
        }
        if (k->cost > 0 && (c->cheapest < 0 || k->cost < c->clusters[c->cheapest].cost)) {
            c->cheapest = i;
        }
    }
}

/* The batch that suits the tokens better than the usual one, where none is given. */
static rk_status find_best_batch(rk_clusters *c, rk_error *err)
{
    rk_request one = c->question->request;
    if (one.global_batch > 0) {
        return RK_OK;
    }
    one.accelerators = 1;
    one.seq = one.seq > 0 ? one.seq : c->model.seq;
    const rk_status status = rk_run_best_batch(&one, one.seq, c->tokens, &c->best_batch, err);
    if (c->best_batch == rk_request_batch_of(&one, one.seq, RK_USUAL_BATCH_TOKENS)) {
        c->best_batch = 0;
    }
    return status;
}

rk_status rk_clusters_find(rk_control *control, rk_clusters *c, rk_error *err)
{
    const rk_run_question *question = c->question;
    rk_status status = RK_OK;
    c->deadline = question->deadline > 0 ? question->deadline : HUGE_VAL;
    c->max_power = question->max_power > 0 ? question->max_power : HUGE_VAL;
    for (int i = 0; i < c->offered_count && !status; i++) {
        status = add_system(control, c, &c->offered[i], err);
    }
    if (!status && c->count == 0 && c->stuck.code) {
        *err = c->stuck;
        status = err->code;
    }
    status = status ? status : find_best_batch(c, err);
    if (!status) {
        choose(c);
    }
    return status;
}
