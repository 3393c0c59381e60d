/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of models, against a list made by hand and exhaustive searches. */
#include "codesign/shape.h"
#include "layer/model_load.h"
#include "method/reshape.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const rk_calculon_space space = {.num_procs = 16,
                                        .max_batch_size = 32,
                                        .datatype = RK_FLOAT16,
                                        .fused_count = 1,
                                        .fused = {true}};

static rk_shape_choice wanted_shapes(void)
{
    return (rk_shape_choice){
        .parameters = 6.7e9,
        .tolerance_percent = 2,
        .feedforward = 4,
        .head_multiple = 4,
        .aspect_min = 64,
        .aspect_max = 256,
        .head_sizes = {2, {64, 128}},
    };
}

static const rk_shape *find(const rk_shape *shapes, size_t count, int64_t blocks, int64_t heads,
                            int64_t head_size)
{
    for (size_t i = 0; i < count; i++) {
        const rk_model_sizes *sizes = &shapes[i].sizes;
        if (sizes->blocks == blocks && sizes->heads == heads && sizes->head_size == head_size) {
            return &shapes[i];
        }
    }
    return NULL;
}

/* All shapes that are near enough, each once, in order, as exhaustive searches find them. */
static void test_shapes(void **state)
{
    const rk_shape_choice wanted = wanted_shapes();
    rk_calculon_sys sys;
    rk_shape *shapes;
    rk_bounded_counts bounded;
    rk_error err;
    size_t count, expected = 0;
    (void)state;
    assert_int_equal(rk_calculon_sys_load("h100-80g-off0g0-nvl8", false, &sys, &err), RK_OK);
    sys.mem1.capacity /= 4;
    const rk_problem problem = {.method = &rk_method_calculon,
                                .calculon = {{.seq_size = 2048}, sys, space}};
    assert_int_equal(rk_shape_search(&wanted, &problem, NULL, &shapes, &count, &bounded, &err),
                     RK_OK);
    for (int64_t blocks = 1; blocks <= 200; blocks++) {
        for (int64_t heads = 4; heads <= 400; heads += 4) {
            for (int64_t head_size = 64; head_size <= 128; head_size += 64) {
                const int64_t hidden = heads * head_size;
                const rk_calculon_app app = {.hidden = hidden,
                                             .feedforward = 4 * hidden,
                                             .seq_size = 2048,
                                             .attn_heads = heads,
                                             .attn_size = head_size,
                                             .num_blocks = blocks};
                const double aspect = (double)hidden / (double)blocks;
                const bool near = fabs(rk_calculon_parameters(&app) / 6.7e9 - 1) <= 0.02 &&
                                  aspect >= 64 && aspect <= 256;
                const rk_shape *shape = find(shapes, count, blocks, heads, head_size);
                assert_int_equal(shape != NULL, near);
                expected += near;
                if (shape) {
                    assert_int_equal(shape->sizes.hidden, hidden);
                    assert_int_equal(shape->sizes.feedforward, 4 * hidden);
                    assert_true(shape->sizes.parameters == rk_calculon_parameters(&app));
                }
            }
        }
    }
    assert_int_equal(count, expected);
    assert_true(count > 10);
    size_t running = 0;
    for (size_t i = 0; i < count; i++) {
        const rk_model_sizes *sizes = &shapes[i].sizes;
        const rk_calculon_app app = {.hidden = sizes->hidden,
                                     .feedforward = sizes->feedforward,
                                     .seq_size = sizes->seq,
                                     .attn_heads = sizes->heads,
                                     .attn_size = sizes->head_size,
                                     .num_blocks = sizes->blocks};
        rk_calculon_ranked best;
        rk_search_counts counts;
        size_t found;
        assert_int_equal(
            rk_calculon_search(&app, &sys, &space, NULL, 1, &best, &found, &counts, &err), RK_OK);
        assert_int_equal(shapes[i].mappings, counts.executed);
        assert_int_equal(shapes[i].runs, found == 1);
        assert_true(!found || shapes[i].best.rate == best.sample_rate);
        assert_true(i == 0 || shapes[i].best.efficiency <= shapes[i - 1].best.efficiency);
        running += found;
    }
    assert_true(running > 0);
    free(shapes);
}

