/* SPDX-License-Identifier: Apache-2.0 */
/* Reading command lines; the messages are in the golden tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cli/arguments.h"
#include "job/job.h"

#include <stdint.h>
#include <stdio.h>

typedef struct arguments {
    const char *name, *extra;
    int64_t count, volume;
    int color;
    bool loud;
    double share, limit;
    rk_option_counts sizes;
    unsigned colors;
} arguments;

static const char *const colors[] = {"red", "green", NULL};

static const rk_option options[] = {
    {.name = "name", .positional = true, .offset = offsetof(arguments, name), .value = "NAME"},
    {.name = "extra", .positional = true, .offset = offsetof(arguments, extra), .value = "EXTRA"},
    {.name = "count",
     .letter = 'c',
     .type = RK_OPTION_COUNT,
     .offset = offsetof(arguments, count),
     .min = -5,
     .max = INT64_MAX,
     .value = "N"},
    {.name = "color",
     .type = RK_OPTION_CHOICE,
     .offset = offsetof(arguments, color),
     .choices = colors,
     .value = "COLOR"},
    {.name = "loud", .letter = 'l', .type = RK_OPTION_FLAG, .offset = offsetof(arguments, loud)},
};

static const rk_option shared[] = {
    {.name = "share",
     .type = RK_OPTION_REAL,
     .offset = offsetof(arguments, share),
     .min = 0,
     .max = 2,
     .value = "X"},
    {.name = "limit",
     .type = RK_OPTION_REAL,
     .offset = offsetof(arguments, limit),
     .above = true,
     .max = INT64_MAX,
     .value = "X"},
    {.name = "volume",
     .type = RK_OPTION_COUNT,
     .offset = offsetof(arguments, volume),
     .max = INT64_MAX,
     .bytes = true,
     .value = "N"},
    {.name = "sizes",
     .aliases = {"data-sizes", "lengths"},
     .type = RK_OPTION_COUNTS,
     .offset = offsetof(arguments, sizes),
     .min = 1,
     .max = INT64_MAX,
     .value = "N,..."},
    {.name = "palette",
     .type = RK_OPTION_SET,
     .offset = offsetof(arguments, colors),
     .choices = colors,
     .value = "COLOR,..."},
};

static arguments kept; /* what the last command line said */

static void init(void *values)
{
    ((arguments *)values)->count = 7;
}

static rk_status keep(rk_job *job, void *values, rk_error *err)
{
    (void)job;
    (void)err;
    kept = *(const arguments *)values;
    return RK_OK;
}

static const rk_command command = {
    .name = "test",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .shared = shared,
    .shared_count = sizeof(shared) / sizeof(shared[0]),
    .size = sizeof(arguments),
    .init = init,
    .run = keep,
};

#define MOST_WORDS 8

/* Parses up to MOST_WORDS words into `to`. */
static int parse(arguments *to, const char *const words[MOST_WORDS])
{
    char copies[MOST_WORDS + 1][64] = {"test"};
    char *argv[MOST_WORDS + 2] = {copies[0]};
    int argc = 1;
    for (; argc <= MOST_WORDS && words[argc - 1]; argc++) {
        (void)snprintf(copies[argc], sizeof(copies[argc]), "%s", words[argc - 1]);
        argv[argc] = copies[argc];
    }
    rk_job *job;
    rk_error err;
    assert_int_equal(rk_job_create(&command, &job, &err), RK_OK);
    const int result = rk_arguments_read(&command, argc, argv, job);
    if (result == RK_PARSED) {
        assert_int_equal(rk_job_run(job, NULL, &err), RK_OK);
        *to = kept;
        to->name = kept.name ? "given" : NULL; /* the texts are freed with the job */
        to->extra = kept.extra ? "given" : NULL;
    }
    rk_job_free(job);
    return result;
}

static void test_any_order(void **state)
{
    (void)state;
    arguments a;
    const char *const words[MOST_WORDS] = {"one", "-c", "3", "two", "--color=green", "-l"};
    assert_int_equal(parse(&a, words), RK_PARSED);
    assert_int_equal(a.count, 3);
    assert_int_equal(a.color, 1);
    assert_true(a.loud);
}

static void test_defaults_stay(void **state)
{
    (void)state;
    arguments a;
    const char *const words[MOST_WORDS] = {NULL};
    assert_int_equal(parse(&a, words), RK_PARSED);
    assert_null(a.name);
    assert_int_equal(a.count, 7);
    assert_false(a.loud);
}

static void test_dashes(void **state)
{
    (void)state;
    arguments a;
    const char *const words[MOST_WORDS] = {"-", "--", "-l"};
    assert_int_equal(parse(&a, words), RK_PARSED);
    assert_non_null(a.name);
    assert_non_null(a.extra);
    assert_false(a.loud); /* behind "--" it is an argument */
}

