/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of LLaMA-Factory: `llamafactory-cli train`, its YAML files, and lines of flags.  Source:
 * hiyouga/LLaMA-Factory src/llamafactory/hparams, src/llamafactory/model/adapter.py,
 * examples/deepspeed.
 */
#include "base/text.h"
#include "base/units.h"
#include "launch/hugging_face.h"
#include "launch/launch_parts.h"

#include <string.h>

static const rk_hf_preset presets[] = {
    {"ds_z0_config", 0, NULL, false},
    {"ds_z2_config", 2, NULL, false},
    {"ds_z2_offload_config", 2, "optimizer", false},
    {"ds_z2_autotp_config", 2, NULL, false},
    {"ds_z3_config", 3, NULL, false},
    {"ds_z3_offload_config", 3, "optimizer+weights", false},
    {"ds_z3_fp8_config", 3, "optimizer", false},
    {0},
};

static size_t find_command(const rk_launch *launch)
{
    static const char *const commands[] = {"llamafactory-cli", "lmf", "llamafactory.cli"};
    for (size_t i = 0; i < COUNT(commands); i++) {
        const size_t place = rk_hf_find_word(launch, commands[i]);
        if (place < launch->word_count) {
            return place;
        }
    }
    return launch->word_count;
}

static const char *own_file(const rk_launch *launch)
{
    for (size_t i = 0; i < launch->word_count; i++) {
        const char *word = launch->words[i].text;
        const bool flag_value = i > 0 && launch->words[i - 1].text[0] == '-';
        if (word[0] != '-' && !flag_value &&
            (rk_ends_with(word, ".yml") || rk_ends_with(word, ".yaml") ||
             rk_ends_with(word, ".json"))) {
            return word;
        }
    }
    return NULL;
}

static int recognise(const rk_launch *launch)
{
    static const char *const own[] = {"finetuning_type", "cutoff_len", "lora_target", "template"};
    int signs = 0;
    for (size_t i = 0; i < COUNT(own); i++) {
        char flag[32] = "--";
        strcat(flag, own[i]);
        signs += rk_hf_document_has(launch, own[i]) ||
                 rk_hf_find_word(launch, flag) < launch->word_count;
    }
    if (find_command(launch) < launch->word_count) {
        return 9;
    }
    return signs > 1 ? 7 : rk_hf_document_has(launch, "finetuning_type") ? 6 : 0;
}

/* ---- what trains ----------------------------------------------------------------------------- */

static bool is_lora(rk_launch *launch)
{
    const char *type = rk_launch_value(launch, "finetuning_type");
    return !type || strcmp(type, "lora") == 0;
}

static void state_adapters(rk_launch *launch)
{
    const char *type = rk_launch_value(launch, "finetuning_type");
    if (is_lora(launch)) {
        rk_hf_state_adapters(launch, "lora_rank", 8, "lora_target");
        rk_hf_state_adapter_dropout(launch, 0);
        rk_launch_assume_open(launch, "lora_modules", "attention,mlp");
        return;
    }
    rk_launch_assume(launch, "lora", "none");
    rk_launch_mark(launch, "lora_", RK_KEY_WITHOUT_COST, RK_HF_NO_ADAPTERS);
    if (strcmp(type, "full") != 0) {
        rk_launch_mark(
            launch, "finetuning_type", RK_KEY_NOT_PRICED,
            rk_launch_format(launch, "%s trains only some of the weights; all are counted", type));
    }
}

/* A base of 4 or 8 bits, quantised as it is loaded. */
static void state_base(rk_launch *launch)
{
    const double bits = rk_launch_number(launch, "quantization_bit", 0);
    const rk_launch_key *by = rk_launch_find(launch, "quantization_bit");
    const char *method = rk_launch_value(launch, "quantization_method");
    if (bits == 4) {
        rk_launch_state(launch, "qlora", "true", RK_FACT_STATED, by);
    } else if (bits == 8) {
        rk_launch_state(launch, "base_8bit", "true", RK_FACT_STATED, by);
    } else if (bits > 0 && bits <= 16) {
        rk_launch_state(launch, "base_quantised",
                        rk_launch_format(launch, "%s, %d bits", method ? method : "bnb", (int)bits),
                        RK_FACT_STATED, by);
    }
    rk_hf_state_nested(launch, "double_quantization", true);
}

