/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts for pretrain_gpt.py of Megatron-LM, at commit d98e8a64 (2026-08-22). */
#include "framework/megatron_flags.h"

#include "base/error.h"
#include "base/named.h"
#include "strategy/optimizer.h"
#include "strategy/strategy_fields.h"

#include <ctype.h>
#include <stdio.h>

/* ---- parallelism ---------------------------------------------------------------------------- */

/* "Et*4|t*4|...|t*3mL": E embedding, t layers, m the MTP modules, L the head; | ends a stage. */
static void write_layout(rk_out *out, const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    const int modules_at = s->layout_count - (s->mtp_before_head ? 2 : 1);
    rk_out_text(out, " \\\n    --pipeline-model-parallel-layout \"");
    for (int i = 0; i < s->layout_count; i++) {
        rk_out_text(out, i == 0 ? "E" : "|");
        if (s->layout[i] > 0) {
            rk_out_printf(out, "t*%d", s->layout[i]);
        }
        for (int k = 0; i == modules_at && k < launch->model->mtp_layers; k++) {
            rk_out_text(out, "m");
        }
    }
    rk_out_text(out, "L\"");
}

static void write_pipeline(rk_out *out, const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    rk_megatron_degree(out, "pipeline-model-parallel-size", s->pp);
    rk_megatron_flag_if(out, s->vp > 1 && !s->pp_overlap, "no-overlap-p2p-communication");
    if (rk_megatron_is_hybrid(launch->model)) {
        return; /* its pattern has the stages */
    }
    if (s->layout_count > 0) {
        write_layout(out, launch);
        return;
    }
    rk_megatron_degree(out, "num-virtual-stages-per-pipeline-rank", s->vp);
    rk_megatron_flag_if(out, s->count_embedding, "account-for-embedding-in-pipeline-split");
    rk_megatron_flag_if(out, s->count_head, "account-for-loss-in-pipeline-split");
    if (s->first_stage_layers > 0) {
        rk_megatron_count(out, "decoder-first-pipeline-num-layers", s->first_stage_layers);
    }
    if (s->last_stage_layers > 0) {
        rk_megatron_count(out, "decoder-last-pipeline-num-layers", s->last_stage_layers);
    }
}

/*
 * Moments of 4 bytes are both in bf16, moments of 2 bytes in fp8; the master copy of weights in 16
 * bits needs 4 more.
 */
static void write_moments(rk_out *out, const rk_strategy *s)
{
    static const char *const names[RK_OPTIMIZER_COUNT] = {
        [RK_OPTIMIZER_SGD] = "sgd",
        [RK_OPTIMIZER_MUON] = "muon",
        [RK_OPTIMIZER_DIST_MUON] = "dist_muon",
    };
    if (names[s->optimizer]) {
        rk_megatron_text(out, "optimizer", names[s->optimizer]);
        return;
    }
    const double moments = s->states.optimizer - (rk_is_full(s->precision) ? 0 : 4);
    const bool narrow = moments < 8;
    rk_megatron_flag_if(out, narrow || s->offload_optimizer, "use-precision-aware-optimizer");
    if (narrow) {
        rk_megatron_text(out, "exp-avg-dtype", moments < 4 ? "fp8" : "bf16");
        rk_megatron_text(out, "exp-avg-sq-dtype", moments < 4 ? "fp8" : "bf16");
    }
    rk_megatron_flag_if(out, s->offload_optimizer, "optimizer-cpu-offload");
}

/* Whether ranks share gradients: of all layers, or of experts that fewer ranks hold. */
static bool reduces_gradients(const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    return s->dp * s->cp > 1 ||
           (rk_model_has_experts(launch->model) && s->tp * s->cp * s->dp > s->ep * s->etp);
}

