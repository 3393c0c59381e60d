/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of interruptions, counts, spares, stragglers and levels of checkpoints. */
#include "run/reliability.h"
#include "base/units.h"
#include "run/checkpoint.h"
#include "run/stragglers.h"

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

static rk_reliability published(void)
{
    rk_reliability reliability;
    rk_error err;
    assert_int_equal(rk_reliability_load("published", &reliability, &err), RK_OK);
    return reliability;
}

/* ---- rates --------------------------------------------------------------------------------- */

/* Model specification 7.4 and the rates of single clusters. */
static void test_rates(void **state)
{
    (void)state;
    const rk_reliability r = published();
    const rk_cluster_record *llama = &r.clusters[0];
    double events = 0;
    assert_string_equal(llama->name, "Llama 3 405B");
    assert_near(llama->days * 24 / llama->interruptions, 3.093, 1e-3);
    assert_near(llama->days * 24 * llama->accelerators / llama->interruptions, 50677, 1e-4);
    for (int i = 0; i < r.component_count; i++) {
        events += r.components[i].events;
    }
    assert_near(events, 419, 0);
    assert_near(r.components[0].events / (llama->accelerators * llama->days) * 1000, 0.1673, 1e-3);
    /* The usual rate lies between the two research clusters, which have the same parts. */
    assert_true(r.rate * DAY * 1000 > 0.293 && r.rate * DAY * 1000 < 0.813);
    assert_true(rk_reliability_one_node_share(&r) >= 0.9);
    assert_true(rk_reliability_hardware_share(&r) > 0.8);
    /* Stalls of 10 and 3 minutes; a hang takes longer to notice. */
    assert_in_range((uint64_t)rk_reliability_stall_s(&r, false), 600, 720);
    assert_in_range((uint64_t)rk_reliability_stall_s(&r, true), 180, 300);
    /* Without any event nothing has a share: a failure that is noticed and followed by a restart.
     */
    const rk_reliability none = {.detect_s = 60, .hang_s = 1800, .restart_s = 540};
    assert_true(rk_reliability_stall_s(&none, false) == 600);
    assert_true(rk_reliability_one_node_share(&none) == 0 &&
                rk_reliability_silent_share(&none) == 0);
}

/* Mean time between interruptions, UT-47. */
static void test_research_cluster(void **state)
{
    (void)state;
    const rk_reliability r = published();
    const double rate = 6.5e-3 / 24; /* per node and hour */
    assert_near(1 / (2048 * rate), 1.803, 1e-3);
    assert_near(1 / (16384 * rate), 0.2254, 1e-3);
    assert_near(r.clusters[1].interruptions / (r.clusters[1].accelerators / 8) / r.clusters[1].days,
                6.5e-3, 1e-3);
}

/*
 * The count of a cluster lies within the 10th and 90th percentile of what the others predict: for
 * five of six, as one expects of 80 %.
 */
static void test_observed_counts(void **state)
{
    (void)state;
    const rk_reliability r = published();
    int inside = 0, counted = 0;
    for (int i = 0; i < r.cluster_count; i++) {
        const rk_cluster_record *c = &r.clusters[i];
        double rate, spread;
        if (!c->counted) {
            continue;
        }
        (void)rk_reliability_pool(&r, i, &rate, &spread);
        const double mean = rate * c->accelerators * c->days * DAY;
        const double low = rk_interruptions_quantile(mean, spread, 0.1);
        const double high = rk_interruptions_quantile(mean, spread, 0.9);
        assert_true(low <= mean && mean <= high);
        inside += c->interruptions >= low && c->interruptions <= high;
        counted++;
        /* With all of them in the rate, each lies inside. */
        const double all = r.rate * c->accelerators * c->days * DAY;
        assert_true(c->interruptions >= rk_interruptions_quantile(all, r.spread, 0.1));
        assert_true(c->interruptions <= rk_interruptions_quantile(all, r.spread, 0.9));
    }
    assert_int_equal(counted, 6);
    assert_int_equal(inside, 5);
}

/* ---- counts -------------------------------------------------------------------------------- */

