/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of arguments.py and transformer_config.py in Megatron Core. */
#include "framework/rules.h"

/* Neighbours that exchange both ways at once would block each other. */
static int64_t two_ranks_without_overlap(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->vp > 1 && s->pp == 2 && !s->pp_overlap;
}

static int64_t expert_bias_with_etp(const struct question *q)
{
    const rk_layer_type *type = q->strategy->etp > 1 ? rk_rule_moe_type(q->model) : NULL;
    return type && (type->moe.expert_bias || type->ffn.bias);
}

static int64_t low_weights_without_shards(const struct question *q)
{
    return q->strategy->low_weights && !q->strategy->nf4_weights &&
           q->strategy->sharding == RK_SHARD_NONE;
}

/* The update on the host writes 8-bit weights with scales that it knows beforehand. */
static int64_t low_weights_with_offload(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->low_weights && !s->nf4_weights && s->offload_optimizer &&
           !(s->precision == RK_FP8 && s->fp8_recipe == RK_FP8_DELAYED);
}

/* Recomputed outputs would enter the history of scales twice. */
static int64_t delayed_with_recompute(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->precision == RK_FP8 && s->fp8_recipe == RK_FP8_DELAYED &&
           s->recompute == RK_REC_SELECTIVE &&
           (s->recompute_modules & (RK_MODULE_NORM | RK_MODULE_ACTIVATION)) != 0;
}

static int64_t layers_not_full(const struct question *q)
{
    return q->strategy->recompute != RK_REC_FULL ? q->strategy->recompute_layers : 0;
}

static int64_t latent_recompute_without_mla(const struct question *q)
{
    if (!rk_rule_recomputes(q->strategy, RK_MODULE_MLA_UP)) {
        return 0;
    }
    for (int i = 0; i < q->model->type_count; i++) {
        /* DeepSeek-V4 makes queries of a latent */
        const rk_attention_shape *a = &q->model->types[i].attention;
        if (rk_attention_is_latent(a) || a->out_rank > 0) {
            return 0;
        }
    }
    return 1;
}

static int64_t weight_offload_with_pipeline(const struct question *q)
{
    return q->strategy->offload_weights && q->strategy->pp > 1;
}

static int64_t weight_offload_with_recompute(const struct question *q)
{
    return q->strategy->offload_weights && q->strategy->recompute != RK_REC_NONE;
}

static int64_t tensor_overlap_without_sp(const struct question *q)
{
    return q->strategy->tp_overlap && q->strategy->tp > 1 && !q->strategy->sp;
}

static int64_t gather_overlap_alone(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->param_overlap && !s->grad_overlap && s->sharding != RK_SHARD_NONE;
}

static int64_t expert_overlap_without_ep(const struct question *q)
{
    return q->strategy->moe_overlap && q->strategy->ep == 1;
}

static int64_t expert_overlap_without_chunks(const struct question *q)
{
    return q->strategy->moe_overlap && q->strategy->pp > 1 && q->strategy->vp == 1;
}

static int64_t expert_overlap_with_recompute(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    return s->moe_overlap && (s->recompute == RK_REC_FULL || rk_rule_recomputes(s, RK_MODULE_MOE));
}

static int64_t expert_overlap_with_mtp(const struct question *q)
{
    return q->strategy->moe_overlap && q->model->mtp_layers > 1 ? q->model->mtp_layers : 0;
}

/* transformer_config.py:3170: keys that an indexer picks may be anyone's. */
static int64_t indexer_without_gather(const struct question *q)
{
    const rk_strategy *s = q->strategy;
    if (s->cp == 1 || s->cp_kind == RK_CP_ALL_GATHER) {
        return 0;
    }
    for (int i = 0; i < q->model->type_count; i++) {
        const rk_attention_shape *a = &q->model->types[i].attention;
        if (rk_attention_is_latent(a) && a->index.keys > 0) {
            return a->index.keys;
        }
    }
    return 0;
}

