/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FSDP and accelerate, as launches of the Hugging Face family write them.  Source:
 * huggingface/accelerate src/accelerate/utils/dataclasses.py and commands/launch.py.
 */
#include "base/text.h"
#include "base/units.h"
#include "launch/hugging_face.h"
#include "launch/launch_parts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- FSDP ------------------------------------------------------------------------------------ */

/* Stage of ZeRO that a sharding strategy of FSDP is, by its name or its number. */
static int stage_of_strategy(const char *strategy)
{
    static const struct {
        const char *name, *number;
        int stage;
    } strategies[] = {
        {"FULL_SHARD", "1", 3},         {"SHARD_GRAD_OP", "2", 2}, {"NO_SHARD", "3", 0},
        {"HYBRID_SHARD_ZERO2", "5", 2}, {"HYBRID_SHARD", "4", 3},
    };
    for (size_t i = 0; strategy && i < COUNT(strategies); i++) {
        if (strcasecmp(strategy, strategies[i].name) == 0 ||
            strcmp(strategy, strategies[i].number) == 0) {
            return strategies[i].stage;
        }
    }
    return 3;
}

/* The value of a key of a group whose names may carry "fsdp_": fsdp_config.fsdp_version. */
static const char *fsdp_key(rk_launch *launch, const char *group, const char *name)
{
    const char *key = rk_launch_format(launch, "%s.fsdp_%s", group, name);
    return rk_launch_has(launch, key) ? key : rk_launch_format(launch, "%s.%s", group, name);
}

/* Replicas of a hybrid strategy are the nodes. */
static void state_replicas(rk_launch *launch, const char *strategy, const rk_launch_key *by)
{
    const int64_t nodes = rk_launch_count_of(launch, "nodes");
    if (strategy && strncasecmp(strategy, "HYBRID", strlen("HYBRID")) == 0 && nodes > 0) {
        rk_launch_state_count(launch, "hsdp", nodes, RK_FACT_DERIVED, by);
    }
}

/* FSDP as a group of keys describes it. */
static void state_fsdp_group(rk_launch *launch, const char *group)
{
    const char *version_key = fsdp_key(launch, group, "version");
    const char *strategy_key = fsdp_key(launch, group, "sharding_strategy");
    const char *reshard_key = fsdp_key(launch, group, "reshard_after_forward");
    const double version =
        rk_launch_number(launch, version_key, rk_launch_number(launch, "fsdp_version", 1));
    const rk_launch_key *by = rk_launch_find(launch, strategy_key);
    const char *strategy = by ? by->value : NULL;
    const char *reshard = rk_launch_value(launch, reshard_key);
    const char *truth = reshard ? rk_launch_truth_text(reshard) : NULL;
    int stage = stage_of_strategy(strategy ? strategy : truth ? NULL : reshard);
    if (version >= 2 || (!strategy && truth)) {
        stage = truth && strcmp(truth, "false") == 0 ? 2 : 3;
        by = rk_launch_find(launch, reshard_key);
    }
    rk_launch_state_count(launch, "zero", stage, RK_FACT_STATED,
                          by ? by : rk_launch_find(launch, version_key));
    state_replicas(launch, strategy, by);
    if (rk_launch_is_on(launch, fsdp_key(launch, group, "offload_params"), false)) {
        rk_hf_add_offload(launch, "optimizer+weights",
                          rk_launch_find(launch, fsdp_key(launch, group, "offload_params")));
    }
    const char *checkpointing = fsdp_key(launch, group, "activation_checkpointing");
    if (rk_launch_is_on(launch, checkpointing, false)) {
        rk_hf_state_recompute(launch, true, checkpointing);
    }
    const char *prefetch = rk_launch_value(launch, fsdp_key(launch, group, "backward_prefetch"));
    const bool ahead = (prefetch && strcasecmp(prefetch, "NO_PREFETCH") != 0) || version >= 2 ||
                       rk_launch_is_on(launch, fsdp_key(launch, group, "forward_prefetch"), false);
    rk_launch_assume(launch, "overlap", ahead ? "grad+param" : "grad");
    if (version >= 2) {
        rk_launch_state(launch, "weights", "fp32", RK_FACT_DERIVED, NULL); /* upcast shards */
    }
    (void)rk_launch_value(launch, fsdp_key(launch, group, "transformer_layer_cls_to_wrap"));
    const char *wrap = rk_launch_value(launch, fsdp_key(launch, group, "auto_wrap_policy"));
    if (wrap && strcasecmp(wrap, "NO_WRAP") == 0) {
        rk_launch_mark(launch, fsdp_key(launch, group, "auto_wrap_policy"), RK_KEY_NOT_PRICED,
                       "the whole model is gathered at once, which is not counted");
    }
}