static void test_poisson(void **state)
{
    (void)state;
    static const double means[] = {0.01, 0.5, 3, 20, 250};
    for (size_t i = 0; i < COUNT(means); i++) {
        double term = exp(-means[i]), sum = 0;
        for (int k = 0; k < 400; k++) {
            sum += term;
            term *= means[i] / (k + 1);
            assert_true(fabs(rk_poisson_at_most(k, means[i]) - sum) < 1e-11);
        }
    }
    assert_true(rk_poisson_at_most(-1, 3) == 0 && rk_poisson_at_most(0, 0) == 1);
    /* Large means are normal. */
    assert_true(fabs(rk_poisson_at_most(1e6, 1e6) - 0.5) < 1e-3);
    assert_near(rk_normal_quantile(0.975), 1.959963985, 1e-9);
    assert_true(fabs(rk_normal_quantile(0.5)) < 1e-12);
}

static void test_quantiles(void **state)
{
    (void)state;
    for (double mean = 0.3; mean < 1e5; mean *= 7) {
        for (double share = 0.05; share < 1; share += 0.15) {
            const double count = rk_interruptions_quantile(mean, 0, share);
            assert_true(rk_poisson_at_most(count, mean) >= share);
            assert_true(rk_poisson_at_most(count - 1, mean) < share);
        }
        assert_true(rk_interruptions_quantile(mean, 1, 0.9) >=
                    rk_interruptions_quantile(mean, 0, 0.9));
    }
    /* Counts of a large cluster follow the rate: its 90th percentile is e^(1.2816 spread). */
    assert_near(rk_interruptions_quantile(1e6, 0.5, 0.9), 1e6 * exp(1.28155 * 0.5), 2e-3);
    assert_near(rk_interruptions_quantile(0, 0.5, 0.9), 0, 0);
}

/* Nodes in repair are Poisson: 1,024 nodes of 8 with 0.5 a day per 1,000 accelerators. */
static void test_spares(void **state)
{
    (void)state;
    const double rate = 0.5 * 8 / 1000 / DAY;
    const double spares = rk_spares_needed(1024, rate, DAY, 0.99);
    assert_near(spares, 9, 0); /* mean 4.096: P(9) = 0.9905, P(8) = 0.9756 */
    assert_near(1 - rk_poisson_at_most(8, 4.096), 0.02436, 1e-3);
    assert_near(rk_spares_needed(1024, rate, 0, 0.99), 0, 0);
}

/* ---- stragglers ---------------------------------------------------------------------------- */

/* Model specification 7.6 and UT-51. */
static void test_stragglers(void **state)
{
    (void)state;
    static const struct {
        double workers, kappa;
    } known[] = {{8, 1.4236}, {64, 2.3437}, {512, 3.0439}, {2048, 3.4418}, {16384, 3.9714}};
    assert_true(fabs(rk_straggler_kappa(1)) < 1e-12);
    assert_near(rk_straggler_kappa(2), 1 / sqrt(3.14159265358979), 1e-9);
    for (size_t i = 0; i < COUNT(known); i++) {
        assert_near(rk_straggler_kappa(known[i].workers), known[i].kappa, 3e-5);
    }
    assert_near(rk_straggler_barriers(512, 0.01, 1), 1.030, 1e-3);
    assert_near(rk_straggler_barriers(2048, 0.01, 1), 1.034, 1e-3);
    assert_near(rk_straggler_barriers(16384, 0.01, 1), 1.040, 1e-3);
    assert_near(rk_straggler_barriers(512, 0.01, 4), 1 + 0.02 * 3.0439, 1e-4);
    assert_near(rk_straggler_persistent(1, 0.005, 0.1), 1.0005, 1e-12);
    assert_near(rk_straggler_persistent(1e5, 0.005, 0.1), 1.1, 1e-9);
}

/* ---- checkpoints --------------------------------------------------------------------------- */

/* The worked examples of the first-order law. */
static void test_effective_share(void **state)
{
    (void)state;
    const double mtbf = DAY / (1500 * 6.5e-3);
    const double ten = rk_checkpoint_young(10, mtbf), long_ = rk_checkpoint_young(300, mtbf);
    assert_near(mtbf / 60, 147.7, 1e-3);
    assert_near(ten / 60, 7.02, 1e-3);
    assert_near(long_ / 60, 38.4, 1e-3);
    assert_near(rk_effective_share(ten, 10, 300, mtbf), 0.9205, 1e-3);
    assert_near(rk_effective_share(long_, 300, 300, mtbf), 0.740, 1e-3);
    /* 100,000 accelerators, 0.8 a day per 1,000 of them: stalls of 10 and 3 minutes. */
    const double large = DAY / (100 * 0.8);
    assert_near(rk_effective_share(0, 0, 600, large), 0.444, 2e-3);
    assert_near(rk_effective_share(0, 0, 180, large), 0.833, 2e-3);
    assert_true(rk_effective_share(0, 0, 2e4, large) == 0);
}

