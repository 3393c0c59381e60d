/* SPDX-License-Identifier: Apache-2.0 */
/* A function for the registries of configurations of torchtitan as of 2026-08-21 (b5bcd76c). */
#include "framework/launch_torchtitan.h"

#include "base/error.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

static void number(rk_out *out, const char *key, int64_t value)
{
    rk_out_printf(out, "    config.%s = %" PRId64 "\n", key, value);
}

static void text(rk_out *out, const char *key, const char *value)
{
    rk_out_printf(out, "    config.%s = \"%s\"\n", key, value);
}

static void truth(rk_out *out, const char *key, bool value)
{
    rk_out_printf(out, "    config.%s = %s\n", key, value ? "True" : "False");
}

static void code(rk_out *out, const char *key, const char *value)
{
    rk_out_printf(out, "    config.%s = %s\n", key, value);
}

/* Batches are counted in tokens; microbatches exist with a pipeline only. */
static void write_training(rk_out *out, const rk_strategy *s)
{
    const bool full = rk_is_full(s->precision);
    number(out, "training.num_tokens_per_microbatch_per_dp_rank", s->micro_batch * s->seq);
    number(out, "training.num_tokens_per_train_step", s->global_batch * s->seq);
    number(out, "training.max_context_length", s->seq);
    text(out, "training.mixed_precision_param", full ? "float32" : "bfloat16");
    text(out, "training.mixed_precision_reduce", "float32");
    truth(out, "training.enable_cpu_offload", s->offload_optimizer);
    /* Graphs are on by default, and exclude pipelines and dispatchers that ask the host. */
    const bool graphs = (s->graph_step || s->graph_capture) && s->pp == 1 && s->ep == 1;
    truth(out, "training.disable_cuda_graphs", !graphs);
}

static void write_pipeline(rk_out *out, const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    number(out, "parallelism.pipeline_parallel_degree", s->pp);
    if (s->pp == 1) {
        return;
    }
    const rk_titan_split split = rk_titan_split_of(launch->model, s);
    text(out, "parallelism.pipeline_parallel_schedule",
         rk_launch_schedule(RK_FRAMEWORK_TORCHTITAN, s));
    number(out, "parallelism.num_pp_microbatches", rk_strategy_microbatches(s));
    if (split.listed) {
        rk_out_text(out, "    config.parallelism.module_fqns_per_model_part = ");
        rk_titan_write_modules(out, launch->model, s);
        return;
    }
    if (split.layers_per_stage > 0) {
        number(out, "parallelism.pipeline_parallel_layers_per_stage", split.layers_per_stage);
    }
    number(out, "parallelism.pipeline_parallel_first_stage_less_layers", split.first_less);
    number(out, "parallelism.pipeline_parallel_last_stage_less_layers", split.last_less);
}

static void write_parallelism(rk_out *out, const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    const int64_t copies = s->sharding == RK_SHARD_NONE ? s->dp : s->replicas;
    number(out, "parallelism.data_parallel_replicate_degree", copies);
    number(out, "parallelism.data_parallel_shard_degree", s->dp / copies);
    text(out, "parallelism.fsdp_reshard_after_forward",
         s->sharding == RK_SHARD_ALL ? "always" : "never");
    number(out, "parallelism.tensor_parallel_degree", s->tp);
    truth(out, "parallelism.enable_sequence_parallel", s->sp || s->tp == 1);
    write_pipeline(out, launch);
    number(out, "parallelism.context_parallel_degree", s->cp);
    number(out, "parallelism.expert_parallel_degree", s->ep);
}

static void write_rest(rk_out *out, const rk_strategy *s)
{
    code(out, "activation_checkpoint",
         s->recompute == RK_REC_FULL        ? "FullAC.Config()"
         : s->recompute == RK_REC_SELECTIVE ? "SelectiveAC.Config()"
                                            : "None");
    truth(out, "compile.enable", true);
    code(out, "compile.components", "[\"model\", \"loss\"]");
    truth(out, "compile.enable_async_tensor_parallel", s->tp > 1 && s->tp_overlap);
}

