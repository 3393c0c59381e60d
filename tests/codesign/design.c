/* SPDX-License-Identifier: Apache-2.0 */
/* Machines with prices, against exhaustive searches on machines built by hand. */
#include "codesign/design.h"
#include "base/units.h"
#include "layer/model_load.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void load(rk_calculon_app *app, rk_calculon_sys *sys)
{
    rk_error err;
    assert_int_equal(rk_calculon_app_load("gpt3-13B", false, app, &err), RK_OK);
    assert_int_equal(rk_calculon_sys_load("h100-80g-off512g50-nvl8", false, sys, &err), RK_OK);
}

static const rk_calculon_space space = {.num_procs = 16,
                                        .max_batch_size = 32,
                                        .datatype = RK_FLOAT16,
                                        .fused_count = 1,
                                        .fused = {true}};

static const rk_prices prices = {
    .currency = "$",
    .processor = 1000,
    .axis_count = 4,
    .axes = {{"accelerators", 2, {8, 16}, {0, 0}},
             {"memory_GiB", 3, {5, 24, 80}, {50, 240, 800}},
             {"offload_GiB", 2, {0, 256}, {0, 100}},
             {"tier1_GBps", 2, {10, 50}, {10, 500}}},
};

/* The machine of a choice without any help from the code that is tested. */
static rk_calculon_sys build(const rk_calculon_sys *sys, const int *choice)
{
    rk_calculon_sys built = *sys;
    built.mem1.capacity = prices.axes[1].values[choice[1]] * GIB;
    built.mem2.capacity = prices.axes[2].values[choice[2]] * GIB;
    built.networks[1].bandwidth = prices.axes[3].values[choice[3]] * 1e9;
    return built;
}

/* Every machine once, at its price, with what an exhaustive search finds. */
static void test_machines(void **state)
{
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_design *designs;
    rk_bounded_counts bounded;
    rk_error err;
    size_t count, running = 0;
    bool seen[2][3][2][2] = {0};
    (void)state;
    load(&app, &sys);
    for (int threads = 1; threads <= 3; threads += 2) {
        const rk_search_control control = {.threads = threads};
        const rk_problem problem = {.method = &rk_method_calculon, .calculon = {app, sys, space}};
        assert_int_equal(
            rk_design_search(&problem, &prices, &control, &designs, &count, &bounded, &err), RK_OK);
        assert_int_equal(count, 24);
        for (size_t i = 0; i < count; i++) {
            const rk_design *d = &designs[i];
            const int *c = d->choice;
            const rk_calculon_sys built = build(&sys, c);
            rk_calculon_space own = space;
            rk_calculon_ranked best;
            rk_search_counts counts;
            size_t found;
            seen[c[0]][c[1]][c[2]][c[3]] = true;
            own.num_procs = c[0] ? 16 : 8;
            assert_int_equal(d->processors, own.num_procs);
            const double each = 1000 + prices.axes[1].prices[c[1]] + prices.axes[2].prices[c[2]] +
                                prices.axes[3].prices[c[3]];
            assert_true(d->each == each);
            assert_true(d->cost == each * (double)own.num_procs);
            assert_int_equal(
                rk_calculon_search(&app, &built, &own, NULL, 1, &best, &found, &counts, &err),
                RK_OK);
            assert_int_equal(d->runs, found == 1);
            running += found;
            if (found) {
                assert_true(d->best.rate == best.sample_rate);
                assert_int_equal(d->best.exe.tensor_par, best.exe.tensor_par);
                assert_int_equal(d->best.exe.microbatch_size, best.exe.microbatch_size);
            }
        }
        free(designs);
    }
    assert_true(running > 24 && running < 48); /* or some part of this shows nothing */
    for (int i = 0; i < 24; i++) {
        assert_true(seen[i / 12][i / 4 % 3][i / 2 % 2][i % 2]);
    }
}

