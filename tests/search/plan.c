/* SPDX-License-Identifier: Apache-2.0 */
/* The search of strategies against its readable twin, and what it promises to callers. */
#include "layer/model_load.h"
#include "models.h"
#include "small.h"
#include "twin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the twin ------------------------------------------------------------------------------ */

/* Values, not bytes: padding may differ. */
static void assert_same_strategy(const rk_strategy *a, const rk_strategy *b)
{
    const int64_t x[] = {a->tp,
                         a->cp,
                         a->pp,
                         a->vp,
                         a->dp,
                         a->ep,
                         a->etp,
                         a->sp,
                         a->cp_kind,
                         a->order,
                         a->micro_batch,
                         a->global_batch,
                         a->seq,
                         a->schedule,
                         a->recompute,
                         a->recompute_modules,
                         a->recompute_layers,
                         a->sharding,
                         a->replicas,
                         a->offload_optimizer,
                         a->offload_activations,
                         a->offload_weights,
                         a->first_stage_layers,
                         a->last_stage_layers,
                         a->count_embedding,
                         a->count_head};
    const int64_t y[] = {b->tp,
                         b->cp,
                         b->pp,
                         b->vp,
                         b->dp,
                         b->ep,
                         b->etp,
                         b->sp,
                         b->cp_kind,
                         b->order,
                         b->micro_batch,
                         b->global_batch,
                         b->seq,
                         b->schedule,
                         b->recompute,
                         b->recompute_modules,
                         b->recompute_layers,
                         b->sharding,
                         b->replicas,
                         b->offload_optimizer,
                         b->offload_activations,
                         b->offload_weights,
                         b->first_stage_layers,
                         b->last_stage_layers,
                         b->count_embedding,
                         b->count_head};
    assert_memory_equal(x, y, sizeof(x));
}

/* Bit for bit: every number of the estimate. */
static void assert_same_estimate(const rk_estimate *a, const rk_estimate *b)
{
    assert_memory_equal(&a->step, &b->step, sizeof(a->step));
    assert_memory_equal(&a->times, &b->times, sizeof(a->times));
    assert_memory_equal(&a->memory, &b->memory, sizeof(a->memory));
    assert_memory_equal(&a->volumes, &b->volumes, sizeof(a->volumes));
    assert_memory_equal(&a->mfu, &b->mfu, sizeof(a->mfu));
    assert_memory_equal(&a->hfu, &b->hfu, sizeof(a->hfu));
    assert_memory_equal(&a->host_bytes, &b->host_bytes, sizeof(a->host_bytes));
    assert_memory_equal(&a->usable, &b->usable, sizeof(a->usable));
    assert_int_equal(a->fits, b->fits);
    assert_int_equal(a->worst_stage, b->worst_stage);
}

static void assert_same_planned(const rk_planned_strategy *a, const rk_planned_strategy *b)
{
    assert_int_equal(a->index, b->index);
    assert_same_strategy(&a->strategy, &b->strategy);
    assert_same_estimate(&a->estimate, &b->estimate);
}

/* Counts, the `top_n` best and the nearest are those of the twin.  Returns its counts. */
static rk_plan_counts compare(const rk_model *model, const rk_system *system, const rk_stack *stack,
                              const rk_plan_space *space, size_t top_n, int threads)
{
    struct twin twin;
    rk_plan_counts counts;
    rk_planned_strategy nearest;
    rk_error err;
    size_t found;
    const rk_search_control control = {.threads = threads};
    rk_planned_strategy *planned;
    twin_run(model, system, stack, space, &twin);
    if (top_n > twin.fitting_count + 1) { /* one more than fit */
        top_n = twin.fitting_count + 1;
    }
    planned = calloc(top_n, sizeof(*planned));
    assert_non_null(planned);
    assert_int_equal(rk_plan_search(model, system, stack, space, &control, top_n, planned, &found,
                                    &nearest, &counts, &err),
                     RK_OK);
    assert_int_equal(counts.enumerated, twin.counts.enumerated);
    assert_int_equal(counts.legal, twin.counts.legal);
    assert_int_equal(counts.fitting, twin.counts.fitting);
    assert_int_equal(found, top_n < twin.fitting_count ? top_n : twin.fitting_count);
    for (size_t i = 0; i < found; i++) {
        assert_same_planned(&planned[i], &twin.fitting[i]);
        assert_true(rk_strategy_legal(model, system, &planned[i].strategy, space->framework, NULL));
    }
    assert_int_equal(nearest.index, twin.nearest.index);
    if (nearest.index != UINT64_MAX) {
        assert_same_planned(&nearest, &twin.nearest);
    }
    free(twin.fitting);
    free(planned);
    return counts;
}

