/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: bytes of states, time of updates, the matrices of Muon, and what they may shard. */
#include "../layer/blocks.h"

#include "estimate/estimate.h"
#include "framework/framework.h"
#include "layer/model_load.h"
#include "model/kinds.h"
#include "strategy/optimizer.h"

#include <math.h>

static rk_model model;
static rk_system machine;
static rk_stack stack;

/* FLOPs of orthogonalizing an a x b matrix: 5 (4 a^2 b + 2 a^3), a the smaller side. */
static double newton_schulz_flops(double rows, double columns)
{
    const double a = fmin(rows, columns), b = fmax(rows, columns);
    return RK_NEWTON_SCHULZ_STEPS * (4 * a * a * b + 2 * a * a * a);
}

/* FLOPs of the Newton-Schulz steps of all matrices of a model. */
static double orthogonal_flops(const rk_model *m)
{
    double sum = 0;
    for (int i = 0; i < m->layers; i++) {
        const rk_layer_type *type = &m->types[m->type_of[i]];
        const rk_part_kind *parts[] = {&type->mixer->part, &type->feed_forward->part};
        for (int j = 0; j < 2; j++) {
            rk_matrix matrices[RK_MATRIX_MAX];
            const int count =
                parts[j]->matrices ? parts[j]->matrices(type, (double)m->hidden, matrices) : 0;
            for (int k = 0; k < count; k++) {
                sum +=
                    matrices[k].count * newton_schulz_flops(matrices[k].rows, matrices[k].columns);
            }
        }
    }
    return sum;
}

/* Parameters of all matrices of the layers. */
static double matrix_params(const rk_model *m)
{
    double sum = 0;
    for (int i = 0; i < m->layers; i++) {
        const rk_layer_type *type = &m->types[m->type_of[i]];
        const rk_part_kind *parts[] = {&type->mixer->part, &type->feed_forward->part};
        for (int j = 0; j < 2; j++) {
            rk_matrix matrices[RK_MATRIX_MAX];
            const int count = parts[j]->matrices(type, (double)m->hidden, matrices);
            for (int k = 0; k < count; k++) {
                sum += matrices[k].count * matrices[k].rows * matrices[k].columns;
            }
        }
    }
    return sum;
}

/* UT-L26: Llama 3 8B, queries, keys and values apart: 6.659e14 FLOP, 0.33 % of 6 P tokens at 4.19
 * M. */
static void test_newton_schulz(void **state)
{
    (void)state;
    assert_near(newton_schulz_flops(3, 2), 5 * (4 * 2 * 2 * 3 + 2 * 8), 1e-12);
    assert_near(orthogonal_flops(&model), 6.659e14, 2e-4);
    const double step = 6 * (double)rk_model_params_of(&model).total * 4.19e6;
    assert_near(orthogonal_flops(&model) / step, 0.0033, 0.01);
}

/* Every matrix of every model of the list is there: what is missing are tables and vectors. */
static void test_matrices(void **state)
{
    (void)state;
    static const char *const names[] = {"llama3-8b", "deepseek-v3", "mixtral-8x7b", "gpt3-175b",
                                        "qwen1.5-moe-a2.7b"};
    for (size_t i = 0; i < COUNT(names); i++) {
        rk_model m;
        rk_error err;
        assert_int_equal(rk_model_load(names[i], &m, &err), RK_OK);
        const rk_model_params p = rk_model_params_of(&m);
        const double layers = (double)p.layers;
        assert_true(matrix_params(&m) <= layers);
        assert_near(matrix_params(&m), layers, 1e-4);
    }
}

/* 5 steps of 4 a^2 b + 2 a^3 for so many matrices, a the smaller side, by hand. */
static double steps(double count, double a, double b)
{
    return 5 * count * (4 * a * a * b + 2 * a * a * a);
}

/*
 * Of a hybrid Muon takes output projections of mixers, queries, keys, values, networks and routers:
 * the 54 layers of Mamba-2, 10 of attention and 54 networks of Nemotron-H 56B; 36 delta rules, 12
 * gated attentions and 48 layers of experts of Qwen3-Next.
 */
