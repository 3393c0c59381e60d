/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of ms-swift: `swift sft`, `swift pt`, `swift rlhf`.  Source: modelscope/ms-swift
 * swift/arguments, swift/config (its DeepSpeed files), at 4.5.
 */
#include "base/text.h"
#include "base/units.h"
#include "launch/hugging_face.h"
#include "launch/launch_parts.h"

#include <string.h>

/* The files that ship with it overlap nothing, not even at stage 3. */
static const rk_hf_preset presets[] = {
    {"zero0", 0, NULL, false},
    {"zero1", 1, NULL, false},
    {"zero2", 2, NULL, false},
    {"zero3", 3, NULL, false},
    {"zero2_offload", 2, "optimizer", false},
    {"zero3_offload", 3, "optimizer+weights", false},
    {"default-zero2", 2, NULL, false}, /* of 2.x */
    {"default-zero3", 3, NULL, false},
    {0},
};

/* "sft" of `swift sft` and of swift/cli/sft.py; NULL: it is none. */
static const char *find_command(const rk_launch *launch)
{
    static const char *const commands[] = {"sft", "pt", "rlhf"};
    const size_t swift = rk_hf_find_word(launch, "swift");
    const char *program =
        launch->program < launch->word_count ? launch->words[launch->program].text : "";
    for (size_t i = 0; i < COUNT(commands); i++) {
        char path[32] = "swift/cli/";
        strcat(strcat(path, commands[i]), ".py");
        if (swift + 1 < launch->word_count &&
            strcmp(launch->words[swift + 1].text, commands[i]) == 0) {
            return commands[i];
        }
        if (rk_ends_with(program, path)) {
            return commands[i];
        }
    }
    return NULL;
}

static int recognise(const rk_launch *launch)
{
    return find_command(launch) ? 9 : 0;
}

/* ---- machine --------------------------------------------------------------------------------- */

/* `swift` without NPROC_PER_NODE is one process, however many devices are visible. */
static void state_machine(rk_launch *launch)
{
    if (rk_launch_count_of(launch, "processes") == 0 &&
        rk_hf_find_word(launch, "swift") < launch->word_count &&
        rk_hf_environment(launch, "NPROC_PER_NODE") == 0) {
        rk_launch_state_count(launch, "gpus_per_node", 1, RK_FACT_STATED, NULL);
    }
    rk_hf_state_environment(launch, false);
}

/* ---- what trains ----------------------------------------------------------------------------- */

static void state_tuner(rk_launch *launch)
{
    const char *key = rk_launch_has(launch, "tuner_type")   ? "tuner_type"
                      : rk_launch_has(launch, "train_type") ? "train_type"
                                                            : "sft_type";
    const char *tuner = rk_launch_value(launch, key);
    if (!tuner || strcmp(tuner, "lora") == 0) {
        rk_hf_state_adapters(launch, "lora_rank", 8, "target_modules");
        rk_hf_state_adapter_dropout(launch, 0.05);
        rk_launch_assume_open(launch, "lora_modules", "attention,mlp");
        return;
    }
    rk_launch_assume(launch, "lora", "none");
    rk_launch_mark(launch, "lora_", RK_KEY_WITHOUT_COST, RK_HF_NO_ADAPTERS);
    if (strcmp(tuner, "full") != 0) {
        rk_launch_mark(launch, key, RK_KEY_NOT_PRICED,
                       rk_launch_format(launch, "%s is priced as full training", tuner));
    }
}

static void state_base(rk_launch *launch)
{
    const char *method = rk_launch_value(launch, "quant_method");
    const double bits = rk_launch_number(launch, "quant_bits", 0);
    const rk_launch_key *by = rk_launch_find(launch, "quant_bits");
    if (bits == 4) {
        rk_launch_state(launch, "qlora", "true", RK_FACT_STATED, by);
    } else if (bits == 8 && (!method || strcmp(method, "bnb") == 0)) {
        rk_launch_state(launch, "base_8bit", "true", RK_FACT_STATED, by);
    } else if (method || (bits > 0 && bits <= 16)) {
        rk_launch_state(launch, "base_quantised",
                        rk_launch_format(launch, "%s, %d bits", method ? method : "bnb",
                                         bits > 0 && bits <= 16 ? (int)bits : 8),
                        RK_FACT_STATED, by);
    }
    rk_hf_state_nested(launch, "bnb_4bit_use_double_quant", true);
}

