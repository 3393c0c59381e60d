/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers and weights off the device: CPUs that step, ZeRO-Infinity's buffers and disks. */
#include "../layer/blocks.h"

#include "estimate/offload.h"
#include "strategy/optimizer.h"

static rk_model model;
static rk_system machine;
static rk_stack stack;
static double params;

/* DeepSpeed, ZeRO-3 on eight A100, with the optimizer on the host. */
static rk_strategy on_host(const char *name)
{
    model = model_of(name);
    machine = system_of("a100-sxm-80gb");
    stack = stack_of("deepspeed-ampere");
    params = (double)rk_model_params_of(&model).total;
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = s.global_batch = 8;
    s.seq = 1024;
    s.recompute = RK_REC_FULL;
    s.sharding = RK_SHARD_ALL;
    s.states = (rk_state_recipe){2, 2, 12, 2, 2};
    s.offload_optimizer = s.offload_gradients = true;
    return s;
}

static rk_estimate estimate_of(const rk_strategy *s)
{
    rk_estimate e;
    assert_int_equal(rk_estimate_step(&model, &machine, &stack, s, RK_FLOPS_MEGATRON, &e), RK_OK);
    return e;
}

static double step_of(const rk_strategy *s)
{
    return estimate_of(s).times.part[RK_PART_OFFLOAD];
}

/* The CPUs of a rank take as long as what they stream: 30 bytes a parameter with a copy in fp32, 28
 * of weights in fp32, 14 in bf16. */
static void test_widths(void **state)
{
    static const struct {
        const char *stack;
        rk_state_recipe states;
        double bytes;
    } cases[] = {
        {"deepspeed-ampere", {2, 2, 12, 2, 2}, 30},
        {"huggingface-ampere", {4, 4, 8, 2, 2}, 28},
        {"huggingface-ampere", {2, 2, 4, 2, 2}, 14},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_strategy s = on_host("llama3-8b");
        stack = stack_of(cases[i].stack);
        s.states = cases[i].states;
        assert_near(step_of(&s), cases[i].bytes * params / 8 / 21e9, 1e-6);
    }
}

/* Megatron-Bridge's study of its optimizer on the host: Qwen3-30B-A3B on 16 H100 (TP 2, PP 2, EP
 * 4), shares of 0, 1/4, 1/2, 3/4 and 1: 0.996, 1.871, 2.484, 3.187 and 4.189 s a step, and 3.8 GiB
 * less of the device for each quarter. */
static void test_shares(void **state)
{
    static const double measured[] = {0.996, 1.871, 2.484, 3.187, 4.189};
    (void)state;
    rk_strategy s = on_host("qwen3-30b-a3b");
    stack = stack_of("megatron-2025");
    s.tp = s.pp = 2;
    s.dp = s.ep = 4;
    s.sp = true;
    s.global_batch = 16;
    s.seq = 4096;
    s.sharding = RK_SHARD_OPTIMIZER;
    s.states = (rk_state_recipe){2, 4, 12, 2, 4};
    s.offload_gradients = false;
    s.offload_optimizer = false;
    const rk_estimate none = estimate_of(&s);
    s.offload_optimizer = true;
    const rk_estimate all = estimate_of(&s);
    assert_near(all.step - none.step, measured[4] - measured[0], 0.2);
    const double states = none.memory.part[RK_MEM_OPTIMIZER];
    for (int i = 1; i < 4; i++) {
        s.offload_share = i / 4.0;
        const rk_estimate e = estimate_of(&s);
        assert_near(e.memory.part[RK_MEM_OPTIMIZER], (1 - s.offload_share) * states, 1e-9);
        assert_near(e.host_bytes, s.offload_share * all.host_bytes, 1e-9);
        assert_near(e.step - none.step, s.offload_share * (all.step - none.step), 1e-5);
    }
}

/* DeepSpeed sends that share of the gradients (Twin-Flow's ratio), and the device steps the rest.
 */
static void test_share_of_gradients(void **state)
{
    (void)state;
    rk_strategy s = on_host("llama3-8b");
    const double whole = estimate_of(&s).host_bytes;
    s.offload_share = 0.25;
    const rk_estimate e = estimate_of(&s);
    assert_near(e.host_bytes, 0.25 * whole, 1e-9);
    assert_near(e.memory.part[RK_MEM_GRADIENTS], 0.75 * 2 * params / 8, 1e-9);
    assert_near(e.memory.part[RK_MEM_OPTIMIZER], 0.75 * 12 * params / 8, 1e-9);
}

/* Of the 16 bytes of states a parameter, pinned buffers stay in host memory: 16 GB of a sub-group
 * of 1e9 parameters, at most the states. */
static void test_optimizer_on_disk(void **state)
{
    (void)state;
    rk_strategy s = on_host("llama3-70b");
    const double shared = 1 + stack.host_share, seconds = step_of(&s);
    assert_near(estimate_of(&s).host_bytes, shared * 16 * params / 8, 1e-6);
    s.nvme_optimizer = true;
    const rk_estimate e = estimate_of(&s);
    assert_near(e.host_bytes, shared * 16e9, 1e-6);
    assert_near(e.nvme_bytes, 16 * params / 8, 1e-6);
    /* reads 16 bytes and writes 12, at the rate of a document, or at 2 GB/s */
    assert_near(step_of(&s) - seconds, 28 * params / 8 / 2e9, 1e-6);
    machine.accelerator.nvme_bandwidth = 7e9;
    assert_near(step_of(&s) - seconds, 28 * params / 8 / 7e9, 1e-6);
    s.step_params = 1e8;
    assert_near(estimate_of(&s).host_bytes, shared * 1.6e9, 1e-6);
}

/* 1 GB of buffers for weights, and 1e9 weights that stay; smaller shards stay whole. */
static void test_weights_on_disk(void **state)
{
    (void)state;
    rk_strategy s = on_host("llama3-70b");
    s.offload_weights = true;
    const rk_estimate host = estimate_of(&s);
    s.nvme_weights = true;
    const rk_estimate disk = estimate_of(&s);
    const double weights = 2 * params / 8;
    assert_near(disk.nvme_bytes, weights, 1e-6);
    assert_near((host.host_bytes - disk.host_bytes) / (1 + stack.host_share), weights - 3e9, 1e-6);
    assert_near(disk.memory.total, host.memory.total, 1e-12);
    /* written once, and read for each pass beside it */
    const double more = step_of(&s) - host.times.part[RK_PART_OFFLOAD];
    assert_true(more > weights / 2e9 && more < 3 * weights / 2e9);
    s = on_host("llama3-8b");
    s.offload_weights = s.nvme_weights = true;
    assert_near(estimate_of(&s).nvme_bytes, 2 * params / 8, 1e-6);
    assert_near(estimate_of(&s).host_bytes, (1 + stack.host_share) * 18 * params / 8, 1e-6);
}

static int set_up(void **state)
{
    *state = &machine;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_share_of_gradients),
        cmocka_unit_test(test_optimizer_on_disk),
        cmocka_unit_test(test_weights_on_disk),
    };
    return cmocka_run_group_tests(tests, set_up, clear_machine);
}
