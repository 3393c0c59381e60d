/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of torchtitan in TOML, as releases up to 0.2.2 read it. */
#include "report/launch.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>

struct config {
    const rk_model *model;
    const rk_strategy *strategy;
    rk_out *out;
};

static void section(struct config *x, const char *name)
{
    rk_out_printf(x->out, "\n[%s]\n", name);
}

static void number(struct config *x, const char *key, int64_t value)
{
    rk_out_printf(x->out, "%s = %" PRId64 "\n", key, value);
}

static void text(struct config *x, const char *key, const char *value)
{
    rk_out_printf(x->out, "%s = \"%s\"\n", key, value);
}

static void truth(struct config *x, const char *key, bool value)
{
    rk_out_printf(x->out, "%s = %s\n", key, value ? "true" : "false");
}

/* The names of torch.distributed.pipelining; NULL: it has none. */
static const char *schedule_name(rk_schedule_kind kind)
{
    switch (kind) {
    case RK_SCHEDULE_GPIPE:
        return "GPipe";
    case RK_SCHEDULE_1F1B:
        return "1F1B";
    case RK_SCHEDULE_INTERLEAVED:
        return "Interleaved1F1B";
    case RK_SCHEDULE_ZB_V:
        return "ZBVZeroBubble";
    default:
        return NULL;
    }
}

/* With a pipeline a batch of a rank is cut into microbatches, without one it is one of them. */
static void write_training(struct config *x)
{
    const rk_strategy *s = x->strategy;
    section(x, "training");
    number(x, "local_batch_size", s->pp > 1 ? s->global_batch / s->dp : s->micro_batch);
    number(x, "global_batch_size", s->global_batch);
    number(x, "seq_len", s->seq);
    text(x, "mixed_precision_param", "bfloat16");
    text(x, "mixed_precision_reduce", s->states.reduce > 2 ? "float32" : "bfloat16");
    truth(x, "enable_cpu_offload", s->offload_optimizer);
}

static void write_pipeline(struct config *x)
{
    const rk_strategy *s = x->strategy;
    const int64_t stages = rk_schedule_stages(s->schedule, s->pp, s->vp);
    number(x, "pipeline_parallel_degree", s->pp);
    if (s->pp == 1) {
        return;
    }
    text(x, "pipeline_parallel_schedule", schedule_name(s->schedule));
    number(x, "pipeline_parallel_microbatch_size", s->micro_batch);
    number(x, "pipeline_parallel_layers_per_stage",
           (x->model->layers + s->count_embedding + s->count_head) / stages);
    number(x, "pipeline_parallel_first_stage_less_layers", s->count_embedding);
    number(x, "pipeline_parallel_last_stage_less_layers", s->count_head);
}

static void write_parallelism(struct config *x)
{
    const rk_strategy *s = x->strategy;
    const bool shards = s->sharding != RK_SHARD_NONE;
    const int64_t copies = shards ? s->replicas : s->dp;
    section(x, "parallelism");
    number(x, "data_parallel_replicate_degree", copies);
    number(x, "data_parallel_shard_degree", s->dp / copies);
    text(x, "fsdp_reshard_after_forward", s->sharding == RK_SHARD_ALL ? "always" : "never");
    number(x, "tensor_parallel_degree", s->tp);
    truth(x, "enable_async_tensor_parallel", s->tp > 1 && s->tp_overlap);
    write_pipeline(x);
    number(x, "context_parallel_degree", s->cp);
    if (s->cp > 1) {
        text(x, "context_parallel_rotate_method",
             s->cp_kind == RK_CP_ALL_GATHER ? "allgather" : "alltoall");
    }
    number(x, "expert_parallel_degree", s->ep);
    if (s->ep > 1 || s->etp > 1) {
        number(x, "expert_tensor_parallel_degree", s->etp);
    }
}

