/* SPDX-License-Identifier: Apache-2.0 */
/* What frameworks plan: any is a superset of each, and none plans what it lacks. */
#include "base/units.h"
#include "models.h"
#include "search/bounded_plan.h"
#include "stack/stack_doc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { TOP = 400 };

struct answer {
    rk_planned_strategy best[TOP];
    size_t found;
    rk_planned_strategy nearest;
    rk_plan_counts counts;
};

static struct answer plan(const rk_model *model, const rk_system *system, const rk_stack *stack,
                          const rk_plan_space *space)
{
    struct answer answer;
    rk_error err;
    assert_int_equal(rk_plan_search(model, system, stack, space, NULL, TOP, answer.best,
                                    &answer.found, &answer.nearest, &answer.counts, &err),
                     RK_OK);
    return answer;
}

static rk_model random_model(uint64_t *r)
{
    const int layers = (int)PICK(r, 4, 5, 6, 8, 11);
    return PICK(r, 0, 1) ? dense_model(layers) : moe_model(layers, PICK(r, 0, 1));
}

/* The space of a framework on as many accelerators as `space` has. */
static rk_plan_space space_for(rk_plan_space space, rk_framework framework)
{
    space.framework = framework;
    space.base.states = rk_framework_of(framework)->states;
    return space;
}

/*
 * With the same stack: any has more legal strategies, its best is no slower and its least memory
 * is no more than that of each framework.
 */
static void test_any_is_superset(void **state)
{
    rk_system system;
    rk_stack stack;
    rk_error err;
    (void)state;
    assert_int_equal(rk_system_load("dgx-h100-superpod", &system, &err), RK_OK);
    assert_int_equal(rk_stack_load("megatron-2025", &stack, &err), RK_OK);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        uint64_t r = seed;
        const rk_model model = random_model(&r);
        rk_plan_space space = rk_plan_space_defaults(&model, &system, PICK(&r, 2, 4, 6, 8, 16),
                                                     PICK(&r, 8, 12, 16, 32));
        space.max_memory = (double)PICK(&r, 3, 6, 20) * GIB;
        space.base.flash_attention = PICK(&r, 0, 1, 1);
        space.offloads = RK_PLAN_NO_OFFLOAD;
        system.tiers[0].size = PICK(&r, 2, 4, 8);
        rk_plan_space all = space_for(space, RK_FRAMEWORK_ANY);
        rk_plan_recipes_of_all(&model, &(rk_state_request){0}, &all);
        const struct answer any = plan(&model, &system, &stack, &all);
        for (int f = RK_FRAMEWORK_ANY + 1; f < RK_FRAMEWORK_COUNT; f++) {
            const rk_plan_space one = space_for(space, (rk_framework)f);
            const struct answer own = plan(&model, &system, &stack, &one);
            assert_true(any.counts.legal >= own.counts.legal);
            assert_true(any.counts.fitting >= own.counts.fitting);
            assert_true(own.found == 0 || any.found > 0);
            if (own.found > 0 && any.best[0].estimate.step > own.best[0].estimate.step) {
                fail_msg("seed %d: any takes %g s, %s %g s", (int)seed, any.best[0].estimate.step,
                         rk_framework_names[f], own.best[0].estimate.step);
            }
            assert_true(own.nearest.index == UINT64_MAX ||
                        any.nearest.needed <= own.nearest.needed);
            for (size_t i = 0; i < own.found; i++) {
                assert_true(rk_strategy_legal(&model, &system, &own.best[i].strategy,
                                              RK_FRAMEWORK_ANY, NULL));
            }
        }
    }
}

/* Plans use nothing that their framework lacks, as its documents say and not as our table does. */
static void test_lacking(void **state)
{
    rk_system system;
    rk_stack stack;
    rk_error err;
    size_t planned[RK_FRAMEWORK_COUNT] = {0};
    (void)state;
    assert_int_equal(rk_system_load("dgx-h100-superpod", &system, &err), RK_OK);
    assert_int_equal(rk_stack_load("torchtitan", &stack, &err), RK_OK);
    system.tiers[0].size = 4;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t r = seed;
        const rk_model model = random_model(&r);
        rk_plan_space space = rk_plan_space_defaults(&model, &system, 16, 32);
        space.max_memory = 6 * GIB;
        for (int f = RK_FRAMEWORK_ANY + 1; f < RK_FRAMEWORK_COUNT; f++) {
            const rk_plan_space one = space_for(space, (rk_framework)f);
            const struct answer own = plan(&model, &system, &stack, &one);
            planned[f] += own.found;
            for (size_t i = 0; i < own.found; i++) {
                const rk_strategy *s = &own.best[i].strategy;
                const bool ulysses = s->cp > 1 && s->cp_kind == RK_CP_ULYSSES;
                switch (f) {
                case RK_FRAMEWORK_TORCHTITAN:
                    assert_false(ulysses);
                    assert_true(s->sharding >= RK_SHARD_GRADIENTS);
                    assert_int_equal(s->tp * s->cp * s->dp / s->replicas % s->ep, 0);
                    assert_true(s->recompute != RK_REC_SELECTIVE ||
                                s->recompute_modules == RK_MODULE_OPERATORS);
                    break;
                case RK_FRAMEWORK_DEEPSPEED:
                    assert_true(s->cp == 1 || ulysses);
                    assert_false(s->sp);
                    assert_true(s->pp == 1 || s->sharding <= RK_SHARD_OPTIMIZER);
                    assert_true(s->states.gradient <= 2 && s->states.reduce <= 2);
                    break;
                case RK_FRAMEWORK_MAXTEXT:
                    assert_true(s->sharding != RK_SHARD_GRADIENTS);
                    assert_true(s->pp == 1 || s->schedule == RK_SCHEDULE_GPIPE);
                    assert_int_equal(s->recompute_layers, 0);
                    break;
                case RK_FRAMEWORK_NEURONX:
                    assert_true(s->sharding <= RK_SHARD_OPTIMIZER);
                    assert_true(s->cp == 1 || s->cp_kind == RK_CP_RING);
                    break;
                case RK_FRAMEWORK_MINDSPEED:
                    assert_false(s->offload_weights);
                    break;
                case RK_FRAMEWORK_PRIMUS:
                    assert_true(s->schedule != RK_SCHEDULE_GPIPE &&
                                s->schedule != RK_SCHEDULE_ZB_H2 &&
                                s->schedule != RK_SCHEDULE_DUALPIPE);
                    assert_true(s->schedule <= RK_SCHEDULE_INTERLEAVED ||
                                s->recompute == RK_REC_NONE);
                    break;
                default:
                    break;
                }
            }
        }
    }
    for (int f = RK_FRAMEWORK_ANY + 1; f < RK_FRAMEWORK_COUNT; f++) {
        assert_true(planned[f] > 100);
    }
}

