/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers other than dense attention in arguments of Megatron-LM, at commit d98e8a64 (2026-08-22):
 * blocks by a pattern of letters (--hybrid-layer-pattern; arguments.py:746-849 and the functional
 * tests of nemotron and hybrid), a delta rule in most layers (--linear-attention-freq;
 * transformer_config.py:1475-1506), and keys that an indexer picks (dsa; :1513-1522, :3163-3170).
 */
#include "framework/megatron_flags.h"
#include "framework/rules.h"

/* ---- mixers --------------------------------------------------------------------------------- */

/* Mixers by their names in model documents: the letter of a pattern, or why there is none. */
static const struct mixer_row {
    const char *name;
    char letter;
    const char *missing;
} mixer_rows[] = {
    {"grouped", '*', NULL},
    {"latent", '+', NULL},
    {"sparse_latent", 'D', NULL},
    {"mamba2", 'M', NULL},
    {"gated_delta", 'G', NULL},
    {"mamba1", 0, "the selective scan (Mamba-1)"},
    {"kimi_delta", 0, "the Kimi delta attention"},
    {"lightning", 0, "the lightning attention"},
    {"convolution", 0, "the short convolutions"},
    {"parallel", 0, "attention and state space side by side"},
    {"sparse_grouped", 0, "the indexer of blocks of keys"},
    {"compressed", 0, "the compressed attention"},
    {"shared", 0, "the blocks whose weights layers share"},
};

static const struct mixer_row *row_of(const rk_layer_type *type)
{
    for (size_t i = 0; i < sizeof(mixer_rows) / sizeof(mixer_rows[0]); i++) {
        if (strcmp(mixer_rows[i].name, type->mixer->part.name) == 0) {
            return &mixer_rows[i];
        }
    }
    return NULL; /* no mixer at all */
}

bool rk_megatron_has_attention(const rk_layer_type *type)
{
    return (type->mixer->part.shapes & RK_SHAPE_ATTENTION) != 0;
}

bool rk_megatron_has_network(const rk_layer_type *type)
{
    return type->feed_forward->part.shapes != 0;
}

/* The first layer with this mixer, or NULL. */
static const rk_layer_type *type_of(const rk_model *model, const char *name)
{
    for (int i = 0; i < model->type_count; i++) {
        if (rk_rule_is_mixer(&model->types[i], name)) {
            return &model->types[i];
        }
    }
    return NULL;
}

bool rk_megatron_is_hybrid(const rk_model *model)
{
    return rk_rule_is_hybrid(model);
}

/* Letters of a layer: its mixer, its network. */
static int letters_of(const rk_layer_type *type, char letters[2])
{
    const struct mixer_row *row = row_of(type);
    int count = 0;
    if (row) {
        letters[count++] = row->letter;
    }
    if (rk_megatron_has_network(type)) {
        letters[count++] = rk_layer_is_moe(type) ? 'E' : '-';
    }
    return count;
}

int rk_megatron_layers(const rk_model *model)
{
    int blocks = 0;
    char letters[2];
    for (int i = 0; i < model->layers; i++) {
        blocks += letters_of(&model->types[model->type_of[i]], letters);
    }
    return rk_megatron_is_hybrid(model) ? blocks : model->layers;
}

/* ---- what has no argument ------------------------------------------------------------------- */

static bool same_recurrence(const rk_recurrence_shape *a, const rk_recurrence_shape *b)
{
    return a->heads == b->heads && a->key_heads == b->key_heads && a->key_size == b->key_size &&
           a->value_size == b->value_size && a->conv_width == b->conv_width;
}

/* Megatron Core has Mamba-2 with four taps, a bias of the convolution, and a gated norm; its delta
 * rule has no such bias. */
