/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the axes of a sweep: linked axes, variables, expressions and constraints. */
#include "point_at.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define BASE                                                                                       \
    "\"application\": \"megatron-126M\", \"system\": \"a100_80g\", \"processors\": 4, "            \
    "\"batch\": 8, \"datatype\": \"float16\", "

static rk_sweep_doc *parse(const char *members)
{
    char text[4096];
    rk_sweep_doc *doc = NULL;
    rk_error err = {0};
    (void)snprintf(text, sizeof(text), "{" BASE "%s}", members);
    if (rk_sweep_doc_parse(text, strlen(text), "grid.json", &doc, &err) != RK_OK) {
        fail_msg("%s: %s: %s", members, err.path, err.message);
    }
    return doc;
}

static rk_sweep_point point_at(const rk_sweep_doc *doc, uint64_t number, bool kept)
{
    rk_sweep_point point = {.common = {.changed = 0}};
    rk_error err = {0};
    bool found = false;
    if (read_point_at(doc, number, &point, &found, &err) != RK_OK) {
        fail_msg("point %d: %s: %s", (int)number, err.path, err.message);
    }
    assert_int_equal(found, kept);
    return point;
}

static void test_linked(void **state)
{
    static const char *const forms[] = {
        "\"axes\": [{\"key\": \"top\", \"values\": [1, 2]}, {\"linked\": ["
        "{\"key\": \"application.hidden\", \"from\": 1024, \"to\": 4096, \"factor\": 2},"
        "{\"key\": \"application.attn_heads\", \"values\": [16, 20, 32]}]},"
        "{\"key\": \"batch\", \"values\": [3, 4]}]",
        "\"axes\": [{\"key\": \"top\", \"values\": [1, 2]},"
        "{\"keys\": [\"application.hidden\", \"application.attn_heads\"],"
        "\"values\": [[1024, 16], [2048, 20], [4096, 32]]},"
        "{\"key\": \"batch\", \"values\": [3, 4]}]",
    };
    static const int64_t hidden[] = {1024, 2048, 4096}, heads[] = {16, 20, 32};
    (void)state;
    rk_sweep_doc *docs[2];
    for (int form = 0; form < 2; form++) {
        rk_sweep_doc *doc = docs[form] = parse(forms[form]);
        assert_int_equal(rk_sweep_doc_point_count(doc), 12);
        assert_int_equal(rk_sweep_doc_axis_count(doc), 4);
        for (uint64_t i = 0; i < 12; i++) {
            const rk_sweep_point point = point_at(doc, i, true);
            assert_int_equal(point.common.top, 1 + i / 6);
            assert_int_equal(point.common.problem.calculon.app.hidden, hidden[i / 2 % 3]);
            assert_int_equal(point.common.problem.calculon.app.attn_heads, heads[i / 2 % 3]);
            assert_int_equal(point.common.problem.calculon.space.max_batch_size, 3 + i % 2);
            assert_int_equal(rk_sweep_doc_axis_value(doc, 0, i).integer, point.common.top);
            assert_int_equal(rk_sweep_doc_axis_value(doc, 1, i).integer,
                             point.common.problem.calculon.app.hidden);
            assert_int_equal(rk_sweep_doc_axis_value(doc, 2, i).integer,
                             point.common.problem.calculon.app.attn_heads);
            assert_int_equal(rk_sweep_doc_axis_value(doc, 3, i).integer, 3 + i % 2);
        }
    }
    assert_string_equal(rk_sweep_doc_text(docs[0]), rk_sweep_doc_text(docs[1]));
    rk_sweep_doc_free(docs[0]);
    rk_sweep_doc_free(docs[1]);
}

/* Expressions find axes, the document, variables and one another, in whatever order they stand. */
static void test_expressions(void **state)
{
    (void)state;
    rk_sweep_doc *doc =
        parse("\"let\": {\"aspect\": 64, \"params\": \"12 * application.num_blocks * width^2\","
              "\"width\": \"aspect * application.num_blocks\"},"
              "\"set\": {\"application.feedforward\": \"4 * application.hidden\","
              "\"application.hidden\": \"let.width\", \"processors\": \"if(params > 1e9, 8, 2)\","
              "\"system.mem1.GiB\": \"processors * 1.5\"},"
              "\"axes\": [{\"key\": \"aspect\", \"values\": [64, 128]},"
              "{\"key\": \"application.num_blocks\", \"values\": [8, 16]}]");
    for (uint64_t i = 0; i < 4; i++) {
        const rk_sweep_point point = point_at(doc, i, true);
        const int64_t blocks = i % 2 ? 16 : 8, hidden = blocks * (i / 2 ? 128 : 64);
        const int64_t processors = 12 * blocks * hidden * hidden > 1000000000 ? 8 : 2;
        assert_int_equal(point.common.problem.calculon.app.num_blocks, blocks);
        assert_int_equal(point.common.problem.calculon.app.hidden, hidden);
        assert_int_equal(point.common.problem.calculon.app.feedforward, 4 * hidden);
        assert_int_equal(point.common.problem.calculon.space.num_procs, processors);
        assert_true(point.common.problem.calculon.sys.mem1.capacity ==
                    (double)processors * 1.5 * 0x1p30);
    }
    assert_string_equal(rk_sweep_doc_axis_column(doc, 0).name, "aspect");
    rk_sweep_doc_free(doc);
}

