/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LLM Foundry's YAML, run by `composer train.py FILE key=value`.  Sources: llmfoundry of
 * mosaicml/llm-foundry, commit 8c8dd48f7216, and composer's FSDP1 configuration.
 */
#include "base/units.h"
#include "launch/reader_kit.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static bool has_start(const rk_launch *launch, const char *start)
{
    for (size_t i = 0; i < launch->key_count; i++) {
        if (strncmp(launch->keys[i].name, start, strlen(start)) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- layout and batch ------------------------------------------------------------------------ */

/* Without a section for FSDP the ranks are replicas, DDP. */
static void state_layout(rk_launch *launch)
{
    static const rk_named_text ones[] = {{"tp", "1"}, {"pp", "1"}, {"vp", "1"},
                                         {"cp", "1"}, {"ep", "1"}, {"sp", "false"}};
    const rk_launch_key *key = rk_launch_find(launch, "fsdp_config.sharding_strategy");
    const char *strategy = key && key->value                   ? key->value
                           : has_start(launch, "fsdp_config.") ? "FULL_SHARD"
                                                               : "NO_SHARD";
    const bool none = strcmp(strategy, "NO_SHARD") == 0;
    const bool kept =
        strcmp(strategy, "SHARD_GRAD_OP") == 0 || strcmp(strategy, "_HYBRID_SHARD_ZERO2") == 0;
    rk_launch_assume_all(launch, ones, COUNT(ones));
    rk_launch_state(launch, "zero", none ? "0" : kept ? "2" : "3", RK_FACT_DERIVED, key);
    rk_launch_state(launch, "overlap", none ? "grad" : "grad+param", RK_FACT_DERIVED,
                    rk_launch_find(launch, "fsdp_config.backward_prefetch"));
    if (strstr(strategy, "HYBRID")) { /* replicas of nodes */
        const int64_t nodes = rk_launch_count_of(launch, "nodes");
        if (nodes > 0) {
            rk_launch_state_count(launch, "hsdp", nodes, RK_FACT_DERIVED, key);
        } else {
            rk_launch_mark(launch, "fsdp_config.sharding_strategy", RK_KEY_NOT_PRICED,
                           "each node is a replica; give the number of nodes as --hsdp");
        }
    }
}

/* The number of accumulation steps is rounded up. */
static void state_batch(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "device_train_microbatch_size");
    const double micro = rk_launch_number(launch, "device_train_microbatch_size", 0);
    rk_launch_derive(launch); /* dp */
    const int64_t dp = rk_launch_count_of(launch, "dp");
    const int64_t global = rk_launch_count_of(launch, "global_batch");
    if (micro >= 1 && micro < 1e9) {
        rk_launch_state_count(launch, "micro_batch", (int64_t)micro, RK_FACT_STATED, key);
        if (dp > 0 && global > 0) {
            rk_launch_state_count(launch, "accumulation",
                                  (int64_t)ceil((double)global / (double)dp / micro),
                                  RK_FACT_DERIVED, NULL);
        }
    } else if (key) {
        rk_launch_mark(launch, "device_train_microbatch_size", RK_KEY_NOT_PRICED,
                       "auto: the run halves the micro-batch until it fits; give --micro-batch");
    }
}

/* ---- precision and memory -------------------------------------------------------------------- */

/* FSDP reduces in fp32 by default, and with PURE in the type of computation. */
static void state_precision(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "precision");
    const rk_launch_key *mixed = rk_launch_find(launch, "fsdp_config.mixed_precision");
    const char *name = key && key->value ? key->value : "amp_bf16";
    const bool fp8 = strcmp(name, "amp_fp8") == 0;
    const char *type = fp8 ? "bf16" : rk_launch_data_type(launch, name);
    const bool pure = mixed && mixed->value && strcasecmp(mixed->value, "PURE") == 0;
    rk_launch_state(launch, "precision", type, key ? RK_FACT_STATED : RK_FACT_DEFAULT, key);
    rk_launch_state(launch, "gradients", pure ? type : "fp32", RK_FACT_DERIVED, mixed);
    rk_launch_assume(launch, "weights", "fp32");
    if (fp8) {
        rk_launch_state(launch, "fp8.format", "hybrid", RK_FACT_DERIVED, key);
        rk_launch_state(launch, "fp8.recipe", "delayed", RK_FACT_DERIVED, key);
    }
}

static bool has_any(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strstr(text, words[i])) {
            return true;
        }
    }
    return false;
}

