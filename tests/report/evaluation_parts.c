/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of time and memory add up to what the evaluation says, for every kind of mapping. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "calculon/calculon_parts.h"

#define TOLERANCE 1e-12

typedef struct tally {
    rk_calculon_app app;
    rk_calculon_sys sys;
    uint64_t evaluated, offloaded, recomputed;
} tally;

static bool close_to(double a, double b)
{
    return fabs(a - b) <= TOLERANCE * fabs(b);
}

static bool check(void *user, uint64_t index, const rk_calculon_exe *exe)
{
    (void)index;
    tally *t = user;
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    rk_error err;
    rk_calculon_time_part times[RK_CALCULON_TIME_PARTS];
    rk_calculon_memory_part memories[RK_CALCULON_MEMORY_PARTS];
    double seconds = 0, tier1 = 0, tier2 = 0;
    assert_int_equal(
        rk_calculon_evaluate(&t->app, &t->sys, exe, &stats, NULL, NULL, &verdict, &err), RK_OK);
    if (verdict.verdict != RK_FITS) {
        return true;
    }
    rk_calculon_time_parts(&stats, times);
    rk_calculon_memory_parts(exe, &stats, memories);
    for (int i = 0; i < RK_CALCULON_TIME_PARTS; i++) {
        assert_true(times[i].seconds >= 0);
        seconds += times[i].seconds;
    }
    for (int i = 0; i < RK_CALCULON_MEMORY_PARTS; i++) {
        assert_true(memories[i].tier1 >= 0 && memories[i].tier2 >= 0);
        tier1 += memories[i].tier1;
        tier2 += memories[i].tier2;
    }
    assert_true(close_to(seconds, stats.total_time));
    assert_true(close_to(tier1, stats.proc_mem_tier1_cap_req));
    assert_true(close_to(tier2, stats.proc_mem_tier2_cap_req));
    t->evaluated++;
    t->offloaded += tier2 > 0;
    t->recomputed += exe->activation_recompute == RK_RECOMPUTE_FULL;
    return true;
}

static void test_parts_add_up(void **state)
{
    (void)state;
    const rk_calculon_space space = {.num_procs = 12,
                                     .max_batch_size = 6,
                                     .datatype = RK_FLOAT16,
                                     .fused_count = 1,
                                     .fused = {true}};
    tally t = {.evaluated = 0};
    rk_error err;
    assert_int_equal(rk_calculon_app_load("megatron-126M", false, &t.app, &err), RK_OK);
    assert_int_equal(rk_calculon_sys_load("a100_80g", false, &t.sys, &err), RK_OK);
    assert_int_equal(rk_calculon_space_each(&t.app, &t.sys, &space, check, &t, &err), RK_OK);
    assert_true(t.evaluated > 1000);
    assert_true(t.offloaded > 0 && t.offloaded < t.evaluated);
    assert_true(t.recomputed > 0 && t.recomputed < t.evaluated);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts_add_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
