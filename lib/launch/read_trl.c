/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of TRL: its scripts, `trl sft`, and recipes for them.  Source: huggingface/trl
 * trl/trainer/base_config.py, sft_config.py, grpo_config.py, model_config.py; defaults of
 * releases are read at their tags.
 */
#include "base/text.h"
#include "base/units.h"
#include "launch/hugging_face.h"

#include <string.h>

/* Trainers by the names of scripts and of the commands of `trl`. */
static const char *const trainers[] = {"sft",  "dpo",  "grpo", "kto",    "reward", "rloo",
                                       "ppo",  "orpo", "cpo",  "gkd",    "bco",    "online_dpo",
                                       "prm",  "xpo",  "nash", "gspo",   "tpo",    "gold",
                                       "sdpo", "ssd",  "mpo",  "distil", "sdft",   "minillm"};

/*
 * The trainer in the name of a program or a command, from where its word begins: "run_dpo.py" is
 * dpo, "train_grpo.py" grpo.
 */
static const char *trainer_name(const char *program)
{
    for (const char *word = program; *word;) {
        for (size_t i = 0; i < COUNT(trainers); i++) {
            if (strncmp(word, trainers[i], strlen(trainers[i])) == 0) {
                return word;
            }
        }
        word += strcspn(word, "_-");
        word += strspn(word, "_-");
    }
    return NULL;
}

/* The trainer of `trl COMMAND`, a script or a module; NULL: not known. */
static const char *find_trainer(const rk_launch *launch)
{
    const size_t command = rk_hf_find_word(launch, "trl");
    if (command + 1 < launch->word_count) {
        return trainer_name(launch->words[command + 1].text);
    }
    const char *program = rk_launch_program(launch);
    /* a module: trl.scripts.sft */
    const char *dot = rk_ends_with(program, ".py") ? NULL : strrchr(program, '.');
    return trainer_name(dot ? dot + 1 : program);
}

static int recognise(const rk_launch *launch)
{
    static const char *const flags[] = {"model_name_or_path", "config", NULL};
    const size_t command = rk_hf_find_word(launch, "trl");
    const char *path =
        launch->program < launch->word_count ? launch->words[launch->program].text : "";
    const bool trainer = find_trainer(launch) != NULL;
    const bool recipe = rk_hf_document_has(launch, "model_name_or_path") ||
                        (rk_hf_document_has(launch, "model_id") &&
                         rk_hf_document_has(launch, "per_device_train_batch_size"));
    if (command + 1 < launch->word_count && trainer) {
        return 9;
    }
    if (strstr(path, "trl/scripts/") || strncmp(path, "trl.", strlen("trl.")) == 0 ||
        (strstr(path, "examples/scripts/") && trainer)) {
        return 8;
    }
    if (trainer && (recipe || rk_launch_count_flags(launch, flags) > 0)) {
        return 5;
    }
    return recipe ? 2 : 0;
}

/* The recipe of a line: the value of --config, or a bare word as older scripts took it. */
static const char *own_file(const rk_launch *launch)
{
    for (size_t i = launch->program; i < launch->word_count; i++) {
        const char *word = launch->words[i].text;
        const char *last = i > 0 ? launch->words[i - 1].text : "";
        if (strncmp(word, "--config=", strlen("--config=")) == 0) {
            return word + strlen("--config=");
        }
        if ((rk_ends_with(word, ".yaml") || rk_ends_with(word, ".yml")) &&
            (strcmp(last, "--config") == 0 || last[0] != '-')) {
            return word;
        }
    }
    return NULL;
}

/* GRPO and its relatives train on prompt and completion: both together are the sequence. */
static void state_sequence(rk_launch *launch, const char *trainer)
{
    const bool grouped =
        trainer && (strncmp(trainer, "grpo", 4) == 0 || strncmp(trainer, "gspo", 4) == 0 ||
                    strncmp(trainer, "rloo", 4) == 0);
    const bool old = rk_hf_is_before(launch, 0, 28);
    const double prompt = rk_launch_number(launch, "max_prompt_length", old ? 512 : 0);
    const double completion = rk_launch_number(launch, "max_completion_length", old ? 256 : 512);
    if (grouped && prompt >= 0 && completion >= 1 && prompt + completion <= INT32_MAX) {
        rk_launch_state_count(launch, "seq", (int64_t)(prompt + completion), RK_FACT_DERIVED,
                              rk_launch_find(launch, "max_completion_length"));
    }
    rk_launch_assume_count(launch, "seq", 1024);
}

