/* SPDX-License-Identifier: Apache-2.0 */
/* Model documents: what they say about layers, and every class of fault that is refused. */
#include "layer/all_kinds.h"
#include "layer/model_load.h"
#include "model/model_doc.h"

#include <stdlib.h>
#include <unistd.h>

#include "models.h"

#define ENDS "\"hidden\": 64, \"layers\": 6, \"vocab\": 1000, \"seq\": 128, \"tied\": false"

/* Reads the object {`keys`, ENDS}. */
static rk_status read_keys(const char *keys, rk_model *model, rk_error *err)
{
    char text[4096];
    rk_json_doc doc;
    (void)snprintf(text, sizeof(text), "{%s%s" ENDS "}", keys, keys[0] ? ", " : "");
    rk_status status = rk_json_parse(text, strlen(text), "text", &doc, err);
    assert_int_equal(status, RK_OK);
    status = rk_model_from_json(doc.root, &rk_all_kinds, model, err);
    rk_json_clear(&doc);
    return status;
}

static rk_model read_good(const char *keys)
{
    rk_model model = {0};
    rk_error err;
    if (read_keys(keys, &model, &err)) {
        fail_msg("%s: %s: %s", keys, err.path, err.message);
    }
    return model;
}

/* ---- what documents say ----------------------------------------------------------------- */

/* A dense model needs two keys besides its ends; the rest has the usual values. */
static void test_defaults(void **state)
{
    const rk_model model = read_good("\"heads\": 4, \"ffn\": 256");
    const rk_layer_type *type = &model.types[0];
    (void)state;
    assert_int_equal(model.layers, 6);
    assert_int_equal(model.type_count, 1);
    assert_ptr_equal(type->mixer, &rk_mixer_grouped);
    assert_int_equal(type->attention.kv_heads, 4);
    assert_int_equal(type->attention.head_size, 16);
    assert_true(type->ffn.gated && !type->ffn.bias && !type->attention.bias_qkv);
    assert_int_equal(model.norm, RK_NORM_RMS);
    assert_int_equal(model.norms_per_layer, 2);
    assert_true(model.final_norm && !model.parallel_block && !model.embedding_norm);
    assert_int_equal(model.mtp_layers, 0);
    assert_string_equal(model.name, "");
    assert_int_equal(rk_model_params_of(&model).total,
                     6 * (4 * 64 * 64 + 3 * 64 * 256 + 2 * 64) + 64 + 2 * 1000 * 64);
}

/* Every optional key adds what it says, on top of the model above (h 64, n 4, d 16, f 256). */
static void test_keys_count(void **state)
{
    static const struct {
        const char *keys;
        int64_t more; /* parameters */
    } cases[] = {
        {"\"kv_heads\": 2", 6 * -2 * 64 * 32},
        {"\"head_size\": 32", 6 * 4 * 64 * 64},
        {"\"value_size\": 8", 6 * -2 * 64 * 32},
        {"\"bias_qkv\": true", 6 * 3 * 64},
        {"\"bias_out\": true", 6 * 64},
        {"\"ffn_bias\": true", 6 * (2 * 256 + 64)},
        {"\"gated\": false", 6 * -64 * 256},
        {"\"gated\": false, \"ffn_bias\": true", 6 * (-64 * 256 + 256 + 64)},
        {"\"qk_norm\": \"head\"", 6 * 2 * 16},
        {"\"qk_norm\": \"full\"", 6 * 2 * 64},
        {"\"sinks\": true", 6 * 4},
        {"\"output_gate\": true", 6 * 64 * 64},
        {"\"head_gate\": true", 6 * 64 * 4},
        {"\"kv_source\": \"keys\"", 6 * -64 * 64},
        {"\"kv_source\": \"borrowed\", \"qk_norm\": \"head\"", 6 * (16 - 2 * 64 * 64)},
        {"\"kv_source\": \"borrowed\", \"qk_norm\": \"full\"", 6 * (64 - 2 * 64 * 64)},
        {"\"embedding_width\": 16", 2 * 1000 * (16 - 64) + 2 * 16 * 64},
        {"\"layer_embedding\": 8", 6 * 8 * (1000 + 64) + 8 + 6 * (2 * 64 * 8 + 64)},
        {"\"layer_scalar\": true", 6},
        {"\"relative_positions\": true", 6 * 64 * 64},
        {"\"norm\": \"layer\"", 13 * 64},
        {"\"norm\": \"layer_no_bias\"", 0},
        {"\"norm\": \"layer_no_weight\"", -13 * 64},
        {"\"norms_per_layer\": 1", 6 * -64},
        {"\"final_norm\": false", -64},
        {"\"embedding_norm\": true, \"norm\": \"layer\"", 13 * 64 + 2 * 64},
        {"\"head_bias\": true", 1000},
        {"\"learned_positions\": 100", 100 * 64},
        {"\"window\": 10, \"parallel_block\": true", 0},
    };
    const int64_t plain = 6 * (4 * 64 * 64 + 3 * 64 * 256 + 2 * 64) + 64 + 2 * 1000 * 64;
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char keys[256];
        (void)snprintf(keys, sizeof(keys), "\"heads\": 4, \"ffn\": 256, %s", cases[i].keys);
        const rk_model model = read_good(keys);
        const int64_t more = rk_model_params_of(&model).total - plain;
        if (more != cases[i].more) {
            fail_msg("%s: %lld more, expected %lld", cases[i].keys, (long long)more,
                     (long long)cases[i].more);
        }
    }
}

