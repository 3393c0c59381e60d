/* SPDX-License-Identifier: Apache-2.0 */
/* Fine-tuning by adapters: how much learns where the model is frozen. */
#include "strategy/strategy.h"

const char *const rk_adapted_names[] = {"attention", "mlp", NULL};

/*
 * Input plus output features of the linears of attention: a rank-r adapter has r times as many
 * parameters (LoRA, arXiv 2106.09685: W x + B A x, A of r x K and B of N x r).  Queries, keys,
 * values and a gate of the output are one linear, relative positions another.
 */
static double attention_features(const rk_attention_shape *a, double h)
{
    const double n = (double)a->query_heads, kv = (double)a->kv_heads;
    const double qk = (double)rk_attention_qk_size(a), v = (double)rk_attention_value_size(a);
    const double out = n * v + h;
    if (a->kind != RK_ATTENTION_LATENT) {
        const double gate = a->output_gate ? n * v : 0;
        const double positions = a->relative_positions ? h + n * qk : 0;
        return h + n * qk + kv * (qk + v) + gate + positions + out;
    }
    const double q = (double)a->q_rank, rank = (double)a->kv_rank, rope = (double)a->rope_size;
    const double queries = q > 0 ? h + q + q + n * qk : h + n * qk;
    return queries + h + rank + rope + rank + n * ((double)a->nope_size + v) + out;
}

/* Gate and up are one linear. */
static double ffn_features(double h, double width, bool gated)
{
    return h + (gated ? 2 : 1) * width + width + h;
}

static double adapted_features(const rk_model *model, const rk_layer_type *type, unsigned modules)
{
    const double h = (double)model->hidden;
    const double shared = (double)(type->moe.shared_experts * type->moe.shared_width);
    double sum = modules & RK_ADAPTED_ATTENTION ? attention_features(&type->attention, h) : 0;
    if (modules & RK_ADAPTED_FFN) {
        const double width = rk_layer_is_moe(type) ? shared : (double)type->ffn.width;
        sum += width > 0 ? ffn_features(h, width, type->ffn.gated) : 0;
    }
    return sum;
}

void rk_strategy_freeze(const rk_model *model, int64_t rank, unsigned modules,
                        rk_strategy *strategy)
{
    double features = 0;
    for (int i = 0; i < model->layers; i++) {
        features += adapted_features(model, &model->types[model->type_of[i]], modules);
    }
    const double share = (double)rank * features / (double)rk_model_params_of(model).total;
    strategy->adapter_rank = rank;
    strategy->adapter_modules = modules;
    strategy->learning = share;
    strategy->states.weight *= 1 + share;
    strategy->states.gather *= 1 + share;
    strategy->states.gradient *= share;
    strategy->states.reduce *= share;
    strategy->states.optimizer *= share;
}

double rk_strategy_learning(const rk_strategy *strategy)
{
    return strategy->adapter_rank > 0 ? strategy->learning : 1;
}