static rk_status check_main(const rk_launch_file *launch, rk_error *err)
{
    const rk_strategy *s = launch->strategy;
    const rk_model *m = launch->model;
    if (s->etp > 1) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan has not split experts over etp %" PRId64
                       " ranks since 2026-04-30; use etp 1, or --emit torchtitan",
                       s->etp);
    }
    if (rk_titan_every(m, s) > 1) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan of 2026 recomputes all layers or none; leave out "
                       "--recompute-layers, or --emit torchtitan");
    }
    if (m->tied && s->pp > 1) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan of 2026 does not split %s, whose embedding is tied, over pp "
                       "%" PRId64 "; use pp 1",
                       m->name, s->pp);
    }
    for (int i = 0; i < m->type_count; i++) {
        const int64_t heads = m->types[i].attention.kv_heads;
        if (heads % s->tp != 0) {
            return rk_fail(err, RK_ERR_INVALID,
                           "torchtitan of 2026 does not copy key/value heads: %" PRId64
                           " do not split over tp %" PRId64,
                           heads, s->tp);
        }
    }
    if (s->micro_batch * s->seq % ((s->sp ? s->tp : 1) * (s->cp > 1 ? 2 * s->cp : 1)) != 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan needs tokens of a microbatch that divide over tp %" PRId64
                       " and 2 x cp %" PRId64,
                       s->tp, s->cp);
    }
    if (s->precision == RK_FP8 && s->fp8_recipe == RK_FP8_TENSORWISE) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan of 2026 has no fp8 scaled by tensor; use --emit torchtitan, or "
                       "bf16");
    }
    return RK_OK;
}

static void note_main(const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    rk_launch_note(launch->notes, s->nf4_weights, "weights in NF4 (bitsandbytes)");
    rk_launch_note(launch->notes, s->low_activations, "inputs of activations in fp8");
    rk_launch_note(launch->notes, s->cp > 1,
                   "how ranks exchange keys and values, and FlexAttention, which cp needs");
    rk_launch_note(launch->notes, s->precision == RK_FP8,
                   "linears in mxfp8: add MXFP8LinearConverter to the converters of the model");
    rk_launch_note(launch->notes, (s->graph_capture || s->graph_step) && (s->pp > 1 || s->ep > 1),
                   "CUDA graphs, which exclude pp and ep");
}

/* "llama3_405b_16384": the model and the ranks as a valid Python name. */
static void write_name(rk_out *out, const rk_launch_file *launch)
{
    rk_out_text(out, "reckon_");
    for (const char *c = launch->model->name; *c; c++) {
        rk_out_printf(out, "%c", isalnum((unsigned char)*c) ? *c : '_');
    }
    rk_out_printf(out, "_%" PRId64, rk_strategy_ranks(launch->strategy));
}

static void write_head(rk_out *out, const rk_launch_file *launch)
{
    const rk_titan_flavor *flavor = rk_titan_flavor_of(launch->model);
    const char *name = flavor ? flavor->name : "MODEL";
    char words[256];
    (void)snprintf(
        words, sizeof(words), "torchtitan of 2026-08-21 (b5bcd76c) for %s on %" PRId64 " %s.",
        launch->model->name, rk_strategy_ranks(launch->strategy), launch->system->accelerator.name);
    rk_launch_comment(out, launch->title);
    rk_launch_comment(out, words);
    rk_out_printf(out,
                  "# Append this to torchtitan/models/%s/config_registry.py, and start it with\n"
                  "# --module %s --config ",
                  name, name);
    write_name(out, launch);
    rk_out_text(out, ".\n# Data, tokenizer, steps, optimizer and checkpoints are those of the "
                     "configuration that it changes.\n");
    rk_launch_write_notes(out, launch->notes, "this file");
}

rk_status rk_launch_torchtitan_python(const rk_launch_file *launch, rk_out *out, rk_error *err)
{
    const rk_titan_flavor *flavor = rk_titan_flavor_of(launch->model);
    rk_status status = rk_titan_check(launch, err);
    if (!status) {
        status = check_main(launch, err);
    }
    if (status) {
        return status;
    }
    rk_titan_note(launch);
    note_main(launch);
    write_head(out, launch);
    rk_out_text(out, "from torchtitan.distributed.activation_checkpoint import FullAC, "
                     "SelectiveAC\n\n\ndef ");
    write_name(out, launch);
    rk_out_printf(out, "():\n    config = %s()\n", flavor ? flavor->function : "MODEL_CONFIG");
    write_training(out, launch->strategy);
    write_parallelism(out, launch);
    write_rest(out, launch->strategy);
    rk_out_text(out, "    return config\n");
    return RK_OK;
}
