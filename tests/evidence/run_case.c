/* SPDX-License-Identifier: Apache-2.0 */
/* Rows become cases: what is printed, what is known of the source, what is assumed. */
#include "rows.h"

static rk_status fill(const char *row, rk_run_case *run, rk_error *err)
{
    return fill_under(COLUMNS, row, run, err);
}

static void test_printed(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    assert_int_equal(fill("1,mine," SHAPE "64,4,2,2,8,1,256,full,ZeRO-1,FP8,2.5,,40\n", &c, &err),
                     RK_OK);
    assert_int_equal(c.strategy.tp * 1000 + c.strategy.pp * 100 + c.strategy.dp, 4208);
    assert_int_equal(c.strategy.vp, 2);
    assert_int_equal(c.strategy.schedule, RK_SCHEDULE_INTERLEAVED);
    assert_int_equal(c.strategy.recompute, RK_REC_FULL);
    assert_int_equal(c.strategy.sharding, RK_SHARD_OPTIMIZER);
    assert_int_equal(c.strategy.precision, RK_FP8);
    assert_near(c.step_seconds, 2.5, 0);
    assert_near(c.memory, 40 * 0x1p30, 0);
    assert_int_equal(c.model.types[0].attention.head_size, 128);
    assert_string_equal(c.assumed, "seq_parallel, framework");
}

/* A format and the recipe of its scales; fp8 weights are kept in 8 bits by Megatron's recipes. */
static void test_precision(void **state)
{
    (void)state;
    static const struct {
        const char *cells;
        rk_precision precision;
        rk_fp8_recipe recipe;
        bool low_weights;
    } names[] = {
        {"BF16,", RK_BF16, RK_FP8_TENSORWISE, false},
        {"NVFP4,", RK_FP4, RK_FP8_TENSORWISE, false},
        {"fp8,current", RK_FP8, RK_FP8_TENSORWISE, true},
        {"fp8,delayed", RK_FP8, RK_FP8_DELAYED, true},
        {"fp8,MXFP8", RK_FP8, RK_FP8_MX, true},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        static rk_run_case c;
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row), "llama,32,4096,11008,32,32000,4096,B200,8,8,1,1,16,%s\n",
                       names[i].cells);
        assert_int_equal(fill_under("model,layers,hidden,ffn,heads,vocab,seq,accelerator,n_accel,"
                                    "tp,dp,mbs,gbs,precision,fp8_recipe",
                                    row, &c, &err),
                         RK_OK);
        assert_int_equal(c.strategy.precision, names[i].precision);
        assert_int_equal(c.strategy.fp8_recipe, names[i].recipe);
        assert_int_equal(c.strategy.low_weights, names[i].low_weights);
    }
}

/* Tokens per second say the same as a step. */
static void test_rate(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    assert_int_equal(fill("1,mine," SHAPE "8,8,1,,1,1,16,,,,,1024,\n", &c, &err), RK_OK);
    assert_near(c.step_seconds, 16.0 * 4096 / (1024 * 8), 1e-12);
    assert_string_equal(c.assumed, "seq_parallel, recompute, sharding, precision, framework");
}

/* A framework stands for a stack and its habits; a cell that is filled stays. */
static void test_frameworks(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    static const char nanotron[] = "1,x," SHAPE "16,8,1,,2,1,16,none,,BF16,1,,30,2025,nanotron\n";
    static const char fsdp[] = "1,x," SHAPE "16,1,1,,16,1,16,none,,BF16,1,,30,2025,llm-foundry\n";
    static const char zero[] =
        "1,x," SHAPE "16,1,1,,16,1,16,none,ZeRO-1,BF16,1,,30,2025,llm-foundry\n";
    assert_int_equal(fill_framework(nanotron, &c, &err), RK_OK);
    assert_string_equal(sources.stack_names[c.stack], "nanotron");
    assert_true(c.first_stage);
    assert_near(c.strategy.states.gradient, 6, 0); /* fp32 and the buckets of DDP */
    assert_int_equal(fill_framework(fsdp, &c, &err), RK_OK);
    assert_int_equal(c.strategy.sharding, RK_SHARD_ALL);
    assert_int_equal(fill_framework(zero, &c, &err), RK_OK);
    assert_int_equal(c.strategy.sharding, RK_SHARD_OPTIMIZER);
}

/* Names of a collection, and what it says in words, change nothing. */
static void test_names(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    assert_int_equal(fill_under(COLUMNS ",source,other_flags,notes",
                                "1,hf_playbook," SHAPE
                                "16,8,1,,2,1,16,none,,BF16,1,,30,nanotron,no flash,hybrid\n",
                                &c, &err),
                     RK_OK);
    assert_string_equal(sources.stack_names[c.stack], "megatron-2025");
    assert_true(c.strategy.flash_attention);
}

