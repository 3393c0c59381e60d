/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugging Face models whose layers have widths of their own: chosen by a search, or growing with
 * depth.  Sources: DeciLM (arXiv 2411.19146); the published code of OpenELM (arXiv 2404.14619).
 */
#include "base/units.h"
#include "model/hf_layout.h"
#include "model/hf_table.h"

/* ---- block-wise search (Nemotron NAS) -------------------------------------------------------- */

/* Widths are 2/3 of a multiple of the hidden size, rounded up to 256 (modeling_decilm.py). */
static int64_t searched_width(double multiple, int64_t hidden)
{
    const int64_t step = 256, width = (int64_t)(2 * multiple * (double)hidden / 3);
    return (width + step - 1) / step * step;
}

static rk_status append_searched(const hf_draft *draft, rk_hf_layout *to, const json_t *block,
                                 rk_error *err)
{
    const json_t *attention = json_object_get(block, "attention");
    const json_t *ffn = json_object_get(block, "ffn");
    const json_t *group = json_object_get(attention, "n_heads_in_group");
    const double multiple = json_number_value(json_object_get(ffn, "ffn_mult"));
    const bool mixes = !json_is_true(json_object_get(attention, "no_op"));
    const bool works = !json_is_true(json_object_get(ffn, "no_op"));
    rk_layer_type type = draft->layer;
    if (json_is_true(json_object_get(attention, "replace_with_linear")) ||
        json_is_true(json_object_get(ffn, "replace_with_linear"))) {
        return rk_hf_fail(draft, "block_configs", err,
                          "layer %d has a linear in place of attention or of the FFN, which reckon "
                          "cannot express yet",
                          to->layers);
    }
    if (mixes && (json_integer_value(group) < 1 ||
                  type.attention.query_heads % json_integer_value(group) != 0)) {
        return rk_hf_fail(draft, "block_configs", err,
                          "layer %d: expected n_heads_in_group, a divisor of the heads",
                          to->layers);
    }
    if (works && !(multiple > 0 && multiple < 1024)) {
        return rk_hf_fail(draft, "block_configs", err, "layer %d: expected ffn_mult above 0",
                          to->layers);
    }
    if (!mixes && !works) {
        return RK_OK; /* nothing is left of the layer */
    }
    type.attention.kv_heads = mixes ? type.attention.query_heads / json_integer_value(group) : 0;
    type.ffn.width = works ? searched_width(multiple, draft->size[HF_HIDDEN]) : 0;
    type.moe = (rk_moe_shape){0};
    return rk_hf_append_kinds(draft, to, &type, mixes ? "grouped" : "none",
                              works ? "dense" : "none", err);
}

static rk_status lay_out_nas(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    const json_t *list = rk_hf_find(draft, "block_configs");
    rk_status status = json_array_size(list) > 0
                           ? RK_OK
                           : rk_hf_fail(draft, "block_configs", err, "expected a list of layers");
    for (size_t i = 0; !status && i < json_array_size(list); i++) {
        status = append_searched(draft, &to, json_array_get(list, i), err);
    }
    return status ? status : rk_hf_finish(draft, &to, err);
}

/* ---- OpenELM --------------------------------------------------------------------------------- */

/* A multiple of the hidden size, rounded to the nearest multiple of a step, by at most 10 % down.
 */
static int64_t rounded_width(double multiple, int64_t hidden, int64_t step)
{
    const double width = multiple * (double)hidden;
    int64_t rounded = (int64_t)(width + (double)step / 2) / step * step;
    rounded = rounded < step ? step : rounded;
    return (double)rounded < 0.9 * width ? rounded + step : rounded;
}

/* The number of heads in layer i of a list; 0: there is none. */
static int64_t heads_of(const hf_draft *draft, const char *key, int i)
{
    const json_int_t heads = json_integer_value(json_array_get(rk_hf_find(draft, key), (size_t)i));
    return heads > 0 && heads <= RK_HEADS_MAX ? heads : 0;
}

/* The width of the model has a key of its own, and heads are counted layer by layer. */
static rk_status adapt_openelm(hf_draft *draft, rk_error *err)
{
    rk_status status = rk_hf_read_key(draft, "model_dim", &draft->size[HF_HIDDEN], err);
    status = status ? status
                    : rk_hf_read_key(draft, "num_transformer_layers", &draft->size[HF_LAYERS], err);
    draft->size[HF_KV_HEADS] = 0;
    draft->size[HF_HEADS] = 1;
    return status ? status
                  : rk_hf_read_flag(draft, (hf_flag){"share_input_output_layers", true},
                                    &draft->model.tied, err);
}

static rk_status lay_out_openelm(hf_draft *draft, rk_error *err)
{
    rk_hf_layout to = {.layers = 0};
    int64_t step = 256;
    const json_t *widths = rk_hf_find(draft, "ffn_multipliers");
    rk_status status = rk_hf_read_or(draft, "ffn_dim_divisor", step, &step, err);
    for (int i = 0; !status && i < (int)draft->size[HF_LAYERS]; i++) {
        rk_layer_type type = draft->layer;
        const double multiple = json_number_value(json_array_get(widths, (size_t)i));
        type.attention.query_heads = heads_of(draft, "num_query_heads", i);
        type.attention.kv_heads = heads_of(draft, "num_kv_heads", i);
        if (!(multiple > 0 && multiple < 1024) || step < 1 || type.attention.query_heads == 0 ||
            type.attention.kv_heads == 0) {
            return rk_hf_fail(draft, "ffn_multipliers", err,
                              "expected for each of the %d layers a number above 0 here, and heads "
                              "in num_query_heads and num_kv_heads",
                              (int)draft->size[HF_LAYERS]);
        }
        type.ffn.width = rounded_width(multiple, draft->size[HF_HIDDEN], step);
        status = rk_hf_append_kinds(draft, &to, &type, "grouped", "dense", err);
    }
    return status ? status : rk_hf_finish(draft, &to, err);
}

/* ---- the rows ------------------------------------------------------------------------------ */

const hf_special rk_hf_widths_specials[] = {
    {"nas", NULL, lay_out_nas},
    {"openelm", adapt_openelm, lay_out_openelm},
    {NULL, NULL, NULL},
};