static void write_sharding(rk_out *out, const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    const bool reduces = reduces_gradients(launch);
    rk_megatron_flag_if(out,
                        s->sharding == RK_SHARD_OPTIMIZER && !rk_optimizer_of(s)->deals_matrices,
                        "use-distributed-optimizer");
    if (s->sharding >= RK_SHARD_GRADIENTS) {
        rk_megatron_flag(out, "use-megatron-fsdp");
        rk_megatron_text(out, "data-parallel-sharding-strategy",
                         s->sharding == RK_SHARD_ALL ? "optim_grads_params" : "optim_grads");
        rk_megatron_text(out, "ckpt-format", "fsdp_dtensor");
        if (s->states.reduce > 2 && !rk_is_full(s->precision)) {
            rk_megatron_text(out, "megatron-fsdp-main-grads-dtype", "fp32");
        }
    }
    rk_megatron_degree(out, "num-distributed-optimizer-instances", s->replicas);
    rk_megatron_flag_if(out, reduces && s->grad_overlap, "overlap-grad-reduce");
    rk_megatron_flag_if(out, reduces && s->param_overlap && s->sharding != RK_SHARD_NONE,
                        "overlap-param-gather");
    const bool half = s->precision == RK_FP16; /* whose gradients are as narrow by default */
    rk_megatron_flag_if(out, s->states.reduce <= 2 && !half, "grad-reduce-in-bf16");
    rk_megatron_flag_if(out, s->states.reduce > 2 && half, "accumulate-allreduce-grads-in-fp32");
    write_moments(out, s);
}

static void write_parallel(rk_out *out, const rk_launch_file *launch)
{
    static const char *const kinds[] = {"p2p", "allgather", "a2a"};
    const rk_strategy *s = launch->strategy;
    rk_megatron_count(out, "micro-batch-size", s->micro_batch);
    rk_megatron_count(out, "global-batch-size", s->global_batch);
    rk_megatron_degree(out, "tensor-model-parallel-size", s->tp);
    rk_megatron_flag_if(out, s->sp && s->tp > 1, "sequence-parallel");
    rk_megatron_degree(out, "context-parallel-size", s->cp);
    if (s->cp > 1) {
        rk_megatron_text(out, "cp-comm-type", kinds[s->cp_kind]);
    }
    write_pipeline(out, launch);
    rk_megatron_flag_if(out, s->order == RK_ORDER_PIPELINE_DATA, "use-tp-pp-dp-mapping");
    rk_megatron_flag_if(out, s->tp > 1 && s->tp_overlap, "tp-comm-overlap");
    write_sharding(out, launch);
}

/* ---- precision, memory, graphs -------------------------------------------------------------- */

static void write_precision(rk_out *out, const rk_strategy *s)
{
    if (!rk_is_full(s->precision)) {
        rk_megatron_flag(out, s->precision == RK_FP16 ? "fp16" : "bf16");
    }
    if (s->precision == RK_FP8) {
        rk_megatron_text(out, "fp8-format", s->fp8_recipe == RK_FP8_MX ? "e4m3" : "hybrid");
        rk_megatron_text(out, "fp8-recipe", rk_fp8_recipe_names[s->fp8_recipe]);
        rk_megatron_flag_if(out, s->low_weights, "fp8-param-gather");
    } else if (s->precision == RK_FP4) {
        rk_megatron_text(out, "fp4-format", "e2m1");
        rk_megatron_flag_if(out, s->low_weights, "fp4-param-gather");
    }
    if (!s->flash_attention) {
        rk_megatron_text(out, "attention-backend", "unfused");
    }
}

static void write_modules(rk_out *out, const rk_strategy *s)
{
    static const rk_named_count modules[] = {
        {"core_attn", RK_MODULE_CORE_ATTENTION},
        {"layernorm", RK_MODULE_NORM},
        {"moe_act", RK_MODULE_ACTIVATION},
        {"mla_up_proj", RK_MODULE_MLA_UP},
        {"mlp", RK_MODULE_MLP},
        {"moe", RK_MODULE_MOE},
        {"mhc", RK_MODULE_STREAMS},
    };
    rk_out_text(out, " \\\n    --recompute-modules");
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        if (s->recompute_modules & (unsigned)modules[i].value) {
            rk_out_printf(out, " %s", modules[i].name);
        }
    }
}