/* Heads that nobody states are about 128 wide, share the width evenly and split over tensor ranks.
 */
static void test_usual_heads(void **state)
{
    static const struct {
        int hidden, tp, heads;
    } cases[] = {{4096, 1, 32}, {4608, 1, 36},  {4608, 8, 32}, {4608, 16, 32}, {5120, 1, 40},
                 {5120, 8, 40}, {5120, 16, 32}, {1600, 1, 16}, {1600, 4, 16},  {12288, 32, 96}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static rk_run_case c;
        fill_printed(COLUMNS, &c, "1,x,,32,%d,11008,,,4096,H100,32,%d,1,,%d,1,32,none,,BF16,1,,\n",
                     cases[i].hidden, cases[i].tp, 32 / cases[i].tp);
        assert_int_equal(c.model.types[0].attention.query_heads, cases[i].heads);
    }
}

/* What nobody states: sizes of the catalogue, usual sizes, degrees and memory that fit. */
static void test_assumed(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_run_prediction p;
    rk_error err;
    assert_int_equal(
        fill("1,x,,32,4096,11008,,,4096,H100,8,8,1,,1,1,16,none,,BF16,1,,\n", &c, &err), RK_OK);
    assert_int_equal(c.model.types[0].attention.query_heads, 32);
    assert_int_equal(c.model.vocab, 50304);
    assert_string_equal(c.assumed, "heads, vocab, seq_parallel, sharding, framework");

    /* All of a batch does not fit, nor does half of it. */
    assert_int_equal(fill("1,x," SHAPE "8,8,1,,1,,256,none,,BF16,1,,\n", &c, &err), RK_OK);
    assert_in_range(c.strategy.micro_batch, 2, 64);
    (void)rk_run_predict(&sources, &c, NULL, NULL, &p, NULL);
    assert_true(p.estimate.fits);
    assert_non_null(strstr(c.assumed, "mbs"));

    /* Without recomputation 64 sequences do not fit. */
    assert_int_equal(fill("1,x," SHAPE "8,8,1,,1,16,16,,,BF16,1,,\n", &c, &err), RK_OK);
    assert_true(c.strategy.recompute != RK_REC_NONE || c.strategy.offload_activations);
    (void)rk_run_predict(&sources, &c, NULL, NULL, &p, NULL);
    assert_true(p.estimate.fits);
    assert_int_equal(fill("1,x," SHAPE "8,8,1,,1,16,16,none,,BF16,1,,\n", &c, &err), RK_OK);
    (void)rk_run_predict(&sources, &c, NULL, NULL, &p, NULL);
    assert_false(p.estimate.fits);

    /* Of a run that ran out of memory nothing is inferred from memory. */
    assert_int_equal(
        fill_under(COLUMNS ",outcome", "1,x," SHAPE "8,8,1,,1,16,16,,,BF16,,,,oom\n", &c, &err),
        RK_OK);
    assert_int_equal(c.strategy.recompute, RK_REC_NONE);
    assert_false(c.strategy.offload_activations);
    assert_true(c.out_of_memory);

    /* Sharding that is not stated is none, or of the optimizer where only that fits. */
    assert_int_equal(fill("1,x," SHAPE "32,2,1,,16,1,16,full,,BF16,1,,\n", &c, &err), RK_OK);
    assert_int_equal(c.strategy.sharding, RK_SHARD_NONE);
    assert_int_equal(fill("1,x," SHAPE "16,1,1,,16,1,16,full,,BF16,1,,\n", &c, &err), RK_OK);
    assert_int_equal(c.strategy.sharding, RK_SHARD_OPTIMIZER);
    (void)rk_run_predict(&sources, &c, NULL, NULL, &p, NULL);
    assert_true(p.estimate.fits);
    assert_string_equal(c.assumed, "sharding, framework");

    /* Where recompute is open too, and no recompute makes it fit. */
    assert_int_equal(fill("1,x," SHAPE "16,1,1,,16,1,16,,,BF16,1,,\n", &c, &err), RK_OK);
    assert_int_equal(c.strategy.sharding, RK_SHARD_OPTIMIZER);
    assert_int_equal(c.strategy.recompute, RK_REC_NONE);
    assert_false(c.strategy.offload_activations);

    /* Activations of pipelines are not taken to be offloaded. */
    assert_int_equal(fill("1,x," SHAPE "16,1,4,,4,16,512,,ZeRO-1,BF16,1,,\n", &c, &err), RK_OK);
    assert_int_equal(c.strategy.recompute, RK_REC_FULL);
    assert_false(c.strategy.offload_activations);

    assert_int_equal(fill("1,x," SHAPE "24,,,,,1,48,none,,BF16,1,,\n", &c, &err), RK_OK);
    assert_int_equal(rk_strategy_ranks(&c.strategy), 24);
    assert_non_null(strstr(c.assumed, "tp, pp"));
}

