/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchtune: `tune run RECIPE --config FILE key=value`, and its YAML.  Source: the recipes and
 * torchtune/models of meta-pytorch/torchtune, commit bd2a0fc7c314.
 */
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "launch/reader_kit.h"

#include <string.h>

/* ---- what is trained ------------------------------------------------------------------------- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* "lora_finetune_single_device": the word of the command line that names the recipe; "": none. */
static const char *recipe_of(const rk_launch *launch)
{
    static const char *const endings[] = {"_single_device", "_distributed"};
    for (size_t i = 0; i < launch->word_count; i++) {
        const char *word = launch->words[i].text, *name = rk_launch_base_name(word);
        const bool is_config = i > 0 && strcmp(launch->words[i - 1].text, "--config") == 0;
        for (size_t e = 0; e < COUNT(endings) && !is_config && !strchr(word, '='); e++) {
            if (strstr(name, endings[e])) {
                return name;
            }
        }
    }
    return "";
}

/* Names of the table, which builders extend: "lora_qwen3_8b_instruct" is "qwen3_8b". */
static bool state_builder(rk_launch *launch, const char *builder, const rk_launch_key *by)
{
    static const char *const endings[] = {"", "_instruct", "_base", "_reward"};
    for (size_t i = 0; i < COUNT(endings); i++) {
        if (rk_ends_with(builder, endings[i])) {
            const char *name =
                rk_launch_keep_part(launch, builder, strlen(builder) - strlen(endings[i]));
            if (rk_launch_state_built_model(launch, "torchtune", name, by)) {
                return true;
            }
        }
    }
    return false;
}

static void state_model(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "model._component_");
    key = key ? key : rk_launch_find(launch, "policy_model._component_");
    const char *component = key && key->value ? key->value : "";
    const char *builder = rk_launch_last_part(component);
    const bool quantised = starts_with(builder, "qlora_");
    const bool adapted = quantised || starts_with(builder, "lora_");
    builder += quantised ? strlen("qlora_") : adapted ? strlen("lora_") : 0;
    if (*builder && !state_builder(launch, builder, key)) {
        const char *family = starts_with(component, "torchtune.models.")
                                 ? component + strlen("torchtune.models.")
                                 : component;
        rk_launch_state(
            launch, "model.name",
            rk_launch_format(launch, "%.*s.%s", (int)strcspn(family, "."), family, builder),
            RK_FACT_STATED, key);
    }
    if (adapted) {
        const bool mlp = rk_launch_is_on(launch, "model.apply_lora_to_mlp", false);
        const bool attention = rk_launch_find(launch, "model.lora_attn_modules");
        rk_launch_assume_count(launch, "lora", 8);
        rk_launch_state(launch, "lora_modules",
                        mlp && attention ? "attention+mlp"
                        : mlp            ? "mlp"
                                         : "attention",
                        RK_FACT_DERIVED, NULL);
    } else {
        rk_launch_drop(launch, "lora");
        rk_launch_assume(launch, "lora", "none");
    }
    if (quantised || rk_launch_is_on(launch, "model.quantize_base", false)) {
        rk_launch_state(launch, "qlora", "true", RK_FACT_STATED, key);
    }
}

/* ---- layout ---------------------------------------------------------------------------------- */

static void state_layout(rk_launch *launch, bool single)
{
    static const rk_named_text ones[] = {{"tp", "1"}, {"pp", "1"}, {"vp", "1"},
                                         {"cp", "1"}, {"ep", "1"}, {"sp", "false"}};
    const double shards = rk_launch_number(launch, "data_parallel_shard_dim", -1);
    const int64_t replicas = rk_launch_count_of(launch, "hsdp");
    rk_launch_assume_all(launch, ones, COUNT(ones));
    if (single) {
        rk_launch_assume_count(launch, "nodes", 1);
        rk_launch_assume_count(launch, "gpus_per_node", 1);
    } else if (rk_launch_count_of(launch, "gpus_per_node") > 0) {
        rk_launch_assume_count(launch, "nodes", 1);
    }
    const bool reshard = rk_launch_is_on(launch, "fsdp_reshard_after_forward", true);
    rk_launch_state(launch, "zero",
                    single    ? "0"
                    : reshard ? "3"
                              : "2",
                    RK_FACT_DERIVED, rk_launch_find(launch, "fsdp_reshard_after_forward"));
    rk_launch_assume(launch, "overlap", single ? "none" : "grad+param");
    if (shards >= 1 && shards < 1e9 && replicas <= INT32_MAX) {
        rk_launch_state_count(launch, "dp", (int64_t)shards * (replicas > 0 ? replicas : 1),
                              RK_FACT_STATED, NULL);
        rk_launch_state_processes(launch);
    }
    if (rk_launch_count_of(launch, "cp") > 1) {
        rk_launch_assume(launch, "cp_kind", "all-gather");
    }
}

