/* SPDX-License-Identifier: Apache-2.0 */
/* A model in arguments of Megatron-LM, at commit d98e8a64 (2026-08-22). */
#include "framework/megatron_flags.h"

/* A layer of the model with experts, or with a dense network; NULL: there is none. */
static const rk_layer_type *type_with(const rk_model *model, bool experts)
{
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        if (rk_megatron_has_network(type) && rk_layer_is_moe(type) == experts) {
            return type;
        }
    }
    return NULL;
}

/* The first attention of the model; all zero: there is none. */
static const rk_attention_shape *attention_of(const rk_model *model)
{
    static const rk_attention_shape none = {0};
    for (int i = 0; i < model->type_count; i++) {
        if (rk_megatron_has_attention(&model->types[i])) {
            return &model->types[i].attention;
        }
    }
    return &none;
}

/* The first network of the model, of experts too; all zero: there is none. */
static const rk_ffn_shape *network_of(const rk_model *model)
{
    static const rk_ffn_shape none = {0};
    for (int i = 0; i < model->type_count; i++) {
        if (rk_megatron_has_network(&model->types[i])) {
            return &model->types[i].ffn;
        }
    }
    return &none;
}

/* The window of the model's windowed layers; 0: none has one. */
static int64_t window_of(const rk_model *model)
{
    int64_t window = 0;
    for (int i = 0; i < model->type_count; i++) {
        const int64_t found = model->types[i].attention.window;
        window = found > 0 ? found : window;
    }
    return window;
}

/* ---- what has no argument ------------------------------------------------------------------- */

/* Attention of two types, but for the window. */
static bool same_attention(const rk_attention_shape *a, const rk_attention_shape *b)
{
    return a->query_heads == b->query_heads && a->kv_heads == b->kv_heads &&
           a->head_size == b->head_size && a->value_size == b->value_size &&
           a->q_rank == b->q_rank && a->kv_rank == b->kv_rank && a->nope_size == b->nope_size &&
           a->rope_size == b->rope_size && a->qk_norm == b->qk_norm && a->bias_qkv == b->bias_qkv &&
           a->bias_out == b->bias_out && a->sinks == b->sinks && a->output_gate == b->output_gate;
}

static bool same_experts(const rk_moe_shape *a, const rk_moe_shape *b)
{
    return a->experts == b->experts && a->top_k == b->top_k && a->expert_width == b->expert_width &&
           a->shared_experts * a->shared_width == b->shared_experts * b->shared_width &&
           a->expert_groups == b->expert_groups && a->route_groups == b->route_groups &&
           a->latent == b->latent;
}

/* Whether layers differ in more than their window and in having experts. */
static bool is_mixed(const rk_model *model)
{
    const rk_layer_type *dense = type_with(model, false), *moe = type_with(model, true);
    const int64_t window = window_of(model);
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        const bool experts = rk_layer_is_moe(type), network = rk_megatron_has_network(type);
        if (rk_megatron_has_attention(type) &&
            (!same_attention(&type->attention, attention_of(model)) ||
             (type->attention.window != 0 && type->attention.window != window))) {
            return true;
        }
        if (network && ((!experts && type->ffn.width != dense->ffn.width) ||
                        (experts && !same_experts(&type->moe, &moe->moe)) ||
                        type->ffn.gated != network_of(model)->gated ||
                        type->ffn.clamped != network_of(model)->clamped)) {
            return true;
        }
    }
    return false;
}

/* Linears have biases all, or none but for queries, keys and values. */
enum biases { BIASES_NONE, BIASES_ALL, BIASES_SOME };

