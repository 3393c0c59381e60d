/* SPDX-License-Identifier: Apache-2.0 */
/* What a number of a machine is worth, against exhaustive searches on machines changed by hand. */
#include "codesign/machine_sensitivity.h"
#include "base/units.h"
#include "layer/model_load.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const rk_number_effect *find(const rk_number_effect *replans, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(replans[i].number.key, key) == 0) {
            return &replans[i];
        }
    }
    return NULL;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* A changed number is reported as changed, and no other number with it. */
static void test_calculon_numbers(void **state)
{
    rk_calculon_sys sys;
    rk_number before[RK_NUMBER_MAX], after[RK_NUMBER_MAX];
    rk_error err;
    (void)state;
    assert_int_equal(rk_calculon_sys_load("h100-3tier", false, &sys, &err), RK_OK);
    const size_t count = rk_calculon_numbers(&sys, RK_FLOAT8, before);
    assert_int_equal(count, 7 + 2 * 3);
    for (size_t i = 0; i < count; i++) {
        rk_calculon_sys changed = sys;
        const double value = rk_number_changed(&before[i], 0.5);
        rk_calculon_set_number(&changed, &before[i], value);
        assert_int_equal(rk_calculon_numbers(&changed, RK_FLOAT8, after), count);
        for (size_t j = 0; j < count; j++) {
            assert_string_equal(after[j].key, before[j].key);
            assert_true(fabs(after[j].value - (i == j ? value : before[j].value)) <=
                        1e-12 * before[j].value);
        }
    }
}

static void test_system_numbers(void **state)
{
    static const char *const names[] = {"dgx-h100-superpod", "gb200-nvl72-pod", "tpu-v5p-pod"};
    (void)state;
    for (size_t s = 0; s < sizeof(names) / sizeof(names[0]); s++) {
        rk_system system;
        rk_number before[RK_NUMBER_MAX], after[RK_NUMBER_MAX];
        rk_error err;
        if (rk_system_load(names[s], &system, &err)) {
            continue;
        }
        const size_t count = rk_system_numbers(&system, RK_BF16, before);
        for (size_t i = 0; i < count; i++) {
            rk_system changed = system;
            const double value = rk_number_changed(&before[i], 0.25);
            rk_system_set_number(&changed, &before[i], value);
            assert_int_equal(rk_system_check(&changed, &err), RK_OK);
            assert_int_equal(rk_system_numbers(&changed, RK_BF16, after), count);
            for (size_t j = 0; j < count; j++) {
                assert_true(fabs(after[j].value - (i == j ? value : before[j].value)) <=
                            1e-12 * before[j].value);
            }
        }
    }
}

/* A time gets better by getting less; domains double and halve. */
static void test_changed(void **state)
{
    const rk_number rate = {.kind = RK_NUMBER_TIER_RATE, .value = 50};
    const rk_number latency = {.kind = RK_NUMBER_TIER_LATENCY, .value = 20, .lower = true};
    const rk_number domain = {.kind = RK_NUMBER_DOMAIN, .value = 6};
    const rk_number odd = {.kind = RK_NUMBER_DOMAIN, .value = 9};
    (void)state;
    assert_true(fabs(rk_number_changed(&rate, 0.1) - 55) < 1e-9);
    assert_true(fabs(rk_number_changed(&rate, -0.1) - 45) < 1e-9);
    assert_true(fabs(rk_number_changed(&latency, 0.1) - 18) < 1e-9);
    assert_true(fabs(rk_number_changed(&latency, -0.1) - 22) < 1e-9);
    assert_true(rk_number_changed(&domain, 0.1) == 12);
    assert_true(rk_number_changed(&domain, -0.1) == 3);
    assert_true(rk_number_changed(&odd, -0.1) == 0);
}

/* ---- the Calculon methodology -------------------------------------------------------------- */

