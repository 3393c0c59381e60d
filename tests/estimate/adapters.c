/* SPDX-License-Identifier: Apache-2.0 */
/* Fine-tuning by adapters: what learns, and what a step no longer does. */
#include "../layer/blocks.h"

#include "estimate/estimate.h"
#include "layer/model_load.h"

static rk_model model;
static rk_system machine;
static rk_stack stack;

/* Rank 16 on the attention of Llama 2 70B: 80 x 16 x (8192 + 10240 + 8192 + 8192). */
static void test_count(void **state)
{
    (void)state;
    rk_model llama;
    rk_error err;
    assert_int_equal(rk_model_load("llama2-70b", &llama, &err), RK_OK);
    rk_strategy s = rk_strategy_defaults(&llama);
    assert_near(rk_strategy_learning(&s), 1, 0);
    rk_strategy_freeze(&llama, 16, RK_ADAPTED_ATTENTION, &s);
    const double total = (double)rk_model_params_of(&llama).total;
    assert_near(rk_strategy_learning(&s) * total, 44564480, 1e-12);
    assert_near(s.states.optimizer * total, 12 * 44564480.0, 1e-12);
    assert_near(s.states.weight * total, 2 * (total + 44564480), 1e-12);
}

/* Latent attention and shared experts have linears too; routed experts have no adapters. */
static void test_kinds(void **state)
{
    (void)state;
    static const char *const names[] = {"deepseek-v3", "mixtral-8x7b", "qwen1.5-moe-a2.7b"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        rk_model moe;
        rk_error err;
        assert_int_equal(rk_model_load(names[i], &moe, &err), RK_OK);
        rk_strategy attention = rk_strategy_defaults(&moe), ffn = attention, both = attention;
        rk_strategy_freeze(&moe, 8, RK_ADAPTED_ATTENTION, &attention);
        rk_strategy_freeze(&moe, 8, RK_ADAPTED_FFN, &ffn);
        rk_strategy_freeze(&moe, 8, RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN, &both);
        assert_true(attention.learning > 0);
        assert_near(both.learning, attention.learning + ffn.learning, 1e-12);
        assert_int_equal(ffn.learning > 0, i != 1); /* Mixtral has routed experts alone */
    }
}

/* The gate of the output is a part of the linear of queries; positions have a linear of their own.
 */
static void test_gates(void **state)
{
    (void)state;
    rk_model plain = model_of("llama3-8b");
    const rk_attention_shape *a = &plain.types[0].attention;
    const double h = (double)plain.hidden, heads = (double)(a->query_heads * a->head_size);
    const double layers = plain.layers, rank = 8;
    rk_model gated = plain, relative = plain;
    gated.types[0].attention.output_gate = true;
    relative.types[0].attention.relative_positions = true;
    const rk_model *const models[] = {&plain, &gated, &relative};
    double learning[3];
    for (size_t i = 0; i < 3; i++) {
        rk_strategy s = rk_strategy_defaults(models[i]);
        rk_strategy_freeze(models[i], (int64_t)rank, RK_ADAPTED_ATTENTION, &s);
        learning[i] = s.learning * (double)rk_model_params_of(models[i]).total;
    }
    assert_near(learning[1] - learning[0], layers * rank * heads, 1e-9);
    assert_near(learning[2] - learning[0], layers * rank * (h + heads), 1e-9);
}

/* Products of one layer that have adapters: not the router, nor routed experts, nor the head. */
static void test_linears(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int attention, ffn;
    } layers[] = {{"llama3-8b", 2, 3}, {"mixtral-8x7b", 2, 0}, {"deepseek-v3", 5, 3}};
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
        const rk_model some = model_of(layers[i].model);
        rk_strategy s = rk_strategy_defaults(&some);
        rk_cost cost[2];
        rk_strategy_freeze(&some, 16, RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN, &s);
        const rk_block_context context = rk_block_context_of(&some, &machine, &stack, &s);
        layer_costs(&context, &some.types[some.type_of[some.layers - 1]], cost);
        assert_near(cost[0].adapters, layers[i].attention + layers[i].ffn, 0);
        assert_near(rk_block_head(&context).adapters, 0, 0);
    }
}

static rk_estimate estimate(int64_t rank, unsigned modules, rk_sharding sharding, int64_t tp)
{
    rk_strategy s = rk_strategy_defaults(&model);
    rk_estimate e;
    s.tp = tp;
    s.sp = tp > 1;
    s.dp = 64 / tp;
    s.global_batch = 256;
    s.sharding = sharding;
    s.grad_overlap = s.param_overlap = false;
    if (rank > 0) {
        rk_strategy_freeze(&model, rank, modules, &s);
    }
    rk_estimate_step(&model, &machine, &stack, &s, RK_FLOPS_MEGATRON, &e);
    return e;
}