static void write_recompute(rk_out *out, const rk_strategy *s)
{
    const bool some = s->recompute_layers > 0;
    if (s->recompute == RK_REC_FULL) {
        rk_megatron_text(out, "recompute-granularity", "full");
        rk_megatron_text(out, "recompute-method", some ? "block" : "uniform");
        rk_megatron_count(out, "recompute-num-layers", some ? s->recompute_layers : 1);
    } else if (s->recompute == RK_REC_SELECTIVE) {
        rk_megatron_text(out, "recompute-granularity", "selective");
        write_modules(out, s);
    }
}

static void write_graph_modules(rk_out *out, const rk_strategy *s)
{
    static const char *const names[] = {RK_GRAPH_NAMES};
    rk_out_printf(out, " \\\n    --cuda-graph-modules");
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (s->graph_modules >> i & 1U) {
            rk_out_printf(out, " %s", names[i]);
        }
    }
}

/* Graphs hold no routed experts: how many tokens these get is known on the device only. */
static void write_graphs(rk_out *out, const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    if (s->graph_step) {
        rk_megatron_text(out, "cuda-graph-impl", "full_iteration");
        rk_megatron_flag(out, "no-check-for-nan-in-loss-and-grad");
    } else if (s->graph_capture) {
        rk_megatron_text(out, "cuda-graph-impl", "transformer_engine");
        if (s->graph_modules) {
            write_graph_modules(out, s);
        } else if (rk_model_has_experts(launch->model)) {
            const bool again =
                s->recompute == RK_REC_SELECTIVE && (s->recompute_modules & RK_MODULE_MOE) != 0;
            const bool hybrid = rk_megatron_is_hybrid(launch->model);
            rk_out_printf(out, " \\\n    --cuda-graph-modules attn%s%s", hybrid ? " mamba" : "",
                          again ? "" : " moe_router");
        }
    }
    rk_megatron_flag_if(out, s->graph_step || s->graph_capture, "te-rng-tracker");
}

/* ---- what has no argument ------------------------------------------------------------------- */

/* The modules of graphs that Megatron Core refuses (transformer_config.py). */
static rk_status check_graph_modules(const rk_strategy *s, rk_error *err)
{
    const unsigned modules = s->graph_capture && !s->graph_step ? s->graph_modules : 0;
    if (modules & RK_GRAPH_PREPROCESS && !(modules & RK_GRAPH_ROUTER)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "Megatron-LM captures moe_preprocess with moe_router only; add it to "
                       "--graph-modules");
    }
    if (modules & RK_GRAPH_MOE && (modules & RK_GRAPH_ROUTER || s->capacity_factor <= 0)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "Megatron-LM captures whole mixtures of experts with a capacity only, and "
                       "not with moe_router; put moe_router in place of moe in --graph-modules, or "
                       "give --capacity-factor");
    }
    return RK_OK;
}

static rk_status check_schedule(const rk_strategy *s, rk_error *err)
{
    const rk_status status = check_graph_modules(s, err);
    if (status) {
        return status;
    }
    if (s->graph_capture && !s->graph_step && s->recompute == RK_REC_FULL) {
        return rk_fail(err, RK_ERR_INVALID,
                       "Megatron-LM captures no graphs of layers with full recompute; leave out "
                       "--graph-capture, or use --recompute selective");
    }
    return rk_launch_check_schedule(RK_FRAMEWORK_MEGATRON, s, err);
}

