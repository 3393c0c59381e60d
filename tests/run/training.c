/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs: published figures, parts that add up, and a twin that lets failures happen. */
#include "run/training.h"
#include "base/units.h"
#include "run/power.h"
#include "run/price_list.h"
#include "run/sensitivity.h"
#include "run/simulate.h"
#include "run/storage.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double value, double known, double tolerance)
{
    if (!(fabs(value - known) <= tolerance * fabs(known))) {
        fail_msg("%.10g is not %.10g within %g", value, known, tolerance);
    }
}

/* Llama 3 405B on 16,384 H100, at 400 TFLOP/s each. */
static rk_training llama(void)
{
    return (rk_training){
        .tokens = 15.6e12,
        .tokens_per_step = 2048 * 8192,
        .step = 2048 * 8192 * 2.524e12 / (16384 * 400e12),
        .accelerators = 16384,
        .failure_rate = 419 / (54 * DAY * 16384),
        .restart = 600,
        .checkpoint = 14 * 405.85e9,
        .storage = 2e12,
        .power = 700,
        .idle_power = 700,
        .pue = 1.1,
    };
}

/* Model specification, UT-48: an interruption in 3.093 hours, ten minutes to restart. */
static void test_intervals(void **state)
{
    (void)state;
    static const struct {
        double cost, young, daly, slowdown;
    } cases[] = {{10, 472, 0, 1.1014}, {60, 1156, 0, 1.173}, {300, 2585, 2389, 1.344}};
    const double mtbf = 3.093 * 3600;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const double young = rk_checkpoint_young(cases[i].cost, mtbf);
        const double daly = rk_checkpoint_daly(cases[i].cost, mtbf);
        assert_near(young, cases[i].young, 1e-3);
        if (cases[i].daly > 0) {
            assert_near(daly, cases[i].daly, 1e-3);
        }
        assert_near(rk_failure_slowdown(young, cases[i].cost, 600, mtbf), cases[i].slowdown, 1e-3);
        for (double factor = 0.5; factor < 2; factor += 0.3) { /* no other interval is better */
            assert_true(rk_failure_slowdown(factor * daly, cases[i].cost, 600, mtbf) >=
                        0.99999 * rk_failure_slowdown(daly, cases[i].cost, 600, mtbf));
        }
    }
    assert_near(rk_checkpoint_daly(300, 100), 100, 0);
}

/* UT-47, UT-49 and UT-50, and what the report of Llama 3 says of its run. */
static void test_published(void **state)
{
    (void)state;
    rk_training t = llama();
    rk_training_result r;
    rk_error err;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_near(r.mtbf, 3.093 * 3600, 1e-3);
    assert_near(r.writing, 2.84, 1e-3);
    assert_true(r.goodput > 0.9 && r.goodput < 0.96); /* "over 90 %" */
    assert_near(r.energy / r.total, 16384 * 700 * 1.1, 1e-12);
    assert_near(54 * DAY * r.energy / r.total / 3.6e12, 16.35, 1e-3); /* GWh */
    assert_near(r.accelerator_hours, 16384 * r.total / 3600, 1e-12);
    t.failure_rate = 6.5e-3 / 8 / DAY;
    t.accelerators = 2048 * 8;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_near(r.mtbf, 1.803 * 3600, 1e-3);
}

/* ---- identities ------------------------------------------------------------------------------ */

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

static rk_training any(uint64_t *random)
{
    rk_training t = llama();
    t.tokens = between(random, 1e9, 1e14);
    t.step = between(random, 0.1, 60);
    t.accelerators = floor(between(random, 8, 1e5));
    t.failure_rate = between(random, 1e-12, 1e-8);
    t.restart = between(random, 1, 3600);
    t.checkpoint = between(random, 1e9, 1e13);
    t.storage = between(random, 1e9, 1e13);
    t.host = draw(random) < 0.5 ? 0 : between(random, 1e9, 1e11);
    t.interval = draw(random) < 0.5 ? 0 : between(random, 60, 1e5);
    return t;
}

