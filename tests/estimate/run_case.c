/* SPDX-License-Identifier: Apache-2.0 */
/* The software and the strategy of a measured run. */
#include "run_case.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    FLASH = 1,      /* flash attention */
    OVERLAP = 2,    /* of gradients and parameters with compute */
    TP_OVERLAP = 4, /* by user buffers */
    SEQUENCE = 8,   /* sequence parallelism where nothing is said */
    FULL_FP32 = 16, /* FSDP keeps sharded parameters in fp32 */
    BY_STAGE_0 = 32,
};

/* What is known of a source's software; the first line that matches part and accelerator. */
static const struct source {
    const char *part, *accelerator, *stack;
    unsigned facts;
    rk_sharding sharding; /* where nothing is said */
    double gradient, reduce;
    run_memory memory;
} sources[] = {
    {"vtrain", "", "megatron-2021", 0, RK_SHARD_NONE, 2, 2, RUN_RESERVED},
    {"bigscience", "", "megatron-2021", 0, RK_SHARD_OPTIMIZER, 6, 2, RUN_RESERVED},
    {"sailor", "", "megatron-2021", 0, RK_SHARD_NONE, 4, 4, RUN_TOTAL},
    {"megatron_lm", "H100", "megatron-2025", FLASH | OVERLAP | TP_OVERLAP | SEQUENCE,
     RK_SHARD_OPTIMIZER, 4, 4, RUN_RESERVED},
    {"megatron_lm", "", "megatron-2021", 0, RK_SHARD_NONE, 4, 4, RUN_RESERVED},
    {"nemo_launcher", "", "megatron-2021", OVERLAP, RK_SHARD_OPTIMIZER, 2, 2, RUN_RESERVED},
    {"hf_playbook", "", "nanotron", FLASH | BY_STAGE_0, RK_SHARD_NONE, 4, 4, RUN_RESERVED},
    {"llm_foundry", "H100", "fsdp-llm-foundry-hopper", FLASH | OVERLAP | FULL_FP32, RK_SHARD_ALL, 4,
     4, RUN_RESERVED},
    {"llm_foundry", "", "fsdp-llm-foundry", FLASH | OVERLAP | FULL_FP32, RK_SHARD_ALL, 4, 4,
     RUN_RESERVED},
    {"torchtitan", "", "torchtitan", FLASH | OVERLAP | SEQUENCE | FULL_FP32, RK_SHARD_ALL, 4, 4,
     RUN_RESERVED},
    {"simumax", "B200", "megatron-2025-blackwell", FLASH | OVERLAP | SEQUENCE, RK_SHARD_OPTIMIZER,
     4, 4, RUN_ALLOCATED},
    {"simumax", "", "megatron-2025", FLASH | OVERLAP | SEQUENCE, RK_SHARD_OPTIMIZER, 4, 4,
     RUN_ALLOCATED},
    {"", "B200", "megatron-2025-blackwell", FLASH | OVERLAP | TP_OVERLAP | SEQUENCE,
     RK_SHARD_OPTIMIZER, 2, 2, RUN_RESERVED},
    {"", "B300", "megatron-2025-blackwell", FLASH | OVERLAP | TP_OVERLAP | SEQUENCE,
     RK_SHARD_OPTIMIZER, 2, 2, RUN_RESERVED},
    {"dgxc", "", "nemo-2024", FLASH | OVERLAP | TP_OVERLAP | SEQUENCE, RK_SHARD_OPTIMIZER, 2, 2,
     RUN_RESERVED},
    {"nemo_docs", "", "nemo-2024", FLASH | OVERLAP | TP_OVERLAP | SEQUENCE, RK_SHARD_OPTIMIZER, 2,
     2, RUN_RESERVED},
    {"megatron_bridge", "", "megatron-2025", FLASH | OVERLAP | TP_OVERLAP | SEQUENCE,
     RK_SHARD_OPTIMIZER, 2, 2, RUN_RESERVED},
    {"flagperf", "", "megatron-2025", FLASH | OVERLAP, RK_SHARD_OPTIMIZER, 4, 4, RUN_TOTAL},
    {"", "", "megatron-2025", FLASH | OVERLAP, RK_SHARD_NONE, 4, 4, RUN_RESERVED},
};

