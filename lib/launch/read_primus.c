/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations of Primus with its Megatron backend: the overrides of a module over its model file
 * and primus/configs/modules/megatron (AMD-AGI/Primus fd1eeabb).
 */
#include "base/error.h"
#include "launch/launch_parts.h"
#include "launch/megatron_kit.h"

#include <stdio.h>
#include <string.h>

static const char *const modules[] = {"pre_trainer", "post_trainer", "sft_trainer", NULL};

static const rk_megatron_kit primus = {
    .starts = (const char *const[]){"", NULL},
    .precision = "bf16",
    .loss = "unfused",
    .gradients = "fp32",
    .dispatcher = "alltoall",
    .distributed = true,
    .whole_experts = true,
    .sequence = true, /* of its model files */
    .grouped = true,
};

/* The module that trains; NULL: none. */
static const char *module_of(const rk_launch *launch)
{
    char path[64];
    for (size_t i = 0; modules[i]; i++) {
        (void)snprintf(path, sizeof(path), "modules.%s", modules[i]);
        if (rk_kit_member(launch, path)) {
            return modules[i];
        }
    }
    return NULL;
}

static const char *member_of(const rk_launch *launch, const char *module, const char *member)
{
    char path[96];
    (void)snprintf(path, sizeof(path), "modules.%s.%s", module, member);
    return json_string_value(rk_kit_member(launch, path));
}

static int recognise(const rk_launch *launch)
{
    const char *module = module_of(launch);
    const char *framework = module ? member_of(launch, module, "framework") : NULL;
    const bool named = !module && (strcmp(rk_launch_program(launch), "primus-cli") == 0 ||
                                   rk_launch_environment(launch, "EXP"));
    return framework && strcmp(framework, "megatron") == 0 ? 8 : named ? 3 : 0;
}

/*
 * "primus-cli train pretrain --config FILE" and "EXP=FILE run_pretrain.sh": the file, where the
 * launch does not hold it.
 */
static rk_status open_config(rk_launch *launch, rk_error *err)
{
    bool found = false;
    const char *path = rk_launch_environment(launch, "EXP");
    for (size_t i = 0; i + 1 < launch->word_count; i++) {
        path = strcmp(launch->words[i].text, "--config") == 0 ? launch->words[i + 1].text : path;
    }
    if (!path || module_of(launch)) {
        return RK_OK;
    }
    const rk_status status = rk_launch_open_named(launch, path, &found, err);
    return status || found ? status
                           : rk_fail(err, RK_ERR_INVALID,
                                     "%s: its configuration %.200s is not next to it; give that "
                                     "file",
                                     launch->name, path);
}

/* Removes the module from the names of its settings. */
static rk_status prepare(rk_launch *launch, rk_error *err)
{
    char section[96];
    const rk_status status = open_config(launch, err);
    for (size_t i = 0; modules[i]; i++) {
        (void)snprintf(section, sizeof(section), "modules.%s.overrides.", modules[i]);
        rk_kit_strip(launch, section);
        (void)snprintf(section, sizeof(section), "modules.%s.", modules[i]);
        rk_kit_strip(launch, section);
    }
    const char *module = module_of(launch);
    const char *framework = module ? member_of(launch, module, "framework") : NULL;
    if (!status && framework && strcmp(framework, "megatron") != 0) {
        return rk_fail(err, RK_ERR_INVALID, "%s: runs %.40s; name its reader with --reader",
                       launch->name, framework);
    }
    return status;
}

static void state_adapters(rk_launch *launch)
{
    const rk_launch_key *key = rk_launch_find(launch, "lora.dim");
    const char *modules_of = rk_launch_value(launch, "lora.target_modules");
    const double rank = rk_launch_number(launch, "lora.dim", 32);
    if (!rk_launch_is_on(launch, "lora.enabled", false) || rank < 1 || rank > INT32_MAX) {
        rk_kit_state(launch, "lora", NULL, NULL, "none");
        return;
    }
    rk_launch_state_count(launch, "lora", (int64_t)rank, RK_FACT_STATED, key);
    if (modules_of) {
        const bool mixer = strstr(modules_of, "linear_qkv") || strstr(modules_of, "linear_proj");
        const bool ffn = strstr(modules_of, "linear_fc") != NULL;
        rk_launch_state_by(launch, "lora_modules",
                           mixer && ffn ? "attention+mlp"
                           : ffn        ? "mlp"
                                        : "attention",
                           "lora.target_modules");
    }
}

/* Schedules of Primus's pipeline: zero bubble, and its V shapes. */
static void state_schedule(rk_launch *launch)
{
    if (rk_launch_count_of(launch, "pp") < 2) {
        return;
    }
    if (rk_launch_is_on(launch, "patch_zero_bubble", false)) {
        const bool v = rk_launch_is_on(launch, "zero_bubble_v_schedule", false);
        rk_launch_state_by(launch, "schedule", v ? "zb-v" : "zb-h1", "patch_zero_bubble");
    }
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const rk_launch_key *model = rk_launch_find(launch, "model");
    (void)err;
    if (model && model->value) {
        rk_kit_state_model(launch, model->value, model);
    }
    const rk_launch_key *optimizer = rk_launch_find(launch, "optimizer");
    rk_kit_state(launch, "optimizer", optimizer, optimizer ? optimizer->value : NULL, "adam");
    rk_kit_resolve(launch, &primus);
    rk_kit_state(launch, "hsdp", NULL, NULL, "1");
    rk_kit_state(launch, "micro_batch", NULL, NULL, "2");
    rk_kit_state(launch, "global_batch", NULL, NULL, "16");
    rk_kit_state(launch, "attention", NULL, NULL, "auto");
    rk_kit_state_vocabulary(launch, rk_launch_count_of(launch, "model.vocab"),
                            rk_launch_number(launch, "make_vocab_size_divisible_by", 128),
                            RK_FACT_DERIVED);
    if (!rk_launch_has(launch, "untie_embeddings_and_output_weights")) {
        rk_launch_state(launch, "model.tied", "false", RK_FACT_DERIVED, NULL);
    }
    if (rk_launch_count_of(launch, "model.experts") > 0) {
        rk_kit_state(launch, "model.moe_layer_freq", NULL, NULL, "1");
    }
    state_schedule(launch);
    state_adapters(launch);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_primus = {
    .name = "primus",
    .framework = "primus",
    .tables = {"primus"},
    .recognise = recognise,
    .prepare = prepare,
    .resolve = resolve,
};
