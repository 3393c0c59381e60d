/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shipped accelerators against operators that nothing was fitted to: the documents as they
 * stand, the rows held out, and of the constants of the recipes only those that belong to the
 * tables.  The bounds are what the project promises.
 */
#include "evidence/calibrate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Largest rms and median error, shares of 1. */
static const struct {
    const char *recipe;
    double rms, median;
} promises[] = {
    {"gemm-ampere", 0.08, 0.05},        {"gemm-ampere-pcie", 0.08, 0.05},
    {"gemm-hopper", 0.08, 0.05},        {"gemm-hopper-fp8", 0.08, 0.05},
    {"gemm-blackwell", 0.11, 0.06},     {"gemm-blackwell-fp8", 0.11, 0.05},
    {"gemm-blackwell-fp4", 0.14, 0.08}, /* library versions differ by as much */
    {"attention-hopper", 0.09, 0.05},   {"attention-b200", 0.09, 0.05},
    {"attention-b300", 0.09, 0.05},     {"collective-nvlink3", 0.15, 0.06},
    {"collective-nvlink4", 0.15, 0.06}, {"collective-nvlink5", 0.15, 0.06},
    {"flash-gb200", 0.09, 0.05},        {"flash-gb300", 0.09, 0.05},
    {"flash-hopper", 0.17, 0.05}, /* rows of tens of microseconds are launch-bound */
    {"memory-ampere", 0.04, 0.03},
};

static void load(const char *name, rk_recipe **recipe)
{
    char path[1024], text[900];
    rk_error err;
    (void)snprintf(path, sizeof(path), "%s/calibrations/%s.json", DATA_FOLDER, name);
    if (rk_recipe_load(path, recipe, &err)) {
        fail_msg("%s", rk_error_text(&err, text, sizeof(text)));
    }
}

/* Leaves the constants that no document has. */
static void keep_table_constants(rk_recipe *recipe)
{
    int kept = 0;
    for (int i = 0; i < recipe->constant_count; i++) {
        if (rk_is_table_key(recipe->constants[i].keys[0])) {
            recipe->constants[kept++] = recipe->constants[i];
        }
    }
    recipe->constant_count = kept;
    recipe->starts = 0;
}

static void test_held_out(void **state)
{
    const rk_calibration_choice options = {.threads = 1, .quick = true};
    (void)state;
    for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++) {
        rk_recipe *recipe;
        rk_calibration c;
        rk_error err;
        char text[900];
        load(promises[i].recipe, &recipe);
        keep_table_constants(recipe);
        if (rk_calibrate_by(recipe, &options, &c, &err)) {
            fail_msg("%s", rk_error_text(&err, text, sizeof(text)));
        }
        printf(
            "%-20s %4zu rows held out: rms %4.1f%%, median %3.1f%%, p90 %4.1f%%, bias %+4.1f%%\n",
            promises[i].recipe, c.facts.held_out.rows, 100 * c.facts.held_out.rms,
            100 * c.facts.held_out.median, 100 * c.facts.held_out.p90, 100 * c.facts.held_out.bias);
        assert_true(c.facts.held_out.rows >= 30);
        assert_true(c.facts.held_out.rms <= promises[i].rms &&
                    c.facts.held_out.median <= promises[i].median);
        rk_calibration_clear(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_held_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