static const struct source *source_of(const run_table *t, size_t row)
{
    for (size_t i = 0; i + 1 < COUNT(sources); i++) {
        if (run_has(t, row, "part", sources[i].part) &&
            run_has(t, row, "accelerator", sources[i].accelerator)) {
            return &sources[i];
        }
    }
    return &sources[COUNT(sources) - 1];
}

static bool flag(const run_table *t, size_t row, const char *part)
{
    return run_has(t, row, "other_flags", part);
}

/* ---- strategy ------------------------------------------------------------------------------ */

static int64_t degree(const run_table *t, size_t row, const char *column)
{
    const double value = run_number(t, row, column, 1);
    return value >= 1 ? (int64_t)value : 1;
}

static void set_degrees(const run_table *t, size_t row, rk_strategy *s)
{
    const int64_t ranks = degree(t, row, "n_accel");
    s->tp = degree(t, row, "tp");
    s->pp = degree(t, row, "pp");
    s->cp = degree(t, row, "cp");
    s->ep = degree(t, row, "ep");
    s->etp = degree(t, row, "etp");
    s->dp = (int64_t)run_number(t, row, "dp", (double)(ranks / (s->tp * s->pp * s->cp)));
    s->global_batch = degree(t, row, "gbs");
    if (run_has(t, row, "model", "grok") && run_cell(t, row, "etp")[0] == '\0' &&
        (run_has(t, row, "commit_or_version", "v24") ||
         run_has(t, row, "commit_or_version", "v25.0"))) {
        s->etp = s->tp; /* until the recipes set it */
    }
    if (s->global_batch < s->dp) {
        /* sources that count context parallel ranks as data parallel */
        s->dp = s->global_batch;
        s->cp = ranks / (s->tp * s->pp * s->dp);
    }
    const int64_t whole = s->global_batch / s->dp;
    s->micro_batch = (int64_t)run_number(t, row, "mbs", s->pp > 1 ? 1 : (double)whole);
    s->vp = s->pp > 1 ? degree(t, row, "vpp") : 1;
}

/* Interleaving that sources leave out; see the data traps of the accuracy notes. */
static void set_interleaving(const run_table *t, size_t row, const rk_model *model, rk_strategy *s)
{
    const bool stated = run_number(t, row, "vpp", 0) > 0;
    if (s->pp > 1 && run_has(t, row, "model", "nemotron4-340b") && !stated) {
        s->vp = 12;
    } else if (run_has(t, row, "part", "megatron_lm") && run_has(t, row, "accelerator", "H100") &&
               run_has(t, row, "model", "GPT ") && s->pp > 1) {
        s->vp = model->layers % (s->pp * 6) ? 2 : 6;
    } else if (run_has(t, row, "part", "bridge") && run_has(t, row, "model", "llama3-70b") &&
               run_has(t, row, "precision", "FP") && s->pp == 4 && s->vp == 1) {
        s->vp = 5;
    }
    s->schedule = s->vp > 1 ? RK_SCHEDULE_INTERLEAVED : RK_SCHEDULE_1F1B;
    if (run_has(t, row, "model", "deepseek-v3") && s->pp > 1 && s->vp == 1) {
        /* a layout by hand: the last stage has fewer layers beside the loss */
        const int64_t each = (model->layers + s->pp - 1) / s->pp;
        s->last_stage_layers = model->layers - (s->pp - 1) * each;
        return;
    }
    if (model->layers % (s->pp * s->vp) && (model->layers + 2) % (s->pp * s->vp) == 0) {
        s->count_embedding = s->count_head = true;
    }
}

