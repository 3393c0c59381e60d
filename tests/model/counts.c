/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter counts: every model of the catalogue against what was published about it, and the
 * parts of a count against each other.
 */
#include "io/catalogue.h"
#include "io/json.h"

#include <math.h>

#include "models.h"

/* ---- published counts ------------------------------------------------------------------- */

/* Models whose published count is rounded: how far the exact count is from it, percent. */
static const struct {
    const char *name;
    double deviation;
} rounded[] = {
    {"arctic-480b", -0.09},      {"chinchilla-70b", 0.08},
    {"deepseek-67b", 0.00},      {"gemma3-12b", -0.04},
    {"gemma3-27b", 0.03},        {"glm-130b", -1.00},
    {"glm-4.5", -0.62},          {"glm-4.5-air", 0.80},
    {"gopher-280b", -0.11},      {"gpt3-13b", -0.49},
    {"gpt3-175b", -0.23},        {"gpt3-2.7b", -1.79},
    {"gpt3-6.7b", -0.62},        {"gpt3-large", 0.04},
    {"gpt3-medium", 1.68},       {"gpt3-small", 0.18},
    {"gpt3-xl", 1.21},           {"grok-1", 0.54},
    {"lamda-137b", 0.51},        {"ling-1t", -0.03},
    {"llama4-maverick", 0.18},   {"llama4-scout", -1.13},
    {"megatron-1.7b", -2.81},    {"megatron-1008b", 0.00},
    {"megatron-145.6b", 0.02},   {"megatron-175b", -0.22},
    {"megatron-18.4b", 0.27},    {"megatron-1t", 0.80},
    {"megatron-22b", 0.34},      {"megatron-3.6b", -1.05},
    {"megatron-310.1b", 0.01},   {"megatron-39.1b", -0.01},
    {"megatron-529.6b", 0.00},   {"megatron-7.5b", -0.43},
    {"megatron-76.1b", -0.06},   {"minimax-m3", -0.43},
    {"mt-nlg-530b", -0.08},      {"nemotron-4-15b", 0.18},
    {"nemotron-4-340b", 0.01},   {"opt-175b", -0.23},
    {"opt-66b", 0.03},           {"palm-540b", 0.00},
    {"palm-62b", -0.01},         {"palm-8b", 0.02},
    {"pangu-ultra-135b", -0.83}, {"pangu-ultra-moe-718b", 0.15},
    {"qwen2-57b-a14b", 0.02},
};

static double deviation_of(const char *name)
{
    for (size_t i = 0; i < COUNT(rounded); i++) {
        if (strcmp(rounded[i].name, name) == 0) {
            return rounded[i].deviation;
        }
    }
    fail_msg("%s publishes no exact count and is not in the table", name);
    return 0;
}

/* Every document: its name, its source, and its count where one was published. */
static void test_catalogue(void **state)
{
    (void)state;
    size_t models = 0, exact = 0;
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        const rk_catalogue_entry *entry = &rk_catalogue[i];
        rk_json_doc doc;
        rk_error err;
        if (strcmp(entry->kind, "models") != 0) {
            continue;
        }
        models++;
        const rk_model model = load_model(entry->name);
        const int64_t total = rk_model_params_of(&model).total;
        assert_string_equal(model.name, entry->name);
        assert_int_equal(rk_json_parse(entry->text, entry->size, entry->name, &doc, &err), RK_OK);
        assert_true(json_string_length(json_object_get(doc.root, "source")) > 0);

        const json_t *published = json_object_get(doc.root, "published_parameters");
        assert_non_null(published);
        if (json_is_integer(published)) {
            exact++;
            if (total != json_integer_value(published)) {
                fail_msg("%s: %lld parameters, published %lld", entry->name, (long long)total,
                         (long long)json_integer_value(published));
            }
        } else {
            const double off = 100 * ((double)total / json_number_value(published) - 1);
            if (fabs(off - deviation_of(entry->name)) > 0.0051) {
                fail_msg("%s: %+.3f%% off the published count", entry->name, off);
            }
        }
        rk_json_clear(&doc);
    }
    assert_int_equal(models, 186);
    assert_int_equal(exact + COUNT(rounded), models);
}

/* ---- cases with known answers ----------------------------------------------------------- */

static void test_cases(void **state)
{
    static const struct {
        const char *name;
        int64_t total, active;
    } cases[] = {
        {"llama3-8b", 8030261248, 8030261248},          /* UT-1 */
        {"deepseek-v3", 671026419200, 37552297472},     /* UT-2 */
        {"mixtral-8x7b", 46702792704, 12879925248},     /* UT-3 */
        {"qwen3-30b-a3b", 30532122624, 3353032704},     /* UT-4 */
        {"qwen3-235b-a22b", 235093634560, 22190763520}, /* and other published pairs */
        {"llama4-maverick", 400711848960, 17184691200},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const rk_model model = load_model(cases[i].name);
        const rk_model_params p = rk_model_params_of(&model);
        assert_int_equal(p.total, cases[i].total);
        assert_int_equal(p.active, cases[i].active);
    }
}

/* UT-2: without the router's biases, and the MTP module that comes on top. */
static void test_deepseek_v3(void **state)
{
    rk_model model = load_model("deepseek-v3");
    (void)state;
    assert_int_equal(model.mtp_layers, 1);
    assert_int_equal(rk_model_params_of(&model).mtp, 11610068224);
    model.mtp_layers = 0;
    assert_int_equal(rk_model_params_of(&model).mtp, 0);
    assert_int_equal(rk_model_params_of(&model).total, 671026419200);
    for (int i = 0; i < model.type_count; i++) {
        model.types[i].moe.router_bias = false;
    }
    assert_int_equal(rk_model_params_of(&model).total, 671026404352);
    assert_int_equal(rk_model_params_of(&model).active, 37552282624);
}