static enum biases biases_of(const rk_model *model)
{
    int with = 0, without = 0;
    for (int i = 0; i < model->type_count; i++) {
        const rk_layer_type *type = &model->types[i];
        const bool ffn = rk_layer_is_moe(type) ? type->moe.expert_bias : type->ffn.bias;
        const bool attends = rk_megatron_has_attention(type);
        const bool network = rk_megatron_has_network(type);
        with += (attends && type->attention.bias_out) + (network && ffn);
        without += (attends && !type->attention.bias_out) + (network && !ffn);
    }
    return with == 0 ? BIASES_NONE : without == 0 ? BIASES_ALL : BIASES_SOME;
}

static const char *missing_of_attention(const rk_model *model)
{
    const rk_attention_shape *a = attention_of(model);
    for (int i = 0; i < model->type_count; i++) {
        if (model->types[i].attention.chunked) {
            return "the attention in fixed chunks";
        }
    }
    if (a->relative_positions) {
        return "the relative positions";
    }
    if (model->details.alibi) {
        return "the positions (ALiBi)";
    }
    if (a->qk_norm == RK_QK_NORM_FULL) {
        return "the norms over all heads of queries and keys";
    }
    if (!rk_attention_is_latent(a) && a->value_size > 0 && a->value_size != a->head_size) {
        return "the size of value heads, which differs from that of query heads,";
    }
    return NULL;
}

static const char *missing_of_ffn(const rk_model *model)
{
    const rk_layer_type *moe = type_with(model, true);
    const rk_ffn_shape *ffn = network_of(model);
    const rk_activation activation = model->details.activation;
    const bool silu = activation == RK_ACTIVATION_SILU || activation == RK_ACTIVATION_USUAL;
    if (ffn->gated && !ffn->clamped && !silu) {
        return "the gated activation, which is not SwiGLU,";
    }
    if (!ffn->gated && (activation == RK_ACTIVATION_SILU || activation == RK_ACTIVATION_RELU ||
                        activation == RK_ACTIVATION_OTHER)) {
        return "the activation, which is neither GELU nor squared ReLU,";
    }
    if (biases_of(model) == BIASES_SOME ||
        (biases_of(model) == BIASES_ALL && !attention_of(model)->bias_qkv)) {
        return "the biases, which only some linears have,";
    }
    if (moe && moe->moe.router_bias && model->details.router == RK_ROUTER_SOFTMAX &&
        biases_of(model) != BIASES_ALL) {
        return "the bias of a router that scores by softmax";
    }
    return NULL;
}

const char *rk_launch_megatron_missing(const rk_model *model)
{
    const rk_named_case parts[] = {
        {rk_megatron_missing_layer(model) != NULL, rk_megatron_missing_layer(model)},
        {is_mixed(model), "the layers, which have several shapes,"},
        {model->norms_per_layer != 2, "the norms of a layer, which are not two,"},
        {!model->final_norm, "the missing norm after the last layer"},
        {model->norm == RK_NORM_LAYER_NO_BIAS || model->norm == RK_NORM_LAYER_NO_WEIGHT,
         "the layer norms, which lack a gain or a bias,"},
        {model->parallel_block, "attention and feed-forward parts side by side"},
        {model->embedding_norm, "the norm of the embedding"},
        {model->head_bias, "the bias of the output layer"},
        {model->learned_positions == 0 && model->details.rope_scaling == RK_ROPE_OTHER,
         "the scaling of rotary positions"},
    };
    const char *missing = rk_first_that_holds(parts, sizeof(parts) / sizeof(parts[0]));
    missing = missing ? missing : missing_of_attention(model);
    return missing ? missing : missing_of_ffn(model);
}

void rk_megatron_note_model(const rk_launch_file *launch)
{
    const rk_model *m = launch->model;
    const rk_model_details *d = &m->details;
    const bool rotary = m->learned_positions == 0;
    rk_launch_notes *notes = launch->notes;
    rk_megatron_note_layers(launch);
    rk_launch_note(notes, rotary && !(d->rope_base > 0) && !rk_megatron_is_hybrid(m),
                   "the rotary base, which the model document does not give; Megatron's 10,000 "
                   "holds");
    rk_launch_note(notes, rotary && d->rope_window_base > 0 && d->rope_window_base != d->rope_base,
                   "another rotary base of windowed layers");
    rk_launch_note(notes, d->activation == RK_ACTIVATION_GELU_TANH,
                   "GELU approximated by tanh; Megatron computes it exactly");
}

