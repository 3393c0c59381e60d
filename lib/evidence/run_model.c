/* SPDX-License-Identifier: Apache-2.0 */
/* The architecture of a measured run: what the row states overrides what is known of the model. */
#include "base/error.h"
#include "evidence/run_facts.h"
#include "layer/all_kinds.h"

#include <stdio.h>
#include <stdlib.h>

/* Sizes that a row states; 0: not stated. */
typedef struct sizes {
    int64_t layers, hidden, ffn, heads, kv_heads, head_size, vocab, seq;
    int64_t experts, top_k, expert_ffn, shared;
    int64_t tp;          /* tensor ranks, among which heads are shared out */
    double shared_width; /* 0: as an expert */
} sizes;

enum { SIZE_MOST = 1 << 24 };

static rk_status read_size(const rk_run_table *table, size_t row, rk_run_column column,
                           int64_t *size, rk_error *err)
{
    double value = 0;
    const rk_status status = rk_run_number(table, row, column, &value, err);
    if (!status && value > SIZE_MOST) {
        return rk_fail(err, RK_ERR_INVALID, "column %s: no model is that large",
                       rk_run_column_names[column]);
    }
    *size = (int64_t)value;
    return status;
}

static rk_status read_sizes(const rk_run_table *table, size_t row, sizes *out, rk_error *err)
{
    const rk_run_whole_number list[] = {
        {RK_RUN_LAYERS, &out->layers},
        {RK_RUN_HIDDEN, &out->hidden},
        {RK_RUN_FFN, &out->ffn},
        {RK_RUN_HEADS, &out->heads},
        {RK_RUN_KV_HEADS, &out->kv_heads},
        {RK_RUN_HEAD_SIZE, &out->head_size},
        {RK_RUN_VOCAB, &out->vocab},
        {RK_RUN_SEQ, &out->seq},
        {RK_RUN_EXPERTS, &out->experts},
        {RK_RUN_TOP_K, &out->top_k},
        {RK_RUN_EXPERT_FFN, &out->expert_ffn},
        {RK_RUN_TP, &out->tp},
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        const rk_status status = read_size(table, row, list[i].column, list[i].place, err);
        if (status) {
            return status;
        }
    }
    return RK_OK;
}

/* "1", or "1 (width 5632)" where shared experts are wider than the others. */
static rk_status read_shared(const rk_run_table *table, size_t row, sizes *out, rk_error *err)
{
    int count = 0, end = 0;
    const char *cell = rk_run_cell(table, row, RK_RUN_SHARED_EXPERTS);
    if (sscanf(cell, "%4d (width %lf)%n", &count, &out->shared_width, &end) == 2 && end > 0 &&
        cell[end] == '\0' && count >= 0 && out->shared_width >= 1 &&
        out->shared_width <= SIZE_MOST) {
        out->shared = count;
        return RK_OK;
    }
    out->shared_width = 0;
    return read_size(table, row, RK_RUN_SHARED_EXPERTS, &out->shared, err);
}

/* The column without which there is no model; NULL: none. */
static const char *missing_size(const sizes *n, bool attends)
{
    return n->layers < 1 || n->layers > RK_LAYER_MAX ? "layers"
           : n->hidden < 1                           ? "hidden"
           : attends && n->heads < 1                 ? "heads"
           : n->vocab < 1                            ? "vocab"
           : n->experts > 0 && n->top_k < 1          ? "moe_topk"
                                                     : NULL;
}

/* The attention of a layer: printed heads replace a known model's. */
static void set_attention(const sizes *n, const rk_run_facts *facts, bool known,
                          rk_attention_shape *a)
{
    a->query_heads = n->heads;
    if (rk_attention_is_latent(a)) {
        a->kv_heads = n->heads;
        return;
    }
    a->kv_heads = n->kv_heads ? n->kv_heads : n->heads;
    a->head_size = n->head_size ? n->head_size : n->hidden / n->heads;
    if (!known) {
        a->bias_qkv = a->bias_out = facts->biases;
        a->qk_norm = facts->qk_norm;
    }
}