/* Trainable weights are upcast to fp32, except in pure bf16 and under ZeRO 3, which has masters. */
static void state_weights(rk_launch *launch)
{
    const char *precision = rk_launch_fact_of(launch, "precision");
    const char *quantised = rk_launch_fact_of(launch, "base_quantised");
    const char *framework = rk_launch_fact_of(launch, "framework");
    const char *lora = rk_launch_fact_of(launch, "lora");
    const bool deepspeed =
        framework && strcmp(framework, "deepspeed") == 0 && rk_launch_count_of(launch, "zero") == 3;
    const char *held = precision ? precision : "fp32";
    if (quantised) {
        const char *comma = strchr(quantised, ',');
        const size_t length = comma ? (size_t)(comma - quantised) : strlen(quantised);
        held = rk_launch_format(launch, "%.*s base of %s, 16- or 32-bit adapters", (int)length,
                                quantised, comma ? comma + 2 : "4 bits");
    } else if (lora && strcmp(lora, "none") != 0) {
        held = rk_launch_format(launch, "%s base, fp32 adapters", held);
    } else if (rk_launch_is_on(launch, "pure_bf16", false)) {
        held = "bf16 (pure: no fp32 copy)";
    } else if (deepspeed && strcmp(held, "fp32") != 0) {
        held = rk_launch_format(launch, "%s with fp32 masters", held);
    } else {
        held = "fp32 (trainable weights are upcast)";
    }
    rk_hf_state_weights(launch, held, NULL);
}

/* ---- options --------------------------------------------------------------------------------- */

static void state_optimizer(rk_launch *launch)
{
    static const char *const switches[][2] = {{"use_galore", "galore"},
                                              {"use_apollo", "apollo"},
                                              {"use_badam", "badam"},
                                              {"use_adam_mini", "adam-mini"},
                                              {"use_muon", "muon"}};
    for (size_t i = 0; i < COUNT(switches); i++) {
        rk_hf_state_switch(launch, switches[i][0], "optimizer", switches[i][1]);
    }
}

static void state_attention(rk_launch *launch)
{
    static const char *const names[][2] = {{"auto", "sdpa"},
                                           {"sdpa", "sdpa"},
                                           {"disabled", "eager"},
                                           {"fa2", "flash_attention_2"},
                                           {"fa3", "flash_attention_3"}};
    const char *value = rk_launch_value(launch, "flash_attn");
    for (size_t i = 0; value && i < COUNT(names); i++) {
        if (strcmp(value, names[i][0]) == 0) {
            rk_launch_state_by(launch, "attention", names[i][1], "flash_attn");
        }
    }
}

/* Whether the adapters of Megatron-Core train: a switch, USE_MCA=1, or one of their degrees. */
static bool is_megatron(rk_launch *launch)
{
    return rk_launch_is_on(launch, "use_mca", false) ||
           rk_launch_is_on(launch, "use_megatron_bridge", false) ||
           rk_hf_environment(launch, "USE_MCA") > 0 ||
           rk_launch_has(launch, "tensor_model_parallel_size") ||
           rk_launch_has(launch, "pipeline_model_parallel_size");
}

