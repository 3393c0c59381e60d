/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of models, against a list made by hand and exhaustive searches. */
#include "codesign/shape.h"

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

static rk_shape_space wanted_shapes(void)
{
    return (rk_shape_space){
        .parameters = 6.7e9,
        .tolerance = 0.02,
        .seq = 2048,
        .feedforward_ratio = 4,
        .head_multiple = 4,
        .aspect_min = 64,
        .aspect_max = 256,
        .head_size_count = 2,
        .head_sizes = {64, 128},
    };
}

static const rk_shape *find(const rk_shape *shapes, size_t count, int64_t blocks, int64_t heads,
                            int64_t head_size)
{
    for (size_t i = 0; i < count; i++) {
        const rk_calculon_app *app = &shapes[i].app;
        if (app->num_blocks == blocks && app->attn_heads == heads && app->attn_size == head_size) {
            return &shapes[i];
        }
    }
    return NULL;
}

/* All shapes that are near enough, each once, in order, as exhaustive searches find them. */
static void test_shapes(void **state)
{
    const rk_shape_space wanted = wanted_shapes();
    rk_calculon_sys sys;
    rk_shape *shapes;
    rk_bounded_counts bounded;
    rk_error err;
    size_t count, expected = 0;
    (void)state;
    assert_int_equal(rk_calculon_sys_load("h100-80g-off0g0-nvl8", false, &sys, &err), RK_OK);
    sys.mem1.capacity /= 4;
    assert_int_equal(rk_shape_search(&wanted, &sys, &space, NULL, &shapes, &count, &bounded, &err),
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
                    assert_int_equal(shape->app.hidden, hidden);
                    assert_int_equal(shape->app.feedforward, 4 * hidden);
                    assert_true(shape->parameters == rk_calculon_parameters(&app));
                }
            }
        }
    }
    assert_int_equal(count, expected);
    assert_true(count > 10);
    size_t running = 0;
    for (size_t i = 0; i < count; i++) {
        rk_calculon_ranked best;
        rk_search_counts counts;
        size_t found;
        assert_int_equal(
            rk_calculon_search(&shapes[i].app, &sys, &space, NULL, 1, &best, &found, &counts, &err),
            RK_OK);
        assert_int_equal(shapes[i].mappings, counts.executed);
        assert_int_equal(shapes[i].runs, found == 1);
        assert_true(!found || shapes[i].rate == best.sample_rate);
        assert_true(i == 0 || shapes[i].efficiency <= shapes[i - 1].efficiency);
        running += found;
    }
    assert_true(running > 0);
    free(shapes);
}

/* What is listed stands for itself; a feed-forward of no whole ratio still divides. */
static void test_lists(void **state)
{
    rk_shape_space wanted = wanted_shapes();
    rk_calculon_sys sys;
    rk_shape *shapes;
    rk_bounded_counts bounded;
    rk_error err;
    size_t count;
    (void)state;
    assert_int_equal(rk_calculon_sys_load("h100-80g-off512g50-nvl8", false, &sys, &err), RK_OK);
    wanted.tolerance = 0.5;
    wanted.feedforward_ratio = 8.0 / 3;
    wanted.head_size_count = 1;
    wanted.block_count = 2;
    wanted.blocks[0] = 31;
    wanted.blocks[1] = 32;
    wanted.head_count = 2;
    wanted.heads[0] = 60;
    wanted.heads[1] = 64;
    assert_int_equal(rk_shape_search(&wanted, &sys, &space, NULL, &shapes, &count, &bounded, &err),
                     RK_OK);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(shapes[i].app.feedforward % shapes[i].app.attn_heads, 0);
        assert_true(shapes[i].runs);
    }
    free(shapes);
    wanted.parameters = 1;
    assert_int_equal(rk_shape_search(&wanted, &sys, &space, NULL, &shapes, &count, &bounded, &err),
                     RK_OK);
    assert_int_equal(count, 0);
    free(shapes);
}

/* The shapes of the paper: two blocks less, and 18 times fewer mappings. */
static void test_mappability(void **state)
{
    rk_shape_space wanted = {
        .parameters = 1.05e12,
        .tolerance = 0.05,
        .seq = 8192,
        .feedforward_ratio = 4,
        .aspect_max = 1000,
        .head_size_count = 1,
        .head_sizes = {72},
        .head_count = 1,
        .heads = {256},
        .block_count = 2,
        .blocks = {254, 256},
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
    assert_int_equal(rk_shape_search(&wanted, &sys, &large, NULL, &shapes, &count, &bounded, &err),
                     RK_OK);
    assert_int_equal(count, 2);
    const rk_shape *even = find(shapes, count, 256, 256, 72);
    const rk_shape *odd = find(shapes, count, 254, 256, 72);
    assert_int_equal(even->mappings, 23311328);
    assert_int_equal(odd->mappings, 1260992);
    free(shapes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_mappability),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