/* Blocks of a pattern: the modules of MTP come last, and layers are counted one by one. */
static rk_status check_pattern(const rk_launch_file *launch, rk_error *err)
{
    const rk_strategy *s = launch->strategy;
    const rk_model *m = launch->model;
    if (!rk_megatron_is_hybrid(m)) {
        return check_schedule(s, err);
    }
    if (s->mtp_before_head && m->mtp_layers > 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "Megatron-LM runs multi-token prediction of a pattern of blocks in the last "
                       "stage; leave out --mtp-before-head");
    }
    if (s->recompute_layers > 0 && rk_megatron_layers(m) != m->layers) {
        return rk_fail(err, RK_ERR_INVALID,
                       "Megatron-LM counts mixers and networks of %s as layers of their own; leave "
                       "out --recompute-layers",
                       m->name);
    }
    return check_schedule(s, err);
}

static rk_status check(const rk_launch_file *launch, rk_error *err)
{
    const rk_strategy *s = launch->strategy;
    const rk_status status =
        rk_launch_check(RK_FRAMEWORK_MEGATRON, launch->model, launch->system, err);
    if (status) {
        return status;
    }
    if (s->adapter_rank > 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "Megatron-LM has no adapters; leave out --lora-rank, or emit nothing");
    }
    if (s->precision == RK_INT8) {
        return rk_fail(err, RK_ERR_INVALID,
                       "Megatron-LM does not train in int8; use bf16 or fp8, or emit nothing");
    }
    if (s->recompute == RK_REC_SELECTIVE && s->recompute_modules & RK_MODULE_OPERATORS) {
        return rk_fail(err, RK_ERR_INVALID,
                       "Megatron-LM recomputes modules or layers, not operators");
    }
    if (s->offload_activations || s->offload_weights) {
        return rk_fail(err, RK_ERR_INVALID,
                       "Megatron-LM has no argument to offload all %s; leave it out of --offload",
                       s->offload_activations ? "activations" : "weights");
    }
    return check_pattern(launch, err);
}

static void note_strategy(const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    rk_launch_note(launch->notes,
                   s->optimizer == RK_OPTIMIZER_ADAM_8BIT ||
                       s->optimizer == RK_OPTIMIZER_ADAFACTOR ||
                       s->optimizer == RK_OPTIMIZER_SGD_PLAIN,
                   "the optimizer, which Megatron-LM lacks");
    rk_launch_note(launch->notes, s->nf4_weights, "weights in NF4 (bitsandbytes)");
    rk_launch_note(launch->notes, s->low_activations,
                   "activation_func_fp8_input_store, which is set in the configuration");
    rk_launch_note(launch->notes, s->document > 0, "documents that attention does not cross");
    rk_launch_note(launch->notes, s->attention_kernel != RK_KERNEL_OF_STACK,
                   "the attention kernel");
    rk_launch_note(launch->notes, s->precision == RK_TF32, "tf32, which is set in PyTorch itself");
}

/* ---- the script ----------------------------------------------------------------------------- */

static void write_head(rk_out *out, const rk_launch_file *launch)
{
    char words[256];
    (void)snprintf(words, sizeof(words),
                   "%s of Megatron-LM as of August 2026 (d98e8a64) for %s on %" PRId64 " %s.",
                   rk_megatron_is_hybrid(launch->model) ? "Hybrid model" : "pretrain_gpt.py",
                   launch->model->name, rk_strategy_ranks(launch->strategy),
                   launch->system->accelerator.name);
    rk_launch_comment(out, launch->title);
    rk_launch_comment(out, words);
    rk_launch_comment(out, "Arguments of this script follow the ones below: give data, tokenizer, "
                           "training length,");
    rk_launch_comment(out, "learning rate and checkpoints there.");
    rk_launch_write_notes(out, launch->notes, "this script");
}

static bool needs_one_connection(const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    return launch->system->accelerator.generation < RK_GENERATION_BLACKWELL &&
           s->sharding < RK_SHARD_GRADIENTS && !s->moe_overlap && (s->tp > 1 || s->cp > 1);
}