static void compare_calculon(double change, const char *key)
{
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_calculon_ranked best, again;
    rk_search_counts counts;
    rk_bounded_counts bounded;
    rk_number_effect replans[RK_NUMBER_MAX];
    rk_calculon_stats stats;
    rk_calculon_verdict verdict;
    rk_error err;
    size_t found, count;
    assert_int_equal(rk_calculon_app_load("gpt3-175B", false, &app, &err), RK_OK);
    assert_int_equal(rk_calculon_sys_load("h100-80g-off512g50-nvl8", false, &sys, &err), RK_OK);
    sys.mem1.capacity = 24 * GIB;
    sys.mem2.capacity = 128 * GIB;
    const rk_calculon_space space = {.num_procs = 128,
                                     .max_batch_size = 256,
                                     .datatype = RK_FLOAT8,
                                     .fused_count = 1,
                                     .fused = {true}};
    assert_int_equal(rk_calculon_search(&app, &sys, &space, NULL, 1, &best, &found, &counts, &err),
                     RK_OK);
    assert_int_equal(found, 1);
    const rk_problem problem = {.method = &rk_method_calculon, .calculon = {app, sys, space}};
    const rk_candidate now = {.exe = best.exe};
    assert_int_equal(rk_replan_all(&problem, NULL, change, &now, replans, &count, &bounded, &err),
                     RK_OK);
    assert_int_equal(count, 11);
    for (size_t i = 0; i < count; i++) {
        rk_calculon_sys changed = sys;
        const rk_number_effect *r = &replans[i];
        rk_calculon_set_number(&changed, &r->number, r->value);
        assert_int_equal(
            rk_calculon_search(&app, &changed, &space, NULL, 1, &again, &found, &counts, &err),
            RK_OK);
        assert_int_equal(found, 1);
        assert_true(fabs(r->best.rate - again.sample_rate) <= 1.01e-4 * again.sample_rate);
        assert_int_equal(
            rk_calculon_evaluate(&app, &changed, &best.exe, &stats, NULL, NULL, &verdict, &err),
            RK_OK);
        assert_true(r->old_rate == (verdict.verdict == RK_FITS ? stats.sample_rate : 0));
        assert_true(r->best.rate >= r->old_rate);
        assert_true(i == 0 || r->best.rate <= replans[i - 1].best.rate);
    }
    /* a second search beats pricing again somewhere, or this shows nothing */
    const rk_number_effect *larger = find(replans, count, key);
    assert_non_null(larger);
    assert_true(larger->best.rate > larger->old_rate * 1.001);
}

static void test_calculon_replan(void **state)
{
    (void)state;
    compare_calculon(0.25, "memory_GiB");
    compare_calculon(-0.25, "memory_GiB");
}

/* ---- the reckon model ---------------------------------------------------------------------- */

