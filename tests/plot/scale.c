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

#define MINUS "\xE2\x88\x92"
#define TIMES "\xC3\x97"

/* A number with decimals, commas and a true minus sign; beyond 10^15 as a power. */
static void test_fixed(void **state)
{
    static const struct {
        double value;
        int decimals;
        const char *text;
    } cases[] = {
        {12288, 0, "12,288"},
        {0.05, 1, "0.1"},
        {75, 0, "75"},
        {-1000, 0, MINUS "1,000"},
        {1e300, 3, "10\xC2\xB3\xE2\x81\xB0\xE2\x81\xB0"},
        {-0.25, 2, MINUS "0.25"},
        {0, 0, "0"},
        {-0.001, 2, "0.00"},
        {999, 0, "999"},
        {1000, 0, "1,000"},
        {1234567.89, 1, "1,234,567.9"},
        {7, -1, "7"},
        {0.5, 12, "0.500000000"},
        {123456789.125, 5, "123,456,789.13"}, /* as many as 64 bits hold easily */
        {99999999, 3, "99,999,999.000"},
        {999999999999999, 0, "999,999,999,999,999"},
        {1e15, 0, "10\xC2\xB9\xE2\x81\xB5"},
        {-2e15, 3, MINUS "2" TIMES "10\xC2\xB9\xE2\x81\xB5"},
        {(double)NAN, 1, ""},
        {(double)INFINITY, 1, "\xE2\x88\x9E"},
        {-(double)INFINITY, 1, MINUS "\xE2\x88\x9E"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[RK_LABEL_SIZE];
        assert_string_equal(rk_label_fixed(cases[i].value, cases[i].decimals, text), cases[i].text);
    }
    char text[RK_LABEL_SIZE];
    assert_true(strlen(rk_label_fixed(-1.7976931348623157e308, 9, text)) < RK_LABEL_SIZE);
    assert_true(strlen(rk_label_fixed(-999999999999999.0, 9, text)) < RK_LABEL_SIZE);
}

/* Four digits at most, and letters from a million on. */
static void test_short(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {4096, "4,096"},
        {-0.0, "0"},
        {128, "128"},
        {0.25, "0.25"},
        {-2.5, MINUS "2.5"},
        {1e12, "1T"},
        {128e12, "128T"},
        {15612832, "15.61M"},
        {1e-5, "10\xE2\x81\xBB\xE2\x81\xB5"},
        {2e20, "2" TIMES "10\xC2\xB2\xE2\x81\xB0"},
        {(double)NAN, ""},
        {1.5e12, "1.5T"},
        {0.02, "0.02"},
        {0, "0"},
        {12.5, "12.5"},
        {123.456, "123.5"},
        {1234.6, "1,235"},
        {999999, "999,999"},
        {1e6, "1M"},
        {1234567, "1.235M"},
        {999.94e6, "999.9M"},
        {999.96e6, "1.000G"},
        {0.99996, "1.000"},
        {9.9996, "10.00"},
        {99.996, "100.0"},
        {999.96, "1,000"},
        {9.9994, "9.999"},
        {2e9, "2G"},
        {1e15, "1P"},
        {123e15, "123P"},
        {-1500, MINUS "1,500"},
        {-3e9, MINUS "3G"},
        {1e18, "10\xC2\xB9\xE2\x81\xB8"},
        {2.5e18, "2.5" TIMES "10\xC2\xB9\xE2\x81\xB8"},
        {0.0001, "0.0001"},
        {5e-5, "5" TIMES "10\xE2\x81\xBB\xE2\x81\xB5"},
        {(double)INFINITY, "\xE2\x88\x9E"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[RK_LABEL_SIZE];
        assert_string_equal(rk_label_short(cases[i].value, text), cases[i].text);
    }
}

/* A power of ten, whose factor carries over into the next one. */
static void test_power(void **state)
{
    static const struct {
        double value;
        int decimals;
        const char *text;
    } cases[] = {
        {3.5e20, 1, "3.5" TIMES "10\xC2\xB2\xE2\x81\xB0"},
        {1e6, 0, "10\xE2\x81\xB6"},
        {1e6, 1, "1.0" TIMES "10\xE2\x81\xB6"},
        {-2e-5, 0, MINUS "2" TIMES "10\xE2\x81\xBB\xE2\x81\xB5"},
        {9.94e5, 1, "9.9" TIMES "10\xE2\x81\xB5"},
        {9.96e5, 1, "1.0" TIMES "10\xE2\x81\xB6"},
        {960, 0, "10\xC2\xB3"},
        {1e100, 0, "10\xC2\xB9\xE2\x81\xB0\xE2\x81\xB0"},
        {1e-123, -3, "10\xE2\x81\xBB\xC2\xB9\xC2\xB2\xC2\xB3"},
        {4e47, 0, "4" TIMES "10\xE2\x81\xB4\xE2\x81\xB7"},
        {1e89, 0, "10\xE2\x81\xB8\xE2\x81\xB9"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[RK_LABEL_SIZE];
        assert_string_equal(rk_label_power(cases[i].value, cases[i].decimals, text), cases[i].text);
    }
}

/* What tables align to the right: numbers, with a letter or a dash for none, and no words. */
static void test_is_number(void **state)
{
    static const char *const numbers[] = {"12,288", MINUS "0.25", "-3",          "1.5T",
                                          "7P",     "2e-5",       "\xE2\x80\x93"};
    static const char *const words[] = {"", "a", "1a", "5 ms", "-", "T", "x1"};
    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_true(rk_label_is_number(numbers[i]));
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_false(rk_label_is_number(words[i]));
    }
}

static void keep(void *user, const char *text, size_t size)
{
    strncat(user, text, size);
}

/* Coordinates: hundredths of a point, without zeros at their end, and within what viewers read. */
static void test_coordinates(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{1, "1"},        {100, "100"},         {1.5, "1.5"},
                 {1.234, "1.23"}, {-2.5, "-2.5"},       {-0.001, "0"},
                 {0.05, "0.05"},  {1e12, "1000000000"}, {-1e12, "-1000000000"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64] = "";
        rk_out *out;
        rk_error err;
        assert_int_equal(rk_out_open_writer(keep, text, &out, &err), RK_OK);
        rk_draw_number(out, cases[i].value);
        assert_int_equal(rk_out_close(out, &err), RK_OK);
        assert_string_equal(text, cases[i].text);
    }
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
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_is_number),
        cmocka_unit_test(test_coordinates),
        cmocka_unit_test(test_linear_ticks),
        cmocka_unit_test(test_logarithmic_ticks),
        cmocka_unit_test(test_odd_extents),
        cmocka_unit_test(test_given_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
