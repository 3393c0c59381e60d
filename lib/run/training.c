/* SPDX-License-Identifier: Apache-2.0 */
/* Total time of a run, split into steps, checkpoints, failures and stops, with cost and energy. */
#include "run/training.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/units.h"
#include "run/reliability.h"

#include <assert.h>
#include <math.h>

#define J_PER_KWH     3.6e6
#define USUAL_STORAGE 0.122e9 /* bytes/s an accelerator; see training.h */
#define SLOWEST       100.0   /* times the run without interruptions: nobody would wait */

const char *const rk_training_part_names[] = {
    "training", "checkpoints", "work done again", "restarts", "planned stops", "start", NULL};

/* Time between checkpoints: what is asked, or the best; a step at least, and time to write one. */
static double interval_of(const rk_training *t, const rk_training_result *r)
{
    if (t->interval > 0) {
        return t->interval;
    }
    if (!(r->mtbf < HUGE_VAL)) {
        return HUGE_VAL;
    }
    const double least = t->host > 0 ? rk_max(t->step, r->writing) : t->step;
    return rk_max(rk_checkpoint_daly(r->blocking, r->mtbf), least);
}

/*
 * Daly's expectation in parts.  T / tau segments of tau + C seconds; to finish one needs
 * M (e^((tau + C)/M) - 1) s of computing and as many failures over M, each of which is followed by
 * M (e^(R/M) - 1) s until a restart succeeds.  A failure while a checkpoint is on its way to
 * storage (W s) also loses the unwritten work.
 */
static void add_failures(const rk_training *t, rk_training_result *r)
{
    const double work = t->step * r->steps, segments = work / r->interval, mtbf = r->mtbf;
    const double waits = t->host > 0 ? r->writing : 0, restart = t->restart + r->writing;
    r->part[RK_TRAINING_STEPS] = work;
    r->part[RK_TRAINING_CHECKPOINTS] = segments * r->blocking;
    if (!(mtbf < HUGE_VAL)) {
        return;
    }
    const double computing = segments * mtbf * expm1((r->interval + r->blocking) / mtbf);
    const double after = computing * expm1((restart + waits) / mtbf);
    const double lost = waits > 0 ? after * waits / (restart + waits) : 0;
    r->part[RK_TRAINING_LOST] = computing - work - r->part[RK_TRAINING_CHECKPOINTS] + lost;
    r->part[RK_TRAINING_RESTARTS] = after - lost;
}

/* ---- near copies --------------------------------------------------------------------------- */

#define FAR_MOST 1000 /* near copies per far one */

/* With copies nearby: two levels in place of one, with the best of what is not given. */
static void add_levels(const rk_training *t, rk_training_result *r)
{
    rk_checkpoint_levels levels = {
        .mtbf_s = r->mtbf,
        .near_share = t->near_share,
        .near_cost_s = t->near_write,
        .far_cost_s = r->blocking,
        .near_restart_s = t->restart + t->near_read,
        .far_restart_s = t->restart + (t->host > 0 ? 2 : 1) * r->writing,
        .far_every = 1,
    };
    if (t->interval > 0) {
        double least = HUGE_VAL;
        levels.interval_s = t->interval;
        for (double every = 1; every <= FAR_MOST; every = floor(every * 1.1) + 1) {
            levels.far_every = every;
            const double slowdown = rk_checkpoint_levels_slowdown(&levels);
            r->far_every = slowdown < least ? every : r->far_every;
            least = rk_min(least, slowdown);
        }
        levels.far_every = r->far_every;
    } else {
        rk_checkpoint_levels_best(&levels, rk_max(t->step, t->near_write), FAR_MOST);
    }
    r->interval = levels.interval_s;
    r->far_every = levels.far_every;
    const double work = t->step * r->steps;
    const double total = work * rk_checkpoint_levels_slowdown(&levels);
    const double restart =
        levels.near_share * levels.near_restart_s + (1 - levels.near_share) * levels.far_restart_s;
    r->part[RK_TRAINING_STEPS] = work;
    r->part[RK_TRAINING_CHECKPOINTS] =
        work / r->interval * (t->near_write + r->blocking / r->far_every);
    const double rest = rk_max(total - work - r->part[RK_TRAINING_CHECKPOINTS], 0);
    r->part[RK_TRAINING_RESTARTS] = rk_min(rest, total / r->mtbf * restart);
    r->part[RK_TRAINING_LOST] = rest - r->part[RK_TRAINING_RESTARTS];
}