static void test_hybrids(void **state)
{
    rk_model m = model_of("nemotron-h-56b");
    (void)state;
    double sum = steps(54, 8192, 16384); /* outputs of 256 heads of 64 */
    sum +=
        steps(10 * 2, 8192, 8192) + steps(10 * 2, 1024, 8192); /* queries, output; keys, values */
    sum += steps(54 * 2, 8192, 32768);
    assert_near(orthogonal_flops(&m), sum, 1e-12);
    m = model_of("qwen3-next-80b-a3b");
    sum = steps(36, 2048, 4096) + steps(12 * 3, 2048, 4096); /* queries, gate, output */
    sum += steps(12 * 2, 512, 2048);
    sum += 48 * (steps(3 * 512, 512, 2048) + steps(1, 512, 2048) + steps(3, 512, 2048));
    assert_near(orthogonal_flops(&m), sum, 1e-12);
}

static rk_estimate estimate(rk_optimizer optimizer, rk_sharding sharding, int64_t tp)
{
    rk_strategy s = rk_strategy_defaults(&model);
    rk_estimate e;
    s.tp = tp;
    s.sp = tp > 1;
    s.dp = 64 / tp;
    s.global_batch = 256;
    s.sharding = sharding;
    s.grad_overlap = s.param_overlap = false;
    rk_optimizer_set(optimizer, false, &s);
    assert_int_equal(rk_estimate_step(&model, &machine, &stack, &s, RK_FLOPS_MEGATRON, &e), RK_OK);
    return e;
}

/* Bytes of states per parameter: 12 of AdamW with its master copy. */
static void test_states(void **state)
{
    (void)state;
    const rk_model_params p = rk_model_params_of(&model);
    const double vocab = 128256 * 4096.0, all = (double)p.total;
    static const struct {
        rk_optimizer optimizer;
        double matrix, outer;
    } cases[] = {
        {RK_OPTIMIZER_ADAMW, 12, 12},
        {RK_OPTIMIZER_ADAMW_BF16, 8, 8},
        {RK_OPTIMIZER_ADAM_8BIT, 6.03125, 12},
        {RK_OPTIMIZER_ADAFACTOR, 4, 4},
        {RK_OPTIMIZER_SGD, 8, 8},
        {RK_OPTIMIZER_SGD_PLAIN, 4, 4},
        {RK_OPTIMIZER_MUON, 8, 12},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const rk_estimate e = estimate(cases[i].optimizer, RK_SHARD_NONE, 1);
        const double outer = 2 * vocab + 4096; /* with the final norm */
        assert_near(e.memory.part[RK_MEM_OPTIMIZER],
                    cases[i].matrix * (all - outer) + cases[i].outer * outer, 1e-9);
    }
}

/*
 * The input projections, convolutions and vectors of Mamba-2 keep both moments of AdamW, as do
 * embedding and head: 12 bytes with the master copy, not 8.
 */
static void test_hybrid_states(void **state)
{
    const rk_model llama = model;
    (void)state;
    model = model_of("nemotron-h-56b");
    const double h = 8192, d = 256 * 64, keys = 2 * 8 * 256, n = 256;
    const double all = (double)rk_model_params_of(&model).total;
    const double mamba = h * (2 * d + keys + n) + 5 * (d + keys) + 3 * n + d;
    const double outer = 2 * 131072 * h + h + 54 * mamba;
    const double muon = estimate(RK_OPTIMIZER_MUON, RK_SHARD_NONE, 1).memory.part[RK_MEM_OPTIMIZER];
    const double dealt =
        estimate(RK_OPTIMIZER_DIST_MUON, RK_SHARD_OPTIMIZER, 1).memory.part[RK_MEM_OPTIMIZER];
    const double bytes =
        estimate(RK_OPTIMIZER_ADAM_8BIT, RK_SHARD_NONE, 1).memory.part[RK_MEM_OPTIMIZER];
    assert_near(muon, 8 * (all - outer) + 12 * outer, 1e-9);
    assert_near(dealt, muon / 64, 1e-9);
    /* blocks of 8 bits know no matrices: only embedding and head differ */
    assert_near(bytes, 6.03125 * all + (12 - 6.03125) * (2 * 131072 * h + h), 1e-9);
    model = llama;
}

