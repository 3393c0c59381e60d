/* SPDX-License-Identifier: Apache-2.0 */
/* What a row leaves open: what is assumed, planned or settled by memory. */
#include "rows.h"

/* Modules that the table's maker guessed: named, the verdict is open, the run as the cells say. */
static void test_guessed_modules(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    const char *header = COLUMNS ",recompute_modules,inferred,framework";
    assert_int_equal(fill_under(header,
                                "1,mine," SHAPE
                                "8,1,1,1,8,1,16,selective,ZeRO-1,BF16,1,,,norm,,megatron-lm\n",
                                &c, &err),
                     RK_OK);
    assert_false(c.unsure || c.filled);
    assert_int_equal(fill_under(header,
                                "1,mine," SHAPE
                                "8,1,1,1,8,1,16,selective,ZeRO-1,BF16,1,,,norm,recompute_modules,"
                                "megatron-lm\n",
                                &c, &err),
                     RK_OK);
    assert_true(c.unsure && !c.filled);
    assert_string_equal(c.assumed, "recompute_modules");
    assert_int_equal(c.strategy.recompute_modules, RK_MODULE_NORM);

    /* Not listed: those of Megatron. */
    assert_int_equal(fill_under(header,
                                "1,mine," SHAPE "8,1,1,1,8,1,16,selective (why?),ZeRO-1,BF16,1,,,,,"
                                "megatron-lm\n",
                                &c, &err),
                     RK_OK);
    assert_int_equal(c.strategy.recompute_modules, RK_MODULE_CORE_ATTENTION);
    assert_string_equal(c.assumed, "recompute_modules");
}

/* FP8 on eight H100 with so many layers, and what the row says of inputs of activations. */
static void fill_fp8(int layers, const char *low_activations, rk_run_case *c)
{
    char row[512];
    rk_error err;
    (void)snprintf(row, sizeof(row),
                   "1,mine,llama,%d,4096,11008,32,32000,4096,H100,8,1,1,1,8,2,16,none,ZeRO-1,FP8,1,"
                   ",,%s,megatron-lm\n",
                   layers, low_activations);
    assert_int_equal(fill_under(COLUMNS ",low_activations,framework", row, c, &err), RK_OK);
}

/*
 * Where settings of FP8 of which the row says nothing decide whether it fits, the run had those
 * that cost least of those that fit, and they are named.
 */
static void test_open_settings(void **state)
{
    static const struct {
        int layers;
        const char *low_activations, *named;
    } rows[] = {
        {30, "", ""}, /* fits */
        {32, "", "transposed weights"},
        {32, "false", "transposed weights"},
        {32, "true", ""},                                /* fits */
        {34, "", "low_activations, transposed weights"}, /* with one of the two it thrashes */
        {36, "", "low_activations, transposed weights"},
        {36, "false", ""}, /* does not fit either way */
        {64, "", ""},
    };
    static rk_run_case c;
    static rk_run_prediction p;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fill_fp8(rows[i].layers, rows[i].low_activations, &c);
        assert_string_equal(c.assumed, rows[i].named);
        assert_int_equal(c.unsure, rows[i].named[0] != '\0');
        assert_false(c.filled);
        const bool low = strstr(rows[i].named, "low_activations") != NULL;
        assert_int_equal(c.strategy.low_activations,
                         low || strcmp(rows[i].low_activations, "true") == 0);
        (void)rk_run_predict(&sources, &c, NULL, NULL, &p, NULL);
        assert_int_equal(p.estimate.fits, rows[i].layers < 36 || low);
    }
}

/* Latent attention that does not fit as it is recomputes its way up first, as recipes do. */
static void test_latent_recompute(void **state)
{
    static rk_run_case c;
    rk_error err;
    const char *row =
        "1,mine,deepseek-v3,61,7168,18432,128,129280,4096,H100,1024,2,8,4,64,1,8192,,ZeRO-1,FP8,1,,"
        ",256,8,,,1,64,2048,2025,megatron-bridge\n";
    (void)state;
    assert_int_equal(fill_under(EXPERTS ",ep,moe_ffn,year,framework", row, &c, &err), RK_OK);
    assert_int_equal(c.strategy.recompute, RK_REC_SELECTIVE);
    assert_int_equal(c.strategy.recompute_modules, RK_MODULE_MLA_UP);
    assert_non_null(strstr(c.assumed, "recompute"));
}

