/* SPDX-License-Identifier: Apache-2.0 */
/* Documents where memory runs out: refused, or read whole; never something in between. */
#include "io/json_memory.h"
#include "io/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The application's own allocator, in place before the library reads its first document. */
static long calls, failing, failing_until, blocks;

static void *allocate(size_t size)
{
    calls++;
    if (calls >= failing && calls < failing_until) {
        return NULL;
    }
    blocks++;
    return malloc(size);
}

static void release(void *block)
{
    blocks -= block != NULL;
    free(block);
}

/* Every kind of value, a string that outgrows its first buffer, and objects that grow. */
static const char document[] =
    "{\"long\": \"0123456789012345678901234567890123456789012345678901234567890123456789\","
    " \"empty\": \"\", \"\": [[[[]]], {}, {\"a\": {\"b\": 1}}], \"e\\u00e9\": -1.5e3,"
    " \"k1\": 1, \"k2\": 2, \"k3\": 3, \"k4\": 4, \"k5\": \"five\", \"k6\": \"six\","
    " \"list\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, \"eleven\", true, false, null],"
    " \"digits\": 3.14159265358979323846264338327950288419716939937510}";

static void fail_from(long first, long count)
{
    calls = 0;
    failing = first;
    failing_until = first + count;
}

/* `count` allocations fail from each of them on; LONG_MAX: all. */
static void check_parse(const json_t *whole, long count)
{
    long refused = 0;
    for (long first = 1;; first++) {
        const long before = blocks;
        rk_json_doc doc;
        rk_error err;
        fail_from(first, count);
        const rk_status status =
            rk_json_parse(document, sizeof(document) - 1, "x.json", &doc, &err);
        const bool reached = calls >= first;
        fail_from(0, 0);
        if (status == RK_OK) {
            assert_true(json_equal((json_t *)(uintptr_t)whole, doc.root));
            rk_json_clear(&doc);
        } else {
            assert_int_equal(status, RK_ERR_MEMORY);
            assert_null(doc.root);
            refused++;
        }
        assert_int_equal(blocks, before);
        if (!reached) {
            break;
        }
        assert_int_equal(status, RK_ERR_MEMORY);
    }
    assert_true(refused > 50);
}

static void test_parse(void **state)
{
    rk_json_doc doc;
    rk_error err;
    (void)state;
    assert_int_equal(rk_json_parse(document, sizeof(document) - 1, "x.json", &doc, &err), RK_OK);
    check_parse(doc.root, 1);
    check_parse(doc.root, 7);
    check_parse(doc.root, 1 << 30);
    rk_json_clear(&doc);
    assert_int_equal(blocks, 0);
}

static void test_copy(void **state)
{
    json_t *(*const copies[])(const json_t *value) = {rk_json_copy, rk_json_deep_copy};
    rk_json_doc doc;
    rk_error err;
    (void)state;
    assert_int_equal(rk_json_parse(document, sizeof(document) - 1, "x.json", &doc, &err), RK_OK);
    for (int i = 0; i < 2; i++) {
        long first = 1;
        for (bool reached = true; reached; first++) {
            const long before = blocks;
            fail_from(first, 1);
            json_t *copy = copies[i](doc.root);
            reached = calls >= first;
            fail_from(0, 0);
            assert_true(reached == !copy);
            assert_true(!copy || json_equal(copy, doc.root));
            json_decref(copy);
            assert_int_equal(blocks, before);
        }
        assert_true(first > 10);
    }
    rk_json_clear(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_copy),
    };
    json_set_alloc_funcs(allocate, release);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
