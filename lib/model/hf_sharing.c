/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugging Face models whose layers share keys and values, or make values of their keys.  Sources:
 * the published code of Hunyuan-Large; the configuration and modelling classes of Gemma 4 and of
 * Step 3.
 */
#include "base/units.h"
#include "model/hf_layout.h"
#include "model/hf_table.h"

/* Cross-layer attention: of every `cla_share_factor` layers the first makes keys and values. */
static rk_status lay_out_hunyuan(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    bool shares = false;
    int64_t factor = 1;
    rk_status status = rk_hf_lay_out(draft, err);
    status = status ? status : rk_hf_read_flag(draft, (hf_flag){"use_cla", false}, &shares, err);
    status = status ? status : rk_hf_read_or(draft, "cla_share_factor", factor, &factor, err);
    factor = shares && factor > 0 ? factor : 1;
    for (int i = 0; !status && i < draft->model.layers; i++) {
        rk_layer_type type = draft->model.types[draft->model.type_of[i]];
        type.attention.kv_source = i % factor == 0 ? RK_KV_OWN : RK_KV_BORROWED;
        status = rk_hf_append(draft, &to, &type, err);
    }
    return status ? status : rk_hf_finish(draft, &to, err);
}

/* ---- Gemma 4 ------------------------------------------------------------------------------- */

typedef struct gemma_sizes {
    int64_t shared, full_head_size, full_kv_heads, layer_embedding;
    bool values_are_keys, double_wide;
} gemma_sizes;

static rk_status read_gemma4(const hf_draft *draft, gemma_sizes *g, rk_error *err)
{
    const json_t *rows = rk_hf_find(draft, "vocab_size_per_layer_input");
    const hf_slot sizes[] = {
        {"num_kv_shared_layers", g->shared, &g->shared},
        {"global_head_dim", g->full_head_size, &g->full_head_size},
        {"num_global_key_value_heads", g->full_kv_heads, &g->full_kv_heads},
        {"hidden_size_per_layer_input", g->layer_embedding, &g->layer_embedding},
    };
    rk_status status = rk_hf_read_slots(draft, sizes, COUNT(sizes), err);
    status = status ? status
                    : rk_hf_read_flag(draft, (hf_flag){"attention_k_eq_v", false},
                                      &g->values_are_keys, err);
    status = status ? status
                    : rk_hf_read_flag(draft, (hf_flag){"use_double_wide_mlp", false},
                                      &g->double_wide, err);
    if (!status && g->layer_embedding > 0 && rows &&
        json_integer_value(rows) != draft->size[HF_VOCAB]) {
        return rk_hf_fail(draft, "vocab_size_per_layer_input", err,
                          "reckon cannot express an embedding of the layers whose vocabulary is "
                          "another than vocab_size");
    }
    return status;
}

/* A layer of the usual layout becomes one of Gemma 4. */
static void make_gemma4(const hf_draft *draft, const gemma_sizes *g, bool last, rk_layer_type *type)
{
    rk_attention_shape *a = &type->attention;
    if (a->window == 0) {
        a->head_size = g->full_head_size ? g->full_head_size : a->head_size;
        a->kv_heads = g->full_kv_heads ? g->full_kv_heads : a->kv_heads;
        a->kv_source = g->values_are_keys ? RK_KV_KEYS : RK_KV_OWN;
    }
    if (last) {
        a->kv_source = RK_KV_BORROWED;
        type->ffn.width *= g->double_wide ? 2 : 1;
    }
    if (type->moe.experts > 0) { /* in parallel with a dense network */
        type->moe.shared_experts = 1;
        type->moe.shared_width = draft->size[HF_FFN];
        type->moe.router_scales = true;
    }
}

/*
 * Full layers have heads of another size; values of theirs may be the keys.  The last layers borrow
 * keys and values of the last layer of their kind before them.  Experts run in parallel with the
 * dense network, with three norms of their own.
 */
static rk_status lay_out_gemma4(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    gemma_sizes g = {.shared = 0};
    rk_status status = rk_hf_lay_out(draft, err);
    status = status ? status : read_gemma4(draft, &g, err);
    for (int i = 0; !status && i < draft->model.layers; i++) {
        rk_layer_type type = draft->model.types[draft->model.type_of[i]];
        make_gemma4(draft, &g, i >= draft->model.layers - g.shared, &type);
        status = rk_hf_append(draft, &to, &type, err);
    }
    draft->model.layer_embedding = g.layer_embedding;
    draft->model.layer_scalar = true;
    draft->model.norms_per_layer = draft->layer.moe.experts > 0 ? 7 : 4;
    return status ? status : rk_hf_finish(draft, &to, err);
}

/* Step 3.5 and 3.7: a number gates each head. */
static rk_status lay_out_step(hf_draft *draft, rk_error *err)
{
    const rk_status status = rk_hf_read_flag(draft, (hf_flag){"use_head_wise_attn_gate", true},
                                             &draft->layer.attention.head_gate, err);
    return status ? status : rk_hf_lay_out(draft, err);
}

/*
 * LongCat-Flash: a layer of its file has two of attention and a dense network each; experts run in
 * parallel with the first network and with the attention of the second half.
 */
static rk_status lay_out_longcat(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    rk_layer_type first = draft->layer, second = draft->layer;
    rk_moe_shape *moe = &first.moe;
    rk_status status =
        rk_hf_read_or(draft, "zero_expert_num", moe->zero_experts, &moe->zero_experts, err);
    moe->shortcut = true;
    moe->shared_experts = 1;
    moe->shared_width = draft->size[HF_FFN];
    first.ffn.width = 0;
    second.moe = (rk_moe_shape){0};
    second.ffn.width = draft->size[HF_FFN];
    for (int i = 0; !status && i < (int)draft->size[HF_LAYERS]; i++) {
        status = rk_hf_append_kinds(draft, &to, &first, NULL, "experts", err);
        status = status ? status : rk_hf_append_kinds(draft, &to, &second, NULL, "dense", err);
    }
    return status ? status : rk_hf_finish(draft, &to, err);
}

const hf_special rk_hf_sharing_specials[] = {
    {"longcat", NULL, lay_out_longcat},
    {"hunyuan", NULL, lay_out_hunyuan},
    {"gemma4", NULL, lay_out_gemma4},
    {"step", NULL, lay_out_step},
    {NULL, NULL, NULL},
};
