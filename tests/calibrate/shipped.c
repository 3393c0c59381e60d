/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped accelerators are what `make calibrate` makes of the operators. */
#include "calibrate/calibrate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const char *const recipes[] = {
    "memory-ampere",      "gemm-ampere",        "gemm-ampere-pcie",   "gemm-hopper",
    "gemm-hopper-fp8",    "gemm-blackwell",     "gemm-blackwell-fp8", "gemm-blackwell-fp4",
    "attention-hopper",   "attention-b200",     "attention-b300",     "collective-nvlink3",
    "collective-nvlink4", "collective-nvlink5",
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

/* The documents hold what their recipes find, as far as the rows decide it. */
static void test_shipped(void **state)
{
    const rk_calibrate_options options = {.threads = 1, .quick = true};
    (void)state;
    for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        rk_recipe *recipe;
        rk_calibration c;
        rk_error err;
        load(recipes[i], &recipe);
        assert_int_equal(rk_calibrate_by(recipe, &options, &c, &err), RK_OK);
        for (int k = 0; k < recipe->constant_count; k++) {
            const rk_fitted *f = &c.constants[k];
            const double slack = f->idle ? HUGE_VAL : 0.01 * fabs(f->value) + 0.1 * f->width;
            if (!rk_is_table_key(recipe->constants[k].keys[0]) &&
                fabs(f->found - f->value) > slack) {
                fail_msg("%s: %s is %g, its recipe finds %g: make calibrate", recipes[i],
                         recipe->constants[k].keys[0], f->found, f->value);
            }
        }
        rk_calibration_clear(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shipped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