#define MOE "\"heads\": 4, \"experts\": 8, \"top_k\": 2, \"expert_ffn\": 32"

static void test_experts(void **state)
{
    rk_model model = read_good(MOE ", \"shared_experts\": 2, \"shared_gate\": true, "
                                   "\"router_bias\": true, \"expert_bias\": true");
    rk_layer_params p = rk_layer_params_of(&model, &model.types[0]);
    (void)state;
    assert_int_equal(p.ffn, 0);
    assert_int_equal(p.expert_each, 3 * 64 * 32 + 2 * 32 + 64);
    assert_int_equal(p.experts, 8 * p.expert_each);
    assert_int_equal(p.shared, 2 * 3 * 64 * 32 + 64);
    assert_int_equal(p.router, 8 * 64 + 8);
    assert_int_equal(p.total - p.active, 6 * p.expert_each);
    assert_int_equal(p.gemm, 4 * 64 * 64 + 4 * 3 * 64 * 32);

    model = read_good(MOE ", \"expert_groups\": 4, \"route_groups\": 2");
    assert_int_equal(model.types[0].moe.expert_groups, 4);
    assert_int_equal(model.types[0].moe.route_groups, 2);

    model = read_good(MOE ", \"shared_experts\": 1, \"shared_ffn\": 100, \"gated\": false");
    p = rk_layer_params_of(&model, &model.types[0]);
    assert_int_equal(p.shared, 2 * 64 * 100);
    assert_int_equal(p.expert_each, 2 * 64 * 32);
}

static void test_latent(void **state)
{
#define MLA                                                                                        \
    "\"heads\": 4, \"ffn\": 256, \"kv_rank\": 20, \"nope_size\": 8, \"rope_size\": 4, "            \
    "\"value_size\": 6"
    rk_model model = read_good(MLA);
    (void)state;
    const int64_t plain = 64 * 4 * 12 + 64 * 24 + 20 + 20 * 4 * 14 + 4 * 6 * 64;
    assert_ptr_equal(model.types[0].mixer, &rk_mixer_latent);
    assert_int_equal(rk_layer_params_of(&model, &model.types[0]).attention, plain);
    model = read_good(MLA ", \"q_rank\": 10");
    assert_int_equal(rk_layer_params_of(&model, &model.types[0]).attention,
                     plain - 64 * 4 * 12 + 64 * 10 + 10 + 10 * 4 * 12);
    model = read_good(MLA ", \"q_rank\": 10, \"bias_qkv\": true, \"bias_out\": true");
    assert_int_equal(rk_layer_params_of(&model, &model.types[0]).attention,
                     plain - 64 * 4 * 12 + 64 * 10 + 10 + 10 * 4 * 12 + 10 + 24 + 64);
}