static rk_status check(const rk_training *t, const rk_training_result *r, rk_error *err)
{
    if (t->host > 0 && r->interval < r->writing) {
        return rk_fail(err, RK_ERR_INVALID,
                       "a checkpoint takes %.4g s to write, the next starts after %.4g s; write "
                       "fewer, or to faster storage",
                       r->writing, r->interval);
    }
    const double restart = t->restart + (t->host > 0 ? 2 : 1) * r->writing;
    if (t->window_every > 0 && t->window + t->restart + r->writing >= t->window_every) {
        return rk_fail(err, RK_ERR_INVALID,
                       "a maintenance window of %.4g s and a restart of %.4g s leave no time until "
                       "the next, %.4g s later; make it shorter or rarer",
                       t->window, t->restart + r->writing, t->window_every);
    }
    if (t->silent_share * t->silent >= (1 - 1 / SLOWEST) * r->mtbf) {
        return rk_fail(
            err, RK_ERR_INVALID,
            "silent corruption every %.4g s invalidates %.4g s of training: the run does "
            "not advance; it must be noticed sooner",
            r->mtbf / t->silent_share, t->silent);
    }
    if (r->interval < HUGE_VAL &&
        !(rk_failure_slowdown(r->interval, r->blocking, restart, r->mtbf) < SLOWEST)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "with an interruption every %.4g s, %.4g s to restart and %.4g s between "
                       "checkpoints the run does not advance; restart or write faster",
                       r->mtbf, restart, r->interval);
    }
    return RK_OK;
}

/*
 * Additions to the parts above: training that silent corruption spoilt, at `rate` (per s), then
 * planned stops and maintenance windows, each with a restart, and the start.
 */
static void add_stops(const rk_training *t, rk_training_result *r, double rate)
{
    assert(rate >= 0);
    const double restart = t->restart + r->writing;
    double running = 0;
    for (int i = 0; i < RK_TRAINING_PLANNED; i++) {
        running += r->part[i];
    }
    const double spoilt = rate * t->silent_share * t->silent;
    r->part[RK_TRAINING_LOST] += running * spoilt / (1 - spoilt);
    running /= 1 - spoilt;
    r->failures = running * rate;
    r->part[RK_TRAINING_PLANNED] = running * t->planned_share * rate * restart;
    if (t->window_every > 0) {
        const double stop = t->window + restart;
        r->part[RK_TRAINING_PLANNED] +=
            (running + r->part[RK_TRAINING_PLANNED]) * stop / (t->window_every - stop);
    }
    r->part[RK_TRAINING_START] = t->start > 0 ? t->start + r->writing : 0;
}

/* Training, saving and repeating draw full power; who waits draws less. */
static void add_prices(const rk_training *t, rk_training_result *r)
{
    const double busy =
        r->part[RK_TRAINING_STEPS] + r->part[RK_TRAINING_CHECKPOINTS] + r->part[RK_TRAINING_LOST];
    const double idle = t->accelerators * (r->total - busy) + t->spares * r->total;
    r->accelerator_hours = (t->accelerators + t->spares) * r->total / HOUR;
    r->energy = t->pue * (t->accelerators * t->power * busy + t->idle_power * idle);
    r->cost = t->price * r->accelerator_hours;
    r->carbon = t->carbon / 1e3 * r->energy / J_PER_KWH;
}

/* Numbers far out of proportion, such as an MFU of 1e-300 %, add up to no number. */
static rk_status check_finite(const rk_training *t, const rk_training_result *r, rk_error *err)
{
    if (isfinite(r->total) && isfinite(r->goodput) && isfinite(r->failures) &&
        isfinite(r->energy) && isfinite(r->cost) && isfinite(r->carbon)) {
        return RK_OK;
    }
    return rk_fail(err, RK_ERR_INVALID,
                   "%.4g steps of %.4g s are no run that can be computed; check the tokens, the "
                   "step time or MFU, the interruptions and the prices",
                   r->steps, t->step);
}

rk_status rk_training_usual(double accelerators, rk_training *training, rk_error *err)
{
    assert(accelerators > 0);
    rk_reliability reliability;
    const rk_status status = rk_reliability_load("published", &reliability, err);
    *training = (rk_training){.accelerators = accelerators};
    if (!status) {
        training->failure_rate = reliability.rate;
        training->restart = rk_reliability_stall_s(&reliability, false);
        training->storage = USUAL_STORAGE * accelerators;
    }
    return status;
}

rk_status rk_training_run(const rk_training *t, rk_training_result *r, rk_error *err)
{
    *r = (rk_training_result){.steps = ceil(t->tokens / t->tokens_per_step)};
    const double failures = t->failure_rate * t->accelerators;
    r->mtbf = failures > 0 ? 1 / failures : HUGE_VAL;
    r->writing = t->checkpoint / t->storage;
    r->blocking = t->host > 0 ? t->checkpoint / t->accelerators / t->host : r->writing;
    r->interval = interval_of(t, r);
    r->far_every = 1;
    const rk_status status = check(t, r, err);
    if (status) {
        return status;
    }
    if (t->near_write > 0 && r->mtbf < HUGE_VAL) {
        add_levels(t, r);
    } else {
        add_failures(t, r);
    }
    add_stops(t, r, failures);
    for (int i = 0; i < RK_TRAINING_PART_COUNT; i++) {
        r->total += r->part[i];
    }
    r->goodput = r->part[RK_TRAINING_STEPS] / r->total;
    r->goodput_first =
        t->near_write > 0 && r->mtbf < HUGE_VAL ? 0
        : r->interval < HUGE_VAL
            ? rk_effective_share(r->interval, r->blocking, t->restart + r->writing, r->mtbf)
            : 1;
    add_prices(t, r);
    return check_finite(t, r, err);
}