/* Adapters of PEFT, whose modules are a list of names. */
static void state_adapters(rk_launch *launch)
{
    static const char *const attention[] = {"q_proj", "k_proj",   "v_proj", "o_proj",
                                            "Wqkv",   "out_proj", "attn",   "all-linear"};
    static const char *const mlp[] = {"up_proj", "down_proj", "gate_proj",
                                      "ffn",     "mlp",       "all-linear"};
    const rk_launch_key *key = rk_launch_find(launch, "model.peft_config.target_modules");
    if (rk_launch_count_of(launch, "lora") > 0 && key && key->value) {
        const bool first = has_any(key->value, attention, COUNT(attention));
        const bool second = has_any(key->value, mlp, COUNT(mlp));
        rk_launch_state(launch, "lora_modules",
                        first && second ? "attention+mlp"
                        : second        ? "mlp"
                                        : "attention",
                        RK_FACT_STATED, key);
    }
    rk_launch_assume(launch, "lora", "none");
}

static void state_memory(rk_launch *launch)
{
    const rk_launch_key *recompute = rk_launch_find(launch, "fsdp_config.activation_checkpointing");
    const bool on = rk_launch_is_on(launch, "fsdp_config.activation_checkpointing", false);
    const bool host = rk_launch_is_on(launch, "fsdp_config.cpu_offload", false);
    const bool kept = rk_launch_is_on(launch, "fsdp_config.activation_cpu_offload", false);
    const rk_launch_key *optimizer = rk_launch_find(launch, "optimizer.name");
    rk_launch_state(launch, "recompute.granularity", on ? "full" : "none",
                    recompute ? RK_FACT_STATED : RK_FACT_DEFAULT, recompute);
    rk_launch_state(launch, "offload",
                    host && kept ? "activations+optimizer+weights"
                    : host       ? "optimizer+weights"
                    : kept       ? "activations"
                                 : "none",
                    host || kept ? RK_FACT_STATED : RK_FACT_DEFAULT, NULL);
    rk_launch_state(launch, "optimizer",
                    optimizer && optimizer->value ? rk_launch_lower(launch, optimizer->value)
                                                  : "decoupled_adamw",
                    optimizer ? RK_FACT_STATED : RK_FACT_DEFAULT, optimizer);
    state_adapters(launch);
    const bool compiled = has_start(launch, "compile_config");
    rk_launch_state(launch, "compile", compiled ? "true" : "false", RK_FACT_DERIVED,
                    rk_launch_find(launch, "compile_config"));
    if (!compiled) {
        rk_launch_assume(launch, "stack", "fsdp-llm-foundry");
    }
    rk_launch_mark(launch, "compile_config.", RK_KEY_USED, NULL);
}

/* ---- the model ------------------------------------------------------------------------------- */