/* ---- arguments ------------------------------------------------------------------------------ */

static bool is_windowed(const rk_layer_type *type)
{
    return type->attention.window > 0;
}

/* YaRN of latent attention has arguments of its own; 0 means not known. */
static void write_rotary_scaling(rk_out *out, const rk_model *m)
{
    const rk_model_details *d = &m->details;
    const bool latent = rk_attention_is_latent(attention_of(m));
    if (d->rope_scaling == RK_ROPE_LLAMA3) {
        rk_megatron_flag(out, "use-rope-scaling");
        rk_megatron_real(out, "rope-scaling-factor", d->rope_factor);
    } else if (d->rope_scaling == RK_ROPE_YARN) {
        rk_megatron_real(out, "rotary-scaling-factor", d->rope_factor);
        if (latent && d->rope_mscale > 0) {
            rk_megatron_real(out, "mscale", d->rope_mscale);
        }
        if (latent && d->rope_mscale_all > 0) {
            rk_megatron_real(out, "mscale-all-dim", d->rope_mscale_all);
        }
        if (d->rope_positions > 0) {
            rk_megatron_count(out, "yarn-original-max-position-embeddings", d->rope_positions);
        }
        if (d->rope_beta_fast > 0 && d->rope_beta_slow > 0) {
            rk_megatron_real(out, "yarn-beta-fast", d->rope_beta_fast);
            rk_megatron_real(out, "yarn-beta-slow", d->rope_beta_slow);
        }
    }
    const bool other = latent && d->rope_scaling != RK_ROPE_YARN; /* YaRN is its default, fused */
    if (other) {
        rk_megatron_text(out, "rope-type", "rope");
    }
    rk_megatron_flag_if(out, other || attention_of(m)->index.keys > 0, "no-rope-fusion");
}

static void write_positions(rk_out *out, const rk_launch_file *launch)
{
    const rk_model *m = launch->model;
    const rk_model_details *d = &m->details;
    const int64_t seq = launch->strategy->seq;
    const bool latent = rk_attention_is_latent(attention_of(m));
    rk_megatron_count(out, "seq-length", seq);
    rk_megatron_count(out, "max-position-embeddings",
                      m->learned_positions > seq ? m->learned_positions : seq);
    if (m->learned_positions > 0) {
        rk_megatron_text(out, "position-embedding-type", "learned_absolute");
        return;
    }
    if (rk_megatron_is_hybrid(m) && !(d->rope_base > 0)) { /* its recurrences know the order */
        rk_megatron_text(out, "position-embedding-type", "none");
        return;
    }
    const bool yarn = d->rope_scaling == RK_ROPE_YARN && !latent;
    rk_megatron_text(out, "position-embedding-type", yarn ? "yarn" : "rope");
    if (d->rope_base > 0) {
        rk_megatron_count(out, "rotary-base", (int64_t)d->rope_base);
    }
    if (d->rope_share > 0 && d->rope_share < 1) {
        rk_megatron_real(out, "rotary-percent", d->rope_share);
    }
    write_rotary_scaling(out, m);
}

static void write_latent(rk_out *out, const rk_attention_shape *a)
{
    rk_megatron_flag(out, "multi-latent-attention");
    rk_megatron_degree(out, "q-lora-rank", a->q_rank);
    rk_megatron_count(out, "kv-lora-rank", a->kv_rank);
    rk_megatron_count(out, "qk-head-dim", a->nope_size);
    rk_megatron_count(out, "qk-pos-emb-head-dim", a->rope_size);
    rk_megatron_count(out, "v-head-dim", rk_attention_value_size(a));
    rk_megatron_flag(out, "qk-layernorm"); /* the norms of the latents */
}