struct whole_space {
    bool moe, latent;
    int layers;
    rk_framework framework;
    int64_t accelerators, batch;
    double gib;
};

/* Every strategy that fits is ranked, so every time of these spaces is compared. */
static void compare_whole_spaces(const struct whole_space *cases, size_t count)
{
    rk_system system;
    rk_stack stack;
    load(&system, &stack);
    for (size_t i = 0; i < count; i++) {
        const rk_model model = cases[i].moe ? moe_model(cases[i].layers, cases[i].latent)
                                            : dense_model(cases[i].layers);
        rk_plan_space space =
            small_space(&model, &system, cases[i].accelerators, cases[i].batch, cases[i].gib);
        space.framework = cases[i].framework;
        const rk_plan_counts counts = compare(&model, &system, &stack, &space, 200000, 2);
        print_message("case %zu: %llu strategies, %llu legal, %llu fit\n", i,
                      (unsigned long long)counts.enumerated, (unsigned long long)counts.legal,
                      (unsigned long long)counts.fitting);
        /* a case where all or none fit would show little */
        assert_true(counts.legal < counts.enumerated);
        assert_in_range(counts.fitting, 1, counts.legal - 1);
    }
}

static void test_whole_spaces(void **state)
{
    static const struct whole_space cases[] = {
        {false, false, 6, RK_FRAMEWORK_MEGATRON, 8, 8, 4},
        {false, false, 7, RK_FRAMEWORK_MEGATRON, 12, 24, 4},
        {true, true, 5, RK_FRAMEWORK_MEGATRON, 4, 8, 5},
        {false, false, 6, RK_FRAMEWORK_ANY, 2, 8, 6},
        {true, false, 4, RK_FRAMEWORK_TORCHTITAN, 4, 4, 4},
        {false, false, 4, RK_FRAMEWORK_DEEPSPEED, 16, 16, 4},
        {true, false, 4, RK_FRAMEWORK_MINDSPEED, 4, 8, 5},
        {false, false, 6, RK_FRAMEWORK_MAXTEXT, 8, 8, 3},
        {true, false, 4, RK_FRAMEWORK_NEURONX, 8, 8, 4},
        {true, false, 4, RK_FRAMEWORK_PRIMUS, 4, 8, 4},
    };
    (void)state;
    compare_whole_spaces(cases, COUNT(cases));
}

/* Seconds each, and ten times that under a sanitizer. */
static void test_large_spaces(void **state)
{
    static const struct whole_space cases[] = {
        {true, false, 5, RK_FRAMEWORK_MEGATRON, 8, 8, 4},
        {false, false, 6, RK_FRAMEWORK_ANY, 4, 8, 5},
        {true, false, 8, RK_FRAMEWORK_PRIMUS, 8, 16, 4},
    };
    (void)state;
    compare_whole_spaces(cases, COUNT(cases));
}

/*
 * DeepSeek-V3 has a head and a module of multi-token prediction that take as long as four layers:
 * of 61 layers on 16 ranks, 4 on each but the last, which has 1, are faster than 3, 4 ... 4 and 2.
 */
static void test_long_head(void **state)
{
    rk_model model;
    rk_system system;
    rk_stack stack;
    rk_error err;
    double steps[2];
    (void)state;
    load(&system, &stack);
    assert_int_equal(rk_model_load("deepseek-v3", &model, &err), RK_OK);
    for (int given = 0; given < 2; given++) {
        rk_plan_space space = rk_plan_space_defaults(&model, &system, 512, 1024);
        const rk_search_control control = {.threads = 1};
        rk_planned_strategy best;
        rk_plan_counts counts;
        size_t found = 0;
        space.framework = RK_FRAMEWORK_MEGATRON;
        space.tp = space.vp = (rk_choices){.count = 1, .values = {1}};
        space.pp = (rk_choices){.count = 1, .values = {16}};
        space.base.seq = 4096;
        space.base.first_stage_layers = given ? 3 : 0;
        space.base.last_stage_layers = given ? 2 : 0;
        assert_int_equal(rk_plan_search(&model, &system, &stack, &space, &control, 1, &best, &found,
                                        NULL, &counts, &err),
                         RK_OK);
        assert_int_equal(found, 1);
        steps[given] = best.estimate.step;
        assert_int_equal(best.strategy.last_stage_layers, given ? 2 : 1);
    }
    assert_true(steps[0] < 0.95 * steps[1]);
}

