/* SPDX-License-Identifier: Apache-2.0 */
/* Sweep documents: expansion of axes, patching of points, and what is refused. */
#include "point_at.h"

#include "../io/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* A search without axes, into which a test puts its own. */
#define BASE                                                                                       \
    "\"application\": \"megatron-126M\", \"system\": \"a100_80g\", \"processors\": 4, "            \
    "\"batch\": 8, \"datatype\": \"float16\""

static rk_status parse(const char *text, rk_sweep_doc **doc, rk_error *err)
{
    return rk_sweep_doc_parse(text, strlen(text), "grid.json", doc, err);
}

/* Reads BASE with these axes; fails the test when that does not work. */
static rk_sweep_doc *parse_axes(const char *axes)
{
    char text[2048];
    rk_sweep_doc *doc = NULL;
    rk_error err = {0};
    (void)snprintf(text, sizeof(text), "{" BASE ", \"axes\": [%s]}", axes);
    if (parse(text, &doc, &err) != RK_OK) {
        fail_msg("%s: %s: %s", axes, err.path, err.message);
    }
    return doc;
}

static rk_sweep_point point_at(const rk_sweep_doc *doc, uint64_t number)
{
    rk_sweep_point point;
    rk_error err = {0};
    bool kept = false;
    if (read_point_at(doc, number, &point, &kept, &err) != RK_OK || !kept) {
        fail_msg("point %d: %s: %s", (int)number, err.path, err.message);
    }
    return point;
}

