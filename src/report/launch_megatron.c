/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of Megatron-LM, at commit d98e8a64 (2026-08-22). */
#include "report/launch.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>

struct script {
    const rk_model *model;
    const rk_strategy *strategy;
    const rk_stack *stack;
    const rk_system *system;
    rk_out *out;
};

/* ---- arguments ----------------------------------------------------------------------------- */

static void flag(struct script *x, const char *name)
{
    rk_out_printf(x->out, " \\\n    --%s", name);
}

static void number(struct script *x, const char *name, int64_t value)
{
    rk_out_printf(x->out, " \\\n    --%s %" PRId64, name, value);
}

static void text(struct script *x, const char *name, const char *value)
{
    rk_out_printf(x->out, " \\\n    --%s %s", name, value);
}

/* Writes what differs from Megatron's own 1. */
static void degree(struct script *x, const char *name, int64_t value)
{
    if (value > 1) {
        number(x, name, value);
    }
}

static void flag_if(struct script *x, bool given, const char *name)
{
    if (given) {
        flag(x, name);
    }
}

/* ---- the model ----------------------------------------------------------------------------- */

/* A layer of the model with experts, or without; NULL: there is none. */
static const rk_layer_type *type_with(const rk_model *model, bool experts)
{
    for (int i = 0; i < model->type_count; i++) {
        if (rk_layer_is_moe(&model->types[i]) == experts) {
            return &model->types[i];
        }
    }
    return NULL;
}

static bool has_windows(const rk_model *model)
{
    for (int i = 0; i < model->type_count; i++) {
        if (model->types[i].attention.window > 0) {
            return true;
        }
    }
    return false;
}

/* The least number of layers after which all that follows repeats; that of the model: none. */
static int period_of(const rk_model *m, bool (*of)(const rk_layer_type *type))
{
    for (int period = 1; period <= m->layers / 2; period++) {
        bool repeats = m->layers % period == 0;
        for (int i = period; repeats && i < m->layers; i++) {
            repeats = of(&m->types[m->type_of[i]]) == of(&m->types[m->type_of[i - period]]);
        }
        if (repeats) {
            return period;
        }
    }
    return m->layers;
}

/* Writes "([0]*3+[1]*58)", runs of equal layers, or "(([1]*5+[0]*1)*8)" where these repeat. */
static void write_layers(struct script *x, const char *name, bool (*of)(const rk_layer_type *type))
{
    const rk_model *m = x->model;
    const int least = period_of(m, of), period = least > 1 ? least : m->layers;
    const int times = m->layers / period;
    rk_out_printf(x->out, " \\\n    --%s \"(%s", name, times > 1 ? "(" : "");
    for (int first = 0; first < period;) {
        const bool value = of(&m->types[m->type_of[first]]);
        int past = first + 1;
        while (past < period && of(&m->types[m->type_of[past]]) == value) {
            past++;
        }
        rk_out_printf(x->out, "%s[%d]*%d", first ? "+" : "", value, past - first);
        first = past;
    }
    if (times > 1) {
        rk_out_printf(x->out, ")*%d", times);
    }
    rk_out_text(x->out, ")\"");
}

static bool is_windowed(const rk_layer_type *type)
{
    return type->attention.window > 0;
}

static void write_attention(struct script *x)
{
    const rk_attention_shape *a = &x->model->types[0].attention;
    number(x, "num-attention-heads", a->query_heads);
    if (a->kind == RK_ATTENTION_LATENT) {
        flag(x, "multi-latent-attention");
        degree(x, "q-lora-rank", a->q_rank);
        number(x, "kv-lora-rank", a->kv_rank);
        number(x, "qk-head-dim", a->nope_size);
        number(x, "qk-pos-emb-head-dim", a->rope_size);
        number(x, "v-head-dim", rk_attention_value_size(a));
    } else {
        number(x, "kv-channels", a->head_size);
        if (a->kv_heads != a->query_heads) {
            flag(x, "group-query-attention");
            number(x, "num-query-groups", a->kv_heads);
        }
    }
    flag_if(x, a->qk_norm != RK_QK_NORM_NONE, "qk-layernorm");
    flag_if(x, a->output_gate, "attention-output-gate");
    if (a->sinks) {
        text(x, "softmax-type", "learnable");
    }
    if (has_windows(x->model)) {
        int64_t window = 0;
        for (int i = 0; i < x->model->type_count; i++) {
            window = x->model->types[i].attention.window > 0 ? x->model->types[i].attention.window
                                                             : window;
        }
        rk_out_printf(x->out, " \\\n    --window-size \"(%" PRId64 ",0)\"", window);
        write_layers(x, "window-attn-skip-freq", is_windowed);
    }
}