static void test_identities(void **state)
{
    (void)state;
    uint64_t random = 20260101;
    int done = 0;
    for (int i = 0; i < 20000; i++) {
        const rk_training t = any(&random);
        rk_training_result r;
        rk_error err;
        if (rk_training_run(&t, &r, &err)) {
            assert_int_equal(err.code, RK_ERR_INVALID);
            continue;
        }
        double sum = 0;
        for (int part = 0; part < RK_TRAINING_PART_COUNT; part++) {
            assert_true(r.part[part] >= -1e-9 * r.total);
            sum += r.part[part];
        }
        assert_true(sum == r.total);
        assert_near(r.part[RK_TRAINING_STEPS], r.steps * t.step, 1e-12);
        if (t.host <= 0) {
            const double slowdown =
                rk_failure_slowdown(r.interval, r.blocking, t.restart + r.writing, r.mtbf);
            assert_near(r.total, r.part[RK_TRAINING_STEPS] * slowdown, 1e-9);
        }
        done++;
    }
    assert_true(done > 10000);
}

static void test_no_failures(void **state)
{
    (void)state;
    rk_training t = llama();
    rk_training_result r;
    rk_error err;
    t.failure_rate = 0;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_true(r.goodput == 1 && r.failures == 0 && isinf(r.interval));
    t.interval = 3600;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_near(r.total / r.part[RK_TRAINING_STEPS], 1 + r.writing / 3600, 1e-12);
}

static void test_refusals(void **state)
{
    (void)state;
    rk_training t = llama();
    rk_training_result r;
    rk_error err;
    t.restart = 1e5;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "does not advance"));
    t = llama();
    t.host = 20e9;
    t.interval = 1;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "2.841 s to write, the next starts after 1 s"));
}

/* The assumption with the widest range comes first, and its ends are runs of their own. */
static void test_sensitivity(void **state)
{
    (void)state;
    const rk_training t = llama();
    rk_assumed_range ranges[] = {
        {.what = RK_ASSUMES_STORAGE, .figures = {.low = 0.5, .high = 2}},
        {.what = RK_ASSUMES_STEP, .figures = {.low = 0.9, .high = 1.1}},
        {.what = RK_ASSUMES_RESTART, .figures = {.low = 0.3, .high = 300}}};
    rk_training changed = t;
    rk_training_result r;
    rk_error err;
    rk_training_sensitivity(&t, ranges, 3);
    assert_int_equal(ranges[0].what, RK_ASSUMES_RESTART); /* does not advance at one end */
    assert_true(isinf(ranges[0].figures.high_total_s));
    assert_int_equal(ranges[1].what, RK_ASSUMES_STEP);
    changed.step *= 1.1;
    assert_int_equal(rk_training_run(&changed, &r, &err), RK_OK);
    assert_true(r.total == ranges[1].figures.high_total_s);
    assert_true(ranges[2].figures.low_total_s >
                ranges[2].figures.high_total_s); /* slower storage, longer run */
}

static void test_prices(void **state)
{
    (void)state;
    rk_price_list list;
    rk_error err;
    const rk_hour_price *price = NULL;
    assert_int_equal(rk_price_list_load("published", &list, &err), RK_OK);
    assert_int_equal(rk_price_list_find(&list, "h800-sxm", &price, &err), RK_OK);
    assert_near(2.664e6 * price->price, 5.328e6, 1e-12); /* DeepSeek-V3: 5.328 M$ of pre-training */
    assert_int_equal(rk_price_list_find(&list, "h800", &price, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "--price"));
    assert_near(rk_price_of_purchase(35040, 4 * 365 * DAY), 1, 1e-12);
}

/* Power of a node: constant without knowledge of idle nodes, linear in between otherwise. */
static void test_power(void **state)
{
    (void)state;
    rk_node_power p = rk_node_power_of(700, 1.5, 0.59);
    assert_near(rk_node_power_at(&p, 1), 1050, 1e-12);
    assert_near(rk_node_power_at(&p, 0), 413, 1e-12);
    assert_near(rk_node_power_at(&p, 0.5), (1050 + 413) / 2.0, 1e-12);
    assert_near(p.rest, 350, 1e-12);
    p = rk_node_power_of(700, 1.5, 1.5); /* idle as if busy */
    assert_near(rk_node_power_at(&p, 0), 1050, 1e-12);
    p = rk_node_power_of(700, 1.5, 0.2); /* an idle node draws no less than its hosts */
    assert_near(rk_node_power_at(&p, 0), 350, 1e-12);
    /* BLOOM: 256 MWh of idle nodes in 1,082,990 hours of boards of 400 W. */
    rk_price_list list;
    rk_error err;
    assert_int_equal(rk_price_list_load("published", &list, &err), RK_OK);
    assert_near(14.6e6 / 57 * 1e3 / 1082990 / 400, list.idle_power, 5e-3);
    /* MLPerf, means over training: W of a node with 8 H100 of 700 W, and with 8 B200 of 1,000 W. */
    static const double share[] = {6849. / 5600, 7157. / 5600, 6953. / 5600, 7105. / 5600,
                                   6692. / 5600, 9581. / 8000, 9756. / 8000, 10044. / 8000};
    for (size_t i = 0; i < sizeof(share) / sizeof(share[0]); i++) {
        assert_near(list.node_power, share[i], 0.05);
    }
}