/* Whether keys of a group are there: fsdp_config.fsdp_version. */
static bool has_group(const rk_launch *launch, const char *group)
{
    const size_t length = strlen(group);
    for (size_t i = 0; i < launch->key_count; i++) {
        const char *name = launch->keys[i].name;
        if (strncmp(name, group, length) == 0 && name[length] == '.') {
            return true;
        }
    }
    return false;
}

/* "full_shard auto_wrap", "[\"full_shard\",\"auto_wrap\"]", or the name of a preset or a file. */
static void state_fsdp_words(rk_launch *launch, const char *words, const rk_launch_key *by)
{
    const bool file = rk_ends_with(words, ".json") || rk_hf_has_part(words, "fsdp");
    const bool hybrid = !file && strstr(words, "hybrid_shard") != NULL;
    const bool states =
        !file && (strstr(words, "shard_grad_op") || strstr(words, "hybrid_shard_zero2"));
    const int stage = states ? 2 : !file && strstr(words, "no_shard") ? 0 : 3;
    rk_launch_state_count(launch, "zero", stage, file ? RK_FACT_DERIVED : RK_FACT_STATED, by);
    state_replicas(launch, hybrid ? "HYBRID_SHARD" : NULL, by);
    if (!file && strstr(words, "offload")) {
        rk_hf_add_offload(launch, "optimizer+weights", by);
    }
}

rk_status rk_hf_take_fsdp(rk_launch *launch, const char *words, const char *config, rk_error *err)
{
    const char *list = rk_launch_value(launch, words);
    const char *truth = list ? rk_launch_truth_text(list) : NULL;
    const bool off = !list || (truth && strcmp(truth, "false") == 0) || strcmp(list, "[]") == 0 ||
                     strcmp(list, "") == 0;
    bool found = false;
    rk_status status = !off && rk_ends_with(list, ".json")
                           ? rk_launch_open_named(launch, list, &found, err)
                           : RK_OK;
    const char *file = rk_launch_value(launch, config);
    if (!status && file) {
        const size_t before = launch->key_count;
        status = rk_launch_open_named(launch, file, &found, err);
        for (size_t i = before; i < launch->key_count; i++) { /* as in a file of accelerate */
            launch->keys[i].name = rk_launch_format(launch, "%s.%s", config, launch->keys[i].name);
        }
    }
    if (status || (off && !has_group(launch, config))) {
        return status;
    }
    rk_launch_state(launch, "framework", RK_HF_FRAMEWORK, RK_FACT_DERIVED, NULL);
    (void)rk_launch_value(launch, "fsdp_transformer_layer_cls_to_wrap");
    if (!off) {
        state_fsdp_words(launch, list, rk_launch_find(launch, words));
    }
    if (has_group(launch, config)) {
        state_fsdp_group(launch, config);
    }
    return RK_OK;
}

rk_status rk_hf_take_files(rk_launch *launch, const rk_hf_preset *presets, rk_error *err)
{
    rk_hf_assume_layout(launch);
    rk_status status = rk_hf_take_accelerate(launch, err);
    status = status ? status : rk_hf_take_deepspeed(launch, "deepspeed", presets, err);
    return status ? status : rk_hf_take_fsdp(launch, "fsdp", "fsdp_config", err);
}

/* ---- accelerate ------------------------------------------------------------------------------ */

/* Files of examples/accelerate_configs of TRL, recipes/accelerate_configs of the alignment
 * handbook, and examples/accelerate of LLaMA-Factory; FSDP has a stage above 3. */
enum { FSDP = 10 };