/* FSDP2 under a pipeline keeps parameters gathered and gradients whole. */
static void test_keeps_gathered(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    static const char whole[] =
        "1,x," SHAPE "16,1,1,,16,1,16,full,all,BF16,1,,30,2025,torchtitan\n";
    static const char stages[] = "1,x," SHAPE "16,1,4,,4,,32,full,all,BF16,1,,30,2025,torchtitan\n";
    assert_int_equal(fill_framework(whole, &c, &err), RK_OK);
    assert_int_equal(c.strategy.sharding, RK_SHARD_ALL);
    assert_int_equal(fill_framework(stages, &c, &err), RK_OK);
    assert_int_equal(c.strategy.sharding, RK_SHARD_GRADIENTS);
    assert_int_equal(c.strategy.micro_batch, 2); /* four microbatches of the 8 sequences */
}

/* A model of the catalogue by its name, or by the column architecture. */
static void test_catalogue(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_run_table table;
    rk_error err;
    static const char text[] = "model,layers,hidden,heads,vocab,seq,accelerator,n_accel,tp,pp,dp,"
                               "gbs,architecture\n"
                               "Llama-3 8B,,,,,8192,H100,8,8,1,1,16,\n"
                               "ours,16,,,,8192,H100,8,8,1,1,16,llama3-8b\n";
    assert_int_equal(rk_run_table_parse(text, strlen(text), "test.csv", &table, &err), RK_OK);
    assert_int_equal(rk_run_sources_add(&sources, &table, &err), RK_OK);
    assert_int_equal(rk_run_case_fill(&sources, &table, 0, &c, &err), RK_OK);
    assert_int_equal(c.model.layers, 32);
    assert_int_equal(c.model.types[0].attention.kv_heads, 8);
    assert_int_equal(c.model.vocab, 128256);
    assert_int_equal(rk_run_case_fill(&sources, &table, 1, &c, &err), RK_OK);
    assert_int_equal(c.model.layers, 16);
    assert_int_equal(c.model.types[0].ffn.width, 14336);
    rk_run_table_clear(&table);
}

/* Values that a column does not have, and models that are no transformers, are refused. */
static void test_refused(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    assert_int_equal(fill("1,x," SHAPE "8,8,1,,1,1,16,most,,,1,,\n", &c, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "column recompute: expected \"none\""));
    assert_int_equal(fill_under(COLUMNS ",mixer",
                                "1,x," SHAPE "8,8,1,,1,1,16,none,,BF16,1,,,hybrid\n", &c, &err),
                     RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "layers that are not of attention"));
    assert_int_equal(fill("1,x,nemotron-h-8b,52,4096,21504,32,131072,8192,H100,8,1,1,,8,1,16,none,,"
                          "BF16,1,,\n",
                          &c, &err),
                     RK_ERR_INVALID);
}

/* A hybrid is a model of the catalogue, by its name alone or by the column architecture. */
static void test_hybrid(void **state)
{
    static const struct {
        const char *row;
        rk_status status;
    } rows[] = {
        {"nemotron-h-56b,,,,,8192,H100,32,8,1,4,96,,", RK_OK},
        {"nemotron-h-56b,118,8192,64,131072,8192,H100,32,8,1,4,96,hybrid,nemotron-h-56b", RK_OK},
        {"nemotron-h-56b,118,8192,64,131072,8192,H100,32,8,1,4,96,hybrid,", RK_OK},
        {"nemotron-h-56b,59,8192,64,131072,8192,H100,32,8,1,4,96,hybrid,", RK_ERR_INVALID},
        {"no name of ours,118,8192,64,131072,8192,H100,32,8,1,4,96,hybrid,", RK_ERR_INVALID},
        {"half of it,59,8192,64,131072,8192,H100,32,8,1,4,96,hybrid,nemotron-h-56b",
         RK_ERR_INVALID},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static rk_run_case c;
        rk_error err;
        assert_int_equal(fill_under("model,layers,hidden,heads,vocab,seq,accelerator,n_accel,tp,pp,"
                                    "dp,gbs,mixer,architecture",
                                    rows[i].row, &c, &err),
                         rows[i].status);
        if (rows[i].status == RK_OK) {
            assert_true(c.model.type_count > 2); /* of layers */
            assert_null(strstr(c.assumed, "heads"));
        }
    }
}

