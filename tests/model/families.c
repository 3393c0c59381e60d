/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Families whose files are not at hand.  The files of hf_classes are written from the keys that the
 * configuration class of each family documents, with the sizes of its published model.
 */
#include "layer/all_kinds.h"
#include "layer/model_load.h"
#include "model/hf_config.h"

#include "models.h"

#include <math.h>

typedef struct family {
    const char *name;
    int64_t total, active;
} family;

static void check(const family *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[512];
        (void)snprintf(path, sizeof(path), "%s/%s.json", CLASSES_FOLDER, cases[i].name);
        const rk_model model = load_model(path);
        const rk_model_params p = rk_model_params_of(&model);
        if (p.total != cases[i].total || p.active != cases[i].active) {
            fail_msg("%s: %lld total, %lld active", cases[i].name, (long long)p.total,
                     (long long)p.active);
        }
    }
}

/* Totals that the Hub or the model card states, to the last parameter. */
static void test_published(void **state)
{
    static const family cases[] = {
        {"chatglm-6b", 6173286400, 6173286400},
        {"codegen-16b", 16032155648, 16032155648},
        {"codestral-mamba-7b", 7285403648, 7285403648},
        {"exaone-3.5-7.8b", 7818448896, 7818448896},
        {"falcon-mamba-7b", 7272665088, 7272665088},
        {"falcon-h1-0.5b", 521411104, 521411104},
        {"gpt-j-6b", 6050882784, 6050882784},
        {"granite-4.0-h-micro", 3191396096, 3191396096},
        {"granite-4.0-h-small", 32207337984, 8803121664},
        {"granite-4.0-h-tiny", 6939037248, 1465470528},
        {"internlm2-7b", 7737708544, 7737708544},
        {"kimi-linear-48b", 49122681728, 3484459904},
        {"mamba-130m", 129135360, 129135360},
        {"mamba-2.8b", 2768345600, 2768345600},
        {"olmo-7b", 6888095744, 6888095744},
        {"smollm3-3b", 3075098624, 3075098624},
        {"stablelm-3b-4e1t", 2795443200, 2795443200},
        {"vaultgemma-1b", 1038741120, 1038741120},
    };
    (void)state;
    check(cases, COUNT(cases));
}

/* Totals by a sum of the tensors of the modelling class, made apart from this code. */
static void test_summed(void **state)
{
    static const family cases[] = {
        {"arctic", 478584608768, 17318647808},
        {"bamba-9b", 9780235392, 9780235392},
        {"ernie-4.5-21b-a3b", 21825437888, 3352150208},
        {"ernie-4.5-vl-28b", 21825437888, 3352150208},
        {"falcon-40b-old", 41303293952, 41303293952},
        {"falcon-7b-old", 6921720704, 6921720704},
        {"gemma3-no-type", 3880263168, 3880263168},
        {"grok-1", 315684820992, 83756587008},
        {"grok-2", 269515497472, 114896674816},
        {"internlm-7b", 7321948160, 7321948160},
        {"jais-13b", 13020811920, 13020811920},
        {"k-exaone-236b", 236571156352, 23668285312},
        {"ling-2.5", 370784, 370784},
        {"ling-3.0-tiny", 7893245344, 1381588384},
        {"minicpm-moe-8x2b", 13873291776, 4318142976},
        {"mistral-small-4", 118972826624, 6632588288},
        {"olmo-hybrid-7b", 7430870688, 7430870688},
        {"orion-14b", 14498703360, 14498703360},
        {"persimmon-8b", 9397175296, 9397175296},
        {"solar-open-100b", 102651799552, 12054833152},
        {"stablelm-2-12b", 12143185920, 12143185920},
        {"trinity-mini", 26123974400, 3474732800},
        {"youtu-llm-2b", 1961560064, 1961560064},
    };
    (void)state;
    check(cases, COUNT(cases));
}

static rk_model load_class(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s.json", CLASSES_FOLDER, name);
    return load_model(path);
}