/* Up to three values, some of which divide nothing. */
static rk_choices random_choices(uint64_t *r)
{
    rk_choices choices = {.count = (int)PICK(r, 0, 0, 1, 2, 3)};
    for (int i = 0; i < choices.count; i++) {
        choices.values[i] = PICK(r, 1, 1, 2, 2, 4, 3, 8);
    }
    return choices;
}

static void test_random_spaces(void **state)
{
    rk_system system;
    rk_stack stack;
    (void)state;
    load(&system, &stack);
    const double host_capacity = system.accelerator.host_capacity;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        uint64_t r = seed;
        const int layers = (int)PICK(&r, 2, 3, 6, 8, 11);
        const rk_model model =
            PICK(&r, 0, 1) ? dense_model(layers) : moe_model(layers, PICK(&r, 0, 1));
        rk_plan_space space = small_space(&model, &system, PICK(&r, 1, 4, 6, 8, 16),
                                          PICK(&r, 1, 6, 8, 16, 32), (double)PICK(&r, 3, 4, 6));
        rk_choices *lists[] = {&space.tp, &space.cp,  &space.pp,         &space.vp,
                               &space.ep, &space.etp, &space.micro_batch};
        for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
            *lists[i] = random_choices(&r);
        }
        space.schedules = (unsigned)PICK(&r, 63, 6, 2, 4, 8, 16, 33);
        space.shardings = (unsigned)PICK(&r, 15, 1, 2, 8, 12);
        space.hybrid = PICK(&r, 0, 1);
        space.recomputes = (unsigned)PICK(&r, 7, 1, 2, 4, 5);
        space.cp_kinds = (unsigned)PICK(&r, 7, 1, 4, 6);
        space.orders = (unsigned)PICK(&r, 1, 1, 2, 3);
        space.offloads = (unsigned)PICK(&r, 0xFF, 1, 3, 0x33, 1 << 1, 1 << 6);
        space.recompute_layers = PICK(&r, -1, -1, 0, 1, 2);
        space.above_one = (unsigned)PICK(&r, 0, 0, 0, RK_DEGREE_TP, RK_DEGREE_PP, RK_DEGREE_CP);
        space.framework = (rk_framework)PICK(&r, 0, 1, 1, 2, 3, 4, 5, 6, 7);
        if (space.framework == RK_FRAMEWORK_ANY && PICK(&r, 0, 1)) {
            rk_plan_recipes_of_all(&model, &(rk_state_request){0}, &space);
        }
        space.base.flash_attention = PICK(&r, 0, 1, 1);
        space.base.pp_overlap = PICK(&r, 0, 1, 1);
        space.overlaps_stated = PICK(&r, 0, 1);
        space.base.precision = PICK(&r, 0, 1) ? RK_FP8 : RK_BF16;
        system.accelerator.host_capacity = PICK(&r, 0, 1) ? host_capacity : 4 * GIB;
        system.tiers[0].size = PICK(&r, 2, 4, 8);
        if (layers == 11 && space.framework == RK_FRAMEWORK_MEGATRON) {
            space.base.first_stage_layers = 2;
            space.base.last_stage_layers = 3;
        }
        print_message("seed %d\n", (int)seed);
        (void)compare(&model, &system, &stack, &space, (size_t)PICK(&r, 1, 10, 100000),
                      (int)PICK(&r, 1, 3));
    }
}

/* ---- promises ------------------------------------------------------------------------------ */

enum { TOP = 20 };

static rk_status search(const rk_model *model, const rk_plan_space *space,
                        const rk_search_control *control, rk_planned_strategy *planned,
                        size_t *found, rk_planned_strategy *nearest, rk_plan_counts *counts)
{
    rk_system system;
    rk_stack stack;
    rk_error err;
    load(&system, &stack);
    const rk_status status = rk_plan_search(model, &system, &stack, space, control, TOP, planned,
                                            found, nearest, counts, &err);
    if (status) {
        assert_true(strlen(err.message) > 0);
    }
    return status;
}

