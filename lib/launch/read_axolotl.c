/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations of axolotl.  Source: axolotl-ai-cloud/axolotl src/axolotl/utils/schemas,
 * src/axolotl/utils/config/__init__.py, deepspeed_configs.
 */
#include "base/text.h"
#include "base/units.h"
#include "launch/hugging_face.h"
#include "launch/launch_parts.h"

#include <string.h>

static const rk_hf_preset presets[] = {
    {"zero1", 1, NULL, true},
    {"zero1_torch_compile", 1, NULL, true},
    {"zero2", 2, "optimizer", true},
    {"zero2_torch_compile", 2, "optimizer", true},
    {"zero3", 3, NULL, true},
    {"zero3_bf16", 3, NULL, true},
    {"zero3_bf16_cpuoffload_all", 3, "optimizer+weights", true},
    {"zero3_bf16_cpuoffload_params", 3, "weights", true},
    {0},
};

/* "axolotl train FILE", "-m axolotl.cli.train FILE": the first word that is YAML. */
static const char *own_file(const rk_launch *launch)
{
    for (size_t i = 0; i < launch->word_count; i++) {
        const char *word = launch->words[i].text;
        if (word[0] != '-' && (rk_ends_with(word, ".yml") || rk_ends_with(word, ".yaml"))) {
            return word;
        }
    }
    return NULL;
}

static int recognise(const rk_launch *launch)
{
    if (rk_hf_find_word(launch, "axolotl") < launch->word_count ||
        strncmp(rk_launch_program(launch), "axolotl.", strlen("axolotl.")) == 0) {
        return 9;
    }
    return rk_hf_document_has(launch, "base_model") ? 6 : 0;
}

/* Whether a key is on that may be "auto", and null is off. */
static bool is_on(rk_launch *launch, const char *key, bool usual)
{
    const char *value = rk_launch_value(launch, key);
    const char *truth = value ? rk_launch_truth_text(value) : NULL;
    return value                        ? !truth || strcmp(truth, "true") == 0
           : rk_launch_has(launch, key) ? false
                                        : usual;
}

/* Weights are held in the type of the computation, not the checkpoint's. */
static void state_precision(rk_launch *launch)
{
    const bool bf16 = is_on(launch, "bf16", true) || is_on(launch, "bfloat16", false);
    const bool fp16 = is_on(launch, "fp16", false) || is_on(launch, "float16", false);
    const char *type = bf16 ? "bf16" : fp16 ? "fp16" : "fp32";
    const rk_launch_key *by = rk_launch_find(launch, fp16 && !bf16 ? "fp16" : "bf16");
    const rk_fact_origin origin = by ? RK_FACT_STATED : RK_FACT_DEFAULT;
    rk_launch_state(launch, "precision", type, origin, by);
    if (!bf16 && !fp16 && is_on(launch, "load_in_8bit", false)) {
        type = "fp16";
    }
    const char *asked = rk_launch_precision_name(rk_launch_value(launch, "torch_dtype"));
    rk_launch_state(launch, "weights_loaded_as", asked ? asked : type, origin, by);
    rk_hf_take_tf32(launch);
    if (is_on(launch, "fp8", false)) {
        rk_launch_state_by(launch, "fp8.recipe", "torchao", "fp8");
        if (is_on(launch, "fp8_enable_fsdp_float8_all_gather", false)) {
            rk_launch_state_by(launch, "fp8.param_gather", "true",
                               "fp8_enable_fsdp_float8_all_gather");
        }
    }
}

static void state_true(rk_launch *launch, const char *key, const char *field)
{
    if (is_on(launch, key, false)) {
        rk_launch_state_by(launch, field, "true", key);
    }
}

/* A checkpoint of few bits that is loaded as 16 bits costs what any other does. */
static void take_dequantised(rk_launch *launch)
{
    if (rk_launch_is_on(launch, "model_quantization_config_kwargs.dequantize", false)) {
        rk_launch_mark(launch, "model_quantization_config", RK_KEY_WITHOUT_COST, NULL);
        rk_launch_mark(launch, "model_quantization_config_", RK_KEY_WITHOUT_COST, NULL);
    }
}

