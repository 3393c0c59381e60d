/* SPDX-License-Identifier: Apache-2.0 */
/* Scales hidden size, heads, feed-forward widths and depth of a model in proportion. */
#include "method/reshape.h"

#include <assert.h>
#include <math.h>

#define WIDTH 128 /* feed-forward widths are multiples of this, so that they divide by TP */

/* A width that grows with the hidden size. */
static int64_t widen(int64_t width, double factor)
{
    const int64_t units = (int64_t)floor((double)width * factor / WIDTH + 0.5);
    return width == 0 ? 0 : units > 0 ? units * WIDTH : WIDTH;
}

/* Fills a kind of layer; false when there is none with so many heads. */
static bool reshape_type(const rk_layer_type *like, int64_t heads, double size, double factor,
                         double width, rk_layer_type *type)
{
    const rk_attention_shape *was = &like->attention;
    rk_attention_shape *a = &type->attention;
    *type = *like;
    a->query_heads = heads;
    a->kv_heads = was->kv_heads == was->query_heads ? heads : was->kv_heads;
    a->head_size = (int64_t)((double)was->head_size * size);
    a->value_size = (int64_t)((double)was->value_size * size);
    type->ffn.width = widen(like->ffn.width, width);
    type->moe.expert_width = widen(like->moe.expert_width, factor);
    type->moe.shared_width = widen(like->moe.shared_width, factor);
    return heads % a->kv_heads == 0;
}

bool rk_model_reshape(const rk_model *like, double feedforward, int64_t blocks, int64_t heads,
                      int64_t head_size, rk_model *out)
{
    assert(blocks >= 1 && heads >= 1);
    const rk_attention_shape *first = &like->types[0].attention;
    const rk_ffn_shape *ffn = &like->types[0].ffn;
    /* of one head, then of the hidden size, in the model's proportion */
    const double size = head_size > 0 && !rk_attention_is_latent(first)
                            ? (double)head_size / (double)first->head_size
                            : 1;
    const double hidden = (double)like->hidden / (double)first->query_heads * size * (double)heads;
    const double factor = hidden / (double)like->hidden;
    const double width =
        feedforward > 0 && ffn->width > 0 ? feedforward * hidden / (double)ffn->width : factor;
    bool legal = blocks > 0 && blocks <= RK_LAYER_MAX && hidden == floor(hidden) && hidden < 0x1p24;
    if (!legal) {
        return false;
    }
    *out = *like;
    out->hidden = (int64_t)hidden;
    out->layers = (int)blocks;
    for (int i = 0; i < like->type_count; i++) {
        legal = legal && reshape_type(&like->types[i], heads, size, factor, width, &out->types[i]);
    }
    for (int64_t i = 0; i < blocks; i++) { /* each kind keeps its share and its place */
        out->type_of[i] = like->type_of[i * like->layers / blocks];
    }
    return legal && rk_model_check(out, NULL) == RK_OK;
}
