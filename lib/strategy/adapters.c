/* SPDX-License-Identifier: Apache-2.0 */
/* Fine-tuning with adapters: the trainable parameters of a frozen model. */
#include "model/kinds.h"
#include "strategy/strategy.h"

#include <assert.h>

const char *const rk_adapted_names[] = {"attention", "mlp", NULL};

/*
 * Input plus output features of the linears of a layer: a rank-r adapter has r times as many
 * parameters (LoRA, arXiv 2106.09685: W x + B A x, A of r x K and B of N x r).
 */
static double part_features(const rk_part_kind *part, const rk_layer_type *type, double h,
                            bool apart)
{
    rk_matrix matrices[RK_MATRIX_MAX];
    const int count = apart && part->matrices ? part->matrices(type, h, matrices) : 0;
    double sum = 0;
    for (int i = 0; i < count; i++) {
        sum += matrices[i].count * (matrices[i].rows + matrices[i].columns);
    }
    return count ? sum : part->features(type, h);
}

/* `apart`: queries, keys and values are linears of their own, and so are gate and up. */
static double adapted_features(const rk_model *model, const rk_layer_type *type, unsigned modules,
                               bool apart)
{
    const double h = (double)model->hidden;
    const rk_part_kind *mixer = &type->mixer->part, *network = &type->feed_forward->part;
    const bool dense = !rk_layer_is_moe(type); /* routed experts have no adapters */
    return (modules & RK_ADAPTED_ATTENTION ? part_features(mixer, type, h, apart) : 0) +
           (modules & RK_ADAPTED_FFN ? part_features(network, type, h, apart && dense) : 0);
}

void rk_strategy_freeze(const rk_model *model, int64_t rank, unsigned modules,
                        rk_strategy *strategy)
{
    assert(rank >= 1 && modules != 0);
    const bool apart = strategy->adapter_bytes > 0;
    double features = 0;
    for (int i = 0; i < model->layers; i++) {
        features += adapted_features(model, &model->types[model->type_of[i]], modules, apart);
    }
    const double share = (double)rank * features / (double)rk_model_params_of(model).total;
    strategy->adapter_rank = rank;
    strategy->adapter_modules = modules;
    strategy->learning = share;
    strategy->states.weight +=
        share * (strategy->adapter_bytes > 0 ? strategy->adapter_bytes : strategy->states.weight);
    strategy->states.gather *= 1 + share;
    strategy->states.gradient *= share;
    strategy->states.reduce *= share;
    strategy->states.optimizer *= share;
    strategy->outer_states = 0;
}

int64_t rk_strategy_reach(const rk_strategy *s)
{
    return s->document > 0 && s->document < s->seq ? s->document : s->seq;
}

double rk_strategy_learning(const rk_strategy *strategy)
{
    return strategy->adapter_rank > 0 ? strategy->learning : 1;
}
