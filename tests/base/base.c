/* SPDX-License-Identifier: Apache-2.0 */
/* Texts, divisors, threads and the top list. */
#include "base/divisors.h"
#include "base/error.h"
#include "base/library.h"
#include "base/text.h"
#include "base/time_text.h"
#include "base/top.h"
#include "work/control.h"
#include "work/parallel.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void test_library(void **state)
{
    struct {
        int (*absent)(void);
    } table = {NULL};
    static const rk_named_count symbols[] = {{"rk_no_such_function", 0}};
    rk_error err;
    (void)state;
    assert_int_equal(rk_library_open("libabsent.so.9", "libabsent9", symbols, 1, &table, &err),
                     RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "libabsent.so.9"));
    assert_non_null(strstr(err.message, "install the package libabsent9"));
    assert_int_equal(rk_library_open("libc.so.6", "libc6", symbols, 1, &table, &err),
                     RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "rk_no_such_function"));
    assert_null(table.absent);
}

static void test_double_text(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-3, "-3"},
        {312, "312"},
        {0.1, "0.1"},
        {1e-05, "1e-05"},
        {-0.0, "-0"},
        {1.0 / 3, "0.3333333333333333"},
        {1e15, "1000000000000000"},
        {1e22, "1e+22"},
        {0.30000000000000004, "0.30000000000000004"},
    };
    char out[RK_NUMBER_TEXT_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(rk_double_text(cases[i].value, out), cases[i].text);
    }
    assert_string_equal(rk_double_text((double)NAN, out), "NaN");
    assert_string_equal(rk_double_text(-(double)INFINITY, out), "-Infinity");
    uint64_t bits = 88172645463325252U;
    for (int i = 0; i < 40000; i++) {
        double value;
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(&value, &bits, sizeof(value));
        if (i % 4 > 0 && isfinite(value)) { /* of the usual sizes, and with few digits */
            value = ldexp(value, i % 60 - 45 - ilogb(value));
            value = i % 4 > 1 ? round(value * 1024) / (i % 4 > 2 ? 1000 : 1024) : value;
        }
        if (isfinite(value) && !(value == floor(value) && fabs(value) < 1e16)) {
            char fewest[RK_NUMBER_TEXT_SIZE];
            for (int digits = 15; digits == 15 || strtod(fewest, NULL) != value; digits++) {
                (void)snprintf(fewest, sizeof(fewest), "%.*g", digits, value);
            }
            assert_string_equal(rk_double_text(value, out), fewest);
        }
    }
}

static void test_time_text(void **state)
{
    static const struct {
        double seconds;
        const char *text, *roughly;
    } cases[] = {
        {0, "0.0000 s", "0 s"},
        {1.5e-7, "0.1500 µs", "0.15 µs"},
        {68.369e-6, "68.369 µs", "68.4 µs"},
        {1e-3, "1.0000 ms", "1 ms"},
        {-0.64019, "-640.19 ms", NULL},
        {56.050602, "56.051 s", "56.1 s"},
        {300, "300.00 s", "5 min"},
        {5400, "90.000 min", "90 min"},
        {36000, "10.000 h", "10 h"},
        {864000, "10.000 days", "10 days"},
    };
    char out[RK_TIME_TEXT_SIZE], title[RK_TIME_TITLE_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(rk_time_text(cases[i].seconds, out), cases[i].text);
        if (cases[i].roughly) {
            assert_string_equal(rk_duration_text(cases[i].seconds, out), cases[i].roughly);
        }
    }
    assert_string_equal(rk_time_text((double)INFINITY, out), "inf days");
    assert_int_equal(rk_time_decimals(0.25, rk_time_unit_of(0.25)), 2);
    assert_int_equal(rk_time_decimals(-0.25, rk_time_unit_of(1)), 4);
    assert_string_equal(rk_time_title("step", rk_time_unit_of(0.25), title), "step, ms");
}