/*
 * Weights are loaded in --torch_dtype, and train in it except under DeepSpeed.  Weights in fp32 are
 * computed with in fp16, unless --bf16 says otherwise.
 */
static void state_weights(rk_launch *launch)
{
    const char *type = rk_launch_precision_name(rk_launch_value(launch, "torch_dtype"));
    const rk_launch_key *by = type ? rk_launch_find(launch, "torch_dtype") : NULL;
    const char *framework = rk_launch_fact_of(launch, "framework");
    const char *lora = rk_launch_fact_of(launch, "lora");
    const char *held = type ? type : "bf16";
    rk_launch_state(launch, "precision", strcmp(held, "fp32") == 0 ? "fp16" : held,
                    type ? RK_FACT_STATED : RK_FACT_DEFAULT, by);
    if (lora && strcmp(lora, "none") != 0) {
        held = rk_launch_format(launch, "%s base, fp32 adapters", held);
    } else if (framework && strcmp(framework, "deepspeed") == 0) {
        held = rk_launch_format(launch, "%s with fp32 masters", held);
    } else if (strcmp(held, "fp32") != 0) {
        held = rk_launch_format(launch, "%s (pure: no fp32 copy)", held);
    }
    rk_hf_state_weights(launch, held, NULL);
}

/* ---- batch ----------------------------------------------------------------------------------- */

/* By default a step has at least 16 sequences; in GRPO it is one micro-batch. */
static void state_batch(rk_launch *launch, bool grouped)
{
    rk_launch_assume_count(launch, "micro_batch", 1);
    rk_launch_derive(launch);
    const int64_t micro = rk_launch_count_of(launch, "micro_batch");
    const int64_t processes = rk_launch_count_of(launch, "processes");
    const int64_t each =
        micro > 0 && micro <= 16 && processes > 0 && processes <= 16 ? micro * processes : 16;
    rk_hf_state_accumulation(launch, "gradient_accumulation_steps",
                             grouped ? 1 : (16 + each - 1) / each);
}

static void state_sequence(rk_launch *launch)
{
    if (rk_launch_count_of(launch, "cp") > 1) {
        rk_launch_assume(launch, "cp_kind", "ulysses"); /* ring where heads do not divide */
    }
    if (rk_launch_holds(launch, "packing")) {
        (void)rk_hf_state_count(launch, "packing_length", "seq");
    }
    rk_launch_ask_sequence(launch, "max_length");
}

/* The line's own arguments win over those of its file. */
static rk_status prepare(rk_launch *launch, rk_error *err)
{
    return rk_hf_open_options(launch, rk_launch_value(launch, "config"), err);
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    const char *type = rk_launch_value(launch, "rlhf_type");
    const char *command = find_command(launch);
    const char *objective = command && strcmp(command, "rlhf") == 0 && !type ? "dpo" : type;
    rk_hf_assume_layout(launch);
    state_machine(launch);
    rk_status status = rk_hf_take_deepspeed(launch, "deepspeed", presets, err);
    status = status ? status : rk_hf_take_fsdp(launch, "fsdp", "fsdp_config", err);
    if (status) {
        return status;
    }
    rk_hf_state_model(launch, rk_launch_has(launch, "model") ? "model" : "model_type");
    state_batch(launch, objective && strcmp(objective, "grpo") == 0);
    state_tuner(launch);
    state_base(launch);
    state_weights(launch);
    state_sequence(launch);
    rk_hf_state_trainer(
        launch,
        &(rk_hf_trainer){.micro_batch = 1, .bf16 = true, .recompute = true, .steps_stated = true});
    rk_hf_finish_sharding(launch);
    rk_launch_name_packing(launch, "packing", true);
    rk_hf_state_objective(launch, objective);
    rk_hf_state_objective(launch, rk_launch_value(launch, "task_type"));
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_ms_swift = {
    .name = "ms-swift",
    .tables = {"ms-swift", "hf-trainer", "trl", "deepspeed-json", "ms-swift-megatron"},
    .dash_is_underscore = true,
    .recognise = recognise,
    .prepare = prepare,
    .resolve = resolve,
};