/* Energy and hours: who waits draws less, and spares wait all the time. */
static void test_waiting(void **state)
{
    (void)state;
    rk_training t = llama();
    rk_training_result r;
    rk_error err;
    t.idle_power = 100;
    t.pue = 1;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    const double waiting = r.part[RK_TRAINING_RESTARTS];
    assert_near(r.energy, 16384 * (700 * (r.total - waiting) + 100 * waiting), 1e-12);
    t.spares = 128;
    const double before = r.energy, hours = r.accelerator_hours;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_near(r.energy - before, 128 * 100 * r.total, 1e-9);
    assert_near(r.accelerator_hours / hours, 1 + 128.0 / 16384, 1e-12);
}

/* The start, maintenance windows and silent corruption, by hand and by simulation. */
static void test_stops(void **state)
{
    (void)state;
    rk_training t = llama();
    rk_training_result plain, r;
    rk_error err;
    assert_int_equal(rk_training_run(&t, &plain, &err), RK_OK);
    t.start = 600;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_near(r.total, plain.total + 600 + r.writing, 1e-12);
    t.window = 4 * HOUR;
    t.window_every = 30 * DAY;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    const double stop = 4 * HOUR + 600 + r.writing, windows = r.part[RK_TRAINING_PLANNED] / stop;
    assert_near(plain.total + windows * stop, windows * 30 * DAY, 1e-9); /* one in 30 days */
    assert_near(r.failures, plain.failures, 1e-12);
    t.silent_share = 6.0 / 419;
    t.silent = DAY;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    const double running = r.total - r.part[RK_TRAINING_PLANNED] - r.part[RK_TRAINING_START];
    assert_near(running, plain.total + r.failures * 6.0 / 419 * DAY, 1e-9);
    const rk_simulation s = {
        .work_s = r.part[RK_TRAINING_STEPS],
        .rate = 1 / r.mtbf,
        .interval_s = r.interval,
        .far_cost_s = r.blocking,
        .far_every = 1,
        .window_every = t.window_every,
        .window_s = stop,
        .start_s = r.part[RK_TRAINING_START],
        .cause_count = 2,
        .causes = {{.share = 413.0 / 419, .far_s = 600 + r.writing},
                   {.share = 6.0 / 419, .far_s = 600 + r.writing, .rollback_s = DAY}},
        .spares = -1,
        .runs = 400,
        .seed = 5,
        .threads = 1,
    };
    rk_simulated simulated;
    assert_int_equal(rk_simulate(&s, &simulated, &err), RK_OK);
    /* Windows come whole, and the last may just be missed. */
    assert_true(fabs(simulated.total_s.mean - r.total) <
                4 * simulated.total_s.error + stop + 1e-3 * r.total);
    assert_near(rk_simulation_expected_s(&s), r.total, 1e-3);
    t.window_every = 4 * HOUR;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "maintenance window"));
    t.window_every = 0;
    t.silent = 100 * DAY;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "silent corruption"));
}

/* UT-50, UT-52 and UT-53: energy, and a step and a rate that NVIDIA prints. */
static void test_worked(void **state)
{
    (void)state;
    assert_near(16384 * 54 * 24 * 1275.0 * 1.1 / 1e9, 29.8, 2e-3); /* GWh of nodes */
    assert_near(256 * 8192 * 2.52398e12 / (19.81 * 512) / 1e12, 521.9, 1e-3);
    assert_near(521.9 / 989, 0.528, 1e-3);
    rk_training t = {
        .tokens = 1e12, .tokens_per_step = 105863, .step = 1, .accelerators = 1, .storage = 1};
    rk_training_result r;
    rk_error err;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_near(r.total / DAY, 109.33, 1e-4);
    /* Llama 4 Scout, model card: 5.0 M hours of 700 W are 1,354 t, so 387 g per kWh. */
    t = (rk_training){.tokens = 5000 * 3600.0,
                      .tokens_per_step = 1,
                      .step = 1,
                      .accelerators = 1000,
                      .storage = 1,
                      .power = 700,
                      .idle_power = 700,
                      .pue = 1,
                      .carbon = 387};
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_near(r.accelerator_hours, 5e6, 1e-9);
    assert_near(r.carbon, 1354e3, 1e-3);
}