static void test_step(void **state)
{
    (void)state;
    const unsigned both = RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN;
    for (int64_t tp = 1; tp <= 8; tp *= 8) {
        const rk_estimate all = estimate(0, 0, RK_SHARD_OPTIMIZER, tp);
        const rk_estimate some = estimate(16, both, RK_SHARD_OPTIMIZER, tp);
        const rk_estimate few = estimate(16, RK_ADAPTED_ATTENTION, RK_SHARD_OPTIMIZER, tp);
        /* a linear layer has a forward and an input gradient, no weight gradient; a third less, by
         * shape more or less */
        const double linear = few.times.part[RK_PART_LINEAR] / all.times.part[RK_PART_LINEAR];
        assert_true(linear > 0.6 && linear < 0.75);
        assert_near(few.times.part[RK_PART_LINEAR], some.times.part[RK_PART_LINEAR], 1e-12);
        assert_near(few.times.part[RK_PART_ATTENTION], all.times.part[RK_PART_ATTENTION], 1e-12);
        assert_true(some.times.part[RK_PART_STREAM] > few.times.part[RK_PART_STREAM]);
        assert_true(few.step < some.step && few.step < all.step);
        assert_true(some.times.part[RK_PART_OPTIMIZER] < 0.01 * all.times.part[RK_PART_OPTIMIZER]);
        assert_true(some.times.part[RK_PART_DP] < 0.2 * all.times.part[RK_PART_DP]);
        /* 4 of 6 FLOPs of a weight, and all of attention */
        assert_true(some.model_flops > all.model_flops * 4 / 6);
        assert_true(some.model_flops < all.model_flops * 0.75);
        const double gradients = some.memory.part[RK_MEM_GRADIENTS];
        assert_true(gradients > 0 && gradients < 0.01 * all.memory.part[RK_MEM_GRADIENTS]);
        assert_true(some.memory.total < all.memory.total);
    }
}

/* Weights that are sharded are gathered in every pass, whether they learn or not. */
static void test_sharded(void **state)
{
    (void)state;
    const rk_estimate all = estimate(0, 0, RK_SHARD_ALL, 1);
    const rk_estimate few = estimate(16, RK_ADAPTED_ATTENTION, RK_SHARD_ALL, 1);
    /* two gathers of bf16, and a scatter of fp32 only where all learn */
    const double sent = few.times.part[RK_PART_DP] / all.times.part[RK_PART_DP];
    assert_true(sent > 0.4 && sent < 0.6);
}

/*
 * Frozen linear layers have no weight gradient: backward executes what forward does, but for
 * adapters, whose FLOPs grow with their rank and double backward, and for scores, which double too.
 */
static void test_flops(void **state)
{
    rk_cost of_rank[2][2];
    rk_strategy s = rk_strategy_defaults(&model);
    (void)state;
    s.flash_attention = false;
    for (int i = 0; i < 2; i++) {
        rk_strategy frozen = s;
        rk_strategy_freeze(&model, 16 << i, RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN, &frozen);
        const rk_block_context context = rk_block_context_of(&model, &machine, &stack, &frozen);
        layer_costs(&context, &model.types[0], of_rank[i]);
    }
    const rk_cost *small = &of_rank[0][0], *large = &of_rank[1][0];
    const double adapters = large->flops_forward - small->flops_forward;
    const double n = (double)s.seq, heads = (double)model.types[0].attention.query_heads;
    const double scores = 2 * heads * n * n * 2 * (double)model.types[0].attention.head_size;
    assert_near(large->flops_backward - small->flops_backward, 2 * adapters, 1e-9);
    assert_near(small->flops_backward, small->flops_forward + adapters + scores, 1e-9);
}

/* A model on one accelerator, with adapters of rank 64 on all linears and states on the host. */
static rk_stage_memory memory_of(const rk_model *llama, const rk_system *system, bool nf4)
{
    rk_estimate e;
    rk_strategy s = rk_strategy_defaults(llama);
    rk_strategy_freeze(llama, 64, RK_ADAPTED_ATTENTION | RK_ADAPTED_FFN, &s);
    s.nf4_weights = s.low_weights = nf4;
    s.recompute = RK_REC_FULL;
    s.seq = 512;
    s.global_batch = 16;
    s.offload_optimizer = true;
    assert_legal(llama, system, &s);
    assert_int_equal(rk_estimate_step(llama, system, &stack, &s, RK_FLOPS_MEGATRON, &e), RK_OK);
    return e.memory;
}

/*
 * QLoRA (arXiv 2305.14314): 4.127 bits a frozen weight, and 65 B parameters are fine-tuned on one
 * accelerator of 48 GB, which adapters in 16 bits are not.
 */