static rk_plan_space large_space(rk_model *model)
{
    rk_system system;
    rk_stack stack;
    rk_error err;
    load(&system, &stack);
    assert_int_equal(rk_model_load("llama3-70b", model, &err), RK_OK);
    return rk_plan_space_defaults(model, &system, 256, 256);
}

static void test_threads(void **state)
{
    rk_model model;
    const rk_plan_space space = large_space(&model);
    rk_planned_strategy one[TOP], many[TOP], nearest[2];
    rk_plan_counts counts[2];
    size_t found[2];
    (void)state;
    assert_int_equal(search(&model, &space, &(rk_search_control){.threads = 1}, one, &found[0],
                            &nearest[0], &counts[0]),
                     RK_OK);
    assert_int_equal(search(&model, &space, &(rk_search_control){.threads = 7}, many, &found[1],
                            &nearest[1], &counts[1]),
                     RK_OK);
    assert_int_equal(found[0], TOP);
    assert_int_equal(found[1], TOP);
    assert_memory_equal(&counts[0], &counts[1], sizeof(counts[0]));
    assert_same_planned(&nearest[0], &nearest[1]);
    for (size_t i = 0; i < TOP; i++) {
        assert_same_planned(&one[i], &many[i]);
        assert_true(one[i].estimate.fits);
        if (i > 0) {
            const double before = one[i - 1].estimate.step, here = one[i].estimate.step;
            assert_true(before < here || (before <= here && one[i - 1].index < one[i].index));
        }
    }
}

/* What is fixed stays, what is listed holds, and memory is kept. */
static void test_constraints(void **state)
{
    rk_model model;
    rk_plan_space space = large_space(&model);
    rk_planned_strategy planned[TOP];
    rk_plan_counts counts;
    size_t found;
    (void)state;
    space.tp = (rk_choices){1, {4}};
    space.pp = (rk_choices){2, {2, 4}};
    space.vp = (rk_choices){2, {1, 5}};
    space.micro_batch = (rk_choices){1, {2}};
    space.shardings = 1U << RK_SHARD_OPTIMIZER;
    space.recomputes = 1U << RK_REC_FULL;
    space.offloads = RK_PLAN_NO_OFFLOAD;
    space.max_memory = 50 * GIB;
    assert_int_equal(search(&model, &space, NULL, planned, &found, NULL, &counts), RK_OK);
    assert_int_equal(found, TOP);
    assert_true(counts.fitting < counts.legal);
    for (size_t i = 0; i < found; i++) {
        const rk_strategy *s = &planned[i].strategy;
        assert_int_equal(s->tp, 4);
        assert_true(s->pp == 2 || s->pp == 4);
        assert_true(s->vp == 1 || s->vp == 5);
        assert_int_equal(s->micro_batch, 2);
        assert_int_equal(s->sharding, RK_SHARD_OPTIMIZER);
        assert_int_equal(s->recompute, RK_REC_FULL);
        assert_false(s->offload_optimizer || s->offload_activations || s->offload_weights);
        assert_int_equal(rk_strategy_ranks(s), 256);
        assert_int_equal(s->global_batch, 256);
        assert_true(planned[i].estimate.memory.total <= 50 * GIB);
        assert_true(planned[i].estimate.usable >= 50 * GIB);
    }
}

/* The strategy that needs least is reported when nothing fits, and none when none is legal. */
static void test_nothing(void **state)
{
    rk_model model;
    rk_plan_space space = large_space(&model);
    rk_planned_strategy planned[TOP], nearest;
    rk_plan_counts counts;
    size_t found;
    (void)state;
    space.accelerators = 8;
    space.global_batch = 8;
    space.offloads = RK_PLAN_NO_OFFLOAD;
    space.max_memory = 20 * GIB;
    assert_int_equal(search(&model, &space, NULL, planned, &found, &nearest, &counts), RK_OK);
    assert_int_equal(found, 0);
    assert_int_equal(counts.fitting, 0);
    assert_true(counts.legal > 0);
    assert_true(nearest.index < counts.enumerated);
    assert_false(nearest.estimate.fits);
    assert_true(nearest.estimate.memory.total > 20 * GIB);
    assert_int_equal(rk_strategy_ranks(&nearest.strategy), 8);

    space.tp = (rk_choices){1, {3}};
    assert_int_equal(search(&model, &space, NULL, planned, &found, &nearest, &counts), RK_OK);
    assert_int_equal(found, 0);
    assert_int_equal(counts.enumerated, 0);
    assert_true(nearest.index == UINT64_MAX);
}

