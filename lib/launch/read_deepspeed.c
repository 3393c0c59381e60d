/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configurations of DeepSpeed by themselves: the model, the sequence and often the batch belong to
 * a program that is not in the launch.  Source: deepspeedai/DeepSpeed deepspeed/runtime/config.py.
 */
#include "base/units.h"
#include "launch/hugging_face.h"

#include <string.h>

static int recognise(const rk_launch *launch)
{
    static const char *const own[] = {"zero_optimization", "train_micro_batch_size_per_gpu",
                                      "train_batch_size"};
    for (size_t i = 0; launch->word_count == 0 && i < COUNT(own); i++) {
        if (rk_hf_document_has(launch, own[i])) {
            return 4;
        }
    }
    return 0;
}

/* A number of sequences, or "auto", which the program fills in. */
static void state_batch(rk_launch *launch, const char *key, const char *field)
{
    const char *value = rk_launch_value(launch, key);
    if (!rk_hf_state_count(launch, key, field) && value) {
        rk_launch_state_by(launch, field, value, key);
    }
}

static void state_precision(rk_launch *launch)
{
    const char *bf16 = rk_launch_value(launch, "bf16.enabled");
    const char *fp16 = rk_launch_value(launch, "fp16.enabled");
    const bool open = (bf16 && strcmp(bf16, "auto") == 0) || (fp16 && strcmp(fp16, "auto") == 0);
    rk_launch_assume(launch, "precision", open ? "auto" : "fp32");
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    (void)err;
    rk_launch_assume_count(launch, "tp", 1);
    rk_launch_assume_count(launch, "pp", 1);
    rk_launch_assume(launch, "offload", "none");
    state_batch(launch, "train_micro_batch_size_per_gpu", "micro_batch");
    state_batch(launch, "gradient_accumulation_steps", "accumulation");
    state_batch(launch, "train_batch_size", "global_batch");
    rk_hf_state_deepspeed(launch);
    state_precision(launch);
    rk_hf_state_optimizer(launch, "optimizer.type", "adamw");
    rk_launch_assume(launch, "gradients", "type of the weights");
    if (rk_launch_count_of(launch, "micro_batch") > 0 ||
        rk_launch_count_of(launch, "global_batch") > 0) {
        rk_hf_state_accumulation(launch, "gradient_accumulation_steps", 1);
    }
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_deepspeed_json = {
    .name = "deepspeed-json",
    .framework = "deepspeed",
    .tables = {"deepspeed-json"},
    .recognise = recognise,
    .resolve = resolve,
};