/*
 * Muon takes 1.12 s on an H100 at 60 % of its peak; dealt out to 64 ranks, 224 matrices are 4 of
 * each: a 56th.  Tensor ranks repeat what they share.
 */
static void test_time(void **state)
{
    (void)state;
    const double adam =
        estimate(RK_OPTIMIZER_ADAMW, RK_SHARD_NONE, 1).times.part[RK_PART_OPTIMIZER];
    const double stream =
        estimate(RK_OPTIMIZER_SGD, RK_SHARD_NONE, 1).times.part[RK_PART_OPTIMIZER];
    const double muon = estimate(RK_OPTIMIZER_MUON, RK_SHARD_NONE, 1).times.part[RK_PART_OPTIMIZER];
    const rk_estimate dealt = estimate(RK_OPTIMIZER_DIST_MUON, RK_SHARD_OPTIMIZER, 1);
    const rk_estimate sharded = estimate(RK_OPTIMIZER_ADAMW, RK_SHARD_OPTIMIZER, 1);
    const double split =
        estimate(RK_OPTIMIZER_MUON, RK_SHARD_NONE, 8).times.part[RK_PART_OPTIMIZER];
    assert_near(stream / adam, 22.0 / 30, 1e-4); /* and the start of a kernel */
    assert_true(muon - stream > 0.8 && muon - stream < 1.4);
    assert_near(dealt.times.part[RK_PART_OPTIMIZER] - stream / 64, (muon - stream) / 56, 1e-3);
    assert_true(split - stream / 8 > muon - stream);
    /* whole gradients are reduced: twice the bytes */
    assert_true(dealt.times.part[RK_PART_DP] > 1.2 * sharded.times.part[RK_PART_DP]);
}

static void test_rules(void **state)
{
    (void)state;
    for (int sharding = RK_SHARD_NONE; sharding <= RK_SHARD_GRADIENTS; sharding++) {
        rk_strategy s = rk_strategy_defaults(&model);
        s.dp = s.global_batch = 8;
        s.sharding = (rk_sharding)sharding;
        s.optimizer = RK_OPTIMIZER_MUON;
        assert_int_equal(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_MEGATRON, NULL),
                         sharding == RK_SHARD_NONE);
        s.optimizer = RK_OPTIMIZER_DIST_MUON;
        assert_int_equal(rk_strategy_legal(&model, NULL, &s, RK_FRAMEWORK_MEGATRON, NULL),
                         sharding == RK_SHARD_OPTIMIZER);
    }
}

/*
 * Pages of states in 8 bits move over the link, out and in, and the device updates them: no CPU
 * does. They hide under a backward pass that updates.
 */
static void test_paged_states(void **state)
{
    rk_strategy s = rk_strategy_defaults(&model);
    rk_estimate e;
    (void)state;
    stack.host_bandwidth = 21e9;
    s.seq = 4096;
    rk_optimizer_set(RK_OPTIMIZER_ADAM_8BIT, false, &s);
    s.offload_optimizer = true;
    assert_int_equal(rk_estimate_step(&model, &machine, &stack, &s, RK_FLOPS_MEGATRON, &e), RK_OK);
    const rk_accelerator *a = &machine.accelerator;
    const double copies = 2 * e.host_bytes / (a->host_bandwidth * a->host_efficiency);
    assert_near(e.times.part[RK_PART_OFFLOAD], copies, 1e-3);
    s.step_in_backward = true;
    s.micro_batch = s.global_batch = 32;
    assert_int_equal(rk_estimate_step(&model, &machine, &stack, &s, RK_FLOPS_MEGATRON, &e), RK_OK);
    assert_near(e.times.part[RK_PART_OFFLOAD], 0, 1e-9);
    rk_optimizer_set(RK_OPTIMIZER_ADAMW, false, &s);
    assert_int_equal(rk_estimate_step(&model, &machine, &stack, &s, RK_FLOPS_MEGATRON, &e), RK_OK);
    const rk_state_recipe *b = &s.states; /* of 8e9 by CPUs */
    const double params = (double)rk_model_params_of(&model).total;
    const double each = 2 * (b->optimizer + b->weight) + b->gradient; /* no copy in fp32 */
    assert_near(e.times.part[RK_PART_OFFLOAD], params * each / 21e9, 1e-6);
    stack.host_bandwidth = 0;
}