static const struct {
    const char *name;
    int stage, processes; /* 0 processes: they differ */
} accelerate_files[] = {
    {"deepspeed_zero1", 1, 8},
    {"deepspeed_zero2", 2, 8},
    {"deepspeed_zero3", 3, 8},
    {"zero3", 3, 8},
    {"zero2", 2, 8},
    {"zero1", 1, 8},
    {"fsdp1", FSDP, 8},
    {"fsdp2", FSDP, 8},
    {"fsdp", FSDP, 8},
    {"fsdp_config", FSDP, 2},
    {"fsdp2_config", FSDP, 2},
    {"multi_gpu", 0, 8},
    {"ddp", 0, 8},
    {"single_gpu", 0, 1},
};

/* Flags of `accelerate launch` are keys of its file by another name. */
static const char *file_key(rk_launch *launch, const char *flag)
{
    static const char *const deepspeed[] = {"zero_stage",           "offload_optimizer_device",
                                            "offload_param_device", "deepspeed_config_file",
                                            "zero3_init_flag",      "gradient_accumulation_steps"};
    static const char *const groups[][2] = {{"fsdp_", "fsdp_config"},
                                            {"parallelism_config_", "parallelism_config"},
                                            {"megatron_lm_", "megatron_lm_config"},
                                            {"fp8_", "fp8_config"},
                                            {"dynamo_", "dynamo_config"}};
    for (size_t i = 0; i < COUNT(deepspeed); i++) {
        if (strcmp(flag, deepspeed[i]) == 0) {
            return rk_launch_format(launch, "deepspeed_config.%s", flag);
        }
    }
    for (size_t i = 0; i < COUNT(groups); i++) {
        if (strncmp(flag, groups[i][0], strlen(groups[i][0])) == 0) {
            return rk_launch_format(launch, "%s.%s", groups[i][1], flag);
        }
    }
    return flag;
}

/* The flags between `accelerate launch` and the program as keys of its file. */
static void cut_accelerate_words(rk_launch *launch)
{
    const size_t end = launch->program < launch->word_count ? launch->program : 0;
    for (size_t i = rk_hf_find_word(launch, "accelerate"); i < end; i++) {
        const char *word = launch->words[i].text;
        if (strncmp(word, "--", 2) != 0) {
            continue;
        }
        const size_t length = strcspn(word + 2, "=");
        char *flag = (char *)(uintptr_t)rk_launch_keep_part(launch, word + 2, length);
        for (char *c = flag; *c; c++) {
            *c = *c == '-' ? '_' : *c;
        }
        const bool joined = word[2 + length] == '=';
        const bool alone = i + 1 >= end || launch->words[i + 1].text[0] == '-';
        const rk_launch_key key = {
            .name = file_key(launch, flag),
            .value = joined  ? word + 2 + length + 1
                     : alone ? "true"
                             : launch->words[i + 1].text,
            .line = launch->words[i].line,
        };
        rk_launch_add_key(launch, &key);
    }
}

static void state_processes(rk_launch *launch)
{
    const double processes = rk_launch_number(launch, "num_processes", 0);
    (void)rk_hf_state_count(launch, "num_machines", "nodes");
    if (rk_hf_state_count(launch, "num_processes", "processes")) {
        const int64_t count = rk_launch_count_of(launch, "nodes");
        if (count > 0 && (int64_t)processes % count == 0) {
            rk_launch_state_count(launch, "gpus_per_node", (int64_t)processes / count,
                                  RK_FACT_DERIVED, NULL);
        }
    }
}

static void state_parallelism(rk_launch *launch)
{
    static const char start[] = "parallelism_config.parallelism_config_";
    char key[sizeof(start) + 32];
    (void)snprintf(key, sizeof(key), "%sdp_replicate_size", start);
    rk_hf_take_degree(launch, key, "hsdp");
    (void)snprintf(key, sizeof(key), "%stp_size", start);
    rk_hf_take_degree(launch, key, "tp");
    (void)snprintf(key, sizeof(key), "%ssp_size", start);
    rk_hf_state_ulysses(launch, key);
    (void)snprintf(key, sizeof(key), "%scp_size", start);
    rk_hf_take_degree(launch, key, "cp");
    if (rk_launch_number(launch, key, 0) > 1) {
        (void)snprintf(key, sizeof(key), "%scp_comm_strategy", start);
        const char *strategy = rk_launch_value(launch, key);
        const bool ring = strategy && strcmp(strategy, "alltoall") == 0;
        rk_launch_state(launch, "cp_kind", ring ? "ring" : "all-gather", RK_FACT_DERIVED, NULL);
    }
    (void)snprintf(key, sizeof(key), "%sdp_shard_size", start);
    if (rk_launch_number(launch, key, 0) > 1) {
        rk_launch_state(launch, "zero", "3", RK_FACT_DERIVED, rk_launch_find(launch, key));
    }
}

