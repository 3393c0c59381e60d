/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugging Face files: the shapes of published models (hf/, with the spellings of their own files)
 * against published counts, layer by layer where layers differ; what is refused, and why.
 */
#include "io/document.h"
#include "layer/all_kinds.h"
#include "layer/model_load.h"
#include "model/hf_config.h"
#include "model/hf_table.h"

#include <inttypes.h>
#include <stdlib.h>

#include "models.h"

/* Loads a file of the folder hf. */
static rk_model load(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s.json", HF_FOLDER, name);
    return load_model(path);
}

/* ---- counts ----------------------------------------------------------------------------- */

/*
 * Counts that the Hub or the model card states; of MiMo by an independent sum of its tensors.
 * UT-L7 Jamba, UT-L8 Qwen3-Next and Qwen3.5, UT-L16 MiniMax-Text-01, UT-L22 Hunyuan-Large, UT-L23
 * LFM2, UT-L24 LongCat-Flash, UT-L25 Apertus.
 */
static void test_counts(void **state)
{
    static const struct {
        const char *name;
        int64_t total, active, mtp;
    } cases[] = {
        {"afm-4.5b", 4619189760, 4619189760, 0},
        {"apertus-8b", 8053338176, 8053338176, 0},
        {"chatglm2-6b", 6243584000, 6243584000, 0},
        {"dbrx", 131596523520, 36469708800, 0},
        {"deepseek-v3", 671026419200, 37552297472, 11610068224},
        {"devstral-2-123b", 125025988608, 125025988608, 0},
        {"dots-llm1", 142774381696, 14016588928, 0},
        {"exaone-4.0-32b", 32003216384, 32003216384, 0},
        {"falcon-40b", 41303293952, 41303293952, 0},
        {"gemma-3-27b", 27009346304, 27009346304, 0},
        {"gemma-3-4b", 3880263168, 3880263168, 0},
        {"gemma-4-26b-a4b", 25233141790, 3822530590, 0},
        {"gemma-4-e2b", 4628569379, 4628569379, 0},
        {"gpt-oss-20b", 20914757184, 4187440704, 0},
        {"gpt2-xl", 1557611200, 1557611200, 0},
        {"granite-3.1-1b-a400m", 1334625280, 428655616, 0},
        {"hunyuan-large", 388698126080, 51318798080, 0},
        {"jamba-v0.1", 51570323328, 12110311296, 0},
        {"lfm2-1.2b", 1170340608, 1170340608, 0},
        {"llama-3.1-8b", 8030261248, 8030261248, 0},
        {"llama-4-maverick", 400711848960, 17184691200, 0},
        {"longcat-flash", 560664980480, 27954818048, 0},
        {"mimo-v2-flash", 308778780864, 15445936320, 0},
        {"minimax-m3-vl", 426174572928, 25962473856, 7491582592},
        {"muse-glimmer-30b", 27854780928, 27854780928, 0},
        {"minimax-text-01", 456089655296, 48403306496, 0},
        {"minicpm3-4b", 4073875968, 4073875968, 0},
        {"mixtral-8x7b", 46702792704, 12879925248, 0},
        {"mpt-7b", 6649286656, 6649286656, 0},
        {"nemotron-3-nano", 31577940288, 3580076352, 0},
        {"nemotron-3-ultra", 549308993536, 56058843136, 11215610368},
        {"nemotron-super-49b", 49867145216, 49867145216, 0},
        {"opt-13b", 12853473280, 12853473280, 0},
        {"opt-350m", 331196416, 331196416, 0},
        {"phi-mini-moe", 7647632704, 2362809664, 0},
        {"qwen-72b", 72287920128, 72287920128, 0},
        {"qwen1.5-moe-a2.7b", 14315784192, 2689173504, 0},
        {"qwen3-next-80b-a3b", 79674391296, 3874929408, 0},
        {"qwen3.5-122b-a10b", 122111526912, 9771288576, 2523679232},
        {"qwen3.5-9b", 8953803264, 8953803264, 243290624},
        {"qwen2.5-omni-7b", 7615616512, 7615616512, 0},
        {"starcoder", 15517462528, 15517462528, 0},
        {"step-3.7-flash", 195844508736, 10875702336, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const rk_model model = load(cases[i].name);
        const rk_model_params p = rk_model_params_of(&model);
        if (p.total != cases[i].total || p.active != cases[i].active || p.mtp != cases[i].mtp) {
            fail_msg("%s: %lld total, %lld active, %lld of MTP", cases[i].name, (long long)p.total,
                     (long long)p.active, (long long)p.mtp);
        }
        assert_string_equal(model.name, cases[i].name);
    }
}

/*
 * UT-L13: Kimi K3, with what its note says is left out: two norms and two vectors of residuals in
 * each of 93 layers and two more at the end, and norms of latents of 3584 in 92 layers with
 * experts.  A count of 2,785,387,169,920 that is about takes the forget gate for one of full rank.
 */
static void test_kimi(void **state)
{
    const rk_model model = load("kimi-k3");
    const rk_model_params p = rk_model_params_of(&model);
    const int64_t residuals = (4 * 93 + 2) * 7168, norms = 92 * 3584;
    (void)state;
    assert_int_equal(p.total + residuals + norms, 2779484476000);
    assert_int_equal((p.active + residuals + norms) / 10000000, 10536);
    assert_non_null(strstr(model.note, "residuals over blocks of layers (attn_res_block_size)"));
    assert_non_null(strstr(model.note, "(latent_moe_use_norm)"));
}

/* UT-L24: of 12 choices of LongCat-Flash 8 reach an expert with weights; one more of them is 28
 * times 37,748,736.  The published mean of active parameters, 27 billion, is 3 % below the count
 * at 8. */
static void test_longcat(void **state)
{
    rk_model model = load("longcat-flash");
    int64_t active[2];
    (void)state;
    for (int real = 8; real <= 9; real++) {
        for (int i = 0; i < model.type_count; i++) {
            if (rk_layer_is_moe(&model.types[i])) {
                model.types[i].moe.top_k = real;
                model.types[i].moe.zero_experts = 0;
            }
        }
        active[real - 8] = rk_model_params_of(&model).active;
    }
    assert_int_equal(active[1] - active[0], (int64_t)28 * 37748736);
}

/* UT-L27: the vision towers that are left out; of Qwen3-VL-8B both make what the Hub states. */
static void test_towers(void **state)
{
    const rk_model model = load("qwen3-vl-8b");
    const rk_model_params p = rk_model_params_of(&model);
    int64_t tower = 0;
    (void)state;
    assert_int_equal(sscanf(model.note, "left out: vision tower of %" SCNd64 " parameters", &tower),
                     1);
    assert_int_equal(tower, 576388336);
    assert_int_equal(p.total + tower, 8767123696);
    const rk_model small = load("qwen3.5-9b"); /* without deepstack layers */
    assert_string_equal(small.note,
                        "left out: vision tower of 456010480 parameters (vision_config)");
}

/* ---- layers ----------------------------------------------------------------------------- */

static void test_layers(void **state)
{
    char letters[RK_LAYER_MAX + 1];
    rk_model model = load("gemma-3-4b");
    (void)state;
    assert_string_equal(letters_of(&model, letters), "wwwwwfwwwwwfwwwwwfwwwwwfwwwwwfwwww");
    assert_int_equal(model.types[0].attention.window, 1024);
    assert_int_equal(model.norms_per_layer, 4);

    model = load("gpt-oss-20b");
    assert_string_equal(letters_of(&model, letters), "WFWFWFWFWFWFWFWFWFWFWFWF");
    assert_true(model.types[0].attention.sinks && model.types[1].attention.sinks);

    model = load("exaone-4.0-32b"); /* a pattern spelt LLLG */
    assert_memory_equal(letters_of(&model, letters), "wwwfwwwf", 8);

    model = load("llama-4-maverick");
    assert_memory_equal(letters_of(&model, letters), "cCcFcCcF", 8);
    assert_int_equal(model.types[0].attention.window, 8192);
    assert_int_equal(model.types[0].ffn.width, 16384);

    model = load("deepseek-v3");
    assert_memory_equal(letters_of(&model, letters), "fffFFF", 6);
    assert_ptr_equal(model.types[0].mixer, &rk_mixer_latent);

    model = load("mimo-v2-flash"); /* windowed layers have shapes and sinks of their own */
    assert_memory_equal(letters_of(&model, letters), "fWWWWFWWWWWF", 12);
    assert_int_equal(model.types[0].attention.kv_heads, 4);
    assert_int_equal(model.types[1].attention.kv_heads, 8);
    assert_int_equal(rk_attention_qk_size(&model.types[1].attention), 192);
    assert_int_equal(rk_attention_value_size(&model.types[1].attention), 128);
    assert_true(model.types[1].attention.sinks && !model.types[2].attention.sinks);
}

/* What counts of parameters do not show. */
static void test_flags(void **state)
{
    rk_model model = load("falcon-40b");
    (void)state;
    assert_true(model.parallel_block && model.tied);
    assert_int_equal(model.norms_per_layer, 2);
    model = load("nemotron-3-nano"); /* its rope_theta means nothing */
    assert_true(model.details.rope_base == 0);
    model = load("opt-13b");
    assert_int_equal(model.learned_positions, 2050);
    assert_int_equal(model.seq, 2048);
    model = load("llama-3.1-8b"); /* a context of 131072 is not a training length */
    assert_int_equal(model.seq, 8192);
    assert_false(model.tied);
    model = load("deepseek-v3");
    assert_int_equal(model.mtp_layers, 1);
    assert_int_equal(model.types[0].moe.route_groups, 0); /* dense */
    assert_int_equal(model.types[1].moe.expert_groups, 8);
    assert_int_equal(model.types[1].moe.route_groups, 4);
}

/* ---- refusals --------------------------------------------------------------------------- */

#define LLAMA                                                                                      \
    "\"model_type\": \"llama\", \"hidden_size\": 256, \"num_hidden_layers\": 4, "                  \
    "\"num_attention_heads\": 8, \"intermediate_size\": 512, \"vocab_size\": 1000"

/* The keys of Nemotron-H, of a small model. */
#define MAMBA                                                                                      \
    "\"hidden_size\": 64, \"mamba_num_heads\": 4, \"mamba_head_dim\": 32, \"n_groups\": 2, "       \
    "\"ssm_state_size\": 16, \"conv_kernel\": 4, \"num_attention_heads\": 4, "                     \
    "\"num_key_value_heads\": 2, \"head_dim\": 16, \"intermediate_size\": 128, "                   \
    "\"vocab_size\": 100, "

static rk_status read_text(const char *text, rk_model *model, rk_error *err)
{
    rk_json_doc doc;
    rk_status status = rk_json_parse(text, strlen(text), "text", &doc, err);
    if (status) {
        return status;
    }
    assert_true(rk_document_is_config(doc.root));
    status = rk_hf_config_read(doc.root, NULL, &rk_all_kinds, model, err);
    rk_json_clear(&doc);
    return status;
}

#define GEMMA                                                                                      \
    "\"hidden_size\": 256, \"num_hidden_layers\": 4, \"num_attention_heads\": 8, "                 \
    "\"head_dim\": 32, \"intermediate_size\": 512, \"vocab_size\": 1000"

/* Caps: of Gemma 2 where the file is silent, of others where it says so; null is none. */
static void test_caps(void **state)
{
    static const struct {
        const char *text;
        bool scores, logits, gain;
    } cases[] = {
        {"{\"model_type\": \"gemma2\", " GEMMA "}", true, true, true},
        {"{\"model_type\": \"gemma2\", \"attn_logit_softcapping\": null, " GEMMA "}", false, true,
         true},
        {"{\"model_type\": \"gemma3_text\", " GEMMA "}", false, false, true},
        {"{\"model_type\": \"gemma3_text\", \"final_logit_softcapping\": 30.0, " GEMMA "}", false,
         true, true},
        {"{" LLAMA "}", false, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_model model;
        rk_error err;
        assert_int_equal(read_text(cases[i].text, &model, &err), RK_OK);
        assert_int_equal(model.types[0].attention.capped_scores, cases[i].scores);
        assert_int_equal(model.capped_logits, cases[i].logits);
        assert_int_equal(model.wide_gain, cases[i].gain);
    }
}

/* A type that nobody knows, as an architecture of the person says. */
static void test_own_architecture(void **state)
{
    static const char config[] =
        "{\"model_type\": \"novel\", \"hidden_size\": 256, \"num_hidden_layers\": 4, "
        "\"num_attention_heads\": 8, \"intermediate_size\": 512, "
        "\"vocab_size\": 1000, \"rms_bias\": true}";
    static const char own[] = "{\"type\": \"novel\", \"norms\": 4, \"bias_qkv\": true, "
                              "\"defaults\": {\"kv_heads\": 2}, \"reads\": [\"rms_bias\"]}";
    rk_json_doc doc, architecture;
    rk_model model;
    rk_error err;
    (void)state;
    assert_int_equal(rk_json_parse(config, strlen(config), "config", &doc, &err), RK_OK);
    assert_int_equal(rk_json_parse(own, strlen(own), "own", &architecture, &err), RK_OK);
    assert_int_equal(rk_hf_config_read(doc.root, NULL, &rk_all_kinds, &model, &err),
                     RK_ERR_INVALID);
    assert_int_equal(rk_hf_config_read(doc.root, architecture.root, &rk_all_kinds, &model, &err),
                     RK_OK);
    assert_int_equal(model.types[0].attention.kv_heads, 2);
    assert_true(model.types[0].attention.bias_qkv);
    assert_false(model.types[0].attention.bias_out);
    rk_json_clear(&doc);
    rk_json_clear(&architecture);
}

/* Documents of architectures that are wrong, and what is wrong with them. */
static void test_wrong_architectures(void **state)
{
    static const struct {
        const char *text, *path;
    } cases[] = {
        {"{\"norms\": 2}", ""},
        {"{\"type\": \"x\"}", ""},
        {"{\"type\": \"x\", \"norms\": 2, \"bias_qkv\": {\"key\": \"a\"}}", "bias_qkv"},
        {"{\"type\": \"x\", \"norms\": 2, \"code\": \"none of them\"}", "code"},
        {"{\"type\": \"x\", \"norms\": 2, \"defaults\": {\"hiden\": 3}}", "defaults.hiden"},
        {"{\"type\": \"x\", \"norms\": 2, \"reads\": 3}", "reads"},
        {"{\"type\": \"x\", \"norms\": 2, \"window\": \"sometimes\"}", "window"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rk_json_doc doc;
        hf_architecture architecture;
        rk_error err;
        assert_int_equal(
            rk_json_parse(cases[i].text, strlen(cases[i].text), "architecture", &doc, &err), RK_OK);
        assert_int_equal(rk_hf_architecture_read(doc.root, &architecture, &err), RK_ERR_INVALID);
        assert_string_equal(err.path, cases[i].path);
        rk_json_clear(&doc);
    }
}

/* Notes on checkpoints in few bits, and on models with another head or none. */
static void test_notes_of_use(void **state)
{
    static const struct {
        const char *text, *note;
    } cases[] = {
        {"{" LLAMA ", \"quantization_config\": {\"quant_algo\": \"NVFP4\"}}",
         "NVFP4 checkpoint; trained in bf16"},
        {"{" LLAMA ", \"quantization_config\": {\"quant_method\": \"fp8\", \"fmt\": \"e4m3\"}}",
         "e4m3 checkpoint; trained in bf16"},
        {"{" LLAMA ", \"quantization_config\": {\"quant_method\": \"awq\"}}",
         "awq checkpoint; trained in bf16"},
        {"{" LLAMA ", \"quantization_config\": {}}", "quantised checkpoint; trained in bf16"},
        {"{" LLAMA ", \"architectures\": [\"LlamaForSequenceClassification\"]}",
         "LlamaForSequenceClassification has no output layer of the vocabulary: its weights, "
         "logits and loss are "
         "counted as those of a language model"},
        {"{" LLAMA ", \"architectures\": [\"LlamaModel\"]}",
         "LlamaModel has no output layer of the vocabulary: its weights, logits and loss are "
         "counted as those of a language model"},
        {"{" LLAMA ", \"architectures\": [\"LlamaForCausalLM\"]}", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rk_model model;
        rk_error err;
        assert_int_equal(read_text(cases[i].text, &model, &err), RK_OK);
        assert_string_equal(model.note, cases[i].note);
    }
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *path, *message; /* message: a part of it */
    } cases[] = {
        {"{\"model_type\": \"lama\"}", "model_type", "near it is \"llama\""},
        {"{\"model_type\": 3}", "model_type", "found 3"},
        {"{\"architectures\": []}", "architectures", "nothing"},
        {"{\"architectures\": [\"FooForCausalLM\"]}", "architectures", "FooForCausalLM"},
        {"{" LLAMA ", \"index_n_heads\": 4}", "index_n_heads", "indexer"},
        {"{" LLAMA ", \"linear_num_key_heads\": 4}", "linear_num_key_heads", "linear attention"},
        {"{" LLAMA ", \"mamba_num_heads\": 4}", "mamba_num_heads", "state-space"},
        {"{" LLAMA ", \"use_cla\": true}", "use_cla", "borrow"},
        {"{\"model_type\": \"qwen3_next\", \"linear_num_key_heads\": 3}", "state_key_heads",
         "divisor"},
        {"{\"model_type\": \"jamba\", \"mamba_expand\": 99999999999}", "mamba_expand", "1024"},
        {"{\"model_type\": \"minimax\"}", "attn_type_list", "each of the 80"},
        {"{\"model_type\": \"lfm2\", \"conv_L_cache\": 3, \"layer_types\": [\"conv\", \"sparse\"]}",
         "layer_types", "sparse"},
        {"{" LLAMA ", \"block_configs\": [{}]}", "block_configs", "without attention"},
        {"{\"model_type\": \"nemotron-nas\", \"block_configs\": [{\"attention\": "
         "{\"replace_with_linear\": true}}]}",
         "block_configs", "linear in place"},
        {"{\"model_type\": \"nemotron-nas\", \"block_configs\": [{\"attention\": "
         "{\"n_heads_in_group\": 7}}]}",
         "block_configs", "divisor of the heads"},
        {"{\"model_type\": \"nemotron_h\"}", "num_hidden_layers", "no layers"},
        {"{\"model_type\": \"rwkv7\"}", "model_type", "time mixing"},
        {"{\"architectures\": [\"T5ForConditionalGeneration\"]}", "architectures",
         "an encoder and"},
        {"{\"model_type\": \"nemotron_h\", " MAMBA "\"hybrid_override_pattern\": \"M*x\"}",
         "hybrid_override_pattern", "block 2"},
        {"{" LLAMA ", \"moe_latent_size\": 4}", "moe_latent_size", "latent"},
        {"{" LLAMA ", \"num_experts\": 8}", "model_type", "8 experts"},
        {"{" LLAMA ", \"num_key_value_heads\": 3}", "kv_heads", "divisor"},
        {"{" LLAMA ", \"head_dim\": -1}", "head_dim", "from 0"},
        {"{" LLAMA ", \"head_dim\": 1e3}", "head_dim", "a real"},
        {"{" LLAMA ", \"head_dim\": 99999999999999}", "head_dim", "from 0"},
        {"{" LLAMA ", \"attention_bias\": 1}", "attention_bias", "true or false"},
        {"{" LLAMA ", \"layer_types\": [\"full_attention\"]}", "layer_types", "4 layers"},
        {"{" LLAMA ", \"layer_types\": [\"full_attention\", \"linear_attention\", 1, 1]}",
         "layer_types", "linear_attention"},
        {"{" LLAMA ", \"layer_types\": [\"sliding_attention\", 0, 0, 0]}", "sliding_window",
         "missing"},
        {"{\"model_type\": \"llama\", \"num_attention_heads\": 0}", "num_attention_heads",
         "from 1"},
        {"{\"model_type\": \"llama\", \"num_hidden_layers\": 2000}", "num_hidden_layers",
         "from 1 to 1024"},
        {"{\"model_type\": \"llama\", \"num_attention_heads\": 33}", "head_dim", "not a multiple"},
        {"{\"model_type\": \"mixtral\", \"num_experts_per_tok\": 9}", "top_k", "from 1 to 8"},
        {"{\"model_type\": \"mixtral\", \"num_experts_per_tok\": null}", "top_k", "from 1 to 8"},
        {"{\"model_type\": \"opt\", \"word_embed_proj_dim\": -1}", "word_embed_proj_dim", "from 0"},
        {"{\"model_type\": \"mpt\", \"expansion_ratio\": -4}", "expansion_ratio", "above 0"},
        {"{\"model_type\": \"x\", \"text_config\": {" LLAMA ", \"head_dim\": true}}",
         "text_config.head_dim", "true"},
        {"{\"model_type\": \"qwen3_moe\", \"mlp_only_layers\": [24]}", "mlp_only_layers",
         "from 0 to 23"},
        {"{" LLAMA ", \"head_dim\": [32, 64, 32, 32]}", "head_dim", "from 0"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rk_model model;
        rk_error err;
        assert_int_equal(read_text(cases[i].text, &model, &err), RK_ERR_INVALID);
        assert_string_equal(err.path, cases[i].path);
        if (!strstr(err.message, cases[i].message)) {
            fail_msg("%s: \"%s\" is not in \"%s\"", cases[i].text, cases[i].message, err.message);
        }
    }
}

/* Routing is limited where there are several groups and a number of them is given. */
static void test_route_groups(void **state)
{
#define V2                                                                                         \
    "{\"model_type\": \"deepseek_v2\", \"num_experts\": 16, \"num_experts_per_tok\": 2, "          \
    "\"first_k_dense_replace\": 0, \"kv_lora_rank\": 512"
    static const struct {
        const char *text;
        int64_t groups, reached;
    } cases[] = {
        {V2 "}", 0, 0},
        {V2 ", \"n_group\": 8, \"topk_group\": 3}", 8, 3},
        {V2 ", \"n_group\": 1, \"topk_group\": 1}", 0, 0},
        {V2 ", \"n_group\": 8, \"topk_group\": null}", 0, 0},
        {"{\"model_type\": \"deepseek_v3\", \"first_k_dense_replace\": 0}", 8, 4},
    };
#undef V2
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rk_model model;
        rk_error err;
        assert_int_equal(read_text(cases[i].text, &model, &err), RK_OK);
        assert_int_equal(model.types[0].moe.expert_groups, cases[i].groups);
        assert_int_equal(model.types[0].moe.route_groups, cases[i].reached);
    }
}

/* Keys that ask for nothing refuse nothing, and null is not a value. */
/* What launch files say: the file's own values, and none of what it leaves out. */
static void test_details(void **state)
{
    (void)state;
    rk_model model;
    rk_error err;
    assert_int_equal(
        read_text("{" LLAMA ", \"rms_norm_eps\": 1e-6, \"rope_theta\": 500000.0, "
                  "\"hidden_act\": \"silu\", \"partial_rotary_factor\": 0.5, \"rope_scaling\": "
                  "{\"rope_type\": \"llama3\", \"factor\": 8.0, "
                  "\"original_max_position_embeddings\": 8192}}",
                  &model, &err),
        RK_OK);
    const rk_model_details *d = &model.details;
    assert_int_equal(d->activation, RK_ACTIVATION_SILU);
    assert_int_equal(d->rope_scaling, RK_ROPE_LLAMA3);
    assert_int_equal(d->rope_positions, 8192);
    assert_true(d->norm_epsilon > 0.99e-6 && d->norm_epsilon < 1.01e-6);
    assert_true(d->rope_base > 499999 && d->rope_base < 500001);
    assert_true(d->rope_share > 0.49 && d->rope_share < 0.51);
    assert_int_equal(read_text("{" LLAMA ", \"hidden_act\": \"xielu\", \"rope_theta\": -3, "
                               "\"rope_scaling\": {\"type\": \"dynamic\"}}",
                               &model, &err),
                     RK_OK);
    assert_int_equal(d->activation, RK_ACTIVATION_OTHER);
    assert_int_equal(d->rope_scaling, RK_ROPE_OTHER);
    assert_false(d->rope_base > 0);
    model = load("deepseek-v3"); /* whose file says nothing of these */
    assert_int_equal(d->router, RK_ROUTER_SIGMOID);
    model = load("mixtral-8x7b");
    assert_int_equal(d->router, RK_ROUTER_SOFTMAX);
}

/* Of a type that is known, a key that is not changes nothing and is noted. */
static void test_foreign_keys(void **state)
{
    rk_model plain, same;
    rk_error err;
    (void)state;
    assert_int_equal(read_text("{" LLAMA "}", &plain, &err), RK_OK);
    assert_int_equal(read_text("{" LLAMA ", \"secret_heads\": 4, \"n_group\": false}", &same, &err),
                     RK_OK);
    assert_int_equal(rk_model_params_of(&plain).total, rk_model_params_of(&same).total);
    assert_non_null(strstr(same.note, "not known (secret_heads)"));
    assert_int_equal(
        read_text("{\"ssm_cfg\": {\"layer\": \"Mamba2\"}, \"attn_layer_idx\": [3]}", &same, &err),
        RK_ERR_INVALID);
    assert_string_equal(err.path, "attn_layer_idx");
}

static void test_void_keys(void **state)
{
    rk_model plain, same;
    rk_error err;
    (void)state;
    assert_int_equal(read_text("{" LLAMA "}", &plain, &err), RK_OK);
    assert_int_equal(read_text("{" LLAMA ", \"use_cla\": false, \"index_n_heads\": null, "
                               "\"linear_attn_config\": {}, \"block_configs\": [], "
                               "\"num_local_experts\": null, \"num_key_value_heads\": null, "
                               "\"secret_heads\": 0, \"num_kv_shared_layers\": 0}",
                               &same, &err),
                     RK_OK);
    assert_int_equal(rk_model_params_of(&same).total, rk_model_params_of(&plain).total);
    assert_int_equal(rk_model_params_of(&plain).total,
                     4 * (4 * 256 * 256 + 3 * 256 * 512 + 2 * 256) + 256 + 2 * 1000 * 256);
}

/* What a file holds beside its language model. */
static void test_rest(void **state)
{
    rk_model model = load("qwen2.5-omni-7b");
    (void)state;
    assert_string_equal(model.note, "left out: speech generator (talker_config), vision tower "
                                    "(vision_config), audio tower (audio_config)");
    model = load("llama-3.1-8b");
    assert_string_equal(model.note, "");
}

/* A type that is not known is read by its keys, with a note, unless one of them could matter. */
static void test_unknown_type(void **state)
{
#define NEW                                                                                        \
    "\"model_type\": \"new\", \"hidden_size\": 256, \"num_hidden_layers\": 4, "                    \
    "\"num_attention_heads\": 8, \"intermediate_size\": 512, \"vocab_size\": 1000, "               \
    "\"rms_norm_eps\": 1e-6, \"eos_token_id\": 3"
    rk_model model, llama;
    rk_error err;
    (void)state;
    assert_int_equal(read_text("{" LLAMA "}", &llama, &err), RK_OK);
    assert_int_equal(read_text("{" NEW ", \"hidden_act\": \"silu\"}", &model, &err), RK_OK);
    assert_int_equal(rk_model_params_of(&model).total, rk_model_params_of(&llama).total);
    assert_non_null(strstr(model.note, "not known"));
    assert_int_equal(read_text("{" NEW ", \"hidden_act\": \"gelu\"}", &model, &err),
                     RK_ERR_INVALID);
    assert_int_equal(
        read_text("{" NEW ", \"hidden_act\": \"silu\", \"mix_heads\": [1]}", &model, &err),
        RK_ERR_INVALID);
    assert_string_equal(err.path, "mix_heads");
    assert_int_equal(
        read_text("{" NEW ", \"hidden_act\": \"silu\", \"mix_list\": [1]}", &model, &err), RK_OK);
    assert_non_null(strstr(model.note, "mix_list"));
    assert_int_equal(
        read_text("{" NEW ", \"hidden_act\": \"silu\", \"out_bias\": true}", &model, &err), RK_OK);
    assert_non_null(strstr(model.note, "out_bias"));
    /* a class that is known, and a language model that names none */
    assert_int_equal(
        read_text("{" NEW ", \"architectures\": [\"LlamaForCausalLM\"]}", &model, &err), RK_OK);
    assert_int_equal(rk_model_params_of(&model).total, rk_model_params_of(&llama).total);
    assert_non_null(strstr(model.note, "read as \"llama\""));
#undef NEW
}

/* Ling and Ring: lightning attention but for the last layer of a group, and those behind groups. */
static void test_ling_linear(void **state)
{
    rk_model model;
    rk_error err;
    (void)state;
    assert_int_equal(
        read_text("{\"model_type\": \"bailing_moe_linear\", \"hidden_size\": 64, "
                  "\"num_hidden_layers\": 6, \"num_attention_heads\": 4, \"head_dim\": 16, "
                  "\"num_key_value_heads\": 2, \"intermediate_size\": 128, \"vocab_size\": 100, "
                  "\"layer_group_size\": 4, \"group_norm_size\": 2}",
                  &model, &err),
        RK_OK);
    assert_int_equal(model.type_count, 2);
    for (int i = 0; i < 6; i++) {
        assert_ptr_equal(model.types[model.type_of[i]].mixer,
                         i < 3 ? &rk_mixer_lightning : &rk_mixer_grouped);
    }
    assert_int_equal(rk_layer_params_of(&model, &model.types[0]).attention, 5 * 64 * 64 + 64);
    /* Ring 2.5: norms of queries and keys are of the lightning layers, not of the latent ones */
    assert_int_equal(
        read_text("{\"model_type\": \"bailing_hybrid\", \"hidden_size\": 64, "
                  "\"num_hidden_layers\": 4, \"num_attention_heads\": 4, \"head_dim\": 16, "
                  "\"kv_lora_rank\": 32, \"q_lora_rank\": 48, \"qk_nope_head_dim\": 16, "
                  "\"qk_rope_head_dim\": 8, \"v_head_dim\": 16, \"layer_group_size\": 4, "
                  "\"intermediate_size\": 128, \"vocab_size\": 100, \"use_qk_norm\": true}",
                  &model, &err),
        RK_OK);
    assert_ptr_equal(model.types[model.type_of[3]].mixer, &rk_mixer_latent);
}

/* Gemma 4 without towers: the same layers under a type of its own. */
static void test_gemma4_unified(void **state)
{
    static const char *const types[] = {"gemma4", "gemma4_unified"};
    int64_t totals[2];
    (void)state;
    for (size_t i = 0; i < COUNT(types); i++) {
        char text[800];
        rk_model model;
        rk_error err;
        (void)snprintf(text, sizeof(text),
                       "{\"model_type\": \"%s\", \"text_config\": {\"model_type\": "
                       "\"%s_text\", " GEMMA ", \"num_key_value_heads\": 4, "
                       "\"num_global_key_value_heads\": 1, \"global_head_dim\": 64, "
                       "\"attention_k_eq_v\": true}}",
                       types[i], types[i]);
        assert_int_equal(read_text(text, &model, &err), RK_OK);
        assert_string_equal(model.note, "");
        totals[i] = rk_model_params_of(&model).total;
    }
    assert_int_equal(totals[0], totals[1]);
}

/* Experts in the layers that a string lists, and windowed layers with heads of their own. */
static void test_step(void **state)
{
    static const char format[] =
        "{\"model_type\": \"step3p5\", \"hidden_size\": 64, \"num_hidden_layers\": 4, "
        "\"num_attention_heads\": 4, \"num_attention_groups\": 2, \"head_dim\": 16, "
        "\"intermediate_size\": 128, \"vocab_size\": 100, \"moe_num_experts\": 8, "
        "\"moe_top_k\": 2, \"moe_intermediate_size\": 32, \"sliding_window\": 16, "
        "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"sliding_attention\", "
        "\"full_attention\"], \"attention_other_setting\": {\"num_attention_heads\": 6, "
        "\"num_attention_groups\": 3, \"head_dim\": 8}, \"moe_layers_enum\": \"%s\"}";
    static const char *const wrong[] = {"1,4", "-1", "a", "1;2", "1,,2"};
    char text[800];
    rk_model model;
    rk_error err;
    (void)state;
    (void)snprintf(text, sizeof(text), format, "1,3");
    assert_int_equal(read_text(text, &model, &err), RK_OK);
    for (int i = 0; i < 4; i++) {
        const rk_layer_type *type = &model.types[model.type_of[i]];
        const bool windowed = i == 1 || i == 2;
        assert_int_equal(type->moe.experts, i % 2 ? 8 : 0);
        assert_int_equal(type->moe.top_k, i % 2 ? 2 : 0);
        assert_int_equal(type->attention.query_heads, windowed ? 6 : 4);
        assert_int_equal(type->attention.kv_heads, windowed ? 3 : 2);
        assert_int_equal(type->attention.head_size, windowed ? 8 : 16);
    }
    for (size_t i = 0; i < COUNT(wrong); i++) {
        (void)snprintf(text, sizeof(text), format, wrong[i]);
        assert_int_equal(read_text(text, &model, &err), RK_ERR_INVALID);
        assert_string_equal(err.path, "moe_layers_enum");
    }
}

/* Keys of a known type that no class of it has, and that may choose layers or experts. */
static void test_unread_choices(void **state)
{
    static const char *const keys[] = {"\"linear_attention_every\": 4", "\"attn_layer_skip\": [1]",
                                       "\"expert_interval\": 2"};
    char text[800];
    rk_model model;
    rk_error err;
    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        (void)snprintf(text, sizeof(text), "{" LLAMA ", %s}", keys[i]);
        assert_int_equal(read_text(text, &model, &err), RK_OK);
        assert_non_null(strstr(model.note, "a key that is not known"));
    }
}

/* Writes a file and loads it as a model. */
static rk_status load_text(const char *path, const char *text, rk_model *model, rk_error *err)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return rk_model_load(path, model, err);
}

/* Numbers that Python writes and JSON lacks, and the folder in place of its file. */
static void test_files(void **state)
{
    char folder[] = "/tmp/reckon-hf-XXXXXX", path[64];
    rk_model model;
    rk_error err;
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/config.json", folder);
    assert_int_equal(load_text(path,
                               "{" LLAMA ", \"time_step_limit\": [0, Infinity, -Infinity], "
                               "\"a\": NaN, \"b\": \"\\\"NaN\"}",
                               &model, &err),
                     RK_OK);
    assert_int_equal(model.hidden, 256);
    assert_int_equal(rk_model_load(folder, &model, &err), RK_OK);
    assert_string_equal(model.name, strrchr(folder, '/') + 1);
    assert_int_equal(load_text(path, "{\"hidden\": Infinity}", &model, &err), RK_ERR_SYNTAX);
    assert_non_null(strstr(err.message, "no number Infinity"));
    assert_int_equal(remove(path), 0);
    assert_int_equal(rk_model_load(folder, &model, &err), RK_ERR_IO);
    assert_non_null(strstr(err.file, "config.json"));
    assert_int_equal(remove(folder), 0);
}

/* Blocks of one part; Granite's layers of a mixer and a network. */
static void test_hybrids(void **state)
{
    rk_model model;
    rk_error err;
    (void)state;
    assert_int_equal(read_text("{\"model_type\": \"nemotron_h\", " MAMBA
                               "\"num_hidden_layers\": 9, \"hybrid_override_pattern\": \"M-M*\"}",
                               &model, &err),
                     RK_OK);
    assert_int_equal(model.layers, 4);
    assert_int_equal(model.type_count, 3);
    /* h (2 d + 2 G N + n) + taps and bias of d + 2 G N + 3 n + d + d h, and a norm */
    const int64_t mamba = 64 * (256 + 64 + 4) + 5 * 192 + 12 + 128 + 128 * 64 + 64;
    const int64_t mlp = 2 * 64 * 128 + 64, attention = 2 * 64 * 64 + 2 * 64 * 32 + 64;
    assert_int_equal(rk_model_params_of(&model).layers, 2 * mamba + mlp + attention);
#define GRANITE                                                                                    \
    "{\"model_type\": \"granitemoehybrid\", \"hidden_size\": 64, \"mamba_d_head\": \"auto\", "     \
    "\"mamba_n_groups\": 2, \"mamba_d_state\": 16, \"mamba_d_conv\": 4, "                          \
    "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"shared_intermediate_size\": 128, "  \
    "\"num_local_experts\": 0, \"vocab_size\": 100, \"num_hidden_layers\": 2, "                    \
    "\"layer_types\": [\"mamba\", \"attention\"], "
    assert_int_equal(read_text(GRANITE "\"mamba_n_heads\": 4}", &model, &err), RK_OK);
    const int64_t network = 3 * 64 * 128 + 64;
    assert_int_equal(rk_model_params_of(&model).layers, mamba + attention + 2 * network);
    const int64_t wide =
        64 * (512 + 64 + 8) + 5 * 320 + 24 + 256 + 256 * 64 + 64; /* 8 heads of 32 */
    assert_int_equal(read_text(GRANITE "\"mamba_n_heads\": 8, \"mamba_expand\": 4}", &model, &err),
                     RK_OK);
    assert_int_equal(rk_model_params_of(&model).layers, wide + attention + 2 * network);
}

/* Layers of experts by stride, exceptions and lists. */
static void test_experts_by_layer(void **state)
{
#define QWEN                                                                                       \
    "\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 6, \"hidden_size\": 256, "              \
    "\"num_attention_heads\": 4, \"num_experts\": 4, \"num_experts_per_tok\": 2"
    static const struct {
        const char *text, *letters;
    } cases[] = {
        {"{" QWEN "}", "FFFFFF"},
        {"{" QWEN ", \"decoder_sparse_step\": 2}", "fFfFfF"},
        {"{" QWEN ", \"mlp_only_layers\": [0, 5]}", "fFFFFf"},
        {"{" QWEN ", \"first_k_dense_replace\": 2, \"moe_layer_freq\": 3}", "fffFff"},
        {"{" QWEN ", \"moe_layer_freq\": [0, 1, 1, 0, 0, 1]}", "fFFffF"},
        {"{" QWEN ", \"mlp_layer_types\": [\"dense\", \"sparse\", \"sparse\", \"sparse\", "
         "\"sparse\", \"dense\"]}",
         "fFFFFf"},
        {"{" QWEN ", \"use_sliding_window\": true, \"max_window_layers\": 4}", "FFFFWW"},
        {"{" QWEN ", \"sliding_window\": 16, \"use_sliding_window\": false}", "FFFFFF"},
    };
#undef QWEN
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        rk_model model;
        rk_error err;
        char letters[RK_LAYER_MAX + 1];
        if (read_text(cases[i].text, &model, &err)) {
            fail_msg("%s: %s: %s", cases[i].text, err.path, err.message);
        }
        assert_string_equal(letters_of(&model, letters), cases[i].letters);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_kimi),
        cmocka_unit_test(test_longcat),
        cmocka_unit_test(test_towers),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_own_architecture),
        cmocka_unit_test(test_wrong_architectures),
        cmocka_unit_test(test_notes_of_use),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_route_groups),
        cmocka_unit_test(test_foreign_keys),
        cmocka_unit_test(test_void_keys),
        cmocka_unit_test(test_hybrids),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_rest),
        cmocka_unit_test(test_unknown_type),
        cmocka_unit_test(test_ling_linear),
        cmocka_unit_test(test_gemma4_unified),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_unread_choices),
        cmocka_unit_test(test_details),
        cmocka_unit_test(test_experts_by_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