static void test_ranges(void **state)
{
    static const struct {
        const char *range;
        rk_value_type type;
        size_t count;
        double values[5];
    } cases[] = {
        {"\"from\": 2, \"to\": 8, \"step\": 2", RK_VALUE_INT, 4, {2, 4, 6, 8}},
        {"\"from\": 2, \"to\": 7.5, \"step\": 2", RK_VALUE_INT, 3, {2, 4, 6}},
        {"\"from\": 8, \"to\": 2, \"step\": -3", RK_VALUE_INT, 3, {8, 5, 2}},
        {"\"from\": 5, \"to\": 5, \"step\": 1", RK_VALUE_INT, 1, {5}},
        {"\"from\": 0.1, \"to\": 0.5, \"step\": 0.1", RK_VALUE_REAL, 5, {0.1, 0.2, 0.3, 0.4, 0.5}},
        {"\"from\": 1, \"to\": 2, \"step\": 0.5", RK_VALUE_REAL, 3, {1, 1.5, 2}},
        {"\"from\": 1, \"to\": 100, \"factor\": 3", RK_VALUE_INT, 5, {1, 3, 9, 27, 81}},
        {"\"from\": 64, \"to\": 1, \"factor\": 0.25", RK_VALUE_REAL, 4, {64, 16, 4, 1}},
        {"\"from\": 0.1, \"to\": 1000, \"factor\": 10", RK_VALUE_REAL, 5, {0.1, 1, 10, 100, 1000}},
        {"\"values\": [3, 0.5]", RK_VALUE_NULL, 2, {3, 0.5}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char axis[256];
        (void)snprintf(axis, sizeof(axis), "{\"key\": \"system.mem1.GiB\", %s}", cases[i].range);
        rk_sweep_doc *doc = parse_axes(axis);
        assert_int_equal(rk_sweep_doc_point_count(doc), cases[i].count);
        assert_int_equal(rk_sweep_doc_axis_column(doc, 0).type, cases[i].type);
        for (size_t j = 0; j < cases[i].count; j++) {
            const rk_value value = rk_sweep_doc_axis_value(doc, 0, j);
            const double number = value.type == RK_VALUE_INT ? (double)value.integer : value.real;
            assert_true(number == cases[i].values[j]);
            assert_true(point_at(doc, j).common.problem.calculon.sys.mem1.capacity ==
                        number * 0x1p30);
        }
        rk_sweep_doc_free(doc);
    }
}

static void test_first_axis_is_slowest(void **state)
{
    (void)state;
    rk_sweep_doc *doc = parse_axes("{\"key\": \"processors\", \"values\": [1, 2]},"
                                   "{\"key\": \"batch\", \"values\": [3, 4, 5]},"
                                   "{\"key\": \"fused\", \"values\": [true, false]}");
    assert_int_equal(rk_sweep_doc_point_count(doc), 12);
    for (uint64_t i = 0; i < 12; i++) {
        const rk_sweep_point point = point_at(doc, i);
        assert_int_equal(point.common.problem.calculon.space.num_procs, 1 + i / 6);
        assert_int_equal(point.common.problem.calculon.space.max_batch_size, 3 + i / 2 % 3);
        assert_int_equal(point.common.problem.calculon.space.fused[0], i % 2 == 0);
    }
    rk_sweep_doc_free(doc);
}

static void test_settings(void **state)
{
    rk_sweep_doc *doc = NULL;
    rk_error err = {0};
    (void)state;
    assert_int_equal(parse("{" BASE "}", &doc, &err), RK_OK);
    assert_int_equal(rk_sweep_doc_point_count(doc), 1);
    rk_sweep_point point = point_at(doc, 0);
    assert_int_equal(point.common.problem.calculon.app.hidden, 768);
    assert_int_equal(point.common.problem.calculon.space.num_procs, 4);
    assert_int_equal(point.common.problem.calculon.space.max_batch_size, 8);
    assert_int_equal(point.common.problem.calculon.space.datatype, RK_FLOAT16);
    assert_int_equal(point.common.problem.calculon.space.fused_count, 1);
    assert_true(point.common.problem.calculon.space.fused[0]);
    assert_false(point.common.problem.calculon.space.no_tp_overlap ||
                 point.common.problem.calculon.space.no_dp_overlap ||
                 point.common.problem.calculon.space.mbs_break);
    assert_int_equal(point.common.top, 1);
    rk_sweep_doc_free(doc);

    assert_int_equal(parse("{" BASE ", \"fused\": \"both\", \"no_tp_overlap\": true,"
                           "\"no_dp_overlap\": true, \"mbs_break\": true, \"top\": 7}",
                           &doc, &err),
                     RK_OK);
    point = point_at(doc, 0);
    assert_int_equal(point.common.problem.calculon.space.fused_count, 2);
    assert_false(point.common.problem.calculon.space.fused[0]);
    assert_true(point.common.problem.calculon.space.fused[1]);
    assert_true(point.common.problem.calculon.space.no_tp_overlap &&
                point.common.problem.calculon.space.no_dp_overlap &&
                point.common.problem.calculon.space.mbs_break);
    assert_int_equal(point.common.top, 7);
    rk_sweep_doc_free(doc);
}

static void test_patches(void **state)
{
    (void)state;
    rk_sweep_doc *doc = parse_axes(
        "{\"key\": \"system.networks[0].size\", \"values\": [16]},"
        "{\"key\": \"system.networks[1].must_be_filled\", \"values\": [true]},"
        "{\"key\": \"system.matrix.float16.tflops\", \"values\": [100]},"
        "{\"key\": \"system.matrix.float16.gflops_efficiency[0][1]\", \"values\": [0.5]},"
        "{\"key\": \"system.processing_mode\", \"values\": [\"roofline\", \"no_overlap\"]},"
        "{\"key\": \"application.hidden\", \"values\": [1024]},"
        "{\"key\": \"datatype\", \"values\": [\"float32\", \"float16\"]}");
    for (uint64_t i = 0; i < 4; i++) {
        const rk_sweep_point point = point_at(doc, i);
        assert_int_equal(point.common.problem.calculon.sys.networks[0].size, 16);
        assert_true(point.common.problem.calculon.sys.networks[1].must_be_filled);
        assert_true(point.common.problem.calculon.sys.matrix[RK_FLOAT16].peak == 100e12);
        assert_true(point.common.problem.calculon.sys.matrix[RK_FLOAT16].curve.rate[0] == 50e12);
        assert_int_equal(point.common.problem.calculon.sys.roofline, i < 2);
        assert_int_equal(point.common.problem.calculon.app.hidden, 1024);
        assert_int_equal(point.common.problem.calculon.app.feedforward, 3072);
        assert_int_equal(point.common.problem.calculon.space.datatype,
                         i % 2 == 0 ? RK_FLOAT32 : RK_FLOAT16);
    }
    rk_sweep_doc_free(doc);
}

/* A whole model goes in before the axes that vary a part of it, wherever it stands in the list. */
static void test_models_before_parts(void **state)
{
    (void)state;
    rk_sweep_doc *doc =
        parse_axes("{\"key\": \"application.seq_size\", \"values\": [512, 1024]},"
                   "{\"key\": \"application\", \"values\": [\"megatron-22B\", \"megatron-126M\"]}");
    static const struct {
        int64_t seq_size, hidden;
    } expected[] = {{512, 6144}, {512, 768}, {1024, 6144}, {1024, 768}};
    for (uint64_t i = 0; i < 4; i++) {
        const rk_sweep_point point = point_at(doc, i);
        assert_int_equal(point.common.problem.calculon.app.seq_size, expected[i].seq_size);
        assert_int_equal(point.common.problem.calculon.app.hidden, expected[i].hidden);
    }
    rk_sweep_doc_free(doc);
}

#define MODEL(hidden)                                                                              \
    "{\"hidden\": " #hidden ", \"feedforward\": 64, \"seq_size\": 32, \"attn_heads\": 4,"          \
    "\"attn_size\": 4, \"num_blocks\": 2}"

static const char with_file[] = "{\"application\": \"model.json\", \"system\": \"a100_80g\","
                                "\"processors\": 4, \"batch\": 8, \"datatype\": \"float16\"}";

/* Files are found from the folder of the document; a changed file changes the sweep. */
static void test_files(void **state)
{
    scratch s;
    rk_sweep_doc *first = NULL, *second = NULL;
    rk_error err = {0};
    (void)state;
    assert_true(scratch_make(&s));
    assert_true(scratch_write(&s, "model.json", MODEL(16), strlen(MODEL(16))));
    assert_true(scratch_write(&s, "grid.json", with_file, strlen(with_file)));
    assert_int_equal(rk_sweep_doc_load(s.path, &first, &err), RK_OK);
    assert_int_equal(point_at(first, 0).common.problem.calculon.app.hidden, 16);

    assert_true(scratch_write(&s, "model.json", MODEL(20), strlen(MODEL(20))));
    assert_int_equal(rk_sweep_doc_load(scratch_path(&s, "grid.json"), &second, &err), RK_OK);
    assert_int_equal(point_at(second, 0).common.problem.calculon.app.hidden, 20);
    assert_string_not_equal(rk_sweep_doc_text(first), rk_sweep_doc_text(second));
    rk_sweep_doc_free(second);

    (void)unlink(scratch_path(&s, "model.json"));
    assert_int_equal(rk_sweep_doc_load(scratch_path(&s, "grid.json"), &second, &err), RK_ERR_IO);
    assert_null(second);
    assert_string_equal(err.file, scratch_path(&s, "model.json"));
    rk_sweep_doc_free(first);
    scratch_remove(&s);
}

static void test_text(void **state)
{
    (void)state;
    rk_sweep_doc *range = parse_axes("{\"key\": \"batch\", \"from\": 4, \"to\": 8, \"step\": 2}");
    rk_sweep_doc *list = parse_axes("{\"values\": [4, 6, 8], \"key\": \"batch\"}");
    rk_sweep_doc *other = parse_axes("{\"key\": \"batch\", \"values\": [4, 6, 7]}");
    assert_string_equal(rk_sweep_doc_text(range), rk_sweep_doc_text(list));
    assert_string_not_equal(rk_sweep_doc_text(range), rk_sweep_doc_text(other));

    /* Where no axis names models or systems, the text is itself a document of the sweep. */
    rk_sweep_doc *again = NULL;
    rk_error err = {0};
    assert_int_equal(parse(rk_sweep_doc_text(list), &again, &err), RK_OK);
    assert_string_equal(rk_sweep_doc_text(list), rk_sweep_doc_text(again));
    rk_sweep_doc_free(range);
    rk_sweep_doc_free(list);
    rk_sweep_doc_free(other);
    rk_sweep_doc_free(again);
}

struct fault {
    const char *members; /* of the document, besides those of BASE */
    rk_status code;
    const char *path, *says;
};

static void check_fault(const struct fault *fault)
{
    char text[8192];
    rk_sweep_doc *doc = NULL;
    rk_error err = {0};
    rk_status status;
    (void)snprintf(text, sizeof(text), "{" BASE ", %s}", fault->members);
    status = parse(text, &doc, &err);
    for (uint64_t i = 0; status == RK_OK && i < rk_sweep_doc_point_count(doc); i++) {
        rk_sweep_point point;
        bool kept;
        status = read_point_at(doc, i, &point, &kept, &err);
    }
    rk_sweep_doc_free(doc);
    if (status != fault->code || strcmp(err.path, fault->path) != 0 ||
        !strstr(err.message, fault->says) || strcmp(err.file, "grid.json") != 0) {
        fail_msg("%s: got %d, %s: %s: %s", fault->members, status, err.file, err.path, err.message);
    }
}

#define AXIS(members) "\"axes\": [{" members "}]"

static void check_faults(const struct fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_fault(&faults[i]);
    }
}