/*
 * Adafactor makes a square and an update of the matrix at hand in fp32, and casts weight and
 * gradient in 16 bits to it: 16 bytes for each of the largest, the output layer (transformers,
 * optimization.py).
 */
static void test_factored_update(void **state)
{
    (void)state;
    rk_estimate e;
    const double table = 128256 * 4096.0, params = (double)rk_model_params_of(&model).total;
    rk_stack eager = stack_of("huggingface-hopper");
    rk_strategy s = rk_strategy_defaults(&model);
    s.seq = 512;
    s.recompute = RK_REC_FULL;
    s.states = (rk_state_recipe){2, 2, 4, 2, 2};
    rk_optimizer_set(RK_OPTIMIZER_ADAFACTOR, true, &s);
    assert_int_equal(rk_estimate_step(&model, &machine, &eager, &s, RK_FLOPS_MEGATRON, &e), RK_OK);
    assert_near(e.memory.peak[RK_PEAK_STEP] - eager.workspace_bytes, 4 * params + 16 * table, 1e-9);
    s.dp = s.global_batch = 8; /* of a shard of each */
    s.sharding = RK_SHARD_ALL;
    assert_int_equal(rk_estimate_step(&model, &machine, &eager, &s, RK_FLOPS_MEGATRON, &e), RK_OK);
    assert_near(e.memory.peak[RK_PEAK_STEP] - eager.workspace_bytes, (4 * params + 16 * table) / 8,
                1e-9);
    s.dp = s.global_batch = 1;
    s.sharding = RK_SHARD_NONE;
    s.states = (rk_state_recipe){4, 4, 0, 2, 2};
    assert_int_equal(rk_estimate_step(&model, &machine, &eager, &s, RK_FLOPS_MEGATRON, &e), RK_OK);
    assert_near(e.memory.peak[RK_PEAK_STEP] - eager.workspace_bytes, 8 * params + 8 * table, 1e-9);
    /* without temporaries the end of backward is fullest: all gradients but the embedding's */
    rk_cost_table costs;
    rk_optimizer_set(RK_OPTIMIZER_SGD_PLAIN, true, &s);
    s.seq = 8192;
    s.states = (rk_state_recipe){2, 2, 0, 2, 2};
    rk_cost_table_fill(&model, &machine, &eager, &s, &costs);
    const rk_cost *layer = &costs.layers[0][1];
    assert_int_equal(rk_estimate_step(&model, &machine, &eager, &s, RK_FLOPS_MEGATRON, &e), RK_OK);
    assert_near(e.memory.peak[RK_PEAK_BACKWARD] - eager.workspace_bytes,
                4 * params - 2 * table + layer->unsaved + layer->transient, 1e-9);
    assert_near(e.memory.allocated, e.memory.peak[RK_PEAK_BACKWARD], 1e-12);
}

static int set_up(void **state)
{
    *state = &machine;
    model = model_of("llama3-8b");
    machine = system_of("h100-sxm");
    stack = stack_of("megatron-2025");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newton_schulz),   cmocka_unit_test(test_matrices),
        cmocka_unit_test(test_hybrids),         cmocka_unit_test(test_hybrid_states),
        cmocka_unit_test(test_states),          cmocka_unit_test(test_time),
        cmocka_unit_test(test_rules),           cmocka_unit_test(test_paged_states),
        cmocka_unit_test(test_factored_update),
    };
    return cmocka_run_group_tests(tests, set_up, clear_machine);
}