/* A row may say how many modules of multi-token prediction train, also where the catalogue has
 * none; those of Nemotron 3 have attention and experts. */
static void test_mtp_layers(void **state)
{
    static const struct {
        const char *model, *facts;
        int modules;
    } rows[] = {
        {"nemotron-3-super-120b", "", 0},
        {"nemotron-3-super-120b", "mtp_layers=2", 2},
        {"nemotron-3-nano-30b", "mtp_layers=2", 2},
        {"nemotron-3-super-120b", "mtp_layers=1000000", -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static rk_run_case c;
        rk_error err;
        char row[128];
        (void)snprintf(row, sizeof(row), "%s,4096,H100,64,1,1,64,64,8,%s", rows[i].model,
                       rows[i].facts);
        const rk_status status =
            fill_under("model,seq,accelerator,n_accel,tp,pp,dp,gbs,ep,facts", row, &c, &err);
        assert_int_equal(status, rows[i].modules < 0 ? RK_ERR_INVALID : RK_OK);
        if (status == RK_OK) {
            assert_int_equal(c.model.mtp_layers, rows[i].modules);
            assert_int_equal(c.model.mtp_each, 2);
        }
    }
}

static void test_missing(void **state)
{
    (void)state;
    static rk_run_case c;
    static const struct {
        const char *row, *reason;
    } bad[] = {
        {"1,x," SHAPE "8,8,1,,1,1,,,,,1,,\n", "batch not stated"},
        {"1,x," SHAPE ",8,1,,1,1,16,,,,1,,\n", "number of accelerators not stated"},
        {"1,x,llama,,4096,11008,32,32000,4096,H100,8,8,1,,1,1,16,,,,1,,\n", "layers is missing"},
        {"1,x,llama,32,4096,11008,32,32000,,H100,8,8,1,,1,1,16,,,,1,,\n", "seq is missing"},
        {"1,x,llama,32,4096,1,32,9,4096,Abacus,8,8,1,,1,1,16,,,,1,,\n", "without a document"},
        {"1,x," SHAPE "24,8,1,,2,1,16,,,,1,,\n", "do not multiply"},
        {"1,x," SHAPE "8,eight,1,,1,1,16,,,,1,,\n", "row 1, column tp"},
        {"1,x," SHAPE "3,3,1,,1,1,16,,,,1,,\n", "heads"},
    };
    rk_error err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(fill(bad[i].row, &c, &err), RK_ERR_INVALID);
        assert_non_null(strstr(err.message, bad[i].reason));
    }
}

/* States are sharded within groups of ranks, whose number follows. */
static void test_shard_groups(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    assert_int_equal(fill_under(COLUMNS ",shard_ranks",
                                "1,x," MODEL "A100,64,1,1,,64,1,256,none,optimizer,BF16,1,,,8\n",
                                &c, &err),
                     RK_OK);
    assert_int_equal(c.strategy.sharding, RK_SHARD_OPTIMIZER);
    assert_int_equal(c.strategy.replicas, 8);
}

/* A row is described by its framework, its release and its age. */
static void test_software(void **state)
{
    (void)state;
    static const struct {
        const char *cells, *stack;
    } rows[] = {
        {"unseen," MODEL "A100,8,1,1,,8,1,256,none,,FP16,1,,,2021,", "megatron-2021"},
        {"unseen," MODEL "A100,8,1,1,,8,1,256,none,,FP16,1,,,2023,megatron-deepspeed",
         "megatron-deepspeed-2022"},
        {"unseen," MODEL "H100,8,1,1,,8,1,256,none,,BF16,1,,,2024,nanotron", "nanotron"},
        {"unseen," MODEL "H100,8,1,1,,8,1,256,none,,BF16,1,,,2025,maxtext", "maxtext-gpu"},
        {"unseen," MODEL "TPU v5p,8,1,1,,8,1,256,none,,BF16,1,,,2025,", "maxtext-tpu"},
        {"unseen," MODEL "NVIDIA H100-SXM5-80GB,8,1,1,,8,1,256,none,,FP8,1,,,2023,nemo",
         "nemo-2024"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static rk_run_case c;
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row), "1,%s\n", rows[i].cells);
        assert_int_equal(fill_framework(row, &c, &err), RK_OK);
        assert_string_equal(sources.stack_names[c.stack], rows[i].stack);
    }
}

