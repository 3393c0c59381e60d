/* SPDX-License-Identifier: Apache-2.0 */
/* Published whole runs: enough of them, predicted from their layouts, most within bounds. */
#include "evidence/published.h"

#include "../io/scratch.h"

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
    static const struct {
        const char *columns, *cells, *message; /* without the name of the file */
    } cases[] = {
        {"target", "month", "run a: column target: expected step, hours or days, found \"month\""},
        {"target,tokens_T", "days,1T", "run a: column tokens_T: expected a number, found \"1T\""},
        {"target,tokens_T", "days,-1", "run a: column tokens_T: expected a number, found \"-1\""},
        {"target,tokens_T", "days,inf", "run a: column tokens_T: expected a number, found \"inf\""},
        {"target,days", "days,a week", "run a: column days: expected a number, found \"a week\""},
        {"target,accel_hours", "hours,nan",
         "run a: column accel_hours: expected a number, found \"nan\""},
        {"target,goodput_pct", "hours,90%",
         "run a: column goodput_pct: expected a number, found \"90%\""},
    };
    scratch files;
    assert_true(scratch_make(&files));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300], message[300];
        const int size = snprintf(text, sizeof(text),
                                  "id,model,accelerator,n_accel,seq,gbs,%s\na,x,H100,8,4096,8,%s\n",
                                  cases[i].columns, cases[i].cells);
        assert_true(scratch_write(&files, "t.csv", text, (size_t)size));
        assert_int_equal(rk_published_load(scratch_path(&files, "t.csv"), &published, &err),
                         RK_ERR_INVALID);
        (void)snprintf(message, sizeof(message), "%s/t.csv, %s", files.folder, cases[i].message);
        assert_string_equal(err.message, message);
    }
    scratch_remove(&files);
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