/* What counts do not show, and what notes say. */
static void test_layers(void **state)
{
    char letters[RK_LAYER_MAX + 1];
    rk_model model = load_class("trinity-mini");
    (void)state;
    assert_memory_equal(letters_of(&model, letters), "wwWFWWWF", 8);
    assert_true(model.types[0].attention.output_gate);
    model = load_class("k-exaone-236b");
    assert_memory_equal(letters_of(&model, letters), "wWWFWWWF", 8);
    assert_int_equal(model.mtp_layers, 1);
    model = load_class("ling-2.5"); /* latent attention behind lightning */
    assert_ptr_equal(model.types[model.type_of[2]].mixer, &rk_mixer_lightning);
    assert_ptr_equal(model.types[model.type_of[3]].mixer, &rk_mixer_latent);
    model = load_class("ling-3.0-tiny"); /* and behind Kimi delta attention */
    assert_ptr_equal(model.types[model.type_of[2]].mixer, &rk_mixer_kimi_delta);
    assert_ptr_equal(model.types[model.type_of[3]].mixer, &rk_mixer_latent);
    assert_non_null(strstr(model.note, "gates of the heads of latent attention"));
    model = load_class("kimi-linear-48b"); /* UT-L14: as Megatron-Bridge counts it */
    assert_true(fabs(rk_model_flops_per_token(&model, 4096, RK_FLOPS_BRIDGE) / 20.715e9 - 1) <
                1e-4);
    model = load_class("bamba-9b"); /* half of a head rotates */
    assert_true(model.details.rope_base == 10000 && model.details.rope_share == 0.5);
    model = load_class("granite-4.0-h-tiny");
    assert_true(model.details.rope_base == 0);
    model = load_class("grok-2");
    assert_non_null(strstr(model.note, "read as \"grok-1\" by the name of its class"));
    model = load_class("ernie-4.5-vl-28b");
    assert_non_null(strstr(model.note, "experts of the tokens of pictures"));
}

/* ---- keys -------------------------------------------------------------------------------------
 */

#define DENSE                                                                                      \
    "\"model_type\": \"llama\", \"hidden_size\": 256, \"num_hidden_layers\": 4, "                  \
    "\"num_attention_heads\": 8, \"num_key_value_heads\": 2, \"intermediate_size\": 512, "         \
    "\"head_dim\": 64, \"vocab_size\": 1000, \"max_position_embeddings\": 2048"
#define EXPERTS                                                                                    \
    "\"model_type\": \"deepseek_v3\", \"hidden_size\": 256, \"num_hidden_layers\": 4, "            \
    "\"num_attention_heads\": 8, \"intermediate_size\": 512, \"vocab_size\": 1000, "               \
    "\"n_routed_experts\": 16, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 128, "       \
    "\"n_shared_experts\": 3, \"first_k_dense_replace\": 2, \"q_lora_rank\": 48, "                 \
    "\"kv_lora_rank\": 40, \"qk_nope_head_dim\": 24, \"qk_rope_head_dim\": 16, "                   \
    "\"v_head_dim\": 32, \"num_nextn_predict_layers\": 1, \"n_group\": 4, \"topk_group\": 2"

static rk_status read_text(const char *text, rk_model *model, rk_error *err)
{
    rk_json_doc doc;
    const rk_status status = rk_json_parse(text, strlen(text), "text", &doc, err);
    assert_int_equal(status, RK_OK);
    const rk_status read = rk_hf_config_read(doc.root, NULL, &rk_all_kinds, model, err);
    rk_json_clear(&doc);
    return read;
}

/* A text with its key `from`, of which no other ends so, called `to`. */
static void rename_key(const char *text, const char *from, const char *to, char out[1024])
{
    char quoted[80];
    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", from);
    const char *at = strstr(text, quoted);
    assert_non_null(at);
    (void)snprintf(out, 1024, "{%.*s\"%s\"%s}", (int)(at - text), text, to, at + strlen(quoted));
}