/* Runs of your own name their documents. */
static void test_named(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_run_table table;
    rk_error err;
    static const char text[] = COLUMNS ",stack,system\n"
                                       "1,ours," MODEL "Ours,64,8,1,,8,1,256,none,,BF16,1,,,"
                                       "megatron-2026-blackwell,hgx-b200-simumax\n"
                                       "2,ours," MODEL "H100,64,8,1,,8,1,256,none,,BF16,1,,,,\n";
    assert_int_equal(rk_run_table_parse(text, strlen(text), "ours.csv", &table, &err), RK_OK);
    assert_int_equal(rk_run_case_fill(&sources, &table, 0, &c, &err), RK_ERR_INVALID);
    assert_int_equal(rk_run_sources_add(&sources, &table, &err), RK_OK);
    assert_int_equal(rk_run_case_fill(&sources, &table, 0, &c, &err), RK_OK);
    assert_string_equal(sources.stack_names[c.stack], "megatron-2026-blackwell");
    assert_string_equal(sources.systems[c.system].name, "hgx-b200-simumax");
    assert_int_equal(rk_run_case_fill(&sources, &table, 1, &c, &err), RK_OK);
    assert_string_equal(sources.system_names[c.system], "h100-sxm");
    rk_run_table_clear(&table);

    static const char bad[] =
        COLUMNS ",stack,system\n"
                "1,ours," MODEL "H100,8,1,1,,8,1,8,none,,BF16,1,,,megatorn,\n";
    assert_int_equal(rk_run_table_parse(bad, strlen(bad), "ours.csv", &table, &err), RK_OK);
    assert_int_equal(rk_run_sources_add(&sources, &table, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "megatorn"));
    rk_run_table_clear(&table);
}

/* What a row says of its schedule, its overlap and its blocks replaces what is usual. */
static void test_flags(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    static const char columns[] = COLUMNS ",framework,schedule,tp_overlap,parallel_block";
    static const char flags[] =
        "1,x," SHAPE "64,2,8,2,4,1,256,none,,BF16,1,,,nemo,zb-v,False,true\n";
    assert_int_equal(fill_under(columns, flags, &c, &err), RK_OK);
    assert_int_equal(c.strategy.schedule, RK_SCHEDULE_ZB_V);
    assert_int_equal(c.strategy.vp, 1);
    assert_true(c.strategy.sp && !c.strategy.tp_overlap);
    assert_true(c.model.parallel_block);
    assert_int_equal(c.model.norms_per_layer, 1);
    static const char half[] = "1,x," SHAPE "8,1,8,,1,1,16,,,,1,,,,v-half,,\n";
    assert_int_equal(fill_under(columns, half, &c, &err), RK_OK);
    assert_int_equal(c.strategy.schedule, RK_SCHEDULE_V_HALF);
    static const char third[] = "1,x," SHAPE "8,1,8,,1,1,16,,,,1,,,,v-third,,\n";
    assert_int_equal(fill_under(columns, third, &c, &err), RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "column schedule"));
}

/* Chunks and microbatches that nobody states, and that the row says so. */
static void test_guessed(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        int64_t vp;
        bool counted; /* the ends count as layers */
        const char *assumed;
    } cases[] = {
        {"32,4096,11008,32,32000,4096,H100,16,1,8,,2,1,256,none,none,BF16,1,,,", 1, false, "vpp"},
        {"32,4096,11008,32,32000,4096,H100,16,1,8,,2,1,256,none,none,BF16,1,,,true", 4, false,
         "vpp"},
        {"32,4096,11008,32,32000,4096,H100,16,1,8,2,2,1,256,none,none,BF16,1,,,true", 2, false, ""},
        {"22,4096,11008,32,32000,4096,H100,16,1,8,,2,,256,none,none,BF16,1,,,true", 3, true,
         "vpp, mbs"},
        {"23,4096,11008,32,32000,4096,H100,16,1,8,,2,1,256,none,none,BF16,1,,,true", 1, false,
         "vpp"},
        {"32,4096,11008,32,32000,4096,H100,16,1,8,,2,1,20,none,none,BF16,1,,,true", 1, false,
         "vpp"}, /* ten microbatches, which do not interleave over eight ranks */
        {"32,4096,11008,32,32000,4096,H100,16,1,1,,16,,16,none,none,BF16,1,,,", 1, false, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static rk_run_case c;
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row), "1,mine,llama,%s,megatron-lm\n", cases[i].row);
        assert_int_equal(fill_under(COLUMNS ",layer_chunks,framework", row, &c, &err), RK_OK);
        assert_int_equal(c.strategy.vp, cases[i].vp);
        assert_true(c.strategy.count_embedding == cases[i].counted);
        assert_string_equal(c.assumed, cases[i].assumed);
    }
}