/* The rendezvous address; environment variables take precedence. */
static void write_rendezvous(rk_out *out, const rk_launch_file *launch, bool slurm)
{
    const int64_t ranks = rk_strategy_ranks(launch->strategy);
    const int64_t node = rk_launch_node(launch->system, ranks);
    rk_out_text(out, "set -euo pipefail\n");
    if (slurm) {
        rk_out_text(out, "NNODES=$SLURM_NNODES\n"
                         "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | "
                         "head -n 1)\n");
    } else {
        rk_out_printf(out, "NNODES=${NNODES:-%" PRId64 "}\n", ranks / node);
        rk_out_text(out, "NODE_RANK=${NODE_RANK:-0}\n"
                         "MASTER_ADDR=${MASTER_ADDR:-localhost}\n");
    }
    rk_out_printf(
        out, "MASTER_PORT=${MASTER_PORT:-29500}\nGPUS_PER_NODE=${GPUS_PER_NODE:-%" PRId64 "}\n",
        node);
    if (rk_megatron_is_hybrid(launch->model)) { /* by its new name, or by its old one */
        rk_out_text(out, "PRETRAIN=${PRETRAIN:-pretrain_hybrid.py}\n"
                         "[ -e \"$PRETRAIN\" ] || PRETRAIN=pretrain_mamba.py\n");
    }
    rk_out_text(out, needs_one_connection(launch) ? "export CUDA_DEVICE_MAX_CONNECTIONS=1\n" : "");
    rk_out_printf(out, "%storchrun --nnodes \"$NNODES\" --nproc-per-node \"$GPUS_PER_NODE\" \\\n",
                  slurm ? "srun " : "");
    rk_out_text(out, slurm ? "    --rdzv-backend c10d --rdzv-id \"$SLURM_JOB_ID\" "
                             "--rdzv-endpoint \"$MASTER_ADDR:$MASTER_PORT\" \\\n"
                           : "    --node-rank \"$NODE_RANK\" --master-addr \"$MASTER_ADDR\" "
                             "--master-port \"$MASTER_PORT\" \\\n");
    rk_out_text(out,
                rk_megatron_is_hybrid(launch->model) ? "    \"$PRETRAIN\"" : "    pretrain_gpt.py");
}

/* Slurm reads directives up to the first command. */
static void write_job(rk_out *out, const rk_launch_file *launch)
{
    const int64_t ranks = rk_strategy_ranks(launch->strategy);
    const int64_t node = rk_launch_node(launch->system, ranks);
    rk_out_text(out, "#SBATCH --job-name=");
    for (const char *c = launch->model->name; *c; c++) {
        const bool plain = isalnum((unsigned char)*c) || *c == '.' || *c == '-' || *c == '_';
        rk_out_printf(out, "%c", plain ? *c : '-');
    }
    rk_out_printf(out, "\n#SBATCH --nodes=%" PRId64 "\n", ranks / node);
    rk_out_printf(out, "#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=%" PRId64 "\n", node);
    rk_out_text(out, "#SBATCH --exclusive\n");
}

static rk_status write_script(const rk_launch_file *launch, bool slurm, rk_out *out, rk_error *err)
{
    const rk_status status = check(launch, err);
    if (status) {
        return status;
    }
    rk_megatron_note_model(launch);
    note_strategy(launch);
    rk_out_text(out, "#!/bin/bash\n");
    if (slurm) {
        write_job(out, launch);
    }
    write_head(out, launch);
    write_rendezvous(out, launch, slurm);
    rk_megatron_write_model(out, launch);
    write_parallel(out, launch);
    write_precision(out, launch->strategy);
    write_recompute(out, launch->strategy);
    /* Megatron-LM refuses Transformer Engine's, so its own runs. */
    rk_megatron_flag_if(out, launch->stack->loss_bytes <= 8, "cross-entropy-loss-fusion");
    write_graphs(out, launch);
    rk_out_text(out, " \\\n    \"$@\"\n");
    return RK_OK;
}

rk_status rk_launch_megatron(const rk_launch_file *launch, rk_out *out, rk_error *err)
{
    return write_script(launch, false, out, err);
}

rk_status rk_launch_megatron_slurm(const rk_launch_file *launch, rk_out *out, rk_error *err)
{
    return write_script(launch, true, out, err);
}