static void set_feed_forward(const sizes *n, const rk_run_facts *facts, bool known, bool moe,
                             rk_layer_type *type)
{
    if (!known) {
        type->ffn.gated = facts->gated && n->ffn > 0; /* 4 x hidden means two matrices */
        type->ffn.bias = facts->biases;
    }
    if (!moe) {
        type->ffn.width = n->ffn ? n->ffn : 4 * n->hidden;
        return;
    }
    type->moe.experts = n->experts;
    type->moe.top_k = n->top_k;
    type->moe.expert_width = n->expert_ffn ? n->expert_ffn : n->ffn;
    type->moe.shared_experts = n->shared;
    type->moe.shared_width = n->shared == 0        ? 0
                             : n->shared_width > 0 ? (int64_t)n->shared_width
                                                   : type->moe.expert_width;
}

/* Layers as the catalogue orders them, of which a truncated model has the first. */
static void set_known_layers(const sizes *n, const rk_run_facts *facts, const rk_model *known,
                             rk_model *model)
{
    rk_layer_type kinds[RK_LAYER_TYPE_MAX] = {{.ffn = {.width = 0}}};
    uint8_t kind_of[RK_LAYER_MAX];
    int dense = 0, sparse = 0;
    for (int i = 0; i < known->type_count; i++) {
        kinds[i] = known->types[i];
        set_attention(n, facts, true, &kinds[i].attention);
        set_feed_forward(n, facts, true, rk_layer_is_moe(&kinds[i]), &kinds[i]);
        rk_layer_set_kinds(&kinds[i], &rk_all_kinds);
        *(rk_layer_is_moe(&kinds[i]) ? &sparse : &dense) = i;
    }
    for (int i = 0; i < (int)n->layers; i++) {
        kind_of[i] = known->type_of[i < known->layers ? i : known->layers - 1];
        if (facts->dense_layers >= 0) {
            kind_of[i] = (uint8_t)(i < (int)facts->dense_layers ? dense : sparse);
        }
    }
    rk_model_set_layers(model, kinds, kind_of, (int)n->layers);
}

static void set_printed_layers(const sizes *n, const rk_run_facts *facts, rk_model *model)
{
    rk_layer_type kinds[2] = {{.ffn = {.width = 0}}};
    uint8_t kind_of[RK_LAYER_MAX];
    for (int kind = 0; kind < 2; kind++) {
        set_attention(n, facts, false, &kinds[kind].attention);
        set_feed_forward(n, facts, false, kind == 1, &kinds[kind]);
        rk_layer_set_kinds(&kinds[kind], &rk_all_kinds);
    }
    for (int i = 0; i < (int)n->layers; i++) {
        kind_of[i] = n->experts > 0 && i >= (int)facts->dense_layers;
    }
    rk_model_set_layers(model, kinds, kind_of, (int)n->layers);
}

/* Sizes of the catalogue, if the row states none. */
static void fill_sizes(const rk_model *known, sizes *n)
{
    const rk_layer_type *last = &known->types[known->type_count - 1];
    const rk_layer_type *attends = known->types; /* in hybrids not every layer does */
    while (attends < last && attends->attention.query_heads == 0) {
        attends++;
    }
#define FILL(size, value) n->size = n->size ? n->size : (value)
    if (!n->hidden) {
        FILL(heads, attends->attention.query_heads);
        FILL(kv_heads, attends->attention.kv_heads);
        FILL(head_size, attends->attention.head_size);
        FILL(ffn, known->types[0].ffn.width);
        FILL(experts, last->moe.experts);
        FILL(top_k, last->moe.top_k);
        FILL(expert_ffn, last->moe.expert_width);
        FILL(shared, last->moe.shared_experts);
        n->shared_width = n->shared_width > 0 ? n->shared_width : (double)last->moe.shared_width;
    }
    FILL(layers, known->layers);
    FILL(hidden, known->hidden);
    FILL(vocab, known->vocab);
#undef FILL
}