/* How many experts a token goes to is no matter of taste. */
static void test_experts(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    assert_int_equal(
        fill_under(EXPERTS, "1,x," SHAPE "8,1,1,,8,1,256,none,,BF16,1,,,8,,,,\n", &c, &err),
        RK_ERR_INVALID);
    assert_non_null(strstr(err.message, "moe_topk is missing"));
    assert_int_equal(
        fill_under(EXPERTS, "1,x," SHAPE "8,1,1,,8,1,256,none,,BF16,1,,,8,2,,,1\n", &c, &err),
        RK_OK);
    assert_int_equal(c.model.types[0].moe.top_k, 2);
    assert_int_equal(c.model.types[0].moe.shared_width, 11008);
    assert_int_equal(fill_under(EXPERTS,
                                "1,x," SHAPE "8,1,1,,8,1,256,none,,BF16,1,,,8,2,,,1 (width 5632)\n",
                                &c, &err),
                     RK_OK);
    assert_int_equal(c.model.types[0].moe.shared_experts, 1);
    assert_int_equal(c.model.types[0].moe.shared_width, 5632);
    assert_int_equal(
        fill_under(EXPERTS, "1,x," SHAPE "8,1,1,,8,1,256,none,,BF16,1,,,8,2,,,wide\n", &c, &err),
        RK_ERR_INVALID);
}

/* Utilisation is a time where its count is known, and nothing else is printed. */
static void test_utilisation(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_error err;
    static const char known[] = "1,papers," SHAPE "64,8,1,,8,1,256,none,ZeRO-1,BF16,,,,,,0.5,"
                                "palm,\n";
    static const char unknown[] = "1,papers," SHAPE "64,8,1,,8,1,256,none,ZeRO-1,BF16,,,,,,0.5,,\n";
    assert_int_equal(fill_under(EXPERTS, known, &c, &err), RK_OK);
    const double each = rk_model_flops_per_token(&c.model, 4096, RK_FLOPS_PALM);
    const double peak = sources.systems[c.system].accelerator.gemm[RK_BF16].peak;
    assert_near(c.step_seconds, 256.0 * 4096 * each / (64 * 0.5 * peak), 1e-9);
    assert_int_equal(fill_under(EXPERTS, unknown, &c, &err), RK_OK);
    assert_near(c.step_seconds, 0, 0);
}

/* Documents can be exchanged, and the run's own changes hold for any. */
static void test_exchange(void **state)
{
    (void)state;
    static rk_run_case c;
    rk_run_prediction usual, slow, played;
    rk_error err;
    assert_int_equal(
        fill_under(COLUMNS ",framework,network_GBps,gradient_bytes",
                   "1,x,g,32,4096,11008,32,32000,4096,A100,64,4,2,,8,1,256,full,,BF16,2.5,,40,"
                   "megatron-deepspeed,2.67,6\n",
                   &c, &err),
        RK_OK);
    assert_near(c.machine.network_bandwidth, 2.67e9, 0);
    (void)rk_run_predict(&sources, &c, NULL, NULL, &usual, NULL);
    assert_int_equal(rk_run_predict_exact(&sources, &c, NULL, NULL, &played, &err), RK_OK);
    assert_near(played.estimate.step / usual.estimate.step, 1, 0.02);
    assert_near(usual.tokens_per_second * 64 * usual.estimate.step, 256 * 4096, 1);

    rk_stack stack = sources.stacks[c.stack];
    stack.gemm_share /= 2;
    stack.accumulation_bytes = 1e4; /* the rule of DeepSpeed replaces it */
    (void)rk_run_predict(&sources, &c, NULL, &stack, &slow, NULL);
    assert_true(slow.estimate.step > 1.3 * usual.estimate.step);
    assert_true(slow.estimate.step < 2 * usual.estimate.step);

    rk_system system = sources.systems[c.system];
    system.tiers[system.tier_count - 1].bandwidth = 1; /* likewise */
    (void)rk_run_predict(&sources, &c, &system, NULL, &slow, NULL);
    assert_near(slow.estimate.step, usual.estimate.step, 0);
}