static void test_nf4(void **state)
{
    (void)state;
    const rk_model llama = model_of("llama-65b");
    const rk_system system = system_of("l40s");
    const double ends = 2.0 * 2 * (double)(llama.vocab * llama.hidden);
    const double usable = system.accelerator.memory_usable;
    const rk_stage_memory wide = memory_of(&llama, &system, false);
    const rk_stage_memory nf4 = memory_of(&llama, &system, true);
    const double saved = wide.part[RK_MEM_WEIGHTS] - nf4.part[RK_MEM_WEIGHTS];
    const double total = (double)rk_model_params_of(&llama).total;
    assert_near(saved / (2 * total - ends), (16 - 4.127) / 16, 1e-3);
    assert_true(nf4.allocated < usable && wide.allocated > 2 * usable);
}

/*
 * All linears of a frozen backward make gradients of inputs: on slow links they cover of the
 * gathers what they take, and nothing of the sums, which weight gradients would cover.
 */
static void test_covered(void **state)
{
    (void)state;
    rk_system slow = machine;
    rk_stack s = stack;
    rk_strategy frozen = rk_strategy_defaults(&model);
    rk_cost cost[2];
    slow.tiers[0].bandwidth /= 100;
    s.tp_overlap_exposed = 0; /* all of a collective that compute is long enough for */
    s.keeps_gathered = true;
    frozen.tp = 8;
    frozen.sp = frozen.tp_overlap = true;
    rk_strategy_freeze(&model, 16, RK_ADAPTED_ATTENTION, &frozen);
    const rk_block_context c = rk_block_context_of(&model, &slow, &s, &frozen);
    layer_costs(&c, &model.types[0], cost);
    const double linear = cost[0].backward.part[RK_PART_LINEAR];
    const double gathers = 2 * c.region_gather.seconds, sums = 2 * c.reduce.seconds;
    assert_true(linear > 0 && gathers > 2 * linear);
    assert_near(cost[0].backward.part[RK_PART_TP],
                gathers - linear + sums + 2 * (c.region_copy + c.reduce_copy), 1e-9);
}

/*
 * The stack has a fixed time for steps of adapters, and says how often the operators that unpack
 * frozen weights read and write what one kernel does.
 */
static void test_software(void **state)
{
    (void)state;
    const rk_stack usual = stack;
    rk_estimate all[2], few[2], packed[2];
    for (int i = 0; i < 2; i++) {
        stack.adapter_seconds = usual.adapter_seconds + 3 * i;
        stack.unpack_passes = 1 + i;
        rk_strategy s = rk_strategy_defaults(&model);
        rk_strategy_freeze(&model, 16, RK_ADAPTED_ATTENTION, &s);
        s.nf4_weights = s.low_weights = true;
        rk_estimate_step(&model, &machine, &stack, &s, RK_FLOPS_MEGATRON, &packed[i]);
        all[i] = estimate(0, 0, RK_SHARD_OPTIMIZER, 1);
        few[i] = estimate(16, RK_ADAPTED_ATTENTION, RK_SHARD_OPTIMIZER, 1);
    }
    stack = usual;
    assert_near(few[1].step, few[0].step + 3, 1e-12);
    assert_near(all[1].step, all[0].step, 1e-12);
    const double kernels = machine.accelerator.kernel_seconds; /* of each cast, however long */
    const double casts = packed[1].times.part[RK_PART_CAST] / packed[0].times.part[RK_PART_CAST];
    assert_true(kernels > 0 && casts > 1.9 && casts < 2);
}

/* Gradients of what learns are accumulated, nothing of what is frozen. */
static void test_accumulation(void **state)
{
    (void)state;
    double more[2];
    rk_strategy s = rk_strategy_defaults(&model);
    for (int frozen = 0; frozen < 2; frozen++) {
        double seconds[2];
        if (frozen) {
            rk_strategy_freeze(&model, 16, RK_ADAPTED_ATTENTION, &s);
        }
        for (int i = 0; i < 2; i++) {
            rk_stack accumulates = stack;
            rk_cost cost[2];
            accumulates.accumulation_bytes = 1e6 * i; /* what a launch takes does not count */
            const rk_block_context c = rk_block_context_of(&model, &machine, &accumulates, &s);
            layer_costs(&c, &model.types[0], cost);
            seconds[i] = cost[0].backward.part[RK_PART_STREAM];
        }
        more[frozen] = seconds[1] - seconds[0];
    }
    assert_true(more[0] > 0);
    assert_near(more[1] / more[0], rk_strategy_learning(&s), 1e-2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count),        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_covered),      cmocka_unit_test(test_gates),
        cmocka_unit_test(test_linears),      cmocka_unit_test(test_step),
        cmocka_unit_test(test_sharded),      cmocka_unit_test(test_flops),
        cmocka_unit_test(test_nf4),          cmocka_unit_test(test_software),
        cmocka_unit_test(test_accumulation),
    };
    rk_error err;
    if (rk_model_load("llama3-8b", &model, &err) ||
        rk_system_load("dgx-h100-superpod", &machine, &err) ||
        rk_stack_load("megatron-2025", &stack, &err)) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
