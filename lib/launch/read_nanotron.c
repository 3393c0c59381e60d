/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanotron's YAML.  Source: src/nanotron/config of huggingface/nanotron, commit 2411b022a75f.
 */
#include "base/units.h"
#include "launch/read_megatron.h"
#include "launch/reader_kit.h"

#include <string.h>

#define MODEL "model.model_config."

static bool value_is(rk_launch *launch, const char *key, const char *word)
{
    const char *value = rk_launch_value(launch, key);
    return value && strcmp(rk_launch_lower(launch, value), word) == 0;
}

/* ---- layout ---------------------------------------------------------------------------------- */

static void state_layout(rk_launch *launch)
{
    static const rk_named_text ones[] = {{"tp", "1"}, {"pp", "1"}, {"vp", "1"},   {"cp", "1"},
                                         {"ep", "1"}, {"dp", "1"}, {"zero", "0"}, {"hsdp", "1"}};
    rk_launch_assume_all(launch, ones, COUNT(ones));
    const int64_t tp = rk_launch_count_of(launch, "tp"), dp = rk_launch_count_of(launch, "dp");
    const bool scatter = value_is(launch, "parallelism.tp_mode", "reduce_scatter");
    const bool asynchronous =
        rk_launch_is_on(launch, "parallelism.tp_linear_async_communication", false) && tp > 1;
    rk_launch_state(launch, "sp", scatter && tp > 1 ? "true" : "false", RK_FACT_DERIVED,
                    rk_launch_find(launch, "parallelism.tp_mode"));
    rk_launch_state(launch, "overlap",
                    asynchronous && dp > 1 ? "grad+tp"
                    : asynchronous         ? "tp"
                    : dp > 1               ? "grad"
                                           : "none",
                    RK_FACT_DERIVED, NULL);
    const bool one_forward = value_is(launch, "parallelism.pp_engine", "1f1b");
    if (rk_launch_count_of(launch, "pp") > 1) {
        rk_launch_state(launch, "schedule", one_forward ? "1f1b" : "gpipe", RK_FACT_DERIVED,
                        rk_launch_find(launch, "parallelism.pp_engine"));
    }
    if (rk_launch_count_of(launch, "cp") > 1) {
        rk_launch_assume(launch, "cp_kind", "ring");
    }
    rk_launch_state_processes(launch);
}

/* ---- precision and memory -------------------------------------------------------------------- */

/* Without fp32 accumulation there are neither fp32 gradients nor a master copy. */
static void state_precision(rk_launch *launch)
{
    const rk_launch_key *type = rk_launch_find(launch, "model.dtype");
    const rk_launch_key *wide = rk_launch_find(launch, "optimizer.accumulate_grad_in_fp32");
    const bool is_wide = rk_launch_is_on(launch, "optimizer.accumulate_grad_in_fp32", true);
    const char *precision = type && type->value ? rk_launch_data_type(launch, type->value) : "bf16";
    rk_launch_state(launch, "precision", precision, type ? RK_FACT_STATED : RK_FACT_DEFAULT, type);
    rk_launch_state(launch, "gradients", is_wide ? "fp32" : precision, RK_FACT_DERIVED, wide);
    if (!is_wide) {
        rk_launch_state(launch, "weights_loaded_as", precision, RK_FACT_DERIVED, wide);
    }
}

