/* SPDX-License-Identifier: Apache-2.0 */
/* An output that is an input is refused, whatever it is called and whoever names it. */
#include "io/inputs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "scratch.h"

static scratch folder;

static void put(const char *name, const char *text)
{
    assert_true(scratch_write(&folder, name, text, strlen(text)));
}

/* A text with the folder in place of every @. */
static const char *in_folder(const char *text, char out[1024])
{
    size_t length = 0;
    for (; *text; text++) {
        length += (size_t)snprintf(out + length, 1024 - length, "%.*s", *text == '@' ? 64 : 1,
                                   *text == '@' ? folder.folder : text);
    }
    return out;
}

static int make(void **state)
{
    char from[1024], to[1024];
    (void)state;
    if (!scratch_make(&folder)) {
        return -1;
    }
    put("mine.json", "{\"name\": \"mine\"}");
    put("same.json", "{\"name\": \"mine\"}");
    put("beside.json", "{\"list\": [1, {\"accelerator\": \"mine.json\"}]}");
    put("chain.json", "{\"system\": \"./beside.json\"}");
    put("loop.json", "{\"system\": \"loop.json\", \"other\": \"none.json\"}");
    put("broken.json", "{\"system\": ");
    put("table.csv", "model,system\nllama3-8b,./mine.json\n");
    put("head.csv", "./mine.json,system\n1,2\n");
    put("last.csv", "model,system\n1,2\nllama3-8b,./mine.json");
    put("cut.csv", "model,system\n./mine.json\n");
    put("data.db", "not a database");
    put("config.json", "{}");
    return symlink(in_folder("@/mine.json", from), in_folder("@/soft.json", to)) ||
           link(from, in_folder("@/hard.json", to));
}

static int remove_all(void **state)
{
    (void)state;
    scratch_remove(&folder);
    return 0;
}

static void test_refused(void **state)
{
    static const char *const cases[][2] = {
        {"@/mine.json", "@/mine.json"},
        {"@/mine.json", "@/./mine.json"},
        {"@/soft.json", "@/mine.json"},
        {"@/mine.json", "@/soft.json"},
        {"@/hard.json", "@/mine.json"},
        {"@/mine.json", "check,@/mine.json"},
        {"@/mine.json", "8x@/mine.json"},
        {"@/mine.json", "@/mine.json:64,h100:64"},
        {"@/mine.json", "@/beside.json"},
        {"@/mine.json", "@/chain.json"},
        {"@/mine.json", "@/table.csv"},
        {"@/mine.json", "@/head.csv"},
        {"@/mine.json", "@/last.csv"},
        {"@/mine.json", "{\"system\": \"@/chain.json\"}"},
        {"@/data.db", "{\"results\": [\"@/data.db\"]}"},
        {"@/config.json", "@"},
        {"@/mine.json", "-"}, /* standard input is redirected from it */
    };
    char mine[1024];
    (void)state;
    assert_non_null(freopen(in_folder("@/mine.json", mine), "r", stdin));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char output[1024], input[1024];
        const char *const inputs[] = {NULL, "llama3-8b", in_folder(cases[i][1], input)};
        rk_error err;
        assert_int_equal(rk_refuse_input(in_folder(cases[i][0], output), inputs, 3, &err),
                         RK_ERR_INVALID);
        assert_non_null(strstr(err.message, "is an input"));
        assert_string_equal(err.file, output);
    }
}

static void test_allowed(void **state)
{
    static const char *const cases[][2] = {
        {"@/same.json", "@/mine.json"},
        {"@/new.json", "@/mine.json"},
        {"@/mine.json", "@/loop.json"},
        {"@/mine.json", "@/broken.json"},
        {"@/mine.json", "@/none.json"},
        {"@/mine.json", "@/cut.csv"},
        {"@/mine.json", "@/none.csv"},
        {"@/mine.json", "llama3-8b"},
        {"/dev/null", "/dev/null"},
        {"-", "-"},
        {"@", "@"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char output[1024], input[1024];
        const char *const inputs[] = {in_folder(cases[i][1], input)};
        rk_error err;
        assert_int_equal(rk_refuse_input(in_folder(cases[i][0], output), inputs, 1, &err), RK_OK);
    }
    assert_int_equal(rk_refuse_input(NULL, NULL, 0, NULL), RK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_allowed),
    };
    return cmocka_run_group_tests(tests, make, remove_all);
}
