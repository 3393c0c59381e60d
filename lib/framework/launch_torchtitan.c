/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the two configurations of torchtitan: models, stages, and what it cannot run. */
#include "framework/launch_torchtitan.h"

#include "base/error.h"

#include <assert.h>
#include <inttypes.h>

/* ---- models --------------------------------------------------------------------------------- */

/* Those that torchtitan ships training configurations of (train_configs at 238fa995, 2025-11). */
static const rk_titan_flavor flavors[] = {
    {"llama3", "8B", "llama3_8b", 32, 4096, 128256, 0},
    {"llama3", "70B", "llama3_70b", 80, 8192, 128256, 0},
    {"llama3", "405B", "llama3_405b", 126, 16384, 128256, 0},
    {"llama4", "17bx16e", "llama4_17bx16e", 48, 5120, 202048, 16},
    {"llama4", "17bx128e", "llama4_17bx128e", 48, 5120, 202048, 128},
    {"deepseek_v3", "16B", "deepseek_v3_16b", 27, 2048, 102400, 64},
    {"deepseek_v3", "671B", "deepseek_v3_671b", 61, 7168, 129280, 256},
    {"qwen3", "0.6B", "qwen3_0_6b", 28, 1024, 151936, 0},
    {"qwen3", "1.7B", "qwen3_1_7b", 28, 2048, 151936, 0},
    {"qwen3", "32B", "qwen3_32b", 64, 5120, 151936, 0},
};

static int64_t experts_of(const rk_model *model)
{
    int64_t experts = 0;
    for (int i = 0; i < model->type_count; i++) {
        const int64_t found = model->types[i].moe.experts;
        experts = found > experts ? found : experts;
    }
    return experts;
}

const rk_titan_flavor *rk_titan_flavor_of(const rk_model *model)
{
    for (size_t i = 0; i < sizeof(flavors) / sizeof(flavors[0]); i++) {
        const rk_titan_flavor *f = &flavors[i];
        const bool norms = model->types[0].attention.qk_norm != RK_QK_NORM_NONE;
        if (f->layers == model->layers && f->hidden == model->hidden && f->vocab == model->vocab &&
            f->experts == experts_of(model) && norms == (f->name[0] == 'q')) {
            return f;
        }
    }
    return NULL;
}

/* ---- stages --------------------------------------------------------------------------------- */

/* First layer and number of layers of each stage, in the order of the model. */
struct stages {
    int64_t count;
    int first[RK_CHUNK_MAX], layers[RK_CHUNK_MAX];
};

static void find_stages(const rk_model *model, const rk_strategy *s, struct stages *stages)
{
    rk_chunk chunks[RK_CHUNK_MAX];
    const int64_t each = rk_stage_chunks(s);
    rk_strategy_chunks(model, s, chunks);
    stages->count = rk_schedule_stages(s->schedule, s->pp, s->vp);
    for (int64_t rank = 0; rank < s->pp; rank++) {
        for (int64_t i = 0; i < each; i++) {
            const int64_t stage = rk_schedule_stage(s->schedule, s->pp, rank, i);
            stages->first[stage] = chunks[rank * each + i].first;
            stages->layers[stage] = chunks[rank * each + i].count;
        }
    }
}

/*
 * Whether torchtitan would split so (pipeline_parallel.py of 0.2.2,
 * generate_llm_fqn_per_model_part): layers and both ends in equal parts, the rest one each to the
 * first stages; the ends then count as first_less and last_less layers.
 */
static bool splits_so(const rk_model *model, const struct stages *stages,
                      const rk_titan_split *split)
{
    const int64_t units = model->layers + split->first_less + split->last_less;
    const int64_t base = units / stages->count, more = units % stages->count;
    if (split->first_less > base || split->last_less > base) {
        return false;
    }
    for (int64_t i = 0; i < stages->count; i++) {
        const int64_t layers = base + (i < more) - (i == 0 ? split->first_less : 0) -
                               (i == stages->count - 1 ? split->last_less : 0);
        if (layers != stages->layers[i]) {
            return false;
        }
    }
    return true;
}

/* The number of layers per stage that gives this many stages, rounding up. */
static int64_t layers_for(int64_t units, int64_t stages)
{
    assert(units >= 1 && stages >= 1);
    for (int64_t each = 1; each <= units; each++) {
        if ((units + each - 1) / each == stages) {
            return each;
        }
    }
    return 0;
}

rk_titan_split rk_titan_split_of(const rk_model *model, const rk_strategy *strategy)
{
    const rk_strategy *s = strategy;
    struct stages stages;
    rk_titan_split split = {.first_less = s->count_embedding, .last_less = s->count_head};
    const int64_t units = model->layers + split.first_less + split.last_less;
    const bool single = rk_schedule_needs_of(s->schedule, s->pp).chunks_max == 1;
    find_stages(model, s, &stages);
    split.listed = !splits_so(model, &stages, &split);
    if (stages.count != (single ? s->pp : 2 * s->pp)) {
        split.layers_per_stage = layers_for(units, stages.count);
        split.listed = split.listed || split.layers_per_stage == 0;
    }
    return split;
}

void rk_titan_write_modules(rk_out *out, const rk_model *model, const rk_strategy *strategy)
{
    struct stages stages;
    find_stages(model, strategy, &stages);
    rk_out_text(out, "[\n");
    for (int64_t i = 0; i < stages.count; i++) {
        const char *comma = "";
        rk_out_text(out, "    [");
        if (i == 0) {
            rk_out_text(out, "\"tok_embeddings\"");
            comma = ", ";
        }
        for (int k = 0; k < stages.layers[i]; k++) {
            rk_out_printf(out, "%s\"layers.%d\"", comma, stages.first[i] + k);
            comma = ", ";
        }
        rk_out_printf(out, "%s],\n",
                      i < stages.count - 1 ? ""
                      : *comma             ? ", \"norm\", \"output\""
                                           : "\"norm\", \"output\"");
    }
    rk_out_text(out, "]\n");
}