static void test_constraints(void **state)
{
    (void)state;
    rk_sweep_doc *doc = parse("\"axes\": [{\"key\": \"processors\", \"from\": 1, \"to\": 8, "
                              "\"step\": 1}, {\"key\": \"datatype\", \"values\": "
                              "[\"float16\", \"float8\"]}], \"point_constraints\": ["
                              "\"processors % 2 == 0 or datatype == 'float16'\","
                              "\"processors < batch\"]");
    assert_int_equal(rk_sweep_doc_point_count(doc), 16);
    for (uint64_t i = 0; i < 16; i++) {
        const int64_t processors = 1 + (int64_t)i / 2;
        (void)point_at(doc, i, (processors % 2 == 0 || i % 2 == 0) && processors < 8);
    }
    rk_sweep_doc_free(doc);
}

/* A constraint keeps points out whose documents would be refused. */
static void test_constraints_before_checks(void **state)
{
    (void)state;
    rk_sweep_doc *doc = parse("\"axes\": [{\"key\": \"batch\", \"values\": [0, 2]}],"
                              "\"point_constraints\": [\"batch > 0\"]");
    (void)point_at(doc, 0, false);
    assert_int_equal(point_at(doc, 1, true).common.problem.calculon.space.max_batch_size, 2);
    rk_sweep_doc_free(doc);
}

/* A cursor that wanders reads the same as a fresh one. */
static void test_cursor(void **state)
{
    (void)state;
    rk_sweep_doc *doc =
        parse("\"let\": {\"k\": 1}, \"set\": {\"application.feedforward\": "
              "\"k * application.hidden\", \"system.mem1.GiB\": \"if(k > 1, 40, 80)\"},"
              "\"axes\": [{\"key\": \"application.hidden\", \"values\": [768, 1536]},"
              "{\"key\": \"application\", \"values\": [\"megatron-126M\", \"gpt3-13B\"]},"
              "{\"key\": \"k\", \"values\": [1, 2, 4]},"
              "{\"linked\": [{\"key\": \"system\", \"values\": [\"a100_80g\", \"h100_80g_nvl8\"]},"
              "{\"key\": \"application.seq_size\", \"values\": [512, 1024]}]}],"
              "\"point_constraints\": [\"k != 2 or application.hidden > 1000\"]");
    const uint64_t count = rk_sweep_doc_point_count(doc);
    rk_sweep_cursor cursor;
    rk_sweep_cursor_init(&cursor, doc);
    uint64_t number = 1;
    for (int i = 0; i < 500; i++) {
        rk_error err = {0};
        bool kept[2] = {false};
        rk_sweep_cursor fresh;
        rk_sweep_cursor_init(&fresh, doc);
        number = (number * 1103515245 + 12345) % count;
        assert_int_equal(rk_sweep_cursor_move(&cursor, number, &kept[0], &err), RK_OK);
        assert_int_equal(rk_sweep_cursor_move(&fresh, number, &kept[1], &err), RK_OK);
        assert_int_equal(kept[0], kept[1]);
        assert_true(json_equal(cursor.root, fresh.root));
        rk_sweep_cursor_clear(&fresh);
    }
    rk_sweep_cursor_clear(&cursor);
    rk_sweep_doc_free(doc);
}

/* What the cursor calls unchanged is; moving along an axis does not touch other members. */
static void test_changes(void **state)
{
    (void)state;
    rk_sweep_doc *doc = parse("\"axes\": [{\"key\": \"system.mem1.GiB\", \"values\": [40, 80]},"
                              "{\"key\": \"batch\", \"values\": [4, 8]}],"
                              "\"set\": {\"application.hidden\": \"768 + 0 * batch\"}");
    static const unsigned changes[] = {RK_SWEEP_ALL, RK_SWEEP_OTHER,
                                       RK_SWEEP_OTHER | RK_SWEEP_SYSTEM, RK_SWEEP_OTHER};
    rk_sweep_cursor cursor;
    rk_sweep_cursor_init(&cursor, doc);
    for (uint64_t i = 0; i < 4; i++) {
        rk_error err = {0};
        bool kept = false;
        assert_int_equal(rk_sweep_cursor_move(&cursor, i, &kept, &err), RK_OK);
        assert_int_equal(cursor.changed, changes[i]);
        cursor.changed = 0;
    }
    rk_sweep_cursor_clear(&cursor);
    rk_sweep_doc_free(doc);
}

