/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that are changed number by number, and recipes. */
#include "evidence/editable_document.h"
#include "evidence/fit_residuals.h"
#include "evidence/recipe.h"
#include "io/json_edit.h"

#include "../io/scratch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- single values -------------------------------------------------------------------------- */

static void expect_edit(const char *before, const char *path, const char *value, const char *after)
{
    rk_error err;
    char *text = strdup(before);
    assert_non_null(text);
    assert_int_equal(rk_json_edit(&text, path, value, &err), RK_OK);
    assert_string_equal(text, after);
    free(text);
}

/* The document stays as it is. */
static void expect_no_edit(const char *before, const char *path, const char *message)
{
    rk_error err;
    char *text = strdup(before), found[300];
    assert_non_null(text);
    assert_int_equal(rk_json_edit(&text, path, "2", &err), RK_ERR_INVALID);
    assert_string_equal(rk_error_text(&err, found, sizeof(found)), message);
    assert_string_equal(text, before);
    free(text);
}

static void test_edit(void **state)
{
    (void)state;
    expect_edit("{\"a\": 1}", "a", "2.5", "{\"a\": 2.5}");
    expect_edit("{\n  \"a\": {\"b\": [10, 20 ]}\n}", "a.b[1]", "7",
                "{\n  \"a\": {\"b\": [10, 7 ]}\n}");
    expect_edit("[{\"x\":1},{\"x\":2}]", "[1].x", "3", "[{\"x\":1},{\"x\":3}]");
    /* texts that look like what is searched */
    expect_edit("{\"t\": \"\\\"a\\\": 5, }\", \"a\": 1}", "a", "2",
                "{\"t\": \"\\\"a\\\": 5, }\", \"a\": 2}");
    expect_edit("{\"ab\": 1, \"a\": 2}", "a", "3", "{\"ab\": 1, \"a\": 3}");
    expect_edit("{\"b\": {\"a\": 9}, \"a\": 1}", "a", "2", "{\"b\": {\"a\": 9}, \"a\": 2}");
    /* what is new stands in front of the remarks, remarks at the end */
    expect_edit("{\n  \"a\": 1,\n  \"source\": \"s\"\n}", "b", "2",
                "{\n  \"a\": 1,\n  \"b\": 2,\n  \"source\": \"s\"\n}");
    expect_edit("{\n  \"a\": 1\n}", "b", "2", "{\n  \"a\": 1,\n  \"b\": 2\n}");
    expect_edit("{\"g\": {\n  \"a\": 1,\n  \"source\": \"s\"\n}}", "g.provenance", "\"p\"",
                "{\"g\": {\n  \"a\": 1,\n  \"source\": \"s\",\n  \"provenance\": \"p\"\n}}");
    expect_no_edit("{\"a\": 1}", "b.c", "b.c: the document has no \"b\" to change a value in");
    expect_no_edit("{\"a\": [1]}", "a[1]",
                   "a[1]: the document has no \"[1]\" to change a value in");
    expect_no_edit("{\"a\": {}}", "a.b",
                   "b: expected an object that is not empty to add a value to");
    expect_no_edit("{\"a\": 1}", "a.b",
                   "b: expected an object that is not empty to add a value to");
    expect_no_edit("{\"a\": 1}", "a[0]", "a[0]: the document has no \"[0]\" to change a value in");
    expect_no_edit("[1]", "[1]", "[1]: the document has no \"[1]\" to change a value in");
    expect_no_edit("[{\"a\": 1}]", "[0].b.c",
                   "[0].b.c: the document has no \"b\" to change a value in");
    expect_no_edit("{\"a\": [1, 2]}", "a[2].b",
                   "a[2].b: the document has no \"[2]\" to change a value in");
    expect_no_edit("{\"a\": \"b\"}", "a.c",
                   "c: expected an object that is not empty to add a value to");
}

/* Every number of every document of the catalogue folders, set to itself, changes no byte. */
static void test_edit_keeps_bytes(void **state)
{
    static const char *const paths[] = {"rates.attention_share", "host.kernels_forward",
                                        "step.step_seconds", "memory.context_GiB"};
    rk_editable *tuned;
    rk_error err;
    scratch s;
    size_t size;
    (void)state;
    assert_true(scratch_make(&s));
    assert_int_equal(rk_editable_open(DATA_FOLDER "/stacks/megatron-2025.json", &tuned, &err),
                     RK_OK);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        double value;
        assert_int_equal(rk_editable_get(tuned, paths[i], -1, &value, &err), RK_OK);
        assert_true(value >= 0);
        assert_int_equal(rk_editable_set(tuned, paths[i], value, &err), RK_OK);
    }
    assert_int_equal(rk_editable_write(tuned, scratch_path(&s, "same.json"), &err), RK_OK);
    char *same = scratch_read(s.path, &size);
    char *before = scratch_read(DATA_FOLDER "/stacks/megatron-2025.json", &size);
    assert_non_null(same);
    assert_string_equal(same, before);
    free(same);
    free(before);
    rk_editable_free(tuned);
    scratch_remove(&s);
}

