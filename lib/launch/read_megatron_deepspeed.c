/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch lines of Megatron-DeepSpeed and of its fork by BigScience, with the DeepSpeed JSON.
 * Source: megatron/arguments.py and megatron/training.py of deepspeedai/Megatron-DeepSpeed, commit
 * 4efb479d.
 */
#include "base/units.h"
#include "launch/hugging_face.h"
#include "launch/read_megatron.h"

#include <stdlib.h>
#include <string.h>

static int recognise(const rk_launch *launch)
{
    static const char *const flags[] = {"deepspeed",
                                        "deepspeed_config",
                                        "deepspeed-activation-checkpointing",
                                        "zero-stage",
                                        "checkpoint-activations",
                                        "moe-expert-parallel-size",
                                        "pp-partition-method",
                                        "no-pipeline-parallel",
                                        "ds-sequence-parallel-size",
                                        "use-flash-attn-v2",
                                        NULL};
    const int own = rk_megatron_is_line(launch) ? rk_launch_count_flags(launch, flags) : 0;
    return own > 0 ? 10 + own : 0;
}

/* ---- states ---------------------------------------------------------------------------------- */

static void state_precision(rk_launch *launch)
{
    static const char *const sections[][2] = {
        {"bf16.enabled", "bf16"}, {"bfloat16.enabled", "bf16"}, {"fp16.enabled", "fp16"}};
    for (size_t i = 0; i < COUNT(sections); i++) {
        if (rk_launch_is_on(launch, sections[i][0], false)) {
            rk_launch_state_by(launch, "precision", sections[i][1], sections[i][0]);
        }
    }
}

static void state_zero(rk_launch *launch)
{
    static const char *const names[] = {"zero_optimization.stage", "zero-stage", NULL};
    const bool runs =
        rk_launch_has(launch, "deepspeed") || rk_launch_has(launch, "zero_optimization.stage");
    const rk_launch_key *stage = NULL;
    for (size_t i = 0; names[i] && !stage; i++) {
        stage = rk_launch_find(launch, names[i]);
    }
    if (stage && stage->value && (runs || !rk_launch_has(launch, "deepspeed_config"))) {
        rk_launch_state(launch, "zero", stage->value, RK_FACT_STATED, stage);
    }
    (void)rk_launch_find(launch, "deepspeed");
    (void)rk_launch_find(launch, "zero-stage");
    const int64_t zero = rk_launch_count_of(launch, "zero");
    const rk_launch_key *overlap = rk_launch_find(launch, "zero_optimization.overlap_comm");
    if (zero > 0 && (overlap ? rk_launch_is_on(launch, overlap->name, false) : zero == 3)) {
        rk_launch_state(launch, "overlap", zero == 3 ? "grad+param" : "grad", RK_FACT_STATED,
                        overlap);
    }
}

static void state_offload(rk_launch *launch)
{
    const char *optimizer = rk_launch_value(launch, "zero_optimization.offload_optimizer.device");
    const char *weights = rk_launch_value(launch, "zero_optimization.offload_param.device");
    const char *remote = rk_launch_value(launch, "remote-device");
    const bool cpu = rk_launch_is_on(launch, "cpu-optimizer", false);
    const bool states = cpu || (optimizer && strcmp(optimizer, "none") != 0);
    weights = weights ? weights : remote;
    const bool held = weights && strcmp(weights, "none") != 0;
    if (states || held) {
        rk_launch_state(launch, "offload",
                        states && held ? "optimizer+weights"
                        : states       ? "optimizer"
                                       : "weights",
                        RK_FACT_STATED, NULL);
        rk_hf_take_nvme(launch, "zero_optimization.offload_optimizer.device", "optimizer");
        rk_hf_take_nvme(launch, "zero_optimization.offload_param.device", "weights");
        rk_hf_take_nvme(launch, "remote-device", "weights");
    }
}

/* ---- activations ----------------------------------------------------------------------------- */

static void state_recompute(rk_launch *launch)
{
    static const rk_megatron_usual usual = {0};
    const rk_launch_key *all = rk_launch_find(launch, "checkpoint-activations");
    rk_megatron_leave(launch, "deepspeed-activation-checkpointing"); /* how, not whether */
    if (!all) {
        rk_megatron_state_recompute(launch, &usual);
        return;
    }
    const rk_launch_key *length = rk_launch_find(launch, "checkpoint-num-layers");
    rk_launch_state(launch, "recompute.granularity", "full", RK_FACT_STATED, all);
    rk_launch_state(launch, "recompute.method", "uniform", RK_FACT_STATED, all);
    rk_launch_state(launch, "recompute.layers", length && length->value ? length->value : "1",
                    RK_FACT_STATED, length ? length : all);
    rk_megatron_class_pieces(launch, length);
}