static void write_attention(rk_out *out, const rk_model *m)
{
    const rk_attention_shape *a = attention_of(m);
    const int64_t window = window_of(m);
    if (a->query_heads == 0) { /* asked for all the same */
        rk_megatron_count(out, "num-attention-heads", m->types[0].recurrence.heads);
        return;
    }
    rk_megatron_count(out, "num-attention-heads", a->query_heads);
    if (rk_attention_is_latent(a)) {
        write_latent(out, a);
    } else {
        rk_megatron_count(out, "kv-channels", a->head_size);
        if (a->kv_heads != a->query_heads) {
            rk_megatron_flag(out, "group-query-attention");
            rk_megatron_count(out, "num-query-groups", a->kv_heads);
        }
        rk_megatron_flag_if(out, a->qk_norm != RK_QK_NORM_NONE, "qk-layernorm");
    }
    rk_megatron_flag_if(out, a->output_gate, "attention-output-gate");
    if (a->sinks) {
        rk_megatron_text(out, "softmax-type", "learnable");
    }
    if (window > 0) { /* keys before a query, without its own */
        rk_out_printf(out, " \\\n    --window-size \"(%" PRId64 ",0)\"", window - 1);
        rk_megatron_write_layers(out, m, "window-attn-skip-freq", is_windowed);
    }
}

/* The activation of gpt-oss: x sigmoid(1.702 x) (y + 1), with both clamped at 7 (OpenAI, gpt-oss
 * model card 2025). */
static void write_activation(rk_out *out, const rk_model *m)
{
    const rk_ffn_shape *ffn = network_of(m);
    if (ffn->clamped) {
        rk_megatron_flag(out, "quick-geglu");
        rk_megatron_text(out, "activation-func-clamp-value", "7.0");
        rk_megatron_text(out, "glu-linear-offset", "1.0");
    } else {
        rk_megatron_flag_if(out, ffn->gated, "swiglu");
        rk_megatron_flag_if(out, m->details.activation == RK_ACTIVATION_RELU2, "squared-relu");
    }
    if (biases_of(m) == BIASES_NONE) {
        rk_megatron_flag(out, "disable-bias-linear");
        rk_megatron_flag_if(out, attention_of(m)->bias_qkv, "add-qkv-bias");
    }
}

static void write_router(rk_out *out, const rk_launch_file *launch, const rk_moe_shape *moe)
{
    const rk_model_details *d = &launch->model->details;
    const bool sigmoid = d->router == RK_ROUTER_SIGMOID;
    rk_megatron_count(out, "moe-router-topk", moe->top_k);
    if (sigmoid) {
        rk_megatron_text(out, "moe-router-score-function", "sigmoid");
        rk_megatron_flag_if(out, moe->router_bias, "moe-router-enable-expert-bias");
    } else { /* softmax of one chosen score alone is always 1 */
        rk_megatron_flag_if(out, d->router_raw || moe->top_k == 1, "moe-router-pre-softmax");
    }
    if (d->router_scale > 0 && d->router_scale != 1) {
        rk_megatron_real(out, "moe-router-topk-scaling-factor", d->router_scale);
    }
    if (moe->expert_groups > 0) {
        rk_megatron_count(out, "moe-router-num-groups", moe->expert_groups);
        rk_megatron_count(out, "moe-router-group-topk", moe->route_groups);
    }
}