static void state_memory(rk_launch *launch)
{
    const rk_launch_key *name = rk_launch_find(launch, "optimizer.optimizer_factory.name");
    const rk_launch_key *layer = rk_launch_find(launch, "parallelism.recompute_layer");
    rk_launch_state(launch, "optimizer",
                    name && name->value ? rk_launch_lower(launch, name->value) : "adamw",
                    name ? RK_FACT_STATED : RK_FACT_DEFAULT, name);
    rk_launch_state(launch, "recompute.granularity",
                    rk_launch_is_on(launch, "parallelism.recompute_layer", false) ? "full" : "none",
                    layer ? RK_FACT_STATED : RK_FACT_DEFAULT, layer);
    rk_launch_assume(launch, "stack", "nanotron");
    rk_launch_assume(launch, "offload", "none");
    rk_launch_assume(launch, "lora", "none");
    rk_launch_assume(launch, "loss", "full logits");
    rk_launch_assume(launch, "attention", "flash_attention_2");
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Rows of the embedding: padded to a multiple for every tensor-parallel rank. */
static void state_vocabulary(rk_launch *launch)
{
    const double multiple = rk_launch_number(launch, "model.make_vocab_size_divisible_by", 1);
    const double mamba = rk_launch_number(launch, MODEL "pad_vocab_size_multiple", 1);
    const int64_t entries = rk_launch_count_of(launch, "model.vocab_unpadded");
    const int64_t tp = rk_launch_count_of(launch, "tp");
    if (entries > 0 && multiple >= 1 && multiple < 1e6 && mamba >= 1 && mamba < 1e6) {
        const int64_t blocks = rk_megatron_pad_vocabulary(entries, (int64_t)mamba, 1);
        rk_launch_state_count(launch, "model.vocab",
                              rk_megatron_pad_vocabulary(blocks, (int64_t)multiple, tp),
                              RK_FACT_DERIVED, rk_launch_find(launch, MODEL "vocab_size"));
    }
}

static void state_experts(rk_launch *launch)
{
    if (rk_launch_count_of(launch, "model.experts") <= 1) {
        return;
    }
    if (rk_launch_has(launch, MODEL "moe_config.num_experts")) {
        rk_launch_assume_count(launch, "model.topk", 2);
        rk_launch_assume_count(launch, "model.moe_ffn", 1408);
        if (rk_launch_is_on(launch, MODEL "moe_config.enable_shared_expert", false)) {
            const double shared =
                rk_launch_number(launch, MODEL "moe_config.shared_expert_intermediate_size", 5632);
            rk_launch_state_count(
                launch, "model.shared_ffn", shared >= 1 && shared < 1e9 ? (int64_t)shared : 0,
                RK_FACT_DERIVED, rk_launch_find(launch, MODEL "moe_config.enable_shared_expert"));
        }
        rk_launch_state(launch, "dispatcher", "alltoall", RK_FACT_DERIVED,
                        rk_launch_find(launch, MODEL "moe_config.token_dispatcher_type"));
    }
}

static void state_model(rk_launch *launch)
{
    static const rk_named_text llama[] = {{"model.hidden", "4096"},
                                          {"model.ffn", "11008"},
                                          {"model.heads", "32"},
                                          {"model.layers", "32"},
                                          {"model.vocab_unpadded", "32000"},
                                          {"model.tied", "false"},
                                          {"model.gated", "true"}};
    const bool mamba = rk_launch_is_on(launch, MODEL "is_mamba_config", false);
    if (mamba) {
        rk_launch_state(launch, "model.hybrid_pattern", "M", RK_FACT_DERIVED,
                        rk_launch_find(launch, MODEL "d_model"));
        rk_launch_mark(launch, MODEL "is_mamba_config", RK_KEY_NOT_PRICED,
                       "state-space layers of Mamba 1 are not priced");
    } else {
        rk_launch_assume_all(launch, llama, COUNT(llama));
        rk_launch_assume_size(launch, "model.kv_heads", rk_launch_count_of(launch, "model.heads"));
    }
    state_vocabulary(launch);
    state_experts(launch);
}

/* ---- the reader ------------------------------------------------------------------------------ */

static int recognise(const rk_launch *launch)
{
    const json_t *root = rk_launch_document_of(launch, "config");
    const bool layout =
        json_object_get(json_object_get(root, "parallelism"), "pp_engine") ||
        json_object_get(json_object_get(root, "parallelism"), "tp_mode") ||
        json_object_get(json_object_get(root, "tokens"), "batch_accumulation_per_replica");
    const bool model = json_object_get(json_object_get(root, "model"), "model_config") != NULL;
    if (layout && (model || json_object_get(root, "tokens"))) {
        return 8;
    }
    for (size_t i = 0; i < launch->word_count && !root; i++) {
        if (strncmp(launch->words[i].text, "--config-file", strlen("--config-file")) == 0 &&
            strcmp(rk_launch_program(launch), "run_train.py") == 0) {
            return 6;
        }
    }
    return 0;
}

static rk_status prepare(rk_launch *launch, rk_error *err)
{
    return rk_launch_open_config(launch, rk_launch_value(launch, "config-file"), err);
}

static rk_status resolve(rk_launch *launch, rk_error *err)
{
    (void)err;
    state_layout(launch);
    state_precision(launch);
    state_memory(launch);
    state_model(launch);
    return RK_OK;
}

const rk_launch_reader rk_launch_reader_nanotron = {
    .name = "nanotron",
    .framework = "any",
    .tables = {"nanotron"},
    .recognise = recognise,
    .prepare = prepare,
    .resolve = resolve,
};