/* UT-5: the closed form of Narayanan et al. 2021, equation 2; it leaves out the final norm. */
static void test_closed_form(void **state)
{
    const double L = 105, h = 20480, V = 51200, s = 2048;
    const double closed = 12 * L * h * h * (1 + 13 / (12 * h) + (V + s) / (12 * L * h));
    const rk_model model = load_model("megatron-529.6b");
    (void)state;
    assert_true(fabs((double)rk_model_params_of(&model).total - 2 * h - closed) < 1);
    assert_true(fabs(closed / 529.6e9 - 1) < 1e-4);
}

/* gpt-oss counts active parameters without the input table: 5.13B and 3.6B. */
static void test_active_without_embedding(void **state)
{
    rk_model model = load_model("gpt-oss-120b");
    (void)state;
    assert_true(fabs((double)rk_model_params_of(&model).active_without_embedding - 5.13e9) < 5e6);
    model = load_model("gpt-oss-20b");
    assert_true(fabs((double)rk_model_params_of(&model).active_without_embedding - 3.61e9) < 5e6);
    model = load_model("gemma3-1b"); /* a tied table is the output layer: it stays */
    const rk_model_params p = rk_model_params_of(&model);
    assert_int_equal(p.active_without_embedding, p.active);
    assert_int_equal(p.ends.head, 0);
}

/* UT-18: parameters of the head over those that a token meets in a layer. */
static void test_head_in_layers(void **state)
{
    static const struct {
        const char *name;
        double layers, half; /* half a unit of the last digit */
    } cases[] = {
        {"llama3-8b", 2.41, 0.005},
        {"llama3.1-405b", 0.66, 0.005},
        {"gpt-oss-120b", 4.6, 0.05},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const rk_model model = load_model(cases[i].name);
        const double layer = (double)rk_layer_params_of(&model, &model.types[0]).active;
        const double found = (double)rk_end_params_of(&model).head / layer;
        if (fabs(found - cases[i].layers) > cases[i].half) {
            fail_msg("%s: the head is worth %g layers, not %g", cases[i].name, found,
                     cases[i].layers);
        }
    }
}

/* Parts add up, of the model and of each of its layers. */
static void test_parts(void **state)
{
    (void)state;
    for (size_t i = 0; i < rk_catalogue_count; i++) {
        if (strcmp(rk_catalogue[i].kind, "models") != 0) {
            continue;
        }
        const rk_model model = load_model(rk_catalogue[i].name);
        const rk_model_params p = rk_model_params_of(&model);
        int64_t layers = 0, inactive = 0;
        for (int layer = 0; layer < model.layers; layer++) {
            const rk_layer_type *type = &model.types[model.type_of[layer]];
            const rk_layer_params q = rk_layer_params_of(&model, type);
            assert_int_equal(q.attention + q.ffn + q.experts + q.shared + q.router + q.norms,
                             q.total);
            assert_int_equal(q.experts, type->moe.experts * q.expert_each);
            assert_true(q.gemm > 0 && q.gemm <= q.active && q.active <= q.total);
            assert_true((q.ffn > 0) == (type->ffn.width > 0));
            layers += q.total;
            inactive += (type->moe.experts - type->moe.top_k) * q.expert_each;
        }
        assert_int_equal(p.layers, layers);
        assert_int_equal(p.ends.embedding + p.ends.positions + p.ends.head + p.ends.final_norm +
                             layers,
                         p.total);
        assert_int_equal(p.total - inactive, p.active);
    }
}

/* ---- an independent count ---------------------------------------------------------------- */

/* The name in the catalogue of a row of the shared table. */
static const char *catalogue_name(const char *row)
{
    static const char *const other[][2] = {
        {"deepseek-v3/r1", "deepseek-v3"},    {"gemma3-12b(text)", "gemma3-12b"},
        {"gemma3-27b(text)", "gemma3-27b"},   {"gemma3-4b(text)", "gemma3-4b"},
        {"gpt3-175b(SP)", "megatron-175b"},   {"megatron-1t(SP)", "megatron-1t"},
        {"megatron-22b(SP)", "megatron-22b"}, {"mtnlg-530b(SP)", "mt-nlg-530b"},
    };
    for (size_t i = 0; i < COUNT(other); i++) {
        if (strcmp(other[i][0], row) == 0) {
            return other[i][1];
        }
    }
    return row;
}

/* Total and active count of all models to the last parameter, by another implementation. */
static void test_shared_table(void **state)
{
    json_t *rows = json_load_file(SHARED "/spec/checks/catalog.json", 0, NULL);
    (void)state;
    if (!rows) {
        skip();
    }
    assert_int_equal(json_array_size(rows), 123);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const rk_model model =
            load_model(catalogue_name(json_string_value(json_object_get(row, "name"))));
        const rk_model_params p = rk_model_params_of(&model);
        if (strcmp(model.name, "hunyuan-large") == 0) {
            continue; /* the table gives every layer keys and values of its own */
        }
        assert_int_equal(p.total, json_integer_value(json_object_get(row, "total")));
        assert_int_equal(p.active, json_integer_value(json_object_get(row, "active")));
    }
    json_decref(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catalogue),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_deepseek_v3),
        cmocka_unit_test(test_closed_form),
        cmocka_unit_test(test_active_without_embedding),
        cmocka_unit_test(test_head_in_layers),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_shared_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