static void state_megatron_plugin(rk_launch *launch)
{
    rk_launch_state(launch, "framework", "megatron", RK_FACT_DERIVED, NULL);
    rk_hf_take_degree(launch, "megatron_lm_config.megatron_lm_tp_degree", "tp");
    rk_hf_take_degree(launch, "megatron_lm_config.megatron_lm_pp_degree", "pp");
    rk_hf_take_degree(launch, "megatron_lm_config.megatron_lm_context_parallel_size", "cp");
    rk_hf_take_degree(launch, "megatron_lm_config.megatron_lm_expert_model_parallel_size", "ep");
    rk_hf_take_degree(launch, "megatron_lm_config.megatron_lm_num_micro_batches", "accumulation");
    rk_hf_state_switch(launch, "megatron_lm_config.megatron_lm_use_distributed_optimizer", "zero",
                       "1");
    rk_hf_state_switch(launch, "megatron_lm_config.megatron_lm_sequence_parallelism", "sp", "true");
    rk_hf_state_switch(launch, "megatron_lm_config.megatron_lm_recompute_activations",
                       "recompute.granularity", "selective");
}

static rk_status state_deepspeed_plugin(rk_launch *launch, rk_error *err)
{
    static const char stage_key[] = "deepspeed_config.zero_stage";
    if (rk_launch_value(launch, "deepspeed_config.deepspeed_config_file")) {
        return rk_hf_take_deepspeed(launch, "deepspeed_config.deepspeed_config_file", NULL, err);
    }
    const double number = rk_launch_number(launch, stage_key, 2);
    const int64_t stage = number >= 0 && number <= 3 ? (int64_t)number : 2;
    rk_launch_state(launch, "framework", "deepspeed", RK_FACT_DERIVED, NULL);
    rk_launch_state_count_by(launch, "zero", stage, stage_key);
    rk_launch_state(launch, "overlap", rk_hf_overlap_of(stage, stage == 3), RK_FACT_DERIVED, NULL);
    rk_hf_take_device(launch, "deepspeed_config.offload_optimizer_device", "optimizer");
    rk_hf_take_device(launch, "deepspeed_config.offload_param_device", "weights");
    const double steps =
        rk_launch_number(launch, "deepspeed_config.gradient_accumulation_steps", 0);
    if (steps >= 1 && steps <= INT32_MAX) {
        rk_launch_state_count(launch, "accumulation", (int64_t)steps, RK_FACT_DERIVED, NULL);
    }
    return RK_OK;
}

/* With FP8 products of Transformer Engine or torchao the rest is computed in bf16. */
static void state_mixed_precision(rk_launch *launch)
{
    const rk_launch_key *by = rk_launch_find(launch, "mixed_precision");
    const char *value = by ? by->value : NULL;
    const char *precision = rk_launch_precision_name(value);
    if (precision) {
        rk_launch_state(launch, "precision", precision, RK_FACT_STATED, by);
    } else if (value && strcasecmp(value, "fp8") == 0) {
        const char *format = rk_launch_value(launch, "fp8_config.fp8_format");
        const char *backend = rk_launch_value(launch, "fp8_config.backend");
        backend = backend ? backend : rk_launch_value(launch, "fp8_config.fp8_backend");
        const bool e4m3 = format && strcasecmp(format, "E4M3") == 0;
        const bool torchao =
            backend && (strcasecmp(backend, "AO") == 0 || strcasecmp(backend, "TORCHAO") == 0);
        rk_launch_state(launch, "precision", "bf16", RK_FACT_DERIVED, by);
        rk_launch_state(launch, "fp8.format", e4m3 ? "e4m3" : "hybrid", RK_FACT_STATED, by);
        rk_launch_state(launch, "fp8.recipe", torchao ? "torchao" : "delayed", RK_FACT_DERIVED, by);
    }
}

/* Whether a flag or the file chooses a plugin. */
static bool runs_as(rk_launch *launch, const char *flag, const char *name)
{
    const char *type = rk_launch_value(launch, "distributed_type");
    return rk_launch_is_on(launch, flag, false) || (type && strcasecmp(type, name) == 0);
}