static void test_human_text(void **state)
{
    char out[RK_NUMBER_TEXT_SIZE];
    (void)state;
    assert_string_equal(rk_human_text(55920607232.0, RK_HUMAN_BYTES, out), "52.080 GiB");
    assert_string_equal(rk_human_text(0, RK_HUMAN_BYTES, out), "0.000 iB");
    assert_string_equal(rk_human_text(34063640830.4, RK_HUMAN_BANDWIDTH, out), "34.064 GB/s");
    assert_string_equal(rk_human_text(1.008e12, RK_HUMAN_BASE10, out), "1.008 T");
    assert_string_equal(rk_human_text(1023.99999, RK_HUMAN_BYTES, out), "1024.000 iB");
    assert_string_equal(rk_human_text(-2048, RK_HUMAN_BASE2, out), "-2.000 k");
    assert_string_equal(rk_human_text((double)NAN, RK_HUMAN_FLOPS, out), "n/a Ops");
    assert_string_equal(rk_human_text(1e25, RK_HUMAN_THROUGHPUT, out), "10000000.000 EOp/s");
}

static void test_nearest_name(void **state)
{
    static const char *const names[] = {"bandwidth", "efficiency", "size", "latency"};
    (void)state;
    assert_string_equal(rk_nearest_name("bandwith", names, 4), "bandwidth");
    assert_string_equal(rk_nearest_name("bandwdith", names, 4), "bandwidth");
    assert_string_equal(rk_nearest_name("SIZE", names, 4), "size");
    assert_null(rk_nearest_name("colour", names, 4));
    assert_null(rk_nearest_name("", names, 0));
}

static void test_error_text(void **state)
{
    rk_error err;
    char out[256];
    (void)state;
    assert_int_equal(rk_fail_at(&err, RK_ERR_INVALID, "a.b", "is %d", 3), RK_ERR_INVALID);
    assert_string_equal(rk_error_text(&err, out, sizeof(out)), "a.b: is 3");
    rk_error_set_file(&err, "x.json");
    rk_error_set_file(&err, "y.json");
    assert_string_equal(rk_error_text(&err, out, sizeof(out)), "x.json: a.b: is 3");
    err.line = 4;
    err.column = 7;
    assert_string_equal(rk_error_text(&err, out, sizeof(out)), "x.json:4:7: is 3");
    assert_int_equal(rk_fail(NULL, RK_ERR_IO, "no one listens"), RK_ERR_IO);
    assert_int_equal(rk_fail_at(&err, RK_ERR_INVALID, "a\tb", "\"%s\" is none", "x\003\n\177"),
                     RK_ERR_INVALID);
    rk_error_set_file(&err, "z\n.json");
    assert_string_equal(rk_error_text(&err, out, sizeof(out)), "z?.json: a?b: \"x???\" is none");
}

static void test_divisors(void **state)
{
    rk_int_list list = {0};
    rk_error err;
    (void)state;
    for (int64_t n = 1; n <= 3000; n++) {
        size_t found = 0;
        assert_int_equal(rk_divisors(n, &list, &err), RK_OK);
        for (int64_t d = 1; d <= n; d++) {
            if (n % d == 0) {
                assert_true(found < list.count);
                assert_int_equal(list.items[found++], d);
            }
        }
        assert_int_equal(found, list.count);
    }
    rk_int_list_clear(&list);
}

struct tally {
    atomic_int seen[1000];
};

static void work(void *context, int worker, uint64_t unit, rk_parallel *shared)
{
    struct tally *tally = context;
    assert_in_range(worker, 0, 3);
    atomic_fetch_add(&tally->seen[unit], 1);
    atomic_fetch_add(&shared->done, 1);
}

static void test_parallel(void **state)
{
    static struct tally tally;
    rk_error err;
    (void)state;
    for (int threads = 0; threads <= 4; threads++) {
        memset(&tally, 0, sizeof(tally));
        assert_int_equal(rk_parallel_run(threads, 1000, work, &tally, NULL, NULL, &err), RK_OK);
        for (int i = 0; i < 1000; i++) {
            assert_int_equal(atomic_load(&tally.seen[i]), 1);
        }
    }
    assert_int_equal(rk_core_count(), sysconf(_SC_NPROCESSORS_ONLN));
}

static void sleep_shortly(void *context, int worker, uint64_t unit, rk_parallel *shared)
{
    const struct timespec shortly = {.tv_nsec = 10000000};
    (void)context, (void)worker, (void)unit;
    (void)nanosleep(&shortly, NULL);
    atomic_fetch_add(&shared->done, 7);
}

/* Counts its calls, of which the second stops the run. */
static bool stop_second(void *user, uint64_t done)
{
    assert_true(done == 0 || done == 7);
    return ++*(int *)user < 2;
}