/* ---- precision and memory -------------------------------------------------------------------- */

/* In bf16 everything is: weights, gradients and moments, without a copy in fp32. */
static void state_precision(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "dtype");
    const char *type = key && key->value ? rk_launch_data_type(launch, key->value) : "bf16";
    const rk_fact_origin origin = key ? RK_FACT_STATED : RK_FACT_DEFAULT;
    rk_launch_state(launch, "precision", type, origin, key);
    rk_launch_state(launch, "gradients", type, origin, key);
    rk_launch_state(launch, "weights_loaded_as", type, origin, key);
}

/* AdamW of PyTorch, or of bitsandbytes: paged to the host when memory runs out, or in 8 bits. */
static void state_optimizer(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "optimizer._component_");
    const char *name =
        rk_launch_lower(launch, key && key->value ? rk_launch_last_part(key->value) : "adamw");
    const bool paged = starts_with(name, "paged"), narrow = strstr(name, "8bit");
    const char *plain = name + (paged ? strlen("paged") : 0);
    const bool adam = starts_with(plain, "adam");
    rk_launch_state(launch, "optimizer",
                    adam && narrow ? rk_launch_format(launch, "%sadam-8bit", paged ? "paged " : "")
                                   : plain,
                    key ? RK_FACT_STATED : RK_FACT_DEFAULT, key);
    if (rk_launch_is_on(launch, "optimizer_in_bwd", false)) {
        rk_launch_state_by(launch, "optimizer_in_backward", "true", "optimizer_in_bwd");
    }
}

static void state_memory(rk_launch *launch)
{
    const rk_launch_key *mode = rk_launch_find(launch, "ac_mode");
    const bool selective = mode && mode->value && strcmp(mode->value, "selective") == 0;
    const bool on = rk_launch_is_on(launch, "enable_activation_checkpointing", false);
    const rk_launch_key *by = rk_launch_find(launch, "enable_activation_checkpointing");
    rk_launch_state(launch, "recompute.granularity",
                    selective ? "selective"
                    : on      ? "full"
                              : "none",
                    mode || by ? RK_FACT_STATED : RK_FACT_DEFAULT, selective ? mode : by);
    if (selective) {
        const char *option = rk_launch_value(launch, "ac_option");
        rk_launch_state(launch, "recompute.option",
                        option && strcmp(option, "op") != 0 ? option : "per operator",
                        RK_FACT_DERIVED, mode);
    }
    const bool host = rk_launch_is_on(launch, "fsdp_cpu_offload", false) ||
                      rk_launch_is_on(launch, "fsdp.cpu_offload", false);
    const bool activations = rk_launch_is_on(launch, "enable_activation_offloading", false);
    rk_launch_state(launch, "offload",
                    host && activations ? "activations+optimizer+weights"
                    : host              ? "optimizer+weights"
                    : activations       ? "activations"
                                        : "none",
                    host || activations ? RK_FACT_STATED : RK_FACT_DEFAULT, NULL);
}

