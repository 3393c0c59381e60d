/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks and labels. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "figures/scale.h"

#include <stdint.h>
#include <string.h>

/* ---- labels ---------------------------------------------------------------------------- */

static void test_short_labels(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "0"},
        {4096, "4,096"},
        {128, "128"},
        {0.25, "0.25"},
        {-2.5, "\xE2\x88\x92"
               "2.5"},
        {1e12, "1T"},
        {1.5e12, "1.5T"},
        {128e12, "128T"},
        {15612832, "15.61M"},
        {999999, "999,999"},
        {1e6, "1M"},
        {0.0001, "0.0001"},
        {1e-5, "10\xE2\x81\xBB\xE2\x81\xB5"},
        {2e20, "2\xC3\x97"
               "10\xC2\xB2\xE2\x81\xB0"},
        {1e18, "10\xC2\xB9\xE2\x81\xB8"},
        {(double)NAN, ""},
        {(double)INFINITY, "\xE2\x88\x9E"},
    };
    char out[RK_LABEL_SIZE];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(rk_label_short(cases[i].value, out), cases[i].text);
    }
}

static void test_fixed_labels(void **state)
{
    (void)state;
    char out[RK_LABEL_SIZE];
    assert_string_equal(rk_label_fixed(1234567.891, 2, out), "1,234,567.89");
    assert_string_equal(rk_label_fixed(0.05, 1, out), "0.1");
    assert_string_equal(rk_label_fixed(-0.001, 1, out), "0.0");
    assert_string_equal(rk_label_fixed(75, 0, out), "75");
    assert_string_equal(rk_label_fixed(-1000, 0, out), "\xE2\x88\x92"
                                                       "1,000");
    assert_string_equal(rk_label_fixed(1e300, 3, out), "10\xC2\xB3\xE2\x81\xB0\xE2\x81\xB0");
    assert_true(strlen(rk_label_fixed(-1.7976931348623157e308, 9, out)) < RK_LABEL_SIZE);
    assert_true(strlen(rk_label_fixed(-999999999999999.0, 9, out)) < RK_LABEL_SIZE);
}

/* ---- ticks ----------------------------------------------------------------------------- */

static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static double uniform(uint64_t *seed)
{
    return (double)(next(seed) >> 11) / 9007199254740992.0;
}

/* The first digit of a number that is a digit times a power of ten; 0 when it is not. */
static int round_digit(double step)
{
    const double power = pow(10, floor(log10(step) + 1e-6));
    const double digit = step / power;
    return fabs(digit - round(digit)) < 1e-6 ? (int)round(digit) : 0;
}

static size_t labelled(const rk_scale *scale)
{
    size_t count = 0;
    for (size_t i = 0; i < scale->tick_count; i++) {
        assert_true(scale->ticks[i].label[0] != '\0');
        count += !scale->ticks[i].minor;
        for (size_t j = 0; j < i; j++) {
            assert_true(scale->ticks[i].value > scale->ticks[j].value);
            assert_string_not_equal(scale->ticks[i].label, scale->ticks[j].label);
        }
    }
    return count;
}

static void test_linear_ticks(void **state)
{
    (void)state;
    uint64_t seed = 42;
    for (int n = 0; n < 20000; n++) {
        const double size = pow(10, 24 * uniform(&seed) - 12);
        const double middle = n % 3 ? (uniform(&seed) - 0.5) * size * 20 : 0;
        const double ends[] = {middle - size * uniform(&seed), middle + size * uniform(&seed)};
        const rk_plot_axis axis = {.from = n % 2 ? ends[0] : 0, .to = n % 2 ? ends[1] : 0};
        const size_t wanted = 2 + (size_t)(next(&seed) % 8);
        rk_extent extent = RK_EXTENT_EMPTY;
        rk_extent_add(&extent, false, ends, 2);
        const rk_scale scale = rk_scale_of(&axis, extent, wanted);
        const size_t count = labelled(&scale);
        assert_true(count <= wanted + 3);
        assert_true(n % 2 || count >= 2);
        assert_true(scale.from <= ends[0] && scale.to >= ends[1]);
        for (size_t i = 0; i < count; i++) {
            const double slack = 1e-9 * (scale.to - scale.from);
            assert_true(scale.ticks[i].value >= scale.from - slack);
            assert_true(scale.ticks[i].value <= scale.to + slack);
        }
        if (count >= 2) {
            const double step =
                (scale.ticks[count - 1].value - scale.ticks[0].value) / (double)(count - 1);
            const int digit = round_digit(step);
            assert_true(digit == 1 || digit == 2 || digit == 5 || digit == 10);
            const double steps = scale.ticks[0].value / step;
            assert_true(fabs(steps - round(steps)) < 1e-5);
        }
    }
}

static void test_logarithmic_ticks(void **state)
{
    (void)state;
    uint64_t seed = 7;
    const rk_plot_axis axis = {.logarithmic = true};
    for (int n = 0; n < 20000; n++) {
        const double least = pow(10, 40 * uniform(&seed) - 20);
        const double ends[] = {least, least * pow(10, 10 * pow(uniform(&seed), 3))};
        rk_extent extent = RK_EXTENT_EMPTY;
        rk_extent_add(&extent, true, ends, 2);
        const rk_scale scale = rk_scale_of(&axis, extent, 5);
        const size_t count = labelled(&scale);
        assert_true(count >= 2 && count <= 9);
        assert_true(scale.from <= ends[0] * (1 + 1e-8) && scale.to >= ends[1] * (1 - 1e-8));
        assert_true(scale.from < scale.to);
    }
}

static void test_odd_extents(void **state)
{
    (void)state;
    static const double odd[][2] = {{(double)NAN, (double)NAN},
                                    {5, 5},
                                    {0, 0},
                                    {-3, -3},
                                    {1e300, -1e308},
                                    {1e-320, 1},
                                    {1e15, 1e15 + 1},
                                    {(double)INFINITY, 3}};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
            const rk_plot_axis axis = {.logarithmic = logarithmic};
            rk_extent extent = RK_EXTENT_EMPTY;
            rk_extent_add(&extent, logarithmic, odd[i], 2);
            rk_scale scale = rk_scale_of(&axis, extent, 5);
            scale.length = 100;
            assert_true(scale.from < scale.to && isfinite(scale.from) && isfinite(scale.to));
            assert_true(labelled(&scale) >= 2);
            assert_true(rk_scale_place(&scale, scale.from) == 0);
            assert_true(fabs(rk_scale_place(&scale, scale.to) - 100) < 1e-9);
        }
    }
}

static void test_given_ticks(void **state)
{
    (void)state;
    const double ticks[] = {4096, 8192, 16384}, data[] = {4096, 12288};
    const rk_plot_axis axis = {.ticks = ticks, .tick_count = 3};
    rk_extent extent = RK_EXTENT_EMPTY;
    rk_extent_add(&extent, false, data, 2);
    const rk_scale scale = rk_scale_of(&axis, extent, 5);
    assert_int_equal(scale.tick_count, 3);
    assert_string_equal(scale.ticks[2].label, "16,384");
    assert_true(scale.from > 3000 && scale.to < 18000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_labels), cmocka_unit_test(test_fixed_labels),
        cmocka_unit_test(test_linear_ticks), cmocka_unit_test(test_logarithmic_ticks),
        cmocka_unit_test(test_odd_extents),  cmocka_unit_test(test_given_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
