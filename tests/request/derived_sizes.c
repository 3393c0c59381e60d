/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that follow from others: nodes, the default batch, virtual stages. */
#include "request/derived_sizes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_default_batch(void **state)
{
    (void)state;
    assert_int_equal(rk_global_batch_near(64, 1, 8192, RK_USUAL_BATCH_TOKENS), 512);
    assert_int_equal(rk_global_batch_near(64, 1, 4096, RK_USUAL_BATCH_TOKENS), 1024);
    assert_int_equal(rk_global_batch_near(48, 1, 4096, RK_USUAL_BATCH_TOKENS), 768); /* 3 x 256 */
    assert_int_equal(rk_global_batch_near(8, 3, 8192, RK_USUAL_BATCH_TOKENS), 384);  /* 3 x 128 */
    assert_int_equal(rk_global_batch_near(7, 1, 1048576, RK_USUAL_BATCH_TOKENS),
                     7); /* never below odd(7) */
    assert_int_equal(rk_global_batch_near(1, 1, 4194304 * 4, RK_USUAL_BATCH_TOKENS), 1);
}

/* Within a factor of sqrt(2) of 4 M tokens, wherever such a number exists. */
static void test_default_batch_tokens(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 512; n++) {
        const double tokens =
            (double)rk_global_batch_near(n, 1, 4096, RK_USUAL_BATCH_TOKENS) * 4096;
        assert_true(tokens > 4194304 / 1.4143 && tokens < 4194304 * 1.4143);
    }
}

static rk_request request_of(const char *model, const char *system)
{
    rk_request r = rk_request_defaults();
    r.model = model;
    r.system = system;
    return r;
}

static void test_nodes(void **state)
{
    rk_error err;
    rk_request r = request_of("llama3-8b", "h100-sxm");
    (void)state;
    r.nodes = 4;
    assert_int_equal(rk_request_settle_sizes(&r, &err), RK_OK);
    assert_int_equal(r.accelerators, 32);
    assert_int_equal(r.global_batch, 512);
    assert_true(r.assumed_batch);
    r = request_of("llama3-8b", "h100-sxm");
    r.nodes = 4;
    r.accelerators = 31;
    assert_int_equal(rk_request_settle_sizes(&r, &err), RK_ERR_INVALID);
    r = request_of("llama3-8b", "h100-sxm");
    r.gpus_per_node = 4;
    r.nodes = 6;
    assert_int_equal(rk_request_settle_sizes(&r, &err), RK_OK);
    assert_int_equal(r.accelerators, 24);
    r = request_of("llama3-8b", "gb200"); /* trays of a rack */
    r.gpus_per_node = 4;
    r.nodes = 6;
    assert_int_equal(rk_request_settle_sizes(&r, &err), RK_OK);
    assert_int_equal(r.accelerators, 24);
    r = request_of("llama3-8b", "gh200"); /* its document knows no links inside a node */
    r.gpus_per_node = 4;
    assert_int_equal(rk_request_settle_sizes(&r, &err), RK_ERR_INVALID);
}

/* The machine of a request has nodes of --gpus-per-node. */
static void test_node_size(void **state)
{
    rk_error err;
    rk_inputs inputs;
    rk_request r = request_of("llama3-8b", "h100-sxm");
    (void)state;
    r.accelerators = 32;
    r.gpus_per_node = 4;
    assert_int_equal(rk_request_load(&r, &inputs, &err), RK_OK);
    assert_int_equal(rk_system_node(&inputs.system), 4);
    rk_inputs_clear(&inputs);
}

static void test_virtual_stages(void **state)
{
    rk_error err;
    rk_request r = request_of("llama3-8b", "h100-sxm");
    (void)state;
    r.pp = (rk_option_counts){.values = {4}, .count = 1};
    r.vp_layers = 2;
    assert_int_equal(rk_request_settle_sizes(&r, &err), RK_OK);
    assert_int_equal(r.vp.values[0], 4);
    r.vp_layers = 3; /* 32 layers are not a multiple of 12 */
    assert_int_equal(rk_request_settle_sizes(&r, &err), RK_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_batch),  cmocka_unit_test(test_default_batch_tokens),
        cmocka_unit_test(test_nodes),          cmocka_unit_test(test_node_size),
        cmocka_unit_test(test_virtual_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