/* Documented clusters with their own figures: goodput and what checkpoints take, within 20 %. */
static void test_documented(void **state)
{
    (void)state;
    rk_training_result r;
    rk_error err;
    rk_training t = llama(); /* "over 90 %" */
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_near(r.goodput, 0.9, 0.2);
    assert_near(54 * DAY / r.mtbf, 419, 0.2);
    /* BLOOM: 2.3 TB in 40 s each three hours, 0.4 % of the time; a GPU a week. */
    t = (rk_training){
        .tokens = 95151,
        .tokens_per_step = 1,
        .step = 105.2,
        .accelerators = 384,
        .failure_rate = 17 / (118.24 * DAY * 384),
        .restart = 600,
        .checkpoint = 2.3e12,
        .storage = 57.5e9,
        .interval = 3 * HOUR,
    };
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_near(r.part[RK_TRAINING_CHECKPOINTS] / r.total, 0.004, 0.2);
    assert_near(r.failures, 17, 0.2);
    assert_near(r.goodput, 0.908, 0.2);
    /* ByteRobust, 9,600 accelerators: 97 %, with standbys and copies that cost below 0.9 %. */
    assert_int_equal(rk_training_usual(9600, &t, &err), RK_OK);
    t.tokens = 1e6;
    t.tokens_per_step = 1;
    t.step = 10;
    t.restart = 240;
    t.checkpoint = 14 * 4e11;
    t.host = 1e10;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_near(r.goodput, 0.97, 0.02);
    assert_true(r.part[RK_TRAINING_CHECKPOINTS] / r.total < 0.009);
}

/* 100,000 accelerators at 0.8 a day per 1,000: 44 % with stalls of 10 min, 80 % with 3 published.
 */
static void test_hundred_thousand(void **state)
{
    (void)state;
    rk_training t = {
        .tokens = 1e6,
        .tokens_per_step = 1,
        .step = 1,
        .accelerators = 1e5,
        .failure_rate = 0.8e-3 / DAY,
        .restart = 600,
        .storage = 1,
    };
    rk_training_result r;
    rk_error err;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_near(r.goodput_first, 0.44, 0.01);
    assert_near(r.goodput, exp(-600 / r.mtbf), 1e-3); /* restarts that fail, too: 57 % */
    t.restart = 180;
    assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
    assert_near(r.goodput_first, 0.83, 0.01);
    assert_near(r.goodput_first, 0.80, 0.05);
}

/* Near copies make restarts cheap; the simulation agrees; parts add up. */
static void test_near_copies(void **state)
{
    (void)state;
    rk_training t = llama();
    rk_training_result far, near;
    rk_error err;
    t.storage = 1e11; /* 57 s a checkpoint */
    assert_int_equal(rk_training_run(&t, &far, &err), RK_OK);
    t.near_write = t.near_read = 1;
    t.near_share = 0.9;
    assert_int_equal(rk_training_run(&t, &near, &err), RK_OK);
    assert_true(near.goodput > far.goodput && near.far_every > 1 && near.interval < far.interval);
    double sum = 0;
    for (int i = 0; i < RK_TRAINING_PART_COUNT; i++) {
        assert_true(near.part[i] >= 0);
        sum += near.part[i];
    }
    assert_near(sum, near.total, 1e-12);
    const rk_simulation s = {
        .work_s = near.part[RK_TRAINING_STEPS],
        .rate = 1 / near.mtbf,
        .interval_s = near.interval,
        .near_cost_s = t.near_write,
        .far_cost_s = near.blocking,
        .far_every = near.far_every,
        .cause_count = 2,
        .causes = {{.share = 0.9, .near = true, .near_s = 601, .far_s = 600 + near.writing},
                   {.share = 0.1, .far_s = 600 + near.writing}},
        .spares = -1,
        .runs = 200,
        .seed = 3,
        .threads = 1,
    };
    rk_simulated simulated;
    assert_int_equal(rk_simulate(&s, &simulated, &err), RK_OK);
    assert_true(fabs(simulated.total_s.mean - near.total) <
                4 * simulated.total_s.error + 1e-3 * near.total);
    t.planned_share = 0.1;
    assert_int_equal(rk_training_run(&t, &far, &err), RK_OK);
    assert_near(far.total / near.total, 1 + 0.1 / near.mtbf * (600 + near.writing), 1e-9);
}