static void test_tuned(void **state)
{
    rk_editable *tuned, *copy;
    rk_stack stack;
    rk_error err;
    double value;
    (void)state;
    assert_int_equal(rk_editable_open(DATA_FOLDER "/stacks/megatron-2025.json", &tuned, &err),
                     RK_OK);
    assert_int_equal(rk_editable_kind_of(tuned), RK_EDITABLE_STACK);
    assert_string_equal(rk_editable_name(tuned), "megatron-2025");
    assert_int_equal(rk_editable_set(tuned, "rates.gemm_share", 0.5, &err), RK_OK);
    assert_int_equal(rk_editable_copy(tuned, &copy, &err), RK_OK);
    assert_int_equal(rk_editable_set(copy, "rates.gemm_share", 0.75, &err), RK_OK);
    assert_int_equal(rk_editable_stack(tuned, &stack, &err), RK_OK);
    assert_true(stack.gemm_share == 0.5);
    assert_int_equal(rk_editable_stack(copy, &stack, &err), RK_OK);
    assert_true(stack.gemm_share == 0.75);
    /* absent keys, groups and texts */
    assert_int_equal(rk_editable_get(tuned, "rates.expert", -1, &value, &err), RK_OK);
    assert_true(value == -1);
    assert_int_equal(rk_editable_get(tuned, "rate.gemm_share", -1, &value, &err), RK_ERR_INVALID);
    assert_int_equal(rk_editable_get(tuned, "rates.source", -1, &value, &err), RK_ERR_INVALID);
    assert_int_equal(rk_editable_set(tuned, "rate.gemm_share", 1, &err), RK_ERR_INVALID);
    /* a value that the document may not have */
    assert_int_equal(rk_editable_set(tuned, "rates.gemm_share", 50, &err), RK_OK);
    assert_int_equal(rk_editable_stack(tuned, &stack, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "rates.gemm_share");
    rk_editable_free(copy);
    rk_editable_free(tuned);
    assert_int_equal(rk_editable_open(DATA_FOLDER "/models/llama3-8b.json", &tuned, &err),
                     RK_ERR_INVALID);
    assert_int_equal(rk_editable_open("nowhere.json", &tuned, &err), RK_ERR_IO);
}

/* ---- recipes -------------------------------------------------------------------------------- */

#define CONSTANT                                                                                   \
    "{\"key\": \"rates.gemm_share\", \"start\": 1, \"min\": 0.5, \"max\": 2, \"meaning\": \"m\"}"
#define TABLE "{\"kind\": \"runs\", \"file\": \"r.csv\"}"

static rk_status parse(const char *text, rk_recipe **recipe, rk_error *err)
{
    return rk_recipe_parse(text, strlen(text), "folder/recipe.json", recipe, err);
}

static void test_recipe(void **state)
{
    static const char text[] =
        "{\"name\": \"n\", \"documents\": [\"../a/x.json\", \"/b/y.json\"], \"constants\": "
        "[" CONSTANT
        ", {\"key\": [\"a.b\", \"c.d\"], \"documents\": \"y\", \"start\": 3, \"min\": 1, "
        "\"max\": 9, \"logarithmic\": true, \"meaning\": \"m\"}], \"data\": [{\"kind\": \"gemm\", "
        "\"file\": \"g.csv\", \"where\": {\"m\": {\"min\": 512}, \"t\": [\"u\", \"v\"], \"w\": "
        "{\"without\": \"z\"}}, \"group_by\": [\"t\", \"w\"]}], \"loss\": {\"kind\": \"square\"}}";
    rk_recipe *recipe;
    rk_error err;
    (void)state;
    assert_int_equal(parse(text, &recipe, &err), RK_OK);
    assert_string_equal(recipe->documents[0], "folder/../a/x.json");
    assert_string_equal(recipe->documents[1], "/b/y.json");
    assert_int_equal(recipe->constants[0].documents, 3);
    assert_int_equal(recipe->constants[1].documents, 2);
    assert_int_equal(recipe->constants[1].key_count, 2);
    assert_string_equal(recipe->constants[1].keys[1], "c.d");
    assert_true(recipe->constants[1].logarithmic && !recipe->constants[0].logarithmic);
    assert_string_equal(recipe->tables[0].file, "folder/g.csv");
    assert_int_equal(recipe->tables[0].condition_count, 3);
    assert_int_equal(recipe->tables[0].conditions[0].kind, RK_CONDITION_RANGE);
    assert_true(recipe->tables[0].conditions[0].min == 512);
    assert_int_equal(recipe->tables[0].conditions[1].text_count, 2);
    assert_int_equal(recipe->tables[0].conditions[2].kind, RK_CONDITION_WITHOUT);
    assert_int_equal(recipe->tables[0].group_count, 2);
    assert_int_equal(recipe->loss, RK_LOSS_SQUARE);
    assert_true(recipe->scale == 0.05 && recipe->ridge == 1e-7 && recipe->balance == 0.5);
    assert_int_equal(recipe->starts, 4);
    assert_int_equal(recipe->seed, 1);
    rk_recipe_free(recipe);
}

static void test_recipe_numbers(void **state)
{
    static const char text[] =
        "{\"name\": \"n\", \"description\": \"d\", \"documents\": \"x.json\", "
        "\"constants\": [" CONSTANT "], \"data\": [" TABLE
        "], \"loss\": {\"scale\": 0.1, \"balance\": 0.25, \"ridge\": 0.5}, \"starts\": 7, "
        "\"seed\": 9}";
    rk_recipe *recipe;
    rk_error err;
    (void)state;
    assert_int_equal(parse(text, &recipe, &err), RK_OK);
    assert_int_equal(recipe->loss, RK_LOSS_HUBER);
    assert_true(recipe->scale == 0.1 && recipe->balance == 0.25 && recipe->ridge == 0.5);
    assert_int_equal(recipe->starts, 7);
    assert_int_equal(recipe->seed, 9);
    rk_recipe_free(recipe);
}

static void test_recipe_refusals(void **state)
{
#define RECIPE(documents, constants, data)                                                         \
    "{\"name\": \"n\", \"documents\": " documents ", \"constants\": [" constants                   \
    "], \"data\": [" data "]}"
    static const struct {
        const char *text, *path;
    } cases[] = {
        {RECIPE("[]", CONSTANT, TABLE), "documents"},
        {RECIPE("\"a.json\"", "", TABLE), "constants"},
        {RECIPE("\"a.json\"", CONSTANT, ""), "data"},
        {RECIPE("\"a.json\"",
                "{\"key\": \"a\", \"start\": 3, \"min\": 1, \"max\": 2, \"meaning\": \"m\"}",
                TABLE),
         "constants[0]"},
        {RECIPE("\"a.json\"",
                "{\"key\": \"a\", \"start\": 1, \"min\": 1, \"max\": 1, \"meaning\": \"m\"}",
                TABLE),
         "constants[0]"},
        {RECIPE("\"a.json\"",
                "{\"key\": \"a\", \"start\": 0, \"min\": 0, \"max\": 1, \"logarithmic\": true, "
                "\"meaning\": \"m\"}",
                TABLE),
         "constants[0]"},
        {RECIPE("\"a.json\"",
                "{\"key\": \"a\", \"documents\": \"b\", \"start\": 0, \"min\": 0, \"max\": 1, "
                "\"meaning\": \"m\"}",
                TABLE),
         "constants[0].documents"},
        {RECIPE("\"a.json\"", "{\"key\": \"a\", \"start\": 0, \"min\": 0, \"max\": 1}", TABLE),
         "constants[0]"},
        {RECIPE("\"a.json\"", CONSTANT, "{\"kind\": \"gem\", \"file\": \"f\"}"), "data[0].kind"},
        {RECIPE("\"a.json\"", CONSTANT,
                "{\"kind\": \"gemm\", \"file\": \"f\", \"where\": {\"m\": {\"min\": 1, \"least\": "
                "1}}}"),
         "data[0].where.m.least"},
        {RECIPE("\"a.json\"", CONSTANT,
                "{\"kind\": \"gemm\", \"file\": \"f\", \"where\": {\"m\": {\"least\": 1}}}"),
         "data[0].where.m"},
        {RECIPE("\"a.json\"", CONSTANT,
                "{\"kind\": \"gemm\", \"file\": \"f\", \"where\": {\"m\": 512}}"),
         "data[0].where.m"},
        {RECIPE("\"a.json\"", CONSTANT, "{\"kind\": \"gemm\", \"file\": \"f\", \"weight\": 0}"),
         "data[0].weight"},
    };
    rk_recipe *recipe;
    rk_error err;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(parse(cases[i].text, &recipe, &err), RK_ERR_INVALID);
        assert_null(recipe);
        assert_string_equal(err.path, cases[i].path);
        assert_string_equal(err.file, "folder/recipe.json");
    }
}

