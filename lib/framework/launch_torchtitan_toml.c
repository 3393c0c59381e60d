/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of torchtitan 0.2.2 (73a0e697, 2026-02-20), the last release to read TOML. */
#include "framework/launch_torchtitan.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void section(rk_out *out, const char *name)
{
    rk_out_printf(out, "\n[%s]\n", name);
}

static void number(rk_out *out, const char *key, int64_t value)
{
    rk_out_printf(out, "%s = %" PRId64 "\n", key, value);
}

static void text(rk_out *out, const char *key, const char *value)
{
    rk_out_printf(out, "%s = \"%s\"\n", key, value);
}

static void truth(rk_out *out, const char *key, bool value)
{
    rk_out_printf(out, "%s = %s\n", key, value ? "true" : "false");
}

/* A converter makes linears fp8, and reads a section of its own. */
static const char *converter_of(const rk_strategy *s)
{
    return s->precision != RK_FP8       ? NULL
           : s->fp8_recipe == RK_FP8_MX ? "quantize.linear.mx"
                                        : "quantize.linear.float8";
}

static void write_model(rk_out *out, const rk_launch_file *launch)
{
    const rk_titan_flavor *flavor = rk_titan_flavor_of(launch->model);
    const char *converter = converter_of(launch->strategy);
    if (!flavor && !converter) {
        return;
    }
    section(out, "model");
    if (flavor) {
        text(out, "name", flavor->name);
        text(out, "flavor", flavor->flavor);
    }
    if (converter) {
        rk_out_printf(out, "converters = [\"%s\"]\n", converter);
    }
}

/* With a pipeline a batch of a rank is cut into microbatches, otherwise it is a microbatch. */
static void write_training(rk_out *out, const rk_strategy *s)
{
    section(out, "training");
    number(out, "local_batch_size", s->pp > 1 ? s->global_batch / s->dp : s->micro_batch);
    number(out, "global_batch_size", s->global_batch);
    number(out, "seq_len", s->seq);
    const bool full = rk_is_full(s->precision);
    text(out, "mixed_precision_param", full ? "float32" : "bfloat16");
    text(out, "mixed_precision_reduce", "float32");
    truth(out, "enable_cpu_offload", s->offload_optimizer);
}

static void write_pipeline(rk_out *out, const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    number(out, "pipeline_parallel_degree", s->pp);
    if (s->pp == 1) {
        return;
    }
    const rk_titan_split split = rk_titan_split_of(launch->model, s);
    text(out, "pipeline_parallel_schedule", rk_launch_schedule(RK_FRAMEWORK_TORCHTITAN, s));
    number(out, "pipeline_parallel_microbatch_size", s->micro_batch);
    if (split.listed) {
        rk_out_text(out, "module_fqns_per_model_part = ");
        rk_titan_write_modules(out, launch->model, s);
        return;
    }
    if (split.layers_per_stage > 0) {
        number(out, "pipeline_parallel_layers_per_stage", split.layers_per_stage);
    }
    number(out, "pipeline_parallel_first_stage_less_layers", split.first_less);
    number(out, "pipeline_parallel_last_stage_less_layers", split.last_less);
}

static void write_parallelism(rk_out *out, const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    const int64_t copies = s->sharding == RK_SHARD_NONE ? s->dp : s->replicas;
    section(out, "parallelism");
    number(out, "data_parallel_replicate_degree", copies);
    number(out, "data_parallel_shard_degree", s->dp / copies);
    text(out, "fsdp_reshard_after_forward", s->sharding == RK_SHARD_ALL ? "always" : "never");
    number(out, "tensor_parallel_degree", s->tp);
    truth(out, "enable_async_tensor_parallel", s->tp > 1 && s->tp_overlap);
    write_pipeline(out, launch);
    number(out, "context_parallel_degree", s->cp);
    if (s->cp > 1) {
        text(out, "context_parallel_rotate_method",
             s->cp_kind == RK_CP_ALL_GATHER ? "allgather" : "alltoall");
    }
    number(out, "expert_parallel_degree", s->ep);
    number(out, "expert_tensor_parallel_degree", s->etp);
}