/* Tiers of storage: UT-49, and BLOOM's 2.3 TB in 40 s. */
static void test_storage(void **state)
{
    (void)state;
    rk_storage storage;
    rk_error err;
    assert_int_equal(rk_storage_load("published", &storage, &err), RK_OK);
    const rk_storage_tier *tier = rk_storage_find(&storage, "parallel-fs", &err);
    assert_non_null(tier);
    const double bytes = 14 * 405.85e9;
    assert_near(bytes, 5.68e12, 1e-3);
    assert_near(bytes / 16384, 347e6, 1e-3);
    assert_near(rk_storage_time_s(tier, bytes, 16384, 8) - tier->latency_s, 2.84, 2e-3);
    rk_storage_tier bloom = {.per = RK_PER_SYSTEM, .bandwidth = 57.5e9, .capacity = 3e12};
    assert_near(rk_storage_time_s(&bloom, 2.3e12, 384, 8), 40, 1e-12);
    assert_true(rk_storage_holds(&bloom, 2.3e12, 1, 384, 8));
    assert_false(rk_storage_holds(&bloom, 2.3e12, 2, 384, 8));
    const rk_storage_tier local = {.per = RK_PER_NODE, .capacity = 1e12}; /* 48 of them */
    assert_true(rk_storage_holds(&local, 2.3e13, 2, 384, 8));
    assert_false(rk_storage_holds(&local, 2.5e13, 2, 384, 8));
    assert_null(rk_storage_find(&storage, "tape", &err));
    assert_non_null(strstr(err.message, "it has host, peer-host"));
}

/* ---- a twin ---------------------------------------------------------------------------------- */

/* Time from a failure to the next step: restarts fail like anything else. */
static double restarted(double restart, double mtbf, uint64_t *random)
{
    double time = 0, failure;
    while ((failure = -mtbf * log(draw(random))) < restart) {
        time += failure;
    }
    return time + restart;
}

/*
 * Wall time of so many segments of `need` s.  A failure within the `writing` s after a checkpoint
 * finds it unwritten, and its segment is done again as well.
 */
static double time_of(int segments, double need, double writing, double restart, double mtbf,
                      uint64_t *random)
{
    double time = 0;
    bool unwritten = false;
    for (int done = 0; done < segments;) {
        const double failure = -mtbf * log(draw(random));
        if (failure >= need) {
            time += need;
            done++;
            unwritten = true;
            continue;
        }
        done -= unwritten && failure < writing;
        unwritten = false;
        time += failure + restarted(restart, mtbf, random);
    }
    return time;
}

/* Failures that happen give what is expected, within the noise of so many segments. */
static void test_twin(void **state)
{
    (void)state;
    enum { SEGMENTS = 200000 };
    static const double restarts[] = {60, 600, 5000}, hosts[] = {0, 20e9};
    uint64_t random = 7;
    for (size_t i = 0; i < 6; i++) {
        rk_training t = llama();
        rk_training_result r;
        rk_error err;
        t.restart = restarts[i / 2];
        t.host = hosts[i % 2];
        t.interval = 1800;
        t.storage = 1e10; /* checkpoints of 568 s */
        assert_int_equal(rk_training_run(&t, &r, &err), RK_OK);
        const double time = time_of(SEGMENTS, t.interval + r.blocking, t.host > 0 ? r.writing : 0,
                                    t.restart + r.writing, r.mtbf, &random);
        assert_near(time / (SEGMENTS * t.interval), r.total / r.part[RK_TRAINING_STEPS], 0.01);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intervals),  cmocka_unit_test(test_published),
        cmocka_unit_test(test_identities), cmocka_unit_test(test_no_failures),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_sensitivity),
        cmocka_unit_test(test_prices),     cmocka_unit_test(test_worked),
        cmocka_unit_test(test_power),      cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_stops),      cmocka_unit_test(test_near_copies),
        cmocka_unit_test(test_documented), cmocka_unit_test(test_hundred_thousand),
        cmocka_unit_test(test_storage),    cmocka_unit_test(test_twin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
