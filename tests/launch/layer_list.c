/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of layers as Megatron-LM writes them. */
#include "launch/layer_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_third(int every, int i)
{
    return i % every == 2;
}

/* Layers of the kind, a letter each. */
static const char *letters_of(const char *text, int layers, char out[64])
{
    rk_layer_list list;
    if (!rk_layer_list_read(text, &list)) {
        return NULL;
    }
    for (int i = 0; i < layers; i++) {
        out[i] = rk_layer_list_has(&list, i, is_third) ? '1' : '0';
    }
    out[layers] = '\0';
    return out;
}

static void test_lists(void **state)
{
    char out[64];
    (void)state;
    assert_string_equal(letters_of("[0,1,1]", 4, out), "0110");
    assert_string_equal(letters_of("([0]*3+[1]*2)", 5, out), "00011");
    assert_string_equal(letters_of("(([1]*2+[0]*1)*3)", 9, out), "110110110");
    assert_string_equal(letters_of("[0] * 1 + [1, 0]*2", 5, out), "01010");
    assert_string_equal(letters_of("3", 6, out), "001001");
}

static void test_wrong(void **state)
{
    static const char *const wrong[] = {
        "",       "0",     "1,0",    "[0,1",       "[2]",
        "([1]*3", "[1]*0", "[1]*-1", "[1]*100000", "[]",
        "x",      "[1]+",  "1025",   "[1] [0]",    "(((((((((((((((([1]))))))))))))))))"};
    char out[64];
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (letters_of(wrong[i], 4, out)) {
            fail_msg("'%s' is read", wrong[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