/* torchtitan recomputes operators or layers, and offloads no activations: nothing else is assumed.
 */
static void test_layers_recomputed(void **state)
{
    static rk_run_case c;
    rk_error err;
    (void)state;
    assert_int_equal(
        fill_framework("1,mine,llama,80,8192,28672,64,128256,8192,H100,64,1,1,,64,1,64,,"
                       "all,bf16,1,,,2024,torchtitan\n",
                       &c, &err),
        RK_OK);
    assert_int_equal(c.strategy.recompute, RK_REC_FULL);
    assert_false(c.strategy.offload_activations);
    assert_non_null(strstr(c.assumed, "recompute"));
}

/* One of two layers of a stage of 5 is checkpointed: 3 of them. */
static void test_recompute_every(void **state)
{
    static rk_run_case c;
    rk_error err;
    (void)state;
    assert_int_equal(fill_under(COLUMNS ",framework,recompute_every",
                                "1,mine,llama,40,5120,13824,40,32000,4096,H100,64,1,8,1,8,1,64,"
                                "full,all,bf16,1,,,torchtitan,2\n",
                                &c, &err),
                     RK_OK);
    assert_int_equal(c.strategy.recompute, RK_REC_FULL);
    assert_int_equal(c.strategy.recompute_layers, 3);
}

/* A gate that deals out experts in turn is a change of the stack; an unknown gate is refused. */
static void test_routing(void **state)
{
    static rk_run_case c;
    rk_error err;
    int changes[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        char row[256];
        (void)snprintf(row, sizeof(row),
                       "1,mine," SHAPE "8,1,1,,8,1,8,none,all,bf16,1,,,nemo-automodel,%s\n",
                       i ? "in_turn" : "");
        assert_int_equal(fill_under(COLUMNS ",framework,routing", row, &c, &err), RK_OK);
        changes[i] = c.changes.count;
    }
    assert_int_equal(changes[1], changes[0] + 1);
    assert_near(c.strategy.imbalance, 1, 0);
    assert_int_equal(fill_under(COLUMNS ",framework,routing",
                                "1,mine," SHAPE
                                "8,1,1,,8,1,8,none,all,bf16,1,,,nemo-automodel,random\n",
                                &c, &err),
                     RK_ERR_INVALID);
}

/* Natural routing loads the busiest rank more, unless a row says how much or drops what is above.
 */
static void test_natural_routing(void **state)
{
    static const struct {
        const char *cells;
        double imbalance;
    } cases[] = {{"natural,,", 1.52}, {"natural,1.2,", 1.2}, {"natural,,1.1", 1}, {",1.2,", 1.2}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static rk_run_case c;
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row),
                       "1,mine," SHAPE "8,1,1,,8,1,8,none,all,bf16,1,,,nemo-automodel,%s\n",
                       cases[i].cells);
        assert_int_equal(
            fill_under(COLUMNS ",framework,routing,imbalance,capacity_factor", row, &c, &err),
            RK_OK);
        assert_near(c.strategy.imbalance, cases[i].imbalance, 0);
    }
}

/* What a rule says of the software that a row names is a fact, whatever was assumed before. */
static void test_recipe_recompute(void **state)
{
    static rk_run_case c;
    rk_error err;
    const char *row =
        "1,mine,deepseek-v3,61,7168,18432,128,129280,4096,H100,512,2,8,1,32,1,4096,,ZeRO-1,BF16,1,,"
        ",256,8,,,1,64,2048,2025,nemo,25.02\n";
    (void)state;
    assert_int_equal(
        fill_under(EXPERTS ",ep,moe_ffn,year,framework,framework_version", row, &c, &err), RK_OK);
    assert_int_equal(c.strategy.recompute_modules, RK_MODULE_MLA_UP);
    assert_null(strstr(c.assumed, "recompute"));
}