/* Each spelling of a size is the same size. */
static void test_spellings(void **state)
{
    static const struct {
        bool experts;
        const char *usual, *others[10];
    } keys[] = {
        {false, "hidden_size", {"n_embd", "n_embed", "d_model"}},
        {false, "intermediate_size", {"ffn_dim", "n_inner", "ffn_hidden_size"}},
        {false, "num_hidden_layers", {"n_layer", "n_layers", "num_layers"}},
        {false, "num_attention_heads", {"n_head", "n_heads", "num_heads"}},
        {false,
         "num_key_value_heads",
         {"num_kv_heads", "n_head_kv", "n_kv_heads", "multi_query_group_num",
          "num_attention_groups"}},
        {false, "head_dim", {"kv_channels", "attention_head_dim"}},
        {false, "vocab_size", {"padded_vocab_size"}},
        {false,
         "max_position_embeddings",
         {"n_positions", "seq_length", "max_seq_len", "model_max_length"}},
        {true, "n_routed_experts", {"num_experts", "num_local_experts", "moe_num_experts"}},
        {true,
         "num_experts_per_tok",
         {"num_experts_per_token", "experts_per_token", "moe_topk", "moe_k", "moe_top_k",
          "top_k_experts"}},
        {true, "moe_intermediate_size", {"expert_ffn_hidden_size"}},
        {true,
         "n_shared_experts",
         {"num_shared_experts", "num_shared_expert", "moe_num_shared_experts"}},
        {true, "n_group", {"num_expert_groups", "num_expert_group"}},
        {true, "topk_group", {"num_limited_groups"}},
        {true, "first_k_dense_replace", {"moe_layer_start_index", "num_dense_layers"}},
        {true, "num_nextn_predict_layers", {"num_mtp_modules", "mtp_num_hidden_layers"}},
    };
    rk_model plain[2];
    rk_error err;
    (void)state;
    assert_int_equal(read_text("{" DENSE "}", &plain[0], &err), RK_OK);
    assert_int_equal(read_text("{" EXPERTS "}", &plain[1], &err), RK_OK);
    for (size_t i = 0; i < COUNT(keys); i++) {
        const rk_model *wanted = &plain[keys[i].experts];
        for (size_t j = 0; keys[i].others[j]; j++) {
            rk_model model;
            char text[1024];
            rename_key(keys[i].experts ? EXPERTS : DENSE, keys[i].usual, keys[i].others[j], text);
            if (read_text(text, &model, &err)) {
                fail_msg("%s: %s: %s", keys[i].others[j], err.path, err.message);
            }
            if (memcmp(model.types, wanted->types, sizeof(model.types)) != 0 ||
                memcmp(model.type_of, wanted->type_of, sizeof(model.type_of)) != 0 ||
                model.hidden != wanted->hidden || model.layers != wanted->layers ||
                model.vocab != wanted->vocab || model.seq != wanted->seq ||
                model.mtp_layers != wanted->mtp_layers) {
                fail_msg("%s is not %s", keys[i].others[j], keys[i].usual);
            }
            assert_string_equal(model.note, wanted->note);
        }
    }
}

/* What reckon does not read for a type, by the key that asks for it. */
static void test_refused_keys(void **state)
{
    static const struct {
        const char *keys[5], *what;
    } cases[] = {
        {{"num_mem_blocks"}, "transformer blocks that layers share"},
        {{"index_n_heads", "sparse_attention_config"}, "sparse attention with an indexer"},
        {{"sparse_config"}, "sparse attention"},
        {{"compress_ratios"}, "compressed sparse attention"},
        {{"hc_mult"}, "hyper-connections"},
        {{"linear_attn_config", "linear_num_key_heads"}, "linear attention"},
        {{"mamba_num_heads", "mamba_d_state", "ssm_state_size"}, "state-space layers"},
        {{"hybrid_override_pattern", "layers_block_type"}, "blocks of a single mixer"},
        {{"block_configs"}, "layers without attention or FFN"},
        {{"per_layer_config"}, "keys that differ from layer to layer"},
        {{"use_cla", "num_kv_shared_layers"},
         "layers that borrow keys and values of another layer"},
        {{"attention_k_eq_v"}, "values that are the keys"},
        {{"hidden_size_per_layer_input"}, "an embedding for every layer"},
        {{"moe_latent_size", "routed_expert_hidden_size"}, "experts in a latent space"},
        {{"qk_layernorm"}, "norms of queries and keys with biases"},
        {{"cross_attention_layers"}, "cross-attention"},
        {{"attn_layer_idx"}, "layers of attention between state-space layers"},
    };
    static const char *const values[] = {"3", "true", "[4]", "{\"a\": 1}", "\"x\""};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (size_t j = 0; cases[i].keys[j]; j++) {
            char text[1024], message[256];
            rk_model model;
            rk_error err = {0};
            (void)snprintf(text, sizeof(text), "{" DENSE ", \"%s\": %s}", cases[i].keys[j],
                           values[(i + j) % COUNT(values)]);
            (void)snprintf(message, sizeof(message),
                           "this model has %s, which reckon does not read for a model of this type "
                           "yet",
                           cases[i].what);
            assert_int_equal(read_text(text, &model, &err), RK_ERR_INVALID);
            assert_string_equal(err.path, cases[i].keys[j]);
            assert_string_equal(err.message, message);
        }
    }
}