/* ---- what torchtitan cannot run ------------------------------------------------------------- */

static rk_status check_pipeline(const rk_launch_file *launch, rk_error *err)
{
    const rk_strategy *s = launch->strategy;
    struct stages stages;
    const rk_status status = rk_launch_check_schedule(RK_FRAMEWORK_TORCHTITAN, s, err);
    if (status) {
        return status;
    }
    find_stages(launch->model, s, &stages);
    for (int64_t i = 1; i < stages.count - 1; i++) {
        if (stages.layers[i] == 0) {
            return rk_fail(err, RK_ERR_INVALID,
                           "torchtitan runs no stage without modules, but stage %" PRId64
                           " has no layers; use another --layout or pp",
                           i);
        }
    }
    return RK_OK;
}

static rk_status check_sharding(const rk_strategy *s, rk_error *err)
{
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
    const int64_t copies = s->sharding == RK_SHARD_NONE ? s->dp : s->replicas;
    const int64_t mesh = s->dp / copies * s->cp * s->tp;
    if (mesh % (s->ep * s->etp) != 0) { /* parallel_dims.py */
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan takes the ranks of experts from the %" PRId64
                       " that share shards, cp and tp, which ep %" PRId64 " x etp %" PRId64
                       " does not divide; choose another ep or --hsdp",
                       mesh, s->ep, s->etp);
    }
    if (copies > 1 && s->dp / copies * s->cp == 1 && rk_strategy_ranks(s) != copies) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan replicates unsharded weights (DDP) only without other "
                       "parallelism; shard them with --zero 2 or 3");
    }
    return RK_OK;
}

int64_t rk_titan_every(const rk_model *model, const rk_strategy *s)
{
    const int64_t stages = s->pp * rk_stage_chunks(s), layers = model->layers / stages;
    if (s->recompute != RK_REC_FULL || s->recompute_layers == 0) {
        return 0;
    }
    return model->layers % stages == 0 && layers % s->recompute_layers == 0
               ? layers / s->recompute_layers
               : -1;
}

static rk_status check_memory(const rk_model *model, const rk_strategy *s, rk_error *err)
{
    if (s->recompute == RK_REC_SELECTIVE && s->recompute_modules != RK_MODULE_OPERATORS) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan recomputes operators or layers, not modules; use "
                       "--recompute-modules operators");
    }
    if (rk_titan_every(model, s) < 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan recomputes every so many layers; choose --recompute-layers that "
                       "divides the layers of a stage");
    }
    if (s->offload_activations || s->offload_weights) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan offloads parameters with the optimizer, not %s alone; leave it "
                       "out of --offload",
                       s->offload_activations ? "activations" : "weights");
    }
    return RK_OK;
}

rk_status rk_titan_check(const rk_launch_file *launch, rk_error *err)
{
    const rk_strategy *s = launch->strategy;
    rk_status status = rk_launch_check(RK_FRAMEWORK_TORCHTITAN, launch->model, launch->system, err);
    if (status) {
        return status;
    }
    if (s->adapter_rank > 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan has no adapters; leave out --lora-rank, or emit nothing");
    }
    if (s->cp > 1 && s->cp_kind == RK_CP_ULYSSES) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan splits sequences by ring or all-gather, not by Ulysses");
    }
    if (s->precision == RK_FP16 || s->precision == RK_FP4 || s->precision == RK_INT8 ||
        (s->precision == RK_FP8 &&
         (s->fp8_recipe == RK_FP8_BLOCKWISE || s->fp8_recipe == RK_FP8_DELAYED))) {
        return rk_fail(err, RK_ERR_INVALID,
                       "torchtitan trains in bf16, fp32, or fp8 scaled by tensor (tensorwise) or "
                       "in mxfp8, not in %s%s%s",
                       rk_precision_names[s->precision], s->precision == RK_FP8 ? " " : "",
                       s->precision == RK_FP8 ? rk_fp8_recipe_names[s->fp8_recipe] : "");
    }
    status = check_pipeline(launch, err);
    status = status ? status : check_sharding(s, err);
    return status ? status : check_memory(launch->model, s, err);
}

void rk_titan_note(const rk_launch_file *launch)
{
    const rk_strategy *s = launch->strategy;
    rk_launch_notes *notes = launch->notes;
    rk_launch_note(notes, !rk_titan_flavor_of(launch->model),
                   "the model, of which torchtitan ships no configuration: add yours");
    rk_launch_note(notes, launch->model->mtp_layers > 0,
                   "multi-token prediction, which torchtitan lacks");
    rk_launch_note(notes, s->offload_optimizer,
                   "offload of the optimizer alone; torchtitan offloads parameters with it");
    rk_launch_note(notes, s->optimizer != RK_OPTIMIZER_ADAMW,
                   "the optimizer; torchtitan's configuration has AdamW");
    rk_launch_note(notes, s->moe_overlap, "expert messages behind compute");
    rk_launch_note(notes, s->document > 0, "documents that attention does not cross");
    rk_launch_note(notes, s->attention_kernel != RK_KERNEL_OF_STACK, "the attention kernel");
    rk_launch_note(notes, s->states.reduce <= 2,
                   "gradients reduced in bf16; torchtitan's are fp32");
    rk_launch_note(notes, s->order == RK_ORDER_PIPELINE_DATA,
                   "ranks numbered with pipeline stages before data parallelism");
}
