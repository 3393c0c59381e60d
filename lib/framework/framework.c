/* SPDX-License-Identifier: Apache-2.0 */
/* The table of frameworks, and lookups in it. */
#include "framework/trait_sets.h"

#include <assert.h>
#include <string.h>

#define DECLARATION(kind, entry, name) extern const rk_framework_traits rk_framework_##entry;
RK_FRAMEWORK_LIST(DECLARATION)

#define ENTRY(kind, entry, name) [RK_FRAMEWORK_##kind] = &rk_framework_##entry,
const rk_framework_traits *const rk_frameworks[RK_FRAMEWORK_COUNT] = {RK_FRAMEWORK_LIST(ENTRY)};

#define NAME(kind, entry, name) name,
const char *const rk_framework_names[] = {RK_FRAMEWORK_LIST(NAME) NULL};

/* Training in fp32 and TF32: weights are their own master copy, and are gathered as they are. */
static const rk_state_recipe full_states = {
    .weight = 4, .gradient = 4, .optimizer = 8, .gather = 4, .reduce = 4};

rk_framework rk_framework_usual(rk_generation generation)
{
    assert(generation < 32);
    for (int i = 0; i < RK_FRAMEWORK_COUNT; i++) {
        if (rk_frameworks[i]->usual_on >> generation & 1U) {
            return (rk_framework)i;
        }
    }
    return RK_FRAMEWORK_MEGATRON;
}

rk_framework rk_framework_of_stack(const char *family, const char *base)
{
    for (int i = 0; i < RK_FRAMEWORK_COUNT; i++) {
        for (const char *const *stack = rk_frameworks[i]->stacks; *stack; stack++) {
            if (!rk_frameworks[i]->all && strcmp(*stack, family) == 0) {
                return (rk_framework)i;
            }
        }
    }
    return base[0] ? rk_framework_of_stack(base, "") : RK_FRAMEWORK_COUNT;
}

/*
 * Weights that are their own master copy: in fp32, gathered in 16 bits, or in 16 bits alone, where
 * PyTorch makes gradients and moments in the type of the weight.
 */
static const rk_state_recipe wide_states = {
    .weight = 4, .gradient = 4, .optimizer = 8, .gather = 2, .reduce = 4};
static const rk_state_recipe narrow_states = {
    .weight = 2, .gradient = 2, .optimizer = 4, .gather = 2, .reduce = 2};

rk_state_recipe rk_framework_states(rk_framework framework, rk_precision precision,
                                    const rk_state_request *wish)
{
    assert(framework < RK_FRAMEWORK_COUNT);
    const rk_framework_traits *f = rk_framework_of(framework);
    const bool half = f->half_sums && precision == RK_FP16 && wish->weight == 0;
    const double gradient = wish->gradient > 0 ? wish->gradient : half ? 2 : 0;
    const double moments = wish->moments;
    const rk_state_recipe *usual = rk_is_full(precision) ? &full_states
                                   : wish->weight == 2   ? &narrow_states
                                   : wish->weight > 0    ? &wide_states
                                                         : &f->states;
    const double usual_moments = usual == &narrow_states ? 4 : 8;
    const double master = usual->optimizer - usual_moments;
    rk_state_recipe states = *usual;
    if (gradient > 0) {
        states.reduce = gradient;
        /* weights in fp32 have fp32 gradients, with messages of any type */
        states.gradient = master > 0 ? gradient : usual->gradient;
    }
    if (moments > 0) {
        states.optimizer = master + moments;
    }
    return states;
}

unsigned rk_framework_cheap_modules(rk_framework framework, const rk_model *model,
                                    bool flash_attention)
{
    const rk_framework_traits *f = rk_framework_of(framework);
    const bool experts = rk_layer_is_moe(&model->types[model->type_of[model->layers - 1]]);
    const bool act = experts || !f->expert_act;
    if (f->modules == RK_MODULE_OPERATORS) {
        return RK_MODULE_OPERATORS;
    }
    if (!flash_attention && !f->always) {
        return RK_MODULE_CORE_ATTENTION;
    }
    return (RK_MODULE_NORM | (act ? RK_MODULE_ACTIVATION : 0U)) & f->modules;
}

unsigned rk_framework_shardings(rk_framework framework, int64_t year)
{
    const rk_framework_traits *f = rk_framework_of(framework);
    const bool early = year > 0 && year < f->shards_year;
    return early ? f->shardings & ~(unsigned)(ZERO2 | ZERO3) : f->shardings;
}

bool rk_framework_replicates(rk_framework framework, int64_t year)
{
    return year == 0 || year >= rk_framework_of(framework)->replicas_year;
}