static const char *find_attention(rk_launch *launch)
{
    static const char *const names[] = {"use-flash-attn",         "use-flash-attn-v1",
                                        "use-flash-attn-v2",      "use-flash-attn-triton",
                                        "use-flash-attn-builder", NULL};
    return rk_megatron_find_among(launch, names) ? "flash" : "unfused";
}

/* ---- model ----------------------------------------------------------------------------------- */

/* One number of experts for each layer that has them; 1 is a model without experts. */
static void state_experts(rk_launch *launch)
{
    const char *list = rk_launch_value(launch, "num-experts");
    const long experts = list ? strtol(list, NULL, 10) : 0;
    if (experts <= 1) {
        rk_launch_drop(launch, "model.experts");
        rk_launch_drop(launch, "model.topk");
    } else {
        rk_launch_state_count_by(launch, "model.experts", experts, "num-experts");
        rk_megatron_assume_count(launch, "model.topk", 1);
        rk_launch_assume_open(launch, "model.moe_layer_freq", "2");
    }
    if (list) {
        const bool split = rk_launch_is_on(launch, "enable-expert-tensor-parallelism", false);
        rk_megatron_assume_count(launch, "etp", split ? rk_launch_count_of(launch, "tp") : 1);
    }
}

/* Opens the JSON that the line names, unless the launch has documents. */
static rk_status open_config(rk_launch *launch, rk_error *err)
{
    const char *path = rk_launch_value(launch, "deepspeed_config");
    bool found = false;
    if (!path || launch->document_count > 0) {
        return RK_OK;
    }
    const rk_status status = rk_launch_open_named(launch, path, &found, err);
    if (!status && !found) {
        rk_launch_mark(launch, "deepspeed_config", RK_KEY_NOT_PRICED,
                       "the file is not here, so its settings are not counted");
    }
    return status;
}

/* The type in which gradients are summed, by the JSON. */
static void state_gradients(rk_launch *launch)
{
    const rk_launch_key *type = rk_launch_find(launch, "data_types.grad_accum_dtype");
    if (type && type->value) {
        rk_launch_state(launch, "gradients", type->value, RK_FACT_STATED, type);
    }
}

/* Settles keys that the JSON repeats, and how --pp-partition-method cuts the stages. */
static void settle_rest(rk_launch *launch)
{
    const rk_launch_key *cut = rk_launch_find(launch, "pp-partition-method");
    rk_hf_class_batch(launch);
    rk_megatron_leave(launch, "deepspeed");
    rk_megatron_leave(launch, "pp-partition-method");
    if (launch->document_count > 0) {
        rk_megatron_leave(launch, "deepspeed_config");
    }
    if (cut && cut->value && strstr(cut->value, "embedding")) {
        cut = rk_launch_count_of(launch, "pp") > 1 ? rk_launch_find(launch, cut->name) : cut;
        rk_launch_state(launch, "count_embedding", "true", RK_FACT_STATED, cut);
        rk_launch_state(launch, "count_head", "true", RK_FACT_STATED, cut);
    }
    const bool shorter = rk_launch_is_on(launch, "curriculum_learning.enabled", false);
    rk_launch_mark(launch, "curriculum_learning.",
                   shorter ? RK_KEY_NOT_PRICED : RK_KEY_WITHOUT_COST,
                   shorter ? "the shorter sequences of the first steps are not counted" : NULL);
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    rk_megatron_usual usual = {.attention = find_attention(launch),
                               .dispatcher = "alltoall",
                               .core = 4,
                               .whole_experts = true,
                               .last_of_period = true,
                               .own_recompute = true};
    const rk_launch_key *rows = rk_launch_find(launch, "pad-vocab-size-to");
    if (rk_launch_is_on(launch, "no-pipeline-parallel", false)) {
        rk_launch_state_count_by(launch, "pp", 1, "no-pipeline-parallel");
    }
    rk_megatron_assume_count(launch, "tp", 1);
    const rk_status opened = open_config(launch, err);
    if (opened) {
        return opened;
    }
    state_precision(launch);
    state_experts(launch);
    state_recompute(launch);
    state_offload(launch);
    if (rows && rows->value) {
        rk_launch_state(launch, "model.vocab", rows->value, RK_FACT_STATED, rows);
    }
    const rk_status status = rk_megatron_resolve(launch, &usual, err);
    if (rk_launch_count_of(launch, "cp") > 1) {
        rk_launch_state_by(launch, "cp_kind", "ulysses", "ds-sequence-parallel-size");
    }
    if (rk_launch_has(launch, "enable-zbh1-pipeline")) {
        rk_launch_state_by(launch, "schedule", "zb-h1", "enable-zbh1-pipeline");
    }
    state_zero(launch);
    state_gradients(launch);
    settle_rest(launch);
    return status;
}

const rk_launch_reader rk_launch_reader_megatron_deepspeed = {
    .name = "megatron-deepspeed",
    .framework = "deepspeed",
    .tables = {"megatron-deepspeed", "deepspeed-json", "megatron-lm"},
    .recognise = recognise,
    .resolve = resolve,
};