/* Layers by rules and by list. */
static void test_layers(void **state)
{
    static const struct {
        const char *keys, *letters;
    } cases[] = {
        {"\"heads\": 4, \"ffn\": 9, \"window\": 8", "wwwwww"},
        {"\"heads\": 4, \"ffn\": 9, \"window\": 8, \"window_pattern\": \"wwwf\"", "wwwfww"},
        {"\"heads\": 4, \"ffn\": 9, \"window\": 8, \"chunked\": true, \"window_pattern\": \"cf\"",
         NULL},
        {"\"heads\": 4, \"ffn\": 9, \"window\": 8, \"chunked\": true, \"window_pattern\": \"wf\"",
         "cfcfcf"},
        {MOE, "FFFFFF"},
        {MOE ", \"ffn\": 9, \"dense_first\": 2", "ffFFFF"},
        {MOE ", \"ffn\": 9, \"moe_every\": 2", "fFfFfF"},
        {MOE ", \"ffn\": 9, \"dense_first\": 2, \"moe_every\": 3", "ffFffF"},
        {MOE ", \"ffn\": 9, \"dense_first\": 1, \"window\": 8, \"window_pattern\": \"fw\"",
         "fWFWFW"},
        {"\"heads\": 4, \"types\": [{\"ffn\": 9}, {\"experts\": 4, \"top_k\": 1, \"expert_ffn\": "
         "5, \"window\": 7}], \"pattern\": [0, 1, 1]",
         "fWWfWW"},
        {"\"heads\": 4, \"ffn\": 9, \"types\": [{}, {\"window\": 7, \"kv_heads\": 2}], "
         "\"pattern\": [1, 0, 0, 0]",
         "wfffwf"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rk_model model;
        rk_error err;
        char letters[RK_LAYER_MAX + 1];
        const rk_status status = read_keys(cases[i].keys, &model, &err);
        assert_int_equal(status, cases[i].letters ? RK_OK : RK_ERR_INVALID);
        if (cases[i].letters) {
            assert_string_equal(letters_of(&model, letters), cases[i].letters);
        }
    }
    const rk_model model = read_good(cases[COUNT(cases) - 1].keys);
    assert_int_equal(model.types[0].attention.kv_heads, 2); /* the type of the first layer */
    assert_int_equal(model.types[1].attention.kv_heads, 4);
}

/* A mixer that is named is that of all layers, whatever else their sizes would be. */
static void test_named_mixer(void **state)
{
    const rk_model model = read_good("\"heads\": 4, \"ffn\": 9, \"mixer\": \"lightning\", "
                                     "\"state_heads\": 4, \"state_value_size\": 16, \"chunk\": 64");
    (void)state;
    assert_int_equal(model.type_count, 1);
    assert_ptr_equal(model.types[0].mixer, &rk_mixer_lightning);
}

/* Only layers with attention need heads: none of a recurrence alone, by rules or by a list. */
static void test_no_attention(void **state)
{
    static const char recurrence[] = "\"state_heads\": 4, \"state_key_size\": 16, "
                                     "\"state_value_size\": 32, \"conv_width\": 4, \"chunk\": 64";
    static const char *const kinds[] = {
        "\"mixer\": \"mamba2\", \"feed_forward\": \"none\"",
        "\"types\": [{\"mixer\": \"mamba2\", \"feed_forward\": \"none\"}], \"pattern\": [0]"};
    rk_model models[2];
    char text[512];
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        (void)snprintf(text, sizeof(text), "%s, %s", recurrence, kinds[i]);
        models[i] = read_good(text);
        assert_int_equal(models[i].type_count, 1);
        assert_ptr_equal(models[i].types[0].mixer, &rk_mixer_mamba2);
        assert_ptr_equal(models[i].types[0].feed_forward, &rk_feed_forward_none);
        assert_int_equal(models[i].types[0].attention.query_heads, 0);
    }
    assert_memory_equal(&models[0].types[0], &models[1].types[0], sizeof(models[0].types[0]));
}