/* What is listed stands for itself; a feed-forward of no whole ratio still divides. */
static void test_lists(void **state)
{
    rk_shape_choice wanted = wanted_shapes();
    rk_calculon_sys sys;
    rk_shape *shapes;
    rk_bounded_counts bounded;
    rk_error err;
    size_t count;
    (void)state;
    assert_int_equal(rk_calculon_sys_load("h100-80g-off512g50-nvl8", false, &sys, &err), RK_OK);
    const rk_problem problem = {.method = &rk_method_calculon,
                                .calculon = {{.seq_size = 2048}, sys, space}};
    wanted.tolerance_percent = 50;
    wanted.feedforward = 8.0 / 3;
    wanted.head_sizes.count = 1;
    wanted.blocks = (rk_counts){2, {31, 32}};
    wanted.heads = (rk_counts){2, {60, 64}};
    assert_int_equal(rk_shape_search(&wanted, &problem, NULL, &shapes, &count, &bounded, &err),
                     RK_OK);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(shapes[i].sizes.feedforward % shapes[i].sizes.heads, 0);
        assert_true(shapes[i].runs);
    }
    free(shapes);
    wanted.parameters = 1;
    assert_int_equal(rk_shape_search(&wanted, &problem, NULL, &shapes, &count, &bounded, &err),
                     RK_OK);
    assert_int_equal(count, 0);
    free(shapes);
}

/* The shapes of the paper: two blocks less, and 18 times fewer mappings. */
static void test_mappability(void **state)
{
    rk_shape_choice wanted = {
        .parameters = 1.05e12,
        .tolerance_percent = 5,
        .feedforward = 4,
        .aspect_max = 1000,
        .head_sizes = {1, {72}},
        .heads = {1, {256}},
        .blocks = {2, {254, 256}},
    };
    const rk_calculon_space large = {.num_procs = 4096,
                                     .max_batch_size = 3072,
                                     .datatype = RK_FLOAT8,
                                     .fused_count = 1,
                                     .fused = {true}};
    rk_calculon_sys sys;
    rk_shape *shapes;
    rk_bounded_counts bounded;
    rk_error err;
    size_t count;
    (void)state;
    assert_int_equal(rk_calculon_sys_load("h100-80g-off512g50-nvl8", false, &sys, &err), RK_OK);
    const rk_problem problem = {.method = &rk_method_calculon,
                                .calculon = {{.seq_size = 8192}, sys, large}};
    assert_int_equal(rk_shape_search(&wanted, &problem, NULL, &shapes, &count, &bounded, &err),
                     RK_OK);
    assert_int_equal(count, 2);
    const rk_shape *even = find(shapes, count, 256, 256, 72);
    const rk_shape *odd = find(shapes, count, 254, 256, 72);
    assert_int_equal(even->mappings, 23311328);
    assert_int_equal(odd->mappings, 1260992);
    free(shapes);
}

/* ---- the reckon model ---------------------------------------------------------------------- */

static void load_model(const char *name, rk_model *model)
{
    rk_error err;
    assert_int_equal(rk_model_load(name, model, &err), RK_OK);
}