/* Keys that change nothing are not remarked upon; one that might is, once. */
static void test_harmless_keys(void **state)
{
    static const char *const keys[] = {"_num_mtp_layers",
                                       "encoder_no_repeat_ngram_size",
                                       "no_repeat_ngram_size",
                                       "num_beam_groups",
                                       "ep_size",
                                       "max_batch_size",
                                       "org_vocab_size",
                                       "rotary_dim",
                                       "qk_head_dim",
                                       "sliding_window_size",
                                       "embedding_size",
                                       "moe_layer_end_index",
                                       "num_beams",
                                       "num_return_sequences",
                                       "pretraining_tp",
                                       "rope_theta",
                                       "top_k",
                                       "bos_token_id",
                                       "image_token_index",
                                       "max_length",
                                       "x_ids",
                                       "format_version",
                                       "audio_heads",
                                       "image_size",
                                       "img_dim",
                                       "mm_hidden_size",
                                       "patch_size",
                                       "pixel_rank",
                                       "spatial_merge_size",
                                       "temporal_patch_size",
                                       "video_size",
                                       "vision_feature_layer",
                                       "rope_local_base_freq",
                                       "layers_norm"};
    rk_model plain, model;
    rk_error err;
    (void)state;
    assert_int_equal(read_text("{" DENSE "}", &plain, &err), RK_OK);
    assert_string_equal(plain.note, "");
    for (size_t i = 0; i < COUNT(keys); i++) {
        char text[1024];
        (void)snprintf(text, sizeof(text), "{" DENSE ", \"%s\": 7}", keys[i]);
        if (read_text(text, &model, &err)) {
            fail_msg("%s: %s", keys[i], err.message);
        }
        if (model.note[0] || rk_model_params_of(&model).total != rk_model_params_of(&plain).total) {
            fail_msg("%s: %s", keys[i], model.note);
        }
    }
    static const char *const noted[] = {"a_heads",    "a_dim",     "a_size",   "a_rank",
                                        "a_pattern",  "a_freq",    "a_types",  "a_every",
                                        "a_interval", "experts_a", "a_layer_b"};
    for (size_t i = 0; i < COUNT(noted); i++) {
        char text[1024], note[64];
        (void)snprintf(text, sizeof(text), "{" DENSE ", \"%s\": 7}", noted[i]);
        (void)snprintf(note, sizeof(note), "not known (%s)", noted[i]);
        assert_int_equal(read_text(text, &model, &err), RK_OK);
        if (!strstr(model.note, note)) {
            fail_msg("%s: %s", noted[i], model.note);
        }
    }
}

/* What a file has besides its language model, each part on its own, in either form. */
static void test_parts(void **state)
{
    static const char *const parts[][2] = {{"vision_config", "vision tower"},
                                           {"visual", "vision tower"},
                                           {"vit_config", "vision tower"},
                                           {"vision_tower_config", "vision tower"},
                                           {"img_processor", "vision tower"},
                                           {"mm_vision_tower", "vision tower"},
                                           {"sam_config", "vision tower"},
                                           {"audio_config", "audio tower"},
                                           {"speech_config", "audio tower"},
                                           {"projector_config", "projector"},
                                           {"talker_config", "speech generator"},
                                           {"token2wav_config", "speech decoder"},
                                           {"code2wav_config", "speech decoder"},
                                           {"embd_layer", "towers of other inputs"},
                                           {"vision_lora", "adapters for pictures"},
                                           {"speech_lora", "adapters for sound"},
                                           {"encoder_config", "encoder"}};
    rk_model model;
    rk_error err;
    (void)state;
    for (size_t i = 0; i < COUNT(parts); i++) {
        char text[1024], note[128];
        (void)snprintf(text, sizeof(text), "{" DENSE ", \"%s\": %s}", parts[i][0],
                       i % 2 ? "\"name\"" : "{\"a\": 1}");
        (void)snprintf(note, sizeof(note), "left out: %s (%s)", parts[i][1], parts[i][0]);
        if (read_text(text, &model, &err)) {
            fail_msg("%s: %s", err.path, err.message);
        }
        assert_string_equal(model.note, note);
        (void)snprintf(text, sizeof(text), "{" DENSE ", \"%s\": {}}", parts[i][0]);
        assert_int_equal(read_text(text, &model, &err), RK_OK);
        assert_string_equal(model.note, ""); /* nothing in it */
    }
}