/* A layer type accepts every key of a layer, including the last ones of the table. */
static void test_type_keys(void **state)
{
    static const char *const keys[] = {"heads", "bias_qkv", "clamped", "router_bias",
                                       "expert_bias"};
    static const char experts[] = MOE ", \"types\": [{\"%s\": %s}], \"pattern\": [0]";
    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        char text[256];
        (void)snprintf(text, sizeof(text), experts, keys[i], i == 0 ? "8" : "true");
        const rk_model model = read_good(text);
        assert_int_equal(model.types[0].attention.query_heads, i == 0 ? 8 : 4);
        assert_int_equal(model.types[0].moe.expert_bias, strcmp(keys[i], "expert_bias") == 0);
    }
}

/* ---- faults ----------------------------------------------------------------------------- */

#define NINE "{},{},{},{},{},{},{},{},{},"
static const struct {
    const char *keys, *path, *message; /* message: a part of it */
} faults[] = {
    {"\"ffn\": 256", "",
     "the key \"heads\" is missing: expected an integer, or a \"mixer\" without attention"},
    {"\"ffn\": 256, \"mixer\": \"grouped\"", "",
     "the key \"heads\" is missing: expected an integer, or a \"mixer\" without attention"},
    {"\"ffn\": 256, \"state_heads\": 4, \"types\": [{}], \"pattern\": [0]", "types[0]",
     "the key \"heads\" is missing: expected an integer, or a \"mixer\" without attention"},
    {"\"head\": 4, \"ffn\": 256", "head", "unknown key \"head\"; did you mean \"heads\"?"},
    {"\"heads\": 4, \"fnn\": 256", "fnn", "unknown key \"fnn\"; did you mean \"ffn\"?"},
    {"\"heads\": 4, \"ffn\": 256, \"widnow\": 8", "widnow",
     "unknown key \"widnow\"; did you mean \"window\"?"},
    {"\"heads\": 4", "ffn", "a layer has neither a dense FFN (\"ffn\") nor \"experts\""},
    {"\"heads\": 4, \"ffn\": -1", "ffn", "expected an integer from 1 to 4194304, found -1"},
    {"\"heads\": 0, \"ffn\": 256", "heads", "expected an integer from 1 to 16384, found 0"},
    {"\"heads\": -4, \"ffn\": 256", "heads", "expected an integer from 1 to 16384, found -4"},
    {"\"heads\": 4.0, \"ffn\": 256", "heads", "expected an integer, found a real 4.0"},
    {"\"heads\": \"4\", \"ffn\": 256", "heads", "expected an integer, found a string \"4\""},
    {"\"heads\": 5, \"ffn\": 256", "head_size",
     "the key \"head_size\" is missing, and hidden = 64 is not a multiple of heads = 5"},
    {"\"heads\": 4, \"kv_heads\": 3, \"ffn\": 256", "kv_heads",
     "query heads share key and value heads evenly: expected a divisor of heads = 4, found 3"},
    {"\"heads\": 4, \"kv_heads\": 8, \"ffn\": 256", "kv_heads",
     "query heads share key and value heads evenly: expected a divisor of heads = 4, found 8"},
    {"\"heads\": 4, \"ffn\": 256, \"qk_norm\": \"heads\"", "qk_norm",
     "expected \"none\", \"head\", \"full\" or \"head_bias\", found a string \"heads\"; did "
     "you mean \"head\"?"},
    {"\"heads\": 4, \"ffn\": 256, \"norm\": \"rmsnorm\"", "norm",
     "expected \"rms\", \"layer\", \"layer_no_bias\" or \"layer_no_weight\", found a string "
     "\"rmsnorm\""},
    {"\"heads\": 4, \"ffn\": 256, \"gated\": 1", "gated", "expected true or false, found 1"},
    {"\"heads\": 4, \"ffn\": 256, \"window\": -1", "window",
     "expected an integer from 0 to 1073741824, found -1"},
    {"\"heads\": 4, \"ffn\": 256, \"chunked\": true", "window",
     "expected an integer from 1 to 1073741824, found 0"},
    {"\"heads\": 4, \"ffn\": 256, \"window_pattern\": \"wf\"", "window_pattern",
     "the key \"window_pattern\" has no effect: the document has no \"window\""},
    {"\"heads\": 4, \"ffn\": 256, \"window\": 8, \"window_pattern\": \"wl\"", "window_pattern",
     "expected a string of w (window) and f (full), found a string \"wl\""},
    {"\"heads\": 4, \"ffn\": 256, \"window\": 8, \"window_pattern\": \"\"", "window_pattern",
     "expected a string, found a string \"\""},
    {"\"heads\": 4, \"ffn\": 256, \"mtp_layers\": -1", "mtp_layers",
     "expected an integer from 0 to 2147483647, found -1"},
    {"\"heads\": 4, \"ffn\": 256, \"mtp_layers\": 65", "mtp_layers",
     "expected an integer from 0 to 64, found 65"},
    {"\"heads\": 4, \"ffn\": 256, \"norms_per_layer\": 9", "norms_per_layer",
     "expected an integer from 0 to 8, found 9"},
    {"\"heads\": 4, \"ffn\": 256, \"name\": 3", "name", "expected a string, found 3"},
    {"\"heads\": 4, \"ffn\": 256, \"published_parameters\": \"8B\"", "published_parameters",
     "a number"},
    /* experts */
    {"\"heads\": 4, \"experts\": 8, \"expert_ffn\": 32", "top_k",
     "expected an integer from 1 to 8, found 0"},
    {MOE ", \"experts2\": 1", "experts2", "unknown key \"experts2\"; did you mean \"experts\"?"},
    {"\"heads\": 4, \"experts\": 8, \"expert_ffn\": 32, \"top_k\": 9", "top_k",
     "expected an integer from 1 to 8, found 9"},
    {"\"heads\": 4, \"experts\": 8, \"top_k\": 2", "expert_ffn",
     "expected an integer from 1 to 4194304, found 0"},
    {"\"heads\": 4, \"experts\": -8, \"top_k\": 2, \"expert_ffn\": 32", "experts",
     "expected an integer from 1 to 16384, found -8"},
    {"\"heads\": 4, \"ffn\": 256, \"top_k\": 2", "top_k",
     "means nothing without \"experts\": give that key too, or leave this out"},
    {"\"heads\": 4, \"ffn\": 256, \"router_bias\": true", "router_bias",
     "means nothing without \"experts\": give that key too, or leave this out"},
    {"\"heads\": 4, \"ffn\": 256, \"dense_first\": 2", "dense_first",
     "the key \"dense_first\" has no effect: the document has no \"experts\""},
    {"\"heads\": 4, \"ffn\": 256, \"moe_every\": 2", "moe_every",
     "the key \"moe_every\" has no effect: the document has no \"experts\""},
    {MOE ", \"moe_every\": 0", "moe_every", "expected at least 1, found 0"},
    {MOE ", \"ffn\": 256", "ffn",
     "the key \"ffn\" has no effect: every layer has experts (expert_ffn is their width)"},
    {MOE ", \"dense_first\": 2", "ffn",
     "a layer has neither a dense FFN (\"ffn\") nor \"experts\""},
    {MOE ", \"dense_first\": 6, \"ffn\": 256", "experts",
     "the key \"experts\" has no effect: no layer has them"},
    {MOE ", \"shared_ffn\": 8", "shared_ffn",
     "means nothing without \"shared_experts\": give that key too, or leave this out"},
    {MOE ", \"route_groups\": 2", "expert_groups", "expected an integer from 1 to 8, found 0"},
    {MOE ", \"expert_groups\": 4", "expert_groups",
     "means nothing without \"route_groups\": give that key too, or leave this out"},
    {MOE ", \"expert_groups\": 4, \"route_groups\": 5", "route_groups",
     "expected an integer from 0 to 4, found 5"},
    {MOE ", \"expert_groups\": 3, \"route_groups\": 1", "expert_groups",
     "groups have as many experts each: expected a divisor of experts = 8, found 3"},
    {MOE ", \"expert_groups\": 8, \"route_groups\": 1", "top_k",
     "expected an integer from 1 to 1, found 2"},
    {"\"heads\": 4, \"ffn\": 256, \"route_groups\": 2", "route_groups",
     "means nothing without \"experts\": give that key too, or leave this out"},
    {MOE ", \"shared_gate\": true", "shared_gate",
     "means nothing without \"shared_experts\": give that key too, or leave this out"},
    /* latent attention */
    {"\"heads\": 4, \"ffn\": 256, \"q_rank\": 8", "q_rank",
     "means nothing without \"kv_rank\": give that key too, or leave this out"},
    {"\"heads\": 4, \"ffn\": 256, \"kv_rank\": 8", "nope_size",
     "expected an integer from 1 to 16384, found 0"},
    {MLA ", \"head_size\": 8", "head_size",
     "latent attention (kv_rank) has nope_size, rope_size and value_size in place of "
     "head_size"},
    {MLA ", \"kv_heads\": 2", "kv_heads",
     "latent attention (kv_rank) has as many key and value heads as query heads: expected 4, "
     "found 2"},
    {MLA ", \"qk_norm\": \"head\"", "qk_norm",
     "latent attention (kv_rank) normalises its latents: expected \"none\""},
    /* lists of types */
    {"\"heads\": 4, \"ffn\": 9, \"types\": [{}]", "",
     "the keys \"types\" and \"pattern\" need each other"},
    {"\"heads\": 4, \"ffn\": 9, \"pattern\": [0]", "",
     "the keys \"types\" and \"pattern\" need each other"},
    {"\"heads\": 4, \"ffn\": 9, \"types\": [], \"pattern\": [0]", "types",
     "expected an array of at least one, found an array"},
    {"\"heads\": 4, \"ffn\": 9, \"types\": [3], \"pattern\": [0]", "types[0]",
     "expected an object, found 3"},
    {"\"heads\": 4, \"ffn\": 9, \"types\": [{}], \"pattern\": [1]", "pattern[0]",
     "expected an index of types, 0 to 0, found 1"},
    {"\"heads\": 4, \"ffn\": 9, \"types\": [{}], \"pattern\": [0, \"a\"]", "pattern[1]",
     "expected an index of types, 0 to 0, found a string \"a\""},
    {"\"heads\": 4, \"ffn\": 9, \"types\": [{}, {\"kv_heads\": 3}], \"pattern\": [0, 1]",
     "types[1].kv_heads",
     "query heads share key and value heads evenly: expected a divisor of heads = 4, found 3"},
    {"\"heads\": 4, \"ffn\": 9, \"types\": [{\"experts\": 2}], \"pattern\": [0]", "types[0].ffn",
     "a layer has a dense FFN or experts, not both; a dense FFN beside experts is a shared "
     "expert (shared_experts, shared_ffn)"},
    {"\"heads\": 4, \"ffn\": 9, \"types\": [{\"widnow\": 2}], \"pattern\": [0]", "types[0].widnow",
     "unknown key \"widnow\"; did you mean \"window\"?"},
    {"\"heads\": 4, \"ffn\": 9, \"types\": [{\"hidden\": 2}], \"pattern\": [0]", "types[0].hidden",
     "unknown key \"hidden\"; the keys are mixer, feed_forward, "},
    {"\"heads\": 4, \"ffn\": 9, \"types\": [" NINE NINE NINE NINE "{}], \"pattern\": [0]", "types",
     "expected at most 32 types, found 37"},
    {"\"heads\": 4, \"ffn\": 9, \"types\": [{}], \"pattern\": [0], \"moe_every\": 2", "moe_every",
     "the key \"moe_every\" has no effect: \"types\" and \"pattern\" say what each layer is"},
};

