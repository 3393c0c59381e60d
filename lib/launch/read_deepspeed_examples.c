/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of DeepSpeedExamples: DeepSpeed-Chat, and programs that fine-tune with offload.  Source:
 * deepspeedai/DeepSpeedExamples applications/DeepSpeed-Chat/training,
 * training/DeepSpeed-SuperOffload/finetune_zero3.py, training/DeepSpeed-ZenFlow/finetuning.
 */
#include "launch/hugging_face.h"

#include <string.h>

/* Programs with their own configuration; their --batch_size is the batch of all ranks. */
static bool is_finetune(const rk_launch *launch)
{
    return strncmp(rk_launch_program(launch), "finetune_", strlen("finetune_")) == 0 &&
           (rk_hf_find_word(launch, "--batch_size") < launch->word_count ||
            rk_hf_find_word(launch, "--model_name") < launch->word_count);
}

static int recognise(const rk_launch *launch)
{
    const bool chat = strcmp(rk_launch_program(launch), "main.py") == 0 &&
                      (rk_hf_find_word(launch, "--zero_stage") < launch->word_count ||
                       rk_hf_find_word(launch, "--actor_zero_stage") < launch->word_count ||
                       rk_hf_find_word(launch, "--actor_model_name_or_path") < launch->word_count);
    return rk_launch_runs_by(launch, "deepspeed") && (chat || is_finetune(launch)) ? 6 : 0;
}

/* A count under a key, or the program's default. */
static void state_size(rk_launch *launch, const char *key, const char *field, int64_t usual)
{
    if (!rk_hf_state_count(launch, key, field)) {
        rk_launch_assume_count(launch, field, usual);
    }
}

static void state_stage(rk_launch *launch, const char *key)
{
    const double stage = rk_launch_number(launch, key, 0);
    const rk_launch_key *by = rk_launch_find(launch, key);
    const int64_t zero = stage >= 0 && stage <= 3 ? (int64_t)stage : 0;
    rk_launch_state_count(launch, "zero", zero, by ? RK_FACT_STATED : RK_FACT_DEFAULT, by);
    rk_launch_assume(launch, "overlap", rk_hf_overlap_of(zero, zero == 3));
}

/* --offload sends the optimizer to the host, at stage 3 the weights too; Adam runs there then. */
static void state_offload(rk_launch *launch)
{
    const bool on = rk_launch_is_on(launch, "offload", false);
    const rk_launch_key *by = rk_launch_find(launch, "offload");
    const int64_t zero = rk_launch_count_of(launch, "zero");
    if (on && zero > 0) {
        rk_launch_state(launch, "offload", zero == 3 ? "optimizer+weights" : "optimizer",
                        RK_FACT_STATED, by);
    }
    rk_launch_assume(launch, "optimizer", on ? "cpu adam" : "fused adam");
}

static void state_adapters(rk_launch *launch, const char *rank, const char *modules)
{
    if (rk_launch_number(launch, rank, 0) >= 1) {
        rk_hf_state_adapters(launch, rank, 0, NULL);
        rk_launch_assume(launch, "lora_modules", "attention,mlp"); /* all linear layers named so */
        (void)rk_launch_value(launch, modules);
    } else {
        rk_launch_assume(launch, "lora", "none");
    }
}

/* The third step trains an actor and a critic on what the actor generates. */
static void resolve_rlhf(rk_launch *launch)
{
    const double prompt = rk_launch_number(launch, "max_prompt_seq_len", 256);
    const double answer = rk_launch_number(launch, "max_answer_seq_len", 256);
    rk_hf_state_model(launch, "actor_model_name_or_path");
    state_stage(launch, "actor_zero_stage");
    state_size(launch, "per_device_training_batch_size", "micro_batch", 16);
    state_adapters(launch, "actor_lora_dim", "actor_lora_module_name");
    rk_hf_state_recompute(launch, rk_launch_is_on(launch, "actor_gradient_checkpointing", false),
                          "actor_gradient_checkpointing");
    if (prompt >= 1 && answer >= 1 && prompt + answer <= INT32_MAX) {
        rk_launch_state_count(launch, "seq", (int64_t)(prompt + answer), RK_FACT_DERIVED,
                              rk_launch_find(launch, "max_prompt_seq_len"));
    }
    rk_hf_state_objective(launch, "ppo");
}

static void resolve_chat(rk_launch *launch)
{
    const char *type = rk_launch_precision_name(rk_launch_value(launch, "dtype"));
    rk_launch_state(launch, "precision", type ? type : "fp16",
                    type ? RK_FACT_STATED : RK_FACT_DEFAULT,
                    type ? rk_launch_find(launch, "dtype") : NULL);
    if (rk_launch_has(launch, "actor_model_name_or_path")) {
        resolve_rlhf(launch);
    } else {
        rk_hf_state_model(launch, "model_name_or_path");
        state_stage(launch, "zero_stage");
        state_size(launch, "per_device_train_batch_size", "micro_batch", 16);
        state_size(launch, "max_seq_len", "seq", 512);
        state_adapters(launch, "lora_dim", "lora_module_name");
        rk_hf_state_recompute(launch, rk_launch_is_on(launch, "gradient_checkpointing", false),
                              "gradient_checkpointing");
        /* Steps 1 and 2 differ in no flag but this one. */
        if (rk_launch_has(launch, "num_padding_at_beginning")) {
            rk_hf_state_objective(launch, "reward");
        }
    }
    state_offload(launch);
    rk_hf_state_accumulation(launch, "gradient_accumulation_steps", 1);
}

static rk_status resolve_finetune(rk_launch *launch, rk_error *err)
{
    rk_launch_state(launch, "optimizer", "cpu adam", RK_FACT_DEFAULT, NULL);
    rk_hf_state_model(launch, "model_name");
    state_size(launch, "batch_size", "global_batch", 4);
    state_size(launch, "max_length", "seq", 512);
    rk_hf_state_accumulation(launch, "gradient_accumulation_steps", 1);
    rk_hf_state_recompute(launch, rk_launch_is_on(launch, "activation_checkpointing", false),
                          "activation_checkpointing");
    rk_launch_assume(launch, "lora", "none");
    rk_launch_assume(launch, "precision", "bf16");
    const rk_status status = rk_hf_take_deepspeed(launch, "deepspeed_config", NULL, err);
    const bool zero3 = strcmp(rk_launch_program(launch), "finetune_zero3.py") == 0;
    if (!status && !rk_launch_fact_of(launch, "zero")) {
        rk_launch_state_count(launch, "zero", zero3 ? 3 : 2, RK_FACT_DERIVED, NULL);
        rk_launch_state(launch, "offload", "optimizer", RK_FACT_DERIVED, NULL);
        rk_launch_mark(launch, "deepspeed_config", RK_KEY_NOT_PRICED,
                       "the file is not here: ZeRO stage and offload are the ones that the "
                       "program is made for");
    }
    rk_launch_assume(launch, "overlap", "none");
    if (zero3) {
        rk_launch_assume_open(launch, "attention", "flash_attention_2");
    }
    return status;
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    rk_hf_assume_layout(launch);
    (void)rk_launch_value(launch, "deepspeed");
    rk_launch_state(launch, "framework", "deepspeed", RK_FACT_DERIVED, NULL);
    if (is_finetune(launch)) {
        return resolve_finetune(launch, err);
    }
    resolve_chat(launch);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_deepspeed_examples = {
    .name = "deepspeed-examples",
    .framework = "deepspeed",
    .tables = {"deepspeed-examples", "hf-trainer", "deepspeed-json"},
    .dash_is_underscore = true,
    .recognise = recognise,
    .resolve = resolve,
};