/* Years bring features, and 0 stands for all of them. */
static void test_years(void **state)
{
    (void)state;
    const rk_framework megatron = RK_FRAMEWORK_MEGATRON;
    assert_int_equal(rk_framework_shardings(megatron, 2024), 0x3);
    assert_int_equal(rk_framework_shardings(megatron, 2025), 0xf);
    assert_int_equal(rk_framework_shardings(megatron, 0), 0xf);
    assert_false(rk_framework_replicates(megatron, 2024));
    assert_true(rk_framework_replicates(megatron, 2025));
    assert_true(rk_framework_replicates(RK_FRAMEWORK_TORCHTITAN, 2024));
}

/* Bytes of states per parameter: weight, gradient, optimizer, gathered, reduced. */
static void test_states(void **state)
{
    static const struct {
        rk_framework framework;
        rk_precision precision;
        double gradient, moments;
        rk_state_recipe states;
        double weight; /* asked for */
    } cases[] = {
        {RK_FRAMEWORK_MEGATRON, RK_BF16, 0, 0, {2, 4, 12, 2, 4}, 0},
        {RK_FRAMEWORK_MEGATRON, RK_BF16, 2, 4, {2, 2, 8, 2, 2}, 0},
        /* Megatron sums gradients of fp16 in fp16, unless fp32 is asked for */
        {RK_FRAMEWORK_MEGATRON, RK_FP16, 0, 0, {2, 2, 12, 2, 2}, 0},
        {RK_FRAMEWORK_MINDSPEED, RK_FP16, 4, 0, {2, 4, 12, 2, 4}, 0},
        {RK_FRAMEWORK_TORCHTITAN, RK_BF16, 0, 0, {4, 4, 8, 2, 4}, 0},
        {RK_FRAMEWORK_TORCHTITAN, RK_BF16, 2, 4, {4, 4, 4, 2, 2}, 0},
        {RK_FRAMEWORK_DEEPSPEED, RK_BF16, 0, 0, {2, 2, 12, 2, 2}, 0},
        {RK_FRAMEWORK_DEEPSPEED, RK_BF16, 4, 0, {2, 4, 12, 2, 4}, 0},
        {RK_FRAMEWORK_MAXTEXT, RK_BF16, 0, 0, {4, 4, 8, 2, 4}, 0},
        {RK_FRAMEWORK_NEURONX, RK_BF16, 0, 0, {2, 4, 12, 2, 4}, 0},
        /* low precision casts weights in 16 bits; those of 32 are their own master copy */
        {RK_FRAMEWORK_MEGATRON, RK_FP8, 0, 0, {2, 4, 12, 2, 4}, 0},
        {RK_FRAMEWORK_MEGATRON, RK_FP32, 0, 0, {4, 4, 8, 4, 4}, 0},
        {RK_FRAMEWORK_MEGATRON, RK_TF32, 2, 4, {4, 4, 4, 4, 2}, 0},
        {RK_FRAMEWORK_TORCHTITAN, RK_FP32, 0, 0, {4, 4, 8, 4, 4}, 0},
        {RK_FRAMEWORK_DEEPSPEED, RK_TF32, 0, 0, {4, 4, 8, 4, 4}, 0},
        {RK_FRAMEWORK_HUGGINGFACE, RK_BF16, 0, 0, {4, 4, 8, 2, 2}, 0},
        /* held in 16 bits, or in 32, whatever the framework does */
        {RK_FRAMEWORK_MEGATRON, RK_BF16, 0, 0, {2, 2, 4, 2, 2}, 2},
        {RK_FRAMEWORK_TORCHTITAN, RK_BF16, 4, 0, {2, 2, 4, 2, 4}, 2},
        {RK_FRAMEWORK_TORCHTITAN, RK_BF16, 0, 2, {2, 2, 2, 2, 2}, 2},
        {RK_FRAMEWORK_MEGATRON, RK_BF16, 0, 0, {4, 4, 8, 2, 4}, 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const rk_state_request wish = {
            .weight = cases[i].weight, .gradient = cases[i].gradient, .moments = cases[i].moments};
        const rk_state_recipe states =
            rk_framework_states(cases[i].framework, cases[i].precision, &wish);
        assert_memory_equal(&states, &cases[i].states, sizeof(states));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_is_superset),
        cmocka_unit_test(test_lacking),
        cmocka_unit_test(test_years),
        cmocka_unit_test(test_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