/* Runs shorter than the time between two ticks get their share of these, and can be stopped. */
static void test_ticks(void **state)
{
    rk_error err;
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        rk_status status = RK_OK;
        int ticks = 0, runs = 0;
        for (; runs < 100 && !status; runs++) {
            status = rk_parallel_run(threads, 1, sleep_shortly, NULL, stop_second, &ticks, &err);
        }
        assert_int_equal(status, RK_ERR_STOPPED);
        assert_string_equal(err.message, "stopped before the end");
        assert_int_equal(ticks, 2);
        assert_true(runs > 2);
    }
}

/* What was reported last; stops when it has been twice. */
struct reported {
    rk_job_progress progress;
    int times;
};

static bool report(void *user, const rk_job_progress *progress)
{
    struct reported *reported = user;
    reported->progress = *progress;
    return ++reported->times < 2;
}

/* Progress of a search goes on with what it counts; a team of one is none. */
static void test_control(void **state)
{
    struct reported reported = {.times = 0};
    double cpu_s[] = {1e9, 20, 300}; /* that of rank 0 is this process's own */
    rk_team team = {.size = 1, .cores = 5, .cpu_s = cpu_s};
    rk_control control = {.progress = report, .user = &reported};
    (void)state;
    rk_search_control search = rk_control_search(&control, "strategies", 3);
    assert_int_equal(search.threads, 3);
    assert_true(search.progress(search.user, 4, 10));
    assert_string_equal(reported.progress.what, "strategies");
    assert_int_equal(reported.progress.done, 4);
    assert_int_equal(reported.progress.total, 10);
    assert_false(search.progress(search.user, 5, 10));
    assert_int_equal(rk_control_search(&control, "", 0).threads, 0);
    assert_true(rk_control_is_first(&control));
    control.team = &team;
    assert_null(rk_control_team(&control));
    assert_int_equal(rk_control_search(&control, "", 0).threads, 0);
    team.size = 3;
    assert_ptr_equal(rk_control_team(&control), &team);
    assert_int_equal(rk_control_search(&control, "", 0).threads, 5);
    assert_int_equal(rk_control_search(&control, "", 2).threads, 2);
    assert_true(rk_control_is_first(&control));
    const double all = rk_control_cpu_s(&control);
    assert_true(all > 320 && all < 1e9);
    team.rank = 2;
    assert_false(rk_control_is_first(&control));
    assert_true(rk_control_report(&(rk_control){.team = NULL}, &reported.progress));
}

struct candidate {
    double score;
    uint64_t index;
};

static int by_rank(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->score > y->score || x->score < y->score) {
        return x->score > y->score ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

/* The list equals the head of a full sort, whatever the order of arrival; many scores are equal. */
static void test_top(void **state)
{
    enum { COUNT = 500 };
    static const size_t limits[] = {0, 1, 7, 499, 500, 800};
    struct candidate all[COUNT], sorted[COUNT];
    rk_error err;
    uint64_t r = 12345;
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        r = r * 6364136223846793005U + 1442695040888963407U;
        all[i] = (struct candidate){.score = (double)(r >> 60), .index = (i * 237) % COUNT};
    }
    memcpy(sorted, all, sizeof(all));
    qsort(sorted, COUNT, sizeof(sorted[0]), by_rank);
    for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
        rk_top top, other; /* two lists merged at the end */
        rk_top_init(&top, limits[l], sizeof(all[0]));
        rk_top_init(&other, limits[l], sizeof(all[0]));
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(
                rk_top_offer(i % 3 ? &top : &other, all[i].score, all[i].index, &all[i], &err),
                RK_OK);
        }
        assert_int_equal(rk_top_merge(&top, &other, &err), RK_OK);
        rk_top_sort(&top);
        assert_int_equal(top.count, limits[l] < COUNT ? limits[l] : COUNT);
        for (size_t i = 0; i < top.count; i++) {
            const struct candidate *kept = rk_top_payload(&top, i);
            assert_int_equal(top.heap[i].index, sorted[i].index);
            assert_int_equal(kept->index, sorted[i].index);
            assert_true(kept->score == top.heap[i].score);
        }
        rk_top_clear(&top);
        rk_top_clear(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_double_text),  cmocka_unit_test(test_time_text),
        cmocka_unit_test(test_library),      cmocka_unit_test(test_human_text),
        cmocka_unit_test(test_nearest_name), cmocka_unit_test(test_error_text),
        cmocka_unit_test(test_divisors),     cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_ticks),        cmocka_unit_test(test_control),
        cmocka_unit_test(test_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