static void state_adapters(rk_launch *launch)
{
    const char *adapter = rk_launch_value(launch, "adapter");
    take_dequantised(launch);
    state_true(launch, "load_in_4bit", "qlora");
    rk_hf_state_nested(launch, "bnb_config_kwargs.bnb_4bit_use_double_quant", true);
    state_true(launch, "load_in_8bit", "base_8bit");
    if (is_on(launch, "gptq", false)) {
        rk_launch_state_by(launch, "base_quantised", "gptq, 4 bits", "gptq");
        rk_launch_state_by(launch, "weights_loaded_as",
                           "gptq base of 4 bits, 16- or 32-bit adapters", "gptq");
    }
    if (!adapter || (strcmp(adapter, "lora") != 0 && strcmp(adapter, "qlora") != 0)) {
        rk_launch_assume(launch, "lora", "none");
        rk_launch_mark(launch, "lora_", RK_KEY_WITHOUT_COST, RK_HF_NO_ADAPTERS);
        if (adapter && *adapter) {
            rk_launch_mark(launch, "adapter", RK_KEY_NOT_PRICED,
                           "only adapters of LoRA and QLoRA are counted as such");
        }
        return;
    }
    if (strcmp(adapter, "qlora") == 0) {
        rk_launch_state(launch, "qlora", "true", RK_FACT_DERIVED,
                        rk_launch_find(launch, "adapter"));
    }
    rk_hf_state_adapters(launch, "lora_r", 8, "lora_target_modules");
    rk_hf_state_adapter_dropout(launch, 0);
    if (is_on(launch, "lora_target_linear", false)) {
        rk_launch_state_by(launch, "lora_modules", "attention,mlp", "lora_target_linear");
    }
    rk_launch_assume(launch, "lora_modules", "attention");
}

static void state_attention(rk_launch *launch)
{
    static const char *const switches[][2] = {
        {"flash_attention", "flash_attention_2"}, {"sdp_attention", "sdpa"},
        {"flex_attention", "flex_attention"},     {"xformers_attention", "xformers"},
        {"sage_attention", "sage_attention"},     {"eager_attention", "eager"}};
    for (size_t i = 0; i < COUNT(switches); i++) {
        if (is_on(launch, switches[i][0], false) && !rk_launch_fact_of(launch, "attention")) {
            rk_launch_state_by(launch, "attention", switches[i][1], switches[i][0]);
        }
    }
}

/* Plugins whose effect is a fact, and those that only log. */
static void mark_plugins(rk_launch *launch, const char *plugins)
{
    static const char *const known[] = {"LigerPlugin", "CutCrossEntropyPlugin", "SwanLabPlugin",
                                        "DiffusionPlugin"};
    for (const char *at = strstr(plugins, "Plugin\""); at; at = strstr(at + 1, "Plugin\"")) {
        const char *end = at + strlen("Plugin");
        bool found = false;
        for (size_t i = 0; i < COUNT(known); i++) {
            const size_t length = strlen(known[i]);
            found |=
                (size_t)(end - plugins) >= length && strncmp(end - length, known[i], length) == 0;
        }
        if (!found) {
            rk_launch_mark(launch, "plugins", RK_KEY_NOT_PRICED,
                           "one of the plugins changes the training step in a way that is not "
                           "counted");
        }
    }
}

static void state_loss(rk_launch *launch)
{
    const char *list = rk_launch_value(launch, "plugins");
    const char *plugins = list ? list : "";
    const bool cut = strstr(plugins, "cut_cross_entropy") || strstr(plugins, "CutCrossEntropy");
    if (cut && is_on(launch, "cut_cross_entropy", true)) {
        rk_launch_state_by(launch, "loss", "fused (cut cross entropy)", "plugins");
    } else if (is_on(launch, "liger_fused_linear_cross_entropy", false)) {
        rk_launch_state_by(launch, "loss", "fused (liger)", "liger_fused_linear_cross_entropy");
    } else if (is_on(launch, "chunked_cross_entropy", false)) {
        rk_launch_state_by(launch, "loss", "chunked", "chunked_cross_entropy");
    }
    mark_plugins(launch, plugins);
    if (strstr(plugins, "DiffusionPlugin")) {
        rk_hf_state_objective(launch, "diffusion");
    }
    if (strstr(plugins, "KDPlugin")) {
        rk_hf_state_objective(launch, "distill");
    }
}

static void state_memory(rk_launch *launch)
{
    const char *checkpointing = rk_launch_value(launch, "gradient_checkpointing");
    rk_hf_state_switch(launch, "tiled_mlp", "tiled_mlp", "true");
    rk_hf_state_recompute(launch, is_on(launch, "gradient_checkpointing", false),
                          "gradient_checkpointing");
    if (is_on(launch, "selective_checkpointing", false) ||
        rk_launch_has(launch, "selective_checkpointing.save")) {
        rk_launch_state_by(launch, "recompute.granularity", "selective", "selective_checkpointing");
    }
    if (checkpointing && strncmp(checkpointing, "offload", strlen("offload")) == 0) {
        rk_hf_add_offload(launch, "activations", rk_launch_find(launch, "gradient_checkpointing"));
    }
    if (is_on(launch, "activation_offloading", false)) {
        rk_hf_add_offload(launch, "activations", rk_launch_find(launch, "activation_offloading"));
    }
    if (is_on(launch, "layer_offloading", false)) {
        rk_hf_add_offload(launch, "weights", rk_launch_find(launch, "layer_offloading"));
    }
}