/* MPT: its shape is in the file; the embedding is tied, the feed-forward part has two matrices. */
static void state_mpt(rk_launch *launch)
{
    const double ratio = rk_launch_number(launch, "model.expansion_ratio", 4);
    const int64_t hidden = rk_launch_count_of(launch, "model.hidden");
    const char *type = rk_launch_value_or(launch, "model.ffn_config.ffn_type", "mptmlp");
    const char *kernel = rk_launch_value_or(launch, "model.attn_config.attn_impl", "flash");
    const char *loss = rk_launch_value_or(launch, "model.loss_fn", "fused_crossentropy");
    const char *heads =
        rk_launch_value_or(launch, "model.attn_config.attn_type", "multihead_attention");
    const bool experts = strstr(type, "moe");
    if (hidden > 0 && ratio > 0 && ratio < 1000 && !rk_launch_fact_of(launch, "model.ffn")) {
        rk_launch_state_count(launch, "model.ffn", (int64_t)(ratio * (double)hidden),
                              RK_FACT_DERIVED, rk_launch_find(launch, "model.expansion_ratio"));
    }
    rk_launch_assume_size(
        launch, "model.kv_heads",
        strcmp(heads, "multiquery_attention") == 0 ? 1 : rk_launch_count_of(launch, "model.heads"));
    rk_launch_assume(launch, "model.tied", "true");
    rk_launch_state(launch, "model.gated", strstr(type, "glu") ? "true" : "false", RK_FACT_DERIVED,
                    NULL);
    if (experts) {
        rk_launch_assume_size(launch, "model.moe_ffn", rk_launch_count_of(launch, "model.ffn"));
    } else {
        rk_launch_drop(launch, "model.experts");
        rk_launch_drop(launch, "model.topk");
    }
    rk_launch_state(launch, "attention", strcmp(kernel, "torch") == 0 ? "unfused" : "flash",
                    RK_FACT_DERIVED, rk_launch_find(launch, "model.attn_config.attn_impl"));
    rk_launch_state(launch, "loss", strncmp(loss, "fused", 5) == 0 ? "fused" : "full logits",
                    RK_FACT_DERIVED, rk_launch_find(launch, "model.loss_fn"));
}

static void state_hugging_face(rk_launch *launch)
{
    const rk_launch_key *name = rk_launch_find(launch, "model.pretrained_model_name_or_path");
    const char *own =
        rk_launch_value_or(launch, "model.config_overrides.attn_config.attn_impl", NULL);
    const char *kernel = rk_launch_value_or(launch, "model.attn_implementation", "sdpa");
    kernel = !own ? kernel : strcmp(own, "torch") == 0 ? "unfused" : "flash";
    const bool flash = rk_launch_is_on(launch, "model.use_flash_attention_2", false);
    if (name && name->value) {
        rk_launch_state(launch, "model.name", name->value, RK_FACT_STATED, name);
        (void)rk_launch_state_named_model(launch, name->value, name);
    }
    rk_launch_state(launch, "attention", flash ? "flash_attention_2" : kernel, RK_FACT_DERIVED,
                    rk_launch_find(launch, "model.use_flash_attention_2"));
    rk_launch_assume(launch, "loss", "full logits");
}

/* ---- the reader ------------------------------------------------------------------------------ */

static bool is_own(const json_t *root)
{
    const char *precision = json_string_value(json_object_get(root, "precision"));
    return json_object_get(root, "device_train_microbatch_size") ||
           (json_object_get(root, "global_train_batch_size") &&
            (json_object_get(root, "max_seq_len") || precision));
}

static int recognise(const rk_launch *launch)
{
    const json_t *root = rk_launch_document_of(launch, "config");
    if (is_own(root) || is_own(json_object_get(root, "parameters"))) {
        return 8;
    }
    return !root && rk_launch_runs_by(launch, "composer") ? 5 : 0;
}

/* The file is the word after the program; MosaicML's own form has the keys under "parameters". */
static rk_status prepare(rk_launch *launch, rk_error *err)
{
    bool found = launch->document_count > 0;
    rk_status status = RK_OK;
    for (size_t i = launch->program + 1; i < launch->word_count && !found && !status; i++) {
        status = rk_launch_open_named(launch, launch->words[i].text, &found, err);
    }
    rk_launch_shorten_keys(launch, "parameters.");
    rk_launch_interpolate(launch);
    return status ? status : rk_launch_require_document(launch, found, err);
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    (void)err;
    const char *name = rk_launch_value_or(launch, "model.name", "mpt_causal_lm");
    state_layout(launch);
    state_batch(launch);
    state_precision(launch);
    state_memory(launch);
    if (strncmp(name, "mpt", 3) == 0) {
        state_mpt(launch);
    } else {
        state_hugging_face(launch);
    }
    rk_launch_mark(launch, "variables.", RK_KEY_USED, NULL);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_llm_foundry = {
    .name = "llm-foundry",
    .framework = "torchtitan",
    .tables = {"llm-foundry"},
    .words_are_pairs = true,
    .recognise = recognise,
    .prepare = prepare,
    .resolve = resolve,
};