static void write_experts(struct script *x, const rk_moe_shape *moe)
{
    const rk_strategy *s = x->strategy;
    number(x, "num-experts", moe->experts);
    write_layers(x, "moe-layer-freq", rk_layer_is_moe);
    number(x, "moe-ffn-hidden-size", moe->expert_width);
    number(x, "moe-router-topk", moe->top_k);
    if (moe->shared_experts > 0) {
        number(x, "moe-shared-expert-intermediate-size", moe->shared_experts * moe->shared_width);
        flag_if(x, moe->shared_gate, "moe-shared-expert-gate");
    }
    if (moe->expert_groups > 0) {
        number(x, "moe-router-num-groups", moe->expert_groups);
        number(x, "moe-router-group-topk", moe->route_groups);
    }
    flag(x, "moe-grouped-gemm");
    flag(x, "moe-permute-fusion");
    number(x, "expert-model-parallel-size", s->ep);
    number(x, "expert-tensor-parallel-size", s->etp);
    if (s->capacity_factor > 0) { /* which the flexible dispatchers do not pad */
        text(x, "moe-token-dispatcher-type", "alltoall");
        rk_out_printf(x->out, " \\\n    --moe-expert-capacity-factor %g", s->capacity_factor);
        flag(x, "moe-pad-expert-input-to-capacity");
    } else if (s->ep > 1 && x->stack->deduplicates) {
        text(x, "moe-token-dispatcher-type", "flex");
        const bool hopper = x->system->accelerator.generation == RK_GENERATION_HOPPER;
        text(x, "moe-flex-dispatcher-backend", hopper ? "deepep" : "hybridep");
    } else {
        text(x, "moe-token-dispatcher-type", "alltoall");
    }
    flag_if(x, s->moe_overlap, "overlap-moe-expert-parallel-comm");
}

static void write_model(struct script *x)
{
    const rk_model *m = x->model;
    const rk_layer_type *dense = type_with(m, false), *moe = type_with(m, true);
    const rk_ffn_shape *ffn = dense ? &dense->ffn : &moe->ffn;
    const rk_attention_shape *a = &m->types[0].attention;
    const int64_t seq = x->strategy->seq;
    number(x, "num-layers", m->layers);
    number(x, "hidden-size", m->hidden);
    number(x, "ffn-hidden-size", dense ? ffn->width : moe->moe.expert_width);
    write_attention(x);
    number(x, "seq-length", seq);
    number(x, "max-position-embeddings", m->learned_positions > seq ? m->learned_positions : seq);
    text(x, "position-embedding-type", m->learned_positions > 0 ? "learned_absolute" : "rope");
    text(x, "normalization", m->norm == RK_NORM_RMS ? "RMSNorm" : "LayerNorm");
    flag_if(x, ffn->gated, "swiglu");
    if (!ffn->bias) {
        flag(x, "disable-bias-linear");
        flag_if(x, a->bias_qkv, "add-qkv-bias");
    }
    flag_if(x, !m->tied, "untie-embeddings-and-output-weights");
    number(x, "vocab-size", m->vocab);
    if (m->mtp_layers > 0) {
        number(x, "mtp-num-layers", m->mtp_layers);
    }
    text(x, "hidden-dropout", "0");
    text(x, "attention-dropout", "0");
    if (moe) {
        write_experts(x, &moe->moe);
    }
}

/* ---- the strategy -------------------------------------------------------------------------- */

/* "Et*4|t*4|...|t*3mL": E embedding, t layers, m the MTP modules, L the head; | ends a stage. */
static void write_layout(struct script *x)
{
    const rk_strategy *s = x->strategy;
    const int modules_at = s->layout_count - (s->mtp_before_head ? 2 : 1);
    rk_out_text(x->out, " \\\n    --pipeline-model-parallel-layout \"");
    for (int i = 0; i < s->layout_count; i++) {
        rk_out_text(x->out, i == 0 ? "E" : "|");
        if (s->layout[i] > 0) {
            rk_out_printf(x->out, "t*%d", s->layout[i]);
        }
        for (int k = 0; i == modules_at && k < x->model->mtp_layers; k++) {
            rk_out_text(x->out, "m");
        }
    }
    rk_out_text(x->out, "L\"");
}

static void write_pipeline(struct script *x)
{
    const rk_strategy *s = x->strategy;
    degree(x, "pipeline-model-parallel-size", s->pp);
    if (s->layout_count > 0) {
        write_layout(x);
        return;
    }
    degree(x, "num-virtual-stages-per-pipeline-rank", s->vp);
    flag_if(x, s->count_embedding, "account-for-embedding-in-pipeline-split");
    flag_if(x, s->count_head, "account-for-loss-in-pipeline-split");
    if (s->first_stage_layers > 0) {
        number(x, "decoder-first-pipeline-num-layers", s->first_stage_layers);
    }
    if (s->last_stage_layers > 0) {
        number(x, "decoder-last-pipeline-num-layers", s->last_stage_layers);
    }
}

