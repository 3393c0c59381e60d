/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter servers: published cases, limits, and a simulation of asynchronous workers. */
#include "comm/parameter_server.h"

#include "check.h"

#include <stdlib.h>

/* UT-40: 32 machines and 8 without accelerators, 1 GB at 12.5 GB/s: 0.12557 s; all-reduce 0.155. */
static void test_mixed(void **state)
{
    (void)state;
    assert_close(rk_parameter_server_mixed_seconds(32, 8, 1e9, 12.5e9), 0.12557, 1e-4);
    assert_close(rk_parameter_server_mixed_seconds(32, 0, 1e9, 12.5e9), 0.155, 1e-12);
    assert_close(rk_parameter_server_mixed_seconds(32, 32, 1e9, 12.5e9), 1e9 / 12.5e9, 1e-12);
    for (double k = 0; k < 32; k++) { /* more machines are never slower */
        assert_true(rk_parameter_server_mixed_seconds(32, k + 1, 1e9, 12.5e9) <
                    rk_parameter_server_mixed_seconds(32, k, 1e9, 12.5e9));
    }
}

static void test_synchronous(void **state)
{
    rk_parameter_servers s = {.workers = 8,
                              .servers = 2,
                              .bytes = 1e9,
                              .worker_bandwidth = 10e9,
                              .server_bandwidth = 10e9};
    (void)state;
    assert_close(rk_parameter_server_seconds(&s), 0.4, 1e-12); /* the servers' links */
    s.servers = 8;
    assert_close(rk_parameter_server_seconds(&s), 0.1, 1e-12); /* the workers' */
    s.half_duplex = true;
    s.latency = 1e-3;
    assert_close(rk_parameter_server_seconds(&s), 0.201, 1e-12);
}

/*
 * Workers that compute, then push and pull over links of their own, while the servers' links hand
 * out turns in order of arrival: updates per second after a long time.
 */
static double simulate(const rk_parameter_servers *s, double compute_s, int updates)
{
    const int workers = (int)s->workers;
    const double turn = s->bytes / (s->servers * s->server_bandwidth);
    double *ready = calloc((size_t)workers, sizeof(*ready)); /* its gradients are at the servers */
    double served = 0;
    assert_non_null(ready);
    for (int i = 0; i < workers; i++) {
        ready[i] = compute_s + compute_s * i / workers;
    }
    for (int n = 0; n < updates; n++) {
        int next = 0;
        for (int i = 1; i < workers; i++) {
            next = ready[i] < ready[next] ? i : next;
        }
        served = fmax(served, ready[next]) + turn;
        const double own = s->latency + 2 * s->bytes / s->worker_bandwidth;
        ready[next] = fmax(served, ready[next] + own) + compute_s;
    }
    free(ready);
    return updates / served;
}

static void test_asynchronous(void **state)
{
    rk_parameter_servers s = {.workers = 8,
                              .servers = 4,
                              .bytes = 1e9,
                              .worker_bandwidth = 10e9,
                              .server_bandwidth = 40e9};
    (void)state;
    for (double compute = 0.01; compute < 10; compute *= 2) {
        assert_close(rk_parameter_server_async_rate(&s, compute), simulate(&s, compute, 20000),
                     0.01);
    }
    /* with few servers their links bind, however fast workers compute */
    s.servers = 1;
    s.workers = 16;
    assert_close(rk_parameter_server_async_rate(&s, 1e-6), 40, 1e-12);
    assert_close(simulate(&s, 1e-6, 20000), 40, 0.01);
}

/* Sites that average every H steps, step by step. */
static void test_outer_steps(void **state)
{
    (void)state;
    for (int every = 1; every <= 500; every *= 5) {
        const double step = 2, sync = 300;
        double waits = 0, computed = 0,
               sent = 0; /* clocks: waiting sites; overlapped sites, link */
        const int rounds = 200;
        for (int i = 0; i < rounds; i++) {
            waits += every * step + sync;
            computed = fmax(computed + every * step, sent); /* the average before has arrived */
            sent = computed + sync;
        }
        assert_close(rk_outer_step_seconds(step, sync, every, false), waits / rounds / every,
                     1e-12);
        assert_close(rk_outer_step_seconds(step, sync, every, true), computed / rounds / every,
                     0.01);
    }
}

static void test_staleness(void **state)
{
    (void)state;
    assert_close(rk_parameter_server_staleness(16, -1), 15, 1e-12);
    assert_close(rk_parameter_server_staleness(16, 0), 0, 0);
    assert_close(rk_parameter_server_staleness(16, 4), 15, 1e-12);
    assert_close(rk_staleness_steps(15, 0.02), 1.3, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixed),        cmocka_unit_test(test_synchronous),
        cmocka_unit_test(test_asynchronous), cmocka_unit_test(test_staleness),
        cmocka_unit_test(test_outer_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
