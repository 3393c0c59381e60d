/* SPDX-License-Identifier: Apache-2.0 */
/* Values as launches spell them: numbers, truths, data types, tokenizers, and stages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "launch/launch_parts.h"
#include "launch/pipeline_layout.h"
#include "launch/read_megatron.h"
#include "launch/reader_kit.h"

#include <string.h>

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        bool is;
        double value;
    } cases[] = {
        {"8", true, 8},
        {"1_953_125", true, 1953125},
        {"5e8", true, 5e8},
        {"5E+8", true, 5e8},
        {"2.5e-3", true, 0.0025},
        {"-1", true, -1},
        {"+4", true, 4},
        {"", false, 0},
        {"_", false, 0},
        {"8k", false, 0},
        {"0x10", false, 0},
        {"nan", false, 0},
        {"inf", false, 0},
        {"1 2", false, 0},
        {"1-2", false, 0},
        {"--8", false, 0},
        {"000000000000000000000000000000000000000000000000000000000000007", true,
         7}, /* 63 digits */
        {"0000000000000000000000000000000000000000000000000000000000000007", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double value = 0;
        if (rk_launch_read_number(cases[i].text, &value) != cases[i].is ||
            (cases[i].is && value != cases[i].value)) {
            fail_msg("\"%s\" is %g", cases[i].text, value);
        }
    }
}

static void test_truths(void **state)
{
    static const char *const on[] = {"true", "True", "TRUE", "1", "yes", "Yes", "on", "y", "T"};
    static const char *const off[] = {"false", "False", "0", "no", "NO", "off", "n", "F"};
    static const char *const neither[] = {"", "2", "none", "null", "t-rue", "truth", "enabled"};
    (void)state;
    for (size_t i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
        assert_string_equal(rk_launch_truth_text(on[i]), "true");
    }
    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
        assert_string_equal(rk_launch_truth_text(off[i]), "false");
    }
    for (size_t i = 0; i < sizeof(neither) / sizeof(neither[0]); i++) {
        assert_null(rk_launch_truth_text(neither[i]));
    }
}

static void test_types(void **state)
{
    static const char *const cases[][2] = {
        {"bfloat16", "bf16"},
        {"torch.bfloat16", "bf16"},
        {"BF16", "bf16"},
        {"amp_bf16", "bf16"},
        {"float16", "fp16"},
        {"torch.half", "fp16"},
        {"fp16", "fp16"},
        {"AMP_FP16", "fp16"},
        {"float32", "fp32"},
        {"torch.float", "fp32"},
        {"fp32", "fp32"},
        {"tf32", "fp32"},
        {"torch.Float64", "float64"},
        {"int8", "int8"},
    };
    rk_launch launch = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(rk_launch_data_type(&launch, cases[i][0]), cases[i][1]);
    }
    assert_null(rk_launch_precision_name("float64"));
    assert_null(rk_launch_precision_name(NULL));
    rk_launch_clear(&launch);
    assert_string_equal(rk_launch_last_part("a.b.c"), "c");
    assert_string_equal(rk_launch_last_part("c"), "c");
    assert_string_equal(rk_launch_last_part("a."), "");
    assert_string_equal(rk_launch_base_name("/a/b"), "b");
    assert_string_equal(rk_launch_base_name("b"), "b");
    assert_string_equal(rk_launch_base_name("b/"), "");
}

/* The longest name of the table that is a word of the text. */
static void test_tokenizers(void **state)
{
    static const struct {
        const char *name;
        int64_t entries;
    } cases[] = {
        {"GPT2BPETokenizer", 50257},
        {"Llama2Tokenizer", 32000},
        {"meta-llama/Llama-2-7b-hf", 32000},
        {"meta-llama/Llama-3.1-8B", 128256},
        {"/models/llama3", 128256},
        {"meta-llama/Llama-4-Scout", 201135},
        {"mistralai/Mistral-7B-v0.1", 32000},
        {"mistralai/Mistral-7B-v0.3", 32768},
        {"mistralai/Mixtral-8x22B-v0.1", 32000},
        {"mistralai/Mixtral-8x22B", 32768},
        {"Qwen/Qwen2-7B", 151646},
        {"Qwen/Qwen2.5-7B", 151665},
        {"Qwen/Qwen3-8B", 151669},
        {"Qwen/Qwen3.5-8B", 248077},
        {"deepseek_v3", 128815},
        {"EleutherAI/gpt-neox-20b", 50277},
        {"allenai/OLMo-2-1124-7B", 100278},
        {"myllama3", 0}, /* within another word */
        {"qwen25", 0},   /* and before a digit */
        {"other", 0},
        {"", 0},
    };
    static char longest[400];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (rk_launch_tokenizer_entries(cases[i].name) != cases[i].entries) {
            fail_msg("%s: %lld", cases[i].name,
                     (long long)rk_launch_tokenizer_entries(cases[i].name));
        }
    }
    memset(longest, '/', sizeof(longest) - 1);
    memcpy(longest + 200, "llama3", 6);
    longest[255] = '\0'; /* of 255 letters, and one more */
    assert_int_equal(rk_launch_tokenizer_entries(longest), 128256);
    longest[255] = '/';
    longest[256] = '\0';
    assert_int_equal(rk_launch_tokenizer_entries(longest), 0);
}

/* Layers of stages, as --layout has them; NULL: the text is no layout. */
static void test_stages(void **state)
{
    static const struct {
        const char *text, *layers;
    } layouts[] = {
        {"Et*2|(tt|)*5t|tmL", "2*6,1*2"},
        {"E|t|tL", "0,1*2"},
        {"(t|)*3,tL", "1*4"},
        {"((t|)*2t|)*2L", "1*6,0"},
        {"Edd|t*2|mL", "2*2,0"},
        {"t*0|t", "0,1"},
        {" t t | t ", "2,1"},
        {"L", "0"},
        {"", NULL},
        {"E|x", NULL},
        {"(t", NULL},
        {"t*-1", NULL},
    };
    static const struct {
        const char *text, *layers;
        int blocks, stages;
    } patterns[] = {
        {"M-|M*-|ME", "2,3,2", 7, 3}, {"MM|MM|MM|-", "2*3,1", 7, 4},
        {"M-|M-/*-/*-", "2*2", 4, 2}, {"M-M*", NULL, 4, 1},
        {"M-/*|-", NULL, 2, 1}, /* bars of the modules behind it are none of the stages */
        {"|M", "0,1", 1, 2},          {"", NULL, 0, 1},
    };
    char out[RK_PIPELINE_LAYOUT_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const bool is = rk_pipeline_layout_list(layouts[i].text, out);
        if (is != (layouts[i].layers != NULL) || (is && strcmp(out, layouts[i].layers) != 0)) {
            fail_msg("%s: %s", layouts[i].text, is ? out : "none");
        }
    }
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        int stages = 0;
        const bool is = rk_pipeline_pattern_list(patterns[i].text, out);
        assert_int_equal(rk_pipeline_pattern_blocks(patterns[i].text, &stages), patterns[i].blocks);
        assert_int_equal(stages, patterns[i].stages);
        if (is != (patterns[i].layers != NULL) || (is && strcmp(out, patterns[i].layers) != 0)) {
            fail_msg("%s: %s", patterns[i].text, is ? out : "none");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_truths),
        cmocka_unit_test(test_types),   cmocka_unit_test(test_tokenizers),
        cmocka_unit_test(test_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