static void write_sharding(struct script *x)
{
    const rk_strategy *s = x->strategy;
    const bool fsdp = s->sharding >= RK_SHARD_GRADIENTS;
    flag_if(x, s->sharding == RK_SHARD_OPTIMIZER, "use-distributed-optimizer");
    if (fsdp) {
        flag(x, "use-megatron-fsdp");
        text(x, "data-parallel-sharding-strategy",
             s->sharding == RK_SHARD_ALL ? "optim_grads_params" : "optim_grads");
        text(x, "ckpt-format", "fsdp_dtensor");
    }
    degree(x, "num-distributed-optimizer-instances", s->replicas);
    flag_if(x, s->dp * s->cp > 1 && s->grad_overlap, "overlap-grad-reduce");
    flag_if(x, s->dp * s->cp > 1 && s->param_overlap && s->sharding != RK_SHARD_NONE,
            "overlap-param-gather");
    flag_if(x, s->states.reduce <= 2, "grad-reduce-in-bf16");
}

static void write_parallel(struct script *x)
{
    static const char *const kinds[] = {"p2p", "allgather", "a2a"};
    const rk_strategy *s = x->strategy;
    number(x, "micro-batch-size", s->micro_batch);
    number(x, "global-batch-size", s->global_batch);
    degree(x, "tensor-model-parallel-size", s->tp);
    flag_if(x, s->sp && s->tp > 1, "sequence-parallel");
    degree(x, "context-parallel-size", s->cp);
    if (s->cp > 1) {
        text(x, "cp-comm-type", kinds[s->cp_kind]);
    }
    write_pipeline(x);
    flag_if(x, s->order == RK_ORDER_PIPELINE_DATA, "use-tp-pp-dp-mapping");
    flag_if(x, s->tp > 1 && s->tp_overlap, "tp-comm-overlap");
    write_sharding(x);
}

static void write_precision(struct script *x)
{
    const rk_strategy *s = x->strategy;
    flag(x, s->precision == RK_FP16 ? "fp16" : "bf16");
    if (s->precision == RK_FP8) {
        text(x, "fp8-format", s->fp8_recipe == RK_FP8_MX ? "e4m3" : "hybrid");
        text(x, "fp8-recipe", rk_fp8_recipe_names[s->fp8_recipe]);
        flag_if(x, s->low_weights, "fp8-param-gather");
    } else if (s->precision == RK_FP4) {
        text(x, "fp4-format", "e2m1");
        flag_if(x, s->low_weights, "fp4-param-gather");
    }
}

static void write_modules(struct script *x)
{
    static const struct {
        unsigned module;
        const char *name;
    } modules[] = {
        {RK_MODULE_CORE_ATTENTION, "core_attn"},
        {RK_MODULE_NORM, "layernorm"},
        {RK_MODULE_ACTIVATION, "moe_act"},
        {RK_MODULE_MLA_UP, "mla_up_proj"},
        {RK_MODULE_MLP, "mlp"},
        {RK_MODULE_MOE, "moe"},
    };
    rk_out_text(x->out, " \\\n    --recompute-modules");
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        if (x->strategy->recompute_modules & modules[i].module) {
            rk_out_printf(x->out, " %s", modules[i].name);
        }
    }
}

static void write_memory(struct script *x)
{
    const rk_strategy *s = x->strategy;
    const bool some = s->recompute_layers > 0;
    if (s->recompute == RK_REC_FULL) {
        text(x, "recompute-granularity", "full");
        text(x, "recompute-method", some ? "block" : "uniform");
        number(x, "recompute-num-layers", some ? s->recompute_layers : 1);
    } else if (s->recompute == RK_REC_SELECTIVE) {
        text(x, "recompute-granularity", "selective");
        write_modules(x);
    }
    if (s->offload_optimizer) {
        flag(x, "use-precision-aware-optimizer");
        flag(x, "optimizer-cpu-offload");
    }
    if (s->graph_step || s->graph_capture) {
        text(x, "cuda-graph-impl", s->graph_step ? "full_iteration" : "transformer_engine");
        flag(x, "te-rng-tracker");
    }
}

/* ---- what has no argument ------------------------------------------------------------------ */

static void note_if(struct script *x, bool found, const char *words)
{
    if (found) {
        rk_launch_note(x->out, "an argument", words);
    }
}