static void set_recompute(const run_table *t, size_t row, rk_strategy *s)
{
    static const struct {
        const char *text;
        rk_recompute_kind kind;
        unsigned modules;
    } kinds[] = {
        {"none", RK_REC_NONE, 0},
        {"full", RK_REC_FULL, 0},
        {"(op)", RK_REC_SELECTIVE, RK_MODULE_NORM | RK_MODULE_MLP},
        {"layernorm+moe_act", RK_REC_SELECTIVE, RK_MODULE_NORM | RK_MODULE_ACTIVATION},
        {"mla_up_proj", RK_REC_SELECTIVE, RK_MODULE_MLA_UP},
        {"[mlp]", RK_REC_SELECTIVE, RK_MODULE_MLP},
        {"selective", RK_REC_SELECTIVE, RK_MODULE_CORE_ATTENTION},
        {"minimal", RK_REC_SELECTIVE, RK_MODULE_NORM | RK_MODULE_ACTIVATION},
    };
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (run_has(t, row, "recompute", kinds[i].text)) {
            s->recompute = kinds[i].kind;
            s->recompute_modules = kinds[i].modules;
            return;
        }
    }
}

static void set_sharding(const run_table *t, size_t row, const struct source *source,
                         rk_strategy *s)
{
    s->sharding = source->sharding;
    if (run_has(t, row, "zero_or_fsdp", "distributed opt") ||
        run_has(t, row, "zero_or_fsdp", "ZeRO-1")) {
        s->sharding = RK_SHARD_OPTIMIZER;
    } else if (run_has(t, row, "zero_or_fsdp", "ZeRO-2") ||
               run_has(t, row, "zero_or_fsdp", "not resharded")) {
        s->sharding = RK_SHARD_GRADIENTS;
    } else if (run_has(t, row, "zero_or_fsdp", "FSDP")) {
        s->sharding = RK_SHARD_ALL;
    } else if (run_has(t, row, "zero_or_fsdp", "none") ||
               run_has(t, row, "zero_or_fsdp", "ZeRO-0")) {
        s->sharding = RK_SHARD_NONE;
    }
}

static void set_precision(const run_table *t, size_t row, const struct source *source,
                          rk_strategy *s)
{
    const bool low = run_has(t, row, "precision", "FP8") || run_has(t, row, "precision", "FP4");
    s->precision = run_has(t, row, "precision", "FP4")    ? RK_FP4
                   : run_has(t, row, "precision", "FP8")  ? RK_FP8
                   : run_has(t, row, "precision", "FP16") ? RK_FP16
                                                          : RK_BF16;
    s->states = (rk_state_recipe){2, source->gradient, 12, 2, source->reduce};
    if (source->facts & FULL_FP32) {
        s->states = (rk_state_recipe){4, 4, 8, 2, flag(t, row, "PURE") ? 2 : source->reduce};
        s->states.gather = flag(t, row, "float8 all-gather") ? 1 : 2;
    } else if (low) {
        s->states.gather = 1; /* fp8 parameters are gathered as such */
    }
    if (run_has(t, row, "part", "hf_playbook") && s->dp > 1) {
        s->states.gradient += 2; /* buckets of DDP */
    }
}

static void set_strategy(const run_table *t, size_t row, const struct source *source,
                         const rk_model *model, rk_strategy *s)
{
    *s = rk_strategy_defaults(model);
    set_degrees(t, row, s);
    set_interleaving(t, row, model, s);
    set_recompute(t, row, s);
    set_sharding(t, row, source, s);
    set_precision(t, row, source, s);
    const bool silent = run_cell(t, row, "seq_parallel")[0] == '\0';
    s->sp = s->tp > 1 &&
            (silent ? (source->facts & SEQUENCE) != 0 : run_has(t, row, "seq_parallel", "True"));
    s->cp_kind = flag(t, row, "CP via a2a") ? RK_CP_ULYSSES : RK_CP_RING;
    s->flash_attention = (source->facts & FLASH) && !flag(t, row, "no flash");
    s->tp_overlap = s->sp && ((source->facts & TP_OVERLAP) || flag(t, row, "AsyncTP"));
    s->grad_overlap = s->param_overlap = (source->facts & OVERLAP) != 0;
    if (run_has(t, row, "part", "hf_playbook")) {
        s->grad_overlap = true;
    }
    s->pp_overlap = s->vp > 1;
    s->graph_capture = flag(t, row, "impl=transformer_engine") || flag(t, row, "full_iteration;");
    s->moe_overlap = flag(t, row, "moe_a2a_overlap=True") && s->graph_capture;
    s->capacity_factor = flag(t, row, "capacity factor 1") ? 1 : 0;
}

