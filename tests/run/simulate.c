/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated runs against closed forms, and what must hold for all of them. */
#include "run/simulate.h"
#include "base/units.h"
#include "run/checkpoint.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void assert_near(double value, double known, double tolerance)
{
    if (!(fabs(value - known) <= tolerance * fabs(known))) {
        fail_msg("%.10g is not %.10g within %g", value, known, tolerance);
    }
}

static uint64_t next(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* Uniform in (0, 1). */
static double draw(uint64_t *random)
{
    return ((double)(next(random) >> 11) + 0.5) / 0x1p53;
}

static double between(uint64_t *random, double low, double high)
{
    return low * pow(high / low, draw(random));
}

/* Thirty days on 100,000 accelerators with 0.5 interruptions a day per 1,000. */
static rk_simulation large(void)
{
    return (rk_simulation){
        .work_s = 30 * DAY,
        .rate = 50 / DAY,
        .interval_s = 300,
        .far_cost_s = 3,
        .far_every = 1,
        .cause_count = 1,
        .causes = {{.share = 1, .far_s = 180}},
        .spares = -1,
        .runs = 10000,
        .seed = 1,
        .threads = 1,
    };
}

static rk_simulated simulated(const rk_simulation *simulation)
{
    rk_simulated result;
    rk_error err;
    if (rk_simulate(simulation, &result, &err)) {
        fail_msg("%s", err.message);
    }
    return result;
}

/* ---- closed forms -------------------------------------------------------------------------- */

/* Any run; work is a multiple of all intervals, so that the last segment is like the others. */
static rk_simulation any(uint64_t *random)
{
    rk_simulation s = large();
    s.rate = 1 / between(random, 1800, 3e5);
    s.interval_s = between(random, 100, 2000);
    s.near_cost_s = draw(random) < 0.5 ? 0 : between(random, 0.1, 30);
    s.far_cost_s = between(random, 0.5, 100);
    s.far_every = draw(random) < 0.5 ? 1 : floor(between(random, 2, 12));
    const double near = s.far_every > 1 ? draw(random) : 0;
    s.cause_count = 2;
    s.causes[0] = (rk_cause){.share = near, .near = true, .near_s = between(random, 10, 900)};
    s.causes[1] = (rk_cause){.share = 1 - near, .far_s = between(random, 60, 1800)};
    s.causes[0].far_s = s.causes[1].far_s;
    s.work_s = 2000 * s.far_every * s.interval_s;
    s.seed = next(random);
    s.runs = 200;
    return s;
}

/*
 * The mean over all runs lies within its own confidence interval (4 standard errors, and one part
 * in 2,000 for the last segment) of the closed form.
 */
static void test_closed_forms(void **state)
{
    (void)state;
    uint64_t random = 20261123;
    double squares = 0;
    enum { CASES = 60 };
    for (int i = 0; i < CASES; i++) {
        const rk_simulation s = any(&random);
        const rk_simulated r = simulated(&s);
        const double expected = rk_simulation_expected_s(&s);
        const double off = fabs(r.total_s.mean - expected) - 5e-4 * expected;
        if (off > 4 * r.total_s.error) {
            fail_msg("case %d: %.8g s on the average of runs, expected %.8g, error %.3g", i,
                     r.total_s.mean, expected, r.total_s.error);
        }
        squares += off > 0 ? pow(off / r.total_s.error, 2) : 0;
        assert_true(fabs(r.interruptions.mean - s.rate * r.total_s.mean) <
                    4 * r.interruptions.error + 1e-3 * r.interruptions.mean);
        assert_int_equal(r.unfinished, 0);
    }
    assert_true(squares / CASES < 1.5); /* no systematic error hides within the intervals */
}

/* One level: Daly. */
static void test_daly(void **state)
{
    (void)state;
    rk_simulation s = large();
    s.work_s = 9000 * s.interval_s;
    const rk_simulated r = simulated(&s);
    const double slowdown = rk_failure_slowdown(300, 3, 180, DAY / 50);
    assert_near(r.total_s.mean / s.work_s, slowdown, 3e-4);
    assert_near(r.goodput.p50, 1 / slowdown, 1e-3);
    assert_true(r.total_s.p10 < r.total_s.p50 && r.total_s.p50 < r.total_s.p90);
}

/* What counts to first order: copies lost in writing, rollbacks, planned stops. */
static void test_first_order(void **state)
{
    (void)state;
    rk_simulation s = large();
    s.rate = 5 / DAY;
    s.interval_s = 900;
    s.far_writing_s = 600;
    assert_near(simulated(&s).total_s.mean, rk_simulation_expected_s(&s), 2e-3);
    s = large();
    s.rate = 2 / DAY;
    s.causes[0].rollback_s = 3000;
    assert_near(simulated(&s).total_s.mean, rk_simulation_expected_s(&s), 4e-3);
    s = large();
    s.rate = 0;
    s.planned_rate = 1 / DAY;
    s.planned_s = 3600;
    assert_near(simulated(&s).total_s.mean, rk_simulation_expected_s(&s), 1e-3);
}

/* Spare nodes: without any, all hardware waits for the repair; with many, none does. */
static void test_spares(void **state)
{
    (void)state;
    rk_simulation s = large();
    s.rate = 4 / DAY;
    s.repair_s = DAY;
    s.causes[0].hardware = true;
    s.runs = 200;
    const double unlimited = simulated(&s).total_s.mean;
    double before = HUGE_VAL;
    for (int spares = 2; spares <= 32; spares *= 2) {
        s.spares = spares;
        const double mean = simulated(&s).total_s.mean;
        assert_true(mean <= before && mean > unlimited * 0.999);
        before = mean;
    }
    assert_near(before, unlimited, 1e-3);
    s.rate = 0.1 / DAY;
    s.spares = 0;
    s.runs = 4000;
    s.causes[0].far_s = 0;
    const double slowdown = rk_failure_slowdown(300, 3, 0, 10 * DAY) * (1 + 0.1);
    assert_near(simulated(&s).total_s.mean, 30 * DAY * slowdown, 5e-3);
}

/* ---- what must hold ------------------------------------------------------------------------ */

static void test_reproducible(void **state)
{
    (void)state;
    rk_simulation s = large();
    s.runs = 333;
    s.rate_spread = 0.5;
    s.work_spread = 0.1;
    s.spares = 30;
    s.repair_s = 3600;
    s.causes[0].hardware = true;
    const rk_simulated one = simulated(&s);
    s.threads = 3;
    const rk_simulated three = simulated(&s);
    assert_memory_equal(&one, &three, sizeof(one));
    s.seed = 2;
    const rk_simulated other = simulated(&s);
    assert_true(other.total_s.mean != one.total_s.mean);
    assert_near(other.total_s.mean, one.total_s.mean, 0.05);
}

static void test_spreads(void **state)
{
    (void)state;
    rk_simulation s = large();
    s.rate = 0;
    s.work_spread = 0.1;
    s.interval_s = HUGE_VAL;
    rk_simulated r = simulated(&s);
    assert_near(r.total_s.p50, s.work_s, 0.01);
    assert_near(r.total_s.p90, s.work_s * exp(0.1 * 1.28155), 0.01);
    assert_near(r.total_s.p10, s.work_s * exp(-0.1 * 1.28155), 0.01);
    assert_true(r.goodput.p10 > 0.999999);
    /* Runs that do not advance count as infinitely long, and cost no time to simulate. */
    s = large();
    s.runs = 200;
    s.work_s = DAY;
    s.rate_spread = 3;
    r = simulated(&s);
    assert_true(r.unfinished > 20 && isinf(r.total_s.p90) && r.total_s.p50 < 1e6);
    s.rate = 1;
    s.rate_spread = 0;
    r = simulated(&s);
    assert_int_equal(r.unfinished, s.runs);
    assert_true(isinf(r.total_s.p10) && r.goodput.p90 == 0);
}

struct moments {
    int count, interruptions;
    rk_moment last;
};

static void note(void *context, const rk_moment *moment)
{
    struct moments *m = context;
    if (m->count > 0) {
        assert_true(moment->time_s >= m->last.time_s);
        assert_true(moment->kind != RK_MOMENT_RESUME || moment->done <= m->last.done + 1e-9);
    }
    m->count++;
    m->interruptions += moment->kind == RK_MOMENT_INTERRUPTION;
    m->last = *moment;
}

static void test_moments(void **state)
{
    (void)state;
    rk_simulation s = large();
    rk_error err;
    s.runs = 101;
    const rk_simulated r = simulated(&s);
    struct moments m = {0};
    assert_int_equal(rk_simulate_moments(&s, r.middle_run, note, &m, &err), RK_OK);
    assert_near(m.last.time_s, r.total_s.p50, 1e-12);
    assert_true(m.last.kind == RK_MOMENT_END && m.last.done == 1);
    assert_true(m.count == 2 * m.interruptions + 2);
    assert_near(m.interruptions, r.interruptions.p50, 0.15); /* but for those in restarts */
}

/* Wrong results are in all copies nearby: training goes on from one in far storage. */
static void note_rollback(void *context, const rk_moment *moment)
{
    const rk_simulation *s = context;
    const double pattern = s->far_every * s->interval_s / s->work_s;
    const double patterns = moment->done / pattern;
    assert_true(moment->kind != RK_MOMENT_RESUME || fabs(patterns - round(patterns)) < 1e-6);
}

static void test_rollback(void **state)
{
    rk_simulation s = large();
    rk_error err;
    (void)state;
    s.far_every = 10;
    s.near_cost_s = 1;
    s.rate = 5 / DAY;
    s.causes[0] =
        (rk_cause){.share = 1, .far_s = 180, .rollback_s = 1000, .near_s = 10, .near = true};
    for (int64_t run = 0; run < 20; run++) {
        assert_int_equal(rk_simulate_moments(&s, run, note_rollback, &s, &err), RK_OK);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    rk_simulation s = large();
    rk_simulated result;
    rk_error err;
    s.runs = 0;
    assert_int_equal(rk_simulate(&s, &result, &err), RK_ERR_INVALID);
    s = large();
    s.causes[0].share = 0.5;
    assert_int_equal(rk_simulate(&s, &result, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "add up to 0.5"));
    s = large();
    s.far_writing_s = 301;
    assert_int_equal(rk_simulate(&s, &result, &err), RK_ERR_INVALID);
    s = large();
    s.spares = RK_SPARES_MAX + 1;
    assert_int_equal(rk_simulate(&s, &result, &err), RK_ERR_INVALID);
}

/* 10,000 runs of 30 days on 100,000 accelerators: 1,800 interruptions each. */
static void test_fast(void **state)
{
    (void)state;
    const rk_simulation s = large();
    struct timespec start, end;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    const rk_simulated r = simulated(&s);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    const double seconds =
        (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    print_message("%.0f interruptions a run, %.3f s of processor time\n", r.interruptions.mean,
                  seconds);
    assert_true(seconds < 30); /* a loop without end; benchmarks say how fast it is */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_forms), cmocka_unit_test(test_daly),
        cmocka_unit_test(test_first_order),  cmocka_unit_test(test_spares),
        cmocka_unit_test(test_reproducible), cmocka_unit_test(test_spreads),
        cmocka_unit_test(test_moments),      cmocka_unit_test(test_rollback),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
