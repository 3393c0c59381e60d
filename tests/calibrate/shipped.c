/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped documents are what `make calibrate` makes of operators and runs. */
#include "base/units.h"
#include "evidence/calibrate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const operator_recipes[] = {
    "memory-ampere",      "gemm-ampere",        "gemm-ampere-pcie",   "gemm-hopper",
    "gemm-hopper-fp8",    "gemm-blackwell",     "gemm-blackwell-fp8", "gemm-blackwell-fp4",
    "attention-hopper",   "attention-b200",     "attention-b300",     "collective-nvlink3",
    "collective-nvlink4", "collective-nvlink5", "flash-gb200",        "flash-gb300",
    "flash-hopper",
};
static const char *const stack_recipes[] = {
    "stacks-selene",    "stacks-2024",    "stacks-eager-2023", "stacks-hopper",
    "stacks-blackwell", "stacks-experts", "stacks-pytorch",
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

/* A document holds what its recipe finds, as far as the rows decide it. */
static void check_shipped(const char *name)
{
    const rk_calibration_choice options = {.threads = 1, .quick = true};
    rk_recipe *recipe;
    rk_calibration c;
    rk_error err;
    load(name, &recipe);
    assert_int_equal(rk_calibrate_by(recipe, &options, &c, &err), RK_OK);
    for (int k = 0; k < recipe->constant_count; k++) {
        const rk_constant_fit *f = &c.constants[k];
        const double slack =
            f->figures.idle ? HUGE_VAL : 0.01 * fabs(f->figures.value) + 0.1 * f->figures.width;
        if (!rk_is_table_key(recipe->constants[k].keys[0]) &&
            fabs(f->figures.found - f->figures.value) > slack) {
            fail_msg("%s: %s is %g, its recipe finds %g: make calibrate", name,
                     recipe->constants[k].keys[0], f->figures.found, f->figures.value);
        }
    }
    rk_calibration_clear(&c);
}

static void test_accelerators(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(operator_recipes); i++) {
        check_shipped(operator_recipes[i]);
    }
}

static void test_stacks(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stack_recipes); i++) {
        check_shipped(stack_recipes[i]);
    }
}

/* shipped accelerators|stacks */
int main(int argc, char **argv)
{
    const struct CMUnitTest accelerators[] = {cmocka_unit_test(test_accelerators)};
    const struct CMUnitTest stacks[] = {cmocka_unit_test(test_stacks)};
    return argc > 1 && strcmp(argv[1], "stacks") == 0
               ? cmocka_run_group_tests(stacks, NULL, NULL)
               : cmocka_run_group_tests(accelerators, NULL, NULL);
}