static void state_adapters(rk_launch *launch)
{
    if (!rk_launch_is_on(launch, "use_peft", false)) {
        rk_launch_assume(launch, "lora", "none");
        rk_launch_mark(launch, "lora_", RK_KEY_WITHOUT_COST, RK_HF_NO_ADAPTERS);
        return;
    }
    rk_hf_state_adapters(launch, "lora_r", 16, "lora_target_modules");
    rk_hf_state_adapter_dropout(launch, 0.05);
    rk_launch_assume(launch, "lora_modules", "attention"); /* of PEFT: queries and values */
}

static void state_base(rk_launch *launch)
{
    rk_hf_state_switch(launch, "load_in_4bit", "qlora", "true");
    rk_hf_state_switch(launch, "load_in_8bit", "base_8bit", "true");
    rk_hf_state_nested(launch, "use_bnb_nested_quant", false);
    const char *key = rk_launch_has(launch, "dtype") ? "dtype" : "torch_dtype";
    const char *value = rk_launch_value(launch, key);
    const char *type = rk_launch_precision_name(value);
    if (value) {
        rk_hf_state_weights(launch, type ? type : "as stored", rk_launch_find(launch, key));
    }
    rk_hf_state_weights(launch, "fp32", NULL);
}

/* Releases since 1.6 compute the loss of supervised training in chunks, but not with Liger. */
static void state_loss(rk_launch *launch, const char *trainer)
{
    const bool sft = !trainer || strncmp(trainer, "sft", strlen("sft")) == 0;
    if (!sft || rk_launch_is_on(launch, "use_liger_kernel", false)) {
        return;
    }
    const char *type = rk_launch_value(launch, "loss_type");
    const bool chunked = type ? strcmp(type, "chunked_nll") == 0 : !rk_hf_is_before(launch, 1, 6);
    if (chunked) {
        rk_launch_state(launch, "loss", "chunked", type ? RK_FACT_STATED : RK_FACT_DEFAULT,
                        rk_launch_find(launch, "loss_type"));
    }
}

static rk_status prepare(rk_launch *launch, rk_error *err)
{
    return rk_hf_open_options(launch, own_file(launch), err);
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const char *trainer = find_trainer(launch);
    (void)rk_launch_value(launch, "config"); /* own_file */
    const rk_status status = rk_hf_take_files(launch, NULL, err);
    if (status) {
        return status;
    }
    rk_hf_state_single(launch);
    rk_hf_state_model(launch,
                      rk_launch_has(launch, "model_id") ? "model_id" : "model_name_or_path");
    state_sequence(launch, trainer);
    state_loss(launch, trainer);
    state_base(launch);
    state_adapters(launch);
    rk_hf_state_switch(launch, "use_flash_attention_2", "attention", "flash_attention_2");
    rk_hf_state_trainer(launch, &(rk_hf_trainer){.micro_batch = 8,
                                                 .bf16 = !rk_hf_is_before(launch, 0, 19),
                                                 .recompute = !rk_hf_is_before(launch, 0, 22)});
    if (rk_launch_is_on(launch, "activation_offloading", false)) {
        rk_hf_add_offload(launch, "activations", rk_launch_find(launch, "activation_offloading"));
    }
    rk_hf_finish_sharding(launch);
    rk_launch_name_packing(launch, "packing", true);
    rk_hf_state_objective(launch, trainer);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_trl = {
    .name = "trl",
    .tables = {"trl", "hf-trainer", "accelerate-yaml", "deepspeed-json", "accelerate-launch"},
    .dash_is_underscore = true,
    .recognise = recognise,
    .prepare = prepare,
    .resolve = resolve,
};