static void test_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        rk_model model;
        rk_error err;
        if (read_keys(faults[i].keys, &model, &err) != RK_ERR_INVALID) {
            fail_msg("%s is not refused", faults[i].keys);
        }
        if (strcmp(err.path, faults[i].path) != 0 || !strstr(err.message, faults[i].message)) {
            fail_msg("%s: \"%s\" at %s is not in \"%s\" at %s", faults[i].keys, faults[i].message,
                     faults[i].path, err.message, err.path);
        }
    }
}

/* ---- models from memory ------------------------------------------------------------------- */

/* Sizes out of range are refused one by one, and a total beyond 2^62 although each is in range. */
static void test_check(void **state)
{
    const rk_model good = read_good(MOE ", \"ffn\": 9, \"dense_first\": 1");
    rk_error err;
    (void)state;
    assert_int_equal(rk_model_check(&good, &err), RK_OK);

    rk_model model = good;
    model.hidden = INT64_MAX;
    assert_int_equal(rk_model_check(&model, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "hidden");
    model = good;
    model.layers = RK_LAYER_MAX + 1;
    assert_int_equal(rk_model_check(&model, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "layers");
    model = good;
    model.type_of[3] = 2;
    assert_int_equal(rk_model_check(&model, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "pattern");
    model = good;
    model.mtp_each = 1;
    model.mtp_type[0] = 2;
    assert_int_equal(rk_model_check(&model, &err), RK_ERR_INVALID);
    assert_string_equal(err.path, "mtp_pattern");
    assert_string_equal(err.message, "expected indices of types");
    model = good;
    model.types[1].mixer = NULL;
    assert_int_equal(rk_model_check(&model, &err), RK_ERR_INVALID);
    model = good;
    model.norm = (rk_norm_kind)9;
    assert_int_equal(rk_model_check(&model, &err), RK_ERR_INVALID);
    model = good;
    model.types[0].attention.qk_norm = (rk_qk_norm)9;
    assert_int_equal(rk_model_check(&model, &err), RK_ERR_INVALID);

    model = good;
    model.hidden = 1 << 22;
    model.types[1].moe.experts = 1 << 14;
    model.types[1].moe.expert_width = 1 << 22;
    assert_int_equal(rk_model_check(&model, &err), RK_OK); /* 6 layers: 2^62 are not reached */
    model.layers = RK_LAYER_MAX;
    memset(model.type_of, 1, sizeof(model.type_of));
    assert_int_equal(rk_model_check(&model, &err), RK_ERR_LIMIT);
}

/* ---- names ------------------------------------------------------------------------------ */

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_names(void **state)
{
    char folder[] = "/tmp/reckon-test-XXXXXX", path[128];
    rk_model model;
    rk_error err;
    (void)state;
    assert_int_equal(rk_model_load("lama3-8b", &model, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "did you mean \"llama3-8b\"?"));
    assert_int_equal(rk_model_load("/nowhere/model.json", &model, &err), RK_ERR_IO);

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/mine.json", folder);
    write_file(path, "{\"heads\": 4, \"ffn\": 256, " ENDS "}");
    assert_int_equal(rk_model_load(path, &model, &err), RK_OK);
    assert_string_equal(model.name, "mine"); /* after the file where the document says nothing */
    write_file(path, "{\"name\": \"Mine 1\", \"heads\": 4, \"ffn\": 256, " ENDS "}");
    assert_int_equal(rk_model_load(path, &model, &err), RK_OK);
    assert_string_equal(model.name, "Mine 1");
    write_file(path, "{\"heads\": 0, \"ffn\": 256, " ENDS "}");
    assert_int_equal(rk_model_load(path, &model, &err), RK_ERR_INVALID);
    assert_string_equal(err.file, path);
    assert_string_equal(err.path, "heads");
    assert_int_equal(unlink(path), 0);

    (void)snprintf(path, sizeof(path), "%s/config.json", folder);
    write_file(path, "{\"model_type\": \"llama\"}");
    assert_int_equal(rk_model_load(path, &model, &err), RK_OK);
    assert_string_equal(model.name, strrchr(folder, '/') + 1);
    assert_int_equal(rk_model_params_of(&model).total, 6738415616); /* the defaults of the class */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),     cmocka_unit_test(test_keys_count),
        cmocka_unit_test(test_experts),      cmocka_unit_test(test_latent),
        cmocka_unit_test(test_layers),       cmocka_unit_test(test_named_mixer),
        cmocka_unit_test(test_no_attention), cmocka_unit_test(test_type_keys),
        cmocka_unit_test(test_faults),       cmocka_unit_test(test_check),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