static void test_faulty_keys(void **state)
{
    static const struct fault faults[] = {
        {AXIS("\"key\": \"application.hiden\", \"values\": [4]"), RK_ERR_INVALID,
         "application.hiden", "did you mean \"hidden\"?"},
        {AXIS("\"key\": \"aplication.hidden\", \"values\": [4]"), RK_ERR_INVALID, "aplication",
         "did you mean \"application\"?"},
        {AXIS("\"key\": \"system.mem3.GiB\", \"values\": [4]"), RK_ERR_INVALID, "system.mem3",
         "did you mean \"mem1\"?"},
        {AXIS("\"key\": \"procesors\", \"values\": [4]"), RK_ERR_INVALID, "procesors",
         "did you mean \"processors\"?"},
        {AXIS("\"key\": \"system.networks[9].size\", \"values\": [4]"), RK_ERR_INVALID,
         "system.networks[9]", "has 2 entries"},
        {AXIS("\"key\": \"system.networks.size\", \"values\": [4]"), RK_ERR_INVALID,
         "system.networks.size", "is an array"},
        {AXIS("\"key\": \"system[0]\", \"values\": [4]"), RK_ERR_INVALID, "system[0]",
         "is an object"},
        {AXIS("\"key\": \"batch..x\", \"values\": [4]"), RK_ERR_INVALID, "axes[0].key",
         "expected a key"},
        {AXIS("\"key\": \"system.networks[x].size\", \"values\": [4]"), RK_ERR_INVALID,
         "axes[0].key", "expected a key"},
        {AXIS("\"key\": \"system.networks[0]size\", \"values\": [4]"), RK_ERR_INVALID,
         "axes[0].key", "expected a key"},
        {AXIS("\"key\": \"bat\\tch\", \"values\": [4]"), RK_ERR_INVALID, "axes[0].key",
         "expected a key"},
        {AXIS("\"key\": \"system.\", \"values\": [4]"), RK_ERR_INVALID, "axes[0].key",
         "expected a key"},
        {AXIS("\"key\": \"system.networks[0\", \"values\": [4]"), RK_ERR_INVALID, "axes[0].key",
         "expected a key"},
        {AXIS("\"key\": 3, \"values\": [4]"), RK_ERR_INVALID, "axes[0].key", "found 3"},
        {AXIS("\"key\": \"\", \"values\": [4]"), RK_ERR_INVALID, "axes[0].key", "expected a key"},
        {AXIS("\"key\": \"axes\", \"values\": [4]"), RK_ERR_INVALID, "axes", "cannot be varied"},
        {"\"axes\": [{\"key\": \"batch\", \"values\": [4]}, {\"key\": \"batch\", \"values\": [5]}]",
         RK_ERR_INVALID, "axes[1]", "axes[0] varies \"batch\""},
        {"\"axis\": []", RK_ERR_INVALID, "axis", "did you mean \"axes\"?"},
        {AXIS("\"linked\": []"), RK_ERR_INVALID, "axes[0]", "expected {\"linked\""},
        {AXIS("\"linked\": [{\"key\": \"batch\", \"values\": [1]}], \"key\": \"top\""),
         RK_ERR_INVALID, "axes[0]", "other members"},
        {AXIS("\"linked\": [{\"key\": \"batch\", \"values\": [1, 2]}, {\"key\": \"top\","
              "\"values\": [1]}]"),
         RK_ERR_INVALID, "axes[0].linked[1]", "1 values, but the first has 2"},
        {AXIS("\"linked\": [{\"key\": \"batch\", \"values\": [1]}, {\"key\": \"batch\","
              "\"values\": [1]}]"),
         RK_ERR_INVALID, "axes[0]", "axes[0] varies \"batch\" already"},
        {AXIS("\"keys\": [\"batch\", \"top\"], \"values\": [[1, 2], [3]]"), RK_ERR_INVALID,
         "axes[0].values[1]", "a list of 2 values"},
        {AXIS("\"keys\": [\"batch\", \"top\"], \"values\": [[1, 2], [3, null]]"), RK_ERR_INVALID,
         "axes[0].values[1]", "found null"},
        {AXIS("\"keys\": [\"batch\", 3], \"values\": [[1, 2]]"), RK_ERR_INVALID, "axes[0].keys[1]",
         "found 3"},
        {AXIS("\"keys\": [\"batch\"], \"values\": []"), RK_ERR_INVALID, "axes[0].values",
         "an empty one"},
        {AXIS("\"keys\": [\"batch\"], \"values\": [[1]], \"step\": 1"), RK_ERR_INVALID, "axes[0]",
         "nothing else"},
    };
    (void)state;
    check_faults(faults, sizeof(faults) / sizeof(faults[0]));
}