/* The same by the reckon model. */
static void test_plan_machines(void **state)
{
    static const rk_prices plan_prices = {
        .currency = "$",
        .processor = 100,
        .axis_count = 5,
        .axes = {{"accelerators", 2, {8, 32}, {0, 0}},
                 {"memory_GiB", 3, {10, 30, 79}, {1, 3, 8}},
                 {"offload_GiB", 2, {0, 256}, {0, 10}},
                 {"offload_GBps", 2, {8, 60}, {1, 2}},
                 {"domain", 2, {8, 16}, {5, 7}}},
    };
    rk_model model;
    rk_system system;
    rk_stack stack;
    rk_design *designs;
    rk_bounded_counts bounded;
    rk_error err;
    size_t count, running = 0, offloading = 0;
    (void)state;
    assert_int_equal(rk_model_load("llama3-8b", &model, &err), RK_OK);
    assert_int_equal(rk_system_load("h100-sxm", &system, &err), RK_OK);
    assert_int_equal(rk_stack_load("megatron-2025", &stack, &err), RK_OK);
    rk_plan_space plans = rk_plan_space_defaults(&model, &system, 8, 32);
    plans.offloads = 3;
    const rk_problem problem = {
        .method = &rk_method_reckon,
        .reckon = {.inputs = {.model = model, .system = system, .software = {.stack = stack}},
                   .space = plans}};
    assert_int_equal(
        rk_design_search(&problem, &plan_prices, NULL, &designs, &count, &bounded, &err), RK_OK);
    assert_int_equal(count, 48);
    for (size_t i = 0; i < count; i++) {
        const rk_design *d = &designs[i];
        rk_system built = system;
        rk_planned_strategy best;
        rk_plan_counts counts;
        size_t found;
        plans.accelerators = d->choice[0] ? 32 : 8;
        built.accelerator.memory_usable = plan_prices.axes[1].values[d->choice[1]] * GIB;
        built.accelerator.host_capacity = plan_prices.axes[2].values[d->choice[2]] * GIB;
        built.accelerator.host_bandwidth = plan_prices.axes[3].values[d->choice[3]] * 1e9;
        built.tiers[0].size = d->choice[4] ? 16 : 8;
        assert_true(d->cost == d->each * (double)plans.accelerators);
        assert_int_equal(rk_plan_search(&model, &built, &stack, &plans, NULL, 1, &best, &found,
                                        NULL, &counts, &err),
                         RK_OK);
        assert_int_equal(d->runs, found == 1);
        running += found;
        if (found) {
            assert_true(fabs(d->best.rate * best.estimate.step - 32) <= 1e-9);
            assert_true(d->best.efficiency == best.estimate.mfu);
            assert_int_equal(d->best.index, best.index);
            assert_memory_equal(&d->best.estimate.memory, &best.estimate.memory,
                                sizeof(best.estimate.memory));
            offloading += d->best.strategy.offload_optimizer;
        }
    }
    free(designs);
    assert_true(running > 24 && running < 48 && offloading > 0); /* or this shows little */
}

/* On the front stands what no other machine beats, and nothing else. */
static void test_front(void **state)
{
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_design *designs;
    rk_bounded_counts bounded;
    rk_error err;
    size_t count;
    (void)state;
    load(&app, &sys);
    const rk_problem problem = {.method = &rk_method_calculon, .calculon = {app, sys, space}};
    assert_int_equal(rk_design_search(&problem, &prices, NULL, &designs, &count, &bounded, &err),
                     RK_OK);
    for (size_t i = 0; i < count; i++) {
        const rk_design *d = &designs[i];
        bool beaten = !d->runs;
        assert_true(i == 0 || designs[i - 1].cost <= d->cost);
        for (size_t j = 0; j < count && !beaten; j++) {
            const rk_design *o = &designs[j];
            beaten = o->cost <= d->cost && o->best.rate >= d->best.rate &&
                     (o->cost < d->cost || o->best.rate > d->best.rate || j < i);
        }
        assert_int_equal(d->on_front, !beaten);
    }
    for (size_t i = 0; i < count; i++) {
        const double wanted = designs[i].best.rate;
        const rk_design *cheapest = rk_design_cheapest(designs, count, wanted);
        for (size_t j = 0; wanted > 0 && j < count; j++) {
            assert_true(designs[j].best.rate < wanted || designs[j].cost >= cheapest->cost);
        }
    }
    assert_null(rk_design_cheapest(designs, count, 1e9));
    free(designs);
}

