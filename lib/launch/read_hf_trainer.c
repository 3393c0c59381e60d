/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs around the Trainer of transformers: run_clm.py and its like, the examples of PEFT,
 * finetune.py of Qwen.  Sources: huggingface/transformers examples/pytorch/language-modeling,
 * huggingface/peft examples/sft, QwenLM/Qwen finetune.py.
 */
#include "base/units.h"
#include "launch/hugging_face.h"

#include <string.h>

/* Signs of the Trainer among flags. */
static int recognise(const rk_launch *launch)
{
    static const char *const own[] = {"--per_device_train_batch_size", "--output_dir",
                                      "--model_name_or_path", "--gradient_accumulation_steps"};
    int signs = 0;
    for (size_t i = 0; i < COUNT(own); i++) {
        for (size_t word = launch->program; word < launch->word_count; word++) {
            const char *text = launch->words[word].text;
            const size_t length = strcspn(text, "=");
            bool same = length == strlen(own[i]);
            for (size_t c = 0; same && c < length; c++) {
                same = text[c] == own[i][c] || (text[c] == '-' && own[i][c] == '_');
            }
            signs += same;
        }
    }
    return signs >= 2 ? 3 : 0;
}

/*
 * qlora.py of artidoro/qlora: adapters of rank 64 in all linear layers, on a base in 4 bits, and
 * examples of a source and a target; by its own defaults.
 */
static bool is_qlora(const rk_launch *launch)
{
    return strcmp(rk_launch_program(launch), "qlora.py") == 0;
}

static void state_qlora(rk_launch *launch)
{
    const double bits = rk_launch_number(launch, "bits", 4);
    const double tokens = rk_launch_number(launch, "source_max_len", 1024) +
                          rk_launch_number(launch, "target_max_len", 256);
    const rk_launch_key *by = rk_launch_find(launch, "bits");
    if (tokens >= 1 && tokens <= INT32_MAX) {
        rk_launch_state_count(launch, "seq", (int64_t)tokens, RK_FACT_DERIVED,
                              rk_launch_find(launch, "target_max_len"));
    }
    if (!rk_launch_has(launch, "optim")) {
        rk_launch_state(launch, "optimizer", "paged adamw", RK_FACT_DERIVED, NULL);
    }
    if (rk_launch_is_on(launch, "full_finetune", false)) {
        rk_launch_assume(launch, "lora", "none");
        return;
    }
    if (bits == 4 || bits == 8) {
        rk_launch_state(launch, bits == 4 ? "qlora" : "base_8bit", "true",
                        by ? RK_FACT_STATED : RK_FACT_DEFAULT, by);
    }
    rk_hf_state_nested(launch, "double_quant", true);
    rk_hf_state_adapters(launch, "lora_r", 64, "lora_modules");
    rk_hf_state_adapter_dropout(launch, 0);
    rk_launch_assume_open(launch, "lora_modules", "attention,mlp");
}

/* Adapters by the switches of the programs that have them. */
static void state_adapters(rk_launch *launch)
{
    if (is_qlora(launch)) {
        state_qlora(launch);
        return;
    }
    const bool qwen = rk_launch_is_on(launch, "use_lora", false);
    const bool on = qwen || rk_launch_is_on(launch, "use_peft_lora", false) ||
                    rk_launch_is_on(launch, "use_peft", false);
    const char *rank = rk_launch_has(launch, "lora_rank") ? "lora_rank" : "lora_r";
    static const char *const bases[] = {"q_lora", "use_4bit_quantization", "load_in_4bit"};
    for (size_t i = 0; i < COUNT(bases); i++) {
        rk_hf_state_switch(launch, bases[i], "qlora", "true");
    }
    rk_hf_state_nested(launch, "use_nested_quant", false);
    static const char *const wide[] = {"use_8bit_quantization", "load_in_8bit"};
    for (size_t i = 0; i < COUNT(wide); i++) {
        rk_hf_state_switch(launch, wide[i], "base_8bit", "true");
    }
    if (!on && !rk_launch_has(launch, rank)) {
        rk_launch_assume(launch, "lora", "none");
        return;
    }
    rk_hf_state_adapters(launch, rank, qwen ? 64 : 8, "lora_target_modules");
    rk_hf_state_adapter_dropout(launch, qwen ? 0.05 : 0);
    rk_launch_assume_open(launch, "lora_modules", qwen ? "attention,mlp" : "attention");
}

/* Weights stay as they are loaded: in fp32 before release 5, as stored since. */
static void state_weights(rk_launch *launch)
{
    static const char *const keys[] = {"dtype", "torch_dtype", "bnb_4bit_quant_storage_dtype"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        const char *value = rk_launch_value(launch, keys[i]);
        const char *type = rk_launch_precision_name(value);
        if (value) {
            rk_hf_state_weights(launch, type ? type : "as stored", rk_launch_find(launch, keys[i]));
            return;
        }
    }
    rk_hf_state_weights(launch, rk_hf_is_before(launch, 5, 0) ? "fp32" : "as stored", NULL);
}

/* run_clm.py cuts its texts into blocks. */
static void state_sequence(rk_launch *launch)
{
    if (strncmp(rk_launch_program(launch), "run_clm", strlen("run_clm")) == 0) {
        rk_launch_assume_count(launch, "seq", 1024);
        rk_launch_assume_open(launch, "packing", "true");
    }
    rk_launch_ask_sequence(launch, "max_seq_length");
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    /* Files that Qwen's finetune.py ships with. */
    static const rk_hf_preset presets[] = {
        {"ds_config_zero2", 2, NULL, true}, {"ds_config_zero3", 3, NULL, true}, {0}};
    const rk_status status = rk_hf_take_files(launch, presets, err);
    if (status) {
        return status;
    }
    rk_hf_state_single(launch);
    rk_hf_state_model(launch, rk_launch_has(launch, "model_name_or_path") ? "model_name_or_path"
                                                                          : "config_name");
    rk_hf_take_overrides(launch, "config_overrides");
    state_weights(launch);
    state_adapters(launch);
    state_sequence(launch);
    rk_hf_state_switch(launch, "use_flash_attn", "attention", "flash_attention_2");
    const bool qlora = is_qlora(launch);
    rk_hf_state_accumulation(launch, "gradient_accumulation_steps", qlora ? 16 : 1);
    rk_hf_state_trainer(
        launch,
        &(rk_hf_trainer){.micro_batch = qlora ? 1 : 8, .recompute = qlora, .steps_stated = true});
    rk_hf_finish_sharding(launch);
    rk_launch_name_packing(launch, "packing", false);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_hf_trainer = {
    .name = "hf-trainer",
    .tables = {"hf-trainer", "trl", "peft-lora", "accelerate-yaml", "deepspeed-json",
               "accelerate-launch"},
    .dash_is_underscore = true,
    .recognise = recognise,
    .resolve = resolve,
};