static const char *missing_of_recurrence(const rk_layer_type *type, const rk_layer_type *first)
{
    enum { MAMBA_TAPS = 4 };
    const rk_recurrence_shape *r = &type->recurrence;
    const bool mamba = rk_rule_is_mixer(type, "mamba2");
    if (!same_recurrence(r, &first->recurrence)) {
        return "the recurrences, which have several shapes,";
    }
    if (mamba && r->conv_width != MAMBA_TAPS) {
        return "the width of the convolutions";
    }
    if (r->conv_bias != mamba) {
        return mamba ? "the convolutions without a bias" : "the biases of the convolutions";
    }
    return mamba && r->bare_output ? "the outputs of Mamba-2 that are not normed" : NULL;
}

static const char *missing_of_type(const rk_model *model, const rk_layer_type *type)
{
    const struct mixer_row *row = row_of(type);
    const rk_named_case parts[] = {
        {row && row->missing, row ? row->missing : NULL},
        {!row && type->mixer->part.shapes != 0, "a mixer that is not in its list"},
        {type->attention.kv_source != RK_KV_OWN, "the keys and values that layers or heads share"},
        {type->attention.head_gate, "the gate of the attention heads"},
        {type->attention.index.shared, "the list of layers that share an indexer"},
        {type->moe.zero_experts > 0 || type->moe.shortcut,
         "the experts without weights, or beside the next layer,"},
        {type->moe.router_scales, "the learned factors of the router"},
        {type->attention.window > 0 && rk_megatron_is_hybrid(model),
         "the windows of attention in a pattern of blocks"},
    };
    const char *missing = rk_first_that_holds(parts, sizeof(parts) / sizeof(parts[0]));
    if (missing) {
        return missing;
    }
    return row && type->mixer->part.shapes & RK_SHAPE_RECURRENCE
               ? missing_of_recurrence(type, type_of(model, row->name))
               : NULL;
}

const char *rk_megatron_missing_layer(const rk_model *model)
{
    for (int i = 0; i < model->type_count; i++) {
        const char *missing = missing_of_type(model, &model->types[i]);
        if (missing) {
            return missing;
        }
    }
    if (model->streams > 0) {
        return "the hyper-connections beside all that this model has";
    }
    if (model->embedding_width > 0) {
        return "the embedding, which is narrower than the layers,";
    }
    return model->layer_embedding > 0 || model->layer_scalar
               ? "the second embedding or the learned factors of the layers"
               : NULL;
}

void rk_megatron_note_layers(const rk_launch_file *launch)
{
    enum { MAMBA_CHUNK = 128 }; /* mamba_mixer.py */
    const rk_layer_type *mamba = type_of(launch->model, "mamba2");
    rk_launch_note(launch->notes, mamba && mamba->recurrence.chunk != MAMBA_CHUNK,
                   "the tokens of a chunk of Mamba-2; Megatron's 128 hold");
    rk_launch_note(launch->notes, type_of(launch->model, "gated_delta") != NULL,
                   "norms whose gain counts from 1, as Qwen's do and the model document does not "
                   "tell (--apply-layernorm-1p)");
}

/* ---- arguments ------------------------------------------------------------------------------ */

static void write_letters(rk_out *out, const rk_layer_type *type)
{
    char letters[2];
    const int count = letters_of(type, letters);
    for (int i = 0; i < count; i++) {
        rk_out_printf(out, "%c", letters[i]);
    }
}

/* Letters of all layers; "|" ends a stage, a slash starts a module of multi-token prediction. */
static void write_pattern(rk_out *out, const rk_launch_file *launch)
{
    const rk_model *m = launch->model;
    const rk_strategy *s = launch->strategy;
    rk_chunk chunks[RK_CHUNK_MAX];
    uint8_t mtp[RK_MTP_LAYERS_MAX];
    const int64_t each = rk_stage_chunks(s);
    const int modules = rk_model_mtp_types(m, mtp);
    rk_strategy_chunks(m, s, chunks);
    rk_out_text(out, " \\\n    --hybrid-layer-pattern \"");
    for (int64_t stage = 0; stage < s->pp * each; stage++) {
        const rk_chunk *chunk = &chunks[stage % s->pp * each + stage / s->pp];
        rk_out_text(out, stage > 0 ? "|" : "");
        for (int i = 0; i < chunk->count; i++) {
            write_letters(out, &m->types[m->type_of[chunk->first + i]]);
        }
    }
    for (int i = 0; i < m->mtp_layers; i++) {
        rk_out_text(out, "/");
        for (int k = 0; k < modules; k++) {
            write_letters(out, &m->types[mtp[k]]);
        }
    }
    rk_out_text(out, "\"");
}