/* The tower of Qwen3-VL by its sizes, all of which are needed. */
static void test_tower(void **state)
{
    static const char *const sizes[] = {"\"hidden_size\": 8",
                                        "\"intermediate_size\": 20",
                                        "\"depth\": 3",
                                        "\"patch_size\": 2",
                                        "\"num_position_embeddings\": 5",
                                        "\"out_hidden_size\": 6",
                                        "\"in_channels\": 3",
                                        "\"temporal_patch_size\": 2",
                                        "\"spatial_merge_size\": 2",
                                        "\"deepstack_visual_indexes\": [1]"};
    /* patches 3 * 2 * 2^2 of 8 and 8, 5 positions; 3 blocks of 4 * 8^2 + 4 * 8, 2 * 8 * 20 + 28 and
     * 4 * 8; a merger of 32^2 + 32 + 32 * 6 + 6 behind a norm of 8, one behind a norm of 32 */
    const int merger = 1024 + 32 + 192 + 6;
    const int params = 24 * 8 + 8 + 40 + 3 * (256 + 32 + 320 + 28 + 32) + 16 + merger + 64 + merger;
    rk_model model;
    rk_error err;
    (void)state;
    for (size_t missing = 0; missing <= COUNT(sizes); missing++) {
        char text[1024], note[128], tower[400] = "";
        for (size_t i = 0; i < COUNT(sizes); i++) {
            if (i != missing) {
                (void)snprintf(tower + strlen(tower), sizeof(tower) - strlen(tower), "%s%s",
                               tower[0] ? ", " : "", sizes[i]);
            }
        }
        (void)snprintf(text, sizeof(text), "{" DENSE ", \"vision_config\": {%s}}", tower);
        (void)snprintf(note, sizeof(note),
                       "left out: vision tower of %d parameters (vision_config)", params);
        assert_int_equal(read_text(text, &model, &err), RK_OK);
        assert_string_equal(
            model.note, missing == COUNT(sizes) ? note : "left out: vision tower (vision_config)");
    }
}

/* ---- layers that lists and words choose ---------------------------------------------------------
 */

#define PICKED                                                                                     \
    "\"model_type\": \"deepseek_v32\", \"hidden_size\": 256, \"num_hidden_layers\": 3, "           \
    "\"num_attention_heads\": 8, \"intermediate_size\": 512, \"vocab_size\": 1000, "               \
    "\"n_routed_experts\": 16, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 128, "       \
    "\"n_shared_experts\": 1, \"first_k_dense_replace\": 1, \"q_lora_rank\": 48, "                 \
    "\"kv_lora_rank\": 40, \"qk_nope_head_dim\": 24, \"qk_rope_head_dim\": 16, "                   \
    "\"v_head_dim\": 32, \"index_n_heads\": 4, \"index_head_dim\": 32, \"index_topk\": 64"

/* Layers with an indexer of their own, by words and by a rule; the letter s: the keys of one below.
 */
