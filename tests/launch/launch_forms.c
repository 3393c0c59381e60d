/* SPDX-License-Identifier: Apache-2.0 */
/* Which form a text has whose name does not say it. */
#include "launch/launch_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_forms(void **state)
{
    static const struct {
        const char *text;
        rk_launch_form form;
    } cases[] = {
        {"", RK_LAUNCH_WORDS},
        {"\n# words\n", RK_LAUNCH_WORDS},
        {" \n {\"argv\": []}", RK_LAUNCH_JSON},
        {"# a\n\n[model]\nname = 1", RK_LAUNCH_TOML},
        {"[[a.\"b c\"]] # x\n", RK_LAUNCH_TOML},
        {"name = \"x\"\n", RK_LAUNCH_TOML},
        {"---\n- a\n", RK_LAUNCH_YAML},
        {"# a\nmodel:\n  b: 1\n", RK_LAUNCH_YAML},
        {"a.b-c_d: 1", RK_LAUNCH_YAML},
        {"#!/bin/bash\n[ -f x ]\n", RK_LAUNCH_WORDS},
        {"[ -f x ] && torchrun train.py\n", RK_LAUNCH_WORDS},
        {"[[ -n $X ]]\n", RK_LAUNCH_WORDS},
        {"NODES=2\ntorchrun train.py", RK_LAUNCH_WORDS},
        {"torchrun train.py --config=a", RK_LAUNCH_WORDS},
        {"--tp 8", RK_LAUNCH_WORDS},
        {"https://x", RK_LAUNCH_WORDS},
        {"x() {", RK_LAUNCH_WORDS},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (rk_launch_form_of_text(cases[i].text, strlen(cases[i].text)) != cases[i].form) {
            fail_msg("%s", cases[i].text);
        }
    }
    assert_int_equal(rk_launch_form_of_name("a.yml"), RK_LAUNCH_YAML);
    assert_int_equal(rk_launch_form_of_name("a.toml"), RK_LAUNCH_TOML);
    assert_int_equal(rk_launch_form_of_name("a.sh"), RK_LAUNCH_WORDS);
}

/* What is behind the size of a text is not read. */
static void test_size(void **state)
{
    static const char text[] = "# a\n{\"argv\": []}";
    (void)state;
    for (size_t size = 0; size < sizeof(text); size++) {
        assert_int_equal(rk_launch_form_of_text(text, size),
                         size <= strlen("# a\n") ? RK_LAUNCH_WORDS : RK_LAUNCH_JSON);
    }
}

/* Words know the lines that they come from: of flags alone, and of a command. */
static void test_lines(void **state)
{
    static const struct {
        const char *text;
        int lines[4]; /* of its last words */
    } cases[] = {
        {"--num-layers 8\n\n\t--bf16 \\\n--fp16", {1, 1, 3, 4}},
        {"\r\n--num-layers 8\r\n--bf16\r\n--fp16\r\n", {2, 2, 3, 4}},
        {"N=8\n\ntorchrun train.py \\\n  --num-layers 8\n", {3, 3, 4, 4}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_launch launch = {0};
        rk_error err;
        const char *text = cases[i].text;
        assert_int_equal(rk_launch_parse(text, strlen(text), "lines", &launch, &err), RK_OK);
        assert_true(launch.word_count >= 4);
        for (size_t j = 0; j < 4; j++) {
            assert_int_equal(launch.words[launch.word_count - 4 + j].line, cases[i].lines[j]);
        }
        rk_launch_clear(&launch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