/* What an axis may not say. */
static void test_axes(void **state)
{
    static const struct {
        rk_price_axis axis;
        const char *text;
    } cases[] = {
        {{"memory_Gib", 1, {80}, {0}},
         "no number of the machine is called memory_Gib; did you mean memory_GiB?"},
        {{"domain", 1, {8.5}, {0}},
         "the axis domain has the value 8.5; it counts something: give whole numbers from 1 on"},
        {{"accelerators", 2, {8, 0}, {0}},
         "the axis accelerators has the value 0; it counts something: give whole numbers from 1 "
         "on"},
        {{"tier1_GBps", 1, {0}, {0}},
         "the axis tier1_GBps has the value 0; it divides something: give values above 0"},
    };
    const rk_prices many = {.axis_count = 1, .axes = {{"accelerators", 2, {8, 1e9}, {0}}}};
    rk_system system;
    rk_calculon_app app;
    rk_calculon_sys sys;
    rk_design *designs;
    rk_bounded_counts bounded;
    rk_error err;
    size_t count;
    (void)state;
    load(&app, &sys);
    const rk_problem problem = {.method = &rk_method_calculon, .calculon = {app, sys, space}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_prices wrong = {.axis_count = 1, .axes = {cases[i].axis}};
        assert_int_equal(rk_design_search(&problem, &wrong, NULL, &designs, &count, &bounded, &err),
                         RK_ERR_INVALID);
        assert_non_null(strstr(err.message, cases[i].text));
        assert_null(designs);
    }
    rk_prices wide = {.axis_count = 4};
    static const char *const keys[] = {"memory_GiB", "offload_GBps", "tier0_GBps", "tier1_GBps"};
    for (int i = 0; i < 4; i++) {
        wide.axes[i].count = 64;
        strcpy(wide.axes[i].key, keys[i]);
        for (int j = 0; j < 64; j++) {
            wide.axes[i].values[j] = 1 + j;
        }
    }
    assert_int_equal(rk_design_search(&problem, &wide, NULL, &designs, &count, &bounded, &err),
                     RK_ERR_LIMIT);
    assert_string_equal(err.message, "the axes span more than 1000000 machines");
    rk_problem none = problem; /* no latency is larger or smaller */
    none.calculon.sys.networks[1].latency = 0;
    const rk_prices scaled = {.axis_count = 1, .axes = {{"tier1_us", 1, {5}, {0}}}};
    assert_int_equal(rk_design_search(&none, &scaled, NULL, &designs, &count, &bounded, &err),
                     RK_ERR_INVALID);
    assert_string_equal(err.message, "the system has 0 us of tier1_us, which cannot be "
                                     "scaled: give it a value");
    assert_int_equal(rk_system_load("dgx-h100-superpod", &system, &err), RK_OK);
    const rk_problem pod = {
        .method = &rk_method_reckon,
        .reckon = {.inputs = {.system = system},
                   .space = {.accelerators = 8, .base = {.precision = RK_BF16}}}};
    assert_int_equal(rk_design_search(&pod, &many, NULL, &designs, &count, &bounded, &err),
                     RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "the system has 1024"));
}

/* The example of the catalogue: prices by unit and by value. */
static void test_example(void **state)
{
    rk_prices p;
    rk_error err;
    (void)state;
    assert_int_equal(rk_prices_load("example", &p, &err), RK_OK);
    assert_string_equal(p.currency, "$");
    assert_int_equal(p.axis_count, 6);
    for (int i = 0; i < p.axis_count; i++) {
        const rk_price_axis *axis = &p.axes[i];
        if (strcmp(axis->key, "memory_GiB") == 0) {
            assert_true(axis->prices[1] == 12 * axis->values[1]);
        } else if (strcmp(axis->key, "domain") == 0) {
            assert_true(axis->prices[0] == 600 && axis->prices[2] == 2600);
        } else if (strcmp(axis->key, "accelerators") == 0) {
            assert_true(axis->prices[0] == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machines), cmocka_unit_test(test_plan_machines),
        cmocka_unit_test(test_front),    cmocka_unit_test(test_axes),
        cmocka_unit_test(test_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