static bool same_attention(const rk_attention_shape *a, const rk_attention_shape *b)
{
    return a->kind == b->kind && a->query_heads == b->query_heads && a->kv_heads == b->kv_heads &&
           a->head_size == b->head_size && a->q_rank == b->q_rank && a->kv_rank == b->kv_rank &&
           a->nope_size == b->nope_size && a->rope_size == b->rope_size;
}

/* Whether layers differ in more than their window and in having experts. */
static bool is_mixed(const rk_model *model)
{
    const rk_layer_type *dense = type_with(model, false), *moe = type_with(model, true);
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        const bool experts = rk_layer_is_moe(type);
        if (!same_attention(&type->attention, &model->types[0].attention) ||
            (!experts && type->ffn.width != dense->ffn.width) ||
            (experts && (type->moe.experts != moe->moe.experts ||
                         type->moe.expert_width != moe->moe.expert_width))) {
            return true;
        }
    }
    return false;
}

static void write_notes(struct script *x)
{
    const rk_model *m = x->model;
    const rk_strategy *s = x->strategy;
    const rk_attention_shape *a = &m->types[0].attention;
    bool chunked = false, clamped = false;
    for (int i = 0; i < m->type_count; i++) {
        chunked = chunked || m->types[i].attention.chunked;
        clamped = clamped || m->types[i].ffn.clamped;
    }
    note_if(x, is_mixed(m), "layers of several shapes; those of the first are written");
    note_if(x, chunked, "windows in fixed chunks");
    note_if(x, clamped, "the limits of the activation");
    note_if(x, m->norms_per_layer != 2, "the norms of a layer, which are not two");
    note_if(x, m->parallel_block, "attention and feed-forward layers side by side");
    note_if(x, m->embedding_norm, "the norm of the embedding");
    note_if(x, m->head_bias, "the bias of the head");
    note_if(x, a->relative_positions, "relative positions");
    note_if(x, a->bias_out != (x->model->types[0].ffn.bias), "which linears have biases");
    note_if(x, s->offload_activations || s->offload_weights, "offloaded activations and weights");
    note_if(x, s->states.optimizer < 12 && s->sharding != RK_SHARD_ALL,
            "moments of the optimizer in fewer bytes");
    note_if(x, s->document > 0, "documents that attention does not cross");
    note_if(x, s->precision == RK_FP32, "products in fp32");
}

static rk_status check(const rk_strategy *s, rk_error *err)
{
    if (s->adapter_rank > 0) {
        return rk_fail(err, RK_ERR_INVALID,
                       "Megatron-LM has no adapters; leave out --lora-rank, or emit nothing");
    }
    if (s->schedule != RK_SCHEDULE_1F1B && s->schedule != RK_SCHEDULE_INTERLEAVED) {
        return rk_fail(err, RK_ERR_INVALID,
                       "Megatron-LM does not run the schedule %s; use 1f1b or interleaved",
                       rk_schedule_names[s->schedule]);
    }
    if (s->recompute == RK_REC_SELECTIVE && s->recompute_modules & RK_MODULE_OPERATORS) {
        return rk_fail(err, RK_ERR_INVALID,
                       "Megatron-LM recomputes modules or layers, not operators");
    }
    return RK_OK;
}

rk_status rk_launch_megatron(const rk_launch *launch, rk_out *out, rk_error *err)
{
    const rk_strategy *s = launch->strategy;
    const rk_accelerator *a = &launch->system->accelerator;
    struct script x = {.model = launch->model,
                       .strategy = s,
                       .stack = launch->stack,
                       .system = launch->system,
                       .out = out};
    char words[256];
    const rk_status status = check(s, err);
    if (status) {
        return status;
    }
    const bool waits = a->generation < RK_GENERATION_BLACKWELL &&
                       s->sharding < RK_SHARD_GRADIENTS && !s->moe_overlap &&
                       (s->tp > 1 || s->cp > 1);
    (void)snprintf(words, sizeof(words),
                   "Arguments of Megatron-LM as of August 2026 (d98e8a64) for %s on %" PRId64
                   " %s.",
                   x.model->name, rk_strategy_ranks(s), a->name);
    rk_launch_comment(out, launch->title);
    rk_launch_comment(out, words);
    rk_launch_comment(out, "Data, tokenizer, rotary base, learning rate and checkpoints are yours "
                           "to add.");
    write_notes(&x);
    rk_out_text(out, waits ? "export CUDA_DEVICE_MAX_CONNECTIONS=1\n" : "");
    rk_out_text(out, "torchrun --nnodes \"$NNODES\" --nproc-per-node \"$GPUS_PER_NODE\" "
                     "pretrain_gpt.py");
    write_model(&x);
    write_parallel(&x);
    write_precision(&x);
    write_memory(&x);
    rk_out_text(out, "\n");
    return RK_OK;
}