static void test_faulty_values(void **state)
{
    static const struct fault faults[] = {
        {AXIS("\"key\": \"processors\", \"values\": [4, 0]"), RK_ERR_INVALID, "processors",
         "(at point 1: processors = 0)"},
        {AXIS("\"key\": \"processors\", \"values\": [4, 2.5]"), RK_ERR_INVALID, "processors",
         "(at point 1: processors = 2.5)"},
        {AXIS("\"key\": \"system.networks[0].efficiency\", \"values\": [1.5]"), RK_ERR_INVALID,
         "system.networks[0].efficiency", "found a real 1.5"},
        {AXIS("\"key\": \"datatype\", \"values\": [\"flaot16\"]"), RK_ERR_INVALID, "datatype",
         "did you mean \"float16\"?"},
        {AXIS("\"key\": \"fused\", \"values\": [\"some\"]"), RK_ERR_INVALID, "fused", "\"both\""},
        {AXIS("\"key\": \"application\", \"values\": [\"megatron-126\"]"), RK_ERR_INVALID,
         "axes[0]", "did you mean \"megatron-126M\"?"},
        {AXIS("\"key\": \"system\", \"values\": [1]"), RK_ERR_INVALID, "axes[0]",
         "must be names or files"},
        {AXIS("\"key\": \"batch\", \"values\": []"), RK_ERR_INVALID, "axes[0].values",
         "an empty one"},
        {AXIS("\"key\": \"batch\", \"values\": 3"), RK_ERR_INVALID, "axes[0].values", "found 3"},
        {AXIS("\"key\": \"batch\", \"values\": [3, null]"), RK_ERR_INVALID, "axes[0].values[1]",
         "found null"},
        {AXIS("\"key\": \"batch\", \"values\": [3, true]"), RK_ERR_INVALID, "axes[0].values[1]",
         "same type"},
        /* ranges */
        {AXIS("\"key\": \"batch\""), RK_ERR_INVALID, "axes[0]", "either \"values\""},
        {AXIS("\"key\": \"batch\", \"from\": 1, \"to\": 2"), RK_ERR_INVALID, "axes[0]",
         "one of \"step\" and \"factor\""},
        {AXIS("\"key\": \"batch\", \"from\": 1, \"to\": 2, \"step\": 1, \"factor\": 2"),
         RK_ERR_INVALID, "axes[0]", "one of \"step\" and \"factor\""},
        {AXIS("\"key\": \"batch\", \"from\": 1, \"to\": 2, \"values\": [3]"), RK_ERR_INVALID,
         "axes[0]", "not both"},
        {AXIS("\"key\": \"batch\", \"from\": 1, \"to\": 2, \"stpe\": 1"), RK_ERR_INVALID,
         "axes[0].stpe", "did you mean \"step\"?"},
        {AXIS("\"key\": \"batch\", \"from\": 8, \"to\": 2, \"step\": 1"), RK_ERR_INVALID, "axes[0]",
         "a step of 1 does not lead from 8 to 2"},
        {AXIS("\"key\": \"batch\", \"from\": 2, \"to\": 8, \"step\": 0"), RK_ERR_INVALID, "axes[0]",
         "a step of 0"},
        {AXIS("\"key\": \"batch\", \"from\": 2, \"to\": 8, \"factor\": 1"), RK_ERR_INVALID,
         "axes[0]", "a factor of 1 does"},
        {AXIS("\"key\": \"batch\", \"from\": 0, \"to\": 8, \"factor\": 2"), RK_ERR_INVALID,
         "axes[0]", "a factor of 2 does not lead from 0"},
        {AXIS("\"key\": \"batch\", \"from\": 2, \"to\": 8, \"factor\": 0.5"), RK_ERR_INVALID,
         "axes[0]", "a factor of 0.5"},
        /* sizes */
        {AXIS("\"key\": \"batch\", \"from\": 0, \"to\": 9e15, \"step\": 1"), RK_ERR_LIMIT,
         "axes[0]", "more than the 100000 values"},
        {AXIS("\"key\": \"batch\", \"from\": 1, \"to\": 2, \"factor\": 1.0000000001"), RK_ERR_LIMIT,
         "axes[0]", "more than the 100000 values"},
        {"\"axes\": [{\"key\": \"batch\", \"from\": 1, \"to\": 5000, \"step\": 1},"
         "{\"key\": \"processors\", \"from\": 1, \"to\": 5000, \"step\": 1}]",
         RK_ERR_LIMIT, "axes", "more than the 10000000 points"},
        {"\"axes\": 3", RK_ERR_INVALID, "axes", "expected a list of axes, found 3"},
        {"\"top\": 0", RK_ERR_INVALID, "top", "found 0"},
    };
    (void)state;
    check_faults(faults, sizeof(faults) / sizeof(faults[0]));
}

