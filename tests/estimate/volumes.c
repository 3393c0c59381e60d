/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a rank sends in a step by data and pipeline parallelism. */
#include "../layer/blocks.h"

#include "estimate/estimate.h"

static rk_estimate estimate_of(const rk_model *model, const rk_strategy *s)
{
    const rk_system system = system_of("dgx-h100-superpod");
    const rk_stack stack = stack_of("megatron-2025");
    rk_estimate e;
    assert_legal(model, &system, s);
    rk_estimate_step(model, &system, &stack, s, RK_FLOPS_MEGATRON, &e);
    return e;
}

/*
 * Gradients go in messages of at least the bucket, which grows with the ranks that share them: the
 * latency of a ring is paid once a message.
 */
static void test_buckets(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3.2-1b");
    const rk_system system = system_of("dgx-h100-superpod");
    rk_stack stack = stack_of("megatron-2025");
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = s.global_batch = 64;
    s.sharding = RK_SHARD_NONE;
    s.grad_overlap = false;
    const double params = (double)rk_model_params_of(&model).total;
    const rk_group group = rk_strategy_group(&system, &s, RK_GROUP_DATA);
    static const struct {
        double bucket, by_rank, messages; /* of all parameters */
    } cases[] = {{0, 0, 1}, {1. / 8, 0, 8}, {1. / 8, 1. / 4, 4}, {1. / 8, 2, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rk_estimate e;
        const double count = cases[i].messages, each = params * s.states.reduce / count;
        stack.bucket_bytes = 0;
        stack.bucket_params = cases[i].bucket * params;
        stack.bucket_rank_params = cases[i].by_rank * params / 64;
        rk_estimate_step(&model, &system, &stack, &s, RK_FLOPS_MEGATRON, &e);
        assert_near(e.times.part[RK_PART_DP],
                    count * rk_collective_seconds(&system, RK_COLL_ALL_REDUCE, each, &group), 1e-3);
    }
}

/*
 * A billion parameters over 64 ranks, reduced in fp32 and gathered in bf16: 5.906 GB with a
 * sharded optimizer; gathered twice when fully sharded, 7.875 GB, and 5.906 GB reduced in bf16.
 */
static void test_data_parallel(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3.2-1b");
    const double billions = (double)rk_model_params_of(&model).total / 1e9;
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = s.global_batch = 64;
    static const struct {
        rk_sharding sharding;
        double reduce, bytes; /* per parameter; GB per billion parameters */
    } kinds[] = {
        {RK_SHARD_NONE, 4, 7.875}, {RK_SHARD_OPTIMIZER, 4, 5.906}, {RK_SHARD_GRADIENTS, 4, 5.906},
        {RK_SHARD_ALL, 2, 5.906},  {RK_SHARD_ALL, 4, 7.875},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        s.sharding = kinds[i].sharding;
        s.states.reduce = kinds[i].reduce;
        assert_near(estimate_of(&model, &s).volumes.data, kinds[i].bytes * 1e9 * billions, 1e-4);
    }
    /* of a microbatch more, only the traffic of full sharding */
    s.global_batch = 128;
    assert_near(estimate_of(&model, &s).volumes.data, 2 * 7.875e9 * billions, 1e-4);
    s.sharding = RK_SHARD_OPTIMIZER;
    assert_near(estimate_of(&model, &s).volumes.data, 5.906e9 * billions, 1e-4);
    /* hybrid: within 8 ranks as before, an eighth among 8 replicas all-reduced */
    s.replicas = 8;
    assert_near(estimate_of(&model, &s).volumes.data,
                (7.0 / 8 * 6 + 7.0 / 8 * 2 * 4 / 8) * 1e9 * billions, 1e-3);
}

/*
 * Experts over EP 8 of 64 ranks in 4 replicas: shards of 64 / 8 / 4 = 2 ranks, among which
 * gradients of 4 bytes are scattered and weights of 2 gathered, half of each; then half of the
 * gradients goes through a ring of 4.  The rest is sharded over 16.
 */
static void test_expert_replicas(void **state)
{
    (void)state;
    const rk_model model = model_of("mixtral-8x7b");
    const rk_model_params p = rk_model_params_of(&model);
    rk_strategy s = rk_strategy_defaults(&model);
    s.dp = s.global_batch = 64;
    s.ep = 8;
    s.sharding = RK_SHARD_OPTIMIZER;
    s.replicas = 4;
    const double layers = model.layers;
    const double experts = layers * (double)rk_layer_params_of(&model, &model.types[0]).experts;
    const double dense = (double)p.total - experts;
    const double per_dense = 15.0 / 16 * (4 + 2) + 3.0 / 4 * 2 * 4 / 16;
    const double per_expert = 1.0 / 2 * (4 + 2) + 3.0 / 4 * 2 * 4 / 2;
    assert_near(estimate_of(&model, &s).volumes.data, per_dense * dense + per_expert * experts / 8,
                1e-4);
}

/* 8,192 tokens of h = 16,384 over t = 8: messages of 33.55 MB, one each way per chunk. */
static void test_pipeline(void **state)
{
    (void)state;
    const rk_model model = model_of("llama3.1-405b");
    rk_strategy s = rk_strategy_defaults(&model);
    s.seq = 8192;
    s.tp = 8;
    s.sp = true;
    s.pp = 9;
    s.global_batch = 18;
    assert_near(estimate_of(&model, &s).volumes.pipeline, 2 * 18 * 33.55e6, 1e-3);
    s.vp = 7;
    s.schedule = RK_SCHEDULE_INTERLEAVED;
    assert_near(estimate_of(&model, &s).volumes.pipeline, 7 * 2 * 18 * 33.55e6, 1e-3);
}

/* The longest pipelines: a layer per stage, and every stage twice. */
static void test_longest(void **state)
{
    (void)state;
    const rk_model model = gpt_of(RK_LAYER_MAX, 1024, 8);
    rk_strategy s = rk_strategy_defaults(&model);
    s.pp = RK_LAYER_MAX;
    s.global_batch = 2 * s.pp;
    s.schedule = RK_SCHEDULE_DUALPIPE;
    assert_true(isfinite(estimate_of(&model, &s).step));
    s.schedule = RK_SCHEDULE_1F1B;
    s.pp += 2;
    s.count_embedding = s.count_head = true;
    s.global_batch = s.pp;
    assert_true(isfinite(estimate_of(&model, &s).step));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets),         cmocka_unit_test(test_data_parallel),
        cmocka_unit_test(test_expert_replicas), cmocka_unit_test(test_pipeline),
        cmocka_unit_test(test_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