rk_status rk_hf_state_accelerate(rk_launch *launch, rk_error *err)
{
    const rk_launch_key *by = rk_launch_find(launch, "distributed_type");
    const bool fsdp = runs_as(launch, "use_fsdp", "FSDP");
    const bool deepspeed = runs_as(launch, "use_deepspeed", "DEEPSPEED");
    const bool megatron = runs_as(launch, "use_megatron_lm", "MEGATRON_LM");
    (void)rk_launch_value(launch, "multi_gpu");
    const char *compiler = rk_launch_value(launch, "dynamo_config.dynamo_backend");
    if (compiler && strcasecmp(compiler, "no") != 0) {
        rk_launch_state_by(launch, "compile", "true", "dynamo_config.dynamo_backend");
    }
    state_processes(launch);
    state_parallelism(launch);
    state_mixed_precision(launch);
    if (megatron) {
        state_megatron_plugin(launch);
    }
    if (deepspeed) {
        return state_deepspeed_plugin(launch, err);
    }
    if (fsdp) {
        rk_launch_state(launch, "framework", RK_HF_FRAMEWORK, RK_FACT_DERIVED, NULL);
        state_fsdp_group(launch, "fsdp_config");
    } else if (by && by->value && !megatron) {
        rk_launch_state(launch, "zero", "0", RK_FACT_STATED, by);
    }
    return RK_OK;
}

/* A missing file of accelerate: one that a framework ships, or whose name says the stage. */
static void state_accelerate_name(rk_launch *launch, const char *key)
{
    const rk_launch_key *by = rk_launch_find(launch, key);
    const char *name = rk_hf_plain_name(launch, by->value);
    int stage = rk_hf_stage_of_name(name);
    stage = stage < 0 && rk_hf_has_part(name, "fsdp") ? FSDP : stage;
    for (size_t i = 0; i < COUNT(accelerate_files); i++) {
        if (strcmp(accelerate_files[i].name, name) == 0) {
            stage = accelerate_files[i].stage;
            if (accelerate_files[i].processes > 0) {
                rk_launch_state_count(launch, "processes", accelerate_files[i].processes,
                                      RK_FACT_DERIVED, by);
            }
        }
    }
    if (stage < 0) {
        rk_launch_mark(launch, key, RK_KEY_NOT_PRICED,
                       rk_launch_format(launch,
                                        "%s is not here: put it next to the launch, or give "
                                        "accelerators and ZeRO stage",
                                        by->value));
        return;
    }
    rk_launch_state_count(launch, "zero", stage == FSDP ? 3 : stage, RK_FACT_DERIVED, by);
    if (stage == FSDP) {
        rk_launch_state(launch, "framework", RK_HF_FRAMEWORK, RK_FACT_DERIVED, by);
    } else if (stage > 0) {
        rk_launch_state(launch, "framework", "deepspeed", RK_FACT_DERIVED, by);
        rk_launch_state(launch, "overlap", rk_hf_overlap_of(stage, stage == 3), RK_FACT_DERIVED,
                        by);
    }
}

rk_status rk_hf_take_accelerate(rk_launch *launch, rk_error *err)
{
    cut_accelerate_words(launch);
    bool found = rk_launch_document_of(launch, "accelerate") != NULL;
    /* TRL names its own files by --accelerate_config. */
    const char *key =
        rk_launch_has(launch, "accelerate_config") ? "accelerate_config" : "config_file";
    const char *path = rk_launch_value(launch, key);
    if (path && !found) {
        const rk_status status = rk_launch_open_named(launch, path, &found, err);
        if (status) {
            return status;
        }
        if (!found) {
            state_accelerate_name(launch, key);
        }
    }
    return found || rk_launch_runs_by(launch, "accelerate") ||
                   rk_launch_has(launch, "num_processes")
               ? rk_hf_state_accelerate(launch, err)
               : RK_OK;
}

/* ---- what is left ---------------------------------------------------------------------------- */

static bool is_fact(const rk_launch *launch, const char *field, const char *value)
{
    const char *found = rk_launch_fact_of(launch, field);
    return found && strcmp(found, value) == 0;
}