/* A cluster sees what is changed of its accelerator, and keeps what it says itself. */
static void test_cluster(void **state)
{
    static rk_system usual, changed;
    rk_editable *tuned;
    rk_error err;
    (void)state;
    assert_int_equal(rk_system_load("dgx-h100-superpod", &usual, &err), RK_OK);
    assert_int_equal(rk_editable_open(DATA_FOLDER "/accelerators/h100-sxm.json", &tuned, &err),
                     RK_OK);
    assert_int_equal(rk_editable_set(tuned, "tiers[1].exchange_share", 0.5, &err), RK_OK);
    assert_int_equal(rk_editable_set(tuned, "memory.efficiency", 0.6, &err), RK_OK);
    assert_int_equal(rk_editable_cluster(tuned, "dgx-h100-superpod", &changed, &err), RK_OK);
    assert_true(changed.tiers[1].exchange_share == 0.5);
    assert_true(changed.accelerator.memory_efficiency == 0.6);
    assert_int_equal(changed.tiers[1].size, usual.tiers[1].size);
    assert_string_equal(changed.name, "dgx-h100-superpod");
    assert_int_equal(rk_editable_cluster(tuned, "no-such-cluster", &changed, &err), RK_ERR_INVALID);
    rk_editable_free(tuned);
}