static void write_rest(struct config *x)
{
    const rk_strategy *s = x->strategy;
    section(x, "activation_checkpoint");
    text(x, "mode",
         s->recompute == RK_REC_FULL        ? "full"
         : s->recompute == RK_REC_SELECTIVE ? "selective"
                                            : "none");
    if (s->recompute == RK_REC_SELECTIVE) {
        text(x, "selective_ac_option", "op");
    }
    section(x, "compile");
    truth(x, "enable", true);
    if (s->precision == RK_FP8 && s->fp8_recipe == RK_FP8_MX) {
        section(x, "quantize.linear.mx");
        text(x, "recipe_name", "mxfp8");
    } else if (s->precision == RK_FP8) {
        section(x, "quantize.linear.float8");
        text(x, "recipe_name", "tensorwise");
        truth(x, "enable_fsdp_float8_all_gather", s->states.gather < 2);
    }
}

static void note_if(struct config *x, bool found, const char *words)
{
    if (found) {
        rk_launch_note(x->out, "a key", words);
    }
}

static void write_notes(struct config *x)
{
    const rk_strategy *s = x->strategy;
    const int64_t layers = x->model->layers + s->count_embedding + s->count_head;
    const bool even = layers % rk_schedule_stages(s->schedule, s->pp, s->vp) == 0;
    note_if(x, !even || s->first_stage_layers + s->last_stage_layers > 0 || s->layout_count > 0,
            "how many layers each stage has");
    note_if(x, s->recompute_layers > 0, "how many layers are recomputed");
    note_if(x, s->offload_activations || s->offload_weights, "offloaded activations and weights");
    note_if(x, s->moe_overlap, "all-to-all behind compute");
    note_if(x, s->graph_capture || s->graph_step, "CUDA graphs");
    note_if(x, s->document > 0, "documents that attention does not cross");
    note_if(x, s->precision == RK_FP8 && s->fp8_recipe == RK_FP8_BLOCKWISE, "scales by block");
    note_if(x, s->precision == RK_FP4, "products in fp4");
}

static rk_status check(const rk_strategy *s, rk_error *err)
{
    if (s->adapter_rank > 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan has no adapters; leave out --lora-rank, or emit nothing");
    }
    if (!schedule_name(s->schedule)) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan does not run the schedule %s; use gpipe, 1f1b, interleaved or "
                       "zb-v",
                       rk_schedule_names[s->schedule]);
    }
    if (s->sharding == RK_SHARD_OPTIMIZER) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan does not shard the optimizer alone; use --zero 2 or 3, or "
                       "--framework torchtitan");
    }
    if (s->sharding != RK_SHARD_NONE && s->dp % s->replicas != 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan copies shards over data parallelism alone, but dp %" PRId64
                       " has no %" PRId64 " equal parts; choose --hsdp that divides it",
                       s->dp, s->replicas);
    }
    if (s->cp > 1 && s->cp_kind == RK_CP_ULYSSES) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan splits sequences by ring or all-gather, not by Ulysses");
    }
    if (s->recompute == RK_REC_SELECTIVE && s->recompute_modules != RK_MODULE_OPERATORS) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan recomputes operators or layers, not modules; use "
                       "--recompute-modules operators");
    }
    return RK_OK;
}

rk_status rk_launch_torchtitan(const rk_launch *launch, rk_out *out, rk_error *err)
{
    struct config x = {.model = launch->model, .strategy = launch->strategy, .out = out};
    char words[256];
    const rk_status status = check(launch->strategy, err);
    if (status) {
        return status;
    }
    (void)snprintf(words, sizeof(words), "torchtitan up to 0.2.2, for %s on %" PRId64 " %s.",
                   launch->model->name, rk_strategy_ranks(launch->strategy),
                   launch->system->accelerator.name);
    rk_launch_comment(out, launch->title);
    rk_launch_comment(out, words);
    rk_launch_comment(out, "The flavor of the model, data, optimizer and checkpoints are yours to "
                           "add.");
    write_notes(&x);
    write_training(&x);
    write_parallelism(&x);
    write_rest(&x);
    return RK_OK;
}