/* Flags of the launcher after the file: "--launcher torchrun -- --nproc-per-node 8". */
static void state_launcher(rk_launch *launch)
{
    static const char *const flags[][2] = {{"nproc_per_node", "gpus_per_node"},
                                           {"nnodes", "nodes"},
                                           {"num_processes", "processes"},
                                           {"num_machines", "nodes"}};
    for (size_t i = 0; i < COUNT(flags); i++) {
        (void)rk_hf_state_count(launch, flags[i][0], flags[i][1]);
    }
    rk_hf_state_environment(launch, true);
}

/* Ranks that the file itself names: shards times replicas. */
static void state_degrees(rk_launch *launch)
{
    const double shards = rk_launch_number(launch, "dp_shard_size", 0);
    const double replicas = rk_launch_number(launch, "dp_replicate_size", 1);
    const char *cp = rk_launch_value(launch, "context_parallel_size") ? "context_parallel_size"
                                                                      : "sequence_parallel_degree";
    const double ranks = rk_launch_number(launch, cp, 1);
    if (shards >= 1 && replicas >= 1 && shards * replicas <= INT32_MAX) {
        rk_launch_state_count(launch, "dp", (int64_t)(shards * replicas), RK_FACT_DERIVED,
                              rk_launch_find(launch, "dp_shard_size"));
    }
    if (replicas > 1 && replicas <= INT32_MAX) {
        rk_launch_state_count_by(launch, "hsdp", (int64_t)replicas, "dp_replicate_size");
    }
    if (ranks > 1 && ranks <= INT32_MAX) {
        rk_launch_state_count_by(launch, "cp", (int64_t)ranks, cp);
        rk_launch_assume(launch, "cp_kind", "ring");
    }
}

/* A batch of a device in place of micro-steps: "batch_size" sequences make a step. */
static void state_batch(rk_launch *launch)
{
    rk_launch_assume_count(launch, "micro_batch", 1);
    rk_launch_assume_count(launch, "seq", 512);
    const double batch = rk_launch_number(launch, "batch_size", 0);
    const int64_t micro = rk_launch_count_of(launch, "micro_batch");
    if (batch >= 1 && batch <= INT32_MAX && micro > 0 &&
        !rk_launch_value(launch, "gradient_accumulation_steps")) {
        const int64_t steps = (int64_t)batch / micro;
        rk_launch_state_count(launch, "accumulation", steps > 0 ? steps : 1, RK_FACT_DERIVED,
                              rk_launch_find(launch, "batch_size"));
    }
    rk_hf_state_accumulation(launch, "gradient_accumulation_steps", 1);
}

static rk_status prepare(rk_launch *launch, rk_error *err)
{
    return rk_hf_open_options(launch, own_file(launch), err);
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const rk_status status = rk_hf_take_files(launch, presets, err);
    if (status) {
        return status;
    }
    state_launcher(launch);
    state_degrees(launch);
    rk_hf_state_model(launch, "base_model");
    state_batch(launch);
    state_precision(launch);
    state_adapters(launch);
    rk_hf_state_optimizer(launch, "optimizer", "adamw");
    state_attention(launch);
    state_loss(launch);
    state_memory(launch);
    state_true(launch, "torch_compile", "compile");
    rk_launch_assume_open(launch, "loss", "full logits");
    rk_launch_assume_open(launch, "attention", "sdpa");
    rk_launch_assume_open(launch, "packing", "false");
    rk_hf_finish_sharding(launch);
    if (rk_launch_holds(launch, "packing") || !is_on(launch, "pad_to_sequence_len", false)) {
        rk_launch_name_packing(launch, "sample_packing", true);
    }
    rk_hf_state_objective(launch, rk_launch_value(launch, "rl"));
    if (is_on(launch, "reward_model", false)) {
        rk_hf_state_objective(launch, "reward");
    }
    if (is_on(launch, "process_reward_model", false)) {
        rk_hf_state_objective(launch, "prm");
    }
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_axolotl = {
    .name = "axolotl",
    .tables = {"axolotl", "fsdp-plugin", "accelerate-yaml", "deepspeed-json", "accelerate-launch"},
    .dash_is_underscore = true,
    .recognise = recognise,
    .prepare = prepare,
    .resolve = resolve,
};