/* mxfp8 is refused with the model compiled and tp > 1. */
static bool compiles_model(const rk_strategy *s)
{
    return !(s->precision == RK_FP8 && s->fp8_recipe == RK_FP8_MX && s->tp > 1);
}

static void write_rest(rk_out *out, const rk_model *model, const rk_strategy *s)
{
    const int64_t every = rk_titan_every(model, s);
    section(out, "activation_checkpoint");
    text(out, "mode",
         s->recompute == RK_REC_NONE                 ? "none"
         : s->recompute == RK_REC_FULL && every <= 1 ? "full"
                                                     : "selective");
    if (every > 1) {
        rk_out_printf(out, "selective_ac_option = \"%" PRId64 "\"\n", every);
    } else if (s->recompute == RK_REC_SELECTIVE) {
        text(out, "selective_ac_option", "op");
    }
    section(out, "compile");
    truth(out, "enable", true);
    rk_out_printf(out, "components = [%s\"loss\"]\n", compiles_model(s) ? "\"model\", " : "");
    const char *converter = converter_of(s);
    if (converter) {
        section(out, converter);
    }
    if (converter && s->fp8_recipe == RK_FP8_MX) {
        text(out, "recipe_name", "mxfp8_cublas");
    } else if (converter) { /* without a named recipe scales are by tensor */
        truth(out, "enable_fsdp_float8_all_gather", s->states.gather < 2);
    }
}

/* Refuses what only this release cannot run. */
static rk_status check_release(const rk_launch_file *launch, rk_error *err)
{
    const rk_strategy *s = launch->strategy;
    const rk_titan_flavor *flavor = rk_titan_flavor_of(launch->model);
    const bool deepseek = flavor && strcmp(flavor->name, "deepseek_v3") == 0;
    if (s->seq % (2 * s->tp * s->cp) != 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan 0.2.2 needs a sequence that divides by 2 x tp x cp = %" PRId64
                       ", not %" PRId64,
                       2 * s->tp * s->cp, s->seq);
    }
    if (s->ep > 1 && s->etp != 1 && s->etp != s->tp) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan 0.2.2 splits experts over 1 or tp %" PRId64
                       " ranks, not over etp %" PRId64,
                       s->tp, s->etp);
    }
    if (!compiles_model(s) && s->tp_overlap) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan 0.2.2 overlaps tensor-parallel messages in compiled models "
                       "only, and does not compile mxfp8 with tp %" PRId64 "; leave tp out of "
                       "--overlap",
                       s->tp);
    }
    if (deepseek && s->tp > 1 && s->precision == RK_FP8 && s->fp8_recipe == RK_FP8_TENSORWISE) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan 0.2.2 does not run deepseek_v3 with tp %" PRId64
                       " and fp8 scaled by tensor; use tp 1 or bf16",
                       s->tp);
    }
    return RK_OK;
}

rk_status rk_launch_torchtitan(const rk_launch_file *launch, rk_out *out, rk_error *err)
{
    const rk_strategy *s = launch->strategy;
    char words[256];
    rk_status status = rk_titan_check(launch, err);
    if (!status) {
        status = check_release(launch, err);
    }
    if (status) {
        return status;
    }
    rk_titan_note(launch);
    rk_launch_note(launch->notes, s->graph_capture || s->graph_step, "CUDA graphs");
    rk_launch_note(launch->notes, s->nf4_weights, "weights in NF4 (bitsandbytes)");
    rk_launch_note(launch->notes, s->low_activations, "inputs of activations in fp8");
    rk_launch_note(launch->notes, s->tp > 1 && !s->sp, "tensor without sequence parallelism");
    (void)snprintf(words, sizeof(words), "torchtitan 0.2.2 (TOML) for %s on %" PRId64 " %s.",
                   launch->model->name, rk_strategy_ranks(s), launch->system->accelerator.name);
    rk_launch_comment(out, launch->title);
    rk_launch_comment(out, words);
    rk_launch_comment(out, "Data, tokenizer, steps, optimizer and checkpoints are yours to add.");
    rk_launch_write_notes(out, launch->notes, "this file");
    write_model(out, launch);
    write_training(out, s);
    write_parallelism(out, launch);
    write_rest(out, launch->model, s);
    return RK_OK;
}
