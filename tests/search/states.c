/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of the states of a model, counted from the shapes alone. */
#include "states.h"

#include <math.h>

/* Parameters of the layers: split over tensor ranks, whole on each of them, and of experts. */
struct counted {
    double split, whole, experts;
};

/*
 * What every tensor rank holds of the compressed attention of DeepSeek-V4: key and value in one,
 * the latent of queries, the compressor of entries, and the indexer with a compressor of its own.
 */
static double whole_of_compressed(const rk_attention_shape *a, double h)
{
    const bool indexed = a->index.keys > 0;
    const double windows = indexed ? 2 : 1, m = (double)a->ratio;
    const double d = (double)a->head_size, q = (double)a->q_rank;
    const double heads = (double)a->index.heads, d_index = (double)a->index.size;
    double whole = (h + 1) * (q + d);
    for (int i = 0; i < (indexed ? 2 : 1) && a->ratio > 0; i++) {
        const double size = i == 0 ? d : d_index;
        whole += windows * size * (2 * h + m) + size;
    }
    return indexed ? whole + heads * (q * d_index + h) : whole;
}

/* An indexer, which every tensor rank has: queries, one key with its norm, weights of heads. */
static double indexer_of(const rk_attention_shape *a, double h)
{
    const double heads = (double)a->index.heads, d = (double)a->index.size;
    const double inputs = a->q_rank > 0 ? (double)a->q_rank : h;
    return inputs * heads * d + h * d + 2 * d + (rk_attention_is_latent(a) ? h * heads : 0);
}

/* What every tensor rank holds: norms, biases behind sums, routers, ways down to latents. */
static double whole_of(const rk_model *model, const rk_layer_type *type, const rk_layer_params *p)
{
    const rk_attention_shape *a = &type->attention;
    const double h = (double)model->hidden;
    const double latents = (double)(a->q_rank + a->kv_rank);
    double whole = (double)(p->norms + p->router);
    whole += a->bias_out ? h : 0;
    whole += type->moe.shared_gate ? h : 0;
    whole += 2 * h * (double)type->moe.latent; /* to the latent of the experts, and back */
    whole += type->ffn.bias && p->ffn > 0 ? h : 0;
    whole += (double)(p->ffn > 0 ? type->ffn.activation_scalars : 0);
    if (a->out_rank > 0) {
        return whole + whole_of_compressed(a, h);
    }
    if (a->index.heads > 0 && !a->index.shared) {
        whole += indexer_of(a, h);
    }
    if (rk_attention_is_latent(a)) {
        whole += latents + (h + a->bias_qkv) * (latents + (double)a->rope_size);
    } else if (a->qk_norm == RK_QK_NORM_HEAD) {
        whole += (a->kv_source == RK_KV_BORROWED ? 1 : 2) * (double)a->head_size;
    }
    return whole;
}

static void count_layer(const rk_model *model, const rk_layer_type *type, double t,
                        struct counted *sum)
{
    const rk_attention_shape *a = &type->attention;
    const rk_layer_params p = rk_layer_params_of(model, type);
    const double whole = whole_of(model, type, &p);
    const double head = (double)(rk_attention_qk_size(a) + rk_attention_value_size(a));
    sum->whole += whole;
    sum->split += (double)(p.total - p.experts) - whole;
    sum->experts += (double)p.experts;
    if (!rk_attention_is_latent(a) && a->out_rank == 0 && (double)a->kv_heads < t) {
        sum->split += (t - (double)a->kv_heads) * head * ((double)model->hidden + a->bias_qkv);
    }
}

static struct counted count_model(const rk_model *model, const rk_strategy *s)
{
    const rk_end_params ends = rk_end_params_of(model);
    const double t = (double)s->tp, h = (double)model->hidden;
    const double vocab = ceil((double)model->vocab / (128 * t)) * 128 * t;
    const bool ends_together =
        s->pp == 1 || rk_schedules[s->schedule]->placement != RK_PLACEMENT_LOOP;
    struct counted sum = {0, 0, 0};
    for (int i = 0; i < model->layers; i++) {
        count_layer(model, &model->types[model->type_of[i]], t, &sum);
    }
    uint8_t mtp[RK_MTP_LAYERS_MAX];
    const int each = rk_model_mtp_types(model, mtp);
    for (int i = 0; i < model->mtp_layers; i++) {
        for (int k = 0; k < each; k++) {
            count_layer(model, &model->types[mtp[k]], t, &sum);
        }
        sum.split += 2 * h * h;
        sum.whole += (double)ends.mtp_norms;
    }
    const double width = (double)rk_model_embedding_width(model),
                 table = (double)model->vocab * width;
    sum.split += vocab * width * (model->tied && ends_together ? 1 : 2);
    sum.split += model->head_bias ? vocab : 0;
    sum.whole += (double)(ends.positions + ends.final_norm);
    sum.whole += (double)ends.embedding - table;
    sum.whole += model->embedding_width > 0 ? width * h : 0; /* the projection before the head */
    return sum;
}

states states_of(const rk_model *model, const rk_strategy *s)
{
    const struct counted all = count_model(model, s);
    const bool twice = s->schedule == RK_SCHEDULE_DUALPIPE; /* every stage on two ranks */
    const double copies = twice ? 2 : 1, ranks = (double)(s->dp * s->cp);
    const double dense = copies * (all.split / (double)s->tp + all.whole);
    const double experts = copies * all.experts / (double)(s->ep * s->etp);
    /* HSDP: replicas of the shards of both */
    const double shards = ranks / (double)s->replicas;
    const double expert_shards =
        (double)s->tp * ranks / (double)(s->ep * s->etp) / (double)s->replicas;
    const double whole = dense + experts;
    const double sharded = dense / shards + experts / expert_shards;
    /* FSDP2 with ZeRO-2: the gathered copy stays whole, the trained weights are sharded */
    const bool copied = s->sharding == RK_SHARD_GRADIENTS && s->states.gather < s->states.weight;
    return (states){
        .weights = copied ? s->states.gather * whole + s->states.weight * sharded
                          : s->states.weight * (s->sharding == RK_SHARD_ALL ? sharded : whole),
        .gradients = s->states.gradient * (s->sharding >= RK_SHARD_GRADIENTS ? sharded : whole),
        .optimizer =
            s->states.optimizer * (s->sharding != RK_SHARD_NONE ? sharded : whole) / copies,
    };
}
