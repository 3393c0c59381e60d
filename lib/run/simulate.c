/* SPDX-License-Identifier: Apache-2.0 */
/* A Monte Carlo simulation of failures, restarts and spare nodes, with a random stream per run. */
#include "run/simulate.h"

#include "base/error.h"
#include "base/extremes.h"
#include "base/list.h"
#include "run/checkpoint.h"
#include "work/parallel.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define EVENTS_MAX 10000000 /* interruptions of a run before it is given up */
#define SLOWEST    100.0    /* expected time over work: nobody would wait */
#define UNIT_RUNS  64       /* of a task */
#define TWO_PI     6.283185307179586

/* ---- random numbers ------------------------------------------------------------------------ */

/* xoshiro256+ of Blackman and Vigna; the state, of four numbers, comes from splitmix64. */
enum { RANDOM_STATE = 4 };

static uint64_t mixed(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void seed_random(uint64_t random[RANDOM_STATE], uint64_t seed, uint64_t run)
{
    uint64_t state = seed;
    state = mixed(&state) ^ (run * 0xd1342543de82ef95);
    for (int i = 0; i < RANDOM_STATE; i++) {
        random[i] = mixed(&state);
    }
}

static inline uint64_t rotated(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

/* Uniform in (0, 1). */
static inline double uniform(uint64_t r[RANDOM_STATE])
{
    const uint64_t sum = r[0] + r[3], t = r[1] << 17;
    r[2] ^= r[0];
    r[3] ^= r[1];
    r[1] ^= r[2];
    r[0] ^= r[3];
    r[2] ^= t;
    r[3] = rotated(r[3], 45);
    return ((double)(sum >> 11) + 0.5) * 0x1p-53;
}

/* Standard normal (Box and Muller). */
static double normal(uint64_t r[RANDOM_STATE])
{
    const double radius = sqrt(-2 * log(uniform(r)));
    return radius * cos(TWO_PI * uniform(r));
}

/* ---- one run ------------------------------------------------------------------------------- */

struct outcome {
    double total, goodput, interruptions;
};

/* Constants of a run. */
struct run {
    const rk_simulation *sim;
    double mtbf, work;               /* of this run */
    double segment, pattern;         /* s of a near segment; of far_every and a far copy */
    double per_segment, per_pattern; /* one over them */
    double upto[RK_CAUSES_MAX];      /* cumulated shares */
    uint64_t random[RANDOM_STATE];
    void (*note)(void *context, const rk_moment *moment);
    void *context;
};

/* Where a run is. */
struct progress {
    double time;   /* s since the start */
    double copy;   /* segments that the copy holds from which it goes on */
    double next;   /* s until the next interruption */
    int64_t count; /* of interruptions */
    int64_t saved; /* far copies so far, for the picture */
    double *back;  /* when each spare is back */
    int oldest;    /* index in `back` */
};

static inline double until_next(struct run *run)
{
    return -run->mtbf * log(uniform(run->random));
}

static inline const rk_cause *draw_cause(struct run *run)
{
    const int last = run->sim->cause_count - 1;
    int i = 0;
    if (last > 0) {
        const double u = uniform(run->random);
        while (i < last && u >= run->upto[i]) {
            i++;
        }
    }
    return &run->sim->causes[i];
}

/* Seconds of training from copy `from` to the end, with the copies on the way. */
static double need_of(const struct run *run, double from)
{
    const rk_simulation *sim = run->sim;
    if (!(sim->interval_s < HUGE_VAL)) {
        return run->work;
    }
    const double left = run->work - from * sim->interval_s;
    const double copies = rk_max(ceil(left / sim->interval_s) - 1, 0);
    const double far = floor((from + copies) / sim->far_every) - floor(from / sim->far_every);
    return left + copies * sim->near_cost_s + far * sim->far_cost_s;
}

/* The copies that an interruption after `ran` s of training from a copy finds, in segments. */
static inline void copies_after(const struct run *run, double from, double ran, double *near,
                                double *far)
{
    const double every = run->sim->far_every;
    const double patterns = every > 1 ? floor(from / every) : from;
    const double since = ran + (from - patterns * every) * run->segment;
    double whole = floor(since * run->per_pattern);
    const double rest = since - whole * run->pattern;
    *near = (patterns + whole) * every;
    if (every > 1) {
        *near += rk_min(floor(rest * run->per_segment), every - 1);
    }
    if (whole > 0 && rest < run->sim->far_writing_s) {
        whole -= 1; /* the last far copy was on its way */
        *near = every > 1 ? *near : (patterns + whole) * every;
    }
    *far = (patterns + whole) * every;
}

/* Waits for a node where the pool is empty; the failed one is back repair_s after it was due. */
static double wait_for_spare(const struct run *run, struct progress *p)
{
    const rk_simulation *sim = run->sim;
    if (sim->spares == 0) {
        return sim->repair_s;
    }
    double *back = &p->back[p->oldest];
    const double wait = rk_max(*back - p->time, 0);
    *back = p->time + wait + sim->repair_s;
    p->oldest = p->oldest + 1 < sim->spares ? p->oldest + 1 : 0;
    return wait;
}

/*
 * An interruption after `ran` s of training: until training goes on from a copy, which further
 * interruptions may delay.
 */
static inline void interrupt(struct run *run, struct progress *p, double ran)
{
    const rk_simulation *sim = run->sim;
    double near = 0, far = 0;
    if (sim->interval_s < HUGE_VAL) {
        copies_after(run, p->copy, ran, &near, &far);
    }
    bool use_near = sim->far_every > 1;
    for (bool again = false;; again = true) {
        const rk_cause *cause = draw_cause(run);
        p->count++;
        use_near = use_near && cause->near;
        near = use_near ? near : far;
        if (cause->rollback_s > 0 && sim->interval_s < HUGE_VAL && !again) {
            const double clean = rk_max(near - ceil(cause->rollback_s / sim->interval_s), 0);
            near = far = floor(clean / sim->far_every) * sim->far_every;
            use_near = false;
        }
        const double stall = use_near ? cause->near_s : cause->far_s;
        if (cause->hardware && sim->spares >= 0) {
            p->time += wait_for_spare(run, p); /* nothing runs that could be interrupted */
        }
        p->next = until_next(run);
        if (p->next >= stall || p->count >= EVENTS_MAX) {
            p->time += stall;
            p->next -= stall;
            break;
        }
        p->time += p->next;
    }
    p->copy = near;
}

static void record_moment(const struct run *run, rk_moment_kind kind, const struct progress *p,
                          double done_s)
{
    if (run->note) {
        const rk_moment moment = {.kind = kind,
                                  .time_s = run->sim->start_s + p->time,
                                  .done = rk_min(done_s / run->work, 1),
                                  .saved = p->saved};
        run->note(run->context, &moment);
    }
}

/* Work done after `ran` s from a copy, for the picture. */
static double done_after(const struct run *run, double copy, double ran)
{
    assert(ran >= 0);
    if (!(run->sim->interval_s < HUGE_VAL)) {
        return ran;
    }
    const double share = run->sim->interval_s / (run->sim->interval_s + run->sim->near_cost_s +
                                                 run->sim->far_cost_s / run->sim->far_every);
    return copy * run->sim->interval_s + ran * share;
}

/* Far copies made in `ran` s of training from a copy, for the picture. */
static int64_t saved_in(const struct run *run, double copy, double ran)
{
    const double every = run->sim->far_every;
    if (!run->note || !(run->sim->interval_s < HUGE_VAL)) {
        return 0;
    }
    const double since = ran + (copy - floor(copy / every) * every) * run->segment;
    return (int64_t)floor(since * run->per_pattern);
}

/* Stops that were planned, and their time. */
static double planned_stops(struct run *run, double time)
{
    const double mean = run->sim->planned_rate * time;
    double count = 0;
    if (mean > 500) {
        count = rk_max(floor(mean + sqrt(mean) * normal(run->random) + 0.5), 0);
    } else if (mean > 0) {
        for (double sum = -log(uniform(run->random)); sum < mean; count++) {
            sum -= log(uniform(run->random));
        }
    }
    return count;
}

static struct outcome one_run(struct run *run, double *back)
{
    const rk_simulation *sim = run->sim;
    const double saved = sim->interval_s < HUGE_VAL ? sim->interval_s : 0;
    struct progress p = {.next = HUGE_VAL, .back = back};
    for (int i = 0; i < sim->spares; i++) {
        back[i] = 0;
    }
    record_moment(run, RK_MOMENT_START, &p, 0);
    if (run->mtbf < HUGE_VAL) {
        p.next = until_next(run);
    }
    while (p.count < EVENTS_MAX) {
        const double left = run->work - p.copy * saved; /* without copies: an upper bound */
        const double need = p.next < left ? HUGE_VAL : need_of(run, p.copy);
        if (p.next >= need) {
            p.time += need;
            p.saved += saved_in(run, p.copy, need);
            break;
        }
        const double ran = p.next;
        p.time += ran;
        p.saved += saved_in(run, p.copy, ran);
        record_moment(run, RK_MOMENT_INTERRUPTION, &p, done_after(run, p.copy, ran));
        interrupt(run, &p, ran);
        record_moment(run, RK_MOMENT_RESUME, &p, p.copy * saved);
    }
    if (p.count >= EVENTS_MAX) {
        return (struct outcome){.total = HUGE_VAL};
    }
    record_moment(run, RK_MOMENT_END, &p, run->work);
    const double planned = planned_stops(run, p.time);
    p.time += planned * sim->planned_s;
    if (sim->window_every > 0) {
        p.time += floor(p.time / (sim->window_every - sim->window_s)) * sim->window_s;
    }
    p.time += sim->start_s;
    return (struct outcome){
        .total = p.time, .goodput = run->work / p.time, .interruptions = (double)p.count + planned};
}

/* ---- what is expected ---------------------------------------------------------------------- */

/*
 * The restart R that all causes together amount to: of restarts that interruptions strike, only
 * the mean of e^(-R/M) matters.
 */
static double restart_of(const rk_simulation *sim, double mtbf, bool near)
{
    assert(mtbf > 0);
    double share = 0, sum = 0;
    for (int i = 0; i < sim->cause_count; i++) {
        const rk_cause *c = &sim->causes[i];
        if (c->near == near || sim->far_every <= 1) {
            share += c->share;
            sum += c->share * expm1(-(near && sim->far_every > 1 ? c->near_s : c->far_s) / mtbf);
        }
    }
    return share > 0 ? -mtbf * log1p(sum / share) : 0;
}

static double slowdown_of(const rk_simulation *sim, double rate)
{
    const double mtbf = rate > 0 ? 1 / rate : HUGE_VAL;
    double near = 0, rollback = 0;
    for (int i = 0; i < sim->cause_count; i++) {
        near += sim->causes[i].near && sim->far_every > 1 ? sim->causes[i].share : 0;
        rollback += sim->causes[i].share * sim->causes[i].rollback_s;
    }
    if (!(mtbf < HUGE_VAL)) {
        return 1 + (sim->near_cost_s + sim->far_cost_s / sim->far_every) / sim->interval_s;
    }
    const bool copies = sim->interval_s < HUGE_VAL;
    const rk_checkpoint_levels levels = {
        .mtbf_s = mtbf,
        .near_share = copies ? near : 0,
        .near_cost_s = copies ? sim->near_cost_s : 0,
        .far_cost_s = copies ? sim->far_cost_s : 0,
        .near_restart_s = restart_of(sim, mtbf, true),
        .far_restart_s = restart_of(sim, mtbf, false),
        .interval_s = copies ? sim->interval_s : sim->work_s,
        .far_every = copies ? sim->far_every : 1,
    };
    const double slowdown = rk_checkpoint_levels_slowdown(&levels);
    return slowdown / rk_max(1 - rate * (rollback + (copies ? sim->far_writing_s : 0)), 1e-9);
}

double rk_simulation_expected_s(const rk_simulation *sim)
{
    const double windows =
        sim->window_every > 0 ? sim->window_every / (sim->window_every - sim->window_s) : 1;
    return sim->start_s + sim->work_s * slowdown_of(sim, sim->rate) *
                              (1 + sim->planned_rate * sim->planned_s) * windows;
}

/* ---- all runs ------------------------------------------------------------------------------ */

static struct run run_of(const rk_simulation *sim, uint64_t number)
{
    struct run run = {.sim = sim};
    seed_random(run.random, sim->seed, number);
    const double rate = sim->rate * exp(sim->rate_spread * normal(run.random));
    run.work = sim->work_s * exp(sim->work_spread * normal(run.random));
    run.mtbf = rate > 0 ? 1 / rate : HUGE_VAL;
    run.segment = sim->interval_s + sim->near_cost_s;
    run.pattern = sim->far_every * run.segment + sim->far_cost_s;
    run.per_segment = 1 / run.segment;
    run.per_pattern = 1 / run.pattern;
    double sum = 0;
    for (int i = 0; i < sim->cause_count; i++) {
        sum += sim->causes[i].share;
        run.upto[i] = sum;
    }
    return run;
}

static struct outcome outcome_of(const rk_simulation *sim, uint64_t number, double *back)
{
    struct run run = run_of(sim, number);
    if (run.mtbf < HUGE_VAL && !(slowdown_of(sim, 1 / run.mtbf) < SLOWEST)) {
        return (struct outcome){.total = HUGE_VAL};
    }
    return one_run(&run, back);
}

struct simulated {
    const rk_simulation *sim;
    struct outcome *outcomes;
    double *back; /* of each thread */
};

static void simulate_unit(void *context, int worker, uint64_t unit, rk_parallel *shared)
{
    const struct simulated *all = context;
    const uint64_t runs = (uint64_t)all->sim->runs;
    (void)shared;
    for (uint64_t i = unit * UNIT_RUNS; i < runs && i < (unit + 1) * UNIT_RUNS; i++) {
        all->outcomes[i] = outcome_of(all->sim, i, all->back + (size_t)worker * RK_SPARES_MAX);
    }
}

static rk_status check(const rk_simulation *sim, rk_error *err)
{
    double shares = 0;
    for (int i = 0; i < sim->cause_count; i++) {
        shares += sim->causes[i].share;
    }
    if (sim->runs < 1 || sim->runs > RK_SIMULATE_MAX || sim->threads < 0) {
        return rk_fail(err, RK_ERR_INVALID, "expected 1 to %d simulated runs", RK_SIMULATE_MAX);
    }
    if (sim->spares > RK_SPARES_MAX) {
        return rk_fail(err, RK_ERR_INVALID, "at most %d spare nodes can be simulated",
                       RK_SPARES_MAX);
    }
    if (sim->rate > 0 && !(fabs(shares - 1) < 1e-9)) {
        return rk_fail(err, RK_ERR_INVALID, "the shares of all causes add up to %g, not 1", shares);
    }
    if (!(sim->work_s > 0) || !(sim->interval_s > 0) || !(sim->far_every >= 1) ||
        sim->window_s < 0 || (sim->window_every > 0 && sim->window_s >= sim->window_every) ||
        sim->far_writing_s > sim->far_every * sim->interval_s) {
        return rk_fail(err, RK_ERR_INVALID,
                       "a run needs work, an interval between checkpoints above 0, time to write "
                       "one before the next, and time between maintenance windows");
    }
    return RK_OK;
}

/* ---- percentiles --------------------------------------------------------------------------- */

static double quantile(const double *sorted, int64_t count, double share)
{
    assert(count >= 1 && share >= 0 && share <= 1);
    const double place = share * (double)(count - 1), below = floor(place);
    const double low = sorted[(int64_t)below];
    const double high = sorted[(int64_t)below + (below < (double)(count - 1))];
    return low < high ? low + (place - below) * (high - low) : low;
}

/* Of member `offset` of all outcomes; `values` has room for one each. */
static rk_spread spread_of(const struct outcome *outcomes, int64_t count, size_t offset,
                           double *values)
{
    assert(count >= 1);
    rk_spread spread = {0};
    double sum = 0, squares = 0, ended = 0;
    for (int64_t i = 0; i < count; i++) {
        values[i] = *(const double *)((const char *)&outcomes[i] + offset);
        if (outcomes[i].total < HUGE_VAL) {
            sum += values[i];
            ended++;
        }
    }
    spread.mean = ended > 0 ? sum / ended : 0;
    for (int64_t i = 0; i < count; i++) {
        if (outcomes[i].total < HUGE_VAL) {
            squares += (values[i] - spread.mean) * (values[i] - spread.mean);
        }
    }
    spread.error = ended > 1 ? sqrt(squares / (ended - 1) / ended) : 0;
    qsort(values, (size_t)count, sizeof(*values), rk_compare_doubles);
    spread.p10 = quantile(values, count, 0.1);
    spread.p50 = quantile(values, count, 0.5);
    spread.p90 = quantile(values, count, 0.9);
    return spread;
}

static void summarize(const struct simulated *all, double *values, rk_simulated *result)
{
    const int64_t runs = all->sim->runs;
    const struct outcome *o = all->outcomes;
    *result = (rk_simulated){.middle_run = -1};
    result->interruptions = spread_of(o, runs, offsetof(struct outcome, interruptions), values);
    result->goodput = spread_of(o, runs, offsetof(struct outcome, goodput), values);
    result->total_s = spread_of(o, runs, offsetof(struct outcome, total), values);
    const double middle = values[(runs - 1) / 2]; /* the totals are sorted */
    for (int64_t i = 0; i < runs; i++) {
        result->unfinished += !(o[i].total < HUGE_VAL);
        if (result->middle_run < 0 && o[i].total == middle) {
            result->middle_run = i;
        }
    }
}

rk_status rk_simulate(const rk_simulation *sim, rk_simulated *result, rk_error *err)
{
    rk_status status = check(sim, err);
    if (status) {
        return status;
    }
    const int threads = sim->threads > 0 ? sim->threads : rk_core_count();
    const size_t runs = (size_t)sim->runs;
    struct simulated all = {
        .sim = sim,
        .outcomes = calloc(runs, sizeof(*all.outcomes)),
        .back = calloc((size_t)threads, sizeof(double) * RK_SPARES_MAX),
    };
    double *values = calloc(runs, sizeof(*values));
    if (all.outcomes && all.back && values) {
        status = rk_parallel_run(threads, (runs + UNIT_RUNS - 1) / UNIT_RUNS, simulate_unit, &all,
                                 NULL, NULL, err);
    } else {
        status = rk_fail(err, RK_ERR_MEMORY, "not enough memory for %lld simulated runs",
                         (long long)sim->runs);
    }
    if (!status) {
        summarize(&all, values, result);
    }
    free(values);
    free(all.back);
    free(all.outcomes);
    return status;
}

rk_status rk_simulate_moments(const rk_simulation *sim, int64_t number,
                              void (*note)(void *context, const rk_moment *moment), void *context,
                              rk_error *err)
{
    rk_status status = check(sim, err);
    double *back = status ? NULL : calloc(RK_SPARES_MAX, sizeof(*back));
    if (status || !back) {
        return status ? status : rk_fail(err, RK_ERR_MEMORY, "not enough memory for a run");
    }
    struct run run = run_of(sim, (uint64_t)number);
    run.note = note;
    run.context = context;
    if (!(run.mtbf < HUGE_VAL) || slowdown_of(sim, 1 / run.mtbf) < SLOWEST) {
        (void)one_run(&run, back);
    }
    free(back);
    return RK_OK;
}