/* Whether bitsandbytes holds the frozen model in 4 or 8 bits. */
static bool is_quantised(const rk_launch *launch)
{
    return rk_launch_holds(launch, "qlora") || rk_launch_holds(launch, "base_8bit");
}

/* States the types of gradients and of moments. */
static void state_types(rk_launch *launch, const char *gradients, const char *moments)
{
    const char *optimizer = rk_launch_fact_of(launch, "optimizer");
    rk_launch_state(launch, "gradients", gradients, RK_FACT_DERIVED, NULL);
    if (optimizer && strstr(optimizer, "adam") && !strstr(optimizer, "bit")) {
        rk_launch_state(launch, "states.exp_avg", moments, RK_FACT_DERIVED, NULL);
        rk_launch_state(launch, "states.exp_avg_sq", moments, RK_FACT_DERIVED, NULL);
    }
}

/*
 * States of full training: 2 + 2 + 12 bytes of a parameter under DeepSpeed, which keeps masters of
 * weights in 16 bits; 2 + 2 + 4 of weights in 16 bits elsewhere; 4 + 4 + 8 of weights in 32.
 */
static void state_states(rk_launch *launch)
{
    const char *held = rk_launch_fact_of(launch, "weights_loaded_as");
    const char *precision = rk_launch_fact_of(launch, "precision");
    const bool wide = held && strncmp(held, "fp32", 4) == 0;
    const bool narrow =
        precision && (strcmp(precision, "bf16") == 0 || strcmp(precision, "fp16") == 0);
    if (rk_launch_fact_of(launch, "lora") && !is_fact(launch, "lora", "none")) {
        if (wide && is_fact(launch, "framework", RK_HF_FRAMEWORK) && !is_quantised(launch) &&
            !rk_launch_fact_of(launch, "base_quantised")) { /* the frozen model, too */
            rk_launch_state(launch, "weights", "fp32", RK_FACT_DERIVED, NULL);
        }
    } else if (held && narrow && is_fact(launch, "framework", "deepspeed")) {
        rk_launch_state(launch, "states.main_params", "fp32", RK_FACT_DERIVED, NULL);
        state_types(launch, precision, "fp32");
    } else if (wide || (held && is_fact(launch, "weights", "fp32"))) {
        rk_launch_state(launch, "weights", "fp32", RK_FACT_DERIVED, NULL);
        state_types(launch, "fp32", "fp32");
    } else if (held && (strncmp(held, "bf16", 4) == 0 || strncmp(held, "fp16", 4) == 0)) {
        const char *type = rk_launch_keep_part(launch, held, 4);
        rk_launch_state(launch, "weights", type, RK_FACT_DERIVED, NULL);
        state_types(launch, type, type);
    }
}

/* Replicas keep the type of the checkpoint, which a launch does not say; FSDP makes it fp32. */
static void name_stored_type(rk_launch *launch)
{
    const rk_launch_key key = {
        .name = "type of the checkpoint",
        .use = RK_KEY_NOT_PRICED,
        .note = "weights train in it, and are priced in fp32; if it is bf16, give --weights bf16",
    };
    if (is_fact(launch, "weights_loaded_as", "as stored") && is_fact(launch, "lora", "none") &&
        is_fact(launch, "framework", RK_HF_FRAMEWORK) && rk_launch_count_of(launch, "zero") == 0) {
        rk_launch_add_key(launch, &key);
    }
}

/* bitsandbytes quantises linear layers; the fused experts of transformers are not linear layers. */
static void name_wide_experts(rk_launch *launch)
{
    const rk_launch_key key = {
        .name = "experts of the frozen model",
        .use = RK_KEY_NOT_PRICED,
        .note = "they stay in 16 bits, and are priced as quantised like the other layers",
    };
    if (is_quantised(launch) && rk_launch_count_of(launch, "model.experts") > 1 &&
        !rk_launch_is_on(launch, "quantize_moe_experts", false)) {
        rk_launch_add_key(launch, &key);
    }
}

void rk_hf_finish_sharding(rk_launch *launch)
{
    name_wide_experts(launch);
    rk_launch_assume_open(launch, "framework", RK_HF_FRAMEWORK);
    name_stored_type(launch);
    rk_hf_class_batch(launch);
    rk_launch_assume_open(launch, "overlap",
                          rk_launch_count_of(launch, "zero") >= 2 ? "grad+param" : "grad");
    state_states(launch);
}