static void write_experts(rk_out *out, const rk_launch_file *launch, const rk_moe_shape *moe)
{
    const rk_strategy *s = launch->strategy;
    const rk_generation generation = launch->system->accelerator.generation;
    const bool nvlink = generation == RK_GENERATION_HOPPER || generation == RK_GENERATION_BLACKWELL;
    rk_megatron_count(out, "num-experts", moe->experts);
    if (!rk_megatron_is_hybrid(launch->model)) { /* whose pattern says it */
        rk_megatron_write_layers(out, launch->model, "moe-layer-freq", rk_layer_is_moe);
    }
    rk_megatron_count(out, "moe-ffn-hidden-size", moe->expert_width);
    if (moe->latent > 0) {
        rk_megatron_count(out, "moe-latent-size", moe->latent);
    }
    write_router(out, launch, moe);
    if (moe->shared_experts > 0) {
        rk_megatron_count(out, "moe-shared-expert-intermediate-size",
                          moe->shared_experts * moe->shared_width);
        rk_megatron_flag_if(out, moe->shared_gate, "moe-shared-expert-gate");
    }
    rk_megatron_flag(out, "moe-grouped-gemm");
    rk_megatron_flag_if(out, launch->stack->permute_passes <= 1, "moe-permute-fusion");
    rk_megatron_count(out, "expert-model-parallel-size", s->ep);
    rk_megatron_count(out, "expert-tensor-parallel-size", s->etp);
    if (s->capacity_factor > 0) { /* the flexible dispatchers do not pad these */
        rk_megatron_text(out, "moe-token-dispatcher-type", "alltoall");
        rk_megatron_real(out, "moe-expert-capacity-factor", s->capacity_factor);
        rk_megatron_flag(out, "moe-pad-expert-input-to-capacity");
    } else if (s->ep > 1 && launch->stack->deduplicates && nvlink) {
        rk_megatron_text(out, "moe-token-dispatcher-type", "flex");
        rk_megatron_text(out, "moe-flex-dispatcher-backend",
                         launch->stack->waits_for_counts ? "deepep" : "hybridep");
    } else {
        rk_megatron_text(out, "moe-token-dispatcher-type", "alltoall");
    }
    rk_megatron_flag_if(out, s->moe_overlap, "overlap-moe-expert-parallel-comm");
}

/*
 * Megatron-LM pads the vocabulary to a multiple of 128 for each rank of TP. One that ranks share
 * evenly, as a checkpoint of the model has it, is kept as it is.
 */
static void write_vocabulary(rk_out *out, const rk_launch_file *launch)
{
    const int64_t vocab = launch->model->vocab, tp = launch->strategy->tp;
    int64_t divisor = 128;
    rk_megatron_count(out, "vocab-size", vocab);
    while (divisor > 1 && vocab % (divisor * tp) != 0) {
        divisor /= 2;
    }
    if (divisor < 128 && vocab % tp == 0) {
        rk_megatron_count(out, "make-vocab-size-divisible-by", divisor);
    }
}

void rk_megatron_write_model(rk_out *out, const rk_launch_file *launch)
{
    const rk_model *m = launch->model;
    const rk_layer_type *dense = type_with(m, false), *moe = type_with(m, true);
    rk_megatron_count(out, "num-layers", rk_megatron_layers(m));
    rk_megatron_count(out, "hidden-size", m->hidden);
    if (dense || moe) {
        rk_megatron_count(out, "ffn-hidden-size", dense ? dense->ffn.width : moe->moe.expert_width);
    }
    rk_megatron_write_mixers(out, launch);
    write_attention(out, m);
    write_positions(out, launch);
    rk_megatron_text(out, "normalization", m->norm == RK_NORM_RMS ? "RMSNorm" : "LayerNorm");
    if (m->details.norm_epsilon > 0) {
        rk_megatron_real(out, "norm-epsilon", m->details.norm_epsilon);
    }
    write_activation(out, m);
    rk_megatron_flag_if(out, !m->tied, "untie-embeddings-and-output-weights");
    write_vocabulary(out, launch);
    if (m->mtp_layers > 0) {
        rk_megatron_count(out, "mtp-num-layers", m->mtp_layers);
    }
    rk_megatron_text(out, "hidden-dropout", "0");
    rk_megatron_text(out, "attention-dropout", "0");
    if (moe) {
        write_experts(out, launch, &moe->moe);
    }
}