static void state_options(rk_launch *launch)
{
    const bool recompute = !rk_launch_is_on(launch, "disable_gradient_checkpointing", false);
    const char *stage = rk_launch_value(launch, "stage");
    rk_hf_state_switch(launch, "pure_bf16", "precision", "bf16");
    if (!is_megatron(launch)) {
        rk_hf_state_recompute(launch, recompute, "disable_gradient_checkpointing");
    }
    if (rk_launch_is_on(launch, "use_unsloth_gc", false)) {
        rk_hf_add_offload(launch, "activations", rk_launch_find(launch, "use_unsloth_gc"));
    }
    rk_hf_state_switch(launch, "enable_liger_kernel", "loss", "fused (liger)");
    if (rk_launch_is_on(launch, "fp8", false)) {
        const char *gather = "fp8_enable_fsdp_float8_all_gather";
        rk_launch_state_by(launch, "fp8.recipe", "torchao", "fp8");
        rk_launch_state_by(launch, "fp8.param_gather",
                           rk_launch_is_on(launch, gather, false) ? "true" : "false", gather);
        (void)rk_launch_value(launch, "fp8_backend");
    }
    rk_hf_state_switch(launch, "neat_packing", "packing", "true");
    if (stage && strcmp(stage, "pt") == 0) {
        rk_launch_assume_open(launch, "packing", "true");
    }
    rk_launch_assume_count(launch, "seq", rk_hf_is_before(launch, 0, 9) ? 1024 : 2048);
}

/* The processes that Ray or the environment names; without either, all visible devices. */
static void state_processes(rk_launch *launch)
{
    rk_hf_state_environment(launch, true);
    (void)rk_hf_state_count(launch, "ray_num_workers", "processes");
}

/* ---- Megatron -------------------------------------------------------------------------------- */

/* The adapters of Megatron-Core: a distributed optimizer whose exchanges overlap, by default. */
static void state_megatron(rk_launch *launch)
{
    const char *switched =
        rk_launch_is_on(launch, "use_mca", false) ? "use_mca" : "use_megatron_bridge";
    const bool sp =
        rk_launch_is_on(launch, "sequence_parallel", false) && rk_launch_count_of(launch, "tp") > 1;
    const bool sharded = rk_launch_is_on(launch, "use_distributed_optimizer", true);
    const bool grad = rk_launch_is_on(launch, "overlap_grad_reduce", true);
    const bool param = sharded && rk_launch_is_on(launch, "overlap_param_gather", true);
    const bool pp = rk_launch_count_of(launch, "vp") > 1;
    rk_launch_state(launch, "framework", "megatron", RK_FACT_DERIVED,
                    rk_launch_find(launch, switched));
    rk_launch_state(launch, "sp", sp ? "true" : "false", RK_FACT_DERIVED,
                    rk_launch_find(launch, "sequence_parallel"));
    rk_launch_state(launch, "zero", sharded ? "1" : "0", RK_FACT_DERIVED,
                    rk_launch_find(launch, "use_distributed_optimizer"));
    const char *list = rk_launch_format(launch, "%s%s%s", grad ? "+grad" : "",
                                        grad && param ? "+param" : "", pp ? "+pp" : "");
    rk_launch_state(launch, "overlap", *list ? list + 1 : "none", RK_FACT_DERIVED, NULL);
    rk_launch_assume(launch, "recompute.granularity", "none");
    rk_launch_assume(launch, "attention", "auto");
    rk_hf_state_switch(launch, "cross_entropy_loss_fusion", "loss", "fused");
    (void)rk_launch_value(launch, "mixed_precision");
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
    rk_hf_state_model(launch, "model_name_or_path");
    state_processes(launch);
    state_options(launch);
    state_optimizer(launch);
    state_attention(launch);
    const bool megatron = is_megatron(launch);
    if (megatron) {
        state_megatron(launch);
    }
    rk_hf_state_trainer(launch, &(rk_hf_trainer){.micro_batch = 8, .recompute = !megatron});
    state_adapters(launch);
    state_base(launch);
    if (!megatron) {
        state_weights(launch);
    }
    rk_hf_finish_sharding(launch);
    rk_launch_name_packing(launch, "packing", rk_launch_is_on(launch, "neat_packing", false));
    rk_hf_state_objective(launch, rk_launch_value(launch, "stage"));
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_llama_factory = {
    .name = "llama-factory",
    .tables = {"llama-factory", "hf-trainer", "accelerate-yaml", "deepspeed-json",
               "accelerate-launch"},
    .dash_is_underscore = true,
    .words_are_pairs = true,
    .recognise = recognise,
    .prepare = prepare,
    .resolve = resolve,
};