static void write_mamba(rk_out *out, const rk_recurrence_shape *r)
{
    rk_megatron_count(out, "mamba-num-heads", r->heads);
    rk_megatron_count(out, "mamba-head-dim", r->value_size);
    rk_megatron_count(out, "mamba-num-groups", r->key_heads);
    rk_megatron_count(out, "mamba-state-dim", r->key_size);
}

/* N where every Nth layer, and no other, has attention; 0: there is no such N. */
static int attention_period(const rk_model *m)
{
    int period = 0;
    for (int i = 0; i < m->layers; i++) {
        const bool attends = rk_megatron_has_attention(&m->types[m->type_of[i]]);
        period = attends && period == 0 ? i + 1 : period;
        if (attends != (period > 0 && (i + 1) % period == 0)) {
            return 0;
        }
    }
    return period;
}

static bool is_linear(const rk_layer_type *type)
{
    return !rk_megatron_has_attention(type);
}

static void write_delta(rk_out *out, const rk_model *model, const rk_recurrence_shape *r)
{
    const int period = attention_period(model);
    if (!rk_megatron_is_hybrid(model)) {
        rk_megatron_text(out, "experimental-attention-variant", "gdn");
        if (period > 0) {
            rk_megatron_count(out, "linear-attention-freq", period);
        } else {
            rk_megatron_write_layers(out, model, "linear-attention-freq", is_linear);
        }
    }
    rk_megatron_count(out, "linear-conv-kernel-dim", r->conv_width);
    rk_megatron_count(out, "linear-key-head-dim", r->key_size);
    rk_megatron_count(out, "linear-value-head-dim", r->value_size);
    rk_megatron_count(out, "linear-num-key-heads", r->key_heads);
    rk_megatron_count(out, "linear-num-value-heads", r->heads);
}

/*
 * The indexer learns from the attention to the keys that it picked; its kernels keep positions, not
 * scores.  The weight of its loss is from Megatron-LM's functional test gpt3_mcore_te_tp2_pp2_dsa.
 */
static void write_indexer(rk_out *out, const rk_index_shape *index)
{
    rk_megatron_text(out, "experimental-attention-variant", "dsa");
    rk_megatron_count(out, "dsa-indexer-n-heads", index->heads);
    rk_megatron_count(out, "dsa-indexer-head-dim", index->size);
    rk_megatron_count(out, "dsa-indexer-topk", index->keys);
    rk_megatron_text(out, "dsa-indexer-loss-coeff", "0.01");
    rk_megatron_flag(out, "dsa-indexer-use-sparse-loss");
    rk_megatron_text(out, "dsa-kernel-backend", "tilelang");
}

void rk_megatron_write_mixers(rk_out *out, const rk_launch_file *launch)
{
    const rk_layer_type *mamba = type_of(launch->model, "mamba2");
    const rk_layer_type *delta = type_of(launch->model, "gated_delta");
    const rk_layer_type *sparse = type_of(launch->model, "sparse_latent");
    if (rk_megatron_is_hybrid(launch->model)) {
        rk_megatron_flag(out, "is-hybrid-model");
        rk_megatron_text(out, "spec",
                         "megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec");
        write_pattern(out, launch);
    }
    if (mamba) {
        write_mamba(out, &mamba->recurrence);
    }
    if (delta) {
        write_delta(out, launch->model, &delta->recurrence);
    }
    if (sparse) {
        write_indexer(out, &sparse->attention.index);
    }
}