/* ---- stack --------------------------------------------------------------------------------- */

static bool set_stack(const run_table *t, size_t row, const struct source *source, rk_stack *stack)
{
    rk_error err;
    if (rk_stack_load(source->stack, stack, &err)) {
        return false;
    }
    if (flag(t, row, "impl=full_iteration")) {
        stack->graph_share = 0.1; /* two launches a layer remain */
    }
    if (run_has(t, row, "model", "gpt-oss") && !flag(t, row, "impl=full_iteration")) {
        stack->activation_passes = 16; /* a clamped activation that is not fused */
    }
    if (run_has(t, row, "part", "bridge")) {
        stack->deduplicates = flag(t, row, "hybridep") || flag(t, row, "deepep") ||
                              run_has(t, row, "model", "deepseek");
    }
    if (run_has(t, row, "precision", "MX") || run_has(t, row, "precision", "32x32")) {
        stack->cast_passes *= 1.77; /* scaled along rows and along columns */
    }
    if (run_has(t, row, "precision", "rowwise")) {
        stack->cast_passes *= 4;
    }
    if (run_has(t, row, "part", "dgxc") && run_has(t, row, "commit_or_version", "v25.0") &&
        !run_has(t, row, "commit_or_version", "v25.01") &&
        !run_has(t, row, "commit_or_version", "v25.02")) {
        stack->attention_share = 0.866; /* later cuDNN */
    }
    if (run_has(t, row, "part", "bigscience")) {
        stack->accumulation_bytes = 10; /* DeepSpeed adds bf16 gradients to fp32 ones */
    }
    if (flag(t, row, "no compile")) {
        stack->activation_passes *= 2;
        stack->norm_forward *= 3;
        stack->norm_backward *= 3;
    }
    if (run_has(t, row, "part", "llm_foundry") == false && run_has(t, row, "model", "gpt3") &&
        stack->dropout_bytes <= 0) {
        stack->dropout_bytes = 18; /* NeMo trains GPT-3 with biases and dropout */
    }
    return true;
}

/* ---- all together -------------------------------------------------------------------------- */

static double measured_step(const run_table *t, size_t row, const rk_strategy *s)
{
    const double step = run_number(t, row, "step_time_s", 0);
    const double rate = run_number(t, row, "tokens_per_s_per_gpu", 0);
    if (step > 0 || rate <= 0) {
        return step;
    }
    return (double)s->global_batch * (double)s->seq / (rate * (double)rk_strategy_ranks(s));
}

bool run_case_of(const run_table *t, size_t row, run_case *out, const char **reason)
{
    const struct source *source = source_of(t, row);
    rk_violation violation = {.rule = NULL};
    if (flag(t, row, "JAX") || run_has(t, row, "accelerator", "TPU")) {
        *reason = "no document for XLA";
        return false;
    }
    if (run_number(t, row, "gbs", 0) < 1) {
        *reason = "batch not stated";
        return false;
    }
    if (!run_model_of(t, row, &out->model, reason) ||
        !run_system_of(t, row, &out->system, reason)) {
        return false;
    }
    set_strategy(t, row, source, &out->model, &out->strategy);
    *reason = "a stack does not load";
    if (!set_stack(t, row, source, &out->stack)) {
        return false;
    }
    if (rk_strategy_ranks(&out->strategy) != (int64_t)run_number(t, row, "n_accel", 0)) {
        *reason = "degrees do not multiply to the accelerators";
        return false;
    }
    if (!rk_strategy_legal(&out->model, &out->system, &out->strategy, RK_FRAMEWORK_ANY,
                           &violation)) {
        *reason = violation.rule;
        return false;
    }
    out->step_seconds = measured_step(t, row, &out->strategy);
    out->memory = run_number(t, row, "peak_mem_gib", 0) * 0x1p30;
    out->memory_kind = source->memory;
    out->first_stage = (source->facts & BY_STAGE_0) != 0;
    return true;
}