struct calls {
    int count;
    uint64_t done, total;
};

static bool watch(void *user, uint64_t done, uint64_t total)
{
    struct calls *calls = user;
    assert_true(done <= total);
    assert_true(done >= calls->done);
    assert_true(calls->count == 0 || total == calls->total);
    *calls = (struct calls){calls->count + 1, done, total};
    return false;
}

static void test_stop(void **state)
{
    rk_model model;
    rk_plan_space space = large_space(&model);
    rk_planned_strategy planned[TOP];
    rk_plan_counts counts;
    size_t found;
    struct calls calls = {0};
    (void)state;
    /* seconds of work */
    space.framework = RK_FRAMEWORK_ANY;
    space.accelerators = 1 << 14;
    space.global_batch = 1 << 14;
    const rk_search_control control = {.threads = 2, .progress = watch, .user = &calls};
    assert_int_equal(search(&model, &space, &control, planned, &found, NULL, &counts),
                     RK_ERR_STOPPED);
    assert_true(calls.count >= 1);
    assert_true(calls.total > calls.done);
    assert_int_equal(found, 0);
}

/* A layout that says what the layers of both ends say finds the same. */
static void test_layout(void **state)
{
    rk_model model;
    rk_plan_space ends = large_space(&model);
    rk_planned_strategy by_ends[TOP], by_layout[TOP];
    rk_plan_counts end_counts, layout_counts;
    size_t end_found, layout_found;
    int16_t layout[4];
    (void)state;
    ends.pp = (rk_choices){1, {COUNT(layout)}};
    ends.vp = (rk_choices){1, {1}};
    ends.base.first_stage_layers = ends.base.last_stage_layers = model.layers / 4 - 1;
    ends.recomputes = 1U << RK_REC_NONE | 1U << RK_REC_SELECTIVE;
    rk_plan_space listed = ends;
    for (size_t i = 0; i < COUNT(layout); i++) {
        layout[i] = (int16_t)(model.layers / 4 + (i == 1 || i == 2 ? 1 : -1));
    }
    listed.base.first_stage_layers = listed.base.last_stage_layers = 0;
    listed.base.layout = layout;
    listed.base.layout_count = COUNT(layout);
    assert_int_equal(search(&model, &ends, NULL, by_ends, &end_found, NULL, &end_counts), RK_OK);
    assert_int_equal(search(&model, &listed, NULL, by_layout, &layout_found, NULL, &layout_counts),
                     RK_OK);
    assert_true(end_found > 0);
    assert_int_equal(layout_found, end_found);
    assert_int_equal(layout_counts.legal, end_counts.legal);
    assert_int_equal(layout_counts.fitting, end_counts.fitting);
    for (size_t i = 0; i < end_found; i++) {
        assert_true(by_layout[i].estimate.step == by_ends[i].estimate.step);
        assert_int_equal(by_layout[i].strategy.layout_count, COUNT(layout));
    }
}

static void test_bad_spaces(void **state)
{
    rk_model model;
    const rk_plan_space good = large_space(&model);
    rk_plan_space bad[10];
    rk_planned_strategy planned[TOP];
    rk_plan_counts counts;
    size_t found;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bad[i] = good;
    }
    bad[0].accelerators = 0;
    bad[1].global_batch = -1;
    bad[2].schedules = 0;
    bad[3].shardings = 0;
    bad[4].recomputes = 8;
    bad[5].cp_kinds = 0;
    bad[6].tp = (rk_choices){1, {0}};
    bad[7].pp.count = RK_CHOICE_MAX + 1;
    bad[8].max_memory = -1;
    bad[9].base.seq = 0;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(search(&model, &bad[i], NULL, planned, &found, NULL, &counts),
                         RK_ERR_INVALID);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest large[] = {cmocka_unit_test(test_large_spaces)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_spaces),  cmocka_unit_test(test_long_head),
        cmocka_unit_test(test_random_spaces), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_constraints),   cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_stop),          cmocka_unit_test(test_bad_spaces),
        cmocka_unit_test(test_layout),
    };
    return argc > 1 && strcmp(argv[1], "--large") == 0 ? cmocka_run_group_tests(large, NULL, NULL)
                                                       : cmocka_run_group_tests(tests, NULL, NULL);
}
