/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in the words of their owners: names as vendors spell them, sharding and precision. */
#include "rows.h"

static rk_status fill(const char *row, rk_run_case *run, rk_error *err)
{
    return fill_under(COLUMNS, row, run, err);
}

/* A table as its owner words it: names of models, accelerators and software as their vendors spell.
 */
static void test_own_words(void **state)
{
    static const struct {
        const char *model, *accelerator, *framework, *system, *stack;
        bool known;
    } rows[] = {
        {"meta-llama/Llama-3.1-8B-Instruct", "NVIDIA H100 80GB HBM3", "PyTorch FSDP2", "h100-sxm",
         "fsdp-llm-foundry-hopper", true},
        {"Llama-3-8B", "H100-80GB-SXM5", "Megatron-LM", "h100-sxm", "megatron-2025", true},
        {"Llama-3-8B", "NVIDIA H100 PCIe", "LitGPT", "h100-pcie", "fsdp-llm-foundry-hopper", true},
        {"Llama-3-8B", "A100-SXM4-40GB", "DeepSpeed ZeRO-3", "a100-sxm-40gb", "deepspeed-ampere",
         true},
        {"Llama-3-8B", "A100 80GB PCIe", "LLaMA-Factory", "a100-pcie-80gb", "fsdp-llm-foundry",
         true},
        {"Llama-3-8B", "H20-96GB", "Colossal-AI", "h20", "deepspeed-hopper", true},
        {"Llama-3-8B", "GeForce RTX 4090", "Axolotl", "rtx-4090", "fsdp-llm-foundry", true},
        {"Llama-3-8B", "AMD Instinct MI300X OAM", "Megatron-Core", "mi300x", "megatron-2025", true},
        {"Llama-3-8B", "Ascend 910B3", "MindSpeed-LLM", "ascend-910b3", "mindspeed", true},
        {"Llama-3-8B", "TPU v5litepod-256", "EasyLM", "tpu-v5e", "maxtext-tpu", true},
        {"Llama-3-8B", "Trainium2", "NeuronX Distributed", "trainium2", "neuronx-distributed",
         true},
        {"Llama-3-8B", "B200 180GB", "NVIDIA NeMo 2.0", "hgx-b200-400g", "nemo-2025-blackwell",
         true},
        {"Llama 3.1 8B Instruct", "Instinct MI325X", "Primus (Megatron-LM)", "mi325x",
         "megatron-2025", true},
        {"Llama-3-8B", "H200", "home-made", "h200-sxm", "megatron-2025", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static rk_run_case c;
        rk_run_table table;
        rk_error err;
        char text[512];
        (void)snprintf(text, sizeof(text),
                       "model,accelerator,framework,seq,n_accel,tp,pp,dp,mbs,gbs,sharding\n"
                       "%s,%s,%s,2048,64,8,1,8,1,64,\n",
                       rows[i].model, rows[i].accelerator, rows[i].framework);
        assert_int_equal(rk_run_table_parse(text, strlen(text), "test.csv", &table, &err), RK_OK);
        assert_int_equal(rk_run_table_check(&table, &err), RK_OK);
        assert_int_equal(rk_run_sources_add(&sources, &table, &err), RK_OK);
        if (rk_run_case_fill(&sources, &table, 0, &c, &err)) {
            fail_msg("%s: %s", rows[i].accelerator, err.message);
        }
        assert_int_equal(c.model.layers, 32);
        assert_string_equal(sources.system_names[c.system], rows[i].system);
        assert_string_equal(sources.stack_names[c.stack], rows[i].stack);
        assert_true(rows[i].known == !strstr(c.assumed, "framework"));
        rk_run_table_clear(&table);
    }
}

/* The first Gaudi is not Gaudi 2: no source states its rates. */
static void test_first_gaudi(void **state)
{
    static rk_run_case c;
    static const char *const names[] = {"Intel Gaudi2", "Intel(R) Gaudi(R) 2 AI Accelerator",
                                        "Intel Gaudi"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row),
                       "1,mine,llama,80,8192,28672,64,128256,8192,%s,64,1,1,,64,1,64,none,"
                       "all,bf16,1,,\n",
                       names[i]);
        assert_int_equal(fill(row, &c, &err), i < 2 ? RK_OK : RK_ERR_INVALID);
        if (i < 2) {
            assert_string_equal(sources.system_names[c.system], "gaudi2");
        } else {
            assert_non_null(strstr(err.message, "accelerator without a document"));
        }
    }
}

/* A board below its own limit of power, as the name of the accelerator says. */
static void test_power_in_name(void **state)
{
    static rk_run_case c;
    rk_error err;
    (void)state;
    assert_int_equal(fill("1,mine,llama,32,4096,11008,32,32000,2048,A100 (280 W),2,1,1,,2,1,2,"
                          "none,all,bf16,1,,\n",
                          &c, &err),
                     RK_OK);
    assert_near(c.machine.power, 280, 0);
}

/* DeepSpeed splits sequences by heads. */
static void test_deepspeed_sequences(void **state)
{
    static rk_run_case c;
    rk_error err;
    (void)state;
    assert_int_equal(fill_under(COLUMNS ",framework,cp",
                                "1,mine,llama,32,4096,11008,32,32000,2048,A100,8,1,1,,2,1,2,"
                                "none,zero-1,bf16,1,,,deepspeed,4\n",
                                &c, &err),
                     RK_OK);
    assert_int_equal(c.strategy.cp_kind, RK_CP_ULYSSES);
}