/* One more of axes, names and constraints than there may be, of which the last is named. */
static void test_limits(void **state)
{
    static const struct {
        const char *begin, *before, *behind, *end, *path, *says;
    } cases[] = {
        {"\"axes\": [", "{\"key\": \"let.a", "\", \"values\": [1]}", "]", "axes[64]",
         "the axes of one sweep have at most 64 keys"},
        {"\"axes\": [{\"linked\": [", "{\"key\": \"let.a", "\", \"values\": [1]}", "]}]",
         "axes[0].linked[64]", "the axes of one sweep have at most 64 keys"},
        {"\"axes\": [", "{\"keys\": [\"let.a", "\"], \"values\": [[1]]}", "]", "axes[64].keys[0]",
         "the axes of one sweep have at most 64 keys"},
        {"\"let\": {", "\"a", "\": \"1\"", "}", "let.a64",
         "a sweep has at most 64 expressions of a kind"},
        {"\"point_constraints\": [", "\"batch > ", "\"", "]", "point_constraints[64]",
         "a sweep has at most 64 expressions of a kind"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char members[6000];
        size_t used = (size_t)snprintf(members, sizeof(members), "%s", cases[i].begin);
        for (int j = 0; j <= 64; j++) {
            used += (size_t)snprintf(members + used, sizeof(members) - used, "%s%s%d%s",
                                     j > 0 ? ", " : "", cases[i].before, j, cases[i].behind);
        }
        (void)snprintf(members + used, sizeof(members) - used, "%s", cases[i].end);
        check_fault(&(struct fault){members, RK_ERR_LIMIT, cases[i].path, cases[i].says});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_first_axis_is_slowest),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_patches),
        cmocka_unit_test(test_models_before_parts),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_faulty_keys),
        cmocka_unit_test(test_faulty_values),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