/* Replans with each number changed, against an exhaustive search of each changed system. */
static void compare_plans(double change)
{
    rk_model model;
    rk_system system;
    rk_stack stack;
    rk_planned_strategy best, again;
    rk_plan_counts counts;
    rk_bounded_counts bounded;
    rk_number_effect replans[RK_NUMBER_MAX];
    rk_error err;
    size_t found, count;
    assert_int_equal(rk_model_load("llama3-70b", &model, &err), RK_OK);
    assert_int_equal(rk_system_load("dgx-h100-superpod", &system, &err), RK_OK);
    assert_int_equal(rk_stack_load("megatron-2025", &stack, &err), RK_OK);
    system.accelerator.memory_usable = 34 * GIB;
    rk_plan_space space = rk_plan_space_defaults(&model, &system, 64, 128);
    space.offloads = RK_PLAN_NO_OFFLOAD;
    const rk_problem problem = {
        .method = &rk_method_reckon,
        .reckon = {.inputs = {.model = model, .system = system, .software = {.stack = stack}},
                   .space = space}};
    assert_int_equal(rk_plan_search(&model, &system, &stack, &space, NULL, 1, &best, &found, NULL,
                                    &counts, &err),
                     RK_OK);
    assert_int_equal(found, 1);
    const rk_candidate now = {.strategy = best.strategy};
    assert_int_equal(rk_replan_all(&problem, NULL, change, &now, replans, &count, &bounded, &err),
                     RK_OK);
    assert_int_equal(count, 11);
    for (size_t i = 0; i < count; i++) {
        rk_system changed = system;
        const rk_number_effect *r = &replans[i];
        rk_system_set_number(&changed, &r->number, r->value);
        assert_int_equal(rk_plan_search(&model, &changed, &stack, &space, NULL, 1, &again, &found,
                                        NULL, &counts, &err),
                         RK_OK);
        assert_int_equal(found, 1);
        assert_true(fabs(r->best.step - again.estimate.step) <= 1.01e-4 * again.estimate.step);
        assert_true(r->best.rate >= r->old_rate);
    }
    if (change < 0.25) { /* nothing that fits then is faster */
        return;
    }
    const rk_number_effect *memory = find(replans, count, "memory_GiB");
    assert_non_null(memory);
    assert_true(memory->best.rate > memory->old_rate * 1.001);
    assert_true(memory->best.strategy.tp != best.strategy.tp ||
                memory->best.strategy.pp != best.strategy.pp ||
                memory->best.strategy.recompute != best.strategy.recompute ||
                memory->best.strategy.recompute_modules != best.strategy.recompute_modules ||
                memory->best.strategy.recompute_layers != best.strategy.recompute_layers ||
                memory->best.strategy.micro_batch != best.strategy.micro_batch ||
                memory->best.strategy.sharding != best.strategy.sharding);
}

/* The last report of the searches together, and how many there were. */
struct told {
    uint64_t done;
    int times;
};

/* Stops the searches the third time. */
static bool tell(void *user, uint64_t done, uint64_t total)
{
    struct told *told = user;
    assert_true(told->done <= done && done <= total);
    assert_int_equal(total, 11 * 10000);
    told->done = done;
    return ++told->times < 3;
}

/* Several searches report as one, each with the same share, and stop as one. */
static void test_progress(void **state)
{
    struct told told = {0};
    const rk_search_control control = {.threads = 1, .progress = tell, .user = &told};
    rk_number_effect replans[RK_NUMBER_MAX];
    rk_bounded_counts bounded;
    rk_problem problem = {.method = &rk_method_calculon};
    rk_calculon_ranked best;
    rk_search_counts counts;
    rk_error err;
    size_t found, count;
    rk_status status = RK_OK;
    (void)state;
    assert_int_equal(rk_calculon_app_load("gpt3-175B", false, &problem.calculon.app, &err), RK_OK);
    assert_int_equal(
        rk_calculon_sys_load("h100-80g-off512g50-nvl8", false, &problem.calculon.sys, &err), RK_OK);
    problem.calculon.space = (rk_calculon_space){.num_procs = 128,
                                                 .max_batch_size = 256,
                                                 .datatype = RK_FLOAT8,
                                                 .fused_count = 1,
                                                 .fused = {true}};
    assert_int_equal(rk_calculon_search(&problem.calculon.app, &problem.calculon.sys,
                                        &problem.calculon.space, NULL, 1, &best, &found, &counts,
                                        &err),
                     RK_OK);
    for (int i = 0; i < 1000 && !status; i++) { /* until three tenths of a second are over */
        told.done = 0;
        status = rk_replan_all(&problem, &control, 0.25, &(rk_candidate){.exe = best.exe}, replans,
                               &count, &bounded, &err);
    }
    assert_int_equal(status, RK_ERR_STOPPED);
    assert_string_equal(err.message, "stopped before the end");
    assert_int_equal(told.times, 3);
}

static void test_plan_replan(void **state)
{
    (void)state;
    compare_plans(0.25); /* each search alone */
    compare_plans(0.1);  /* with bounds in common */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calculon_numbers), cmocka_unit_test(test_system_numbers),
        cmocka_unit_test(test_changed),          cmocka_unit_test(test_calculon_replan),
        cmocka_unit_test(test_plan_replan),      cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