/* Documents that are not opened to be changed, with the whole message. */
static void test_open_refusals(void **state)
{
    static const size_t large = (1 << 20) + 1;
    rk_editable *tuned;
    rk_error err;
    scratch s;
    (void)state;
    assert_true(scratch_make(&s));
    char *text = malloc(large);
    assert_non_null(text);
    memset(text, ' ', large);
    assert_true(scratch_write(&s, "large.json", text, large));
    free(text);
    assert_int_equal(rk_editable_open(scratch_path(&s, "large.json"), &tuned, &err), RK_ERR_LIMIT);
    assert_string_equal(err.message, "the document is larger than 1 MiB");
    assert_null(tuned);
    assert_int_equal(rk_editable_open("stack.txt", &tuned, &err), RK_ERR_INVALID);
    assert_string_equal(err.message, "a document to change is a file whose name ends in .json");
    assert_string_equal(err.file, "stack.txt");
    scratch_remove(&s);
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* Costs of an error, and that their slopes are the weights times the error. */
static void test_losses(void **state)
{
    static const struct {
        rk_loss_kind loss;
        double error, cost;
    } cases[] = {
        {RK_LOSS_ABSOLUTE, 0.3, 0.3},  {RK_LOSS_ABSOLUTE, -0.3, 0.3}, {RK_LOSS_SQUARE, 0.3, 0.225},
        {RK_LOSS_SQUARE, -0.3, 0.225}, {RK_LOSS_HUBER, 0.15, 0.05},   {RK_LOSS_HUBER, -0.15, 0.05},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_recipe recipe = {.loss = cases[i].loss, .scale = 0.2};
        const double step = 1e-6, error = cases[i].error;
        const double slope =
            (rk_loss_cost(&recipe, error + step) - rk_loss_cost(&recipe, error - step)) /
            (2 * step);
        assert_true(fabs(rk_loss_cost(&recipe, error) - cases[i].cost) < 1e-12);
        assert_true(fabs(rk_loss_weight(&recipe, error) * error - slope) < 1e-6);
    }
    const rk_recipe absolute = {.loss = RK_LOSS_ABSOLUTE, .scale = 0.2};
    assert_true(fabs(rk_loss_weight(&absolute, 0) - 50) < 1e-12); /* as at a tenth of the scale */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edit),
        cmocka_unit_test(test_edit_keeps_bytes),
        cmocka_unit_test(test_tuned),
        cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_recipe),
        cmocka_unit_test(test_recipe_numbers),
        cmocka_unit_test(test_recipe_refusals),
        cmocka_unit_test(test_open_refusals),
        cmocka_unit_test(test_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
