/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations of gpt-neox (EleutherAI/gpt-neox ea7aefd8): its own keys and
 * DeepSpeed's.  Names have '-' or '_' between words.
 */
#include "base/text.h"
#include "launch/hugging_face.h"
#include "launch/megatron_kit.h"
#include "launch/read_megatron.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define GPT2_ENTRIES 50257 /* of the vocabulary of GPT-2 */

/*
 * Opens the files of "deepy.py train.py -d configs a.yml b", whose ending may be left out, unless
 * the launch has documents.
 */
static rk_status open_configs(rk_launch *launch, rk_error *err)
{
    rk_status status = RK_OK;
    const bool whole = launch->document_count > 0;
    const char *folder = rk_launch_value(launch, "conf_dir");
    for (size_t i = launch->program; i < launch->word_count && !whole && !status; i++) {
        const char *word = launch->words[i].text;
        const bool ends = rk_ends_with(word, ".yml") || rk_ends_with(word, ".yaml");
        bool found = false;
        if (ends || (folder && word[0] != '-')) {
            status =
                rk_launch_open_named(launch,
                                     rk_launch_format(launch, "%s%s%s%s", folder ? folder : "",
                                                      folder ? "/" : "", word, ends ? "" : ".yml"),
                                     &found, err);
        }
    }
    return status;
}

/* Spells all keys as the table does. */
static rk_status prepare(rk_launch *launch, rk_error *err)
{
    const rk_status status = open_configs(launch, err);
    for (size_t i = 0; i < launch->key_count; i++) {
        char *name = (char *)(uintptr_t)rk_launch_keep(launch, launch->keys[i].name);
        for (char *c = name; *c; c++) {
            *c = *c == '-' ? '_' : *c;
        }
        launch->keys[i].name = name;
    }
    return status;
}