/* gpus_per_node: H100 in fours (TP 8 spans two), GH200 with NVLink, a tray of a rack (no node). */
static void test_nodes(void **state)
{
    (void)state;
    static const char header[] = COLUMNS ",gpus_per_node";
    static rk_run_case c;
    rk_run_prediction usual, stated;
    rk_system system;
    rk_error err;
    static const char *const rows[] = {
        "1,mine," SHAPE "64,8,1,,8,1,256,none,ZeRO-1,BF16,1,,,8\n",
        "1,mine," SHAPE "64,8,1,,8,1,256,none,ZeRO-1,BF16,1,,,4\n",
        "1,mine," MODEL "GH200,64,4,1,,16,1,256,none,ZeRO-1,BF16,1,,,4\n",
        "1,mine," MODEL "GB200,64,8,1,,8,1,256,none,ZeRO-1,BF16,1,,,4\n",
    };
    static const int64_t nodes[] = {8, 4, 4, 72};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(fill_under(header, rows[i], &c, &err), RK_OK);
        rk_run_system(&c, &sources.systems[c.system], &system);
        assert_int_equal(rk_system_node(&system), nodes[i]);
        (void)rk_run_predict(&sources, &c, NULL, NULL, i == 0 ? &usual : &stated, NULL);
        assert_true(i != 1 || stated.estimate.step > 1.1 * usual.estimate.step);
    }
}

/* Layers of stages that a row states; a head start for the first stage needs less memory. */
static void test_stage_layers(void **state)
{
    (void)state;
    static const char header[] = COLUMNS ",stage_layers";
    static rk_run_case c;
    rk_run_prediction even, stated;
    rk_error err;
    assert_int_equal(
        fill_under(header, "1,mine," SHAPE "64,4,4,,4,1,64,none,none,BF16,1,,,\n", &c, &err),
        RK_OK);
    (void)rk_run_predict(&sources, &c, NULL, NULL, &even, NULL);
    assert_int_equal(
        fill_under(header, "1,mine," SHAPE "64,4,4,,4,1,64,none,none,BF16,1,,,6+9+9+8\n", &c, &err),
        RK_OK);
    assert_int_equal(c.strategy.layout_count, 4);
    assert_int_equal(c.layout[0] * 1000 + c.layout[1] * 100 + c.layout[2] * 10 + c.layout[3], 6998);
    (void)rk_run_predict(&sources, &c, NULL, NULL, &stated, NULL);
    assert_true(stated.estimate.step > even.estimate.step);
    assert_true(stated.memory < even.memory);
    static const char *const wrong[] = {"8+8+8", "8+8+8+9", "8+8+8+", "8+8+8+x", "-8+8+16+16"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char row[256];
        (void)snprintf(row, sizeof(row), "1,mine," SHAPE "64,4,4,,4,1,64,none,none,BF16,1,,,%s\n",
                       wrong[i]);
        assert_int_equal(fill_under(header, row, &c, &err), RK_ERR_INVALID);
        assert_non_null(strstr(err.message, "stage_layers"));
    }
}

/* A kernel that the accelerator has no rates for is predicted, and its rates are assumed. */
static void test_lent_kernel(void **state)
{
    (void)state;
    static const char header[] = COLUMNS ",system,attention_kernel";
    static rk_run_case c;
    rk_run_prediction usual, lent;
    rk_error err;
    for (int i = 0; i < 2; i++) {
        char row[256];
        (void)snprintf(row, sizeof(row),
                       "1,mine," SHAPE "8,1,1,,8,1,64,none,ZeRO-1,BF16,1,,,b300-sxm,%s\n",
                       i ? "cudnn_fp8" : "");
        assert_int_equal(fill_under(header, row, &c, &err), RK_OK);
        assert_int_equal(strstr(c.assumed, "rates of attention_kernel") != NULL, i == 1);
        assert_int_equal(rk_run_predict(&sources, &c, NULL, NULL, i ? &lent : &usual, &err), RK_OK);
    }
    assert_true(lent.estimate.times.part[RK_PART_ATTENTION] <
                0.95 * usual.estimate.times.part[RK_PART_ATTENTION]);
}