static void state_kernels(rk_launch *launch)
{
    const rk_launch_key *loss = rk_launch_find(launch, "loss._component_");
    const char *name = loss && loss->value ? rk_launch_last_part(loss->value) : "Chunked";
    const bool chunked = strstr(name, "Chunked") || strstr(name, "LinearCrossEntropy");
    rk_launch_state(launch, "loss", chunked ? "chunked" : "full logits", RK_FACT_DERIVED, loss);
    const rk_launch_key *compiled = rk_launch_find(launch, "compile");
    rk_launch_state(launch, "compile", rk_launch_is_on(launch, "compile", false) ? "true" : "false",
                    compiled ? RK_FACT_STATED : RK_FACT_DEFAULT, compiled);
    rk_launch_assume(launch, "packing", "false");
    rk_launch_name_packing(launch, "dataset.packed", true);
    rk_launch_ask_sequence(launch, "tokenizer.max_seq_len");
    rk_launch_assume(launch, "attention", rk_launch_holds(launch, "packing") ? "flex" : "sdpa");
}

/* ---- the reader ------------------------------------------------------------------------------ */

static int recognise(const rk_launch *launch)
{
    static const char *const members[] = {"model", "policy_model", "tokenizer"};
    const json_t *root = rk_launch_document_of(launch, "config");
    for (size_t i = 0; i + 1 < launch->word_count; i++) {
        const char *word = rk_launch_base_name(launch->words[i].text);
        if (strcmp(word, "tune") == 0 && strcmp(launch->words[i + 1].text, "run") == 0) {
            return 8;
        }
    }
    for (size_t i = 0; i < COUNT(members); i++) {
        const char *component =
            json_string_value(json_object_get(json_object_get(root, members[i]), "_component_"));
        if (component && starts_with(component, "torchtune.")) {
            return 8;
        }
    }
    return 0;
}

/* "optimizer=torch.optim.SGD" replaces the component of a section, and keeps its arguments. */
static void rename_components(rk_launch *launch)
{
    static const char *const sections[][2] = {{"optimizer", "optimizer._component_"},
                                              {"model", "model._component_"},
                                              {"loss", "loss._component_"},
                                              {"dataset", "dataset._component_"},
                                              {"tokenizer", "tokenizer._component_"}};
    for (size_t s = 0; s < COUNT(sections); s++) {
        for (size_t i = 0; i < launch->key_count; i++) {
            rk_launch_key *key = &launch->keys[i];
            if (!key->source && strcmp(key->name, sections[s][0]) == 0) {
                key->name = sections[s][1];
            }
        }
    }
}

static rk_status prepare(rk_launch *launch, rk_error *err)
{
    const char *path = rk_launch_value(launch, "config");
    bool found = launch->document_count > 0;
    rk_status status = path && !found ? rk_launch_open_named(launch, path, &found, err) : RK_OK;
    if (!status && !found) {
        status = rk_fail(err, RK_ERR_INVALID,
                         "%s: the job is in the configuration %s, which is not there; 'tune cp %s "
                         ".' writes a copy, which can be given instead",
                         launch->name, path ? path : "of the recipe", path ? path : "CONFIG");
    }
    if (!status && rk_launch_has(launch, "training.batch_size")) {
        rk_launch_shorten_keys(launch, "training."); /* asynchronous GRPO has inference, too */
    }
    if (!status) {
        rename_components(launch);
        rk_launch_interpolate(launch);
    }
    return status;
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    static const char *const objectives[] = {"dpo", "ppo", "grpo"};
    const char *recipe = recipe_of(launch);
    (void)err;
    state_model(launch);
    state_layout(launch, strstr(recipe, "_single_device") != NULL);
    rk_launch_assume_count(launch, "accumulation", 1);
    state_precision(launch);
    state_optimizer(launch);
    state_memory(launch);
    state_kernels(launch);
    for (size_t i = 0; i < COUNT(objectives); i++) {
        if (strstr(recipe, objectives[i])) {
            rk_launch_state(launch, "objective", objectives[i], RK_FACT_STATED, NULL);
        }
    }
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_torchtune = {
    .name = "torchtune",
    .framework = "torchtitan",
    .tables = {"torchtune"},
    .dash_is_underscore = true,
    .words_are_pairs = true,
    .recognise = recognise,
    .prepare = prepare,
    .resolve = resolve,
};