static void test_text(void **state)
{
    static const char members[] =
        "\"let\": {\"aspect\": 64, \"width\": \"aspect * 2\"}, \"set\": {\"application.hidden\": "
        "\"width\"}, \"axes\": [{\"keys\": [\"aspect\", \"batch\"], \"values\": [[64, 3], [1, "
        "2]]}],"
        "\"point_constraints\": [\"width > 3\"]";
    rk_sweep_doc *again = NULL;
    rk_error err = {0};
    (void)state;
    rk_sweep_doc *doc = parse(members);
    const char *text = rk_sweep_doc_text(doc);
    assert_int_equal(rk_sweep_doc_parse(text, strlen(text), "text", &again, &err), RK_OK);
    assert_string_equal(rk_sweep_doc_text(again), text);
    assert_int_equal(point_at(again, 0, true).common.problem.calculon.app.hidden, 128);
    (void)point_at(again, 1, false);
    rk_sweep_doc_free(again);
    rk_sweep_doc_free(doc);
}

static void test_faults(void **state)
{
    static const struct {
        const char *members, *path, *says;
    } faults[] = {
        {"\"set\": {\"batch\": \"4*\"}", "set.batch", "found the end"},
        {"\"set\": {\"batch\": true}", "set.batch", "expected an expression"},
        {"\"set\": {\"ba tch\": \"4\"}", "set.ba tch", "expected a key"},
        {"\"set\": []", "set", "expected an object of keys"},
        {"\"let\": 3", "let", "expected an object of names"},
        {"\"let\": {\"x\": \"y\"}", "y", "there is no \"y\" here"},
        {"\"let\": {\"width\": 3}, \"set\": {\"batch\": \"widht\"}", "widht",
         "did you mean \"width\"?"},
        {"\"set\": {\"batch\": \"application.hiden\"}", "application.hiden",
         "did you mean \"hidden\"?"},
        {"\"set\": {\"batch\": \"application\"}", "application", "an object, not a value"},
        {"\"set\": {\"batch\": \"batch + 1\"}", "batch", "depends on its own value"},
        {"\"let\": {\"x\": \"y\", \"y\": \"z + 1\", \"z\": \"let.x\"}", "let.x",
         "depends on its own value"},
        {"\"set\": {\"system.networks[0].size\": \"system.networks[00].size\"}",
         "system.networks[0].size", "depends on its own value"},
        {"\"set\": {\"batch\": \"8 / (processors - 4)\"}", "batch", "character 3: this divides"},
        {"\"set\": {\"batch\": \"2.5\"}", "batch", "found a real 2.5"},
        {"\"set\": {\"batch\": \"4\"}, \"axes\": [{\"key\": \"batch\", \"values\": [1]}]",
         "set.batch", "axes[0] varies \"batch\" already"},
        {"\"let\": {\"x\": \"4\"}, \"set\": {\"let.x\": \"1\"}", "set.let.x", "another expression"},
        {"\"axes\": [{\"key\": \"set\", \"values\": [1]}]", "set", "cannot be varied"},
        {"\"point_constraints\": \"batch > 3\"", "point_constraints", "expected a list"},
        {"\"point_constraints\": [\"batch > 3\", \"batch\"]", "point_constraints[1]",
         "expected a condition, which is true or false; \"batch\" is 8"},
        {"\"point_constraints\": [\"batch > 'x'\"]", "point_constraints[0]", "different types"},
        {"\"point_constraints\": [\"batch >\"]", "point_constraints[0]", "found the end"},
        {"\"point_constraint\": []", "point_constraint", "did you mean \"point_constraints\"?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        char text[2048];
        rk_sweep_doc *doc = NULL;
        rk_sweep_point point;
        rk_error err = {0};
        bool kept;
        (void)snprintf(text, sizeof(text), "{" BASE "%s}", faults[i].members);
        rk_status status = rk_sweep_doc_parse(text, strlen(text), "grid.json", &doc, &err);
        if (status == RK_OK) {
            status = read_point_at(doc, 0, &point, &kept, &err);
        }
        if (status != RK_ERR_INVALID || strcmp(err.path, faults[i].path) != 0 ||
            !strstr(err.message, faults[i].says) || strcmp(err.file, "grid.json") != 0) {
            fail_msg("%s: got %d, %s: %s: %s", faults[i].members, status, err.file, err.path,
                     err.message);
        }
        rk_sweep_doc_free(doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linked),      cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_constraints), cmocka_unit_test(test_constraints_before_checks),
        cmocka_unit_test(test_cursor),      cmocka_unit_test(test_changes),
        cmocka_unit_test(test_text),        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