/* States, the loss and frozen weights of a row, and what follows of trainers over FSDP. */
static void test_states(void **state)
{
    static const char header[] = COLUMNS ",task,framework,facts,lora_rank";
    static rk_run_case c;
    rk_error err;
    (void)state;
    assert_int_equal(fill_under(header,
                                "1,mine," SHAPE
                                "1,1,1,,1,1,8,full,none,BF16,1,,,lora,fsdp,loss=liger-fused; "
                                "frozen_dtype=nf4; optimizer=adamw-fused,16\n",
                                &c, &err),
                     RK_OK);
    assert_int_equal(c.strategy.cross_entropy, RK_CROSS_ENTROPY_FUSED);
    assert_true(c.strategy.nf4_weights && c.strategy.low_weights && !c.strategy.foreach_update);
    assert_int_equal(c.strategy.frozen_type, RK_FROZEN_NF4);
    assert_near(c.strategy.adapter_bytes, 4, 0);
    assert_near(c.strategy.states.weight, 2 + 4 * c.strategy.learning, 1e-12);
    assert_near(c.strategy.states.optimizer, 8 * c.strategy.learning, 1e-12);
    assert_int_equal(fill_under(header,
                                "1,mine," SHAPE "1,1,1,,1,1,8,full,none,BF16,1,,,sft,fsdp,"
                                "optimizer=paged-adamw8bit; optimizer_in_backward=1,\n",
                                &c, &err),
                     RK_OK);
    assert_int_equal(c.strategy.cross_entropy, RK_CROSS_ENTROPY_FULL);
    assert_true(c.strategy.foreach_update && c.strategy.step_in_backward);
    assert_true(c.strategy.offload_optimizer && !c.strategy.offload_gradients);
    assert_near(c.strategy.states.weight, 2, 0);
    assert_near(c.strategy.states.optimizer, 2.03125, 0);
    assert_int_equal(c.strategy.optimizer, RK_OPTIMIZER_ADAMW_8BIT);
    assert_int_equal(fill_under(header,
                                "1,mine," SHAPE "8,1,1,,8,1,8,full,FSDP,BF16,1,,,sft,fsdp,"
                                "fsdp_cpu_offload=params+gradients+optimizer,\n",
                                &c, &err),
                     RK_OK);
    assert_true(c.strategy.offload_optimizer && c.strategy.offload_gradients &&
                c.strategy.offload_weights);
    assert_near(c.strategy.states.weight, 4, 0);
}

/* The memory of a run that does not fit is its need in the sense of the source, not the limit. */
static void test_memory_beyond(void **state)
{
    (void)state;
    static const char *const kinds[] = {"allocated", "reserved", "total"};
    static rk_run_case c;
    rk_error err;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        char row[256];
        rk_run_prediction p;
        (void)snprintf(row, sizeof(row), "1,mine," SHAPE "1,1,1,,1,1,8,none,none,BF16,1,,90,%s\n",
                       kinds[i]);
        assert_int_equal(fill_under(COLUMNS ",memory_kind", row, &c, &err), RK_OK);
        assert_int_equal(rk_run_predict_exact(&sources, &c, NULL, NULL, &p, &err), RK_OK);
        assert_false(p.estimate.fits);
        const rk_stage_memory *m = &p.estimate.memory;
        assert_near(p.memory, i == 0 ? m->allocated : i == 1 ? m->reserved : m->total, 0);
        assert_true(p.memory > p.estimate.usable);
    }
}

/* Utilisation alone says no time, unless its count is stated. */
static void test_uncounted(void **state)
{
    static const char *const conventions[] = {"", "megatron"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        static rk_run_case c;
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row), "1,mine," SHAPE "8,8,1,,1,1,16,none,,BF16,,,,,,0.4,%s,\n",
                       conventions[i]);
        assert_int_equal(fill_under(EXPERTS, row, &c, &err), RK_OK);
        assert_int_equal(c.uncounted, i == 0);
        assert_int_equal(c.step_seconds > 0, i == 1);
    }
}

/* Tensor parallelism of eight leaves a node of four. */
static void test_node(void **state)
{
    static rk_run_case c[2];
    rk_run_prediction p[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row),
                       "1,x," MODEL "A100,16,8,1,,2,1,16,none,ZeRO-1,BF16,1,,,%d\n", i ? 4 : 8);
        assert_int_equal(fill_under(COLUMNS ",gpus_per_node", row, &c[i], &err), RK_OK);
        (void)rk_run_predict(&sources, &c[i], NULL, NULL, &p[i], NULL);
    }
    assert_true(p[1].estimate.step > 1.1 * p[0].estimate.step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printed),        cmocka_unit_test(test_precision),
        cmocka_unit_test(test_rate),           cmocka_unit_test(test_frameworks),
        cmocka_unit_test(test_names),          cmocka_unit_test(test_assumed),
        cmocka_unit_test(test_usual_heads),    cmocka_unit_test(test_catalogue),
        cmocka_unit_test(test_keeps_gathered), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_hybrid),         cmocka_unit_test(test_mtp_layers),
        cmocka_unit_test(test_missing),        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_shard_groups),   cmocka_unit_test(test_software),
        cmocka_unit_test(test_flags),          cmocka_unit_test(test_named),
        cmocka_unit_test(test_experts),        cmocka_unit_test(test_utilisation),
        cmocka_unit_test(test_guessed),        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_stage_layers),   cmocka_unit_test(test_lent_kernel),
        cmocka_unit_test(test_memory_beyond),  cmocka_unit_test(test_states),
        cmocka_unit_test(test_uncounted),      cmocka_unit_test(test_node),
    };
    return cmocka_run_group_tests(tests, load_sources, clear_sources);
}
