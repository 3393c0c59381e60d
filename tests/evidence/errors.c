/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics on small sets whose answers are known. */
#include "../evidence/runs_test.h"

#include "evidence/errors.h"

static void test_errors(void **state)
{
    (void)state;
    double ratios[] = {1.1, 0.8, 1.0, 1.4};
    const rk_errors e = rk_errors_of(ratios, 4);
    assert_int_equal(e.count, 4);
    assert_near(e.mean, (0.1 + 0.2 + 0 + 0.4) / 4, 1e-12);
    assert_near(e.bias, (0.1 - 0.2 + 0 + 0.4) / 4, 1e-12);
    assert_near(e.median, 0.15, 1e-12);
    assert_near(e.p90, 0.4, 1e-12);
    assert_near(e.worst, 0.4, 1e-12);
    assert_int_equal(rk_errors_of(ratios, 0).count, 0);
}

/* The smallest value that at least 90 of 100 do not exceed. */
static void test_percentile(void **state)
{
    (void)state;
    double values[100];
    for (int i = 0; i < 100; i++) {
        values[i] = i + 1;
    }
    assert_near(rk_percentile(values, 100, 0.9), 90, 0);
    assert_near(rk_percentile(values, 11, 0.9), 10, 0);
    assert_near(rk_percentile(values, 1, 0.9), 1, 0);
    assert_near(rk_percentile(values, 10, 0), 1, 0);
    assert_near(rk_percentile(values, 10, 1), 10, 0);
    assert_near(rk_median(values, 3), 2, 0);
    assert_near(rk_median(values, 4), 2.5, 0);
    assert_true(isnan(rk_median(values, 0)) && isnan(rk_percentile(values, 0, 0.5)));
}

/* 1 - 6 sum d^2 / n (n^2 - 1) where no values are equal; Pearson's of mean ranks where some are. */
static void test_spearman(void **state)
{
    (void)state;
    const double x[] = {106, 86, 100, 101, 99, 103, 97, 113, 112, 110};
    const double y[] = {7, 0, 27, 50, 28, 29, 20, 12, 6, 17};
    const double ties[] = {1, 2, 2, 3}, other[] = {1, 3, 2, 4}, same[] = {5, 5, 5, 5};
    double rho;
    rk_error err;
    assert_int_equal(rk_spearman(x, y, 10, &rho, &err), RK_OK);
    assert_near(rho, -29.0 / 165, 1e-12);
    assert_int_equal(rk_spearman(x, x, 10, &rho, &err), RK_OK);
    assert_near(rho, 1, 1e-12);
    assert_int_equal(rk_spearman(ties, other, 4, &rho, &err), RK_OK);
    assert_near(rho, 4.5 / sqrt(4.5 * 5), 1e-12);
    assert_int_equal(rk_spearman(same, other, 4, &rho, &err), RK_OK);
    assert_true(isnan(rho));
    assert_int_equal(rk_spearman(x, y, 1, &rho, &err), RK_OK);
    assert_true(isnan(rho));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_percentile),
        cmocka_unit_test(test_spearman),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