/* As models have them: heads about 128 wide that share the width evenly, and tensor ranks them. */
static int64_t usual_heads(int64_t hidden, int64_t tp)
{
    int64_t best = tp;
    for (int64_t heads = tp; heads <= hidden && heads <= 1024; heads += tp) {
        if (hidden % heads == 0 && llabs(hidden / heads - 128) < llabs(hidden / best - 128)) {
            best = heads;
        }
    }
    return best;
}

enum { USUAL_VOCAB = 50304 }; /* of GPT-2, padded to a multiple of 128 */

static bool has_attention(const rk_model *model)
{
    bool attends = false;
    for (int i = 0; i < model->type_count; i++) {
        attends |= model->types[i].attention.query_heads > 0;
    }
    return attends;
}

/* `attends`: the model needs heads. */
static void assume_sizes(const rk_run_facts *facts, bool attends, sizes *n, uint64_t *assumed)
{
    n->vocab = n->vocab ? n->vocab : facts->vocab;
    if (n->vocab == 0) {
        n->vocab = USUAL_VOCAB;
        *assumed |= rk_run_column_bit(RK_RUN_VOCAB);
    }
    if (attends && n->heads == 0 && n->hidden > 0) {
        n->heads = usual_heads(n->hidden, n->tp > 1 ? n->tp : 1);
        *assumed |= rk_run_column_bit(RK_RUN_HEADS);
    }
}

/* A model of which the row states only its name and its vocabulary. */
static bool is_whole(const rk_run_table *table, size_t row)
{
    return rk_run_cell(table, row, RK_RUN_LAYERS)[0] == '\0' &&
           rk_run_cell(table, row, RK_RUN_HIDDEN)[0] == '\0';
}

rk_status rk_run_model_of(const rk_run_sources *sources, const rk_run_table *table, size_t row,
                          const rk_run_facts *facts, rk_model *model, uint64_t *assumed,
                          rk_error *err)
{
    const int place = rk_run_place(sources->model_names, sources->model_count, facts->model);
    const rk_model *known = place < 0 ? NULL : &sources->models[place];
    sizes n = {0};
    rk_status status = read_sizes(table, row, &n, err);
    status = status ? status : read_shared(table, row, &n, err);
    if (status) {
        return status;
    }
    if (known) {
        fill_sizes(known, &n);
    }
    const bool attends = !known || has_attention(known), hybrid = facts->hybrid || !attends;
    assume_sizes(facts, attends, &n, assumed);
    const char *missing = missing_size(&n, attends);
    if (hybrid && (!known || n.layers != known->layers || n.hidden != known->hidden)) {
        return rk_fail(
            err, RK_ERR_INVALID,
            "layers that are not of attention: no column describes them; name a model of "
            "the catalogue with these sizes in the column architecture");
    }
    if (n.seq < 1) {
        return rk_fail(err, RK_ERR_INVALID, "length of sequences not stated: seq is missing");
    }
    if (missing) {
        return rk_fail(err, RK_ERR_INVALID, "architecture not stated: %s is missing%s", missing,
                       known || !is_whole(table, row) || !rk_run_cell(table, row, RK_RUN_MODEL)[0]
                           ? ""
                           : ", and the catalogue has no model of this name");
    }
    const bool whole = is_whole(table, row) || hybrid;
    if (known) {
        *model = *known;
        model->mtp_layers = facts->mtp_layers > 0 ? (int)facts->mtp_layers
                            : facts->mtp          ? model->mtp_layers
                                                  : 0;
    } else {
        *model = (rk_model){
            .norm = facts->norm,
            .norms_per_layer = facts->parallel_block ? 1 : 2,
            .parallel_block = facts->parallel_block,
            .final_norm = true,
            .tied = facts->tied,
            .learned_positions = facts->learned_positions ? n.seq : 0,
        };
    }
    model->hidden = n.hidden;
    model->vocab = n.vocab;
    model->seq = n.seq;
    (void)snprintf(model->name, sizeof(model->name), "%.63s",
                   rk_run_cell(table, row, RK_RUN_MODEL));
    if (known && !whole) {
        set_known_layers(&n, facts, known, model);
    } else if (!known) {
        set_printed_layers(&n, facts, model);
    }
    return rk_model_check(model, err);
}