/* A model with its own blocks and heads is itself, and Llama 3 8B with those of 70B is that. */
static void test_reshape(void **state)
{
    static const char *const names[] = {"llama3-8b", "deepseek-v3", "mixtral-8x7b", "gemma3-27b"};
    rk_model like, out, larger;
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        load_model(names[i], &like);
        const rk_attention_shape *a = &like.types[0].attention;
        assert_true(
            rk_model_reshape(&like, 0, like.layers, a->query_heads, rk_attention_qk_size(a), &out));
        assert_int_equal(rk_model_params_of(&out).total, rk_model_params_of(&like).total);
        assert_memory_equal(out.type_of, like.type_of, (size_t)like.layers);
        assert_int_equal(out.hidden, like.hidden);
    }
    load_model("llama3-8b", &like);
    load_model("llama3-70b", &larger);
    assert_true(rk_model_reshape(&like, 0, 80, 64, 128, &out));
    assert_int_equal(rk_model_params_of(&out).total, rk_model_params_of(&larger).total);
    assert_int_equal(out.types[0].ffn.width, larger.types[0].ffn.width);
    assert_false(rk_model_reshape(&like, 0, 80, 63, 128, &out)); /* 8 heads of keys */
    assert_false(rk_model_reshape(&like, 0, RK_LAYER_MAX + 1, 64, 128, &out));
}

/* All shapes that are near enough, each once, in order, as exhaustive searches find them. */
static void test_plan_shapes(void **state)
{
    const rk_shape_choice wanted = {.parameters = 3e9,
                                    .tolerance_percent = 10,
                                    .head_multiple = 8,
                                    .aspect_min = 64,
                                    .aspect_max = 256,
                                    .head_sizes = {2, {64, 128}}};
    rk_model like, model;
    rk_system system;
    rk_stack stack;
    rk_shape *shapes;
    rk_bounded_counts bounded;
    rk_error err;
    size_t count, expected = 0;
    (void)state;
    load_model("llama3-8b", &like);
    assert_int_equal(rk_system_load("h100-sxm", &system, &err), RK_OK);
    assert_int_equal(rk_stack_load("megatron-2025", &stack, &err), RK_OK);
    const rk_plan_space plans = rk_plan_space_defaults(&like, &system, 16, 64);
    const rk_problem problem = {
        .method = &rk_method_reckon,
        .reckon = {.inputs = {.model = like, .system = system, .software = {.stack = stack}},
                   .space = plans}};
    assert_int_equal(rk_shape_search(&wanted, &problem, NULL, &shapes, &count, &bounded, &err),
                     RK_OK);
    for (int64_t blocks = 1; blocks <= 200; blocks++) {
        for (int64_t heads = 8; heads <= 200; heads += 8) {
            for (int64_t head_size = 64; head_size <= 128; head_size += 64) {
                const double aspect = (double)(heads * head_size) / (double)blocks;
                assert_true(rk_model_reshape(&like, 0, blocks, heads, head_size, &model));
                const double parameters = (double)rk_model_params_of(&model).total;
                const bool near =
                    fabs(parameters / 3e9 - 1) <= 0.1 && aspect >= 64 && aspect <= 256;
                const rk_shape *shape = find(shapes, count, blocks, heads, head_size);
                assert_int_equal(model.hidden, heads * head_size);
                assert_int_equal(shape != NULL, near);
                expected += near;
            }
        }
    }
    assert_int_equal(count, expected);
    assert_true(count > 5);
    for (size_t i = 0; i < count; i++) {
        const rk_model_sizes *sizes = &shapes[i].sizes;
        rk_planned_strategy best;
        rk_plan_counts counts;
        size_t found;
        assert_true(
            rk_model_reshape(&like, 0, sizes->blocks, sizes->heads, sizes->head_size, &model));
        assert_int_equal(rk_plan_search(&model, &system, &stack, &plans, NULL, 1, &best, &found,
                                        NULL, &counts, &err),
                         RK_OK);
        assert_int_equal(found, 1);
        assert_int_equal(shapes[i].mappings, counts.enumerated);
        assert_true(shapes[i].runs && shapes[i].best.step == best.estimate.step);
        assert_true(shapes[i].sizes.parameters == (double)rk_model_params_of(&model).total);
        assert_true(i == 0 || shapes[i].best.efficiency <= shapes[i - 1].best.efficiency);
    }
    free(shapes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),      cmocka_unit_test(test_lists),
        cmocka_unit_test(test_mappability), cmocka_unit_test(test_reshape),
        cmocka_unit_test(test_plan_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