static bool has_member(const rk_launch *launch, const char *name)
{
    char dashed[64];
    (void)snprintf(dashed, sizeof(dashed), "%s", name);
    for (char *c = dashed; *c; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    for (size_t i = 0; i < launch->document_count; i++) {
        const json_t *root = launch->documents[i].root;
        if (json_object_get(root, name) || json_object_get(root, dashed)) {
            return true;
        }
    }
    return false;
}

static int recognise(const rk_launch *launch)
{
    const bool layout =
        has_member(launch, "pipe_parallel_size") || has_member(launch, "model_parallel_size");
    if (rk_hf_find_word(launch, "deepy.py") < launch->word_count) {
        return 9;
    }
    return layout && has_member(launch, "num_layers") ? 8 : 0;
}

static void state(rk_launch *launch, const char *field, const char *name, const char *value,
                  const char *usual)
{
    const rk_launch_key *key = rk_launch_find(launch, name);
    if (key && value) {
        rk_launch_state(launch, field, value, RK_FACT_STATED, key);
    } else if (usual && !rk_launch_fact_of(launch, field)) {
        rk_launch_assume(launch, field, usual);
    }
}

/* A number of a key, at least 1. */
static void state_count(rk_launch *launch, const char *field, const char *name, int64_t usual)
{
    assert(usual >= 0);
    const double value = rk_launch_number(launch, name, 0);
    if (value >= 1 && value < 1e9) {
        rk_launch_state_count_by(launch, field, (int64_t)value, name);
    } else if (usual > 0 && !rk_launch_fact_of(launch, field)) {
        rk_launch_assume_count(launch, field, usual);
    }
}

static void state_layout(rk_launch *launch)
{
    state_count(launch, "tp", "model_parallel_size", 1);
    state_count(launch, "pp", "pipe_parallel_size", 1); /* 0: no pipeline */
    state_count(launch, "cp", "context_parallel_size", 1);
    state_count(launch, "ep", "moe_expert_parallel_size", 1);
    rk_launch_assume(launch, "vp", "1");
    state(launch, "sp", "sequence_parallel",
          rk_launch_is_on(launch, "sequence_parallel", false) &&
                  rk_launch_count_of(launch, "tp") > 1
              ? "true"
              : "false",
          "false");
    state_count(launch, "micro_batch", "train_micro_batch_size_per_gpu", 0);
    state_count(launch, "global_batch", "train_batch_size", 0);
    state_count(launch, "accumulation", "gradient_accumulation_steps", 1);
    state_count(launch, "seq", "seq_length", 0);
}

static void state_sharding(rk_launch *launch)
{
    const double given = rk_launch_number(launch, "zero_optimization.stage", 0);
    const int64_t stage = given >= 0 && given <= 3 ? (int64_t)given : 0;
    const bool overlaps = rk_launch_is_on(launch, "zero_optimization.overlap_comm", stage == 3);
    const char *overlap = rk_hf_overlap_of(stage, overlaps);
    rk_launch_state_count(launch, "zero", stage,
                          rk_launch_has(launch, "zero_optimization.stage") ? RK_FACT_STATED
                                                                           : RK_FACT_DEFAULT,
                          rk_launch_find(launch, "zero_optimization.stage"));
    state(launch, "overlap", "zero_optimization.overlap_comm", overlap, overlap);
    const bool optimizer = rk_launch_is_on(launch, "zero_optimization.cpu_offload", false);
    const char *device = rk_launch_value(launch, "zero_optimization.offload_optimizer.device");
    const char *weights = rk_launch_value(launch, "zero_optimization.offload_param.device");
    const bool states = optimizer || (device && strcmp(device, "none") != 0);
    const bool params = weights && strcmp(weights, "none") != 0;
    rk_launch_state(launch, "offload",
                    states && params ? "optimizer+weights"
                    : states         ? "optimizer"
                    : params         ? "weights"
                                     : "none",
                    states || params ? RK_FACT_STATED : RK_FACT_DEFAULT, NULL);
    rk_hf_take_nvme(launch, "zero_optimization.offload_optimizer.device", "optimizer");
    rk_hf_take_nvme(launch, "zero_optimization.offload_param.device", "weights");
}

static void state_precision(rk_launch *launch)
{
    const char *name = rk_launch_value(launch, "precision");
    const bool half = rk_launch_is_on(launch, "fp16.enabled", rk_launch_has(launch, "fp16.fp16"));
    const bool brain = rk_launch_is_on(launch, "bf16.enabled", false);
    const char *type = rk_launch_value(launch, "fp16.type"); /* of releases without "bf16" */
    const bool named = (name && strncasecmp(name, "bf", 2) == 0) ||
                       (!name && type && strcmp(type, "bfloat16") == 0);
    rk_launch_state(launch, "precision",
                    brain || named                                ? "bf16"
                    : half || (name && strcmp(name, "fp16") == 0) ? "fp16"
                                                                  : "fp32",
                    name || half || brain || named ? RK_FACT_STATED : RK_FACT_DEFAULT,
                    rk_launch_find(launch, name    ? "precision"
                                           : brain ? "bf16.enabled"
                                                   : "fp16.enabled"));
    const char *fp8 = rk_launch_value(launch, "te_fp8_format");
    const bool used = rk_launch_is_on(launch, "te_fp8_mha", false) ||
                      rk_launch_is_on(launch, "te_fp8_mlp", false);
    if (fp8 && used) {
        state(launch, "fp8.format", "te_fp8_format", fp8, NULL);
        rk_launch_assume(launch, "fp8.recipe", "delayed");
    } else {
        rk_launch_mark(launch, "te_fp8_", RK_KEY_WITHOUT_COST, NULL);
    }
}

static void state_optimizer(rk_launch *launch)
{
    const char *type = rk_launch_value(launch, "optimizer.type");
    const bool bits8 = rk_launch_is_on(launch, "use_bnb_optimizer", false);
    const char *name = !type                                        ? "adam"
                       : bits8                                      ? "adam-8bit"
                       : strstr(rk_kit_lower(launch, type), "adam") ? "adam"
                       : strcasecmp(type, "sgd") == 0               ? "sgd"
                                                                    : type;
    state(launch, "optimizer", "optimizer.type", name, "adam");
    rk_launch_assume(launch, "lora", "none");
}

static void state_recompute(rk_launch *launch)
{
    if (!rk_launch_is_on(launch, "checkpoint_activations", false)) {
        rk_launch_assume(launch, "recompute.granularity", "none");
        return;
    }
    state(launch, "recompute.granularity", "checkpoint_activations", "full", NULL);
    state_count(launch, "recompute.layers", "checkpoint_num_layers", 1);
    rk_megatron_class_pieces(launch, rk_launch_find(launch, "checkpoint_num_layers"));
}

/* attention_config: [[["flash"], 12]] */
static void state_attention(rk_launch *launch)
{
    const char *value = rk_launch_value(launch, "attention_config");
    const bool flash = value && strstr(value, "flash");
    state(launch, "attention", "attention_config", flash ? "flash" : "unfused", "unfused");
    if (value && (strstr(value, "sparse") || strstr(value, "gmlp") || strstr(value, "mamba") ||
                  strstr(value, "rwkv") || strstr(value, "local"))) {
        rk_launch_mark(launch, "attention_config", RK_KEY_NOT_PRICED,
                       "layers other than dense attention are priced as dense attention");
    }
}

/* The tokenizer of GPT-2 unless another is named, as the file of its vocabulary. */
static void state_vocabulary(rk_launch *launch)
{
    const char *tokenizer = rk_launch_value(launch, "tokenizer_type");
    const bool own = tokenizer && strcmp(tokenizer, "GPT2BPETokenizer") != 0;
    const char *file = own ? rk_launch_value(launch, "vocab_file") : NULL;
    const int64_t entries = !own   ? GPT2_ENTRIES
                            : file ? rk_launch_tokenizer_entries(rk_launch_base_name(file))
                                   : 0;
    state_count(launch, "model.vocab", "padded_vocab_size", 0);
    rk_kit_state_vocabulary(launch, entries,
                            rk_launch_number(launch, "make_vocab_size_divisible_by", 128),
                            own ? RK_FACT_DERIVED : RK_FACT_DEFAULT);
}

static void state_model(rk_launch *launch)
{
    const char *activation = rk_launch_value(launch, "activation");
    state_count(launch, "model.layers", "num_layers", 0);
    state_count(launch, "model.hidden", "hidden_size", 0);
    state_count(launch, "model.heads", "num_attention_heads", 0);
    state_count(launch, "model.kv_heads", "num_kv_heads",
                rk_launch_count_of(launch, "model.heads"));
    state_count(launch, "model.ffn", "intermediate_size",
                4 * rk_launch_count_of(launch, "model.hidden"));
    state_vocabulary(launch);
    state(launch, "model.gated", "activation",
          activation && strstr(activation, "glu") ? "true" : "false", "false");
    state(launch, "model.tied", "no_weight_tying",
          rk_launch_is_on(launch, "no_weight_tying", false) ? "false" : "true", "true");
    const double experts = rk_launch_number(launch, "moe_num_experts", 1);
    if (experts > 1) {
        state_count(launch, "model.experts", "moe_num_experts", 0);
        state_count(launch, "model.topk", "moe_top_k", 1);
    }
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    (void)err;
    state_layout(launch);
    state_sharding(launch);
    state_precision(launch);
    state_optimizer(launch);
    state_recompute(launch);
    state_attention(launch);
    state_model(launch);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_gpt_neox = {
    .name = "gpt-neox",
    .framework = "deepspeed",
    .tables = {"gpt-neox", "deepspeed-json"},
    .dash_is_underscore = true,
    .recognise = recognise,
    .prepare = prepare,
    .resolve = resolve,
};