static rk_checkpoint_levels any_levels(uint64_t *random)
{
    return (rk_checkpoint_levels){
        .mtbf_s = between(random, 600, 1e6),
        .near_share = draw(random),
        .near_cost_s = between(random, 0.1, 20),
        .far_cost_s = between(random, 1, 300),
        .near_restart_s = between(random, 10, 600),
        .far_restart_s = between(random, 100, 1800),
        .interval_s = between(random, 30, 3000),
        .far_every = floor(between(random, 1, 30)),
    };
}

/*
 * Lost share of the time to the first order (Moody et al. 2010):
 * near_cost/interval + far_cost/(far_every interval) + sum_j rate_j (interval_j/2 + restart_j).
 */
static double first_order_waste(const rk_checkpoint_levels *l)
{
    const double near = l->near_share * (l->interval_s / 2 + l->near_restart_s);
    const double far = (1 - l->near_share) * (l->far_every * l->interval_s / 2 + l->far_restart_s);
    return l->near_cost_s / l->interval_s + l->far_cost_s / (l->far_every * l->interval_s) +
           (near + far) / l->mtbf_s;
}

static void test_levels_identities(void **state)
{
    (void)state;
    uint64_t random = 11;
    for (int i = 0; i < 2000; i++) {
        rk_checkpoint_levels l = any_levels(&random);
        const double slowdown = rk_checkpoint_levels_slowdown(&l);
        assert_true(slowdown > 1);
        /* Rare interruptions: the first order. */
        rk_checkpoint_levels rare = l;
        rare.mtbf_s = 1e9;
        assert_near(rk_checkpoint_levels_slowdown(&rare), 1 + first_order_waste(&rare), 1e-3);
        rare.mtbf_s = HUGE_VAL;
        assert_near(rk_checkpoint_levels_slowdown(&rare),
                    1 + l.near_cost_s / l.interval_s + l.far_cost_s / l.far_every / l.interval_s,
                    1e-12);
        /* One level: Daly. */
        rk_checkpoint_levels one = l;
        one.near_share = one.near_cost_s = 0;
        one.far_every = 1;
        assert_near(rk_checkpoint_levels_slowdown(&one),
                    rk_failure_slowdown(l.interval_s, l.far_cost_s, l.far_restart_s, l.mtbf_s),
                    1e-9);
        /* A near copy that is never usable is lost work. */
        one = l;
        one.near_share = 0;
        assert_near(rk_checkpoint_levels_slowdown(&one),
                    rk_failure_slowdown(l.far_every * l.interval_s,
                                        l.far_every * l.near_cost_s + l.far_cost_s, l.far_restart_s,
                                        l.mtbf_s),
                    1e-9);
    }
}

/* No other interval or number of near copies is better. */
static void test_levels_best(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int i = 0; i < 50; i++) {
        rk_checkpoint_levels l = any_levels(&random);
        l.mtbf_s = between(&random, 3600, 1e6);
        rk_checkpoint_levels_best(&l, 1, 1000);
        const double best = rk_checkpoint_levels_slowdown(&l);
        for (int j = 0; j < 200; j++) {
            rk_checkpoint_levels other = l;
            other.interval_s = fmax(1, l.interval_s * between(&random, 0.5, 2));
            other.far_every = fmax(1, floor(l.far_every * between(&random, 0.5, 2)));
            assert_true(rk_checkpoint_levels_slowdown(&other) >= best * (1 - 1e-3));
        }
    }
    rk_checkpoint_levels daly = {.mtbf_s = 3.093 * HOUR, .far_cost_s = 60, .far_restart_s = 600};
    rk_checkpoint_levels_best(&daly, 1, 1);
    assert_near(daly.interval_s, rk_checkpoint_daly(60, 3.093 * HOUR), 0.01);
}

/* ---- documents ----------------------------------------------------------------------------- */

static void test_refusals(void **state)
{
    (void)state;
    rk_reliability reliability;
    rk_error err;
    assert_int_equal(rk_reliability_load("publish", &reliability, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "did you mean \"published\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_research_cluster),
        cmocka_unit_test(test_observed_counts),
        cmocka_unit_test(test_poisson),
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_spares),
        cmocka_unit_test(test_stragglers),
        cmocka_unit_test(test_effective_share),
        cmocka_unit_test(test_levels_identities),
        cmocka_unit_test(test_levels_best),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