static void test_indexers(void **state)
{
    static const struct {
        const char *keys, *layers; /* NULL: refused */
    } cases[] = {
        {"", "iii"},
        {", \"indexer_types\": [\"full\", \"shared\", \"full\"]", "isi"},
        {", \"indexer_types\": [\"full\", \"shared\", \"shared\", \"full\"]", "iss"},
        {", \"index_topk_freq\": 2, \"index_skip_topk_offset\": 1", "isi"},
        {", \"index_topk_freq\": 1", "iii"},
        {", \"indexer_types\": [\"full\", \"shared\"]", NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[1024], layers[8] = "";
        rk_model model;
        rk_error err = {0};
        (void)snprintf(text, sizeof(text), "{" PICKED "%s}", cases[i].keys);
        const rk_status status = read_text(text, &model, &err);
        if (!cases[i].layers) {
            assert_int_equal(status, RK_ERR_INVALID);
            assert_string_equal(err.path, "indexer_types");
            assert_string_equal(err.message, "expected a word for each layer");
            continue;
        }
        if (status) {
            fail_msg("%s: %s: %s", cases[i].keys, err.path, err.message);
        }
        for (int j = 0; j < model.layers; j++) {
            const rk_index_shape *index = &model.types[model.type_of[j]].attention.index;
            layers[j] = index->shared ? 's' : 'i';
            assert_int_equal(index->keys, 64);
        }
        assert_string_equal(layers, cases[i].layers);
    }
}

/* Modules of multi-token prediction behind the pattern of Nemotron-H, each after a slash. */
static void test_modules(void **state)
{
    static const struct {
        const char *pattern, *own;
        int layers, modules, each; /* layers < 0: refused */
    } cases[] = {
        {"M-M*", "", 4, 0, 0},
        {"M-M*/*-", "", 4, 1, 2},
        {"M-M*/*-/*-", "", 4, 2, 2},
        {"M-M*", ", \"num_nextn_predict_layers\": 3, \"mtp_hybrid_override_pattern\": \"*--\"", 4,
         3, 3},
        {"M-M*/*x", "", -1, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[1024];
        rk_model model;
        rk_error err = {0};
        (void)snprintf(text, sizeof(text),
                       "{\"model_type\": \"nemotron_h\", \"hidden_size\": 64, "
                       "\"mamba_num_heads\": 4, \"mamba_head_dim\": 32, \"n_groups\": 2, "
                       "\"ssm_state_size\": 16, \"conv_kernel\": 4, \"num_attention_heads\": 4, "
                       "\"num_key_value_heads\": 2, \"head_dim\": 16, \"intermediate_size\": 128, "
                       "\"vocab_size\": 100, \"num_hidden_layers\": 4, "
                       "\"hybrid_override_pattern\": \"%s\"%s}",
                       cases[i].pattern, cases[i].own);
        const rk_status status = read_text(text, &model, &err);
        if (cases[i].layers < 0) {
            assert_int_equal(status, RK_ERR_INVALID);
            continue;
        }
        if (status) {
            fail_msg("%s: %s: %s", cases[i].pattern, err.path, err.message);
        }
        assert_int_equal(model.layers, cases[i].layers);
        assert_int_equal(model.mtp_layers, cases[i].modules);
        assert_int_equal(model.mtp_each, cases[i].each);
    }
}

/* Norms of OPT: before or after, the last one removed, with weights or without. */
static void test_opt_norms(void **state)
{
    static const struct {
        const char *keys;
        bool final;
        rk_norm_kind norm;
    } cases[] = {
        {"", true, RK_NORM_LAYER},
        {", \"do_layer_norm_before\": false", false, RK_NORM_LAYER},
        {", \"_remove_final_layer_norm\": true", false, RK_NORM_LAYER},
        {", \"layer_norm_elementwise_affine\": false", true, RK_NORM_LAYER_NO_WEIGHT},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[512];
        rk_model model;
        rk_error err;
        (void)snprintf(text, sizeof(text),
                       "{\"model_type\": \"opt\", \"hidden_size\": 256, \"num_hidden_layers\": 2, "
                       "\"num_attention_heads\": 8, \"ffn_dim\": 512, \"vocab_size\": 1000, "
                       "\"max_position_embeddings\": 128%s}",
                       cases[i].keys);
        assert_int_equal(read_text(text, &model, &err), RK_OK);
        assert_int_equal(model.final_norm, cases[i].final);
        assert_int_equal(model.norm, cases[i].norm);
    }
}

/* Layers of DeepSeek-V4 by their ratios: the window alone, keys picked of 4, all entries of others.
 */
static void test_ratios(void **state)
{
    static const struct {
        const char *ratios;
        int layers;
        const char *path, *message; /* NULL: it is read */
    } cases[] = {
        {"0, 4, 128, 4", 4, NULL, NULL},
        {"0, 4", 4, "compress_ratios", "expected an element for each layer"},
        {"0, 4, -1, 4", 4, "compress_ratios",
         "expected an integer from 0 to 1099511627776, found -1"},
        {"0,1,2,3,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,"
         "33,34",
         34, "compress_ratios", "expected at most 32 kinds of layers"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[1024];
        rk_model model;
        rk_error err = {0};
        (void)snprintf(
            text, sizeof(text),
            "{\"model_type\": \"deepseek_v4\", \"hidden_size\": 256, "
            "\"num_hidden_layers\": %d, \"num_attention_heads\": 8, \"head_dim\": 32, "
            "\"vocab_size\": 1000, \"n_routed_experts\": 16, \"num_experts_per_tok\": 2, "
            "\"moe_intermediate_size\": 128, \"n_shared_experts\": 1, "
            "\"q_lora_rank\": 48, \"o_lora_rank\": 40, \"o_groups\": 2, "
            "\"index_n_heads\": 4, \"index_head_dim\": 32, \"index_topk\": 64, "
            "\"sliding_window\": 128, \"hc_mult\": 4, \"num_hash_layers\": 1, "
            "\"compress_ratios\": [%s]}",
            cases[i].layers, cases[i].ratios);
        const rk_status status = read_text(text, &model, &err);
        if (cases[i].path) {
            assert_int_equal(status, RK_ERR_INVALID);
            assert_string_equal(err.path, cases[i].path);
            assert_string_equal(err.message, cases[i].message);
            continue;
        }
        if (status) {
            fail_msg("%s: %s", err.path, err.message);
        }
        static const int64_t ratios[] = {0, 4, 128, 4};
        for (int j = 0; j < 4; j++) {
            const rk_layer_type *type = &model.types[model.type_of[j]];
            assert_int_equal(type->attention.ratio, ratios[j]);
            assert_int_equal(type->attention.index.keys, ratios[j] == 4 ? 64 : 0);
            assert_int_equal(type->attention.window, 128);
            assert_int_equal(type->moe.router_bias, j > 0); /* the first routes by a hash */
        }
        assert_int_equal(model.type_count, 3);
        assert_int_equal(model.streams, 4);
        assert_non_null(strstr(model.note, "integer tables of hash routing"));
    }
}

/* Blocks of keys of MiniMax-M3, in the layers of a list. */
static void test_blocks(void **state)
{
    static const struct {
        const char *freq;
        int64_t block, top, local, first;
        const char *path, *message;
    } cases[] = {
        {"0, 1, 1", 128, 16, 2, 1, NULL, NULL},
        {"0, 1", 128, 16, 2, 1, "sparse_attention_config.sparse_attention_freq",
         "expected an element for each layer"},
        {"0, 1, 1", 128, 1LL << 39, 2, 1, "sparse_attention_config.sparse_topk_blocks",
         "the blocks are larger than any sequence"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[1024];
        rk_model model;
        rk_error err = {0};
        (void)snprintf(text, sizeof(text),
                       "{\"model_type\": \"minimax_m3\", \"hidden_size\": 256, "
                       "\"num_hidden_layers\": 3, \"num_attention_heads\": 8, "
                       "\"num_key_value_heads\": 2, \"head_dim\": 32, \"vocab_size\": 1000, "
                       "\"intermediate_size\": 128, \"num_local_experts\": 16, "
                       "\"num_experts_per_tok\": 2, \"sparse_attention_config\": "
                       "{\"sparse_num_index_heads\": 4, \"sparse_index_dim\": 64, "
                       "\"sparse_block_size\": %lld, \"sparse_topk_blocks\": %lld, "
                       "\"sparse_local_block\": %lld, \"sparse_init_block\": %lld, "
                       "\"sparse_attention_freq\": [%s]}}",
                       (long long)cases[i].block, (long long)cases[i].top,
                       (long long)cases[i].local, (long long)cases[i].first, cases[i].freq);
        const rk_status status = read_text(text, &model, &err);
        if (cases[i].path) {
            assert_int_equal(status, RK_ERR_INVALID);
            assert_string_equal(err.path, cases[i].path);
            assert_string_equal(err.message, cases[i].message);
            continue;
        }
        if (status) {
            fail_msg("%s: %s", err.path, err.message);
        }
        for (int j = 0; j < 3; j++) { /* the best 16, 2 near and 1 first, each of 128 keys */
            const rk_index_shape *index = &model.types[model.type_of[j]].attention.index;
            assert_int_equal(index->keys, j == 0 ? 0 : 19 * 128);
            assert_int_equal(index->block, j == 0 ? 0 : 128);
            assert_int_equal(index->heads, j == 0 ? 0 : 4);
            assert_int_equal(index->size, j == 0 ? 0 : 64);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings),    cmocka_unit_test(test_parts),
        cmocka_unit_test(test_tower),        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_blocks),       cmocka_unit_test(test_indexers),
        cmocka_unit_test(test_modules),      cmocka_unit_test(test_opt_norms),
        cmocka_unit_test(test_refused_keys), cmocka_unit_test(test_harmless_keys),
        cmocka_unit_test(test_published),    cmocka_unit_test(test_summed),
        cmocka_unit_test(test_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