/* Of stated data-parallel ranks, what is left is shared out as the fastest step has it. */
static void test_planned_inside(void **state)
{
    static rk_run_case c;
    rk_error err;
    (void)state;
    assert_int_equal(
        fill_under(COLUMNS, "1,mine," SHAPE "16,,1,,4,1,16,none,ZeRO-1,BF16,1,,\n", &c, &err),
        RK_OK);
    assert_int_equal(c.strategy.dp, 4);
    assert_int_equal(c.strategy.tp * c.strategy.cp, 4);
    assert_true(c.unsure && strstr(c.assumed, "tp"));
}

/* Experts are shared out as the fastest step that fits has them, if the row does not say how. */
static void test_planned_experts(void **state)
{
    static rk_run_case c;
    rk_error err;
    const char *header = COLUMNS ",moe_experts,moe_topk,moe_ffn,framework,ep";
    (void)state;
    assert_int_equal(fill_under(header,
                                "1,mine,moe,48,4096,11008,32,32000,4096,H100,64,1,1,,64,1,256,none,"
                                "ZeRO-1,BF16,1,,,128,8,1536,megatron-core,\n",
                                &c, &err),
                     RK_OK);
    assert_in_range(c.strategy.ep, 8, 64);
    assert_true(c.unsure && strstr(c.assumed, "ep"));
    assert_int_equal(fill_under(header,
                                "1,mine,moe,48,4096,11008,32,32000,4096,H100,64,1,1,,64,1,256,none,"
                                "ZeRO-1,BF16,1,,,128,8,1536,megatron-core,4\n",
                                &c, &err),
                     RK_OK);
    assert_int_equal(c.strategy.ep, 4);
    assert_null(strstr(c.assumed, "ep"));

    /* Of nothing that fits without recomputation, what fits with it. */
    assert_int_equal(fill_under(header,
                                "1,mine,moe,60,4096,14336,32,65536,8192,H800,240,,15,,,,720,,,BF16,"
                                "1,,,32,3,14336,megatron-lm,\n",
                                &c, &err),
                     RK_OK);
    rk_run_prediction p;
    (void)rk_run_predict(&sources, &c, NULL, NULL, &p, NULL);
    assert_true(p.estimate.fits);
    assert_true(c.strategy.ep > 1 && strstr(c.assumed, "ep"));
}

/* States that nobody says are whole on every rank are sharded where they do not fit otherwise. */
static void test_assumed_sharding(void **state)
{
    static rk_run_case c;
    rk_error err;
    (void)state;
    assert_int_equal(fill_framework("1,mine,yi,60,7168,20480,56,64000,4096,A800,64,8,1,,8,1,256,,,"
                                    "BF16,1,,,2024,megatron-lm\n",
                                    &c, &err),
                     RK_OK);
    assert_int_equal(c.strategy.sharding, RK_SHARD_OPTIMIZER);
    assert_non_null(strstr(c.assumed, "sharding"));
    assert_int_equal(fill_framework("1,mine,yi,60,7168,20480,56,64000,4096,A800,64,8,1,,8,1,256,,"
                                    "none,BF16,1,,,2024,megatron-lm\n",
                                    &c, &err),
                     RK_OK);
    assert_int_equal(c.strategy.sharding, RK_SHARD_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guessed_modules),  cmocka_unit_test(test_open_settings),
        cmocka_unit_test(test_latent_recompute), cmocka_unit_test(test_layers_recomputed),
        cmocka_unit_test(test_recompute_every),  cmocka_unit_test(test_routing),
        cmocka_unit_test(test_natural_routing),  cmocka_unit_test(test_recipe_recompute),
        cmocka_unit_test(test_planned_inside),   cmocka_unit_test(test_planned_experts),
        cmocka_unit_test(test_assumed_sharding),
    };
    return cmocka_run_group_tests(tests, load_sources, clear_sources);
}