/*
 * mamba_mixer.py: what a rank makes of z, x, B, C and dt, 2 n P + 2 G N + n over t, is a multiple
 * of 16 where products are in 8 bits.
 */
static int64_t state_projection_rest(const struct question *q)
{
    enum { UNIT = 16 };
    const rk_strategy *s = q->strategy;
    if (s->precision != RK_FP8) {
        return 0;
    }
    for (int i = 0; i < q->model->type_count; i++) {
        const rk_layer_type *type = &q->model->types[i];
        const rk_recurrence_shape *r = &type->recurrence;
        const int64_t made =
            2 * r->heads * r->value_size + 2 * r->key_heads * r->key_size + r->heads;
        if (r->heads > 0 && made % (UNIT * s->tp) != 0 && rk_rule_is_mixer(type, "mamba2")) {
            return made;
        }
    }
    return 0;
}

const struct rk_rule rk_rules_megatron[] = {
    {"indexer needs all-gather", indexer_without_gather, RULE_OF_DEGREES,
     "a query attends to {n} keys that an indexer picks from all ranks of cp {cp}; use the cp kind "
     "all-gather"},
    {"mamba fp8 % 16", state_projection_rest, VARY(tp),
     "the input projection of Mamba-2 has {n} outputs, which over tp {tp} is not a multiple of 16, "
     "as "
     "fp8 needs"},
    {"interleaving of two ranks", two_ranks_without_overlap, VARY(pp),
     "pp 2 with vp {vp} needs overlapped messages between stages"},
    {"expert bias needs etp = 1", expert_bias_with_etp, VARY(etp),
     "experts with biases cannot be split over etp {etp}"},
    {"fp8 weights need ZeRO", low_weights_without_shards, VARY_NONE,
     "weights in low precision need the distributed optimizer; use ZeRO-1 or more"},
    {"fp8 weights or optimizer offload", low_weights_with_offload, VARY_NONE,
     "an offloaded optimizer writes weights in fp8 by the recipe delayed only; use that, or keep "
     "weights in bf16"},
    {"delayed or recompute", delayed_with_recompute, VARY_NONE,
     "the modules norm and act cannot be recomputed with the fp8 recipe delayed; use tensorwise"},
    {"recompute layers need full", layers_not_full, VARY_NONE,
     "{n} layers to recompute are given, which needs full recompute"},
    {"mla_up needs MLA", latent_recompute_without_mla, VARY_NONE,
     "the module mla_up is to be recomputed, but {model} has no latent attention"},
    {"weight offload needs pp = 1", weight_offload_with_pipeline, VARY(pp),
     "weights cannot be offloaded with pp {pp}"},
    {"weight offload or recompute", weight_offload_with_recompute, VARY_NONE,
     "weights cannot be offloaded together with recompute; drop one of the two"},
    {"tp overlap needs sp", tensor_overlap_without_sp, VARY_NONE,
     "overlap of tensor-parallel messages needs sequence parallelism; turn it on"},
    {"param overlap needs grad overlap", gather_overlap_alone, VARY_NONE,
     "overlap of the parameter gather needs that of the gradient reduction; turn it on"},
    {"moe overlap needs ep > 1", expert_overlap_without_ep, VARY(ep),
     "overlap of expert messages is on, but ep is 1"},
    {0},
};

/* For overlap of one micro-batch's forward with another's backward; not checked for MindSpeed. */
const struct rk_rule rk_rules_expert_overlap[] = {
    {"moe overlap needs vp > 1", expert_overlap_without_chunks, VARY_NONE,
     "overlap of expert messages with pp {pp} needs interleaving (vp 2 or more)"},
    {"moe overlap or recompute", expert_overlap_with_recompute, VARY_NONE,
     "overlap of expert messages excludes recompute of whole layers and of the module moe"},
    {"moe overlap needs mtp <= 1", expert_overlap_with_mtp, VARY_NONE,
     "overlap of expert messages allows one MTP layer, but {model} has {n}"},
    {0},
};
