/* SPDX-License-Identifier: Apache-2.0 */
/* Published whole runs: enough of them, predicted from their layouts, most within bounds. */
#include "evidence/published.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *table;

static void test_published(void **state)
{
    (void)state;
    rk_published published;
    rk_error err;
    if (rk_published_load(table, &published, &err)) {
        fail_msg("%s", err.message);
    }
    size_t counted, laid_out = 0, open = 0;
    const size_t within = rk_published_within(&published, &counted);
    for (size_t i = 0; i < published.count; i++) {
        const rk_published_run *run = &published.runs[i];
        assert_true(run->predicted && run->source[0]);
        laid_out += run->strategy.tp > 0 && run->strategy.pp > 0;
        open += !run->confirmed;
        assert_true(run->days == 0 || (run->goodput > 0.5 && run->goodput < 1));
        assert_true(run->bound == 0.15 || run->bound == 0.25);
    }
    assert_true(laid_out >= 20 && counted >= 20 && open == 2);
    assert_true(4 * within >= 3 * counted); /* three in four */
    rk_published_clear(&published);
}

/* Llama 3.1 405B: hours in all, steps and goodput of the report. */
static void test_llama(void **state)
{
    (void)state;
    rk_published published;
    rk_error err;
    assert_int_equal(rk_published_load(table, &published, &err), RK_OK);
    for (size_t i = 0; i < published.count; i++) {
        const rk_published_run *run = &published.runs[i];
        if (strcmp(run->id, "llama3.1-405b") == 0) {
            assert_true(fabs(run->error) < 0.15);
            assert_true(run->goodput > 0.88 && run->goodput < 0.95); /* "over 90 %" */
            assert_true(fabs(run->hours / 30.84e6 - 1) < 0.15);
        }
    }
    rk_published_clear(&published);
}

/* Recomputation that a source leaves open is settled by memory, and published one never is. */
static void test_settled(void **state)
{
    (void)state;
    rk_published published;
    rk_error err;
    size_t settled = 0;
    assert_int_equal(rk_published_load(table, &published, &err), RK_OK);
    for (size_t i = 0; i < published.count; i++) {
        const rk_published_run *run = &published.runs[i];
        settled += run->settled[0] != '\0';
        assert_true(!run->settled[0] || run->fits);
        if (strcmp(run->id, "deepseek-v2") == 0) {
            assert_true(run->fits && strstr(run->settled, "mla_up"));
        } else if (strcmp(run->id, "llama3.1-405b") == 0) {
            assert_string_equal(run->settled, "");
        }
    }
    assert_true(settled >= 1);
    rk_published_clear(&published);
}

static void test_refusals(void **state)
{
    (void)state;
    rk_published published;
    rk_error err;
    assert_int_not_equal(rk_published_load("no-such-file.csv", &published, &err), RK_OK);
    assert_true(published.count == 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_llama),
        cmocka_unit_test(test_settled),
        cmocka_unit_test(test_refusals),
    };
    table = argc > 1 ? argv[1] : "data/runs/published.csv";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