/* MindSpeed of 2025 and later has flash attention unless the row says otherwise. */
static void test_mindspeed_attention(void **state)
{
    static const struct {
        const char *words;
        bool flash;
    } rows[] = {{"2024,", false}, {"2026-07,", true}, {"2026-07,false", false}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static rk_run_case c;
        fill_printed(COLUMNS ",framework,year,flash_attention", &c,
                     "1,mine,llama,32,4096,11008,32,32000,2048,Ascend 910B,8,1,1,,8,1,8,none,"
                     "zero-1,bf16,1,,,mindspeed,%s\n",
                     rows[i].words);
        assert_int_equal(c.strategy.flash_attention, rows[i].flash);
    }
}

/* ZeRO by any of its usual spellings. */
static void test_spellings(void **state)
{
    static const char *const words[] = {
        "ZeRO-3", "zero3", "FSDP2", "FULL_SHARD", "FSDP (every layer)", "HSDP"};
    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        static rk_run_case c;
        fill_printed(COLUMNS, &c, "1,x," SHAPE "16,1,1,,16,1,16,none,%s,BF16,1,,\n", words[i]);
        assert_int_equal(c.strategy.sharding, RK_SHARD_ALL);
        assert_int_equal(c.strategy.replicas, strcmp(words[i], "HSDP") == 0 ? 2 : 1);
    }
}

/* Strategies of Megatron's FSDP, and no distributed optimizer: what Megatron means by them. */
static void test_megatron_sharding(void **state)
{
    static const struct {
        const char *word;
        rk_sharding sharding;
    } words[] = {{"optim_grads_params", RK_SHARD_ALL},
                 {"Megatron-FSDP", RK_SHARD_ALL},
                 {"optim_grads", RK_SHARD_GRADIENTS},
                 {"optim", RK_SHARD_OPTIMIZER},
                 {"distributed optimizer", RK_SHARD_OPTIMIZER},
                 {"no_shard", RK_SHARD_NONE},
                 {"none", RK_SHARD_NONE}};
    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        static rk_run_case c;
        fill_printed(COLUMNS ",year,framework", &c,
                     "1,x," SHAPE "16,1,1,,16,1,16,none,%s,BF16,1,,,2025,megatron-core\n",
                     words[i].word);
        assert_int_equal(c.strategy.sharding, words[i].sharding);
        assert_null(strstr(c.assumed, "sharding"));
    }
}

/* Kernels and recipes in the words in use; those of a format that name its scales. */
static void test_words_of_precision(void **state)
{
    static const struct {
        const char *cells; /* precision, fp8_recipe, attention_kernel */
        rk_fp8_recipe recipe;
        rk_attention_kernel kernel;
    } words[] = {{"MXFP8,,", RK_FP8_MX, RK_KERNEL_OF_STACK},
                 {"fp8,current scaling,flash", RK_FP8_TENSORWISE, RK_KERNEL_OF_STACK},
                 {"FP8,Delayed-Scaling,cuDNN FP8", RK_FP8_DELAYED, RK_KERNEL_CUDNN_FP8},
                 {"fp8,block_scaling,FlashAttention-2", RK_FP8_BLOCKWISE, RK_KERNEL_FLASH_2},
                 {"fp8,mxfp8,cudnn-mxfp8", RK_FP8_MX, RK_KERNEL_CUDNN_MXFP8}};
    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        static rk_run_case c;
        rk_error err;
        char row[256];
        (void)snprintf(row, sizeof(row),
                       "8,1,megatron-core,llama3-8b,8192,B200,8,1,1,8,64,ZeRO-1,%s\n",
                       words[i].cells);
        assert_int_equal(fill_under("id,mbs,framework,model,seq,accelerator,n_accel,tp,pp,dp,gbs,"
                                    "sharding,precision,fp8_recipe,attention_kernel",
                                    row, &c, &err),
                         RK_OK);
        assert_int_equal(c.strategy.precision, RK_FP8);
        assert_int_equal(c.strategy.fp8_recipe, words[i].recipe);
        assert_int_equal(c.strategy.attention_kernel, words[i].kernel);
        assert_true(c.strategy.low_weights);
    }
}

/* Whether a run of unknown software fits is open where the states that it keeps decide. */
static void test_unknown_software(void **state)
{
    static const struct {
        int layers;
        const char *framework;
        bool unsure;
    } rows[] = {{32, "home-made", false},
                {60, "home-made", true},
                {60, "megatron-lm", false},
                {240, "home-made", false}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static rk_run_case c;
        fill_printed(COLUMNS ",seq_parallel,framework", &c,
                     "1,mine,llama,%d,4096,11008,32,32000,4096,H100,8,1,1,1,8,1,16,full,ZeRO-1,"
                     "BF16,1,,,false,%s\n",
                     rows[i].layers, rows[i].framework);
        assert_int_equal(c.unsure, rows[i].unsure);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_words),           cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_megatron_sharding),   cmocka_unit_test(test_words_of_precision),
        cmocka_unit_test(test_unknown_software),    cmocka_unit_test(test_first_gaudi),
        cmocka_unit_test(test_power_in_name),       cmocka_unit_test(test_deepspeed_sequences),
        cmocka_unit_test(test_mindspeed_attention),
    };
    return cmocka_run_group_tests(tests, load_sources, clear_sources);
}