static void test_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int result;
        int64_t value;
    } cases[] = {
        {"0", RK_PARSED, 0},
        {"-5", RK_PARSED, -5},
        {"4k", RK_PARSED, 4000},
        {"4K", RK_PARSED, 4000},
        {"4Ki", RK_PARSED, 4096},
        {"3m", RK_PARSED, 3000000},
        {"2Gi", RK_PARSED, INT64_C(2) << 30},
        {"1T", RK_PARSED, INT64_C(1000000000000)},
        {"300B", RK_PARSED, INT64_C(300000000000)},
        {"2b", RK_PARSED, INT64_C(2000000000)},
        {"2Bi", RK_EXIT_USAGE, 0},
        {"4kB", RK_EXIT_USAGE, 0},
        {"9223372036854775807", RK_PARSED, INT64_MAX},
        {"9223372036854775808", RK_EXIT_USAGE, 0},
        {"9223372036854776k", RK_EXIT_USAGE, 0},
        {"-6", RK_EXIT_USAGE, 0},
        {"", RK_EXIT_USAGE, 0},
        {"k", RK_EXIT_USAGE, 0},
        {" 4", RK_EXIT_USAGE, 0},
        {"4 ", RK_EXIT_USAGE, 0},
        {"4kk", RK_EXIT_USAGE, 0},
        {"4kib", RK_EXIT_USAGE, 0},
        {"0x10", RK_EXIT_USAGE, 0},
        {"1e3", RK_EXIT_USAGE, 0},
        {"1.5k", RK_EXIT_USAGE, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        arguments a;
        const char *const words[MOST_WORDS] = {"--count", cases[i].text};
        assert_int_equal(parse(&a, words), cases[i].result);
        if (cases[i].result == RK_PARSED) {
            assert_int_equal(a.count, cases[i].value);
        }
    }
}

/* Of bytes, a final B is the unit. */
static void test_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int result;
        int64_t value;
    } cases[] = {
        {"64", RK_PARSED, 64},       {"64B", RK_PARSED, 64},
        {"4k", RK_PARSED, 4000},     {"4kB", RK_PARSED, 4000},
        {"4KiB", RK_PARSED, 4096},   {"2GB", RK_PARSED, INT64_C(2000000000)},
        {"2GiBB", RK_EXIT_USAGE, 0}, {"2BG", RK_EXIT_USAGE, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        arguments a;
        const char *const words[MOST_WORDS] = {"--volume", cases[i].text};
        assert_int_equal(parse(&a, words), cases[i].result);
        if (cases[i].result == RK_PARSED) {
            assert_int_equal(a.volume, cases[i].value);
        }
    }
}

/* A bound that is refused itself. */
static void test_above(void **state)
{
    (void)state;
    arguments a;
    const char *const least[MOST_WORDS] = {"--limit", "1e-9"};
    const char *const none[MOST_WORDS] = {"--limit", "0"};
    const char *const tokens[MOST_WORDS] = {"--limit", "1.5B"};
    assert_int_equal(parse(&a, least), RK_PARSED);
    assert_true(a.limit == 1e-9);
    assert_int_equal(parse(&a, none), RK_EXIT_USAGE);
    assert_int_equal(parse(&a, tokens), RK_PARSED);
    assert_true(a.limit == 1.5e9);
}

static void test_wrong_usage(void **state)
{
    (void)state;
    static const char *const lines[][MOST_WORDS] = {
        {"--color", "blue"},
        {"--color"},
        {"--colour", "red"},
        {"--co", "3"},
        {"-x"},
        {"--loud=yes"},
        {"one", "two", "three"},
        {"-c"},
        {"--count", "ten"},
        {"--share", "2.5"},
        {"--share", "1x"},
        {"--share", "nan"},
        {"--share", ""},
        {"--sizes", "1,,2"},
        {"--sizes", "1,0"},
        {"--sizes", "1,"},
        {"--palette", "red,blue"},
        {"--palette", ""},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        arguments a;
        assert_int_equal(parse(&a, lines[i]), RK_EXIT_USAGE);
    }
}

static void test_abbreviation(void **state)
{
    (void)state;
    arguments a;
    const char *const words[MOST_WORDS] = {"--lo", "--cou", "2"};
    assert_int_equal(parse(&a, words), RK_PARSED);
    assert_true(a.loud);
    assert_int_equal(a.count, 2);
}

static void test_shared(void **state)
{
    (void)state;
    arguments a;
    const char *const words[MOST_WORDS] = {"--share", ".25", "-l", "--lengths=1,2k,3"};
    assert_int_equal(parse(&a, words), RK_PARSED);
    assert_true(a.share == 0.25);
    assert_true(a.loud);
    assert_int_equal(a.sizes.count, 3);
    assert_int_equal(a.sizes.values[1], 2000);
    assert_int_equal(a.sizes.values[2], 3);
    assert_int_equal(a.colors, 0);
}

static void test_sets(void **state)
{
    (void)state;
    arguments a;
    const char *const both[MOST_WORDS] = {"--palette", "green,red,green"};
    const char *const last[MOST_WORDS] = {"--palette", "red", "--palette", "green"};
    assert_int_equal(parse(&a, both), RK_PARSED);
    assert_int_equal(a.colors, 3);
    assert_int_equal(parse(&a, last), RK_PARSED);
    assert_int_equal(a.colors, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),   cmocka_unit_test(test_defaults_stay),
        cmocka_unit_test(test_dashes),      cmocka_unit_test(test_counts),
        cmocka_unit_test(test_wrong_usage), cmocka_unit_test(test_abbreviation),
        cmocka_unit_test(test_shared),      cmocka_unit_test(test_sets),
        cmocka_unit_test(test_bytes),       cmocka_unit_test(test_above),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
